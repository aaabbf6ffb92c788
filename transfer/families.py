"""The shipped table: every family of rules, each imported when one of its operators is asked for.

A new operator is added to the line of its family here. Rules follow the documents of their operators: those of ONNX at
https://onnx.ai/onnx/operators, a page for each; onnxruntime's own in docs/ContribOperators.md of its repository. What
onnxruntime does otherwise is in docs/runtime-differences.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import Final

from absint.transfer.rule import Rule, Table, rules_of

FAMILIES: Final[Mapping[str, str]] = {
    "": """
        attention: Attention RotaryEmbedding TensorScatter
        broadcasting: Add Sub Mul BitwiseAnd BitwiseOr BitwiseXor And Or Xor SwiGLU Div Mod Pow BitShift Equal Less
            Greater LessOrEqual GreaterOrEqual Max Min Sum Mean Where PRelu
        concat: Concat Split
        convolution: Conv ConvInteger QLinearConv DeformConv ConvTranspose Col2Im
        elementwise: Sigmoid Softplus Softsign Gelu HardSigmoid HardSwish Selu Elu Celu LeakyRelu ThresholdedRelu Mish
            Swish Shrink Erf Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Relu Neg Abs Sign Ceil
            Floor Round Sqrt Reciprocal Not BitwiseNot IsNaN IsInf Identity Dropout Clip Cast CastLike BitCast
            QuantizeLinear DequantizeLinear DynamicQuantizeLinear
        gather: Gather GatherElements GatherND ScatterElements Scatter ScatterND
        generators: Constant ConstantOfShape Range RandomNormal RandomUniform RandomNormalLike RandomUniformLike
            Bernoulli Multinomial EyeLike OneHot HannWindow HammingWindow BlackmanWindow MelWeightMatrix
        layout: Transpose Expand Tile DepthToSpace SpaceToDepth ReverseSequence Trilu CumSum CumProd
        linalg: Einsum MatMul MatMulInteger QLinearMatMul Gemm Det
        normalisation: Softmax LogSoftmax Hardmax LpNormalization MeanVarianceNormalization LRN InstanceNormalization
            GroupNormalization BatchNormalization LayerNormalization RMSNormalization
        padding: Pad CenterCropPad
        pooling: MaxPool AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool MaxUnpool RoiAlign MaxRoiPool
            GridSample AffineGrid
        recurrent: LinearAttention LSTM GRU RNN DFT STFT
        reduction: ReduceSum ReduceProd ReduceMax ReduceMin ReduceMean ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
            ReduceSumSquare NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss
        reshape: Reshape
        resize: Upsample Resize
        selection: TopK ArgMax ArgMin NonZero Compress Unique NonMaxSuppression StringNormalizer TfIdfVectorizer
            StringSplit StringConcat RegexFullMatch ImageDecoder
        sequences: SequenceConstruct SequenceEmpty SequenceLength SequenceAt SequenceInsert SequenceErase
            SplitToSequence ConcatFromSequence Optional OptionalHasElement OptionalGetElement
        shape_ops: Shape Size Flatten Squeeze Unsqueeze
        slicing: Slice
        contrib.com_microsoft: SimplifiedLayerNormalization
        contrib.extensions: Affine Scale ParametricSoftplus ScaledTanh MemcpyFromHost MemcpyToHost DynamicSlice
            ImageScaler Crop GivenTensorFill GRUUnit DisentangledAttention_TRT EfficientNMS_TRT
            MultilevelCropAndResize_TRT PyramidROIAlign_TRT
        contrib.sequence_models: CausalConvWithState
    """,
    "ai.onnx.ml": """
        contrib.ai_onnx_ml: Scaler Normalizer Imputer Binarizer OneHotEncoder LabelEncoder CategoryMapper
            LinearClassifier TreeEnsembleClassifier LinearRegressor TreeEnsembleRegressor TreeEnsemble
            ArrayFeatureExtractor FeatureVectorizer ZipMap
        contrib.ml_models: DictVectorizer CastMap SVMClassifier SVMRegressor
    """,
    "ai.onnx.preview": """
        attention: FlexAttention
    """,
    "ai.onnx.preview.training": """
        reduction: Adagrad Adam Momentum Gradient
    """,
    "com.microsoft": """
        contrib.image_layouts: QLinearConv QLinearAveragePool QLinearGlobalAveragePool NhwcMaxPool NhwcConv
            NhwcFusedConv MaxpoolWithMask ConvTransposeWithDynamicPads
        contrib.com_microsoft: Gelu QuickGelu SampleOp Trilu Inverse BiasGelu FastGelu BiasSplitGelu BiasAdd BiasSoftmax
            BiasDropout SkipLayerNormalization SkipSimplifiedLayerNormalization SimplifiedLayerNormalization
            SkipGroupNorm EmbedLayerNormalization Tokenizer MurmurHash3 Pad GatherND QLinearReduceMean Unique
        contrib.devices: MatMulPacked MatMulNBitsQLoRA GatherPacked MoEPacked MoEGroupRouter RouterGateUpProj SwiGLU
            HyperConnectionLowRankMix RMSNormRotary PackedSparseAttentionIndexerMerge ConvStateReplay
            GatedDeltaNetStateReplay Mamba2Verify SpeculativePrefixCommit QuantizeWithOrder DequantizeWithOrder
            QOrderedGelu QOrderedLayerNormalization QOrderedLongformerAttention QOrderedAttention QuantizeBFP
            DequantizeBFP EPContext
        contrib.fused_attention: Attention QAttention DecoderMaskedSelfAttention PackedAttention RotaryEmbedding
            MRotaryEmbedding RelativePositionBias
        contrib.generation: GreedySearch Sampling BeamSearch WhisperBeamSearch NGramRepeatBlock BifurcationDetector
            DynamicTimeWarping NGramHashMapping VarlenNGramHashMapping
        contrib.multi_head_attention: MultiHeadAttention DecoderMaskedMultiHeadAttention GroupQueryAttention
        contrib.packed_attention: DecoderAttention LongformerAttention GatedRelativePositionBias GemmaRotaryEmbedding
            PackedMultiHeadAttention PagedAttention SparsePagedAttention RemovePadding RestorePadding SparseAttention
            DynamicSparseAttention SparseAttentionIndexer PackedSparseAttentionIndexer
        contrib.products: FusedConv FusedMatMul FusedMatMulActivation TransposeMatMul CDist GemmFastGelu FusedGemm
            MatMulNBits MatMulBnb4 MatMulFpQ4 MatMulBlockQuantizedFp4Weight MatMulBlockQuantizedFp8Weight MatMulNBitsMlp
            MatMulNBitsQkv MoE QMoE
        contrib.quantised_layers: QLinearConcat QLinearSoftmax QEmbedLayerNormalization DynamicQuantizeLSTM
            GatherBlockQuantized QLinearAdd QLinearMul QLinearWhere QLinearSigmoid QLinearLeakyRelu QuantizeLinear
            DequantizeLinear MulInteger ReduceSumInteger QGemm DynamicQuantizeMatMul MatMulIntegerToFloat
            MatMulInteger16 GemmFloat8 QOrderedMatMul SparseToDenseMatMul
        contrib.sequence_models: LinearAttention LinearAttentionGate GatedDeltaNet CausalConvWithState
            VarlenCausalConvWithState AttnLSTM
        contrib.tensors: ExpandDims GridSample Range UnfoldTensor CropAndResize WordConvEmbedding TorchEmbedding
            ComplexMul ComplexMulConj Rfft Irfft GroupNorm BitmaskDropout BitmaskBiasDropout IsAllFinite Snpe
            HyperConnectionPreMix HyperConnectionPostMix BranchwiseRMSNorm GatedRMSNorm GatedAdd ScaledSiLU EngramGate
    """,
    "ai.onnx.contrib": """
        contrib.extensions: DecodeImage ImageDecoder EncodeImage DrawBoundingBoxes ImageReader AudioDecoder
            GPT2Tokenizer CLIPTokenizer RobertaTokenizer SpmTokenizer HfJsonTokenizer TrieTokenizer BertTokenizer
            HfBertTokenizer SentencepieceTokenizer WordpieceTokenizer BasicTokenizer BlingFireSentenceBreaker BpeDecoder
            TrieDetokenizer SentencepieceDecoder BertTokenizerDecoder StringUpper StringLower StringStrip StringMapping
            StringRegexReplace StringECMARegexReplace StringLength StringToHashBucket StringToHashBucketFast
            StringConcat StringEqual StringJoin StringSplit StringRegexSplitWithOffsets StringECMARegexSplitWithOffsets
            MaskedFill StringToVector VectorToString RaggedTensorToSparse RaggedTensorToDense StringRaggedTensorToDense
            NegPos Inverse GaussianBlur StftNorm SegmentExtraction SegmentSum
    """,
    "com.microsoft.extensions": """
        contrib.extensions: DecodeImage ImageDecoder EncodeImage DrawBoundingBoxes GPT2Tokenizer CLIPTokenizer
            RobertaTokenizer SpmTokenizer HfJsonTokenizer TrieTokenizer BertTokenizer HfBertTokenizer
            SentencepieceTokenizer WordpieceTokenizer BasicTokenizer BlingFireSentenceBreaker BpeDecoder TrieDetokenizer
            SentencepieceDecoder BertTokenizerDecoder
    """,
    "TRT": """
        contrib.extensions: EfficientNMS_TRT
    """,
    "com.microsoft.nchwc": """
        contrib.image_layouts: ReorderInput ReorderOutput AveragePool GlobalAveragePool GlobalMaxPool MaxPool Conv
            Upsample
    """,
    "com.ms.internal.nhwc": """
        contrib.image_layouts: AveragePool BatchNormalization Conv ConvTranspose DepthToSpace GlobalAveragePool
            GlobalLpPool GlobalMaxPool GridSample InstanceNormalization LRN LpPool MaxPool SpaceToDepth QLinearConv
            MaxUnpool Resize QLinearAveragePool QLinearConvTranspose
    """,
}
"""Domain -> its families, each a module of this folder and the operators that it has rules for."""


class Shipped(Table):
    """The rules that come with the package. A lookup imports the families of its operator, a walk all of them."""

    def __init__(self) -> None:
        super().__init__(())

    @cached_property
    def _homes(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """(domain, operator) -> the modules that have rules for it."""
        homes: dict[tuple[str, str], list[str]] = {}
        for domain, families in FAMILIES.items():
            module = ""
            for word in families.split():
                if word.endswith(":"):
                    module = word[:-1]
                else:
                    homes.setdefault((domain, word), []).append(module)
        return homes

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._all

    @cached_property
    def _all(self) -> tuple[Rule, ...]:
        modules = dict.fromkeys(module for homes in self._homes.values() for module in homes)
        return tuple(dict.fromkeys(rule for module in modules for rule in _rules(module)))

    def _rules_for(self, domain: str, name: str) -> Sequence[Rule]:
        modules = self._homes.get((domain, name), ())
        return [r for module in modules for r in _rules(module) if r.domain == domain and name in r.names]


@cache
def _rules(module: str) -> Sequence[Rule]:
    return tuple(rules_of(import_module(f"absint.transfer.{module}")))


@cache
def shipped() -> Table:
    """The rules that come with the package."""
    return Shipped()
