"""The parts of a model that absint reads, as protocols of the messages of protobuf and `absint.model.wire`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol


class DimMessage(Protocol):
    """A declared dim."""

    @property
    def dim_value(self) -> int: ...
    @property
    def dim_param(self) -> str: ...
    def WhichOneof(self, _: Literal["value"], /) -> str | None: ...  # noqa: N802


class DimsMessage(Protocol):
    """Declared dims."""

    @property
    def dim(self) -> Sequence[DimMessage]: ...


class TensorTypeMessage(Protocol):
    """The type of a tensor, dense or sparse."""

    @property
    def elem_type(self) -> int: ...
    @property
    def shape(self) -> DimsMessage: ...
    def HasField(self, _: Literal["shape"], /) -> bool: ...  # noqa: N802


class ElementTypeMessage(Protocol):
    """The type of a sequence or an optional."""

    @property
    def elem_type(self) -> TypeMessage: ...


class MapTypeMessage(Protocol):
    """The type of a map."""

    @property
    def key_type(self) -> int: ...
    @property
    def value_type(self) -> TypeMessage: ...


class TypeMessage(Protocol):
    """A declared type."""

    @property
    def tensor_type(self) -> TensorTypeMessage: ...
    @property
    def sparse_tensor_type(self) -> TensorTypeMessage: ...
    @property
    def sequence_type(self) -> ElementTypeMessage: ...
    @property
    def optional_type(self) -> ElementTypeMessage: ...
    @property
    def map_type(self) -> MapTypeMessage: ...
    def WhichOneof(self, _: Literal["value"], /) -> str | None: ...  # noqa: N802
    def SerializeToString(self) -> bytes: ...  # noqa: N802


class ValueInfoMessage(Protocol):
    """The declared type of a value."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> TypeMessage: ...


class EntryMessage(Protocol):
    """A key and its value."""

    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...


class OpsetMessage(Protocol):
    """The version of a domain's operators."""

    @property
    def domain(self) -> str: ...
    @property
    def version(self) -> int: ...


class TensorMessage(Protocol):
    """A tensor; `absint.model.wire` has the elements of small ones."""

    @property
    def name(self) -> str: ...
    @property
    def data_type(self) -> int: ...
    @property
    def dims(self) -> Sequence[int]: ...
    @property
    def data_location(self) -> int: ...
    @property
    def external_data(self) -> Sequence[EntryMessage]: ...
    @property
    def raw_data(self) -> bytes: ...
    @property
    def float_data(self) -> Sequence[float]: ...
    @property
    def double_data(self) -> Sequence[float]: ...
    @property
    def int32_data(self) -> Sequence[int]: ...
    @property
    def int64_data(self) -> Sequence[int]: ...
    @property
    def uint64_data(self) -> Sequence[int]: ...
    def HasField(self, _: Literal["raw_data"], /) -> bool: ...  # noqa: N802


class SparseTensorMessage(Protocol):
    """A sparse tensor."""

    @property
    def values(self) -> TensorMessage: ...
    @property
    def dims(self) -> Sequence[int]: ...


class AttributeMessage(Protocol):
    """An attribute of a node or of a function."""

    @property
    def name(self) -> str: ...
    @property
    def ref_attr_name(self) -> str: ...
    @property
    def type(self) -> int: ...
    @property
    def i(self) -> int: ...
    @property
    def f(self) -> float: ...
    @property
    def s(self) -> bytes: ...
    @property
    def ints(self) -> Sequence[int]: ...
    @property
    def floats(self) -> Sequence[float]: ...
    @property
    def strings(self) -> Sequence[bytes]: ...
    @property
    def t(self) -> TensorMessage: ...
    @property
    def g(self) -> GraphMessage: ...
    @property
    def graphs(self) -> Sequence[GraphMessage]: ...
    @property
    def tp(self) -> TypeMessage: ...
    @property
    def sparse_tensor(self) -> SparseTensorMessage: ...
    def HasField(self, _: Literal["g"], /) -> bool: ...  # noqa: N802
    def SerializeToString(self) -> bytes: ...  # noqa: N802


class NodeMessage(Protocol):
    """An operator instance."""

    @property
    def name(self) -> str: ...
    @property
    def op_type(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def input(self) -> Sequence[str]: ...
    @property
    def output(self) -> Sequence[str]: ...
    @property
    def attribute(self) -> Sequence[AttributeMessage]: ...


class GraphMessage(Protocol):
    """A graph: that of the model, or the body of an operator."""

    @property
    def node(self) -> Sequence[NodeMessage]: ...
    @property
    def initializer(self) -> Sequence[TensorMessage]: ...
    @property
    def sparse_initializer(self) -> Sequence[SparseTensorMessage]: ...
    @property
    def input(self) -> Sequence[ValueInfoMessage]: ...
    @property
    def output(self) -> Sequence[ValueInfoMessage]: ...
    @property
    def value_info(self) -> Sequence[ValueInfoMessage]: ...


class FunctionMessage(Protocol):
    """A function of the model."""

    @property
    def name(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def input(self) -> Sequence[str]: ...
    @property
    def output(self) -> Sequence[str]: ...
    @property
    def node(self) -> Sequence[NodeMessage]: ...
    @property
    def attribute_proto(self) -> Sequence[AttributeMessage]: ...
    @property
    def opset_import(self) -> Sequence[OpsetMessage]: ...


class ModelMessage(Protocol):
    """A model."""

    @property
    def ir_version(self) -> int: ...
    @property
    def opset_import(self) -> Sequence[OpsetMessage]: ...
    @property
    def metadata_props(self) -> Sequence[EntryMessage]: ...
    @property
    def graph(self) -> GraphMessage: ...
    @property
    def functions(self) -> Sequence[FunctionMessage]: ...
    def HasField(self, _: Literal["graph"], /) -> bool: ...  # noqa: N802
