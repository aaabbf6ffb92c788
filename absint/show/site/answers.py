"""What the page of `absint site` shows: the texts of the commands, computed in the browser."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Final, ParamSpec

from absint.api import analyze
from absint.errors import AbsintError
from absint.lattices.text.escapes import Json, json_text, plain
from absint.lattices.text.sheets import written
from absint.model.initialisers import is_small
from absint.model.load import load
from absint.model.protos import graphs
from absint.model.wire.tensors import EXTERNAL
from absint.result import Result
from absint.show import contracts, costs, text
from absint.show.page.page import page

P = ParamSpec("P")

_TOP: Final = 10
"""Heaviest nodes that are listed, as `absint cost` lists them."""
_START: Final = 1
"""The size to begin with of a symbol that no cost depends on."""


def _answered(ask: Callable[P, Mapping[str, Json]]) -> Callable[P, str]:
    """The answer as text; an `error` in its place if there is one."""

    @wraps(ask)
    def answer(*args: P.args, **options: P.kwargs) -> str:
        try:
            return json_text(ask(*args, **options))
        except AbsintError as error:
            return json_text({"error": plain(" ".join(str(error).split()))})
        except MemoryError:
            return json_text({"error": "out of memory"})

    return answer


class Answers:
    """The answers about one model. Each is an object of JSON as text, whose only key is `error` if there is none."""

    _result: Result

    @_answered
    def opened(self, path: str) -> Mapping[str, Json]:
        """Analyse the file: `report` and `contract` as text, `symbols` with a size to begin with, `elements` of inputs
        that some size depends on, and the number of `external` weights, which no answer needs.
        """
        result = self._result = analyze(load(path))
        starts = result.cost().default_sizes
        return {
            "report": text.table(result),
            "contract": written(contracts.report(result, result.contract(), everything=True)),
            "symbols": [{"name": name, "size": starts.get(name, _START)} for name in result.symbols],
            "elements": list(result.elements),
            "external": _external(result),
        }

    @_answered
    def report(self) -> Mapping[str, Json]:
        """The `page` of `absint report`."""
        return {"page": page(self._result)}

    @_answered
    def at(self, sizes: Mapping[str, int]) -> Mapping[str, Json]:
        """The `outcome` at these sizes, the `check`, and the `cost` if they are not illegal, as text."""
        found = self._result.check(sizes)
        if not found.ok:
            found = replace(found, nearest=self._result.nearest(sizes))
        check = written([text.check_sheet(self._result, found)])
        return {"outcome": found.outcome.value, "check": check, "cost": self._cost(sizes) if found.ok else ""}

    def _cost(self, sizes: Mapping[str, int]) -> str:
        result = analyze(self._result.loaded, bind=sizes)
        return written([costs.report(result, result.cost(), result.memory(), _TOP, "flops")]) if result.can_run else ""


def _external(result: Result) -> int:
    """The number of tensors with many elements in other files: the reader steps over the names of these files."""
    tensors = (tensor for graph in graphs(result.loaded.model.graph) for tensor in graph.initializer)
    return sum(one.data_location == EXTERNAL and not is_small(one.data_type, tuple(one.dims)) for one in tensors)
