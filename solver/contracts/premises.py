"""Premises of which one at a time is left out, and sizes that meet the others: most need no query to be kept.

A clause is needed if the others do not entail it, which any sizes show that meet the others and break it. So relations
are evaluated once at a few hundred sample sizes, and a set of samples is the bits of an integer: the samples that break
some premise, and those that break two, say for each premise which samples meet all others. Where no sample shows it,
some are changed in the few symbols of the relation. Both are guesses: a counterexample that is found is one, and where
none is found somebody asks for a proof.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from itertools import islice, product
from typing import Final, cast

from absint.lattices.limits import on_time
from absint.lattices.logic.relation import NO, Relation
from absint.lattices.terms.evaluation import EVALUATE
from absint.lattices.terms.expr import Atom, Symbol, UndefinedError, postorder
from absint.solver.candidates import alone, around
from absint.solver.constraints import meets
from absint.solver.contracts.simplification import alternatives

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
                        if part.truth(self._values[number]):
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
        met = self.all
        for relation in relations:
            met &= self.where(relation)[0]
        return met


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
    same, others = around(relations, symbols, _DRAWN if few else _DRAWN * _MANY // max(len(symbols), 1))
    samples = Samples([*same, *others])
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


_FEW: Final = 4
"""Most premises about a symbol that is changed."""

_CHANGED: Final = 3
"""Most symbols that are changed at a time."""

_LARGEST: Final = 256
"""Largest size of all premises about these symbols together."""

_STARTS: Final = 4
"""Samples that are changed."""


class Premises:
    """Relations that are known, with the samples at which all of them hold, or all but one."""

    def __init__(self, relations: Iterable[Relation], samples: Samples) -> None:
        self._samples = samples
        self._relations = dict.fromkeys(relations)
        self._mentions: dict[str, dict[Relation, None]] | None = None
        self._seen = -1
        self._broken = 0
        """Samples that break a premise; one that was removed counts until there are more samples."""
        self._broken_twice = 0

    def without(self, relation: Relation | None) -> list[Relation]:
        """The premises but for this one."""
        return [known for known in self._relations if known is not relation]

    def remove(self, relation: Relation) -> None:
        """Know it no more."""
        self._relations.pop(relation, None)
        if self._mentions is not None:
            for name in relation.free_symbols:
                self._mentions[name].pop(relation, None)

    def add(self, relation: Relation) -> None:
        """Know this too."""
        if relation in self._relations:
            return
        self._relations[relation] = None
        if self._seen == len(self._samples):
            self._count(relation)
        if self._mentions is not None:
            self._mention(relation)

    def met(self, without: Relation | None = None) -> int:
        """Samples at which all premises hold but for this one, which may hold or not."""
        if self._seen != len(self._samples):
            self._seen = len(self._samples)
            self._broken = self._broken_twice = 0
            for relation in self._relations:
                self._count(relation)
        allowed = 0 if without is None else self._breaks(without) & ~self._broken_twice
        return self._samples.all & ~(self._broken & ~allowed)

    def counterexample(self, relation: Relation, without: Relation | None = None) -> Mapping[str, int] | None:
        """Sizes that meet the premises but for this one, and not the relation, if some are found without a query."""
        met = self.met(without)
        false = met & self._samples.where(relation)[1]
        if false:
            return self._samples.binding(next(_bits(false)))
        names, touched = self._near(relation, without)
        starts = self._starts(relation, touched, set(names), met) if names else ()
        changes = (self._changed(relation, touched, names, start) for start in starts)
        return next((sizes for sizes in changes if sizes is not None), None)

    def _near(self, relation: Relation, without: Relation | None) -> tuple[list[str], list[Relation]]:
        """Symbols of the relation, or of a premise about such a one, that few premises mention, and these premises."""
        mentions = self._mentioning()
        names: dict[str, None] = {}
        touched: dict[Relation, None] = {}
        pending = [relation]
        while pending:
            for name in sorted(pending.pop().free_symbols):
                others = (known for known in mentions.get(name, ()) if known is not without)
                about = list(islice(others, _FEW + 1))
                size = sum(known.size for known in {*about, *touched})
                if name not in names and len(names) < _CHANGED and len(about) <= _FEW and size <= _LARGEST:
                    names[name] = None
                    pending += [known for known in about if known not in touched]
                    touched |= dict.fromkeys(about)
        return list(names), list(touched)

    def _starts(
        self, relation: Relation, touched: Sequence[Relation], names: set[str], met: int
    ) -> Iterator[Mapping[str, int]]:
        """Samples to change these names in; first those at which the touched premises hold whatever they are."""
        for part in alternatives(relation):
            if names.isdisjoint(part.free_symbols):
                met &= self._samples.where(part)[1]
        safe = met
        for known in touched:
            settled = 0
            for part in alternatives(known):
                if names.isdisjoint(part.free_symbols):
                    settled |= self._samples.where(part)[0]
            safe &= settled
        yield from islice(map(self._samples.binding, _bits(safe)), _STARTS)
        yield from islice(map(self._samples.binding, _bits(met & ~safe)), _STARTS)

    def _changed(
        self, relation: Relation, touched: Sequence[Relation], names: Sequence[str], start: Mapping[str, int]
    ) -> Mapping[str, int] | None:
        """The sizes with others of these names, at which the relation fails and the touched premises hold."""
        read = set(relation.free_symbols).union(*(known.free_symbols for known in touched))
        if not read <= start.keys():
            return None
        sizes = {name: start[name] for name in read}
        for changed in product(*(dict.fromkeys((sizes[name], sizes[name] + 1, 0, 1)) for name in names)):
            sizes.update(zip(names, changed, strict=True))
            if relation.at(sizes) is NO and meets(touched, sizes):
                return ChainMap(sizes, cast(MutableMapping[str, int], start))
        return None

    def _mentioning(self) -> Mapping[str, Mapping[Relation, None]]:
        if self._mentions is None:
            self._mentions = {}
            for relation in self._relations:
                self._mention(relation)
        return self._mentions

    def _mention(self, relation: Relation) -> None:
        assert self._mentions is not None
        for name in relation.free_symbols:
            self._mentions.setdefault(name, {})[relation] = None

    def _count(self, relation: Relation) -> None:
        breaks = self._breaks(relation)
        self._broken_twice |= self._broken & breaks
        self._broken |= breaks

    def _breaks(self, relation: Relation) -> int:
        return self._samples.all & ~self._samples.where(relation)[0]


def _bits(number: int) -> Iterator[int]:
    """The places of the bits that are set."""
    while number:
        yield (number & -number).bit_length() - 1
        number &= number - 1
