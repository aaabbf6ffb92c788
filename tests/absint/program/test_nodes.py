"""Nodes in columns, and the objects that are made of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import onnx.parser
import pytest

import absint
from absint.lattices.dtype import DType
from absint.lattices.shape import Shape
from absint.lattices.value import Tensor
from absint.program import steps
from absint.program.nodes import Nodes, Path
from absint.program.steps import first_output, first_outputs

DEAD = """<ir_version: 8, opset_import: ["" : 18]>
g (float[N] x) => (float[M] y) <float[3] unused = {1, 2, 3}> {
    a = Relu(x)
    dead = Abs(a)
    deader = Neg(dead)
    y = Exp(a)
}"""

ALIVE = """<ir_version: 8, opset_import: ["" : 18]>
g (float[N] x) => (float[M] y) {
    a = Relu(x)
    y = Exp(a)
}"""

SECOND = """<ir_version: 8, opset_import: ["" : 18]>
g (float[N] x) => (float[M] y) {
    left, right = Split<num_outputs = 2>(x)
    y = Exp(right)
}"""


def needed(text: str) -> dict[str, bool]:
    lowered = absint.analyze(onnx.parser.parse_model(text)).lowered
    return {node.outputs[0]: bool(lowered.needed[number]) for number, node in enumerate(lowered.program.nodes)}


def test_a_node_is_made_once_and_where_it_is_asked_for() -> None:
    nodes = absint.analyze(onnx.parser.parse_model(ALIVE)).nodes
    assert [str(node) for node in nodes] == ["input x", "Relu #0", "Exp #1"]
    assert nodes[1] is nodes[1] is nodes[-2] is nodes[0:2][1] is next(n for n in nodes if n.name == "#0")
    with pytest.raises(IndexError):
        nodes[3]
    with pytest.raises(IndexError):
        nodes[-4]


def test_a_replaced_value_is_that_of_the_node_made_before_and_after() -> None:
    nodes = Nodes()
    for name in ("a", "b"):
        nodes.add_source(name, Path(), -1, Tensor(DType.FLOAT, Shape([1])))
    made, other = nodes[0], Tensor(DType.FLOAT, Shape([2]))
    for number in (0, 1):
        nodes.replace_value(number, other)
    assert made.value is nodes.values[0] is nodes[1].value is other


def test_nodes_that_no_output_depends_on_are_not_needed() -> None:
    dead = {"unused", "dead", "deader"}
    assert needed(DEAD) == {name: name not in dead for name in ("x", "unused", "a", "dead", "deader", "y")}
    assert set(needed(ALIVE).values()) == {True}


def test_a_node_whose_second_output_is_used_is_needed() -> None:
    assert set(needed(SECOND).values()) == {True}


def test_first_outputs_are_the_same_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "FIRST", [])
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(first_output, [*range(0, 3_000, 7)] * 3))
    assert found == [(node, 0) for node in range(0, 3_000, 7)] * 3
    made = steps.FIRST
    assert made == [(node, 0) for node in range(len(made))]
    assert first_output(steps.MAX_FIRST) == (steps.MAX_FIRST, 0)
    assert len(steps.FIRST) <= steps.MAX_FIRST
    assert first_outputs(0) == frozenset()
    assert first_outputs(steps.MAX_FIRST + 2) >= {(0, 0), (steps.MAX_FIRST + 1, 0)}
