"""Random programs over scalar integers, with branches and loops in each other."""

from __future__ import annotations

import random

import onnx
from onnx import NodeProto, TensorProto, helper

Graph = tuple[list[NodeProto], list[str]]

ARITHMETIC = ("Add", "Sub", "Min", "Max", "Neg", "Identity", "Abs")
COMPARISONS = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")


class Programs:
    """One random program; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def model(self) -> onnx.ModelProto:
        """A model with the inputs `x` and `y`, and some outputs."""
        nodes: list[NodeProto] = []
        known = ["x", "y"]
        for _ in range(self.random.randint(3, 6)):
            self.statement(nodes, known, 2)
        outputs = known[-3:]
        graph = helper.make_graph(
            [*nodes, *(helper.make_node("Identity", [name], [f"out{k}"]) for k, name in enumerate(outputs))],
            "g",
            [helper.make_tensor_value_info(name, TensorProto.INT64, []) for name in ("x", "y")],
            [helper.make_tensor_value_info(f"out{k}", TensorProto.INT64, []) for k in range(len(outputs))],
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.checker.check_model(made)
        return made

    def name(self, what: str) -> str:
        self.count += 1
        return f"{what}{self.count}"

    def statement(self, nodes: list[NodeProto], known: list[str], depth: int) -> None:
        """Add nodes, and what they compute to what is known."""
        pick = self.random.random()
        if depth and pick < 0.25:
            known += self.branch(nodes, known, depth)
        elif depth and pick < 0.5:
            known += self.loop(nodes, known, depth)
        else:
            known.append(self.number(nodes, known))

    def constant(self, nodes: list[NodeProto], value: int | None = None) -> str:
        name = self.name("c")
        number = self.random.randint(-4, 6) if value is None else value
        nodes.append(helper.make_node("Constant", [], [name], value_int=number))
        return name

    def operand(self, nodes: list[NodeProto], known: list[str]) -> str:
        return self.constant(nodes) if self.random.random() < 0.35 else self.random.choice(known)

    def number(self, nodes: list[NodeProto], known: list[str]) -> str:
        kind = self.random.choice(ARITHMETIC)
        inputs = [self.operand(nodes, known) for _ in range(1 if kind in ("Neg", "Identity", "Abs") else 2)]
        name = self.name("n")
        nodes.append(helper.make_node(kind, inputs, [name]))
        return name

    def condition(self, nodes: list[NodeProto], known: list[str], depth: int = 2) -> str:
        name, pick = self.name("b"), self.random.random()
        if depth and pick < 0.2:
            nodes.append(helper.make_node("Not", [self.condition(nodes, known, depth - 1)], [name]))
        elif depth and pick < 0.45:
            parts = [self.condition(nodes, known, depth - 1) for _ in range(2)]
            nodes.append(helper.make_node(self.random.choice(["And", "Or"]), parts, [name]))
        else:
            pair = [self.operand(nodes, known) for _ in range(2)]
            nodes.append(helper.make_node(self.random.choice(COMPARISONS), pair, [name]))
        return name

    def body(self, known: list[str], depth: int, results: int) -> Graph:
        nodes: list[NodeProto] = []
        inside = list(known)
        for _ in range(self.random.randint(1, 3)):
            self.statement(nodes, inside, depth - 1)
        found = [inside[-1], *(self.random.choice(inside) for _ in range(results - 1))]
        return nodes, found

    def branch(self, nodes: list[NodeProto], known: list[str], depth: int) -> list[str]:
        condition = self.condition(nodes, known)
        count = self.random.randint(1, 2)
        graphs = {}
        for branch in ("then_branch", "else_branch"):
            inner, results = self.body(known, depth, count)
            outputs = []
            for result in results:
                outputs.append(self.name("r"))
                inner.append(helper.make_node("Identity", [result], [outputs[-1]]))
            if self.random.random() < 0.5 and not set(results) & set(known):
                inner, outputs = inner[: -len(outputs)], results
                if len(set(outputs)) < len(outputs):
                    inner.append(helper.make_node("Identity", [outputs[-1]], [self.name("r")]))
                    outputs = [*outputs[:-1], inner[-1].output[0]]
            infos = [helper.make_tensor_value_info(name, TensorProto.INT64, []) for name in outputs]
            graphs[branch] = helper.make_graph(inner, branch, [], infos)
        names = [self.name("i") for _ in range(count)]
        nodes.append(helper.make_node("If", [condition], names, **graphs))
        return names

    def loop(self, nodes: list[NodeProto], known: list[str], depth: int) -> list[str]:
        """A loop of few trips: by a limit M, by a condition that counts, or by both."""
        count = self.random.randint(1, 2)
        by_limit = self.random.random() < 0.7
        limit = ""
        if by_limit:
            limit = self.name("m")
            pair = [self.constant(nodes, self.random.randint(0, 4)), self.random.choice(known)]
            nodes.append(helper.make_node("Min", pair, [limit]))
        first = "" if by_limit and self.random.random() < 0.4 else self.condition(nodes, known)
        starts = [self.random.choice(known) for _ in range(count)]
        zero = self.constant(nodes, 0)
        trip, going, counter = self.name("t"), self.name("g"), self.name("k")
        carried = [self.name("p") for _ in range(count)]
        inner, results = self.body([*known, trip, counter, *carried], depth, count + 1)
        again, next_counter = self.name("a"), self.name("k")
        one = self.constant(inner, 1)
        inner.append(helper.make_node("Add", [counter, one], [next_counter]))
        few = self.name("f")
        most = self.constant(inner, self.random.randint(1, 4))
        inner.append(helper.make_node("Less", [next_counter, most], [few]))
        if self.random.random() < 0.5:
            own = self.condition(inner, [*results, *carried, next_counter])
            inner.append(helper.make_node("And", [few, own], [again]))
        else:
            inner.append(helper.make_node("Identity", [few], [again]))
        outputs = []
        for result in results:
            outputs.append(self.name("q"))
            inner.append(helper.make_node("Identity", [result], [outputs[-1]]))
        *backs, seen = outputs
        numbers = [trip, counter, *carried]
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, []) for name in numbers]
        inputs.insert(1, helper.make_tensor_value_info(going, TensorProto.BOOL, []))
        infos = [helper.make_tensor_value_info(again, TensorProto.BOOL, [])]
        results_of_body = [next_counter, *backs, seen]
        infos += [helper.make_tensor_value_info(name, TensorProto.INT64, []) for name in results_of_body]
        body = helper.make_graph(inner, "body", inputs, infos)
        finals = [self.name("l") for _ in range(count + 1)]
        scanned, last = self.name("s"), self.name("w")
        nodes.append(helper.make_node("Loop", [limit, first, zero, *starts], [*finals, scanned], body=body))
        nodes.append(helper.make_node("ReduceSum", [scanned], [last], keepdims=0))
        return [*finals, last]
