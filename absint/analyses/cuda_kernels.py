"""Kernels of onnxruntime's CUDA provider, as data: which operators have one, for which types, and what they keep on
the host.

Source: docs/OperatorKernels.md of onnxruntime and the registrations of its kernels (`InputMemoryType`), read in
November 2026. Types are those of the newest version of an operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from absint.lattices.dtype import DType

_TYPES: Final[Mapping[str, tuple[DType, ...]]] = {
    "f": (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT, DType.DOUBLE),
    "s": (DType.FLOAT,),
    "h": (DType.FLOAT16,),
    "i": (DType.INT32,),
    "l": (DType.INT64,),
    "u": (DType.UINT32, DType.UINT64),
    "b": (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16),
    "c": (DType.INT8,),
    "d": (DType.UINT8,),
    "t": (DType.BOOL,),
}
"""Letters for groups of types."""

_LIMITED: Final = """
f     Affine ArgMax ArgMin Attention AveragePool BatchNormalization Ceil Conv ConvTranspose Cos Crop DepthToSpace
f     Dropout Einsum Elu Erf Exp Floor GRU Gelu Gemm GlobalAveragePool GlobalMaxPool HardSigmoid HardSwish ImageScaler
f     InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Log LogSoftmax MatMul NonMaxSuppression
f     PRelu ParametricSoftplus RMSNormalization RNN RandomNormal RandomUniform Reciprocal ReduceLogSum ReduceLogSumExp
f     ReduceSumSquare Relu RoiAlign RotaryEmbedding Round ScaledTanh Selu Sigmoid SimplifiedLayerNormalization Sin
f     Softmax Softplus Softsign SpaceToDepth Sqrt Sum Tanh ThresholdedRelu
s     GridSample
sh    QuantizeLinear
t     And Not Or Xor
fi    ReduceL1 ReduceL2 ReduceMean ReduceProd
fil   Pow Range ReduceMax ReduceSum Tile TopK
fild  Where
filu  CumSum Greater GreaterOrEqual Less LessOrEqual Max Min Mod
filut Equal
filcd ReduceMin
filub Abs Add Div Mul Neg Shrink Sign Sub
flt   GatherND
ft    Pad
fid   Resize Upsample
fcd   MaxPool
flcd  Clip
shl   OneHot
shildt NonZero
c     MatMulInteger
"""
_ANY: Final = """
Cast Compress Concat ConcatFromSequence ConstantOfShape DequantizeLinear DynamicSlice Expand EyeLike Flatten Gather
GatherElements Identity If Loop RandomNormalLike RandomUniformLike Reshape ReverseSequence Scan Scatter ScatterElements
ScatterND SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength Shape Size Slice Split
Squeeze TensorScatter Transpose Trilu Unsqueeze
"""
"""Kernels for every type but strings."""

_CONTRIB: Final = """
Attention BiasAdd BiasDropout BiasGelu BiasSoftmax BiasSplitGelu BitmaskBiasDropout BitmaskDropout ComplexMul
ComplexMulConj ConvTransposeWithDynamicPads DecoderAttention DecoderMaskedMultiHeadAttention DecoderMaskedSelfAttention
DequantizeLinear DequantizeWithOrder DynamicTimeWarping EmbedLayerNormalization FastGelu FusedConv FusedMatMul
GatedRelativePositionBias GatherBlockQuantized Gelu GemmFloat8 GemmaRotaryEmbedding GridSample GroupNorm
GroupQueryAttention Inverse Irfft LongformerAttention MatMulBnb4 MatMulNBits MoE MultiHeadAttention NGramRepeatBlock
NhwcConv PackedAttention PackedMultiHeadAttention PagedAttention QAttention QMoE QOrderedAttention QOrderedGelu
QOrderedLayerNormalization QOrderedLongformerAttention QOrderedMatMul QuantizeLinear QuantizeWithOrder QuickGelu
RelativePositionBias RemovePadding RestorePadding Rfft RotaryEmbedding SkipGroupNorm SkipLayerNormalization
SkipSimplifiedLayerNormalization SparseAttention
"""

_KERNELS: Final[Mapping[str, frozenset[DType] | None]] = {
    name: frozenset(dtype for letter in letters for dtype in _TYPES[letter])
    for letters, names in (line.split(maxsplit=1) for line in _LIMITED.strip().splitlines())
    for name in names.split()
} | dict.fromkeys(_ANY.split())

_CONTRIB_KERNELS: Final = frozenset(_CONTRIB.split())

_DECIDING: Final[Mapping[str, int]] = {"Where": 1, "OneHot": 2}
"""The input whose type counts, if it is not the first."""

_HOST_INPUTS: Final[Mapping[str, tuple[int, ...]]] = {
    "Clip": (1, 2), "ConstantOfShape": (0,), "Dropout": (1, 2), "If": (0,), "Loop": (0, 1),
    "NonMaxSuppression": (2, 3, 4), "OneHot": (1, 2), "Pad": (1, 2, 3), "Range": (0, 1, 2), "Resize": (1, 2, 3),
    "SequenceInsert": (2,), "Slice": (1, 2, 3, 4),
} | dict.fromkeys(
    ("CumSum", "Expand", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
     "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Reshape", "SequenceAt", "SequenceErase", "Split",
     "Squeeze", "Tile", "TopK", "Trilu", "Unsqueeze", "Upsample"), (1,),
)  # fmt: skip

_CONTRIB_HOST_INPUTS: Final[Mapping[str, tuple[int, ...]]] = {
    "Attention": (6,), "DecoderMaskedMultiHeadAttention": (7, 8), "DecoderMaskedSelfAttention": (6, 7),
    "GroupQueryAttention": (6,), "MultiHeadAttention": (8,), "RelativePositionBias": (1, 2), "SparseAttention": (7,),
}  # fmt: skip

HOST_OUTPUTS: Final = frozenset({"Shape", "Size", "SequenceLength"})
"""Operators whose kernels give their output on the host."""


def missing_kernel(domain: str, operator: str, types: list[DType]) -> str:
    """The reason why there is no kernel for inputs of these types; empty if there is one."""
    if DType.STRING in types:
        return "no CUDA kernel for strings"
    if domain == "com.microsoft":
        return "" if operator in _CONTRIB_KERNELS else "no CUDA kernel"
    if domain or operator not in _KERNELS:
        return "no CUDA kernel"
    allowed = _KERNELS[operator]
    deciding = _DECIDING.get(operator, 0)
    if allowed is None or deciding >= len(types) or types[deciding] in (DType.UNDEFINED, *allowed):
        return ""
    return f"no CUDA kernel for {types[deciding].name.lower()}"


def host_inputs(domain: str, operator: str) -> tuple[int, ...]:
    """The inputs that a kernel reads on the host, by index."""
    table = _CONTRIB_HOST_INPUTS if domain == "com.microsoft" else {} if domain else _HOST_INPUTS
    return table.get(operator, ())


__all__ = ["HOST_OUTPUTS", "host_inputs", "missing_kernel"]
