"""`absint check --feeds`."""

from __future__ import annotations

from collections.abc import Mapping

from absint.commands.analysis import Settings, analysed
from absint.commands.command import status
from absint.result import Result
from absint.runs.run import RunError, differences, load_feeds, run
from absint.show.feeds import FED, Fed, report
from absint.show.text import answer


def check_feeds(
    model: str,
    settings: Settings,
    path: str,
    run_it: bool,
    values: bool,
    form: str,
) -> Fed:
    """Print what the arrays of a file tell, with `run_it` after a run."""
    arrays = load_feeds(path)
    fed = _fed(analysed(model, settings), path, arrays, run_it, values)
    answer(form, lambda: FED.text(fed), lambda: report(fed))
    return fed


def _fed(result: Result, path: str, arrays: Mapping[str, object], run_it: bool, values: bool) -> Fed:
    """Compare the arrays with the claims, before a run and after it."""
    named = {info.name for info in result.loaded.model.graph.input}
    inputs = {name: array for name, array in arrays.items() if name in named}
    others = {name: array for name, array in arrays.items() if name not in named}
    comparison = result.compare(inputs, others)
    failed = ""
    differing: tuple[str, ...] = ()
    if run_it:
        wanted = [name for name in result.shapes if name not in named] if values else list(others)
        try:
            with status("running the model"):
                computed = run(result, inputs, wanted, isolated=True)
            comparison = result.compare(inputs, {**others, **computed})
            differing = tuple(differences(others, computed))
        except RunError as error:
            failed = str(error)
    sizes = {name: comparison.binding[name] for name in result.symbols if name in comparison.binding}
    is_told = len(sizes) == len(result.symbols) and not any(row.premise for row in comparison.wrong)
    check = result.check(sizes) if is_told else None
    return Fed(path, result.symbols, comparison, check, run_it and not failed, failed, differing)
