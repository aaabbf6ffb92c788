"""Quantisation, losses and Fourier transforms, executed."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from tests.transfer.harness import Arg, Case, run_case, sizes

U8, I8, I32, I64 = TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64
F16 = TensorProto.FLOAT16
NC = sizes(N=[0, 1, 2], C=[0, 1, 3])


def quantize(
    x: list[object], scale: list[object], zero: Arg | None = None, opset: int = 13, **attributes: object
) -> Case:
    inputs = [Arg(x), Arg(scale), *([zero] if zero else [])]
    bindings = [{**b, "S": s} for b in NC for s in (0, 1, 3)]
    return Case("QuantizeLinear", inputs, attributes, opset=opset, bindings=bindings)


def dequantize(
    x: list[object], scale: Arg, zero: Arg | None = None, opset: int = 13, dtype: int = U8, **attributes: object
) -> Case:
    inputs = [Arg(x, dtype), scale, *([zero] if zero else [])]
    bindings = [{**b, "S": s} for b in NC for s in (0, 1, 3)]
    return Case("DequantizeLinear", inputs, attributes, opset=opset, bindings=bindings)


QUANTISED = [
    quantize(["N", "C"], [], opset=10),
    quantize(["N", "C"], [1], Arg([1], I8), opset=10),
    quantize(["N", "C"], [], Arg([], I8)),
    quantize(["N", "C"], ["S"], Arg(["S"], U8)),
    quantize(["N", "C"], ["S"], Arg(["S"], I8), axis=0),
    quantize(["N", "C"], ["S"], Arg(["S"], U8), axis=-1, opset=19),
    quantize(["N", "C"], ["C"], axis=1, opset=21),
    quantize(["N", "C"], [], opset=21, output_dtype=I8),
    quantize(["N", "C"], [], opset=21, output_dtype=TensorProto.INT16),
    quantize(["N", 8], ["N", 2], Arg(["N", 2], U8), opset=21, block_size=4, axis=1),
    quantize(["N"], ["S"], Arg(["S"], U8)),
    quantize(["N"], [1], Arg([1], U8)),
    quantize([], [], Arg([], U8)),
    quantize(["N", "C"], ["S"], Arg(["S"], U8), axis=5),
    quantize(["N", "C"], [], Arg([], TensorProto.FLOAT8E4M3FN), opset=19),
    dequantize(["N", "C"], Arg([]), opset=10),
    dequantize(["N", "C"], Arg([]), Arg([], U8), opset=10),
    dequantize(["N", "C"], Arg(["S"]), Arg(["S"], U8)),
    dequantize(["N", "C"], Arg(["S"]), Arg(["S"], U8), axis=0),
    dequantize(["N", "C"], Arg([], F16), Arg([], U8), opset=19),
    dequantize(["N", "C"], Arg([]), opset=21, dtype=I32),
    dequantize(["N"], Arg(["S"]), Arg(["S"], U8)),
    dequantize(["N", 8], Arg(["N", 2]), Arg(["N", 2], U8), opset=21, block_size=4, axis=1),
    dequantize(["N", "C"], Arg([]), Arg([], U8), opset=23, output_dtype=F16),
    Case("DynamicQuantizeLinear", [Arg(["N", "C"])], outputs=3, bindings=NC, expect=["[N, C]", "[]", "[]"]),
    Case("DynamicQuantizeLinear", [Arg([])], outputs=3, expect=["[]"] * 3),
]

LABELS = {"N": [0, 1, 2], "C": [1, 3], "D": [0, 4], "M": [1, 2], "W": [1, 3]}


def loss(op: str, outputs: int, weight: bool, dims: list[object], labels: list[object], **attributes: object) -> Case:
    inputs = [Arg(dims), Arg(labels, I64, low=0, high=1), *([Arg(["W"])] if weight else [])]
    return Case(op, inputs, attributes, outputs, sizes(**LABELS), 13)


LOSSES = [
    loss(op, outputs, weight, dims, labels, reduction=reduction)
    for op, outputs in (
        ("NegativeLogLikelihoodLoss", 1),
        ("SoftmaxCrossEntropyLoss", 1),
        ("SoftmaxCrossEntropyLoss", 2),
    )
    for reduction in ("none", "sum", "mean")
    for weight, dims, labels in (
        (False, ["N", "C"], ["N"]),
        (True, ["N", "C", "D"], ["N", "D"]),
        (False, ["N", "C", "D"], ["M", "D"]),
    )
]

LOSSES += [
    # Weights of rank 2 are gathered at the labels too, and the loss is broadcast against that.
    Case(
        op, [Arg([2, 2]), Arg([2], I64, low=0, high=1), Arg([1, "C"])], {"reduction": reduction}, 1, sizes(C=[1, 2]), 13
    )
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
    for reduction in ("none", "mean")
]


def dft(
    dims: list[object],
    length: object = None,
    axis: int | None = None,
    opset: int = 20,
    expect: str | None = None,
    **attributes: object,
) -> Case:
    inputs: list[Arg | None] = [Arg(dims)]
    if length is not None or axis is not None:
        inputs.append(None if length is None else Arg(elements=length, dtype=I64))
    if axis is not None:
        inputs.append(Arg(elements=axis, dtype=I64))
    return Case(
        "DFT",
        inputs,
        attributes,
        opset=opset,
        bindings=sizes(N=[0, 2], T=[0, 1, 5, 8], L=[1, 4]),
        expect=expect and [expect],
    )


FOURIER = [
    dft(["N", "T", 1], expect="[N, T, 2]"),
    dft(["N", "T", 2], expect="[N, T, 2]"),
    dft(["N", "T", 1], onesided=1, expect="[N, T//2 + 1, 2]"),
    dft(["N", "T", 2], onesided=1),
    dft(["N", "T", 2], inverse=1, expect="[N, T, 2]"),
    dft(["N", "T", 2], inverse=1, onesided=1, expect="[N, 2*T - 2, 1]"),
    dft(["N", "T", 2], 8, inverse=1, onesided=1, expect="[N, 8, 1]"),
    dft(["N", "T", 1], "T + 1", onesided=1, expect="[N, (T + 1)//2 + 1, 2]"),
    dft(["N", "T", 1], 0),
    dft(["N", "T", 1], axis=0, expect="[N, T, 2]"),
    dft(["N", "T", 1], axis=2),
    dft(["N", "T", "L"]),
    dft(["T"]),
    dft(["N", "T", 1], opset=17, axis=None, onesided=1, expect="[N, T//2 + 1, 2]"),
    Case(
        "DFT",
        [Arg(["N", "T", 3, 1])],
        {"axis": 2, "onesided": 1},
        opset=17,
        bindings=sizes(N=[2], T=[3]),
        expect=["[N, T, 2, 2]"],
    ),
    Case(
        "DFT",
        [Arg(["N", "T", 1]), None, Arg(elements=1, dtype=I64, hidden=True)],
        opset=20,
        bindings=sizes(N=[2], T=[3]),
    ),
    Case("DFT", [Arg(["N", "T", 1]), Arg(elements=4, dtype=I64, hidden=True)], opset=20, bindings=sizes(N=[2], T=[3])),
]


def stft(
    signal: list[object], step: object, window: list[object] | None = None, length: object = None, **attributes: object
) -> Case:
    inputs = [Arg(signal), Arg(elements=step, dtype=I64), None if window is None else Arg(window)]
    if length is not None:
        inputs.append(Arg(elements=length, dtype=I64))
    return Case("STFT", inputs, attributes, opset=17, bindings=sizes(N=[0, 2], T=[4, 8, 9, 16], F=[5, 8]))


STFT = [
    stft(["N", "T", 1], 4, [8]),
    stft(["N", "T", 1], 4, [8], onesided=0),
    stft(["N", "T", 1], 3, ["F"]),
    stft(["N", "T", 1], 4, None, 8),
    stft(["N", "T", 1], 4, None, "F"),
    stft(["N", "T", 1], 4, ["F"], 8),
    stft(["N", "T", 2], 4, [8], onesided=0),
    stft(["N", "T"], 4, [8]),
    stft(["N", "T", 1], 0, [8]),
    Case(
        "STFT",
        [Arg(["N", "T", 1]), Arg(elements=3, dtype=I64), Arg(["F"], unknown_rank=True)],
        opset=17,
        bindings=sizes(N=[2], T=[8], F=[5]),
        expect=["[N, ?, ?, 2]"],
    ),
    stft(["N", "T", 1], 4),
]


@pytest.mark.share(2)
@pytest.mark.parametrize("case", QUANTISED + LOSSES + FOURIER + STFT, ids=str)
def test_runs_agree(case: Case) -> None:
    run_case(case)
