"""The analysis of ranges, the rule of each operator, and the answer for one result.

The range of a tensor holds each of its elements: two ends, which may be infinite, and NaN or not. A finding says what a
node may do with values in these ranges: overflow, divide by 0, leave the domain of a function or the axis of an index,
or saturate.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf
from typing import Final, SupportsFloat

from absint.analyses.arithmetic import COMPARISONS
from absint.analyses.exchange import companions, finished, found_by
from absint.analyses.forward import ForwardAnalysis
from absint.analyses.queries import ElementBounds, Query, Reachable, Row, ShapeOf
from absint.analyses.ranges import seen
from absint.analyses.ranges.functions import ELEMENTWISE
from absint.analyses.ranges.fused import ATTENTION, FUSED, WINDOWS, sum_of_inputs
from absint.analyses.ranges.norms import NORMS, cells
from absint.analyses.ranges.rules import NONE, interval, same, span_of, truth
from absint.analyses.ranges.seen import DOMAIN, FLOATS, Range, RangeFinding, Rule, Summed, any_of
from absint.analyses.ranges.sums import SUMS
from absint.analyses.ranges.tensors import ML, PARTS, SCORES, position, step
from absint.errors import UsageError
from absint.lattices.domains import INTERVALS as INTS, Span
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.text.escapes import did_you_mean
from absint.lattices.value import Tensor
from absint.solution.analysed import Analysed

RULES: Final[Mapping[str, Rule]] = {
    **ELEMENTWISE, **PARTS, **SUMS, **WINDOWS, **NORMS, **FUSED, **ATTENTION, **ML, "TopK": same,
}  # fmt: skip
"""By operator, with its domain unless it is ai.onnx."""

FURTHER: Final[Mapping[tuple[str, int], Rule]] = {
    ("TopK", 1): position(-1), ("Dropout", 1): truth, ("DynamicQuantizeLinear", 1): step,
    ("LSTM", 1): NORMS["LSTM"], ("LSTM", 2): cells, ("RNN", 1): NORMS["RNN"], ("GRU", 1): NORMS["GRU"],
    ("com.microsoft::SkipLayerNormalization", 3): sum_of_inputs(4),
    ("com.microsoft::SkipSimplifiedLayerNormalization", 3): sum_of_inputs(3),
    **{("Split", index): same for index in range(1, 64)}, **{(name, 1): rule for name, rule in SCORES.items()},
}  # fmt: skip
"""By operator and number of the output."""


MOST_SHOWN: Final = 8
"""Most ranges that a label shows."""


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
        boxes = {**({} if given is None or isinstance(given, Summed) else given), **inputs}
        ranges = {name: _range(name, box) for name, box in boxes.items()}
        self._known = seen.Known(ranges, given if isinstance(given, Summed) else None)
        self._keywords = tuple(inputs)
        self._noted: list[seen.Noted] = []

    @property
    def label(self) -> str:
        """With the ranges that are given, which answers rest on."""
        texts = [f"{name} in {DOMAIN.text(Span(*box))}" for name, box in self._known.given.items()]
        rest = len(texts) - MOST_SHOWN
        return f"Ranges({', '.join(texts[:MOST_SHOWN])}{f', {rest} more' if rest > 0 else ''})"

    def source(self, node: int) -> Span:
        dtype = self.ask(ShapeOf, (node, 0)).dtype
        ends = self._known.ends(self.given_name(node))
        if ends is None:
            return any_of(dtype)
        box = Span(*ends)
        return FLOATS[dtype].rounded(box) if dtype in FLOATS else DOMAIN.meet(box, any_of(dtype))

    def names_given(self) -> Collection[str]:
        return self._keywords

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
                found[at] = rule(seen.At(self, self._known, node, dtype, inputs, self._noted))
        if self._is_size(node):
            self._noted = [noted for noted in self._noted if noted.kind != "overflow"]
        return found

    def _is_size(self, node: int) -> bool:
        """A computation of sizes, which is taken not to overflow."""
        value = self.ask(ShapeOf, (node, 0)).value
        return isinstance(value, Tensor) and value.contents is not None

    def assume(self, node: int, inputs: Sequence[Span | None], truth: bool) -> Sequence[Span | None]:
        method, is_reversed = COMPARISONS.get(self.nodes[node].operator, ("", False))
        if not method or len(inputs) != 2 or inputs[0] is None or inputs[1] is None:
            return inputs
        dtype = self.ask(ShapeOf, self.nodes[node].operands[0]).dtype
        a, b = (inputs[1], inputs[0]) if is_reversed else (inputs[0], inputs[1])
        if dtype in FLOATS:
            sides: list[Span] = [*getattr(FLOATS[DType.DOUBLE], method)(a, b, truth)]
        elif a.is_empty or b.is_empty:
            sides = [NONE, NONE]
        elif dtype in INTEGER_RANGES:
            sides = list(map(span_of, getattr(INTS, method)(interval(a), interval(b), truth)))
        else:
            return inputs
        return sides[::-1] if is_reversed else sides

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
            self.operator(number, self._inputs(number, states))
            for noted in dict.fromkeys(self._noted):
                if not noted.found.is_empty or noted.found.nan:
                    yield RangeFinding(str(node), noted.kind, noted.certainty, noted.found, noted.allowed)


def _range(name: str, box: object) -> Range:
    """Two numbers in their order. Raises UsageError for anything else."""
    if not isinstance(box, Sequence) or len(box) != 2 or not all(isinstance(end, SupportsFloat) for end in box):
        raise UsageError(f"{name}: expected its least and its greatest number, found {box!r}")
    low, high = box
    if not low <= high:
        raise UsageError(f"{name}: expected a range from its least to its greatest number, found {low}..{high}")
    return low, high


class ValueRanges:
    """Ranges of values, and faults that can occur. It is true if no fault is certain."""

    def __init__(self, result: Analysed, analysis: Ranges) -> None:
        self.result = result
        """The result that the ranges are of: their analysis ran with it."""
        self._analysis = analysis

    @cached_property
    def values(self) -> Mapping[str, Span]:
        """The range of each value by name: `lo`, `hi`, and `nan` if it may be NaN. Names are those of `found_by`."""
        return found_by(self.result, self._analysis)

    @cached_property
    def findings(self) -> tuple[RangeFinding, ...]:
        """Faults in execution order, with how certain each is."""
        return self._analysis.findings(self.result)

    def __bool__(self) -> bool:
        return all(finding.certainty != "always" for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        counts = Counter(finding.certainty for finding in self.findings)
        yield ", ".join(f"{counts[one]} {word}" for one, word in seen.TITLES.items())
        for name in self.result.outputs:
            if name in self.values:
                yield f"{name} in {DOMAIN.text(self.values[name])}"
        yield from (str(finding) for finding in self.findings if finding.certainty in ("always", "may"))

    def __repr__(self) -> str:
        return f"<ValueRanges of {self.result.origin}: {len(self.values):,} values, {len(self.findings):,} findings>"


def value_ranges(analysed: Analysed, inputs: Mapping[str, Range], *, weights: bool) -> ValueRanges:
    """See `absint.Result.ranges`."""
    for name in inputs:
        if name not in analysed.inputs:
            hint = did_you_mean(name, analysed.inputs) or f"the inputs are {', '.join(analysed.inputs)}"
            raise UsageError(f"no input is named {name!r}; {hint}")
    analysis = Ranges(analysed.loaded.weights if weights else None, **inputs)
    return ValueRanges(analysed.under(with_=[*companions(analysed), analysis]), analysis)
