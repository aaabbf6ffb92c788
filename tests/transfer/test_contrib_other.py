"""Contrib operators on tensors at large, and those that onnxruntime keeps in ONNX's domain, executed by it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from onnx import TensorProto

from absint.lattices.logic.relation import FALSE
from absint.transfer.families import shipped
from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

MS = partial(Case, domain="com.microsoft", opset=1)
F32, I32, I64, STRING = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.STRING
NM = sizes(N=[0, 1, 2], M=[0, 1, 5])


def scalar(element: int | float | str, dtype: int = I64, **how: bool) -> Arg:
    return Arg(elements=element, dtype=dtype, **how)


def zeros(*dims: int | str, dtype: int = F32) -> Arg:
    return Arg(dims, dtype, data=lambda shape, rng: np.zeros(shape))


COUNTS = sizes(N=[0, 1, 5, 7])
RANGES = [
    MS("Range", [scalar(0), scalar("N")], bindings=COUNTS, expect=["[N]"]),
    MS("Range", [scalar(0), scalar("N"), scalar(2)], bindings=COUNTS, expect=["[(N + 1)//2]"]),
    MS("Range", [scalar("N"), scalar(0), scalar(-3)], bindings=COUNTS, expect=["[(N + 2)//3]"]),
    MS("Range", [scalar("N"), scalar(3)], bindings=COUNTS, expect=["[max(3 - N, 0)]"]),
    MS("Range", [Arg(elements=[0], dtype=I64, fed=True), scalar("N")], bindings=COUNTS, expect=["[N]"]),
    MS("Range", [scalar(0), scalar("N", fed=True), scalar("N", fed=True)], bindings=COUNTS),
    MS("Range", [scalar(0.0, F32), scalar(2.5, F32)], expect=["[3]"]),
    MS("Range", [scalar(0.0, F32), scalar(2.5, F32), scalar(0.5, F32)], expect=["[5]"]),
    MS("Range", [scalar(0), scalar("N", hidden=True)], bindings=COUNTS, expect=["[?]"]),
]

VIEWS = [
    *(
        MS("ExpandDims", [Arg(["N", "M"]), Arg(elements=axis, dtype=I32)], bindings=NM, expect=[expect])
        for axis, expect in (
            *((0, "[1, N, M]"), ([1], "[N, 1, M]"), (2, "[N, M, 1]")),
            *((-1, "[N, M, 1]"), (-3, "[1, N, M]")),
        )
    ),
    MS("ExpandDims", [Arg(["N", "M"]), Arg(elements=1, dtype=I32, hidden=True)], bindings=NM, expect=["[?, ?, ?]"]),
    MS("ExpandDims", [Arg([]), Arg(elements=[-1], dtype=I32)], expect=["[1]"]),
    MS(
        "ExpandDims",
        [Arg(elements=["N", 2], dtype=I64), Arg(elements=0, dtype=I32)],
        bindings=COUNTS,
        contents="[[N, 2]]",
    ),
    MS("SampleOp", [Arg(["N", "M"])], bindings=NM, expect=["[N, M]"]),
    *(
        MS("UnfoldTensor", [Arg(["N", "M"])], attributes, bindings=NM, expect=[expect])
        for attributes, expect in (
            ({"dim": 1, "size": 3, "step": 2}, "[N, (M + 1)//2 - 1, 3]"),
            ({"size": 1}, "[N, M, 1]"),
            ({"dim": 0, "size": 2}, "[N - 1, M, 2]"),
            ({"dim": -2, "size": 1, "step": 3}, "[(N + 2)//3, M, 1]"),
            ({"dim": 0, "size": 0}, "[N + 1, M, 0]"),
        )
    ),
    MS("UnfoldTensor", [Arg(["N", "M"], unknown_rank=True)], {"size": 2}, bindings=NM, expect=["?"]),
    MS("UnfoldTensor", [Arg(["N"], I64)], {"size": 2}, bindings=NM, expect=["[N - 1, 2]"]),
]

CROP = Arg(elements=["H", 2], dtype=I32, fed=True)
IMAGES = [
    MS(
        "GridSample",
        [Arg(["N", 3, "M", 5]), Arg(["N", "H", 7, 2])],
        bindings=sizes(N=[0, 1, 2], M=[0, 1, 4], H=[0, 1, 6]),
        expect=["[N, 3, H, 7]"],
    ),
    MS("GridSample", [Arg(["N", 3, 4, 5]), Arg(["M", 6, 7, 2])], bindings=NM, expect=["[N, 3, 6, 7]"]),
    MS(
        "CropAndResize",
        [Arg(["N", "C", 6, 7]), zeros("R", "K"), zeros("I", dtype=I32), CROP],
        bindings=sizes(N=[1, 2], C=[0, 3], R=[0, 1, 5], K=[3, 4], I=[0, 1, 5], H=[0, 1, 4]),
        expect=["[R, C, H, 2]"],
    ),
    MS(
        "CropAndResize",
        [Arg(["N", 3, 6, 7]), zeros("R", 4), zeros("R", dtype=I32), Arg(elements=[4, 2], dtype=I32, hidden=True)],
        {"mode": "nearest"},
        bindings=sizes(N=[1, 2], R=[0, 5]),
        expect=["[R, 3, ?, ?]"],
    ),
    MS(
        "WordConvEmbedding",
        [Arg(["N", "M"], I32, high=9), Arg(["F", 1, "K", 4]), Arg(["B"]), Arg([10, "D"])],
        bindings=sizes(N=[0, 2], M=[0, 1, 5], F=[1, 6], B=[1, 6], K=[1, 3], D=[4, 5]),
        expect=["[N, F]"],
    ),
    MS(
        "WordConvEmbedding",
        [Arg(["N", 7, 5], I32, high=9), Arg([6, 1, 3, 4]), Arg([6]), Arg([10, 4])],
        bindings=sizes(N=[1, 2]),
        expect=["[N, 6]"],
    ),
    MS("WordConvEmbedding", [Arg([2, 2], I32), Arg([0, 1, 0, 1, 0]), Arg([0]), Arg([2, 1, 2])], expect=["[2, 0]"]),
    MS("WordConvEmbedding", [Arg([2, 2], I32), Arg([0, 1, 1, 0]), Arg([0]), Arg([2, 0, 2])], expect=["[2, 0]"]),
]


def experimental(op: str, *inputs: Arg, expect: str, bindings: object = NM, **attributes: object) -> list[Case]:
    """The same case in the first and the last version of ONNX's domain that onnxruntime keeps the operator in."""
    return [
        Case(op, inputs, attributes, bindings=bindings, opset=version, expect=[expect])  # type: ignore[arg-type]
        for version in (1, 9)
    ]


