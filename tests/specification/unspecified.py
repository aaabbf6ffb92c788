"""Operators without a specification, each with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

REASONS: Final[Mapping[str, str]] = {
    "they become plain nodes before the analysis ([control-flow.md](control-flow.md))": "If Loop Scan SequenceMap",
    "sparse tensors go in, and specifications are about dense ones": "com.microsoft::SparseToDenseMatMul",
    "sizes hang on the element type, which specifications do not see": "com.microsoft::GatherBlockQuantized",
    "sizes hang on the data; what bounds them is in `absint/research/specification/data_dependent.py`": """
        Compress NonMaxSuppression NonZero""",
    "sizes hang on the data": """
        ImageDecoder StringNormalizer StringSplit Unique com.microsoft::BeamSearch com.microsoft::BifurcationDetector
        com.microsoft::DynamicTimeWarping com.microsoft::GreedySearch com.microsoft::RemovePadding
        com.microsoft::Sampling com.microsoft::Tokenizer com.microsoft::Unique com.microsoft::WhisperBeamSearch""",
    "experiments of Caffe2 and plugins of TensorRT in the domain of ONNX, which has no documents of them": """
        DisentangledAttention_TRT DynamicSlice EfficientNMS_TRT GRUUnit GivenTensorFill MultilevelCropAndResize_TRT
        PyramidROIAlign_TRT""",
    "onnxruntime puts these copies into a model that it has loaded": "MemcpyFromHost MemcpyToHost",
    "in preview: the documents may change": """
        ai.onnx.preview::FlexAttention ai.onnx.preview.training::Adagrad ai.onnx.preview.training::Adam
        ai.onnx.preview.training::Gradient ai.onnx.preview.training::Momentum""",
    "the work of another compiler, in an attribute, decides the sizes": "com.microsoft::EPContext com.microsoft::Snpe",
    "onnxruntime has no kernel on the CPU, so no run could be held against a specification": """
        com.microsoft::BiasAdd com.microsoft::BiasDropout com.microsoft::BiasSoftmax com.microsoft::BiasSplitGelu
        com.microsoft::BitmaskBiasDropout com.microsoft::BitmaskDropout com.microsoft::ConvStateReplay
        com.microsoft::DecoderAttention com.microsoft::DecoderMaskedSelfAttention com.microsoft::DequantizeBFP
        com.microsoft::DequantizeWithOrder com.microsoft::DynamicSparseAttention com.microsoft::FusedMatMulActivation
        com.microsoft::GatedDeltaNetStateReplay com.microsoft::GatedRelativePositionBias com.microsoft::GemmFastGelu
        com.microsoft::GemmFloat8 com.microsoft::GemmaRotaryEmbedding com.microsoft::GroupNorm
        com.microsoft::HyperConnectionLowRankMix com.microsoft::Irfft com.microsoft::LongformerAttention
        com.microsoft::Mamba2Verify com.microsoft::MatMulBlockQuantizedFp4Weight
        com.microsoft::MatMulBlockQuantizedFp8Weight com.microsoft::MatMulNBitsMlp com.microsoft::MatMulNBitsQLoRA
        com.microsoft::MatMulNBitsQkv com.microsoft::MatMulPacked com.microsoft::MoEPacked com.microsoft::NhwcConv
        com.microsoft::NhwcFusedConv com.microsoft::PackedAttention com.microsoft::PackedMultiHeadAttention
        com.microsoft::PackedSparseAttentionIndexer com.microsoft::PackedSparseAttentionIndexerMerge
        com.microsoft::PagedAttention com.microsoft::QLinearReduceMean com.microsoft::QOrderedAttention
        com.microsoft::QOrderedGelu com.microsoft::QOrderedLayerNormalization
        com.microsoft::QOrderedLongformerAttention com.microsoft::QOrderedMatMul com.microsoft::QuantizeBFP
        com.microsoft::QuantizeWithOrder com.microsoft::RMSNormRotary com.microsoft::ReduceSumInteger
        com.microsoft::RelativePositionBias com.microsoft::RestorePadding com.microsoft::RouterGateUpProj
        com.microsoft::SimplifiedLayerNormalization com.microsoft::SkipGroupNorm com.microsoft::SparseAttentionIndexer
        com.microsoft::SparsePagedAttention com.microsoft::SpeculativePrefixCommit com.microsoft::SwiGLU""",
    "past and present must be one buffer, which no plain run has": "com.microsoft::SparseAttention",
}
"""By reason the names of operators."""

INTERNAL: Final = ("com.microsoft.nchwc", "com.ms.internal.nhwc")
"""Domains of layouts that onnxruntime puts into a model that it has loaded; no documents speak of them."""

OTHERS: Final = ("ai.onnx.contrib", "com.microsoft.extensions", "TRT")
"""Domains of other libraries than onnxruntime, which the tests do not run."""


def unexplained(operators: Iterable[str]) -> list[str]:
    """Those of these operators without a specification that no reason names, and names that are not among them."""
    return misnamed(REASONS, {name for name in operators if not name.startswith((*INTERNAL, *OTHERS))})


def misnamed(reasons: Mapping[str, str], operators: set[str]) -> list[str]:
    """Operators that no reason names, names of no such operator, and names that stand twice."""
    named = [name for names in reasons.values() for name in names.split()]
    return sorted({*(operators ^ set(named)), *(name for name in named if named.count(name) > 1)})
