"""The declarations that are false, each with sizes that show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.lattices.logic.relation import FALSE, TRUE, Relation, conjunction, ge
from absint.lattices.logic.truth import NO
from absint.lattices.terms.expr import Dim, Expr, Symbol
from absint.lattices.terms.substitution import substitute
from absint.lattices.text.escapes import format_sizes
from absint.lattices.text.naming import Where
from absint.model.declared_types import problem
from absint.program.declarations import Declaration
from absint.program.steps import LoopBody
from absint.questions.claims.claims import Claim, Claims
from absint.questions.claims.reading import Dims, Group, Inferred, Stated, dims, groups
from absint.solution.described import brief
from absint.solution.naming import defining, where

if TYPE_CHECKING:
    from absint.questions.sizes.falsifying import Condition
    from absint.solution.analysed import Analysed
    from absint.solution.constraints import Recorder


@dataclass(frozen=True)
class FalseDeclaration:
    """A declared type or shape that some legal size makes false."""

    declaration: Declaration
    message: str
    """The declaration, the truth, and where they differ."""
    sizes: Mapping[str, int] | None = None
    """Sizes of the inputs at which it is false; None if it is false in every run."""
    at_0: bool = False
    """No legal sizes without a 0 were found at which it is false."""
    name: str = ""
    """The author's own name for two dims that differ, if that is what is false."""

    @property
    def where(self) -> str:
        """The declaration in words of the model: `output 'y'`, `Loop#1/body input 'v'`."""
        return self.declaration.where


_WHEN: Final = (" in the first trip", " in the second trip")


def false_declarations(analysed: Analysed) -> tuple[FalseDeclaration, ...]:
    """The declarations of a model that are false: no value has the type, or some legal size makes a dim differ.

    Sizes are looked for without a solver, so a false declaration may be missed; `absint audit` looks further. A name
    that only declarations have is no claim, unless it stands for dims that differ.
    """
    return analysed.once(_found)


def _found(analysed: Analysed) -> tuple[FalseDeclaration, ...]:
    return tuple(_Finder(analysed).find())


class _Found(NamedTuple):
    """The evidence against a declaration: the fields of `FalseDeclaration`."""

    message: str
    sizes: Mapping[str, int] | None = None
    at_0: bool = False
    name: str = ""


