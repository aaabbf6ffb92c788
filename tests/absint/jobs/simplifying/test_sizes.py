"""The pass `sizes` on numbers that floats round, that stand for what is left, or that are scalars."""

from __future__ import annotations

import numpy as np
import onnxruntime
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
