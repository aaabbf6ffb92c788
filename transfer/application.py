"""Values that a rule returned, checked: one for each output that it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.value import Tensor, Value, without_elements
from absint.transfer.rule import RuleError

if TYPE_CHECKING:
    from absint.transfer.op import Op
    from absint.transfer.rule import Rule


def outputs_of(rule: Rule, result: object, op: Op) -> tuple[Value, ...]:
    """The values that a rule returned, one for each output of the node that it names."""
    formals = rule.outputs
    if isinstance(result, Value):
        outputs: tuple[Value, ...] = (result,)
        if len(formals) == op.outputs == 1:
            _check_value(result)
            return outputs if rule.elements else (without_elements(result),)
    elif isinstance(result, (tuple, list)):
        outputs = tuple(result)
    else:
        what = "nothing" if result is None else type(result).__name__
        raise RuleError(f"returned {what}: return a value for each of {names(formals)}, as Tensor(dtype, shape)")
    for value in outputs:
        _check_value(value)
    if not rule.elements:
        outputs = tuple(map(without_elements, outputs))
    if formals and formals[-1].endswith("*"):
        return outputs
    if len(outputs) < min(op.outputs, len(formals)) or len(outputs) > len(formals):
        count = f"{len(outputs)} value{'s' * (len(outputs) != 1)}"
        raise RuleError(f"returned {count} and names {names(formals)} as outputs: return one for each, in this order")
    if op.outputs > len(formals):
        op.note(f"it has {op.outputs} outputs and its rule names {names(formals)}: the others are unknown")
    return outputs


def _check_value(value: object) -> None:
    if isinstance(value, Tensor):
        dtype: object = value.dtype
        shape: object = value.shape
        if not isinstance(shape, Shape) or not isinstance(dtype, DType):
            raise RuleError(f"returned a tensor of type {dtype!r} and shape {shape!r}: {_WANTED}")
    elif not isinstance(value, Value):
        raise RuleError(f"returned {type(value).__name__} as an output: {_WANTED}")


_WANTED: Final = "an output is a Tensor(dtype, Shape([...])), with the dtype of an input or one of DType"


def names(formals: Sequence[str]) -> str:
    """Formal names, for messages."""
    return ", ".join(formals) or "none"


__all__ = ["names", "outputs_of"]
