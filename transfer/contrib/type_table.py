"""The types that onnxruntime's own operators accept and return.

Those of ONNX's domain that ONNX has too run at opsets before ONNX's own.

A line names operators, then lists inputs, outputs, and the types of each variable. `?` marks an optional one, `*` one
for all that remain, `!` those that need not share a type. `GROUPS` names sets of types.
"""

from textwrap import dedent
from typing import Final

GROUPS: Final = {
    "any": "float float16 double bool complex128 complex64 int16 int32 int64 int8 string uint16 uint32 uint64 uint8",
    "sequence": (
        "seq(tensor(bfloat16)) seq(tensor(bool)) seq(tensor(complex128)) seq(tensor(complex64)) seq(tensor(double)) "
        "seq(tensor(float)) seq(tensor(float16)) seq(tensor(int16)) seq(tensor(int32)) seq(tensor(int64)) "
        "seq(tensor(int8)) seq(tensor(uint16)) seq(tensor(uint32)) seq(tensor(uint64)) seq(tensor(uint8))"
    ),
    "fixed": (
        "float float16 bfloat16 double bool complex128 complex64 float8e4m3fn float8e4m3fnuz float8e5m2 "
        "float8e5m2fnuz int16 int32 int64 int8 uint16 uint32 uint64 uint8"
    ),
    "reals": "float float16 bfloat16 double",
    "real": "float float16 bfloat16",
    "half": "float16 bfloat16",
    "byte": "int8 uint8",
    "float8": "float8e4m3fn float8e5m2",
    "sparse": (
        "sparse_tensor(double) sparse_tensor(float) sparse_tensor(int32) sparse_tensor(int64) sparse_tensor(uint32) "
        "sparse_tensor(uint64)"
    ),
}
"""Sets of types."""

