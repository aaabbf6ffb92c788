"""Pairs of nodes that undo each other, or of which one does the work."""

from __future__ import annotations

from itertools import product

import pytest

import absint
from absint.jobs.simplifying.simplify import compared
from tests.absint.jobs.simplifying.simplified import analyzed, constant, operators, simplified

PARTS = """(float[N, 6] x) => (float[a, b] y) <int64[2] parts = {2, 4}> {
    p, q = Split<axis=1>(x, parts)  %s  y = Relu(z) }"""


def test_all_parts_of_a_split_side_by_side_are_what_was_split() -> None:
    _, copy = simplified(PARTS % "z = Concat<axis=-1>(p, q)")
    assert operators(copy) == ["Relu"]


@pytest.mark.parametrize(
    "joined", ["z = Concat<axis=-1>(q, p)", "z = Concat<axis=-1>(p, p, p)", "k = Neg(q)  z = Concat<axis=1>(p, k)"]
)
def test_other_parts_or_another_order_are_something_else(joined: str) -> None:
    _, copy = simplified(PARTS % joined)
    assert {"Split", "Concat"} <= {*operators(copy)}


def test_parts_of_equal_shapes_along_another_axis_are_something_else() -> None:
    _, copy = simplified("""(float[6, 6] x) => (float[12, 3] y) <int64[2] parts = {3, 3}> {
        p, q = Split<axis=1>(x, parts)  z = Concat<axis=0>(p, q)  y = Relu(z) }""")
    assert operators(copy) == ["Split", "Concat", "Relu"]
    _, copy = simplified("""(float[2, 2] x, float[2, 2] w) => (float[1, 4] y, float[1, 4] z)
        <int64[2] parts = {1, 1}> { k = Concat<axis=1>(x, w)  p, q = Split<axis=0>(k, parts)
        y = Relu(p)  z = Neg(q) }""")
    assert operators(copy) == ["Concat", "Split", "Relu", "Neg"]


def test_a_split_that_may_fail_stays() -> None:
    _, copy = simplified("""(float[N, M] x) => (float[a, b] z) <int64[2] parts = {2, 4}> {
        p, q = Split<axis=1>(x, parts)  z = Concat<axis=-1>(p, q) }""")
    assert "Split" in operators(copy)


def test_a_concat_that_is_split_again_gives_its_parts() -> None:
    _, copy = simplified("""(float[N, 3] x, float[M, 3] w) => (float[a, b] y, float[c, d] z) {
        k = Concat<axis=0>(x, w)  sx = Shape<start=0, end=1>(x)  sw = Shape<start=0, end=1>(w)
        parts = Concat<axis=0>(sx, sw)  p, q = Split<axis=0>(k, parts)  y = Relu(p)  z = Neg(q) }""")
    assert operators(copy) == ["Relu", "Neg"]


def test_a_concat_that_is_split_into_other_parts_stays() -> None:
    _, copy = simplified("""(float[N, 2] x, float[N, 4] w) => (float[a, b] y, float[c, d] z)
        <int64[2] parts = {4, 2}> { k = Concat<axis=1>(x, w)  p, q = Split<axis=1>(k, parts)
        y = Relu(p)  z = Neg(q) }""")
    assert operators(copy) == ["Concat", "Split", "Relu", "Neg"]


def test_an_element_of_a_sequence_made_of_tensors_is_one_of_them() -> None:
    _, copy = simplified("""(float[N] x, float[M] w) => (float[a] y, float[b] z)
        <int64 zero = {0}, int64 last = {-1}> { s = SequenceConstruct(x, w)
        p = SequenceAt(s, zero)  q = SequenceAt(s, last)  y = Relu(p)  z = Neg(q) }""")
    assert operators(copy) == ["Relu", "Neg"]
    assert [node.input[0] for node in copy.graph.node] == ["x", "w"]


def test_an_element_at_a_place_that_may_lie_outside_stays() -> None:
    _, copy = simplified("""(float[N] x, float[M] w, int64 i) => (float[a] y) {
        s = SequenceConstruct(x, w)  p = SequenceAt(s, i)  y = Relu(p) }""")
    assert operators(copy) == ["SequenceConstruct", "SequenceAt", "Relu"]


