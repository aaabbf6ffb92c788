"""Sequences and optionals: chains of nodes, inferred once and executed at many sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import NO, YES
from absint.lattices.shape import Shape
from absint.lattices.value import TOP, OptionalOf, SequenceOf, Tensor, Value
from absint.transfer.application import apply
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.stated import Applied
from tests.transfer.harness import Arg, Binding, check_value, sizes

I64 = TensorProto.INT64


@dataclass(frozen=True)
class Node:
    """One operator: `outputs = op(inputs)`."""

    op: str
    inputs: str
    outputs: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Chain:
    """Nodes over named inputs; the last output of the last node is checked."""

    nodes: Sequence[Node]
    inputs: Mapping[str, Arg]
    expect: str
    bindings: Sequence[Binding] = ({},)
    opset: int = 20
    complete: bool = True

    def __str__(self) -> str:
        return (
            " ".join(f"{n.op}{dict(n.attributes) or ''}" for n in self.nodes)
            + f" {[list(a.dims or ()) for a in self.inputs.values()]}"
        )


def infer(chain: Chain) -> tuple[Value, list[Applied]]:
    values: dict[str, Value] = {name: arg.value() for name, arg in chain.inputs.items()}
    steps = []
    for node in chain.nodes:
        rule = shipped().lookup("", node.op, chain.opset)
        assert rule is not None
        inputs = [values[name] if name != "-" else None for name in node.inputs.split()]
        outputs = node.outputs.split()
        applied = apply(
            rule, Op(rule, inputs, node.attributes, version=chain.opset, outputs=len(outputs), name=node.op)
        )
        values.update(zip(outputs, applied.outputs, strict=True))
        steps.append(applied)
    return values[chain.nodes[-1].outputs.split()[-1]], steps


def run(chain: Chain, binding: Binding) -> tuple[Any, str]:
    rng = np.random.default_rng(0)
    arrays = {name: arg.array(binding, rng) for name, arg in chain.inputs.items()}
    hidden = {n for n, a in chain.inputs.items() if a.elements is None or a.hidden}
    result = chain.nodes[-1].outputs.split()[-1]
    graph = helper.make_graph(
        [
            helper.make_node(n.op, [i if i != "-" else "" for i in n.inputs.split()], n.outputs.split(), **n.attributes)
            for n in chain.nodes
        ],
        "chain",
        [helper.make_tensor_value_info(n, chain.inputs[n].dtype, None) for n in arrays if n in hidden],
        [onnx.ValueInfoProto(name=result)],
        [numpy_helper.from_array(a, n) for n, a in arrays.items() if n not in hidden],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", chain.opset)], ir_version=10)
    try:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, {n: a for n, a in arrays.items() if n in hidden})[0], ""
    except Exception as error:
        return None, str(error)


def check(chain: Chain) -> int:
    value, steps = infer(chain)
    assert str(value) == chain.expect
    ran = 0
    for binding in chain.bindings:
        actual, failure = run(chain, binding)
        statements = [s for step in steps for s in step.statements]
        if failure:
            broken = any(s.relation.at(binding) is not YES for s in statements if s.role == "required")
            assert broken or not chain.complete or any(s.doubts for s in steps), f"{binding}: {failure}"
            continue
        ran += 1
        check_value(f"{chain} at {binding}", value, actual, binding)
        for s in statements:
            assert s.relation.at(binding) is not NO, f"{binding}: {s.relation} ({s.reason})"
    return ran


A, B, C = Arg(["N", 3]), Arg(["M", 3]), Arg(["N", 3])
PAIR = Node("SequenceConstruct", "a b", "s")
AB = {"a": A, "b": B}
NM = sizes(N=[0, 1, 4], M=[0, 2, 4])


def at(*values: int) -> Arg:
    return Arg(elements=list(values) if len(values) > 1 else values[0], dtype=I64)


SHAPE = Arg(elements=["N", 3, "M"], dtype=I64)
NO_SIZES = Arg(elements=np.zeros(0), dtype=I64)
SOME_SIZES = Arg(["K"], I64, low=2, high=3)
NK = sizes(N=[0, 4], K=[0, 2])


CHAINS = [
    Chain([PAIR], AB, "Sequence(Tensor(FLOAT[N, 3]), Tensor(FLOAT[M, 3]))", NM),
    Chain([PAIR], {"a": A, "b": C}, "Sequence(Tensor(FLOAT[N, 3]) x 2)", NM),
    Chain([PAIR], {"a": A, "b": Arg(["N"])}, "Sequence(Tensor(FLOAT[N, 3]), Tensor(FLOAT[N]))", NM),
    Chain([PAIR, Node("SequenceLength", "s", "l")], AB, "Tensor(INT64[] = 2)", NM),
    Chain([PAIR, Node("SequenceAt", "s i", "t")], {**AB, "i": at(1)}, "Tensor(FLOAT[M, 3])", NM),
    Chain([PAIR, Node("SequenceAt", "s i", "t")], {"a": A, "b": C, "i": at(-2)}, "Tensor(FLOAT[N, 3])", NM),
    Chain(
        [PAIR, Node("SequenceAt", "s i", "t")], {"a": A, "b": C, "i": Arg([], I64, high=4)}, "Tensor(FLOAT[N, 3])", NM
    ),
    Chain([Node("SequenceEmpty", "", "s"), Node("SequenceLength", "s", "l")], {}, "Tensor(INT64[] = 0)"),
    Chain(
        [Node("SequenceEmpty", "", "s"), Node("SequenceInsert", "s a", "t")],
        {"a": A},
        "Sequence(Tensor(FLOAT[N, 3]) x 1)",
        NM,
    ),
    Chain(
        [PAIR, Node("SequenceInsert", "s a i", "t")],
        {"a": A, "b": C, "i": at(2)},
        "Sequence(Tensor(FLOAT[N, 3]) x 3)",
        NM,
    ),
    Chain([PAIR, Node("SequenceErase", "s", "t")], AB, "Sequence(Tensor(FLOAT[N, 3]) x 1)", NM),
    Chain(
        [PAIR, Node("SequenceErase", "s i", "t"), Node("SequenceErase", "t", "u")],
        {**AB, "i": at(0)},
        "Sequence(Tensor(FLOATbottom) x 0)",
        NM,
    ),
    Chain([PAIR, Node("ConcatFromSequence", "s", "t", {"axis": 0})], AB, "Tensor(FLOAT[M + N, 3])", NM),
    Chain([PAIR, Node("ConcatFromSequence", "s", "t", {"axis": 1})], AB, "Tensor(FLOAT[ite(M == 0, N, M), 6])", NM),
    Chain([PAIR, Node("SequenceAt", "s i", "t")], {**AB, "i": at(-2)}, "Tensor(FLOAT[N, 3])", NM),
    Chain([PAIR, Node("SequenceErase", "s i", "t")], {**AB, "i": at(0)}, "Sequence(Tensor(FLOAT[M, 3]) x 1)", NM),
    Chain(
        [PAIR, Node("SequenceInsert", "s c i", "t"), Node("SequenceAt", "t j", "u")],
        {**AB, "c": Arg(["K", 3]), "i": at(-1), "j": at(1)},
        "Tensor(FLOAT[K, 3])",
        sizes(N=[0, 2], M=[1, 2], K=[0, 5]),
    ),
    Chain(
        [PAIR, Node("SequenceInsert", "s c", "t"), Node("ConcatFromSequence", "t", "u", {"axis": -2})],
        {**AB, "c": Arg(["K", 3])},
        "Tensor(FLOAT[K + M + N, 3])",
        sizes(N=[0, 2], M=[1, 2], K=[0, 5]),
    ),
    Chain(
        [PAIR, Node("ConcatFromSequence", "s", "t", {"axis": -1, "new_axis": 1})],
        AB,
        "Tensor(FLOAT[ite(M == 0, N, M), 3, 2])",
        NM,
    ),
    Chain(
        [Node("SplitToSequence", "a k", "s", {"axis": 1}), Node("SequenceAt", "s i", "t")],
        {"a": A, "k": at(2), "i": at(-1)},
        "Tensor(FLOAT[N, 1])",
        NM,
    ),
    Chain([PAIR, Node("ConcatFromSequence", "s", "t", {"axis": -1})], {"a": A, "b": C}, "Tensor(FLOAT[N, 6])", NM),
    Chain(
        [PAIR, Node("ConcatFromSequence", "s", "t", {"axis": -1, "new_axis": 1})],
        {"a": A, "b": C},
        "Tensor(FLOAT[N, 3, 2])",
        NM,
    ),
    Chain(
        [PAIR, Node("ConcatFromSequence", "s", "t", {"axis": 0, "new_axis": 1})],
        {"a": Arg([]), "b": Arg([])},
        "Tensor(FLOAT[2])",
    ),
    Chain([Node("SplitToSequence", "a", "s")], {"a": A}, "Sequence(Tensor(FLOAT[1, 3]) x N)", NM),
    *(
        Chain([Node("SplitToSequence", "a k", "s", {"keepdims": keep, "axis": axis})], {"a": A, "k": k}, expect, nm)
        for keep, axis, k, expect, nm in [
            (0, 0, NO_SIZES, "Sequence(Tensor(FLOAT[3]) x N)", NM),
            (1, 0, NO_SIZES, "Sequence(Tensor(FLOAT[1, 3]) x N)", NM),
            (0, -1, NO_SIZES, "Sequence(Tensor(FLOAT[N]) x 3)", NM),
            (0, -2, at(1, 3), "Sequence(Tensor(FLOAT[1, 3]), Tensor(FLOAT[3, 3]))", NM),
            (0, 1, at(1, 1, 1), "Sequence(Tensor(FLOAT[N, 1]) x 3)", NM),
            (0, 0, SOME_SIZES, "Sequence(Tensor(FLOAT?) x ite(K == 0, N, K))", NK),
            (0, 0, Arg([2], I64, low=2, high=3), "Sequence(Tensor(FLOAT[?, 3]) x 2)", NK),
            (1, 0, Arg(elements=[[1, 3]], dtype=I64), "Sequence(Tensor(FLOAT[1, 3]), Tensor(FLOAT[3, 3]))", NM),
        ]
    ),
    Chain(
        [Node("SplitToSequence", "a", "s", {"keepdims": 0, "axis": -1})], {"a": A}, "Sequence(Tensor(FLOAT[N]) x 3)", NM
    ),
    Chain(
        [Node("SplitToSequence", "a k", "s")],
        {"a": A, "k": at(2)},
        "Sequence(Tensor(FLOAT[?, 3]) x (N + 1)//2, axis 0 of N in parts of 2)",
        NM,
    ),
    Chain(
        [Node("SplitToSequence", "a k", "s", {"axis": 1})],
        {"a": Arg(["N", 6]), "k": at(2)},
        "Sequence(Tensor(FLOAT[N, 2]) x 3)",
        NM,
    ),
    Chain(
        [Node("SplitToSequence", "a k", "s", {"axis": 1})],
        {"a": A, "k": at(7)},
        "Sequence(Tensor(FLOAT[N, 3]) x 1)",
        NM,
    ),
    Chain(
        [Node("SplitToSequence", "a k", "s")],
        {"a": A, "k": at(1, 3)},
        "Sequence(Tensor(FLOAT[1, 3]), Tensor(FLOAT[3, 3]))",
        NM,
    ),
    Chain([Node("SplitToSequence", "a k", "s")], {"a": A, "k": at(2, 2)}, "Sequence(Tensor(FLOAT[2, 3]) x 2)", NM),
    Chain(
        [Node("SplitToSequence", "a k", "s")],
        {"a": A, "k": Arg(["K"], I64, low=2, high=3)},
        "Sequence(Tensor(FLOAT[?, 3]) x ite(K == 0, N, K))",
        sizes(N=[0, 4], K=[0, 2, 3]),
    ),
    Chain(
        [Node("SplitToSequence", "a k", "s")],
        {"a": Arg(["N", 3], unknown_rank=True), "k": Arg(["K"], I64, low=2, high=3)},
        "Sequence(Tensor(FLOAT?) x ?)",
        sizes(N=[0, 2, 4], K=[0, 1, 2]),
    ),
    Chain(
        [Node("SplitToSequence", "a k", "s", {"keepdims": 0})], {"a": A, "k": at(1)}, "Sequence(Tensor(FLOAT?) x N)", NM
    ),
    Chain(
        [Node("SplitToSequence", "a k", "s", {"keepdims": 0})],
        {"a": A, "k": at(4)},
        "Sequence(Tensor(FLOAT?) x (N + 3)//4)",
        NM,
        complete=False,
    ),
    Chain(
        [Node("SplitToSequence", "v", "s", {"keepdims": 0}), Node("SequenceAt", "s i", "t")],
        {"v": SHAPE, "i": at(-1)},
        "Tensor(INT64[] = M)",
        NM,
    ),
    Chain(
        [Node("SplitToSequence", "v k", "s"), Node("SequenceAt", "s i", "t")],
        {"v": SHAPE, "k": at(1, 2), "i": at(1)},
        "Tensor(INT64[2] = [3, M])",
        NM,
    ),
    Chain(
        [Node("SplitToSequence", "v k", "s"), Node("SequenceAt", "s i", "t")],
        {"v": SHAPE, "k": at(2), "i": at(0)},
        "Tensor(INT64[2] = [N, 3])",
        NM,
    ),
    Chain(
        [
            Node("SplitToSequence", "v", "s"),
            Node("SequenceErase", "s i", "t"),
            Node("ConcatFromSequence", "t", "u", {"axis": 0}),
        ],
        {"v": SHAPE, "i": at(1)},
        "Tensor(INT64[2] = [N, M])",
        NM,
    ),
    Chain(
        [
            Node("SplitToSequence", "v", "s", {"keepdims": 0}),
            Node("ConcatFromSequence", "s", "u", {"axis": -1, "new_axis": 1}),
        ],
        {"v": SHAPE},
        "Tensor(INT64[3] = [N, 3, M])",
        NM,
    ),
    Chain(
        [Node("SequenceConstruct", "v v", "s"), Node("ConcatFromSequence", "s", "u", {"axis": 1, "new_axis": 1})],
        {"v": SHAPE},
        "Tensor(INT64[3, 2] = [[N, N], [3, 3], [M, M]])",
        NM,
    ),
    Chain([Node("Optional", "a", "o"), Node("OptionalHasElement", "o", "h")], {"a": A}, "Tensor(BOOL[] = true)", NM),
    Chain([Node("OptionalHasElement", "a", "h")], {"a": A}, "Tensor(BOOL[] = true)", NM),
    Chain([Node("OptionalHasElement", "", "h")], {}, "Tensor(BOOL[] = false)"),
    Chain([Node("Optional", "a", "o"), Node("OptionalGetElement", "o", "h")], {"a": A}, "Tensor(FLOAT[N, 3])", NM),
    Chain([Node("OptionalGetElement", "a", "h")], {"a": A}, "Tensor(FLOAT[N, 3])", NM),
    Chain(
        [PAIR, Node("Optional", "s", "o"), Node("OptionalGetElement", "o", "h")],
        AB,
        "Sequence(Tensor(FLOAT[N, 3]), Tensor(FLOAT[M, 3]))",
        NM,
    ),
]


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_runs_agree(chain: Chain) -> None:
    assert check(chain) > 0


REJECTED = [
    Chain([PAIR, Node("SequenceAt", "s i", "t")], {**AB, "i": at(2)}, "?", NM),
    Chain([PAIR, Node("SequenceAt", "s i", "t")], {**AB, "i": at(-3)}, "?", NM),
    Chain([PAIR, Node("SequenceInsert", "s a i", "t")], {**AB, "i": at(3)}, "?", NM),
    Chain([Node("SequenceEmpty", "", "s"), Node("SequenceErase", "s", "t")], {}, "?"),
    Chain([Node("SequenceEmpty", "", "s"), Node("ConcatFromSequence", "s", "t", {"axis": 0})], {}, "?"),
    Chain([PAIR, Node("ConcatFromSequence", "s", "t", {"axis": 2})], AB, "?", NM),
    Chain([PAIR, Node("ConcatFromSequence", "s", "t", {"axis": 0})], {"a": Arg([]), "b": Arg([])}, "?"),
    Chain([Node("SplitToSequence", "a k", "s")], {"a": A, "k": at(0)}, "?", NM),
    Chain([Node("SplitToSequence", "a k", "s")], {"a": A, "k": at(-1, 4)}, "?", NM),
    Chain([Node("SplitToSequence", "a", "s")], {"a": Arg([])}, "?"),
]


@pytest.mark.parametrize("chain", REJECTED, ids=str)
def test_rejected_nodes_fail(chain: Chain) -> None:
    assert infer(chain)[1][-1].rejected is not None
    assert check(chain) == 0


def apply_one(name: str, *inputs: Value | None, **attributes: object) -> Applied:
    rule = shipped().lookup("", name, 20)
    assert rule is not None
    return apply(rule, Op(rule, inputs, attributes, version=20))


def test_values_of_unknown_kind() -> None:
    tensor = Tensor(DType.FLOAT, Shape(["N"]))
    index = Tensor(DType.INT64, Shape([]))
    assert str(apply_one("SequenceLength", TOP).outputs[0]) == "Tensor(INT64[] = ?)"
    assert apply_one("SequenceAt", TOP, index).outputs[0] is TOP
    assert str(apply_one("SequenceInsert", TOP, tensor).outputs[0]) == "Sequence(Tensor(FLOAT?) x ?)"
    assert apply_one("SequenceErase", TOP).outputs[0] is TOP
    assert str(apply_one("ConcatFromSequence", TOP, axis=0).outputs[0]) == "Tensor(??)"
    assert str(apply_one("OptionalHasElement", TOP).outputs[0]) == "Tensor(BOOL[])"
    assert apply_one("OptionalGetElement", TOP).outputs[0] is TOP


def test_optionals_without_a_value() -> None:
    empty = apply_one("Optional", None, type=Tensor(DType.FLOAT)).outputs[0]
    assert empty is OptionalOf(Tensor(DType.FLOAT), False)
    assert str(apply_one("OptionalHasElement", empty).outputs[0]) == "Tensor(BOOL[] = false)"
    assert apply_one("OptionalGetElement", empty).rejected is not None
    maybe = OptionalOf(Tensor(DType.FLOAT, Shape(["N"])), None)
    got = apply_one("OptionalGetElement", maybe)
    assert got.outputs[0] is maybe.element
    assert got.doubts == ("the optional must have a value",)


def test_a_sequence_of_unknown_length_stays_natural() -> None:
    grown = apply_one("SequenceErase", SequenceOf(Tensor(DType.FLOAT))).outputs[0]
    assert isinstance(grown, SequenceOf)
    assert grown.length.bounds.lo == 0
