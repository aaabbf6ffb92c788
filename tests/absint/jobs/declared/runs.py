"""Runs that show a declaration to be false."""

from __future__ import annotations

from absint import Result
from absint.jobs.auditing import declared
from absint.jobs.auditing.judging import read_claims
from absint.jobs.auditing.runs import Runs
from absint.questions.claims.claims import Claim
from absint.questions.claims.judging import FalseDeclaration, false_declarations


def unshown(result: Result) -> list[FalseDeclaration]:
    """The false declarations of dims that no run at the sizes they name contradicts."""
    found = false_declarations(result)
    claims: dict[str, list[Claim]] = {}
    for claim in read_claims(result, declared(result.model)).claims:
        claims.setdefault(claim.place.value, []).append(claim)
    runs = Runs(result)
    runs.inner = any(item.declaration.path for item in found)
    left = []
    for item in found:
        sizes = item.sizes if item.sizes is not None else dict.fromkeys(result.symbols, 2)
        runs.at([sizes])
        observed = [run for run in runs.observed if run.sizes == sizes]
        if not any(run.contradicts(claim) for run in observed for claim in claims.get(item.declaration.key, ())):
            left.append(item)
    return left
