"""Nodes beside those of the grids: some whose inputs have known elements, at which the elements of outputs are
compared, and some at the edge of what is legal: a rank, a number or a list off by one, an input too many. A fault in
what a specification demands shows at one of the latter.
"""

from collections.abc import Mapping
from typing import Final

from absint.research.specification.learning import votes
from absint.research.specification.node import Attribute, Held
from absint.research.specification.sequences import GRAMS, POOL
from absint.research.specification.specs import MICROSOFT, ML, Grid, at, follows, instances

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


DEEP: Final[dict[str, Attribute]] = {
    "n_targets": 1,
    "nodes_treeids": [0] * 5,
    "nodes_nodeids": [0, 1, 2, 3, 4],
    "nodes_featureids": [0, 2, 0, 0, 0],
    "nodes_values": [0.5] * 5,
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 3, 0, 0, 0],
    "nodes_falsenodeids": [2, 4, 0, 0, 0],
    "target_treeids": [0] * 3,
    "target_nodeids": [2, 3, 4],
    "target_ids": [0] * 3,
    "target_weights": [1.0] * 3,
}
"""A tree with two branches."""
UNLABELLED: Final = {name: value for name, value in votes(2).items() if name != "classlabels_ints"}

EDGES: Final[Mapping[str, Grid]] = {
    "Add": "N, D E; broadcast=1 last=6 | N C H W, D E; broadcast=1 axis=3 last=6",
    "AveragePool": (
        "N C H W; kernel_shape=[2, 2] strides=[0, 1] | N C H W; kernel_shape=[2, 2] strides=[0, 0] | N C | "
        "N C H; kernel_shape=[2] pads=[2, 0] | N C H; kernel_shape=[2] pads=[0, 2] | "
        "N C D H W; kernel_shape=[2, 2, 2] | N C D H W E; kernel_shape=[1, 1, 1, 1]"
    ),
    "AffineGrid": "N 2, = n c h w",
    "ArgMax": "int32: = 1 7 7; first=11",
    "ArgMin": "int32: = 7 1 1; first=11",
    "Attention": (
        "B 2 S, C 2 L 3, D 2 M 4 | B 2 S 3, C 2 L 3, D 2 M | B S 6, B L 4, B L 8; q_num_heads=3 kv_num_heads=2 | "
        "B H S 3, B K L 3, B K L 3; q_num_heads=4 kv_num_heads=2 last=24 | "
        "B 2 S 3, B 2 L 3, B 2 L 4; scale=0.0 | B 2 S 3, B 2 L 3, B 2 L 4, M | "
        "B 2 S 3, B 2 L 3, B 2 L 4; outputs=2"
    ),
    "BatchNormalization": "N C H, A, B, D, E 1",
    "BitwiseNot": "uint8: = 1 2",
    "CastLike": "N C, float8e4m3fn: K; saturate=0 first=19",
    "Clip": "N, -, K; first=11 | N, K L; first=11",
    "Col2Im": "N C L, = 6 6, = 3 2; strides=[2, 1] pads=[1, 0, 2, 3] | N C L, = 5, = 0",
    "ConvTranspose": (
        "N C H W, D M 3 | N C H, D M 3, B 1 | N C H, D M 3; output_shape=[1] | N C H, D M 3; output_shape=[1, 1] | "
        "N C H W, D M 3 3; output_shape=[9, 0]"
    ),
    "Concat": "N C H, M D, L E; axis=1 first=4",
    "Crop": "N C H W; border=[1, -1, 0, 0] | N C H; border=[1, 1, 0, 0]",
    "CumSum": "N C, 1x1= 0 | N C, . 0; reverse=2",
    "DFT": (
        "B N 2, = n | B N 2, = n m | B N M 1; first=20 | B N 2; axis=2 last=19 | B N 2, -, . -1; first=20 | "
        "B N M 2, -, . 1; onesided=1 inverse=1 first=20"
    ),
    "DeformConv": "N C H W, M D 2 2, N 8 I J; offset_group=0 | N C H W, M D 2 2, N 8 I",
    "DepthToSpace": "N C H W; blocksize=1",
    "Det": "N",
    "Dropout": (
        "float: = 2 3; last=6 | float: = 2 3, float: . 1/2; first=12 | float: = 2 3, float: . 1/2, bool: . 1; first=12"
    ),
    "Einsum": "I J; equation=i->i",
    "GatherND": "2x2x2= a b c d e 1 f 2, 1x2= 1 0",
    "GlobalAveragePool": "N C D H W | N C D H W E",
    "GridSample": (
        "N C D H W, M I J K 3; mode=cubic first=20 | N C D H W, M I J K 3; mode=linear first=20 | N C D H W, M I J K 3"
    ),
    "GatherElements": "N C, int64=0: I | [], int64=0:",
    "Gemm": "M K, L N, D; last=6 | M K, L, []; first=7",
    "GroupNormalization": "N C H, C, C; num_groups=0 first=21 | N C H, C, C; num_groups=1 first=21",
    "HannWindow": "= n | = 3",
    "InstanceNormalization": "N C H, A 1, B",
    "LRN": "N C H; size=3 | N C H W; size=-1 | N C H W; size=1 | N C H W; size=2",
    "LinearAttention": (
        "B S 6, B S 4, B S V; outputs=2 update_rule=linear q_num_heads=3 kv_num_heads=2 first=27 | "
        "B S 8, B S 4, B S 2, -, B S 2, B S 1; outputs=2 update_rule=delta q_num_heads=4 kv_num_heads=2 first=27"
    ),
    "LpNormalization": "N C; p=3",
    "MatMul": "[], N | N, [] | [], []",
    "MatMulInteger": "uint8: N K, uint8: L M, -, uint8: Y Z | uint8: B N K, uint8: D L M, -, uint8: X Y Z",
    "MaxUnpool": (
        "N C H, int64=0: N C; kernel_shape=[2] | N C H, int64=0: N C H; kernel_shape=[2] | N C, int64=0: N C | "
        "N C H, int64=0: N C H; kernel_shape=[2, 2] | N C H, int64=0: N C H, = n c; kernel_shape=[2] | "
        "N C H, int64=0: N C H; kernel_shape=[2] pads=[2, 0] | N C H, int64=0: N C H; kernel_shape=[2] pads=[0, 2] | "
        "N C D H W, int64=0: N C D H W; kernel_shape=[2, 2, 2] strides=[2, 2, 2] | "
        "N C D H W E, int64=0: N C D H W E; kernel_shape=[1, 1, 1, 1]"
    ),
    "MaxRoiPool": "N C H W, R 5; pooled_shape=[2]",
    "MeanVarianceNormalization": "N C H W; axes=[]",
    "Mod": "N, M | N, M; fmod=1",
    "OneHot": "int64: N, . 3, 2 1 | int64: N, . 3, 2; axis=2",
    "Pad": (
        "N C, = 0 1 0 2; mode=other first=11 | N C, = 0 1 0 1, K; mode=edge first=11 | "
        "= a b c, = 1 1; mode=reflect first=11 | = a b, = -1 -1; first=11"
    ),
    "Pow": "= 2 a, = -1 1; first=12",
    "QLinearConv": "uint8: N C H, A, uint8: B, uint8: M D 3, P, uint8: Q, E, uint8: F",
    "QLinearMatMul": "uint8: N K, A, uint8: B, uint8: L M, P, uint8: Q, E, uint8: F",
    "QuantizeLinear": (
        "N C, K 1; first=13 last=20 | N C, K, uint8: L 1; first=13 last=20 | N C, M; block_size=2 first=21 last=27"
    ),
    "Range": ". a, . b, . 0",
    "Reciprocal": "float: = -1 1; first=6 | float: = 0; first=6",
    "ReduceSum": "= a b, =; noop_with_empty_axes=1 first=13 | = a b, = 0; noop_with_empty_axes=1 first=13",
    "Resize": (
        "N C, float: =, float: = 1 2, = n c; first=11 | N C, float: =, float: = 2; first=11 | "
        "1 1 H W, -, -, = h w; axes=[2, 3] mode=linear antialias=1 exclude_outside=1 first=18 | "
        "1 1 4 4, -, -, = 1 1 3 3; mode=linear keep_aspect_ratio_policy=not_larger first=18 | "
        "1 1 4 4, -, -, = 1 1 3 3; mode=linear keep_aspect_ratio_policy=not_smaller first=18 | "
        "N C H, -, -, = n c h; mode=linear first=18 | N C H W, -, -, = n c h w; mode=linear first=18 | "
        "N C D H W, -, -, = n c d h w; mode=linear first=18 | N C H, -, -, = n c h; mode=cubic first=18 | "
        "N C H W, -, -, = n c h w; mode=cubic first=18 | N C D H W, -, -, = n c d h w; mode=cubic first=18"
    ),
    "RoiAlign": (
        "N C H W, R 4 1, int64=0: R; last=21 | N C H W, R 4, int64=0: R 1; last=21 | "
        "N C H W, R 4, int64=0: R; output_width=0 last=21 | N C H W, R 4, int64=0: R; mode=other last=21 | "
        "N C H W, R 4, int64=0: R; sampling_ratio=-1 last=21"
    ),
    "ReverseSequence": "N C, int64=0: B 1",
    "RotaryEmbedding": (
        "B S 8, P 4, P 4, int64=0: B S; num_heads=1 | B 4, C T 2, C T 2 | B H S 4, P 2, P 2, int64=0: B S; num_heads=-1"
    ),
    "Round": "float: = 7/4 3/8 5/2 3/2 7/2 -5/2 -7/4 1/2",
    "STFT": "B N, . 1, -, . 2 | B N 1 1, . 1, -, . 2 | B N 1, . 2, -, . n",
    "ScatterElements": "N C, int64=0: I, I",
    "ScatterND": "N C, int64=0: I 3, I | N C, int64=0: I 1, I | [], int64=0: 0, [] | N C, int64=0:, []",
    "SequenceConstruct": "N, -, M",
    "Shape": "N C H; start=-9 first=15 | N C H; start=-1 first=15",
    "Trilu": "2x2= a b c d; first=14",
    "Slice": (
        "= a b c d, = -1, = -4, = 0, = -1; first=10 | = a b c d, = -1, = -9, = 0, = -1; first=10 | "
        "N C, = 1, = 3 4, = 0; first=10"
    ),
    "Split": (
        "N C; outputs=3 first=18 | N C; outputs=2 axis=0 split=[3, 4] last=1 | "
        "= a b c d; outputs=2 split=[1, 3] first=2 last=12"
    ),
    "SplitToSequence": "5 C, . 0 | 5 C, . 1",
    "TfIdfVectorizer": instances(f"int64: C; {POOL} min_gram_length=0 | int64: C; {POOL} min_gram_length=3", **GRAMS),
    "TopK": "N C, = k; outputs=2 axis=0 first=10",
}
"""By operator of ai.onnx."""

