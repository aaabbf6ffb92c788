"""Operations of nodes in functions, whose operators may have another version there than in the model.

onnxruntime infers the types of a function by the versions that it imports, then takes it apart and reads its nodes by
those of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Final

from absint.model import schemas
from absint.program.operations import Operation

if TYPE_CHECKING:
    from absint.model.messages import AttributeMessage
    from absint.program.folded import Functions

_NEED_AXES: Final = {"MeanVarianceNormalization": 13}
"""Operators that ONNX defines by a function that gets their axes: inference in another function gives it no default."""


def in_function(
    operation: Operation,
    attributes: Sequence[AttributeMessage],
    others: Mapping[str, int],
    functions: Functions,
    made: Callable[[tuple[str, str, int]], Operation | None],
) -> Operation:
    """The operation of a node in a function, with that of the other reading if there the operator differs.

    `others` are the versions of that reading, and `made` gives the operation of the node as one of an operator.
    """
    if not operation.is_standard:
        return operation
    domain, name, failures = operation.domain, operation.op_type, operation.possible_failures
    version = others.get(domain, operation.version)
    if max(version, operation.version) >= _NEED_AXES.get(name, inf) and all(a.name != "axes" for a in attributes):
        failures += (f"onnxruntime needs the attribute axes of {name} in a function",)
    if schemas.since(domain, name, version) == schemas.since(domain, name, operation.version):
        return operation if failures == operation.possible_failures else _changed(operation, failures)
    other = made((domain, name, version))
    if other is None or not other.is_standard:
        reasons = sum(schemas.without_schema(domain, name, version), ())
        other = None if reasons else Operation(domain, name, version, None, {}, operation.outputs)
        failures += tuple(f"{reason}; onnxruntime refuses it" for reason in reasons)
    elif name == "Constant" and not domain:  # onnxruntime makes an initialiser of one, whatever its version
        return other if functions.replaces else operation
    return _changed(operation, failures, other)


def _changed(operation: Operation, failures: tuple[str, ...], other: Operation | None = None) -> Operation:
    k = operation
    return Operation(
        k.domain, k.op_type, k.version, k.rule, k.attributes, k.outputs, failures, k.malformed, True, k.form, k.types,
        k.body, other,
    ).without(k.absent)  # fmt: skip
