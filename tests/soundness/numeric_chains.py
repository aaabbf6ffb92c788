"""Random chains of numbers made of sizes, executed at sizes up to 70,000.

The inputs have shape [N, 0]: their sizes cost nothing, however large. A chain computes with a few of them, in any
numeric type, and its elements are outputs. Each claim about an element must hold in every run that meets the recorded
premises, and each premise at all ordinary sizes: up to 65,536, or fewer where sizes are multiplied.

    python -m tests.soundness.numeric_chains --count 20000 --seconds 600 --seed 7
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import absint
from absint.lattices.contents import Element, element_symbols
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.evaluation import values_of
from absint.lattices.terms.expr import Dim, Expr, UndefinedError
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import rounded
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor
from absint.transfer.ordinary import limit_of

SYMBOLS = ("N", "M", "K")
LARGEST = 70_000
ORDINARY = 65_536
MOST = 4096
"""Rows of a tensor that a chain gives the size of."""
FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
INTEGERS = (TensorProto.INT64, TensorProto.INT32, TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16)
INTEGERS += (TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64)
CONSTANTS = (0, 1, 2, 3, 4, 5, 7, 8, 10, 16, 32, 100, 255, 256, 1000, 4096, 65535, 65536, 2**24 - 1, 2**31 - 1, 2**53)
FRACTIONS = (0.1, 0.25, 0.3, 0.5, 0.7, 0.9999, 1.1, 1.5, 2.0, 3.0, 7.0, 1 / 3, 100.0, 0.01, 1e-3, 2.0**20, 1e6)


@dataclass
class Chain:
    """A model under construction: known vectors of one element, by type."""

    random: random.Random
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    values: list[tuple[str, int]] = field(default_factory=list)

    def add(self, op: str, inputs: Sequence[str], dtype: int, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        self.values.append((name, dtype))
        return name

    def constant(self, dtype: int) -> str:
        name = f"c{len(self.constants)}"
        kind = helper.tensor_dtype_to_np_dtype(dtype)
        number: float = self.random.choice(FRACTIONS if dtype in FLOATS and self.random.random() < 0.8 else CONSTANTS)
        if dtype not in FLOATS:
            most = int(np.iinfo(kind).max)
            if self.random.random() < 0.06:
                number = most
            elif self.random.random() < 0.15 and np.iinfo(kind).min < 0:
                number = -number
            number = max(min(int(number), most), int(np.iinfo(kind).min))
        with np.errstate(over="ignore"):
            self.constants.append(numpy_helper.from_array(np.array([number]).astype(kind), name))
        return name

    def pick(self, dtypes: Sequence[int]) -> tuple[str, int] | None:
        found = [value for value in self.values if value[1] in dtypes]
        return self.random.choice(found[-4:] if self.random.random() < 0.7 else found) if found else None

    def grow(self) -> None:
        """One more operation."""
        rng = self.random
        name, dtype = rng.choice(self.values[-3:] if rng.random() < 0.7 else self.values)
        other = self.pick([dtype])
        second = other[0] if other is not None and rng.random() < 0.5 else self.constant(dtype)
        is_float = dtype in FLOATS
        signed = dtype not in (TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64)
        wide = dtype in (TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT)
        choices = ["Cast"] * 4 + ["Add", "Sub", "Mul", "Mul", "Div", "Where"]
        if wide:
            choices += ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMean", "Pow", "Max", "Min", "Concat"]
        if is_float:
            choices += ["Floor", "Ceil", "Floor", "Ceil", "Max", "Min"]
            choices += ["Round", "Sqrt", "Neg", "Abs", "Relu", "Reciprocal"] if dtype != TensorProto.FLOAT16 else []
        else:
            choices += ["Mod", *(["Neg", "Abs"] if signed else ["Shift"])]
        op = rng.choice(choices)
        match op:
            case "Cast":
                to = rng.choice(FLOATS[:2] if rng.random() < 0.5 else (*FLOATS, *INTEGERS))
                if is_float and rng.random() < 0.7:
                    to = TensorProto.INT64
                self.add("Cast", [name], to, to=to)
            case "Floor" | "Ceil" | "Round" | "Sqrt" | "Neg" | "Abs" | "Relu" | "Reciprocal":
                self.add(op, [name], dtype)
            case "ReduceSum" | "ReduceProd" | "ReduceMax" | "ReduceMean":
                joined = self.add("Concat", [name, second, name], dtype, axis=0)
                self.values.pop()
                self.add(op, [joined], dtype, keepdims=1)
            case "Concat":
                pair = self.add("Concat", [name, second], dtype, axis=0)
                self.values.pop()
                self.add("Gather", [pair, "one"], dtype, axis=0)
            case "Where":
                test = f"t{len(self.nodes)}"
                self.nodes.append(helper.make_node("Equal", [name, second], [test]))
                self.add("Where", [test, name, self.constant(dtype)], dtype)
            case "Pow":
                self.add("Pow", [name, self.constant(dtype) if rng.random() < 0.2 else self.small(dtype)], dtype)
            case "Mod":
                self.add("Mod", [name, second], dtype, fmod=int(rng.random() < 0.3))
            case "Shift":
                self.add("BitShift", [name, self.small(dtype)], dtype, direction=rng.choice(["LEFT", "RIGHT"]))
            case _:
                self.add(op, [name, second] if rng.random() < 0.7 else [second, name], dtype)

    def small(self, dtype: int) -> str:
        name = f"c{len(self.constants)}"
        kind = helper.tensor_dtype_to_np_dtype(dtype)
        self.constants.append(numpy_helper.from_array(np.array([self.random.randint(0, 5)]).astype(kind), name))
        return name

    def sized(self, name: str) -> str:
        """A tensor of as many rows, up to a limit, without elements."""
        rows, target, output = f"{name}_rows", f"{name}_target", f"{name}_sized"
        self.nodes.append(helper.make_node("Mod", [name, "few"], [rows]))
        self.nodes.append(helper.make_node("Concat", [rows, "zero"], [target], axis=0))
        if self.random.random() < 0.5:
            self.nodes.append(helper.make_node("Expand", ["empty", target], [output]))
        else:
            self.nodes.append(helper.make_node("ConstantOfShape", [target], [output]))
        return output

    def model(self) -> onnx.ModelProto:
        inputs = [helper.make_tensor_value_info(s.lower(), TensorProto.FLOAT, [s, 0]) for s in SYMBOLS]
        outputs = [helper.make_tensor_value_info(name, dtype, None) for name, dtype in self.values]
        sized = [self.sized(name) for name, dtype in self.values if dtype == TensorProto.INT64]
        outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in sized]
        one = helper.make_tensor("one", TensorProto.INT64, [1], [1])
        few = helper.make_tensor("few", TensorProto.INT64, [1], [MOST])
        zero = helper.make_tensor("zero", TensorProto.INT64, [1], [0])
        empty = helper.make_tensor("empty", TensorProto.FLOAT, [0], [])
        graph = helper.make_graph(self.nodes, "chain", inputs, outputs, [*self.constants, one, few, zero, empty])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def drawn(seed: int, length: int = 9) -> onnx.ModelProto:
    """The chain of this seed."""
    chain = Chain(random.Random(seed))
    for symbol in SYMBOLS:
        chain.add("Shape", [symbol.lower()], TensorProto.INT64, start=0, end=1)
    for _ in range(length):
        chain.grow()
    return chain.model()


def bindings(rng: random.Random, count: int) -> Iterator[dict[str, int]]:
    """Sizes: corners first, then any."""
    corners = (0, 1, 2, 3, 7, 11, 255, 256, 4095, 4097, 46341, ORDINARY - 1, ORDINARY)
    for number in range(count):
        if number % 3 == 0:
            yield {s: rng.choice(corners) for s in SYMBOLS}
        elif number % 3 == 1:
            yield {s: rng.randint(0, LARGEST) for s in SYMBOLS}
        else:
            yield {s: int(2 ** rng.uniform(0, 16.05)) for s in SYMBOLS}


def wrong(model: onnx.ModelProto, seed: int, runs: int = 6) -> list[str]:
    """Premises of a chain that ordinary sizes break, and claims about its elements that a run contradicts."""
    rng = random.Random(seed)
    result = absint.analyze(model)
    session = _session(model)
    if session is None:
        return []
    assumed = [c for c in result.constraints if c.role == "assumed"]
    found: list[str] = []
    for sizes in bindings(rng, runs):
        try:
            broken = [c for c in assumed if c.formula.free_symbols <= {*SYMBOLS} and not c.formula.evaluate(sizes)]
        except UndefinedError:  # a divisor is 0: the node before fails
            continue
        met = not broken
        found += [f"a premise fails at {sizes}: {c}" for c in broken if max(sizes.values()) <= ordinary(c.formula)]
        feeds = {s.lower(): np.zeros((n, 0), np.float32) for s, n in sizes.items()}
        try:
            outputs = session.run(None, feeds)
        except Exception:
            continue
        for info, actual in zip(session.get_outputs(), outputs, strict=True):
            claimed = result[info.name]
            if met and info.name.endswith("_sized") and isinstance(claimed, Tensor):
                for dim, size in zip(claimed.shape.dims, actual.shape, strict=True):
                    if not _agrees(dim, np.int64(size), sizes):
                        found.append(f"{info.name} has {size} rows at {sizes}, not {dim}")
                continue
            if met and isinstance(claimed, Tensor) and claimed.contents is not None:
                expected = claimed.contents.elements[0]
                if not _agrees(expected, actual.ravel()[0], sizes):
                    found.append(f"{info.name} is {actual} at {sizes}, not {expected}")
    return found


def ordinary(premise: Relation) -> int:
    """Ordinary sizes go up to this one: fewer where sizes are multiplied, though never as few as 63."""
    most = limit_of(premise)
    assert most == ORDINARY or 64 <= most <= 4096
    return most


def _session(model: onnx.ModelProto) -> ort.InferenceSession | None:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:
        return None


def _agrees(expected: Element, actual: np.generic, sizes: dict[str, int]) -> bool:
    try:
        if isinstance(expected, Real):
            exact = _value(expected.num, sizes)
            return exact is None or _rounds(exact, expected.den, actual)
        if isinstance(expected, Float):
            if not {symbol.name for symbol in element_symbols(expected)} <= {*SYMBOLS}:
                return True
            return _is(expected.compute(values_of(expected, sizes)), actual)
        if isinstance(expected, Expr):
            number = _value(expected, sizes)
            return number is None or number == int(actual)
        if isinstance(expected, Dim):
            return int(actual) in expected.bounds
        if isinstance(expected, Relation) and expected.free_symbols <= {*SYMBOLS}:
            return expected.evaluate(sizes) == bool(actual)
    except UndefinedError:
        return True
    return True


def _is(computed: float, actual: np.generic) -> bool:
    """The float itself, of the type that the run has."""
    form = "float32" if actual.dtype == np.float32 else "float64"
    return actual.dtype in (np.float32, np.float64) and rounded(form, computed) == computed == float(actual)


def _rounds(num: int, den: int, actual: np.generic) -> bool:
    """num/den, rounded once in the type."""
    if not np.isfinite(actual):
        return False
    if actual.dtype == np.float64:
        return num / den == float(actual)
    nearest = type(actual)(num / den) if actual.dtype == np.float32 else np.float16(num / den)
    return bool(nearest == actual)


def _value(e: Expr, sizes: dict[str, int]) -> int | None:
    """The value, unless an invented symbol occurs."""
    return e.evaluate(sizes) if e.free_symbols <= {*SYMBOLS} else None


def hunt(seeds: Sequence[int], seconds: float) -> tuple[int, list[str]]:
    """The number of chains tried, and the false claims."""
    until = monotonic() + seconds
    found: list[str] = []
    tried = 0
    for seed in seeds:
        if monotonic() > until:
            break
        tried += 1
        found += [f"seed {seed}: {text}" for text in wrong(drawn(seed), seed)]
    return tried, found


def main() -> int:
    parser = argparse.ArgumentParser(description="Hold claims about numbers made of sizes against runs.")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tried, found = hunt(range(given.seed, given.seed + given.count), given.seconds)
    for text in found[:50]:
        print(text)
    print(f"{tried} chains, {len(found)} wrong")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
