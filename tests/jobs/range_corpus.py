"""Ranges of values over a corpus: no value of a run leaves its range, and how many doubts of `check` they discharge.

python -m tests.jobs.range_corpus [CORPUS] [--only NAME] [--seconds S] [--sizes N] [--seeds N]

Each model runs in onnxruntime at its recorded sizes on random inputs in boxes, with the ends of the boxes among them:
once without optimisations and with all values, once with all optimisations. Prints a line for each model, totals, and
the operators that give no finite range although all their inputs have one; exit code 1 if a value leaves its range.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

import absint
from absint.analyses.ranges import DOMAIN, Ranges
from absint.analyses.ranges.rules import NONE
from absint.errors import AbsintError
from absint.lattices.domains import Span
from absint.runs.run import feeds_for, run, with_outputs

HERE = Path(__file__).resolve().parents[2]
BOXES = ((-1.0, 1.0), (-8.0, 8.0), (0.0, 255.0))
"""Ranges of floats; integers are what runs of the model take, from 0 to 3 mostly."""

MOST_SHOWN = 3
Feeds = dict[str, npt.NDArray[np.generic]]


def feeds_in(
    result: absint.Result, binding: Mapping[str, int], seed: int, box: tuple[float, float]
) -> dict[str, npt.NDArray[np.generic]]:
    """Inputs whose floats lie in the box, its ends among them."""
    rng, found = np.random.default_rng(seed), {}
    for name, array in feeds_for(result, binding, seed=seed).items():
        if array.dtype.kind == "f":
            inner, ends = rng.uniform(*box, array.shape), np.where(rng.random(array.shape) < 0.5, *box)
            array = np.where(rng.random(array.shape) < 0.2, ends, inner).astype(array.dtype)
        found[name] = array
    return found


def boxes_of(all_feeds: Sequence[Feeds], box: tuple[float, float]) -> dict[str, tuple[float, float]]:
    """The ranges of the inputs."""
    found = {}
    for name, array in all_feeds[0].items():
        if array.dtype.kind == "f":
            found[name] = box
        elif array.dtype.kind in "iub":
            parts = [feeds[name] for feeds in all_feeds if feeds[name].size]
            found[name] = (
                min([0, *(int(part.min()) for part in parts)]),
                max([3 - 2 * (array.dtype.kind == "b"), *(int(part.max()) for part in parts)]),
            )
    return found


def outside(claim: Span, value: object) -> str:
    """An element that the claim does not allow, as text; empty if there is none."""
    if isinstance(value, list):
        return next(filter(None, (outside(claim, part) for part in value)), "")
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        if array.dtype.kind in "OSU" or array.dtype.names:
            return ""
        array = array.astype(np.float64)
    if not array.size:
        return ""
    if array.dtype.kind == "f":
        nan = np.isnan(array)
        if nan.any():
            if not claim.nan:
                return "nan"
            array = array[~nan]
            if not array.size:
                return ""
    least, most = array.min().item(), array.max().item()
    return next((repr(end) for end in (least, most) if not DOMAIN.allows(claim, end)), "")


def optimised(result: absint.Result) -> ort.InferenceSession:
    """The model in onnxruntime with all optimisations."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if result.folder is not None:
        key = "session.model_external_initializers_file_folder_path"
        options.add_session_config_entry(key, str(result.folder.resolve()))
    return ort.InferenceSession(with_outputs(result, []).read(), options, providers=["CPUExecutionProvider"])


def runs(result: absint.Result, all_feeds: Sequence[Feeds]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The values of each run, and what ran it."""
    names = [name for name in result.values if result.producer(name)[0] >= 0]
    session = optimised(result)
    for feeds in all_feeds:
        try:
            yield "all values", run(result, feeds, names)
        except AbsintError as error:
            yield f"failed: {error}", {}
            continue
        found = session.run(list(result.outputs), {name: feeds[name] for name in result.inputs})
        yield "optimised", dict(zip(result.outputs, found, strict=True))


def losing(result: absint.Result, found: Mapping[str, Span]) -> Iterator[str]:
    """The operators that give no finite range although all their inputs have one; further outputs with a number."""
    spans = {result.producer(name): span for name, span in found.items() if name in result.values}
    for (number, output), span in spans.items():
        node = result.nodes[number]
        inputs = [spans.get(operand) for operand in node.operands if operand[0] >= 0]
        if node.operation is not None and not is_bounded(span) and all(one and is_bounded(one) for one in inputs):
            yield f"{node.operator}:{output}" if output else node.operator


def examine(
    path: Path, bindings: Sequence[Mapping[str, int]], seeds: int, totals: Counter[str], lost: Counter[str]
) -> None:
    start, counts = time.process_time(), Counter[str]()
    bounded = set[str]()
    for box in BOXES:
        plain = absint.analyze(path)
        # The runtime applies no function to NaN or infinite inputs here: boxes are finite.
        all_feeds = [feeds_in(plain, binding, seed, box) for binding in bindings for seed in range(seeds)]
        ranges = Ranges(plain.loaded.weights, **boxes_of(all_feeds, box))
        result = absint.analyze(path, with_=[ranges])
        found = result.found_by(ranges)
        bounded |= {name for name, claim in found.items() if is_bounded(claim)}
        if box == BOXES[0]:
            counts.update(values=len(found), bounded=len(bounded))
            lost.update(losing(result, found))
            for binding in bindings:
                check = result.check(binding)
                counts.update(discharged=len(check.discharged))
                counts.update(doubts=len(check.discharged) + len(check.possible_failures))
        for how, values in runs(result, all_feeds):
            counts.update(runs=bool(values), failed=not values, held=len(values))
            for name, value in values.items():
                if name in found and found[name] != NONE and (wrong := outside(found[name], value)):
                    counts.update(violations=1)
                    if counts["violations"] <= MOST_SHOWN:
                        node = result.nodes[result.producer(name)[0]]
                        print(f"  VIOLATION {name} of {node} ({how}): {DOMAIN.text(found[name])}, found {wrong}")
                elif name in found and found[name] == NONE and np.size(value):  # type: ignore[arg-type]
                    counts.update(violations=1)
                    print(f"  VIOLATION {name} ({how}): claimed to have no element")
    totals.update(counts, models=1)
    print(f"{path.stem}: {dict(counts)}, {time.process_time() - start:.0f} s", flush=True)


def is_bounded(claim: Span) -> bool:
    return not claim.nan and abs(claim.lo) < float("inf") and abs(claim.hi) < float("inf")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE.parent / "shared" / "corpus")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no model is begun after this time")
    parser.add_argument("--sizes", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--shard", default="0/1", help="I/N: every Nth model from I on")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    first, step = map(int, arguments.shard.split("/"))
    entries = json.loads((arguments.corpus / "corpus.json").read_text())
    names = sorted(entries, key=lambda name: (arguments.corpus / f"{name}.onnx").stat().st_size)[first::step]
    totals, lost, end = Counter[str](), Counter[str](), time.monotonic() + arguments.seconds
    for name in names:
        if time.monotonic() > end:
            print("the time is over: left out", *names[names.index(name) :])
            break
        if not arguments.only or name in arguments.only:
            bindings = entries[name]["bindings"][: arguments.sizes] or [{}]
            examine(arguments.corpus / f"{name}.onnx", bindings, arguments.seeds, totals, lost)
    print(dict(totals))
    print("no finite range from finite ranges:", dict(lost.most_common()))
    return int(bool(totals["violations"]) or not totals["runs"])


if __name__ == "__main__":
    sys.exit(main())
