"""Operators that broadcast, executed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

F, D, I64, I32, U8, B = (
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.UINT8,
    TensorProto.BOOL,
)
NM = sizes(N=[0, 1, 2, 5], M=[0, 1, 2, 5])


def nonzero(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.integers(1, 7, shape)


ARITHMETIC = [(n, 7, F) for n in ("Add", "Sub", "Mul", "Div", "Pow")] + [
    (n, 14, I64) for n in ("Add", "Sub", "Mul", "Div", "Mod")
]
LOGIC = [(n, 7, B) for n in ("And", "Or", "Xor")]
COMPARISON = [(n, v, F) for n in ("Equal", "Less", "Greater") for v in (11, 19)] + [
    ("LessOrEqual", 12, D),
    ("GreaterOrEqual", 16, I64),
]
BITS = [(n, 18, U8) for n in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")]


@pytest.mark.parametrize(("name", "opset", "dtype"), ARITHMETIC + LOGIC + COMPARISON + BITS)
def test_broadcasts(name: str, opset: int, dtype: int) -> None:
    data = nonzero if dtype == I64 else None
    for a, b, expect in [
        (["N", 3], ["M", 1], "[broadcast(M, N), 3]"),
        (["N"], [], "[N]"),
        ([], [], "[]"),
        (["N", 64], [64], "[N, 64]"),
        (["M"], [4, "N", 1], "[4, N, M]"),
    ]:
        case = Case(name, [Arg(a, dtype), Arg(b, dtype, data=data)], opset=opset, bindings=NM, expect=[expect])
        assert run_case(case) > 0
    for unknown in (["N"], []):
        case = Case(
            name,
            [Arg(["M", 2], dtype), Arg(unknown, dtype, data=data, unknown_rank=True)],
            opset=opset,
            bindings=NM,
            expect=["?"],
        )
        assert run_case(case) > 0


CASES = [
    Case("Add", [Arg(["N"], unknown_rank=True), Arg([])], bindings=NM, expect=["?"]),
    Case("Add", [Arg(["M", 64]), Arg(["N", 64])], bindings=NM),
    Case("Add", [Arg(["N"]), Arg([64])], bindings=sizes(N=[0, 1, 2, 64]), expect=["[64]"]),
    Case("Add", [Arg(["N"]), Arg([0])], bindings=sizes(N=[0, 1, 2]), expect=["[0]"]),
    Case("Mod", [Arg(["N"]), Arg(["M"])], {"fmod": 1}, bindings=NM),
    Case("Div", [Arg(["N"], I64), Arg(["M"], I64, data=nonzero)], bindings=NM, expect=["[broadcast(M, N)]"]),
    Case("Div", [Arg(["N"], I64), Arg(elements="M", dtype=I64)], bindings=NM, expect=["[N]"]),
    Case(
        "Div",
        [Arg(elements=[7, "N"], dtype=I64), Arg(elements=["M", 2], dtype=I64)],
        bindings=NM,
        contents="[7//M, N//2]",
    ),
    Case("Div", [Arg(["N"], I32), Arg(["M"], I32, low=0, high=2)], bindings=NM),
    Case("Mod", [Arg(["N"], I64), Arg(elements=["M"], dtype=I64)], bindings=NM, expect=["[N]"]),
    Case("Pow", [Arg(["N"]), Arg(["M"], I64)], bindings=NM, opset=12),
    Case("Pow", [Arg(["N"], I64), Arg([])], bindings=NM, opset=15, expect=["[N]"]),
    Case("BitShift", [Arg(["N"], U8), Arg(["M"], U8, high=7)], {"direction": "LEFT"}, bindings=NM),
    Case("Equal", [Arg(["N"], TensorProto.STRING), Arg(["M"], TensorProto.STRING)], bindings=NM, opset=19),
    Case("PRelu", [Arg(["N", "M"]), Arg(["M"])], bindings=NM, opset=9, expect=["[N, M]"]),
    Case("PRelu", [Arg(["N", 3, 2]), Arg([3, 1])], bindings=NM, opset=7, expect=["[N, 3, 2]"]),
    # onnxruntime broadcasts X to the slope too, which the spec does not allow.
    Case("PRelu", [Arg(["N"]), Arg([2, "M"])], bindings=NM, opset=16, expect=["[2, broadcast(M, N)]"]),
    Case("Where", [Arg(["N"], B), Arg(["M", 1]), Arg([3, 1, 1])], bindings=NM, expect=["[3, M, N]"]),
    Case("Where", [Arg([], B), Arg([], I64), Arg(["N"], I64)], bindings=NM, opset=9, expect=["[N]"]),
    Case("Where", [Arg(["N"], B), Arg(["M"], unknown_rank=True), Arg([])], bindings=NM, expect=["?"]),
    *(
        Case(n, [Arg(["N", 1]), Arg(["M"]), Arg([])], bindings=NM, opset=v, expect=["[N, M]"])
        for n in ("Max", "Min", "Sum", "Mean")
        for v in (8, 13)
    ),
    *(
        Case(n, [Arg(["N", "M"])], bindings=NM, opset=v, expect=["[N, M]"])
        for n in ("Max", "Min", "Sum", "Mean")
        for v in (7, 13)
    ),
    *(Case(n, [Arg(["N", "M"]), Arg(["M", "N"])], bindings=NM, opset=7) for n in ("Max", "Min", "Sum", "Mean")),
    *(Case(n, [Arg(["N"], unknown_rank=True), Arg(["M"])], bindings=NM, opset=7) for n in ("Max", "Sum")),
    Case("Max", [Arg(["N"], I32), Arg(["N"], I32)], bindings=NM, opset=12, expect=["[N]"]),
    Case("SwiGLU", [Arg(["N", "M"]), Arg(["N", "M"])], bindings=NM, opset=28, expect=["[N, M]"]),
    Case("SwiGLU", [Arg(["N", 3]), Arg([2, "M"])], bindings=sizes(N=[2], M=[3]), opset=28, expect=["[2, 3]"]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0


def test_rejected() -> None:
    assert apply_case(Case("Add", [Arg([2]), Arg([3])])).rejected
    assert apply_case(Case("Mod", [Arg(["N"]), Arg(["M"])], opset=13)).rejected
    assert apply_case(Case("Max", [Arg(["N"]), Arg(["N", 1])], opset=7)).rejected
    assert apply_case(Case("Div", [Arg(elements=[7], dtype=I64), Arg(elements=[0], dtype=I64)])).rejected
    assert not run_case(Case("Mod", [Arg(["N"]), Arg(["M"])], opset=13, bindings=NM))


def binary(
    name: str, a: object, b: object, contents: str | None, dtype: int = I64, opset: int = 20, **attributes: object
) -> Case:
    bindings = sizes(N=[0, 1, 2, 5, 9], M=[1, 3])
    return Case(
        name,
        [Arg(elements=a, dtype=dtype), Arg(elements=b, dtype=dtype)],
        attributes,
        bindings=bindings,
        opset=opset,
        contents=contents,
    )


CONTENTS = [
    binary("Add", ["N", 2], ["M", -3], "[M + N, -1]"),
    binary("Mul", ["N", 1], [2], "[2*N, 2]"),
    binary("Mul", [["N"], [2]], [3, "M"], "[[3*N, M*N], [6, 2*M]]"),
    binary("Sub", "N", 5, "N - 5"),
    binary("Add", np.zeros((0,), int), ["N"], "[]"),
    binary("Div", ["N - 5", 7, -7], [2, -2, 2], None),
    binary("Div", "N - 5", 2, "truncdiv(N - 5, 2)"),
    binary("Mod", ["N - 5", -7, 7], [2, 3, -3], None),
    binary("Mod", ["N - 5", -7, 7], [2, 3, -3], None, fmod=1),
    binary("Mod", [7.5, -7.5], [2.0], "[(3)/2, (-3)/2]", F, fmod=1),
    binary("Pow", ["N", 2, -3], [2, 10, 3], "[N**2, 1024, -27]"),
    binary("Pow", [2, 3, 2], [-1, 64, 63], None),
    binary("Pow", [2.0, 4.0, 2.0, 9.0], [10.0, 0.5, 0.5, -0.5], None, F),
    binary("Max", ["N", 7], [3, "M"], "[max(N, 3), max(M, 7)]"),
    binary("Min", ["N", 7], [3], "[min(N, 3), 3]"),
    binary("Sum", [1.5, 2.0], [0.25], "[(7)/4, (9)/4]", F),
    binary("Sum", [0.1, 1e38], [0.2, 3e38], None, F),
    binary("Mul", [0.1, 3.0], [0.7, 1e-30], None, F),
    binary("Div", [1.0, 1.0, 7.0], [3.0, 0.0, 2.0], None, F),
    binary("Div", [1.0, 0.1], [3.0, 0.3], None, D),
    binary("Equal", ["N", 2], [-1, 2], "[false, true]"),
    binary("Equal", ["N"], ["M"], "[M == N]"),
    binary("Equal", [True, False], [True], "[true, false]", B),
    binary("Less", ["N", 3], [5, 3], "[N <= 4, false]"),
    binary("LessOrEqual", [0.5, 0.1], [0.5, 0.2], "[true, true]", F),
    binary("Greater", ["N", "M"], ["N", 0], None),
    binary("And", [True, False], [True], "[true, false]", B),
    binary("Xor", [True, False], [True], "[false, true]", B),
    binary("BitwiseAnd", ["N", 12], [7, 10], "[N % 8, 8]"),
    binary("BitwiseAnd", ["N", "N - 3", "N"], [-8, -2, -1], "[8*(N//8), 2*((N + 1)//2) - 4, N]"),
    binary("BitwiseAnd", ["N", 12], [0, 10], "[0, 8]"),
    binary("BitwiseOr", ["N", "N"], [7, 0], "[8*(N//8) + 7, N]"),
    binary("BitwiseOr", ["N"], [5], None),
    binary("BitwiseAnd", ["N", 12], [248, 10], "[8*(N//8), 8]", U8),
    binary("BitwiseXor", [-1, 12], [7, 10], "[-8, 6]"),
    binary("BitShift", ["N", 12], [1, 2], None, TensorProto.UINT64, direction="LEFT"),
    binary("BitShift", ["N", 12], [1, 2], "[N//2, 3]", TensorProto.UINT64, direction="RIGHT"),
    binary("Sub", ["N"], ["M"], None, TensorProto.UINT64, 14),
    binary("Add", [2**31 - 1, "N"], [1, 2], None, I32),
    binary("Add", [200, "N"], [100, 200], None, U8, 14),
    Case(
        "Where",
        [Arg(elements=[True, False, True], dtype=B), Arg(elements=["N", 2, 3], dtype=I64), Arg(elements=9, dtype=I64)],
        contents="[N, 9, 3]",
        bindings=NM,
    ),
    Case(
        "Where",
        [Arg(elements=[[True], [False]], dtype=B), Arg(elements=[1, 2], dtype=I64), Arg(elements="N", dtype=I64)],
        contents="[[1, 2], [N, N]]",
        bindings=NM,
    ),
    Case("Where", [Arg([2], B), Arg(elements=[1, 2], dtype=I64), Arg(elements=[1, 4], dtype=I64)]),
    Case("Where", [Arg(elements=[True, False], dtype=B), Arg(elements=[1, 2], dtype=I64), Arg([2], I64)]),
    Case("Where", [Arg(["N"], B), Arg(elements=1.5), Arg(elements=1.5)], bindings=NM, contents="all (3)/2"),
    Case("Max", [Arg(elements=1, dtype=I64), Arg(["N"], I64, low=-5)], bindings=NM, opset=12),
    Case("Add", [Arg(["N"], I64), Arg(elements=1, dtype=I64)], bindings=NM, contents="None"),
]


@pytest.mark.parametrize("case", CONTENTS, ids=str)
def test_contents(case: Case) -> None:
    run_case(case)