def test_a_sequence_made_of_tensors_and_joined_is_their_concat_unless_it_adds_an_axis() -> None:
    text = """(float[N, 2] x, float[N, 2] w) => (%s y) {
        s = SequenceConstruct(x, w)  p = ConcatFromSequence<axis=0%s>(s)  y = Relu(p) }"""
    assert operators(simplified(text % ("float[a, b]", ""))[1]) == ["Concat", "Relu"]
    stacked = simplified(text % ("float[a, b, c]", ", new_axis=1"))[1]
    assert operators(stacked) == ["SequenceConstruct", "ConcatFromSequence", "Relu"]


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("SplitToSequence<axis=1>(x)", [1, 2]),
        ("SplitToSequence<axis=1, keepdims=0>(x)", [1]),
        ("SplitToSequence<axis=-1>(x, three)", [3, 6]),
        ("SplitToSequence<axis=1>(x, parts)", [3, 3]),
    ],
)
def test_one_part_is_taken_without_the_others(split: str, expected: list[int]) -> None:
    out = "float[a]" if "keepdims" in split else "float[a, b]"
    _, copy = simplified(f"""(float[N, 7] x) => ({out} y)
        <int64 three = {{3}}, int64[3] parts = {{3, 0, 4}}, int64 one = {{1}}> {{
        s = {split}  p = SequenceAt(s, one)  y = Relu(p) }}""")
    assert operators(copy) == ["Slice" if len(expected) > 1 else "Gather", "Relu"]
    assert [constant(copy, name)[0] for name in copy.graph.node[0].input[1:3]] == expected


@pytest.mark.parametrize("split", ["SplitToSequence<axis=0>(x)", "SplitToSequence<axis=1, keepdims=0>(x, three)"])
def test_a_part_that_may_be_missing_or_on_which_runtimes_differ_stays(split: str) -> None:
    _, copy = simplified(f"""(float[N, 7] x) => (float[a, b] y) <int64 three = {{3}}, int64 one = {{1}}> {{
        s = {split}  p = SequenceAt(s, one)  y = Relu(p) }}""")
    assert operators(copy) == ["SplitToSequence", "SequenceAt", "Relu"]


JOINED = """(float[N, 3] x, float[M, 3] w, int64 place) => (float[a, b] y) <int64 zero = {0}, int64 last = {-1}> {
    %s  p = ConcatFromSequence<axis=0>(s)  y = Relu(p) }"""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("e = SequenceEmpty()  k = SequenceInsert(e, x)  s = SequenceInsert(k, w)", ["x", "w"]),
        ("k = SequenceConstruct(x)  s = SequenceInsert(k, w, zero)", ["w", "x"]),
        ("k = SequenceConstruct(x, x)  s = SequenceInsert(k, w, last)", ["x", "w", "x"]),
    ],
)
def test_a_sequence_that_grows_by_known_places_is_joined_without_it(made: str, expected: list[str]) -> None:
    _, copy = simplified(JOINED % made)
    assert operators(copy) == ["Concat", "Relu"]
    assert list(copy.graph.node[0].input) == expected


