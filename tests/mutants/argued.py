"""Faults in specifications that nothing can see, with the reason, and nodes of which nothing is specified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.research.specification.attention import GROUPS
from absint.research.specification.learning import TREE
from absint.research.specification.recurrent import GATED
from absint.research.specification.specs import MICROSOFT, Instance, at

ARGUED: Final[Sequence[tuple[str, str, str]]] = (
    ("", r"True becomes False in: .*strict=True", "the lengths are equal: what is before demands that"),
    ("", r"^0 becomes \(-1\) .* after .*\b(given|listed|chosen|bins|length)\[$", "of one number the first is the last"),
    (
        "",
        r"^0 becomes \(-1\) .* after .*\b(bias|regions|slope|scale|vector|images|batch|given|input\(\d\))\.dims\[$",
        "a vector has one axis",
    ),
    ("", r"^0 becomes \(-1\) .* after return node\.through\(.*\)\[$", "there is one output"),
    ("contents", r"(and becomes or|any becomes all) in: tuple\(array", "what is not followed would be right too"),
    ("contents", r"<= becomes < in: tuple\(array", "1,024 elements tell, and each takes a proof"),
    ("contents", r"0 becomes 1 in: left, most = ", "both inputs have one type"),
    ("contents", "11 becomes 10 in: if node.version < 11", "Clip has the versions 6 and 11"),
    ("placing", "1[01] becomes (9|10) in: if node.", "Slice has the versions 1 and 10, Pad 2 and 11"),
    ("placing", r"\* becomes \+ in: bounded\(", "what is not followed would be right too"),
    ("placing", r"(< becomes <=|0 becomes 1) in: stop = None", "a step is not 0"),
    ("placing", "any becomes all in: return FALSE", "all elements of a tensor are truths, or none"),
    ("images", "20 becomes 19 in: names = ", "GridSample has the versions 16 and 20"),
    ("images", r"0 becomes \(-1\) in: mode = ", "the first and the last mode mean the same sizes"),
    ("layout", "18 becomes 17 in: elif node.version < 18", "Split has the versions 13 and 18"),
    ("layout", "11 becomes 10 in: pads = ", "Pad has the versions 2 and 11"),
    ("reshaping", "10 becomes 9 in: if node.version < 10", "Slice has the versions 1 and 10"),
    ("reshaping", "1 becomes 0 in: signed = ", "all inputs have the same names"),
    ("reshaping", r"in: (if step [<>] 0|inside = place < last if step > 0)", "a step is not 0"),
    ("elementwise", r"28 becomes 27 in: if node.operator == .Mod", "Mod has the versions 13 and 28"),
    ("elementwise", r"0 becomes 1 in: if node.operator == .Mod", "both inputs have one type"),
    ("attention", r"0 becomes 1 in: (packed = |if node\.version >= 25 and)", "Q and K have one form"),
    (
        "gates",
        r"1 becomes 0 in: node\.axis\(node\.integer\(.axis., -1\)",
        "where there is an axis -1 there is an axis 0",
    ),
    ("reductions", "14 becomes 13 in: if node.version >= 14", "BatchNormalization has the versions 9 and 14"),
    (
        "reductions",
        r"(13 becomes 12|1 becomes 0) in: node\.axis\(node\.integer\(.axis., 1 if node",
        "Softmax has the versions 11 and 13, and where there is an axis -1 there is an axis 0",
    ),
    ("reductions", "20 becomes 19 in: default = ", "DFT has the versions 17 and 20"),
    ("reductions", r"2 becomes 1 in: node\.demand\(node\.integer\(.p., 2\)", "either default is one of both"),
    ("sequences", "1 becomes 2 in: if not node.integer", "any number but 0 keeps the axis"),
    ("sequences", "1 becomes 2 in: return held", "any number but 0 keeps the axis"),
    ("reductions", "1 becomes 2 in: bins = ", "any number but 0 means one side"),
    ("indexing", r"0 becomes \(-1\) in: node\.axis\(number", "where there is an axis 0 there is an axis -1"),
    ("indexing", "10 becomes 9 in: given = ", "TopK has the versions 1 and 10"),
    ("elementwise", "any becomes all in: for divisor", "all elements of a tensor are integers, or none"),
    ("windows", r"1 becomes 2 in: node\.demand\(min\(groups", "without the attribute there is a group"),
    ("reductions", r"1 becomes 0 in: if node\.integer\(.size.\) < 1", "0 is even"),
    ("windows", "4 becomes 5 in: return sliding", "ConvInteger has four inputs"),
    (
        "attention",
        r"1 becomes 0 in: node\.requires\(either\(equal\(length",
        "it tells without keys, and nothing runs there",
    ),
    ("windows", r"in: (area = |node\.limits\(area )", "only sizes near 2**31 tell, and nothing runs there"),
)
"""Module, what the fault does, and why nothing can see it."""

BEYOND: Final[Mapping[tuple[str, str], Sequence[Instance]]] = {
    ("", "Attention"): [at("B H S 3", "B K L 3", "B K L 3", q_num_heads=4, kv_num_heads=2, first=25)],
    ("", "Constant"): [at(value_int=1, value_float=1.0)],
    ("", "GatherND"): [
        at("N C", "int64=0: 2", batch_dims=1, first=12),
        at("N C", "int64=0: I 1", batch_dims=-1, first=12),
    ],
    ("", "GroupNormalization"): [at("N C H", "C 1", "C", num_groups=1, first=21)],
    ("", "MaxRoiPool"): [at("N C H", "R 5", pooled_shape=[2, 3])],
    ("", "Resize"): [at("100 1", "float: =", "float: =", "= 2 2", first=18, keep_aspect_ratio_policy="not_larger")],
    ("", "RoiAlign"): [at(x, "R 4", "int64=0: R") for x in ("N C H", "N C H W D")],
    ("", "Conv"): [at("N C H", "M D 3", group=0)],
    ("", "ConvInteger"): [at("uint8: N C H", "uint8: M D K", "uint8: 1")],
    ("", "MaxPool"): [
        at("N C H", kernel_shape=[2], dilations=[2], auto_pad="SAME_UPPER"),
        at("N C H W", kernel_shape=[2, 2], dilations=[2, 1], auto_pad="SAME_UPPER"),
    ],
    ("", "ReverseSequence"): [
        *[at("N C", "int64=0: B", batch_axis=a, time_axis=b) for a, b in ((-1, 0), (0, -1), (1, -1), (-1, 1))],
        at("N", "int64=0: B", batch_axis=0, time_axis=1),
    ],
    ("", "STFT"): [at("B N 1", ". 2"), at("B N 1", ". 2", "3 1")],
    ("", "SequenceInsert"): [at("sequence K: N", "M C", ". 0")],
    ("", "SequenceLength"): [at("optional 1: N C")],
    ("", "Softmax"): [at("")],
    ("", "SplitToSequence"): [at("N 6", ". k", axis=1), at("N", ". 2")],
    ("ai.onnx.ml", "TreeEnsembleRegressor"): [at("N F")._replace(attributes={**TREE, "nodes_modes": ["LEAF"]})],
    (MICROSOFT, "Attention"): [at("B S 4", "4 12", "12", "int32=1: B S", num_heads=2)],
    (MICROSOFT, "BiasGelu"): [at("N C", "1 D"), at("", "D")],
    (MICROSOFT, "CausalConvWithState"): [at("B C L", "D 1 K", outputs=2, dilation=2), at("B C L", "D 1 K", ndim=2)],
    (MICROSOFT, "ConvTransposeWithDynamicPads"): [
        *[at("N C H", "D 4 3", "= p 1"), at("N C H", "D 4 3", "= 1 1", auto_pad="SAME_UPPER"), at("N C H", "D 4 3")]
    ],
    (MICROSOFT, "FastGelu"): [at("N C", "1 D"), at("", "D"), at("N", "D")],
    (MICROSOFT, "GatedAdd"): [at("N H", "N H", "N 1", "H")],
    (MICROSOFT, "GroupQueryAttention"): [
        at("B S 32", "B L 16", "B L 16", None, None, "int32=0: B", "int32: . t", outputs=3)._replace(
            attributes={**GROUPS, **more}
        )
        for more in ({"sliding_window_cache": 1}, {"k_quant_type": "PER_TENSOR"})
    ],
    (MICROSOFT, "LinearAttention"): [
        at("B S 16", "B S 8", "B S 12", outputs=2)._replace(attributes={**GATED, **more})
        for more in ({"update_rule": "linear", "state_window": 1}, {"update_rule": "gated"})
    ],
    (MICROSOFT, "MaxpoolWithMask"): [at("N C H", "int32=1: N C", kernel_shape=[2])],
    (MICROSOFT, "MoE"): [
        at("T H", "R E", "4 16 8", None, "F 8 16", None, *extra, k=2) for extra in (["4 8 8"], [None, "4 8"])
    ],
    (MICROSOFT, "MoEGroupRouter"): [at("N 256", "E", "E 256", top_k=2), at("N E", "E", top_k=2, outputs=3)],
    (MICROSOFT, "MultiHeadAttention"): [
        at("B S 8", "B 2 L 4", "B 2 L 3", num_heads=2),
        at("B S 8", "B L 8", "B L 8", None, None, None, None, None, "", num_heads=2),
    ],
    (MICROSOFT, "QMoE"): [
        at("T H", "R E", "uint8: 4 16 4", "4 16", None, "uint8: 4 8 8", "4 8", *extra, k=2)
        for extra in (["uint8: 4 16 4"], [None, "4 16"])
    ],
    (MICROSOFT, "VarlenCausalConvWithState"): [
        at("N C", "D 1 3", "int32: = 0 n", None, "B E P", *extra, outputs=outputs)._replace(attributes=more)
        for outputs, extra, more in (
            (2, (), {"state_update_capacity": 1}),
            (3, (), {}),
            (2, ("int32: = 0",), {}),
            (2, (), {"dilation": 2}),
            (2, (), {"dilations": [2]}),
        )
    ],
}
"""Forms of which nothing is specified: a fault that specifies one is seen."""
