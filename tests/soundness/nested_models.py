"""Random models of nested branches, loops, scans and functions: the statements with graphs inside, and whole models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, NodeProto, TensorProto, ValueInfoProto, helper

from tests.soundness.nested_drafts import DIMS, KINDS, Block, Made, Statements
from tests.soundness.visits import DeadError, Env, Interpreter, Unseen, Visit, bound

BINDINGS = ([1, 1, 1], [2, 2, 2], [2, 3, 5], [3, 1, 2], [1, 4, 3], [0, 2, 1], [4, 0, 3])
"""Sizes of N, M and K."""


class Maker(Statements):
    """Makes one random model."""

    def nested(self, block: Block, way: float) -> Made | None:
        if way >= 0.33:
            return self.call(block) if self.functions else None
        return self.branches(block) if way < 0.14 else self.loop(block) if way < 0.26 else self.scan(block)

    # Bodies

    def inside(self, block: Block, envs: list[Env], kinds: dict[str, str], prefix: str = "t") -> Block:
        found = Block(block.depth + 1, envs, {**block.kinds, **kinds}, prefix=prefix, attributes=block.attributes)
        found.own = list(kinds)
        return found

    def result(self, block: Block, kind: str, given: str = "") -> str:
        """A value of the block itself that has the kind."""
        names = [name for name in block.own if block.kinds.get(name) == kind and name != given]
        produced = {name for node in block.nodes for name in node.output}
        names = [name for name in names if name in produced]
        if names and self.random.random() < 0.9:
            return self.random.choice(names[-3:])
        name = block.name()
        self.try_nodes(block, [helper.make_node("Identity", [self.pick(block, kind)], [name])], kind)
        if name not in block.kinds:
            raise DeadError("no result")
        return name

    def node_name(self, op: str) -> str:
        self.named += 1
        return f"{op}{self.named}"

    def branches(self, block: Block) -> Made | None:
        test = self.pick(block, "b")
        kinds = [self.random.choice("xxvn") for _ in range(self.random.choice([1, 1, 2]))]
        graphs = []
        for name in ("then", "else"):
            envs = [dict(e) for e in block.envs]
            inner = self.inside(block, envs, {})
            try:
                self.fill(inner, self.random.randrange(1, 4))
                outs = []
                for kind in kinds:
                    out = inner.name()
                    self.try_nodes(inner, [helper.make_node("Identity", [self.result(inner, kind)], [out])], kind)
                    if out not in inner.kinds:
                        return None
                    outs.append(out)
            except DeadError:
                return None
            graphs.append(
                helper.make_graph(inner.nodes, name, [], [self.typed(o, k) for o, k in zip(outs, kinds, strict=True)])
            )
        names = [block.name() for _ in kinds]
        made = helper.make_node("If", [test], names, self.node_name("if"), then_branch=graphs[0], else_branch=graphs[1])
        return [made], kinds

    def typed(self, name: str, kind: str, rank: int | None = None) -> ValueInfoProto:
        dims: list[str | int | None] | None = {"n": [], "b": []}.get(kind)
        if kind == "v" and self.random.random() < 0.3:
            dims = [None]
        if self.random.random() < 0.1 and kind == "x":
            return ValueInfoProto(name=name) if rank is None else helper.make_tensor_value_info(name, 1, None)
        return helper.make_tensor_value_info(name, KINDS[kind], dims)

    def loop(self, block: Block) -> Made | None:
        r = self.random
        kinds = [r.choice("xxvn") for _ in range(r.choice([0, 1, 1, 2, 3]))]
        carried = [self.pick(block, k) for k in kinds]
        scans = [r.choice("xvn") for _ in range(r.choice([0, 1, 1]))]
        if not kinds and not scans:
            return None
        most = self.pick(block, "n") if r.random() < 0.8 else ""
        first = self.pick(block, "b") if r.random() < 0.4 or not most else ""
        own = Block(block.depth + 1, [], {})
        i, c, *formals = (own.name() for _ in range(2 + len(kinds)))
        given = {i: "n", c: "b", **dict(zip(formals, kinds, strict=True))}
        envs = []
        for env in block.envs:
            mine = {
                **env,
                i: np.array(0),
                c: np.array(True),
                **{f: env[a] for f, a in zip(formals, carried, strict=True)},
            }
            envs.append(mine)
        inner = self.inside(block, envs, given)
        inner.fresh = own.fresh
        try:
            self.fill(inner, r.randrange(1, 5))
            keep = inner.name()
            stop = [
                [helper.make_node("Identity", [c], [keep])],
                [helper.make_node("Less", [i, self.vector_free(inner, r.randrange(0, 4))], [keep])],
                [helper.make_node("Less", [i, self.pick(inner, "n")], [keep])],
                [helper.make_node("Identity", [self.pick(inner, "b")], [keep])],
            ]
            if not self.try_nodes(inner, stop[1] if not most else r.choice(stop), "b"):
                return None
            outs = []
            for at, kind in enumerate([*kinds, *scans]):
                out = inner.name()
                source = self.result(inner, kind)
                if at < len(kinds) and r.random() < 0.25:
                    source = r.choice([f for f, k in zip(formals, kinds, strict=True) if k == kind])
                if not self.try_nodes(inner, [helper.make_node("Identity", [source], [out])], kind):
                    return None
                outs.append(out)
        except DeadError:
            return None
        body = helper.make_graph(
            inner.nodes,
            "body",
            [self.typed(name, kind, 0) for name, kind in given.items()],
            [
                helper.make_tensor_value_info(keep, TensorProto.BOOL, []),
                *(self.typed(o, k) for o, k in zip(outs, [*kinds, *scans], strict=True)),
            ],
        )
        names = [block.name() for _ in outs]
        lifted = {"x": "x", "v": "x?", "n": "v"}
        made = helper.make_node("Loop", [most, first, *carried], names, self.node_name("loop"), body=body)
        return [made], [*kinds, *(lifted[k] for k in scans)]

    def scan(self, block: Block) -> Made | None:
        r = self.random
        x = self.pick(block, "x")
        ranks = {env[x].ndim for env in block.envs if not isinstance(env[x], Unseen)}
        if len(ranks) != 1 or 0 in ranks:
            return None
        rank = ranks.pop()
        axis = r.randrange(-rank, rank)
        state = self.pick(block, "x")
        state_ranks = {env[state].ndim for env in block.envs if not isinstance(env[state], Unseen)}
        if len(state_ranks) != 1:
            return None
        own = Block(block.depth + 1, [], {})
        s, e = own.name(), own.name()
        envs = []
        for env in block.envs:
            if isinstance(env[x], Unseen) or isinstance(env[state], Unseen) or not env[x].shape[axis]:
                continue
            envs.append({**env, s: env[state], e: np.take(env[x], 0, axis)})
        if not envs:
            return None
        inner = self.inside(block, envs, {s: "x", e: "x"})
        inner.fresh = own.fresh
        try:
            self.fill(inner, r.randrange(1, 4))
            new, out = inner.name(), inner.name()
            source = self.pick(inner, "x")
            if not self.try_nodes(inner, [helper.make_node("Identity", [r.choice([s, s, source])], [new])], "x"):
                return None
            if not self.try_nodes(inner, [helper.make_node("Identity", [self.result(inner, "x")], [out])], "x"):
                return None
        except DeadError:
            return None
        if any(isinstance(env[n], Unseen) for env in inner.envs for n in (out, new)):
            return None
        out_ranks = {env[out].ndim for env in inner.envs}
        new_ranks = {env[new].ndim for env in inner.envs}
        if len(out_ranks) != 1 or new_ranks != state_ranks:
            return None
        out_rank, state_rank = out_ranks.pop(), state_ranks.pop()

        def shaped(name: str, size: int) -> ValueInfoProto:
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * size if r.random() < 0.5 else None)

        body = helper.make_graph(
            inner.nodes,
            "body",
            [shaped(s, state_rank), shaped(e, rank - 1)],
            [shaped(new, state_rank), shaped(out, out_rank)],
        )
        attributes: dict[str, Any] = {"scan_input_axes": [axis]}
        if r.random() < 0.5:
            attributes["scan_input_directions"] = [1]
        if r.random() < 0.5:
            attributes["scan_output_axes"] = [r.randrange(-out_rank - 1, out_rank + 1)]
        if r.random() < 0.3:
            attributes["scan_output_directions"] = [1]
        names = [block.name(), block.name()]
        made = helper.make_node(
            "Scan", [state, x], names, self.node_name("scan"), body=body, num_scan_inputs=1, **attributes
        )
        return [made], ["x", "x"]

    # Functions

    def add_function(self, envs: list[Env], kinds: dict[str, str]) -> None:
        """A function made from values of these kinds, and of the functions before it."""
        r = self.random
        names = [r.choice(list(kinds)) for _ in range(r.randrange(1, 4))]
        formals = [f"t0_{at + 1}" for at in range(len(names))]
        block = Block(0, [{f: env[n] for f, n in zip(formals, names, strict=True)} for env in envs], {})
        block.kinds = {f: kinds[n] for f, n in zip(formals, names, strict=True)}
        block.fresh = len(formals)
        defaults = {"k": r.randrange(0, 4)} if r.random() < 0.7 else {}
        block.attributes = defaults
        # References run with their defaults while the function grows.
        given = {k: helper.make_attribute(k, v) for k, v in defaults.items()}
        self.runner = Bound(self.opset, self.functions, given)
        try:
            self.fill(block, r.randrange(2, 6))
            outs = [name for name in block.own if name in {n for node in block.nodes for n in node.output}]
        finally:
            self.runner = Interpreter(self.opset, self.functions)
        if not outs:
            return
        outs = r.sample(outs, min(len(outs), r.choice([1, 1, 2])))
        if any(block.kinds[o] == "x?" for o in outs):
            return
        name = f"f{len(self.functions)}"
        made = helper.make_function(
            "my", name, formals, outs, block.nodes,
            [helper.make_opsetid("", self.opset), helper.make_opsetid("my", 1)],
            attribute_protos=list(given.values()),
        )  # fmt: skip
        self.functions.append(made)
        self.signatures[name] = ([block.kinds[f] for f in formals], [block.kinds[o] for o in outs], list(defaults))
        self.runner = Interpreter(self.opset, self.functions)

    def call(self, block: Block) -> Made:
        r = self.random
        name = r.choice(list(self.signatures))
        formals, outs, attributes = self.signatures[name]
        given = {a: r.randrange(0, 4) for a in attributes if r.random() < 0.6}
        actuals = [self.pick(block, kind) for kind in formals]
        names = [block.name() for _ in outs]
        made = helper.make_node(name, actuals, names, self.node_name("call"), domain="my", **given)
        return [made], outs

    # Models

    def model(self) -> tuple[onnx.ModelProto, list[dict[str, int]], list[Env]] | None:
        """The model, and the sizes and feeds of its runs."""
        r = self.random
        names = ["N", "M", "K"]
        spots: list[tuple[str, list[str | int | None]]] = [
            (f"x{at}", [r.choice(DIMS) for _ in range(r.choice([1, 1, 2, 2, 3]))]) for at in range(r.randrange(1, 3))
        ]
        sizes = [dict(zip(names, row, strict=True)) for row in BINDINGS]
        envs: list[Env] = []
        rng = np.random.default_rng(r.randrange(1 << 30))
        for binding in sizes:
            env: Env = {}
            for name, dims in spots:
                shape = []
                for axis, dim in enumerate(dims):
                    if dim is None:
                        dim = f"{name}_dim{axis}"
                        binding[dim] = binding.get(dim, int(rng.integers(0, 4)))
                    shape.append(eval(dim, {}, binding) if isinstance(dim, str) else dim)
                env[name] = rng.integers(-1, 3, shape).astype(np.float32)
            env["n0"] = np.array(int(rng.integers(-1, 5)))
            env["b0"] = np.array(bool(rng.integers(0, 2)))
            env["v0"] = rng.integers(0, 4, 2)
            envs.append(env)
        kinds = {**{name: "x" for name, _ in spots}, "n0": "n", "b0": "b", "v0": "v"}
        for _ in range(r.choice([0, 1, 2])):
            self.add_function([dict(e) for e in envs], kinds)
        block = Block(0, [dict(e) for e in envs], dict(kinds))
        block.fresh = 100
        self.fill(block, r.randrange(5, 14))
        used = {name for node in block.nodes for name in node.output if name}
        if not block.own:
            return None
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in spots]
        inputs += [
            helper.make_tensor_value_info("n0", TensorProto.INT64, []),
            helper.make_tensor_value_info("b0", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v0", TensorProto.INT64, [2]),
        ]
        outputs = [ValueInfoProto(name=name) for name in block.own if name in used]
        graph = helper.make_graph(block.nodes, "nested", inputs, outputs)
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("my", 1)]
        model = helper.make_model(graph, opset_imports=imports, functions=self.functions, ir_version=9)
        return model, sizes, envs


class Bound(Interpreter):
    """An interpreter inside a function whose attributes have their defaults."""

    def __init__(self, opset: int, functions: Sequence[onnx.FunctionProto], given: dict[str, AttributeProto]) -> None:
        super().__init__(opset, functions)
        self._given = given

    def node(self, node: NodeProto, env: Env, visit: Visit) -> list[Any]:
        return super().node(bound(node, self._given), env, visit)
