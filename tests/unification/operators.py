"""The RFC's operator formulas."""

from __future__ import annotations

from typing import Final

from tests.unification.row import Row, Section


def pool(
    rule: str, attributes: str, claim: str, size: str, given: str = "H >= 1", instead: str = "", note: str = ""
) -> Row:
    """About a pooling of one axis of H elements."""
    model = f"(float[1, 1, H] x) => (z) {{z = MaxPool<{attributes}>(x)}}"
    return Row(
        rule, "0008", claim, "H", model=model, out={"z2": (size, "z[2]")}, given=given, instead=instead, note=note
    )


K3S2P1: Final = "kernel_shape = [3], strides = [2], pads = [1, 1]"
SAME: Final = 'kernel_shape = [3], strides = [{}], auto_pad = "SAME_UPPER"'
TRIPS: Final = "(int64 m, float[N] x) => (z) {t = Constant<value = bool {1}>() z = Loop(m, t) "
STEP: Final = "<body = b (int64 i, bool c) => (d, s) {d = Identity(c) s = Relu(x)}>}"

OPERATORS: Final = Section(
    "Operator formulas",
    "The size that the RFC gives to an output, `/` rounding towards zero as it says.",
    [
        pool(
            "MaxPool k3 s2 p1: (H + pads - kernel) / stride",
            K3S2P1,
            "z2 == truncdiv(H + 2 - 3, 2)",
            "(H - 1) // 2 + 1",
            instead="z2 == (H + 2 - 3) // 2 + 1",
            note="lacks the + 1",
        ),
        pool("with the + 1, rounding down", K3S2P1, "z2 == (H + 2 - 3) // 2 + 1", "(H - 1) // 2 + 1"),
        pool(
            "ceil_mode k2 s3 p1: ceil instead of floor",
            "kernel_shape = [2], strides = [3], pads = [1, 1], ceil_mode = 1",
            "z2 == ceildiv(H + 2 - 2, 3) + 1",
            "ceildiv(H, 3) + 1 if ceildiv(H, 3) * 3 < H + 1 else ceildiv(H, 3)",
            instead="z2 == (ceildiv(H, 3) + 1 if ceildiv(H, 3) * 3 < H + 1 else ceildiv(H, 3))",
            note="a window that begins in the padding at the end is dropped",
        ),
        pool("SAME keeps the size: stride 1", SAME.format(1), "z2 == H", "H"),
        pool(
            "SAME keeps the size: stride 2", SAME.format(2), "z2 == H", "ceildiv(H, 2)", instead="z2 == ceildiv(H, 2)"
        ),
        Row(
            "Conv k3 s2 p1: (H + pads - kernel) / stride",
            "0008",
            "z2 == truncdiv(H + 2 - 3, 2)",
            "H",
            model="(float[1, 1, H] x, float[1, 1, 3] w) => (z) {z = Conv<strides = [2], pads = [1, 1]>(x, w)}",
            out={"z2": ("(H - 1) // 2 + 1", "z[2]")},
            given="H >= 1",
            instead="z2 == (H + 2 - 3) // 2 + 1",
        ),
        Row(
            "MaxUnpool k3 s2: input * stride - pads",
            "0008",
            "z2 == 2 * H",
            "H",
            model="""(float[1, 1, H] x, int64[1, 1, H] i) => (z)
                     {z = MaxUnpool<kernel_shape = [3], strides = [2]>(x, i)}""",
            out={"z2": ("(H - 1) * 2 + 3", "z[2]")},
            instead="z2 == (H - 1) * 2 + 3",
            note="lacks the kernel",
        ),
        Row(
            "Concat: M + N",
            "0008",
            "z0 == M + N",
            "M N",
            model="(float[M] x, float[N] y) => (z) {z = Concat<axis = 0>(x, y)}",
            out={"z0": ("M + N", "z[0]")},
        ),
        Row(
            "Tile by 3: N * 3",
            "0008",
            "z0 == N * 3",
            "N",
            model="(float[N] x) => (z) <int64[1] r = {3}> {z = Tile(x, r)}",
            out={"z0": ("3 * N", "z[0]")},
        ),
        Row(
            "Split in two: ceil(N / 2), then the rest",
            "0009",
            "a0 == ceildiv(N, 2) and b0 == N - ceildiv(N, 2)",
            "N",
            model="(float[N] x) => (a, b) {a, b = Split<num_outputs = 2>(x)}",
            out={"a0": ("(N + 1) // 2", "a[0]"), "b0": ("N // 2", "b[0]")},
            given="N >= 2",
        ),
        Row(
            "Reshape to [-1, 2]: an exact quotient",
            "0009",
            "2 * z0 == N and z0 == N // 2",
            "N",
            model="(float[N] x) => (z) <int64[2] t = {-1, 2}> {z = Reshape(x, t)}",
            out={"z0": ("N // 2", "z[0]")},
            runs="N % 2 == 0",
        ),
        Row(
            "Reshape (a, b, 2, 3) to [-1, 6], then to [a, -1, 6]: the -1 is b",
            "4064",
            "z1 == b",
            "a b",
            model="""(float[a, b, 2, 3] x) => (z) <int64[2] t = {-1, 6}, int64[2] u = {-1, 6}>
                     {y = Reshape(x, t) n = Shape<end = 1>(x) v = Concat<axis = 0>(n, u) z = Reshape(y, v)}""",
            out={"z0": ("a", "z[0]"), "z1": ("b", "z[1]")},
            given="a >= 1",
        ),
        Row(
            "Loop of 4 trips: scan outputs have 4 rows",
            "0008",
            "z0 == 4",
            "N",
            model="(float[N] x) => (z) {m = Constant<value_int = 4>() t = Constant<value = bool {1}>() z = Loop(m, t) "
            + STEP,
            out={"z0": ("4", "z[0]")},
        ),
        Row(
            "Loop of 4 trips that may stop by its condition: 4 rows",
            "0008",
            "z0 == 4",
            "N",
            "k",
            model="""(int64 k, float[N] x) => (z) {m = Constant<value_int = 4>() t = Constant<value = bool {1}>()
                     z = Loop(m, t) <body = b (int64 i, bool c) => (d, s) {d = Less(i, k) s = Relu(x)}>}""",
            out={"z0": ("min(4, max(k, 0) + 1)", "z[0]")},
            instead="0 <= z0 <= 4",
        ),
        Row(
            "Loop of m trips, m an input: m rows",
            "tools",
            "z0 == m",
            "N",
            "m",
            model=TRIPS + STEP,
            out={"z0": ("max(m, 0)", "z[0]")},
            instead="z0 == max(m, 0)",
        ),
        Row(
            "the merged size of an If is at most the larger branch's",
            "0009",
            "z0 <= max(N, 2 * N)",
            "N",
            "k",
            model="""(int64 k, float[N] x) => (z) {o = Constant<value_int = 0>() c = Less(k, o)
                     z = If(c) <then_branch = t () => (p) {p = Concat<axis = 0>(x, x)},
                     else_branch = e () => (q) {q = Relu(x)}>}""",
            out={"z0": ("2 * N if k < 0 else N", "z[0]")},
        ),
        Row(
            "an If has the size of its else branch",
            "tools",
            "z0 == N",
            "N",
            "k",
            model="""(int64 k, float[N] x) => (z) {o = Constant<value_int = 0>() c = Less(k, o)
                     z = If(c) <then_branch = t () => (p) {p = Concat<axis = 0>(x, x)},
                     else_branch = e () => (q) {q = Relu(x)}>}""",
            out={"z0": ("2 * N if k < 0 else N", "z[0]")},
            instead="z0 == 2 * N or z0 == N",
        ),
    ],
)
