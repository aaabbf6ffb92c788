"""Contracts of vision models, held against runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from onnx import ModelProto

from absint.lattices.terms.expr import MAX_DIM
from absint.questions.sizes.outcomes import Outcome
from tests.absint.questions.contracts import vision
from tests.absint.questions.contracts.boundary import Binding, Boundary, around, grid

BATCH = (0, 1, 2)

CASES: list[tuple[Callable[[], ModelProto], list[str], list[Binding]]] = [
    (vision.resnet, ["H >= 1", "W >= 1"], grid(batch=BATCH, H=around(7, 32), W=around(5))),
    (vision.plain_convnet, ["H >= 24", "W >= 24"], grid(batch=(1, 2), H=around(24, 28), W=around(24))),
    (
        vision.lenet,
        ["H >= 14", "W >= 14", "max(H//4 - 3, 1)*max(W//4 - 3, 1) == 16"],
        grid(batch=(1, 2), H=around(14, 20, 28, 32), W=around(14, 28, 44)),
    ),
    (vision.pooled_shortcut, ["H % 2 == 0 or H <= 3", "H >= 1"], grid(batch=BATCH, H=range(12))),
    (
        lambda: vision.unet("ConvTranspose"),
        ["H >= 1", "W >= 1", "H % 8 == 0 or batch == 0", "W % 8 == 0 or batch == 0"],
        grid(batch=BATCH, H=around(4, 8, 12, 16), W=around(8, 24)),
    ),
    (
        lambda: vision.unet("Resize", levels=2),
        ["H >= 1", "W >= 1", "H % 4 == 0 or batch == 0", "W % 4 == 0 or batch == 0"],
        grid(batch=BATCH, H=around(4, 6, 8), W=around(4, 12)),
    ),
    (
        vision.padded_windows,
        ["H >= 1 or batch == 0", "W >= 1 or batch == 0"],
        grid(batch=BATCH, H=around(7, 14), W=around(7, 10)),
    ),
    (
        vision.exact_windows,
        ["H % 7 == 0 or batch == 0", "H >= 7 or batch == 0", "W % 7 == 0 or batch == 0", "W >= 7 or batch == 0"],
        grid(batch=BATCH, H=around(7, 14, 28), W=around(7, 21)),
    ),
    (vision.detector, ["batch >= 1", "H >= 1", "W >= 1"], grid(batch=BATCH, H=around(7, 8, 32), W=around(4))),
    (
        vision.pyramid_by_scale,
        ["H >= 1", "W >= 1", "((H + 3)//4) % 2 == 0 or batch == 0", "((W + 3)//4) % 2 == 0 or batch == 0"],
        grid(batch=BATCH, H=around(4, 5, 8, 9, 12, 16), W=around(5, 8, 13)),
    ),
    (vision.detector_top, ["(H//8)*(W//8) >= 20"], grid(batch=BATCH, H=around(8, 32, 40), W=around(32, 40, 160))),
    (vision.pixel_shuffle, ["C % 4 == 0"], grid(batch=BATCH, C=around(4, 8, 12), H=(0, 1, 3), W=(0, 2))),
    (vision.focus, ["H % 2 == 0", "H >= 2", "W % 2 == 0", "W >= 2"], grid(batch=BATCH, H=around(4, 7), W=around(4, 6))),
    (
        vision.focus_by_slices,
        ["H >= 1", "W >= 1", "H % 2 == 0 or H == 1 or batch == 0", "W % 2 == 0 or W == 1 or batch == 0"],
        grid(batch=BATCH, H=around(4, 7), W=around(4, 7)),
    ),
    (vision.grouped_conv, ["C == 8", "H >= 1", "W >= 1"], grid(batch=BATCH, C=around(4, 8), H=(0, 1, 2), W=(0, 1, 3))),
    (
        vision.group_norm,
        ["batch >= 1", "W >= 1", "C >= 1 or H == 0", "C*H*W % 4 == 0"],
        grid(batch=BATCH, C=around(4, 6), H=(0, 1, 2, 3), W=(0, 1, 2, 4)),
    ),
    (
        vision.patches,
        ["batch >= 1", "(H//4)*(W//4) == 1 or (H//4)*(W//4) == 16"],
        grid(batch=BATCH, H=around(4, 8, 16, 20), W=around(4, 8, 16, 32)),
    ),
    (vision.odd_fusion, ["H >= 4", "H % 2 == 0 or batch == 0"], grid(batch=BATCH, H=range(10))),
]


@pytest.mark.parametrize(("build", "clauses", "bindings"), CASES)
def test_contract(build: Callable[[], ModelProto], clauses: Sequence[str], bindings: Sequence[Binding]) -> None:
    boundary = Boundary(build())
    assert boundary.clauses == clauses
    assert boundary.contract.possible
    boundary.check(bindings)


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_a_unet_divides_by_two_to_the_number_of_its_levels(levels: int) -> None:
    boundary = Boundary(vision.unet("ConvTranspose", levels))
    step = 2**levels
    assert f"H % {step} == 0 or batch == 0" in boundary.clauses
    boundary.check(grid(batch=(0, 1), H=around(step // 2, step, 3 * step), W=(step,)))
    fixed = boundary.result.symbol("H")
    assert (fixed.lo, fixed.hi, fixed.modulus) == (1, MAX_DIM, 1), "an empty batch may have any H"


def test_boxes_inside_and_across_the_boundary_of_a_unet() -> None:
    boundary = Boundary(vision.unet("ConvTranspose", 2))
    assert boundary.check_box(batch=(1, 2), H=(4, 4), W=(8, 8)) is Outcome.RUNS
    assert boundary.check_box(batch=(0, 0), H=(1, 9), W=(1, 3)) is Outcome.RUNS
    assert boundary.check_box(batch=(0, 0), H=(0, 9), W=(1, 3)) is Outcome.ILLEGAL
    assert boundary.check_box(batch=(0, 1), H=(4, 5), W=(4, 4)) is Outcome.ILLEGAL
    assert boundary.check_box(batch=(1, 1), H=(5, 7), W=(4, 4)) is Outcome.ILLEGAL
    found = boundary.result.check_range({"batch": (1, 8), "H": (4, 400), "W": 64})
    assert found.outcome is Outcome.ILLEGAL
    assert found.failure is not None
    assert found.failure.origin.operator == "Concat"


def test_boxes_of_networks_without_padding() -> None:
    boundary = Boundary(vision.plain_convnet())
    assert boundary.check_box(batch=(1, 1), H=(24, 26), W=(24, 25)) is Outcome.RUNS
    assert boundary.check_box(batch=(1, 1), H=(22, 24), W=(24, 24)) is Outcome.ILLEGAL
    assert boundary.result.check_range({"batch": (1, 64), "H": (24, 1024), "W": (24, 1024)}).outcome is Outcome.RUNS
    below = boundary.result.check_range({"batch": 1, "H": (23, 1024), "W": (24, 1024)})
    assert below.outcome is Outcome.ILLEGAL
    assert below.sizes is not None
    assert below.sizes["H"] == 23
    assert below.failure is not None
    assert below.failure.origin.name == "conv3"


def test_boxes_of_window_attention() -> None:
    boundary = Boundary(vision.padded_windows())
    assert boundary.check_box(batch=(1, 2), H=(1, 8), W=(6, 8)) is Outcome.RUNS
    assert boundary.check_box(batch=(0, 2), H=(0, 3), W=(1, 1)) is Outcome.ILLEGAL
    boundary = Boundary(vision.exact_windows())
    assert boundary.check_box(batch=(1, 1), H=(7, 7), W=(7, 7)) is Outcome.RUNS
    assert boundary.check_box(batch=(1, 1), H=(7, 8), W=(7, 7)) is Outcome.ILLEGAL
    assert boundary.check_box(batch=(1, 1), H=(1, 6), W=(7, 7)) is Outcome.ILLEGAL


def test_what_symbols_may_be() -> None:
    convnet = Boundary(vision.plain_convnet()).result
    assert str(convnet.symbol("H")) == "H >= 24"
    assert str(convnet.symbol("batch")) == "batch >= 0"
    assert str(Boundary(vision.grouped_conv()).result.symbol("C")) == "C == 8"
    assert str(Boundary(vision.pixel_shuffle()).result.symbol("C")) == "C >= 0 and C % 4 == 0"
    assert str(Boundary(vision.focus()).result.symbol("W")) == "W >= 2 and W % 2 == 0"
    assert [str(clause.relation) for clause in convnet.symbol("H").because] == ["H >= 24"]
