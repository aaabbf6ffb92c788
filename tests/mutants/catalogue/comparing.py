"""Faults in the comparison of two models."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, mutant

PLANTED: Final = "pytest tests/absint/jobs/diffing/test_planted.py"
EQUAL: Final = "pytest tests/absint/jobs/diffing/test_equal_forms.py -k 'not test_a_form_of'"
APART: Final = "'(float[N] x, float[M] z) => (float[] y) { y = Concat<axis=0>(x, z) }'"
TIED: Final = "'(float[N] x, float[N] z) => (float[] y) { y = Concat<axis=0>(x, z) }'"
FOUND: Final = "'(float[N] x) => (int64[] y) { y = NonZero(x) }'"
OTHER: Final = "'(float[N] x) => (int64[] y) { a = Abs(x)  y = NonZero(a) }'"
RANDOM: Final = "'(float[N] x) => (int64[] y) { r = RandomUniformLike(x)  y = NonZero(r) }'"
ONE: Final = "'(float[N] x) => (float[] y) { y = Relu(x) }'"
TWO: Final = "'(float[N] x, float[M] z) => (float[] y) { y = Relu(x) }'"


def verdict(first: str, second: str, more: str = "verdict") -> str:
    return f"module('absint.jobs.diffing.comparison').diff(graph({first}), graph({second}), evidence='none').{more}"


MUTANTS: Final[tuple[Mutant, ...]] = (
    mutant(
        "declared-sizes-demand-nothing",
        "a size that B fixes or ties to another is no requirement",
        "absint.jobs.diffing.correspondence",
        "tuple(d for d in demands if d.relation is not TRUE)",
        "()",
        verdict(APART, TIED, "contract.agreement"),
        PLANTED,
    ),
    mutant(
        "symbols-are-matched-by-name",
        "N of B is N of A, wherever they stand",
        "absint.jobs.diffing.correspondence",
        "found.setdefault(only.name, axis.source)",
        "found.setdefault(only.name, expr_of(only))",
        verdict(APART, APART.replace("N", "K"), "symbols"),
        EQUAL,
    ),
    mutant(
        "sizes-of-data-are-the-same",
        "sizes that data decide are taken for the same where nothing tells them apart",
        "absint.jobs.diffing.outputs",
        'return _with(port, "not comparable", *open_, *seen)',
        "return port",
        verdict(FOUND, OTHER),
        "pytest tests/absint/jobs/diffing/test_cli_diff.py",
        EQUAL,
    ),
    mutant(
        "random-numbers-are-drawn-once",
        "an operator that draws random numbers gives the same in both models",
        "absint.jobs.rewriting.numbered",
        "or (self._of_values and self._may_vary(node))",
        "or False",
        verdict(RANDOM, RANDOM),
        EQUAL,
    ),
    mutant(
        "a-new-input-breaks-no-call",
        "an input that B alone requires is no change",
        "absint.jobs.diffing.answers",
        '_counted("input", self.inputs, ("gone", "new", "changed", "renamed"))',
        '_counted("input", self.inputs, ("gone", "changed", "renamed"))',
        verdict(ONE, TWO),
        PLANTED,
    ),
)
