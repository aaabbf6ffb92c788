"""An interpreter of control flow that records what each visit of a graph, a body or a function computes.

Nodes without bodies run one at a time in onnxruntime, so the values inside branches and loops, which no session hands
out, can be held against the claims of an analysis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime as ort
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, helper, numpy_helper

from absint import Result
from absint.lattices.contents import replace_in
from absint.lattices.logic.relation import NO
from absint.solution.constraints import recorded
from tests.soundness.child import attempt, load
from tests.soundness.claims import Known, against, learn

MAX_SIZE: Final = 5_000
MAX_TRIPS: Final = 12


class DeadError(Exception):
    """The run fails, or this interpreter cannot follow it."""


class Unseen:
    """A value that depends on what a runtime prints for a loop without a trip."""


UNSEEN: Final = Unseen()
Env = dict[str, Any]


@dataclass
class Visit:
    """One visit of a graph: the values that it computes by name, and the visits of graphs inside."""

    path: str
    values: Env
    inner: list[Visit] = field(default_factory=list)

    @property
    def count(self) -> int:
        """This visit, and all inside it."""
        return 1 + sum(visit.count for visit in self.inner)


class Interpreter:
    """Runs nodes in scopes of concrete values."""

    def __init__(self, opset: int, functions: Sequence[FunctionProto] = ()) -> None:
        self.opset = opset
        self.functions = {f.name: f for f in functions}
        self._sessions: dict[bytes, ort.InferenceSession | None] = {}

    def graph(self, nodes: Sequence[NodeProto], env: Env, visit: Visit) -> None:
        """Run the nodes; `env` and the visit get their values. Raises DeadError."""
        for node in nodes:
            outputs = self.node(node, env, visit)
            for name, value in zip(node.output, outputs, strict=False):
                if name:
                    env[name] = visit.values[name] = value

    def node(self, node: NodeProto, env: Env, visit: Visit) -> list[Any]:
        """The outputs of a node. Raises DeadError."""
        if node.domain == "my":
            return self._call(node, env, visit)
        body = {"If": self._if, "Loop": self._loop, "Scan": self._scan}.get(node.op_type)
        return body(node, env, visit) if body else self._plain(node, env)

    def _enter(self, graph: GraphProto, name: str, env: Env, visit: Visit, given: Sequence[Any] = ()) -> list[Any]:
        path = f"{visit.path}/{name}" if visit.path else name
        inner = Visit(path, {})
        visit.inner.append(inner)
        mine = dict(env)
        for item, value in zip(graph.input, given, strict=True):
            mine[item.name] = inner.values[item.name] = value
        for tensor in graph.initializer:
            mine[tensor.name] = numpy_helper.to_array(tensor)
        self.graph(graph.node, mine, inner)
        return [mine[o.name] for o in graph.output]

    def _call(self, node: NodeProto, env: Env, visit: Visit) -> list[Any]:
        function = self.functions[node.op_type]
        inner = Visit(f"{visit.path}/{node.name}" if visit.path else node.name, {})
        visit.inner.append(inner)
        mine = {formal: env[actual] for formal, actual in zip(function.input, node.input, strict=False)}
        given = {a.name: a for a in function.attribute_proto} | {a.name: a for a in node.attribute}
        self.graph([bound(inside, given) for inside in function.node], mine, inner)
        inner.values.update({formal: mine[formal] for formal in function.input if formal in mine})
        return [mine[name] for name in function.output]

    def _if(self, node: NodeProto, env: Env, visit: Visit) -> list[Any]:
        test = _single(env[node.input[0]])
        name = "then_branch" if test else "else_branch"
        return self._enter(_graph(node, name), f"{node.name}/{name}", env, visit)

    def _loop(self, node: NodeProto, env: Env, visit: Visit) -> list[Any]:
        body = _graph(node, "body")
        most = _single(env[node.input[0]]) if node.input[0] else MAX_TRIPS + 1
        going = bool(_single(env[node.input[1]])) if len(node.input) > 1 and node.input[1] else True
        carried = [env[name] for name in node.input[2:]]
        scanned: list[list[Any]] = [[] for _ in range(len(node.output) - len(carried))]
        trip = 0
        while going and trip < most:
            if trip >= MAX_TRIPS:
                raise DeadError("too many trips")
            given = [np.array(trip), np.array(True), *carried]
            found = self._enter(body, f"{node.name}/body", env, visit, given)
            going, carried = bool(_single(found[0])), found[1 : 1 + len(carried)]
            for rows, value in zip(scanned, found[1 + len(carried) :], strict=True):
                rows.append(value)
            trip += 1
        return [*carried, *(_stacked(rows, 0) for rows in scanned)]

    def _scan(self, node: NodeProto, env: Env, visit: Visit) -> list[Any]:
        body = _graph(node, "body")
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        count = attributes["num_scan_inputs"]
        states = [env[name] for name in node.input[:-count]]
        inputs = [env[name] for name in node.input[-count:]]
        if any(isinstance(value, Unseen) for value in [*states, *inputs]):
            raise DeadError("unseen")
        axes = attributes.get("scan_input_axes", [0] * count)
        backwards = attributes.get("scan_input_directions", [0] * count)
        lengths = {value.shape[axis] for value, axis in zip(inputs, axes, strict=True)}
        if len(lengths) != 1 or 0 in lengths or max(lengths) > MAX_TRIPS:
            raise DeadError("lengths")
        length = lengths.pop()
        outs = len(node.output) - len(states)
        scanned: list[list[Any]] = [[] for _ in range(outs)]
        for trip in range(length):
            slices = [
                np.take(value, length - 1 - trip if back else trip, axis)
                for value, axis, back in zip(inputs, axes, backwards, strict=True)
            ]
            found = self._enter(body, f"{node.name}/body", env, visit, [*states, *slices])
            states = found[: len(states)]
            for rows, value in zip(scanned, found[len(states) :], strict=True):
                rows.append(value)
        turned = attributes.get("scan_output_directions", [0] * outs)
        at = attributes.get("scan_output_axes", [0] * outs)
        return [
            *states,
            *(_stacked(rows[::-1] if t else rows, a) for rows, t, a in zip(scanned, turned, at, strict=True)),
        ]

    def _plain(self, node: NodeProto, env: Env) -> list[Any]:
        values = [env[name] if name else None for name in node.input]
        if any(isinstance(value, Unseen) for value in values):
            return [UNSEEN] * len(node.output)
        if _is_large(node, values):
            raise DeadError("large")
        if _ends_the_process(node, values):
            raise DeadError("an integer division that no integer is the result of")
        session = self._session(node, values)
        if session is None:
            raise DeadError(f"{node.op_type} does not load")
        try:
            found = session.run(None, {f"i{at}": v for at, v in enumerate(values) if v is not None})
        except Exception as error:
            raise DeadError(str(error)) from error
        if any(isinstance(value, np.ndarray) and value.size > MAX_SIZE for value in found):
            raise DeadError("large")
        return list(found)

    def _session(self, node: NodeProto, values: Sequence[Any]) -> ort.InferenceSession | None:
        plain = NodeProto()
        plain.CopyFrom(node)
        plain.name = ""
        plain.input[:] = [f"i{at}" if name else "" for at, name in enumerate(node.input)]
        plain.output[:] = [f"o{at}" for at in range(len(node.output))]
        kinds = [
            helper.make_tensor_value_info(f"i{at}", helper.np_dtype_to_tensor_dtype(v.dtype), None)
            for at, v in enumerate(values)
            if v is not None
        ]
        key = plain.SerializeToString() + b"".join(k.SerializeToString() for k in kinds)
        if key not in self._sessions:
            outputs = [onnx.ValueInfoProto(name=name) for name in plain.output]
            graph = helper.make_graph([plain], "one", kinds, outputs)
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
            loaded = attempt(lambda: load(model.SerializeToString()))
            self._sessions[key] = loaded[1] if loaded[0] else None
        return self._sessions[key]


def _single(value: Any) -> Any:
    if isinstance(value, Unseen):
        raise DeadError("unseen")
    if value.size != 1:
        raise DeadError("no single value")
    return value.ravel()[0].item()


def _graph(node: NodeProto, name: str) -> GraphProto:
    return next(a.g for a in node.attribute if a.name == name)


def _stacked(rows: Sequence[Any], axis: int) -> Any:
    if not rows or any(isinstance(row, Unseen) for row in rows):
        return UNSEEN
    if len({row.shape for row in rows}) > 1:
        raise DeadError("rows differ")
    return np.stack(rows, axis)


def bound(node: NodeProto, given: Mapping[str, AttributeProto]) -> NodeProto:
    """The node of a function with the attributes of the call."""
    found = NodeProto()
    found.CopyFrom(node)
    del found.attribute[:]
    for attribute in node.attribute:
        made = AttributeProto()
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in given:
                continue
            made.CopyFrom(given[attribute.ref_attr_name])
            made.name = attribute.name
        else:
            made.CopyFrom(attribute)
            if attribute.type == AttributeProto.GRAPH:
                inner = [bound(inside, given) for inside in attribute.g.node]
                del made.g.node[:]
                made.g.node.extend(inner)
        found.attribute.append(made)
    return found


def _ends_the_process(node: NodeProto, values: Sequence[Any]) -> bool:
    """onnxruntime leaves integer division to the processor, which ends the process where there is no result."""
    if node.op_type not in ("Div", "Mod") or values[1].dtype.kind not in "iu":
        return False
    number, by = values
    is_least = number.dtype.kind == "i" and bool(np.any(number == np.iinfo(number.dtype).min))
    return bool(np.any(by == 0)) or (is_least and bool(np.any(by == -1)))


def _is_large(node: NodeProto, values: Sequence[Any]) -> bool:
    at = {"Expand": 1, "Tile": 1, "ConstantOfShape": 0}.get(node.op_type)
    if at is not None:
        return bool(np.prod(np.maximum(np.abs(values[at].astype(float)), 1)) * (values[0].size + 1) > 20 * MAX_SIZE)
    if node.op_type == "Range":
        return any(v.size != 1 for v in values) or bool(abs(values[1].ravel()[0] - values[0].ravel()[0]) > MAX_SIZE)
    return False


def wrong(result: Result, visit: Visit, known: Known) -> Iterator[str]:
    """Every claim that a visit, or one inside it, contradicts. `known` holds the numbers of the symbols around it."""
    mine = dict(known)
    if visit.path and visit.path not in result.paths:
        yield f"{visit.path}: visited, and there is no such path"
        return
    claimed = result.at(visit.path) if visit.path else result
    seen = {name: value for name, value in visit.values.items() if not isinstance(value, Unseen)}
    for name, actual in seen.items():
        yield from learn(f"{visit.path}: {name}", claimed[name], actual, mine)
    for name, actual in seen.items():
        yield from against(f"{visit.path}: {name}", claimed[name], actual, mine)
    for constraint in recorded(result).every:
        if constraint.origin.path == visit.path:
            relation = replace_in(constraint.formula, result.names)
            if relation.at(mine) is NO:  # type: ignore[arg-type]
                yield f"{constraint.origin} runs, but {constraint.role}: {relation} ({constraint.reason}), at {mine}"
    for inner in visit.inner:
        yield from wrong(result, inner, mine)
