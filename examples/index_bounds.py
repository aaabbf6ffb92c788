"""Which indices lie within their axis, whatever the data: an analysis that discharges doubts of `check`.

python examples/index_bounds.py MODEL N=3 C=5

Indices from ArgMax, NonZero and TopK, and trip numbers of loops, are bounded by sizes: that of shapes is asked.
"""

import sys
from collections.abc import Iterable, Sequence

import absint
from absint import ElementBounds, ShapeOf
from absint.lattices.domains import INTERVALS, Interval

MOVES = ("Identity", "Gather", "GatherElements", "Slice", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Expand")
FOLDS = {"Add": INTERVALS.add, "Sub": INTERVALS.sub, "Mul": INTERVALS.mul, "Min": INTERVALS.min, "Max": INTERVALS.max}


class IndexBounds(absint.ForwardAnalysis[Interval]):
    """The least and the greatest element of tensors of integers."""

    domain = INTERVALS
    elementwise = True

    def within(self, bounds: ElementBounds) -> Interval:
        return bounds.interval

    def answers(self, element: Interval) -> Iterable[absint.Query]:
        yield ElementBounds(*element)

    def operator(self, node: int, inputs: Sequence[Interval | None]) -> list[Interval]:
        item, known = self.nodes[node], [one or self.domain.top for one in inputs]
        found = self.domain.top
        if item.operator in MOVES:
            found = known[0]
        elif item.operator in FOLDS and len(known) == 2:
            exact = FOLDS[item.operator](*known)
            found = exact if exact.leq(self.ask(ElementBounds, (node, 0)).interval) else found  # else it may overflow
        elif item.operator in ("ArgMax", "ArgMin", "TopK", "NonZero"):
            last = -1 if item.operator == "TopK" else 0
            axis = item.operation.attributes.get("axis", last) if item.operation else last
            shape = self.ask(ShapeOf, item.operands[0])
            sizes = shape.shape if item.operator == "NonZero" else [shape.size(axis) if isinstance(axis, int) else None]
            most = [None if size is None else size.bounds.hi for size in sizes]
            found = Interval(0, None if None in most else max((n - 1 for n in most if n), default=0))
        return [*[self.domain.top] * (len(item.outputs) - 1), found]  # of two outputs the indices are the last one

    def assume(self, node: int, inputs: Sequence[Interval | None], truth: bool) -> Sequence[Interval | None]:
        a, b = (one or self.domain.top for one in (inputs[0], inputs[-1]))
        match self.nodes[node].operator:
            case "Less":
                return INTERVALS.assume_less(a, b, truth)
            case "Greater":
                return INTERVALS.assume_less(b, a, truth)[::-1]
        return inputs


if __name__ == "__main__":
    sizes = {name: int(size) for name, size in (text.split("=") for text in sys.argv[2:])}
    print("shapes alone:", absint.analyze(sys.argv[1]).check(sizes))
    print("with indices:", absint.analyze(sys.argv[1], with_=[IndexBounds()]).check(sizes))
