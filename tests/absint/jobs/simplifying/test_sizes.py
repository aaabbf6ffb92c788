"""The pass `sizes` on numbers that floats round, that stand for what is left, or that are scalars."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import absint
from tests.absint.jobs.simplifying.simplified import operators, simplified
from tests.models import model, node


def test_sizes_of_a_pool_that_rounds_up_are_known_without_a_premise() -> None:
    _, copy = simplified("""(float[B, 4, L] x) => (float[b, 4, l] y) {
        p = MaxPool<kernel_shape=[2], strides=[2], ceil_mode=1>(x)
        q = AveragePool<kernel_shape=[2], strides=[2], ceil_mode=1>(x)
        shape = Shape(q)  e = Expand(p, shape)  y = Add(e, q) }""")
    assert operators(copy) == ["MaxPool", "AveragePool", "Add"]


def test_a_pool_rounds_its_size_in_float32() -> None:
    """The window slides by 2**25 + 1, which float32 does not hold."""
    size = (1 << 25) + 3
    x = helper.make_tensor_value_info("x", TensorProto.UINT8, (1, 1, size))
    pool = node("MaxPool", "x", "y", kernel_shape=[2], strides=[2], ceil_mode=1)
    proto = model([pool], [x], ["y"])
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": np.zeros((1, 1, size), np.uint8)})
    assert str(absint.analyze(proto).shapes["y"]) == f"[1, 1, {found.shape[2]}]"
    assert found.shape[2] == (1 << 24) + 1


def test_the_length_of_a_range_of_floats_is_known() -> None:
    _, copy = simplified("""(float[N] x) => (float[n] y) <int64 zero = {0}, float start = {0}, float step = {1}> {
        shape = Shape(x)  n = Gather(shape, zero)  f = Cast<to=1>(n)  r = Range(start, f, step)
        s = Shape(r)  e = Expand(r, s)  y = Neg(e) }""")
    assert operators(copy) == ["Shape", "Gather", "Cast", "Range", "Neg"]


def test_what_is_left_for_minus_one_is_a_size_too() -> None:
    _, copy = simplified("""(float[B, S, 8] x, float[B, 1, 8] last, float[B, 4, S, 8] w, float[B, 4, 1, 8] end)
        => (float[m, t, 8] k, float[n, t, 8] y) <int64[1] left = {-1}> {
        one = Concat<axis=1>(x, last)  k = Concat<axis=0>(one, one, one, one)  a = Concat<axis=2>(w, end)
        shape = Shape<start=2>(a)  to = Concat<axis=0>(left, shape)  y = Reshape(a, to) }""")
    assert operators(copy) == ["Concat", "Concat", "Concat", "Shape", "Reshape"]


def test_what_may_be_zero_does_not_stand_for_minus_one() -> None:
    """A 0 would copy S, which is positive where B is 0."""
    _, copy = simplified("""(float[B, 8] x, float[1, 8] last, float[B, S, 4] w, float[B, 1, 4] end)
        => (float[t, B, 4] k, float[n, m, 4] y) <int64[1] left = {-1}> {
        a = Concat<axis=1>(w, end)  k = Transpose<perm=[1, 0, 2]>(a)
        shape = Shape<start=1>(a)  to = Concat<axis=0>(left, shape)  y = Reshape(k, to) }""")
    assert operators(copy)[-3:] == ["Shape", "Concat", "Reshape"]


def test_scalars_are_computed_from_scalars() -> None:
    _, copy = simplified("""(float[N, S] x) => (int64[s] y, int64[t] z)
        <int64[1] ones = {1}, int64[1] twos = {2}, int64 start = {0}, int64 step = {1}> {
        shape = Shape(x)  s1 = Slice(shape, ones, twos)  s = Squeeze(s1)  y = Range(start, s, step)
        d = Sub(s1, ones)  u = Squeeze(d)  z = Range(start, u, step) }""")
    assert sorted(operators(copy)) == ["Gather", "Range", "Range", "Shape", "Sub"]


def test_a_number_without_nodes_of_its_own_is_taken_from_the_first_that_computes_it() -> None:
    """Padding as an audio codec computes it, in floats that round: the cast stays, the sums around it go."""
    _, copy = simplified("""(float[1, N] x) => (float[a, b] y)
        <int64 one = {1}, int64 six = {6}, float f = {1}, int64[1] zero = {0}, int64[3] rest = {0, 0, 0}> {
        shape = Shape(x)  n = Gather(shape, one)  less = Sub(n, one)  c = Cast<to=1>(less)  d = Div(c, f)
        e = Add(d, f)  up = Ceil(e)  i = Cast<to=7>(up)  j = Add(i, six)  k = Sub(j, six)  more = Sub(k, n)
        m = Unsqueeze(more, zero)  pads = Concat<axis=0>(rest, m)  y = Pad(x, pads) }""")
    assert operators(copy)[:7] == ["Shape", "Gather", "Sub", "Cast", "Add", "Cast", "Reshape"]
    assert operators(copy)[7:] == ["Shape", "Sub", "Concat", "Pad"]


def test_an_element_of_a_longer_vector_is_taken_too() -> None:
    _, copy = simplified("""(int64[2] n, float[K] x) => (float[a, b] y, float[c, d] z)
        <int64 one = {1}, int64[1] ones = {1}, int64[1] zeros = {0}> {
        two = Mul(n, n)  last = Gather(two, one)  l = Unsqueeze(last, zeros)  s = Shape(x)
        to = Concat<axis=0>(l, s)  y = Expand(x, to)  back = Squeeze(l)  u = Unsqueeze(back, zeros)
        again = Concat<axis=0>(u, s)  z = Expand(x, again) }""")
    assert operators(copy).count("Expand") == 2
    assert len(operators(copy)) <= 6


def test_names_of_the_model_and_new_ones_are_mixed_where_that_leaves_fewer_nodes() -> None:
    """All new sizes would take more nodes than those of the model, which has two Concats for nothing."""
    _, copy = simplified("""(float[B, 2, P, 4] past, float[B, S, 8] x) => (float[b1, s1, 2, 4] y, float[n, t, 4] z,
        int64[q] r, int64[v] w) <int64[1] two = {2}, int64[1] four = {4}, int64 zero = {0}, int64 one = {1}> {
        b = Shape<start=0, end=1>(past)  s = Shape<start=1, end=2>(x)  p = Shape<start=2, end=3>(past)
        to = Concat<axis=0>(b, s, two, four)  y = Reshape(x, to)  bs = Squeeze(b)  ss = Squeeze(s)
        r = Range(zero, bs, one)  w = Range(zero, ss, one)
        b2 = Mul(b, two)  to2 = Concat<axis=0>(b2, p, four)  z = Reshape(past, to2) }""")
    assert "Concat" in operators(copy)
    assert operators(copy).count("Concat") == 1


@pytest.mark.parametrize(("added", "expected"), [("k", 2), ("j", 4)])
def test_the_elements_of_a_tensor_that_was_computed_are_below_2_to_63(added: str, expected: int) -> None:
    """So B*H*W overflows in no order behind a tensor of these sizes; else it may."""
    text = """(float[B, 1, 1] i, float[H, 1] j, float[W] k, float[1] s) => (float[n] y, float[m] z, float[a, b, c] t) {
        r = Add(i, j)  t = Add(r, %s)  b = Shape<start=0, end=1>(i)  h = Shape<start=0, end=1>(j)  w = Shape(k)
        bh = Mul(b, h)  bhw = Mul(bh, w)  y = Expand(s, bhw)
        hw = Mul(h, w)  hwb = Mul(hw, b)  u = Neg(s)  z = Expand(u, hwb) }"""
    _, copy = simplified(text % added)
    assert operators(copy).count("Mul") == expected


def test_a_number_beside_a_vector_may_be_a_vector_too() -> None:
    """GreaterOrEqual takes the size as it comes from a shape, without a Gather or a Squeeze."""
    _, copy = simplified("""(int64[N] x, float[S, 4] w) => (bool[n] y, int64 z) <int64 zero = {0}> {
        shape = Shape(w)  s = Gather(shape, zero)  y = GreaterOrEqual(x, s)  z = Identity(s) }""")
    assert operators(copy) == ["Shape", "Gather", "GreaterOrEqual"]
    _, copy = simplified("""(int64[N] x, float[S, 4] w) => (bool[n] y) <int64 zero = {0}> {
        shape = Shape(w)  s = Gather(shape, zero)  y = GreaterOrEqual(x, s) }""")
    assert operators(copy) == ["Shape", "GreaterOrEqual"]


def test_operands_of_one_origin_are_changed_together() -> None:
    """One Gather more costs a node; two of one Shape save one, in place of two Shapes and two Squeezes."""
    _, copy = simplified("""(float[B, S] x, float[8] bias) => (int64[b] y, int64[s] z)
        <int64 zero = {0}, int64 one = {1}> {
        b1 = Shape<start=0, end=1>(x)  b = Squeeze(b1)  s1 = Shape<start=1, end=2>(x)  s = Squeeze(s1)
        y = Range(zero, b, one)  z = Range(zero, s, one) }""")
    assert sorted(operators(copy)) == ["Gather", "Gather", "Range", "Range", "Shape"]


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_sizes_of_the_axes_that_are_resized_are_enough(mode: str) -> None:
    text = """(float[B, 2, H, 3] x, float[K, 5] like) => (float[b, 2, k, 5] y) {
        b = Shape<start=0, end=2>(x)  k = Shape(like)  to = Concat<axis=0>(b, k)  y = Resize<mode="%s">(x, , , to) }"""
    _, copy = simplified(text % mode)
    assert operators(copy) == ["Shape", "Resize"]
    assert operators(simplified(text % mode, opset=17)[1]) == ["Shape", "Shape", "Concat", "Resize"]
