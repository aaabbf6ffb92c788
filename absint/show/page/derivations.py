"""Derivations of sizes as texts in which the values and nodes that they name are links."""

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import Final

from absint.errors import UsageError
from absint.lattices.terms.expr import Dim
from absint.lattices.text.escapes import Json, plain
from absint.program.steps import Operand
from absint.questions.explain.derived import Number, Step
from absint.questions.explain.question import explain
from absint.questions.explain.text import text
from absint.solution.analysed import Analysed

_clock: Final = getattr(time, "thread_time", time.process_time)  # a browser has no threads

EXPLAINED: Final = 1.0
"""Seconds of processor time for derivations; those of outputs come first, and a page without some says so."""

_LINK: Final = re.compile("\x01(-?[0-9]+)\x02([^\x03]*)\x03")
"""Control characters, which no text of an explanation has."""


class Derivations:
    """Writes derivations: lists of texts and of links `[text, target]`.

    A target from 0 on is a value of the page, one below is a node: -1 - its number.
    """

    def __init__(self, analysed: Analysed, values: Mapping[Operand, int], nodes: Collection[int]) -> None:
        self._analysed = analysed
        self._values = values
        self._nodes = nodes
        self._named = {plain(str(analysed.nodes[number])): number for number in nodes}
        self._end = _clock() + EXPLAINED

    def of_outputs(self) -> tuple[dict[str, Json], int]:
        """The derivation of each output that is computed, by its value, and the number of those left out."""
        operands = self._analysed.operands
        outputs = [name for name in self._analysed.outputs if name in operands]
        wanted = {str(self._values[operands[name]]): (name, None) for name in outputs}
        return self._all(wanted, lambda _, parts: parts)

    def of_sizes(self, first: Mapping[Dim, tuple[str, int]], dims: Mapping[Dim, int]) -> tuple[dict[str, Json], int]:
        """The derivation of each distinct size at its first value, by the number of the size."""

        def row(place: tuple[str, int | None], parts: Json) -> Json:
            name, axis = place
            return {"value": self._values[self._analysed.operands[name]], "axis": axis, "text": parts}

        return self._all({str(dims[dim]): (name, axis) for dim, (name, axis) in first.items()}, row)

    def _all(
        self, wanted: Mapping[str, tuple[str, int | None]], row: Callable[[tuple[str, int | None], Json], Json]
    ) -> tuple[dict[str, Json], int]:
        found: dict[str, Json] = {}
        left_out = 0
        for key, (name, axis) in wanted.items():
            if _clock() > self._end:
                left_out += 1
                continue
            with suppress(UsageError):
                lines = text(explain(self._analysed, name, axis), self._mention)
                found[key] = row((name, axis), list(_parts("\n".join(lines))))
        return found, left_out

    def _mention(self, label: str, mentioned: Number | Step | str) -> str:
        target = self._target(mentioned)
        return label if target is None else f"\x01{target}\x02{label}\x03"

    def _target(self, mentioned: Number | Step | str) -> int | None:
        if isinstance(mentioned, Number):
            scope = self._analysed.scopes.get(mentioned.path)
            operand = scope.names.get(mentioned.value) if scope is not None else None
            return None if operand is None else self._values.get(operand)
        number = self._named.get(plain(mentioned)) if isinstance(mentioned, str) else mentioned.node
        return None if number is None or number not in self._nodes else -1 - number


def _parts(found: str) -> Iterator[Json]:
    end = 0
    for link in _LINK.finditer(found):
        if link.start() > end:
            yield found[end : link.start()]
        yield [link[2], int(link[1])]
        end = link.end()
    if end < len(found):
        yield found[end:]
