"""Speed and exactness side by side with the peers that are installed, in one run.

    python benchmarks/compare.py [MODEL ...] [--forms exported stripped] [--ways memory file process]
        [--truth DIR] [--built] [--queries 500] [--runs 5] [--models] [--json FILE]

A form is a model as its exporter wrote it (`exported`), or without the shapes that the exporter left in it
(`stripped`). A way is a loaded model in a warm process (`memory`), a file in a warm process (`file`), or a file in a
new process, from its start to its end (`process`; for absint the command line). `absint` has to apply every rule in
each run, `absint again` may use what it did before. Each engine runs in a process of its own; a figure is the median of
all runs. For each form and way a table shows how the times of each engine divided by those of onnx's C++ are
distributed over the models.

Answers are held against the sizes that executed runs showed (DIR/NAME.json.gz for a model NAME.onnx): a fast wrong
answer is no answer.

--built adds models that are built here (benchmarks/built.py), --queries times proofs, --models prints each model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parent))

import queries
import tables
from built import built
from engines import ENGINES, ONLY_FRESH, ONLY_MEMORY
from grading import grade
from transformer import decoder
from workers import Worker, fresh

FORMS = ("exported", "stripped")
WAYS = ("memory", "file", "process")


def stripped(path: Path, folder: Path) -> Path:
    """A copy of a model without the exporter's own answers, beside the same weights."""
    model = onnx.load(path, load_external_data=False)
    del model.graph.value_info[:]
    for output in model.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    copy = folder / "stripped" / path.stem / path.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    locations = {entry.value for t in model.graph.initializer for entry in t.external_data if entry.key == "location"}
    for location in locations:
        target = copy.parent / location
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to((path.parent / location).resolve())
    copy.write_bytes(model.SerializeToString())
    return copy


def measured(
    path: Path, ways: list[str], workers: dict[str, Worker], options: argparse.Namespace, folder: Path
) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """For each way the figures of each engine."""
    for way in ways:
        if way == "process":
            row = fresh(list(workers), path, options.runs, folder)
        else:
            others = ONLY_FRESH if way == "memory" else ONLY_FRESH | ONLY_MEMORY
            asked = {name: worker for name, worker in workers.items() if name not in others}
            row = {name: worker.ask(path, way, options.runs) for name, worker in asked.items()}
        for reply in row.values():
            shapes = reply.pop("shapes", None)
            if shapes is not None:
                reply["graded"] = grade(path, options.truth, shapes)
            if "failure" not in reply:
                reply["first"] = reply["seconds"][0]
                reply["median"] = statistics.median(reply["seconds"])
        yield way, row


def main() -> None:
    """Compare over the models named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--truth", type=Path, help="folder of executed shapes")
    parser.add_argument("--built", action="store_true", help="add the models that are built here")
    parser.add_argument("--queries", type=int, default=0, help="time so many proofs on a 48-layer decoder")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--models", action="store_true", dest="each", help="print the figures of each model")
    parser.add_argument("--json", type=Path, help="write all figures to a file")
    options = parser.parse_args()
    there = [n for n in options.engines if find_spec(ENGINES[n].module.partition(".")[0]) is not None]
    console = Console(width=160)
    missing = ", ".join(set(options.engines) - set(there)) or "none"
    console.print(f"engines: {', '.join(there)}; not installed: {missing}")
    figures: tables.Figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workers = {engine: Worker(engine, folder) for engine in there}
        stacks = list(built(folder)) if options.built else []
        for path in (*options.models, *stacks):
            nodes = len(onnx.load(path, load_external_data=False).graph.node)
            for form in options.forms:
                given = stripped(path, folder) if form == "stripped" else path
                for way, row in measured(given, options.ways, workers, options, folder):
                    figures.setdefault((form, way), {})[path.stem] = tables.Row(nodes, row)
                    if options.each:
                        tables.show(console, f"{path.stem}, {form}, from {way}", tables.Row(nodes, row))
        for worker in workers.values():
            worker.close()
    for number, (setting, rows) in enumerate(figures.items()):
        tables.distribution(console, setting, rows, first=number == 0)
    tables.exactness(console, figures)
    if options.built:
        tables.growth(console, figures)
    if options.queries:
        queries.report(decoder(48), options.queries)
    if options.json:
        plain = {" ".join(s): {name: row._asdict() for name, row in rows.items()} for s, rows in figures.items()}
        options.json.write_text(json.dumps(plain, indent=1))


if __name__ == "__main__":
    main()
