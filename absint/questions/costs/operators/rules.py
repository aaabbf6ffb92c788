"""The table of cost rules: (domain, operator) -> rule, with the definition in words; and the operators without one.

FLOPs are arithmetic operations of any element type, comparisons and logic included. A multiply-accumulate (MAC) is two
of them, an element-wise function one, whatever it takes to compute it. What counts is the operation as it is defined,
once for each element: no algorithm is assumed and nothing is skipped (masked scores count). Scales and zero points
count only where quantising is all that the operator does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from absint.questions.costs.operators import counted, products
from absint.questions.costs.operators.counted import per_input, with_operands
from absint.questions.costs.operators.instance import Rule
from absint.transfer.contrib.image_layouts import NCHWC, NHWC
from absint.transfer.rule import MICROSOFT, ML, ONNX

TRAINING: Final = "ai.onnx.preview.training"


class CostRule(NamedTuple):
    """The cost of an operator, in words and as a function."""

    text: str
    work: Rule


class Family(NamedTuple):
    """Operators of one rule."""

    rule: CostRule
    names: str = ""
    """Operators of ONNX."""
    contributed: str = ""
    """Operators of com.microsoft."""
    others: Mapping[str, str] = {}
    """Operators of other domains, by domain."""

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The domain and the name of each."""
        domains = {ONNX: self.names, MICROSOFT: self.contributed, **self.others}
        return [(domain, name) for domain, names in domains.items() for name in names.split()]


def _stated(work: Rule) -> CostRule:
    """A rule whose docstring is the definition."""
    return CostRule(" ".join((work.__doc__ or "").split()), work)


def _outputs(flops: int, why: str = "", *, given: tuple[int, ...] = ()) -> CostRule:
    """FLOPs per element of the first output, and one more for each input of these indices that is given."""
    return CostRule(f"{_flops(flops)} per output element{why and f': {why}'}", with_operands(flops, *given))


def _inputs(flops: int, output: int = 0, why: str = "") -> CostRule:
    """FLOPs per element of the first input, and per element of the first output."""
    more = f", {_flops(output)} per output element" if output else ""
    return CostRule(f"{_flops(flops)} per input element{more}{why and f': {why}'}", per_input(flops, output))


def _flops(count: int) -> str:
    return f"{count} FLOP{'' if count == 1 else 's'}"


