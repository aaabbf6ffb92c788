"""The facts in a report, apart from their form: rows of values, totals, and what `--require` misses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text.sheets import plural
from absint.lattices.value import BOTTOM, TOP, Container, Tensor, Value
from absint.model.walk import graphs_below
from absint.solution.described import IN_PLACE, Texts, brief

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

Requirement = Literal["shapes", "ranks", "rules"]


class Row(NamedTuple):
    """A value with the operator that computes it; `path` is that of its subgraph, empty in the main graph."""

    path: str
    name: str
    operator: str
    node: str
    value: Value

    @property
    def place(self) -> str:
        return f"{self.path}/{self.name}" if self.path else self.name


class Totals(NamedTuple):
    """Counts over every value that a node computes, in the main graph, subgraphs and inlined functions."""

    values: int
    unranked: int
    concrete: int
    expression: int
    unknown: int

    @property
    def dims(self) -> int:
        return self.concrete + self.expression + self.unknown


def nodes_in_words(analysed: Analysed) -> str:
    """The number of nodes in the file: of the main graph, and of the bodies in it."""
    nodes = analysed.loaded.model.graph.node
    count = f"{len(nodes):,} {plural('node', len(nodes))}"
    inner = sum(len(body.node) for body in graphs_below(nodes))
    return f"{count} and {inner:,} in bodies" if inner else count


def kind_of(dim: Dim, analysed: Analysed) -> Literal["concrete", "expression", "unknown"]:
    """`unknown`: nothing is known, or the dim mentions a symbol that the analysis invented."""
    if dim.is_concrete:
        return "concrete"
    return "expression" if isinstance(dim, Expr) and dim.free_symbols <= analysed.parameters.keys() else "unknown"


def computed(analysed: Analysed) -> Iterator[Row]:
    """Every value that a node computes, in execution order within each body; the main graph first."""
    seen = set()
    for path, scope in analysed.scopes.items():
        for name, operand in scope.names.items():
            if operand[0] < 0 or operand in seen:
                continue
            seen.add(operand)
            node = analysed.nodes[operand[0]]
            if node.value is None:
                yield Row(path, name, node.operator, node.name, analysed.value_of(operand))


def totals(analysed: Analysed) -> Totals:
    """Counts of values and dims."""
    return analysed.once(_totals)


def _totals(analysed: Analysed) -> Totals:
    counts = {"concrete": 0, "expression": 0, "unknown": 0}
    values = unranked = 0
    shapes = Counter[Shape]()
    for row in computed(analysed):
        values += 1
        tensor = tensor_of(row.value)
        if tensor is None or tensor.shape.rank is None:
            unranked += row.value is not BOTTOM
        else:
            shapes[tensor.shape] += 1
    for shape, times in shapes.items():
        for dim in shape.dims:
            counts[kind_of(dim, analysed)] += times
    return Totals(values, unranked, **counts)


def tensor_of(value: Value) -> Tensor | None:
    """The tensor that a value is, or that the elements of a sequence, optional or map are."""
    while isinstance(value, Container):
        value = value.element
    return value if isinstance(value, Tensor) else None


def first_unknown(analysed: Analysed) -> dict[str, Row]:
    """The sizes that are in no terms of the inputs, each with the value that first has it, in execution order."""
    found: dict[str, Row] = {}
    for row in computed(analysed):
        tensor = tensor_of(row.value)
        for dim in () if tensor is None else tensor.shape.open:
            for name in sorted(dim.free_symbols):
                if name not in analysed.parameters:
                    found.setdefault(name, row)
    return found


def missing(analysed: Analysed, requirement: Requirement, texts: Texts = IN_PLACE) -> list[str]:
    """Reasons why the result does not meet a requirement, one line each.

    `rules`: every operator has one; `ranks`: the rank of every computed tensor is known; `shapes`: so is every dim, as
    a number or in terms of the inputs.
    """
    if requirement == "rules":
        return [
            f"{operator}: no rule{but} ({count} {'node' if count == 1 else 'nodes'})"
            for found, but in ((analysed.unruled, ""), (analysed.inferred, ", only its onnx schema"))
            for operator, count in found.items()
        ]
    found = []
    for row in computed(analysed):
        value = row.value
        tensor = tensor_of(value)
        if tensor is None:
            if value is TOP:
                found.append(f"{row.place}: nothing is known ({row.operator})")
        elif tensor.shape.is_top:
            found.append(f"{row.place}: the rank is unknown ({row.operator})")
        elif requirement == "shapes" and tensor.shape.rank is not None:
            axes = [axis for axis, dim in enumerate(tensor.shape.dims) if kind_of(dim, analysed) == "unknown"]
            if axes:
                word = "axis" if len(axes) == 1 else "axes"
                found.append(
                    f"{row.place}: {word} {', '.join(map(str, axes))} of {brief(tensor.shape, texts)} ({row.operator})"
                )
    return found
