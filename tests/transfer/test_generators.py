"""Operators that make tensors, executed."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from absint.lattices.value import Tensor
from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

F, D, I64, I32, B = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
N = sizes(N=[0, 1, 2, 7])
NM = sizes(N=[0, 1, 2, 7], M=[0, 1, 3])


def scalar(value: object, dtype: int = I64) -> Arg:
    return Arg(elements=value, dtype=dtype)


def fed(value: object, dtype: int = I64) -> Arg:
    """Known elements that are no constant of the model."""
    return Arg(elements=value, dtype=dtype, fed=True)


def tensor(dtype: int, shape: list[int], values: list[object]) -> onnx.TensorProto:
    return helper.make_tensor("value", dtype, shape, values)


CONSTANTS = [
    Case("Constant", [], {"value": tensor(I64, [2, 1], [3, -4])}, expect=["[2, 1]"], contents="[[3], [-4]]"),
    Case("Constant", [], {"value": tensor(F, [], [0.5])}, expect=["[]"], contents="(1)/2"),
    Case("Constant", [], {"value": tensor(F, [0, 2], [])}, expect=["[0, 2]"]),
    Case("Constant", [], {"value_int": 4}, expect=["[]"], contents="4"),
    Case("Constant", [], {"value_ints": [4, -1]}, expect=["[2]"], contents="[4, -1]"),
    Case("Constant", [], {"value_float": 0.5}, expect=["[]"], contents="(1)/2"),
    Case("Constant", [], {"value_floats": [0.5, 0.25]}, expect=["[2]"], contents="[(1)/2, (1)/4]", opset=12),
    Case("Constant", [], {"value_float": 2.0, "value_ints": [2, 3]}, expect=["?"]),
    Case("Constant", [], {"value_string": "x"}, expect=["[]"]),
    Case("Constant", [], {"value_strings": ["x", "y"]}, expect=["[2]"]),
    Case("ConstantOfShape", [Arg(elements=["N", 3], dtype=I64)], expect=["[N, 3]"], contents="all 0", bindings=N),
    Case(
        "ConstantOfShape",
        [Arg(elements=["N - 2", "M"], dtype=I64)],
        {"value": tensor(I64, [1], [5])},
        expect=["[N - 2, M]"],
        contents="all 5",
        bindings=NM,
    ),
    Case(
        "ConstantOfShape",
        [Arg(elements=[], dtype=I64)],
        {"value": tensor(B, [1], [True])},
        expect=["[]"],
        contents="all true",
    ),
    Case("ConstantOfShape", [Arg(elements=[2, 3], dtype=I64, hidden=True)], expect=["[?, ?]"]),
    Case("ConstantOfShape", [Arg(["N"], I64, low=0, high=3)], expect=["?"], bindings=N),
    Case("ConstantOfShape", [Arg(["N"], I64, unknown_rank=True, low=0, high=3)], expect=["?"], bindings=N),
    Case("ConstantOfShape", [Arg([2], I64, low=-2, high=3)], expect=["[?, ?]"], bindings=[{}] * 6),
]

RANGES = [
    Case("Range", [scalar(0), scalar("N"), scalar(1)], expect=["[N]"], bindings=N),
    Case("Range", [scalar("M"), scalar("N"), scalar(2)], bindings=NM),
    Case("Range", [scalar("N"), scalar(0), scalar(-2)], bindings=N),
    Case("Range", [scalar("N"), scalar("M"), scalar(-3)], bindings=NM),
    Case("Range", [scalar(0), scalar(20), scalar("N")], bindings=N),
    Case("Range", [scalar(0), scalar("N"), scalar("M - 1")], bindings=NM),
    Case("Range", [scalar(2), scalar(9), scalar(3)], expect=["[3]"], contents="[2, 5, 8]"),
    Case("Range", [scalar("N"), scalar("N + 3"), scalar(1)], expect=["[3]"], contents="[N, N + 1, N + 2]", bindings=N),
    Case("Range", [scalar(9), scalar(2), scalar(3)], expect=["[0]"], contents="[]"),
    Case("Range", [fed([0]), fed(["N"]), fed([1])], expect=["[N]"], bindings=N),
    Case("Range", [scalar(0), Arg([], I64), scalar(1)], expect=["[?]"], bindings=[{}] * 3),
    Case("Range", [scalar(0), Arg([], I64), Arg([], I64, low=0, high=2)], bindings=[{}] * 5),
    Case("Range", [scalar(0), Arg(["N"], I64), scalar(1)], expect=["[?]"], bindings=N),
    Case("Range", [scalar(0, F), Arg([], F, unknown_rank=True), scalar(1, F)], expect=["[?]"]),
    *(
        Case("Range", [scalar(0, t), scalar(x, t), scalar(d, t)])
        for t in (F, D)
        for x, d in [(1, 0.1), (0.3, 0.1), (7, 2.5), (10, 0.3), (5, 1), (3, -1)]
    ),
    Case("Range", [scalar(0.0, F), scalar(7.0, F), scalar(2.5, F)], expect=["[3]"], contents="[0, (5)/2, 5]"),
    Case("Range", [scalar(0, I32), scalar("N", I32), scalar(2, I32)], expect=["[(N + 1)//2]"], bindings=N),
    Case(
        "Range",
        [scalar(0, TensorProto.INT16), scalar(5, TensorProto.INT16), scalar(2, TensorProto.INT16)],
        expect=["[3]"],
        contents="[0, 2, 4]",
    ),
]

OTHERS = [
    Case("RandomNormal", [], {"shape": [2, 0, 3]}, expect=["[2, 0, 3]"]),
    Case("RandomUniform", [], {"shape": [2], "dtype": D}, expect=["[2]"], opset=22),
    Case("RandomNormalLike", [Arg(["N", "M"])], expect=["[N, M]"], bindings=NM),
    Case("RandomUniformLike", [Arg(["N"], I64)], {"dtype": F}, expect=["[N]"], bindings=N),
    Case("Bernoulli", [Arg(["N"], data=lambda s, r: r.random(s))], {"dtype": I64}, expect=["[N]"], bindings=N),
    Case("Multinomial", [Arg(["N", 3])], {"sample_size": 4}, expect=["[N, 4]"], bindings=N),
    Case(
        "Multinomial",
        [Arg(["N", 3], unknown_rank=True)],
        {"sample_size": 4, "dtype": I64},
        expect=["[?, 4]"],
        bindings=N,
    ),
    Case("EyeLike", [Arg(["N", "M"])], {"k": 1}, expect=["[N, M]"], bindings=NM),
    Case("EyeLike", [Arg(["N", "M"], I32)], {"dtype": F}, expect=["[N, M]"], bindings=NM),
    Case("EyeLike", [Arg(["N", "M"], unknown_rank=True)], expect=["[?, ?]"], bindings=NM),
    Case("OneHot", [Arg(["N", 2], I64), scalar(5), scalar([0, 1])], expect=["[N, 2, 5]"], bindings=N),
    Case(
        "OneHot",
        [Arg(["N", 2], I64), scalar(["M"]), scalar([0.0, 1.0], F)],
        {"axis": -2},
        expect=["[N, M, 2]"],
        bindings=NM,
    ),
    Case(
        "OneHot",
        [Arg(["N", 2], I64), scalar(5), Arg(["M"], I64)],
        {"axis": 0},
        expect=["[5, N, 2]"],
        bindings=sizes(N=[0, 2], M=[1, 2, 3]),
    ),
    Case("OneHot", [Arg([], I64), scalar(3), scalar([0, 1])], expect=["[3]"], may_differ=True),
    Case("OneHot", [Arg(["N"], I64, unknown_rank=True), scalar(3), scalar([0, 1])], expect=["?"], bindings=N),
    Case("OneHot", [Arg(["N"], I64), scalar(3.0, F), scalar([0.0, 1.0], F)], expect=["[N, 3]"], bindings=N),
    Case("OneHot", [Arg(["N"], I64), scalar(3.7, F), scalar([0, 1])], expect=["[N, ?]"], bindings=N),
    Case("OneHot", [Arg(["N"], I64), Arg([], I64, low=1), scalar([0, 1])], expect=["[N, ?]"], bindings=N),
    *(
        Case(w, [f("N")], expect=["[N]"], bindings=N, opset=17)
        for f in (scalar, fed)
        for w in ("HannWindow", "HammingWindow", "BlackmanWindow")
    ),
    Case("HannWindow", [fed("N - 1")], {"output_datatype": D}, expect=["[N - 1]"], bindings=N),
    Case("HannWindow", [Arg([], I64)], expect=["[?]"]),
    Case(
        "MelWeightMatrix",
        [scalar("N"), scalar("2*M"), scalar(8000), scalar(0.0, F), scalar(4000.0, F)],
        expect=["[M + 1, N]"],
        bindings=sizes(N=[0, 4], M=[8, 16]),
    ),
]


@pytest.mark.parametrize("case", CONSTANTS + RANGES + OTHERS, ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0 or case.may_differ


def test_rejected() -> None:
    assert apply_case(Case("ConstantOfShape", [Arg(elements=[2, -1], dtype=I64)])).rejected
    for shape, held in (([2], [1, 2]), ([0], [])):
        two = {"value": tensor(I64, shape, held)}
        assert apply_case(Case("ConstantOfShape", [Arg(elements=[2], dtype=I64)], two)).rejected
    assert apply_case(Case("Range", [scalar(0), scalar(5), scalar(0)])).rejected
    assert apply_case(Case("Range", [Arg([2], I64), scalar(5), scalar(1)])).rejected
    assert apply_case(Case("EyeLike", [Arg(["N"])])).rejected
    assert apply_case(Case("RandomNormal", [], {"shape": [-1]})).rejected
    assert apply_case(Case("OneHot", [Arg(["N"], I64), scalar(5), scalar([0, 1])], {"axis": 2})).rejected
    assert apply_case(Case("HannWindow", [scalar(-1)])).rejected


@pytest.mark.parametrize("shape", [[], [1, 1]])
def test_the_value_of_a_fill_is_a_vector_for_onnxruntime(shape: list[int]) -> None:
    case = Case("ConstantOfShape", [Arg(elements=["N"], dtype=I64)], {"value": tensor(I64, shape, [5])})
    assert not apply_case(case, semantics="onnx").doubts
    assert apply_case(case).doubts
    assert apply_case(case, semantics="onnxruntime").rejected


def test_constant_without_a_value_is_malformed() -> None:
    applied = apply_case(Case("Constant", []))
    assert applied.notes
    assert applied.doubts


def test_only_a_constant_of_another_rank_may_fail_in_inference() -> None:
    """onnx.shape_inference knows no size of an input, and OneHot takes its depth in a vector too."""
    refused = "limit must have rank 0: onnx rejects a constant of one element and another rank"
    assert apply_case(Case("Range", [scalar(0), fed([5]), scalar(1)])).doubts == (refused,)
    assert apply_case(Case("Range", [scalar(0), fed(["N"]), scalar(1)])).doubts == ()
    for depth in (5, "N + 1"):
        one_hot = Case("OneHot", [Arg(["N"], I64), fed([depth]), scalar([0, 1])], bindings=N)
        assert apply_case(one_hot).doubts == ()
        assert run_case(one_hot) > 0


def test_large_range_has_no_contents() -> None:
    (value,) = apply_case(Case("Range", [scalar(0), scalar(5000), scalar(1)])).outputs
    assert isinstance(value, Tensor)
    assert value.contents is None
    assert value.shape == (5000,)
