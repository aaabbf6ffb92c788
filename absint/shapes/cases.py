"""Operators of values whose shape is chosen by sizes: the rule is applied to each case.

Where the branches of an If have different ranks, its output has one of a few shapes (`ShapeChoice`). A rule sees the
shape of each case in turn, under the condition of the case. What it states gets this condition as its guard; where it
rejects a case, the node requires that the condition does not hold. Two inputs that one condition chooses stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, NO, TRUE, Relation, conjunction, disjunction, implies, negation
from absint.lattices.records import NamedTuple
from absint.lattices.shape import TOP_SHAPE
from absint.lattices.shape_choice import MAX_CASES, ShapeChoice
from absint.lattices.terms.expr import Dim, Symbol, expr_of
from absint.lattices.value import Tensor, Value
from absint.shapes.joining import Join
from absint.shapes.memo.known_facts import assuming
from absint.shapes.summaries import Inputs, RuleSummary, State, name_unknowns
from absint.transfer.stated import PossibleFailure, Statement

Apply = Callable[[Inputs, Facts], RuleSummary]


class Case(NamedTuple):
    """One case of all inputs together."""

    condition: Relation
    inputs: Inputs


class _Answer(NamedTuple):
    """The summary of a rule for one case."""

    condition: Relation
    summary: RuleSummary


def is_chosen(value: Value | None) -> bool:
    """Sizes choose the shape of the tensor."""
    return type(value) is Tensor and type(value.shape) is ShapeChoice


def by_cases(inputs: Inputs, facts: Facts, apply: Apply) -> RuleSummary:
    """The summary of an operator of which some inputs have a chosen shape; `apply` gives that of inputs that do not."""
    return _by_cases(inputs, facts, apply)._replace(conditional=True)  # facts exclude cases


def _by_cases(inputs: Inputs, facts: Facts, apply: Apply) -> RuleSummary:
    cases = _cases(inputs, facts)
    if not 0 < len(cases) <= MAX_CASES:
        return apply(tuple([_of_unknown_rank(value) for value in inputs]), facts)
    answers = [_Answer(c.condition, apply(c.inputs, assuming(facts, c.condition))) for c in cases]
    running = [_apart(number, answer) for number, answer in enumerate(a for a in answers if a.summary.rejected is None)]
    if not running:
        return answers[0].summary
    refused = [(a.condition, a.summary.rejected) for a in answers if a.summary.rejected is not None]
    exclusions = [Statement(negation(condition), reason, "required") for condition, reason in refused if reason]
    if len(running) == 1:
        summary = running[0].summary
        return summary._replace(statements=(*exclusions, *summary.statements))
    return _joined(running, exclusions)


def _cases(inputs: Inputs, facts: Facts) -> list[Case]:
    """All combinations of cases that the facts allow; none if they are too many."""
    cases = [Case(TRUE, inputs)]
    for shape in dict.fromkeys(v.shape for v in inputs if isinstance(v, Tensor) and is_chosen(v)):
        grown = [
            Case(both, tuple([Tensor(v.dtype, chosen) if _has(v, shape) else v for v in case.inputs]))  # type: ignore[union-attr]
            for case in cases
            for condition, chosen in shape.cases
            if (both := conjunction(case.condition, condition)) is not FALSE and facts.decide(both) is not NO
        ]
        if len(grown) > MAX_CASES:
            return []
        cases = grown
    return cases


def _has(value: Value | None, shape: object) -> bool:
    return isinstance(value, Tensor) and value.shape is shape


def _of_unknown_rank(value: Value | None) -> Value | None:
    return Tensor(value.dtype, TOP_SHAPE) if isinstance(value, Tensor) and is_chosen(value) else value


def _apart(number: int, answer: _Answer) -> _Answer:
    """The answer with holes of its own: those of two cases may have different bounds."""
    summary = answer.summary
    if not number or not summary.holes:
        return answer
    own: Mapping[Symbol, Dim] = {hole: expr_of(hole.named(f"{hole.name}'{number}")) for hole in summary.holes}
    return answer._replace(
        summary=summary._replace(
            outputs=tuple([value.replace(own) for value in summary.outputs]),
            statements=tuple([s._replace(relation=s.relation.substitute(own)) for s in summary.statements]),
            possible_failures=tuple([f._replace(unless=f.unless.substitute(own)) for f in summary.possible_failures]),
        )
    )


def _joined(left: Sequence[_Answer], stated: Sequence[Statement]) -> RuleSummary:
    """The summary of a node of which several cases run."""
    outputs: State = left[-1].summary.outputs
    defined: list[Statement] = []
    for condition, summary in reversed(left[:-1]):
        join = Join(condition)
        pairs = zip(summary.outputs, outputs, strict=True)
        outputs = tuple([join.value(str(at), one, other) for at, (one, other) in enumerate(pairs)])
        defined += join.statements
    return name_unknowns(
        RuleSummary(
            outputs,
            (),
            (*stated, *(s for answer in left for s in _guarded(answer)), *defined),
            notes=tuple(dict.fromkeys(note for answer in left for note in answer.summary.notes)),
            possible_failures=tuple(dict.fromkeys(failure for answer in left for failure in _failures(answer))),
        )
    )


def _guarded(answer: _Answer) -> Iterator[Statement]:
    for statement in answer.summary.statements:
        yield statement._replace(relation=implies(answer.condition, statement.relation))


def _failures(answer: _Answer) -> Iterator[PossibleFailure]:
    """The possible failures of a case: none of them is one where its condition does not hold."""
    otherwise = negation(answer.condition)
    for failure in answer.summary.possible_failures:
        yield failure if failure.at_load else failure._replace(unless=disjunction(otherwise, failure.unless))
