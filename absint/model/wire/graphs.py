"""Declared types, nodes and graphs of an ONNX file as plain objects, with protobuf's names of fields; never changed.

Fields that no analysis looks at have no place here, and one that the file leaves out has protobuf's default. A text
that is not valid UTF-8 is bytes, as in protobuf, whose annotations do not say so either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from absint.lattices.records import NamedTuple
from absint.model.wire.fields import delimited
from absint.model.wire.scalars import content_of
from absint.model.wire.tensors import NO_SPARSE, NO_TENSOR, Entry, SparseTensor, Tensor, shown

if TYPE_CHECKING:
    import onnx


class Dim(NamedTuple):
    """A size, a text, or neither."""

    kind: str | None = None
    dim_value: int = 0
    dim_param: str = ""

    def WhichOneof(self, _: str) -> str | None:  # noqa: N802
        """`dim_value`, `dim_param` or None."""
        return self.kind


class Dims(NamedTuple):
    """The dims of a tensor's type."""

    dim: tuple[Dim, ...] = ()


_NO_DIMS: Final = Dims()


class TensorType(NamedTuple):
    """The element type and the dims of a tensor, dense or sparse."""

    elem_type: int = 0
    shape: Dims = _NO_DIMS

    def HasField(self, _: str) -> bool:  # noqa: N802
        """It has a `shape`."""
        return self.shape is not _NO_DIMS


_NO_TENSOR: Final = TensorType()


class ElementType(NamedTuple):
    """The type of the elements of a sequence, or of the value of an optional."""

    elem_type: Type


class MapType(NamedTuple):
    """The types of the keys and the values of a map."""

    key_type: int
    value_type: Type


class Type:
    """The type of a value: one of several kinds, or none. What its kind is not is empty."""

    tensor_type = sparse_tensor_type = _NO_TENSOR
    sequence_type: ElementType
    optional_type: ElementType
    map_type: MapType

    def __init__(
        self, kind: str | None = None, inner: TensorType | ElementType | MapType | None = None, content: bytes = b""
    ) -> None:
        """`kind` is the name of a field: `tensor_type`, `sequence_type` and so on."""
        self._kind = kind
        self._content = content
        if kind is not None and inner is not None:
            setattr(self, kind, inner)

    def WhichOneof(self, _: str) -> str | None:  # noqa: N802
        """The kind."""
        return self._kind

    def SerializeToString(self) -> bytes:  # noqa: N802
        """Its bytes in the file."""
        return self._content


NO_TYPE: Final = Type()
Type.sequence_type = Type.optional_type = ElementType(NO_TYPE)
Type.map_type = MapType(0, NO_TYPE)


class ValueInfo:
    """The declared type of a value."""

    __slots__ = ("name", "type")

    def __init__(self, name: str, type: Type) -> None:
        self.name = name
        self.type = type

    def HasField(self, _: str) -> bool:  # noqa: N802
        """It has a `type`."""
        return self.type is not NO_TYPE


class Opset(NamedTuple):
    """The version of a domain's operators."""

    domain: str
    version: int


class Attribute:
    """An attribute of a node, or the default of one of a function."""

    name: str = ""
    ref_attr_name: str = ""
    type = 0
    i = 0
    f = 0.0
    s = b""
    ints: Sequence[int] = ()
    floats: Sequence[float] = ()
    strings: Sequence[bytes] = ()
    t = NO_TENSOR
    g: Graph
    graphs: Sequence[Graph] = ()
    tp = NO_TYPE
    sparse_tensor = NO_SPARSE
    _content = b""

    def HasField(self, name: str) -> bool:  # noqa: N802
        """It has a tensor `t`, a sparse tensor `sparse_tensor`, a graph `g`, or a type `tp`."""
        return getattr(self, name) is not _NOTHING[name]

    @property
    def holds_graphs(self) -> bool:
        """It has a graph, or a list of them."""
        return self.g is not NO_GRAPH or bool(self.graphs)

    def SerializeToString(self) -> bytes:  # noqa: N802
        """Its bytes in the file; if it holds a graph or a large tensor, bytes that no other attribute has."""
        return self._content

    def keep(self, content: bytes) -> None:
        """Note its bytes."""
        self._content = content

    def renamed(self, name: str) -> Attribute:
        """A copy under another name."""
        copy = Attribute()
        copy.__dict__.update(self.__dict__)
        copy.name = name
        copy.keep(self._content + delimited(1, content_of(name)))
        return copy


