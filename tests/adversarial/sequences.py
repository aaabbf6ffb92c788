"""Sequences: lengths are sizes too, elements differ, and an empty one is a value."""

from typing import Final

from tests.adversarial.case import Theme, case

SEQUENCES: Final[Theme] = {
    "two_in_a_row": case(
        "(float[N] x, float[M] y) => (z) {s = SequenceConstruct(x, y) z = ConcatFromSequence<axis = 0>(s)}",
        "N M: 2 3, 0 1",
    ),
    "two_stacked": case(
        "(float[N] x, float[M] y) => (z)"
        "{s = SequenceConstruct(x, y) z = ConcatFromSequence<axis = 0, new_axis = 1>(s)}",
        "N M: 3 3, 1 1",
    ),
    "first_of_two": case(
        """(float[N] x, float[M] y) => (z) {i = Constant<value_int = 0>() s = SequenceConstruct(x, y)
           z = SequenceAt(s, i)}""",
        "N M: 2 3, 0 1",
    ),
    "last_of_two": case(
        """(float[N] x, float[M] y) => (z) {i = Constant<value_int = -1>() s = SequenceConstruct(x, y)
           z = SequenceAt(s, i)}""",
        "N M: 2 3, 0 1",
    ),
    "any_of_two": case(
        "(int64 i, float[N] x, float[M] y) => (z) {s = SequenceConstruct(x, y) z = SequenceAt(s, i)}",
        "N M: 2 3, 0 1",
        {"i": 0},
        {"i": 1},
        {"i": -2},
    ),
    "length": case("(float[N] x) => (z) {s = SequenceConstruct(x, x, x) z = SequenceLength(s)}", "N: 0, 4"),
    "empty_then_inserted": case(
        "(float[N] x) => (z) {e = SequenceEmpty() s = SequenceInsert(e, x) z = ConcatFromSequence<axis = 0>(s)}",
        "N: 0, 4",
    ),
    "split_in_pairs": case(
        "(float[N, M] x) => (n) {k = Constant<value_int = 2>() s = SplitToSequence(x, k) n = SequenceLength(s)}",
        "N M: 1 3, 4 2, 5 0",
    ),
    "split_in_rows": case(
        """(float[N, M] x) => (z) {i = Constant<value_int = 0>() s = SplitToSequence<keepdims = 0>(x)
           z = SequenceAt(s, i)}""",
        "N M: 1 3, 4 2",
    ),
    "split_and_erased": case(
        """(float[N] x) => (z) {k = Constant<value_int = 2>() i = Constant<value_int = 0>() s = SplitToSequence(x, k)
           r = SequenceErase(s, i) z = SequenceLength(r)}""",
        "N: 1, 2, 5",
    ),
}
