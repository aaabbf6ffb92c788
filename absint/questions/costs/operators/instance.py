"""The view of a cost rule: one operator instance with its inputs and outputs as abstract values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, mul, product
from absint.lattices.value import Tensor, Value
from absint.transfer.stating import AttributeValue


class Work(NamedTuple):
    """The arithmetic of one run of an operator.

    `macs` are multiplications whose products are accumulated; `other` are arithmetic operations beside them. A
    multiply-accumulate is two FLOPs.
    """

    macs: Dim = ZERO_EXPR
    other: Dim = ZERO_EXPR

    @property
    def flops(self) -> Dim:
        return mul(self.macs, _TWO) + self.other


class UnsizedError(Exception):
    """The cost depends on a size that is not known, or the node is malformed."""


@dataclass(frozen=True)
class Instance:
    """One operator instance."""

    op_type: str
    attributes: Mapping[str, AttributeValue]
    inputs: Sequence[Value | None]
    outputs: Sequence[Value]

    def has(self, index: int) -> bool:
        """The input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def dims(self, index: int, rank: int | None = None) -> tuple[Expr, ...]:
        """The dims of an input, of this rank if one is asked for."""
        return _dims(self.inputs[index] if index < len(self.inputs) else None, rank)

    def size(self, index: int = 0) -> Dim:
        """The elements of an input."""
        return product(self.dims(index))

    def out_dims(self, index: int = 0) -> tuple[Expr, ...]:
        """The dims of an output."""
        return _dims(self.outputs[index] if index < len(self.outputs) else None, None)

    def out(self, index: int = 0) -> Dim:
        """The elements of an output."""
        return product(self.out_dims(index))

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer attribute."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise UnsizedError(f"attribute {name} is missing")
        return value

    def text(self, name: str, default: str) -> str:
        """A string attribute."""
        value = self.attributes.get(name, default)
        return value if isinstance(value, str) else default

    def integers(self, name: str) -> list[int]:
        """An attribute that is a list of integers; empty without one."""
        value = self.attributes.get(name)
        return [v for v in value if isinstance(v, int)] if isinstance(value, list) else []

    def count(self, name: str) -> int:
        """The length of a list attribute."""
        value = self.attributes.get(name)
        return len(value) if isinstance(value, list) else 0


Rule = Callable[[Instance], Work]


def _dims(value: Value | None, rank: int | None) -> tuple[Expr, ...]:
    if not isinstance(value, Tensor) or value.shape.rank is None or rank not in (None, value.shape.rank):
        raise UnsizedError("a shape is not known")
    dims = tuple(d for d in value.shape.dims if isinstance(d, Expr))
    if len(dims) != value.shape.rank:
        raise UnsizedError("a size is not known")
    return dims


def when(condition: bool, work: Dim) -> Dim:
    """The work if the condition holds, else none."""
    return work if condition else ZERO_EXPR


_TWO = Dim(2)
