"""Random nodes of inputs known in part: equal or growing elements in symbolic sizes, and parameters that are data.

    python -m tests.soundness.fill_nodes --seconds 60 --seed 0

prints every wrong claim and exits with 1 if there is one. The nodes are those of `constant_nodes`; each input is a
constant, fed, one number expanded to the sizes of another input, or positions along its axes.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from absint import analyze
from absint.lattices.value import Tensor
from tests.soundness.claims import Claims
from tests.soundness.constant_moves import MOVES, Node
from tests.soundness.constant_nodes import OPSETS, RUNTIME
from tests.soundness.constant_values import Array
from tests.soundness.limits import deviates

RANGE_SINCE = 11


@dataclass
class Built:
    """A model of one node, what it is fed, and the sizes of its symbols."""

    node: Node
    opset: int
    how: list[str] = field(default_factory=list)
    """The construction of each input."""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    feeds: dict[str, Array] = field(default_factory=dict)
    binding: dict[str, int] = field(default_factory=dict)
    values: dict[str, Array] = field(default_factory=dict)
    """The inputs of the node."""

    def add(self, number: int, array: Array, how: str) -> None:
        """Make the input in this way."""
        self.how.append(how)
        name = f"x{number}"
        if how in ("alike", "growing"):
            array = self._sized(number, array, how)
        elif how == "constant":
            self.constants.append(numpy_helper.from_array(array, name))
        else:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            shape = None if how == "of any rank" else array.shape
            self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
            self.feeds[name] = array
        self.values[name] = array

    def _sized(self, number: int, array: Array, how: str) -> Array:
        name, sizes = f"x{number}", f"p{number}"
        symbols = [f"n{number}_{axis}" for axis in range(array.ndim)]
        self.binding |= dict(zip(symbols, array.shape, strict=True))
        self.inputs.append(helper.make_tensor_value_info(sizes, TensorProto.BOOL, symbols))
        self.feeds[sizes] = np.zeros(array.shape, bool)
        self.nodes.append(helper.make_node("Shape", [sizes], [f"{sizes}_shape"]))
        if how == "alike":
            first = array.ravel()[0] if array.size else array.dtype.type(1)
            self.constants.append(numpy_helper.from_array(np.array(first, array.dtype), f"{sizes}_one"))
            self.nodes.append(helper.make_node("Expand", [f"{sizes}_one", f"{sizes}_shape"], [name]))
            return np.full(array.shape, first, array.dtype)
        self.constants += [numpy_helper.from_array(np.array(n), f"{sizes}_{n}") for n in (0, 1)]
        axes = []
        for axis in range(array.ndim):
            at, size, line = (f"{sizes}_{what}{axis}" for what in ("at", "size", "line"))
            self.constants.append(numpy_helper.from_array(np.array(axis), at))
            self.nodes.append(helper.make_node("Gather", [f"{sizes}_shape", at], [size]))
            self.nodes.append(helper.make_node("Range", [f"{sizes}_0", size, f"{sizes}_1"], [line]))
            shape = [1] * array.ndim
            shape[axis] = -1
            self.constants.append(numpy_helper.from_array(np.array(shape), f"{line}_to"))
            self.nodes.append(helper.make_node("Reshape", [line, f"{line}_to"], [f"{line}_across"]))
            axes.append(f"{line}_across")
        self.nodes.append(helper.make_node("Add" if len(axes) > 1 else "Identity", axes, [name]))
        return np.asarray(sum(np.indices(array.shape)))

    def model(self) -> onnx.ModelProto:
        """The model; the outputs of the node are its outputs."""
        names = ["" if array is None else f"x{i}" for i, array in enumerate(self.node.inputs)]
        outputs = [f"y{i}" for i in range(self.node.outputs)]
        made = helper.make_node(self.node.op, names, outputs, **self.node.attributes)
        results = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph([*self.nodes, made], "fills", self.inputs, results, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)

    def __str__(self) -> str:
        pairs = zip(self.how, self.values.values(), strict=True)
        given = [f"{how} {array.dtype}{array.tolist()}" for how, array in pairs]
        return f"{self.node.op}-{self.opset} {given} {self.node.attributes}"


def built(seed: int, op: str = "") -> Built:
    """The model of this seed."""
    rng = random.Random(seed)
    opset = rng.choice([version for version in OPSETS if version >= RANGE_SINCE])
    name = op or rng.choice(sorted(MOVES))
    result = Built(MOVES[name](name, opset, rng), opset)
    for number, array in enumerate(result.node.inputs):
        if array is not None:
            result.add(number, array, _way(array, number, rng))
    return result


def _way(array: Array, number: int, rng: random.Random) -> str:
    is_data = number == 0 or rng.random() < 0.3
    if is_data and array.dtype == np.int64 and 1 <= array.ndim <= 2 and rng.random() < 0.7:
        return "growing"
    if is_data and rng.random() < 0.85:
        return "alike"
    return rng.choice(["constant", "constant", "fed", "of any rank"])


def wrong(found: Built) -> tuple[bool, int, list[str]]:
    """True if the model runs, the number of outputs with known elements, and the claims that the run contradicts."""
    model = found.model()
    result = analyze(model)
    if result.analysis.crashes:
        return False, 0, [f"crashes: {result.analysis.crashes}"]
    serialised = model.SerializeToString()
    loaded, _ = RUNTIME.load(serialised)
    ok, outputs = RUNTIME.run(serialised, found.feeds) if loaded else (False, [])
    if not ok or deviates(model.graph.node[-1:], found.values):
        return False, 0, []
    names = [info.name for info in model.graph.output]
    run: dict[str, Any] = dict(zip(names, outputs, strict=True))
    known = sum(isinstance(v := result[n], Tensor) and (v.contents is not None or bool(v.ramps)) for n in names)
    return True, known, list(Claims.of(result).wrong(found.binding, run))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 60)
    parser.add_argument("--op", default="", help="this operator only")
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    totals: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for seed in range(args.seed, args.seed + args.count):
        if time.monotonic() > end:
            break
        found = built(seed, args.op)
        ran, known, problems = wrong(found)
        totals.update(nodes=1, ran=ran, known=ran and known > 0, wrong=bool(problems))
        if problems:
            seen[found.node.op] += 1
            if seen[found.node.op] <= 4:
                print(f"seed {seed}: {found}\n    {problems[0]}", flush=True)
    print(dict(totals), dict(seen))
    return 1 if totals["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