def test_a_sequence_that_grows_at_a_place_from_data_stays() -> None:
    _, copy = simplified(JOINED % "k = SequenceConstruct(x, x)  s = SequenceInsert(k, w, place)")
    assert operators(copy) == ["SequenceConstruct", "SequenceInsert", "ConcatFromSequence", "Relu"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p, q = Split<axis=1>(x, parts)  z = Concat<axis=-1>(p, q)", []),
        ("c = Concat<axis=0>(x, w)  z, q = Split<axis=0>(c, both)", []),
        ("t = Transpose(x)  u = Transpose(t)  c = Cast<to=11>(u)  i = Cast<to=6>(u)  z = Abs(u)", ["Abs"]),
        (
            "i = ArgMax(x)  c = Cast<to=6>(i)  d = Cast<to=7>(c)  e = Cast<to=6>(d)  z = Abs(e)",
            ["ArgMax", "Cast", "Abs"],
        ),
        ("l = Less(x, one)  n = Not(l)  z = Where(n, x, one)", ["Less", "Where"]),
        ("r = ReduceSum<keepdims=0>(x, first)  u = Unsqueeze(r, first)  z = Sub(x, u)", ["ReduceSum", "Sub"]),
        (
            "m = Reshape(v, six)  t = Transpose<perm=[0, 2, 1]>(m)  p = Reshape(t, apart)  z = Relu(p)",
            ["Transpose", "Relu"],
        ),
        ("s = SequenceConstruct(x, w)  z = SequenceAt(s, nil)", []),
        ("s = SequenceConstruct(x, w)  z = ConcatFromSequence<axis=0>(s)", ["Concat"]),
        ("s = SplitToSequence<axis=1>(x, parts)  z = SequenceAt(s, nil)", ["Slice"]),
        ("s = SplitToSequence<axis=1, keepdims=0>(x)  z = SequenceAt(s, nil)", ["Gather"]),
        ("s = SplitToSequence<axis=1>(x, two)  z = ConcatFromSequence<axis=1>(s)", []),
        ("n = Size(w)  c = Cast<to=1>(n)  z = Sub(x, c)", ["Sub"]),
        ("k = Add(two, two)  d = ArgMax(x)  z = Sub(d, k)", ["ArgMax", "Sub"]),
    ],
)
def test_the_proof_knows_of_pairs_before_sizes_that_data_decide(text: str, expected: list[str]) -> None:
    _, copy = simplified(
        """(float[N, 6] x, float[3, 6] w, float[N, 2, 3, 4] v) => (int64[] y) <int64 nil = {0}, int64 two = {2},
        float one = {1}, int64[1] first = {1}, int64[2] parts = {2, 4}, int64[3] six = {0, 6, 4},
        int64[4] apart = {0, 4, 2, 3}> { n0 = Shape<end=1>(x)  n1 = Shape<end=1>(w)  both = Concat<axis=0>(n0, n1) """
        + text
        + "  y = NonZero(z) }"
    )
    found = operators(copy)
    assert found[-1] == "NonZero"
    assert not expected or found[:-1] == expected


def test_the_proof_knows_sizes_that_a_later_node_requires() -> None:
    """Of the input the analysis says N, and of what is behind it 6."""
    _, copy = simplified("""(float[N, 6] x) => (int64[] y) <int64[2] parts = {4, 2}> {
        c = Concat<axis=1>(x, x)  p, q = Split<axis=1, num_outputs=2>(c)
        r, s = Split<axis=0>(q, parts)  y = NonZero(s) }""")
    assert operators(copy) == ["Split", "NonZero"]


def test_a_concat_fails_where_that_of_a_sequence_does() -> None:
    result = analyzed("""(float[N, 3] x, float[M, 3] w) => (float[a, b] y) {
        s = SequenceConstruct(x, w)  p = ConcatFromSequence<axis=1>(s)  y = Relu(p) }""")
    model = result.simplify().model
    assert model is not None
    assert operators(model) == ["Concat", "Relu"]
    copy = absint.analyze(model)
    for n, m in product((1, 2, 3), repeat=2):  # beside an empty tensor, onnxruntime leaves memory as it was in both
        difference, ran = compared(result, copy, {"N": n, "M": m}, isolated=False)
        assert (difference, ran) == ("", n == m)


@pytest.mark.parametrize(
    ("split", "joined", "is_gone"),
    [
        ("SplitToSequence<axis=1>(x, two)", "axis=-1", True),
        ("SplitToSequence<axis=1>(x, two)", "axis=0", False),
        ("SplitToSequence<axis=1, keepdims=0>(x)", "axis=1, new_axis=1", True),
        ("SplitToSequence<axis=1, keepdims=0>(x)", "axis=0, new_axis=1", False),
        ("SplitToSequence<axis=1>(x)", "axis=1, new_axis=1", False),
    ],
)
def test_all_parts_of_a_sequence_joined_are_what_was_split(split: str, joined: str, is_gone: bool) -> None:
    out = "float[a, b, c]" if "keepdims" not in split and "new_axis" in joined else "float[a, b]"
    _, copy = simplified(f"""(float[N, 6] x) => ({out} y) <int64 two = {{2}}> {{
        s = {split}  p = ConcatFromSequence<{joined}>(s)  y = Relu(p) }}""")
    assert operators(copy) == (["Relu"] if is_gone else ["SplitToSequence", "ConcatFromSequence", "Relu"])


