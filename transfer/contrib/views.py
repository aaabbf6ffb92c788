"""Views: the rule of one operator applied to another whose tensors have another layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.shape import Shape, shape_of
from absint.lattices.value import Tensor, Value
from absint.transfer.op import Op
from absint.transfer.rule import Function, Rule
from absint.transfer.stating import AttributeValue

NEWEST: Final = 1 << 30
"""The version of an operator that has all attributes."""


def restate(
    op: Op,
    rule: Rule,
    inputs: Sequence[Value | None],
    *,
    version: int = NEWEST,
    attributes: Mapping[str, AttributeValue] | None = None,
) -> list[Value]:
    """The outputs of another rule for these inputs; its statements go to `op`."""
    inner = Op(
        rule,
        inputs,
        op.attributes if attributes is None else attributes,
        version=version,
        outputs=op.outputs,
        facts=op.facts,
        policy=op.policy,
        premises=op.premises,
        semantics=op.semantics,
    )
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