MICROSOFTS: Final[Mapping[str, Grid]] = {
    "BranchwiseRMSNorm": "N C H; num_branches=-1 | []; num_branches=2 | L; num_branches=2",
    "ConvTransposeWithDynamicPads": "N C H, D 4 3, = -1 1",
    "FusedMatMul": "K, L M; transA=1",
    "GroupQueryAttention": (
        "B S 24, B L 16, B L 16, -, -, int32=0: B, int32: . t; outputs=3 num_heads=3 kv_num_heads=2 | "
        "B S 48, -, -, -, -, int32=0: B, int32: . t; outputs=3 num_heads=4 kv_num_heads=1 | "
        "B S 32, B L 16, B L 16, -, B 2 P 8, int32=0: B, int32: . t; outputs=3 num_heads=4 kv_num_heads=2"
    ),
    "HyperConnectionPreMix": "N C H, M",
    "LinearAttention": "B S 16, B S 8, B S 12; outputs=2 update_rule=linear q_num_heads=4 kv_num_heads=3",
    "LinearAttentionGate": "H, K, L",
    "MRotaryEmbedding": [
        f"B S 16, int64=0: 3 B S, P 4, P 4; mrope_section={options} num_heads=2"
        for options in ("[2, 2]", "[2, -1, 3]", "[2, 1, 1] mrope_layout=1", "[2, 1, 1] mrope_layout=2")
    ],
    "MaxpoolWithMask": "N C H, int32=1: M D L; kernel_shape=[2]",
    "MultiHeadAttention": (
        "B S 8, B L 8, B L 6; outputs=3 num_heads=2 | "
        "B S 8, B L 8, B L 6, -, -, -, C H P D, B 2 Q E; outputs=3 num_heads=2"
    ),
    "RotaryEmbedding": (
        "S 8, int64=0: K, P 4, P 4 | B H S 4, int64=0: B S, P 2, P 2; num_heads=2 rotary_embedding_dim=-1 | "
        "B H S 6, int64=0: B S, P 2, P 2; num_heads=1 rotary_embedding_dim=4 | B H S 4, int64=0: B S, P 2 1, P 2 1 | "
        "B H S 4, int64=0: B S, P 2, P 2; num_heads=-1"
    ),
    "SkipLayerNormalization": "B S D, S D, D | S D, B S D, D | B S D, D, D | A B S D, B S D, D",
}
"""By operator of com.microsoft."""

