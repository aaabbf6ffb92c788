"""An analysis of the elements of tensors in a domain of numbers: bring the domain, and what it knows besides."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import Final, TypeVar

from absint.analyses.forward import ForwardAnalysis, on
from absint.analyses.queries import ElementBounds, Query, ShapeOf
from absint.lattices.domains.intervals import NumberDomain
from absint.solution.analysed import Analysed

T = TypeVar("T")

COMPARISONS: Final[Mapping[str, tuple[str, bool]]] = {
    "Less": ("assume_less", False), "Greater": ("assume_less", True), "Equal": ("assume_equal", False),
    "LessOrEqual": ("assume_less_equal", False), "GreaterOrEqual": ("assume_less_equal", True),
}  # fmt: skip
"""Each with the method of the domain, and whether it takes the inputs the other way round."""


class ElementAnalysis(ForwardAnalysis[T]):
    """An element of a domain of numbers for all elements of each tensor: set `domain`, add operators with `@on`.

    Arithmetic, operators that move elements, comparisons in conditions, and what shapes know of elements are followed.
    What arithmetic gives is `held` by the type of the output: integers wrap around, and the elements of a type that the
    domain is not about are top. Other analyses may ask for bounds of elements. All other operators give top.
    """

    domain: NumberDomain[T]
    elementwise = True

    def __init__(self, result: Analysed | None = None, /, **inputs: T) -> None:
        """With elements of inputs by name, taken for granted. With a result it runs alone, by `fixpoint`."""
        self.inputs = inputs
        super().__init__(result)

    @property
    def label(self) -> str:
        """The name, with what is taken for granted of inputs: answers that rest on the analysis show it."""
        given = ", ".join(f"{name} in {self.domain.text(element)}" for name, element in self.inputs.items())
        return f"{type(self).__name__}({given})" if given else type(self).__name__

    def source(self, node: int) -> T:
        return self.inputs.get(self.given_name(node), self.domain.top)

    def names_given(self) -> Collection[str]:
        return self.inputs

    def within(self, bounds: ElementBounds) -> T:
        return self.domain.between(*bounds.numbers)

    def answers(self, element: T) -> Iterable[Query]:
        yield ElementBounds(*self.domain.ends(element))

    def assume(self, node: int, inputs: Sequence[T | None], truth: bool) -> Sequence[T | None]:
        a, b = inputs[0], inputs[-1]
        method, is_reversed = COMPARISONS.get(self.nodes[node].operator, ("", False))
        if not method or a is None or b is None:
            return inputs
        if is_reversed:
            return getattr(self.domain, method)(b, a, truth)[::-1]  # type: ignore[no-any-return]
        return getattr(self.domain, method)(a, b, truth)  # type: ignore[no-any-return]

    def _reduced(self, node: int, found: Sequence[T]) -> tuple[T, ...]:
        """Held first: what overflows may lie within the bounds of the type again."""
        dtypes = [ShapeOf(self.frame.value((node, output))).dtype for output in range(len(found))]
        elements = super()._reduced(node, list(map(self.domain.held, found, dtypes)))
        return tuple(map(self.domain.held, elements, dtypes))

    # Operators

    @on(
        "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Tile", "Slice", "Split",
        "Gather", "GatherElements", "GatherND", "Compress", "DepthToSpace", "SpaceToDepth", "ReverseSequence",
    )  # fmt: skip
    def moved(self, node: int, data: T, *places: T | None) -> T:
        """Elements of the first input, at other places."""
        return data

    @on("Concat")
    def joined(self, node: int, *inputs: T) -> T:
        """Elements of any of the inputs."""
        return reduce(self.domain.join, inputs)

    @on("Where")
    def chosen(self, node: int, condition: T, yes: T, no: T) -> T:
        return self.domain.join(yes, no)

    @on("Neg", "Abs", "Add", "Sub", "Mul", "Div")
    def computed(self, node: int, *inputs: T) -> T:
        """The domain has a method for each, of the same name."""
        return getattr(self.domain, self.nodes[node].operator.lower())(*inputs)  # type: ignore[no-any-return]

    @on("Min", "Max")
    def extreme(self, node: int, *inputs: T) -> T:
        return reduce(getattr(self.domain, self.nodes[node].operator.lower()), inputs)

    @on("Relu")
    def relu(self, node: int, x: T) -> T:
        return self.domain.max(x, self.domain.between(0, 0))
