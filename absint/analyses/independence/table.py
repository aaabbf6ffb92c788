"""The rule of each operator. One that is not listed mixes all rows of its inputs.

Most of the operators that take a batch are data: a text lists for each input the axis of the rows, a dot where it has
none, and after the arrow those of the outputs; `|` separates texts that are true of the same operator.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from absint.analyses.independence.axes import AXES, elementwise, from_axis
from absint.analyses.independence.claims import CLAIMS, COUNTED, NO_SHIFT, SAME, SHARED, Along, Claims, strongest
from absint.analyses.independence.indexing import INDEXING
from absint.analyses.independence.layout import LAYOUT, first_alone
from absint.analyses.independence.seen import Found, Rule, Seen, quotient
from absint.lattices.terms.expr import expr_of, product
from absint.lattices.value import SequenceOf, Value
from absint.program.nodes import Operation
from absint.transfer.traits import RANDOM

# Sequences: a claim is about each element, and about their number.
#
# All claims hold of an empty sequence, so it is bottom: what is inserted decides. Taking an element of it fails.


_OF_ELEMENTS: Final = frozenset(("ConcatFromSequence", "Identity", "SequenceAt", "SequenceErase"))
"""They give elements, or fail."""


def of_empty(operator: str, inputs: Sequence[Claims | None], values: Sequence[Value]) -> Sequence[Claims | None] | None:
    """The inputs of an operator of which some are bottom, as its rule sees them; None if all its outputs are bottom."""
    if operator in _OF_ELEMENTS:
        return None
    if operator == "SequenceInsert" and inputs[0] == CLAIMS.bottom:
        inputs = [inputs[1], *inputs[1:]]
    known = zip(inputs, values, strict=False)
    found = [SAME if one == CLAIMS.bottom and isinstance(value, SequenceOf) else one for one, value in known]
    return None if CLAIMS.bottom in found else found


def constructed(seen: Seen) -> Iterable[Along]:
    ranks = {seen.rank(index) for index in range(len(seen.inputs))}
    if len(ranks) != 1 or None in ranks:
        return ()
    return strongest(frozenset.intersection(*map(seen.claims, range(len(seen.inputs)))))


def inserted(seen: Seen) -> Iterable[Along]:
    """A claim that holds of the sequence and of what is put in; a position moves elements, and their number grows."""
    at = seen.claims(2)
    is_ranked = seen.rank(1) is not None and seen.output().rank == seen.rank(1)
    kept = strongest(seen.claims(0) & seen.claims(1)) if COUNTED in at and is_ranked else ()
    return [c if SHARED in at else c._replace(shift=None) for c in kept]


def taken(seen: Seen) -> Iterable[Along]:
    """An element of a sequence, or a sequence without one."""
    at = seen.claims(1)
    kept = seen.along(0) if COUNTED in at else ()
    return [c if SHARED in at and c.is_free else c._replace(shift=None) for c in kept]


def taken_apart(seen: Seen) -> Iterator[Along]:
    """Parts along an axis; without sizes each has one place, and no axis for it if `keepdims` is 0."""
    axis = seen.axis_of(0, seen.attribute("axis", 0))
    is_squeezed = not seen.has(1) and not seen.attribute("keepdims", 1)
    for at in range(seen.rank(0) or 0):
        if axis is not None and at != axis:
            found = seen.pointwise(at - (is_squeezed and at > axis), [at, None], first_alone)
            yield from (claim.uniform for claim in found)


def put_together(seen: Seen) -> Iterator[Along]:
    rank, is_new, axis = seen.rank(0), seen.attribute("new_axis", 0), seen.attribute("axis", 0)
    after = seen.output()
    if rank is None or after.rank != rank + is_new or not -after.rank <= axis < after.rank:
        return
    axis %= after.rank
    for claim in (claim.uniform for claim in seen.along(0)):
        if is_new or claim.axis != axis:
            yield claim._replace(axis=claim.axis + (bool(is_new) and claim.axis >= axis))
        else:
            outer = quotient(after[axis], product([expr_of(seen.sizes.rows), claim.inner]))
            if outer is not None and seen.sizes.is_fixed(outer):
                yield claim._replace(outer=outer)


SEQUENCES: Final[Mapping[str, Rule]] = {
    "ConcatFromSequence": put_together, "SequenceAt": taken, "SequenceConstruct": constructed, "SequenceErase": taken,
    "SequenceInsert": inserted, "SplitToSequence": taken_apart,
}  # fmt: skip


# Products of matrices: rows stay apart along all axes that are not summed over


def matmul(a: int = 0, b: int = 1) -> Rule:
    """Inputs a and b are multiplied; others are the same for all rows."""

    def rule(seen: Seen) -> Iterable[Along]:
        by_batch = any(seen.attribute(name, 0) for name in ("transBatchA", "transBatchB"))
        return () if by_batch else _product(seen, a, b)

    return rule


def _product(seen: Seen, a: int, b: int) -> Iterator[Along]:
    left, right = seen.rank(a), seen.rank(b)
    if left is None or right is None or not left or not right:
        return
    stacked = max(left, right, 2) - 2
    flips = [bool(seen.attribute(name, 0)) for name in ("transA", "transB")]
    for axis in range(stacked):
        places = _nowhere(seen)
        places[a] = axis - stacked + left - 2 if left - 2 >= stacked - axis else None
        places[b] = axis - stacked + right - 2 if right - 2 >= stacked - axis else None
        yield from seen.pointwise(axis, places)
    if left > 1:
        places = _nowhere(seen)
        places[a] = left - 1 if flips[0] else left - 2
        yield from seen.pointwise(stacked, places)
    if right > 1:
        places = _nowhere(seen)
        places[b] = right - 2 if flips[1] else right - 1
        yield from seen.pointwise(stacked + (left > 1), places)


def _nowhere(seen: Seen) -> list[int | None]:
    return [None] * len(seen.inputs)


def gemm(seen: Seen) -> Iterator[Along]:
    added = seen.rank(2) if seen.has(2) else 0
    if added is None or seen.rank(0) != 2 or seen.rank(1) != 2 or (seen.version < 7 and seen.operator == "Gemm"):
        return
    for axis in range(2):
        of_sum = axis - 2 + added
        places: list[int | None] = [None, None, of_sum if of_sum >= 0 else None]
        flipped = bool(seen.attribute("transB" if axis else "transA", 0))
        places[axis] = (not flipped if axis else flipped) + 0
        yield from seen.pointwise(axis, places[: len(seen.inputs)])


def einsum(seen: Seen) -> Iterator[Along]:
    text = seen.operation.attributes.get("equation")
    text = text.decode() if isinstance(text, bytes) else text
    if not isinstance(text, str) or "." in text:
        return
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow:
        right = "".join(sorted({letter for letter in left if letter.isalpha() and left.count(letter) == 1}))
    for axis, letter in enumerate(right) if len(terms) == len(seen.inputs) else ():
        if all(term.count(letter) < 2 for term in terms):
            yield from seen.pointwise(axis, [term.index(letter) if letter in term else None for term in terms])


def all_but_last(seen: Seen) -> Found:
    """Rows of the first input are multiplied with packed weights, say, or features are picked."""
    return seen.each([(seen.rank(0) or 0) - 1])


PRODUCTS: Final[Mapping[str, Rule]] = {
    "MatMul": matmul(), "MatMulInteger": matmul(), "QLinearMatMul": matmul(0, 3),
    **dict.fromkeys((f"com.microsoft::{name}MatMul" for name in ("Fused", "Transpose")), matmul()),
    **dict.fromkeys((f"com.microsoft::MatMulInteger{name}" for name in ("16", "ToFloat")), matmul()),
    "com.microsoft::FusedMatMulActivation": matmul(), "com.microsoft::QGemm": matmul(0, 3), "Gemm": gemm,
    "com.microsoft::FusedGemm": gemm, "Einsum": einsum,
    **dict.fromkeys((f"com.microsoft::MatMul{name}" for name in ("Bnb4", "FpQ4", "NBits")), all_but_last),
}  # fmt: skip


# By operator


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
                if axis != ".":
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
