"""The least and the greatest element of every tensor of floats, for inputs in given ranges, through branches and loops.

python examples/value_ranges.py MODEL x=-1..1

Arithmetic, moves, comparisons and bounds come with `ElementAnalysis`; here are some functions. An operator that neither
lists gives any number, and NaN.
"""

import math
import sys

import absint
from absint.lattices.domains import FLOAT32, FloatIntervals, Span

ABOUT_1 = 1 + 2**-20  # onnxruntime's Sigmoid reaches 1 + 2**-23


class Ranges(absint.ElementAnalysis[Span]):
    """Ranges of floats, with NaN or without."""

    domain = FloatIntervals("float32", thresholds=[-1, 0, 1, 6])

    @absint.on("Sqrt")
    def root(self, node: int, x: Span) -> Span:
        return FLOAT32.sqrt(x)

    @absint.on("Tanh")
    def tanh(self, node: int, x: Span) -> Span:
        return FLOAT32.increasing(math.tanh, x)

    @absint.on("Sigmoid", "Softmax")
    def part(self, node: int, x: Span) -> Span:
        return FLOAT32.of(0, ABOUT_1, nan=x.nan or self.nodes[node].operator == "Softmax")


if __name__ == "__main__":
    boxes = (text.replace("..", "=").split("=") for text in sys.argv[2:])
    ranges = Ranges(**{name: FLOAT32.of(float(low), float(high)) for name, low, high in boxes})
    for name, span in absint.analyze(sys.argv[1], with_=[ranges]).found_by(ranges).items():
        print(f"{name:24}{FLOAT32.text(span)}")
