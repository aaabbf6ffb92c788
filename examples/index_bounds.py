"""Which indices lie within their axis, whatever the data: an analysis that discharges doubts of `check`.

python examples/index_bounds.py MODEL N=3 C=5

Indices from ArgMax, NonZero and TopK are bounded by sizes: that of shapes is asked. What becomes of them, and the trip
numbers of loops, are the business of `ElementAnalysis`.
"""

import sys

import absint
from absint.lattices.domains import INTERVALS, Interval


class IndexBounds(absint.ElementAnalysis[Interval]):
    """The least and the greatest element of tensors of integers."""

    domain = INTERVALS

    @absint.on("ArgMax", "ArgMin")
    def place(self, node: int, data: Interval) -> Interval:
        return self.below(node, self.attribute(node, "axis", 0))

    @absint.on("NonZero")
    def places(self, node: int, data: Interval) -> Interval:
        return self.below(node)

    @absint.on("TopK", each=True)
    def best(self, node: int, data: Interval, *count: Interval) -> list[Interval]:
        return [data, self.below(node, self.attribute(node, "axis", -1))]

    def below(self, node: int, axis: int | None = None) -> Interval:
        """From 0 to the last place along an axis of the first input, or along any of them."""
        most = self.ask(absint.ShapeOf, self.nodes[node].operands[0]).most(axis)
        return INTERVALS.between(0, max(most - 1, 0))


if __name__ == "__main__":
    sizes = {name: int(size) for name, size in (text.split("=") for text in sys.argv[2:])}
    print("shapes alone:", absint.analyze(sys.argv[1]).check(sizes))
    print("with indices:", absint.analyze(sys.argv[1], with_=[IndexBounds()]).check(sizes))
