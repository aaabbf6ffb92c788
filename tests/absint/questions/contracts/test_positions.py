"""Positions made by Range, followed through whole models, branches and loops, and held against runs."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import GraphProto, ModelProto, helper

from absint.lattices.value import Tensor
from tests.absint.questions.contracts import language
from tests.absint.questions.contracts.boundary import Boundary, around, grid
from tests.absint.questions.contracts.net import BOOL, INT64, Net
from tests.runs import Runs


def ramps(runs: Runs, name: str) -> str:
    value = runs.result[name]
    assert isinstance(value, Tensor)
    return ", ".join(map(str, value.ramps))


@pytest.mark.parametrize("flat", [True, False])
def test_the_positions_of_a_gathered_mask(flat: bool) -> None:
    runs = Runs(language.gathered_mask(flat))
    assert ramps(runs, "positions") == "past + 1*[0]"
    if flat:
        assert ramps(runs, "places") == "0 + total*[0] + 1*[1]"
    else:
        assert ramps(runs, "pairs") == "0 + 1*[0], 0 + 1*[1]"
    runs.check(*grid(batch=(0, 1, 3), seq=(1, 2), past=(0, 3), total=(5,)))


def body(name: str, nodes: list[Any], inputs: list[Any], outputs: list[str]) -> GraphProto:
    return helper.make_graph(nodes, name, inputs, [helper.make_empty_tensor_value_info(o) for o in outputs])


def scalars(*names: str) -> list[Any]:
    return [helper.make_tensor_value_info(n, BOOL if n == "going" else INT64, []) for n in names]


def count_of(net: Net, name: str, x: str) -> str:
    return str(net.add("Squeeze", name, net.size(f"{name}.size", x, 0)))


def grown_in_a_loop(picked_inside: bool) -> ModelProto:
    """Positions 0 to i, made anew in each trip, index a table inside the loop, or the last ones do after it."""
    net = Net()
    trips, table = count_of(net, "trips", net.input("x", "T")), net.input("table", "N")
    zero, one = net.constant(0), net.constant(1)
    start = net.add("Range", "start", zero, one, one)
    nodes = [
        helper.make_node("Add", ["i", one], ["next"], "next"),
        helper.make_node("Range", [zero, "next", one], ["reached"], "reached"),
        helper.make_node("Identity", ["going"], ["still"], "still"),
    ]
    outputs = ["still", "reached"]
    if picked_inside:
        nodes.append(helper.make_node("Gather", [table, "reached"], ["inside"], "inside"))
        nodes.append(helper.make_node("ReduceSum", ["inside"], ["sum"], "sum", keepdims=0))
        outputs.append("sum")
    before = helper.make_tensor_value_info("before", INT64, [None])
    loop = body("body", nodes, [*scalars("i", "going"), before], outputs)
    found = net.add("Loop", "loop", trips, "", start, outputs=2 if picked_inside else 1, body=loop)
    if picked_inside:
        return net.model(*found)
    return net.model(net.add("Gather", "after", table, found))


@pytest.mark.parametrize("picked_inside", [True, False])
def test_positions_of_a_loop(picked_inside: bool) -> None:
    model = grown_in_a_loop(picked_inside)
    bindings = grid(T=around(3), N=around(3))
    Runs(model).check(*(b for b in bindings if b["N"] >= max(b["T"], 1)))
    boundary = Boundary(model)
    boundary.check_sound(bindings)


def positions_of_a_branch() -> ModelProto:
    """One branch counts up from 0, the other down from the end; the result indexes a table."""
    net = Net()
    x, table = net.input("x", "S"), net.input("table", "N")
    count, zero, one = count_of(net, "count", x), net.constant(0), net.constant(1)
    less = net.constant(-1)
    up = helper.make_node("Range", [zero, count, one], ["up"], "up")
    last = helper.make_node("Add", [count, less], ["last"], "last")
    down = helper.make_node("Range", ["last", less, less], ["down"], "down")
    flag = net.input("flag", dtype=BOOL)
    both = {"then_branch": body("up", [up], [], ["up"]), "else_branch": body("down", [last, down], [], ["down"])}
    return net.model(net.add("Gather", "picked", table, net.add("If", "if", flag, **both)))


def test_positions_of_a_branch() -> None:
    model = positions_of_a_branch()
    bindings = grid(S=around(3), N=around(3))
    Runs(model).check(*(b for b in bindings if b["N"] >= b["S"]))
    Boundary(model).check_sound(bindings)


def test_positions_made_outside_and_used_in_a_loop() -> None:
    net = Net()
    x, table = net.input("x", "S"), net.input("table", "N")
    count, zero, one = count_of(net, "count", x), net.constant(0), net.constant(1)
    steps = net.add("Range", "steps", zero, count, one)
    nodes = [
        helper.make_node("Gather", [table, steps], ["inside"], "inside"),
        helper.make_node("Identity", ["going"], ["still"], "still"),
    ]
    loop = body("body", nodes, scalars("i", "going"), ["still", "inside"])
    boundary = Boundary(net.model(net.add("Loop", "loop", net.constant(2), "", body=loop)))
    assert boundary.clauses == ["N >= S"]
    boundary.check(grid(S=around(4), N=around(4)))
