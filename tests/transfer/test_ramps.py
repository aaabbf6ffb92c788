"""Elements that grow along the axes, through the operators that keep them so, and as indices; executed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from onnx import TensorProto

from absint.lattices.value import Tensor
from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

I64, I32, F32 = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT

N = sizes(N=[0, 1, 2, 5])
NM = sizes(N=[0, 1, 3], M=[0, 1, 2, 4])


def positions(first: str = "0", step: str = "1", size: str = "N") -> Arg:
    """The result of Range."""
    return Arg([size], I64, ramp=[first, step])


def grid(*ramp: str, dims: Sequence[int | str], dtype: int = I64) -> Arg:
    return Arg(list(dims), dtype, ramp=ramp)


def ints(*values: int | str) -> Arg:
    return Arg(elements=list(values), dtype=I64)


def scalar(value: int | str) -> Arg:
    return Arg(elements=value, dtype=I64)


KEPT: list[tuple[Case, str]] = [
    (Case("Range", [scalar("M"), scalar("N"), scalar(2)], bindings=NM), "M + 2*[0]"),
    (Case("Range", [scalar("N"), scalar(-3), scalar(-1)], bindings=N), "N + -1*[0]"),
    (Case("Identity", [positions("N", "2")], bindings=N), "N + 2*[0]"),
    (Case("Cast", [positions()], {"to": I32}, bindings=N), "0 + 1*[0]"),
    (Case("Unsqueeze", [positions(), ints(0, 2)], bindings=N), "0 + 1*[1]"),
    (Case("Squeeze", [grid("N", "3", "2", dims=[1, "N"]), ints(0)], bindings=N), "N + 2*[0]"),
    (Case("Reshape", [positions(), ints(-1, "N", 1)], bindings=sizes(N=[1, 2, 5])), "0 + 1*[1]"),
    (Case("Transpose", [grid("1", "M", "2", dims=["N", "M"])], bindings=NM), "1 + 2*[0] + M*[1]"),
    (
        Case("Transpose", [grid("0", "M", "2", "1", dims=["N", "M", 2])], {"perm": [1, 2, 0]}, bindings=NM),
        "0 + 2*[0] + 1*[1] + M*[2]",
    ),
    (Case("Expand", [grid("0", "1", "5", dims=["N", 1]), ints("N", "M")], bindings=NM), "0 + 1*[0]"),
    (Case("Expand", [positions(), ints("M", 1, "N")], bindings=NM), "0 + 1*[2]"),
    (Case("Add", [positions(), scalar("M")], bindings=NM), "M + 1*[0]"),
    (Case("Add", [grid("0", "M", "1", dims=["N", 1]), grid("2", "1", dims=["M"])], bindings=NM), "2 + M*[0] + 1*[1]"),
    (Case("Sub", [ints("N"), positions()], bindings=N), "N + -1*[0]"),
    (Case("Mul", [positions(), ints("M")], bindings=NM), "0 + M*[0]"),
    (Case("Mul", [scalar(-2), positions("1")], bindings=N), "-2 + -2*[0]"),
    (
        Case(
            "Concat",
            [grid("0", "1", "0", dims=["N", 1]), grid("M", "2", "0", dims=["N", 1])],
            {"axis": -1},
            bindings=NM,
        ),
        "0 + 1*[0], M + 2*[0]",
    ),
]

LOST = [
    Case("Cast", [positions()], {"to": F32}, bindings=N),
    Case("Cast", [positions()], {"to": TensorProto.INT8}, bindings=sizes(N=[0, 3, 200])),
    Case("Mul", [positions(), positions()], bindings=N),
    Case("Mul", [positions(step="M*M"), scalar("M")], bindings=NM),  # may leave the type
    Case("Div", [positions(), scalar(2)], bindings=N),
    Case("Neg", [positions()], bindings=N),
    Case("Add", [positions(), positions(size="M")], bindings=NM),  # N or M may be 1
    Case("Concat", [positions(), positions("N")], {"axis": 0}, bindings=N),
    Case("Reshape", [grid("0", "1", "2", dims=["N", "M"]), ints(-1)], bindings=NM),
    Case("Slice", [positions(), ints(1), ints("M")], bindings=NM),
    Case("Gather", [positions(), ints(0, 0)], bindings=sizes(N=[0, 1, 3])),
]

INDICES = [
    Case("Gather", [Arg(["M", 2]), positions()], bindings=NM),
    Case("Gather", [Arg(["M"]), positions("M", "-1")], bindings=NM),
    Case("Gather", [Arg(["M"]), positions("-1", "-1")], bindings=NM),
    Case("Gather", [Arg([3, "M"]), grid("0", "M", "1", dims=["N", "M"])], {"axis": 1}, bindings=NM),
    Case("GatherElements", [Arg(["M"]), positions("1", "2")], bindings=NM),
    Case("GatherND", [Arg(["M", 3]), grid("0", "1", "7", dims=["N", 1])], bindings=NM),
    Case("GatherND", [Arg(["N", "M"]), grid("0", "1", "9", dims=["N", 1])], {"batch_dims": 1}, bindings=NM),
    Case(
        "ScatterElements",
        [Arg(["M"]), positions(), Arg(["N"])],
        bindings=NM,
        may_differ=True,  # indices and updates may also be longer than the data
    ),
]


def grown(case: Case) -> str:
    (value,) = apply_case(case).outputs
    assert isinstance(value, Tensor)
    return ", ".join(map(str, value.ramps))


@pytest.mark.parametrize(("case", "ramp"), KEPT, ids=lambda x: str(x))
def test_kept(case: Case, ramp: str) -> None:
    assert grown(case) == ramp
    assert run_case(case) >= 1


@pytest.mark.parametrize("case", LOST, ids=str)
def test_lost(case: Case) -> None:
    assert grown(case) == ""
    assert run_case(case) >= 1


@pytest.mark.parametrize("case", INDICES, ids=str)
def test_as_indices(case: Case) -> None:
    """A complete rule: where it fails a requirement is broken, and nothing is left to the data."""
    assert not apply_case(case).doubts
    assert 0 < run_case(case) < len(case.bindings)


def required(case: Case) -> list[str]:
    return [str(s.relation) for s in apply_case(case).statements if s.role == "required"]


def test_what_indices_that_grow_require() -> None:
    assert required(Case("Gather", [Arg([64]), positions("past", size="seq")])) == ["past + seq <= 64 or seq == 0"]
    flat = grid("0", "total", "1", dims=["batch", "seq"])
    assert required(Case("Gather", [Arg(["batch*total"]), flat])) == ["total >= seq or batch == 0 or seq == 0"]
    assert required(Case("Gather", [Arg(["M"]), positions("M - 1", "-1")])) == ["2*M >= N or N == 0"]
    both = Arg(["batch", "seq", 2], I64)
    pairs = Case(
        "Concat",
        [grid("0", "1", "0", "0", dims=["batch", "seq", 1]), grid("0", "0", "1", "0", dims=["batch", "seq", 1])],
        {"axis": 2},
    )
    (joined,) = apply_case(pairs).outputs
    assert isinstance(joined, Tensor)
    assert len(joined.ramps) == 2
    assert apply_case(Case("GatherND", [Arg(["batch", "total"]), both])).doubts
