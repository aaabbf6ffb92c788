"""Convolutions, executed."""

from __future__ import annotations

from itertools import product

import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, run_case, sizes

U8 = TensorProto.UINT8
LENGTHS = sizes(H=list(range(10)))


def conv(kernel: int, expect: str | None = None, **attributes: object) -> Case:
    return Case(
        "Conv",
        [Arg([1, 1, "H"]), Arg([1, 1, kernel])],
        attributes,
        bindings=LENGTHS,
        expect=expect and [f"[1, 1, {expect}]"],
    )


WINDOWS = [
    conv(3, "H - 2"),
    conv(3, "(H + 1)//2 - 1", strides=[2]),
    conv(3, "H", pads=[1, 1]),
    conv(7, "(H + 1)//2", pads=[3, 3], strides=[2]),
    conv(5, "(H + 1)//3 - 1", strides=[3]),
    conv(3, None, dilations=[3], strides=[2]),
    conv(3, "H - 3", pads=[-1, 0]),
    conv(3, None, pads=[-2, -1]),
    conv(3, "H + 8", pads=[5, 5]),
    conv(16, "H//16", strides=[16]),
    conv(3, "H", auto_pad="SAME_UPPER"),
    conv(3, "(H + 1)//2", auto_pad="SAME_LOWER", strides=[2]),
    conv(1, "(H + 3)//4", auto_pad="SAME_UPPER", strides=[4]),
    conv(3, "(H + 1)//2 - 1", auto_pad="VALID", strides=[2]),
    conv(3, "H", auto_pad="", pads=[1, 1]),
    conv(3, None, auto_pad="SAME_UPPER", dilations=[2]),
    conv(3, None, auto_pad="VALID", pads=[1, 1]),
    conv(3, None, auto_pad="NOSUCH"),
    conv(3, None, strides=[0]),
    conv(3, None, strides=[-1]),
    conv(3, None, dilations=[0]),
    conv(3, None, pads=[1]),
    conv(3, None, kernel_shape=[2]),
    conv(3, None, kernel_shape=[3, 3]),
    conv(3, None, group=0),
]

GRID = [
    conv(k, None, strides=[s], pads=[a, b], dilations=[d])
    for k, s, (a, b), d in product((1, 2, 4), (1, 2, 3), ((0, 0), (1, 0), (0, 2)), (1, 2))
]

CHANNELS = [
    Case(
        "Conv",
        [Arg(["N", "C", "H", "W"]), Arg(["M", "D", "K", 3]), Arg(["B"])],
        {"pads": [1, 1, 1, 1]},
        bindings=sizes(N=[0, 2], C=[1, 2], H=[5], W=[1, 4], M=[0, 3], D=[1, 2], K=[1, 3], B=[0, 1, 3]),
        expect=["[N, M, H - K + 3, W]"],
    ),
    Case("Conv", [Arg(["N", "C", 5]), Arg(["M", 2, 3])], {"group": 2}, bindings=sizes(N=[1], C=[2, 4, 5], M=[2, 3, 4])),
    Case("Conv", [Arg(["N", 4, 5]), Arg(["M", 2, 3]), Arg([1, 1])], {"group": 2}, bindings=sizes(N=[1], M=[2])),
    Case("Conv", [Arg([2, 4]), Arg([4, 4])]),
    Case("Conv", [Arg([2, 4, 5]), Arg([4, 4])]),
    Case("Conv", [Arg([1, 1, 2, 3, 4]), Arg(["M", 1, 1, 2, 3])], bindings=sizes(M=[2]), expect=["[1, M, 2, 2, 2]"]),
    Case("Conv", [Arg([1, 1, 5, 5], unknown_rank=True), Arg(["M", 1, 3, 3])], bindings=sizes(M=[2])),
    Case(
        "Conv",
        [Arg([1, 1, "H", 5]), Arg([2, 1, 3, 3], unknown_rank=True)],
        {"kernel_shape": [3, 3]},
        bindings=sizes(H=[3, 5]),
    ),
    Case("Conv", [Arg([1, 1, 5, 5], unknown_rank=True), Arg([2, 1, 3, 3], unknown_rank=True)], expect=["?"]),
    Case("Conv", [Arg(["N", 3, "H"]), Arg([8, 3, 3])], {"strides": [2]}, opset=7, bindings=sizes(N=[1], H=[2, 3, 8])),
    Case(
        "ConvInteger",
        [Arg(["N", 1, "H", 4], U8), Arg(["M", 1, 3, 2], U8)],
        bindings=sizes(N=[0, 1], H=[1, 3, 5], M=[2]),
        expect=["[N, M, H - 2, 3]"],
    ),
    Case(
        "QLinearConv",
        [
            *(Arg(["N", 1, "H", 4], U8), Arg([]), Arg([], U8)),
            *(Arg([2, 1, 3, 2], U8), Arg([]), Arg([], U8)),
            *(Arg([]), Arg([], U8), Arg([2], TensorProto.INT32)),
        ],
        {"strides": [2, 1]},
        bindings=sizes(N=[0, 1], H=[1, 2, 3, 4, 5, 6]),
        expect=["[N, 2, (H + 1)//2 - 1, 3]"],
    ),
    Case(
        "DeformConv",
        [Arg(["N", 1, "H", "W"]), Arg([1, 1, 2, 2]), Arg(["N", 8, "P", "Q"])],
        bindings=sizes(N=[1, 2], H=[3], W=[4], P=[2, 3], Q=[3]),
        expect=["[N, 1, H - 1, W - 1]"],
    ),
    Case(
        "DeformConv",
        [Arg(["N", 2, "H", 4]), Arg([4, 1, 2, 2]), Arg(["N", 16, "P", 3]), Arg([4]), Arg(["N", "K", "P", 3])],
        {"group": 2, "offset_group": 2},
        bindings=sizes(N=[0, 1], H=[2, 3], P=[1, 2], K=[4, 8]),
        expect=["[N, 4, H - 1, 3]"],
    ),
]


