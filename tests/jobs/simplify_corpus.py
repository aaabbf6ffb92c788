"""Simplifies every model of the corpus and runs both: `python -m tests.jobs.simplify_corpus [NAME | FOLDER]...`.

A folder is one that examples/export_models.py writes. `--seconds` ends the job before the next model; `--after NAME`
begins behind that one.

At legal sizes, 1 and an odd one among them, and at 0 where that is legal, every output is to be bit-equal; where one of
the two fails at a size, both are to. At 20 random sizes both are to be legal, or neither. The table has nodes after and
before without constants (geometric mean), and the nodes that compute sizes, for all models and for those of 20 % such
nodes or more.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping
from math import exp, inf, log
from pathlib import Path
from random import Random

import absint
from absint import Outcome, Result
from absint.errors import UsageError
from absint.jobs.simplifying.simplify import Simplified, compared
from tests.jobs.freezing import folder_like
from tests.real_models import REAL, RealModel

OTHERS = (1, 3, 0)
"""Sizes at which both models run besides those of the recorded runs."""
LEGALITY = 20
"""Random sizes at which the legality of both is compared."""
SECONDS = 20.0
"""Time for a run, in a process of its own: at sizes like 0, onnxruntime may crash, or not end."""


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=inf)
    parser.add_argument("--after", default="")
    given = parser.parse_args()
    models = [model for name in given.names for model in named(name)] or [*REAL.values()]
    names = [model.name for model in models]
    found: list[Simplified] = []
    broken = 0
    end = time.monotonic() + given.seconds
    for model in models[names.index(given.after) + 1 if given.after else 0 :]:
        if time.monotonic() >= end:
            break
        name, start = model.name, time.perf_counter()
        done, wrong, ran = tried(model)
        broken += bool(wrong)
        found.append(done)
        left = f"shape nodes {done.shape_nodes_before} -> {len(done.shape_nodes)}"
        text = f"{name}: {done.nodes_before} -> {done.nodes}, {left}, {ran} runs, {time.perf_counter() - start:.1f} s"
        print("; ".join([text, *(f"undone {line}" for line in done.undone), *wrong]), flush=True)
    print(f"{len(found)} models, {broken} broken")
    table("all", found)
    table("20 % shape nodes or more", [one for one in found if one.shape_nodes_before >= 0.2 * one.nodes_before])
    return broken


def named(name: str) -> list[RealModel]:
    """A model of the corpus, or those in a folder."""
    if name in REAL:
        return [REAL[name]]
    sizes = json.loads(Path(name, "sizes.json").read_text("utf-8"))
    return [RealModel(each, Path(name, f"{each}.onnx"), {"bindings": sizes[each]["sizes"]}) for each in sorted(sizes)]


def table(label: str, found: list[Simplified]) -> None:
    ratios = [one.nodes / one.nodes_before for one in found if one.nodes_before]
    before, after = sum(one.shape_nodes_before for one in found), sum(len(one.shape_nodes) for one in found)
    if ratios:
        mean = exp(sum(map(log, ratios)) / len(ratios))
        left = f"shape nodes left {after / max(before, 1):.1%} of {before}"
        print(f"{label}: {len(ratios)} models, nodes {mean:.3f}, {left}")


def tried(model: RealModel) -> tuple[Simplified, list[str], int]:
    """The simplified model, everything that is wrong with it, and the number of runs that both made."""
    result = absint.analyze(model.path)
    wrong: list[str] = []
    ran = 0
    with folder_like(model.path) as folder:
        target = folder / "simplified.onnx"
        done = result.simplify(path=target)
        again = folder / "again.onnx"
        absint.analyze(target).simplify(path=again)
        if again.read_bytes() != target.read_bytes():
            wrong.append("not the same when it is simplified again")
        copy = absint.analyze(target)
        for sizes in sampled(result, model.entry["bindings"]):
            try:
                text, is_run = compared(result, copy, sizes, seconds=SECONDS)
            except (UsageError, ValueError):  # no such feeds
                continue
            ran += is_run
            if text:
                wrong.append(f"{sizes}: {text}")
        random = Random(model.path.name)
        for _ in range(LEGALITY if result.symbols else 0):
            sizes = {name: random.choice((0, 1, 2, 3, random.randrange(4, 70))) for name in result.symbols}
            if len({one.check(sizes).outcome is Outcome.ILLEGAL for one in (result, copy)}) > 1:
                wrong.append(f"{sizes}: one is legal")
    return done, wrong, ran


def sampled(result: Result, bindings: list[Mapping[str, int]]) -> Iterator[Mapping[str, int]]:
    """Sizes of recorded runs, and those in which one symbol or all of them are another size."""
    known = [{name: size for name, size in binding.items() if name in result.symbols} for binding in bindings]
    yield from known[:3]
    if known and known[0]:
        for size in OTHERS:
            yield dict.fromkeys(known[0], size)
            for name in known[0]:
                yield {**known[0], name: size}


if __name__ == "__main__":
    sys.exit(main())
