"""Nodes whose inputs are all known: onnx.reference computes the elements that their rule leaves open.

Only where it agrees with onnxruntime: operators that compare or move numbers, each tested on random and degenerate
nodes. Rounding and overflow are left to the rules. Products of 8-bit integers are not evaluated: some processors
saturate their sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.contents import is_small
from absint.lattices.dtype import DType
from absint.lattices.value import Tensor, Value
from absint.packages import is_installed, missing
from absint.program.nodes import Operation

COMPARING: Final = frozenset({"ArgMax", "ArgMin", "Compress", "GatherND", "TopK", "Unique"})
"""Operators that only compare or move floats."""

EXACT: Final = COMPARING | frozenset({"BitCast", "NonZero", "Pad"})
"""Operators that are evaluated; those that are not `COMPARING`, on integers and booleans alone."""

FLAGS: Final = frozenset({"keepdims", "largest", "select_last_index", "sorted"})
"""Attributes of these operators that must be 0 or 1: kernels and onnx.reference differ on other numbers."""

SELECTING: Final = frozenset({"Compress", "NonZero", "Unique"})
"""Operators whose output is never larger than rank times the input."""


def evaluated(
    operation: Operation, inputs: Sequence[Value | None], outputs: tuple[Value, ...]
) -> tuple[tuple[Value, ...], tuple[str, ...]]:
    """The outputs of a rule, with the elements that the inputs decide; unchanged if there are none.

    Without onnx they are unchanged, and a note says so.
    """
    if not _is_decided(operation, inputs, outputs):
        return outputs, ()
    if not is_installed("onnx"):
        return outputs, (f"what its inputs decide stays unknown: {missing('onnx')}",)
    from absint.shapes import reference

    return reference.run(operation, inputs, outputs), ()


def _is_decided(operation: Operation, inputs: Sequence[Value | None], outputs: tuple[Value, ...]) -> bool:
    """The inputs decide elements that the rule leaves open, and onnx.reference computes them as onnxruntime does."""
    name = operation.op_type
    if not operation.is_standard or operation.domain or name not in EXACT or not any(map(_is_open, outputs)):
        return False
    constants = [v for v in inputs if isinstance(v, Tensor) and _is_known(v)]
    if len(constants) != sum(v is not None for v in inputs):
        return False
    # NonZero of a scalar: runtimes differ
    selects = name in SELECTING and all(v.shape.rank for v in constants)
    if not all(_is_small(v) or selects for v in outputs):
        return False
    if not all(map(_is_discrete, (*constants, *outputs))) and operation.op_type not in COMPARING:
        return False
    if operation.op_type == "TopK" and operation.attributes.get("sorted", 1) == 0:
        return False  # in an order that the runtime chooses
    return all(operation.attributes.get(name, 1) in (0, 1) for name in FLAGS)


def _is_open(value: Value) -> bool:
    return isinstance(value, Tensor) and (value.contents is None or value.shape.concrete is None)


def _is_small(value: Value) -> bool:
    sizes = value.shape.concrete if isinstance(value, Tensor) else None
    return sizes is not None and is_small(sizes)


def _is_discrete(value: Value) -> bool:
    return isinstance(value, Tensor) and (value.dtype is DType.BOOL or value.dtype.is_integer)


def _is_known(value: Tensor) -> bool:
    """Every element is a constant, and no axis is too long to go along it, as one of an empty tensor may be."""
    if value.contents is None or value.contents.open or not _is_small(value):
        return False
    return value.contents.block(value.shape.concrete) is not None
