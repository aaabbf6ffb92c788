"""Sizes that a caller gives: numbers and ranges for symbols, and shapes for inputs, which bind their symbols."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, TypeGuard, TypeVar, cast

from absint.errors import UsageError
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, TRUE, Relation, eq, ge, le
from absint.lattices.shape import Shape
from absint.lattices.terms.evaluation import number_of
from absint.lattices.terms.expr import MAX_DIM, Dim, Expr, Symbol, symbol
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import sole_atom
from absint.lattices.text.dim_params import is_placeholder
from absint.lattices.text.escapes import did_you_mean
from absint.lattices.text.notation import parse_relation
from absint.lattices.text.tokens import TextError
from absint.lattices.value import OptionalOf, Tensor
from absint.shapes.inputs import MAX_INPUT_ELEMENTS, InputElement, Inputs
from absint.shapes.memo import known_facts

# Assumptions of the caller about input symbols, and the facts that they and the declarations imply together.

T = TypeVar("T")
Assumption = str | Relation
"""A relation over input symbols, or its text."""


_TRUTHS: Final = (0, 1)
"""Bounds of a name that stands for a condition in a text."""


def listed(assume: object) -> None:
    """Raises UsageError for what is no list of relations or of their texts: one text, say."""
    if not isinstance(assume, Collection) or isinstance(assume, str):
        raise UsageError(f"assume={assume!r}: expected a list, as ['N >= 1']")
    for item in assume:
        if not isinstance(item, str | Relation):
            raise UsageError(f"assumption {item!r} is no relation: write a text, as 'N >= 1', or eq(a, b), not a == b")


def read_assumptions(assume: Sequence[Assumption], inputs: Inputs) -> list[Relation]:
    """The user's assumptions as relations over sizes and elements of the inputs.

    Raises UsageError for a text that does not parse, a name that is no symbol, and a size that stands as a condition.
    """
    relations = []
    parameters = inputs.parameters
    for item in assume:
        try:
            relation = parse_relation(item, _Assumed(parameters), total=True) if isinstance(item, str) else item
        except TextError as error:
            raise UsageError(
                f"assumption {item!r} does not parse: {error.reason}, at column {error.column + 1}"
            ) from None
        known_names(relation.free_symbols, inputs, f"assumption {item!s}")
        relation = over_elements(relation, inputs.elements)
        if relation is FALSE:
            raise UsageError(f"assumption {item!s} never holds")
        for name in sorted(s.name for s in relation.symbols if s.bounds == _TRUTHS and s.name not in inputs.elements):
            raise UsageError(f"assumption {item!s}: {name!r} is a size, not a condition: write {name} >= 1, say")
        relations.append(relation)
    return relations


class _Assumed(dict[str, Dim]):
    """The symbols of a text; a name that nothing has is a size, which is refused with a better line later."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Dim:
        return symbol(name)


def over_elements(relation: Relation, elements: Mapping[str, InputElement]) -> Relation:
    """A relation that was read without a model, in which an element of an input passes for a size."""
    if not elements or relation.free_symbols.isdisjoint(elements):
        return relation
    return relation.substitute({s: elements[s.name].expr for s in relation.symbols if s.name in elements})


def check_number(name: str, number: object, elements: Mapping[str, InputElement], what: str = "") -> int:
    """The number for a size or an element. Raises UsageError, which begins with `what`, for one that it cannot have."""
    element, number = elements.get(name), number_of(number)
    what = what or f"{name}={number!r}"
    if element is not None and isinstance(number, bool):
        return int(number)
    if isinstance(number, bool) or not isinstance(number, int):
        raise UsageError(f"{what}: {'an element of an input' if element else 'a size'} is an integer")
    if element is not None:
        if number not in Interval(*element.symbol.bounds):
            lo, hi = element.symbol.bounds
            raise UsageError(f"{what}: {element.where} is of type {element.dtype}, {lo} to {hi}")
    elif number < 0:
        raise UsageError(f"{what}: a size cannot be negative")
    elif number > MAX_DIM:
        raise UsageError(f"{what}: a size is below 2**31")
    return number