@pytest.mark.parametrize(
    ("split", "place", "expected"),
    [
        ("SplitToSequence<axis=1>(x, three)", -1, [6, 9]),
        ("SplitToSequence<axis=1>(x, parts)", -2, [3, 3]),
        ("SplitToSequence<axis=1, keepdims=0>(x)", -2, [5]),
    ],
)
def test_a_part_may_be_counted_from_the_end(split: str, place: int, expected: list[int]) -> None:
    out = "float[a]" if "keepdims" in split else "float[a, b]"
    _, copy = simplified(f"""(float[N, 7] x) => ({out} y)
        <int64 three = {{3}}, int64[3] parts = {{3, 0, 4}}, int64 at = {{{place}}}> {{
        s = {split}  p = SequenceAt(s, at)  y = Relu(p) }}""")
    assert operators(copy) == ["Slice" if len(expected) > 1 else "Gather", "Relu"]
    assert [constant(copy, name)[0] for name in copy.graph.node[0].input[1:3]] == expected


def test_a_part_is_taken_where_an_assumption_keeps_it_there() -> None:
    text = """(float[N, M] x) => (float[a, b] y) <int64 one = {1}, int64 three = {3}> {
        s = SplitToSequence<axis=1>(x, three)  p = SequenceAt(s, one)  y = Relu(p) }"""
    for assumed, expected in (([], "SplitToSequence"), (["M >= 4"], "Slice")):
        found = analyzed(text, assume=assumed).simplify().model
        assert found is not None
        assert operators(found)[0] == expected


@pytest.mark.parametrize(
    ("allowzero", "expected"), [(0, ["Reshape", "Transpose", "Reshape", "Neg", "Transpose"]), (1, ["Transpose", "Neg"])]
)
def test_a_transpose_of_merged_axes_is_one_of_all_axes(allowzero: int, expected: list[str]) -> None:
    """Where a 0 copies an axis, the second Reshape needs a positive S and stays; behind it, none does."""
    _, copy = simplified(
        """(float[B, 2, S, 8] x) => (float[b, h, d, s] y, float[e, f, g, i] z)
        <int64[1] left = {-1}> {
        shape = Shape<start=2>(x)  to = Concat<axis=0>(left, shape)
        b = Shape<start=0, end=2>(x)  d = Shape<start=3>(x)  s = Shape<start=2, end=3>(x)
        back = Concat<axis=0>(b, d, s)
        m = Reshape<allowzero=ZERO>(x, to)  t = Transpose<perm=[0, 2, 1]>(m)  y = Reshape<allowzero=ZERO>(t, back)
        n = Neg(x)  o = Reshape<allowzero=ZERO>(n, to)  u = Transpose<perm=[0, 2, 1]>(o)
        w = Reshape<allowzero=ZERO>(u, back)  z = Neg(w) }""".replace("ZERO", str(allowzero))
    )
    assert [each for each in operators(copy) if each not in ("Shape", "Concat")][: len(expected)] == expected


def test_axes_that_a_node_parts_in_another_way_are_not_turned() -> None:
    _, copy = simplified("""(float[B, 2, 4, 8] x) => (float[b, 8, 4, 2] y)
        <int64[3] to = {0, 8, 8}, int64[4] back = {0, 8, 4, 2}> {
        m = Reshape(x, to)  t = Transpose<perm=[0, 2, 1]>(m)  y = Reshape(t, back) }""")
    assert operators(copy) == ["Reshape", "Transpose", "Reshape"]


def test_a_choice_needs_no_negation() -> None:
    _, copy = simplified("""(bool[N] c, float[N] a, float[N] b) => (float[n] y) {
        n = Not(c)  y = Where(n, a, b) }""")
    assert operators(copy) == ["Where"]
    assert list(copy.graph.node[0].input) == ["c", "b", "a"]


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax", "ReduceMean"])
def test_a_reduction_keeps_the_axes_that_are_brought_back(operator: str) -> None:
    text = f"""(float[N, 3, 2] x) => (float[a, 1, 2] y, float[b, c] z) <int64[1] axes = {{%d}}, int64[1] one = {{1}}> {{
        r = {operator}<keepdims=0>(x, axes)  y = Unsqueeze(r, one)  z = {operator}<keepdims=0>(x, one) }}"""
    assert operators(simplified(text % -2)[1]) == [operator, operator]
    assert operators(simplified(text % 0)[1]) == [operator, "Unsqueeze", operator]
