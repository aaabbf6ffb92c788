"""The specification of an If, whose outputs are those of the branch that is taken, and of a Loop in three nodes: the
start of the first trip, that of a next one, and the end.

What is carried is invariant if it holds at the start of the first trip, and at the start of a trip after one at whose
start it holds. The number of the trip is part of it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from absint.program.nodes import Node
from absint.program.steps import IfJoin, LoopExit, LoopHead, Operand
from absint.questions.certificates.lemma import Goal, Lemma, Problem, Proved
from absint.questions.certificates.meanings import Meaning, NotSpecifiedError, Outputs
from absint.questions.certificates.terms import NOTHING, Claim, replaced

Inputs = Sequence[Claim | None]


TAKEN: Final = "taken@0"
"""The name of the condition of an If."""


def joined(inputs: Inputs) -> Meaning:
    """The node that joins branches. Inputs: the condition, and the results of both.

    Values of the other branch are not computed: nothing is said of them, not even that their sizes are natural numbers.
    Raises NotSpecifiedError.
    """
    condition, *results = inputs
    half, made = len(results) // 2, Outputs()
    _truth(TAKEN, 0, condition or NOTHING, made)
    for place, pair in enumerate(zip(results[:half], results[half:], strict=True)):
        both = ((place + 1, pair[0]), (place + 1 + half, pair[1]))
        found = [(at, claim) for at, claim in both if claim is not None and claim.dims is not None]
        if not found:
            continue
        made.declare(f"out{place}@rank")
        for axis in range(max(len(claim.dims or ()) for _, claim in found)):
            made.size(f"out{place}@{axis}")
        elements, sort = max((len(claim.elements or ()), claim.sort) for _, claim in found)
        for element in range(elements):
            made.declare(f"out{place}@e{element}", sort)
        for at, claim in found:
            taken = TAKEN if at <= half else f"(not {TAKEN})"
            for part, _, _ in claim.parts:
                made.state(f"(=> {taken} (= out{place}@{part} in{at}@{part}))", "what the branch gives")
    if not made.specified:
        raise NotSpecifiedError("no shape of a branch is known")
    return _meaning("If", made, are_computed=False)


def _meaning(title: str, made: Outputs, *, are_computed: bool = True) -> Meaning:
    return Meaning(title, (), tuple(made.declared), tuple(made.specified), are_computed)


def started(inputs: Inputs) -> Meaning:
    """The head in trip 0. Inputs: the number of trips, the condition, what is carried."""
    return _head("start@0", "0", inputs)


def goes_on(inputs: Inputs) -> Meaning:
    """The head in the next trip. Inputs: the number of the last one, the condition, what its body gives."""
    if not _has_number(inputs[0]):
        raise NotSpecifiedError("the number of the trip is not known")
    return _head("next@0", "(+ in0@e0 1)", inputs)


def _head(name: str, number: str, inputs: Inputs) -> Meaning:
    """The number, the condition, which holds whenever the body runs, and what is carried."""
    made = Outputs()
    made.define(name, number)
    made.define("out0@rank", 0)
    made.define("out0@e0", name)
    made.define("out1@rank", 0)
    made.define("out1@e0", "true", "Bool")
    for at, claim in enumerate(inputs[2:], 2):
        for part, sort, _ in (claim or NOTHING).parts:
            made.define(f"out{at}@{part}", f"in{at}@{part}", sort)
    return _meaning("Loop", made)


def ended(inputs: Inputs, count: int, ranks: Sequence[int | None]) -> Meaning:
    """The end. Inputs: those of the loop, what is carried into the last trip, the condition and what its body gives,
    and the number of the last trip. Outputs: `count` carried values, then scan outputs of the declared ranks, plus 1.
    """
    limit, condition, last, number = inputs[0], inputs[1], 2 + 2 * count, len(inputs) - 1
    made = Outputs()
    made.declare("trips@0")
    made.state("(<= 0 trips@0)", "the number of trips")
    _truth("begins@0", 1, condition, made)
    _truth("goes@0", last, inputs[last], made)
    made.state("(=> (not begins@0) (= trips@0 0))", "the condition holds at first")
    stops = "(not begins@0) (and (<= 1 trips@0) (not goes@0))"
    if limit is None:
        made.state(f"(or {stops})", "it ends by its condition")
    elif _has_number(limit):
        made.define("most@0", "(ite (<= 0 in0@e0) in0@e0 0)")
        made.state("(<= trips@0 most@0)", "no more trips than are allowed")
        made.state(f"(or (= trips@0 most@0) {stops})", "it ends by their number or its condition")
    if _has_number(inputs[number]):
        made.state(f"(=> (<= 1 trips@0) (= in{number}@e0 (- trips@0 1)))", "the number of the last trip")
    for at in range(count):
        _carried(at, inputs, at + 2, last + 1 + at, made)
    for at, rank in enumerate(ranks):
        _scanned(at + count, inputs, last + 1 + count + at, rank, made)
    return _meaning("Loop", made, are_computed=False)


def _carried(output: int, inputs: Inputs, start: int, result: int, made: Outputs) -> None:
    """The last values of the body; the initial ones if there was no trip."""
    sides = [
        (when, place, {part: sort for part, sort, _ in (inputs[place] or NOTHING).parts})
        for when, place in (("(= trips@0 0)", start), ("(<= 1 trips@0)", result))
    ]
    for part, sort in (sides[0][2] | sides[1][2]).items():
        name = f"out{output}@{part}"
        if part.isdecimal():
            made.size(name)
        else:
            made.declare(name, sort)
        for when, place, parts in sides:
            if parts.get(part) == sort:
                made.state(f"(=> {when} (= {name} in{place}@{part}))", "what is carried")


def _scanned(output: int, inputs: Inputs, place: int, rank: int | None, made: Outputs) -> None:
    """A row for each trip."""
    claim = inputs[place]
    if claim is None or claim.dims is None or len(claim.dims) != rank:
        return  # without a trip, runtimes go by the declared rank
    made.define(f"out{output}@rank", rank + 1)
    made.define(f"out{output}@0", "trips@0")
    for axis in range(rank):
        made.size(f"out{output}@{axis + 1}")
        same = f"(= out{output}@{axis + 1} in{place}@{axis})"
        made.state(f"(=> (<= 1 trips@0) {same})", "a row of the last trip")


def _truth(name: str, place: int, claim: Claim | None, made: Outputs) -> None:
    """A condition: true if it is left out, any truth if it is not known."""
    if claim is None:
        made.define(name, "true", "Bool")
    elif claim.truths and claim.elements is not None and len(claim.elements) == 1:
        made.define(name, f"in{place}@e0", "Bool")
    else:
        made.declare(name, "Bool")


def _has_number(claim: Claim | None) -> bool:
    return claim is not None and claim.sort == "Int" and claim.elements is not None and len(claim.elements) == 1


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
