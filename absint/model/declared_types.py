"""Declared types of a model as abstract values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from absint.errors import ModelError
from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, const
from absint.lattices.terms.kept import Kept
from absint.lattices.text.dim_params import is_unknown, read_dim_param
from absint.lattices.value import TOP, AnyTensor, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value
from absint.model.initialisers import dtype_of

if TYPE_CHECKING:
    from absint.model.messages import DimMessage, TensorTypeMessage, TypeMessage


FIELDS: Final = {
    Tensor: "tensor_type",
    SparseTensor: "sparse_tensor_type",
    SequenceOf: "sequence_type",
    OptionalOf: "optional_type",
    MapOf: "map_type",
}
"""The field of a TypeProto for each kind of value."""


MAX_KEPT: Final = 1 << 20
"""Bytes of the declared types that are kept."""

_types: Final[Kept[tuple[bytes, bool], Value]] = Kept(MAX_KEPT)


def read_type(proto: TypeMessage, *, total: bool = False) -> Value:
    """The value that a TypeProto describes; a dim that is absent or a placeholder (`?`, `None`) is an unknown size.

    A text like `past-seq` may be a name or an expression; it is read as a name. A dim of an input is a `total` text
    (`absint.lattices.text.parse`), where a placeholder is a name. Models repeat types: each is read once.
    """
    content = proto.SerializeToString()
    found = _types.get((content, total))
    return _types.add((content, total), len(content), _read(proto, total)) if found is None else found


def _read(proto: TypeMessage, total: bool) -> Value:
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        return Tensor(dtype_of(proto.tensor_type.elem_type), _shape(proto.tensor_type, total))
    if kind == "sparse_tensor_type":
        return SparseTensor(dtype_of(proto.sparse_tensor_type.elem_type), _shape(proto.sparse_tensor_type, total))
    if kind == "sequence_type":
        return SequenceOf(read_type(proto.sequence_type.elem_type, total=total))
    if kind == "optional_type":
        return OptionalOf(read_type(proto.optional_type.elem_type, total=total))
    if kind == "map_type":
        return MapOf(dtype_of(proto.map_type.key_type), read_type(proto.map_type.value_type, total=total))
    return TOP


def _shape(proto: TensorTypeMessage, total: bool) -> Shape:
    if not proto.HasField("shape"):
        return Shape(None)
    return Shape([read_dim(dim, total=total) for dim in proto.shape.dim[:]])


def read_dim(proto: DimMessage, *, total: bool = False) -> Dim:
    """A declared dim; unknown if it is absent, negative or a placeholder that is not `total`."""
    kind = proto.WhichOneof("value")
    if kind == "dim_value" and proto.dim_value >= 0:
        return const(proto.dim_value)
    if kind == "dim_param" and proto.dim_param:
        dim = read_dim_param(dim_text(proto), (), total=total).dim
        return dim if total or not is_unknown(dim) else UNKNOWN_SIZE
    return UNKNOWN_SIZE


def dim_text(proto: DimMessage) -> str:
    """The text of a declared dim. Raises ModelError if it is not valid UTF-8, which protobuf hands out as bytes."""
    text = proto.dim_param
    if not isinstance(text, str):
        raise ModelError(f"a dim has a name that is not valid UTF-8: {text!r}")
    return text


def problem(proto: TypeMessage, value: Value) -> str | None:
    """The reason why no value of the inferred kind and element type has the declared type; None if one may."""
    kind = proto.WhichOneof("value")
    found = FIELDS.get(type(value))
    if kind is None or found is None:
        return None
    if kind != found:
        return f"declared {_article(kind)}, but it is {_article(found)}"
    if isinstance(value, AnyTensor):
        return _other(dtype_of(getattr(proto, kind).elem_type), value.dtype)
    if isinstance(value, MapOf):
        return _other(dtype_of(proto.map_type.key_type), value.key, "keys of ") or problem(
            proto.map_type.value_type, value.element
        )
    assert isinstance(value, (SequenceOf, OptionalOf))
    inner = problem(getattr(proto, kind).elem_type, value.element)
    return None if inner is None else f"{inner.replace('declared', f'declared {_article(kind)} of', 1)} there"


def _other(stated: DType, found: DType, what: str = "") -> str | None:
    if DType.UNDEFINED in (stated, found) or stated is found:
        return None
    return f"declared {what}{stated}, but it is {what}{found}"


def _article(kind: str) -> str:
    noun = kind.removesuffix("_type").replace("_", " ")
    return f"{'an' if noun.startswith('o') else 'a'} {noun}"
