"""Rules over floats that round: casts, Resize, Range and reductions of them, against runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest

import absint
from absint.lattices.terms.expr import UndefinedError
from tests.models import parsed

SIZES = [(0, 0), (0, 3), (3, 0), (1, 1), (2, 3), (7, 7), (10, 290), (77, 100), (290, 640), (4097, 4095)]
INPUTS = "(float[N, 0] x, float[M, 0] z)"
READ = (
    "sx = Shape<start = 0, end = 1>(x) sz = Shape<start = 0, end = 1>(z) n = Cast<to = 1>(sx) m = Cast<to = 1>(sz) "
    "zero = Constant<value_ints = [0]>() one = Constant<value_floats = [1.0]>() c = Constant<value_floats = [0.7]>() "
    "e = Constant<value_floats = [3.5]>() "
)


def model(body: str, output: str = "float[K, L] y", inputs: str = INPUTS) -> onnx.ModelProto:
    return parsed(f"{inputs} => ({output}) {{ {body} }}", 20)


def sized(body: str) -> onnx.ModelProto:
    """A model whose output is as long as the integer i that the body computes."""
    return model(f"{READ} {body} t = Concat<axis = 0>(i, zero) w = Constant<value_floats = [1.0]>() "
                 "v = Slice(w, zero, zero) y = Expand(v, t)")  # fmt: skip


def runs(proto: onnx.ModelProto) -> Iterator[tuple[dict[str, int], tuple[int, ...]]]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for n, m in SIZES:
        feeds = {"x": np.zeros((n, 0), np.float32), "z": np.zeros((m, 0), np.float32)}
        try:
            (result,) = session.run(["y"], feeds)
        except Exception:
            continue
        yield {"N": n, "M": m}, result.shape


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = Mul(n, c) f = Floor(p) i = Cast<to = 7>(f)", "int(float32(N)*0.7)"),
        ("p = Div(n, m) q = Mul(p, e) i = Cast<to = 7>(q)", "int(float32(N)/float32(M)*3.5)"),
        ("p = Reciprocal(m) q = Mul(p, n) f = Ceil(q) i = Cast<to = 7>(f)", "int(ceil(1/float32(M)*float32(N)))"),
        ("p = Mul(n, c) f = Round(p) i = Cast<to = 7>(f)", "int(round(float32(N)*0.7))"),
        ("p = Mul(n, m) f = Sqrt(p) i = Cast<to = 7>(f)", "int(sqrt(float32(M)*float32(N)))"),
        ("p = Mul(n, c) d = Cast<to = 11>(p) k = Cast<to = 11>(e) q = Div(d, k) i = Cast<to = 7>(q)",
         "int(float64(float32(N)*0.7)/3.5)"),
        ("p = Mul(n, c) q = Mul(m, e) s = Sub(q, p) r = Relu(s) i = Cast<to = 7>(r)",
         "int(max(float32(7*M/2) - float32(N)*0.7, 0))"),
        ("p = Mul(n, c) k = Concat<axis = 0>(p, m, e) q = ReduceMax(k) i = Cast<to = 7>(q)",
         "int(max(max(float32(N)*0.7, float32(M)), 3.5))"),
        ("p = Mul(n, c) g = Greater(n, m) q = Where(g, p, m) i = Cast<to = 7>(q)",
         "int(ite(N > M, float32(N)*0.7, float32(M)))"),
        ("p = Mul(n, c) j = Cast<to = 6>(p) i = Cast<to = 7>(j)", "int(float32(N)*0.7)"),
        ("p = Div(n, c) a = Neg(p) b = Abs(a) q = Min(b, e) i = Cast<to = 7>(q)",
         "int(float32(min(33554432*N, 82208357)/23488102))"),
        ("p = Mul(n, c) q = Clip(p, one, e) i = Cast<to = 7>(q)", None),
    ],
)  # fmt: skip
def test_sizes_are_those_of_the_run(body: str, expected: str | None) -> None:
    proto = sized(body)
    dim = absint.analyze(proto).shapes["y"][0]
    if expected is not None:
        assert str(dim) == expected
    seen = 0
    for sizes, shape in runs(proto):
        try:
            assert dim.is_unknown or not dim.free_symbols <= {"N", "M"} or dim.evaluate(sizes) == shape[0], sizes
            seen += 1
        except UndefinedError:
            assert 0 in sizes.values()
    assert seen >= 4


@pytest.mark.parametrize("scale", ["0.7", "1.7", "0.33333334"])
def test_resize_by_scales_is_that_of_the_run(scale: str) -> None:
    proto = model(
        f"s = Constant<value_floats = [1.0, 1.0, {scale}, 1.0]>() y = Resize(x, , s)",
        "float[1, 1, A, B] y", "(float[1, 1, N, 1] x)",
    )  # fmt: skip
    dim = absint.analyze(proto).shapes["y"][2]
    assert str(dim) == f"int(float32(N)*{scale})"
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for n in (2, 3, 10, 90, 290, 1000, 4097):
        (result,) = session.run(None, {"x": np.zeros((1, 1, n, 1), np.float32)})
        assert dim.evaluate({"N": n}) == result.shape[2]


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_a_ratio_that_is_kept_is_that_of_the_run(policy: str) -> None:
    proto = model(
        f's = Constant<value_ints = [80, 133]>() y = Resize<keep_aspect_ratio_policy = "{policy}", axes = [2, 3]>'
        "(x, , , s)", "float[1, 1, A, B] y", "(float[1, 1, N, M] x)",
    )  # fmt: skip
    dims = absint.analyze(proto).shapes["y"]
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for n in (1, 2, 3, 79, 80, 133, 290):
        for m in (1, 7, 80, 132, 133, 299):
            (result,) = session.run(None, {"x": np.zeros((1, 1, n, m), np.float32)})
            assert [dim.evaluate({"N": n, "M": m}) for dim in dims] == list(result.shape)


@pytest.mark.parametrize("delta", ["0.1", "0.3", "1.7"])
def test_a_range_of_floats_counts_as_the_run(delta: str) -> None:
    proto = model(
        f"{READ} p = Mul(n, c) l = Squeeze(p) b = Constant<value_float = 0.0>() d = Constant<value_float = {delta}>() "
        "y = Range(b, l, d)", "float[K] y",
    )  # fmt: skip
    dim = absint.analyze(proto).shapes["y"][0]
    assert "int(ceil(float64(float32(N)*0.7)/" in str(dim)
    for sizes, shape in runs(proto):
        assert dim.evaluate(sizes) == shape[0]


@pytest.mark.parametrize("start", ["0.1", "-0.7", "1000.1"])
@pytest.mark.parametrize("delta", ["0.1", "0.35", "0.7"])
def test_a_range_of_floats_takes_its_start_away_in_double(start: str, delta: str) -> None:
    proto = model(
        f"{READ} p = Mul(n, c) l = Squeeze(p) b = Constant<value_float = {start}>() "
        f"d = Constant<value_float = {delta}>() y = Range(b, l, d)", "float[K] y",
    )  # fmt: skip
    dim = absint.analyze(proto).shapes["y"][0]
    for sizes, shape in runs(proto):
        assert dim.evaluate(sizes) == shape[0]


def test_a_cast_of_nan_is_nobodys_size() -> None:
    """0 * (1/0) is no number, and a platform makes an integer of it as it likes."""
    proto = sized("p = Div(n, m) q = Mul(p, m) i = Cast<to = 7>(q)")
    result = absint.analyze(proto)
    (premise,) = [c for c in result.constraints if c.role == "assumed" and "int64" in str(c)]
    assert str(premise) == "int64(float32(N)/float32(M)*float32(M)) >= 0  (Cast #10: a float is a number of INT64)"
    assert any("a float must be a number of INT64" in str(d) for d in result.constraints.possible_failures)
    assert str(result.shapes["y"][0]) == "int(float32(N)/float32(M)*float32(M))"
    strict = absint.analyze(proto, premises=False)
    assert str(strict.shapes["y"][0]) == "int64(float32(N)/float32(M)*float32(M))"
    assert any(str(c.relation) == "int64(float32(N)/float32(M)*float32(M)) >= 0" for c in strict.constraints)


def test_half_floats_stay_unknown() -> None:
    proto = sized("h = Cast<to = 10>(n) k = Cast<to = 10>(c) p = Mul(h, k) f = Cast<to = 1>(p) i = Cast<to = 7>(f)")
    dim = absint.analyze(proto).shapes["y"][0]
    assert not dim.free_symbols <= {"N"} or dim.is_unknown
