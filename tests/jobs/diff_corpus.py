"""absint.diff over a corpus: equal forms of each model, optimised and quantised ones, and planted changes.

python -m tests.jobs.diff_corpus [CORPUS] [--only NAME] [--after NAME] [--verbose]

An equal pair must not be called changed, and a planted change must be, for the right reason. Prints a line for each
model, and a table at the end; exit code 1 if something is wrong.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import onnx

import absint
from absint.jobs.diffing.comparison import Diff
from absint.runs.run import feeds_for
from tests.jobs.equal_forms import FORMS, optimised, quantised, quantised_statically
from tests.jobs.planted import CHANGES

HERE = Path(__file__).resolve().parents[2]
MOST_CALIBRATED = 300_000
"""Bytes of a model that is calibrated: static quantisation makes outputs of all values."""
LEVELS = ("basic", "extended", "all")


def equal_pairs(result: absint.Result, path: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Other forms of a model that compute the same."""
    for name, change in FORMS.items():
        model = change(onnx.load(path, load_external_data=False))
        if model is not None:
            yield name, written(model, folder, path)
    for level in LEVELS:
        to = folder / f"{path.stem}.{level}.onnx"
        if optimised(path, level, to):
            yield f"onnxruntime, {level}", to
    to = folder / f"{path.stem}.int8.onnx"
    if quantised(path, to):
        yield "quantised", to
    to = folder / f"{path.stem}.qdq.onnx"
    if result.loaded.size < MOST_CALIBRATED and quantised_statically(path, smallest_feeds(result), to):
        yield "quantised, static", to


def smallest_feeds(result: absint.Result) -> Mapping[str, object]:
    """Zeros of the sizes that costs are shown at."""
    sizes = dict.fromkeys(result.symbols, 64) | dict(result.cost().default_sizes)
    return feeds_for(result, sizes, seed=0, values="zeros")


def written(model: onnx.ModelProto, folder: Path, path: Path) -> Path:
    to = folder / f"{path.stem}.other.onnx"
    onnx.save(model, to)
    return to


def changes(path: Path, folder: Path) -> Iterator[tuple[str, Path, str]]:
    """Planted changes: a name, the file, and a text that must stand in the answer."""
    for name, change in CHANGES.items():
        found = change(onnx.load(path, load_external_data=False))
        if found is not None:
            model, expected = found
            yield name, written(model, folder, path), expected


def breaks(path: Path, other: Path) -> bool:
    """A call that works with a model does not work with the other one, as a run of both shows."""
    import onnxruntime as ort

    ort.set_default_logger_severity(4)
    result = absint.analyze(path)
    feeds = smallest_feeds(result)
    ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feeds)
    session = ort.InferenceSession(str(other), providers=["CPUExecutionProvider"])
    try:
        session.run(None, feeds)
    except ValueError as error:
        return "Required inputs" in str(error)
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE.parent / "shared" / "corpus")
    parser.add_argument("--only", default="", help="part of a file's name")
    parser.add_argument("--after", default="", help="files whose names come after this one")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    table: dict[str, Counter[str]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for file in sorted(options.corpus.glob("*.onnx")) + sorted(options.corpus.glob("*.bin")):
            shutil.copy(file, folder)
        for path in sorted(folder.glob("*.onnx")):
            if options.only not in path.name or path.name <= options.after:
                continue
            start = time.perf_counter()
            said = []
            result = absint.analyze(path)
            for name, other in equal_pairs(result, path, folder):
                found = absint.diff(result, other)
                said.append(f"{name}: {found.verdict}")
                table.setdefault(name, Counter())[found.verdict] += 1
                if found.verdict == "changed" and not breaks(path, other):
                    wrong.append(f"{path.name}, {name}: {found.broken}")
                if options.verbose and found.verdict != "same":
                    print(found)
            for name, other, expected in changes(path, folder):
                found = absint.diff(result, other)
                verdict = found.verdict if expected in f"{found}" else f"{found.verdict}, not for {expected!r}"
                said.append(f"{name}: {verdict}")
                table.setdefault(f"planted: {name}", Counter())[verdict.partition(", not for")[0]] += 1
                if not is_found(name, found, expected):
                    wrong.append(f"{path.name}, {name}: {verdict}")
                    if options.verbose:
                        print(found)
            for other in folder.glob(f"{path.stem}.*.onnx"):
                other.unlink()
            print(f"{path.name} ({time.perf_counter() - start:.1f} s): {'; '.join(said)}", flush=True)
    print()
    for name, counts in table.items():
        print(f"{name:40} {', '.join(f'{count} {verdict}' for verdict, count in counts.most_common())}")
    for line in wrong:
        print(f"WRONG {line}")
    return 1 if wrong else 0


def is_found(name: str, found: Diff, expected: str) -> bool:
    """A planted change is reported, for the right reason."""
    wanted = "compatible" if name.startswith("allowed: ") else "changed"
    return found.verdict == wanted and expected in str(found)


if __name__ == "__main__":
    sys.exit(main())
