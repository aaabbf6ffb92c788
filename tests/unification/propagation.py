"""Data propagation: what elements of small integer tensors become."""

from __future__ import annotations

from typing import Final

from tests.unification.elements import on_n, on_pair
from tests.unification.row import Row, Section

HALF: Final = "f = Cast<to = 1>(n) t = Cast<to = 1>(k2) q = Div(f, t) "

EXACT: Final = "N < 16777216"
"""Sizes that float32 holds."""

PROPAGATION: Final = Section(
    "Data propagation",
    "`r` is an element that a run computes from the shape of a vector of N elements.",
    [
        on_pair("Add", "0005", "r = Add(n, m)", "N + M", "r == N + M"),
        on_pair("Sub", "0005", "r = Sub(n, m)", "N - M", "r == N - M", note="may be negative: not a size"),
        on_pair("Mul", "0005", "r = Mul(n, m)", "N * M", "r == N * M"),
        on_n("Cast to int32", "0005", "c = Cast<to = 6>(n) r = Cast<to = 7>(c)", "N", "r == N", given="N < 2147483648"),
        on_n(
            "Cast passes its input through, also to uint8",
            "tools",
            "c = Cast<to = 2>(n) r = Cast<to = 7>(c)",
            "N % 256",
            "r == N",
            instead="r == N % 256",
        ),
        on_n(
            "Concat, then Gather of the second", "0005", "c = Concat<axis = 0>(k7, n) r = Gather(c, k1)", "N", "r == N"
        ),
        on_n(
            "Slice, Squeeze, Unsqueeze, Reshape pass elements on",
            "0005",
            "u = Unsqueeze(n, k0) s = Squeeze(u, k0) p = Slice(s, k0, k1) r = Reshape(p, k1)",
            "N",
            "r == N",
        ),
        Row(
            "Size: the product of the sizes",
            "0005",
            "r == N * M",
            "N M",
            model="(float[N, M] x) => (r) {r = Size(x)}",
            out={"r": ("N * M", "r{0}")},
        ),
        on_n(
            "Div: a / b, rounded down",
            "0008",
            "a = Sub(n, k5) r = Div(a, k2)",
            "truncdiv(N - 5, 2)",
            "r == (N - 5) // 2",
            instead="r == truncdiv(N - 5, 2)",
        ),
        on_n(
            "Div: a / b, rounded towards zero",
            "0008",
            "a = Sub(n, k5) r = Div(a, k2)",
            "truncdiv(N - 5, 2)",
            "r == truncdiv(N - 5, 2)",
        ),
        on_n("Neg: -(expr)", "0008", "r = Neg(n)", "-N", "r == -N"),
        on_n("Relu passes its input through: of a size", "0008", "r = Relu(n)", "max(N, 0)", "r == N"),
        on_n(
            "Relu passes its input through: of N - 5",
            "0008",
            "a = Sub(n, k5) r = Relu(a)",
            "max(N - 5, 0)",
            "r == N - 5",
            instead="r == max(N - 5, 0)",
            note="not the identity: differences of sizes go below 0",
        ),
        on_n(
            "Ceil: `ceil(N / 2)`, its `/` being integer division",
            "0008",
            HALF + "c = Ceil(q) r = Cast<to = 7>(c)",
            "ceildiv(N, 2)",
            "r == truncdiv(N, 2)",
            given=EXACT,
            instead="r == ceildiv(N, 2)",
            note="under the RFC's own `/` the text is N // 2: inside of ceil the quotient must be exact",
        ),
        on_n(
            "Floor: `floor(N / 2)`, its `/` being integer division",
            "0008",
            HALF + "c = Floor(q) r = Cast<to = 7>(c)",
            "N // 2",
            "r == truncdiv(N, 2)",
            given=EXACT,
        ),
        on_n(
            "Floor: `floor((N - 5) / 2)`, its `/` being integer division",
            "0008",
            HALF.replace("(n)", "(a)").replace("f =", "a = Sub(n, k5) f =", 1) + "c = Floor(q) r = Cast<to = 7>(c)",
            "(N - 5) // 2",
            "r == truncdiv(N - 5, 2)",
            given=EXACT,
            instead="r == (N - 5) // 2",
        ),
        on_n(
            "Range: its elements",
            "0008",
            """e = Add(n, k2) s = Squeeze(n) t = Squeeze(e) o = Constant<value_int = 1>()
               g = Range(s, t, o) r = Gather(g, k1)""",
            "N + 1",
            "r == N + 1",
        ),
        Row(
            "Range(0, n, 2): (limit - start) / delta elements",
            "tools",
            "z0 == truncdiv(N, 2)",
            "N",
            model="""(float[N] x) => (z) {n = Size(x) a = Constant<value_int = 0>() d = Constant<value_int = 2>()
                     z = Range(a, n, d)}""",
            out={"z0": ("ceildiv(N, 2)", "z[0]")},
            instead="z0 == ceildiv(N, 2)",
        ),
        Row(
            "Range(n, m, 1): limit - start elements",
            "tools",
            "z0 == M - N",
            "N M",
            model="""(float[N] x, float[M] y) => (z) {n = Size(x) m = Size(y) d = Constant<value_int = 1>()
                     z = Range(n, m, d)}""",
            out={"z0": ("max(M - N, 0)", "z[0]")},
            instead="z0 == max(M - N, 0)",
        ),
    ],
)
