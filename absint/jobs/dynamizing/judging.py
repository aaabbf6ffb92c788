"""Readings judged by more than shapes: by axes of outputs that the caller names, and by runs on stacked rows.

Runs decide between readings for a batch alone. Rows of a sequence depend on each other in the author's model too, and
a reading that keeps them apart may then be the wrong one. So a symbol counts as a batch if its name says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from absint.jobs.dynamizing.resizing import is_batch
from absint.jobs.dynamizing.stacked import Compared, Stacking
from absint.lattices.terms.expr import symbol
from absint.lattices.value import Tensor

if TYPE_CHECKING:
    from absint.jobs.dynamizing.finding import Found
    from absint.jobs.dynamizing.request import Request
    from absint.solution.analysed import Analysed


class Judging:
    """The judge of copies of one model."""

    def __init__(
        self, analysed: Analysed, request: Request, written: Callable[[Found], bytes | None], *, runs: bool
    ) -> None:
        """`written` is the copy with the decisions, or None if it is not written to be run. `runs` allows runs."""
        self._analysed = analysed
        self._outputs = request.outputs
        self._is_sole = len(request.sizes) == 1
        self._written = written
        batches = [name for name in request.sizes if is_batch(name)] if runs else []
        self._stackings = {name: Stacking(analysed, request.axes, name) for name in batches}
        self._known: dict[int, tuple[Found, Mapping[str, Compared]]] = {}

    def compared(self, found: Found) -> Mapping[str, Compared]:
        """The comparison of rows for each batch."""
        if id(found) not in self._known:
            copy = self._written(found) if self._stackings else b""
            reason = Compared("the copy is too large, or cannot be written")
            self._known[id(found)] = (
                found,
                {name: reason if copy is None else each.compared(copy) for name, each in self._stackings.items()},
            )
        return self._known[id(found)][1]

    def refutes(self, found: Found) -> bool:
        """An output lacks an axis that the caller has named, or holds other rows than single runs."""
        if not self._has_outputs(found):
            return True
        return any(each.differing for each in self.compared(found).values())

    def fails(self, found: Found) -> bool:
        """The copy does not run on one, two or three rows of a batch."""
        return any(each.fails for each in self.compared(found).values())

    def are_alike(self, one: Found, other: Found) -> bool:
        """The only symbol is a batch, and the outputs for two and three rows are the same."""
        if not self._is_sole:
            return False
        first, second = self.compared(one), self.compared(other)
        return bool(first) and all(each.is_like(second[name]) for name, each in first.items())

    def _has_outputs(self, found: Found) -> bool:
        for name, axes in self._outputs.items():
            node, index = self._analysed.operands[name]
            value = found.states[node][index]
            if not isinstance(value, Tensor) or value.shape.is_top:
                return False
            if any(value.shape[axis] is not symbol(text) for axis, text in axes.items()):
                return False
        return True
