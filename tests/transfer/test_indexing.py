"""Gather and Scatter, executed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

I64, I32, F32, BOOL = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT, TensorProto.BOOL


def index(dims: list[object], top: int = 3) -> Arg:
    """Unknown indices that lie inside an axis of `top` or more."""
    return Arg(dims, I64, high=top)  # type: ignore[arg-type]


GATHER = [
    Case(
        "GatherND",
        [Arg(["N", "M"]), Arg(elements=[[2], [-3]], dtype=I64)],
        bindings=sizes(N=[0, 2, 3], M=[0, 2]),
        expect=["[2, M]"],
    ),
    Case(
        "Gather",
        [Arg(["N", "M"]), index(["I", "J"])],
        bindings=sizes(N=[0, 1, 3], M=[0, 2], I=[0, 2], J=[1]),
        expect=["[I, J, M]"],
    ),
    Case("Gather", [Arg(["N", "M"]), index([])], {"axis": -1}, bindings=sizes(N=[0, 2], M=[3, 5]), expect=["[N]"]),
    Case(
        "Gather",
        [Arg(["N", "M"]), Arg([], I64, elements=1)],
        {"axis": 1},
        bindings=sizes(N=[0, 2], M=[0, 1, 2]),
        expect=["[N]"],
    ),
    Case("Gather", [Arg(["N"]), Arg(elements=[-2, 1], dtype=I64)], bindings=sizes(N=[0, 1, 2, 3]), expect=["[2]"]),
    Case("Gather", [Arg(["N", 0]), Arg(elements=[7], dtype=I32)], bindings=sizes(N=[0, 7, 8])),
    Case(
        "Gather", [Arg(["N"]), Arg(elements=np.zeros((0, 2)), dtype=I64)], bindings=sizes(N=[0, 3]), expect=["[0, 2]"]
    ),
    Case(
        "Gather",
        [Arg(elements=["N", 5, "M"], dtype=I64), Arg(elements=-1, dtype=I64)],
        bindings=sizes(N=[2], M=[0, 3]),
        contents="M",
    ),
    Case(
        "Gather",
        [Arg(elements=["N", 5, "M"], dtype=I64), Arg(elements=[[2, 0], [-2, 1]], dtype=I64)],
        bindings=sizes(N=[2], M=[3]),
        contents="[[M, N], [5, 5]]",
    ),
    Case(
        "Gather",
        [Arg(elements=[["N", 2], [3, "M"]], dtype=I64), Arg(elements=1, dtype=I64)],
        {"axis": 1},
        bindings=sizes(N=[2], M=[9]),
        contents="[2, M]",
    ),
    Case(
        "Gather",
        [Arg(elements=["N", 5], dtype=I64), Arg(elements=["i"], dtype=I64)],
        bindings=sizes(N=[2, 7], i=[0, 1, 2, 3]),
    ),
    Case(
        "Gather",
        [Arg(elements=["N", "N + 2", "N + 4"], dtype=I64), Arg(elements=[1], dtype=I64, hidden=True)],
        bindings=sizes(N=[2, 7]),
    ),
    Case(
        "Gather", [Arg(elements=[True, False], dtype=BOOL), Arg(elements=[1, 0], dtype=I64)], contents="[false, true]"
    ),
    Case("Gather", [Arg(elements=[0.5, 1.5], dtype=F32), Arg(elements=0, dtype=I64)], contents="(1)/2"),
    Case(
        "Gather",
        [Arg(["N", "M"], unknown_rank=True), Arg(elements=[0], dtype=I64)],
        bindings=sizes(N=[1, 2], M=[2]),
        expect=["?"],
    ),
    Case(
        "Gather",
        [Arg(["N", "M"]), Arg(elements=[0], dtype=I64, hidden=True, unknown_rank=True)],
        bindings=sizes(N=[1, 2], M=[2]),
        expect=["?"],
    ),
    Case(
        "Gather",
        [Arg(["N"]), Arg(elements=[-1], dtype=I64)],
        {"axis": -1},
        opset=7,
        bindings=sizes(N=[0, 1, 3]),
        expect=["[1]"],
    ),
    Case(
        "Gather",
        [Arg(["N", "M"]), Arg(elements=["i", "N - 1"], dtype=I64)],
        bindings=sizes(N=[1, 2], M=[0, 1], i=[0, 1]),
        expect=["[2, M]"],
    ),
    Case(
        "GatherElements",
        [Arg(["N", "M"]), index(["I", "J"], 1)],
        bindings=sizes(N=[0, 1, 3], M=[0, 2], I=[0, 2, 5], J=[0, 1, 3]),
        expect=["[I, J]"],
    ),
    Case(
        "GatherElements",
        [Arg(["N", "M"]), index(["I", "J"], 1)],
        {"axis": -1},
        bindings=sizes(N=[0, 3], M=[0, 2], I=[0, 2], J=[0, 4]),
        expect=["[I, J]"],
    ),
    Case(
        "GatherElements",
        [Arg(["N", "M"], unknown_rank=True), index(["I", "J"], 1)],
        bindings=sizes(N=[2], M=[2], I=[1], J=[1]),
        expect=["[I, J]"],
    ),
    Case(
        "GatherElements",
        [Arg(elements=[["N", 2], [3, "M"]], dtype=I64), Arg(elements=[[1, 0], [0, -1], [0, 0]], dtype=I64)],
        bindings=sizes(N=[2], M=[9]),
        contents="[[3, 2], [N, M], [N, 2]]",
    ),
    Case(
        "GatherND",
        [Arg(["N", "M", "K"]), Arg(["I", 2], I64, high=2)],
        bindings=sizes(N=[0, 2], M=[2], K=[0, 3], I=[0, 1, 4]),
        expect=["[I, K]"],
    ),
    Case("GatherND", [Arg(["N", "M"]), Arg([2], I64, high=1)], bindings=sizes(N=[0, 1], M=[0, 2]), expect=["[]"]),
    Case(
        "GatherND",
        [Arg(["N", "M", "K"]), Arg(["B", "I", 1], I64, high=2)],
        {"batch_dims": 1},
        bindings=sizes(N=[0, 2], M=[2], K=[0, 3], B=[0, 2, 4, 3], I=[0, 1]),
        expect=["[B, I, K]"],
    ),
    Case(
        "GatherND",
        [Arg(["N", "M", "K"]), Arg(["N", 2], I64, high=2)],
        {"batch_dims": 1},
        bindings=sizes(N=[0, 2], M=[2], K=[0, 3]),
        expect=["[N]"],
    ),
    Case(
        "GatherND",
        [Arg(["N", "M"]), Arg(["I", "k"], I64, high=1)],
        bindings=sizes(N=[1], M=[2], I=[1], k=[0, 1, 2, 3]),
        expect=["?"],
    ),
    Case(
        "GatherND",
        [Arg(elements=[["N", 2], [3, "M"]], dtype=I64), Arg(elements=[[0, 0], [1, -1]], dtype=I64)],
        bindings=sizes(N=[2], M=[9]),
        contents="[N, M]",
    ),
    Case(
        "GatherND",
        [Arg(elements=[["N", 2], [3, "M"]], dtype=I64), Arg(elements=[[1]], dtype=I64)],
        bindings=sizes(N=[2], M=[9]),
        contents="[[3, M]]",
    ),
    Case(
        "GatherND",
        [Arg(["N", "M"]), Arg(elements=[[1, 2]], dtype=I64)],
        bindings=sizes(N=[0, 1, 2], M=[0, 2, 3]),
        expect=["[1]"],
    ),
    Case(
        "GatherND",
        [Arg(["N", "M"]), Arg(elements=[[1]], dtype=I64)],
        bindings=sizes(N=[0, 1, 2], M=[0, 2, 3]),
        expect=["[1, M]"],
    ),
    Case(
        "GatherND",
        [Arg(["N", "M"], unknown_rank=True), Arg(elements=[[0]], dtype=I64)],
        bindings=sizes(N=[1], M=[2]),
        expect=["?"],
    ),
]

SCATTER = [
    Case(
        "ScatterElements",
        [Arg(["N", "M"]), Arg(["I", "J"], I64, high=1), Arg(["I", "J"])],
        bindings=sizes(N=[0, 1, 3], M=[0, 2], I=[0, 2], J=[0, 1, 3]),
        expect=["[N, M]"],
    ),
    Case(
        "ScatterElements",
        [Arg(["N"]), Arg(["I"], I64, high=1), Arg(["U"])],
        {"axis": -1},
        bindings=sizes(N=[1, 3], I=[0, 2], U=[0, 2]),
        expect=["[N]"],
    ),
    Case(
        "ScatterElements",
        [Arg(["N"]), Arg(elements=[0, -2], dtype=I64), Arg([2])],
        bindings=sizes(N=[0, 1, 2, 3]),
        expect=["[N]"],
    ),
    Case(
        "ScatterElements",
        [Arg(elements=[1, "N", 3], dtype=I64), Arg(elements=[0, -1], dtype=I64), Arg(elements=["M", 7], dtype=I64)],
        bindings=sizes(N=[2], M=[5]),
        contents="[M, N, 7]",
    ),
    Case(
        "ScatterElements",
        [
            Arg(elements=[1, "N", 3], dtype=I64),
            Arg(elements=[0, 0, 1], dtype=I64),
            Arg(elements=["M", 7, 2], dtype=I64),
        ],
        {"reduction": "add"},
        bindings=sizes(N=[2], M=[5]),
        contents="[M + 8, N + 2, 3]",
    ),
    Case(
        "ScatterElements",
        [
            Arg(elements=[1, "N", 3], dtype=I64),
            Arg(elements=[0, 0, 1], dtype=I64),
            Arg(elements=["M", 7, 2], dtype=I64),
        ],
        {"reduction": "max"},
        bindings=sizes(N=[1, 2, 3], M=[5, 9]),
        contents="[max(M, 7), max(N, 2), 3]",
    ),
    Case(
        "ScatterElements",
        [Arg(elements=[1, "N"], dtype=I64), Arg(elements=[0, 0], dtype=I64), Arg(elements=["M", 7], dtype=I64)],
        bindings=sizes(N=[2], M=[5, 9]),
    ),
    Case(
        "ScatterElements",
        [
            Arg(elements=[[1, 2], [3, 4]], dtype=I64),
            Arg(elements=[[1, 0]], dtype=I64),
            Arg(elements=[["N", 9]], dtype=I64),
        ],
        {"axis": 1},
        bindings=sizes(N=[2]),
        contents="[[9, N], [3, 4]]",
    ),
    Case(
        "ScatterElements",
        [Arg(["N", "M"], unknown_rank=True), Arg(["I", "J"], I64, high=1), Arg(["I", "J"])],
        bindings=sizes(N=[1, 2], M=[2], I=[1], J=[1]),
    ),
    Case(
        "Scatter",
        [Arg(["N"]), Arg(elements=[0, -1], dtype=I64), Arg([2])],
        opset=9,
        bindings=sizes(N=[0, 1, 3]),
        expect=["[N]"],
    ),
    Case(
        "ScatterND",
        [Arg(["N", "M"]), Arg(["I", 1], I64, high=1), Arg(["I", "U"])],
        bindings=sizes(N=[0, 1, 2], M=[0, 3], I=[0, 1, 2], U=[0, 3]),
        expect=["[N, M]"],
    ),
    Case(
        "ScatterND",
        [Arg(["N", "M"]), Arg([2], I64, high=1), Arg([])],
        bindings=sizes(N=[0, 1], M=[0, 3]),
        expect=["[N, M]"],
    ),
    Case(
        "ScatterND",
        [Arg(["N", "M"]), Arg(elements=[[1]], dtype=I64), Arg([1, "M"])],
        bindings=sizes(N=[0, 1, 2], M=[0, 3]),
        expect=["[N, M]"],
    ),
    Case(
        "ScatterND",
        [Arg(["N", "M"]), Arg(["I", "k"], I64, high=1), Arg(["I"])],
        bindings=sizes(N=[1], M=[1, 2], I=[1], k=[0, 1, 2, 3]),
        expect=["[N, M]"],
    ),
    Case(
        "ScatterND",
        [Arg(elements=[1, "N", 3], dtype=I64), Arg(elements=[[0], [-1]], dtype=I64), Arg(elements=["M", 7], dtype=I64)],
        bindings=sizes(N=[2], M=[5]),
        contents="[M, N, 7]",
    ),
    Case(
        "ScatterND",
        [
            Arg(elements=[[1, 2], [3, 4]], dtype=I64),
            Arg(elements=[[1]], dtype=I64),
            Arg(elements=[["N", 7]], dtype=I64),
        ],
        {"reduction": "mul"},
        bindings=sizes(N=[2]),
        contents="[[1, 2], [3*N, 28]]",
    ),
    Case(
        "ScatterND",
        [Arg(["N", "M"], unknown_rank=True), Arg(["I", 1], I64, high=1), Arg(["I", "M"])],
        bindings=sizes(N=[1], M=[2], I=[1]),
        expect=["?"],
    ),
]


@pytest.mark.parametrize("case", GATHER + SCATTER, ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


REJECTED = [
    Case("Gather", [Arg([]), Arg(elements=[0], dtype=I64)]),
    Case("Gather", [Arg(["N"]), Arg(elements=[0], dtype=I64)], {"axis": 1}, bindings=sizes(N=[1])),
    Case("Gather", [Arg([2]), Arg(elements=[2], dtype=I64)]),
    Case("GatherElements", [Arg(["N"]), index([], 1)], bindings=sizes(N=[1])),
    Case("GatherND", [Arg(["N"]), Arg([], I64)], bindings=sizes(N=[1])),
    Case("GatherND", [Arg(["N"]), Arg(["I", 2], I64, high=1)], bindings=sizes(N=[1], I=[1])),
    Case("GatherND", [Arg(["N"]), Arg(["I", 1], I64, high=1)], {"batch_dims": 1}, bindings=sizes(N=[1], I=[1])),
    Case("ScatterElements", [Arg(["N"]), Arg(elements=[5], dtype=I64), Arg([2])], bindings=sizes(N=[9])),
    Case("ScatterND", [Arg([]), Arg([1], I64, high=1), Arg([])]),
]


@pytest.mark.parametrize("case", REJECTED, ids=str)
def test_rejected_nodes_fail(case: Case) -> None:
    assert apply_case(case).rejected is not None
    assert run_case(case) == 0


def test_an_unknown_index_leaves_what_the_candidates_share() -> None:
    case = Case(
        "Gather",
        [Arg(elements=["N", "N"], dtype=I64), Arg(elements=0, dtype=I64, hidden=True)],
        contents="N",
        bindings=sizes(N=[3]),
    )
    assert run_case(case) == 1


def test_a_symbolic_index_is_a_choice() -> None:
    case = Case(
        "Gather", [Arg(elements=["N", 5], dtype=I64), Arg(elements="i", dtype=I64)], bindings=sizes(N=[2, 7], i=[0, 1])
    )
    (value,) = apply_case(case).outputs
    assert "i" in str(value.contents), value  # type: ignore[attr-defined]
    assert run_case(case) == 4