def facts_of(assumptions: Sequence[Relation], premises: Sequence[Relation]) -> Facts:
    """The facts of the inputs' declarations and the user's assumptions together."""
    relations = [*premises, *assumptions]
    facts = known_facts.facts_of(relations)
    if facts.contradiction:
        stated = ", ".join(str(relation) for relation in relations if relation is not TRUE)
        raise UsageError(f"the assumptions contradict each other: {stated}")
    return facts


def known_names(names: Iterable[str], inputs: Inputs, what: str) -> None:
    """Raises UsageError for a name that is neither a size nor an element of a small input."""
    known = (*inputs.symbols, *inputs.elements)
    for name in names:
        if name not in known and name in inputs.others:
            raise UsageError(
                f"{what}: input {name!r} has no symbols for its elements: only integers and truths have them, "
                f"in an input of at most {MAX_INPUT_ELEMENTS} whose shape is declared in numbers"
            )
    known_symbols(names, known, what)


def known_symbols(names: Iterable[str], symbols: Sequence[str], what: str) -> None:
    """Raises UsageError for a name that is no symbol of the inputs."""
    for name in names:
        if name not in symbols:
            hint = did_you_mean(name, symbols, 1) or f"the input symbols are: {', '.join(symbols) or 'none'}"
            option = "; --names-as-declared (names_as_declared=True) takes placeholders for names"
            raise UsageError(f"{what}: no input has a symbol {name!r}; {hint}{option if is_placeholder(name) else ''}")


Size: TypeAlias = int | tuple[int | None, int | None]
"""A number, or both ends of a range, which belong to it; None leaves an end open."""

Sizes: TypeAlias = Mapping[str, Size | Sequence[Size | str | None]]
"""By name: a size or range for a symbol or element of the inputs, or a size or range for each axis of an input, where
None leaves an axis open and a text with a star any number of axes: `["*s", 64]`.

A number or a pair is for a symbol, and a list for an input, where both have the name.
"""


class Ends(NamedTuple):
    """The numbers that a symbol may have, both ends included; None is no bound beyond its own."""

    low: int | None
    high: int | None
    given: str
    """As it is written on a command line, for messages."""


class Given(NamedTuple):
    """The meaning of sizes: ends for symbols, and equations over symbols that they leave open."""

    ends: Mapping[str, Ends]
    equations: tuple[Relation, ...]

    def relations(self, inputs: Inputs) -> Iterator[Relation]:
        """All of it as assumptions."""
        for name, (low, high, _) in self.ends.items():
            parameter = inputs.parameters[name]
            if low is not None and low == high:
                yield eq(parameter, low)
            else:
                yield from (() if low is None else (ge(parameter, low),))
                yield from (() if high is None else (le(parameter, high),))
        yield from self.equations


def given(sizes: Sizes, inputs: Inputs) -> Given:
    """Read sizes against the inputs of a model. A shape gives each symbol that is alone on an axis its size.

    Where an axis is an expression, its size is an equation: solved if one symbol of it has no size yet.

    Raises UsageError for a name that the inputs do not have, a number that it cannot have, an empty range, a shape of
    another rank or with another size where the declared one is a number, and two sizes for one symbol.
    """
    by_name(sizes)
    reading = _Reading(inputs)
    for name, size in sizes.items():
        reading.read(name, in_integers(size))
    return reading.result()


def by_name(sizes: object) -> None:
    """Raises UsageError for what gives no sizes by name."""
    if not isinstance(sizes, Mapping) or not all(isinstance(name, str) for name in sizes):
        raise UsageError(f"{sizes!r}: expected sizes by name, as {{'N': 4}}")


def in_integers(size: T) -> T:
    """A size, range or shape with Python's integers for those of another library."""
    if isinstance(size, list | tuple):
        return cast(T, (list if isinstance(size, list) else tuple)(map(in_integers, size)))
    return number_of(size)


def exact_sizes(sizes: Sizes, inputs: Inputs) -> dict[str, int]:
    """One size of each symbol and element that is given. Raises UsageError for a range too, and as `given`."""
    numbers: dict[str, int] = {}
    for name, (low, high, text) in given(sizes, inputs).ends.items():
        if low is None or low != high:
            raise UsageError(f"{text}: a range, where one size is asked for")
        numbers[name] = low
    return numbers


