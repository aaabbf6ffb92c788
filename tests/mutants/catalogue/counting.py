"""Faults in what relates sizes that data decide, and in the sizes of parts of sequences."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, mutant

PROOFS: Final = "pytest tests/absint/shapes/counts/test_counts.py::test_proofs"
RANDOM: Final = "pytest tests/absint/shapes/counts/test_random_counts.py"
FLOATS: Final = (
    "'(float[N] a, float[N] b) => (k, d) { l = Less(a, b) m = Not(l) k = NonZero(m) n = GreaterOrEqual(a, b)"
    " d = NonZero(n) }'"
)
DRAWN: Final = (
    "'(float[N] x) => (k, d) { t = Constant<value_float = 0.5>() u = RandomUniformLike(x) v = RandomUniformLike(x)"
    " m = Greater(u, t) n = Greater(v, t) k = NonZero(m) d = NonZero(n) }'"
)
ROW: Final = "'(bool[N, 1] a, bool[1, M] b) => (k, d) { c = And(a, b) k = NonZero(c) d = NonZero(a) }'"
PARTS: Final = (
    "'(float[L, M] x) => (y) { k = Constant<value_int = 2>() s = SplitToSequence<axis = 0>(x, k)"
    " y = ConcatFromSequence<axis = 1>(s) }'"
)
EQUAL: Final = "prove('k[1] == d[1]').verdict"

MUTANTS: Final[tuple[Mutant, ...]] = (
    mutant(
        "no-number-is-nan",
        "of two floats one is less, or they are equal",
        "absint.shapes.counts.masks",
        '*([] if is_exact else ["?"])',
        "*[]",
        f"graph({FLOATS}).{EQUAL}",
        PROOFS,
        RANDOM,
    ),
    mutant(
        "random-masks-are-one",
        "operators that draw random numbers give the same values",
        "absint.shapes.counts.numbering",
        "and operation.op_type not in RANDOM",
        "and True",
        f"graph({DRAWN}).{EQUAL}",
        PROOFS,
    ),
    mutant(
        "a-mask-that-is-repeated-counts-once",
        "a mask holds as often as the one that it is broadcast from",
        "absint.shapes.counts.relations",
        "size = None if found is None or times is None else mul(found.size, times)",
        "size = None if found is None or times is None else found.size",
        f"graph({ROW}).prove('k[1] <= d[1]').verdict",
        PROOFS,
        RANDOM,
    ),
    mutant(
        "parts-are-joined-along-any-axis",
        "the parts of a tensor, joined along another axis, are as long as they were together",
        "absint.transfer.sequences",
        "if cut is not None and cut.axis == axis",
        "if cut is not None",
        f"graph({PARTS})['y']",
        "pytest tests/absint/shapes/test_control_flow.py -k part",
    ),
)
