"""Nodes that `absint simplify` and other tools leave of the same models.

    python benchmarks/simplifiers.py MODEL... --tools PYTHON [--seconds 60] [--minutes 15]

PYTHON is an interpreter with onnxsim, onnxslim, onnxscript and onnxruntime. Each tool has a process of its own for each
model, a fork of one that has imported it, and at most `--seconds`; no model begins after `--minutes`. Nodes are those
without constants, of all graphs; of the ratios after/before the geometric mean is taken over the models that all tools
finish. "Differs" counts copies that do not run, or give other bits, on one input where the model runs, without
optimisations. The last columns say what `absint simplify` leaves of what a tool leaves, and the shape nodes left where
onnxscript's optimiser follows a tool.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping
from math import ceil, exp, inf, log
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final, NamedTuple

import onnx
from markdown import table

import absint
from absint.jobs.simplifying.simplify import compared, operators, shape_nodes

TOOLS: Final = {
    "onnxsim": ("import onnxsim, onnx", "onnx.save(onnxsim.simplify(onnx.load(a))[0], b)"),
    "onnxslim": ("import onnxslim, onnx", "onnx.save(onnxslim.slim(onnx.load(a)), b)"),
    "onnxscript's optimiser": ("import onnxscript.optimizer as o, onnx", "onnx.save(o.optimize(onnx.load(a)), b)"),
    "onnxruntime, basic level": (
        "import onnxruntime as o",
        "s = o.SessionOptions(); s.graph_optimization_level = o.GraphOptimizationLevel.ORT_ENABLE_BASIC; "
        "s.optimized_model_filepath = b; o.InferenceSession(a, s, providers=['CPUExecutionProvider'])",
    ),
    "absint simplify": ("import absint", "absint.analyze(a).simplify(path=b)"),
}
"""The imports of each tool, and what writes its copy of `a` to `b`."""
SERVER: Final = """
import os, signal, sys
{imports}
for line in sys.stdin:
    child = os.fork()
    if not child:
        a, b = line.rstrip().split("\\t")
        signal.alarm({seconds})
        try:
            {code}
        except BaseException:
            os._exit(1)
        os._exit(0)
    print(os.waitpid(child, 0)[1], file=sys.stderr, flush=True)
"""
OURS: Final = "absint simplify"
NEXT: Final = "onnxscript's optimiser"


class Left(NamedTuple):
    """What a tool leaves of a model."""

    nodes: int
    shape_nodes: int
    differs: bool
    then_ours: int = 0
    """Nodes left when `absint simplify` comes after the tool."""
    then_next: int = 0
    """Shape nodes left when onnxscript's optimiser does."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--minutes", type=float, default=inf)
    given = parser.parse_args()
    end = monotonic() + 60 * given.minutes
    tools = {name: _Tool(name, given.tools, given.seconds) for name in TOOLS}
    before, found = list[Left](), dict[str, list[Left | None]]()
    for path in given.models:
        if monotonic() >= end:
            break
        before.append(_left(path, None))
        for name in (OURS, *(name for name in TOOLS if name != OURS)):
            found.setdefault(name, []).append(_tried(name, path, tools))
    every = [at for at in range(len(before)) if all(each[at] is not None for each in found.values())]
    print(f"{len(every)} of {len(before)} models that all tools finish\n")
    after = ["then absint simplify: nodes", "then onnxscript: shape nodes"]
    print(table(["", "nodes", "shape nodes left", "differs", "not finished", *after], [*_rows(before, found, every)]))
    return 0


def _rows(before: list[Left], found: dict[str, list[Left | None]], every: list[int]) -> list[list[str]]:
    rows = []
    for name, each in found.items():
        kept = [(before[at], left) for at in every if (left := each[at]) is not None]
        nodes, then = _mean(kept, lambda left: left.nodes), _mean(kept, lambda left: left.then_ours)
        total = max(sum(old.shape_nodes for old, _ in kept), 1)
        shapes, last = (sum(left.shape_nodes for _, left in kept), sum(left.then_next for _, left in kept))
        differing = sum(left is not None and left.differs for left in each)
        row = [name, f"{nodes:.3f}", f"{shapes / total:.1%}", str(differing), str(each.count(None))]
        rows.append([*row, f"{then:.3f}", f"{last / total:.1%}"])
    return rows


def _mean(kept: list[tuple[Left, Left]], nodes: Callable[[Left], int]) -> float:
    return exp(sum(log(max(nodes(left), 1) / old.nodes) for old, left in kept if old.nodes) / max(len(kept), 1))


class _Tool:
    """A process that runs a tool on one model after the other."""

    def __init__(self, name: str, python: str, seconds: float) -> None:
        imports, code = TOOLS[name]
        text = SERVER.format(imports=imports, code=code, seconds=ceil(seconds))
        command = [sys.executable if name == OURS else python, "-c", text]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def run(self, path: Path, target: Path) -> bool:
        """Whether it writes a copy of a model."""
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        self._process.stdin.write(f"{path}\t{target}\n")
        self._process.stdin.flush()
        while not (line := self._process.stderr.readline().strip()).isdigit():
            if not line and self._process.poll() is not None:
                raise OSError("the tool cannot be imported")
        return line == "0" and target.exists()


def _tried(name: str, path: Path, tools: Mapping[str, _Tool]) -> Left | None:
    with TemporaryDirectory() as folder:
        target = Path(folder, "copy.onnx")
        for weights in path.parent.glob("*.bin"):
            copy(weights, folder)
        then = [Path(folder, f"{at}.onnx") for at in range(2)]
        if not (
            tools[name].run(path, target) and tools[OURS].run(target, then[0]) and tools[NEXT].run(target, then[1])
        ):
            return None
        try:
            left = _left(target, path)
            ours, after = (_left(each, None) for each in then)
        except absint.AbsintError:
            return None
        return left._replace(then_ours=ours.nodes, then_next=after.shape_nodes)


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