def spelled(name: str, size: Size | Sequence[Size | str | None]) -> str:
    """As on a command line: `batch=4`, `seq=1..2048`, `image=?x3x224x224`."""
    return f"{name}={_spelled(size)}"


def is_range(size: Size | Sequence[Size | str | None]) -> bool:
    """It is a range of sizes, or a shape that has one or an open axis."""
    return not isinstance(size, int) and (is_range_of_sizes(size) or not all(isinstance(item, int) for item in size))


def is_shape(size: object) -> TypeGuard[Sequence[Size | str | None]]:
    """It is a size for each axis of an input."""
    return isinstance(size, Sequence) and not isinstance(size, str) and not is_range_of_sizes(size)


def is_star(axis: object) -> bool:
    """It stands for any number of axes."""
    return isinstance(axis, str) and axis.startswith("*")


def _spelled(size: Size | Sequence[Size | str | None] | str | None) -> str:
    if isinstance(size, str) and is_star(size):
        return size
    if is_range_of_sizes(size):
        return "..".join("" if end is None else str(end) for end in size)
    if isinstance(size, list | tuple):
        return "x".join(_spelled(item) for item in size)
    return "?" if size is None else repr(size)


def is_range_of_sizes(size: object) -> TypeGuard[tuple[int | None, int | None]]:
    """It is a range of sizes of one axis."""
    return isinstance(size, tuple) and len(size) == 2


