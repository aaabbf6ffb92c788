"""Forms that the specification does not allow, or leaves open, and that onnxruntime runs: never "it cannot run"."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, run_case, shape_text, sizes

I64, F16, F64 = TensorProto.INT64, TensorProto.FLOAT16, TensorProto.DOUBLE


def one(value: object, rank: int, dtype: int = I64) -> Arg:
    """One number in a tensor of a rank, given at run time."""
    return Arg(elements=np.full((1,) * rank, value).tolist(), dtype=dtype, hidden=True)


def mel(place: int, rank: int) -> Case:
    numbers = [(8, I64), (16, I64), (8000, I64), (0.0, 1), (4000.0, 1)]
    inputs = [one(value, rank if at == place else 0, dtype) for at, (value, dtype) in enumerate(numbers)]
    return Case("MelWeightMatrix", inputs)


SINGLE = [
    *(Case(f"{name}Window", [one(5, rank)]) for name in ("Hann", "Hamming", "Blackman") for rank in (1, 2, 3)),
    *(Case("HannWindow", [Arg(elements=[["N"]], dtype=I64, fed=True)], bindings=sizes(N=[1, 5]), expect=["[N]"]),),
    *(mel(place, rank) for place in range(5) for rank in (1, 2)),
    *(Case("Dropout", [Arg(["N", 3]), one(0.5, rank, 1)], bindings=sizes(N=[0, 2]), opset=13) for rank in (1, 2, 3)),
]

GROUPS = [
    Case(
        "GroupNormalization",
        [Arg(["N", 4, "H"]), Arg(scale), Arg(bias)],
        {"num_groups": 2},
        bindings=sizes(N=[1, 2], H=[1, 3]),
        opset=opset,
        expect=["[N, 4, H]"],
    )
    for opset, scale, bias in [
        (18, [], []), (18, [2], []), (18, [1, 1], [2, 1]), (21, [], []), (21, [1, 4], [4]), (21, [1, 1], [1]),
    ]
]  # fmt: skip

AXES = [
    *(
        Case(name, [Arg(["N", "M"]), Arg(elements=axis, dtype=I64)], opset=opset, bindings=sizes(N=[0, 2], M=[0, 3]))
        for name, opset in (("CumSum", 14), ("CumProd", 26))
        for axis in (-3, 2, 5)
    ),
    *(
        Case(
            "ReverseSequence",
            [Arg([3, "M", 2]), Arg([3], I64, low=1, high=2)],
            {"time_axis": time, "batch_axis": batch},
            bindings=sizes(M=[3, 4]),
            expect=["[3, M, 2]"],
        )
        for time, batch in ((0, -1), (1, -1), (0, -3), (1, -2), (-1, 0))
    ),
]

PARTS = [Case("Split", [Arg(["N"])], {"num_outputs": -1}, 2, sizes(N=[0, 4, 5]), expect=["[N//2]", "[N//2]"])]

BIASED = [
    Case(
        "FastGelu",
        [Arg(x, dtype), Arg(bias, dtype)],
        domain="com.microsoft",
        opset=1,
        bindings=sizes(N=[1, 2, 3], M=[1, 2, 3]),
        expect=[expect],
    )
    for x, bias, expect in [
        (["N", 3], ["N", 3], "[N, 3]"), ([3], ["N", 3], "[N, 3]"), ([], ["N"], "[N]"),
        (["N", 1], [1, "M"], "[N, M]"), (["N"], ["M"], "[broadcast(M, N)]"),
    ]
    for dtype in (F16, F64)
] + [Case("FastGelu", [Arg([], F16)], domain="com.microsoft", opset=1, expect=["[]"])]  # fmt: skip

IGNORED = [
    Case("Multinomial", [Arg(["N", "M", 3])], {"sample_size": 4}, bindings=sizes(N=[1, 2], M=[3]), expect=["[N, 4]"]),
    Case(
        "RoiAlign",
        [Arg([1, "C", 4, 5, "D"]), Arg(["R", 4]), Arg(["R"], I64, low=0, high=1)],
        {"output_height": 2, "output_width": 3},
        bindings=sizes(C=[1, 2], D=[1, 2], R=[1, 3]),
        opset=16,
        expect=["[R, C, 2, 3]"],
    ),
    Case(
        "MaxRoiPool",
        [Arg([1, "C", 4, 5, 1]), Arg(["R", 5, 1], data=lambda shape, _: np.zeros(shape))],
        {"pooled_shape": [2, 2]},
        bindings=sizes(C=[2], R=[1]),
    ),
    Case("STFT", [Arg([1, "T", 1]), Arg(elements=2, dtype=I64), Arg([4, 3])], bindings=sizes(T=[4, 9]), opset=17),
    Case("ImageScaler", [Arg(["N", 1, 2, 3, "M"])], {"bias": [1.0]}, bindings=sizes(N=[0, 2], M=[0, 2]), opset=9),
    Case(
        "Conv",
        [Arg([1, 1, "L"]), Arg([1, 1, 2])],
        {"pads": [0, 3, 1]},
        bindings=sizes(L=[2, 9]),
        expect=["[1, 1, L + 2]"],
    ),
    Case("Split", [Arg(["N"]), Arg(elements=np.zeros(0), dtype=I64)], {}, 3, sizes(N=[0, 3, 6]), expect=["[N//3]"] * 3),
    Case(
        "GatherND",
        [Arg([2, "N"]), Arg(["B", 2, 1], I64, low=0, high=1)],
        {"batch_dims": 1},
        bindings=sizes(N=[1, 3], B=[0, 1, 3]),
        expect=["[B, 2]"],
    ),
    Case("GatherND", [Arg([2, "N"]), Arg([0, 1], I64)], {"batch_dims": -1}, bindings=sizes(N=[1, 3])),
    Case("Conv", [Arg(["N", 0, 4]), Arg([1, 0, 2])], {"group": -1}, bindings=sizes(N=[0])),
]
"""More axes, pads or parts than the node needs, or nothing to compute."""


@pytest.mark.parametrize("case", [*SINGLE, *GROUPS, *AXES, *PARTS, *BIASED, *IGNORED], ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


@pytest.mark.parametrize("given", [-3, -2, 1, 3])
def test_another_number_of_outputs_may_fail(given: int) -> None:
    """onnxruntime 1.31 ran it, 1.32 refuses it, and onnx.reference gives parts of other sizes."""
    case = Case("Split", [Arg(["N"])], {"num_outputs": given}, 2, sizes(N=[2, 3, 4, 5]))
    applied = apply_case(case)
    assert list(map(shape_text, applied.outputs)) == ["[?]", "[?]"]
    assert f"num_outputs must be 2, the number of outputs, found {given}" in str(applied.doubts)
