"""Speed and exactness side by side with the peers that are installed, in one run.

    python benchmarks/compare.py [MODEL ...] [--truth DIR] [--built] [--start] [--queries 500]
        [--runs 5] [--json FILE]

Each engine runs in a process of its own, on loaded models whose value_info is cleared, in turn on each model. Reported
are the first run and the median of all, its ratio to absint's (above 1: absint is faster), the peak memory of the
process, and what the answers are worth: dims that are exact, and dims that are wrong, against the sizes that executed
runs showed (DIR/NAME.json.gz for a model NAME.onnx). A fast wrong answer is no answer. `absint` has to apply every rule
in each run, `absint again` may use what it did before.

--built adds models that are built here: stacks of transformer layers with about 2,000, 10,000 and 50,000 nodes, a chain
of 100,000, a nest of 2,000 function calls, and a model with 1 GB of external weights. --start times the command line,
--queries proofs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper
from rich.console import Console
from rich.table import Table

import absint

sys.path.insert(0, str(Path(__file__).parent))

import queries
from engines import ENGINES, load
from transformer import decoder

LIMIT = 120
"""Seconds for all runs of one engine on one model."""


class Worker:
    """The process of one engine; started again after it hangs or dies."""

    def __init__(self, name: str, folder: Path) -> None:
        """`folder` is for what the engine leaves behind."""
        self.name = name
        self.folder = folder
        self._process: subprocess.Popen[str] | None = None

    def ask(self, path: Path, runs: int) -> dict[str, Any]:
        """The reply for one model."""
        if self._process is None:
            command = [sys.executable, str(Path(__file__).with_name("engines.py")), self.name]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, cwd=self.folder
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"path": str(path.resolve()), "runs": runs, "external": False}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        killer = subprocess.Popen(["sleep", str(LIMIT)])
        reply = self._read(killer)
        killer.kill()
        killer.wait()
        if reply is None:
            self.close()
            return {"failure": f"died, or took more than {LIMIT} s"}
        return reply

    def _read(self, killer: subprocess.Popen[bytes]) -> dict[str, Any] | None:
        import select

        assert self._process is not None
        assert self._process.stdout is not None
        while killer.poll() is None:
            if select.select([self._process.stdout], [], [], 1)[0]:
                line = self._process.stdout.readline()
                return json.loads(line) if line else None
            if self._process.poll() is not None:
                return None
        return None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def grade(path: Path, truth: Path | None, shapes: Mapping[str, list[Any] | None]) -> tuple[int, int, int] | None:
    """Dims that runs showed, that are exact, and that are wrong; None without runs."""
    file = None if truth is None else truth / f"{path.stem}.json.gz"
    if file is None or not file.exists():
        return None
    seen = json.loads(gzip.decompress(file.read_bytes()))
    bindings = [run["binding"] for run in seen["runs"]]
    total = exact = wrong = 0
    for node in load(path, False).graph.node:
        if node.op_type == "Constant":
            continue
        for name in node.output:
            ran, said = seen["shapes"].get(name), shapes.get(name)
            if not ran:
                continue
            total += len(ran[0])
            if said is None:
                continue
            if any(len(sizes) != len(said) for sizes in ran):
                wrong += max(len(ran[0]), 1)
                continue
            for axis, text in enumerate(said):
                right = is_right(text, [sizes[axis] for sizes in ran], bindings)
                exact += right is True
                wrong += right is False
    return total, exact, wrong


def is_right(text: int | str | None, ran: list[int], bindings: list[dict[str, int]]) -> bool | None:
    """Whether a dim is what the runs showed; None if it says nothing over the symbols of the inputs."""
    if isinstance(text, int):
        return all(size == text for size in ran)
    if text is None:
        return None
    try:
        dim = absint.parse(text)
        return [dim.evaluate(binding) for binding in bindings] == ran
    except Exception:  # a name that the engine invented, or a text of another language
        return None


def chain(length: int) -> onnx.ModelProto:
    """One value through many nodes."""
    nodes = [helper.make_node("Relu", [f"x{i}"], [f"x{i + 1}"]) for i in range(length)]
    ends = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, ["N", 4]) for i in (0, length)]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def nest(depth: int) -> onnx.ModelProto:
    """Functions that call each other, so many deep."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    inner = [helper.make_node("Relu", ["x"], ["y"])]
    functions = [helper.make_function("local", "f0", ["x"], ["y"], inner, imports)]
    for level in range(1, depth):
        call = [helper.make_node(f"f{level - 1}", ["x"], ["y"], domain="local")]
        functions.append(helper.make_function("local", f"f{level}", ["x"], ["y"], call, imports))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 4]) for name in "xy"]
    nodes = [helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="local")]
    graph = helper.make_graph(nodes, "nest", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=functions)


def heavy(folder: Path) -> onnx.ModelProto:
    """A decoder beside 1 GB of weights in a file."""
    model = decoder(4)
    with (folder / "heavy.weights").open("wb") as file:
        file.truncate(1 << 30)
    weight = TensorProto(name="heavy", data_type=TensorProto.FLOAT, dims=[1 << 14, 1 << 14])
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "heavy.weights"), ("offset", "0"), ("length", str(1 << 30))):
        weight.external_data.add(key=key, value=value)
    model.graph.initializer.append(weight)
    model.graph.node.append(helper.make_node("MatMul", ["heavy", "heavy"], ["squared"]))
    return model


