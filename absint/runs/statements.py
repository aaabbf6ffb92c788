"""Real tensors as users pass them by name; and an abstract value as statements about a real one, for each dim, type and
element, and as rows of a comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Final, Literal, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from absint.errors import UsageError
from absint.lattices.contents import OPAQUE, Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import Comparison, Relation
from absint.lattices.ramp import Ramps, element, fits
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr, Symbol
from absint.lattices.terms.floats import Float
from absint.lattices.terms.normal import Real, sole_atom
from absint.lattices.text.escapes import did_you_mean
from absint.lattices.value import BOTTOM, TOP, AnyTensor, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value
from absint.model.initialisers import dtype_of_array


class Array:
    """A tensor of a run: its sizes, and its type and elements as far as they are known. Users pass an array, or its
    sizes alone.
    """

    __slots__ = ("_source", "dtype", "shape")

    shape: tuple[int, ...]
    dtype: DType | None
    """None if unknown, or not a type of ONNX."""

    def __init__(self, shape: tuple[int, ...], dtype: DType | None = None, source: object = None) -> None:
        self.shape = shape
        self.dtype = dtype
        self._source = source

    @property
    def has_elements(self) -> bool:
        return self._source is not None

    def elements(self) -> npt.NDArray[np.generic]:
        """All elements in row-major order. Raises ValueError if they cannot be read."""
        try:
            found = np.asarray(self._source).ravel()
        except (TypeError, RuntimeError) as error:  # PyTorch's errors for a tensor on a device, or with a gradient
            raise ValueError(str(error).splitlines()[0]) from None
        if found.dtype.kind != "V":
            return found
        return found.astype(np.int64 if "int" in found.dtype.name else np.float64)  # a type of ml_dtypes


Actual = Union[Array, "list[Actual]", "Mapping[object, object]", None]
"""A value of a run: a tensor, a sequence, a map, or an empty optional."""


def read_actual(what: str, given: object) -> Actual:
    """Read a value of a run as a caller gives it.

    A tuple or list of ints is the shape of a tensor; any other list is a sequence.

    Raises UsageError, which begins with `what`, for anything else.
    """
    if given is None or isinstance(given, Mapping):
        return given
    if isinstance(given, tuple) or (isinstance(given, list) and given and all(map(_is_size, given))):
        return Array(_sizes(what, given))
    if isinstance(given, list):
        return [read_actual(f"{what}, item {number}", item) for number, item in enumerate(given)]
    if isinstance(given, (bool, int, float)):
        return Array((), source=given)
    shape, dtype = getattr(given, "shape", None), getattr(given, "dtype", None)
    if dtype is None or not isinstance(shape, Iterable):
        raise UsageError(
            f"{what}: cannot read a tensor from {type(given).__name__}: give an array, its sizes as a tuple, "
            f"or a list of these for a sequence"
        )
    return Array(_sizes(what, tuple(shape)), dtype_of_array(dtype), given)


def _is_size(item: object) -> bool:
    return hasattr(item, "__index__") and not hasattr(item, "shape") and not isinstance(item, bool)


def _sizes(what: str, sizes: Sequence[object]) -> tuple[int, ...]:
    try:
        found = tuple(index(size) for size in sizes)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{what}: {tuple(sizes)} is no shape: its sizes are integers") from None
    if any(size < 0 for size in found):
        raise UsageError(f"{what}: {found} is no shape: sizes must not be negative")
    return found


def check_names(what: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Raises UsageError, with the nearest names, for a given name that is none of these."""
    there = set(names)
    for name in given:
        if name not in there:
            hint = did_you_mean(name, names) or f"there are: {', '.join(names[:10]) or 'none'}"
            raise UsageError(f"{what} {name!r}; {hint}")


Part = Literal["kind", "dtype", "rank", "dim", "element", "length", "constraint"]
Number = int | float | bool | str

KINDS: Final[Mapping[type, str]] = {Tensor: "tensor", SparseTensor: "tensor", SequenceOf: "sequence", MapOf: "map"}

MAX_PLACES: Final = 4096
"""Most elements of a ramp that are checked."""


class Statement(NamedTuple):
    """One statement about one real value, and the actual one."""

    value: str
    part: Part
    axis: int | None
    """The axis of a dim, or the row-major place of an element; None if the statement is about all elements."""
    stated: Dim | Relation | Real | Float | str
    """A text states itself: a type, or a kind of value."""
    actual: Number

    @property
    def place(self) -> str:
        """Its place, in words."""
        if self.part == "dim":
            return f"{self.value}[{self.axis}]"
        if self.part == "element":
            return f"{self.value}, element {self.axis}" if self.axis is not None else f"{self.value}, every element"
        return self.value if self.part == "kind" else f"{self.part} of {self.value}"

    @property
    def shown(self) -> tuple[Expr, int] | None:
        """An expression and its number in this run, if the claim is about one."""
        if not isinstance(self.actual, (int, float)) or self.actual != (number := _integer(self.actual)):
            return None
        if isinstance(self.stated, Expr):
            return self.stated, number
        if isinstance(self.stated, Comparison) and self.stated.op != ">=":
            symbol = self.stated.expr + 1  # a boolean symbol b is the relation b == 1
            if isinstance(symbol, Expr) and isinstance(found := sole_atom(symbol), Symbol) and found.bounds == (0, 1):
                return symbol, int(bool(number) is (self.stated.op == "=="))
        return None


def _integer(number: float) -> int | None:
    return int(number) if np.isfinite(number) else None


