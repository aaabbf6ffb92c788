"""The parts of an explanation, as data; and the places of numbers in an abstract value: a dim, an element of contents,
the length of a sequence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from absint.lattices.contents import OPAQUE, Contents, Element
from absint.lattices.logic.relation import Relation
from absint.lattices.records import record
from absint.lattices.shape import Shape
from absint.lattices.starred import place as place_of
from absint.lattices.terms.expr import Dim, Expr, Unknown
from absint.lattices.terms.normal import Real
from absint.lattices.text.escapes import plain
from absint.lattices.text.naming import Naming
from absint.lattices.value import TOP, AnyTensor, Container, SequenceOf, SparseTensor, Tensor, Value
from absint.program.nodes import Operation
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.readability import place as noted_place
from absint.shapes.summaries import State

PlaceKind = Literal["axis", "element", "length"]


class Coordinate(NamedTuple):
    """A dim by its axis, an element by its row-major index, or a length.

    The axes after a shape variable have negative numbers, from the end: in `[N, *s, 64]` they are 0 and -1. `around`
    are the positions in the sequences, optionals and maps around it, the outermost first: None unless it is in a
    sequence whose elements are known one by one.
    """

    kind: PlaceKind
    at: int = 0
    around: tuple[int | None, ...] = ()

    def with_axis(self, axis: int) -> Coordinate:
        """The place of an axis once there is a further one, which has this number; axes count from their own end."""
        moves = axis <= self.at if axis >= 0 else self.at <= axis
        return self._replace(at=self.at + (1 if axis >= 0 else -1)) if moves and (self.at < 0) == (axis < 0) else self

    def without_axis(self, axis: int) -> Coordinate:
        """The place of another axis once the one of this number is gone."""
        moves = axis < self.at if axis >= 0 else self.at < axis
        return self._replace(at=self.at - (1 if axis >= 0 else -1)) if moves and (self.at < 0) == (axis < 0) else self


FIRST: Final = Coordinate("element")
"""The element of a scalar."""


def _opened(value: Value | None, place: Coordinate) -> Value | None:
    for at in place.around:
        if not isinstance(value, Container):
            return None
        each = value.each if at is not None and isinstance(value, SequenceOf) else None
        value = each[at] if each is not None and at is not None and at < len(each) else value.element
    return value


def number_at(value: Value | None, place: Coordinate) -> Element | None:
    """The number at the place; None if there is no such place, or its number is unknown.

    A fill has its one element at every index.
    """
    inner = _opened(value, place)
    if place.kind == "length":
        return inner.length if isinstance(inner, SequenceOf) else None
    if not isinstance(inner, AnyTensor):
        return None
    if place.kind == "axis":
        return inner.shape.known[at] if (at := place_of(inner.shape, place.at)) is not None else None
    contents = inner.contents if isinstance(inner, Tensor) else None
    if contents is None or not contents.elements:
        return None
    if contents.is_fill:
        return contents.elements[0]
    return contents.elements[place.at] if place.at < len(contents.elements) else None


def axes_of(shape: Shape) -> Iterator[int]:
    """The axes whose size a shape knows: all of a known rank."""
    yield from range(len(shape.head))
    yield from range(-len(shape.tail), 0)


def numbers_of(value: Value | None) -> Iterator[tuple[Coordinate, Element]]:
    """All numbers known in a value, with their places: elements before dims."""
    stack: list[tuple[Value | None, tuple[int | None, ...]]] = [(value, ())]
    while stack:
        value, around = stack.pop()
        if isinstance(value, SequenceOf) and not isinstance(value.length, Unknown):
            yield Coordinate("length", 0, around), value.length
        stack.extend((inner, (*around, at)) for at, inner in reversed(_insides(value)))
        if isinstance(value, Tensor) and value.contents is not None:
            for at, element in enumerate(value.contents.elements):
                if element is not OPAQUE and not isinstance(element, Unknown):
                    yield Coordinate("element", at, around), element
        if isinstance(value, AnyTensor):
            for axis, dim in zip(axes_of(value.shape), value.shape.known, strict=True):
                if not isinstance(dim, Unknown):
                    yield Coordinate("axis", axis, around), dim


def _insides(value: Value | None) -> list[tuple[int | None, Value]]:
    """The elements of a container, each with its position if positions are distinguished."""
    if isinstance(value, SequenceOf) and value.items is not None:
        return list(enumerate(value.items))
    return [(None, value.element)] if isinstance(value, Container) else []


def replaced(value: Value, changes: Mapping[Coordinate, Element], around: tuple[int | None, ...] = ()) -> Value:
    """The value with other numbers at some places. Elements whose number is no longer known are forgotten.

    The places of `changes` are those in a container that has the value at `around`.
    """
    if not isinstance(value, Container):
        return _replaced(value, changes, around)
    inner = iter([replaced(found, changes, (*around, at)) for at, found in _insides(value)])
    length = changes.get(Coordinate("length", 0, around))
    if isinstance(value, SequenceOf) and value.items is None:
        return SequenceOf(next(inner), length if isinstance(length, Dim) else value.length)
    return value.map(lambda part: next(inner))


def _replaced(value: Value, changes: Mapping[Coordinate, Element], around: tuple[int | None, ...]) -> Value:
    if not isinstance(value, AnyTensor):
        return value
    shape, contents = value.shape, value.contents if isinstance(value, Tensor) else None
    if shape.known:
        axes = zip(axes_of(shape), shape.known, strict=True)
        found = ((changes.get(Coordinate("axis", a, around)), dim) for a, dim in axes)
        dims = tuple([number if isinstance(number, Dim) else dim for number, dim in found])
        if dims != shape.known:
            shape = shape.around(dims)
            contents = contents if contents is not None and contents.is_fill else None
    if contents is not None:
        elements = [changes.get(Coordinate("element", at, around), e) for at, e in enumerate(contents.elements)]
        contents = Contents.fill(elements[0]) if contents.is_fill else Contents.of(contents.shape or (), elements)
    return Tensor(value.dtype, shape, contents) if isinstance(value, Tensor) else SparseTensor(value.dtype, shape)


def as_integer(number: Element | None) -> Expr | Relation | None:
    """The number without its type: an exact float that is an integer, and that integer, are one."""
    if isinstance(number, Real):
        return number.num if number.den == 1 else None
    return number if isinstance(number, (Expr, Relation)) else None


# The reason why a size or an element has no expression.


BY_DATA: Final = "only a run decides it"
"""The rule of the operator knows no more: the number is data-dependent."""

BY_CALLEE: Final = "a node of the function that is called decides it"


def why_open(analysis: ShapeAnalysis, states: Sequence[State], node: int, output: int, place: Coordinate) -> str:
    """The reason why a number in an output of an operator has no expression."""
    item = analysis.nodes[node]
    operation = item.operation
    assert operation is not None
    if operation.body is not None:
        return BY_CALLEE
    rule = operation.rule
    if rule is None or rule.is_missing:
        return "the operator has no rule"
    if rule.inferred:
        return f"the operator has no rule; what is known is from {rule.origin}"
    if node in analysis.crashes:
        return "the rule of the operator failed"
    summary = analysis.applied[node]
    if summary.rejected is not None:
        return "the node cannot run"
    here = noted_place(output, place.at, "axis" if place.kind == "axis" else "element")
    for note in summary.notes:
        if note.startswith(here):
            return note.removeprefix(here).strip()
    for position, operand in enumerate(item.operands):
        value = analysis.operand(operand, states)
        if value is TOP or (isinstance(value, AnyTensor) and value.shape.rank is None):
            return f"the rank of its input {formal(operation, position) or position} is unknown"
    counted = count_of(analysis, node)
    return f"only a run decides {counted}" if counted else BY_DATA


_MASKS: Final = {"NonZero": 0, "Compress": 1}
"""Operators that count where an operand is not 0, and its place."""


def count_of(analysis: ShapeAnalysis, node: int) -> str:
    """What the node counts, as `count(mask)`; empty for a node that counts nothing."""
    item = analysis.nodes[node]
    at = _MASKS.get(item.operator, len(item.operands))
    name = analysis.program.names.get(item.operands[at], "") if at < len(item.operands) else ""
    return f"count({plain(name)})" if name else ""


def formal(operation: Operation, position: int) -> str:
    """The operator's name for an input; empty where it has none."""
    formals = operation.rule.inputs if operation.rule is not None else ()
    name = formals[position] if position < len(formals) else ""
    return "" if name.endswith("*") else name


