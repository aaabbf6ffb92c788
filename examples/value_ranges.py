"""The least and the greatest element of every tensor of floats, for inputs in given ranges, through branches and loops.

python examples/value_ranges.py MODEL x=-1..1

An operator that is not listed gives any number, and NaN.
"""

import math
import sys
from collections.abc import Callable, Sequence

import absint
from absint import DType, ShapeOf
from absint.lattices.domains import FLOAT32, FloatIntervals, Span

DOMAIN = FloatIntervals("float32", thresholds=[-1, 0, 1, 6])
ABOUT_1 = 1 + 2**-20  # onnxruntime's Sigmoid reaches 1 + 2**-23
FOLDS: dict[str, Callable[..., Span]] = {
    "Add": FLOAT32.add, "Sub": FLOAT32.sub, "Mul": FLOAT32.mul, "Div": FLOAT32.div, "Neg": FLOAT32.neg,
    "Abs": FLOAT32.abs, "Sqrt": FLOAT32.sqrt, "Min": FLOAT32.min, "Max": FLOAT32.max,
    "Identity": lambda x: x, "Reshape": lambda x, _: x, "Transpose": lambda x: x, "Unsqueeze": lambda x, _: x,
    "Relu": lambda x: FLOAT32.max(x, FLOAT32.constant(0.0)), "Tanh": lambda x: FLOAT32.increasing(math.tanh, x),
    "Sigmoid": lambda x: FLOAT32.of(0, ABOUT_1, nan=x.nan), "Softmax": lambda _: FLOAT32.of(0, ABOUT_1, nan=True),
}  # fmt: skip


class Ranges(absint.ForwardAnalysis[Span]):
    """Ranges of floats, with NaN or without."""

    domain = DOMAIN
    elementwise = True

    def __init__(self, **inputs: Span) -> None:
        self.inputs = inputs

    @property
    def label(self) -> str:  # answers that rest on the ranges of the inputs show it
        return f"Ranges({', '.join(f'{name} in {DOMAIN.text(span)}' for name, span in self.inputs.items())})"

    def source(self, node: int) -> Span:
        return self.inputs.get(self.nodes[node].outputs[0], DOMAIN.top)

    def within(self, bounds: absint.ElementBounds) -> Span:
        return FLOAT32.of(*bounds.numbers, nan=bounds.numbers == (-math.inf, math.inf))

    def operator(self, node: int, inputs: Sequence[Span | None]) -> list[Span]:
        item, known = self.nodes[node], [DOMAIN.top if one is None else one for one in inputs]
        fold = FOLDS.get(item.operator) if self.ask(ShapeOf, (node, 0)).dtype is DType.FLOAT else None
        is_wide = len(known) > 2 or (len(known) == 1 and item.operator in ("Min", "Max"))
        return [DOMAIN.top if fold is None or is_wide else fold(*known)] * len(item.outputs)


if __name__ == "__main__":
    boxes = (text.replace("..", "=").split("=") for text in sys.argv[2:])
    ranges = Ranges(**{name: FLOAT32.of(float(low), float(high)) for name, low, high in boxes})
    for name, span in absint.analyze(sys.argv[1], with_=[ranges]).found_by(ranges).items():
        print(f"{name:24}{DOMAIN.text(span)}")