class _Reading:
    """The sizes that were read so far."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._ends: dict[str, Ends] = {}
        self._open: list[tuple[Expr, int, str]] = []

    def read(self, name: str, size: Size | Sequence[Size | str | None]) -> None:
        text = spelled(name, size)
        inputs = self._inputs.named
        if isinstance(size, int | str) or is_range_of_sizes(size) or not isinstance(size, Sequence):
            if name in inputs and name not in self._inputs.parameters and len(_shape_of(self._inputs, name) or ()) > 1:
                self._shape(name, [None], text)
            known_names([name], self._inputs, text)
            self._symbol(name, size, text)
        elif name in inputs:
            self._shape(name, size, text)
        elif name in self._inputs.parameters:
            raise UsageError(f"{text}: {name!r} is no input with a shape: give one size or range")
        else:
            hint = did_you_mean(name, inputs, 1) or f"the inputs are: {', '.join(inputs) or 'none'}"
            raise UsageError(f"{text}: the model has no input {name!r}; {hint}")

    def result(self) -> Given:
        """Solve the equations that have one unknown, as long as there are such."""
        progress = True
        while progress and self._open:
            before, self._open = self._open, []
            for dim, size, text in before:
                self._equation(dim, size, text)
            progress = len(self._open) < len(before)
        return Given(self._ends, tuple(eq(dim, size) for dim, size, _ in self._open))

    def _symbol(self, name: str, size: object, text: str) -> None:
        elements = self._inputs.elements
        if not isinstance(size, tuple):
            number = check_number(name, size, elements, text)
            self._give(name, number, number, text)
            return
        low, high = size if len(size) == 2 else (None, text)
        if low is not None and high is not None and isinstance(high, int) and isinstance(low, int) and low > high >= 0:
            raise UsageError(f"{text}: the range is empty, its first size is above its last")
        if low is not None:
            low = check_number(name, low, elements, text)
        if high is not None:
            high = check_number(name, high, elements, text)
        if low is not None and high is not None and low > high:
            raise UsageError(f"{text}: the range is empty, its first size is above its last")
        self._give(name, low, high, text)

    def _give(self, name: str, low: int | None, high: int | None, text: str) -> None:
        found = self._ends.setdefault(name, Ends(low, high, text))
        if found[:2] != (low, high):
            raise UsageError(
                f"{text}: gives {name} the {_named(low, high)}, but {found.given} gives it the {_named(*found[:2])}"
            )

    def _shape(self, name: str, sizes: Sequence[Size | str | None], text: str) -> None:
        shape = _shape_of(self._inputs, name)
        if shape is None:
            raise UsageError(
                f"{text}: {name!r} is declared without a shape: state one when the model is analysed, as "
                f"analyze(..., bind={{{name!r}: [...]}})"
            )
        stars = [at for at, size in enumerate(sizes) if is_star(size)]
        if shape.rank is None:
            if (stars or [-1]) != [len(shape.head)] or len(sizes) != len(shape.known) + 1:
                raise UsageError(f"{text}: {name!r} has shape {shape}: give sizes of the known axes, and * for others")
            self._axes(name, shape.known, [size for size in sizes if not is_star(size)], text)
            return
        if stars:
            sizes = self._without_star(name, sizes, stars, shape, text)
        if len(sizes) != len(shape):
            example = spelled(name, [int(dim) if dim.is_concrete else 1 for dim in shape])
            axes = f"{len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
            raise UsageError(f"{text}: {name!r} has {axes}, {shape}: give a size for each, as {example}")
        self._axes(name, shape.dims, sizes, text)

    def _axes(self, name: str, dims: Sequence[Dim], sizes: Sequence[Size | str | None], text: str) -> None:
        for axis, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
            if isinstance(size, str):
                raise UsageError(f"{text}: a size is a number or a range, found {size!r}")
            if size is not None:
                self._axis(f"axis {axis} of {name!r}", dim, size, text)

    def _without_star(
        self, name: str, sizes: Sequence[Size | str | None], stars: Sequence[int], shape: Shape, text: str
    ) -> Sequence[Size | str | None]:
        """The sizes with open axes in place of the star, of an input whose rank is known."""
        (star, *more), missing = stars, len(shape) + 1 - len(sizes)
        if more or sizes[star] != "*" or missing < 0:
            raise UsageError(f"{text}: {name!r} has shape {shape}: write one * for axes that stay open, without a name")
        return (*sizes[:star], *(None,) * missing, *sizes[star + 1 :])

    def _axis(self, where: str, dim: Dim, size: Size, text: str) -> None:
        symbol = sole_atom(dim) if isinstance(dim, Expr) else None
        if isinstance(symbol, Symbol):
            self._symbol(symbol.name, size, text)
        elif dim.is_concrete:
            if size != int(dim):
                raise UsageError(f"{text}: {where} is {dim}, not {_spelled(size)}")
        elif isinstance(size, int) and isinstance(dim, Expr):
            self._open.append((dim, check_number("", size, {}, text), text))
        else:
            names = ", ".join(sorted(dim.free_symbols))
            raise UsageError(f"{text}: {where} is {dim}: give ranges of {names} instead")

    def _equation(self, dim: Expr, size: int, text: str) -> None:
        """Solve for the one symbol of the dim that has no size."""
        exact = {name: ends.low for name, ends in self._ends.items() if ends.low is not None and _is_one(ends)}
        fixed = [eq(self._inputs.parameters[name], size) for name, size in exact.items()]
        facts = Facts([*fixed, eq(dim, size), *(ge(self._inputs.parameters[name], 0) for name in dim.free_symbols)])
        if facts.contradiction:
            at = ", ".join(ends.given for name, ends in self._ends.items() if name in dim.free_symbols)
            raise UsageError(f"{text}: {dim} is never {size}{f' with {at}' if at else ''}")
        unknown = [name for name in sorted(dim.free_symbols) if not _is_one(self._ends.get(name))]
        if len(unknown) == 1 and unknown[0] not in self._ends:
            low, high = facts.simplify(self._inputs.parameters[unknown[0]]).bounds
            if low is not None and low == high:
                self._give(unknown[0], low, high, text)
                return
        if unknown:
            self._open.append((dim, size, text))


def _is_one(ends: Ends | None) -> bool:
    return ends is not None and ends.low is not None and ends.low == ends.high


def _named(low: int | None, high: int | None) -> str:
    return f"size {low}" if low is not None and low == high else f"range {_spelled((low, high))}"


def _shape_of(inputs: Inputs, name: str) -> Shape | None:
    """The declared shape of an input; None without one."""
    value = inputs.named[name]
    if isinstance(value, OptionalOf):
        value = value.element
    if not isinstance(value, Tensor):
        return None
    return value.shape if value.shape.rank is not None or value.shape.known else None
