"""The rule of each operator. One that is not listed mixes all rows of its inputs.

Most of the operators that take a batch are data: a text lists for each input the axis of the rows, a dot where it has
none, and after the arrow those of the outputs; `|` separates texts that are true of the same operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from absint.analyses.independence.axes import AXES, elementwise, from_axis
from absint.analyses.independence.claims import NO_SHIFT, Along
from absint.analyses.independence.indexing import INDEXING
from absint.analyses.independence.layout import LAYOUT
from absint.analyses.independence.products import PRODUCTS, all_but_last
from absint.analyses.independence.seen import Found, Rule, Seen
from absint.analyses.independence.sequences import SEQUENCES
from absint.program.nodes import Operation
from absint.transfer.traits import RANDOM

ELEMENTWISE: Final = """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Celu
    Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN
    LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu Shrink
    Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor StringConcat
    RegexFullMatch ParametricSoftplus ScaledTanh MemcpyFromHost MemcpyToHost com.microsoft::BiasGelu
    com.microsoft::FastGelu com.microsoft::Gelu com.microsoft::MurmurHash3 com.microsoft::QLinearAdd
    com.microsoft::QLinearLeakyRelu com.microsoft::QLinearMul com.microsoft::QLinearSigmoid com.microsoft::QLinearWhere
    com.microsoft::QuickGelu ai.onnx.ml::Binarizer ai.onnx.ml::CategoryMapper ai.onnx.ml::LabelEncoder
""".split()  # noqa: SIM905
"""Inputs are broadcast to the shape of the output, and each of its elements is made of one of each."""

_OLD_FORMS: Final = ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "PRelu", "Pow", "Sub", "Xor")
"""Before version 7 they aligned their inputs by an attribute."""

_BATCHED: Final = """
Conv ConvTranspose ConvInteger = 0 . . . > 0
QLinearConv com.microsoft::QLinearConv = 0 . . . . . . . . > 0
GlobalAveragePool GlobalMaxPool GlobalLpPool AveragePool LpPool MaxPool = 0 > 0 | 1 > 1
InstanceNormalization GroupNormalization com.microsoft::GroupNorm = 0 . . > 0
DepthToSpace ImageScaler SpaceToDepth com.microsoft::NhwcMaxPool = 0 > 0
GridSample com.microsoft::GridSample = 0 0 > 0
TensorScatter = 0 0 0 > 0
DeformConv = 0 . 0 . 0 > 0
Col2Im = 0 . . > 0
STFT = 0 . . . > 0
com.microsoft.nchwc::Conv com.microsoft.nchwc::FusedConv = 0 . . 0 > 0
com.microsoft.nchwc::AveragePool com.microsoft.nchwc::GlobalAveragePool com.microsoft.nchwc::GlobalMaxPool = 0 > 0
com.microsoft.nchwc::MaxPool com.microsoft.nchwc::Upsample = 0 > 0
com.microsoft.nchwc::ReorderInput com.microsoft.nchwc::ReorderOutput = 0 > 0
com.microsoft::QLinearAveragePool com.microsoft::QLinearGlobalAveragePool = 0 . . . . > 0
com.microsoft::NhwcConv com.microsoft::NhwcFusedConv com.microsoft::FusedConv = 0 . . 0 > 0
com.microsoft::QAttention = 0 . . . . 0 . . 1 > 0 1
com.microsoft::EmbedLayerNormalization = 0 0 . . . . . 0 0 > 0 0 0
com.microsoft::RotaryEmbedding = 0 0 . . > 0
com.microsoft::MultiHeadAttention = 0 0 0 . 0 0 0 0 . > 0 0 0 0
com.microsoft::Attention = 0 . . 0 1 0 . > 0 1
com.microsoft::GroupQueryAttention = 0 0 0 0 0 0 . . . 0 0 . > 0 0 0
"""
BATCHED: Final[Mapping[str, str]] = {
    name: axes for names, _, axes in (line.partition(" = ") for line in _BATCHED.splitlines()) for name in names.split()
}

_LEARNT: Final = """
    Imputer LinearClassifier LinearRegressor Normalizer OneHotEncoder SVMClassifier SVMRegressor Scaler TreeEnsemble
    TreeEnsembleClassifier TreeEnsembleRegressor
