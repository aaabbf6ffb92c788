"""Corner cases of the RFC, and those that tools fall into."""

from __future__ import annotations

from typing import Final

from tests.unification.elements import on_pair
from tests.unification.row import Row, Section

CORNERS: Final = Section(
    "Corner cases",
    "What the RFC says of them, and corners where tools go wrong.",
    [
        Row(
            "arithmetic on an unknown dim is unknown",
            "0008",
            "z0 >= 2",
            "H",
            model="(float[H] x, float[2] y) => (z) {z = Concat<axis = 0>(x, y)}",
            out={"z0": ("H + 2", "z[0]")},
            note="unknown is sound; the bound is lost",
        ),
        on_pair(
            "division by zero is left to the caller",
            "0008",
            "r = Div(n, m)",
            "N // M",
            "r == N // M",
            runs="M != 0",
            note="that M is not 0 must stand beside the expression",
        ),
        Row(
            "what is lost: a size that divides is not 0",
            "0008",
            "M >= 1",
            "M",
            model="(float[6] x, float[M] y) => (r) {n = Shape(x) m = Shape(y) r = Div(n, m)}",
            out={"r": ("6 // M", "r{0}")},
            runs="M != 0",
        ),
        Row(
            "negative padding: the expression N - 2 is given all the same",
            "0008",
            "z0 == N - 2",
            "N",
            model="(float[N] x) => (z) <int64[2] p = {0, -2}> {z = Pad(x, p)}",
            out={"z0": ("N - 2", "z[0]")},
            runs="N >= 2",
            note="true of every run; N >= 2 belongs to it",
        ),
        Row(
            "negative stride: the expression is given all the same",
            "0008",
            "z2 == H",
            "H",
            model="(float[1, 1, H] x, float[1, 1, 1] w) => (z) {z = Conv<strides = [-1]>(x, w)}",
            out={"z2": ("H", "z[2]")},
            runs="False",
            note="no runtime loads it: a diagnostic, no formula",
        ),
        Row(
            "equal strings are equal sizes: inside a loop body too",
            "0008",
            "z0 == N",
            "N",
            "m",
            model="""(int64 m, float[N] x) => (z) {z = Loop(m, , x)
                     <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w)
                     {d = Identity(c) w = Concat<axis = 0>(x, x)}>}""",
            out={"z0": ("N if m <= 0 else 2 * N", "z[0]")},
            instead="z0 == N or z0 == 2 * N",
            note="a name reused in a body is not the outer one",
        ),
        Row(
            "generated names `_d0`, `_d1`, ... are new: an input's size is called `_d0`",
            "0008",
            "z0 == _d0",
            "_d0",
            "m",
            model="""(int64 m, float[_d0] x) => (z, u) {a = Constant<value_int = 0>() d = Constant<value_int = 1>()
                     z = Range(a, m, d) u = Relu(x)}""",
            out={"z0": ("max(m, 0)", "z[0]")},
            instead="z0 == max(m, 0)",
            note="names of inputs must be skipped",
        ),
        Row(
            "a 0 in a Reshape target is a size of 0",
            "tools",
            "z0 == 0",
            "N",
            model="(float[N, 4] x) => (z) <int64[3] t = {0, 2, 2}> {z = Reshape(x, t)}",
            out={"z0": ("N", "z[0]")},
            instead="z0 == N",
        ),
        Row(
            "Squeeze drops an axis",
            "tools",
            "rank == 1",
            "N",
            model="(float[N, 1] x) => (z) {z = Squeeze(x)}",
            out={"rank": ("0 if N == 1 else 1", "rank(z)")},
            instead="rank == 1 or N == 1",
            note="without axes the rank depends on the sizes",
        ),
        Row(
            "x[n - 3:] has 3 elements",
            "tools",
            "z0 == 3",
            "N",
            model="(float[N] x) => (z) <int64[1] three = {3}> {n = Shape(x) b = Sub(n, three) z = Slice(x, b, n)}",
            out={"z0": ("min(N, 3) if N >= 3 or N == 0 else min(3 - N, N)", "z[0]")},
            instead="z0 <= 3",
            note="a negative start counts from the end",
        ),
        Row(
            "x[:-m] has N - M elements",
            "tools",
            "z0 == N - M",
            "N M",
            model="""(float[N] x, float[M] y) => (z) <int64[1] b = {0}> {m = Shape(y) e = Neg(m) z = Slice(x, b, e)}""",
            out={"z0": ("0 if M == 0 else max(N - M, 0)", "z[0]")},
            instead="z0 == (0 if M == 0 else max(N - M, 0))",
            note="-0 is 0: nothing is left",
        ),
    ],
)
