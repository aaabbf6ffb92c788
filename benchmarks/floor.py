"""Where the time goes, per node, and what any analysis in Python has to spend.

    python benchmarks/floor.py MODEL [MODEL ...]

Each line is one step alone, the best of several passes over all nodes: first what a reader of a model in Python cannot
do without (protobuf messages into names and attribute bytes, an object and names for each node, one lookup of what is
known), then the phases of absint on a model that it has to infer, and on one that it remembers, then onnx's C++.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import onnx
from rich.console import Console
from rich.table import Table

import absint
from absint.program.nodes import Node, Path as Place

sys.path.insert(0, str(Path(__file__).parent))

from engines import load

RUNS = 9


def best(work: Callable[[], object], runs: int = RUNS) -> float:
    """Seconds of the fastest pass."""
    found = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        work()
        found = min(found, time.perf_counter() - start)
    return found


def operators(nodes: Iterable[onnx.NodeProto]) -> None:
    """Operator, domain and name of each node."""
    for node in nodes:
        _ = node.op_type, node.domain, node.name


def ends(nodes: Iterable[onnx.NodeProto]) -> None:
    """The names that each node reads and writes."""
    for node in nodes:
        _ = node.input[:], node.output[:]


def attributes(nodes: Iterable[onnx.NodeProto]) -> None:
    """The bytes of each attribute, by which equal ones are known."""
    for node in nodes:
        for attribute in node.attribute:
            _ = attribute.type, attribute.SerializeToString()


def objects(read: Iterable[tuple[str, list[str], list[str]]]) -> list[Node]:
    """One object for each node, its operands by number, its outputs by name."""
    place, names, found = Place(), {}, []
    for name, inputs, outputs in read:
        operands = []
        with suppress(KeyError):
            operands = list(map(names.__getitem__, inputs))
        found.append(Node(name, place, operands, tuple(outputs), -1))
        for index, output in enumerate(outputs):
            names[output] = (len(found) - 1, index)
    return found


def lookups(nodes: Iterable[Node], states: list[tuple[int, ...]]) -> None:
    """The states of the operands of each node, as the key of one lookup."""
    known: dict[tuple[int, ...], int] = {}
    for node in nodes:
        known.get(tuple([states[producer][0] for producer, _ in node.operands]))


def steps(model: onnx.ModelProto) -> dict[str, float]:
    """Seconds of each step."""
    nodes = model.graph.node
    read = [(node.name, list(node.input), list(node.output)) for node in nodes]
    made = objects(read)
    states = [(number,) for number in range(len(made))]
    found = {
        "read: operator, domain, name": best(lambda: operators(nodes)),
        "read: inputs, outputs": best(lambda: ends(nodes)),
        "read: bytes of attributes": best(lambda: attributes(nodes)),
        "an object and its names": best(lambda: objects(read)),
        "one lookup": best(lambda: lookups(made, states)),
    }
    found["floor"] = sum(found.values())
    for label, forget in (("inferred", True), ("remembered", False)):
        times = [phases(model, forget) for _ in range(RUNS)]
        chosen = min(times, key=lambda phase: phase["all"])
        found |= {f"absint, {label}: {name}": seconds for name, seconds in chosen.items()}
    clean = copy.deepcopy(model)
    found["onnx"] = best(lambda: onnx.shape_inference.infer_shapes(clean, data_prop=True))
    return found


def phases(model: onnx.ModelProto, forget: bool) -> dict[str, float]:
    """Seconds of the phases of one analysis."""
    if forget:
        absint.purge()
    timings = absint.Timings()
    start = time.perf_counter()
    absint.analyze(model, timings=timings)
    total = time.perf_counter() - start
    rules = sum(tally.seconds for tally in timings.rules.values())
    found = {name: timings.phases[name].seconds for name in ("lower", "fixpoint", "rounds")}
    return {
        "lowering": found["lower"],
        "rules": rules,
        "visits of nodes": found["fixpoint"] - rules,
        "between rounds": found["rounds"] - found["fixpoint"],
        "all": total,
    }


def main() -> None:
    """Show a table of microseconds per node."""
    paths = [Path(text) for text in sys.argv[1:]]
    if not paths:
        sys.exit(__doc__)
    models = {path.stem: load(str(path)) for path in paths}
    table = Table(title="µs per node", box=None)
    table.add_column("step")
    found = {}
    for name, model in models.items():
        absint.analyze(model)
        found[name] = steps(model)
        table.add_column(f"{name} ({len(model.graph.node):,})", justify="right")
    for step in next(iter(found.values())):
        table.add_row(step, *(f"{1e6 * found[n][step] / len(m.graph.node):.2f}" for n, m in models.items()))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
