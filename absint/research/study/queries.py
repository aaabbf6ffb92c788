"""The equality queries of a study as SMT-LIB 2 scripts: premises of the model, and the negation of a claim.

The answer to a script is known: `unsat` for a proved claim, `sat` for one that the premises do not entail, confirmed by
an assignment that meets them all and makes the claim false. Symbols are renamed to `x0`, `x1`, ... by first appearance,
so that the same question about two layers is the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from absint.jobs.auditing.judging import read_claims
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation, negation
from absint.lattices.terms.expr import Dim, Symbol, expr_of
from absint.questions.claims.claims import Claim
from absint.questions.proofs.proof import prover as prover_of
from absint.research.study.tasks import Task, analysed, claims_of
from absint.runs.pool import Job, Json
from absint.solution.constraints import all_names
from absint.solver.prove import Prover, Tier
from absint.solver.smtlib import Script
from absint.solver.subsets import connected

if TYPE_CHECKING:
    from absint.result import Result

Status = Literal["sat", "unsat"]

PERFORM: Final = "absint.research.study.queries:perform"
"""The function that collects the queries of a pair."""

RLIMIT: Final = 3_000_000
"""Z3's budget for checking the text before it is written."""

DENIED: Final = "denied by Z3"
"""The reason for no query if Z3 contradicts the verdict: one of them is mistaken."""

_PLACES: Final = 8
"""Most places of a query that are listed; all are counted."""


@dataclass(frozen=True)
class Query:
    """A question and its answer."""

    body: str
    """Declarations and assertions; the last one is the negation of the claim."""
    logic: str
    status: Status
    tier: Tier
    """The tier that decided it here."""
    premises: int
    names: Mapping[str, str]
    """Symbols of the script -> as the model's report shows them."""


class NoQueryError(Exception):
    """There is no question, or no answer, for the reason in the message."""


def perform(job: Job) -> Json:
    """The queries behind the claims of a source about a model."""
    task = Task.from_job(job)
    result = analysed(task)
    claims = claims_of(task, result)
    found, left_out = collected(result, (c for c in read_claims(result, claims).claims if c.axis is not None))
    return {"failure": claims.failure, "queries": found, "left_out": left_out}


def collected(result: Result, claims: Iterable[Claim]) -> tuple[list[Json], dict[str, Json]]:
    """The distinct queries with their places, and the number of claims without one, by reason."""
    groups: dict[Relation, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.relation, []).append(claim)
    queries: list[Json] = []
    left_out: dict[str, int] = {}
    for relation, same in groups.items():
        try:
            found = query_of(result, relation)
        except NoQueryError as reason:
            left_out[str(reason)] = left_out.get(str(reason), 0) + len(same)
            continue
        queries.append(
            {
                **asdict(found),
                "claim": str(same[0]),
                "places": [str(claim.place) for claim in same[:_PLACES]],
                "count": len(same),
            }
        )
    return queries, dict(left_out)


def query_of(result: Result, relation: Relation) -> Query:
    """Decide whether the requirements and definitions of a model entail a relation over the symbols of its states.

    Raises NoQueryError if normal forms alone decide it, if it is not decided, or if Z3 contradicts the verdict.
    """
    if relation in (TRUE, FALSE):
        raise NoQueryError("decided by normal form")
    if relation is UNKNOWN_RELATION:
        raise NoQueryError("over an unknown size")
    prover: Prover = prover_of(result)
    decision = prover.decide(relation, small=False)
    if decision.entailed is None:
        raise NoQueryError("undecided")
    script, formulas, names = scripted(result, relation)
    status: Status = "unsat" if decision.entailed else "sat"
    if prover.check(script.text, rlimit=RLIMIT, core=True).verdict not in (status, "unknown"):
        raise NoQueryError(DENIED)
    return Query(script.text, script.logic, status, decision.tier, len(formulas) - 1, _shown(result, formulas, names))


class Scripted(NamedTuple):
    """The question whether a relation follows from what runs of a model require."""

    script: Script
    formulas: Sequence[Relation]
    """Over the model's own symbols: the premises, and the negation of the relation."""
    names: Mapping[str, str]
    """Those symbols -> those of the script."""


def scripted(result: Result, relation: Relation) -> Scripted:
    """The script that has no model if the relation follows from the premises that are connected with it."""
    formulas = [*connected(list(prover_of(result).constraints.distinct), relation.free_symbols), negation(relation)]
    names = canonical_names(formulas)
    return Scripted(_script(renamed(formulas, names)), formulas, names)


def canonical_names(formulas: Sequence[Relation]) -> dict[str, str]:
    """`x0`, `x1`, ... for the symbols by their first appearance in the text of the formulas."""
    return {name: f"x{number}" for number, name in enumerate(_script(formulas).symbols)}


def renamed(formulas: Sequence[Relation], names: Mapping[str, str]) -> list[Relation]:
    """The formulas over symbols of these names, with the same bounds."""
    symbols = frozenset[Symbol]().union(*(formula.symbols for formula in formulas))
    mapping: dict[Symbol, Dim] = {s: expr_of(Symbol(names[s.name], *s.bounds)) for s in symbols}
    return [formula.substitute(mapping) for formula in formulas]


def _script(formulas: Iterable[Relation]) -> Script:
    script = Script()
    for formula in formulas:
        script.add(formula)
    return script


def _shown(result: Result, formulas: Sequence[Relation], names: Mapping[str, str]) -> dict[str, str]:
    """Canonical names -> the names that the model's report shows."""
    symbols = frozenset[Symbol]().union(*(formula.symbols for formula in formulas))
    printed = {s.name: str(all_names(result).get(s, s.name)) for s in symbols}
    return {new: printed[old] for old, new in names.items()}
