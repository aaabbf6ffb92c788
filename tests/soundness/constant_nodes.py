"""Random nodes of constants, degenerate ones among them: every element that is known is that of a run.

    python -m tests.soundness.constant_nodes --seconds 60 --seed 0

prints every wrong element and exits with 1 if there is one. Numbers overflow, tie, are no numbers, infinite or negative
zeros; tensors are empty; attributes are those that kernels and references read differently.

    constant_values     numbers and tensors of every type
    constant_moves      the nodes, operator by operator
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from typing import Any, Final, NamedTuple

import onnx
from onnx import helper, numpy_helper

from absint import analyze
from absint.lattices.value import SequenceOf, Tensor, Value
from absint.runs.run import typed
from tests.soundness.claims import against
from tests.soundness.constant_moves import MOVES, Node
from tests.soundness.limits import deviates
from tests.soundness.runs import OnnxRuntime

RUNTIME: Final = OnnxRuntime()
OPSETS: Final = (7, 9, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28)


class Found(NamedTuple):
    """A node, whether it ran, how many of its outputs have known elements, and what is wrong of them."""

    node: Node
    opset: int
    ran: bool
    known: int
    wrong: list[str]

    def __str__(self) -> str:
        node = self.node
        given = [None if a is None else f"{a.dtype}{list(a.shape)}={a.tolist()}" for a in node.inputs]
        return f"{node.op}-{self.opset} {given} {node.attributes}"


def drawn(seed: int, op: str = "") -> tuple[Node, int]:
    """The random node of this seed, and its opset."""
    rng = random.Random(seed)
    opset = rng.choice(OPSETS)
    name = op or rng.choice(sorted(MOVES))
    return MOVES[name](name, opset, rng), opset


def models(node: Node, opset: int) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """The node on constants, and on inputs."""
    names = ["" if array is None else f"x{i}" for i, array in enumerate(node.inputs)]
    made = helper.make_node(node.op, names, [f"y{i}" for i in range(node.outputs)], **node.attributes)
    outputs = [onnx.ValueInfoProto(name=name) for name in made.output]
    arrays = {name: array for name, array in zip(names, node.inputs, strict=True) if array is not None}
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), None)
        for name, a in arrays.items()
    ]
    imports = [helper.make_opsetid("", opset)]
    version = min(onnx.IR_VERSION, 10)
    fixed = helper.make_graph([made], "constants", [], outputs, constants)
    fed = helper.make_graph([made], "inputs", infos, outputs)
    return (
        helper.make_model(fixed, opset_imports=imports, ir_version=version),
        helper.make_model(fed, opset_imports=imports, ir_version=version),
    )


def examined(seed: int, op: str = "") -> Found:
    """Draw, analyse and run the node of a seed."""
    return compared(*drawn(seed, op))[0]


def compared(node: Node, opset: int) -> tuple[Found, list[Any]]:
    """Analyse the node on constants, run it on inputs, and compare; with the outputs of the run."""
    fixed, fed = models(node, opset)
    result = analyze(fixed)
    if result.analysis.crashes:
        return Found(node, opset, False, 0, [f"crashes: {result.analysis.crashes}"]), []
    feeds = {f"x{i}": array for i, array in enumerate(node.inputs) if array is not None}
    serialised = fed.SerializeToString()
    loaded, types = RUNTIME.load(serialised)
    ok, outputs = RUNTIME.run(serialised, feeds) if loaded else (False, [])
    values: list[Value] = [result[f"y{i}"] for i in range(node.outputs)]
    known = sum(map(_has_known, values))
    if not ok or deviates(fed.graph.node, feeds):
        return Found(node, opset, False, known, []), []
    arrays = [typed(kind, output) for kind, output in zip(types, outputs, strict=True)]
    pairs = zip(values, arrays, strict=True)
    wrong = [problem for i, (value, actual) in enumerate(pairs) for problem in against(f"y{i}", value, actual, {})]
    return Found(node, opset, True, known, wrong), arrays


def _has_known(value: Value) -> bool:
    """Something is said of elements of the value, or of one in a sequence."""
    if isinstance(value, SequenceOf):
        return any(map(_has_known, value.each or ()))
    return isinstance(value, Tensor) and (value.contents is not None or bool(value.ramps))


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
    ran: Counter[str] = Counter()
    for seed in range(args.seed, args.seed + args.count):
        if time.monotonic() > end:
            break
        found = examined(seed, args.op)
        totals.update(nodes=1, ran=found.ran, known=found.ran and found.known > 0, wrong=bool(found.wrong))
        ran[found.node.op] += found.ran and found.known > 0
        if found.wrong:
            seen[found.node.op] += 1
            if seen[found.node.op] <= 4:
                print(f"seed {seed}: {found}\n    {found.wrong[0]}", flush=True)
    print(dict(totals), {op: times for op, times in sorted(ran.items()) if not times}, dict(seen))
    return 1 if totals["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
