"""Models made static and dynamic again: `python -m tests.jobs.dynamize_corpus [FOLDER] [NAME...]`.

Each model of the corpus is fixed at the first sizes that its truth has, shape subgraphs folded; dynamize is to bring
its contract back. The line of a model says if its contract is the same, wider or narrower than the original one, and
what onnxruntime computes: at the old sizes the fixed model and the dynamized one give the same outputs, bit by bit; at
other sizes the dynamized one gives those of the original.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime as ort

import absint
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Expr, Symbol
from absint.lattices.terms.normal import sole_atom
from tests.jobs.fixed_models import fixed


class Row(NamedTuple):
    """The answers about one model."""

    name: str
    contract: str
    """`same`, `wider` or `narrower` than that of the original, or `refused`."""
    constants: int
    left: int
    """Constants that were not rewritten."""
    old: str
    """Runs at the old sizes: `equal`, or what differs."""
    others: str
    """Runs at other sizes."""
    seconds: float
    why: str


def main(folder: Path, names: Sequence[str]) -> None:
    """A line for each model, and the totals."""
    entries = json.loads((folder / "corpus.json").read_text())
    rows = []
    for name, entry in entries.items():
        if (names and name not in names) or not entry["bindings"] or not entry["bindings"][0]:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            for weights in folder.glob("*.bin"):
                shutil.copy(weights, scratch)
            row = restored(folder / f"{name}.onnx", entry["bindings"], Path(scratch))
        rows.append(row)
        print(
            f"{row.name:34} {row.contract:9} {row.constants:5} constants {row.left:4} left  "
            f"old {row.old:12} others {row.others:12} {row.seconds:6.2f} s  {row.why}",
            flush=True,
        )
    back = [row for row in rows if row.contract in ("same", "wider")]
    runs = [row for row in back if row.old == "equal" and row.others.startswith("equal")]
    print(f"{len(back)} of {len(rows)} have their contract back, {len(runs)} of these run as the original")


def restored(path: Path, bindings: Sequence[Mapping[str, int]], scratch: Path) -> Row:
    """Fix a model at the first sizes, make it dynamic again, and hold it against the original."""
    original = absint.analyze(path)
    old, others = bindings[0], [b for b in bindings[1:] if b != bindings[0]]
    static, dynamic = scratch / "static.onnx", scratch / "dynamic.onnx"
    onnx.save(fixed(path, old), static)
    axes = symbols_of(original)
    begin = time.process_time()
    found = absint.dynamize(static, axes, dynamic, fix=True)
    seconds = time.process_time() - begin
    if not dynamic.exists():
        why = f"{found.refusal}: {next((str(item) for item in found.baked if item.is_open), '')}"
        return Row(path.stem, "refused", len(found.baked), len(found.unmended), "", "", seconds, why[:400])
    again = absint.analyze(dynamic)
    narrower = [c for c in found.contract.clauses if not proves(original, c.relation)]
    lost = [c for c in original.contract(seconds=10).clauses if not proves(again, c.relation)]
    contract = "narrower" if narrower else "wider" if lost else "same"
    why = ""
    if narrower:
        why = str(narrower[0])
        reasons = [*map(str, found.unmended), *map(str, found.causes)]
        why += f" | {reasons[0]}" if reasons else ""
    return Row(
        path.stem,
        contract,
        len(found.baked),
        len(found.unmended),
        compared(static, dynamic, [old]),
        compared(path, dynamic, others),
        seconds,
        why[:400],
    )


def proves(result: absint.Result, relation: Relation) -> bool:
    """Every run meets the relation."""
    return result.prove(relation, seconds=10).verdict is absint.Verdict.PROVED


def symbols_of(result: absint.Result) -> dict[str, dict[int, str]]:
    """The axes of inputs that are symbols."""
    axes: dict[str, dict[int, str]] = {}
    for name in result.inputs:
        for axis, dim in enumerate(result.shapes.get(name, ())):
            symbol = sole_atom(dim) if isinstance(dim, Expr) else None
            if isinstance(symbol, Symbol):
                axes.setdefault(name, {})[axis] = symbol.name
    return axes


def compared(first: Path, second: Path, bindings: Sequence[Mapping[str, int]]) -> str:
    """The outputs of two models on the same inputs."""
    try:
        sessions = [session(path) for path in (first, second)]
    except Exception as error:
        return f"does not load: {str(error)[:160]}"
    shapes = absint.analyze(second).shapes
    same = 0
    for sizes in bindings:
        rng = np.random.default_rng(same)
        feeds = {}
        for info in sessions[1].get_inputs():
            shape = [dim.evaluate(sizes) for dim in shapes[info.name]]
            feeds[info.name] = array(rng, info.type, shape)
        try:
            outputs = [each.run(None, {i.name: feeds[i.name] for i in each.get_inputs()}) for each in sessions]
        except Exception as error:
            return f"fails at {dict(sizes)}: {str(error)[:80]}"
        for a, b in zip(*outputs, strict=True):
            if np.shape(a) != np.shape(b):
                return f"shapes {np.shape(a)} {np.shape(b)}"
            if isinstance(a, np.ndarray) and a.dtype.kind == "f":
                if not np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True):
                    return f"values at {dict(sizes)}"
            elif not np.array_equal(a, b):
                return f"values at {dict(sizes)}"
        same += 1
    return f"equal ({same})" if len(bindings) > 1 else "equal" if same else "none"


def session(path: Path) -> ort.InferenceSession:
    """The model in onnxruntime, without optimisations."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def array(rng: np.random.Generator, kind: str, shape: Sequence[int]) -> np.ndarray:
    """Data of an input."""
    if "float16" in kind:
        return rng.standard_normal(shape).astype(np.float16)
    if "float" in kind or "double" in kind:
        return rng.standard_normal(shape).astype(np.float64 if "double" in kind else np.float32)
    if "bool" in kind:
        return np.ones(shape, bool)
    if "string" in kind:
        return np.full(shape, "a b", object)
    dtype = np.dtype(kind.removeprefix("tensor(").removesuffix(")"))
    return rng.integers(0, 2, shape).astype(dtype)


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("../shared/corpus")
    main(where, sys.argv[2:])