class Statements:
    """Makes statements of values, and notes what could not be compared."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def of(self, name: str, value: Value, actual: Actual) -> Iterator[Statement]:
        """The statements of the abstract value about the actual one."""
        if isinstance(value, OptionalOf):
            yield from self._optional(name, value, actual)
        elif value is TOP:
            self.notes.append(f"{name}: nothing is known of it")
        elif value is BOTTOM:
            yield Statement(name, "kind", None, "never computed", _kind(actual))
        elif (kind := KINDS[type(value)]) != _kind(actual):
            yield Statement(name, "kind", None, kind, _kind(actual))
        elif isinstance(value, SequenceOf) and isinstance(actual, list):
            yield Statement(name, "length", None, value.length, len(actual))
            each = value.each if value.each is not None and len(value.each) == len(actual) else None
            for number, item in enumerate(actual):
                yield from self.of(f"{name}, item {number}", each[number] if each else value.element, item)
        elif isinstance(value, AnyTensor) and isinstance(actual, Array):
            yield from self._tensor(name, value, actual)

    def _optional(self, name: str, value: OptionalOf, actual: Actual) -> Iterator[Statement]:
        if value.present is not None and value.present is (actual is None):
            yield Statement(name, "kind", None, "present" if value.present else "absent", _kind(actual))
        elif actual is not None:
            yield from self.of(name, value.element, actual)

    def _tensor(self, name: str, value: AnyTensor, actual: Array) -> Iterator[Statement]:
        if value.dtype is not DType.UNDEFINED and actual.dtype is not None:
            yield Statement(name, "dtype", None, str(value.dtype), str(actual.dtype))
        if value.shape.rank is None:
            self.notes.append(f"{name}: its rank is unknown")
        elif value.shape.rank != len(actual.shape):
            yield Statement(name, "rank", None, Dim(value.shape.rank), len(actual.shape))
            return
        else:
            for axis, (dim, size) in enumerate(zip(value.shape.dims, actual.shape, strict=True)):
                yield Statement(name, "dim", axis, dim, size)
        if isinstance(value, Tensor) and (value.contents is not None or value.ramps) and actual.has_elements:
            try:
                if value.contents is not None:
                    yield from _elements(name, value.contents, actual)
                if value.ramps and fits(value.ramps, Shape(actual.shape)):
                    yield from _growing(name, value.ramps, actual)
            except ValueError as error:
                self.notes.append(f"{name}: its elements cannot be read: {error}")


def _kind(actual: Actual) -> str:
    if actual is None:
        return "absent"
    return "tensor" if isinstance(actual, Array) else "sequence" if isinstance(actual, list) else "map"


def _elements(name: str, contents: Contents, actual: Array) -> Iterator[Statement]:
    if contents.is_fill:
        for number in _extremes(actual.elements()):
            yield from _element(name, None, contents.elements[0], number)
    elif contents.shape == actual.shape:
        for place, (claimed, number) in enumerate(zip(contents.elements, actual.elements().tolist(), strict=True)):
            yield from _element(name, place, claimed, number)


def _growing(name: str, ramps: Ramps, actual: Array) -> Iterator[Statement]:
    """The elements of ramps: all of a small tensor; of a large one the first and the last, and some between."""
    numbers = actual.elements()
    step = max(1, numbers.size // MAX_PLACES)
    for place in sorted({*range(0, numbers.size, step), *range(numbers.size)[-1:]}):
        index = [int(i) for i in np.unravel_index(place, actual.shape)]
        yield Statement(name, "element", place, element(ramps, index), numbers[place].item())


def _extremes(elements: npt.NDArray[np.generic]) -> list[Number]:
    """The smallest and the largest element: if both are the fill's element, all are."""
    if not elements.size:
        return []
    ends: list[Number] = [elements.min().item(), elements.max().item()]
    return ends if ends[0] < ends[1] else ends[:1]  # type: ignore[operator]


def _element(name: str, place: int | None, claimed: Element, number: Number) -> Iterator[Statement]:
    if claimed is not OPAQUE:
        assert isinstance(claimed, (Dim, Relation, Real, Float))
        yield Statement(name, "element", place, claimed, number)


@dataclass(frozen=True, slots=True)
class Row:
    """One claim compared with the run."""

    value: str
    """The name of the value; for a constraint, the node that states it."""
    part: Part
    axis: int | None
    """The axis of a dim, or the row-major place of an element; None if the claim is about all elements."""
    expression: str
    """The claim; `?` for a size known by its bounds alone."""
    predicted: Number | None
    """The value of the expression at the sizes of the run; None if they do not determine it."""
    actual: Number
    ok: bool
    note: str = ""
    premise: bool = False
    """It is about an input or an assumption: a premise of the claims, not a claim."""

    @property
    def place(self) -> str:
        """Its place, in words."""
        return self.value if self.part == "constraint" else Statement(self.value, self.part, self.axis, "", "").place

    def __str__(self) -> str:
        if self.part == "constraint":
            return f"{self.place}: {self.note}"
        is_plain = self.predicted is None or str(self.predicted) == self.expression
        claimed = self.expression if is_plain else f"{self.expression} = {self.predicted}"
        stated = "declared" if self.premise else "claimed"
        return f"{self.place}: {stated} {claimed}, ran {self.actual}" + (f" ({self.note})" if self.note else "")


def shapes_of(rows: Iterable[Row]) -> Iterator[tuple[str, str, str, bool]]:
    """The name of each value, its claimed shape, the actual one, and whether the claim holds."""
    of_value: dict[str, list[Row]] = {}
    for row in rows:
        if row.part == "dim":
            of_value.setdefault(row.value, []).append(row)
    for value, dims in of_value.items():
        claimed, actual = ", ".join(row.expression for row in dims), ", ".join(str(row.actual) for row in dims)
        yield value, f"[{claimed}]", f"[{actual}]", all(row.ok for row in dims)