Kind = Literal["input", "initialiser", "fixed", "unchanged", "computed", "invented", "control"]
"""`fixed`: the operator and its attributes alone give the number. `invented`: a symbol for a size or an element that
has no expression over what the node reads. `control`: an If or a loop.
"""


@record()
class Number:
    """A dim, an element or a length, and where it stands."""

    value: str
    """Name of the value that has it."""
    path: str
    """The subgraph or inlined function of the value, as `loop1/body`; empty for the main graph."""
    place: Coordinate
    sizes: tuple[int, ...] | None
    """Of an element: the sizes of the value; None if it holds for every element of it."""
    number: Element

    @property
    def where(self) -> str:
        """As `x[1]`, `shape element 2`, `length of loop1/body/boxes`."""
        place, name = self.place, self.full_name
        if place.kind == "length":
            name = f"length of {name}"
        elif place.kind == "axis":
            name = f"{name}[{place.at}]"
        elif self.sizes is None:
            name = f"each element of {name}"
        elif not self.sizes:
            name = f"value of {name}"
        else:
            name = f"{name} element {', '.join(map(str, _unravelled(place.at, self.sizes)))}"
        return name + "".join(" of each item" if at is None else f" of item {at}" for at in reversed(place.around))

    @property
    def full_name(self) -> str:
        """The value's name with its path."""
        return f"{self.path}/{self.value}" if self.path else self.value


