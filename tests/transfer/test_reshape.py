"""Reshape and the operators that add, drop and read axes, executed."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import ge
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, symbol
from absint.lattices.text import parse
from absint.lattices.value import Tensor
from absint.transfer.application import apply
from absint.transfer.elements.logic import vanishes_with
from absint.transfer.families import shipped
from absint.transfer.op import Op
from tests.transfer.harness import Arg, Case, run_case, sizes

I64 = TensorProto.INT64
SMALL = [0, 1, 3]


def ints(*elements: object, hidden: bool = False) -> Arg:
    """A vector; with symbols in it, one that the model computed."""
    computed = any(isinstance(e, str) for e in elements)
    return Arg(elements=list(elements), dtype=I64, hidden=hidden, fed=computed)


def empty(hidden: bool = False) -> Arg:
    return Arg([0], dtype=I64) if hidden else Arg(elements=[], dtype=I64)


BS = sizes(B=SMALL, S=SMALL)

RESHAPE = [
    # The -1 is 0 where N//2 is, and that is no division by it
    Case(
        "Reshape",
        [Arg(["ite(N >= 2, M//3, 0)", "ite(N >= 2, N//2, 1)", 3]), ints(-1, "N//2", 3)],
        bindings=sizes(N=[0, 1, 2, 5], M=[0, 3, 7]),
        expect=["[ite(N >= 2, M//3, 0), ite(N >= 2, N//2, 1), 3]"],
    ),
    Case("Reshape", [Arg(["B", "S", 64]), ints(0, 0, -1, 16)], bindings=BS, expect=["[B, S, 4, 16]"]),
    Case("Reshape", [Arg(["B", "S", 64]), ints("B", "S", -1, 16)], bindings=BS, expect=["[B, S, 4, 16]"]),
    Case(
        "Reshape",
        [Arg(["B", "S", 64]), ints("B", "S", -1, 16)],
        {"allowzero": 1},
        bindings=BS,
        expect=["[B, S, 4, 16]"],
    ),
    Case(
        "Reshape",
        [Arg(["B", "H", "W", 2]), ints("B", -1, 2)],
        {"allowzero": 1},
        bindings=sizes(B=[0, 2], H=SMALL, W=SMALL),
    ),
    Case(
        "Reshape",
        [Arg(["B", "H", "W", 2]), ints("B", -1, "C")],
        {"allowzero": 1},
        bindings=sizes(B=[0, 2], H=SMALL, W=SMALL, C=[0, 1, 2, 4]),
    ),
    Case("Reshape", [Arg(["B", "S", 4, 16]), ints("B", "S", 64)], bindings=BS, expect=["[B, S, 64]"]),
    Case("Reshape", [Arg(["B", "S", 64]), ints("B*S", 64)], bindings=BS, expect=["[B*S, 64]"]),
    Case("Reshape", [Arg(["B", "S", 64]), ints("B*S", -1)], bindings=BS),
    Case("Reshape", [Arg(["B", "S", 4]), ints(-1)], bindings=BS, expect=["[4*B*S]"]),
    Case("Reshape", [Arg(["B", "S", 4]), ints(-1, 4)], bindings=BS, expect=["[B*S, 4]"]),
    Case("Reshape", [Arg(["B", "S", 4]), ints(0, -1)], bindings=BS, expect=["[B, 4*S]"]),
    Case("Reshape", [Arg(["B", 4, "S", 16]), ints(-1, "S", 16)], bindings=BS),
    Case("Reshape", [Arg(["B", 4, "S", 16]), ints("4*B", "S", 16)], bindings=BS),
    Case("Reshape", [Arg(["B", 4, "H", "W"]), ints("B", 4, "H*W")], bindings=sizes(B=[0, 2], H=SMALL, W=SMALL)),
    Case(
        "Reshape",
        [Arg(["B", 4, "H", "W"]), ints("B", 4, "H*W")],
        {"allowzero": 1},
        bindings=sizes(B=[0, 2], H=SMALL, W=SMALL),
        expect=["[B, 4, H*W]"],
    ),
    Case(
        "Reshape",
        [Arg(["B", 4, "H", "W"]), ints("B", 4, -1)],
        bindings=sizes(B=[0, 2], H=SMALL, W=SMALL),
        expect=["[B, 4, H*W]"],
    ),
    Case("Reshape", [Arg(["N"]), ints(2, -1)], bindings=sizes(N=[0, 1, 2, 5, 8])),
    Case("Reshape", [Arg(["N"]), ints("M", -1)], bindings=sizes(N=[0, 1, 6], M=[0, 1, 2, 4, 6])),
    Case("Reshape", [Arg(["N"]), ints("M", "K")], bindings=sizes(N=[0, 1, 6], M=[0, 1, 2, 6], K=[0, 1, 3, 6])),
    Case("Reshape", [Arg(["N", "L"]), ints("M", "K")], bindings=sizes(N=[0, 2], L=[0, 3], M=[0, 2, 3], K=[0, 2, 3])),
    Case(
        "Reshape",
        [Arg(["N", "L"]), ints("M", "K", -1)],
        bindings=sizes(N=[0, 2], L=[0, 3], M=[0, 1, 2, 3], K=[0, 2, 3]),
    ),
    Case(
        "Reshape",
        [Arg(["N", "L"]), ints("M", "K")],
        {"allowzero": 1},
        bindings=sizes(N=[0, 2], L=[0, 3], M=[0, 2, 3], K=[0, 2, 3]),
    ),
    Case("Reshape", [Arg(["N", 4]), ints(0, -1)], {"allowzero": 1}, bindings=sizes(N=[0, 2])),
    Case(
        "Reshape",
        [Arg(["N", "L"]), ints("M", 0, -1)],
        {"allowzero": 1},
        bindings=sizes(N=[0, 2], L=[0, 3], M=[0, 2, 3]),
    ),
    Case("Reshape", [Arg(["N"]), ints(0, 0)], bindings=sizes(N=[0, 1, 2])),
    Case("Reshape", [Arg(["N"]), ints(0, "M")], bindings=sizes(N=[0, 1, 2], M=[0, 1, 2])),
    Case("Reshape", [Arg(["N"]), empty()], bindings=sizes(N=[0, 1, 2]), expect=["[]"]),
    Case("Reshape", [Arg([]), ints(-1)], expect=["[1]"]),
    Case("Reshape", [Arg([]), ints(1, 1)], expect=["[1, 1]"]),
    Case("Reshape", [Arg(["N", 4]), ints(-1, -1)], bindings=sizes(N=[1])),
    Case("Reshape", [Arg(["N", 4]), ints(-2, 4)], bindings=sizes(N=[1, 2])),
    # A target that was computed and may be -1 or 0
    Case(
        "Reshape",
        [Arg(["B", "max(S - 1, 0)", 4]), ints("B", "S - 1", 4)],
        bindings=BS,
        expect=["[B, max(S - 1, 0), 4]"],
    ),
    Case(
        "Reshape", [Arg(["B", "S", 4]), ints("B", "M - 3", 4)], bindings=sizes(B=SMALL, S=SMALL, M=[0, 1, 2, 3, 4, 6])
    ),
    Case("Reshape", [Arg(["B", "S", 4]), ints("B", "M - 2", -1)], bindings=sizes(B=SMALL, S=SMALL, M=[0, 1, 2, 3, 5])),
    Case(
        "Reshape",
        [Arg(["B", "S"]), ints("M - 2", "K - 2")],
        bindings=sizes(B=[0, 2], S=[0, 3], M=[0, 1, 2, 3, 4, 8], K=[1, 2, 3, 5]),
    ),
    Case("Reshape", [Arg(["B", "S"]), ints("B", "S", "M - 2")], bindings=sizes(B=[0, 2], S=[0, 3], M=[0, 1, 2, 3])),
    # Unknown targets
    Case("Reshape", [Arg(["B", "S", 4]), ints(0, 0, 4, hidden=True)], bindings=BS),
    Case("Reshape", [Arg(["B", "S", 4]), ints(-1, hidden=True)], bindings=BS, expect=["[4*B*S]"]),
    Case(
        "Reshape",
        [Arg(["B", "S", 4]), Arg([3], dtype=I64, data=lambda s, r: [0, 0, 4])],
        bindings=BS,
        expect=["[?, ?, ?]"],
    ),
    Case(
        "Reshape",
        [Arg(["B", "S", 4]), Arg(["R"], dtype=I64, data=lambda s, r: [-1, *[1] * (s[0] - 1)])],
        bindings=sizes(B=[2], S=[3], R=[1, 2, 4]),
        expect=["?"],
    ),
    Case("Reshape", [Arg(["B", 4], unknown_rank=True), ints(0, 4)], bindings=sizes(B=SMALL), expect=["[?, 4]"]),
    Case("Reshape", [Arg(["B", 4], unknown_rank=True), ints("B", -1)], bindings=sizes(B=SMALL)),
    # Windows
    Case(
        "Reshape",
        [Arg(["B", "7*H", "7*W", 3]), ints("B", "H", 7, "W", 7, 3)],
        bindings=sizes(B=[0, 1], H=[0, 1, 2], W=[0, 1, 3]),
    ),
    Case(
        "Reshape",
        [Arg(["B*H*W", 7, 7, 3]), ints(-1, "H", "W", 7, 7, 3)],
        bindings=sizes(B=[0, 1], H=[0, 1, 2], W=[0, 1, 3]),
    ),
    Case(
        "Reshape",
        [Arg(elements=[["A", 2], [3, "B"]], dtype=I64), ints(4)],
        bindings=sizes(A=[1], B=[2]),
        contents="[A, 2, 3, B]",
    ),
    Case("Reshape", [Arg(["N", 4]), ints(0, 2, 2)], opset=5, bindings=sizes(N=SMALL), expect=["[N, 2, 2]"]),
    Case("Reshape", [Arg(["N", 4]), ints("K", 4)], opset=13, bindings=sizes(N=SMALL, K=SMALL)),
]

AXES = [
    Case("Shape", [Arg(["A", 2, "C"])], bindings=sizes(A=[0, 3], C=[1]), contents="[A, 2, C]"),
    Case("Shape", [Arg(["A", 2, "C"])], {"start": 1}, bindings=sizes(A=[0, 3], C=[1]), contents="[2, C]"),
    Case("Shape", [Arg(["A", 2, "C"])], {"start": -2, "end": -1}, bindings=sizes(A=[0, 3], C=[1]), contents="[2]"),
    Case("Shape", [Arg(["A", 2, "C"])], {"start": 2, "end": 1}, bindings=sizes(A=[0, 3], C=[1]), expect=["[0]"]),
    Case("Shape", [Arg(["A", 2, "C"])], {"start": -9, "end": 9}, bindings=sizes(A=[0, 3], C=[1]), contents="[A, 2, C]"),
    Case("Shape", [Arg([])], bindings=[{}], expect=["[0]"]),
    Case("Shape", [Arg(["A"], unknown_rank=True)], bindings=sizes(A=[0, 3]), expect=["[?]"]),
    Case("Shape", [Arg(["A", 1], unknown_rank=True)], {"start": 1, "end": 3}, bindings=sizes(A=[0, 3]), expect=["[?]"]),
    Case("Shape", [Arg(["A", 1], unknown_rank=True)], {"start": -3}, bindings=sizes(A=[0, 3]), expect=["[?]"]),
    Case("Shape", [Arg(["A", 1], unknown_rank=True)], {"start": -1, "end": 1}, bindings=sizes(A=[0, 3])),
    Case("Shape", [Arg(["A", 1], unknown_rank=True)], {"start": 0, "end": -1}, bindings=sizes(A=[0, 3])),
    Case("Shape", [Arg(["A"])], opset=7, bindings=sizes(A=[0, 3]), contents="[A]"),
    Case("Size", [Arg(["A", 2, "C"])], bindings=sizes(A=[0, 3], C=[1, 2]), contents="2*A*C", expect=["[]"]),
    Case("Size", [Arg([])], contents="1"),
    Case("Size", [Arg(["A"], unknown_rank=True)], bindings=sizes(A=[0, 3]), expect=["[]"]),
    Case("Flatten", [Arg(["A", "B", "C"])], bindings=sizes(A=[0, 2], B=[1, 3], C=[0, 2]), expect=["[A, B*C]"]),
    Case(
        "Flatten",
        [Arg(["A", "B", "C"])],
        {"axis": 0},
        bindings=sizes(A=[0, 2], B=[1, 3], C=[0, 2]),
        expect=["[1, A*B*C]"],
    ),
    Case(
        "Flatten",
        [Arg(["A", "B", "C"])],
        {"axis": 3},
        bindings=sizes(A=[0, 2], B=[1, 3], C=[0, 2]),
        expect=["[A*B*C, 1]"],
    ),
    Case(
        "Flatten",
        [Arg(["A", "B", "C"])],
        {"axis": -1},
        bindings=sizes(A=[0, 2], B=[1, 3], C=[0, 2]),
        expect=["[A*B, C]"],
    ),
    Case("Flatten", [Arg([])], {"axis": 0}, expect=["[1, 1]"]),
    Case("Flatten", [Arg(["A"])], {"axis": 2}, bindings=sizes(A=[2]), may_differ=True),
    Case("Flatten", [Arg(["A", 2], unknown_rank=True)], {"axis": 0}, bindings=sizes(A=[2]), expect=["[1, ?]"]),
    Case("Flatten", [Arg(["A", 2])], opset=8, bindings=sizes(A=[0, 2]), expect=["[A, 2]"]),
    Case("Flatten", [Arg(["A", 2])], {"axis": -1}, opset=9, bindings=sizes(A=[0, 2]), expect=["[A, 2]"]),
    Case("Squeeze", [Arg(["A", 1, "C"]), ints(1)], bindings=sizes(A=[0, 2], C=[1, 2]), expect=["[A, C]"]),
    Case("Squeeze", [Arg(["A", 1, "C"]), ints(-3, 1)], bindings=sizes(A=[0, 1, 2], C=[1, 2]), expect=["[C]"]),
    Case("Squeeze", [Arg(["A", 1, "C"]), ints(1, 1)], bindings=sizes(A=[0, 1, 2], C=[1, 2]), expect=["[A, C]"]),
    Case("Squeeze", [Arg(["A", 1, "C"])], bindings=sizes(A=[0, 1, 2], C=[1, 2]), expect=["?"]),
    Case("Squeeze", [Arg([3, 1, "C + 2"])], bindings=sizes(C=[1, 2]), expect=["[3, C + 2]"]),
    Case("Squeeze", [Arg([3, 1, "C + 2"]), empty()], bindings=sizes(C=[1, 2])),
    Case("Squeeze", [Arg([])], expect=["[]"]),
    Case("Squeeze", [Arg([]), ints(0)]),
    Case("Squeeze", [Arg([3, 1, "C"]), ints(3)], bindings=sizes(C=[1])),
    Case("Squeeze", [Arg(["A", "B"]), ints(0, hidden=True)], bindings=sizes(A=[1], B=[0, 1, 5]), expect=["[A*B]"]),
    Case("Squeeze", [Arg(["A", "B", 3]), ints(1, hidden=True)], bindings=sizes(A=[0, 1, 2], B=[1])),
    Case("Squeeze", [Arg(["A", 5, 3]), ints(0, hidden=True)], bindings=sizes(A=[1, 2]), expect=["[5, 3]"]),
    Case(
        "Squeeze",
        [Arg(["A", "B", 3]), Arg(["K"], dtype=I64, data=lambda s, r: list(range(s[0])))],
        bindings=sizes(A=[1], B=[1], K=[0, 1, 2]),
        expect=["?"],
    ),
    Case("Squeeze", [Arg(["A", 1], unknown_rank=True), ints(1)], bindings=sizes(A=[0, 2]), expect=["?"]),
    Case(
        "Squeeze", [Arg(["A", 1, "C"])], {"axes": [1]}, opset=11, bindings=sizes(A=[0, 2], C=[1, 2]), expect=["[A, C]"]
    ),
    Case("Squeeze", [Arg([2, 1, 3])], opset=7, expect=["[2, 3]"]),
    Case("Squeeze", [Arg(elements=[["A"]], dtype=I64), ints(0)], bindings=sizes(A=[4]), contents="[A]"),
    Case("Unsqueeze", [Arg(["A", "B"]), ints(0, -1)], bindings=sizes(A=[0, 2], B=[3]), expect=["[1, A, B, 1]"]),
    Case("Unsqueeze", [Arg(["A", "B"]), ints(-1, 0)], bindings=sizes(A=[0, 2], B=[3]), expect=["[1, A, B, 1]"]),
    Case("Unsqueeze", [Arg(["A"]), ints(0, 0)], bindings=sizes(A=[2])),
    Case("Unsqueeze", [Arg(["A"]), ints(0, -3)], bindings=sizes(A=[2])),
    Case("Unsqueeze", [Arg(["A"]), ints(3)], bindings=sizes(A=[2])),
    Case("Unsqueeze", [Arg(["A"]), empty()], bindings=sizes(A=[2]), expect=["[A]"]),
    Case("Unsqueeze", [Arg(["A"]), Arg(elements=-1, dtype=I64)], bindings=sizes(A=[2]), expect=["[A, 1]"]),
    Case("Unsqueeze", [Arg(["A"]), ints(1, 0, hidden=True)], bindings=sizes(A=[2]), expect=["[?, ?, ?]"]),
    Case("Unsqueeze", [Arg([]), ints(1, 0, hidden=True)], expect=["[1, 1]"]),
    Case("Unsqueeze", [Arg(["A"], unknown_rank=True), ints(0)], bindings=sizes(A=[2]), expect=["?"]),
    Case("Unsqueeze", [Arg(["A"])], {"axes": [1]}, opset=11, bindings=sizes(A=[0, 2]), expect=["[A, 1]"]),
    Case("Unsqueeze", [Arg(elements="A", dtype=I64), ints(0)], bindings=sizes(A=[4]), contents="[A]"),
]


@pytest.mark.parametrize("case", RESHAPE + AXES, ids=str)
def test_runs_agree(case: Case) -> None:
    run_case(case)


def reshaped(target: list[str | int], source: list[str | int], *known: str, allowzero: int = 0) -> str:
    """The shape of a reshape where these dims are known to be at least 1."""
    rule = shipped().lookup("", "Reshape", 20)
    assert rule is not None
    facts = Facts(ge(symbol(name), 1) for name in known)
    inputs = [Arg(source).value(), ints(*target).value()]
    applied = apply(rule, Op(rule, inputs, {"allowzero": allowzero}, version=20, facts=facts))
    return str(applied.outputs[0].shape)  # type: ignore[attr-defined]


def test_facts_leave_one_case() -> None:
    assert reshaped([-1, "S", 16], ["B", 4, "S", 16], "S") == "[4*B, S, 16]"
    assert reshaped(["B*S", -1], ["B", "S", 64], "S") == "[B*S, 64]"
    assert reshaped(["B", 4, "H*W"], ["B", 4, "H", "W"], "W") == "[B, 4, H*W]"
    assert reshaped(["B", 4, "H*W"], ["B", 4, "H", "W"], "B") == "[B, 4, H*W]"
    assert reshaped([-1, "H", "W", 7, 7, 3], ["B*H*W", 7, 7, 3], "H", "W") == "[B, H, W, 7, 7, 3]"
    assert reshaped(["B", -1, 2], ["B", "H", "W", 2], "B", allowzero=1) == "[B, H*W, 2]"
    assert reshaped(["B", -1, 2], ["B", "H", "W", 2], "H", "W", allowzero=1) == "[B, H*W, 2]"


def test_choices_that_make_each_other_needless_come_to_an_end() -> None:
    """Two dims that may be 0 and copy one another: every simplification of one changes the other."""
    target = ["-1", "max(N, M)", "2*N"]
    x = Tensor(DType.FLOAT, Shape([1, 1, "max(N, M)", "2*N"]))
    elements = Tensor(DType.INT64, Shape([3]), Contents.of((3,), map(Dim, target)))
    rule = shipped().lookup("", "Reshape", 20)
    assert rule is not None
    (output,) = apply(rule, Op(rule, [x, elements], {}, version=20)).outputs
    assert isinstance(output, Tensor)
    for n, m in ((1, 1), (2, 3), (5, 1), (3, 3)):
        assert list(output.shape.evaluate({"N": n, "M": m})) == [1, max(n, m), 2 * n]


@pytest.mark.parametrize(
    ("dim", "other", "expected"),
    [
        ("8*((max(N, M)*K + 31)//32)*L", "(max(N, M)*K + 31)//32", True),
        ("8*((N + 31)//32)*L", "2*((N + 31)//32)", True),
        ("8*((N + 26)//32)*L", "(N + 26)//32", True),
        ("((N + 31)//32)*L + 1", "(N + 31)//32", False),
        ("(N + 62)//32", "(N + 31)//32", False),
    ],
)
def test_a_multiple_is_zero_where_its_factor_is(dim: str, other: str, expected: bool) -> None:
    assert vanishes_with(parse(dim), parse(other)) is expected