SAME = [
    # A kernel of size 0: onnxruntime convolves an empty batch by it, and hangs otherwise.
    Case(
        operator,
        [Arg([0, 2, "H", 4], dtype), Arg([2, 2, "K", 1], dtype)],
        {"auto_pad": pad, "strides": [stride, 2]},
        bindings=sizes(H=list(range(6)), K=[0, 1, 2, 3]),
        expect=["[0, 2, H + max(1 - K, 0), 2]"] if stride == 1 else None,
    )
    for operator, dtype in (("Conv", TensorProto.FLOAT), ("ConvInteger", U8))
    for pad, stride in product(("SAME_UPPER", "SAME_LOWER"), (1, 2, 3))
]


def transposed(kernel: int, expect: str | None = None, **attributes: object) -> Case:
    return Case(
        "ConvTranspose",
        [Arg([1, 1, "H"]), Arg([1, 1, kernel])],
        attributes,
        bindings=sizes(H=[0, 1, 2, 3, 5, 8]),
        expect=expect and [f"[1, 1, {expect}]"],
    )


TRANSPOSED = [
    transposed(3, "H + 2"),
    transposed(3, "2*H + 1", strides=[2]),
    transposed(2, "2*H", strides=[2]),
    transposed(2, "4*H - 2", strides=[4]),
    transposed(3, "H - 2", pads=[2, 2]),
    transposed(3, "H + 4", pads=[-1, -1]),
    transposed(3, "2*H", strides=[2], pads=[1, 1], output_padding=[1]),
    transposed(3, None, strides=[2], output_padding=[2]),
    transposed(3, None, output_padding=[-1], strides=[2]),
    transposed(3, "2*H + 6", strides=[2], dilations=[3], output_padding=[1]),
    transposed(3, "2*H", strides=[2], auto_pad="SAME_UPPER"),
    # onnxruntime never pads with SAME to reach stride*H.
    transposed(1, "4*H - 3", strides=[4], auto_pad="SAME_UPPER"),
    transposed(1, "4*H - 1", strides=[4], auto_pad="SAME_LOWER", output_padding=[2]),
    transposed(3, "2*H + 1", strides=[2], auto_pad="VALID"),
    transposed(3, "6", strides=[2], output_shape=[6]),
    transposed(3, "6", strides=[2], output_shape=[1, 1, 6]),
    transposed(3, None, output_shape=[0]),
    transposed(3, "4", pads=[1, 1], output_shape=[4]),
    transposed(3, None, strides=[0]),
    transposed(3, None, group=0),
    Case(
        "ConvTranspose",
        [Arg(["N", "C", "H"]), Arg(["D", "M", "K"]), Arg(["B"])],
        {"group": 2},
        bindings=sizes(N=[0, 1], C=[2, 3, 4], H=[1, 3], D=[2, 4], M=[1, 3], K=[1, 3], B=[2, 6]),
        expect=["[N, 2*M, H + K - 1]"],
    ),
    Case("ConvTranspose", [Arg([1, 2]), Arg([2, 3])]),
    Case("ConvTranspose", [Arg([1, 2, 3, 3], unknown_rank=True), Arg([2, "M", 3, 3])], bindings=sizes(M=[0, 2])),
]


def columns(
    dims: list[object], image: list[object], block: list[int], bindings: list[dict[str, int]], **attributes: object
) -> Case:
    i64 = TensorProto.INT64
    return Case(
        "Col2Im",
        [Arg(dims), Arg(elements=image, dtype=i64), Arg(elements=block, dtype=i64)],
        attributes,
        bindings=bindings,
    )


COL2IM = [
    columns(["N", "R", "L"], [5, 5], [1, 5], sizes(N=[0, 1], R=[0, 5, 7, 10], L=[0, 5, 6])),
    columns([1, 4, "L"], [5, 5], [2, 2], sizes(L=[4, 5]), strides=[3, 3]),
    columns([1, 2, 2], [3], [0], [{}]),
    columns([1, 4, "L"], [3, 3], [2, -1], sizes(L=[0, 4])),
    columns([1, "R", "L"], ["P"], [3], sizes(R=[3, 6], L=[3, 4], P=[1, 2, 5, 6])),
    columns([1, 4, "L"], [3, 3], [2, 2], sizes(L=[16, 9]), pads=[1, 1, 1, 1], dilations=[1, 1]),
    Case(
        "Col2Im",
        [
            Arg([1, 5, 5]),
            Arg(elements=[5, 5], dtype=TensorProto.INT64, hidden=True),
            Arg(elements=[1, 5], dtype=TensorProto.INT64),
        ],
    ),
]


@pytest.mark.parametrize("case", WINDOWS + GRID + CHANNELS + SAME + TRANSPOSED + COL2IM, ids=str)
def test_runs_agree(case: Case) -> None:
    run_case(case)