PICTURE = Arg(["N", "C", "H", "W"])
PICTURES = sizes(N=[0, 1, 2], C=[0, 1, 3], H=[0, 3, 4, 7], W=[0, 5, 6])
EXPERIMENTAL = [
    *experimental("Affine", Arg(["N", "M"]), expect="[N, M]", alpha=2.0, beta=1.0),
    *experimental("ParametricSoftplus", Arg(["N", "M"]), expect="[N, M]", alpha=2.0, beta=1.0),
    *experimental("ScaledTanh", Arg(["N", "M"]), expect="[N, M]", alpha=2.0, beta=1.0),
    *experimental("ScaledTanh", Arg(["N", "M"]), Arg(["N"]), expect="[N, M]", alpha=2.0, beta=1.0),
    *experimental("Scale", Arg(["N", "M"]), expect="[N, M]", scale=2.0),
    *experimental("ImageScaler", PICTURE, expect="[N, C, H, W]", bindings=PICTURES, bias=[1.0, 2.0, 3.0], scale=2.0),
    *experimental("Crop", PICTURE, expect="[N, C, H - 4, W - 6]", bindings=PICTURES, border=[2, 1, 4, 3]),
    *experimental("Crop", PICTURE, expect="[N, C, H, W]", bindings=PICTURES, border=[0, 0, 0, 0]),
    *experimental("Crop", PICTURE, expect="[N, C, 3, 4]", bindings=PICTURES, border=[2, 1, 9, 9], scale=[3, 4]),
    *experimental(
        "DynamicSlice",
        *(Arg(["N", "M"]), Arg(elements=[1, 0], dtype=I64), Arg(elements=[2**31 - 1, -1], dtype=I64)),
        expect="[max(N - 1, 0), max(M - 1, 0)]",
    ),
    *experimental(
        "DynamicSlice",
        *(Arg(["N", "M"]), Arg(elements=[1], dtype=I64), Arg(elements=[3], dtype=I64), Arg(elements=[1], dtype=I64)),
        expect="[N, max(min(M - 1, 2), 0)]",
    ),
]
COPIED = [
    Case(op, [Arg(["N", "M"])], bindings=NM, opset=version, expect=["[N, M]"])
    for op in ("MemcpyFromHost", "MemcpyToHost")
    for version in (1, 17)
]
NORMALISED = [
    Case(
        "SimplifiedLayerNormalization",
        [Arg(["N", "M", 4]), scale],
        {"axis": axis},
        outputs=2,
        opset=version,
        bindings=NM,
        expect=["[N, M, 4]", moments],
    )
    for axis, scale, moments in ((-1, Arg([4]), "[N, M, 1]"), (1, Arg(["M", 4]), "[N, 1, 1]"))
    for version in (1, 17)
]


