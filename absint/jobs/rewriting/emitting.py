"""Nodes that compute sizes, and the constants they are made of.

Those of an `Emitter` stand before all others and read inputs alone; a `SizeEmitter` takes sizes from the shapes of
tensors at hand, in the fewest nodes that were found.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, groupby, permutations
from math import prod
from typing import Final, NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from absint.lattices.dtype import MANTISSA_BITS, DType
from absint.lattices.terms.atoms import Operand
from absint.lattices.terms.expr import Atom, Expr, Symbol, const, expr_of, sole_atom
from absint.lattices.terms.interval import Interval
from absint.model.weights import Array

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
        self._places, self._opset, self._taken = places, opset, taken
        self._known: dict[object, str] = {}
        self._single: tuple[int, ...] = (1,)
        """The shape of tensors of one number: vectors, or scalars."""

    def numbers(self, numbers: Sequence[Expr], shape: Sequence[int], dtype: np.dtype[np.generic]) -> str:
        """The name of an integer tensor of these numbers. Raises NotWrittenError for one that has no nodes."""
        if all(number.const is not None for number in numbers):
            return self.constant(np.array([number.const for number in numbers], dtype).reshape(shape))

        def build() -> str:
            found = self._vector(numbers)
            found = self._cast(found, np.dtype(np.int64), dtype)
            if len(shape) != 1:
                found = self._node("Reshape", [found, self.constant(np.array(shape, np.int64))], "sizes")
            return found

        return self._once((tuple(numbers), tuple(shape), dtype.str), build)

    def constant(self, array: Array) -> str:
        """The name of a constant."""

        def build() -> str:
            name = self._name("constant")
            self.initialisers.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
            return name

        return self._once((array.dtype.str, array.shape, array.tobytes()), build)

    def _cast(self, name: str, now: np.dtype[np.generic], to: np.dtype[np.generic]) -> str:
        """The tensor as elements of another type."""
        return name if now == to else self._node("Cast", [name], "values", to=int(helper.np_dtype_to_tensor_dtype(to)))

    def _vector(self, numbers: Sequence[Expr]) -> str:
        parts: list[str] = []
        for is_constant, group in groupby(numbers, lambda number: number.const is not None):
            items = list(group)
            if is_constant:
                parts.append(self.constant(np.array([number.const for number in items], np.int64)))
            else:
                parts += map(self._number, items)
        return self._joined(parts)

    def _joined(self, parts: Sequence[str]) -> str:
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
            node = helper.make_node(operator, list(inputs), [name], name=name)
            node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
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


def _expr(operand: Operand) -> Expr:
    if not isinstance(operand, Expr):
        raise NotWrittenError("no nodes compute it")
    return operand


_LONGEST: Final = 8
"""Most sizes that are looked up at once."""
_MOST_FACTORS: Final = 3
"""Most sizes whose product is looked up at once."""
_MOST_PLACES: Final = 16
"""Most tensors among which one is looked for that has several sizes."""


class Run(NamedTuple):
    """Sizes that stand side by side in the shape of a tensor."""

    tensor: str
    start: int
    rank: int


Options = Sequence[Sequence[Expr]]
"""For each element of a vector the numbers of which any will do, the element itself first."""


class SizeEmitter(Emitter):
    """An emitter that takes sizes from the shapes of all tensors computed so far.

    `drained` hands out the nodes for what was asked; they stand before whoever asked.
    """

    def __init__(self, opset: int, taken: set[str]) -> None:
        super().__init__({}, opset, taken)
        self._runs: dict[tuple[Expr, ...], Run] = {}
        self._axes: dict[Expr, list[tuple[str, int]]] = {}
        self._computed: dict[Atom, tuple[str, int | None]] = {}
        """The first computed tensor that has a number among its elements, and its place there; None in a scalar."""

    def offer_numbers(self, tensor: str, numbers: Sequence[Expr], *, is_scalar: bool) -> None:
        """Let numbers for which there are no nodes be taken from this tensor of them from now on."""
        for place, number in enumerate(numbers):
            atom = sole_atom(number)
            if atom is not None:
                self._computed.setdefault(atom, (tensor, None if is_scalar else place))

    def offer(self, tensor: str, dims: tuple[Expr, ...]) -> None:
        """The shape of this tensor can be taken from now on. The first that has some sizes is used for them, and for
        each run of them.
        """
        for start in range(0 if dims in self._runs else len(dims)):
            for end in range(start + 1, min(start + _LONGEST, len(dims)) + 1):
                run = tuple(dims[start:end])
                if any(dim.const is None for dim in run):
                    self._runs.setdefault(run, Run(tensor, start, len(dims)))
        for axis, dim in enumerate(dims):
            if dim.const is None:
                self._axes.setdefault(dim, []).append((tensor, axis))

    def drained(self) -> Iterator[NodeProto]:
        """The nodes since the last time."""
        nodes = self.nodes[:]
        self.nodes.clear()
        return iter(nodes)

    def vector(self, options: Options, dtype: np.dtype[np.generic]) -> str:
        """The name of a vector of one option for each element. Raises NotWrittenError if no nodes compute it."""
        constants = [_constant(each) for each in options]
        if None not in constants:
            return self.constant(np.array(constants, dtype))
        return self._cast(self._joined(self._parts(options)), np.dtype(np.int64), dtype)

    def scalar(self, number: Expr, dtype: np.dtype[np.generic]) -> str:
        """The name of a scalar. Raises NotWrittenError if no nodes compute it."""
        if number.const is not None:
            return self.constant(np.array(number.const, dtype))
        ways = [lambda: self._of_scalars(number), lambda: self._node("Squeeze", [self._number(number)], "size")]
        found = ways[0]() if number in self._axes else self._fewest(ways)
        return self._cast(found, np.dtype(np.int64), dtype)

    def _of_scalars(self, number: Expr) -> str:
        """The number, computed from scalars."""
        self._single = ()
        try:
            return self._number(number)
        finally:
            self._single = (1,)

    def _fewest(self, ways: Sequence[Callable[[], str]]) -> str:
        """The name that the first way of those with the fewest new nodes gives."""
        known, start = self._known, len(self.nodes)
        counts = []
        for way in ways:
            self._known = dict(known)
            way()
            counts.append(len(self.nodes) - start)
            del self.nodes[start:]
        self._known = known
        return ways[counts.index(min(counts))]()

    def _parts(self, options: Options) -> list[str]:
        """The names of vectors that make up one with these options, as few as possible."""
        items = [each[0] for each in options]
        place = self._place(items) if len(items) > 1 and tuple(items) not in self._runs else None
        if place is not None:
            tensor, axes = place
            return [self._gathered(tensor, axes)]
        best: list[tuple[float, list[tuple[int, int]]]] = [(0, [])]
        for end in range(1, len(items) + 1):
            choices = []
            for start in range(max(0, end - _LONGEST), end):
                price = self._price(options[start:end])
                if price is not None:
                    before, cuts = best[start]
                    choices.append((before + price, [*cuts, (start, end)]))
            best.append(min(choices, key=lambda choice: (choice[0], len(choice[1]))))
        return [self._part(options[start:end]) for start, end in best[-1][1]]

    def _price(self, options: Options) -> float | None:
        """The nodes that a part takes; None for one that is none. More parts are worse than fewer."""
        items = tuple(each[0] for each in options)
        if None not in map(_constant, options):
            return 0.01
        if items in self._runs:
            return 1.01
        if len(items) == 1:
            return 1.5 + items[0].size
        return None

    def _part(self, options: Options) -> str:
        constants = [_constant(each) for each in options]
        if None not in constants:
            return self.constant(np.array(constants, np.int64))
        items = tuple(each[0] for each in options)
        return self._run(self._runs[items], len(items)) if items in self._runs else self._number(items[0])

    def _number(self, number: Expr) -> str:
        return self._size(number) or super()._number(number)

    def _factors(self, mono: Sequence[Atom]) -> list[str]:
        """One size for as many atoms as there is, or the product of neighbours in a shape."""
        for length in range(min(len(mono), _MOST_FACTORS), 1, -1):
            for part in permutations(mono, length):
                dims = tuple(map(expr_of, part))
                name = self._whole(dims)
                if name:
                    left = list(mono)
                    for atom in part:
                        left.remove(atom)
                    return [name, *self._factors(left)]
        return super()._factors(mono)

    def _whole(self, dims: Sequence[Expr]) -> str:
        """The product of sizes, from a shape that has it or has them side by side; empty without one.

        onnxruntime computes ReduceProd in double.
        """
        product = prod(dims, start=const(1))
        single = self._size(product)
        run = self._runs.get(tuple(dims))
        if single or run is None or not product.bounds.leq(Interval(0, 1 << MANTISSA_BITS[DType.DOUBLE])):
            return single
        return self._node("ReduceProd", [self._run(run, len(dims))], "size", keepdims=len(self._single))

    def _atom(self, atom: Atom) -> str:
        size = self._size(expr_of(atom))
        try:
            return size or super()._atom(atom)
        except NotWrittenError:
            if atom not in self._computed:
                raise
            return self._element(*self._computed[atom])

    def _element(self, tensor: str, place: int | None) -> str:
        """An element of a tensor as a tensor of one number."""
        if place is not None:
            return self._node("Gather", [tensor, self.constant(np.full(self._single, place, np.int64))], "size", axis=0)
        if not self._single:
            return tensor
        return self._node("Reshape", [tensor, self.constant(np.array([1], np.int64))], "size")

    def _size(self, number: Expr) -> str:
        """A tensor of one number that is the size of an axis; empty without such an axis."""
        if self._single:
            run = self._runs.get((number,))
            return "" if run is None else self._run(run, 1)
        if number not in self._axes:
            return ""
        tensor, axis = self._axes[number][0]
        return self._node("Gather", [self._shape(tensor), self.constant(np.array(axis, np.int64))], "size", axis=0)

    def _run(self, run: Run, count: int) -> str:
        if count == run.rank:
            return self._shape(run.tensor)
        if self._opset < _SIZED:
            return self._gathered(run.tensor, list(range(run.start, run.start + count)))
        end = {} if run.start + count == run.rank else {"end": run.start + count}
        start = {"start": run.start} if run.start else {}
        return self._node("Shape", [run.tensor], "sizes", **start, **end)

    def _gathered(self, tensor: str, axes: Sequence[int]) -> str:
        places = self.constant(np.array(axes, np.int64))
        return self._node("Gather", [self._shape(tensor), places], "sizes", axis=0)

    def _shape(self, tensor: str) -> str:
        return self._node("Shape", [tensor], "shape")

    def _place(self, numbers: Sequence[Expr]) -> tuple[str, list[int]] | None:
        """A tensor that has all these sizes in its shape, and their axes."""
        axes = [dict(self._axes.get(number, ())[:_MOST_PLACES]) for number in numbers]
        for tensor in axes[0]:
            if all(tensor in each for each in axes):
                return tensor, [each[tensor] for each in axes]
        return None


def _constant(options: Sequence[Expr]) -> int | None:
    return next((number.const for number in options if number.const is not None), None)
