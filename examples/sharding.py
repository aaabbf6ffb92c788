"""Which axis of each tensor is split over devices: what is split flows forward, what users want flows backward.

python examples/sharding.py MODEL x=-1 w1=1

`x` is whole, `w1` split along axis 1. A MatMul whose first input is split along its columns wants its second one
split along its rows; what nobody gave is split as its users want it. Each direction asks the other.
"""

import sys
from collections.abc import Sequence

import absint
from absint.lattices.domains import FiniteSets, ValueSet

Axis = ValueSet[int]
AXES = FiniteSets[int](limit=1)
WHOLE, ROWS, COLUMNS = map(AXES.constant, (-1, 0, 1))
PRODUCTS = {(WHOLE, WHOLE): WHOLE, (ROWS, WHOLE): ROWS, (COLUMNS, ROWS): WHOLE}  # parts of the last one are added up
SAME = ("Identity", "Relu", "Neg", "Tanh", "Add", "Sub", "Mul")


class Layout(absint.ForwardAnalysis[Axis]):
    """The axis along which a tensor is split."""

    domain = AXES

    def __init__(self, **given: int) -> None:
        self.given = given

    def source(self, node: int) -> Axis:
        name = self.nodes[node].outputs[0]
        return AXES.constant(self.given[name]) if name in self.given else self.element_of(Wishes, (node, 0)) or AXES.top

    def operator(self, node: int, inputs: Sequence[Axis | None]) -> list[Axis]:
        item, known = self.nodes[node], [AXES.bottom if one is None else one for one in inputs]
        found = AXES.top
        if AXES.bottom in known:
            found = AXES.bottom
        elif item.operator in SAME and all(one == known[0] for one in known):
            found = known[0]
        elif item.operator == "MatMul":
            found = PRODUCTS.get((known[0], known[1]), COLUMNS if known[1] == COLUMNS else AXES.top)
        return [found] * len(item.outputs)


class Wishes(absint.BackwardAnalysis[Axis]):
    """The axis along which users want a tensor to be split."""

    domain = AXES

    def sink(self, node: int, output: int) -> Axis:
        return AXES.bottom

    def operator(self, node: int, outputs: Sequence[Axis]) -> list[Axis]:
        item = self.nodes[node]
        if item.operator == "MatMul":
            return [AXES.bottom, ROWS if self.element_of(Layout, item.operands[0]) == COLUMNS else outputs[0]]
        return [outputs[0] if item.operator in SAME else AXES.bottom] * len(item.operands)


if __name__ == "__main__":
    layout = Layout(**{name: int(axis) for name, axis in (text.split("=") for text in sys.argv[2:])})
    for name, axis in absint.analyze(sys.argv[1], with_=[layout, Wishes()]).found_by(layout).items():
        print(f"{name:24}{'whole' if axis == WHOLE else axis}")
