"""A run taken apart: nodes one by one, branches as they are taken, bodies trip by trip, and bytes counted on arrays.

It shares nothing with the analysis: it reads the ONNX graph, and keeps a table of what is in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import AttributeProto, GraphProto, NodeProto, helper, numpy_helper

from tests.absint.questions.costs.arithmetic import arithmetic

VIEWS = ("Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")
ALWAYS = 1 << 60
"""After the last node."""

Values = dict[str, Any]


@dataclass
class Played:
    """The outputs of a graph, and its cost; the peak excludes memory that was in use before."""

    outputs: list[Any]
    peak: int = 0
    macs: int = 0
    flops: int = 0
    moved: int = 0
    runs: dict[str, int] = field(default_factory=dict)

    def add(self, other: Played) -> None:
        self.macs += other.macs
        self.flops += other.flops
        self.moved += other.moved
        for name, count in other.runs.items():
            self.runs[name] = self.runs.get(name, 0) + count


class Player:
    """Runs the graphs of one model. `inputs` and `views` are the policies for graph inputs and for views."""

    def __init__(self, model: onnx.ModelProto, *, inputs: str = "freed", views: str = "copied") -> None:
        self.model = model
        self.inputs = inputs
        self.views = views
        self._sessions: dict[object, ort.InferenceSession] = {}

    def play(self, feeds: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> Played:
        """Run the main graph. `values` are those of its nodes, if another run has shown them."""
        return self._graph(self.model.graph, {}, dict(feeds), values or {}, main=True)

    def _graph(self, graph: GraphProto, outer: Values, given: Values, shown: Mapping[str, Any], main: bool) -> Played:
        scope = {**outer, **given}
        parameters = {tensor.name for tensor in graph.initializer}
        scope.update((tensor.name, numpy_helper.to_array(tensor)) for tensor in graph.initializer)
        parameters |= {name for node in graph.node if node.op_type == "Constant" for name in node.output}
        roots = self._roots(graph, set(given) | parameters) if self.views == "shared" else {}
        last = self._last_uses(graph, roots)
        played = Played([])
        live: dict[str, int] = {}

        def come(name: str, size: int | None = None) -> None:
            root = roots.get(name, name)
            apart = main and self.inputs == "apart" and name in given
            if root == name and name not in parameters and not apart:
                live[name] = nbytes(scope[name]) if size is None else size

        def pass_by(step: int) -> None:
            for name in [name for name in live if last.get(name, -1) <= step]:
                if not (main and self.inputs == "kept" and name in given):
                    del live[name]

        for name in given:
            come(name)
        played.peak = sum(live.values())
        pass_by(-1)
        for step, node in enumerate(graph.node):
            if node.op_type == "Constant":
                scope[node.output[0]] = self._run(node, scope)[0]
                continue
            names = [name for name in node.output if name]
            known = [shown[name] for name in names] if all(name in shown for name in names) else None
            bodies = self._bodies(node, scope, sum(live.values()), known)
            if bodies is None:
                results = self._run(node, scope) if known is None else known
                self._account(played, node, scope, results)
            else:
                results = bodies.outputs if known is None else known
                played.add(bodies)
                played.peak = max(played.peak, bodies.peak)
            scope.update(zip((name for name in node.output if name), results, strict=True))
            for name in node.output:
                if name:
                    come(name)
            played.peak = max(played.peak, sum(live.values()))
            pass_by(step)
        played.outputs = [scope[info.name] for info in graph.output]
        return played

    def _account(self, played: Played, node: NodeProto, scope: Values, results: Sequence[Any]) -> None:
        played.moved += sum(map(nbytes, results))
        if node.op_type not in ("Shape", "Size"):
            played.moved += sum(nbytes(scope[name]) for name in dict.fromkeys(node.input) if name)
        macs, flops = arithmetic(node, [scope[name] if name else None for name in node.input], results)
        played.macs += macs
        played.flops += flops
        played.runs[node.name] = played.runs.get(node.name, 0) + 1

    def _roots(self, graph: GraphProto, own: set[str]) -> dict[str, str]:
        """Views -> the value whose memory they share: one of the same graph."""
        own = own | {name for node in graph.node for name in node.output}
        roots: dict[str, str] = {}
        for node in graph.node:
            if node.op_type in VIEWS and node.domain in ("", "ai.onnx") and node.input[0] in own:
                roots[node.output[0]] = roots.get(node.input[0], node.input[0])
        return roots

    def _last_uses(self, graph: GraphProto, roots: Mapping[str, str]) -> dict[str, int]:
        last: dict[str, int] = {}
        for step, node in enumerate(graph.node):
            for name in (*node.input, *captured(node)):
                last[roots.get(name, name)] = step
            for name in node.output:
                last[roots.get(name, name)] = max(last.get(roots.get(name, name), 0), step)
        last.update((roots.get(info.name, info.name), ALWAYS) for info in graph.output)
        return last

    # Control flow

    def _bodies(self, node: NodeProto, scope: Values, around: int, known: list[Any] | None) -> Played | None:
        graphs = {a.name: a.g for a in node.attribute if a.type == AttributeProto.GRAPH}
        operands = [scope[name] if name else None for name in node.input]
        if node.op_type == "If":
            branch = graphs["then_branch" if bool(operands[0].ravel()[0]) else "else_branch"]
            played = self._graph(branch, scope, {}, {}, main=False)
            played.peak += around
            return played
        if node.op_type == "Loop":
            return self._loop(graphs["body"], operands, scope, around, known)
        if node.op_type == "Scan":
            return self._scan(node, graphs["body"], operands, scope, around)
        if node.op_type == "SequenceMap":
            return self._map(graphs["body"], operands, scope, around)
        return None

    def _loop(
        self, body: GraphProto, operands: list[Any], scope: Values, around: int, known: list[Any] | None
    ) -> Played:
        most = ALWAYS if operands[0] is None else int(operands[0].ravel()[0])
        going = operands[1] is None or bool(operands[1].ravel()[0])
        carried = operands[2:]
        gathered: list[list[Any]] = [[] for _ in body.output[len(carried) + 1 :]]
        whole, trip = Played([]), 0
        while going and trip < most:
            inputs = [np.array(trip, np.int64), np.array(True), *carried]
            once = self._graph(
                body, scope, dict(zip((i.name for i in body.input), inputs, strict=True)), {}, main=False
            )
            going, carried = bool(once.outputs[0].ravel()[0]), once.outputs[1 : 1 + len(carried)]
            for rows, value in zip(gathered, once.outputs[1 + len(carried) :], strict=True):
                rows.append(value)
            whole.add(once)
            whole.peak = max(whole.peak, once.peak)
            trip += 1
        scans = known[len(carried) :] if known else [np.stack(rows) if rows else np.zeros(0) for rows in gathered]
        return self._gathered(whole, carried, scans, around, trip)

    def _scan(self, node: NodeProto, body: GraphProto, operands: list[Any], scope: Values, around: int) -> Played:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        count = attributes["num_scan_inputs"]
        carried, sliced = operands[:-count], operands[-count:]
        into = attributes.get("scan_input_axes", [0] * count)
        out = attributes.get("scan_output_axes", [0] * (len(body.output) - len(carried)))
        gathered: list[list[Any]] = [[] for _ in out]
        whole, trips = Played([]), sliced[0].shape[into[0]]
        for trip in range(trips):
            inputs = [*carried, *(np.asarray(array.take(trip, axis)) for array, axis in zip(sliced, into, strict=True))]
            once = self._graph(
                body, scope, dict(zip((i.name for i in body.input), inputs, strict=True)), {}, main=False
            )
            carried = once.outputs[: len(carried)]
            for rows, value in zip(gathered, once.outputs[len(carried) :], strict=True):
                rows.append(value)
            whole.add(once)
            whole.peak = max(whole.peak, once.peak)
        scans = [np.stack(rows, axis) for rows, axis in zip(gathered, out, strict=True)]
        return self._gathered(whole, carried, scans, around, trips)

    def _map(self, body: GraphProto, operands: list[Any], scope: Values, around: int) -> Played:
        gathered: list[list[Any]] = [[] for _ in body.output]
        whole = Played([])
        for trip in range(len(operands[0])):
            inputs = [np.asarray(value[trip]) if isinstance(value, list) else value for value in operands]
            once = self._graph(
                body, scope, dict(zip((i.name for i in body.input), inputs, strict=True)), {}, main=False
            )
            for items, value in zip(gathered, once.outputs, strict=True):
                items.append(value)
            whole.add(once)
            whole.peak = max(whole.peak, once.peak)
        return self._gathered(whole, [], gathered, around, len(operands[0]))

    def _gathered(self, whole: Played, carried: list[Any], scans: list[Any], around: int, trips: int) -> Played:
        room = sum(map(nbytes, scans))
        whole.peak = around + room + whole.peak if trips else 0
        whole.outputs = [*carried, *scans]
        return whole

    # Single nodes

    def _run(self, node: NodeProto, scope: Values) -> list[Any]:
        feeds = {name: scope[name] for name in node.input if name}
        kinds = tuple((name, str(_type(value))) for name, value in feeds.items())
        key = (node.SerializeToString(), kinds)
        if key not in self._sessions:
            infos = [helper.make_value_info(name, _type(value)) for name, value in feeds.items()]
            outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
            graph = helper.make_graph([node], "one", infos, outputs)
            model = helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)
            options = ort.SessionOptions()
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.log_severity_level = 4
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            self._sessions[key] = ort.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        found: list[Any] = self._sessions[key].run(None, feeds)
        return found


def _type(value: Any) -> onnx.TypeProto:
    if isinstance(value, list):
        element = np.asarray(value[0]) if value else np.zeros(0, np.float32)
        return helper.make_sequence_type_proto(
            helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(element.dtype), None)
        )
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim)


def captured(node: NodeProto) -> set[str]:
    """Names that the bodies of a node read from outside."""
    found: set[str] = set()
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            inside = {i.name for i in attribute.g.input} | {t.name for t in attribute.g.initializer}
            inside |= {name for inner in attribute.g.node for name in inner.output}
            for inner in attribute.g.node:
                found |= (set(inner.input) | captured(inner)) - inside
            found |= {info.name for info in attribute.g.output} - inside
    return found


def nbytes(value: Any) -> int:
    """Strings and maps have no fixed size and count nothing."""
    if isinstance(value, (list, tuple)):
        return sum(map(nbytes, value))
    return 0 if isinstance(value, dict) or value.dtype.kind in "OUS" else int(value.nbytes)
