"""Rows over a corpus: what is proved, what runs show beyond it, and what it costs.

python -m tests.jobs.rows_corpus [FOLDER...] [--only NAME] [--seconds S]

For each model, the rows of its default symbol. Runs in onnxruntime compare all rows stacked with each row alone, and
with other rows beside it: a claim that they contradict is wrong, and an output that they all agree with is independent
by runs. Prints a line for each model, totals, and the share of the outputs that are independent by runs and proved;
exit code 1 if a claim is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

import absint
from absint.errors import AbsintError
from absint.lattices.terms.expr import ONE_EXPR
from absint.questions.rows import OutputRows, Rows
from absint.questions.sizes.start import Starts
from absint.runs.pool import ask_once
from absint.runs.process import ProcessError
from absint.runs.run import feeds_for, with_outputs
from tests.real_models import FOLDERS
from tests.soundness.row_runs import same

RUNTIME: Final = "absint.runs.session:all_outputs"
COUNT: Final = 3
"""Rows of a run."""
MOST: Final = 1 << 27
"""Bytes of the largest model that is run."""
Feeds = dict[str, Any]


@dataclass
class Totals:
    """Outputs, counted."""

    models: int = 0
    proved: int = 0
    by_runs: int = 0
    """Those that are independent by runs."""
    both: int = 0
    """Those of these that are proved."""
    wrong: int = 0
    seconds: float = 0.0
    of_shapes: float = 0.0
    open: list[str] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=FOLDERS)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=60.0, help="for the runs of one model")
    given = parser.parse_args()
    totals = Totals()
    for path in sorted(path for folder in given.folders for path in folder.glob("*.onnx") if given.only in path.name):
        print(line(path, totals, given.seconds), flush=True)
    share = f"{totals.both / totals.by_runs:.1%}" if totals.by_runs else "none"
    print(
        f"{totals.models} models with rows: {totals.proved} outputs proved independent, {totals.by_runs} independent "
        f"by runs, {totals.both} of these proved ({share}), {totals.wrong} wrong; {totals.seconds:.1f} s, "
        f"shapes {totals.of_shapes:.1f} s"
    )
    print("not proved:", *totals.open, sep="\n  ")
    sys.exit(bool(totals.wrong))


def line(path: Path, totals: Totals, seconds: float) -> str:
    """What is found of one model."""
    began = time.process_time()
    result = absint.analyze(path)
    analysed = time.process_time()
    try:
        found = result.rows(run=False)
    except AbsintError as error:
        return f"{path.stem:40} {str(error).partition(': ')[2][:60]}"
    ended = time.process_time()
    totals.models += 1
    totals.of_shapes += analysed - began
    totals.seconds += ended - analysed
    proved = [output for output in found.outputs if output.verdict == "independent"]
    totals.proved += len(proved)
    shown = runs(result, found, path, seconds)
    wrong = [output.name for output in found.outputs if output.verdict in ("independent", "shared")
             and shown.get(output.name) is False]  # fmt: skip
    totals.wrong += len(wrong)
    apart = [output for output in found.outputs if shown.get(output.name) and output.verdict != "shared"]
    totals.by_runs += len(apart)
    totals.both += sum(output.verdict == "independent" for output in apart)
    open_ = [output for output in apart if output.verdict != "independent"]
    totals.open += [f"{path.stem}: {output.name}, {output.verdict}: {output.meeting}" for output in open_[:3]]
    text = f"{len(proved)} of {len(found.outputs)} proved, {len(apart)} by runs, {len(open_)} of these not proved"
    return f"{path.stem:40} {text}, {ended - analysed:.2f} s, shapes {analysed - began:.2f} s" + (
        f"  WRONG {wrong}" if wrong else ""
    )


def runs(result: absint.Result, found: Rows, path: Path, seconds: float) -> Mapping[str, bool]:
    """Of each output that could be compared: rows stacked are what each is alone, and beside others."""
    axes = {place.input: place.axis for place in found.axes}
    wanted = {**dict.fromkeys(result.parameters, 1), **dict.fromkeys(result.symbols, 16), found.symbol: COUNT}
    sizes = result.once(Starts).near(wanted)
    if path.stat().st_size > MOST or sizes is None or sizes[found.symbol] != COUNT or len(axes) < len(found.axes):
        return {}
    agreed: dict[str, bool] = {}
    for seed in range(2):
        base, other = (feeds_for(result, sizes, seed=2 * seed + at) for at in (0, 1))
        feeds = [base]
        for row in range(COUNT):
            feeds.append({name: np.take(a, [row], axes[name]) if name in axes else a for name, a in base.items()})
            mixed: Feeds = {name: np.array(other[name]) if name in axes else a for name, a in base.items()}
            for name, axis in axes.items():
                at = (slice(None),) * axis + (row,)
                mixed[name][at] = base[name][at]
            feeds.append(mixed)
        request = (with_outputs(result, []), list(result.outputs), feeds)
        try:
            answer = cast("list[Mapping[str, Any] | str]", ask_once(RUNTIME, request, seconds, subject="onnxruntime"))
        except (ProcessError, AbsintError):
            return agreed
        if any(isinstance(one, str) for one in answer):
            return agreed
        for output in found.outputs:
            values = [cast("Mapping[str, Any]", one).get(output.name) for one in answer]
            if all(isinstance(value, np.ndarray) for value in values):
                agreed[output.name] = agreed.get(output.name, True) and apart(output, values)
    return agreed


def apart(output: OutputRows, values: Sequence[Any]) -> bool:
    """The rows of the output are those of each run alone, where the proof has them, or along some axis."""
    whole = values[0]
    if output.verdict == "shared":
        return all(same(whole, value) for value in values)
    if output.verdict == "independent" and output.axis is not None:
        if output.outer is output.inner is ONE_EXPR:
            return _along(values, output.axis, 1)
        return any(_along(values, output.axis, outer) for outer in range(1, whole.shape[output.axis] + 1))
    return any(_along(values, axis, outer) for axis, size in enumerate(whole.shape) for outer in {1, size // COUNT})


def _along(values: Sequence[Any], axis: int, outer: int) -> bool:
    whole = values[0]
    if not outer or whole.ndim <= axis or whole.shape[axis] % (outer * COUNT):
        return False

    def row_of(array: Any, row: int, count: int) -> Any:
        inner = array.shape[axis] // (outer * count)
        split = array.reshape(*array.shape[:axis], outer, count, inner, *array.shape[axis + 1 :])
        return np.take(split, row, axis + 1)

    for row in range(COUNT):
        alone, mixed = values[1 + 2 * row : 3 + 2 * row]
        if alone.ndim != whole.ndim or alone.shape[axis] * COUNT != whole.shape[axis] or mixed.shape != whole.shape:
            return False
        mine = row_of(whole, row, COUNT)
        if not same(mine, row_of(alone, 0, 1)) or not same(mine, row_of(mixed, row, COUNT)):
            return False
    return True


if __name__ == "__main__":
    main()
