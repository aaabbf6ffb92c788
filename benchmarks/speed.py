"""How long the analysis takes beside onnx's own inference, on the same loaded models in the same run.

    python benchmarks/speed.py MODEL [MODEL ...] [--runs 7]

For each model: the median of several runs of `absint.analyze(model).shapes` and of
`onnx.shape_inference.infer_shapes(model, data_prop=True)` on the ModelProto (value_info cleared), taken in turn, their
ratio, and the rules actually applied. Then the command line, cold start included: wall time and peak memory of
`absint analyze MODEL` on the largest of them.
"""

from __future__ import annotations

import argparse
import gc
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import onnx

import absint


def milliseconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    gc.collect()
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def load(path: Path) -> onnx.ModelProto:
    """The model without weights and without the exporter's own answers."""
    model = onnx.load(path, load_external_data=False)
    del model.graph.value_info[:]
    return model


def compare(path: Path, runs: int) -> tuple[float, int]:
    """Print one row; the ratio and the number of nodes."""
    model = load(path)
    ours, theirs = [], []
    absint.analyze(model)
    for _ in range(runs):
        ours.append(milliseconds(lambda: absint.analyze(model).shapes))
        theirs.append(milliseconds(lambda: onnx.shape_inference.infer_shapes(model, data_prop=True)))
    a, b = statistics.median(ours), statistics.median(theirs)
    applications = absint.analyze(model).analysis.applications
    nodes = len(model.graph.node)
    times = f"absint {a:8.1f} ms  onnx {b:8.1f} ms  ratio {a / b:5.2f}"
    print(f"{path.stem:36} {nodes:7} nodes {applications:6} rules  {times}")
    return a / b, nodes


def cold_start(path: Path) -> None:
    """Wall time and peak memory of the command line on one model."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "absint", "analyze", str(path)], check=False, capture_output=True)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"absint analyze {path.name}: {seconds:.2f} s wall, {peak:.0f} MB peak, cold start included")


def main() -> None:
    """Compare over the models named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    rows = {path: compare(path, arguments.runs) for path in arguments.models}
    print(f"geometric mean of the ratios: {statistics.geometric_mean([ratio for ratio, _ in rows.values()]):.2f}")
    cold_start(max(rows, key=lambda path: rows[path][1]))


if __name__ == "__main__":
    main()
