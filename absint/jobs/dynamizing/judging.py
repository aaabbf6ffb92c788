"""Readings judged by more than shapes: by axes of outputs that the caller or the author names, by proofs about rows,
and by runs on stacked rows.

Rows are counted by the symbols of `--rows`; without it by those that are called a batch, as the name promises; else by
that of the first axis of an input, unless its old size is 1. Of copies that nothing refutes, those count in which
every output is proved to keep the rows apart; among them, if the rows of inputs are on first axes, those count in which
they have an axis for themselves: blocks of a batch of 1 beside an axis of 1 are rare. The proof speaks of the model
too: at the old sizes both give the same. An old size of 1 says nothing of rows, so the first axis is believed only if
it is called a batch.

Of other symbols neither proofs nor runs decide. Rows of a sequence depend on each other in the author's model, and a
reading that keeps them apart may then be the wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from absint.jobs.dynamizing.finding import Found
from absint.jobs.dynamizing.preparing import Axes, Request
from absint.jobs.dynamizing.stacked import Compared, Stacking
from absint.lattices.terms.expr import Expr, Symbol, const, symbol
from absint.lattices.value import Tensor
from absint.model.wire.graphs import GraphMessage, ValueInfoMessage
from absint.questions.rows import OutputRows, proved
from absint.solution.analysed import Analysed


class Judging:
    """The judge of copies of one model."""

    def __init__(
        self,
        analysed: Analysed,
        request: Request,
        graph: GraphMessage,
        written: Callable[[Found], bytes | None],
        mended: Callable[[Found], Analysed],
        *,
        runs: bool,
    ) -> None:
        """`graph` is that of the author; `written` is the copy with the decisions, or None if it is not written to be
        run; `mended` is its analysis. `runs` allows runs.
        """
        self._declared = _declared(graph, request)
        self._analysed = analysed
        self._outputs = request.outputs
        self._promised = request.promised
        self._is_sole = len(request.sizes) == 1
        self._written = written
        self._rows = [Symbol(name) for name in request.sizes if name in request.promised | request.assumed]
        rows = {one.name for one in self._rows}
        self._are_first = all(not at for of in request.axes.values() for at, text in of.items() if text in rows)
        self._mended = mended
        batches = [name for name in request.sizes if name in request.promised] if runs else []
        self._stackings = {name: Stacking(analysed, request.axes, name) for name in batches}
        self._known: dict[int, tuple[Found, Mapping[str, Compared]]] = {}
        self._copies: dict[int, tuple[Found, Analysed]] = {}
        self._proved: dict[int, Mapping[str, tuple[OutputRows, ...]]] = {}

    def copy(self, found: Found) -> Analysed:
        """The analysis of the copy."""
        if id(found) not in self._copies:
            self._copies[id(found)] = found, self._mended(found)
        return self._copies[id(found)][1]

    def proved(self, found: Found) -> Mapping[str, tuple[OutputRows, ...]]:
        """What is proved of the outputs of the copy, for each symbol that counts rows."""
        copy = self.copy(found)
        if id(found) not in self._proved:
            self._proved[id(found)] = {one.name: tuple(proved(copy, one)) for one in self._rows}
        return self._proved[id(found)]

    def standing(self, found: Found) -> int:
        """0 unless every output of the copy is proved to keep rows apart; more where outputs have the axes that the
        author declares, then where rows have an axis for themselves, as the first one of inputs.
        """
        names = {one.name for one in self._rows}
        if not names or any(found.run.resizing.narrows_rows(c.formula) for c, _ in found.left):
            return 0
        outputs = [output for of in self.proved(found).values() for output in of]
        if not all(output.verdict in ("independent", "shared") for output in outputs):
            return 0
        is_plain = self._are_first and all(output.is_plain or output.verdict == "shared" for output in outputs)
        return 1 + 2 * self.is_as_declared(found) + is_plain

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
        if self.lacking(found):
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

    def tells(self, other: Found, found: Found, names: frozenset[str], *, by_rows: bool) -> bool:
        """It is not the other one that the model means, as axes of outputs show that the caller has named. If it
        differs in sizes of these names, and they count rows, shapes may show it, and `by_rows` runs and proofs too.
        """
        if self.lacking(other):
            return True
        if not names or not names <= self._promised:
            return False
        # Shapes first; then runs; then a proof that this one has and the other lacks.
        if self.mixes(other, names):
            return True
        if not by_rows:
            return False
        if self.refutes(other) or (self.fails(other) and not self.fails(found)):
            return True
        return self.standing(found) > 0 and not self.standing(other)

    def mixes(self, other: Found, names: frozenset[str]) -> bool:
        """An axis of an output has a function of a number of rows for its size, beside another one that counts them:
        one row would give another shape beside further rows.
        """
        ends = [self._analysed.operands[name] for name in self._analysed.outputs if name in self._analysed.operands]
        for node, index in ends:
            value = other.states[node][index]
            if isinstance(value, Tensor) and not value.shape.is_top:
                of_rows = [
                    dim for dim in value.shape if isinstance(dim, Expr) and not names.isdisjoint(dim.free_symbols)
                ]
                if len(of_rows) > 1:
                    return True
        return False

    def is_as_declared(self, found: Found) -> bool:
        """Outputs have the symbols that the author declares, and there are such outputs."""
        return bool(self._declared) and not self._lacking(found, self._declared)

    def lacking(self, found: Found) -> list[str]:
        """The axes of outputs that are not as the caller has named them."""
        return self._lacking(found, self._outputs)

    def _lacking(self, found: Found, outputs: Axes) -> list[str]:
        missing = []
        for name, axes in outputs.items():
            node, index = self._analysed.operands[name]
            value = found.states[node][index]
            for axis, text in axes.items():
                wanted = const(int(text)) if text.isdecimal() else symbol(text)
                dim = value.shape[axis] if isinstance(value, Tensor) and not value.shape.is_top else "of unknown size"
                missing += [] if dim is wanted else [f"{name}[{axis}] is {dim}, not {text},"]
        return missing


def _declared(graph: GraphMessage, request: Request) -> dict[str, dict[int, str]]:
    """The axes of outputs that the author declares to be one of the new symbols: by its name, or by that which the axis
    of an input had before.
    """
    # A symbol that the author named otherwise has the new name wherever the old one stands.
    names = {text: text for text in request.sizes}
    inputs = {info.name: _params(info) for info in graph.input[:]}
    for name, axes in request.axes.items():
        names.update((old, text) for axis, text in axes.items() if (old := inputs.get(name, {}).get(axis)))
    found = {
        info.name: {axis: names[text] for axis, text in _params(info).items() if text in names}
        for info in graph.output[:]
        if info.name not in request.outputs
    }
    return {name: axes for name, axes in found.items() if axes}


def _params(info: ValueInfoMessage) -> dict[int, str]:
    return {axis: dim.dim_param for axis, dim in enumerate(info.type.tensor_type.shape.dim[:]) if dim.dim_param}
