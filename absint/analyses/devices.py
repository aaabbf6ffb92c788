"""The places of nodes if an accelerator takes all that it can, and the values copied between it and the host.

This follows onnxruntime with its CUDA provider, as its sources say; there is no run to hold it against without such a
device. A node without a kernel runs on the host. Shape, Size and SequenceLength give their output there. A node that
reads host values alone runs on the host too, so that computations of sizes stay there: initialisers of at most 100
elements and inputs of its graph may be among its operands, a 16-bit or 8-bit float, an operand that its kernel reads on
the host anyway, and one that is left out may not. Nobody follows the output of a node without a kernel that read no
such host value. What a node reads on the other side is copied; a copy to the host waits for the device.

Nodes of ai.onnx whose inputs are all constant are folded before. Inputs and outputs of the model may be on either
side, and initialisers are placed once: they count as no copies. The outputs of an If or a loop are on the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from absint.analyses.liveness import bytes_of, elements_of
from absint.lattices.dtype import DType
from absint.lattices.records import record
from absint.lattices.terms.expr import Expr
from absint.lattices.value import BOTTOM, AnyTensor
from absint.program.nodes import Node
from absint.program.steps import Gate, IfJoin, LoopBody, LoopExit, LoopHead, MapExit, Operand, ScanExit
from absint.solution.analysed import Analysed
from absint.transfer.traits import RANDOM, SHAPE_ALONE

Side = Literal["device", "host", "folded"]

SMALL: Final = 100
"""Most elements of an initialiser that a node on the host reads."""

_NARROW: Final = frozenset(
    {DType.FLOAT16, DType.BFLOAT16, DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ}
)


@record()
class Placement:
    """The place where an operator runs, and the reason if it is not the device."""

    node: str
    side: Side
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.node}: {self.side}{f' ({self.reason})' if self.reason else ''}"


@record()
class Copy:
    """A value that is copied to the other side, in a loop at each trip."""

    value: str
    """Its name, in a body with its path."""

    node: str
    """The node that computes it."""

    to: Literal["host", "device"]
    readers: tuple[str, ...]
    """The nodes that read it there."""

    size: Expr | None
    """Bytes; None if unknown."""

    def __str__(self) -> str:
        size = "size unknown" if self.size is None else f"{self.size} bytes"
        return f"{self.value} of {self.node} to the {self.to}, {size}, for {', '.join(self.readers)}"


@record()
class Devices:
    """The operators with their sides, and the copies between them, in execution order."""

    placements: tuple[Placement, ...]
    copies: tuple[Copy, ...]

    @property
    def to_host(self) -> tuple[Copy, ...]:
        """The copies that wait for the device."""
        return tuple(copy for copy in self.copies if copy.to == "host")

    def count(self, side: Side) -> int:
        """The number of operators of a side."""
        return sum(placement.side == side for placement in self.placements)

    def __str__(self) -> str:
        rest = len(self.copies) - len(self.to_host)
        return (
            f"{self.count('device')} nodes on the device, {self.count('host')} on the host, {self.count('folded')} "
            f"folded; {len(self.to_host)} copies to the host, {rest} to the device"
        )


def devices(analysed: Analysed) -> Devices:
    """See `absint.Result.devices`."""
    analysed.require_sound("the placement of nodes")
    return _Placing(analysed).run()


class _Value(NamedTuple):
    on_host: bool
    source: Literal["", "constant", "input"] = ""
    """`constant` is an initialiser or folded, `input` an input of the graph that it is in."""

    leads: bool = False
    """Its readers may follow it to the host."""

    outputs: tuple[int, ...] = ()
    """Of a node on the device that gives some outputs on the host: those, by index."""


class _Placing:
    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._nodes = analysed.nodes
        self._inputs = set(analysed.input_nodes.values())
        self._values: dict[int, _Value] = {}
        self._needed: dict[tuple[Operand, bool], list[str]] = {}
        self._placements: list[Placement] = []

    def run(self) -> Devices:
        for number, node in enumerate(self._nodes):
            if node.value is not None:
                self._values[number] = _Value(False, "input" if number in self._inputs else "constant")
            elif node.step is not None:
                self._values[number] = _Value(False, "input" if isinstance(node.step, LoopBody) else "")
                self._control(node)
            elif node.gate < 0 or self._analysed.states[node.gate][:1] != (BOTTOM,):
                self._place(number, node)
        return Devices(tuple(self._placements), tuple(self._copies()))

    def _place(self, number: int, node: Node) -> None:
        assert node.operation is not None
        domain, operator = node.operation.domain, node.operation.op_type
        operands = [operand for operand in node.operands if operand[0] >= 0]
        is_constant = all(self._at(operand).source == "constant" for operand in operands)
        if not domain and operator not in RANDOM and (is_constant or self._is_fixed_shape(node)):
            self._values[number] = _Value(False, "constant")
            self._placements.append(Placement(str(node), "folded"))
            return
        values = [self._analysed.value_of(operand) for operand in node.operands]
        types = [value.dtype if isinstance(value, AnyTensor) else DType.UNDEFINED for value in values]
        wanted = host_inputs(domain, operator)
        reason = missing_kernel(domain, operator, types)
        if not reason and self._stays_on_host(node, types, wanted):
            reason = "reads host values alone"
        self._placements.append(Placement(str(node), "host" if reason else "device", reason))
        outputs = () if reason else host_outputs(domain, operator)
        leads = bool(outputs) or (bool(reason) and any(self._at(operand).leads for operand in operands))
        self._values[number] = _Value(bool(reason) or leads, leads=leads, outputs=outputs)
        for index, operand in enumerate(node.operands):
            self._read(operand, on_host=bool(reason) or index in wanted, reader=str(node))

    def _is_fixed_shape(self, node: Node) -> bool:
        """A Shape or Size of a tensor whose sizes are numbers, which is folded too."""
        if node.operator not in SHAPE_ALONE or node.operands[0][0] < 0:
            return False
        value = self._analysed.value_of(node.operands[0])
        return isinstance(value, AnyTensor) and value.shape.concrete is not None

    def _stays_on_host(self, node: Node, types: list[DType], wanted: tuple[int, ...]) -> bool:
        """The node reads some host value, and nothing that keeps it on the device."""
        reads_host = False
        for index, operand in enumerate(node.operands):
            if operand[0] < 0 or types[index] in _NARROW:
                return False
            value = self._at(operand)
            if value.source == "input" or (value.source == "constant" and self._is_small(operand)):
                continue
            if not value.leads or index in wanted:
                return False
            reads_host = True
        return reads_host

    def _control(self, node: Node) -> None:
        """The inputs of an If or a loop: its condition and limit on the host, all else on the device."""
        match node.step:
            case Gate():
                self._read(node.operands[0], on_host=True, reader=f"If {node.name}")
            case LoopHead():
                for operand in (*node.operands[:2], node.step.back[0]):
                    self._read(operand, on_host=True, reader=str(node))
                for operand in (*node.operands[2:], *node.step.back[1:]):
                    self._read(operand, on_host=False, reader=str(node))
            case IfJoin() | LoopExit() | ScanExit() | MapExit():
                skipped = 1 if isinstance(node.step, IfJoin) else 2 if isinstance(node.step, LoopExit) else 0
                for operand in node.operands[skipped:]:
                    if operand not in self._condition_of(node):
                        self._read(operand, on_host=False, reader=str(node))
            case _:
                for operand in node.operands:
                    self._read(operand, on_host=False, reader=str(node))

    def _condition_of(self, node: Node) -> tuple[Operand, ...]:
        """The condition that the body of a Loop gives back."""
        if not isinstance(node.step, LoopExit):
            return ()
        head = self._nodes[node.step.head].step
        return (head.back[0],) if isinstance(head, LoopHead) else ()

    def _at(self, operand: Operand) -> _Value:
        found = self._values.get(operand[0], _Value(False))
        step = self._nodes[operand[0]].step
        if isinstance(step, LoopHead) and operand[1] < 2:  # the number of the trip, and the condition
            return _Value(True, "input")
        return _Value(False) if found.outputs and operand[1] not in found.outputs else found

    def _read(self, operand: Operand, *, on_host: bool, reader: str) -> None:
        if operand[0] < 0:
            return
        readers = self._needed.setdefault((operand, on_host), [])
        if reader not in readers:
            readers.append(reader)

    def _copies(self) -> Iterator[Copy]:
        for (operand, on_host), readers in sorted(self._needed.items(), key=lambda item: item[0]):
            value = self._at(operand)
            if operand[0] in self._values and not value.source and value.on_host is not on_host:
                node = self._nodes[operand[0]]
                name = node.outputs[operand[1]] if operand[1] < len(node.outputs) else ""
                path = f"{node.path}/" if str(node.path) else ""
                size = bytes_of(self._analysed.value_of(operand))
                yield Copy(path + name, str(node), "host" if on_host else "device", tuple(readers), size)

    def _is_small(self, operand: Operand) -> bool:
        count = elements_of(self._analysed.value_of(operand))
        return count is not None and count.const is not None and count.const <= SMALL


# Kernels of onnxruntime's CUDA provider, as data: which operators have one, for which types, and what they keep on the
# host.
#
# Source: docs/OperatorKernels.md of github.com/microsoft/onnxruntime at commit 001d12d2623f, section CUDA, and the
# registrations of the kernels (`InputMemoryType`, `OutputMemoryType`) below onnxruntime/core/providers/cuda and
# onnxruntime/contrib_ops/cuda. Most of these were read at older commits, so a newer kernel may keep more on the host.
# controlflow/if.cc keeps input 0 there, loop.cc inputs 0 and 1, scan.cc none since opset 9, tensor/resize.cc inputs 1
# to 3; rnn/lstm.cc, gru.cc and rnn.cc the lengths of sequences. In math/topk.cc and tensor/pad.cc (axes since opset
# 18) as of commits 4f18312537ab and 47efe4f42314 of github.com/tianleiwu/onnxruntime, in tensor/sequence_op.cc
# (indices, and the length that SequenceLength gives) as of commit a57714c40119 of github.com/hann-wang/onnxruntime;
# older ones keep nothing there. Types are those of the newest version of an operator. NonMaxSuppression is not in
# that document, but has a registration. What no registration confirms is left out.


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
    groups = [(names, frozenset(dtype for letter in letters for dtype in _TYPES[letter])) for letters, names in rows]
    return {name: dtypes for names, dtypes in groups for name in names.split()}


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
