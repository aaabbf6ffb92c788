"""The table of cost rules: (domain, operator) -> rule, with the definition in words; and the operators without one.

Rules of operators that count elements stand here: element-wise ones, reductions, normalisations, windows.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from absint.lattices.terms.expr import ZERO_EXPR, product
from absint.questions.costs.operators import products
from absint.questions.costs.operators.instance import Instance, Rule, UnsizedError, Work, when
from absint.transfer.contrib.image_layouts import NCHWC, NHWC
from absint.transfer.rule import MICROSOFT, ML, ONNX


def per_input(flops: int, output: int = 0) -> Rule:
    """FLOPs per element of the first input, and per element of the first output."""
    return lambda op: Work(other=op.size() * flops + (op.out() * output if output else ZERO_EXPR))


def with_operands(flops: int, *optional: int) -> Rule:
    """FLOPs per element of the first output, and one more for each of these inputs that is given."""
    return lambda op: Work(other=op.out() * (flops + sum(map(op.has, optional))))


def variadic(op: Instance) -> Work:
    """One FLOP per output element for each input but the first; Mean divides too."""
    count = len(op.inputs) - 1 + (op.op_type == "Mean")
    return Work(other=op.out() * count if count else ZERO_EXPR)


def scatter(op: Instance) -> Work:
    """One FLOP per element of the updates with a reduction, else none."""
    return Work(other=when(op.text("reduction", "none") != "none", op.size(2)))


def batch_normalisation(op: Instance) -> Work:
    """2 FLOPs per element with given statistics (scale and shift, folded), 7 if they are computed."""
    trained = op.integer("training_mode", 0) or len(op.outputs) > 1
    return Work(other=op.size() * (7 if trained else 2))


def lrn(op: Instance) -> Work:
    """Per element the squares of a window of `size`, and 3 FLOPs to scale."""
    return Work(other=op.size() * (op.integer("size") + 3))


def pool(op: Instance) -> Work:
    """FLOPs = output elements * kernel size; LpPool twice as many, for the powers."""
    kernel = op.integers("kernel_shape")
    if not kernel:
        raise UnsizedError("kernel_shape is missing")
    return Work(other=op.out() * product(kernel) * (2 if op.op_type == "LpPool" else 1))


_TAPS: Final = {"linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}


def resize(op: Instance) -> Work:
    """2 FLOPs per output element and tap: 2 taps for each axis if linear, 4 if cubic. Nearest: none. The axes are those
    of the attribute, else the spatial ones."""
    taps = _TAPS.get(op.text("mode", "nearest"))
    rank = len(op.dims(0))
    axes = op.count("axes") or (rank - 2 if rank > 2 else rank)
    return Work(other=op.out() * (2 * taps**axes)) if taps else Work()


def grid_sample(op: Instance) -> Work:
    """2 FLOPs per output element and tap: 2 taps for each spatial axis if linear, 4 if cubic. Nearest: none."""
    taps = _TAPS.get(op.text("mode", "linear"))
    return Work(other=op.out() * (2 * taps ** (len(op.dims(0)) - 2))) if taps else Work()


def cross_entropy(op: Instance) -> Work:
    """LogSoftmax of the scores, 5 FLOPs an element, and 2 FLOPs per label."""
    return Work(other=op.size(0) * 5 + op.size(1) * 2)


def likelihood(op: Instance) -> Work:
    """2 FLOPs per label."""
    return Work(other=op.size(1) * 2)


def split_gelu(op: Instance) -> Work:
    """A bias on each element of the input; Gelu and a product on each of the output."""
    return Work(other=op.size() + op.out() * 2)


_STEPS: Final = {"Momentum": (3, 7), "Adagrad": (3, 9), "Adam": (4, 14)}
"""Tensors for each one that is optimised, and FLOPs per element."""


def optimiser(op: Instance) -> Work:
    """FLOPs per element that is optimised, the gradient of the norm included: Momentum 7, Adagrad 9, Adam 14."""
    tensors, flops = _STEPS[op.op_type]
    elements = sum((op.size(2 + k) for k in range((len(op.inputs) - 2) // tensors)), ZERO_EXPR)
    return Work(other=elements * flops)


def nothing(op: Instance) -> Work:
    """Elements are moved, or made, without arithmetic."""
    return Work()


TRAINING: Final = "ai.onnx.preview.training"


class CostRule(NamedTuple):
    """The cost of an operator, in words and as a function."""

    text: str
    work: Rule


_DOMAINS: Final = {"ms:": MICROSOFT, "ml:": ML, "nchwc:": NCHWC, "nhwc:": NHWC, "training:": TRAINING}


class Family(NamedTuple):
    """Operators of one rule: those of ONNX, and after a word such as `ms:` those of its domain."""

    rule: CostRule
    text: str

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The domain and the name of each."""
        domain, found = ONNX, []
        for word in self.text.split():
            if word in _DOMAINS:
                domain = _DOMAINS[word]
            else:
                found.append((domain, word))
        return found


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
    Family(_stated(products.matmul),
        "MatMul MatMulInteger QLinearMatMul ms: DynamicQuantizeMatMul MatMulBlockQuantizedFp4Weight "
        "MatMulBlockQuantizedFp8Weight MatMulBnb4 MatMulFpQ4 MatMulInteger16 MatMulIntegerToFloat MatMulNBits"),
    Family(_stated(products.fused_matmul), "ms: FusedMatMul FusedMatMulActivation TransposeMatMul"),
    Family(_stated(products.gemm), "Gemm ms: FusedGemm GemmFloat8 QGemm"),
    Family(_stated(products.gemm_fast_gelu), "ms: GemmFastGelu"),
    Family(_stated(products.einsum), "Einsum"),
    Family(_stated(products.cdist), "ms: CDist"),
    Family(_stated(products.conv),
        "Conv ConvInteger QLinearConv ms: FusedConv NhwcConv NhwcFusedConv QLinearConv nchwc: Conv nhwc: Conv "
        "QLinearConv"),
    Family(_stated(products.conv_transpose),
        "ConvTranspose ms: ConvTransposeWithDynamicPads nhwc: ConvTranspose QLinearConvTranspose"),
    Family(_stated(products.deform_conv), "DeformConv"),
    Family(_stated(products.causal_conv), "CausalConvWithState ms: CausalConvWithState"),
    Family(_stated(products.affine_grid), "AffineGrid"),
    Family(_stated(products.recurrent), "LSTM GRU RNN ms: DynamicQuantizeLSTM"),
    Family(_stated(products.attention), "Attention"),
    Family(_stated(products.projected_attention), "ms: Attention QAttention"),
    Family(_stated(products.multi_head_attention), "ms: MultiHeadAttention"),
    Family(_stated(products.group_query_attention), "ms: GroupQueryAttention"),
    Family(_stated(products.linear_model), "ml: LinearClassifier LinearRegressor"),
    # Element by element
    Family(_outputs(1),
        "Abs Acos Acosh Add And Asin Asinh Atan Atanh Bernoulli BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor "
        "BlackmanWindow Ceil Celu Cos Cosh CumProd CumSum Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual "
        "HammingWindow HannWindow HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Mish Mod Mul Neg "
        "Not Or PRelu Pow RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal Relu Round "
        "Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Swish Tan Tanh ThresholdedRelu Where Xor Scale "
        "ms: DequantizeWithOrder Gelu MulInteger QLinearAdd QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearWhere "
        "QOrderedGelu QuantizeWithOrder QuickGelu Range ml: Binarizer Imputer"),
    Family(_outputs(2), "Affine ImageScaler ms: GatedAdd BiasAdd BiasGelu ml: Scaler"),
    Family(_outputs(3), "ParametricSoftplus ScaledTanh ml: Normalizer"),
    Family(_outputs(2, "Swish 1, product 1"), "SwiGLU"),
    Family(_outputs(2, "SiLU 1, product 1"), "ms: ScaledSiLU"),
    Family(_outputs(3, "two products and a sum"), "ms: ComplexMul ComplexMulConj"),
    Family(_stated(optimiser), "training: Adagrad Adam Momentum"),
    Family(_stated(variadic), "Max Mean Min Sum"),
    Family(_outputs(0, "1 for each bound that is given", given=(1, 2)), "Clip"),
    Family(_outputs(1, "the scale; 1 more with a zero point", given=(2,)),
        "QuantizeLinear DequantizeLinear ms: QuantizeLinear DequantizeLinear"),
    Family(_outputs(1, "the scale; 1 more with a zero point", given=(3,)), "ms: GatherBlockQuantized"),
    Family(_inputs(4, why="minimum, maximum, scale, zero point"), "DynamicQuantizeLinear"),
    Family(_outputs(1, "1 more with a bias", given=(1,)), "ms: FastGelu"),
    Family(_outputs(1, "1 more with a residual", given=(2,)), "ms: BiasDropout BitmaskBiasDropout"),
    Family(_stated(split_gelu), "ms: BiasSplitGelu"),
    Family(_outputs(3, "two products and a sum"), "RotaryEmbedding ms: MRotaryEmbedding RotaryEmbedding"),
    # Reductions
    Family(_inputs(1),
        "ArgMax ArgMin Col2Im GlobalMaxPool Hardmax NonZero ReduceMax ReduceMin ReduceProd ReduceSum ms: "
        "ReduceSumInteger nchwc: GlobalMaxPool nhwc: GlobalMaxPool"),
    Family(_inputs(1, 1),
        "GlobalAveragePool ReduceLogSum ReduceMean ms: QLinearGlobalAveragePool QLinearReduceMean nchwc: "
        "GlobalAveragePool nhwc: GlobalAveragePool"),
    Family(_inputs(2), "ReduceL1 ReduceSumSquare"),
    Family(_inputs(2, 1), "GlobalLpPool ReduceL2 ReduceLogSumExp nhwc: GlobalLpPool"),
    Family(_stated(scatter), "Scatter ScatterElements ScatterND"),
    # Normalisations
    Family(_inputs(products.SOFTMAX, why="maximum, difference, exponential, sum, quotient"),
        "LogSoftmax Softmax ms: QLinearSoftmax"),
    Family(_inputs(products.SOFTMAX + 1, why="Softmax 5, bias 1"), "ms: BiasSoftmax"),
    Family(_outputs(6, "mean 1, variance 3, scaling 2; 1 more with B", given=(2,)), "LayerNormalization"),
    Family(_outputs(7, "mean 1, variance 3, scaling 2, B 1"),
        "GroupNormalization InstanceNormalization nhwc: InstanceNormalization"),
    Family(_outputs(4, "mean square 2, scaling 2"),
        "RMSNormalization SimplifiedLayerNormalization ms: SimplifiedLayerNormalization"),
    Family(_outputs(7, "skip 1, mean 1, variance 3, scaling 2; 1 more for each of beta and bias", given=(3, 4)),
        "ms: SkipLayerNormalization"),
    Family(_outputs(5, "skip 1, mean square 2, scaling 2; 1 more with a bias", given=(3,)),
        "ms: SkipSimplifiedLayerNormalization"),
    Family(_outputs(8, "sum 1, mean 1, variance 3, scaling 2, beta 1; 1 more with segments", given=(1,)),
        "ms: EmbedLayerNormalization QEmbedLayerNormalization"),
    Family(_outputs(8, "skip 1, mean 1, variance 3, scaling 2, beta 1; 1 more with a bias", given=(4,)),
        "ms: SkipGroupNorm"),
    Family(_outputs(6, "mean square 2, scaling 2, activation 1, product 1"), "ms: GatedRMSNorm"),
    Family(_stated(batch_normalisation), "BatchNormalization nhwc: BatchNormalization"),
    Family(_inputs(3), "LpNormalization"),
    Family(_inputs(6), "MeanVarianceNormalization"),
    Family(_stated(lrn), "LRN nhwc: LRN"),
    Family(_stated(cross_entropy), "SoftmaxCrossEntropyLoss"),
    Family(_stated(likelihood), "NegativeLogLikelihoodLoss"),
    # Windows and grids
    Family(_stated(pool),
        "AveragePool LpPool MaxPool ms: MaxpoolWithMask NhwcMaxPool QLinearAveragePool nchwc: AveragePool MaxPool "
        "nhwc: AveragePool LpPool MaxPool QLinearAveragePool"),
    Family(_stated(resize), "Resize Upsample nchwc: Upsample nhwc: Resize"),
    Family(_stated(grid_sample), "GridSample ms: GridSample nhwc: GridSample"),
    # Moved or made without arithmetic
    Family(CostRule("0 FLOPs: elements are moved, or made, without arithmetic", nothing),
        "BitCast Cast CastLike CenterCropPad Compress Concat ConcatFromSequence Constant ConstantOfShape DepthToSpace "
        "Dropout Expand EyeLike Flatten Gather GatherElements GatherND Identity MaxUnpool OneHot Optional "
        "OptionalGetElement OptionalHasElement Pad Reshape ReverseSequence SequenceAt SequenceConstruct SequenceEmpty "
        "SequenceErase SequenceInsert SequenceLength Shape Size Slice SpaceToDepth Split SplitToSequence Squeeze "
        "StringConcat StringNormalizer StringSplit TensorScatter Tile Transpose Trilu Unsqueeze Crop DynamicSlice "
        "GivenTensorFill MemcpyFromHost MemcpyToHost ms: BitmaskDropout ExpandDims GatherND Pad QLinearConcat "
        "RelativePositionBias RemovePadding RestorePadding Tokenizer TorchEmbedding Trilu UnfoldTensor nchwc: "
        "ReorderInput ReorderOutput nhwc: DepthToSpace MaxUnpool SpaceToDepth ml: ArrayFeatureExtractor CastMap "
        "CategoryMapper DictVectorizer FeatureVectorizer LabelEncoder OneHotEncoder ZipMap"),
)  # fmt: skip

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
