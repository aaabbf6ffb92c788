"""Rules that do not promise to state all that a run needs, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from absint.transfer.families import shipped
from tests.specification.unspecified import misnamed

APART: Final = ("com.ms.internal.nhwc", "ai.onnx.contrib", "com.microsoft.extensions")
"""Domains whose rules promise nothing: layouts of other devices, which no file holds, and a library of its own."""

REASONS: Final[Mapping[str, str]] = {
    "the graph of a decoder inside of it decides": """
        com.microsoft::BeamSearch com.microsoft::GreedySearch com.microsoft::Sampling
        com.microsoft::WhisperBeamSearch""",
    "the kernel checks the attributes of its trees against each other": "ai.onnx.ml::TreeEnsemble-5",
    "formats of packed weights decide": "com.microsoft::GatherPacked com.microsoft::MatMulFpQ4 com.microsoft::QMoE",
    "it needs past and present in one buffer": "com.microsoft::SparseAttention",
    "the work of another compiler, or the bytes of an image, decide": """
        ImageDecoder com.microsoft::EPContext com.microsoft::Snpe""",
    "in preview, and no kernel runs it": """
        ai.onnx.preview.training::Adagrad ai.onnx.preview.training::Adam ai.onnx.preview.training::Gradient
        ai.onnx.preview.training::Momentum""",
    "experiments of Caffe2, a first version and plugins of TensorRT, which nothing runs": """
        CausalConvWithState DisentangledAttention_TRT EfficientNMS_TRT GRUUnit-1 GivenTensorFill-1
        MultilevelCropAndResize_TRT PyramidROIAlign_TRT Split-1 TRT::EfficientNMS_TRT""",
    "onnxruntime has no kernel on the CPU, so no run could hold it to its word": """
        com.microsoft::BiasAdd com.microsoft::BiasDropout com.microsoft::BiasSoftmax
        com.microsoft::BiasSplitGelu com.microsoft::BitmaskBiasDropout com.microsoft::BitmaskDropout
        com.microsoft::ComplexMul com.microsoft::ComplexMulConj com.microsoft::ConvStateReplay
        com.microsoft::DecoderAttention com.microsoft::DecoderMaskedSelfAttention com.microsoft::DequantizeBFP
        com.microsoft::DequantizeWithOrder com.microsoft::DynamicSparseAttention
        com.microsoft::FusedMatMulActivation com.microsoft::GatedDeltaNetStateReplay
        com.microsoft::GatedRelativePositionBias com.microsoft::GemmFastGelu com.microsoft::GemmFloat8
        com.microsoft::GemmaRotaryEmbedding com.microsoft::GroupNorm com.microsoft::HyperConnectionLowRankMix
        com.microsoft::Irfft com.microsoft::IsAllFinite com.microsoft::LongformerAttention
        com.microsoft::Mamba2Verify com.microsoft::MatMulBlockQuantizedFp4Weight
        com.microsoft::MatMulBlockQuantizedFp8Weight com.microsoft::MatMulNBitsMlp
        com.microsoft::MatMulNBitsQLoRA com.microsoft::MatMulNBitsQkv com.microsoft::MatMulPacked
        com.microsoft::MoEPacked com.microsoft::MulInteger com.microsoft::NhwcConv com.microsoft::NhwcFusedConv
        com.microsoft::PackedAttention com.microsoft::PackedMultiHeadAttention
        com.microsoft::PackedSparseAttentionIndexer com.microsoft::PackedSparseAttentionIndexerMerge
        com.microsoft::PagedAttention com.microsoft::QLinearReduceMean com.microsoft::QOrderedAttention
        com.microsoft::QOrderedGelu com.microsoft::QOrderedLayerNormalization
        com.microsoft::QOrderedLongformerAttention com.microsoft::QOrderedMatMul com.microsoft::QuantizeBFP
        com.microsoft::QuantizeWithOrder com.microsoft::RMSNormRotary com.microsoft::ReduceSumInteger
        com.microsoft::RelativePositionBias com.microsoft::RemovePadding com.microsoft::RestorePadding
        com.microsoft::Rfft com.microsoft::RouterGateUpProj com.microsoft::SimplifiedLayerNormalization
        com.microsoft::SkipGroupNorm com.microsoft::SparseAttentionIndexer com.microsoft::SparsePagedAttention
        com.microsoft::SpeculativePrefixCommit com.microsoft::SwiGLU com.microsoft::TorchEmbedding""",
}
"""By reason the names of operators."""


def incomplete() -> Iterator[str]:
    """The operators of the rules that promise nothing, with the versions of those that are for some."""
    for rule in shipped():
        if not rule.complete and rule.domain not in APART:
            versions = "" if rule.since == 1 and rule.until is None else f"-{rule.since}"
            yield from (f"{rule.domain}::{name}{versions}".removeprefix("::") for name in rule.names)


def unexplained() -> list[str]:
    """Operators without a reason, and names that should not be there."""
    return misnamed(REASONS, set(incomplete()))