def built(folder: Path) -> Iterator[Path]:
    """The models of --built."""
    models = {f"decoder_{layers}_layers": decoder(layers) for layers in (67, 333, 1667)}
    models |= {"chain_100k": chain(100_000), "nest_2000": nest(2000), "weights_1gb": heavy(folder)}
    for name, model in models.items():
        path = folder / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        yield path


def start_times(console: Console, runs: int = 5) -> None:
    """Wall time of the command line, cold."""
    model = Path(__file__).parents[1] / "examples" / "tiny_detector.onnx"
    for arguments in (["--help"], ["analyze", str(model)]):
        seconds = []
        for _ in range(runs):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-m", "absint", *arguments], capture_output=True, check=True)
            seconds.append(time.perf_counter() - start)
        console.print(f"absint {' '.join(Path(a).name for a in arguments)}: {statistics.median(seconds):.2f} s")


def main() -> None:
    """Compare over the models named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--truth", type=Path, help="folder of executed shapes")
    parser.add_argument("--built", action="store_true", help="add the models that are built here")
    parser.add_argument("--start", action="store_true", help="time the command line")
    parser.add_argument("--queries", type=int, default=0, help="time so many proofs on a 48-layer decoder")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--engines", nargs="*", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--json", type=Path, help="write all figures to a file")
    options = parser.parse_args()
    there = [n for n in options.engines if find_spec(ENGINES[n].module.partition(".")[0]) is not None]
    console = Console(width=160)
    console.print(
        f"engines: {', '.join(there)}; not installed: {', '.join(set(options.engines) - set(there)) or 'none'}"
    )
    figures: dict[str, dict[str, dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        workers = {name: Worker(name, Path(folder)) for name in there}
        for path in (*options.models, *(built(Path(folder)) if options.built else ())):
            figures[path.stem] = row = {}
            for name, worker in workers.items():
                reply = worker.ask(path, options.runs)
                shapes = reply.pop("shapes", None)
                row[name] = reply
                if shapes is not None:
                    reply["first"] = reply["seconds"][0]
                    reply["median"] = statistics.median(reply.pop("seconds"))
                    reply["graded"] = grade(path, options.truth, shapes)
            row["absint"]["nodes"] = len(onnx.load(path, load_external_data=False).graph.node)
            show(console, path.stem, row)
        for worker in workers.values():
            worker.close()
    if figures:
        summary(console, figures, there)
    if options.built:
        growth(console, figures, there)
    if options.start:
        start_times(console)
    if options.queries:
        queries.report(decoder(48), options.queries)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


def show(console: Console, model: str, row: Mapping[str, Mapping[str, Any]]) -> None:
    """One model."""
    nodes = row["absint"]["nodes"]
    table = Table(title=f"{model}: {nodes:,} nodes, {row['absint'].get('rules', 0):,} rules applied", box=None)
    for column in ("engine", "median ms", "ratio", "first ms", "µs/node", "peak MB", "exact", "wrong"):
        table.add_column(column, justify="left" if column == "engine" else "right")
    ours = row["absint"].get("median")
    for name, found in row.items():
        if "failure" in found:
            table.add_row(name, found["failure"][:80])
            continue
        total, exact, wrong = found["graded"] or (0, 0, 0)
        times = (
            f"{1e3 * found['median']:.1f}",
            f"{found['median'] / ours:.2f}" if ours else "",
            f"{1e3 * found['first']:.1f}",
            f"{1e6 * found['median'] / nodes:.1f}",
        )
        share = f"{100 * exact / total:.1f} %" if total else ""
        table.add_row(name, *times, f"{found['peak']:.0f}", share, str(wrong) if total else "")
    console.print(table)


def summary(console: Console, figures: Mapping[str, Mapping[str, Mapping[str, Any]]], engines: list[str]) -> None:
    """Geometric means over the models that both can do, and all dims."""
    table = Table(title="all models", box=None)
    for column in ("engine", "models", "ratio (geometric mean)", "least", "most", "exact", "wrong"):
        table.add_column(column, justify="left" if column == "engine" else "right")
    dims: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for name in engines:
        both = [row for row in figures.values() if "median" in row[name] and "median" in row["absint"]]
        ratios = [row[name]["median"] / row["absint"]["median"] for row in both]
        for row in figures.values():
            for at, number in enumerate(row[name].get("graded") or (0, 0, 0)):
                dims[name][at] += number
        total, exact, wrong = dims[name]
        share = f"{100 * exact / total:.2f} % of {total}" if total else ""
        mean = statistics.geometric_mean(ratios) if ratios else 0
        extremes = (f"{min(ratios):.2f}", f"{max(ratios):.2f}") if ratios else ("", "")
        table.add_row(name, str(len(ratios)), f"{mean:.2f}", *extremes, share, str(wrong) if total else "")
    console.print(table)


def growth(console: Console, figures: Mapping[str, Mapping[str, Mapping[str, Any]]], engines: list[str]) -> None:
    """Time per node of the stacks of layers, as they grow."""
    stacks = [row for name, row in figures.items() if name.startswith("decoder_")]
    table = Table(title="growth", box=None)
    for column in ("engine", *(f"µs/node at {row['absint']['nodes']:,}" for row in stacks), "last to first"):
        table.add_column(column, justify="left" if column == "engine" else "right")
    for name in engines:
        each = [1e6 * row[name]["median"] / row["absint"]["nodes"] for row in stacks if "median" in row[name]]
        if len(each) == len(stacks):
            table.add_row(name, *(f"{time:.1f}" for time in each), f"{each[-1] / each[0]:.2f}")
    console.print(table)


if __name__ == "__main__":
    main()
