"""Sample sizes at which relations are evaluated: a relation that is false at one needs no query to be refuted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from absint.lattices.deadline import on_time
from absint.lattices.logic.relation import Comparison, Relation
from absint.lattices.terms.evaluation import EVALUATE
from absint.lattices.terms.expr import Atom, Symbol, UndefinedError, postorder
from absint.solver.candidates import alone, around

_DRAWN: Final = 192

_MANY: Final = 64
"""Symbols from which on fewer sizes are drawn, and only those in most relations are changed one at a time."""

_HUBS: Final = 16
"""So many of them."""

_OTHERS: Final = (0, 1, 9)
"""Sizes of the one that is changed."""


class Samples:
    """Bindings, in the order they were added. A set of them is the bits of an integer."""

    def __init__(self, bindings: Iterable[Mapping[str, int]] = ()) -> None:
        self._bindings: list[Mapping[str, int]] = []
        self._values: list[dict[Atom, int]] = []
        self._atoms: dict[Atom, int] = {}
        self._truths: dict[Relation, tuple[int, int, int]] = {}
        for binding in bindings:
            self.add(binding)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def all(self) -> int:
        return (1 << len(self._values)) - 1

    def add(self, binding: Mapping[str, int]) -> None:
        self._bindings.append(dict(binding))
        self._values.append({})

    def binding(self, number: int) -> Mapping[str, int]:
        return self._bindings[number]

    def where(self, relation: Relation) -> tuple[int, int]:
        """The bindings at which the relation holds, and those at which it is false; elsewhere it has no value."""
        known = self._truths.get(relation)
        if known is not None and known[2] == len(self):
            return known[:2]
        for part in relation.subformulas():
            on_time()
            true, false, seen = self._truths.get(part, (0, 0, 0))
            if seen == len(self):
                continue
            if part.op in ("and", "or"):
                pairs = [self._truths[operand][:2] for operand in part.parts]
                true, false = _all(pairs) if part.op == "and" else _all([pair[::-1] for pair in pairs])[::-1]
            else:
                self._evaluate(part)
                for number in range(seen, len(self)):
                    with suppress(UndefinedError, ValueError, KeyError):
                        if _holds(part, self._values[number]):
                            true |= 1 << number
                        else:
                            false |= 1 << number
            self._truths[part] = true, false, len(self)
        return self._truths[relation][:2]

    def _evaluate(self, relation: Relation) -> None:
        for node in postorder(relation.atoms()):
            for number in range(self._atoms.get(node, 0), len(self)):
                values = self._values[number]
                if isinstance(node, Symbol):
                    size = self._bindings[number].get(node.name)
                    if size is not None and size in node.bounds:
                        values[node] = size
                    continue
                with suppress(UndefinedError, KeyError):  # a choice that is not made may divide by zero
                    values[node] = EVALUATE[node.op](values, node.args)
            self._atoms[node] = len(self)

    def meet(self, relations: Iterable[Relation]) -> int:
        """The bindings at which all of them hold."""
        found = self.all
        for relation in relations:
            found &= self.where(relation)[0]
        return found


def _holds(part: Relation, values: Mapping[Atom, int]) -> bool:
    """The truth of a relation without connectives; `Relation.truth` is for all, and slower."""
    if not isinstance(part, Comparison):
        return part.truth(values)
    value = part.expr.value(values)
    return value >= 0 if part.op == ">=" else (value == 0) is (part.op == "==")


def _all(parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    true, false = parts[0]
    for other in parts[1:]:
        true, false = true & other[0], false | other[1]
    return true, false


def near(relations: Sequence[Relation], symbols: Sequence[str]) -> Samples:
    """Sizes around the constants and the multiples of divisors that the relations mention; the same in every run.

    Some of them differ in one symbol from sizes at which all relations hold: a clause about few of many symbols is
    false at such sizes, and others hold.
    """
    few = 0 < len(symbols) <= _MANY
    same, drawn = around(relations, symbols, _DRAWN if few else _DRAWN * _MANY // max(len(symbols), 1))
    samples = Samples([*same, *drawn])
    good = samples.meet(relations)
    equal = good & ((1 << len(same)) - 1)
    if good:
        base = samples.binding((equal or good).bit_length() - 1)
        for sizes in alone(base, _most_mentioned(relations, symbols), _OTHERS):
            samples.add(sizes)
    return samples


def _most_mentioned(relations: Iterable[Relation], symbols: Sequence[str]) -> Sequence[str]:
    """The symbols, or those in the most relations if there are many."""
    if len(symbols) <= _MANY:
        return symbols
    mentions = Counter(name for relation in relations for name in relation.free_symbols)
    return sorted(symbols, key=lambda name: -mentions[name])[:_HUBS]
