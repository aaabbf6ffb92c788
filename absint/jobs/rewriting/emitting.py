"""Nodes that compute sizes, and the constants they are made of. They stand before all others and read inputs alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count, groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto
from onnx.helper import make_attribute, make_node, np_dtype_to_tensor_dtype
from onnx.numpy_helper import from_array

from absint.lattices.terms.atoms import Operand
from absint.lattices.terms.expr import Atom, Expr, Symbol

Array = NDArray[np.generic]

_SIZED: Final = 15
"""The version of Shape that gives part of a shape."""
_ARITHMETIC: Final = {"max": "Max", "min": "Min"}
_INTEGER_EXTREMES: Final = 12
"""The version of Max and Min that take integers."""


class NotWrittenError(Exception):
    """Something that the emitter has no nodes for."""


class Emitter:
    """Collects new nodes and initialisers."""

    def __init__(self, places: Mapping[str, tuple[str, int]], opset: int, taken: set[str]) -> None:
        """`places` are an input and an axis for each symbol, `taken` all names of the model."""
        self.nodes: list[NodeProto] = []
        self.initialisers: list[TensorProto] = []
        self._places = places
        self._opset = opset
        self._taken = taken
        self._known: dict[object, str] = {}
        self._single: tuple[int, ...] = (1,)
        """The shape of tensors of one number: vectors, or scalars."""

    def numbers(self, numbers: Sequence[Expr], shape: Sequence[int], dtype: np.dtype[np.generic]) -> str:
        """The name of an integer tensor of these numbers. Raises NotWrittenError for one that has no nodes."""
        if all(number.const is not None for number in numbers):
            return self.constant(np.array([number.const for number in numbers], dtype).reshape(shape))

        def build() -> str:
            found = self._vector(numbers)
            if dtype != np.int64:
                found = self._node("Cast", [found], "sizes", to=_number_of(dtype))
            if len(shape) != 1:
                found = self._node("Reshape", [found, self.constant(np.array(shape, np.int64))], "sizes")
            return found

        return self._once((tuple(numbers), tuple(shape), dtype.str), build)

    def constant(self, array: Array) -> str:
        """The name of a constant."""

        def build() -> str:
            name = self._name("constant")
            self.initialisers.append(from_array(np.ascontiguousarray(array).reshape(array.shape), name))
            return name

        return self._once((array.dtype.str, array.shape, array.tobytes()), build)

    def _cast(self, name: str, now: np.dtype[np.generic], to: np.dtype[np.generic]) -> str:
        """The tensor as elements of another type."""
        return name if now == to else self._node("Cast", [name], "values", to=_number_of(to))

    def _vector(self, numbers: Sequence[Expr]) -> str:
        parts: list[str] = []
        for is_constant, group in groupby(numbers, lambda number: number.const is not None):
            items = list(group)
            if is_constant:
                parts.append(self.constant(np.array([number.const for number in items], np.int64)))
            else:
                parts += map(self._number, items)
        return parts[0] if len(parts) == 1 else self._node("Concat", parts, "sizes", axis=0)

    def _number(self, number: Expr) -> str:
        """The name of a tensor that holds one number."""
        if number.const is not None:
            return self._one(number.const)
        return self._once((number, self._single), lambda: self._sum(number))

    def _one(self, number: int) -> str:
        return self.constant(np.full(self._single, number, np.int64))

    def _sum(self, number: Expr) -> str:
        total = ""
        terms = sorted(number.terms, key=lambda term: term[1] < 0)
        for mono, coef in terms:
            factors = self._factors(mono)
            if abs(coef) != 1 or not factors:
                factors.append(self._one(abs(coef)))
            term = factors[0]
            for factor in factors[1:]:
                term = self._node("Mul", [term, factor], "size")
            if not total:
                total = term if coef > 0 else self._node("Neg", [term], "size")
            else:
                total = self._node("Add" if coef > 0 else "Sub", [total, term], "size")
        return total

    def _factors(self, mono: Sequence[Atom]) -> list[str]:
        """The names of tensors whose product is that of the atoms."""
        return [self._once((atom, self._single), partial(self._atom, atom)) for atom in mono]

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Symbol):
            return self._symbol(atom)
        if atom.op in _ARITHMETIC and self._opset >= _INTEGER_EXTREMES:
            return self._node(_ARITHMETIC[atom.op], [self._number(_expr(arg)) for arg in atom.args], "size")
        if atom.op == "floordiv":
            above, below = map(_expr, atom.args)
            lowest = above.bounds.lo
            if below.const is not None and below.const > 0 and lowest is not None and lowest >= 0:
                return self._node("Div", [self._number(above), self._number(below)], "size")
        raise NotWrittenError(f"no nodes compute {atom.op}")

    def _symbol(self, symbol: Symbol) -> str:
        if symbol.name not in self._places or symbol.origin_node is not None:
            raise NotWrittenError(f"{symbol} is the size of no axis of an input")
        name, axis = self._places[symbol.name]
        if self._opset >= _SIZED:
            return self._node("Shape", [name], symbol.name, start=axis, end=axis + 1)
        shape = self._node("Shape", [name], "shape")
        return self._node("Gather", [shape, self.constant(np.array([axis], np.int64))], symbol.name, axis=0)

    def _node(self, operator: str, inputs: Sequence[str], label: str, **attributes: int) -> str:
        def build() -> str:
            name = self._name(label)
            node = make_node(operator, list(inputs), [name], name=name)
            node.attribute.extend(make_attribute(key, value) for key, value in attributes.items())
            self.nodes.append(node)
            return name

        return self._once((operator, tuple(inputs), tuple(attributes.items())), build)

    def _once(self, key: object, build: Callable[[], str]) -> str:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = build()
        return found

    def _name(self, label: str) -> str:
        name = next(text for n in count() if (text := f"absint/{label}{f'_{n}' if n else ''}") not in self._taken)
        self._taken.add(name)
        return name


def _number_of(dtype: np.dtype[np.generic]) -> int:
    """The number of an element type."""
    return int(np_dtype_to_tensor_dtype(dtype))


def _expr(operand: Operand) -> Expr:
    if not isinstance(operand, Expr):
        raise NotWrittenError("no nodes compute it")
    return operand
