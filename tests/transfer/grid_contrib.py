"""Grids of onnxruntime's own operators: fused, packed, quantised and blocked layers."""

from __future__ import annotations

import random

from onnx import TensorProto

from tests.transfer.grid import subset
from tests.transfer.grid_layers import dims, near
from tests.transfer.grid_quantised import parameters
from tests.transfer.harness import Arg, Case

F, U8, I8, I32, I64 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64


def like(rng: random.Random, shape: list[int], chance: float = 0.1) -> list[int]:
    """Mostly the shape; else one with another size, or of another rank."""
    if rng.random() > chance:
        return shape
    at = rng.randrange(len(shape)) if shape else 0
    return rng.choice(([*shape[:at], rng.choice((0, 1, 2, 3)), *shape[at + 1 :]], [1, *shape], shape[1:], shape[:-1]))


def own(op: str, inputs: list[Arg | None], attributes: dict[str, object] | None = None, domain: str = "") -> Case:
    while inputs[-1] is None:
        inputs.pop()
    return Case(op, inputs, attributes or {}, domain=domain or "com.microsoft", opset=1)


def maybe(rng: random.Random, arg: Arg, chance: float = 0.5) -> Arg | None:
    return arg if rng.random() < chance else None


def fused_conv(rng: random.Random) -> Case:
    x, w, out = _window(rng, rng.choice((1, 2, 3)), rng.choice((1, 2)), rng.choice((1, 2)))
    activation: dict[str, object] = rng.choice(
        ({}, {"activation": "Relu"}, {"activation": "Clip", "activation_params": [0.0] * rng.choice((1, 2))})
    )
    return own("FusedConv", [Arg(x), Arg(w), maybe(rng, Arg(w[:1])), maybe(rng, Arg(like(rng, out)))], activation)


def blocked_conv(rng: random.Random) -> Case:
    x, w, out = _window(rng, 2, rng.choice((0, 3, 8, 16, 16, 32)), rng.choice((16, 16, 32, 8, 5)))
    inputs = [Arg(x), Arg(w), maybe(rng, Arg([near(rng, w[0])])), maybe(rng, Arg(like(rng, out)), 0.3)]
    return own("Conv", inputs, domain="com.microsoft.nchwc")


def blocked_pool(rng: random.Random) -> Case:
    x, w, _ = _window(rng, 2, rng.choice((0, 16, 16, 32, 4)), 1)
    op = rng.choice(("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"))
    attributes: dict[str, object] = {} if op.startswith("G") else {"kernel_shape": w[2:]}
    return own(op, [Arg(x)], attributes, "com.microsoft.nchwc")


def _window(rng: random.Random, axes: int, channels: int, outputs: int) -> tuple[list[int], list[int], list[int]]:
    """The shapes of an image, of a window and of their convolution."""
    kernel = [rng.choice((1, 1, 2, 3)) for _ in range(axes)]
    x = [rng.choice((0, 1, 2)), channels, *(rng.choice((0, 1, 3, 4)) for _ in range(axes))]
    slid = [max(size - k + 1, 0) for size, k in zip(x[2:], kernel, strict=True)]
    return x, [outputs, near(rng, channels), *kernel], [x[0], outputs, *slid]


def masked_pool(rng: random.Random) -> Case:
    x, w, _ = _window(rng, rng.choice((1, 2, 3)), rng.choice((0, 1, 2)), 1)
    mask = like(rng, [rng.choice((0, 1, 2)), rng.choice((0, 1, 2)), *x[2:]])
    return own("MaxpoolWithMask", [Arg(x), Arg(mask, I32, high=2)], {"kernel_shape": w[2:]})


def gemm(rng: random.Random) -> Case:
    rows, inner, columns = dims(rng, 3)
    dtype, slices = rng.choice((U8, I8)), parameters(rng, [columns], 0)
    one: list[int] = rng.choice(([], [], [1], [2]))
    added = rng.choice(([], [columns], [1, columns], [rows, 1], like(rng, [rows, columns])))
    quantised = rng.random() < 0.7
    return own(
        "QGemm",
        [
            Arg([rows, inner], dtype), Arg(one), Arg([], dtype),
            Arg([near(rng, inner), columns], dtype), Arg(slices), Arg(like(rng, slices), dtype),
            maybe(rng, Arg(added, I32)),
            Arg([]) if quantised else None, Arg([], dtype) if quantised else None,
        ],
    )  # fmt: skip


def n_bits(rng: random.Random) -> Case:
    rows, columns, block, bits = rng.choice((1, 16, 33)), rng.choice((1, 3)), rng.choice((16, 16, 32, 8)), 4
    blocks = -(-rows // block)
    scales = rng.choice(([columns, blocks], [columns * blocks]))
    points = [columns, -(-blocks * bits // 8)]
    return own(
        "MatMulNBits",
        [
            Arg([*dims(rng, rng.choice((0, 1, 2))), near(rng, rows)]),
            Arg(like(rng, [columns, blocks, block * bits // 8]), U8),
            Arg(like(rng, scales)),
            maybe(rng, Arg(like(rng, points), U8)),
        ],
        {"K": rows, "N": columns, "block_size": block, "bits": bits},
    )


def gathered_blocks(rng: random.Random) -> Case:
    bits, block = rng.choice((2, 4, 8)), rng.choice((16, 16, 32, 24))
    data = [rng.choice((0, 1, 3)), rng.choice((0, 1, 8, 33))]
    blocks = -(-data[1] * 8 // bits // block)
    scales, points = [data[0], blocks], [data[0], -(-blocks * bits // 8)]
    indices = Arg(dims(rng, rng.choice((0, 1, 2))), I64, low=-5, high=5)
    inputs = [Arg(data, U8), indices, Arg(like(rng, scales)), maybe(rng, Arg(like(rng, points), U8))]
    axes = {"gather_axis": rng.choice((0, 0, 0, 1)), "quantize_axis": rng.choice((1, 1, -1, 0))}
    return own("GatherBlockQuantized", inputs, {**axes, "block_size": block, "bits": bits})


def averaged(rng: random.Random) -> Case:
    x, w, _ = _window(rng, rng.choice((1, 2)), rng.choice((0, 1, 2)), 1)
    dtype, last = rng.choice((U8, I8)), rng.choice((0, 1))
    attributes = {"kernel_shape": w[2:], "channels_last": last} | subset(rng, {"strides": [[2] * (len(x) - 2)]})
    shape = [x[0], *x[2:], x[1]] if last else x
    one: list[int] = rng.choice(([], [], [], [2]))
    return own("QLinearAveragePool", [Arg(shape, dtype), Arg(one), Arg([], dtype), Arg([]), Arg([], dtype)], attributes)


GRIDS = {
    "FusedConv": fused_conv,
    "nchwc Conv": blocked_conv,
    "nchwc pools": blocked_pool,
    "MaxpoolWithMask": masked_pool,
    "QGemm": gemm,
    "MatMulNBits": n_bits,
    "GatherBlockQuantized": gathered_blocks,
    "QLinearAveragePool": averaged,
}
