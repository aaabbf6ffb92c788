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

    names: str
    rule: CostRule
    domain: str = ONNX


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


_ELEMENT_WISE: Final = _outputs(1)
_QUANTISING: Final = _outputs(1, "the scale; 1 more with a zero point", given=(2,))
_ROTARY: Final = _outputs(3, "two products and a sum")
_MEAN: Final = _inputs(1, 1)
_INSTANCE_NORMALISATION: Final = _outputs(7, "mean 1, variance 3, scaling 2, B 1")
_SOFTMAX: Final = _inputs(products.SOFTMAX, why="maximum, difference, exponential, sum, quotient")
_RMS_NORMALISATION: Final = _outputs(4, "mean square 2, scaling 2")
_NO_ARITHMETIC: Final = CostRule("0 FLOPs: elements are moved, or made, without arithmetic", counted.nothing)

FAMILIES: Final = (
    # Multiply and accumulate
    Family("MatMul MatMulInteger QLinearMatMul", _stated(products.matmul)),
    Family(
        "DynamicQuantizeMatMul MatMulBlockQuantizedFp4Weight MatMulBlockQuantizedFp8Weight MatMulBnb4 MatMulFpQ4 "
        "MatMulInteger16 MatMulIntegerToFloat MatMulNBits",
        _stated(products.matmul),
        MICROSOFT,
    ),
    Family("FusedMatMul FusedMatMulActivation TransposeMatMul", _stated(products.fused_matmul), MICROSOFT),
    Family("Gemm", _stated(products.gemm)),
    Family("FusedGemm GemmFloat8 QGemm", _stated(products.gemm), MICROSOFT),
    Family("GemmFastGelu", _stated(products.gemm_fast_gelu), MICROSOFT),
    Family("Einsum", _stated(products.einsum)),
    Family("CDist", _stated(products.cdist), MICROSOFT),
    Family("Conv ConvInteger QLinearConv", _stated(products.conv)),
    Family("FusedConv NhwcConv NhwcFusedConv QLinearConv", _stated(products.conv), MICROSOFT),
    Family("Conv", _stated(products.conv), NCHWC),
    Family("Conv QLinearConv", _stated(products.conv), NHWC),
    Family("ConvTranspose", _stated(products.conv_transpose)),
    Family("ConvTransposeWithDynamicPads", _stated(products.conv_transpose), MICROSOFT),
    Family("ConvTranspose QLinearConvTranspose", _stated(products.conv_transpose), NHWC),
    Family("DeformConv", _stated(products.deform_conv)),
    Family("CausalConvWithState", _stated(products.causal_conv)),
    Family("CausalConvWithState", _stated(products.causal_conv), MICROSOFT),
    Family("AffineGrid", _stated(products.affine_grid)),
    Family("LSTM GRU RNN", _stated(products.recurrent)),
    Family("DynamicQuantizeLSTM", _stated(products.recurrent), MICROSOFT),
    Family("Attention", _stated(products.attention)),
    Family("Attention QAttention", _stated(products.projected_attention), MICROSOFT),
    Family("MultiHeadAttention", _stated(products.multi_head_attention), MICROSOFT),
    Family("GroupQueryAttention", _stated(products.group_query_attention), MICROSOFT),
    Family("LinearClassifier LinearRegressor", _stated(products.linear_model), ML),
    # Element by element
    Family(
        "Abs Acos Acosh Add And Asin Asinh Atan Atanh Bernoulli BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor "
        "BlackmanWindow Ceil Celu Cos Cosh CumProd CumSum Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual "
        "HammingWindow HannWindow HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Mish Mod Mul Neg "
        "Not Or PRelu Pow RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal Relu Round "
        "Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Swish Tan Tanh ThresholdedRelu Where Xor",
        _ELEMENT_WISE,
    ),
    Family(
        "DequantizeWithOrder Gelu MulInteger QLinearAdd QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearWhere "
        "QOrderedGelu QuantizeWithOrder QuickGelu",
        _ELEMENT_WISE,
        MICROSOFT,
    ),
    Family("Scale", _ELEMENT_WISE),
    Family("Affine ImageScaler", _outputs(2)),
    Family("ParametricSoftplus ScaledTanh", _outputs(3)),
    Family("Range", _ELEMENT_WISE, MICROSOFT),
    Family("GatedAdd", _outputs(2), MICROSOFT),
    Family("SwiGLU", _outputs(2, "Swish 1, product 1")),
    Family("ScaledSiLU", _outputs(2, "SiLU 1, product 1"), MICROSOFT),
    Family("ComplexMul ComplexMulConj", _outputs(3, "two products and a sum"), MICROSOFT),
    Family("Adagrad Adam Momentum", _stated(counted.optimiser), TRAINING),
    Family("Binarizer Imputer", _ELEMENT_WISE, ML),
    Family("Scaler", _outputs(2), ML),
    Family("Normalizer", _outputs(3), ML),
    Family("Max Mean Min Sum", _stated(counted.variadic)),
    Family("Clip", _outputs(0, "1 for each bound that is given", given=(1, 2))),
    Family("QuantizeLinear DequantizeLinear", _QUANTISING),
    Family("QuantizeLinear DequantizeLinear", _QUANTISING, MICROSOFT),
    Family("GatherBlockQuantized", _outputs(1, "the scale; 1 more with a zero point", given=(3,)), MICROSOFT),
    Family("DynamicQuantizeLinear", _inputs(4, why="minimum, maximum, scale, zero point")),
    Family("BiasAdd BiasGelu", _outputs(2), MICROSOFT),
    Family("FastGelu", _outputs(1, "1 more with a bias", given=(1,)), MICROSOFT),
    Family("BiasDropout BitmaskBiasDropout", _outputs(1, "1 more with a residual", given=(2,)), MICROSOFT),
    Family("BiasSplitGelu", _stated(counted.split_gelu), MICROSOFT),
    Family("RotaryEmbedding", _ROTARY),
    Family("MRotaryEmbedding RotaryEmbedding", _ROTARY, MICROSOFT),
    # Reductions
    Family("ArgMax ArgMin Col2Im GlobalMaxPool Hardmax NonZero ReduceMax ReduceMin ReduceProd ReduceSum", _inputs(1)),
    Family("ReduceSumInteger", _inputs(1), MICROSOFT),
    Family("GlobalAveragePool ReduceLogSum ReduceMean", _MEAN),
    Family("QLinearGlobalAveragePool QLinearReduceMean", _MEAN, MICROSOFT),
    Family("ReduceL1 ReduceSumSquare", _inputs(2)),
    Family("GlobalLpPool ReduceL2 ReduceLogSumExp", _inputs(2, 1)),
    Family("Scatter ScatterElements ScatterND", _stated(counted.scatter)),
    # Normalisations
    Family("LogSoftmax Softmax", _SOFTMAX),
    Family("QLinearSoftmax", _SOFTMAX, MICROSOFT),
    Family("BiasSoftmax", _inputs(products.SOFTMAX + 1, why="Softmax 5, bias 1"), MICROSOFT),
    Family("LayerNormalization", _outputs(6, "mean 1, variance 3, scaling 2; 1 more with B", given=(2,))),
    Family("GroupNormalization InstanceNormalization", _INSTANCE_NORMALISATION),
    Family("RMSNormalization SimplifiedLayerNormalization", _RMS_NORMALISATION),
    Family("SimplifiedLayerNormalization", _RMS_NORMALISATION, MICROSOFT),
    Family(
        "SkipLayerNormalization",
        _outputs(7, "skip 1, mean 1, variance 3, scaling 2; 1 more for each of beta and bias", given=(3, 4)),
        MICROSOFT,
    ),
    Family(
        "SkipSimplifiedLayerNormalization",
        _outputs(5, "skip 1, mean square 2, scaling 2; 1 more with a bias", given=(3,)),
        MICROSOFT,
    ),
    Family(
        "EmbedLayerNormalization QEmbedLayerNormalization",
        _outputs(8, "sum 1, mean 1, variance 3, scaling 2, beta 1; 1 more with segments", given=(1,)),
        MICROSOFT,
    ),
    Family(
        "SkipGroupNorm",
        _outputs(8, "skip 1, mean 1, variance 3, scaling 2, beta 1; 1 more with a bias", given=(4,)),
        MICROSOFT,
    ),
    Family("GatedRMSNorm", _outputs(6, "mean square 2, scaling 2, activation 1, product 1"), MICROSOFT),
    Family("BatchNormalization", _stated(counted.batch_normalisation)),
    Family("LpNormalization", _inputs(3)),
    Family("MeanVarianceNormalization", _inputs(6)),
    Family("LRN", _stated(counted.lrn)),
    Family("SoftmaxCrossEntropyLoss", _stated(counted.cross_entropy)),
    Family("NegativeLogLikelihoodLoss", _stated(counted.likelihood)),
    # Windows and grids
    Family("AveragePool LpPool MaxPool", _stated(counted.pool)),
    Family("MaxpoolWithMask NhwcMaxPool QLinearAveragePool", _stated(counted.pool), MICROSOFT),
    Family("Resize Upsample", _stated(counted.resize)),
    Family("GridSample", _stated(counted.grid_sample)),
    Family("GridSample", _stated(counted.grid_sample), MICROSOFT),
    # Images in other layouts
    Family("AveragePool MaxPool", _stated(counted.pool), NCHWC),
    Family("GlobalAveragePool", _MEAN, NCHWC),
    Family("GlobalMaxPool", _inputs(1), NCHWC),
    Family("Upsample", _stated(counted.resize), NCHWC),
    Family("AveragePool LpPool MaxPool QLinearAveragePool", _stated(counted.pool), NHWC),
    Family("GlobalAveragePool", _MEAN, NHWC),
    Family("GlobalMaxPool", _inputs(1), NHWC),
    Family("GlobalLpPool", _inputs(2, 1), NHWC),
    Family("InstanceNormalization", _INSTANCE_NORMALISATION, NHWC),
    Family("BatchNormalization", _stated(counted.batch_normalisation), NHWC),
    Family("LRN", _stated(counted.lrn), NHWC),
    Family("Resize", _stated(counted.resize), NHWC),
    Family("GridSample", _stated(counted.grid_sample), NHWC),
    # Moved or made without arithmetic
    Family(
        "BitCast Cast CastLike CenterCropPad Compress Concat ConcatFromSequence Constant ConstantOfShape DepthToSpace "
        "Dropout Expand EyeLike Flatten Gather GatherElements GatherND Identity MaxUnpool OneHot Optional "
        "OptionalGetElement OptionalHasElement Pad Reshape ReverseSequence SequenceAt SequenceConstruct SequenceEmpty "
        "SequenceErase SequenceInsert SequenceLength Shape Size Slice SpaceToDepth Split SplitToSequence Squeeze "
        "StringConcat StringNormalizer StringSplit TensorScatter Tile Transpose Trilu Unsqueeze",
        _NO_ARITHMETIC,
    ),
    Family("Crop DynamicSlice GivenTensorFill MemcpyFromHost MemcpyToHost", _NO_ARITHMETIC),
    Family(
        "BitmaskDropout ExpandDims GatherND Pad QLinearConcat RelativePositionBias RemovePadding RestorePadding "
        "Tokenizer TorchEmbedding Trilu UnfoldTensor",
        _NO_ARITHMETIC,
        MICROSOFT,
    ),
    Family("ReorderInput ReorderOutput", _NO_ARITHMETIC, NCHWC),
    Family("DepthToSpace MaxUnpool SpaceToDepth", _NO_ARITHMETIC, NHWC),
    Family(
        "ArrayFeatureExtractor CastMap CategoryMapper DictVectorizer FeatureVectorizer LabelEncoder OneHotEncoder "
        "ZipMap",
        _NO_ARITHMETIC,
        ML,
    ),
)

RULES: Final[Mapping[tuple[str, str], CostRule]] = {
    (family.domain, name): family.rule for family in FAMILIES for name in family.names.split()
}
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
