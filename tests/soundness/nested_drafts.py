"""Random models of nested branches, loops, scans and functions, whose bodies read values around them.

A block grows as it runs: each statement is interpreted at every binding, and dropped if it hardly ever runs. Names
repeat in bodies side by side and in functions, where they mean other values.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import onnx
from onnx import AttributeProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tests.soundness.visits import DeadError, Env, Interpreter, Visit

KINDS: Final = {"x": TensorProto.FLOAT, "v": TensorProto.INT64, "n": TensorProto.INT64, "b": TensorProto.BOOL}
"""Floats of any rank, integer vectors, integer scalars, boolean scalars."""

DIMS: Final[tuple[str | int | None, ...]] = ("N", "N", "M", "K", 1, 2, 3, None, "N + 1", "2*M", "N + M")
MAX_DEPTH: Final = 3
HUGE: Final = (1 << 63) - 1


@dataclass
class Block:
    """The nodes of one graph as they grow. `envs` hold all values that it can see, at each binding."""

    depth: int
    envs: list[Env]
    kinds: dict[str, str]
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    fresh: int = 0
    prefix: str = "t"
    own: list[str] = field(default_factory=list)
    attributes: dict[str, int] = field(default_factory=dict)
    """Integer attributes of the function around it."""

    def name(self) -> str:
        self.fresh += 1
        return f"{self.prefix}{self.depth}_{self.fresh}"


Made = tuple[list[NodeProto], list[str]]
"""Nodes, and the kinds of the last one's outputs."""


