"""Pools, executed. An axis of 0 is tried with a batch of 0 in `test_empty_axes_of_an_empty_batch_take_no_premise`."""

from __future__ import annotations

from itertools import product

import pytest
from onnx import TensorProto

from absint.lattices.value import Tensor
from tests.transfer.harness import Arg, Case, apply_case, execute, run_case, sizes

LENGTHS = sizes(H=list(range(11)))
OPERATORS = ("MaxPool", "AveragePool", "LpPool")


def pool(op: str, kernel: int, expect: str | None = None, opset: int = 20, **attributes: object) -> Case:
    given = {"kernel_shape": [kernel], **attributes}
    return Case(op, [Arg([1, 2, "H"])], given, opset=opset, bindings=LENGTHS, expect=expect and [f"[1, 2, {expect}]"])


# A window that is too long for the axis by less than a stride still has one position in onnxruntime.
PRECISE = [
    pool("MaxPool", 3, "(H + 1)//2", strides=[2], pads=[1, 1]),
    pool("MaxPool", 3, "H - 2"),
    pool("MaxPool", 3, "H", pads=[1, 1]),
    pool("MaxPool", 2, "max(H//2, 1)", strides=[2]),
    pool("MaxPool", 3, None, strides=[2]),
    pool("MaxPool", 1, "(H + 1)//2", strides=[2]),
    pool("MaxPool", 3, "(H + 1)//2", strides=[2], auto_pad="SAME_UPPER"),
    pool("MaxPool", 3, "H", auto_pad="SAME_LOWER"),
    pool("MaxPool", 3, "H//2 + 1", strides=[2], pads=[1, 1], ceil_mode=1),
    pool("AveragePool", 3, "H//2", strides=[2], ceil_mode=1),
]

GRID = [
    pool(op, k, None, strides=[s], pads=[a, b], ceil_mode=ceil, **({"dilations": [d]} if d > 1 else {}))
    for op, (k, s, a, b, d, ceil) in product(
        ("MaxPool", "AveragePool"), product((2, 3, 5), (1, 2, 3, 4), (0, 1), (0, 1), (1, 2), (0, 1))
    )
]

SAME = [
    pool(op, k, None, opset, strides=[s], auto_pad=pad, ceil_mode=ceil, **({"dilations": [d]} if d > 1 else {}))
    for op, opset, k, s, d, pad, ceil in product(
        OPERATORS, (20,), (1, 2, 3), (1, 2, 3), (1, 2, 3), ("SAME_UPPER", "SAME_LOWER", "VALID"), (0, 1)
    )
    if not (op == "LpPool" and ceil)
]

OLD = [
    pool("MaxPool", 3, "(H + 1)//2", 8, strides=[2], pads=[1, 1]),
    pool("AveragePool", 3, "(H + 1)//2", 7, strides=[2], pads=[1, 1], count_include_pad=1),
    pool("AveragePool", 3, None, 11, strides=[3], pads=[1, 1], ceil_mode=1),
    pool("LpPool", 3, "(H + 1)//2", 11, strides=[2], pads=[1, 1]),
    pool("LpPool", 3, None, 18, strides=[3], pads=[1, 1], ceil_mode=1),
]

WRONG = [
    *(pool(op, 3, None, pads=[3, 0]) for op in OPERATORS),
    *(pool(op, 3, None, pads=[-1, 0]) for op in OPERATORS),
    *(pool(op, 3, None, strides=[0]) for op in OPERATORS),
    *(pool(op, 3, None, strides=[1, 1]) for op in OPERATORS),
    *(pool(op, 3, None, kernel_shape=[3, 3]) for op in OPERATORS),
    *(pool(op, 0) for op in OPERATORS),
    *(Case(op, [Arg([1, 5])], {"kernel_shape": [2]}) for op in OPERATORS),
    *(Case(op, [Arg([1, 1, 2, 2, 2, 2])], {"kernel_shape": [1, 1, 1, 1]}) for op in OPERATORS),
    *(Case(op, [Arg(["N", "C", 5])], {"kernel_shape": [2]}, bindings=sizes(N=[0, 1], C=[0, 1])) for op in OPERATORS),
]