_LINES: Final = {
    "": """
        Affine Crop ImageScaler MeanVarianceNormalization ParametricSoftplus Scale ScaledTanh ThresholdedRelu: T -> T;
            T: float float16 double
        DisentangledAttention_TRT: T T T -> T; T: float float16
        DynamicSlice: T Tind Tind Tind? -> T; T: any; Tind: int32 int64
        EfficientNMS_TRT: T T T? -> int32 T T int32; T: float float16
        GRUUnit: T T T T -> T; T: float float16 double
        GivenTensorFill: T? -> T; T: float float16 double
        LayerNormalization: T V V? -> V U? U?; T: reals; V: reals; U: float double
        MemcpyFromHost MemcpyToHost: T -> T; T: fixed sequence
        MultilevelCropAndResize_TRT PyramidROIAlign_TRT: T T T T T -> T; T: float
        SimplifiedLayerNormalization: T V -> V U?; T: reals; V: reals; U: float double
    """,
    "com.microsoft": """
        Attention: T T T? M? T? T? M? -> T T?; T: real; M: int32
        AttnLSTM: T T T T? T1? T? T? T? T? T? T? T? T1? T? -> T? T? T?; T: float double; T1: int32
        BeamSearch: F I I? I I T? T? M? M? I? I? I? -> I T? T?; F: float float16 int32; I: int32; T: float float16; M:
            int32
        BiasAdd: T T T -> T; T: float float16
        BiasDropout: T T T? T1? T2? -> T T2?; T: reals; T1: reals; T2: bool
        BiasGelu FusedMatMul FusedMatMulActivation TransposeMatMul: T T -> T; T: reals
        BiasSoftmax ComplexMul ComplexMulConj: T T -> T; T: float float16 double
        BiasSplitGelu: T T -> T; T: float float16
        BifurcationDetector: T T T T? -> T T; T: int64
        BitmaskBiasDropout: T T T? T1? T2? -> T T3?; T: reals; T1: reals; T2: bool; T3: uint32
        BitmaskDropout: T T1? T2? -> T T3?; T: reals; T1: reals; T2: bool; T3: uint32
        BranchwiseRMSNorm ScaledSiLU: T M? -> T; T: real; M: real
        CDist: T T -> T; T: float double
        CausalConvWithState: T T T? T? -> T T T?; T: real
        ConvStateReplay: T T T TI -> T; T: float16 float; TI: int64
        ConvTransposeWithDynamicPads: T T int64? T? -> T; T: float float16 double
        CropAndResize: T1 T1 T2 T2 -> T1; T1: float float16 double; T2: int32
        DecoderAttention: T T T T T B? T? T? B B B B -> T T? T?; T: float float16; B: bool
        DecoderMaskedMultiHeadAttention: T T? T? M? T? T? T? M? M? M? T? -> T T? T? QK?; T: float float16; M: int32; QK:
            float float16
        DecoderMaskedSelfAttention: T T T M? T T? M M? M? -> T T; T: float float16; M: int32
        DequantizeBFP: T1 T2 T2 -> T3; T1: uint8; T2: int64; T3: real
        DequantizeLinear: T1 T2 T1? -> T2; T1: byte int16 int32 int4 uint16 uint4; T2: float float16
        DequantizeWithOrder: Q S -> F; Q: int8; S: float; F: float float16
        DynamicQuantizeLSTM: T T2 T2 T? T1? T? T? T? T T2 T T2 -> T? T? T?; T: float; T2: byte; T1: int32
        DynamicQuantizeMatMul: T1 T2 T1 T2? T1? -> T1; T1: float; T2: byte
        DynamicSparseAttention: TQuery TQuery? TValue? TCache? TCache? T? T? M M M M T? T? int64? T? T? T? M? S? S? -> T
            TCache? TCache? M?; T: real; TQuery: real; TValue: real; TCache: real int8; S: float; M: int32
        DynamicTimeWarping: F -> I; F: float; I: int32
        EPContext: T*! -> T*!; T: byte reals bool int16 int32 int64 uint16 uint32 uint64
        EmbedLayerNormalization: T1 T1? T T T? T T T1? T1? -> T T1? T?; T1: int32; T: float float16
        EngramGate: T T T T T T? -> T T?; T: real
        ExpandDims: T int32 -> T; T: any
        FastGelu: T T? -> T; T: reals
        FusedConv: T T T? T? -> T; T: float float16 double
        FusedGemm: T T T? -> T; T: float float16 double int32 int64 uint32 uint64
        GatedAdd: T T T T? -> T; T: real
        GatedDeltaNet: T T? T? TI? TG? TG? TS? TS? TS? TI? TI? -> T TS? TS?; T: real; TI: int32; TS: float; TG: real
        GatedDeltaNetStateReplay: T T T TI -> T; T: float; TI: int64
        GatedRMSNorm: T T T -> T; T: real
        GatedRelativePositionBias: T T T T T T M? -> T; T: float float16; M: int32
        GatherBlockQuantized: T1 Tind T2 T1? -> T2; T1: float8 float4e2m1 float8e4m3fnuz float8e5m2fnuz int4 uint4
            uint8; Tind: int32 int64; T2: real
        GatherND: T Tind -> T; T: any; Tind: int32 int64
        GatherPacked: T1 Tind -> T2; T1: uint8; T2: real; Tind: int32 int64
        Gelu QuickGelu: T -> T; T: reals
        GemmFastGelu: T T T? -> T; T: real
        GemmFloat8: TA TB TC? TS? TS? TS? -> TR; TA: float8 real; TB: float8 real; TC: real; TS: float; TR: float8 real
        GemmaRotaryEmbedding: U T T T T -> T T; U: float; T: float16
        GreedySearch: I I I? T? I? I? I? -> I; I: int32; T: float
        GridSample: T1 T1 -> T2; T1: any; T2: float float16 double
        GroupNorm: T M M -> T; T: float float16; M: float float16
        GroupQueryAttention: T T? T? T_CACHE? T_CACHE? M M T? T? int64? T? T? T_KV_SCALE? T_KV_SCALE? T? T? M? -> T
            T_CACHE? T_CACHE? T?; T: real; T_CACHE: byte real float8e4m3fn; M: int32; T_KV_SCALE: float
        HyperConnectionLowRankMix: T T T T T T? T? -> T T T?; T: real
        HyperConnectionPostMix: T T M M? -> T; T: real; M: real
        HyperConnectionPreMix: T M -> T; T: real; M: real
        Inverse Irfft Rfft: T -> T; T: float float16 double
        IsAllFinite: V* -> T; V: reals; T: bool
        LinearAttention: T T T S? T? T? -> T S; T: real; S: real
        LinearAttentionGate: T TF TF T? -> T T?; T: real; TF: float
        LongformerAttention: T T T T T T G -> T; T: float float16; G: int32
        MRotaryEmbedding RotaryEmbedding: T M T T -> T; T: real; M: int64
        Mamba2Verify: T T F T T F F F F I -> T T F T? F?; T: bfloat16; F: float; I: int32
        MatMulBlockQuantizedFp4Weight: T T1 T2 T3 T3? T? -> T; T: half; T1: uint8; T2: uint8; T3: float
        MatMulBlockQuantizedFp8Weight: T T1 T2 T2? T? -> T; T: half; T1: float8e4m3fn; T2: float
        MatMulBnb4: T1 T2 T1 -> T1; T1: real; T2: uint8
        MatMulFpQ4: T1 T2 T3 -> T1; T1: float; T2: uint8; T3: int64
        MatMulInteger16: T1 T2 -> T3; T1: int16 uint16; T2: int16 uint16; T3: int32 uint32
        MatMulIntegerToFloat: T1 T2 T3 T3 T1? T2? T3? -> T3; T1: byte; T2: byte; T3: float float16
        MatMulNBits: T1 T2 T1 T3? T4? T1? -> T1; T1: real; T2: uint8; T3: real uint8; T4: int32
        MatMulNBitsMlp: T1 T1? T1? T2 T1 T1? T2 T1 T1? -> T1 T1?; T1: real; T2: uint8
        MatMulNBitsQLoRA: T TQ T TQ T TQ T -> T; T: float16 float; TQ: uint8
        MatMulNBitsQkv: T1 T1? T1 T2 T1 T1? T2 T1 T1? T2 T1 T1? -> T1 T1 T1 T1?; T1: real; T2: uint8
        MatMulPacked: T1 T2 Tscale? -> T1; T1: half; T2: uint8; Tscale: float
        MaxpoolWithMask: T int32 -> T; T: float
        MoE: T T T T? T T? T? T? -> T; T: real
        MoEGroupRouter: T TF T? -> T? TF? TF?; T: real; TF: float
        MoEPacked: T TR T2 T2? T2 TR? -> T; T: half; T2: uint8; TR: real
        MulInteger: T T? T T? -> T1; T: byte; T1: int32
        MultiHeadAttention: T T? T? T? M? T? T? T? M? M? -> T T? T? QK?; T: real; M: int32; QK: real
        MurmurHash3: T1 -> T2; T1: float double int32 int64 string uint32 uint64; T2: int32 uint32
        NGramHashMapping: M M M M? M? M? int32? -> M M?; M: int32 int64
        NGramRepeatBlock: Tid T -> T; Tid: int64; T: float
        NhwcConv: T T T? -> T; T: float float16 double
        NhwcFusedConv: T T T? T? -> T; T: float float16
        NhwcMaxPool: T -> T; T: byte
        PackedAttention: T T T M M T? -> T; T: float float16; M: int32
        PackedMultiHeadAttention: T T? T? T? M M T? -> T; T: float float16; M: int32
        PackedSparseAttentionIndexer: T T? T T T T M M T? T? T? I? T_KEY T T? M M? M? M? M? M? M? -> M M T_KEY T T? M T?
            M? M?; T: real; T_KEY: real; M: int32; I: int64
        PackedSparseAttentionIndexerMerge: T T T T? T? T? T? -> T T T; T: int32
        Pad: T int64 T? -> T; T: float float16 double
        PagedAttention: T T? T? T_CACHE T_CACHE? S S S T? T? S? T? T? T? T_KV_SCALE? T_KV_SCALE? S? -> T T_CACHE?
            T_CACHE?; T: half; T_CACHE: byte half float8e4m3fn; S: int32; T_KV_SCALE: float
        QAttention: T1 T2 T3 T3 T3 T4? T1? T2? T3? -> T3 T3?; T1: byte; T2: byte; T3: float float16; T4: int32
        QEmbedLayerNormalization: T1 T1? T2 T2 T2? T2 T2 T1? T T T? T T T2 T2 T2? T2 T2 -> T T1; T1: int32; T2: byte; T:
            float
        QGemm: TA T TA TB T TB TC? T? TYZ? -> TY; TA: byte; T: float; TB: byte; TC: int32; TYZ: byte; TY: byte float
        QLinearAdd QLinearMul: T float T? T float T? float T? -> T; T: byte
        QLinearAveragePool QLinearLeakyRelu QLinearReduceMean QLinearSigmoid: T float T? float T? -> T; T: byte
        QLinearConcat: TF T8 TV*! -> T8; TF: float; T8: byte; TV: byte float
        QLinearConv: T1 float T1 T2 float T2 float T3 T4? -> T3; T1: byte; T2: byte; T3: byte; T4: int32
        QLinearGlobalAveragePool: T float T float T -> T; T: byte
        QLinearSoftmax: T float T? float T -> T; T: byte
        QLinearWhere: B T TF T T TF T TF T -> T; B: bool; T: byte; TF: float
        QMoE: T T T1 T2? T? T1 T2? T? T1? T2? T? T1? T1? T1? T? T4? T4? T4? T4? T2? T2? -> T; T: real; T1: float8e4m3fn
            uint8; T2: real float8e4m3fn float8e8m0; T4: float
        QOrderedAttention: Q S S S S Q Q Q S S S S S S S? S? S G? Q? S? -> Q; Q: int8; S: float; G: int32
        QOrderedGelu: Q S S -> Q; Q: int8; S: float
        QOrderedLayerNormalization: Q S F F? S -> Q; Q: int8; S: float; F: float float16
        QOrderedLongformerAttention: Q S Q S S S S F Q S S S G S -> Q; Q: int8; S: float; F: float16; G: int32
        QOrderedMatMul: Q S Q S S S? Q? S? -> Q; Q: int8; S: float
        QuantizeBFP: T1 -> T2 T3 T3; T1: real; T2: uint8; T3: int64
        QuantizeLinear: T1 T1 T2? -> T2; T1: float float16; T2: byte int16 int4 uint16 uint4
        QuantizeWithOrder: F S -> Q; F: float float16; S: float; Q: int8
        RMSNormRotary: T F I TCos TCos TI? -> TOut F?; T: half; TCos: bfloat16 float; TOut: half; F: float; I: int64;
            TI: int32
        Range: T T T? -> T; T: float double int16 int32 int64
        ReduceSumInteger: T1 -> T2; T1: byte; T2: int32 uint32
        RelativePositionBias: T U U -> T; T: float float16; U: int64
        RemovePadding: T M -> T M M M; T: float float16; M: int32
        RestorePadding: T M -> T; T: float float16; M: int32
        RouterGateUpProj: T T -> T T; T: half
        SampleOp: T -> T; T: float float16 double int32 int64 uint32 uint64
        Sampling: I I I? T? I? I? I? I? I? -> I T?; I: int32; T: float
        SkipGroupNorm: T M M T T? -> T T?; T: float float16; M: float float16
        SkipLayerNormalization: T T T T? T? -> T U? U? T?; T: real; U: float
        SkipSimplifiedLayerNormalization: T T T T? -> T U? U? T?; T: real; U: float
        Snpe: T* -> T*; T: float uint16 uint8
        SparseAttention: T T? T? T T M M M M T? T? -> T T T; T: real; M: int32
        SparseAttentionIndexer: T T? T T T T TB? T T? T? T? I? M? T? -> M T T?; T: real; TB: int64; I: int64; M: int32
        SparsePagedAttention: T T? T? T_CACHE T_CACHE S S S S? S S T? T? S? T? T? T? T? T? T_KV_SCALE? T_KV_SCALE? S? ->
            T T_CACHE? T_CACHE?; T: half; T_CACHE: half int8; S: int32; T_KV_SCALE: float
        SparseToDenseMatMul: T T1 -> T1; T: sparse; T1: float double int32 int64 uint32 uint64
        SpeculativePrefixCommit: I64 I64 I32 I64 I64 I64 I64 -> I32 I64 I64; I64: int64; I32: int32
        SwiGLU: T T? -> T; T: real
        Tokenizer: T -> T; T: string
        TorchEmbedding: T int64 int64? bool? -> T; T: byte reals int16 int32 int64 uint16 uint32 uint64
        Trilu: T int64? -> T; T: byte reals bool int16 int32 int64 uint16 uint32 uint64
        UnfoldTensor: T -> T; T: any bfloat16
        Unique: T -> T int64 int64; T: any
        VarlenCausalConvWithState: T T M T? T M? T? T? -> T T T?; T: real; M: int32
        VarlenNGramHashMapping: M M M S M? M? M? int32? S? S? -> M M? S? M?; M: int32 int64; S: int32
        WhisperBeamSearch: F I I? I I T? T? M? M? I? I? I? I? I? T? -> I T? T? V? T?; F: float float16 int32; I: int32;
            T: float float16; M: int32; V: float
        WordConvEmbedding: T T1 T1 T1 -> T1; T: int32; T1: float
    """,
    "com.microsoft.nchwc": """
        AveragePool GlobalAveragePool GlobalMaxPool MaxPool ReorderInput ReorderOutput Upsample: T -> T; T: float
        Conv: T T T? T? -> T; T: float
    """,
    "com.ms.internal.nhwc": """
        QLinearAveragePool: T float T? float T? -> T; T: byte
        QLinearConvTranspose: T1 float T1 T2 float T2 float T3 T4? -> T3; T1: byte; T2: byte; T3: byte; T4: int32
    """,
}


def _table(text: str) -> dict[str, str]:
    """Operator -> its types; what is indented goes on with the line before."""
    lines = dedent(text).strip().replace("\n    ", " ").split("\n")
    return {name: types for names, _, types in (line.partition(": ") for line in lines) for name in names.split()}


TABLE: Final = {domain: _table(text) for domain, text in _LINES.items()}
"""By domain and operator."""
