"""Attributes that name one of a few ways: a node that names another is illegal."""

from collections.abc import Mapping, Sequence
from typing import Final

from absint.research.specification.node import Node

CHOICES: Final[Mapping[tuple[str, str], Sequence[int | str]]] = {
    ("BitShift", "direction"): ("LEFT", "RIGHT"),
    ("CastMap", "cast_to"): ("TO_FLOAT", "TO_INT64", "TO_STRING"),
    ("CastMap", "map_form"): ("DENSE", "SPARSE"),
    ("CausalConvWithState", "activation"): ("none", "silu", "swish"),
    ("ConvTranspose", "auto_pad"): ("", "NOTSET", "SAME_LOWER", "SAME_UPPER", "VALID"),
    ("DepthToSpace", "mode"): ("CRD", "DCR"),
    ("Gelu", "approximate"): ("none", "tanh"),
    ("LinearAttention", "update_rule"): ("delta", "gated", "gated_delta", "linear"),
    ("MaxPool", "storage_order"): (0, 1),
    ("Mod", "fmod"): (0, 1),
    ("Multinomial", "dtype"): (6, 7),
    ("Normalizer", "norm"): ("L1", "L2", "MAX"),
    ("Resize", "coordinate_transformation_mode"): (
        "align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
        "tf_crop_and_resize", "tf_half_pixel_for_nn",
    ),
    ("Resize", "keep_aspect_ratio_policy"): ("not_larger", "not_smaller", "stretch"),
    ("Resize", "mode"): ("cubic", "linear", "nearest"),
    ("Resize", "nearest_mode"): ("", "ceil", "floor", "round_prefer_ceil", "round_prefer_floor"),
    ("SpaceToDepth", "mode"): ("CRD", "DCR"),
    ("TfIdfVectorizer", "mode"): ("IDF", "TF", "TFIDF"),
}  # fmt: skip
"""By operator of ai.onnx or ai.onnx.ml, and attribute. An empty text is what runtimes take for none."""

NEWEST_TYPE: Final = 28
"""The greatest number of an element type of TensorProto."""


def demand_choices(node: Node) -> None:
    """Raise IllegalError if an attribute names none of its ways."""
    for name, value in node.attributes.items():
        if name in ("dtype", "to") and isinstance(value, int):
            node.demand(1 <= value <= NEWEST_TYPE, f"{name} must be a type of elements")
        known = CHOICES.get((node.operator, name))
        node.demand(known is None or value in known, f"{name} must be one of {known}")
