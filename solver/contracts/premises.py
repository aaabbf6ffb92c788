"""Premises of which one at a time is left out, and sizes that meet the others: most need no query to be kept."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from itertools import islice, product
from typing import Final, cast

from absint.lattices.logic.relation import Relation
from absint.lattices.logic.truth import NO
from absint.solver.constraints import meets
from absint.solver.contracts.case_split import alternatives
from absint.solver.contracts.samples import Samples

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
        found = (self._changed(relation, touched, names, start) for start in starts)
        return next((sizes for sizes in found if sizes is not None), None)

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
