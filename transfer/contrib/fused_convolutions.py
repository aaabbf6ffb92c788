"""Convolutions with a sum and an activation, of the com.microsoft domain. onnxruntime is the specification."""

from __future__ import annotations

from absint.lattices.logic.relation import FALSE, Relation, conjunction, disjunction, eq
from absint.lattices.shape import TOP_SHAPE
from absint.lattices.value import Tensor, Value
from absint.transfer.contrib.views import restate
from absint.transfer.convolution import conv
from absint.transfer.op import Op
from absint.transfer.rule import kernel


@kernel("FusedConv", "X W B Z -> Y")
def fused_conv(op: Op) -> Value:
    """Conv, then the sum with Z and an activation."""
    check_activation(op)
    result = restate(op, conv, [op.value(name) for name in ("X", "W", "B")])[0]
    empty = eq(result.shape.size, 0) if isinstance(result, Tensor) and not result.shape.is_top else FALSE
    require_sum(op, "Z", result, unless=empty)
    return result


_PARAMETERS = {
    "Relu": None, "Tanh": None, "Sigmoid": None, "HardSwish": None, "LeakyRelu": 1, "Clip": 2, "HardSigmoid": 2,
}  # fmt: skip
"""How many parameters each activation has; None if they are not read."""


def check_activation(op: Op) -> None:
    """The activation of a fused convolution, with its parameters, if it is given."""
    name, parameters = op.string("activation"), op.attributes.get("activation_params")
    if name is None:
        return
    if name not in _PARAMETERS:
        op.reject(f"activation must be one of {', '.join(_PARAMETERS)}, found {name!r}")
    count = _PARAMETERS[name]
    if count is not None and (not isinstance(parameters, list) or len(parameters) != count):
        op.reject(f"activation {name} must have {count} parameters")


def require_sum(op: Op, name: str, result: Value, *, unless: Relation = FALSE) -> None:
    """Require the shape of the result for an input that is added to it."""
    if not op.has(name):
        return
    added, shape = op.tensor(name).shape, result.shape if isinstance(result, Tensor) else TOP_SHAPE
    reason = f"{name} must have the shape of the output"
    if added.is_top or shape.is_top:
        op.may_fail(reason, unless=unless)
    else:
        same = conjunction(*map(eq, added, shape)) if len(added) == len(shape) else FALSE
        op.require(disjunction(unless, same), reason)
