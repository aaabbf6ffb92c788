"""Runs of the model as evidence: the truth of a query in a run at given sizes."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from absint.errors import AbsintError, UsageError
from absint.lattices.limits import DeadlineError, remaining
from absint.lattices.logic.relation import FALSE, Relation
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text import TextError, parse_relation
from absint.packages import is_installed
from absint.questions.proofs.text import Query
from absint.runs.allowance import unmade
from absint.solution.analysed import Analysed
from absint.transfer.semantics import EITHER, ONNX, Semantics

Evidence = Literal["run", "none"]
"""The choice to run a model where the rules do not show that sizes run."""

MOST_RUNS: Final = 3
"""Most runs for one query."""

MOST_FAILURES: Final = 6
"""Failed runs of one model, without a success, after which no more are tried."""

SECONDS: Final = 60.0
"""Seconds for one run."""

LEAST_SECONDS: Final = 0.5
"""Seconds that must be left for a run to begin."""


def chosen(evidence: Evidence | None, confirm: bool = False, semantics: Semantics = EITHER) -> Evidence:
    """The choice of the caller; without one, runs if onnxruntime is installed.

    Raises UsageError for another text, for `run` or `confirm` without onnxruntime, and for either of these where the
    answer is about ONNX's documents: a run of onnxruntime shows nothing of them.
    """
    if evidence not in (None, "run", "none"):
        raise UsageError(f"evidence={evidence!r}: it is 'run' or 'none'")
    if semantics == ONNX:
        if confirm or evidence == "run":
            raise UsageError(
                "a run of onnxruntime is no evidence of ONNX's documents: leave it out, or semantics='onnx'"
            )
        return "none"
    installed = is_installed("onnxruntime")
    if not installed and (confirm or evidence == "run"):
        asked = "confirm=True (--confirm)" if confirm else "evidence='run'"
        raise UsageError(f"{asked} needs onnxruntime: pip install 'absint[run]'")
    return evidence or ("run" if installed else "none")


class Executions:
    """The runs of one model that were made for queries."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._failures = 0
        self.sizes: list[Mapping[str, int]] = []
        """Sizes at which a run succeeded."""

    def first_against(
        self, query: str | Relation, candidates: Sequence[Mapping[str, int]]
    ) -> tuple[Mapping[str, int] | None, str]:
        """The first sizes at which a run makes the query false; else None, and the reason. Ordinary sizes go first,
        since some runtimes fail on empty tensors alone.
        """
        why = ""
        for sizes in sorted(candidates, key=lambda at: min(at.values(), default=1) < 1)[:MOST_RUNS]:
            if self._failures >= MOST_FAILURES and not self.sizes:
                return None, why or "no run of the model succeeded so far"
            try:
                if remaining(SECONDS) < LEAST_SECONDS:
                    return None, why or "there is no time left for a run"
                failure = unmade(self._analysed, sizes) or self.against(query, sizes)
            except DeadlineError as error:
                return None, str(error)
            if not failure:
                self.sizes.append(sizes)
                return sizes, ""
            self._failures += 1
            why = why or failure
        return None, why

    def against(self, query: str | Relation, sizes: Mapping[str, int]) -> str:
        """The reason why a run at the sizes does not show that the query is false; empty if it does."""
        from absint.runs.run import sizes_at

        parameters, reading = self._analysed.parameters, Query(self._analysed)
        try:
            if isinstance(query, str):
                reading.relation(query)
            if reading.undecided:
                raise UsageError(reading.undecided)
            shapes = sizes_at(self._analysed, sizes, tuple(reading.asked), seconds=remaining(SECONDS))
            if isinstance(query, str):
                value = _Ran(self._analysed, sizes, shapes).relation(query)
            else:
                value = query.substitute(
                    {s: Dim(size) for name, size in sizes.items() for s in parameters[name].symbols}
                )
        except AbsintError as error:
            return f"a run at these sizes fails: {error}"
        return "" if value is FALSE else "a run at these sizes does not contradict it"


class _Ran(Query):
    """Reads a query over the sizes of one run."""

    def __init__(self, analysed: Analysed, sizes: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]) -> None:
        super().__init__(analysed)
        self._symbols = {name: Dim(size) for name, size in sizes.items()}
        self._shapes = shapes

    def relation(self, text: str, divisors: list[Expr] | None = None) -> Relation:
        try:
            return parse_relation(text, self._symbols, self, divisors=divisors)
        except TextError as problem:
            raise UsageError(problem.reason) from None

    def shape(self, name: str) -> tuple[Dim, ...]:
        return tuple(map(Dim, self._shapes[name]))
