"""Reductions, executed in every version."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from absint.lattices.value import Tensor
from tests.transfer.harness import Arg, Case, apply_case, build_model, reference, run_case, sizes

I64, I32, F32 = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT
ALL = ["Sum", "Max", "Min", "Mean", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]
SMALL = sizes(N=[0, 1, 3], M=[0, 2])
FULL = sizes(N=[1, 3], M=[1, 2])
"""onnxruntime 1.31 does not reduce an empty input at all where an axis is negative; the spec does."""

X = Arg(["N", "M"])


def axes(*values: object) -> Arg:
    return Arg(elements=list(values), dtype=I64)


BY_ATTRIBUTE = [
    Case(
        f"Reduce{name}",
        [X],
        attributes,
        opset=opset,
        bindings=FULL if attributes.get("axes") == [-1] else SMALL,
        expect=[expect],
    )
    for name in ALL
    for opset, attributes, expect in [
        (7, {"axes": [1]}, "[N, 1]"),
        (11, {"axes": [-1], "keepdims": 0}, "[N]"),
        (12, {}, "[1, 1]"),
        (8, {"axes": [0, 0], "keepdims": 0}, "[M]"),
    ]
]

BY_INPUT = [
    Case(f"Reduce{name}", [X, *given], attributes, opset=opset, bindings=SMALL, expect=[expect])
    for name in ALL
    for opset, given, attributes, expect in [
        (13 if name == "Sum" else 18, [axes(1)], {}, "[N, 1]"),
        (20, [], {"keepdims": 0}, "[]"),
        (20, [], {"noop_with_empty_axes": 1, "keepdims": 0}, "[N, M]"),
        (20, [Arg(elements=np.zeros(0), dtype=I64)], {}, "[1, 1]"),
        (20, [Arg(elements=np.zeros(0), dtype=I64)], {"noop_with_empty_axes": 1}, "[N, M]"),
        (20, [axes(0, -2, 1)], {"keepdims": 0}, "[]"),
    ]
]

NEGATIVE = [
    Case(f"Reduce{name}", [X, axes(-2)], {"keepdims": keep}, bindings=FULL, expect=["[M]", "[1, M]"][keep : keep + 1])
    for name in ALL
    for keep in (0, 1)
]

UNKNOWN = [
    Case("ReduceSum", [X, Arg(elements=[1], dtype=I64, hidden=True)], bindings=SMALL),
    Case("ReduceSum", [X, Arg(elements=[0, 1], dtype=I64, hidden=True)], bindings=SMALL),
    Case("ReduceSum", [X, Arg(elements=[1], dtype=I64, hidden=True)], {"keepdims": 0}, bindings=SMALL),
    Case(
        "ReduceSum",
        [Arg(["N", "N"]), Arg(elements=[1], dtype=I64, hidden=True)],
        {"keepdims": 0},
        bindings=SMALL,
        expect=["[N]"],
    ),
    Case("ReduceSum", [Arg(["N", 1]), Arg(elements=[0], dtype=I64, hidden=True)], bindings=SMALL),
    Case(
        "ReduceSum",
        [X, Arg(["A"], I64, high=2)],
        {"keepdims": 0},
        bindings=sizes(N=[2], M=[3], A=[0, 1, 2]),
        expect=["?"],
    ),
    Case(
        "ReduceMax",
        [X, Arg(["A"], I64, high=2)],
        {"noop_with_empty_axes": 1},
        bindings=sizes(N=[2], M=[3], A=[0, 1, 2]),
    ),
    Case("ReduceMax", [X, Arg(["A"], I64, high=2, unknown_rank=True)], bindings=sizes(N=[2], M=[3], A=[0, 1, 2])),
    Case("ReduceMax", [X, Arg(elements=1, dtype=I64)], bindings=SMALL, may_differ=True),
    Case("ReduceMean", [Arg(["N", "M"], unknown_rank=True), axes(0)], bindings=SMALL, expect=["?"]),
    Case("ReduceMean", [Arg(["N", "M"], unknown_rank=True)], {"keepdims": 0}, bindings=SMALL, expect=["[]"]),
    Case("ReduceMean", [Arg(["N", "M"], unknown_rank=True)], bindings=SMALL, expect=["?"]),
    Case("ReduceProd", [Arg([]), axes(1)], {"keepdims": 0}, expect=["[]"]),
    Case("ReduceProd", [Arg([])], {"axes": [-1]}, opset=9, expect=["[]"]),
    Case("ReduceSum", [X, axes("a")], {"keepdims": 0}, bindings=sizes(N=[2], M=[3], a=[0, 1, 2])),
]

SHAPE = Arg(elements=["N", 3, "M"], dtype=I64)
MATRIX = Arg(elements=[["N", 3], [2, "M"]], dtype=I64)
NUMBERS = sizes(N=[0, 1, 2, 7], M=[0, 1, 5])
CONTENTS = [
    Case("ReduceProd", [SHAPE], {"keepdims": 0}, bindings=NUMBERS, contents="3*M*N"),
    Case("ReduceProd", [SHAPE], opset=13, bindings=NUMBERS, contents="[3*M*N]"),
    Case("ReduceSum", [SHAPE, axes(0)], {"keepdims": 0}, bindings=NUMBERS, contents="M + N + 3"),
    Case("ReduceMax", [SHAPE], {"keepdims": 0}, bindings=NUMBERS, contents="max(M, N, 3)"),
    Case("ReduceMin", [SHAPE], {"keepdims": 0}, bindings=NUMBERS, contents="min(M, N, 3)"),
    Case("ReduceMean", [SHAPE], {"keepdims": 0}, bindings=NUMBERS, contents="(M + N)//3 + 1"),
    Case("ReduceMean", [Arg(elements=["N - 5", -2], dtype=I64)], {"keepdims": 0}, bindings=NUMBERS),
    Case("ReduceSum", [MATRIX, axes(1)], bindings=NUMBERS, contents="[[N + 3], [M + 2]]"),
    Case("ReduceSum", [MATRIX, axes(0)], {"keepdims": 0}, bindings=NUMBERS, contents="[N + 2, M + 3]"),
    Case("ReduceSum", [MATRIX], {"noop_with_empty_axes": 1}, bindings=NUMBERS, contents="[[N, 3], [2, M]]"),
    Case("ReduceSum", [Arg(elements=np.zeros((2, 0)), dtype=I64), axes(1)], contents="[[0], [0]]"),
    Case("ReduceProd", [Arg(elements=np.zeros((2, 0)), dtype=I64), axes(1)], contents="[[1], [1]]"),
    Case("ReduceMax", [Arg(elements=np.zeros((2, 0)), dtype=I64), axes(1)], expect=["[2, 1]"]),
    Case("ReduceMean", [Arg(elements=np.zeros((2, 0)), dtype=I64), axes(1)], expect=["[2, 1]"]),
    Case("ReduceSum", [Arg(elements=[0.5, 0.25, 3], dtype=F32)], {"keepdims": 0}, contents="(15)/4"),
    Case("ReduceMean", [Arg(elements=[0.5, 0.25, 3, 1], dtype=F32)], {"keepdims": 0}, contents="(19)/16"),
    Case("ReduceMax", [Arg(elements=[0.5, -0.25, 3, 1], dtype=F32)], {"keepdims": 0}, contents="3"),
    Case("ReduceSum", [Arg(elements=[16777216.0, 1.0, 1.0], dtype=F32)], {"keepdims": 0}),
    Case("ReduceSum", [Arg(elements=[0.1, 0.2, 0.7], dtype=F32)], {"keepdims": 0}),
    Case("ReduceSum", [Arg(elements=["N", 5], dtype=I32)], {"keepdims": 0}, bindings=NUMBERS, contents="N + 5"),
    Case("ReduceProd", [Arg(elements=[2**20, 2**20], dtype=I32)], {"keepdims": 0}),
    Case("ReduceProd", [Arg(elements=[-1], dtype=I64)], {"keepdims": 0}, contents="-1"),
    Case("ReduceL1", [Arg(elements=[-1, 2], dtype=I64)], {"keepdims": 0}),
    Case("ReduceL1", [Arg(elements=-1, dtype=I64)], {"keepdims": 0}),
]


@pytest.mark.parametrize("case", BY_ATTRIBUTE + BY_INPUT + NEGATIVE + UNKNOWN + CONTENTS, ids=str)
def test_runs_agree(case: Case) -> None:
    ran = run_case(case)
    assert ran > 0 or case.may_differ


@pytest.mark.parametrize("opset", [9, 20])
def test_an_axis_out_of_range_is_rejected(opset: int) -> None:
    inputs, attributes = ([X], {"axes": [2]}) if opset == 9 else ([X, axes(2)], {})
    case = Case("ReduceMax", inputs, attributes, opset=opset, bindings=FULL)
    assert apply_case(case).rejected == "axis 2 is out of range for rank 2"
    assert run_case(case) == 0


def test_booleans_have_no_empty_reduction() -> None:
    case = Case("ReduceMax", [Arg(["N", "M"], TensorProto.BOOL), axes(1)], bindings=SMALL, expect=["[N, 1]"])
    (failure,) = apply_case(case).possible_failures
    assert failure.reason == "onnxruntime does not reduce an empty axis of booleans"
    assert str(failure.unless) == "M >= 1 or N == 0"
    assert run_case(case) > 0


@pytest.mark.parametrize("keep", [0, 1])
def test_a_negative_axis_of_an_empty_input_follows_the_spec(keep: int) -> None:
    case = Case("ReduceSum", [X, axes(-1)], {"keepdims": keep}, expect=["[N]", "[N, 1]"][keep : keep + 1])
    (value,) = apply_case(case).outputs
    assert isinstance(value, Tensor)
    for binding in sizes(N=[0, 2], M=[0, 3]):
        arrays = [np.ones((binding["N"], binding["M"]), np.float32), np.array([-1])]
        outputs, failure = reference(build_model(case, arrays), {"x0": arrays[0]})
        assert outputs is not None, failure
        assert list(outputs[0].shape) == value.shape.evaluate(binding)
