"""Freezes every model of the corpus at three legal sizes and one that is not: `python -m tests.jobs.freeze_corpus`.

For each copy: onnx's full check, runs of the original and the copy on the same inputs, bit by bit and without
optimisations, and the values of which inference of others, on the inputs alone, does not find all sizes though the
analysis does. At illegal sizes nothing may be written.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import onnx

import absint
from absint import Result
from absint.jobs.freezing.sizes import IllegalSizesError
from absint.runs.run import RunError, run
from tests.jobs.freezing import (
    differing,
    feeds_at,
    folder_like,
    runs,
    session,
    stripped,
    tensors_open,
    unknown_to_onnx,
    unknown_to_onnxruntime,
)
from tests.real_models import REAL, RealModel


def main(names: list[str]) -> int:
    failures = 0
    total: Counter[str] = Counter()
    for name in names or REAL:
        found = list(tried(REAL[name], total))
        print(f"{name}: {'; '.join(found) or 'fine'}", flush=True)
        failures += any(not text.startswith("note") for text in found)
    print(dict(total))
    return failures


def tried(model: RealModel, total: Counter[str]) -> Iterator[str]:
    """Everything that is wrong with copies of a model, and notes on inference of others."""
    total["models"] += 1
    result = absint.analyze(model.path)
    before = session(model.path)
    with folder_like(model.path) as folder:
        target = folder / "frozen.onnx"
        for binding in model.entry["bindings"][:3]:
            sizes = {name: size for name, size in binding.items() if name in result.symbols}
            total["copies"] += 1
            start = time.process_time()
            frozen = result.freeze(sizes, target)
            total["milliseconds"] += int(1000 * (time.process_time() - start))
            if _is_checked(model.path):
                onnx.checker.check_model(str(target), full_check=True)
            after = session(target)
            for feeds in feeds_at(result, binding):
                total["runs"] += runs(before, feeds)
                if wrong := differing(before, after, feeds):
                    yield f"{sizes}: {wrong}"
            known = {value.name for value in (*frozen.dynamic.outputs, *frozen.dynamic.inner)}
            yield from _inferred(target, known, total)
            again = absint.analyze(target).freeze({}, folder / "again.onnx")
            if (folder / "again.onnx").read_bytes() != target.read_bytes():
                yield f"{sizes}: not the same when it is frozen again: {again}"
            target.unlink()
        illegal = _illegal(result, sizes)
        if illegal is not None:
            total["illegal"] += 1
            with suppress(IllegalSizesError):
                result.freeze(illegal, target)
            if target.exists():
                yield f"{illegal}: written"
            if any(_runs(result, feeds) for feeds in feeds_at(result, illegal)):
                yield f"{illegal}: refused, and the original runs"


def _is_checked(path: Path) -> bool:
    """The original passes the checker."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def _runs(result: Result, feeds: Mapping[str, Any]) -> bool:
    """The original runs, in a process of its own, which it may end."""
    try:
        run(result, feeds, isolated=True)
    except RunError:
        return False
    return True


def _inferred(path: Path, known: set[str], total: Counter[str]) -> Iterator[str]:
    model = onnx.load(path, load_external_data=False)
    undeclared = [name for name in tensors_open(onnx.shape_inference.infer_shapes(model)) if name not in known]
    if undeclared:
        yield f"no static type for {undeclared[:3]}"
    others = {"onnx": unknown_to_onnx, "onnxruntime": lambda model: unknown_to_onnxruntime(model, path.parent)}
    for who, infer in others.items():
        try:
            left = [name for name in infer(model) if name not in known]
        except ImportError:
            continue
        except Exception as error:
            yield f"note: {who}: {' '.join(str(error).split())[:120]}"
            continue
        total[f"values left by {who}"] += len(left)
        if left:
            of = {name: node for node in stripped(model).graph.node for name in node.output}
            kinds = Counter(f"{of[name].domain}{of[name].op_type}" for name in left)
            yield f"note: {who} leaves {dict(kinds.most_common(3))}"


def _illegal(result: Result, sizes: Mapping[str, int]) -> Mapping[str, int] | None:
    """Sizes near legal ones at which the model fails."""
    for name in sizes:
        for size in (0, 1, sizes[name] + 1, 3 * sizes[name] + 1, 7, 10_000):
            tried = {**sizes, name: size}
            if not result.check(tried).ok:
                return tried
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
