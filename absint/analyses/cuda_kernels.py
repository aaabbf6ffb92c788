"""Kernels of onnxruntime's CUDA provider, as data: which operators have one, for which types, and what they keep on
the host.

Source: docs/OperatorKernels.md of github.com/microsoft/onnxruntime at commit 001d12d2623f, section CUDA, and the
registrations of the kernels (`InputMemoryType`, `OutputMemoryType`) below onnxruntime/core/providers/cuda and
onnxruntime/contrib_ops/cuda. Most of these were read at older commits, so a newer kernel may keep more on the host.
controlflow/if.cc keeps input 0 there, loop.cc inputs 0 and 1, scan.cc none since opset 9, tensor/resize.cc inputs 1 to
3; rnn/lstm.cc, gru.cc and rnn.cc the lengths of sequences. In math/topk.cc and tensor/pad.cc (axes since opset 18) as
of commits 4f18312537ab and 47efe4f42314 of github.com/tianleiwu/onnxruntime, in tensor/sequence_op.cc (indices, and
the length that SequenceLength gives) as of commit a57714c40119 of github.com/hann-wang/onnxruntime; older ones keep
nothing there. Types are those of the newest version of an operator. NonMaxSuppression is not in that document, but has
a registration. What no registration confirms is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from absint.lattices.dtype import DType

_TYPES: Final[Mapping[str, tuple[DType, ...]]] = {
    "f": (DType.FLOAT16, DType.FLOAT, DType.DOUBLE), "w": (DType.BFLOAT16,), "s": (DType.FLOAT,),
    "z": (DType.FLOAT, DType.DOUBLE), "h": (DType.FLOAT16,), "i": (DType.INT32,), "l": (DType.INT64,),
    "j": (DType.INT16,), "u": (DType.UINT32, DType.UINT64), "v": (DType.UINT64,),
    "b": (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16), "c": (DType.INT8,), "d": (DType.UINT8,),
    "q": (DType.INT4, DType.UINT4), "8": (DType.FLOAT8E4M3FN, DType.FLOAT8E5M2),
    "9": (DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2FNUZ), "4": (DType.FLOAT4E2M1,), "t": (DType.BOOL,),
    "x": (DType.STRING,),
}  # fmt: skip
"""Letters for groups of types."""

_KERNELS: Final = """
f       Affine ArgMax ArgMin BatchNormalization Ceil ConvTranspose Cos Crop DepthToSpace Einsum Elu Floor GRU
f       GlobalAveragePool GlobalMaxPool ImageScaler InstanceNormalization LRN LSTM LeakyRelu Log LogSoftmax PRelu
f       ParametricSoftplus RNN RandomNormal RandomUniform Reciprocal ReduceLogSum ReduceLogSumExp ReduceSumSquare Round
f       ScaledTanh Selu Sin Softplus Softsign SpaceToDepth ThresholdedRelu
fw      AveragePool Conv Dropout Erf Exp Gelu Gemm HardSigmoid HardSwish LayerNormalization MatMul RMSNormalization
fw      Relu Sigmoid SimplifiedLayerNormalization Softmax Sqrt Sum Tanh
fw89    IsInf IsNaN
shw     Attention RotaryEmbedding
s       GridSample NonMaxSuppression
z       RoiAlign
sh      QuantizeLinear
t       And Not Or Xor
fi      ReduceL1 ReduceL2 ReduceMean ReduceProd
fil     ReduceMax TopK
fwil    Pow ReduceSum Tile
fwild   Where
filu    CumSum Greater GreaterOrEqual Less LessOrEqual
fwilu   Max Min Mod
filut   Equal
filcd   ReduceMin
filub   Shrink
fwilub  Abs Add Div Mul Sign Sub
fwjilc  Neg
fwlt    GatherND
ft      Pad
fid     Resize Upsample
fcd     MaxPool
flcdv   Clip
zjil    Range
shl     OneHot
shildt  NonZero
zilv    EyeLike
cdq8    DequantizeLinear
c       MatMulInteger
l       ConstantOfShape
fwilubt89  Identity Reshape Scan Shape
fwilubt84  Cast
fwilubtx   RandomNormalLike RandomUniformLike Size
fwilubt  Compress Concat ConcatFromSequence DynamicSlice Expand Flatten Gather GatherElements ReverseSequence Scatter
fwilubt  ScatterElements ScatterND SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert
fwilubt  SequenceLength Slice Split Squeeze TensorScatter Transpose Trilu Unsqueeze
"""

_CONTRIB_KERNELS: Final = """
f       BiasSoftmax Inverse Irfft Rfft
fw      BiasDropout BiasGelu BitmaskBiasDropout BitmaskDropout FastGelu FusedMatMul Gelu QuickGelu TransposeMatMul
shw     Attention GatherBlockQuantized MatMulBnb4 MatMulNBits MoE MultiHeadAttention RotaryEmbedding
shw     SkipLayerNormalization SkipSimplifiedLayerNormalization
shw8    GemmFloat8
hw      GroupQueryAttention PagedAttention QMoE SparseAttention
sh      BiasAdd BiasSplitGelu ComplexMul ComplexMulConj DecoderAttention DecoderMaskedMultiHeadAttention
sh      DecoderMaskedSelfAttention EmbedLayerNormalization GatedRelativePositionBias GroupNorm LongformerAttention
sh      NhwcConv PackedAttention PackedMultiHeadAttention QuantizeWithOrder RelativePositionBias RemovePadding
sh      RestorePadding SkipGroupNorm
s       ConvTransposeWithDynamicPads DynamicTimeWarping FusedConv GemmaRotaryEmbedding GridSample NGramRepeatBlock
h       DequantizeLinear QuantizeLinear
c       DequantizeWithOrder QAttention QOrderedAttention QOrderedGelu QOrderedLayerNormalization
c       QOrderedLongformerAttention QOrderedMatMul
i       BeamSearch GreedySearch Sampling
sh      WhisperBeamSearch
fwilubt   Trilu
fwilubtx  UnfoldTensor
"""


def _table(text: str) -> Mapping[str, frozenset[DType]]:
    rows = (line.split(maxsplit=1) for line in text.strip().splitlines())
    return {
        name: frozenset(dtype for letter in letters for dtype in _TYPES[letter])
        for letters, names in rows
        for name in names.split()
    }


_BY_DOMAIN: Final = {"": _table(_KERNELS), "com.microsoft": _table(_CONTRIB_KERNELS)}

_DECIDING: Final[Mapping[tuple[str, str], int]] = {
    ("", "Where"): 1, ("", "OneHot"): 2, ("com.microsoft", "DequantizeLinear"): 1,
    ("com.microsoft", "EmbedLayerNormalization"): 2, ("com.microsoft", "GatherBlockQuantized"): 2,
    ("com.microsoft", "NGramRepeatBlock"): 1,
}  # fmt: skip
"""The input whose type counts, if it is not the first."""

_HOST_INPUTS: Final[Mapping[str, Mapping[str, tuple[int, ...]]]] = {
    "": {
        "Clip": (1, 2), "ConstantOfShape": (0,), "Dropout": (1, 2), "GRU": (4,), "If": (0,), "LSTM": (4,),
        "Loop": (0, 1), "MatMulInteger": (2, 3), "NonMaxSuppression": (2, 3, 4), "OneHot": (1, 2), "Pad": (1, 2, 3),
        "RNN": (4,), "Range": (0, 1, 2), "Resize": (1, 2, 3), "SequenceAt": (1,), "SequenceErase": (1,),
        "SequenceInsert": (2,), "Slice": (1, 2, 3, 4),
    } | dict.fromkeys(
        ("CumSum", "Expand", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
         "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Reshape", "Split", "Squeeze", "Tile", "TopK",
         "Trilu", "Unsqueeze", "Upsample"), (1,),
    ),
    "com.microsoft": {
        "Attention": (6,), "BeamSearch": (0, 1, 2, 3, 4, 5, 6, 9, 10, 11, 12), "BiasDropout": (3, 4),
        "BitmaskBiasDropout": (3, 4), "BitmaskDropout": (1, 2), "ConvTransposeWithDynamicPads": (2,),
        "DecoderMaskedMultiHeadAttention": (7, 8), "DecoderMaskedSelfAttention": (6, 7), "DequantizeWithOrder": (1,),
        "GreedySearch": (0, 1, 2, 3, 6), "GroupQueryAttention": (6,), "MultiHeadAttention": (8,),
        "QAttention": (3, 4, 6, 7), "QOrderedAttention": (1, 2, 3, 4, 14, 15, 16), "QOrderedGelu": (1, 2),
        "QOrderedLayerNormalization": (1, 4), "QOrderedLongformerAttention": (1, 3, 5, 6, 9, 11, 13),
        "QOrderedMatMul": (1, 3, 4, 7), "QuantizeWithOrder": (1,), "RelativePositionBias": (1, 2),
        "Sampling": (0, 1, 2, 3, 6), "SparseAttention": (7,),
        "WhisperBeamSearch": (0, 1, 2, 3, 4, 5, 6, 9, 10, 11),
    },
}  # fmt: skip

_HOST_OUTPUTS: Final[Mapping[str, Mapping[str, tuple[int, ...]]]] = {
    "": {"SequenceLength": (0,), "Shape": (0,), "Size": (0,)},
    "com.microsoft": {"BeamSearch": (0, 1), "GreedySearch": (0,), "Sampling": (0, 1), "WhisperBeamSearch": (0, 1)},
}


def missing_kernel(domain: str, operator: str, types: list[DType]) -> str:
    """The reason why there is no kernel for inputs of these types; empty if there is one."""
    allowed = _BY_DOMAIN.get(domain, {}).get(operator)
    if allowed is None:
        return "no CUDA kernel"
    if DType.STRING in types and DType.STRING not in allowed:
        return "no CUDA kernel for strings"
    deciding = _DECIDING.get((domain, operator), 0)
    if deciding >= len(types) or types[deciding] in (DType.UNDEFINED, *allowed):
        return ""
    return f"no CUDA kernel for {types[deciding].name.lower()}"


def host_inputs(domain: str, operator: str) -> tuple[int, ...]:
    """The inputs that a kernel reads on the host, by index."""
    return _HOST_INPUTS.get(domain, {}).get(operator, ())


def host_outputs(domain: str, operator: str) -> tuple[int, ...]:
    """The outputs that a kernel gives on the host, by index."""
    return _HOST_OUTPUTS.get(domain, {}).get(operator, ())
