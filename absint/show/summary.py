"""The facts in a report, apart from their form: rows of values, totals, what `--require` misses, and histories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from absint.errors import UsageError
from absint.lattices.records import record
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text.escapes import did_you_mean
from absint.lattices.text.sheets import so_many
from absint.lattices.value import BOTTOM, TOP, Container, Tensor, Value
from absint.model.protos import graphs_below
from absint.model.wire.read_graphs import Nodes
from absint.program.steps import Operand
from absint.shapes.readability import invented, more_names
from absint.shapes.summaries import State
from absint.solution.analysed import Analysed, once
from absint.solution.described import IN_PLACE, Texts, brief

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
    count = so_many(len(nodes), "node")
    inner = sum(len(body.node) for body in graphs_below(nodes.with_graphs() if isinstance(nodes, Nodes) else nodes))
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


@once
def totals(analysed: Analysed) -> Totals:
    """Counts of values and dims."""
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


# `--trace`: the changes of the type, shape or contents of one value from visit to visit of its node.


@record()
class Change:
    """A value after one visit of its node."""

    visit: int
    value: Value


@record()
class Traced:
    """The history of one value."""

    place: str
    node: str
    changes: list[Change]


class Recorder:
    """Give it to `analyze` as `trace`; then ask for the history of values."""

    def __init__(self) -> None:
        self._visits: dict[int, int] = {}
        self._states: dict[int, list[tuple[int, State]]] = {}

    def __call__(self, node: int, state: State) -> None:
        visit = self._visits[node] = self._visits.get(node, 0) + 1
        history = self._states.setdefault(node, [])
        if not history or history[-1][1] != state:
            history.append((visit, state))

    def traced(self, analysed: Analysed, names: Sequence[str]) -> list[Traced]:
        """The histories of the named values. Raises UsageError, with the nearest names, for an unknown one."""
        found = [(place, operand) for name in names for place, operand in _find(analysed, name)]
        states = [state for _, operand in found for _, state in self._states.get(operand[0], ())]
        printed = more_names(invented(states), analysed.names, analysed.taken)
        histories = []
        for place, operand in found:
            changes: list[Change] = []
            for visit, state in self._states.get(operand[0], ()):
                if operand[1] < len(state):
                    value = state[operand[1]].replace(printed)
                    if not changes or changes[-1].value is not value:
                        changes.append(Change(visit, value))
            histories.append(Traced(place, str(analysed.nodes[operand[0]]), changes))
        return histories


def _find(analysed: Analysed, name: str) -> Iterator[tuple[str, Operand]]:
    """The value of this name in the main graph, or at a path (`loop1/body/y`), or of this name in any subgraph."""
    scopes = analysed.scopes
    places = {
        f"{path}/{value}" if path else value: (value, operand)
        for path, scope in scopes.items()
        for value, operand in scope.names.items()
        if operand[0] >= 0
    }
    if name in places:
        yield name, places[name][1]
        return
    inner = [(place, operand) for place, (value, operand) in places.items() if value == name]
    if not inner:
        hint = did_you_mean(name, places) or "'--values' lists the values"
        raise UsageError(f"--trace {name}: the model has no such value; {hint}")
    yield from inner
