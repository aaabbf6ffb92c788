"""Faults of lint: alarms that are false, causes that are none, rules that count or do not."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, mutant

FINDINGS: Final = "pytest tests/absint/jobs/linting/test_findings.py"
SELECTION: Final = "pytest tests/absint/jobs/linting/test_selection.py -k prefix"
NO_ALARM: Final = "pytest tests/absint/jobs/linting/test_no_alarm.py -k runs"

MUTANTS: Final[tuple[Mutant, ...]] = (
    mutant(
        "false-declarations-have-no-cause",
        "each false declaration is a finding of its own",
        "absint.questions.claims.judging",
        "        if before:\n            found[number] = min(before)\n",
        "        if before and number not in wrong:\n            found[number] = min(before)\n",
        "linted('(float[N] x) => (float[N] z) <float[N] y> { y = Concat<axis = 0>(x, x) z = Relu(y) }')",
        FINDINGS,
    ),
    mutant(
        "size-0-hides-a-baked-size",
        "a clause with a case for size 0 narrows no symbol",
        "absint.jobs.linting.model",
        'if clause.relation.op != "or":',
        'if clause.relation.op != "and":',
        "linted('(float[B, S] x, float[2, 8] y) => (z) { z = Concat<axis = 0>(x, y) }')",
        FINDINGS,
    ),
    mutant(
        "bound-is-too-small",
        "a legal size is called illegal",
        "absint.jobs.linting.model",
        'sizes = f"up to {facts.hi}" if not has_least',
        'sizes = f"up to {facts.hi - 1}" if not has_least',
        "linted('(float[64] t, int64[N] x) => (z) { n = Shape(x) z, i = TopK(t, n) }')",
        NO_ALARM,
        FINDINGS,
    ),
    mutant(
        "unnamed-dims-are-declared",
        "an output is to be declared by a dim that has no name",
        "absint.jobs.linting.model",
        "analysed.parameters.keys() - analysed.declared_inputs.unnamed",
        "analysed.parameters.keys()",
        "linted('(float[?] x) => (float[A] z) { z = Relu(x) }')",
        FINDINGS,
    ),
    mutant(
        "ties-are-selected",
        "a rule that is selected and ignored by one prefix counts",
        "absint.jobs.linting.settings",
        "_fit(code, self.select) > _fit(code, self.ignore)",
        "_fit(code, self.select) >= _fit(code, self.ignore)",
        "module('absint.jobs.linting.settings').Selection(('ABS2',), ('ABS2',)).has('ABS202')",
        SELECTION,
    ),
    mutant(
        "severities-are-the-graver-ones",
        "a remark counts as a warning",
        "absint.jobs.linting.finding",
        "return max(one, other, key=ORDER.__getitem__)",
        "return min(one, other, key=ORDER.__getitem__)",
        "module('absint.jobs.linting.finding').milder(*list(module('absint.diagnostics').Severity)[1:])",
        FINDINGS,
    ),
)
