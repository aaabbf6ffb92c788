"""A check at one size as a sheet, with types and shapes of a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from absint.lattices.shape import TOP_SHAPE
from absint.lattices.text.sheets import Sheet, Table
from absint.lattices.value import Tensor
from absint.solution.naming import where

if TYPE_CHECKING:
    from absint.questions.sizes.outcomes import Check
    from absint.result import Result


def check_sheet(result: Result, check: Check, *, values: bool = False) -> Sheet:
    """The shapes of outputs (of all values, if wanted) at these sizes, or the node that fails."""
    outputs = result.outputs
    inner = [name for name in check.shapes if name not in outputs and name not in result.inputs] if values else []
    shown = [_shapes(result, check, outputs, "outputs")] + (
        [_shapes(result, check, inner, "other values")] if values else []
    )
    return check.sheet(where(result), shown)


def _shapes(result: Result, check: Check, names: Sequence[str], title: str) -> Table:
    rows = [(name, f"{_type(result, name)}{_shape(result, check, name)}") for name in names]
    return Table(title, rows or [("none",)])


def _type(result: Result, name: str) -> str:
    value = result.values.get(name)
    return f"{value.dtype} " if isinstance(value, Tensor) else ""


def _shape(result: Result, check: Check, name: str) -> str:
    """Sizes, with `?` for a data-dependent one."""
    shape = check.shapes.get(name)
    if shape is None:
        value = result.values.get(name)
        found = value.shape.substitute(dict(check.sizes)) if isinstance(value, Tensor) else TOP_SHAPE
        return "not a tensor of known rank" if found.variable is None or found.free_symbols else str(found)
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
