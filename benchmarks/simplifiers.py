"""Nodes that `absint simplify` and other tools leave of the same models.

    python benchmarks/simplifiers.py MODEL... --tools PYTHON [--seconds 60]

PYTHON is an interpreter with onnxsim, onnxslim, onnxscript and onnxruntime. Each tool has a process of its own for each
model, and at most `--seconds`. Nodes are those without constants, of all graphs; of the ratios after/before the
geometric mean is taken over the models that all tools finish. "Differs" counts copies that do not run, or give other
bits, on one input where the model runs, without optimisations.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from math import exp, log
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import onnx
from markdown import table

import absint
from absint.jobs.simplifying.running import compared
from absint.jobs.simplifying.shape_nodes import shape_nodes
from absint.jobs.simplifying.simplify import operators

TOOLS: Final = {
    "onnxsim": "import onnxsim, onnx; onnx.save(onnxsim.simplify(onnx.load(a))[0], b)",
    "onnxslim": "import onnxslim, onnx; onnx.save(onnxslim.slim(onnx.load(a)), b)",
    "onnxscript's optimiser": "import onnxscript.optimizer as o, onnx; onnx.save(o.optimize(onnx.load(a)), b)",
    "onnxruntime, basic level": "import onnxruntime as o; s = o.SessionOptions(); "
    "s.graph_optimization_level = o.GraphOptimizationLevel.ORT_ENABLE_BASIC; s.optimized_model_filepath = b; "
    "o.InferenceSession(a, s, providers=['CPUExecutionProvider'])",
}
OURS: Final = "absint simplify"


class Left(NamedTuple):
    """What a tool leaves of a model."""

    nodes: int
    shape_nodes: int
    differs: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    before, found = list[Left](), dict[str, list[Left | None]]()
    for path in given.models:
        before.append(_left(path, None))
        for name in (OURS, *TOOLS):
            found.setdefault(name, []).append(_tried(name, path, given.tools, given.seconds))
    every = [at for at in range(len(before)) if all(each[at] is not None for each in found.values())]
    print(f"{len(every)} of {len(before)} models that all tools finish\n")
    print(table(["", "nodes", "shape nodes left", "differs", "not finished"], [*_rows(before, found, every)]))
    return 0


def _rows(before: list[Left], found: dict[str, list[Left | None]], every: list[int]) -> list[list[str]]:
    rows = []
    for name, each in found.items():
        kept = [(before[at], left) for at in every if (left := each[at]) is not None]
        mean = exp(sum(log(left.nodes / old.nodes) for old, left in kept if old.nodes) / max(len(kept), 1))
        shapes = sum(left.shape_nodes for _, left in kept) / max(sum(old.shape_nodes for old, _ in kept), 1)
        differing = sum(left is not None and left.differs for left in each)
        rows.append([name, f"{mean:.3f}", f"{shapes:.1%}", str(differing), str(each.count(None))])
    return rows


def _tried(name: str, path: Path, python: str, seconds: float) -> Left | None:
    with TemporaryDirectory() as folder:
        target = Path(folder, "copy.onnx")
        for weights in path.parent.glob("*.bin"):
            copy(weights, folder)
        code = f"a, b = {str(path)!r}, {str(target)!r}; {TOOLS.get(name, '')}"
        command = [python, "-c", code]
        if name == OURS:
            command = [sys.executable, "-m", "absint", "simplify", str(path), "-o", str(target)]
        try:
            subprocess.run(command, timeout=seconds, capture_output=True, check=True)
            return _left(target, path)
        except (subprocess.SubprocessError, OSError, absint.AbsintError):
            return None


def _left(path: Path, original: Path | None) -> Left:
    model = onnx.load(path, load_external_data=False)
    differs = False
    if original is not None:
        result = absint.analyze(original)
        sizes = next(iter(result.samples(1).sizes), {}) if result.parameters else {}
        differs = bool(compared(result, absint.analyze(path), sizes, seconds=20.0)[0])
    return Left(sum(operators(model).values()), len(shape_nodes(model)), differs)


if __name__ == "__main__":
    sys.exit(main())
