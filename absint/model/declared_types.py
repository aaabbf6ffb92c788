"""Declared types of a model as abstract values, and the names that an annotated model gives to long dims."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Final

from absint.errors import ModelError
from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.dtype import UNDEFINED, DType
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, const
from absint.lattices.terms.intern import Kept
from absint.lattices.text.dim_params import is_unknown, read_dim_param
from absint.lattices.text.escapes import json_text
from absint.lattices.text.notation import read_definitions
from absint.lattices.text.tokens import MAX_TEXT, TextError
from absint.lattices.value import TOP, AnyTensor, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value
from absint.model.initialisers import dtype_of, has_another_length, lacks_data, oversize
from absint.model.wire import graphs
from absint.model.wire.tensors import Tensor as ReadTensor

if TYPE_CHECKING:
    from onnx import ModelProto

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


def read_type(proto: graphs.TypeMessage, *, total: bool = False) -> Value:
    """The value that a TypeProto describes; a dim that is absent or a placeholder (`?`, `None`) is an unknown size.

    A text like `past-seq` may be a name or an expression; it is read as a name. A dim of an input is a `total` text
    (`absint.lattices.text.parse`), where a placeholder is a name. Models repeat types: each is read once.
    """
    content = proto.SerializeToString()
    found = _types.get((content, total))
    return _types.add((content, total), len(content), _read(proto, total)) if found is None else found


def _read(proto: graphs.TypeMessage, total: bool) -> Value:
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


def _shape(proto: graphs.TensorTypeMessage, total: bool) -> Shape:
    if not proto.HasField("shape"):
        return Shape(None)
    return Shape([read_dim(dim, total=total) for dim in proto.shape.dim[:]])


def read_dim(proto: graphs.DimMessage, *, total: bool = False) -> Dim:
    """A declared dim; unknown if it is absent, negative or a placeholder that is not `total`."""
    kind = proto.WhichOneof("value")
    if kind == "dim_value" and proto.dim_value >= 0:
        return const(proto.dim_value)
    if kind == "dim_param" and proto.dim_param:
        dim = read_dim_param(dim_text(proto), (), total=total).dim
        return dim if total or not is_unknown(dim) else UNKNOWN_SIZE
    return UNKNOWN_SIZE


def dim_text(proto: graphs.DimMessage) -> str:
    """The text of a declared dim. Raises ModelError if it is not valid UTF-8, which protobuf hands out as bytes."""
    text = proto.dim_param
    if not isinstance(text, str):
        raise ModelError(f"a dim has a name that is not valid UTF-8: {text!r}")
    return text


def problem(proto: graphs.TypeMessage, value: Value) -> str | None:
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


# Inputs and tensors that no runtime accepts: untyped, too large, with data of another length, contradicted.


def input_fault(info: graphs.ValueInfoMessage, value: Value) -> str:
    """The reason why no runtime accepts an input as declared, which is read as `value`; empty if one may."""
    if isinstance(value, Tensor):
        if info.type.tensor_type.elem_type == UNDEFINED:
            return "it must have an element type, found none"
        return oversize(value) or ""
    return "it must have a type, found none" if info.type.WhichOneof("value") is None else ""


def initialiser_fault(
    tensor: graphs.TensorMessage, value: Tensor, declared: graphs.ValueInfoMessage | None, *, outlined: bool
) -> str:
    """The reason why no runtime accepts an initialiser that is read as `value`; `declared` is the input of its name."""
    fault = tensor_fault(tensor, value, outlined=outlined)
    if fault:
        return f"the initialiser {fault}"
    if declared is None:
        return ""
    stated = read_type(declared.type)
    if not isinstance(stated, Tensor):
        return ""
    if stated.dtype not in (UNDEFINED, value.dtype):
        return f"it is declared {stated.dtype}, and its initialiser is {value.dtype}"
    if stated.shape is value.shape or stated.shape.rank is None or value.shape.rank is None or _fits(stated, value):
        return ""
    return f"it is declared with shape {stated.shape}, and its initialiser has shape {value.shape}"


def tensor_fault(tensor: graphs.TensorMessage, value: Tensor, *, outlined: bool) -> str:
    """What a tensor must have and lacks, by its type and data alone; empty if a runtime may accept it. The model is
    `outlined` if large tensors were left empty.

    Tensors of a file that differ in their names have the same.
    """
    if not isinstance(tensor, ReadTensor):
        return _fault(tensor, value, outlined)
    rest = tensor.rest
    if rest.fault is None:
        rest.fault = _fault(tensor, value, outlined)
    return rest.fault


def _fault(tensor: graphs.TensorMessage, value: Tensor, outlined: bool) -> str:
    if value.dtype is UNDEFINED:
        return f"must have an element type, found {tensor.data_type}"
    if value.shape.is_top or value.contents is not None:  # of a negative size, which has been reported, or complete
        return ""
    if (not outlined and has_another_length(tensor)) or (_is_small(value) and lacks_data(tensor)):
        wanted = f"{value.dtype}{list(tensor.dims)}"
        return f"must have the data of {wanted}, found another length"
    return ""


def _is_small(value: Tensor) -> bool:
    """Elements may have been wanted: of most weights they are not."""
    sizes = value.shape.concrete
    return sizes is not None and prod(sizes) <= MAX_ELEMENTS


def _fits(stated: Tensor, value: Tensor) -> bool:
    if stated.shape.rank != value.shape.rank:
        return False
    pairs = zip(stated.shape, value.shape, strict=True)
    return all(not isinstance(a, Expr) or a.const is None or a is b for a, b in pairs)


# Names of long dims in the metadata of an annotated model: `absint.definitions`, a JSON object of names and texts.

KEY: Final = "absint.definitions"

NAMES_KEY: Final = "absint.names"
"""The metadata key of a JSON object: names that replace texts of the author, and these texts."""


def definition_texts(model: graphs.ModelMessage) -> dict[str, str]:
    """The texts by name; nothing for an entry of another form, and where an input has a dim of such a name, unless it
    replaces a text of the author.
    """
    found = _entry(model, KEY)
    strange = found.keys() & _names_of_inputs(model) if found else ()
    return {} if strange and not strange <= _entry(model, NAMES_KEY).keys() else found


def _entry(model: graphs.ModelMessage, key: str) -> dict[str, str]:
    """An object of texts in the metadata; empty for anything else."""
    content: object = next((item.value for item in model.metadata_props if item.key == key), "")
    if not isinstance(content, str) or not 2 < len(content) <= MAX_TEXT:
        return {}
    import json

    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and all(isinstance(text, str) for text in found.values()) else {}


def read_texts(texts: Mapping[str, str], symbols: Mapping[str, Dim] | None = None) -> dict[str, Dim]:
    """The dims of the names, over `symbols`; nothing if a text does not parse."""
    try:
        return read_definitions(texts, symbols)
    except TextError:
        return {}


def write_definitions(model: ModelProto, texts: Mapping[str, str]) -> None:
    """Write the texts into the metadata, in place of others."""
    if texts:
        write_entry(model, KEY, json_text(dict(texts)))
        return
    for at in reversed(range(len(model.metadata_props))):
        if model.metadata_props[at].key == KEY:
            del model.metadata_props[at]


def write_entry(model: ModelProto, key: str, value: str) -> None:
    """Write an entry of the metadata, in place of one with the same key."""
    entry = next((item for item in model.metadata_props if item.key == key), None)
    entry = model.metadata_props.add(key=key) if entry is None else entry
    entry.value = value


def _names_of_inputs(model: graphs.ModelMessage) -> set[str]:
    """Every word in the dims of the inputs."""
    texts: Iterator[object] = (dim.dim_param for info in model.graph.input for dim in info.type.tensor_type.shape.dim)
    return {word for text in texts if isinstance(text, str) for word in (text, *re.findall(r"\w+", text))}
