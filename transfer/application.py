"""Apply a rule to an Op: run it, and check the values that it returns; to the inputs of another operator: a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE
from absint.lattices.shape import BOTTOM_SHAPE, TOP_SHAPE, Shape, shape_of
from absint.lattices.text.escapes import counted
from absint.lattices.value import TOP, AnyTensor, SparseTensor, Tensor, Value, map_tensors, without_elements
from absint.transfer.op import Op
from absint.transfer.rule import Function, Rule
from absint.transfer.stated import Applied, BadNodeError, RejectedError, RuleError, Statement, listed
from absint.transfer.stating import AttributeValue


def apply(rule: Rule, op: Op) -> Applied:
    """Run the rule. A node that cannot run states `false` and has top outputs.

    Raises RuleError unless the rule returns one value for each output, and whatever the rule itself raises.
    """
    outputs, rejected, refusal = outcome(rule, op)
    return Applied(outputs, tuple(op.statements), tuple(op.possible_failures), tuple(op.notes), rejected, refusal)


def outcome(rule: Rule, op: Op) -> tuple[tuple[Value, ...], str | None, str]:
    """The outputs, the reason why the node cannot run, and the code of a refusal (see `Applied`)."""
    rejected, refusal = None, ""
    outputs: tuple[Value, ...] = ()
    if not rule.starred:
        for value in op.inputs:
            if value is not None and (type(value) is not Tensor or value.shape.is_top):
                op.inputs = tuple([v and without_variables(v) for v in op.inputs])
                break
    try:
        outputs = outputs_of(rule, rule.function(op), op)
        for value in outputs:
            if type(value) is Tensor and value.shape is BOTTOM_SHAPE:
                outputs = _possible(op, outputs)
                break
    except RejectedError as error:
        rejected, refusal = str(error), error.code
        op.statements[Statement(FALSE, rejected, "required")] = None
    except BadNodeError as error:
        op.note(str(error))
        op.may_fail(str(error))
    if len(outputs) != op.outputs:
        outputs = outputs[: op.outputs] + (TOP,) * (op.outputs - len(outputs))
    return outputs, rejected, refusal


def _possible(op: Op, outputs: Sequence[Value]) -> tuple[Value, ...]:
    """The outputs; one that has no possible size is of unknown rank, which every rule can read."""
    op.may_fail("every output must have a possible size")
    return tuple([Tensor(v.dtype) if isinstance(v, Tensor) and v.shape is BOTTOM_SHAPE else v for v in outputs])


def without_variables(value: Value) -> Value:
    """The value; a shape in it that has a variable is of unknown rank."""
    return map_tensors(value, _without_variable)


def _without_variable(tensor: AnyTensor) -> AnyTensor:
    if tensor.shape.variable is None:
        return tensor
    if isinstance(tensor, Tensor):
        return Tensor(tensor.dtype, TOP_SHAPE, tensor.contents)
    return SparseTensor(tensor.dtype)


def outputs_of(rule: Rule, result: object, op: Op) -> tuple[Value, ...]:
    """The values that a rule returned, checked: one for each output that it names."""
    formals = rule.outputs
    if isinstance(result, Value):
        outputs: tuple[Value, ...] = (result,)
        if op.outputs == 1 and len(formals) == 1:
            _check_value(result)
            return outputs if rule.elements else (without_elements(result),)
    elif isinstance(result, (tuple, list)):
        outputs = tuple(result)
    else:
        what = "nothing" if result is None else type(result).__name__
        raise RuleError(f"returned {what}: return a value for each of {listed(formals)}, as Tensor(dtype, shape)")
    for value in outputs:
        _check_value(value)
    if not rule.elements:
        outputs = tuple(map(without_elements, outputs))
    if formals and formals[-1].endswith("*"):
        return outputs
    if len(outputs) < min(op.outputs, len(formals)) or len(outputs) > len(formals):
        count = counted(len(outputs), "value")
        raise RuleError(f"returned {count} and names {listed(formals)} as outputs: return one for each, in this order")
    if op.outputs > len(formals):
        op.note(f"the node has {op.outputs} outputs, its rule names {listed(formals)}: the others are unknown")
    return outputs


def _check_value(value: object) -> None:
    if type(value) is Tensor:
        dtype: object = value.dtype
        shape: object = value.shape
        if not isinstance(shape, Shape) or not isinstance(dtype, DType):
            raise RuleError(f"returned a tensor of type {dtype!r} and shape {shape!r}: {_WANTED}")
    elif not isinstance(value, Value):
        raise RuleError(f"returned {type(value).__name__} as an output: {_WANTED}")


_WANTED: Final = "an output must be Tensor(dtype, Shape([...])), with the dtype of an input or one of DType"


# Views: the rule of one operator for another, whose tensors may have another layout


NEWEST: Final = 1 << 30
"""The version of an operator that has all attributes."""


Attributes = Mapping[str, AttributeValue]


def restate(
    op: Op, rule: Rule, inputs: Sequence[Value | None], *, version: int = NEWEST, attributes: Attributes | None = None
) -> list[Value]:
    """The outputs of another rule for these inputs; its statements go to `op`."""
    given = op.attributes if attributes is None else attributes
    inner = Op(rule, inputs, given, version, op.outputs, op.facts, "", op.policy, op.premises, semantics=op.semantics)
    inner.statements, inner.possible_failures, inner.notes = op.statements, op.possible_failures, op.notes
    inner.is_inferred = op.is_inferred
    result = rule.function(inner)
    return [result] if isinstance(result, Value) else list(result)


def viewed(rule: Rule) -> Function:
    """The rule of an operator that is another one, at its newest version, under its own name."""

    def transfer(op: Op) -> list[Value]:
        return restate(op, rule, op.inputs)

    transfer.__doc__ = rule.function.__doc__
    return transfer


def channels_last(op: Op, rule: Rule, inputs: Sequence[Value | None], *, version: int = NEWEST) -> list[Value]:
    """The outputs of a rule for (N, C, spatial...), where the first input and output are (N, spatial..., C).

    onnxruntime moves no other input or output to that layout: the sizes of further images stay unknown.
    """
    data, *rest = inputs or (None,)
    image, *others = restate(op, rule, [_channels_first(data), *rest], version=version)
    return [_channels_last(image), *map(_unplaced, others)]


def _channels_first(value: Value | None) -> Value | None:
    if not isinstance(value, Tensor) or _is_plain(value.shape):
        return value
    batch, *spatial, channels = value.shape.dims
    return Tensor(value.dtype, shape_of((batch, channels, *spatial)))


def _channels_last(value: Value) -> Value:
    if not isinstance(value, Tensor) or _is_plain(value.shape):
        return value
    batch, channels, *spatial = value.shape.dims
    return Tensor(value.dtype, shape_of((batch, *spatial, channels)))


def _unplaced(value: Value) -> Value:
    return value if isinstance(value, Tensor) and _is_plain(value.shape) else of_rank(value)


def of_rank(value: Value) -> Value:
    """Only the type and the rank of a tensor."""
    if not isinstance(value, Tensor) or value.shape.rank is None:
        return value
    return Tensor(value.dtype, Shape([None] * value.shape.rank))


def retyped(value: Value | None, dtype: DType) -> Value | None:
    """The shape of a tensor under another element type."""
    return Tensor(dtype, value.shape) if isinstance(value, Tensor) else value


def _is_plain(shape: Shape) -> bool:
    """The shape is the same in both layouts."""
    return shape.rank is None or shape.rank < 3
