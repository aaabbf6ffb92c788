"""Nodes whose inputs have known elements: the instances at which the elements of outputs are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from absint.research.specification.node import Held
from absint.research.specification.specs import Grid, at, follows, instances

PAIRS: Final = "= a b, = c d | = a -3, . 2 | = a, = b 4 c"
FOUR: Final = "= a b c d"
TABLE: Final = "2x3= a b c 4 d e"
HALVES: Final = "float: = 5/2 -7/2 1/2 -3 7/4 0"
WAYS: Final = ("exclusive=0 reverse=0", "exclusive=0 reverse=1", "exclusive=1 reverse=0", "exclusive=1 reverse=1")

FOLLOWED: Final[Mapping[str, Grid]] = {
    "Add Sub Mul Equal": instances(f"{PAIRS} | {TABLE}, = d 2 e | 2x1= a b, = c 3", first=7),
    "Less Greater": instances(PAIRS, first=9),
    "LessOrEqual GreaterOrEqual Max Min": instances(PAIRS, first=12),
    "Div Mod": instances("= a b, = 3 4 | = a -7 7, . 2 | = a 5, = b c | = a b, . 1", first=7),
    "Neg Abs Sign": "= a -3 0; first=6 | . a; first=6",
    "Relu": "int32: = a -3 0; first=14 | int32: . a-2; first=14",
    "Pow": "= a b, . 2; first=12 | = a -3 2, = 1 3 0; first=12 | 2x1= 3 b, = 2 1; first=12",
    "Clip": (
        "= a -3 9, . 2, . 5; first=12 | = a b, . c, . d; first=12 | = a b, . 2; first=12 | "
        "= a-3 b, -, . 2; first=12 | float: = 5 -2 1; min=0.0 max=3.0 last=10 | "
        "float: = 5 -2 1, float: . 0, float: . 3; first=11"
    ),
    "BitwiseNot": "= a -3 0",
    "BitwiseAnd BitwiseOr BitwiseXor": "= 12 -7 0, . 10 | 2x1= 5 -1, = 3 -8",
    "BitShift": [f"uint64: = a 5 0, uint64: = 1 2 3; direction={way}" for way in ("LEFT", "RIGHT")],
    "And Or Xor": instances(
        "bool: = p 1 q, bool: = q r 0 | bool: 2x1= p 0, bool: = q 1 | bool: . p, bool: . p", first=7
    ),
    "Not": "bool: = p 0 1 | bool: . p",
    "Where": "bool: = p 1 0, = a b c, = d e 4 | bool: 2x1= p q, = a 3, . b | bool: = p q, bool: = r 1, bool: = q s",
    "Sum": "float: = 2 1/2, float: = 3 5/2; first=8 | float: 2x1= 1 4, float: = 2 3, float: . -7; first=8",
    "Sqrt": "float: = 9 1 0; first=6",
    "Reciprocal": "float: = 1/4 -1/2 1; first=6",
    "Dropout": "float: = 2 -3; first=7",
    "Floor Ceil": f"{HALVES}; first=6",
    "Round IsNaN IsInf": HALVES,
    "ReduceSum ReduceProd ReduceMax ReduceMin": [
        "= a b c; first=12 | = a 3; keepdims=0 first=12",
        *[f"{TABLE}; axes=[{axis}] keepdims={axis} first=12 last=12" for axis in (0, 1)],
        *[f"{TABLE}, = {axis}; keepdims={axis} first=18" for axis in (0, 1)],
        "2x2x2= a b c d e 1 f 2, = 2 0; first=18",
    ],
    "ReduceMean": (
        "float: = 2 5 1 4; last=17 | float: 2x2= 2 4 4 8; axes=[0] keepdims=0 last=17 | "
        "float: 2x2= 2 4 3 9, = 1; first=18"
    ),
    "ArgMax ArgMin": (
        "int32: 2x1= a b; axis=1 keepdims=0 first=11 | int32: 2x1= a b; axis=1 keepdims=1 first=11 | "
        "int32: = 3 7 7 3; select_last_index=1 first=12"
    ),
    "CumSum": [*[f"{FOUR}, . 0; {way}" for way in WAYS], f"{TABLE}, . 0 | {TABLE}, . -1"],
    "CumProd": [*[f"= a b 3, . 0; {way}" for way in WAYS], f"{TABLE}, . 0"],
    "Cast": "= a b; to=7 first=6 | = a 0; to=9 first=6",
    "CastLike": "bool: = p 1 0, = 5 | = a 0, bool: . 1 | = a -3, . 0",
    "Identity": "= a b",
    "Reshape": f"{FOUR}, = 2 2; first=5 | = a b, = -1 1; first=5 | . a, = 1; first=5",
    "Flatten": f"{TABLE}; axis=0 first=9 | {TABLE}; axis=2 first=9 | {TABLE}; axis=-1 first=11",
    "Squeeze": "= a, = 0; first=13 | = a; axes=[0] last=12",
    "Unsqueeze": "= a b, = 0; first=13 | . a, = 0; first=13 | . a; axes=[0] last=12",
    "Transpose": f"= a b; perm=[0] | {TABLE} | 2x1x3= a b c 4 d e; perm=[2, 0, 1]",
    "Concat": (
        f"= a b, = c; axis=0 first=4 | = a, =, = 3 b; axis=0 first=4 | {TABLE}, 2x1= f 7; axis=1 first=4 | "
        f"{TABLE}, 1x3= f 7 g; axis=0 first=4"
    ),
    "Gather": (
        f"= a b c, = 2 0 -1; first=11 | = a b c, . 1 | = a b c, = -3; first=11 | {TABLE}, = 2 0; axis=1 | "
        f"{TABLE}, 2x1= 1 0"
    ),
    "GatherElements": f"= a b c, = 2 0 -1 0 | {TABLE}, 2x2= 2 0 1 -3; axis=1 | {TABLE}, 1x3= 1 0 -1; axis=0",
    "GatherND": (
        f"= a b c, 2x1= 2 -3 | {TABLE}, 2x2= 0 2 1 -1 | {TABLE}, 1x1= 1 | {TABLE}, 2x1= 2 0; batch_dims=1 first=12"
    ),
    "ScatterElements": [
        f"= a b c, = 2 -3, = d 5 | {TABLE}, 2x1= 2 0, 2x1= f 7; axis=1 | {TABLE}, 1x2= 1 0, 1x2= f 7; axis=0 | "
        "= a b, = 1 1 0, = c 2 d; reduction=add first=16",
        *[f"= a b, = 1 1 0, = c 2 d; reduction={name} first=18" for name in ("mul", "max", "min")],
    ],
    "ScatterND": (
        f"= a b c, 2x1= 2 0, = d 5 | {TABLE}, 1x1= 1, 1x3= f 7 g | {TABLE}, 2x2= 0 2 1 -3, = f 7 | "
        "= a b, 2x1= 1 1, = c 2; reduction=add first=16"
    ),
    "Pad": (
        f"= a b, = 1 2, . c; first=11 | = a b c, = -1 1; first=11 | {TABLE}, = 0 1 1 -2, . 7; first=11 | "
        f"{TABLE}, = 1 -1, -, = 1; first=18"
    ),
    "Trilu": [
        "3x3= a b c d e 6 f g h; upper=0 | 3x3= a b c d e 6 f g h; upper=1",
        *[f"{TABLE}, . {k}; upper={upper}" for k in (1, -1) for upper in (0, 1)],
        "bool: 2x2= p 1 q r; upper=0",
    ],
    "ConstantOfShape": [
        at("= 2 3", value=Held("int64", (1,), (4,))),
        at("= 2", value=Held("bool", (1,), (1,))),
        at("=", value=Held("float", (1,), (-2,))),
    ],
    "Slice": (
        f"{FOUR}, = 1, = 3; first=10 | {FOUR}, = -1, = -9, = 0, = -2; first=10 | "
        f"{FOUR}, = -3, = 99, = 0, = 2; first=10 | {FOUR}, = 3, = 0, = 0, = -1; first=10 | "
        f"{FOUR}; starts=[-3] ends=[-1] last=9 | {TABLE}; starts=[1] ends=[9] axes=[1] last=9 | "
        f"{TABLE}, = 1 -1, = 9 -9, = 0 1, = 1 -2; first=10"
    ),
    "Split": (
        f"= a b c, = 1 2; outputs=2 first=13 | {FOUR}; outputs=2 first=2 last=17 | "
        "= a b c; outputs=2 num_outputs=2 first=18"
    ),
    "Expand": "= a b, = 2 2 | = a, = 3 | 2x1= a b, = 1 3",
    "Tile": f"= a b, = 2; first=6 | {TABLE}, = 2 1; first=6 | 2x1= a b, = 1 2; first=6",
    "Range": ". 2, . 9, . 3 | . 5, . 0, . -2",
    "Shape": "N 3 C | N C H; start=1 first=15",
    "Size": "N 3 C",
}
"""By operator of ai.onnx."""

follows(FOLLOWED)
