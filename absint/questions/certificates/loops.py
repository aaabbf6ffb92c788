"""The specification of a Loop in three nodes: the start of the first trip, that of a next one, and the end.

What is carried is invariant if it holds at the start of the first trip, and at the start of a trip after one at whose
start it holds. The number of the trip is part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from absint.program.nodes import Node
from absint.program.steps import IfJoin, LoopExit, LoopHead, Operand
from absint.questions.certificates.lemma import Goal, Lemma, Problem, Proved
from absint.questions.certificates.meanings import Meaning, NotSpecifiedError, joined
from absint.questions.certificates.terms import Claim, replaced

Inputs = Sequence[Claim | None]


def started(inputs: Inputs) -> Meaning:
    """The head in trip 0. Inputs: the number of trips, the condition, what is carried."""
    return _head("start@0", "0", inputs[2:], 2)


def goes_on(inputs: Inputs) -> Meaning:
    """The head in the next trip. Inputs: the number of the last one, the condition, what its body gives."""
    if not _has_number(inputs[0]):
        raise NotSpecifiedError("the number of the trip is not known")
    return _head("next@0", "(+ in0@e0 1)", inputs[2:], 2)


def _head(name: str, number: str, carried: Inputs, first: int) -> Meaning:
    """The number, the condition, which holds whenever the body runs, and what is carried."""
    declared = [
        f"(define-fun {name} () Int {number})",
        "(define-fun out0@rank () Int 0)",
        f"(define-fun out0@e0 () Int {name})",
        "(define-fun out1@rank () Int 0)",
        "(define-fun out1@e0 () Bool true)",
    ]
    for at, claim in enumerate(carried):
        for part, sort in _parts(claim):
            declared.append(f"(define-fun out{at + 2}@{part} () {sort} in{at + first}@{part})")
    return Meaning("Loop", (), tuple(declared), ())


def ended(inputs: Inputs, count: int, ranks: Sequence[int | None]) -> Meaning:
    """The end. Inputs: those of the loop, what is carried into the last trip, the condition and what its body gives,
    and the number of the last trip. Outputs: `count` carried values, then scan outputs of the declared ranks, plus 1.
    """
    limit, condition, last, number = inputs[0], inputs[1], 2 + 2 * count, len(inputs) - 1
    declared = ["(declare-const trips@0 Int)"]
    specified = [("(<= 0 trips@0)", "the number of trips")]
    declared += [_truth("begins@0", 1, condition), _truth("goes@0", last, inputs[last])]
    specified.append(("(=> (not begins@0) (= trips@0 0))", "the condition holds at first"))
    stops = ["(not begins@0)", "(and (<= 1 trips@0) (not goes@0))"]
    if limit is None:
        specified.append((f"(or {' '.join(stops)})", "it ends by its condition"))
    elif _has_number(limit):
        declared.append("(define-fun most@0 () Int (ite (<= 0 in0@e0) in0@e0 0))")
        specified.append(("(<= trips@0 most@0)", "no more trips than are allowed"))
        specified.append((f"(or (= trips@0 most@0) {' '.join(stops)})", "it ends by their number or its condition"))
    if _has_number(inputs[number]):
        specified.append((f"(=> (<= 1 trips@0) (= in{number}@e0 (- trips@0 1)))", "the number of the last trip"))
    for at in range(count):
        _carried(at, at + 2, inputs[at + 2], last + 1 + at, inputs[last + 1 + at], declared, specified)
    for at, rank in enumerate(ranks):
        place = last + 1 + count + at
        _scanned(at + count, place, inputs[place], rank, declared, specified)
    return Meaning("Loop", (), tuple(declared), tuple(specified), are_computed=False)


def _carried(
    output: int,
    first: int,
    start: Claim | None,
    last: int,
    result: Claim | None,
    declared: list[str],
    specified: list[tuple[str, str]],
) -> None:
    """The last values of the body; the initial ones if there was no trip."""
    sides = [("(= trips@0 0)", first, dict(_parts(start))), ("(<= 1 trips@0)", last, dict(_parts(result)))]
    sorts = sides[0][2] | sides[1][2]
    for part, sort in sorts.items():
        declared.append(f"(declare-const out{output}@{part} {sort})")
        if part.isdecimal():
            specified.append((f"(<= 0 out{output}@{part})", "a size"))
        for when, place, parts in sides:
            if parts.get(part) == sort:
                specified.append((f"(=> {when} (= out{output}@{part} in{place}@{part}))", "what is carried"))


def _scanned(
    output: int,
    place: int,
    claim: Claim | None,
    rank: int | None,
    declared: list[str],
    specified: list[tuple[str, str]],
) -> None:
    """A row for each trip."""
    if claim is None or claim.dims is None or len(claim.dims) != rank:
        return  # without a trip, runtimes go by the declared rank
    declared.append(f"(define-fun out{output}@rank () Int {len(claim.dims) + 1})")
    declared.append(f"(define-fun out{output}@0 () Int trips@0)")
    for axis in range(len(claim.dims)):
        declared.append(f"(declare-const out{output}@{axis + 1} Int)")
        specified.append((f"(<= 0 out{output}@{axis + 1})", "a size"))
        same = f"(= out{output}@{axis + 1} in{place}@{axis})"
        specified.append((f"(=> (<= 1 trips@0) {same})", "a row of the last trip"))


def _truth(name: str, place: int, claim: Claim | None) -> str:
    """A condition: true if it is left out, any truth if it is not known."""
    if claim is None:
        return f"(define-fun {name} () Bool true)"
    known = claim.truths and claim.elements is not None and len(claim.elements) == 1
    return f"(define-fun {name} () Bool in{place}@e0)" if known else f"(declare-const {name} Bool)"


def _has_number(claim: Claim | None) -> bool:
    return claim is not None and claim.sort == "Int" and claim.elements is not None and len(claim.elements) == 1


def _parts(claim: Claim | None) -> Iterator[tuple[str, str]]:
    """The names and sorts of what is known of a value: `rank`, `0`, `e1`."""
    if claim is None or claim.dims is None:
        return
    yield "rank", "Int"
    yield from ((str(axis), "Int") for axis in range(len(claim.dims)))
    yield from ((f"e{at}", claim.sort) for at in range(len(claim.elements or ())))


# What is proved of the nodes that If and Loop become.


Prove = Callable[[Problem, Sequence[Goal]], Proved]


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
    parts: Sequence[Goal],
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
        going = prove(following, [Goal(part.name, replaced(part.formula, later)) for part in begun.parts])
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
