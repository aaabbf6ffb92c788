"""Nodes where no run gets, legal ones and others: does absint say "does not load" where onnxruntime does not load?

    python -m tests.jobs.load_hunt --seconds 60 --seed 0 [--operator NAME]

Random nodes stand in a branch that is never taken, in a body without a trip, in a function that is called there. A
model that onnxruntime loads and absint refuses is a fault, and the exit code 1. Models that onnxruntime alone refuses
are counted by its reason. Without `--operator`, the nodes are of ONNX's main domain.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

import numpy as np
import onnx
import onnxruntime
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

import absint
from absint.errors import ModelError
from absint.runs.process import Process, ProcessError
from absint.solution.loading import LoadError, load_errors
from tests.soundness.node_schemas import Operator, operators
from tests.soundness.random_nodes import draft, named

_LOADER: Final = Process("tests.jobs.load_hunt:loaded", subject="onnxruntime")

BOOL, FLOAT, INT64 = TensorProto.BOOL, TensorProto.FLOAT, TensorProto.INT64


def scalar(name: str, kind: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, [])


def nothing(name: str) -> NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.float32(0)))


def choice(inner: Sequence[NodeProto], condition: str, out: str) -> NodeProto:
    """An If whose first branch holds the nodes."""
    taken = helper.make_graph([*inner, nothing(f"{out}_1")], "then", [], [scalar(f"{out}_1", FLOAT)])
    other = helper.make_graph([nothing(f"{out}_2")], "else", [], [scalar(f"{out}_2", FLOAT)])
    return helper.make_node("If", [condition], [out], then_branch=taken, else_branch=other)


def in_branch(model: ModelProto) -> None:
    model.graph.node.add().CopyFrom(choice(_taken(model.graph), "never", "out"))


def in_nested_branches(model: ModelProto) -> None:
    inner = choice(_taken(model.graph), "asked", "inner")
    model.graph.input.append(scalar("asked", BOOL))
    model.graph.node.add().CopyFrom(choice([inner], "never", "out"))


def in_open_branch(model: ModelProto) -> None:
    model.graph.input.append(scalar("asked", BOOL))
    model.graph.node.add().CopyFrom(choice(_taken(model.graph), "asked", "out"))


def in_loop(model: ModelProto) -> None:
    nodes = _taken(model.graph)
    inputs = [scalar("trip", INT64), scalar("going", BOOL)]
    body = helper.make_graph(
        [*nodes, helper.make_node("Identity", ["going"], ["still"]), nothing("slice")],
        "body",
        inputs,
        [scalar("still", BOOL), scalar("slice", FLOAT)],
    )
    model.graph.node.add().CopyFrom(helper.make_node("Loop", ["none", ""], ["out"], body=body))


def in_scan(model: ModelProto) -> None:
    nodes = _taken(model.graph)
    body = helper.make_graph(
        [*nodes, helper.make_node("Identity", ["row"], ["slice"])],
        "body",
        [scalar("row", FLOAT)],
        [scalar("slice", FLOAT)],
    )
    model.graph.node.add().CopyFrom(helper.make_node("Scan", ["empty"], ["out"], body=body, num_scan_inputs=1))


def in_function(model: ModelProto) -> None:
    """A function that the branch calls; it gets the inputs and the constants of the node."""
    graph = model.graph
    nodes = _taken(graph)
    given = [*(info.name for info in graph.input), *(tensor.name for tensor in graph.initializer[3:])]
    function = helper.make_function(
        "local", "F", [f"f_{n}" for n in given], ["last"], [*nodes, nothing("last")], list(model.opset_import)
    )
    for node in function.node:
        for names in (node.input, node.output):
            names[:] = [f"f_{n}" if n in given else n for n in names]
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("local", 1))
    call = helper.make_node("F", given, ["called"], domain="local")
    graph.node.add().CopyFrom(choice([call], "never", "out"))


PLACES: Final[Mapping[str, Callable[[ModelProto], None]]] = {
    "branch": in_branch,
    "nested branches": in_nested_branches,
    "open branch": in_open_branch,
    "loop": in_loop,
    "scan": in_scan,
    "function": in_function,
}


def _taken(graph: GraphProto) -> list[NodeProto]:
    """The nodes of a graph, which loses them."""
    copy = GraphProto()
    copy.CopyFrom(graph)
    del graph.node[:]
    return list(copy.node)


def placed(model: ModelProto, place: str) -> ModelProto:
    """The nodes of the model where no run gets."""
    made = ModelProto()
    made.CopyFrom(model)
    constants = [
        numpy_helper.from_array(np.array(False), "never"),
        numpy_helper.from_array(np.array(0), "none"),
        numpy_helper.from_array(np.zeros(0, np.float32), "empty"),
    ]
    tensors = [*constants, *model.graph.initializer]
    del made.graph.initializer[:]
    made.graph.initializer.extend(tensors)
    PLACES[place](made)
    del made.graph.output[:]
    made.graph.output.add(name="out")
    return made


def refusal(model: ModelProto) -> str:
    """The reason why onnxruntime does not load the model; empty if it does."""
    try:
        return cast(str, _LOADER.ask(model.SerializeToString(), 60))
    except ProcessError as error:
        return str(error)


def loaded(content: object) -> str:
    """In a process of its own, which a model may end: why onnxruntime does not load these bytes."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(cast(bytes, content), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return " ".join(str(error).split()) or "no reason"
    return ""


def drafted(seed: int, only: Sequence[Operator] = ()) -> tuple[str, ModelProto] | None:
    """A random node of a random kind, and where it stands."""
    try:
        found = draft(seed, only)
        place = random.Random(seed).choice(list(PLACES))
        return f"{found} in {place}", placed(found.model(), place)
    except (LookupError, ValueError, TypeError):
        return None


def errors(model: ModelProto, semantics: absint.Semantics = "onnxruntime") -> tuple[LoadError, ...]:
    return load_errors(absint.analyze(model, semantics=semantics))


def kind(reason: str) -> str:
    """The last part of a reason, without names and numbers."""
    last = re.split(r"\(op_type:|Op \(|Error ", reason)[-1]
    return re.sub(r"\d+", "#", last)[:90]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--operator", action="append", default=[])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    only = named(args.operator) or [item for item in operators() if not item[0]]
    total, missed, wrong = Counter[str](), Counter[str](), 0
    first: dict[str, str] = {}
    drafted(args.seed)  # what the nodes are made from is read before the time runs
    seed, end = args.seed, time.monotonic() + args.seconds
    while time.monotonic() < end:
        seed += 1
        found = drafted(seed, only)
        if found is None:
            continue
        name, model = found
        reason = refusal(model)
        try:
            said = errors(model)
        except ModelError:
            continue
        total["models"] += 1
        total["not loaded"] += bool(reason)
        total["refused"] += bool(said)
        if said and not reason:
            wrong += 1
            print(f"WRONG seed {seed}: {name} loads, absint says {said[0].reason}", flush=True)
        elif reason and not said:
            key = kind(reason)
            missed[key] += 1
            first.setdefault(key, f"seed {seed}: {name}")
    print(dict(total), "wrong:", wrong)
    print("refused by onnxruntime alone:")
    print(*(f"{times:4} {key} ({first[key]})" for key, times in missed.most_common()), sep="\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
