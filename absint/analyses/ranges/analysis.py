"""The analysis of ranges, and what a rule sees of a node.

The range of a tensor holds each of its elements: two ends, which may be infinite, and NaN or not. A finding says what a
node may do with values in these ranges: overflow, divide by 0, leave the domain of a function or the axis of an index,
or saturate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import inf, isinf
from typing import Final, SupportsFloat

from absint.analyses.forward import ForwardAnalysis
from absint.analyses.found import finished
from absint.analyses.queries import ElementBounds, Query, Reachable, ShapeOf
from absint.analyses.ranges.findings import DOMAIN, Noted, RangeFinding, is_known
from absint.analyses.ranges.functions import ELEMENTWISE
from absint.analyses.ranges.fused import ATTENTION, FUSED, WINDOWS, sum_of_inputs
from absint.analyses.ranges.ml import ML, SCORES
from absint.analyses.ranges.norms import NORMS, cells
from absint.analyses.ranges.rules import (
    FLOATS,
    NONE,
    TRUTHS,
    At,
    D,
    Kind,
    Origin,
    Rule,
    Summed,
    Sums,
    any_of,
    input_of,
    size_of,
)
from absint.analyses.ranges.sums import SUMS
from absint.analyses.ranges.tensors import PARTS, step
from absint.analyses.rows import Row
from absint.errors import UsageError
from absint.lattices.domains import INTERVALS as INTS, Interval, Span
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor
from absint.program.steps import Operand
from absint.solution.analysed import Analysed


def places_of_largest(at: At) -> Span:
    """The indices of TopK."""
    return Span(0, max(1, size_of(at.shape(0), at.attribute("axis", -1))) - 1)


def part(at: At) -> Span:
    return input_of(at, 0)


def kept(_: At) -> Span:
    return TRUTHS


RULES: Final[Mapping[str, Rule]] = {
    **ELEMENTWISE, **PARTS, **SUMS, **WINDOWS, **NORMS, **FUSED, **ATTENTION, **ML, "TopK": part,
}  # fmt: skip
"""By operator, with its domain unless it is ai.onnx."""

FURTHER: Final[Mapping[tuple[str, int], Rule]] = {
    ("TopK", 1): places_of_largest, ("Dropout", 1): kept, ("DynamicQuantizeLinear", 1): step,
    ("LSTM", 1): NORMS["LSTM"], ("LSTM", 2): cells, ("RNN", 1): NORMS["RNN"], ("GRU", 1): NORMS["GRU"],
    ("com.microsoft::SkipLayerNormalization", 3): sum_of_inputs(4),
    ("com.microsoft::SkipSimplifiedLayerNormalization", 3): sum_of_inputs(3),
    **{("Split", index): part for index in range(1, 64)}, **{(name, 1): rule for name, rule in SCORES.items()},
}  # fmt: skip
"""By operator and number of the output."""


Range = tuple[float, float]

MOST_SHOWN: Final = 8
"""Most ranges that a label shows."""

_COMPARISONS: Final = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")


class Ranges(ForwardAnalysis[Span]):
    """Ranges of values, given those of inputs and constants: `Ranges(x=(-8, 8))`, or by a mapping for any name.

    An element is a `Span` of absint.lattices.domains. Inputs that no range is given for are any number of their type.
    A keyword has to be the name of an input or constant; names of a mapping that a model does not have are passed over.
    With `Ranges(result.loaded.weights, x=(-8, 8))` initialisers are read too, and what they add up to.
    Raises UsageError for a range whose ends are in no order, or NaN.
    """

    domain = DOMAIN
    elementwise = True

    def __init__(self, given: Mapping[str, Range] | Summed | None = None, /, **inputs: Range) -> None:
        super().__init__()
        self._weights = given if isinstance(given, Summed) else None
        boxes = {**({} if given is None or isinstance(given, Summed) else given), **inputs}
        self._boxes = {name: _range(name, box) for name, box in boxes.items()}
        self._keywords = tuple(inputs)
        self._noted: list[Noted] = []

    @property
    def label(self) -> str:
        """With the ranges that are given, which answers rest on."""
        texts = [f"{name} in {DOMAIN.text(Span(*box))}" for name, box in self._boxes.items()]
        rest = len(texts) - MOST_SHOWN
        return f"Ranges({', '.join(texts[:MOST_SHOWN])}{f', {rest} more' if rest > 0 else ''})"

    def source(self, node: int) -> Span:
        dtype = self.ask(ShapeOf, (node, 0)).dtype
        ends = self.ends(node)
        if ends is None:
            return any_of(dtype)
        box = Span(*ends)
        return FLOATS[dtype].rounded(box) if dtype in FLOATS else DOMAIN.meet(box, any_of(dtype))

    def names_given(self) -> Collection[str]:
        return self._keywords

    def ends(self, node: int) -> Range | None:
        """The range that is given or read of an input, an initialiser or a constant of the main graph."""
        name = self.given_name(node)
        found = self._boxes.get(name)
        return self._weights.get(name) if found is None and name and self._weights is not None else found

    def is_given(self, operand: Operand | None) -> bool:
        """It is an input or a constant whose range is given or read."""
        return operand is not None and operand[0] >= 0 and self.ends(operand[0]) is not None

    def sums(self, operand: Operand, axes: Sequence[int]) -> Sums | None:
        """The sums along some axes of a weight: of its positive and of its negative numbers at each place."""
        item = self.nodes[operand[0]] if operand[0] >= 0 else None
        if item is None or self._weights is None or item.step is not None:
            return None
        if item.operation is None:
            name = self.given_name(operand[0])
            return self._weights.sums(name, axes) if name and name not in self._boxes else None
        if item.operator == "Identity":
            return self.sums(item.operands[0], axes)
        if item.operator == "Transpose":
            rank = self.ask(ShapeOf, operand).shape.rank
            order = item.operation.attributes.get("perm", list(reversed(range(rank or 0))))
            if rank and isinstance(order, list) and all(-rank <= axis < rank for axis in axes):
                return self.sums(item.operands[0], [order[axis] for axis in axes])
        return None

    def within(self, bounds: ElementBounds) -> Span:
        least, most = bounds.numbers
        return Span(least, most, (least, most) == (-inf, inf))

    def answers(self, element: Span) -> Iterable[Query]:
        if not element.nan:
            yield ElementBounds(element.lo, element.hi)

    def operator(self, node: int, inputs: Sequence[Span | None]) -> list[Span]:
        item = self.nodes[node]
        self._noted = []
        types = [self.ask(ShapeOf, (node, at)).dtype for at in range(max(1, len(item.outputs)))]
        if any(span is not None and span == NONE for span in inputs):
            return [NONE] * len(types)
        found = [any_of(dtype) for dtype in types]
        operation = item.operation
        if operation is None or operation.malformed:
            return found
        if not operation.domain and operation.version < 7:  # their form differs from what the rules take
            return found
        if operation.other is not None and operation.other.rule is not operation.rule:
            return found
        for at, dtype in enumerate(types):
            rule = RULES.get(item.operator) if at == 0 else FURTHER.get((item.operator, at))
            if rule is not None:
                found[at] = rule(Seen(self, node, dtype, inputs))
        if self._is_size(node):
            self._noted = [noted for noted in self._noted if noted.kind != "overflow"]
        return found

    def _is_size(self, node: int) -> bool:
        """A computation of sizes, which is taken not to overflow."""
        value = self.ask(ShapeOf, (node, 0)).value
        return isinstance(value, Tensor) and value.contents is not None

    def note(self, noted: Noted) -> None:
        """Keep what an operator says of its values."""
        self._noted.append(noted)

    def assume(self, node: int, inputs: Sequence[Span | None], truth: bool) -> Sequence[Span | None]:
        item = self.nodes[node]
        if item.operator not in _COMPARISONS or len(inputs) != 2 or inputs[0] is None or inputs[1] is None:
            return inputs
        dtype = self.ask(ShapeOf, item.operands[0]).dtype
        is_swapped = item.operator.startswith("Greater")
        a, b = (inputs[1], inputs[0]) if is_swapped else (inputs[0], inputs[1])
        if dtype in FLOATS:
            left, right = self._float_sides(item.operator, a, b, truth)
        elif a.is_empty or b.is_empty:
            left, right = NONE, NONE
        elif dtype in INTEGER_RANGES:
            left, right = self._integer_sides(item.operator, a, b, truth)
        else:
            return inputs
        return (right, left) if is_swapped else (left, right)

    def _float_sides(self, operator: str, a: Span, b: Span, truth: bool) -> tuple[Span, Span]:
        domain = FLOATS[DType.DOUBLE]
        if operator == "Equal":
            return domain.assume_equal(a, b, truth)
        return (domain.assume_less_equal if operator.endswith("OrEqual") else domain.assume_less)(a, b, truth)

    def _integer_sides(self, operator: str, a: Span, b: Span, truth: bool) -> tuple[Span, Span]:
        x, y = _interval(a), _interval(b)
        if operator == "Equal":
            pair = INTS.assume_equal(x, y, truth)
        else:
            pair = (INTS.assume_less_equal if operator.endswith("OrEqual") else INTS.assume_less)(x, y, truth)
        return _span(pair[0]), _span(pair[1])

    # After it ran

    def findings(self, result: Analysed) -> tuple[RangeFinding, ...]:
        """Faults that can occur or were ruled out, in execution order; calls that are summarised are left out.

        Raises UsageError if the analysis did not run with the result.
        """
        with finished(result, self) as rows:
            return tuple(self._findings(rows))

    def _findings(self, states: Sequence[Row]) -> Iterator[RangeFinding]:
        for number, node in enumerate(self.nodes):
            if node.operation is None or node.operation.body is not None:
                continue
            if not self.ask(Reachable, (number, 0)).possible:
                continue
            self.operator(number, self._inputs(number, states))  # type: ignore[arg-type]
            for noted in dict.fromkeys(self._noted):
                if not noted.found.is_empty or noted.found.nan:
                    yield RangeFinding(str(node), noted.kind, noted.certainty, noted.found, noted.allowed)


class Seen:
    """An operator and what is known of it."""

    def __init__(self, analysis: Ranges, node: int, dtype: DType, ranges: Sequence[Span | None]) -> None:
        self._analysis, self._number, self._node = analysis, node, analysis.nodes[node]
        self.dtype = dtype
        self.ranges = ranges

    @property
    def outputs(self) -> int:
        return len(self._node.outputs)

    def has(self, name: str) -> bool:
        assert self._node.operation is not None
        return name in self._node.operation.attributes

    def attribute(self, name: str, default: D) -> D:
        assert self._node.operation is not None
        found = self._node.operation.attributes.get(name, default)
        if isinstance(default, float) and isinstance(found, int):
            found = float(found)
        return found if isinstance(found, type(default)) else default

    def shape(self, index: int) -> Shape:
        return self._known(index).shape

    def type(self, index: int) -> DType:
        return self._known(index).dtype

    def _known(self, index: int) -> ShapeOf:
        operands = self._node.operands
        return self._analysis.ask(ShapeOf, operands[index]) if index < len(operands) else ShapeOf()

    def ends(self) -> tuple[float, float] | None:
        return self._analysis.ends(self._number)

    def integers(self, index: int) -> Sequence[int] | None:
        operand = self.operand(index)
        value = None if operand is None else self._analysis.ask(ShapeOf, operand).value
        elements = value.contents.elements if isinstance(value, Tensor) and value.contents is not None else None
        found = [int(one) for one in elements or () if isinstance(one, Dim) and one.is_concrete]
        return found if elements is not None and len(found) == len(elements) else None

    def operand(self, index: int) -> Operand | None:
        operands = self._node.operands
        return operands[index] if index < len(operands) and operands[index][0] >= 0 else None

    def origin(self, operand: Operand | None) -> Origin | None:
        item = None if operand is None else self._analysis.nodes[operand[0]]
        if operand is None or item is None or item.operation is None or item.operation.body is not None or operand[1]:
            return None
        return Origin(item.operator, item.operation.version, item.operation.attributes, item.operands)

    def bounds(self, operand: Operand) -> tuple[float, float]:
        return (-inf, inf) if operand[0] < 0 else self._analysis.ask(ElementBounds, operand).numbers

    def shape_of(self, operand: Operand) -> Shape:
        return (ShapeOf() if operand[0] < 0 else self._analysis.ask(ShapeOf, operand)).shape

    def sums(self, index: int, axes: Sequence[int]) -> Sums | None:
        operands = self._node.operands
        return self._analysis.sums(operands[index], axes) if index < len(operands) else None

    def note(self, kind: Kind, found: Span, allowed: Span, *, is_fixed: bool = True) -> None:
        ranges = [(index, span) for index, span in enumerate(self.ranges) if span is not None]
        operands = [
            (span, self.type(index)) for index, span in ranges if not self._analysis.is_given(self.operand(index))
        ]
        self._analysis.note(Noted(kind, found, allowed, is_fixed, is_known(kind, found, allowed, operands)))


def _range(name: str, box: object) -> Range:
    """Two numbers in their order. Raises UsageError for anything else."""
    if not isinstance(box, Sequence) or len(box) != 2 or not all(isinstance(end, SupportsFloat) for end in box):
        raise UsageError(f"{name}: expected its least and its greatest number, found {box!r}")
    low, high = box
    if not low <= high:
        raise UsageError(f"{name}: expected a range from its least to its greatest number, found {low}..{high}")
    return low, high


def _interval(span: Span) -> Interval:
    return Interval(*(None if isinf(end) else int(end) for end in (span.lo, span.hi)))


def _span(found: Interval) -> Span:
    return (
        NONE if found.is_empty else Span(-inf if found.lo is None else found.lo, inf if found.hi is None else found.hi)
    )
