"""Inputs and tensors that no runtime accepts: untyped, too large, with data of another length, contradicted."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.dtype import UNDEFINED
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Tensor, Value
from absint.model.declared_types import read_type
from absint.model.initialisers import lacks_data
from absint.model.largest import oversize
from absint.model.lengths import has_another_length
from absint.model.wire.tensors import Tensor as ReadTensor

if TYPE_CHECKING:
    from absint.model.messages import TensorMessage, ValueInfoMessage


def input_fault(info: ValueInfoMessage, value: Value) -> str:
    """The reason why no runtime accepts an input as declared, which is read as `value`; empty if one may."""
    if isinstance(value, Tensor):
        if info.type.tensor_type.elem_type == UNDEFINED:
            return "it must have an element type, found none"
        return oversize(value) or ""
    return "it must have a type, found none" if info.type.WhichOneof("value") is None else ""


def initialiser_fault(
    tensor: TensorMessage, value: Tensor, declared: ValueInfoMessage | None, *, outlined: bool
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


def tensor_fault(tensor: TensorMessage, value: Tensor, *, outlined: bool) -> str:
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


def _fault(tensor: TensorMessage, value: Tensor, outlined: bool) -> str:
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
