"""Attributes that the grids leave out: each is set at nodes of several kinds.

Two nodes are of one kind if the ranks, types and containers of their inputs are the same, and the same inputs are left
out. Most of these attributes change no size: that they do not is what is compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from absint.research.specification.node import Attribute
from absint.research.specification.specs import Argument, Instance, varies

KINDS: Final = 3
"""Nodes at which each value is set, of different kinds if there are as many."""

TRUTHS: Final = (0, 1)
FACTORS: Final = (0.5, 2.0)
TYPES: Final = (1, 7)
"""FLOAT and INT64."""

Values = Mapping[str, Sequence[Attribute]]

_EPSILON: Final[Values] = {"epsilon": (0.5, 0.001), "stash_type": (1, 10)}
_DRAWN: Final[Values] = {"dtype": (1, 11), "seed": FACTORS}
_LAYER: Final[Values] = {"activation_alpha": ([0.5], [2.0]), "activation_beta": ([0.5], [2.0]), "clip": FACTORS}

_VALUES: Final[Mapping[str, Values]] = {
    "AffineGrid": {"align_corners": TRUTHS},
    "ArgMax-12 ArgMin-12": {"select_last_index": TRUTHS},
    "Attention": {
        "is_causal": TRUTHS,
        "qk_matmul_output_mode": (0, 3),
        "scale": FACTORS,
        "softcap": FACTORS,
        "softmax_precision": (1, 11),
    },
    "Attention-25": {"left_window_size": (-1, 2), "right_window_size": (-1, 2)},
    "AveragePool-7": {"count_include_pad": TRUTHS},
    "BatchNormalization": {"epsilon": _EPSILON["epsilon"], "momentum": FACTORS},
    "BatchNormalization-14": {"training_mode": TRUTHS},
    "Bernoulli": _DRAWN,
    "BitCast": {"to": (1, 6, 12)},
    "BlackmanWindow HammingWindow HannWindow": {"output_datatype": (1, 11), "periodic": TRUTHS},
    "Cast-19 CastLike-19": {"saturate": TRUTHS},
    "Cast-24 CastLike-24": {"round_mode": ("up", "nearest")},
    "CausalConvWithState": {"activation": ("none", "silu")},
    "Celu Elu LeakyRelu SwiGLU Swish ThresholdedRelu": {"alpha": FACTORS},
    "ConvInteger QLinearConv": {"auto_pad": ("VALID", "SAME_UPPER"), "group": (1, 2)},
    "DeformConv": {"group": (1, 2), "offset_group": (1, 2)},
    "DepthToSpace-11 SpaceToDepth-28": {"mode": ("DCR", "CRD")},
    "DequantizeLinear-13 QuantizeLinear-13": {"axis": (0, -1)},
    "DequantizeLinear-23": {"output_dtype": (1, 10)},
    "Dropout-12": {"seed": TRUTHS},
    "EyeLike": {"dtype": TYPES, "k": (1, -2)},
    "GRU": {**_LAYER, "activations": (["Relu", "Tanh"], ["Tanh", "Relu"] * 2)},
    "GRU-3": {"linear_before_reset": TRUTHS},
    "GRU-14 LSTM-14 RNN-14": {"layout": TRUTHS},
    "Gelu": {"approximate": ("none", "tanh")},
    "Gemm HardSigmoid": {"alpha": FACTORS, "beta": FACTORS},
    "GlobalLpPool-2 LpNormalization LpPool-2": {"p": (1, 2)},
    "GridSample": {"align_corners": TRUTHS, "padding_mode": ("zeros", "border", "reflection")},
    "GridSample-20": {"mode": ("linear", "nearest", "cubic")},
    "GroupNormalization": {"epsilon": _EPSILON["epsilon"], "stash_type": _EPSILON["stash_type"]},
    "InstanceNormalization": {"epsilon": _EPSILON["epsilon"]},
    "IsInf": {"detect_negative": TRUTHS, "detect_positive": TRUTHS},
    "LRN": {"alpha": FACTORS, "beta": FACTORS, "bias": FACTORS, "size": (1, 3)},
    "LSTM": {**_LAYER, "activations": (["Relu", "Tanh", "Relu"], ["Tanh"] * 6), "input_forget": TRUTHS},
    "LayerNormalization RMSNormalization": {"axis": (0, -2), **_EPSILON},
    "LinearAttention": {"chunk_size": (2, 64), "scale": FACTORS},
    "MaxPool-8": {"storage_order": TRUTHS},
    "MaxRoiPool": {"spatial_scale": FACTORS},
    "MeanVarianceNormalization": {"axes": ([0], [-1])},
    "MelWeightMatrix": {"output_datatype": (1, 11)},
    "Mod-10": {"fmod": TRUTHS},
    "Multinomial": {"dtype": (6, 7), "sample_size": (1, 3), "seed": FACTORS},
    "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss": {"ignore_index": (0, -1)},
    "Pad-11": {"mode": ("constant",)},
    "QuantizeLinear-19": {"saturate": TRUTHS},
    "QuantizeLinear-21": {"output_dtype": (2, 3)},
    "QuantizeLinear-23": {"precision": (0, 1)},
    "RNN": {**_LAYER, "activations": (["Relu"], ["Tanh"] * 2)},
    "RandomNormal RandomNormalLike": {**_DRAWN, "mean": FACTORS, "scale": FACTORS},
    "RandomUniform RandomUniformLike": {**_DRAWN, "high": (1.5, 3.0), "low": (0.25, -1.0)},
    "Range-27": {"stash_type": (1, 11)},
    "Resize-11": {
        "coordinate_transformation_mode": ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"),
        "cubic_coeff_a": (-0.5, -0.75),
        "exclude_outside": TRUTHS,
        "extrapolation_value": FACTORS,
        "nearest_mode": ("floor", "ceil", "round_prefer_ceil"),
    },
    "Resize-18": {"antialias": TRUTHS},
    "ReverseSequence": {"batch_axis": TRUTHS, "time_axis": TRUTHS},
    "RoiAlign": {
        "mode": ("avg", "max"),
        "output_height": (1, 3),
        "output_width": (1, 3),
        "sampling_ratio": (0, 2),
        "spatial_scale": FACTORS,
    },
    "RoiAlign-16": {"coordinate_transformation_mode": ("half_pixel", "output_half_pixel")},
    "RotaryEmbedding": {"interleaved": TRUTHS, "num_heads": (2,), "rotary_embedding_dim": (4,)},
    "ScatterND-16": {"reduction": ("none", "mul")},
    "Selu": {"alpha": FACTORS, "gamma": FACTORS},
    "SequenceEmpty": {"dtype": TYPES},
    "Shrink": {"bias": FACTORS, "lambd": FACTORS},
    "TensorScatter": {"mode": ("linear", "circular")},
    "TopK-11": {"largest": TRUTHS, "sorted": TRUTHS},
}
VARIED: Final = {name: values for names, values in _VALUES.items() for name in names.split()}
"""By operator of ai.onnx, with the version from which it has the attributes."""


def varied(operator: str, version: int, grid: Sequence[Instance]) -> Iterator[Instance]:
    """The nodes of a grid with each value of each attribute that the operator has at the version."""
    chosen = list({_kind(instance): instance for instance in grid}.values())[:KINDS]
    for name, attributes in VARIED.items():
        of, _, first = name.partition("-")
        for attribute, values in attributes.items() if of == operator and version >= int(first or 1) else ():
            for value in values:
                for instance in chosen:
                    yield instance._replace(attributes={**instance.attributes, attribute: value})


def _kind(instance: Instance) -> object:
    return tuple(map(_form, instance.inputs)), instance.outputs


def _form(argument: Argument | None) -> object:
    if argument is None:
        return None
    holder = None if argument.holder is None else argument.holder.kind
    return len(argument.dims), argument.elements is not None, argument.dtype, holder


varies(varied)
