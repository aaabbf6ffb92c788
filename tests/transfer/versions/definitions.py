"""Forms of operators that no runtime here supports, in numpy, written from the text of the specification.

Each function takes the inputs in order (None for one left out) and the attributes by name, and raises ValueError where
the text does not allow the sizes. onnxruntime has no kernel for these versions, which a test checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
from onnx import TensorProto, helper

Array = np.ndarray
Definition = Callable[..., "Array | tuple[Array, ...]"]


def check(legal: object, what: str) -> None:
    if not legal:
        raise ValueError(what)


# Elementwise operators of two inputs


def spread(a: Array, b: Array, broadcast: int, axis: int | None) -> Array:
    """B in a shape that numpy broadcasts to A: without `broadcast` that of A, else a part of it from `axis` on."""
    if not broadcast:
        check(a.shape == b.shape, "both inputs have one shape")
        return b
    if b.size == 1 and b.ndim <= a.ndim:
        return b.reshape(())
    start = a.ndim - b.ndim if axis is None else axis
    check(start >= 0 and a.shape[start : start + b.ndim] == b.shape, "B is a part of the shape of A")
    return b.reshape(b.shape + (1,) * (a.ndim - start - b.ndim))


def binary(combine: Callable[[Array, Array], Array]) -> Definition:
    def definition(a: Array, b: Array, *, broadcast: int = 0, axis: int | None = None, **_: object) -> Array:
        return combine(a, spread(a, b, broadcast, axis))

    return definition


def divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return a / b
    check(b.all(), "the divisor is not 0")
    return np.trunc(a / b).astype(a.dtype)


def variadic(combine: Callable[[Array, Array], Array]) -> Definition:
    def definition(*arrays: Array, **_: object) -> Array:
        check(len({a.shape for a in arrays}) == 1, "all inputs have one shape")
        return reduce(combine, arrays)

    return definition


def mean(*arrays: Array, **_: object) -> Array:
    total = variadic(np.add)(*arrays)
    return (total / len(arrays)).astype(arrays[0].dtype)


def prelu(x: Array, slope: Array, **_: object) -> Array:
    """One slope, or one for each channel."""
    if slope.size != 1:
        check(x.ndim >= 2 and slope.shape == x.shape[1:2], "one slope for each channel")
        slope = slope.reshape(slope.shape + (1,) * (x.ndim - 2))
    return np.where(x < 0, x * slope.reshape(slope.shape if slope.size != 1 else ()), x)


# Elementwise operators of one input


def unary(function: Callable[..., Array], **defaults: float) -> Definition:
    def definition(x: Array, *, consumed_inputs: Sequence[int] = (), **given: float) -> Array:
        return np.asarray(function(x, **{**defaults, **given})).astype(x.dtype)

    return definition


def clip(x: Array, min: float = -np.inf, max: float = np.inf) -> Array:
    return np.minimum(np.maximum(x, min), max)


def dropout(x: Array, *, is_test: int = 0, **_: object) -> tuple[Array, Array]:
    keep = np.full(x.shape, is_test, x.dtype)
    return (x if is_test else np.zeros_like(x)), keep


def cast(x: Array, *, to: str) -> Array:
    return x.astype(helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(to)))


# Shapes


def tile(x: Array, tiles: Array, axis: Array) -> Array:
    return np.concatenate([x] * int(tiles.item()), int(axis.item())) if tiles.item() else x.take([], int(axis.item()))


def split(
    x: Array, sizes: Array | None = None, *, axis: int | None = None, split: Sequence[int] | None = None
) -> tuple[Array, ...]:
    """Two parts, if the sizes are not given."""
    check(axis is not None, "the axis has no default")
    assert axis is not None
    lengths = split if sizes is None else sizes.astype(int).tolist()
    if lengths is None:
        check(x.shape[axis] % 2 == 0, "equal parts")
        lengths = [x.shape[axis] // 2] * 2
    check(sum(lengths) == x.shape[axis], "the parts add up")
    return tuple(np.split(x, np.cumsum(lengths)[:-1], axis))


def concat(*arrays: Array, axis: int = 1) -> Array:
    return np.concatenate(arrays, axis)


def pad(x: Array, *, paddings: Sequence[int], mode: str = "constant", value: float = 0.0) -> Array:
    check(len(paddings) == 2 * x.ndim, "two pads for each axis")
    pairs = list(zip(paddings[: x.ndim], paddings[x.ndim :], strict=True))
    return np.pad(x, pairs, mode, **({"constant_values": value} if mode == "constant" else {}))  # type: ignore[call-overload]


def upsample(x: Array, *, height_scale: float, width_scale: float, mode: str = "nearest") -> Array:
    check(x.ndim == 4 and mode == "nearest", "four axes")
    scales = zip((height_scale, width_scale), x.shape[2:], strict=True)
    height, width = (int(np.float32(scale) * np.float32(size)) for scale, size in scales)
    rows, columns = (np.arange(height) / height_scale).astype(int), (np.arange(width) / width_scale).astype(int)
    return x[:, :, rows][..., columns]


# Products, normalisations, pools, layers


def gemm(a: Array, b: Array, c: Array, *, broadcast: int = 0, **turned: int) -> Array:
    """With alpha and beta 1."""
    product = (a.T if turned.get("transA") else a) @ (b.T if turned.get("transB") else b)
    if not broadcast:
        check(c.shape == product.shape, "C has the shape of the product")
    return product + np.broadcast_to(c, product.shape)


def batch_normalization(
    x: Array, scale: Array, bias: Array, mean: Array, var: Array, *, spatial: int = 1, **_: object
) -> tuple[Array, ...]:
    """The output of test mode, and statistics as training gives them."""
    shape = x.shape[1:2] if spatial else x.shape[1:]
    check(all(p.shape == shape for p in (scale, bias, mean, var)), "one parameter for each channel")
    a, b, m, v = (p.reshape(p.shape + (1,) * (x.ndim - 1 - p.ndim)) for p in (scale, bias, mean, var))
    return ((x - m) / np.sqrt(v + 1e-5) * a + b).astype(x.dtype), mean, var, mean, var


def instance_normalization(x: Array, scale: Array, bias: Array, **_: object) -> Array:
    check(x.ndim >= 3 and scale.shape == bias.shape == x.shape[1:2], "one scale for each channel")
    if not x.size:
        return x
    axes = tuple(range(2, x.ndim))
    scale, bias = (p.reshape(-1, *(1,) * (x.ndim - 2)) for p in (scale, bias))
    centred = x - x.mean(axes, keepdims=True)
    return (centred / np.sqrt(x.var(axes, keepdims=True) + 1e-5) * scale + bias).astype(x.dtype)


def global_lp_pool(x: Array, *, p: float = 2.0) -> Array:
    check(x.ndim >= 3 and (not len(x) or all(x.shape[2:])), "no spatial axis is empty")
    return (np.abs(x) ** p).sum(tuple(range(2, x.ndim)), keepdims=True) ** (1 / p)


def lp_pool(
    x: Array, *, kernel_shape: Sequence[int], p: float = 2.0, strides: Sequence[int] = (), pads: Sequence[int] = ()
) -> Array:
    check(all(kernel_shape), "no window is empty")
    around = zip(pads[: len(pads) // 2], pads[len(pads) // 2 :], strict=True) if pads else ((0, 0),) * (x.ndim - 2)
    x = np.pad(x, [(0, 0), (0, 0), *around])
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel_shape, tuple(range(2, x.ndim)))  # type: ignore[call-overload]
    moved = windows[(slice(None), slice(None), *(slice(None, None, s) for s in strides or (1,) * (x.ndim - 2)))]
    return (np.abs(moved) ** p).sum(tuple(range(-len(kernel_shape), 0))) ** (1 / p)


def rnn(x: Array, w: Array, r: Array, *, hidden_size: int, direction: str = "forward", **_: Any) -> tuple[Array, Array]:
    """Forward, from zeros, with tanh."""
    if direction != "forward":
        raise NotImplementedError(direction)
    batch, width = x.shape[1:]
    check(w.shape == (1, hidden_size, width) and r.shape == (1, hidden_size, hidden_size), "weights fit")
    states = [np.zeros((batch, hidden_size), x.dtype)]
    for step in x:
        states.append(np.tanh(step @ w[0].T + states[-1] @ r[0].T))
    return np.stack(states)[1:, None], states[-1][None]


def image_decoder(stream: Array, *, pixel_format: str = "RGB") -> Array:
    """The image of a portable pixmap."""
    kind, columns, rows, _ = stream.tobytes()[:17].split()
    check(kind == b"P6", "a portable pixmap")
    pixels = stream[17:].reshape(int(rows), int(columns), 3)
    if pixel_format == "Grayscale":
        return pixels.mean(axis=2, keepdims=True).astype(np.uint8)
    return pixels[..., ::-1] if pixel_format == "BGR" else pixels


def optional(x: Array) -> Array:
    """The element that it holds: onnx.reference gives a list."""
    return x


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


_BINARY: Final = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": divide}
_ONE: Final = {
    "Pow": np.power, "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor,
    "Equal": np.equal, "Less": np.less, "Greater": np.greater,
}  # fmt: skip
_UNARY: Final[dict[str, Definition]] = {
    "Abs": unary(np.abs),
    "Ceil": unary(np.ceil),
    "Clip": unary(clip),
    "Elu": unary(lambda x, alpha: np.where(x < 0, alpha * np.expm1(x), x), alpha=1.0),
    "Exp": unary(np.exp),
    "Floor": unary(np.floor),
    "HardSigmoid": unary(lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), alpha=0.2, beta=0.5),
    "LeakyRelu": unary(lambda x, alpha: np.where(x < 0, alpha * x, x), alpha=0.01),
    "Log": unary(np.log),
    "Neg": unary(np.negative),
    "Reciprocal": unary(np.reciprocal),
    "Relu": unary(lambda x: np.maximum(x, 0)),
    "Selu": unary(
        lambda x, alpha, gamma: gamma * np.where(x <= 0, alpha * np.expm1(x), x), alpha=1.67326319, gamma=1.05070102
    ),
    "Sigmoid": unary(sigmoid),
    "Sqrt": unary(np.sqrt),
    "Tanh": unary(np.tanh),
}

DEFINITIONS: Final[dict[tuple[str, int], Definition]] = {
    **{(name, since): binary(f) for name, f in _BINARY.items() for since in (1, 6)},
    **{(name, 1): binary(f) for name, f in _ONE.items()},
    **{(name, 1): f for name, f in _UNARY.items()},
    **{(name, 1): variadic(f) for name, f in {"Max": np.maximum, "Min": np.minimum, "Sum": np.add}.items()},
    ("Mean", 1): mean,
    ("BatchNormalization", 1): batch_normalization,
    ("BatchNormalization", 6): batch_normalization,
    ("Cast", 1): cast,
    ("Concat", 1): concat,
    ("Dropout", 1): dropout,
    ("Dropout", 6): dropout,
    ("Gemm", 1): gemm,
    ("Gemm", 6): gemm,
    ("GlobalLpPool", 1): global_lp_pool,
    ("ImageDecoder", 20): image_decoder,
    ("InstanceNormalization", 1): instance_normalization,
    ("LpPool", 1): lp_pool,
    ("Optional", 28): optional,
    ("PRelu", 1): prelu,
    ("PRelu", 6): prelu,
    ("Pad", 1): pad,
    ("RNN", 1): rnn,
    ("Split", 1): split,
    ("Tile", 1): tile,
    ("Upsample", 1): upsample,
}
"""(operator of ai.onnx, version that introduced the form) -> what it computes."""
