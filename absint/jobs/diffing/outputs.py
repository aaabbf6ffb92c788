"""Inputs and outputs of two models: names, types, ranks, and sizes wherever both models run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Final

from absint.errors import UsageError
from absint.jobs.diffing.answers import Apart, Lost, Port, Ports, PortStatus
from absint.jobs.diffing.correspondence import Correspondence, Form, Pair, both, declared, form_of, plain, type_text
from absint.jobs.diffing.legality import Grounds
from absint.jobs.diffing.witness import Both, Numbers, Seen, over_first
from absint.lattices.limits import DeadlineError
from absint.lattices.logic.relation import Relation, eq
from absint.lattices.terms.expr import MAX_DIM, Dim, Expr
from absint.lattices.text.escapes import format_sizes
from absint.lattices.value import TOP, Value
from absint.questions.rows import rows
from absint.questions.sizes.start import Sizes, small_sizes
from absint.solution.analysed import Analysed
from absint.transfer.traits import RANDOM

_TRIES: Final = 4
_RUNS: Final = 2
"""Sizes at which outputs whose sizes data decide are compared in a run."""


class Compared:
    """Values of two models, compared wherever both run."""

    def __init__(self, over: Correspondence, grounds: Grounds, runs: Both, numbers: Callable[[bool], Numbers]) -> None:
        """`grounds` hold of sizes that are legal in both."""
        self._first, self._second, self._over, self._runs = over.source, over.target, over, runs
        self._grounds, self._numbers = grounds, numbers

    def outputs(self, pairs: Sequence[Pair]) -> Ports:
        """The outputs of both."""
        return Ports(tuple(map(self._port, pairs)), _is_reordered(pairs, self._second.outputs))

    def _port(self, pair: Pair) -> Port:
        a, b = pair
        before = None if a is None else _value(self._first, a)
        after = None if b is None else _value(self._second, b)
        port = Port(a, b, type_text(before), type_text(after))
        if before is None or after is None:
            return _with(port, "new" if before is None else "gone")
        clock = self._grounds.clock
        try:
            with clock.limited():
                if self._grounds.contradict:
                    return _with(port, "undecided", "no size is legal in both models")
                return self._compared(port, form_of(before), form_of(after))
        except DeadlineError:
            return _with(port, "undecided", clock.over)

    def _compared(self, port: Port, before: Form, after: Form) -> Port:
        if before.differs(after):
            return _with(port, "changed", *_formal(before, after))
        if not (before.is_known and after.is_known):
            return self._by_data(port, ("type or rank is not known",), False)
        by_sizes, open_, differing = list[Relation](), list[str](), list[str]()
        decided_by_run = True
        for (place, mine), (_, other) in zip(before.sizes, after.sizes, strict=True):
            a, _ = self._shared(plain(self._first, mine))
            b, is_over_mine = self._shared(self._over.dim(other))
            differing += [f"{place}: {a} -> {b}"] if a is not b else []
            relation = eq(a, b) if isinstance(a, Expr) and isinstance(b, Expr) and is_over_mine else None
            if relation is not None and relation.free_symbols <= self._first.parameters.keys():
                by_sizes.append(relation)
            elif relation is None or not self._grounds.decide(relation).entailed:
                if _disjoint(a, b):
                    return _with(port, "changed", f"{place}: {a} -> {b}")
                open_.append(f"{place}: {_data(a, b)}")
                decided_by_run &= relation is not None
        found = self._by_sizes(port, by_sizes, differing)
        if not open_ or found.status not in ("same", "renamed"):
            return found
        return self._by_data(found, tuple(open_), decided_by_run)

    def _shared(self, dim: Dim) -> tuple[Dim, bool]:
        """A dim over symbols of the first model; False if some of its symbols are of the second alone.

        Sizes that data decide are the same where they are those of the same computation.
        """
        return over_first(dim, self._first, lambda: self._numbers(True).shared)

    def _by_sizes(self, port: Port, relations: Sequence[Relation], differing: Sequence[str]) -> Port:
        """Sizes that the inputs decide."""
        for relation in relations:
            decision = self._grounds.decide(relation)
            if decision.entailed is None:
                return _with(port, "undecided", *differing, decision.reason)
            if not decision.entailed:
                return self._told_apart(port, relation, self._grounds.model(decision), differing)
        return port if port.first == port.second else _with(port, "renamed")

    def _told_apart(self, port: Port, relation: Relation, model: Sizes, differing: Sequence[str]) -> Port:
        premises, reason = self._grounds.premises, "no sizes are known at which they differ"
        for sizes in islice(small_sizes(relation, premises, self._grounds.chosen(relation), model), _TRIES):
            at = format_sizes(sizes)
            shown = self._runs.at("A", sizes)
            if shown is None:
                if self._runs.promised("A", sizes):
                    only = self._grounds.entail_unless_empty(relation, sizes)
                    apart = Apart(sizes, "A", *self._evaluated(port, sizes), "rules", only)
                    return _with(port, "changed", *differing, apart=apart)
                reason = f"A is not shown to run at {at}: {self._runs.why_not}"
            elif isinstance(shown.source, str) or isinstance(shown.target, str):
                fails = "A" if isinstance(shown.source, str) else "B"
                reason = f"{fails} fails at {at}: {shown.source if fails == 'A' else shown.target}"
            else:
                first, second = _shape(shown.source, port.first), _shape(shown.target, port.second)
                if first != second:
                    only = self._grounds.entail_unless_empty(relation, sizes)
                    return _with(port, "changed", *differing, apart=Apart(sizes, "A", first, second, "run", only))
                reason = f"in a run at {at} both give {first}"
        return _with(port, "undecided", *differing, reason)

    def _evaluated(self, port: Port, sizes: Sizes) -> tuple[str, str]:
        """The shapes that the rules give at sizes of symbols of A."""
        assert port.first is not None
        assert port.second is not None
        before, after = form_of(_value(self._first, port.first)), form_of(_value(self._second, port.second))
        dims = [dim for _, dim in before.sizes], [self._over.dim(dim) for _, dim in after.sizes]
        numbers = ([dim if (size := dim.at(sizes)) is None else size for dim in each] for each in dims)
        first, second = (f"[{', '.join(map(str, each))}]" for each in numbers)
        return first, second

    def _by_data(self, port: Port, open_: Sequence[str], decided_by_run: bool) -> Port:
        """Sizes that data decide: nothing shows that they are the same, unless they are of the same computation.

        A run tells them apart if they are over the same data; else rounding may be why it gives others.
        """
        assert port.first is not None
        assert port.second is not None
        if self._numbers(True).same(port.first, port.second):
            return port if port.first == port.second else _with(port, "renamed")
        seen = []
        nodes = (*self._first.nodes, *self._second.nodes)
        if any(node.operation is not None and node.operation.op_type in RANDOM for node in nodes):
            return _with(port, "not comparable", *open_)  # two runs of one model need not give the same
        for sizes in self._runnable:
            shown = self._runs.at("A", sizes)
            if shown is None or isinstance(shown.source, str) or isinstance(shown.target, str):
                continue
            first, second = _shape(shown.source, port.first), _shape(shown.target, port.second)
            at = format_sizes(sizes, "the only size")
            if first != second and (decided_by_run or first.count(",") != second.count(",")):
                return _with(port, "changed", *open_, apart=Apart(sizes, "A", first, second, "run"))
            seen.append(f"{first if first == second else f'{first} and {second}'} in a run of both at {at}")
        return _with(port, "not comparable", *open_, *seen)

    @cached_property
    def _runnable(self) -> Sequence[Sizes]:
        """A few small sizes that are legal in both."""
        return self._grounds.small(_RUNS)


def inputs(over: Correspondence) -> Ports:
    """The inputs that a caller must feed. Their sizes count where contracts are compared."""
    return Ports(tuple(_input(pair, over) for pair in over.pairs), _is_reordered(over.pairs, over.target.inputs))


def _is_reordered(pairs: Sequence[Pair], names: Sequence[str]) -> bool:
    """Those that both models have stand in another order among the names of the second."""
    order = [b for _, b in both(pairs)]
    return order != [name for name in names if name in order]


def _input(pair: Pair, over: Correspondence) -> Port:
    a, b = pair
    first, second = over.source, over.target
    before, after = None if a is None else declared(first, a), None if b is None else declared(second, b)
    port = Port(a, b, type_text(before), type_text(after))
    if before is None or after is None:
        optional = (a is not None and a in second.lowered.signature.overridable) or (
            b is not None and b in first.lowered.signature.overridable
        )
        if after is None and optional:
            return _with(port, "optional", "B has a default for it")
        more = ("A has a default for it",) if optional else ()
        return _with(port, "new" if before is None else "gone", *more)
    form, other = form_of(before), form_of(after)
    if form.differs(other):
        return _with(port, "changed", *_formal(form, other))
    if form.rank != other.rank or form.dtype is not other.dtype:
        return _with(port, "changed" if form.rank is None else "widened", *_formal(form, other))
    changed = [
        f"{place}: {x} -> {y}"
        for (place, x), (_, y) in zip(form.sizes, other.sizes, strict=True)
        if plain(first, x) is not over.dim(y)
    ]
    if a != b:
        return _with(port, "renamed", *changed)
    return _with(port, "resized" if changed else "same", *changed)


def _value(analysed: Analysed, name: str) -> Value:
    return analysed.values.get(name, TOP)


def _with(port: Port, status: PortStatus, *details: str, apart: Apart | None = None) -> Port:
    return replace(port, status=status, details=tuple(details), apart=apart)


def _formal(before: Form, after: Form) -> Iterator[str]:
    """The differences in kind, element type and rank."""
    if before.kind != after.kind:
        yield f"{before.kind or 'unknown'} -> {after.kind or 'unknown'}"
    if before.dtype is not after.dtype:
        yield f"element type: {before.dtype} -> {after.dtype}"
    if before.rank != after.rank:
        ranks = ("unknown" if rank is None else str(rank) for rank in (before.rank, after.rank))
        yield f"rank: {' -> '.join(ranks)}"


def _shape(seen: Seen, name: str | None) -> str:
    assert not isinstance(seen, str)
    assert name is not None
    return str(list(seen[name])) if name in seen else "no array"


def _disjoint(a: Dim, b: Dim) -> bool:
    """No size is both."""
    lows = [bound for bound in (a.bounds.lo, b.bounds.lo) if bound is not None]
    highs = [bound for bound in (a.bounds.hi, b.bounds.hi) if bound is not None]
    return bool(lows and highs) and max(lows) > min(highs)


def _data(a: Dim, b: Dim) -> str:
    """Two sizes, of which data decide one at least."""
    first, second = _ranged(a), _ranged(b)
    return f"data decide it: {first}" if first == second else f"data decide it: {first} -> {second}"


def _ranged(dim: Dim) -> str:
    if isinstance(dim, Expr) and dim.const is not None:
        return str(dim)
    lo, hi = dim.bounds
    ends = f"{'' if lo is None else lo}..{'' if hi is None or hi >= MAX_DIM else hi}"
    return f"{dim} in {ends}" if isinstance(dim, Expr) else ends


def lost(over: Correspondence, outputs: Sequence[Pair], run: bool) -> Iterator[Lost]:
    """The outputs whose rows are apart in the first model, and not in the second; with `run` a run may show it."""
    with suppress(UsageError):  # no size has a name
        before = rows(over.source, run=False)
        names, others = dict(both(over.pairs)), dict(both(outputs))
        kept = [output.name for output in before.outputs if output.verdict == "independent" and output.name in others]
        axes = [f"{names[place.input]}[{place.axis}]" for place in before.axes if place.input in names]
        if not kept or not axes:
            return
        after = {output.name: output for output in rows(over.target, axes, run=run).outputs}
        for name in kept:
            found = after.get(others[name])
            if found is not None and found.verdict not in ("independent", "shared"):
                told = [str(one) for one in (found.meeting, found.witness) if one is not None]
                yield Lost(name, before.symbol, found.verdict, "; ".join(told))
