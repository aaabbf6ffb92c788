"""The common part of analyses of values, forward and backward: a domain, the nodes, questions to each other, findings.

Methods that handle operators report while the engine iterates, too, where elements are not final; what they say counts
only in one more visit of each node, when all are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from absint.analyses.frame import Frame, framed
from absint.analyses.queries import ElementOf, Member, Q, Query, Row, ShapeOf, T
from absint.diagnostics import Diagnostic, Severity
from absint.engine import Solution
from absint.errors import UsageError
from absint.lattices.lattice import Rows
from absint.lattices.text.escapes import Json
from absint.program.nodes import Node
from absint.program.steps import Operand
from absint.solution.analysed import Analysed
from absint.solution.loading import place_of

if TYPE_CHECKING:
    from absint.model.weights import Array

U = TypeVar("U")

_CODE: Final = re.compile(r"(?!ABS[0-9])[A-Za-z][\w.-]*", re.IGNORECASE)


class ValueAnalysis(Member[T]):
    """An element of `domain` for each value of a model."""

    elementwise: bool = False
    """An element of the domain describes every element of a tensor or sequence, so it describes a slice, and a stack of
    slices, as well. Otherwise slices and stacks that loops make are unknown."""

    _frame: Frame | None = None
    _analysed: Analysed | None = None
    _reports: dict[tuple[str, str, str], Diagnostic] | None = None
    """The findings of the last visits; None before these."""

    def __init__(self, result: Analysed | None = None) -> None:
        """With a result the analysis is run alone, by `fixpoint(result.graph, analysis)`."""
        if result is not None:
            self._analysed = result
            self.enter(framed(result, (self,), is_alone=True))

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

    def constant(self, operand: Operand) -> Array | None:
        """The elements that a value has in every run, as an array; None if they are not all known.

        These are initialisers that no caller can replace and constants, of any size in the main graph, and what shapes
        know of small tensors anywhere, where a zero has lost its sign. Nothing is known of a value that is left out.
        """
        loaded = self.frame.program.loaded
        if operand[0] < 0 or loaded is None:
            return None
        return loaded.weights.constant(self.given_name(operand[0]), self.ask(ShapeOf, operand).value)

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

    def report(
        self, node: int, code: str, message: str, *, severity: Severity | str = Severity.WARNING, **data: object
    ) -> None:
        """A finding about a node: `absint lint`, reports and JSON show it beside their own, and so do `diagnostics`.

        Call it from what handles operators: what is said of elements that are not final yet is dropped. `code` is
        stable and meant for scripts, as `other-scale`; `message` is one line. `data` are the numbers and texts behind
        it, for JSON and SARIF; arrays are written as lists. Raises UsageError for a code that is none, or is absint's.
        """
        if not _CODE.fullmatch(code):
            raise UsageError(
                f"{self.label} reports {code!r}: a code begins with a letter, not as those of absint (ABS101), and has "
                "letters, digits, - and . after it"
            )
        if self._reports is not None:
            where, kind = place_of(self.nodes[node]), Severity(severity)
            known = {name: _json(value) for name, value in data.items()}
            found = Diagnostic(kind, code, where, message, None, self.label, known or None)
            self._reports.setdefault((code, where, message), found)

    def reported(self, solution: Solution[tuple[T, ...]]) -> tuple[Diagnostic, ...]:
        """The findings of an analysis that ran alone; `Result.diagnostics` has those of one that ran with others."""
        return self.findings_at(solution.states)

    def findings_at(self, states: Sequence[Row]) -> tuple[Diagnostic, ...]:
        """The findings of one visit of each node under these final states; none inside of folded calls."""
        found = self._reports = {}
        try:
            for node, item in enumerate(self.nodes):
                if item.operation is None or item.operation.body is None:
                    self.transfer(node, states)
        finally:
            self._reports = None
        return tuple(found.values())

    def by_name(self, solution: Solution[tuple[T, ...]]) -> dict[str, T]:
        """The element of each value by its name; in a body or an inlined function, path and name (`loop1/body/x`)."""
        return self.named(solution.states)

    def named(self, states: Sequence[Row]) -> dict[str, T]:
        """The element of each value of the program by its path and name."""
        scopes = self.frame.program.scopes.items()
        rows = ((f"{path}/" if path else "", *row) for path, scope in scopes for row in scope.names.items())
        return {before + name: self._of(operand, states) for before, name, operand in rows}

    def _of(self, operand: Operand, states: Sequence[tuple[T, ...]]) -> T:
        node, output = operand
        if node < 0:
            return self.domain.top
        return states[node][output] if output < len(states[node]) else self.domain.bottom

    def _is_bottom(self, element: T) -> bool:
        return self.domain.leq(element, self.domain.bottom)

    # What the solver of several analyses calls

    def enter(self, frame: Frame | None) -> Frame | None:
        """Run over the program of this frame from now on; the frame that it ran over before."""
        before, self._frame = self._frame, frame
        self.lattice = Rows(self.domain)
        return before

    def told(self, query: type[Q], node: int, output: int, row: Row) -> Iterator[Q]:
        element: T = row[output] if output < len(row) else self.domain.bottom
        if self._is_bottom(element):
            return
        if query is ElementOf:
            yield cast("Q", ElementOf(element))
            return
        for answer in self.answers(element):
            if type(answer) is query:
                yield answer


AnyAnalysis = ValueAnalysis[Any]


def fixed_name(node: Node) -> str:
    """The name of an input, initialiser or constant of the main graph of a program; empty for all other nodes."""
    is_fixed = node.step is None and (node.operation is None or node.operator == "Constant")
    is_main = node.gate < 0 and not str(node.path)  # initialisers of bodies have no path
    return node.outputs[0] if is_fixed and is_main and node.outputs else ""


def _json(value: object) -> Json:
    """The value as JSON has it: arrays as lists, what JSON has no form for as text."""
    if isinstance(value, Mapping):
        return {str(name): _json(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json(one) for one in value]
    if callable(given := getattr(value, "tolist", None)):
        return _json(given())
    is_plain = value is None or isinstance(value, int | str) or (isinstance(value, float) and isfinite(value))
    return value if is_plain else str(value)  # type: ignore[return-value]
