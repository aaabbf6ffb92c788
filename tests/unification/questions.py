"""The open questions of the RFC that are about integers."""

from __future__ import annotations

from typing import Final

from tests.unification.elements import on_n
from tests.unification.row import Row, Section

QUESTIONS: Final = Section(
    "Open questions, answered",
    "What the RFC leaves unresolved about integers, each as formulas.",
    [
        on_n("floor against trunc: the same for sizes", "0008", "r = Div(n, k3)", "truncdiv(N, 3)", "r == N // 3"),
        on_n(
            "`/` floors and rounds towards zero: the same below 0",
            "0008",
            "a = Sub(n, k5) r = Div(a, k3)",
            "truncdiv(N - 5, 3)",
            "r == (N - 5) // 3",
            instead="r == (N - 5) // 3 or N < 5",
            note="so `/` must say which; ONNX Div truncates",
        ),
        on_n(
            "Mod: the sign of the divisor", "0008", "a = Sub(n, k5) r = Mod(a, k3)", "(N - 5) % 3", "r == (N - 5) % 3"
        ),
        on_n(
            "Mod with fmod: the same",
            "0008",
            "a = Sub(n, k5) r = Mod<fmod = 1>(a, k3)",
            "fmod(N - 5, 3)",
            "r == (N - 5) % 3",
            instead="r == fmod(N - 5, 3)",
        ),
        on_n(
            "ceil division needs no form of its own: (N + k - 1) // k",
            "0008",
            "a = Add(n, k3) r = Div(a, k4)",
            "ceildiv(N, 4)",
            "r == ceildiv(N, 4) and r == -(-N // 4)",
        ),
        on_n(
            "the same trick with truncating division below 0",
            "0008",
            "a = Sub(n, k5) b = Add(a, k1) r = Div(b, k2)",
            "truncdiv(N - 4, 2)",
            "r == ceildiv(N - 5, 2)",
            instead="r == truncdiv(N - 4, 2)",
            note="the trick is right with // and wrong with /",
        ),
        on_n(
            "-(-N / 2) is ceil(N / 2)",
            "0008",
            "a = Neg(n) b = Div(a, k2) r = Neg(b)",
            "N // 2",
            "r == ceildiv(N, 2)",
            instead="r == N // 2",
            note="true of //, false of the Div that a model has",
        ),
        Row(
            "m = 0 and m < 0 differ",
            "0008",
            "z0 == 0 if m == 0 else z0 != 0",
            "N",
            "m",
            model="""(int64 m, float[N] x) => (z) {t = Constant<value = bool {1}>() z = Loop(m, t)
                     <body = b (int64 i, bool c) => (d, s) {d = Identity(c) s = Relu(x)}>}""",
            out={"z0": ("max(m, 0)", "z[0]")},
            instead="z0 == max(m, 0)",
            note="both are legal runs without a trip: scan outputs have 0 rows, carried values stay",
        ),
        Row(
            "a carried value that no trip changes has the body's size",
            "tools",
            "z0 == 3 * N",
            "N",
            "m",
            model="""(int64 m, float[N] x) => (z) {z = Loop(m, , x) <body = b (int64 i, bool c, v) => (d, w)
                     {d = Identity(c) w = Concat<axis = 0>(x, x, x)}>}""",
            out={"z0": ("N if m <= 0 else 3 * N", "z[0]")},
            instead="z0 == (N if m <= 0 else 3 * N)",
        ),
    ],
)
