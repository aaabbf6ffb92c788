"""Operators of which a node may be one of several: for inputs whose shape sizes choose, or of two versions.

Where the branches of an If have different ranks, its output has one of a few shapes (`ShapeChoice`). A rule sees the
shape of each case in turn, under the condition of the case. What it states gets this condition as its guard; where it
rejects a case, the node requires that the condition does not hold. Two inputs that one condition chooses stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from absint.lattices.dtype import DTYPES
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, NO, TRUE, Relation, conjunction, disjunction, implies, negation
from absint.lattices.records import NamedTuple
from absint.lattices.shape import Shape
from absint.lattices.shape_choice import MAX_CASES, ShapeChoice
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import Dim, Symbol, expr_of
from absint.lattices.value import Tensor, Value, joined
from absint.program.nodes import Operation
from absint.shapes.branches import Join
from absint.shapes.memo.known_facts import assuming
from absint.shapes.summaries import Inputs, RuleSummary, State, name_unknowns
from absint.transfer.semantics import RUNTIME, Semantics
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
        return apply(tuple([Tensor(v.dtype) if isinstance(v, Tensor) and is_chosen(v) else v for v in inputs]), facts)
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
            Case(both, tuple([_of_shape(v, shape, chosen) for v in case.inputs]))
            for case in cases
            for condition, chosen in shape.cases
            if (both := conjunction(case.condition, condition)) is not FALSE and facts.decide(both) is not NO
        ]
        if len(grown) > MAX_CASES:
            return []
        cases = grown
    return cases


def _of_shape(value: Value | None, shape: Shape, other: Shape) -> Value | None:
    """The value with the other shape, if it is a tensor of this one."""
    return Tensor(value.dtype, other) if isinstance(value, Tensor) and value.shape is shape else value


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
    guarded = (s._replace(relation=implies(a.condition, s.relation)) for a in left for s in a.summary.statements)
    return name_unknowns(
        RuleSummary(
            outputs,
            (),
            (*stated, *guarded, *defined),
            notes=tuple(dict.fromkeys(note for answer in left for note in answer.summary.notes)),
            possible_failures=tuple(dict.fromkeys(failure for answer in left for failure in _failures(answer))),
        )
    )


def _failures(answer: _Answer) -> Iterator[PossibleFailure]:
    """The possible failures of a case: none of them is one where its condition does not hold."""
    otherwise = negation(answer.condition)
    for failure in answer.summary.possible_failures:
        yield failure if failure.at_load else failure._replace(unless=disjunction(otherwise, failure.unless))


# Nodes in a function that imports another version of their operator than the model does.
#
# The documents exclude such a model where the two versions differ. onnx.reference takes the function's version;
# onnxruntime infers types by the function's, and runs the model's.


def of_both(operation: Operation, own: RuleSummary, other: RuleSummary, semantics: Semantics) -> RuleSummary:
    """The summary of an operation, and that of its other version, as one.

    A claim holds of both versions; by the semantics of onnxruntime, of the model's. A node may fail if either does.
    """
    conditional = own.conditional or other.conditional
    own, other = own._replace(conditional=conditional), other._replace(conditional=conditional)
    runs_own = semantics == RUNTIME
    if own == other and not any(failure.at_load for failure in own.possible_failures):
        return own
    assert operation.other is not None
    here = _Reading(own, operation.version, _MODEL if runs_own else _FUNCTION)
    there = _Reading(other, operation.other.version, _FUNCTION if runs_own else _MODEL)
    if runs_own and own.rejected is not None:
        return own
    if own.rejected is not None and other.rejected is not None:
        return other if own.refusal else own
    if other.rejected is not None:
        return here.may_fail([there.says(other.rejected)])
    if own.rejected is not None:
        return there.may_fail([here.says(own.rejected)])
    if not runs_own and operation.other.possible_failures:  # onnxruntime refuses it
        return here.may_fail(map(there.says, operation.other.possible_failures))
    return _runs_as_either(here, there, runs_own)


_FUNCTION: Final = "the function imports"
_MODEL: Final = "the model imports and onnxruntime takes"


class _Reading(NamedTuple):
    """The summary of one of the two versions."""

    summary: RuleSummary
    version: int
    importer: str

    @property
    def place(self) -> str:
        """The version in words."""
        return f"in version {self.version}, which {self.importer}"

    def says(self, reason: str) -> str:
        """A reason that only this version gives."""
        return f"{reason} ({self.place})"

    def may_fail(self, reasons: Collection[str] | Iterator[str]) -> RuleSummary:
        """The summary; the other version may fail for these reasons."""
        failures = *self.summary.possible_failures, *map(PossibleFailure, reasons)
        return self.summary._replace(possible_failures=failures)

    def beyond(self, other: _Reading) -> Iterator[Statement]:
        """What this version states and the other does not."""
        known = {(s.relation, s.role) for s in other.summary.statements}
        return (s for s in self.summary.statements if (s.relation, s.role) not in known)

    def failures(self, other: _Reading) -> Iterator[PossibleFailure]:
        """What may fail in this version and not in the other, as where it requires more."""
        for failure in self.summary.possible_failures:
            if failure.at_load or failure not in other.summary.possible_failures:
                yield PossibleFailure(self.says(failure.reason)) if failure.is_open else failure
        for statement in self.beyond(other):
            if statement.role == "required":
                yield PossibleFailure(self.says(statement.reason), statement.relation)

    def clashes(self, other: _Reading) -> Iterator[PossibleFailure]:
        """Outputs of two types, which onnxruntime refuses."""
        for at, (one, two) in enumerate(zip(self.summary.outputs, other.summary.outputs, strict=True)):
            types = [value.dtype for value in (one, two) if isinstance(value, Tensor)]
            if len(types) == 2 and DTYPES.meet(*types) is DTYPES.bottom:
                yield PossibleFailure(f"output {at} has type {types[0]} {self.place}, and {types[1]} {other.place}")


def _runs_as_either(here: _Reading, there: _Reading, runs_own: bool) -> RuleSummary:
    """The summary of a node that runs in one of two versions, or if `runs_own` in the first one."""
    own, other = here.summary, there.summary
    if runs_own:
        return _named(own, [*own.possible_failures, *there.failures(here), *here.clashes(there)])
    outputs = tuple(map(joined, own.outputs, other.outputs))
    only = list(here.beyond(there))
    statements = [s for s in own.statements if s not in only or s.role == "assumed"]
    statements += (s for s in there.beyond(here) if s.role == "assumed")
    failures = [f for f in own.possible_failures if f in other.possible_failures and not f.at_load]
    failures += [*here.failures(there), *there.failures(here), *here.clashes(there)]
    notes = dict.fromkeys((*own.notes, *other.notes))
    if outputs != own.outputs or outputs != other.outputs:
        notes[f"its outputs {here.place}, differ from those {there.place}: what differs is unknown"] = None
    stated = own._replace(outputs=outputs, statements=tuple(statements), notes=tuple(notes))
    return _named(stated, failures)


def _named(summary: RuleSummary, failures: Collection[PossibleFailure]) -> RuleSummary:
    """The summary with its unknowns named, and these failures; a relation about an unknown rules none out."""
    unknown = [any(symbol.kind is SymbolKind.HOLE for symbol in f.unless.symbols) for f in failures]
    plain = [PossibleFailure(f.reason) if is_unknown else f for f, is_unknown in zip(failures, unknown, strict=True)]
    return name_unknowns(summary._replace(possible_failures=tuple(dict.fromkeys(plain))))
