"""Convolution, pooling, padding, resizing: where the last window starts, and what it may hold."""

from typing import Final

from tests.adversarial.case import Adversarial, Theme, case


def pooled(attributes: str, runs: str, op: str = "MaxPool", opset: int = 18) -> Adversarial:
    """A pooling of one axis."""
    return case(f"(float[N, 2, L] x) => (z) {{z = {op}<{attributes}>(x)}}", runs, opset=opset)


def convolved(attributes: str, runs: str, op: str = "Conv") -> Adversarial:
    """A convolution of one axis whose weights come as an input."""
    return case(f"(float[N, C, L] x, float[O, I, K] w) => (z) {{z = {op}<{attributes}>(x, w)}}", runs)


ONE: Final = "N C L O I K"
SAME: Final = "N L: 1 1, 1 2, 2 7, 1 8"

WINDOWS: Final[Theme] = {
    "pool_by_two": case(
        "(float[N, C, H, W] x) => (z) {z = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(x)}",
        "N C H W: 1 1 7 8, 1 1 1 2, 2 3 5 5",
    ),
    "pool_without_pads": pooled("kernel_shape = [3], strides = [2]", "N L: 1 3, 1 4, 2 7, 1 8"),
    "pool_ceil": pooled("kernel_shape = [2], strides = [2], ceil_mode = 1", "N L: 1 2, 1 3, 2 7, 1 8"),
    "pool_ceil_in_the_padding": pooled(
        "kernel_shape = [2], strides = [3], pads = [1, 1], ceil_mode = 1", "N L: 1 1, 1 3, 2 4, 1 5, 1 6, 1 7"
    ),
    "average_ceil_in_the_padding": pooled(
        "kernel_shape = [1], strides = [2], pads = [0, 0], ceil_mode = 1", "N L: 1 1, 1 2, 2 4, 1 5", "AveragePool", 19
    ),
    "pool_dilated": pooled("kernel_shape = [3], dilations = [2]", "N L: 1 5, 2 6, 1 9"),
    "pool_same": pooled('kernel_shape = [3], strides = [1], auto_pad = "SAME_UPPER"', SAME),
    "pool_same_by_two": pooled('kernel_shape = [3], strides = [2], auto_pad = "SAME_UPPER"', SAME),
    "pool_same_lower_by_three": pooled(
        'kernel_shape = [2], strides = [3], auto_pad = "SAME_LOWER"', SAME, "AveragePool"
    ),
    "pool_valid": pooled('kernel_shape = [2], strides = [2], auto_pad = "VALID"', "N L: 1 2, 1 3, 2 8"),
    "norm_pool": pooled("kernel_shape = [2], strides = [2], p = 2", "N L: 1 2, 2 5", "LpPool"),
    "pool_whole": case("(float[N, C, H, W] x) => (z) {z = GlobalAveragePool(x)}", "N C H W: 1 1 1 1, 2 3 5 4"),
    "kernel_from_weights": convolved("strides = [2]", f"{ONE}: 1 2 9 3 2 3, 2 1 4 1 1 4, 1 1 5 2 1 1"),
    "grouped": convolved("group = 2", f"{ONE}: 1 4 9 6 2 3, 2 2 4 2 1 4"),
    "dilated": convolved("dilations = [3], pads = [2, 1]", f"{ONE}: 1 2 9 3 2 3, 2 1 4 1 1 3"),
    "same_by_two": convolved('strides = [2], auto_pad = "SAME_LOWER"', f"{ONE}: 1 2 9 3 2 3, 2 1 4 1 1 4, 1 1 1 1 1 3"),
    "negative_pads": convolved("pads = [-1, -1]", f"{ONE}: 1 1 9 1 1 3, 2 1 5 1 1 1"),
    "transposed": convolved("strides = [2]", f"{ONE}: 1 2 4 2 3 3, 1 1 1 1 1 1", "ConvTranspose"),
    "transposed_with_output_padding": convolved(
        "strides = [3], pads = [1, 0], output_padding = [2]", f"{ONE}: 1 2 4 2 3 3, 1 1 1 1 1 3", "ConvTranspose"
    ),
    "transposed_same": convolved(
        'strides = [2], auto_pad = "SAME_UPPER"', f"{ONE}: 1 2 4 2 3 3, 1 1 5 1 1 2", "ConvTranspose"
    ),
    "unpooled": case(
        """(float[1, 1, L] x) => (z) {y, i = MaxPool<kernel_shape = [3], strides = [2]>(x)
           z = MaxUnpool<kernel_shape = [3], strides = [2]>(y, i)}""",
        "L: 3, 4, 7, 8",
    ),
    "resized_by_two_and_a_half": case(
        '(float[N, L] x) => (z) <float[2] s = {1.0, 2.5}> {z = Resize<mode = "nearest">(x, , s)}', "N L: 1 1, 2 3, 1 4"
    ),
    "resized_by_a_half": case(
        '(float[N, L] x) => (z) <float[2] s = {1.0, 0.5}> {z = Resize<mode = "nearest">(x, , s)}', "N L: 1 2, 2 3, 1 8"
    ),
    "resized_to_twice_the_size": case(
        """(float[1, 1, H, W] x) => (z) <int64[2] ones = {1, 1}, int64[1] two = {2}>
           {s = Shape<start = 2>(x) d = Mul(s, two) t = Concat<axis = 0>(ones, d)
            z = Resize<mode = "nearest">(x, , , t)}""",
        "H W: 1 1, 3 5",
    ),
    "pad_then_crop": case("(float[N] x) => (z) <int64[2] p = {3, -2}> {z = Pad(x, p)}", "N: 0, 1, 5"),
    "pad_by_the_rest": case(
        """(float[N] x) => (z) <int64[1] k = {8}, int64[1] none = {0}>
           {n = Shape(x) r = Mod(n, k) d = Sub(k, r) m = Mod(d, k) p = Concat<axis = 0>(none, m) z = Pad(x, p)}""",
        "N: 0, 1, 7, 8, 9",
    ),
    "reflected": case('(float[N] x) => (z) <int64[2] p = {2, 1}> {z = Pad<mode = "reflect">(x, p)}', "N: 3, 5"),
    "image_patches": case(
        """(float[N, 3, H, W] x, float[8, 3, 4, 4] w) => (z) <int64[3] t = {0, 8, -1}>
           {y = Conv<strides = [4, 4]>(x, w) u = Reshape(y, t) z = Transpose<perm = [0, 2, 1]>(u)}""",
        "N H W: 1 4 4, 2 7 9, 1 8 8",
    ),
}
