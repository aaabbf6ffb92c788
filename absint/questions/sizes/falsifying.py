"""Legal sizes at which conditions are false, found without a solver.

Sizes that meet the declarations, assumptions and requirements on input symbols are built from facts and tried; an
answer counts only after the model, analysed at them, meets every requirement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, product
from typing import Final, NamedTuple

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import NO, TRUE, UNKNOWN, YES, Relation, Truth
from absint.lattices.terms.expr import MAX_DIM, Expr, Symbol, const
from absint.lattices.terms.interval import ANY, Congruence, Interval
from absint.lattices.terms.normal import sole_atom
from absint.questions.sizes.checking import Judge
from absint.questions.sizes.outcomes import Outcome
from absint.solution.analysed import Analysed
from absint.solution.constraints import recorded
from absint.solution.loading import can_run
from absint.solver.candidates import SMALL, USUAL, alone, combined, coprime, equal, fitted, repaired
from absint.solver.contracts.premises import near

Sizes = Mapping[str, int]

MAX_CONFIRMED: Final = 18
MAX_ANALYSED: Final = 100_000
"""Limits for one result: sizes at which the model is analysed, and nodes analysed in total."""

MAX_SEARCHED: Final = 64
"""Most conditions that get a search of their own."""

MAX_REFUSED: Final = 48
"""Failed attempts after which the search for one condition ends."""

_REPAIRS: Final = 3
_CHANGES: Final = 64
"""Changes of sizes that meet no requirement: how many, and how many are looked at for each."""

_COMBINED: Final[Mapping[int, int]] = {1: 8, 2: 8, 3: 4, 4: 3}
"""By the number of symbols: the small sizes of each that are combined freely."""

_GRID: Final[Mapping[int, int]] = {1: 65, 2: 17, 3: 7, 4: 5}
"""Most symbols whose small sizes are all tried if no others meet the requirements."""


class Condition(NamedTuple):
    """A relation that must hold wherever a path is taken."""

    relation: Relation
    guard: Relation = TRUE
    when: str = ""
    """The part of a run that it is about, in words; empty for all of it."""

    def is_false_at(self, sizes: Sizes) -> bool:
        """It is false for all data, and the path may be taken."""
        return _truth(self.relation, sizes) is NO and _truth(self.guard, sizes) is not NO

    def breaks(self, sizes: Sizes) -> bool:
        """No run at these sizes meets it: the path is taken, whatever the data."""
        return self.is_false_at(sizes) and _truth(self.guard, sizes) is YES


class FalsifyingSizes:
    """Legal sizes of the inputs of one model."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._judge = analysed.once(Judge)
        self._graded: dict[tuple[int, ...], int | None] = {}
        self._budget = max(2, min(MAX_CONFIRMED, MAX_ANALYSED // max(1, len(analysed.nodes))))

    def falsifying(self, conditions: Iterable[Condition]) -> dict[Condition, Sizes]:
        """For each condition that some legal size makes false, such a size; the same for many, if possible.

        Sizes without a 0 are preferred, then those at which the rules promise a run. Without any, it is left out.
        """
        found: dict[Condition, Sizes] = {}
        rest = list(dict.fromkeys(conditions))
        if not rest or not can_run(self._analysed):
            return found
        for empty, certain in product((False, True), (True, False) if self._analysed.is_complete else (False,)):
            for sizes in self.drawn if certain else self._least_open(rest, empty):
                false = [c for c in rest if c.is_false_at(sizes)] if _has_0(sizes) is empty else []
                if false and self.meets(sizes) and self._legal(sizes, certain):
                    found |= dict.fromkeys(false, sizes)
                    rest = [c for c in rest if c not in found]
            for condition in rest[:MAX_SEARCHED]:
                known = next((at for at in found.values() if condition.is_false_at(at)), None)
                near = (at for at in self._near(condition, certain, empty) if self._legal(at, certain))
                at = known or next(near, None)
                if at is not None:
                    found[condition] = at
            rest = [c for c in rest if c not in found]
        return found

    def runs(self, sizes: Sizes) -> bool:
        """The rules promise a run at these sizes, on data that are all 0."""
        return self._legal(sizes, True)

    def _least_open(self, conditions: Sequence[Condition], empty: bool) -> Sequence[Sizes]:
        """Drawn sizes at which conditions are false, in ascending order of nodes that may fail."""
        graded: list[tuple[int, Sizes]] = []
        for sizes in sorted(self.drawn, key=lambda at: (0 in at.values(), 1 in at.values())):
            if _has_0(sizes) is empty and any(c.is_false_at(sizes) for c in conditions) and self.meets(sizes):
                grade = self._grade(sizes)
                if grade is not None:
                    graded.append((grade, sizes))
        return [sizes for _, sizes in sorted(graded, key=lambda pair: pair[0])]

    def _legal(self, sizes: Sizes, certain: bool) -> bool:
        """Every requirement holds at these sizes; if `certain`, complete rules promise a run."""
        grade = self._grade(sizes)
        return grade == 0 if certain else grade is not None

    def _grade(self, sizes: Sizes) -> int | None:
        """The number of nodes that may fail at these sizes; None for a broken requirement, or past the budget."""
        key = tuple(sizes.values())
        if key not in self._graded:
            self._graded[key] = self._checked(sizes) if len(self._graded) < self._budget else None
        return self._graded[key]

    def _checked(self, sizes: Sizes) -> int | None:
        """The grade with data that are all 0, or with elements of inputs that are 1; with any data if both fail."""
        elements = self._analysed.declared_inputs.elements
        grades: list[int] = []
        for fed in (sizes, {**sizes, **dict.fromkeys(elements, 1)}) if elements else (sizes,):
            found = self._judge.check(fed, zeros=True)
            if found.outcome is not Outcome.ILLEGAL:
                if found.premises:
                    return None
                grades.append(len(found.possible_failures))
                if grades[-1] == 0:
                    return 0
        if grades:
            return min(grades)
        found = self._judge.check(sizes)
        return None if found.outcome is Outcome.ILLEGAL or found.premises else len(found.possible_failures)

    # Sizes to try

    @cached_property
    def _required(self) -> Sequence[Relation]:
        """Declarations, assumptions and requirements over sizes of the inputs alone."""
        inputs = set(self._analysed.symbols)
        return [formula for formula in recorded(self._analysed).base.distinct if formula.free_symbols <= inputs]

    @cached_property
    def _facts(self) -> Facts:
        return Facts(self._required, self._analysed.symbols)

    @cached_property
    def drawn(self) -> Sequence[Sizes]:
        """A few sizes that facts allow: equal ones, some that share no factor, and batches of large ones."""
        names = self._analysed.symbols
        wanted: list[Sizes] = [*equal(names, [1])]
        if names:
            batches = ({**sizes, names[0]: 2} for sizes in equal(names, (64, 224)))
            wanted += [coprime(names), coprime(names, 4), *equal(names, [2]), *batches, *equal(names, (64, 224))]
            wanted += [{name: 1 + (number + shift) % 2 for number, name in enumerate(names)} for shift in (0, 1)]
            wanted += equal(names, [0])
        found = [sizes for sizes in map(self._fitted, wanted) if sizes is not None]
        if not any(map(self.meets, found)):
            found += map(self._repaired, found[:3])
        if not any(map(self.meets, found)):
            grid = range(_GRID.get(len(names), 0))
            found += islice(filter(self.meets, combined(dict.fromkeys(names, grid))), 3)
        return list({tuple(sizes.values()): sizes for sizes in found}.values())

    @cached_property
    def _start(self) -> Sizes:
        """Sizes that others differ from in a few symbols."""
        fallback = dict.fromkeys(self._analysed.symbols, 1)
        return next(filter(self.meets, self.drawn), next(iter(self.drawn), fallback))

    def _near(self, condition: Condition, certain: bool, empty: bool) -> Iterator[Sizes]:
        """Sizes, one of them 0 if `empty`, that differ in the symbols of a condition, at which it is false.

        Small ones come first; unless rules promise a run, 0 and 1, which an operator may refuse, come last.
        """
        relations = [r for r in (condition.relation, condition.guard) if r is not TRUE]
        mentioned: set[str] = set().union(*(relation.free_symbols for relation in relations))
        for name in [name for name in mentioned if name in self._mapped]:
            mentioned |= self._mapped[name].free_symbols  # symbols that decide the size
        names = [name for name in self._analysed.symbols if name in mentioned]
        if not names:
            return
        samples = near(relations, names)
        choices = [dict(samples.binding(number)) for number in range(len(samples))]
        choices += combined(dict.fromkeys(names, SMALL[: _COMBINED.get(len(names), 0)]))
        choices.sort(key=lambda at: (0 in at.values(), not certain and 1 in at.values(), sum(at.values())))
        tried: set[tuple[int, ...]] = set()
        left = MAX_REFUSED
        for choice in choices:
            sizes = self._fitted({**self._start, **choice})
            if sizes is None or _has_0(sizes) is not empty or (key := tuple(sizes.values())) in tried:
                continue
            tried.add(key)
            if condition.is_false_at(sizes):
                if self.meets(sizes):
                    yield sizes
                elif (left := left - 1) == 0:
                    return

    def meets(self, sizes: Sizes) -> bool:
        """Every requirement on input sizes alone holds; the last one found broken is asked first."""
        for place, formula in enumerate(self._asked):
            if _truth(formula, sizes) is not YES:
                self._asked.insert(0, self._asked.pop(place))
                return False
        return True

    @cached_property
    def _asked(self) -> list[Relation]:
        return list(self._required)

    def _broken(self, sizes: Sizes) -> list[Relation]:
        return [formula for formula in self._required if _truth(formula, sizes) is not YES]

    def _repaired(self, sizes: Sizes) -> Sizes:
        """The sizes after a few changes, each of which leaves fewer requirements broken."""

        def changed(at: Sizes, relation: Relation) -> Iterator[Sizes]:
            names = (name for name in self._analysed.symbols if name in relation.free_symbols)
            options = map(self._fitted, alone(at, names, (*USUAL, 0)))
            return islice((option for option in options if option is not None), _CHANGES)

        return repaired(sizes, self._broken, changed, _REPAIRS)

    def _fitted(self, wanted: Sizes) -> Sizes | None:
        """The wanted sizes, moved to those that facts allow."""
        facts = self._facts
        if facts.contradiction:
            return None
        sizes: dict[str, int] = {}
        solved: list[tuple[str, Expr]] = []
        for name in self._analysed.symbols:
            known = self._mapped.get(name)
            atom = sole_atom(known) if known is not None else None
            if known is not None and not (isinstance(atom, Symbol) and atom.name == name):
                solved.append((name, known))
            else:
                sizes[name] = self._allowed(name, wanted[name], known.bounds if known is not None else _NATURAL)
        for _ in range(len(solved)):
            for name, known in solved:
                if name not in sizes and known.free_symbols <= sizes.keys():
                    if (size := known.at(sizes)) is None:
                        return None
                    sizes[name] = size
        if len(sizes) < len(self._analysed.symbols) or not all(0 <= size <= MAX_DIM for size in sizes.values()):
            return None
        return {name: sizes[name] for name in self._analysed.symbols}

    def _allowed(self, name: str, size: int, bounds: Interval) -> int:
        size = fitted(size, bounds)
        values = self._values.get(name)
        if values:
            return min(values, key=lambda value: (abs(value - size), value))
        remainder = self._remainders.get(name, ANY)
        return size + (remainder.remainder - size) % remainder.modulus if remainder.modulus > 1 else size

    @cached_property
    def _mapped(self) -> Mapping[str, Expr]:
        return {s.name: dim for s, dim in self._facts.mapping.items() if isinstance(dim, Expr)}

    @cached_property
    def _values(self) -> Mapping[str, frozenset[int]]:
        return {s.name: values for s, values in self._facts.values.items()}

    @cached_property
    def _remainders(self) -> Mapping[str, Congruence]:
        return {s.name: congruence for s, congruence in self._facts.remainders.items()}


def drawn(analysed: Analysed) -> Iterator[Sizes]:
    """A few sizes that meet the requirements over sizes of the inputs: small, equal, coprime and large ones."""
    found = FalsifyingSizes(analysed)
    return filter(found.meets, found.drawn)


_NATURAL: Final = Interval(0, MAX_DIM)


def _has_0(sizes: Sizes) -> bool:
    return 0 in sizes.values()


def _truth(relation: Relation, sizes: Sizes) -> Truth:
    """The truth of a relation at these sizes, whatever other symbols are; UNKNOWN if they decide."""
    truth = relation.at(sizes)
    if truth is not UNKNOWN or relation.free_symbols <= sizes.keys():
        return truth
    settled = relation.substitute({s: const(sizes[s.name]) for s in relation.symbols if s.name in sizes}).settled
    return UNKNOWN if settled is None else Truth.of(settled)