LEARNED: Final[Mapping[str, Grid]] = {
    "FeatureVectorizer": (
        "N F, M G; inputdimensions=[2] | N F, M G H; inputdimensions=[2, 3] | N F, []; inputdimensions=[2, 3] | "
        "N F H; inputdimensions=[2] | []; inputdimensions=[1] | N F; inputdimensions=[-1]"
    ),
    "Imputer": (
        "N F; imputed_value_int64s=[1] | int64: N F; imputed_value_floats=[1.0] | "
        "N F; imputed_value_floats=[1.0] imputed_value_int64s=[1]"
    ),
    "LinearClassifier": (
        "N F; outputs=2 coefficients=[1.0, 2.0] classlabels_ints=[0] intercepts=[1.0] | "
        "N F; outputs=2 coefficients=[1.0, 2.0, 3.0, 4.0] classlabels_ints=[0, 1, 2] intercepts=[1.0, 0.0]"
    ),
    "Scaler": "[]; scale=[1.0] offset=[1.0]",
    "SVMClassifier": instances("N F; outputs=2", **UNLABELLED),
    "TreeEnsembleRegressor": instances("N F", **DEEP),
    "ZipMap": "N C; classlabels_int64s=[4, 2] classlabels_strings=['a', 'b'] | N C H; classlabels_int64s=[4, 2, 7]",
    "CastMap": "map K int64:; map_form=SPARSE",
}
"""By operator of ai.onnx.ml."""

follows(EDGES)
follows(MICROSOFTS, MICROSOFT)
follows(LEARNED, ML)