RANKS = [
    Case(
        "MaxPool",
        [Arg(["N", "C", "H", "W"])],
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        outputs=2,
        bindings=sizes(N=[0, 1, 2], C=[1, 3], H=[1, 2, 7, 8], W=[1, 7, 8]),
        expect=["[N, C, max((H + 1)//2, 1), max((W + 1)//2, 1)]"] * 2,
    ),
    Case("MaxPool", [Arg([1, 1, 5, 5], unknown_rank=True)], {"kernel_shape": [3, 3]}, outputs=2),
    Case("MaxPool", [Arg([1, 1, "H"], TensorProto.INT8)], {"kernel_shape": [3]}, bindings=LENGTHS),
    *(
        Case(
            f"Global{op}",
            [Arg(["N", "C", "H", "W"])],
            bindings=sizes(N=[0, 1], C=[0, 3], H=[0, 1, 4], W=[1, 4]),
            expect=["[N, C, 1, 1]"],
        )
        for op in OPERATORS
    ),
    *(Case(f"Global{op}", [Arg(dims)]) for op in OPERATORS for dims in ([2, 3], [2], [1, 1, 2, 2, 2, 2])),
    Case("GlobalMaxPool", [Arg([2, 3, 4], unknown_rank=True)], expect=["?"]),
]


def unpool(
    dims: list[object], bindings: list[dict[str, int]], shape: list[object] | None = None, **attributes: object
) -> Case:
    index = Arg(dims, TensorProto.INT64, low=0, high=1)
    given = [] if shape is None else [Arg(elements=shape, dtype=TensorProto.INT64)]
    return Case("MaxUnpool", [Arg(dims), index, *given], attributes, bindings=bindings)


UNPOOL = [
    unpool(["N", 1, "H", 4], sizes(N=[0, 1], H=[0, 1, 4]), kernel_shape=[3, 3], strides=[2, 2]),
    unpool([1, 1, "H", "W"], sizes(H=[1, 4], W=[2, 3]), kernel_shape=[2, 2], strides=[2, 2], pads=[1, 0, 0, 1]),
    unpool([1, 1, "H", "W"], sizes(H=[4], W=[4], P=[5, 9]), [1, 1, "P", 9], kernel_shape=[2, 2], strides=[2, 2]),
    unpool([1, 1, "H"], sizes(H=[3]), kernel_shape=[2], strides=[2]),
]


@pytest.mark.parametrize("case", PRECISE + OLD + WRONG + RANKS + UNPOOL, ids=str)
def test_runs_agree(case: Case) -> None:
    run_case(case)


@pytest.mark.parametrize("case", GRID[::3] + SAME[::5], ids=str)
def test_windows_agree(case: Case) -> None:
    run_case(case)


PADDINGS: list[dict[str, object]] = [{"pads": list(pads)} for pads in ((0, 0), (1, 0), (1, 1), (0, 1), (2, 1))]
PADDINGS += [{"auto_pad": name} for name in ("SAME_UPPER", "SAME_LOWER", "VALID")]
EMPTY = [
    Case(
        op,
        [Arg(["N", 1, "H"])],
        {"kernel_shape": [k], "strides": [s], "dilations": [d], "ceil_mode": c, **padding},
        bindings=sizes(N=[0, 1], H=[0, 1, 2, 5]),
    )
    for op, k, s, d, c in product(("MaxPool", "AveragePool", "LpPool"), (1, 2, 3), (1, 2, 3), (1, 2), (0, 1))
    for padding in PADDINGS
    if padding not in PADDINGS[1:4] or k > 1
    if padding is not PADDINGS[4] or k > 2
]


@pytest.mark.parametrize("case", EMPTY[::3], ids=str)
def test_empty_axes_of_an_empty_batch_take_no_premise(case: Case) -> None:
    """onnxruntime pools an empty axis of an empty batch, and then gives one position or none."""
    applied = apply_case(case)
    assert not any("N" in s.relation.free_symbols for s in applied.statements if s.role == "assumed")
    for binding in case.bindings:
        outputs, _ = execute(case, binding, 0)
        required = [s.relation.evaluate(binding) for s in applied.statements if s.role == "required"]
        crops = any("crop" in f.reason and not f.unless.evaluate(binding) for f in applied.possible_failures)
        assert all(required) if outputs is not None else crops or not all(required)
        if outputs is not None:
            value = applied.outputs[0]
            assert isinstance(value, Tensor)
            assert tuple(value.shape.evaluate(binding)) == outputs[0].shape
