"""Annotates models and loads the copies: `python -m tests.jobs.annotate_corpus [FILES]`, by default the corpus.

Each copy must load in onnxruntime, with and without optimisations, if the model does, and give its outputs.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
import onnxruntime

import absint
from absint.errors import AbsintError
from absint.runs.session import Session, plain_options
from tests.jobs.freezing import differing, feeds_at, folder_like, session
from tests.real_models import REAL


def main(paths: list[str]) -> int:
    failures = 0
    total: Counter[str] = Counter()
    for path in [Path(path) for path in paths] or [model.path for model in REAL.values()]:
        found = list(tried(path, total))
        print(f"{path.name}: {'; '.join(found) or 'fine'}", flush=True)
        failures += any(not text.startswith("note") for text in found)
    print(dict(total))
    return min(failures, 1)


def tried(path: Path, total: Counter[str]) -> Iterator[str]:
    """Everything that is wrong with the annotated copy of a model, and what is left out of it."""
    total["models"] += 1
    result = absint.analyze(path)
    try:
        before = session(path)
    except Exception:
        total["models that do not load"] += 1
        return
    with folder_like(path) as folder:
        target = folder / "annotated.onnx"
        start = time.process_time()
        saved = result.save_annotated(target, outputs=True)
        total["milliseconds"] += int(1000 * (time.process_time() - start))
        yield from (f"note: {item}" for item in saved.left_out)
        if saved.unchecked:
            yield f"note: {saved.unchecked}"
        try:
            after = session(target)
            optimised(target)
        except Exception as error:
            yield f"does not load: {' '.join(str(error).split())[:300]}"
            return
        yield from _compared(result, before, after, total)


def _compared(result: absint.Result, before: Session, after: Session, total: Counter[str]) -> Iterator[str]:
    try:
        sizes = dict(next(iter(result.samples(1)), {}))
        feeds = list(feeds_at(result, sizes))
    except AbsintError as error:
        yield f"note: no run: {error}"
        return
    for item in feeds:
        total["runs"] += 1
        if text := differing(before, after, item):
            yield f"{sizes}: {text}"


def optimised(path: Path) -> None:
    """Load a model with default optimisations."""
    options = plain_options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(path.parent))
    model = onnx.load(path, load_external_data=False)
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
