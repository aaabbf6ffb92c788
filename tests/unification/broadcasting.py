"""Rules of proposals and tools for two sizes that broadcast."""

from __future__ import annotations

from typing import Final

from tests.unification.row import Row, Section

PAIR: Final = "(float[M] x, float[N] y) => (z) {z = Add(x, y)}"
LEGAL: Final = "broadcasts(M, N)"
OUT: Final = {"z0": ("broadcast(M, N)", "z[0]")}


def pair(rule: str, source: str, claim: str, instead: str = "", given: str = "True", note: str = "") -> Row:
    """About the sum of vectors of M and N elements."""
    return Row(rule, source, claim, "M N", model=PAIR, out=OUT, runs=LEGAL, given=given, instead=instead, note=note)


def beside(number: int, rule: str, source: str, claim: str, instead: str = "") -> Row:
    """About the sum of a vector of N elements and one of a fixed size."""
    steps = f"s = Constant<value_ints = [{number}]>() w = ConstantOfShape(s) z = Add(x, w)"
    model = f"(float[N] x) => (z) {{{steps}}}"
    out = {"z0": (f"broadcast(N, {number})", "z[0]")}
    return Row(rule, source, claim, "N", model=model, out=out, runs=f"broadcasts(N, {number})", instead=instead)


THREE: Final = "broadcast(broadcast(A, B), C)"
ALL: Final = "broadcasts(A, B) and broadcasts(A, C) and broadcasts(B, C)"

BROADCASTING: Final = Section(
    "Broadcasting",
    """\
`broadcast(a, b)` is `b if a == 1 else a`, where `a == b or a == 1 or b == 1`. It is one of the two, but not
always the same one, and not always the larger: 0 against 1 is 0.""",
    [
        pair("M with N: a new symbol", "0005", "z0 >= 0", note="sound; that it is M or N is lost"),
        pair("M with N: merged into one, which 0005 calls unsound", "tools", "M == N", LEGAL),
        pair(
            "M with N: the first operand (`prefer-first`, `prefer-concrete`)", "tools", "z0 == M", "z0 == M or M == 1"
        ),
        pair("M with N: the larger (`max`)", "tools", "z0 == max(M, N)", "z0 == max(M, N) or z0 == 0"),
        pair("M with N: the larger, where no size is 0", "tools", "z0 == max(M, N)", given="M >= 1 and N >= 1"),
        pair("M with N: one name for both (`shortest-name`)", "tools", "z0 == M and z0 == N", "z0 == M or z0 == N"),
        pair("M with N: one of the two", "tools", "z0 == M or z0 == N"),
        pair("`broadcast(e1, e2)` as a function of its own", "0009", "z0 == broadcast(M, N)"),
        pair("`broadcast` does not depend on the order, where a run succeeds", "0009", "z0 == broadcast(N, M)"),
        Row(
            "`broadcast` may be nested either way, where a run succeeds",
            "0009",
            "z0 == broadcast(A, broadcast(B, C))",
            "A B C",
            model="(float[A] x, float[B] y, float[C] w) => (z) {z = Sum(x, y, w)}",
            runs=ALL,
            out={"z0": (THREE, "z[0]")},
        ),
        Row(
            "N with N is N",
            "0005",
            "z0 == N",
            "N",
            model="(float[N] x, float[N] y) => (z) {z = Add(x, y)}",
            out={"z0": ("N", "z[0]")},
        ),
        beside(1, "N with 1 is N", "0005", "z0 == N"),
        beside(3, "N with 3 is 3", "0005", "z0 == 3"),
        beside(3, "N with 3: the constraint N = 3 is recorded (`max`)", "tools", "N == 3", "N == 3 or N == 1"),
        beside(0, "N with 0 is 0", "0005", "z0 == 0"),
        beside(0, "N with 0: the larger (`max` without its constant rule)", "tools", "z0 == max(N, 0)", "z0 == 0"),
        Row(
            "an expanded tensor has the size that was asked for",
            "tools",
            "z0 == M",
            "N M",
            model="(float[N] x, float[M] y) => (z) {s = Shape(y) z = Expand(x, s)}",
            runs="broadcasts(N, M)",
            out={"z0": ("broadcast(N, M)", "z[0]")},
            instead="z0 == broadcast(N, M)",
        ),
    ],
)
