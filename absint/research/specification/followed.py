"""Nodes whose inputs have known elements: the instances at which the elements of outputs are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.research.specification.node import Held
from absint.research.specification.specs import Instance, at, follows

PAIRS: Final = [at("= a b", "= c d", first=7), at("= a -3", ". 2", first=7), at("= a", "= b 4 c", first=7)]
FOUR: Final = "= a b c d"
TABLE: Final = "2x3= a b c 4 d e"
TRUTHS: Final = [
    at("bool: = p 1 q", "bool: = q r 0", first=7),
    at("bool: 2x1= p 0", "bool: = q 1", first=7),
    at("bool: . p", "bool: . p", first=7),
]
HALVES: Final = at("float: = 5/2 -7/2 1/2 -3 7/4 0")


def _each(operators: Sequence[str], instances: list[Instance]) -> dict[str, list[Instance]]:
    return dict.fromkeys(operators, instances)


FOLLOWED: Final[Mapping[str, list[Instance]]] = {
    **_each(("Add", "Sub", "Mul", "Equal"), [*PAIRS, at(TABLE, "= d 2 e", first=7), at("2x1= a b", "= c 3", first=7)]),
    **_each(("Less", "Greater"), [pair._replace(first=9) for pair in PAIRS]),
    **_each(("LessOrEqual", "GreaterOrEqual"), [pair._replace(first=12) for pair in PAIRS]),
    **_each(("Max", "Min"), [pair._replace(first=12) for pair in PAIRS]),
    **_each(
        ("Div", "Mod"),
        [
            at("= a b", "= 3 4", first=7),
            at("= a -7 7", ". 2", first=7),
            at("= a 5", "= b c", first=7),
            at("= a b", ". 1", first=7),
        ],
    ),
    **_each(("Neg", "Abs", "Sign"), [at("= a -3 0", first=6), at(". a", first=6)]),
    "Relu": [at("int32: = a -3 0", first=14), at("int32: . a-2", first=14)],
    "Pow": [at("= a b", ". 2", first=12), at("= a -3 2", "= 1 3 0", first=12), at("2x1= 3 b", "= 2 1", first=12)],
    "Clip": [
        at("= a -3 9", ". 2", ". 5", first=12),
        at("= a b", ". c", ". d", first=12),
        at("= a b", ". 2", first=12),
        at("= a-3 b", None, ". 2", first=12),
        at("float: = 5 -2 1", min=0.0, max=3.0, last=10),
        at("float: = 5 -2 1", "float: . 0", "float: . 3", first=11),
    ],
    "BitwiseNot": [at("= a -3 0")],
    **_each(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), [at("= 12 -7 0", ". 10"), at("2x1= 5 -1", "= 3 -8")]),
    "BitShift": [at("uint64: = a 5 0", "uint64: = 1 2 3", direction=way) for way in ("LEFT", "RIGHT")],
    **_each(("And", "Or", "Xor"), TRUTHS),
    "Not": [at("bool: = p 0 1"), at("bool: . p")],
    "Where": [
        at("bool: = p 1 0", "= a b c", "= d e 4"),
        at("bool: 2x1= p q", "= a 3", ". b"),
        at("bool: = p q", "bool: = r 1", "bool: = q s"),
    ],
    "Sum": [
        at("float: = 2 1/2", "float: = 3 5/2", first=8),
        at("float: 2x1= 1 4", "float: = 2 3", "float: . -7", first=8),
    ],
    "Sqrt": [at("float: = 9 1 0", first=6)],
    "Reciprocal": [at("float: = 1/4 -1/2 1", first=6)],
    "Dropout": [at("float: = 2 -3", first=7)],
    **_each(("Floor", "Ceil"), [HALVES._replace(first=6)]),
    **_each(("Round", "IsNaN", "IsInf"), [HALVES]),
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
    "ReduceMean": [
        at("float: = 2 5 1 4", last=17),
        at("float: 2x2= 2 4 4 8", axes=[0], keepdims=0, last=17),
        at("float: 2x2= 2 4 3 9", "= 1", first=18),
    ],
    **_each(
        ("ArgMax", "ArgMin"),
        [
            *[at("int32: 2x1= a b", axis=1, keepdims=keepdims, first=11) for keepdims in (0, 1)],
            at("int32: = 3 7 7 3", select_last_index=1, first=12),
        ],
    ),
    "CumSum": [
        *[at(FOUR, ". 0", exclusive=exclusive, reverse=reverse) for exclusive in (0, 1) for reverse in (0, 1)],
        *[at(TABLE, f". {axis}") for axis in (0, -1)],
    ],
    "CumProd": [
        *[at("= a b 3", ". 0", exclusive=exclusive, reverse=reverse) for exclusive in (0, 1) for reverse in (0, 1)],
        at(TABLE, ". 0"),
    ],
    "Cast": [at("= a b", to=7, first=6), at("= a 0", to=9, first=6)],
    "CastLike": [at("bool: = p 1 0", "= 5"), at("= a 0", "bool: . 1"), at("= a -3", ". 0")],
    "Identity": [at("= a b")],
    "Reshape": [at(FOUR, "= 2 2", first=5), at("= a b", "= -1 1", first=5), at(". a", "= 1", first=5)],
    "Flatten": [*[at(TABLE, axis=axis, first=9) for axis in (0, 2)], at(TABLE, axis=-1, first=11)],
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
    "GatherElements": [
        at("= a b c", "= 2 0 -1 0"),
        at(TABLE, "2x2= 2 0 1 -3", axis=1),
        at(TABLE, "1x3= 1 0 -1", axis=0),
    ],
    "GatherND": [
        at("= a b c", "2x1= 2 -3"),
        at(TABLE, "2x2= 0 2 1 -1"),
        at(TABLE, "1x1= 1"),
        at(TABLE, "2x1= 2 0", batch_dims=1, first=12),
    ],
    "ScatterElements": [
        at("= a b c", "= 2 -3", "= d 5"),
        at(TABLE, "2x1= 2 0", "2x1= f 7", axis=1),
        at(TABLE, "1x2= 1 0", "1x2= f 7", axis=0),
        at("= a b", "= 1 1 0", "= c 2 d", reduction="add", first=16),
        *[at("= a b", "= 1 1 0", "= c 2 d", reduction=name, first=18) for name in ("mul", "max", "min")],
    ],
    "ScatterND": [
        at("= a b c", "2x1= 2 0", "= d 5"),
        at(TABLE, "1x1= 1", "1x3= f 7 g"),
        at(TABLE, "2x2= 0 2 1 -3", "= f 7"),
        at("= a b", "2x1= 1 1", "= c 2", reduction="add", first=16),
    ],
    "Pad": [
        at("= a b", "= 1 2", ". c", first=11),
        at("= a b c", "= -1 1", first=11),
        at(TABLE, "= 0 1 1 -2", ". 7", first=11),
        at(TABLE, "= 1 -1", None, "= 1", first=18),
    ],
    "Trilu": [
        *[at("3x3= a b c d e 6 f g h", upper=upper) for upper in (0, 1)],
        *[at(TABLE, f". {k}", upper=upper) for k in (1, -1) for upper in (0, 1)],
        at("bool: 2x2= p 1 q r", upper=0),
    ],
    "ConstantOfShape": [
        at("= 2 3", value=Held("int64", (1,), (4,))),
        at("= 2", value=Held("bool", (1,), (1,))),
        at("=", value=Held("float", (1,), (-2,))),
    ],
    "Slice": [
        at(FOUR, "= 1", "= 3", first=10),
        at(FOUR, "= -1", "= -9", "= 0", "= -2", first=10),
        at(FOUR, "= -3", "= 99", "= 0", "= 2", first=10),
        at(FOUR, "= 3", "= 0", "= 0", "= -1", first=10),
        at(FOUR, starts=[-3], ends=[-1], last=9),
        at(TABLE, starts=[1], ends=[9], axes=[1], last=9),
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
