"""Control flow in a chain: what is proved of the nodes that If and Loop become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from absint.program.nodes import Node
from absint.program.steps import IfJoin, LoopExit, LoopHead, Operand
from absint.questions.certificates.lemma import Lemma, Part, Problem, Proved
from absint.questions.certificates.loops import ended, goes_on, started
from absint.questions.certificates.meanings import joined
from absint.questions.certificates.terms import Claim, replaced

Prove = Callable[[Problem, Sequence[Part]], Proved]


def takes(node: Node) -> list[Operand]:
    """The operands whose claims a step takes: at the end of a loop the number of the last trip too."""
    more = [(node.step.head, 0)] if isinstance(node.step, LoopExit) else []
    return [*node.operands, *more]


def problem_of(node: Node, inputs: Sequence[Claim | None], introduced: Mapping[str, str]) -> Problem | None:
    """The problem of a join or an end, with a claim for each of `takes`; None for other steps."""
    step = node.step
    if isinstance(step, IfJoin):
        return Problem(tuple(inputs), lambda _: joined(inputs), introduced)
    if isinstance(step, LoopExit):
        return Problem(tuple(inputs), lambda _: ended(inputs, step.count, step.ranks), introduced)
    return None


class Head(NamedTuple):
    """The lemma about the head of a loop."""

    first: Proved
    """At the start of the first trip."""
    next: Lemma | None
    """At the start of a trip after one."""
    facts: tuple[str, ...]
    """The facts that the second lemma takes for granted."""


def head(
    node: Node,
    claims: Sequence[Claim],
    inputs: Sequence[Claim | None],
    back: Sequence[Claim],
    parts: Sequence[Part],
    introduced: Mapping[str, str],
    prove: Prove,
) -> Head:
    """The parts of the claims that hold at the start of every trip. `back` are the claims of what the body gives."""
    assert isinstance(node.step, LoopHead)
    later = {symbol: f"|!{symbol.strip('|')}|" for symbol in introduced}
    named = {symbol: place for symbol, place in introduced.items() if place}
    results = (claims[0], *back)
    first = Problem(tuple(inputs), lambda _: started(inputs), named)
    following = Problem(results, lambda _: goes_on(results), {later[symbol]: place for symbol, place in named.items()})
    kept = list(parts)
    while True:
        begun = prove(first, kept)
        going = prove(following, [Part(part.name, replaced(part.formula, later)) for part in begun.parts])
        names = {part.name for part in going.parts}
        if going.lemma is None:
            return Head(Proved(None, (), reason=going.reason or begun.reason), None, ())
        if len(names) == len(begun.parts):
            reason = begun.reason or ("" if len(names) == len(parts) else "it is not shown of every trip")
            return Head(begun._replace(reason=reason), _now(going.lemma, later), going.facts)
        kept = [part for part in begun.parts if part.name in names]


def _now(found: Lemma, later: Mapping[str, str]) -> Lemma:
    """The lemma with the symbols of the model for those of the next trip."""
    now = {marked: symbol for symbol, marked in later.items()}
    return found._replace(names={name: now.get(term, term) for name, term in found.names.items()})