""".split()  # noqa: SIM905


def is_random(seen: Seen) -> bool:
    """Two runs may differ although all inputs are equal."""
    if seen.operator == "Dropout":
        return seen.version < 7 or (seen.has(2) and seen.truth(2) is not False)
    return seen.operation.op_type in RANDOM


@lru_cache(maxsize=1 << 8)
def _batched(text: str) -> Rule:
    """The rule of a text; nothing is claimed of a node with more inputs than it lists."""
    families = [[side.split() for side in family.split(">")] for family in text.split("|")]

    def rule(seen: Seen) -> Found:
        found: dict[int, list[Along]] = {}
        for inputs, outputs in families:
            places = [None if place == "." else int(place) for place in inputs]
            if places[0] is None or len(seen.inputs) > len(places):
                return {}
            for at, axis in enumerate(outputs[: len(seen.outputs)]):
                if axis == ".":
                    continue
                found.setdefault(at, []).extend(seen.led(int(axis), places[: len(seen.inputs)]))
        return found

    return rule


def _typed(seen: Seen) -> Found:
    """Only the type of the second input counts."""
    found = [c for at in range(seen.rank(0) or 0) for c in seen.pointwise(at, [at])]
    return [c if c.is_free else c._replace(shift=None) for c in found]


def _normal_strings(seen: Seen) -> Found:
    """Stop words are left out of the last axis."""
    return elementwise(seen) if seen.rank(0) and not seen.operation.attributes.get("stopwords") else ()


def _grid(seen: Seen) -> Found:
    """The sizes of the second input are known from the output."""
    kept = [(c, seen.is_kept(list(seen.output())[1:], c)) for c in seen.along(0, 0) if seen.output().rank]
    return [c._replace(shift=NO_SHIFT if known and c.is_free else None) for c, known in kept if known is not False]


def _recurrent(cells: int) -> Rule:
    """The inputs are X, W, R, B, sequence_lens and `cells` initial states; an LSTM has peepholes too."""

    def rule(seen: Seen) -> Found:
        apart = 0 if seen.attribute("layout", 0) else 1
        places = [apart, None, None, None, 0, *[apart] * cells, None][: len(seen.inputs)]
        after = [0 if apart == 0 else 2, *[apart] * cells]
        return {at: seen.led(axis, places) for at, axis in enumerate(after) if at < len(seen.outputs)}

    return rule


def _reversed(seen: Seen) -> Found:
    batch, time = seen.attribute("batch_axis", 1), seen.attribute("time_axis", 0)
    return [*seen.each([batch, time])[0], *seen.pointwise(batch, [batch, 0])]


def _attention(seen: Seen) -> Found:
    """Attention of ai.onnx: a mask is broadcast to four axes."""
    mask = seen.rank(3) if seen.has(3) else 0
    if mask is None:
        return {}
    places = [0, 0, 0, 0 if mask == 4 else None, 0, 0, 0][: len(seen.inputs)]
    return {at: seen.led(0, places) for at in range(len(seen.outputs))}


def _rotary(seen: Seen) -> Found:
    places = [0, None, None, 0] if seen.has(3) else [0, 0, 0]
    return seen.led(0, places[: len(seen.inputs)])


def _learnt(seen: Seen) -> Found:
    """Rows of features."""
    if seen.rank(0) != 2:
        return {}
    return {at: seen.pointwise(0, [0]) for at in range(len(seen.outputs))}


def _side_by_side(seen: Seen) -> Found:
    """Features of several inputs."""
    count = len(seen.inputs)
    return seen.pointwise(0, [0] * count) if {seen.rank(at) for at in range(count)} == {2} else ()


def _loss(seen: Seen) -> Found:
    if seen.operation.attributes.get("reduction", "mean") not in ("none", b"none"):
        return {}
    places = [0, 0, None][: len(seen.inputs)]
    return {at: seen.led(0, places) for at in range(len(seen.outputs))}


RULES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(ELEMENTWISE, elementwise),
    **dict.fromkeys(_OLD_FORMS, lambda seen: elementwise(seen) if seen.version >= 7 else {}),
    **AXES, **INDEXING, **LAYOUT, **PRODUCTS, **SEQUENCES, **{name: _batched(text) for name, text in BATCHED.items()},
    **{f"ai.onnx.ml::{name}": _learnt for name in _LEARNT}, "AffineGrid": _grid, "Attention": _attention,
    "CastLike": _typed, "Dropout": lambda seen: seen.each([], (0, 1)), "GRU": _recurrent(1), "LSTM": _recurrent(2),
    "NegativeLogLikelihoodLoss": _loss, "RNN": _recurrent(1), "ReverseSequence": _reversed, "RotaryEmbedding": _rotary,
    "SoftmaxCrossEntropyLoss": _loss, "StringNormalizer": _normal_strings, "TfIdfVectorizer": _learnt,
    "ai.onnx.ml::ArrayFeatureExtractor": all_but_last, "ai.onnx.ml::FeatureVectorizer": _side_by_side,
    "ai.onnx.ml::ZipMap": _learnt, "com.microsoft::SkipLayerNormalization": from_axis(0, 3),
    "com.microsoft::SkipSimplifiedLayerNormalization": from_axis(0, 3),
}  # fmt: skip
"""By operator, with its domain unless it is ai.onnx."""


def rule_of(operation: Operation) -> Rule | None:
    """The rule of an operator: what its rule of shapes says of rows comes first."""
    said = operation.rule.rows if operation.rule is not None else ""
    return _batched(said) if said else RULES.get(operation.operator)
