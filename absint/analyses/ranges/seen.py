"""A node as a rule sees it: attributes, ranges of inputs and where these come from; and what the rule reports.

An end of a range of integers is an integer, so that no digit is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf, isinf, isnan, prod
from typing import Final, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from absint.analyses.forward import ForwardAnalysis
from absint.analyses.queries import ElementBounds, ShapeOf
from absint.lattices.domains import FloatIntervals, Span
from absint.lattices.domains.floats import FORMAT_OF, FORMATS
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.records import record
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor
from absint.program.steps import Operand

Kind = Literal["overflow", "division by zero", "outside of domain", "index out of range", "saturation"]
Certainty = Literal["never", "may", "unknown", "always"]
D = TypeVar("D")

Range = tuple[float, float]

Sums = Sequence[tuple[float, float]]
"""Sums of positive and of negative numbers, at each of some places."""

ANY: Final = Span(-inf, inf, True)
TRUTHS: Final = Span(0, 1)
_WIDE: Final = (1 << 31) - 1


def any_of(dtype: DType) -> Span:
    """Every number of a type."""
    if dtype is DType.BOOL:
        return TRUTHS
    found = INTEGER_RANGES.get(dtype)
    return ANY if found is None else Span(*found)


class Floats(FloatIntervals):
    """Floats whose ends are rounded outward, but not to infinity where the nearest number is the greatest one."""

    def rounded(self, a: Span) -> Span:
        limit = self.greatest
        half = limit * 2.0 ** (-1 - self._digits)
        lo = -limit if -limit - half < a.lo < -limit else a.lo
        hi = limit if limit < a.hi < limit + half else a.hi
        return super().rounded(Span(lo, hi, a.nan))


FLOATS: Final = {dtype: Floats(name) for dtype, name in FORMAT_OF.items()}
DIGITS: Final = {dtype: FORMATS[name][0] for dtype, name in FORMAT_OF.items()}


def upper(shape: Shape, axes: Sequence[int] | None = None) -> float:
    """The greatest number of elements along the axes."""
    if shape.rank is None:
        return inf
    if axes is not None and not all(-shape.rank <= axis < shape.rank for axis in axes):
        return inf
    sizes = [shape[axis].bounds.hi for axis in (range(shape.rank) if axes is None else axes)]
    return inf if None in sizes else prod(size for size in sizes if size is not None)


@runtime_checkable
class Summed(Protocol):
    """Ranges of weights, and what they add up to."""

    def get(self, name: str, /) -> Range | None:
        """The range of a weight, None for a name that is none."""
        ...

    def sums(self, name: str, axes: Sequence[int]) -> Sums | None:
        """The sums of the positive and of the negative numbers along some axes; None for a value that is no weight."""
        ...


class Known(NamedTuple):
    """The ranges of inputs, initialisers and constants of the main graph that are given, or read from the weights."""

    given: Mapping[str, Range]
    weights: Summed | None

    def ends(self, name: str) -> Range | None:
        """The range of this name."""
        found = self.given.get(name)
        return self.weights.get(name) if found is None and name and self.weights is not None else found

    def sums(self, name: str, axes: Sequence[int]) -> Sums | None:
        """The sums of a weight whose range is not given."""
        return self.weights.sums(name, axes) if self.weights is not None and name and name not in self.given else None


class Origin(NamedTuple):
    """The operator that computes a value."""

    operator: str
    version: int
    attributes: Mapping[str, object]
    operands: Sequence[Operand]


class At:
    """An operator and what is known of it."""

    def __init__(
        self,
        analysis: ForwardAnalysis[Span],
        known: Known,
        node: int,
        dtype: DType,
        ranges: Sequence[Span | None],
        noted: list[Noted],
    ) -> None:
        """`dtype` is the type of the output that the rule is for. `ranges` are those of the inputs, None for one that
        is left out. What the rule notes is added to `noted`.
        """
        self._analysis, self._known, self._number, self._node = analysis, known, node, analysis.nodes[node]
        self.dtype = dtype
        self.ranges = ranges
        self._noted = noted

    @property
    def is_float(self) -> bool:
        """The output is of floats that a range has a format for."""
        return self.dtype in FLOATS

    @property
    def form(self) -> Floats:
        """The format of an output that `is_float`."""
        return FLOATS[self.dtype]

    @property
    def digits(self) -> int:
        """Digits of the significand of an output that `is_float`."""
        return DIGITS[self.dtype]

    @property
    def any(self) -> Span:
        """Every number of the type of the output."""
        return any_of(self.dtype)

    def input(self, index: int, default: Span = ANY) -> Span:
        """The range of an input; the default if it is left out."""
        found = self.ranges[index] if index < len(self.ranges) else None
        return default if found is None else found

    @property
    def outputs(self) -> int:
        """The number of outputs that the node has."""
        return len(self._node.outputs)

    def has(self, name: str) -> bool:
        """The attribute is there."""
        assert self._node.operation is not None
        return name in self._node.operation.attributes

    def attribute(self, name: str, default: D) -> D:
        """An attribute; the default if it is missing or of another type."""
        assert self._node.operation is not None
        found = self._node.operation.attributes.get(name, default)
        if isinstance(default, float) and isinstance(found, int):
            found = float(found)
        return found if isinstance(found, type(default)) else default

    def operand(self, index: int) -> Operand | None:
        """The value that an input is."""
        operands = self._node.operands
        return operands[index] if index < len(operands) and operands[index][0] >= 0 else None

    def _value(self, index: int) -> ShapeOf:
        operand = self.operand(index)
        return ShapeOf() if operand is None else self._analysis.ask(ShapeOf, operand)

    def shape(self, index: int) -> Shape:
        """The shape of an input."""
        return self._value(index).shape

    def size(self, index: int, axis: int) -> float:
        """The greatest size of an axis of an input."""
        return upper(self.shape(index), (axis,))

    def type(self, index: int) -> DType:
        """The type of an input."""
        return self._value(index).dtype

    def integers(self, index: int) -> Sequence[int] | None:
        """The elements of an input of integers, where all are known."""
        value = self._value(index).value
        elements = value.contents.elements if isinstance(value, Tensor) and value.contents is not None else None
        found = [int(one) for one in elements or () if isinstance(one, Dim) and one.is_concrete]
        return found if elements is not None and len(found) == len(elements) else None

    def ends(self) -> Range | None:
        """The range that is given or was read of the output, a constant."""
        return self._known.ends(self._analysis.given_name(self._number))

    # Values that inputs come from

    def origin(self, operand: Operand | None) -> Origin | None:
        """The operator of ai.onnx that computes a value; None for other values."""
        item = None if operand is None else self._analysis.nodes[operand[0]]
        if operand is None or item is None or item.operation is None or item.operation.body is not None or operand[1]:
            return None
        return Origin(item.operator, item.operation.version, item.operation.attributes, item.operands)

    def bounds(self, operand: Operand) -> Range:
        """The least and the greatest element of a value by the analysis of shapes, which knows small constants."""
        return (-inf, inf) if operand[0] < 0 else self._analysis.ask(ElementBounds, operand).numbers

    def shape_of(self, operand: Operand) -> Shape:
        """The shape of a value."""
        return (ShapeOf() if operand[0] < 0 else self._analysis.ask(ShapeOf, operand)).shape

    def sums(self, index: int, axes: Sequence[int]) -> Sums | None:
        """The sums of the positive and of the negative numbers of an input along some axes, if it is a weight."""
        operand = self.operand(index)
        while operand is not None and operand[0] >= 0 and self._known.weights is not None:
            item = self._analysis.nodes[operand[0]]
            if item.step is not None:
                return None
            if item.operation is None:
                return self._known.sums(self._analysis.given_name(operand[0]), axes)
            if item.operator == "Transpose":
                rank = self.shape_of(operand).rank
                order = item.operation.attributes.get("perm", list(reversed(range(rank or 0))))
                if not rank or not isinstance(order, list) or not all(-rank <= axis < rank for axis in axes):
                    return None
                axes = [order[axis] for axis in axes]
            elif item.operator != "Identity":
                return None
            operand = item.operands[0]
        return None

    def note(self, kind: Kind, found: Span, allowed: Span, *, is_fixed: bool = True) -> None:
        """Record the range of a value and the allowed one; of a divisor, the forbidden one.

        Unless it `is_fixed`, more may be allowed at some sizes.
        """
        ranges = [(index, span) for index, span in enumerate(self.ranges) if span is not None]
        operands = [(span, self.type(index)) for index, span in ranges if not self._is_given(index)]
        self._noted.append(Noted(kind, found, allowed, is_fixed, _is_known(kind, found, allowed, operands)))

    def _is_given(self, index: int) -> bool:
        """The input is one of the model or a constant, whose range is given or read."""
        operand = self.operand(index)
        return operand is not None and self._known.ends(self._analysis.given_name(operand[0])) is not None


Rule = Callable[[At], Span]


@record()
class Noted:
    """The range that a rule gives a value, and whether it depends on unknown sizes."""

    kind: Kind
    found: Span
    allowed: Span
    is_fixed: bool
    is_known: bool
    """The ranges that it comes from say more than their types do."""

    @property
    def certainty(self) -> Certainty:
        found, allowed = self.found, self.allowed
        if self.kind == "division by zero":
            is_ruled_out, is_certain = not found.has(0), found.lo == found.hi == 0
        else:
            is_ruled_out = not found.is_empty and allowed.lo <= found.lo and found.hi <= allowed.hi
            is_certain = self.is_fixed and (found.hi < allowed.lo or found.lo > allowed.hi)
        if is_ruled_out:
            return "unknown" if found.nan and self.kind in ("overflow", "saturation") else "never"
        if is_certain and not found.nan:
            return "always"
        return "may" if self.is_fixed and self.is_known else "unknown"


def _is_known(kind: Kind, found: Span, allowed: Span, operands: Collection[tuple[Span, DType]]) -> bool:
    """Evidence for a fault is an end of a range that is not merely the end of a type, nor the largest size.

    `operands` are those whose ranges are not given.
    """
    if kind == "overflow" and not any(dtype.is_float for _, dtype in operands):
        return not any(_is_vast(span, dtype) for span, dtype in operands)
    if kind == "division by zero":
        return not (isinf(found.lo) and isinf(found.hi))
    outside = [found.lo] * (found.lo < allowed.lo) + [found.hi] * (found.hi > allowed.hi)
    return any(abs(end) < _WIDE for end in outside)


def _is_vast(span: Span, dtype: DType) -> bool:
    """It reaches what a size can be, or the ends of its type; small types are used to their ends."""
    return any_of(dtype).hi >= _WIDE and (abs(span.lo) >= _WIDE or abs(span.hi) >= _WIDE)


# What can go wrong: it may overflow, divide by 0, leave a domain or an axis, or saturate.


TITLES: Final[Mapping[Certainty, str]] = {
    "always": "certain", "may": "possible", "unknown": "unknown", "never": "ruled out",
}  # fmt: skip
"""In the order of answers."""

_MARKS: Final = (0, 1, -1, 6, 10, 100, 1000, *(end for pair in INTEGER_RANGES.values() for end in pair))


class NumberRanges(FloatIntervals):
    """Ranges of integers and floats, with NaN or without. An end that is an integer keeps its digits."""

    def __init__(self) -> None:
        super().__init__("float64", thresholds=_MARKS)

    def allows(self, element: Span, value: object) -> bool:
        if isinstance(value, float | int):
            return element.nan if isnan(value) else element.has(value)
        return element == ANY

    def text(self, element: Span) -> str:
        if element.is_empty:
            return "NaN" if element.nan else "no number"
        ends = (str(end) if isinstance(end, int) else f"{end + 0.0:.9g}" for end in (element.lo, element.hi))
        return f"[{', '.join(ends)}]{' or NaN' if element.nan else ''}"


DOMAIN: Final = NumberRanges()


@record()
class RangeFinding:
    """The kind of fault of a node on values in their ranges."""

    node: str
    kind: Kind
    certainty: Certainty
    """`always`: every element does; `may`: some number in a range that is known does; `unknown`: it is not ruled out,
    but nothing that is known speaks for it; `never`: it is ruled out."""

    found: Span
    """The range of the value: the exact result, the divisor, the argument, the index, the number before it is cut."""

    allowed: Span
    """The allowed range; of a divisor the forbidden one."""

    @property
    def grounds(self) -> str:
        """The range found, and the one allowed."""
        found = DOMAIN.text(self.found)
        if self.kind == "division by zero":
            return f"the divisor is in {found}"
        return f"found {found}, allowed {DOMAIN.text(self.allowed)}"

    def __str__(self) -> str:
        return f"{self.node}: {self.kind}: {self.certainty}, {self.grounds}"
