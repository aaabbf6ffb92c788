"""The common part of analyses of values, forward and backward: a domain, the nodes, and questions to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from absint.analyses.frame import Frame, Shapes
from absint.analyses.participant import Participant
from absint.analyses.queries import ElementOf, Q, Query
from absint.analyses.rows import Row
from absint.analyses.together import run
from absint.engine import Analysis, Solution
from absint.errors import UsageError
from absint.lattices.lattice import Lattice
from absint.lattices.rows import Rows
from absint.program.lowered import Lowered
from absint.program.nodes import Node
from absint.program.steps import Operand

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

T = TypeVar("T")
U = TypeVar("U")


class ValueAnalysis(Analysis[tuple[T, ...]], Participant):
    """An element of `domain` for each value of a model."""

    domain: Lattice[T]
    """The domain of single values."""

    elementwise: bool = False
    """An element of the domain describes every element of a tensor or sequence, so it describes a slice, and a stack of
    slices, as well. Otherwise slices and stacks that loops make are unknown."""

    _frame: Frame | None = None
    _analysed: Analysed | None = None

    def __init__(self, result: Analysed | None = None) -> None:
        """With a result the analysis is run alone, by `fixpoint(result.graph, analysis)`."""
        if result is not None:
            self._analysed = result
            shapes = Shapes(result.analysis, result.states)
            outputs = outputs_of(result.lowered)
            self.enter(Frame(result.program, shapes, (self,), run=run, outputs=outputs, is_alone=True))

    @property
    def frame(self) -> Frame:
        """The program that the analysis runs over. Raises UsageError before it runs."""
        if self._frame is None:
            raise UsageError(f"{self.label} has no model yet: absint.analyze(model, with_=[...]) runs it")
        return self._frame

    @property
    def result(self) -> Analysed:
        """The result that the analysis was made with. Raises UsageError for one that was given to `absint.analyze`."""
        if self._analysed is None:
            raise UsageError(f"{self.label} runs within absint.analyze, so there is no result yet: use nodes and ask")
        return self._analysed

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes: `operator`, `operands` and names of `outputs`; of an operator, `operation.attributes`."""
        return self.frame.nodes

    def attribute(self, node: int, name: str, default: int) -> int:
        """An attribute of an operator that is a number; `default` if it is left out, or is something else."""
        operation = self.nodes[node].operation
        found = None if operation is None else operation.attributes.get(name)
        return found if isinstance(found, int) else default

    def given_name(self, node: int) -> str:
        """The name of an input, initialiser or constant of the main graph; empty for all other nodes.

        Bodies and functions may have others of the same name.
        """
        return fixed_name(self.nodes[node]) if self.frame.call is None else ""

    def ask(self, query: type[Q], operand: Operand) -> Q:
        """The answer of all analyses that run together, that of shapes among them; sound even if none answers.

        The answer may be used for the values of the node that is being visited: when it changes, the node is visited
        again. Of values that are computed before it is exact; of others it is what the turn before found.
        """
        return self.frame.ask(query, *operand)

    def element_of(self, analysis: type[ValueAnalysis[U]], operand: Operand) -> U | None:
        """The finding of another analysis, of this class, about a value; None without one, or if none was given."""
        return cast("U | None", self.frame.element_of(analysis, *operand))

    def answers(self, element: T) -> Iterable[Query]:
        """The answers that an element gives to others, as `ElementBounds(0, 7)`. It is not asked of bottom."""
        return ()

    def by_name(self, solution: Solution[tuple[T, ...]]) -> dict[str, T]:
        """The element of each value by its name; in a body or an inlined function, path and name (`loop1/body/x`)."""
        return self.named(solution.states)

    def named(self, states: Sequence[Row]) -> dict[str, T]:
        """The element of each value of the program by its path and name."""
        rows = cast("Sequence[tuple[T, ...]]", states)
        return {
            f"{path}/{name}" if path else name: self._of(operand, rows)
            for path, scope in self.frame.program.scopes.items()
            for name, operand in scope.names.items()
        }

    def _of(self, operand: Operand, states: Sequence[tuple[T, ...]]) -> T:
        node, output = operand
        if node < 0:
            return self.domain.top
        return states[node][output] if output < len(states[node]) else self.domain.bottom

    def _is_bottom(self, element: T) -> bool:
        return self.domain.leq(element, self.domain.bottom)

    # What the solver of several analyses calls

    def enter(self, frame: Frame | None) -> Frame | None:
        before, self._frame = self._frame, frame
        self.lattice = Rows(self.domain)
        return before

    def told(self, query: type[Q], node: int, output: int, row: Row) -> Iterator[Q]:
        element = cast("T", row[output]) if output < len(row) else self.domain.bottom
        if self._is_bottom(element):
            return
        if query is ElementOf:
            yield cast("Q", ElementOf(element))
            return
        for answer in self.answers(element):
            if type(answer) is query:
                yield answer

    def row(self, node: int, rows: Sequence[Row]) -> Row:
        return self.transfer(node, cast("Sequence[tuple[T, ...]]", rows))

    def leq(self, a: Row, b: Row) -> bool:
        return self.lattice.leq(cast("tuple[T, ...]", a), cast("tuple[T, ...]", b))

    def join(self, a: Row, b: Row) -> Row:
        return self.lattice.join(cast("tuple[T, ...]", a), cast("tuple[T, ...]", b))

    def meet(self, a: Row, b: Row) -> Row:
        if len(a) != len(b):
            return a
        return tuple(map(self.domain.meet, cast("tuple[T, ...]", a), cast("tuple[T, ...]", b)))

    def merged(self, node: int, old: Row, new: Row, widen: bool) -> Row:
        return self.merge(node, cast("tuple[T, ...]", old), cast("tuple[T, ...]", new), widen)

    def widened(self, old: Row, new: Row) -> Row:
        above = self.join(old, new)
        return self.lattice.widen(cast("tuple[T, ...]", old), cast("tuple[T, ...]", above))

    def unknown(self, count: int) -> Row:
        return (self.domain.top,) * count


def fixed_name(node: Node) -> str:
    """The name of an input, initialiser or constant of the main graph of a program; empty for all other nodes."""
    is_fixed = node.step is None and (node.operation is None or node.operator == "Constant")
    is_main = node.gate < 0 and not str(node.path)  # initialisers of bodies have no path
    return node.outputs[0] if is_fixed and is_main and node.outputs else ""


def outputs_of(lowered: Lowered) -> list[Operand]:
    """The values that the model gives back."""
    names = lowered.program.main.names
    return [names[name] for name in lowered.signature.outputs if name in names]
