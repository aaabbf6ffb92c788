"""The part of a file that the reader looks at: the same message without all fields that no analysis uses."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import onnx
from google.protobuf.message import DecodeError

from absint.lattices.contents import MAX_ELEMENTS
from absint.model.wire.fields import DELIMITED, MalformedError, delimited, fields

USED: Final = {
    "ModelProto": "ir_version opset_import metadata_props graph functions",
    "GraphProto": "node initializer sparse_initializer input output value_info",
    "FunctionProto": "name domain overload input output node opset_import attribute_proto value_info",
    "NodeProto": "input output name op_type domain overload attribute",
    "AttributeProto": "name ref_attr_name type i f s ints floats strings t g graphs tp sparse_tensor",
    "TensorProto": "dims data_type name",
    "SparseTensorProto": "values indices dims",
    "ValueInfoProto": "name type",
}
"""All fields of other messages are used."""

OF_SMALL: Final = "raw_data data_location external_data float_data double_data int32_data int64_data uint64_data"
"""Used of tensors of few elements, too."""


def looked_at(content: bytes) -> bytes:
    """The model without unused fields. Raises MalformedError where it is none."""
    return _used(content, onnx.ModelProto.DESCRIPTOR)


def _used(content: bytes, kind: Any) -> bytes:
    names = USED.get(kind.name)
    if kind.name == "TensorProto" and _is_small(content, kind):
        names = f"{names} {OF_SMALL}"
    used = None if names is None else names.split()
    kept = []
    for field in fields(content, 0, len(content)):
        known = kind.fields_by_number.get(field.number)
        if known is None or (used is not None and known.name not in used):
            continue
        value = content[field.start : field.end]
        if known.message_type is not None and field.wire == DELIMITED:
            kept.append(delimited(field.number, _used(value, known.message_type)))
        else:
            kept.append(content[field.tag : field.end])
    return b"".join(kept)


def _is_small(content: bytes, kind: Any) -> bool:
    number = kind.fields_by_name["dims"].number
    sizes = b"".join(content[f.tag : f.end] for f in fields(content, 0, len(content)) if f.number == number)
    try:
        return 0 <= prod(onnx.TensorProto.FromString(sizes).dims) <= MAX_ELEMENTS
    except DecodeError:
        return True


def is_damaged(content: bytes) -> bool:
    """The part of the file that the reader looks at does not parse."""
    try:
        onnx.ModelProto().ParseFromString(looked_at(content))
    except (MalformedError, DecodeError):
        return True
    return False


__all__ = ["is_damaged", "looked_at"]
