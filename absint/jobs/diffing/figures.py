"""Costs and peak memory of two models over the same symbols, and how much is known of their shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple

from absint.errors import UsageError
from absint.jobs.diffing.answers import Amount, Figures, Share
from absint.jobs.diffing.correspondence import Correspondence, plain
from absint.lattices.deadline import DeadlineError, within
from absint.lattices.limits import Limits
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Expr, const, sub
from absint.questions.costs.cost import Cost
from absint.questions.costs.memory import Memory
from absint.questions.sizes.judge import Judge
from absint.questions.sizes.nearest import LegalSizes
from absint.questions.sizes.smallest import Sizes
from absint.questions.sizes.start import Starts
from absint.show.summary import totals
from absint.solution.analysed import Analysed

_SECONDS: Final = 2.0
_TRIED: Final = 64
"""Limits of the search for sizes that are legal in both models."""


class _Bill(NamedTuple):
    """The costs of one model."""

    model: Analysed
    cost: Cost
    memory: Memory

    def terms(self) -> Mapping[str, Dim]:
        return {
            "macs": self.cost.macs,
            "flops": self.cost.flops,
            "bytes": self.cost.bytes,
            "parameters": const(self.cost.parameter_elements),
            "parameter bytes": const(self.cost.parameter_bytes),
            "peak memory": self.memory.peak,
        }

    def numbers(self, sizes: Sizes) -> Mapping[str, int]:
        """All that these sizes determine; sizes that data decide are as `absint cost` takes them."""
        found = {"parameters": self.cost.parameter_elements, "parameter bytes": self.cost.parameter_bytes}
        with suppress(UsageError):
            found.update(self.cost.evaluate({**self.cost.default_sizes, **sizes})._asdict())
        with suppress(UsageError):
            found["peak memory"] = self.memory.evaluate({**self.memory.default_sizes, **sizes})
        return found

    def uncounted(self) -> Iterator[str]:
        for operator, count in self.cost.without_rule.items():
            yield f"{operator} ({count}) has no cost rule"
        if self.cost.unsized:
            yield f"{len(self.cost.unsized)} nodes have sizes that are not known"


def figures(first: Analysed, second: Analysed, over: Correspondence, at: Sizes) -> Figures:
    """Costs of both, over symbols of the first; `over` expresses those of the second. Numbers are `at` these sizes."""
    a, b = (_Bill(model, Cost(model), Memory(model)) for model in (first, second))
    default = {**a.cost.default_sizes, **a.memory.default_sizes, **at}
    sizes = _legal_in_both(first, second, over, {n: size for n, size in default.items() if n in first.parameters})
    numbers = {} if sizes is None else a.numbers(sizes)
    others = {} if sizes is None else b.numbers(_translated(second, over, sizes))
    amounts = []
    for (name, before), after in zip(a.terms().items(), b.terms().values(), strict=True):
        known = None if name not in numbers or name not in others else (numbers[name], others[name])
        amounts.append(_amount(name, plain(first, before), over.dim(after), known, first))
    uncounted = [f"{side}: {line}" for side, bill in (("A", a), ("B", b)) for line in bill.uncounted()]
    if sizes is None:
        uncounted.append("no sizes were found that are legal in both, so there are no numbers")
    return Figures(tuple(amounts), sizes or {}, (_share(first), _share(second)), tuple(uncounted))


def _amount(name: str, before: Dim, after: Dim, numbers: tuple[int, int] | None, first: Analysed) -> Amount:
    known = isinstance(before, Expr) and isinstance(after, Expr)
    difference = sub(after, before) if known else UNKNOWN_DIM
    if isinstance(difference, Expr) and not difference.free_symbols <= first.parameters.keys():
        difference = UNKNOWN_DIM  # sizes that data decide are those of another run
    return Amount(name, _text(before), _text(after), _text(difference), numbers)


def _text(dim: Dim) -> str:
    return str(dim) if isinstance(dim, Expr) else "?"


def _legal_in_both(first: Analysed, second: Analysed, over: Correspondence, sizes: Sizes) -> Sizes | None:
    """The sizes if they are legal in the second model too, else the nearest that are legal in both, if there are."""
    starts = second.once(Starts)
    wanted = _translated(second, over, sizes)
    if wanted.keys() != set(second.symbols) or starts.near(wanted) == wanted:
        return sizes
    legal = LegalSizes(first, sizes, Limits(_SECONDS))
    with suppress(DeadlineError), within(_SECONDS):
        for near, _ in islice(legal.near(sizes, legal.not_empty(sizes)), _TRIED):
            if second.once(Judge).is_legal(_translated(second, over, near)):
                return near
    return None


def _translated(second: Analysed, over: Correspondence, sizes: Sizes) -> Sizes:
    """The sizes by symbols of the second model, as far as these are given."""
    found = {}
    for name, expr in over.symbols.items():
        if (size := expr.at(sizes)) is not None:
            found[name] = size
    return {name: size for name, size in found.items() if name in second.parameters}


def _share(model: Analysed) -> Share:
    counts = totals(model)
    return Share(counts.concrete + counts.expression, counts.dims)
