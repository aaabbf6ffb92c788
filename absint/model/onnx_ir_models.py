"""Models of the package `onnx_ir` as messages, without the data of their large tensors.

There a tensor may be lazy: made, downloaded or read from a file when its data are asked for, and `onnx_ir.to_proto`
asks for all of them. Here it gets the model behind stand-ins, which show an empty tensor in place of a large one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from onnx import AttributeProto

from absint.errors import ModelError
from absint.model.initialisers import is_small
from absint.model.opening import read_beside

if TYPE_CHECKING:
    import onnx_ir
    from onnx import ModelProto

T = TypeVar("T")


def outline_of(model: onnx_ir.Model) -> ModelProto:
    """The model as `onnx_ir.to_proto` gives it, without the data of large tensors, which are not touched.

    Raises ModelError if onnx_ir cannot serialise it.
    """
    return _serialised(_Model(model))


def whole(model: onnx_ir.Model) -> ModelProto:
    """The model with all its data. Raises as `outline_of` does."""
    return _serialised(model)


def _serialised(model: onnx_ir.Model | _Model) -> ModelProto:
    import onnx_ir

    try:
        return onnx_ir.serde.serialize_model(cast("onnx_ir.Model", model))
    except Exception as error:  # any error of a lazy tensor, and of onnx_ir for what it cannot serialise
        found: BaseException = error
        while found.__cause__ is not None:
            found = found.__cause__
        raise ModelError(f"the onnx_ir model cannot be serialised: {type(found).__name__}: {found}") from None


class _StandIn(Generic[T]):
    """Shows another object, with some attributes of its own."""

    def __init__(self, shown: T, **own: object) -> None:
        self._shown = shown
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> object:
        return getattr(self._shown, name)


class _Model(_StandIn["onnx_ir.Model"]):
    @property
    def graph(self) -> _Graph:
        return _Graph(self._shown.graph)

    @property
    def functions(self) -> Mapping[object, _Function]:
        return {key: _Function(function) for key, function in self._shown.functions.items()}


class _Graph(_StandIn["onnx_ir.Graph"]):
    def __iter__(self) -> Iterator[object]:
        return map(_node, self._shown)

    def __len__(self) -> int:
        return len(self._shown)

    @cached_property
    def initializers(self) -> Mapping[str, object]:
        return {name: _initialiser(value) for name, value in self._shown.initializers.items()}


class _Function(_StandIn["onnx_ir.Function"]):
    def __iter__(self) -> Iterator[object]:
        return map(_node, self._shown)

    @property
    def attributes(self) -> Mapping[str, object]:
        return _attributes(self._shown.attributes)


def _initialiser(value: onnx_ir.Value) -> object:
    given = value.const_value
    shown = _tensor(given)
    return value if shown is given else _StandIn(value, const_value=shown)


def _node(node: onnx_ir.Node) -> object:
    """A node as it is if no attribute holds a large tensor."""
    given = node.attributes
    shown = _attributes(given)
    return node if shown is given else _StandIn(node, attributes=shown)


def _attributes(given: Mapping[str, onnx_ir.Attr]) -> Mapping[str, object]:
    """The attributes as they are if none holds a large tensor."""
    if not any(attribute.type in _INNER for attribute in given.values()):
        return given
    shown = {name: _attribute(attribute) for name, attribute in given.items()}
    return given if all(shown[name] is attribute for name, attribute in given.items()) else shown


def _attribute(attribute: onnx_ir.Attr) -> object:
    inner, value = _INNER.get(attribute.type), attribute.value
    if inner is None or value is None or attribute.is_ref():
        return attribute
    shown = [inner(item) for item in value] if int(attribute.type) in _LISTS else inner(value)
    return attribute if shown is value else _StandIn(attribute, value=shown)


def _tensor(tensor: onnx_ir.TensorProtocol | None) -> object:
    """A small tensor as it is, from its file if it is there; references to other external data; the rest empty."""
    import onnx_ir

    if tensor is None:
        return None
    wanted = is_small(tensor.dtype.value, tuple(tensor.shape.numpy()))
    if not isinstance(tensor, onnx_ir.ExternalTensor):
        return tensor if wanted else _StandIn(tensor, tobytes=bytes)
    folder, location = os.fspath(tensor.base_dir) or os.curdir, os.fspath(tensor.location)
    content = read_beside(folder, location, tensor.offset or 0, tensor.nbytes) if wanted else None
    return tensor if content is None else _StandIn(tensor, tobytes=lambda: content)


_LISTS: Final = (AttributeProto.TENSORS, AttributeProto.GRAPHS)
_INNER: Final[Mapping[int, Callable[..., object]]] = {
    AttributeProto.TENSOR: _tensor,
    AttributeProto.TENSORS: _tensor,
    AttributeProto.GRAPH: _Graph,
    AttributeProto.GRAPHS: _Graph,
}
"""Stand-ins for the values of attributes, by their type."""