class _Finder:
    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._first_trips: dict[int, tuple[Mapping[Symbol, Dim], ...]] = {}

    @cached_property
    def _recorder(self) -> Recorder:
        from absint.solution.constraints import Recorder

        return Recorder(self._analysed.lowered, self._analysed.base)

    def find(self) -> Iterator[FalseDeclaration]:
        everything = list(groups(self._analysed))
        found: dict[int, _Found] = {}
        sound: list[Group] = []
        for group in everything:
            message = problem(group.members[0].type, group.value)
            if message is None:
                sound.append(group)
            elif self._reached(group) is not FALSE:
                found[id(group)] = _Found(message)
        for group, false in self._false_dims(sound):
            found.setdefault(id(group), false)
        for group in everything:
            if id(group) in found:
                for item in group.members:
                    yield FalseDeclaration(item, *found[id(group)])

    def _false_dims(self, sound: Sequence[Group]) -> Iterator[tuple[Group, _Found]]:
        """False declarations of dims; of one declaration the first counts."""
        facts = self._analysed.analysis.facts
        open_: list[tuple[Group, Dims, Claim, list[tuple[Condition, str]]]] = []
        for group, declared, claims in Claims(self._analysed).read(sound):
            rank = declared.value.shape.rank
            if len(declared.stated) != rank:
                if self._reached(group) is not FALSE:
                    texts = where(self._analysed)
                    message = f"declared {_shown(declared.stated)}, but it is {self._shape(group, texts)}"
                    yield group, _Found(defining(f"{message}: false in every run", texts))
                continue
            for claim in claims:
                if claim.relation is FALSE or facts.decide(claim.relation) is NO:
                    if self._reached(group) is not FALSE:
                        message = self._message(group, declared, claim, "false in every run")
                        yield group, _Found(message, name=claim.name)
                else:
                    open_.append((group, declared, claim, list(self._conditions(group, claim))))
        if open_:
            yield from self._false_at_sizes(open_)

    def _false_at_sizes(
        self, asked: Sequence[tuple[Group, Dims, Claim, Sequence[tuple[Condition, str]]]]
    ) -> Iterator[tuple[Group, _Found]]:
        """Findings shown by legal sizes; claims that only a size of 0 refutes come last."""
        from absint.questions.sizes.falsifying import LegalSizes

        sizes = LegalSizes(self._analysed).falsifying(c for *_, found in asked for c, _ in found)
        last: list[tuple[Group, _Found]] = []
        for group, declared, claim, conditions in asked:
            first = next(((c, when) for c, when in conditions if c in sizes), None)
            if first is None:
                continue
            at = sizes[first[0]]
            shown = format_sizes(at)
            at_0 = 0 in at.values()
            message = self._message(
                group, declared, claim, f"false{first[1]} {'where a size is 0, as at' if at_0 else 'at'} {shown}"
            )
            if at_0:
                last.append((group, _Found(message, at, True, claim.name)))
            else:
                yield group, _Found(message, at, name=claim.name)
        yield from last

    def _reached(self, group: Group) -> Relation:
        """The condition under which the graph that declares it is entered."""
        gate = group.members[0].gate
        return TRUE if gate < 0 else self._recorder.path_condition(gate)

    def _conditions(self, group: Group, claim: Claim) -> Iterator[tuple[Condition, str]]:
        """The claim; inside loops the claim in the first trip, and in the second."""
        from absint.questions.sizes.falsifying import Condition
        from absint.shapes.loops.body import BodySymbols

        reached = self._reached(group)
        symbols = claim.relation.symbols
        loop = next((loop for loop in self._loops(group) if any(map(BodySymbols(loop).has, symbols))), None)
        if loop is None:
            yield Condition(claim.relation, reached), ""
            return
        trips: Dim = self._analysed.base.analysis.trips.get(loop.first, Dim(None))
        for trip, (known, when) in enumerate(zip(self._trips(loop), _WHEN, strict=True)):
            yield Condition(claim.relation.substitute(known), conjunction(reached, ge(trips, trip + 1))), when

    def _trips(self, loop: LoopBody) -> tuple[Mapping[Symbol, Dim], ...]:
        from absint.questions.claims.trips import first_trips

        if loop.first not in self._first_trips:
            self._first_trips[loop.first] = first_trips(self._analysed, loop, Inferred(self._analysed))
        return self._first_trips[loop.first]

    def _loops(self, group: Group) -> Iterator[LoopBody]:
        nodes = self._analysed.nodes
        gate = group.members[0].gate
        while gate >= 0:
            step = nodes[gate].step
            if isinstance(step, LoopBody):
                yield step
            gate = nodes[gate].gate

    def _message(self, group: Group, declared: Dims, claim: Claim, verdict: str) -> str:
        texts = where(self._analysed)
        text = f"declared {_shown(declared.stated)}, but it is {self._shape(group, texts)}"
        if claim.name:
            from absint.solution.constraints import all_names

            size = claim.size
            shown = substitute(size, all_names(self._analysed)) if isinstance(size, Expr) else Dim(None)
            text += f", and {claim.name!r} is {texts.dim(shown)} at {claim.place}"
        return defining(f"{text}: {verdict}", texts)

    def _shape(self, group: Group, texts: Where) -> str:
        found = dims(group.members[0].type, self._analysed.value_of(group.members[0].operand))
        assert found is not None
        return brief(found.value.shape, texts)


def _shown(stated: Sequence[Stated]) -> str:
    return f"[{', '.join('?' if dim is None else str(dim) for dim in stated)}]"
