"""`--trace`: the changes of the type, shape or contents of one value from visit to visit of its node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from absint.errors import UsageError
from absint.lattices.text.nearest import did_you_mean

if TYPE_CHECKING:
    from absint.lattices.value import Value
    from absint.program.steps import Operand
    from absint.shapes.summaries import State
    from absint.solution.analysed import Analysed


@dataclass(frozen=True)
class Change:
    """A value after one visit of its node."""

    visit: int
    value: Value


@dataclass(frozen=True)
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
        from absint.shapes.names import invented, more_names

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
