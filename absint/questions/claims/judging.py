"""Judging claims by facts and legal sizes, without a run and a solver.

`analyze`, `lint`, `annotate --strict` and `trust` ask so; `audit` asks further (proving). Whoever asks, a claim means
the same, and is false at the same sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from absint.diagnostics import Diagnostic, Severity
from absint.lattices.logic.relation import FALSE, NO, TRUE, UNKNOWN_RELATION, YES
from absint.lattices.records import record
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.terms.normal import substitute
from absint.lattices.text.escapes import format_sizes
from absint.model.declared_types import problem
from absint.program.limits import LIMIT_REACHED
from absint.program.lowered import Declaration
from absint.program.steps import Operand
from absint.questions.claims.claims import Claim, Finding, Judgement
from absint.questions.claims.reading import Group, Reader, claimed, dims, groups
from absint.solution.analysed import Analysed, once
from absint.solution.described import brief
from absint.solution.loading import beside_declarations, default_diagnostics, load_errors
from absint.solution.naming import defining, names_of


def refuted(analysed: Analysed, claims: Sequence[Claim]) -> Mapping[Claim, Finding]:
    """The claims that facts or legal sizes refute, those last that only a size of 0 refutes.

    A claim that is false in every run has no counterexample.
    """
    facts = analysed.analysis.facts
    asked = {claim.relation for claim in claims} - {TRUE, UNKNOWN_RELATION}
    truths = {relation: NO if relation is FALSE else facts.decide(relation) for relation in asked}
    open_ = [claim for claim in claims if truths.get(claim.relation, YES) is not YES]
    if not open_:
        return {}
    from absint.questions.claims.conditions import Conditions

    denied = {claim for claim in open_ if truths[claim.relation] is NO}
    conditions = Conditions(analysed)
    found = {claim: Finding(Judgement.REFUTED) for claim in open_ if claim in denied and conditions.is_reached(claim)}
    at = conditions.false_at([claim for claim in open_ if claim not in denied])
    for claim in sorted(at, key=lambda claim: 0 in at[claim][0].values()):
        found[claim] = Finding(Judgement.REFUTED, at[claim][0], False, (at[claim][1].when,))
    return found


# The declarations that are false, each with sizes that show it.


@record()
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


@once
def false_declarations(analysed: Analysed) -> tuple[FalseDeclaration, ...]:
    """The declarations of a model that are false: no value has the type, or some legal size makes a dim differ.

    Sizes are looked for without a solver, so a false declaration may be missed; `absint audit` looks further. A name
    that only declarations have is no claim, unless it stands for dims that differ.
    """
    made = [(group, shape) for group in groups(analysed) if (shape := claimed(group)) is not None]
    claims = Reader(analysed).read([shape for _, shape in made])
    claims.sort(key=lambda claim: bool(claim.refers))  # what needs no other place is told first
    false: dict[int, tuple[Claim, Finding]] = {}
    for claim, finding in refuted(analysed, claims).items():
        false.setdefault(id(claim.shape), (claim, finding))
    return tuple(
        found for group, shape in made if id(shape) in false for found in _told(analysed, group, *false[id(shape)])
    )


def _told(analysed: Analysed, group: Group, claim: Claim, finding: Finding) -> Iterator[FalseDeclaration]:
    """The members of a group of which a claim is false, as the message says."""
    sizes = finding.counterexample
    at_0 = sizes is not None and 0 in sizes.values()
    message = problem(group.members[0].type, group.value)
    if message is None:
        verdict = " in every run"
        if sizes is not None:
            verdict = f"{finding.because[0]} {'where a size is 0, as at' if at_0 else 'at'} {format_sizes(sizes)}"
        message = _message(analysed, group, claim, f"false{verdict}")
    for item in group.members:
        yield FalseDeclaration(item, message, sizes, at_0, claim.name)


def _message(analysed: Analysed, group: Group, claim: Claim, verdict: str) -> str:
    texts = names_of(analysed)
    found = dims(group.members[0].type, analysed.value_of(group.members[0].operand))
    assert found is not None
    stated = ", ".join("?" if dim is None else str(dim) for dim in claim.shape.stated)
    text = f"declared [{stated}], but it is {brief(found.value.shape, texts)}"
    if claim.refers:
        from absint.solution.constraints import all_names

        other = next(iter(claim.refers.values()))
        shown = substitute(other.known, all_names(analysed)) if isinstance(other.known, Expr) else Dim(None)
        text += f", and {claim.name!r} is {texts.dim(shown)} at {other.shape.where}, axis {other.axis}"
    return defining(f"{text}: {verdict}", texts)


def origins(
    analysed: Analysed, wrong: Container[int], carries: Callable[[Operand], bool] = lambda _: True
) -> dict[int, int]:
    """The earliest node on the way back from each node with a false claim, and from each that computes from one.

    A mistake is seen in the claims about all that is computed from it. The way goes through the values that may carry
    an error on.
    """
    found: dict[int, int] = {}
    for number, node in enumerate(analysed.nodes):
        before = [found[operand[0]] for operand in node.operands if operand[0] in found and carries(operand)]
        if before:
            found[number] = min(before)
        elif number in wrong:
            found[number] = number
    return found


# All diagnostics of an analysis, false declarations included.


FALSE_DECLARATION: Final = "false-declaration"
"""The code of a declared type or shape that is false."""


@once
def diagnostics(analysed: Analysed) -> tuple[Diagnostic, ...]:
    """Nodes that cannot run, declarations that are false, operators without a rule, and what else is wrong; then what
    analyses of users report.
    """
    found = beside_declarations(analysed)
    if not analysed.policy.sound:
        return found
    return (*found, *default_diagnostics(analysed), *declared_diagnostics(analysed), *reported(analysed))


def reported(analysed: Analysed) -> tuple[Diagnostic, ...]:
    """What analyses of users report that ran together with that of shapes."""
    if analysed.cooperation is None:
        return ()
    from absint.analyses.exchange import reported as found

    return found(analysed)


def declared_diagnostics(analysed: Analysed) -> Iterator[Diagnostic]:
    """Declarations of the author that are false at some legal size; those that size 0 makes false as one."""
    found = loadable_false_declarations(analysed)
    for item in found:
        if not item.at_0:
            yield Diagnostic(Severity.WARNING, FALSE_DECLARATION, item.where, item.message, item.sizes)
    at_0 = [item for item in found if item.at_0]
    if at_0:
        first, more = at_0[0], len(at_0) - 1
        others = f"; so {'are' if more > 1 else 'is'} {more:,} more (absint audit lists all)" if more else ""
        yield Diagnostic(Severity.INFO, FALSE_DECLARATION, first.where, first.message + others, first.sizes)


def loadable_false_declarations(analysed: Analysed) -> list[FalseDeclaration]:
    """The false declarations without those that keep a runtime from loading the model: these are errors."""
    told = {error.declaration for error in load_errors(analysed)}
    return [item for item in false_declarations(analysed) if (item.declaration.path, item.declaration.name) not in told]


def refused(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics that a strict analysis does not accept: errors, then false declarations and a limit."""
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    codes = (FALSE_DECLARATION, LIMIT_REACHED)
    return errors + [d for d in diagnostics if d.severity is not Severity.ERROR and d.code in codes]