class Statements:
    """Statements of one random model. `Bodies` adds those with graphs inside, and calls."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.opset = self.random.choice((13, 16, 18, 21))
        self.functions: list[onnx.FunctionProto] = []
        self.signatures: dict[str, tuple[list[str], list[str], list[str]]] = {}
        """Kinds of the inputs and outputs of each function, and its attributes."""
        self.runner = Interpreter(self.opset)
        self.inputs: list[ValueInfoProto] = []
        self.named = 0

    # Statements

    def fill(self, block: Block, count: int) -> None:
        """Add statements that run."""
        tries = 0
        goal = len(block.nodes) + count
        while len(block.nodes) < goal and tries < 4 * count:
            tries += 1
            made = self.statement(block)
            if made is not None:
                self.try_nodes(block, *made)

    def try_nodes(self, block: Block, nodes: Sequence[NodeProto], kinds: Sequence[str]) -> bool:
        """Run the nodes at every binding; keep them if most runs go on. `kinds` are those of the last one's outputs."""
        results: list[Env | None] = []
        for env in block.envs:
            mine = dict(env)
            try:
                self.runner.graph(nodes, mine, Visit("", {}))
            except (DeadError, KeyError, IndexError, ValueError, StopIteration):
                results.append(None)
                continue
            results.append(mine)
        alive = [r for r in results if r is not None]
        if not alive or (2 * len(alive) < len(results) and self.random.random() < 0.8):
            return False
        block.envs = alive
        block.nodes += nodes
        for name, kind in zip(nodes[-1].output, kinds, strict=False):
            block.kinds[name] = kind
            block.own.append(name)
        return True

    def pick(self, block: Block, kind: str) -> str:
        """A value of the kind, a near one first; a constant if there is none."""
        names = [name for name, k in block.kinds.items() if k == kind]
        if not names or (kind in "nb" and self.random.random() < 0.25):
            return self.literal(block, kind)
        return self.random.choice(names[-4:] if self.random.random() < 0.6 else names)

    def literal(self, block: Block, kind: str) -> str:
        r = self.random
        value: Any = {
            "x": lambda: np.ones(r.choice([(), (1,), (2,), (3,), (2, 1)]), np.float32),
            "v": lambda: np.array([r.choice([0, 1, 1, 2, 3, -1]) for _ in range(r.randrange(0, 4))], np.int64),
            "n": lambda: np.array(r.choice([0, 0, 1, 1, 2, 3, 4, -1]), np.int64),
            "b": lambda: np.array(r.random() < 0.6),
        }[kind]()
        return self.constant(block, value)

    def constant(self, block: Block, value: np.ndarray) -> str:
        name = block.name()
        block.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)))
        for env in block.envs:
            env[name] = value
        return name

    def vector(self, block: Block, *values: int) -> str:
        return self.constant(block, np.array(values, np.int64))

    def statement(self, block: Block) -> Made | None:
        r = self.random
        way = r.random()
        deep = block.depth < MAX_DEPTH
        if way < 0.4 and (deep or (way >= 0.33 and self.functions)):
            return self.nested(block, way)
        kind = r.choices("xvnb", [5, 3, 5, 2])[0]
        return {"x": self.data, "v": self.sizes, "n": self.number, "b": self.condition}[kind](block)

    def one(self, block: Block, op: str, *inputs: str, kind: str, **attributes: Any) -> Made:
        return [helper.make_node(op, list(inputs), [block.name()], **attributes)], [kind]

    def data(self, block: Block) -> Made:
        r, x = self.random, self.pick(block, "x")
        zero, one = self.vector(block, 0), self.vector(block, 1)
        made: list[Callable[[], Made]] = [
            lambda: self.one(block, "Concat", x, self.pick(block, "x"), kind="x", axis=r.choice([0, 0, -1])),
            lambda: self.one(block, "Add", x, self.pick(block, "x"), kind="x"),
            lambda: self.one(block, r.choice(["Relu", "Identity", "Transpose"]), x, kind="x"),
            lambda: self.one(block, "Unsqueeze", x, zero, kind="x"),
            lambda: self.one(block, "Slice", x, self.count(block), self.count(block, HUGE), zero, kind="x"),
            lambda: self.one(block, "Slice", x, one, self.vector(block, HUGE), zero, kind="x"),
            lambda: self.one(block, "Expand", x, self.pick(block, "v"), kind="x"),
            lambda: self.one(
                block, "Reshape", x, self.vector(block, *r.choice([(-1,), (0, -1), (1, -1), (-1, 1)])), kind="x"
            ),
            lambda: self.one(block, "Reshape", x, self.pick(block, "v"), kind="x"),
            lambda: self.one(block, "ReduceSum", x, zero, kind="x", keepdims=r.choice([0, 1])),
            lambda: self.one(block, "MatMul", x, self.pick(block, "x"), kind="x"),
            lambda: self.one(block, "Gather", x, self.pick(block, r.choice("nv")), kind="x"),
            lambda: self.one(block, "Squeeze", x, zero, kind="x"),
            lambda: self.one(block, "ConstantOfShape", self.pick(block, "v"), kind="x"),
            lambda: self.one(block, "Tile", x, self.count(block), kind="x"),
        ]
        return r.choice(made)()

    def count(self, block: Block, literal: int | None = None) -> str:
        """A vector of one number."""
        r = self.random
        if r.random() < 0.4:
            return self.vector(block, r.choice([0, 1, 2, -1, literal or 3]))
        name = block.name()
        made = helper.make_node("Reshape", [self.pick(block, "n"), self.vector(block, 1)], [name])
        self.try_nodes(block, [made], "v")
        return name if name in block.kinds else self.vector(block, 1)

    def sizes(self, block: Block) -> Made:
        r = self.random
        made: list[Callable[[], Made]] = [
            lambda: self.one(block, "Shape", self.pick(block, "x"), kind="v"),
            lambda: self.one(block, "Shape", self.pick(block, "x"), kind="v"),
            lambda: self.one(block, "Concat", self.pick(block, "v"), self.count(block), kind="v", axis=0),
            lambda: self.one(
                block, "Slice", self.pick(block, "v"), self.count(block), self.vector(block, HUGE), kind="v"
            ),
            lambda: self.one(block, "Mul", self.pick(block, "v"), self.pick(block, "n"), kind="v"),
            lambda: self.one(
                block, "Range", self.vector_free(block, 0), self.pick(block, "n"), self.vector_free(block, 1), kind="v"
            ),
        ]
        return r.choice(made)()

    def vector_free(self, block: Block, value: int) -> str:
        return self.constant(block, np.array(value, np.int64))

    def number(self, block: Block) -> Made:
        r = self.random
        if block.attributes and r.random() < 0.3:
            made = helper.make_node("Constant", [], [block.name()])
            made.attribute.append(
                AttributeProto(
                    name="value_int", type=AttributeProto.INT, ref_attr_name=r.choice(list(block.attributes))
                )
            )
            return [made], ["n"]
        choices: list[Callable[[], Made]] = [
            lambda: self.one(block, "Size", self.pick(block, r.choice("xv")), kind="n"),
            lambda: self.element(block),
            lambda: self.one(
                block,
                r.choice(["Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Add", "Sub"]),
                self.pick(block, "n"),
                self.pick(block, "n"),
                kind="n",
            ),
            lambda: self.one(block, "ReduceMax", self.pick(block, "v"), kind="n", keepdims=0),
        ]
        return r.choice(choices)()

    def element(self, block: Block) -> Made:
        name = block.name()
        shape = helper.make_node("Shape", [self.pick(block, "x")], [name])
        at = self.vector_free(block, self.random.choice([0, -1, 1]))
        return [shape, helper.make_node("Gather", [name, at], [block.name()])], ["n"]

    def condition(self, block: Block) -> Made:
        r = self.random
        if r.random() < 0.3:
            op = r.choice(["And", "Or", "Xor"])
            return self.one(block, op, self.pick(block, "b"), self.pick(block, "b"), kind="b")
        op = r.choice(["Less", "Equal", "Greater"])
        return self.one(block, op, self.pick(block, "n"), self.pick(block, "n"), kind="b")

    def nested(self, block: Block, way: float) -> Made | None:
        """A statement with a graph inside, or a call; `way` below 0.4 chooses."""
        raise NotImplementedError