def _unravelled(index: int, sizes: tuple[int, ...]) -> list[int]:
    found: list[int] = []
    for size in reversed(sizes):
        found.append(index % max(size, 1))
        index //= max(size, 1)
    return found[::-1]


@record()
class Source:
    """A number that a step comes from."""

    role: str
    """The operator's name for that input (`starts`), or its part in control flow (`back edge`); may be empty."""
    step: int | None
    """Its step; None if it is not followed: a constant that an expression is computed with, or past the limit."""
    at: Number
    by: str
    """The operator that yields it, or `input` or `initialiser`."""
    variable: str = ""
    """Its name in the formula of the step."""


@record()
class Stated:
    """A relation that a node states, or a fact that the analysis used, with its origin."""

    relation: Relation
    role: str
    reason: str
    node: str


@record()
class Step:
    """One number (a dim, an element, a length) and what it comes from."""

    id: int
    kind: Kind
    at: Number
    node: int
    """Place in execution order of the node that yields it."""
    name: str
    operator: str
    path: str
    """The subgraph or inlined function, as `loop1/body`; empty for the main graph."""
    does: str = ""
    """The work of a control-flow node, or the reason for an invented symbol."""
    formula: Element | None = None
    """The number as a term over its sources, as `2*a + b`; None where there is no such form."""
    attributes: tuple[tuple[str, object], ...] = ()
    """Attributes that the number depends on."""
    sources: tuple[Source, ...] = ()
    followed: bool = True
    """False if its sources are not followed, since another source is the same number."""
    requires: tuple[Stated, ...] = ()
    """Requirements and numeric premises of the node that mention symbols of the number or of its sources."""
    defined: tuple[Stated, ...] = ()
    """Facts about a symbol that was invented here."""
    facts: tuple[Stated, ...] = ()
    """Facts that determine the number: assumptions, requirements of other nodes, conditions of branches."""

    @property
    def label(self) -> str:
        """The node, in words of the model."""
        where = f"{self.path}/" if self.path else ""
        return f"{self.operator} {where}{self.name}".rstrip()


@dataclass(frozen=True)
class Derived:
    """The derivation of one number or of all of a value."""

    model: str
    """The path of the model, or a word for its origin."""
    value: str
    """The name of the value."""
    path: str
    """The subgraph or inlined function of the value; empty for the main graph."""
    shown: Value
    """The value itself, with printed names for invented symbols."""
    claims: tuple[int, ...]
    """The steps of the numbers asked for."""
    steps: tuple[Step, ...]
    """`steps[k].id` is k."""
    left_out: int = 0
    """Sources that were not followed because the limit was reached."""
    note: str = ""
    """The reason why there is no number to explain; empty if there is one."""
    label: str = ""
    """The unsound policy that the numbers are claims of; empty for a sound result."""
    assume: tuple[Relation, ...] = ()
    """Sizes and assumptions that the caller has given."""
    naming: Naming = field(default_factory=Naming, repr=False, compare=False)
    """The names of long dims."""
