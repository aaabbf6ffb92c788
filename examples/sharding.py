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
        self.given = {name: AXES.constant(axis) for name, axis in given.items()}

    def source(self, node: int) -> Axis:
        return self.given.get(self.given_name(node)) or self.element_of(Wishes, (node, 0)) or AXES.top

    @absint.on(*SAME)
    def same(self, node: int, first: Axis, *others: Axis) -> Axis:
        return first if all(one == first for one in others) else AXES.top

    @absint.on("MatMul")
    def product(self, node: int, a: Axis, b: Axis) -> Axis:
        return PRODUCTS.get((a, b), COLUMNS if b == COLUMNS else AXES.top)


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
