"""Nodes whose inputs have known elements: the instances at which the elements of outputs are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.specification.specs import Instance, at, follows

PAIRS: Final = [at("= a b", "= c d", first=7), at("= a -3", ". 2", first=7), at("= a", "= b 4 c", first=7)]
FOUR: Final = "= a b c d"
TABLE: Final = "2x3= a b c 4 d e"


def _each(operators: Sequence[str], instances: list[Instance]) -> dict[str, list[Instance]]:
    return dict.fromkeys(operators, instances)


FOLLOWED: Final[Mapping[str, list[Instance]]] = {
    **_each(("Add", "Sub", "Mul", "Equal"), [*PAIRS, at(TABLE, "= d 2 e", first=7), at("2x1= a b", "= c 3", first=7)]),
    **_each(("Less", "Greater"), [pair._replace(first=9) for pair in PAIRS]),
    **_each(("LessOrEqual", "GreaterOrEqual"), [pair._replace(first=12) for pair in PAIRS]),
    **_each(("Max", "Min"), [pair._replace(first=12) for pair in PAIRS]),
    **_each(
        ("Div", "Mod"),
        [at("= a b", "= 3 4", first=7), at("= a -7 7", ". 2", first=7), at("= a 5", "= b c", first=7)],
    ),
    **_each(("Neg", "Abs", "Sign"), [at("= a -3 0", first=6), at(". a", first=6)]),
    **_each(
        ("ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"),
        [
            at("= a b c", first=12),
            at("= a 3", keepdims=0, first=12),
            *[at(TABLE, axes=[axis], keepdims=axis, first=12, last=12) for axis in (0, 1)],
            *[at(TABLE, f"= {axis}", keepdims=axis, first=18) for axis in (0, 1)],
            at("2x2x2= a b c d e 1 f 2", "= 2 0", first=18),
        ],
    ),
    "Cast": [at("= a b", to=7, first=6), at("= a 0", to=9, first=6)],
    "Identity": [at("= a b")],
    "Reshape": [at(FOUR, "= 2 2", first=5), at("= a b", "= -1 1", first=5), at(". a", "= 1", first=5)],
    "Flatten": [at("= a b", axis=0, first=9)],
    "Squeeze": [at("= a", "= 0", first=13), at("= a", axes=[0], last=12)],
    "Unsqueeze": [at("= a b", "= 0", first=13), at(". a", "= 0", first=13), at(". a", axes=[0], last=12)],
    "Transpose": [at("= a b", perm=[0]), at(TABLE), at("2x1x3= a b c 4 d e", perm=[2, 0, 1])],
    "Concat": [
        at("= a b", "= c", axis=0, first=4),
        at("= a", "=", "= 3 b", axis=0, first=4),
        at(TABLE, "2x1= f 7", axis=1, first=4),
        at(TABLE, "1x3= f 7 g", axis=0, first=4),
    ],
    "Gather": [
        at("= a b c", "= 2 0 -1", first=11),
        at("= a b c", ". 1"),
        at("= a b c", "= -3", first=11),
        at(TABLE, "= 2 0", axis=1),
        at(TABLE, "2x1= 1 0"),
    ],
    "Slice": [
        at(FOUR, "= 1", "= 3", first=10),
        at(FOUR, "= -1", "= -9", "= 0", "= -2", first=10),
        at(FOUR, "= -3", "= 99", "= 0", "= 2", first=10),
        at(FOUR, "= 3", "= 0", "= 0", "= -1", first=10),
        at(FOUR, starts=[-3], ends=[-1], last=9),
        at(TABLE, "= 1 -1", "= 9 -9", "= 0 1", "= 1 -2", first=10),
    ],
    "Split": [
        at("= a b c", "= 1 2", outputs=2, first=13),
        at(FOUR, outputs=2, first=2, last=17),
        at("= a b c", outputs=2, num_outputs=2, first=18),
    ],
    "Expand": [at("= a b", "= 2 2"), at("= a", "= 3"), at("2x1= a b", "= 1 3")],
    "Tile": [at("= a b", "= 2", first=6), at(TABLE, "= 2 1", first=6), at("2x1= a b", "= 1 2", first=6)],
    "Range": [at(". 2", ". 9", ". 3"), at(". 5", ". 0", ". -2")],
    "Shape": [at("N 3 C"), at("N C H", start=1, first=15)],
    "Size": [at("N 3 C")],
}
"""By operator of ai.onnx."""

follows(FOLLOWED)

__all__ = ["FOLLOWED"]
