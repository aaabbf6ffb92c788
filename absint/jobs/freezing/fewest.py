"""The fewest symbols that must be fixed so that every size of a computed value is a number.

Nothing is guessed: a set of symbols counts if the analysis, with these symbols bound, finds as many sizes as it does
with all of them bound. A symbol that follows from others by the requirements of the model need not be fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from absint.jobs.freezing.dynamic import DynamicValue, dynamic, open_dims
from absint.jobs.freezing.sizes import FixedSizes, IllegalSizesError, at, fix
from absint.lattices.limits import Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation, eq
from absint.lattices.terms.expr import Expr
from absint.questions.sizes.nearest import nearest
from absint.solution.analysed import Analysed
from absint.solution.constraints import recorded

MAX_ANALYSES: Final = 64
"""Most sets of symbols that are tried."""

_WANTED: Final = ((5, 7, 11, 13, 17, 19, 23, 29), (64, 96, 80, 112, 48, 160, 224, 32))
"""Sizes near which legal ones are looked for, in the order of the symbols."""

_LIMITS: Final = Limits(10.0)


@dataclass(frozen=True)
class Fewest:
    """The answer to the question which symbols must be fixed at least."""

    choices: tuple[tuple[str, ...], ...]
    """The smallest sets of symbols, in the order of the inputs; more than one where symbols determine each other. None
    if no legal sizes were found.
    """
    follow: Mapping[str, str]
    """Symbols that need not be fixed, since the requirements of the model leave one size, and how the first choice
    determines it.
    """
    unused: tuple[str, ...]
    """Symbols on which the size of no computed value hangs: only inputs have them."""
    by_data: tuple[DynamicValue, ...]
    """Values of which some size is no number at `sizes`: it hangs on data, or nothing is known of it. At other sizes it
    may be one: a tensor without elements has no nonzero ones.
    """
    sizes: Mapping[str, int]
    """The legal sizes at which this was found."""
    reason: str = ""
    """The reason why the sets may not be the smallest, if they may not."""

    def __str__(self) -> str:
        if not self.choices:
            return self.reason
        sets = " or ".join(", ".join(names) or "nothing" for names in self.choices)
        rest = f"; {len(self.by_data):,} values hang on data" if self.by_data else ""
        return f"fix {sets}{rest}"

    def __repr__(self) -> str:
        return f"<Fewest: {self}>"


def fewest(analysed: Analysed) -> Fewest:
    """See `Result.fewest_symbols`."""
    analysed.require_sound("freeze")
    whole = _sample(analysed)
    if whole is None:
        return Fewest((), {}, (), (), {}, "no legal sizes were found at which it could be tried")
    return _Search(analysed, whole).answer()


def _sample(analysed: Analysed) -> FixedSizes | None:
    """The model at legal sizes, if any are found."""
    for wanted in _WANTED:
        sizes = {name: wanted[place % len(wanted)] for place, name in enumerate(analysed.symbols)}
        found = nearest(analysed, sizes, _LIMITS).sizes
        if found is not None:
            try:
                return fix(analysed, found)
            except IllegalSizesError:
                continue
    return None


class _Search:
    """The search for the smallest sets."""

    def __init__(self, analysed: Analysed, whole: FixedSizes) -> None:
        self._analysed = analysed
        self._sizes = whole.sizes
        self._whole = whole.bound
        self._open = set(open_dims(whole.bound))
        """Dims that are no numbers even if all symbols are bound."""
        self._left = MAX_ANALYSES
        self._reason = ""

    def answer(self) -> Fewest:
        """The smallest sets, and what else there is to say."""
        hangs = self._hangs()
        choices: list[tuple[str, ...]] = []
        for count in range(len(self._analysed.symbols) + 1):
            choices = [chosen for chosen in self._candidates(count, hangs) if self._suffices(chosen)]
            if choices or self._left <= 0:
                break
        if not choices:
            self._reason = f"more than {MAX_ANALYSES} sets of symbols would have to be tried"
            choices = [tuple(self._analysed.symbols)]
        determined = self._determined(choices[0])
        symbols = self._analysed.symbols
        follow = {name: self._text(name) for name in symbols if name in determined and name not in choices[0]}
        found = dynamic(self._whole)
        by_data = (*found.outputs, *found.inner)
        unused = tuple(name for name in symbols if name not in determined)
        return Fewest(tuple(choices), follow, unused, by_data, dict(self._sizes), self._reason)

    def _hangs(self) -> set[str]:
        """Symbols on which some size is sure to hang: another number for one of them gives it another value."""
        found: set[str] = set()
        for place, dim in open_dims(self._analysed).items():
            if place not in self._open and dim is not None and dim.free_symbols <= self._sizes.keys():
                found |= {name for name in dim.free_symbols - found if self._changes(dim, name)}
        return found

    def _changes(self, dim: Expr, name: str) -> bool:
        after = [dim.at({**self._sizes, name: self._sizes[name] + step}) for step in (0, 1, 2, 7, 64, 997)]
        return None not in after and len({*after}) > 1

    def _candidates(self, count: int, hangs: set[str]) -> Iterator[tuple[str, ...]]:
        """Sets of so many symbols that determine all on which a size is sure to hang."""
        for chosen in combinations(self._analysed.symbols, count):
            if hangs <= self._determined(chosen):
                yield chosen

    def _determined(self, chosen: Sequence[str]) -> set[str]:
        """The symbols that have one size only once these are fixed."""
        parameters = self._analysed.parameters
        given = [eq(parameters[name], self._sizes[name]) for name in chosen]
        facts = Facts([*self._relations, *given], tuple(parameters))
        return {name for name in self._analysed.symbols if facts.simplify(parameters[name]).is_concrete}

    @property
    def _relations(self) -> list[Relation]:
        return self._analysed.once(_relations)

    def _suffices(self, chosen: tuple[str, ...]) -> bool:
        """With these symbols bound, no more sizes are open than with all of them bound."""
        if self._left <= 0:
            return False
        self._left -= 1
        determined = self._determined(chosen)
        bound = at(self._analysed, {name: size for name, size in self._sizes.items() if name in determined})
        return set(open_dims(bound)) <= self._open

    def _text(self, name: str) -> str:
        """The size of a symbol over others, if the requirements say what it is."""
        value = Facts(self._relations, tuple(self._analysed.parameters)).simplify(self._analysed.parameters[name])
        return str(value) if isinstance(value, Expr) and name not in value.free_symbols else ""


def _relations(analysed: Analysed) -> list[Relation]:
    """Requirements and premises over sizes of the inputs alone."""
    known = {*analysed.symbols}
    return [formula for formula in recorded(analysed).base.distinct if formula.free_symbols <= known]
