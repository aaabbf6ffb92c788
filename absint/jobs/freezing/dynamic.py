"""The dims of a model that are not fixed, and the symbols and nodes that they depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from absint.lattices.shape import TOP_SHAPE
from absint.lattices.terms.expr import Dim, Expr, Symbol
from absint.lattices.value import AnyTensor, Value, parts
from absint.program.steps import Operand
from absint.shapes.names import dims_of
from absint.solution.constraints import Recorder
from absint.solution.naming import where
from absint.solver.constraints import Origin

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


class Cause(NamedTuple):
    """The reason why a size is no number."""

    name: str
    """The symbol, or the element of an input; for data-dependent sizes the name under which they are shown."""
    origin: Origin | None = None
    """The node whose output has a data-dependent size; None for a symbol or an element of the inputs."""
    is_element: bool = False

    def __str__(self) -> str:
        if self.origin is not None:
            return f"the data of {self.origin}"
        return f"the element {self.name!r} of an input" if self.is_element else f"symbol {self.name!r}"


class DynamicValue(NamedTuple):
    """A value with a size that is no number."""

    name: str
    """Its name, after the path of its graph."""
    dims: tuple[int | str, ...] | None
    """Its sizes, those that are no numbers as text; None for an unknown rank or kind."""
    shape: str
    """Its shape as text, `[*s, 64]` for an unknown rank; `?` if nothing is known."""
    causes: tuple[Cause, ...]
    open_dims: tuple[int | str, ...] | None = None
    """Of an unknown rank: the known sizes, and the name of the others, as `*s`, between them; None if none is known."""


@dataclass(frozen=True)
class Dynamic:
    """The dims that are not fixed."""

    outputs: tuple[DynamicValue, ...]
    """Outputs of the model."""
    inner: tuple[DynamicValue, ...]
    """Inner values, those of subgraphs included."""
    definitions: Mapping[str, str]
    """The long dims that have a name in shapes."""

    def __bool__(self) -> bool:
        return bool(self.outputs or self.inner)

    @property
    def causes(self) -> Mapping[Cause, int]:
        """All causes, each with the number of values that hang on it, in order of appearance."""
        found: dict[Cause, int] = {}
        for value in (*self.outputs, *self.inner):
            for cause in value.causes:
                found[cause] = found.get(cause, 0) + 1
        return found


def open_dims(analysed: Analysed) -> dict[tuple[Operand, int, int], Expr | None]:
    """The dims of computed values that are no numbers, by value, part of it and axis; None for one, or a rank, of which
    nothing is known.
    """
    found: dict[tuple[Operand, int, int], Expr | None] = {}
    for operand, value in _computed(analysed):
        for number, part in enumerate(parts(value)):
            if isinstance(part, AnyTensor) and part.shape.rank is None:
                found[operand, number, -1] = None
            elif isinstance(part, AnyTensor):
                for axis, dim in enumerate(part.shape.dims):
                    if not dim.is_concrete:
                        found[operand, number, axis] = dim if isinstance(dim, Expr) else None
    return found


def _computed(analysed: Analysed) -> Iterator[tuple[Operand, Value]]:
    """Every named value that a node computes."""
    inputs = {*analysed.input_nodes.values()}
    for operand in analysed.program.names:
        if operand[0] >= 0 and operand[0] not in inputs:
            state = analysed.states[operand[0]]
            if operand[1] < len(state):
                yield operand, state[operand[1]]


def dynamic(analysed: Analysed) -> Dynamic:
    """Everything in the analysed model that is not fixed."""
    texts = where(analysed)
    causes = _Causes(analysed)
    outputs: list[DynamicValue] = []
    inner: list[DynamicValue] = []
    named = {analysed.operands[name] for name in analysed.outputs if name in analysed.operands}
    for operand, value in _computed(analysed):
        found = causes.of(value)
        if found is not None:
            shown = analysed.value_of(operand)
            row = _row(analysed.program.names[operand], shown, texts.dim, found)
            (outputs if operand in named else inner).append(row)
    return Dynamic(tuple(outputs), tuple(inner), dict(texts.definitions))


def _row(name: str, value: Value, text: Callable[[Dim], str], causes: tuple[Cause, ...]) -> DynamicValue:
    """A value by the sizes of the first tensor in it."""
    shape = next((part.shape for part in parts(value) if isinstance(part, AnyTensor)), TOP_SHAPE)
    if shape.rank is None and shape.variable is None:
        return DynamicValue(name, None, str(shape), causes)
    sizes = tuple(shape.listed(lambda dim: int(dim) if dim.is_concrete else text(dim), str))
    known, others = (sizes, None) if shape.variable is None else (None, sizes)
    return DynamicValue(name, known, f"[{', '.join(map(str, sizes))}]", causes, others)


class _Causes:
    """The causes of the sizes of one result."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._recorder = Recorder(analysed.lowered, analysed.last)
        self._elements = {element.symbol: element.name for element in analysed.declared_inputs.elements.values()}
        self._of: dict[Value, tuple[Cause, ...] | None] = {}

    def of(self, value: Value) -> tuple[Cause, ...] | None:
        """The causes of all sizes in a value that are no numbers; None if there are no such sizes."""
        if value not in self._of:
            self._of[value] = tuple(dict.fromkeys(self._read(value))) if self._is_open(value) else None
        return self._of[value]

    @staticmethod
    def _is_open(value: Value) -> bool:
        for part in parts(value):
            if isinstance(part, AnyTensor) and (part.shape.rank is None or not all(d.is_concrete for d in part.shape)):
                return True
        return False

    def _read(self, value: Value) -> Iterator[Cause]:
        for dim in dims_of(value):
            if isinstance(dim, Expr):
                for symbol in sorted(dim.symbols, key=lambda s: s.key):
                    yield self._cause(symbol)

    def _cause(self, symbol: Symbol) -> Cause:
        if symbol in self._elements:
            return Cause(self._elements[symbol], None, True)
        if symbol.origin_node is None:
            return Cause(symbol.name)
        shown = self._analysed.names.get(symbol)
        return Cause(str(shown) if shown is not None else "", self._recorder.origin(symbol.origin_node))
