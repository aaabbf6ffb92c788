"""Resize and Upsample, executed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

import absint
from absint.transfer.semantics import ONNX, RUNTIME
from tests.models import parsed
from tests.soundness.runs import ENGINE
from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

I64 = TensorProto.INT64
HW = sizes(N=[0, 1, 2], H=[0, 1, 2, 5, 16], W=[1, 7])


def scaled(
    *scales: float, expect: str | None = None, opset: int = 19, hidden: bool = False, **attributes: object
) -> Case:
    given = Arg(elements=list(scales), hidden=hidden)
    inputs = [Arg(["N", 3, "H", "W"]), given] if opset < 11 else [Arg(["N", 3, "H", "W"]), Arg([0]), given]
    return Case("Resize", inputs, attributes, opset=opset, bindings=HW, expect=expect and [expect])


def sized(
    *wanted: object, expect: str | None = None, opset: int = 19, hidden: bool = False, **attributes: object
) -> Case:
    given = Arg(elements=list(wanted), dtype=I64, hidden=hidden)
    bindings = [{**b, "P": p, "Q": q} for b in HW for p, q in ((0, 3), (4, 2), (7, 7))]
    inputs = [Arg(["N", 3, "H", "W"]), None, None, given]
    if opset < 13:
        inputs = [Arg(["N", 3, "H", "W"]), Arg([0]), Arg(elements=[]), given]
    return Case("Resize", inputs, attributes, opset=opset, bindings=bindings, expect=expect and [expect])


SCALES = [
    scaled(1, 1, 2, 2, expect="[N, 3, 2*H, 2*W]"),
    scaled(1, 1, 0.5, 0.5, expect="[N, 3, H//2, W//2]"),
    scaled(1, 1, 1.5, 0.75, expect="[N, 3, H + H//2, W - (W + 3)//4]"),
    scaled(1, 1, 0.7, 0.3, expect="[N, 3, int(float32(H)*0.7), int(float32(W)*0.3)]"),
    scaled(1, 1, 2, 2, expect="[N, 3, 2*H, 2*W]", opset=10),
    scaled(1, 1, 2, 2, expect="[N, 3, 2*H, 2*W]", opset=11, mode="linear"),
    scaled(1, 1, 2.5, 0.3, opset=10),
    scaled(2, 3, expect="[N, 3, 2*H, 3*W]", axes=[2, 3]),
    scaled(2, 3, expect="[N, 3, 3*H, 2*W]", axes=[-1, 2]),
    scaled(2, 3, axes=[2]),
    scaled(2, 2, axes=[2, 2]),
    scaled(2, axes=[4]),
    scaled(1, 1, 2),
    scaled(1, 1, 0, 1),
    scaled(1, 1, -1, 1),
    scaled(1, 1, 2, 2, hidden=True),
]

SIZES = [
    sized("N", 3, "P", "Q", expect="[N, 3, P, Q]"),
    sized("N", 3, "P", "Q", expect="[N, 3, P, Q]", opset=11),
    sized("N", 3, "2*H", "W", expect="[N, 3, 2*H, W]", opset=13),
    sized("P", "Q", expect="[N, 3, P, Q]", axes=[2, 3]),
    sized("P", "Q", expect="[N, 3, Q, P]", axes=[3, 2]),
    sized("P", "Q"),
    sized("P", expect="[N, 3, P, W]", axes=[-2]),
    sized("N", 3, "P", "Q", hidden=True),
    sized(10, expect="[N, 3, 10, W]", axes=[2], keep_aspect_ratio_policy="not_larger"),
    sized(10, 10, axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
    sized(10, 10, axes=[2, 3], keep_aspect_ratio_policy="not_smaller"),
    sized("P", "Q", axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
    sized("P", "Q", axes=[2, 3], keep_aspect_ratio_policy="not_smaller"),
    *(
        sized(*wanted, expect=expect, axes=axes, keep_aspect_ratio_policy=policy)
        for policy in ("not_larger", "not_smaller")
        for wanted, axes, expect in [
            ([10, 4], [-2, -1], "[N, 3, H, W]"),
            (["P"], [-1], "[N, 3, H, W]"),
            ([10, 4], [2, -1], "[N, 3, 10, W]"),
            (["P", 10], [-2, 3], "[N, 3, H, 10]"),
        ]
    ),
    sized("P", "Q", expect="[N, 3, Q, P]", axes=[-1, -2], keep_aspect_ratio_policy="stretch"),
    *(
        Case(
            "Resize",
            [Arg([2, 3, 5, 7]), None, None, Arg(elements=wanted, dtype=I64)],
            {"keep_aspect_ratio_policy": policy},
            opset=19,
        )
        for policy in ("stretch", "not_larger", "not_smaller")
        for wanted in ([2, 3, 10, 10], [1, 1, 3, 3], [2, 3, 11, 4], [4, 3, 1, 9])
    ),
    *(  # a scale other than 1 leaves a size of 1 as it is, and is refused all the same
        Case(
            "Resize",
            [Arg([1, 1, 4, 4]), None, None, Arg(elements=[1, 1, wanted, wanted], dtype=I64)],
            {"mode": "linear", "axes": axes, "keep_aspect_ratio_policy": policy},
            opset=19,
        )
        for policy in ("not_larger", "not_smaller")
        for axes in ([0, 1, 2, 3], [-4, 1, 2, 3], [-4, -3, 2, 3])
        for wanted in (3, 5)
    ),
]

# floor(290 * 0.7) is 202, float32 gives 203: products with constants are computed as onnxruntime does.
ROUNDED = [
    Case("Resize", [Arg([1, n]), None, Arg(elements=[1.0, scale])], opset=19)
    for n in (9, 10, 11, 290, 293, 1000)
    for scale in (0.1, 0.3, 0.7, 1.1, 2.3, 1 / 3)
]
SYMBOLIC_ROUNDED = [
    Case(
        "Resize",
        [Arg([1, "N"]), None, Arg(elements=[1.0, scale])],
        opset=19,
        bindings=sizes(N=[*range(1, 300, 17), 10, 290]),
    )
    for scale in (0.1, 0.7, 1 / 3)
]

UPSAMPLE = [
    Case("Upsample", [Arg(["N", 3, "H", "W"])], {"scales": [1.0, 1.0, 2.5, 1.3]}, opset=o, bindings=HW) for o in (7, 8)
] + [
    Case(
        "Upsample",
        [Arg(["N", 3, "H", "W"]), Arg(elements=[1.0, 1.0, 2.0, 1.5])],
        opset=9,
        bindings=HW,
        expect=["[N, 3, 2*H, W + W//2]"],
    ),
    Case("Upsample", [Arg(["N", 3, "H", "W"]), Arg(elements=[1.0, 1.0, 0.5, 1.5])], opset=9, bindings=HW),
]

OTHER = [
    Case(
        "Resize",
        [Arg(["N", "H"]), Arg([0]), Arg(elements=[]), Arg(elements=[4, 6], dtype=I64, hidden=True, unknown_rank=True)],
        opset=11,
        bindings=sizes(N=[2], H=[3]),
        expect=["[?, ?]"],
    ),
    Case(
        "Resize",
        [Arg(["N", "H"]), None, Arg(elements=[2.0, 2.0], hidden=True, unknown_rank=True)],
        opset=19,
        bindings=sizes(N=[2], H=[3]),
        expect=["[?, ?]"],
    ),
    Case(
        "Resize",
        [Arg(["N", "H"], unknown_rank=True), None, Arg(elements=[2.0, 2.0])],
        opset=19,
        bindings=sizes(N=[2], H=[3]),
    ),
    Case(
        "Resize",
        [Arg(["N", "H"], unknown_rank=True), None, None, Arg(elements=["P", 4], dtype=I64)],
        opset=19,
        bindings=sizes(N=[2], H=[3], P=[6]),
    ),
    Case(  # onnxruntime keeps empty axes without a size
        "Resize",
        [Arg(["N", "H", 0], unknown_rank=True), None, None, Arg(elements=["P", 4], dtype=I64)],
        opset=19,
        bindings=sizes(N=[2], H=[3], P=[6]),
    ),
    Case(
        "Resize",
        [Arg(["N", "H"]), None, Arg(elements=[2.0, 2.0]), Arg(elements=[4, 6], dtype=I64)],
        opset=19,
        bindings=sizes(N=[2], H=[3]),
    ),
    Case("Resize", [Arg(["N", "H"]), None, None], opset=19, bindings=sizes(N=[2], H=[3])),
    Case(
        "Resize",
        [Arg(["N", "H"]), None, Arg(["K"], data=lambda s, r: 2.0 + r.random(s)), Arg([0], I64)],
        opset=19,
        bindings=sizes(N=[2], H=[3], K=[2]),
    ),
    Case(
        "Resize",
        [Arg([1, 1, "H", "W"]), Arg(elements=[0.0, 0, 0.2, 0.2, 1, 1, 0.6, 0.6]), Arg(elements=[1.0, 1, 2, 2])],
        {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"},
        opset=19,
        bindings=sizes(H=[5], W=[7]),
        expect=["[1, 1, 2*H, 2*W]"],
    ),
]


@pytest.mark.share(2)
@pytest.mark.parametrize("case", SCALES + SIZES + ROUNDED + SYMBOLIC_ROUNDED + UPSAMPLE + OTHER, ids=str)
def test_runs_agree(case: Case) -> None:
    run_case(case)


@pytest.mark.parametrize("opset", [13, 18, 19])
def test_empty_sizes_beside_scales(opset: int) -> None:
    """onnxruntime refuses them, and takes empty scales beside sizes."""
    none, scales = Arg(elements=[], dtype=TensorProto.INT64), Arg(elements=[1.0, 2.0])
    case = Case("Resize", [Arg(["N", "H"]), None, scales, none], opset=opset, bindings=sizes(N=[1], H=[3]))
    assert run_case(case) == 0
    assert apply_case(case).doubts
    assert apply_case(case, semantics=RUNTIME).rejected is not None
    assert str(apply_case(case, semantics=ONNX).outputs[0].shape) == "[N, 2*H]"
    both = Case("Resize", [Arg(["N", "H"]), None, Arg(elements=[]), Arg(elements=[1, 6], dtype=7)], opset=opset)
    assert not apply_case(both).doubts


@pytest.mark.parametrize(("opset", "mode", "runs"), [(7, "nearest", True), (8, "nearest", True), (7, "linear", False)])
def test_upsample_of_a_scalar(opset: int, mode: str, runs: bool) -> None:
    """onnxruntime gives a scalar back, for which there are no scales, in nearest mode below version 9."""
    text = f'<scales: floats = [], mode = "{mode}">(x)'
    model = parsed(f"(float x) => (float y) {{y = Upsample {text}}}", opset)
    ok, _ = ENGINE.run(model.SerializeToString(), {"x": np.array(1, np.float32)})
    found = absint.analyze(model, semantics="onnxruntime").check({}).outcome
    assert (ok, found is absint.Outcome.RUNS) == (runs, runs)
