"""Nodes at the edge of what is legal: a rank, a number or a list off by one, an input too many. A fault in what a
specification demands shows at one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.research.specification.learning import ML, votes
from absint.research.specification.node import Attribute
from absint.research.specification.sequences import GRAMS
from absint.research.specification.specs import MICROSOFT, Instance, at, follows

_ADDED: Final = [at("N", "D E", broadcast=1, last=6), at("N C H W", "D E", broadcast=1, axis=3, last=6)]


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

EDGES: Final[Mapping[str, Sequence[Instance]]] = {
    "Add": _ADDED,
    "AveragePool": [
        *[at("N C H W", kernel_shape=[2, 2], strides=[0, 1]), at("N C H W", kernel_shape=[2, 2], strides=[0, 0])],
        *[at("N C"), at("N C H", kernel_shape=[2], pads=[2, 0]), at("N C H", kernel_shape=[2], pads=[0, 2])],
        *[at("N C D H W", kernel_shape=[2] * 3), at("N C D H W E", kernel_shape=[1] * 4)],
    ],
    "AffineGrid": [at("N 2", "= n c h w")],
    "ArgMax": [at("int32: = 1 7 7", first=11)],
    "ArgMin": [at("int32: = 7 1 1", first=11)],
    "Attention": [
        *[at("B 2 S", "C 2 L 3", "D 2 M 4"), at("B 2 S 3", "C 2 L 3", "D 2 M")],
        at("B S 6", "B L 4", "B L 8", q_num_heads=3, kv_num_heads=2),
        at("B H S 3", "B K L 3", "B K L 3", q_num_heads=4, kv_num_heads=2, last=24),
        at("B 2 S 3", "B 2 L 3", "B 2 L 4", scale=0.0),
    ],
    "BatchNormalization": [at("N C H", "A", "B", "D", "E 1")],
    "BitwiseNot": [at("uint8: = 1 2")],
    "CastLike": [at("N C", "float8e4m3fn: K", saturate=0, first=19)],
    "Clip": [at("N", None, "K", first=11), at("N", "K L", first=11)],
    "Col2Im": [at("N C L", "= 6 6", "= 3 2", strides=[2, 1], pads=[1, 0, 2, 3])],
    "ConvTranspose": [
        *[at("N C H W", "D M 3"), at("N C H", "D M 3", "B 1"), at("N C H", "D M 3", output_shape=[1])],
        at("N C H W", "D M 3 3", output_shape=[9, 0]),
    ],
    "Concat": [at("N C H", "M D", "L E", axis=1, first=4)],
    "Crop": [at("N C H W", border=[1, -1, 0, 0])],
    "CumSum": [at("N C", "1x1= 0"), at("N C", ". 0", reverse=2)],
    "DFT": [
        *[at("B N 2", "= n"), at("B N 2", "= n m"), at("B N M 1", first=20), at("B N 2", axis=2, last=19)],
        *[at("B N 2", None, ". -1", first=20), at("B N M 2", None, ". 1", onesided=1, inverse=1, first=20)],
    ],
    "DeformConv": [*[at("N C H W", "M D 2 2", "N 8 I J", offset_group=0), at("N C H W", "M D 2 2", "N 8 I")]],
    "DepthToSpace": [at("N C H W", blocksize=1)],
    "Det": [at("N")],
    "Dropout": [
        *[at("float: = 2 3", last=6), at("float: = 2 3", "float: . 1/2", first=12)],
        at("float: = 2 3", "float: . 1/2", "bool: . 1", first=12),
    ],
    "Einsum": [at("I J", equation="i->i")],
    "GatherND": [at("2x2x2= a b c d e 1 f 2", "1x2= 1 0")],
    "GlobalAveragePool": [at("N C D H W"), at("N C D H W E")],
    "GridSample": [
        *[at("N C D H W", "M I J K 3", mode=mode, first=20) for mode in ("cubic", "linear")],
        at("N C D H W", "M I J K 3"),
    ],
    "GatherElements": [at("N C", "int64=0: I"), at("", "int64=0:")],
    "Gemm": [at("M K", "L N", "D", last=6), at("M K", "L", "", first=7)],
    "GroupNormalization": [*[at("N C H", "C", "C", num_groups=groups, first=21) for groups in (0, 1)]],
    "HannWindow": [at("= n"), at("= 3")],
    "InstanceNormalization": [at("N C H", "A 1", "B")],
    "LRN": [at("N C H", size=3), *[at("N C H W", size=size) for size in (-1, 1, 2)]],
    "LinearAttention": [
        at("B S 6", "B S 4", "B S V", outputs=2, update_rule="linear", q_num_heads=3, kv_num_heads=2, first=27)
    ],
    "LpNormalization": [at("N C", p=3)],
    "MatMul": [at("", "N"), at("N", ""), at("", "")],
    "MatMulInteger": [
        at("uint8: N K", "uint8: L M", None, "uint8: Y Z"),
        at("uint8: B N K", "uint8: D L M", None, "uint8: X Y Z"),
    ],
    "MaxUnpool": [
        *[at("N C H", "int64=0: N C", kernel_shape=[2]), at("N C H", "int64=0: N C H", kernel_shape=[2])],
        *[at("N C", "int64=0: N C"), at("N C H", "int64=0: N C H", kernel_shape=[2, 2])],
        at("N C H", "int64=0: N C H", "= n c", kernel_shape=[2]),
        *[at("N C H", "int64=0: N C H", kernel_shape=[2], pads=pads) for pads in ([2, 0], [0, 2])],
        at("N C D H W", "int64=0: N C D H W", kernel_shape=[2] * 3, strides=[2] * 3),
        at("N C D H W E", "int64=0: N C D H W E", kernel_shape=[1] * 4),
    ],
    "MaxRoiPool": [at("N C H W", "R 5", pooled_shape=[2])],
    "Mod": [at("N", "M"), at("N", "M", fmod=1)],
    "OneHot": [at("int64: N", ". 3", "2 1"), at("int64: N", ". 3", "2", axis=2)],
    "Pad": [
        at("N C", "= 0 1 0 2", mode="other", first=11),
        at("N C", "= 0 1 0 1", "K", mode="edge", first=11),
        *[at("= a b c", "= 1 1", mode="reflect", first=11), at("= a b", "= -1 -1", first=11)],
    ],
    "Pow": [at("= 2 a", "= -1 1", first=12)],
    "QLinearConv": [at("uint8: N C H", "A", "uint8: B", "uint8: M D 3", "P", "uint8: Q", "E", "uint8: F")],
    "QLinearMatMul": [at("uint8: N K", "A", "uint8: B", "uint8: L M", "P", "uint8: Q", "E", "uint8: F")],
    "QuantizeLinear": [
        at("N C", "K 1", first=13, last=20),
        at("N C", "K", "uint8: L 1", first=13, last=20),
        at("N C", "M", block_size=2, first=21, last=27),
    ],
    "Range": [at(". a", ". b", ". 0")],
    "Reciprocal": [at("float: = -1 1", first=6), at("float: = 0", first=6)],
    "ReduceSum": [
        at("= a b", "=", noop_with_empty_axes=1, first=13),
        at("= a b", "= 0", noop_with_empty_axes=1, first=13),
    ],
    "Resize": [
        *[at("N C", "float: =", "float: = 1 2", "= n c", first=11), at("N C", "float: =", "float: = 2", first=11)],
        at("1 1 H W", None, None, "= h w", axes=[2, 3], mode="linear", antialias=1, exclude_outside=1, first=18),
        *[
            at("1 1 4 4", None, None, "= 1 1 3 3", mode="linear", keep_aspect_ratio_policy=policy, first=18)
            for policy in ("not_larger", "not_smaller")
        ],
        *[
            at(dims, None, None, f"= {dims.lower()}", mode=mode, first=18)
            for mode in ("linear", "cubic")
            for dims in ("N C H", "N C H W", "N C D H W")
        ],
    ],
    "RoiAlign": [
        *[at("N C H W", "R 4 1", "int64=0: R", last=21), at("N C H W", "R 4", "int64=0: R 1", last=21)],
        *[
            at("N C H W", "R 4", "int64=0: R", output_width=0, last=21),
            at("N C H W", "R 4", "int64=0: R", mode="other", last=21),
        ],
        at("N C H W", "R 4", "int64=0: R", sampling_ratio=-1, last=21),
    ],
    "ReverseSequence": [at("N C", "int64=0: B 1")],
    "RotaryEmbedding": [
        *[at("B S 8", "P 4", "P 4", "int64=0: B S", num_heads=1), at("B 4", "C T 2", "C T 2")],
        at("B H S 4", "P 2", "P 2", "int64=0: B S", num_heads=-1),
    ],
    "Round": [at("float: = 7/4 3/8 5/2 3/2 7/2 -5/2 -7/4 1/2")],
    "STFT": [at("B N", ". 1", None, ". 2"), at("B N 1 1", ". 1", None, ". 2"), at("B N 1", ". 2", None, ". n")],
    "ScatterElements": [at("N C", "int64=0: I", "I")],
    "ScatterND": [at("N C", "int64=0: I 3", "I"), at("N C", "int64=0: I 1", "I")],
    "Shape": [at("N C H", start=-9, first=15), at("N C H", start=-1, first=15)],
    "Trilu": [at("2x2= a b c d", first=14)],
    "Slice": [
        *[at("= a b c d", "= -1", f"= {end}", "= 0", "= -1", first=10) for end in (-4, -9)],
        at("N C", "= 1", "= 3 4", "= 0", first=10),
    ],
    "Split": [
        at("N C", outputs=3, first=18),
        at("N C", outputs=2, axis=0, split=[3, 4], last=1),
        at("= a b c d", outputs=2, split=[1, 3], first=2, last=12),
    ],
    "SplitToSequence": [at("5 C", ". 0"), at("5 C", ". 1")],
    "TfIdfVectorizer": [at("int64: C")._replace(attributes={**GRAMS, "min_gram_length": least}) for least in (0, 3)],
    "TopK": [at("N C", "= k", outputs=2, axis=0, first=10)],
}
"""By operator of ai.onnx."""

MICROSOFTS: Final[Mapping[str, Sequence[Instance]]] = {
    "BranchwiseRMSNorm": [at("N C H", num_branches=-1), *[at(dims, num_branches=2) for dims in ("", "L")]],
    "ConvTransposeWithDynamicPads": [at("N C H", "D 4 3", "= -1 1")],
    "FusedMatMul": [at("K", "L M", transA=1)],
    "GroupQueryAttention": [
        at(*inputs, outputs=3, num_heads=heads, kv_num_heads=groups)
        for heads, groups, inputs in (
            (3, 2, ("B S 24", "B L 16", "B L 16", None, None, "int32=0: B", "int32: . t")),
            (4, 1, ("B S 48", None, None, None, None, "int32=0: B", "int32: . t")),
            (4, 2, ("B S 32", "B L 16", "B L 16", None, "B 2 P 8", "int32=0: B", "int32: . t")),
        )
    ],
    "HyperConnectionPreMix": [at("N C H", "M")],
    "LinearAttention": [
        at("B S 16", "B S 8", "B S 12", outputs=2, update_rule="linear", q_num_heads=4, kv_num_heads=3)
    ],
    "LinearAttentionGate": [at("H", "K", "L")],
    "MRotaryEmbedding": [
        at("B S 16", "int64=0: 3 B S", "P 4", "P 4", mrope_section=section, num_heads=2)
        for section in ([2, 2], [2, -1, 3])
    ]
    + [
        at("B S 16", "int64=0: 3 B S", "P 4", "P 4", mrope_section=[2, 1, 1], num_heads=2, mrope_layout=layout)
        for layout in (1, 2)
    ],
    "MaxpoolWithMask": [at("N C H", "int32=1: M D L", kernel_shape=[2])],
    "MultiHeadAttention": [
        at("B S 8", "B L 8", "B L 6", outputs=3, num_heads=2),
        at("B S 8", "B L 8", "B L 6", None, None, None, "C H P D", "B 2 Q E", outputs=3, num_heads=2),
    ],
    "RotaryEmbedding": [
        at("S 8", "int64=0: K", "P 4", "P 4"),
        at("B H S 4", "int64=0: B S", "P 2", "P 2", num_heads=2, rotary_embedding_dim=-1),
        at("B H S 6", "int64=0: B S", "P 2", "P 2", num_heads=1, rotary_embedding_dim=4),
        at("B H S 4", "int64=0: B S", "P 2 1", "P 2 1"),
        at("B H S 4", "int64=0: B S", "P 2", "P 2", num_heads=-1),
    ],
    "SkipLayerNormalization": [
        at("B S D", "S D", "D"),
        at("S D", "B S D", "D"),
        at("B S D", "D", "D"),
        at("A B S D", "B S D", "D"),
    ],
}
"""By operator of com.microsoft."""

LEARNED: Final[Mapping[str, Sequence[Instance]]] = {
    "FeatureVectorizer": [
        at("N F", "M G", inputdimensions=[2]),
        *[at("N F", other, inputdimensions=[2, 3]) for other in ("M G H", "")],
    ],
    "Imputer": [
        at("N F", imputed_value_int64s=[1]),
        at("int64: N F", imputed_value_floats=[1.0]),
        at("N F", imputed_value_floats=[1.0], imputed_value_int64s=[1]),
    ],
    "LinearClassifier": [
        at("N F", outputs=2, coefficients=[1.0, 2.0], classlabels_ints=[0], intercepts=[1.0]),
        at("N F", outputs=2, coefficients=[1.0, 2.0, 3.0, 4.0], classlabels_ints=[0, 1, 2], intercepts=[1.0, 0.0]),
    ],
    "Scaler": [at("", scale=[1.0], offset=[1.0])],
    "SVMClassifier": [at("N F", outputs=2)._replace(attributes=UNLABELLED)],
    "TreeEnsembleRegressor": [at("N F")._replace(attributes=DEEP)],
    "ZipMap": [
        at("N C", classlabels_int64s=[4, 2], classlabels_strings=["a", "b"]),
        at("N C H", classlabels_int64s=[4, 2, 7]),
    ],
    "CastMap": [at("map K int64:", map_form="SPARSE")],
}
"""By operator of ai.onnx.ml."""

follows(EDGES)
follows(MICROSOFTS, MICROSOFT)
follows(LEARNED, ML)
