"""From which inputs data come to each output: an analysis of one's own, on any model.

python examples/data_flow.py examples/tiny_decoder.onnx

What decides on branches and on the trips of loops is not counted, nor are the sizes of inputs. docs/tutorial.md
explains how such an analysis is written.
"""

import sys
from collections.abc import Sequence

import absint

Names = frozenset[str]


class Subsets:
    """Sets of names: the larger one says less."""

    bottom: Names = frozenset()

    def __init__(self, names: Sequence[str]) -> None:
        self.top = frozenset(names)

    def leq(self, a: Names, b: Names) -> bool:
        return a <= b

    def join(self, a: Names, b: Names) -> Names:
        return a | b

    def meet(self, a: Names, b: Names) -> Names:
        return a & b

    def widen(self, old: Names, new: Names) -> Names:
        return old | new


class DataFlow(absint.ForwardAnalysis[Names]):
    """The inputs whose data may be in a value."""

    elementwise = True

    def __init__(self, result: absint.Result) -> None:
        self.domain = Subsets(result.inputs)
        super().__init__(result)

    def source(self, node: int) -> Names:
        return frozenset(self.nodes[node].outputs) & self.domain.top  # none, for a weight

    def operator(self, node: int, inputs: Sequence[Names | None]) -> list[Names]:
        item = self.nodes[node]
        if item.operator in ("Shape", "Size") and self.has_known_sizes(item.operands[0]):
            return [self.domain.bottom]
        found = self.domain.bottom.union(*(names for names in inputs if names is not None))
        return [found] * len(item.outputs)

    def has_known_sizes(self, operand: tuple[int, int]) -> bool:
        """The sizes of the inputs decide those of the value: no data do."""
        value = self.result.value_of(operand)
        if not isinstance(value, absint.Tensor) or value.shape.rank is None:
            return False
        return all(not dim.is_unknown and dim.free_symbols <= set(self.result.symbols) for dim in value.shape)


def main(path: str) -> None:
    result = absint.analyze(path)
    analysis = DataFlow(result)
    flow = analysis.by_name(absint.fixpoint(result.graph, analysis))
    for output in result.outputs:
        print(f"{output}: {', '.join(name for name in result.inputs if name in flow[output]) or 'no input'}")
    apart = sum(not names for names in flow.values())
    print(f"{apart} of {len(flow)} values have no data of an input: weights, and what follows from sizes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
