"""What both models do: values under common numbers, and runs on the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

from absint.errors import AbsintError
from absint.jobs.diffing.correspondence import Correspondence, Pair, both, form_of, plain
from absint.jobs.rewriting.numbered import Numbered
from absint.lattices.limits import remaining
from absint.lattices.terms.expr import Dim, Expr, Symbol, sole_atom
from absint.lattices.terms.normal import substitute
from absint.lattices.value import TOP, Value, elements_of
from absint.questions.proofs.evidence import LEAST_SECONDS, SECONDS
from absint.questions.sizes.checking import Judge
from absint.questions.sizes.start import Sizes
from absint.runs.allowance import unmade
from absint.solution.analysed import Analysed

# One number, one computation: value numbering, across models.
#
# Where data decide sizes, nothing but the same computation on the same inputs shows that they are the same. Names of
# values and nodes, their order, and initialisers written as Constant nodes make no difference; an operator that draws
# random numbers computes something else each time. Two computations also have one number where the analysis knows their
# elements, where they turn or reshape one value into the same shape, and where one node does the work of two, or undoes
# the one before it, by the rules of `rewriting/pairs`. A size that data decide in the second model is then that of the
# value with the same number in the first: both models run on the same inputs.

MOST_BYTES: Final = 1 << 30
"""A larger model is not numbered: its weights would have to be read."""


class Numbers:
    """Values and nodes of two models under common numbers."""

    def __init__(self, over: Correspondence, inputs: Sequence[Pair], *, of_values: bool) -> None:
        """With `of_values`, operators that may give something else each time, or that are not known, are never equal;
        else the same operator on the same inputs has the same requirements. `inputs` are those of one type.
        """
        first, second = over.source, over.target
        fed = {b: a for a, b in both(inputs)}
        defaults = [model.lowered.signature.overridable for model in (first, second)]
        self._first, self._over = first, over
        self._values: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})
        self._nodes: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
        self.shared: dict[Symbol, Dim] = {}
        """Sizes and elements that data decide, each as that of the first value with its number."""
        if any(not model.loaded.is_outlined and model.loaded.size > MOST_BYTES for model in (first, second)):
            return
        table: dict[Hashable, int] = {}
        found: dict[int, Value] = {}
        chosen: dict[str, Hashable] = {n: n for n in second.inputs if n in defaults[0] and n not in fed}
        own: dict[str, Hashable] = {n: n for n in first.inputs}
        mine = Numbered(first, table, of_values, {**own, **chosen}, self.mine, partial(self._meet, found, True))
        names: dict[str, Hashable] = {name: fed.get(name, ("of B", name)) for name in second.inputs}
        names |= chosen | {n: n for n in first.inputs if n in defaults[1] and n not in fed.values()}
        theirs = partial(self._meet, found, False)
        other = Numbered(second, table, of_values, names, lambda dim: self._settled(over.dim(dim)), theirs)
        self._values = mine.values, other.values
        self._nodes = frozenset(mine.nodes), frozenset(other.nodes)

    def same(self, first: str, second: str) -> bool:
        """Two values of the main graphs are the same computation."""
        mine, other = self._values[0].get(first), self._values[1].get(second)
        return mine is not None and mine == other

    def is_covered(self, side: Side) -> bool:
        """Each node of a model is one of the other too: it fails only where that fails."""
        first, second = self._nodes
        mine, other = (first, second) if side == "A" else (second, first)
        return bool(mine) and mine <= other

    def mine(self, dim: Dim) -> Dim:
        """A dim of the first model; equal sizes that data decide have one symbol in it."""
        return self._settled(plain(self._first, dim))

    def _settled(self, dim: Dim) -> Dim:
        """A dim under what the first model requires, which both meet where both run."""
        settled = plain(self._first, self._first.last.analysis.facts.simplify(dim))
        return over_first(settled, self._first, lambda: self.shared)[0]

    def _meet(self, found: dict[int, Value], is_first: bool, number: int, value: Value) -> None:
        """Sizes and elements of a value are those of the first one with its number, which is of the first model."""
        known = found.setdefault(number, value) if is_first else found.get(number, TOP)
        if known is value and is_first:
            return
        for a, b in zip(_dims(known), _dims(value), strict=False):
            only = sole_atom(b) if isinstance(b, Expr) else None
            if not isinstance(only, Symbol) or not isinstance(a, Expr) or (a is b and is_first):
                continue
            if only.name not in (self._first.parameters if is_first else self._over.symbols):
                symbol, same = only if is_first else self._over.apart(only), self.mine(a)
                if isinstance(same, Expr) and symbol not in same.symbols:
                    self.shared.setdefault(symbol, same)


def over_first(dim: Dim, first: Analysed, shared: Callable[[], Mapping[Symbol, Dim]]) -> tuple[Dim, bool]:
    """A dim over symbols of the first model, those `shared` with the second included; False if others are left."""
    own = [s for s in dim.symbols if s.name not in first.parameters] if isinstance(dim, Expr) else []
    if not own or not isinstance(dim, Expr):
        return dim, isinstance(dim, Expr)
    return substitute(dim, shared()), all(symbol in shared() for symbol in own)


def _dims(value: Value) -> Iterator[object]:
    """The sizes of a value, and after them its elements if it is small."""
    yield from (dim for _, dim in form_of(value).sizes)
    yield from elements_of(value) or ()


Side = Literal["A", "B"]

Seen = Mapping[str, tuple[int, ...]] | str
"""The shapes of outputs, the length of a sequence as its shape; or the reason why the run failed."""

MOST_RUNS: Final = 16
"""Most sizes at which the models of one comparison are run."""


class Shown(NamedTuple):
    """A run of both models on the same inputs."""

    source: Seen
    """The model whose symbols gave the sizes."""
    target: Seen


class Both:
    """Runs of two models; each pair of runs is made once."""

    def __init__(self, over: Correspondence, *, allowed: bool) -> None:
        """Nothing is run unless it is `allowed`: then the rules alone say at which sizes a model runs."""
        self._models: dict[Side, Analysed] = {"A": over.source, "B": over.target}
        self._names = {"A": dict(both(over.pairs)), "B": {b: a for a, b in both(over.pairs)}}
        self._seen: dict[tuple[Side, tuple[tuple[str, int], ...]], Shown] = {}
        self._allowed = allowed
        self.why_not = "" if allowed else "no model is run"
        """The reason why the last pair of runs was not made."""

    def promised(self, side: Side, sizes: Sizes) -> bool:
        """The rules promise that the model runs at these sizes of its symbols."""
        return self._models[side].once(Judge).runs(sizes)

    def at(self, side: Side, sizes: Sizes) -> Shown | None:
        """Runs of both at sizes of the symbols of one, on random data, else on zeros or ones; None without a run."""
        key = side, tuple(sizes.items())
        if key not in self._seen:
            if self._allowed:
                self.why_not = self._is_late() or unmade(self._models[side], sizes)
            if self.why_not:
                return None
            self._seen[key] = self._run(side, sizes)
        return self._seen[key]

    def _run(self, side: Side, sizes: Sizes) -> Shown:
        from absint.runs.run import KINDS, feeds_for

        source, target = self._models[side], self._models["B" if side == "A" else "A"]
        names = self._names[side]
        first = ""
        for kind in KINDS:
            try:
                feeds = feeds_for(source, sizes, seed=0, values=kind)
            except AbsintError as error:
                return Shown(first or str(error), "")
            seen = _shapes(source, feeds)
            if isinstance(seen, str):
                first = first or seen
                continue
            given = {names[name]: array for name, array in feeds.items() if name in names}
            missing = [name for name in target.inputs if name not in given]
            if missing:
                return Shown(seen, f"it needs input {', '.join(map(repr, missing))}")
            return Shown(seen, _shapes(target, given))
        return Shown(first, "")

    def _is_late(self) -> str:
        if remaining(SECONDS) < LEAST_SECONDS:
            return "there is no time left for a run"
        return f"there were {MOST_RUNS} runs already" if len(self._seen) >= MOST_RUNS else ""


def _shapes(model: Analysed, feeds: Mapping[str, object]) -> Seen:
    from absint.runs.run import run

    try:
        found = run(model, feeds, isolated=True, seconds=remaining(SECONDS))
    except AbsintError as error:
        return str(error)
    return {name: (len(value),) if isinstance(value, list) else tuple(value.shape) for name, value in found.items()}
