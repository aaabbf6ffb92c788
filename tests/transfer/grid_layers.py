"""Grids of convolutions, normalisations, resizing and the like."""

from __future__ import annotations

import random

from onnx import TensorProto

from tests.transfer.grid import subset
from tests.transfer.harness import Arg, Case

F, I64 = TensorProto.FLOAT, TensorProto.INT64
SIZES = (0, 1, 1, 2, 3, 4, 5, 7)


def dims(rng: random.Random, rank: int) -> list[int]:
    return [rng.choice(SIZES) for _ in range(rank)]


def near(rng: random.Random, size: int, chance: float = 0.06) -> int:
    """Mostly the size."""
    return size if rng.random() > chance else max(size + rng.choice((-1, 1)), 0)


COORDINATES = (
    "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_crop_and_resize", "half_pixel_symmetric",
    "tf_half_pixel_for_nn", "half_pixel", "align_corners", "odd",
)  # fmt: skip
NEAREST = (*["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"] * 2, "odd")
POLICIES = ("stretch", "not_larger", "not_smaller", "not_smaller", "not_larger", "odd")
SCALES = (0.5, 1.0, 2.0, 1.5, 0.7)


def resize(rng: random.Random) -> Case:
    opset = rng.choice((10, 11, 13, 18, 19, 21))
    rank = rng.choice((1, 2, 3, 4, 4, 4, 5, 6))
    shape = dims(rng, rank)
    if rng.random() < 0.6:
        shape[:2] = [max(d, 1) for d in shape[:2]]
    attributes, axes = resize_attributes(rng, opset, rank)
    wanted = rank if axes is None else len(axes)
    changed = rng.choice(("all", "last two", "first two", "none"))
    part = {"all": range(wanted), "last two": range(wanted - 2, wanted), "first two": range(2), "none": ()}[changed]
    choices = (*SCALES, 3.0, 0.0, -1.0) if rng.random() < 0.1 else SCALES
    scales = [rng.choice(choices) if i in part else 1.0 for i in range(near(rng, wanted, 0.03))]
    old = [shape[axis] for axis in axes or range(rank)]
    sizes = [rng.choice((0, 1, 2, 3, 6, 9)) if i in part else old[i % wanted] for i in range(near(rng, wanted, 0.03))]
    data = Arg(shape, rng.choice((F, F, F, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32)))
    if opset == 10:
        return Case("Resize", [data, Arg(elements=scales)], attributes, opset=opset)
    empty = Arg(elements=[])
    roi = None if opset >= 13 else empty
    if rng.random() < 0.3:
        roi = Arg(elements=[0.1] * rank + [0.9] * rank)
    if rng.random() < 0.1:
        roi = Arg(elements=[0.1] * rng.randint(0, 2 * rank))
    by_sizes, both = rng.random() < 0.5, rng.random() < 0.04
    given: Arg | None = Arg(elements=scales)
    if by_sizes and not both:
        given = empty if opset < 13 or rng.random() < 0.3 else None
    return Case("Resize", [data, roi, given, *([Arg(elements=sizes, dtype=I64)] * by_sizes)], attributes, opset=opset)


def resize_attributes(rng: random.Random, opset: int, rank: int) -> tuple[dict[str, object], list[int] | None]:
    """The attributes, and the axes that are named."""
    modes = ["nearest", "linear", "cubic"] if opset > 10 else ["nearest", "linear"]
    attributes: dict[str, object] = {"mode": rng.choice([*modes * 6, "odd"])}
    if rng.random() < 0.15:
        del attributes["mode"]
    if opset >= 11:
        choices = {
            "coordinate_transformation_mode": COORDINATES,
            "nearest_mode": NEAREST,
            "cubic_coeff_a": [-0.5, -0.75],
            "exclude_outside": [0, 0, 0, 1, 2],
            "extrapolation_value": [0.0, 5.0],
        }
        attributes |= subset(rng, choices, 0.3)
    if opset < 18:
        return attributes, None
    attributes |= subset(rng, {"antialias": [0, 1, 1, 1, 2]}, 0.3)
    attributes |= subset(rng, {"keep_aspect_ratio_policy": POLICIES}, 0.2)
    if rng.random() < 0.6:
        return attributes, None
    axes = rng.sample(range(-rank, rank), rng.randint(1, rank))
    if "keep_aspect_ratio_policy" in attributes:
        axes = sorted({axis % rank for axis in axes})
    return attributes | {"axes": axes}, axes


def upsample(rng: random.Random) -> Case:
    opset = rng.choice((7, 9))
    rank = rng.choice((1, 2, 3, 4, 4, 4, 5))
    shape = dims(rng, rank)
    attributes: dict[str, object] = subset(rng, {"mode": ["nearest", "linear", "odd"]}, 0.8)
    scales = [1.0 if rng.random() < 0.4 else rng.choice((1.5, 2.0, 0.5, 1.3)) for _ in range(near(rng, rank))]
    data = Arg(shape, rng.choice((F, F, TensorProto.UINT8, TensorProto.INT32)))
    if opset == 7:
        return Case("Upsample", [data], attributes | {"scales": scales}, opset=opset)
    return Case("Upsample", [data, Arg(elements=scales)], attributes, opset=opset)


def conv_transpose(rng: random.Random) -> Case:
    spatial = rng.choice((0, 1, 2, 2, 2, 3, 4))
    group = rng.choice((1, 1, 1, 2, 3, 0, -1)) if rng.random() < 0.5 else 1
    channels = max(group, 1) * rng.choice((0, 1, 1, 2, 2))
    x = [rng.choice((0, 1, 2)), channels, *dims(rng, spatial)]
    kernel = [rng.choice((0, 1, 2, 3, 3)) if rng.random() < 0.1 else rng.choice((1, 2, 3)) for _ in range(spatial)]
    out = rng.choice((0, 1, 2, 3)) if rng.random() < 0.2 else rng.choice((1, 2, 3))
    w = [near(rng, channels), out, *kernel]
    if group != 1:
        w[0] = channels
    inputs: list[Arg | None] = [Arg(x), Arg(w)]
    if rng.random() < 0.4:
        inputs.append(Arg([near(rng, out * max(group, 1))]))
    attributes = subset(
        rng,
        {
            "strides": [[rng.choice((1, 1, 2, 3)) for _ in range(near(rng, spatial))]],
            "dilations": [[rng.choice((1, 1, 2)) for _ in range(near(rng, spatial))]],
            "output_padding": [[rng.choice((0, 0, 1, 2)) for _ in range(near(rng, spatial))]],
            "pads": [[rng.choice((0, 0, 1, 2)) for _ in range(near(rng, 2 * spatial))]],
            "kernel_shape": [kernel, kernel, [k + 1 for k in kernel]],
        },
        0.35,
    )
    if rng.random() < 0.25:
        attributes["auto_pad"] = rng.choice(("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "odd"))
        if rng.random() < 0.7:
            attributes.pop("pads", None)
    if rng.random() < 0.15:
        attributes["output_shape"] = [rng.choice((0, 1, 4, 6, 9)) for _ in range(rng.choice((spatial, spatial + 2)))]
    if group != 1:
        attributes["group"] = group
    attributes = {k: v for k, v in attributes.items() if v != []}
    return Case("ConvTranspose", inputs, attributes, opset=rng.choice((1, 11, 21)))


GRIDS = {"Resize": resize, "Upsample": upsample, "ConvTranspose": conv_transpose}