FAMILIES: Final = (
    # Multiply and accumulate
    Family(
        _stated(products.matmul),
        "MatMul MatMulInteger QLinearMatMul",
        "DynamicQuantizeMatMul MatMulBlockQuantizedFp4Weight MatMulBlockQuantizedFp8Weight MatMulBnb4 MatMulFpQ4 "
        "MatMulInteger16 MatMulIntegerToFloat MatMulNBits",
    ),
    Family(_stated(products.fused_matmul), contributed="FusedMatMul FusedMatMulActivation TransposeMatMul"),
    Family(_stated(products.gemm), "Gemm", "FusedGemm GemmFloat8 QGemm"),
    Family(_stated(products.gemm_fast_gelu), contributed="GemmFastGelu"),
    Family(_stated(products.einsum), "Einsum"),
    Family(_stated(products.cdist), contributed="CDist"),
    Family(
        _stated(products.conv),
        "Conv ConvInteger QLinearConv",
        "FusedConv NhwcConv NhwcFusedConv QLinearConv",
        {NCHWC: "Conv", NHWC: "Conv QLinearConv"},
    ),
    Family(
        _stated(products.conv_transpose),
        "ConvTranspose",
        "ConvTransposeWithDynamicPads",
        {NHWC: "ConvTranspose QLinearConvTranspose"},
    ),
    Family(_stated(products.deform_conv), "DeformConv"),
    Family(_stated(products.causal_conv), "CausalConvWithState", "CausalConvWithState"),
    Family(_stated(products.affine_grid), "AffineGrid"),
    Family(_stated(products.recurrent), "LSTM GRU RNN", "DynamicQuantizeLSTM"),
    Family(_stated(products.attention), "Attention"),
    Family(_stated(products.projected_attention), contributed="Attention QAttention"),
    Family(_stated(products.multi_head_attention), contributed="MultiHeadAttention"),
    Family(_stated(products.group_query_attention), contributed="GroupQueryAttention"),
    Family(_stated(products.linear_model), others={ML: "LinearClassifier LinearRegressor"}),
    # Element by element
    Family(
        _outputs(1),
        "Abs Acos Acosh Add And Asin Asinh Atan Atanh Bernoulli BitShift BitwiseAnd BitwiseNot BitwiseOr "
        "BitwiseXor BlackmanWindow Ceil Celu Cos Cosh CumProd CumSum Div Elu Equal Erf Exp Floor Gelu Greater "
        "GreaterOrEqual HammingWindow HannWindow HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log "
        "Mish Mod Mul Neg Not Or PRelu Pow RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range "
        "Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Swish Tan Tanh "
        "ThresholdedRelu Where Xor Scale",
        "DequantizeWithOrder Gelu MulInteger QLinearAdd QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearWhere "
        "QOrderedGelu QuantizeWithOrder QuickGelu Range",
        {ML: "Binarizer Imputer"},
    ),
    Family(_outputs(2), "Affine ImageScaler", "GatedAdd BiasAdd BiasGelu", {ML: "Scaler"}),
    Family(_outputs(3), "ParametricSoftplus ScaledTanh", others={ML: "Normalizer"}),
    Family(_outputs(2, "Swish 1, product 1"), "SwiGLU"),
    Family(_outputs(2, "SiLU 1, product 1"), contributed="ScaledSiLU"),
    Family(_outputs(3, "two products and a sum"), contributed="ComplexMul ComplexMulConj"),
    Family(_stated(counted.optimiser), others={TRAINING: "Adagrad Adam Momentum"}),
    Family(_stated(counted.variadic), "Max Mean Min Sum"),
    Family(_outputs(0, "1 for each bound that is given", given=(1, 2)), "Clip"),
    Family(
        _outputs(1, "the scale; 1 more with a zero point", given=(2,)),
        "QuantizeLinear DequantizeLinear",
        "QuantizeLinear DequantizeLinear",
    ),
    Family(_outputs(1, "the scale; 1 more with a zero point", given=(3,)), contributed="GatherBlockQuantized"),
    Family(_inputs(4, why="minimum, maximum, scale, zero point"), "DynamicQuantizeLinear"),
    Family(_outputs(1, "1 more with a bias", given=(1,)), contributed="FastGelu"),
    Family(_outputs(1, "1 more with a residual", given=(2,)), contributed="BiasDropout BitmaskBiasDropout"),
    Family(_stated(counted.split_gelu), contributed="BiasSplitGelu"),
    Family(_outputs(3, "two products and a sum"), "RotaryEmbedding", "MRotaryEmbedding RotaryEmbedding"),
    # Reductions
    Family(
        _inputs(1),
        "ArgMax ArgMin Col2Im GlobalMaxPool Hardmax NonZero ReduceMax ReduceMin ReduceProd ReduceSum",
        "ReduceSumInteger",
        {NCHWC: "GlobalMaxPool", NHWC: "GlobalMaxPool"},
    ),
    Family(
        _inputs(1, 1),
        "GlobalAveragePool ReduceLogSum ReduceMean",
        "QLinearGlobalAveragePool QLinearReduceMean",
        {NCHWC: "GlobalAveragePool", NHWC: "GlobalAveragePool"},
    ),
    Family(_inputs(2), "ReduceL1 ReduceSumSquare"),
    Family(_inputs(2, 1), "GlobalLpPool ReduceL2 ReduceLogSumExp", others={NHWC: "GlobalLpPool"}),
    Family(_stated(counted.scatter), "Scatter ScatterElements ScatterND"),
    # Normalisations
    Family(
        _inputs(products.SOFTMAX, why="maximum, difference, exponential, sum, quotient"),
        "LogSoftmax Softmax",
        "QLinearSoftmax",
    ),
    Family(_inputs(products.SOFTMAX + 1, why="Softmax 5, bias 1"), contributed="BiasSoftmax"),
    Family(_outputs(6, "mean 1, variance 3, scaling 2; 1 more with B", given=(2,)), "LayerNormalization"),
    Family(
        _outputs(7, "mean 1, variance 3, scaling 2, B 1"),
        "GroupNormalization InstanceNormalization",
        others={NHWC: "InstanceNormalization"},
    ),
    Family(
        _outputs(4, "mean square 2, scaling 2"),
        "RMSNormalization SimplifiedLayerNormalization",
        "SimplifiedLayerNormalization",
    ),
    Family(
        _outputs(7, "skip 1, mean 1, variance 3, scaling 2; 1 more for each of beta and bias", given=(3, 4)),
        contributed="SkipLayerNormalization",
    ),
    Family(
        _outputs(5, "skip 1, mean square 2, scaling 2; 1 more with a bias", given=(3,)),
        contributed="SkipSimplifiedLayerNormalization",
    ),
    Family(
        _outputs(8, "sum 1, mean 1, variance 3, scaling 2, beta 1; 1 more with segments", given=(1,)),
        contributed="EmbedLayerNormalization QEmbedLayerNormalization",
    ),
    Family(
        _outputs(8, "skip 1, mean 1, variance 3, scaling 2, beta 1; 1 more with a bias", given=(4,)),
        contributed="SkipGroupNorm",
    ),
    Family(_outputs(6, "mean square 2, scaling 2, activation 1, product 1"), contributed="GatedRMSNorm"),
    Family(_stated(counted.batch_normalisation), "BatchNormalization", others={NHWC: "BatchNormalization"}),
    Family(_inputs(3), "LpNormalization"),
    Family(_inputs(6), "MeanVarianceNormalization"),
    Family(_stated(counted.lrn), "LRN", others={NHWC: "LRN"}),
    Family(_stated(counted.cross_entropy), "SoftmaxCrossEntropyLoss"),
    Family(_stated(counted.likelihood), "NegativeLogLikelihoodLoss"),
    # Windows and grids
    Family(
        _stated(counted.pool),
        "AveragePool LpPool MaxPool",
        "MaxpoolWithMask NhwcMaxPool QLinearAveragePool",
        {NCHWC: "AveragePool MaxPool", NHWC: "AveragePool LpPool MaxPool QLinearAveragePool"},
    ),
    Family(_stated(counted.resize), "Resize Upsample", others={NCHWC: "Upsample", NHWC: "Resize"}),
    Family(_stated(counted.grid_sample), "GridSample", "GridSample", {NHWC: "GridSample"}),
    # Moved or made without arithmetic
    Family(
        CostRule("0 FLOPs: elements are moved, or made, without arithmetic", counted.nothing),
        "BitCast Cast CastLike CenterCropPad Compress Concat ConcatFromSequence Constant ConstantOfShape "
        "DepthToSpace Dropout Expand EyeLike Flatten Gather GatherElements GatherND Identity MaxUnpool OneHot "
        "Optional OptionalGetElement OptionalHasElement Pad Reshape ReverseSequence SequenceAt SequenceConstruct "
        "SequenceEmpty SequenceErase SequenceInsert SequenceLength Shape Size Slice SpaceToDepth Split "
        "SplitToSequence Squeeze StringConcat StringNormalizer StringSplit TensorScatter Tile Transpose Trilu "
        "Unsqueeze Crop DynamicSlice GivenTensorFill MemcpyFromHost MemcpyToHost",
        "BitmaskDropout ExpandDims GatherND Pad QLinearConcat RelativePositionBias RemovePadding RestorePadding "
        "Tokenizer TorchEmbedding Trilu UnfoldTensor",
        {
            NCHWC: "ReorderInput ReorderOutput",
            NHWC: "DepthToSpace MaxUnpool SpaceToDepth",
            ML: "ArrayFeatureExtractor CastMap CategoryMapper DictVectorizer FeatureVectorizer LabelEncoder "
            "OneHotEncoder ZipMap",
        },
    ),
)

RULES: Final[Mapping[tuple[str, str], CostRule]] = {key: family.rule for family in FAMILIES for key in family.keys}
"""The rule of each operator."""

WITHOUT_RULE: Final[Mapping[str, str]] = {
    "DFT Det ImageDecoder LinearAttention MelWeightMatrix Multinomial RegexFullMatch STFT TfIdfVectorizer TopK Unique "
    "com.microsoft::Inverse com.microsoft::MurmurHash3 com.microsoft::Unique": "the cost depends on the algorithm",
    "MaxRoiPool NonMaxSuppression RoiAlign com.microsoft::MoE com.microsoft::PackedAttention com.microsoft::QMoE "
    "com.microsoft::SparseToDenseMatMul ai.onnx.ml::SVMClassifier ai.onnx.ml::SVMRegressor ai.onnx.ml::TreeEnsemble "
    "ai.onnx.ml::TreeEnsembleClassifier ai.onnx.ml::TreeEnsembleRegressor": "the cost depends on the data",
    "ai.onnx.preview::FlexAttention ai.onnx.preview.training::Gradient "
    "com.microsoft::EPContext": "another graph says what is computed",
}
"""Operators that have a transfer rule and no cost rule, and why. Other contributed ones are not defined here."""
