"""Arithmetic rules of the proposals, and simplifications."""

from __future__ import annotations

from typing import Final

from tests.unification.elements import on_n, on_pair
from tests.unification.row import Section

ARITHMETIC: Final = Section(
    "Arithmetic rules and simplification",
    "Identities that the proposals state, allow, or leave to a later simplifier.",
    [
        on_n("N + 0, N * 1, N / 1 are N", "0008", "a = Add(n, k0) b = Mul(a, k1) r = Div(b, k1)", "N", "r == N"),
        on_n("N * 0 is 0, of an unknown size too", "0008", "r = Mul(n, k0)", "0", "r == 0"),
        on_n(
            "`0 + A` is `A`",
            "0008",
            "r = Add(k0, n)",
            "N",
            "r == N",
            note="left as two texts: compared as strings the equality is missed",
        ),
        on_n(
            "((d + 2) - 1) / 2 is (d + 1) // 2",
            "0008",
            "a = Add(n, k2) b = Sub(a, k1) r = Div(b, k2)",
            "truncdiv(N + 1, 2)",
            "r == (N + 1) // 2",
        ),
        on_n("2*N // 2 is N", "0009", "a = Mul(n, k2) r = Div(a, k2)", "N", "r == N"),
        on_n(
            "2*(N // 2) is N",
            "tools",
            "a = Div(n, k2) r = Mul(a, k2)",
            "N // 2 * 2",
            "r == N",
            instead="r == N - N % 2",
            note="0009 leaves it alone, rightly",
        ),
        on_pair("a + b - a is b", "0009", "a = Add(n, m) r = Sub(a, n)", "M", "r == M"),
        on_n(
            "2*N // N is 2",
            "0009",
            "a = Mul(n, k2) r = Div(a, n)",
            "2",
            "r == 2",
            runs="N != 0",
            note="the quotient carries a requirement: N is not 0",
        ),
        on_pair(
            "N*(M // N) is M",
            "tools",
            "a = Div(m, n) r = Mul(a, n)",
            "M // N * N",
            "r == M",
            runs="N != 0",
            instead="r == M - M % N",
        ),
        on_pair("N*M // N is M", "0008b", "a = Mul(n, m) r = Div(a, n)", "M", "r == M", runs="N != 0"),
        on_n(
            "4*((N + 3) // 4) is N + 3",
            "tools",
            "a = Add(n, k3) b = Div(a, k4) r = Mul(b, k4)",
            "(N + 3) // 4 * 4",
            "r == N + 3",
            instead="N <= r <= N + 3",
        ),
        on_n(
            "max(N, 1) is N",
            "tools",
            "r = Max(n, k1)",
            "max(N, 1)",
            "r == N",
            instead="r == N or N == 0",
            note="dims taken to be positive",
        ),
        on_n(
            "N // 2 // 3 is N // 6",
            "tools",
            "a = Div(n, k2) r = Div(a, k3)",
            "N // 6",
            "r == N // 2 // 3 and r == N // 6",
        ),
        on_pair(
            "N // 2 + M // 2 is (N + M) // 2",
            "tools",
            "a = Div(n, k2) b = Div(m, k2) r = Add(a, b)",
            "N // 2 + M // 2",
            "r == (N + M) // 2",
            instead="(N + M) // 2 - 1 <= r <= (N + M) // 2",
        ),
        on_n(
            "2*(N // 2) + N % 2 is N",
            "0008b",
            "a = Div(n, k2) b = Mul(a, k2) c = Mod(n, k2) r = Add(b, c)",
            "N // 2 * 2 + N % 2",
            "r == N",
            note="no identity of polynomials: left open there",
        ),
    ],
)