class Tail:
    """All of a node but its name, inputs and outputs. Nodes with equal bytes there share one."""

    __slots__ = ("attribute", "domain", "is_closed", "is_kept", "op_type", "overload")

    def __init__(self, op_type: str, domain: str, overload: str, attribute: Sequence[Attribute]) -> None:
        self.op_type = op_type
        self.domain = domain
        self.overload = overload
        self.attribute = attribute
        self.is_closed = not any(item.ref_attr_name for item in attribute)
        """No attribute refers to one of the function around it."""
        self.is_kept = False
        """Later nodes with equal bytes have this tail."""


class Node:
    """An operator instance."""

    __slots__ = ("input", "name", "output", "tail")

    def __init__(self, input: list[str], output: tuple[str, ...], name: str, tail: Tail) -> None:
        self.input = input
        self.output = output
        self.name = name
        self.tail = tail

    op_type: str = shown("tail.op_type")
    """The operator."""
    domain: str = shown("tail.domain")
    """The domain of the operator, as written."""
    overload: str = shown("tail.overload")
    """The overload of the function that it calls."""
    attribute: Sequence[Attribute] = shown("tail.attribute")
    """The attributes, in the order of the file."""


class Graph(NamedTuple):
    """A graph: that of the model, or the body of an operator."""

    node: Sequence[Node] = ()
    initializer: Sequence[Tensor] = ()
    sparse_initializer: Sequence[SparseTensor] = ()
    input: Sequence[ValueInfo] = ()
    output: Sequence[ValueInfo] = ()
    value_info: Sequence[ValueInfo] = ()


NO_GRAPH: Final = Graph()
Attribute.g = NO_GRAPH
_NOTHING: Final[Mapping[str, object]] = {"g": NO_GRAPH, "t": NO_TENSOR, "tp": NO_TYPE, "sparse_tensor": NO_SPARSE}


class Function:
    """A function of the model."""

    name = domain = overload = ""
    input: Sequence[str] = ()
    output: Sequence[str] = ()
    attribute_proto: Sequence[Attribute] = ()
    node: Sequence[Node] = ()
    opset_import: Sequence[Opset] = ()
    value_info: Sequence[ValueInfo] = ()


class Model:
    """A model, as far as an analysis looks at it."""

    ir_version = 0
    opset_import: Sequence[Opset] = ()
    metadata_props: Sequence[Entry] = ()
    graph = NO_GRAPH
    functions: Sequence[Function] = ()

    def HasField(self, _: str) -> bool:  # noqa: N802
        """It has a `graph`."""
        return self.graph is not NO_GRAPH


# The messages that a model consists of, of protobuf or of here, where they lack what no analysis reads.

DimMessage: TypeAlias = "onnx.TensorShapeProto.Dimension | Dim"
TensorTypeMessage: TypeAlias = "onnx.TypeProto.Tensor | onnx.TypeProto.SparseTensor | TensorType"
TypeMessage: TypeAlias = "onnx.TypeProto | Type"
ValueInfoMessage: TypeAlias = "onnx.ValueInfoProto | ValueInfo"
TensorMessage: TypeAlias = "onnx.TensorProto | Tensor"
AttributeMessage: TypeAlias = "onnx.AttributeProto | Attribute"
NodeMessage: TypeAlias = "onnx.NodeProto | Node"
GraphMessage: TypeAlias = "onnx.GraphProto | Graph"
FunctionMessage: TypeAlias = "onnx.FunctionProto | Function"
ModelMessage: TypeAlias = "onnx.ModelProto | Model"
