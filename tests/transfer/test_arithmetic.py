"""Contents followed through chains of operators: rules applied one after another, and the same chain executed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from absint.lattices.contents import Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import NO
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor, Value
from absint.transfer.application import apply
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.stated import Statement
from tests.transfer.harness import abstract, check_value, hole_free

F, D, H, I64, I32, U8, B = (
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.FLOAT16,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.UINT8,
    TensorProto.BOOL,
)


@dataclass
class Chain:
    """A straight program: inputs of known elements, constants, operators; values are called v0, v1, ..."""

    inputs: list[tuple[list[str], int]] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    rejected: bool = False

    def feed(self, elements: list[str], dtype: int = I64) -> int:
        """A graph input with these elements."""
        assert len(self.inputs) == len(self.values), "inputs come first"
        self.inputs.append((elements, dtype))
        found = [abstract(DType(dtype), Dim(e)) for e in elements]
        return self._add(Tensor(DType(dtype), Shape([len(elements)]), Contents.vector(found)))

    def constant(self, value: Any, dtype: int) -> int:
        """An initialiser."""
        array = np.asarray(value, helper.tensor_dtype_to_np_dtype(dtype))
        self.initializers.append(numpy_helper.from_array(array, f"v{len(self.values)}"))
        elements: list[Element] = [abstract(DType(dtype), e) for e in array.ravel().tolist()]
        return self._add(Tensor(DType(dtype), Shape(array.shape), Contents.of(array.shape, elements)))

    def apply(self, name: str, *inputs: int, **attributes: Any) -> int:
        """An operator; its rule is applied at once."""
        rule = shipped().lookup("", name, 20)
        assert rule is not None
        applied = apply(rule, Op(rule, [self.values[i] for i in inputs], attributes, version=20, name=name))
        self.statements += applied.statements
        self.rejected = self.rejected or applied.rejected is not None
        out = f"v{len(self.values)}"
        self.nodes.append(helper.make_node(name, [f"v{i}" for i in inputs], [out], **attributes))
        return self._add(applied.outputs[0])

    def _add(self, value: Value) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def session(self) -> ort.InferenceSession:
        ins = [helper.make_tensor_value_info(f"v{i}", dtype, None) for i, (_, dtype) in enumerate(self.inputs)]
        outs = [onnx.ValueInfoProto(name=n.output[0]) for n in self.nodes]
        graph = helper.make_graph(self.nodes, "chain", ins, outs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def check(self, bindings: Sequence[Mapping[str, int]]) -> int:
        """Hold the claims of every node against runs where the premises hold; the number of such runs."""
        session, ran = self.session(), 0
        for binding in bindings:
            feeds = {
                f"v{i}": np.array([Dim(e).evaluate(binding) for e in elements], helper.tensor_dtype_to_np_dtype(dtype))
                for i, (elements, dtype) in enumerate(self.inputs)
            }
            if any(s.role == "assumed" and s.relation.at(binding) is NO for s in self.statements):
                continue
            try:
                outputs = session.run(None, feeds)
            except Exception:
                continue
            ran += 1
            assert not self.rejected, f"{self} at {binding}: rejected but it runs"
            for node, actual in zip(self.nodes, outputs, strict=True):
                value = self.values[int(node.output[0][1:])]
                check_value(f"{self} at {binding}, {node.output[0]} = {value}", value, actual, binding)
            for s in self.statements:
                assert s.relation.at(binding) is not NO, f"{self} at {binding}: {s.role} {s.relation} is false"
        return ran

    def __str__(self) -> str:
        def show(node: onnx.NodeProto) -> str:
            attributes = [f"{a.name}={helper.get_attribute_value(a)}" for a in node.attribute]
            return f"{node.output[0]}={node.op_type}({', '.join([*node.input, *attributes])})"

        constants = [f"{t.name}={numpy_helper.to_array(t).tolist()}" for t in self.initializers]
        return "; ".join([*(f"v{i}={e}" for i, (e, _) in enumerate(self.inputs)), *constants, *map(show, self.nodes)])

    def text(self) -> str:
        """The contents of the last value."""
        last = self.values[-1]
        assert isinstance(last, Tensor)
        return hole_free(str(last.contents))


SIZES = [
    {"N": n, "M": m} for n in (0, 1, 2, 3, 5, 8, 96, 97, 2**24 - 1, 2**24, 2**24 + 1, 2**31 - 1) for m in (0, 1, 3, 100)
]


@pytest.mark.parametrize(
    ("rounding", "divisor", "expected"),
    [
        ("Ceil", 2.0, "[(N + 1)//2]"),
        ("Floor", 2.0, "[N//2]"),
        ("Ceil", 3.0, "[(N + 2)//3]"),
        ("Floor", 3.0, "[N//3]"),
        ("Floor", 0.5, "[2*N]"),
        ("Floor", 1.5, "[N - (N + 2)//3]"),
        ("Ceil", -2.0, "[-(N//2)]"),
        ("Round", 3.0, "[(N + 1)//3]"),
        ("Floor", 0.1, "[int(float32(N/0.1))]"),
        ("Identity", 3.0, "[N//3]"),
        ("Identity", -3.0, "[-(N//3)]"),
    ],
)
def test_float_quotient(rounding: str, divisor: float, expected: str) -> None:
    """CASES 14: Cast to float, Div, round, Cast back; premises name the sizes for which float32 is exact."""
    c = Chain()
    n = c.feed(["N"])
    by = c.constant(divisor, F)
    c.apply("Cast", c.apply(rounding, c.apply("Div", c.apply("Cast", n, to=F), by)), to=I64)
    assert c.text() == expected
    assert any(s.role == "assumed" for s in c.statements)
    assert c.check(SIZES) > 20


def test_premise_is_stated_once() -> None:
    """Halving and doubling need no more digits than the size itself."""
    c = Chain()
    n = c.feed(["N"])
    two = c.constant(2.0, F)
    half = c.apply("Div", c.apply("Cast", n, to=F), two)
    c.apply("Ceil", c.apply("Mul", c.apply("Mul", half, two), two))
    assert c.text() == "[2*N]"
    assert len({s.relation for s in c.statements}) == 1
    assert c.check(SIZES) > 20


def test_double_holds_every_dim() -> None:
    c = Chain()
    n = c.feed(["N"])
    c.apply("Floor", c.apply("Mul", c.apply("Cast", n, to=D), c.constant(0.25, D)))
    assert c.text() == "[N//4]"
    assert not c.statements
    assert c.check(SIZES) == len(SIZES)


def test_half_precision_holds_no_size() -> None:
    c = Chain()
    n = c.feed(["N"])
    c.apply("Cast", n, to=H)
    assert c.text() == "None"


def test_truncation_is_not_floor() -> None:
    c = Chain()
    n = c.feed(["N - 5"])
    c.apply("Div", n, c.constant(2, I64))
    assert c.text() == "[truncdiv(N - 5, 2)]"
    assert c.check(SIZES) == len(SIZES)


def test_large_product_is_a_premise() -> None:
    c = Chain()
    n = c.feed(["N"])
    m = c.apply("Mul", n, n)
    c.apply("Mul", m, n)
    assert c.text() == "[N**3]"
    assert [s.role for s in c.statements] == ["assumed"]
    c.check(SIZES)


def test_target_shape_of_a_mask() -> None:
    """Where(Equal(shape, -1), ones, shape), as exporters write Expand."""
    c = Chain()
    shape = c.feed(["N", "-1", "M"])
    minus = c.constant(-1, I64)
    ones = c.constant([1, 1, 1], I64)
    c.apply("Where", c.apply("Equal", shape, minus), ones, shape)
    assert c.text() == "[N, 1, M]"
    assert c.check(SIZES) > 0


UNARY = {
    I64: ["Neg", "Abs", "Sign"],
    F: ["Neg", "Abs", "Relu", "Sign", "Floor", "Ceil", "Round", "Sqrt", "Reciprocal"],
    B: ["Not"],
}
BINARY = {
    I64: ["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Pow"],
    F: ["Add", "Sub", "Mul", "Div", "Max", "Min"],
    B: ["And", "Or", "Xor", "Equal"],
}
COMPARISONS = ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]
CONSTANTS: dict[int, list[Any]] = {
    I64: [0, 1, -1, 2, 3, -4, 7, 64, 100, [2], [3, 5], [[1], [2]], 2**31, 2**62],
    F: [0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 0.1, 1.5, -2.5, 32.0, 7.0, 196.0, [0.25, 3.0], 1 / 3, 1e30, 2.0**24],
    B: [True, False, [True, False]],
}


def random_chain(rng: random.Random, length: int) -> Chain:
    """A random program over int64, float (or double) and booleans."""
    real = rng.choice([F, F, D])
    family = {I64: I64, F: F, D: F, B: B, I32: I64, U8: I64, H: F}
    chain = Chain()
    kinds: dict[int, int] = {chain.feed(rng.choice([["N"], ["N", "M"], ["N - 5", "3"], ["M", "2*N"], ["M - N"]])): I64}
    for kind in (I64, real, B):
        for _ in range(2):
            kinds[chain.constant(rng.choice(CONSTANTS[family[kind]]), kind)] = kind
    for kind in (real, B):
        kinds[chain.apply("Cast", 0, to=kind)] = kind
    for _ in range(length):
        a = rng.choice([i for i in kinds if i == 0 or i > 6 or rng.random() < 0.2] or [0])
        kind = kinds[a]
        same = [i for i in kinds if kinds[i] == kind]
        b = rng.choice(same)
        match rng.randrange(5):
            case 0:
                to = rng.choice([I64, real, real, B, I32, U8, H] if rng.random() < 0.3 else [I64, real])
                kinds[chain.apply("Cast", a, to=to)] = to
            case 1 if kind in (I64, F, D):
                kinds[chain.apply(rng.choice(UNARY[family[kind]]), a)] = kind
            case 2 if kind in (I64, F, D) and same:
                kinds[chain.apply(rng.choice(COMPARISONS), a, b)] = B
            case 3 if conditions := [i for i in kinds if kinds[i] == B]:
                if kind in (I64, F, D):
                    kinds[chain.apply("Where", rng.choice(conditions), a, b)] = kind
            case _ if kind in (I64, F, D, B):
                pair = (a, b) if rng.random() < 0.5 else (b, a)
                if kind in (F, D) and rng.random() < 0.1:
                    kinds[chain.apply("Mod", *pair, fmod=1)] = kind
                else:
                    kinds[chain.apply(rng.choice(BINARY[family[kind]]), *pair)] = kind
        if chain.rejected:
            break
    return chain


def small(rng: random.Random) -> list[dict[str, int]]:
    pool = [
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        16,
        33,
        100,
        255,
        256,
        257,
        4095,
        2**12,
        2**23 + 1,
        2**24 - 1,
        2**24,
        2**30 + 1,
        2**31 - 1,
    ]
    return [{"N": rng.choice(pool), "M": rng.choice(pool)} for _ in range(12)]


@pytest.mark.parametrize("seed", range(150))
def test_random_chains(seed: int) -> None:
    rng = random.Random(seed)
    chain = random_chain(rng, rng.randint(2, 8))
    chain.check(small(rng))