@pytest.mark.parametrize("case", [*RANGES, *VIEWS, *IMAGES, *EXPERIMENTAL, *COPIED, *NORMALISED], ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


REJECTED = [
    MS("Range", [Arg(elements=[0, 1], dtype=I64), scalar(5)]),
    MS("Range", [scalar(0), scalar(5), scalar(0)]),
    MS("ExpandDims", [Arg([2, 3]), Arg(elements=3, dtype=I32)]),
    MS("UnfoldTensor", [Arg([5, 6])], {"dim": 2, "size": 1}),
    MS("UnfoldTensor", [Arg([5, 6])], {"size": 1, "step": 0}),
    MS("UnfoldTensor", [Arg([5, 6])], {"size": -1}),
    MS("UnfoldTensor", [Arg([5, 6])], {"size": 7}),
    MS("UnfoldTensor", [Arg([])], {"size": 1}),
    MS("CropAndResize", [Arg([2, 3, 6, 7]), zeros(5, 4), zeros(5, dtype=I32), Arg(elements=[4], dtype=I32)]),
    MS("WordConvEmbedding", [Arg([5], I32), Arg([6, 1, 3, 4]), Arg([6]), Arg([10, 4])]),
    Case("ImageScaler", [Arg([2, 3, 4])], {"bias": [1.0]}, opset=1),
    Case("ImageScaler", [Arg([2, 3, 4, 5])], opset=1),
    Case("Crop", [Arg([2, 3, 4])], {"border": [0, 0, 0, 0]}, opset=1),
    Case("Crop", [Arg([2, 3, 4, 5])], {"border": [0, 0, 0]}, opset=1),
    Case("Crop", [Arg([2, 3, 4, 5])], {"border": [-1, 0, 0, 0]}, opset=1),
    Case("Crop", [Arg([2, 3, 4, 5])], {"border": [0, 0, 0, 0], "scale": [2]}, opset=1),
    Case("Crop", [Arg([2, 3, 4, 5])], opset=1),
]


@pytest.mark.parametrize("case", REJECTED, ids=str)
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(case) == 0


def test_unfolded_strings_are_illegal() -> None:
    """onnxruntime's kernel takes elements of at most 8 bytes."""
    case = MS("UnfoldTensor", [Arg(["N"], STRING)], {"size": 2}, bindings=NM, expect=["?"])
    assert FALSE in [statement.relation for statement in apply_case(case).statements]
    assert run_case(case) == 0


@pytest.mark.parametrize("case", EXPERIMENTAL, ids=str)
def test_onnxruntime_has_them_up_to_version_9(case: Case) -> None:
    assert shipped().lookup("", case.op, 10) is None
