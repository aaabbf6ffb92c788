"""Faults in answers about sizes: the nearest legal ones, samples, profiles."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, mutant

EIGHTHS: Final = "'(float[N] x) => (float[A, 8] y) { to = Constant <value_ints = [-1, 8]> ()  y = Reshape(x, to) }'"
DOUBLE: Final = "'(float[3, H] x, float[W, 2] w) => (float[A, B] z) { c = Concat<axis=1>(x, x)  z = MatMul(c, w) }'"
CACHED: Final = "'(float[P] x, float[S] y, float[T] m) => (float[A] z) { c = Concat<axis=0>(x, y)  z = Add(c, m) }'"
NEAREST: Final = "pytest tests/solver/test_nearest.py"
OF_MODELS: Final = "pytest tests/absint/questions/test_nearest.py"
SAMPLES: Final = "pytest tests/absint/questions/test_legal_samples.py"
PROFILES: Final = "pytest tests/absint/jobs/test_profiles.py"

MUTANTS: Final[tuple[Mutant, ...]] = (
    mutant(
        "nearest-is-not-checked",
        "sizes that a check refuses are called legal",
        "absint.questions.sizes.checking",
        "return self.check(sizes).outcome in (Outcome.RUNS, Outcome.LEGAL)",
        "return self.check(sizes).outcome is not Outcome.UNDECIDED",
        f"graph({EIGHTHS}).nearest({{'N': 7}}).legal",
        OF_MODELS,
    ),
    mutant(
        "zero-is-as-near-as-any",
        "the nearest sizes make a tensor empty where others are legal",
        "absint.questions.sizes.nearest",
        "sizes, proved = self._first(extra)",
        "sizes, proved = self._first()",
        f"graph({EIGHTHS}).nearest({{'N': 1}}).sizes",
        OF_MODELS,
    ),
    mutant(
        "nearest-forgets-requirements",
        "only what the caller assumes says which sizes are near",
        "absint.questions.sizes.nearest",
        'stated = (c.formula for c in recorded(analysed).base if c.role == "required")',
        'stated = (c.formula for c in recorded(analysed).base if c.role == "nothing")',
        f"[str(r) for r in module('absint.questions.sizes.nearest').requirements(graph({EIGHTHS}), {{'N': 1}})]",
        OF_MODELS,
    ),
    mutant(
        "far-points-come-early",
        "a point is given before all nearer ones are known",
        "absint.solver.nearest.search",
        "while heap and heap[0].distance <= done:",
        "while heap:",
        f"graph({DOUBLE}).nearest({{'H': 1, 'W': 10}}).sizes",
        NEAREST,
        OF_MODELS,
    ),
    mutant(
        "a-budget-ends-the-search",
        "what the budget did not reach is said not to exist",
        "absint.solver.nearest.search",
        "if self._work <= _WORK:",
        "if self._work <= 2 * _WORK:",
        f"graph({CACHED}).nearest({{'P': 4000, 'S': 9, 'T': 77777}}).sizes",
        NEAREST,
    ),
    mutant(
        "samples-repeat",
        "a sample is taken twice",
        "absint.questions.sizes.contracts",
        "if tuple(sizes.values()) not in found), None)",
        "if sizes is not found), None)",
        f"graph({EIGHTHS}).samples(9).sizes",
        SAMPLES,
    ),
    mutant(
        "corners-prove-a-box",
        "a box is called legal if the best sizes are",
        "absint.jobs.profiles.making",
        "if (found.ok or found.outcome is Outcome.LEGAL) and not analysed.assumptions:",
        "if legal.is_legal({n: s.opt for n, s in box.items()}) and not analysed.assumptions:",
        f"bool(graph({EIGHTHS}).profile({{'N': (1, 8, 16)}}))",
        PROFILES,
    ),
    mutant(
        "dims-grow-with-symbols",
        "the least and the greatest of a dim are those at the corners of a box",
        "absint.jobs.profiles.making",
        "range(ends[name][0], ends[name][1] + 1) for name in names",
        "sorted(set(ends[name])) for name in names",
        "module('absint.jobs.profiles.making').least_and_greatest("
        "module('absint.lattices.text').parse('a*a - 6*a'), {'a': (0, 9)}, [], None)",
        PROFILES,
    ),
    mutant(
        "largest-box-stops-early",
        "a side of the nearest legal box could move further out",
        "absint.jobs.profiles.making",
        "while abs(bad - good) > 1:",
        "while abs(bad - good) > 9:",
        "graph('(float[M] x, int64[1] k) => (float[A] v, int64[B] i) { v, i = TopK(x, k) }')"
        ".profile({'M': (1, 60, 100), 'k': (1, 4, 41)}).nearest",
        PROFILES,
    ),
)
