"""Control flow in control flow, and Scan."""

from __future__ import annotations

import numpy as np

from tests.absint.shapes.flows.build import Flow, carry, flow, size_is, sizes
from tests.models import body, boolean, branch, const, floats, ints, loop_body, model, node, untyped


@flow
def loop_in_a_loop() -> Flow:
    """T * 3 trips in all: the inner loop adds 3 rows for each outer trip."""
    inner = body(
        [node("Identity", ["c2"], ["c2n"]), node("Concat", ["z", "w"], ["zn"], axis=0)],
        [ints("j"), boolean("c2"), untyped("z")],
        [boolean("c2n"), untyped("zn")],
    )
    outer = loop_body([const("three", 3), node("Loop", ["three", "", "x"], ["x_next"], body=inner)], ["x"])
    nodes = [node("Size", ["n"], ["m"]), node("Loop", ["m", "", "x0"], ["y"], body=outer)]
    made = model(nodes, [floats("n", "T"), floats("x0", "N"), floats("w", 1)], ["y"])
    return Flow(made, sizes("N", "T"), expect={"y": "[N + 3*T]"})


@flow
def loop_in_a_loop_by_the_outer_number() -> Flow:
    """The inner loop runs i times: a triangular number of rows."""
    inner = body(
        [node("Identity", ["c2"], ["c2n"]), node("Concat", ["z", "w"], ["zn"], axis=0)],
        [ints("j"), boolean("c2"), untyped("z")],
        [boolean("c2n"), untyped("zn")],
    )
    outer = loop_body([node("Loop", ["i", "", "x"], ["x_next"], body=inner)], ["x"])
    nodes = [node("Loop", ["m", "", "x0"], ["y"], body=outer)]
    made = model(nodes, [ints("m"), floats("x0", "N"), floats("w", 1)], ["y"])
    rows = "(max(m, 0)**2 + max(m, 0))//2 - max(m, 0)"
    return Flow(made, sizes("N"), [{"m": m} for m in (0, 1, 2, 4, -2)], {"y": f"[N + {rows}]"})


@flow
def if_in_a_loop() -> Flow:
    choose = node(
        "If", ["even"], ["x_next"],
        then_branch=branch([node("Concat", ["x", "w"], ["a"], axis=0)], untyped("a")),
        else_branch=branch([node("Identity", ["x"], ["b"])], untyped("b")),
    )  # fmt: skip
    step = [
        const("two", 2),
        node("Mod", ["i", "two"], ["odd"]),
        const("zero", 0),
        node("Equal", ["odd", "zero"], ["even"]),
        choose,
    ]
    data = [{"m": m} for m in (0, 1, 2, 5, -2)]
    return carry(step, "[N + 2*((max(m, 0) + 1)//2)]", [floats("x0", "N"), floats("w", 2)], ["N"], data=data)


@flow
def if_in_a_loop_that_changes_its_mind() -> Flow:
    """The condition holds in the first trip only: what the branch assumes must not stick."""
    choose = node(
        "If", ["small"], ["x_next"],
        then_branch=branch(
            [const("t", [3]), const("f", 0.0, np.float32), node("Expand", ["f", "t"], ["a"])], untyped("a")
        ),
        else_branch=branch([node("Concat", ["x", "x"], ["b"], axis=0)], untyped("b")),
    )  # fmt: skip
    step = [*size_is("x", 0, 1, "small"), choose]
    return carry(step, "[_d0]", [floats("x0", 1)], [], values=(1,))


@flow
def loop_in_a_branch() -> Flow:
    inner = loop_body([node("Concat", ["x", "w"], ["x_next"], axis=0)], ["x"])
    then = branch([const("m", 2), node("Loop", ["m", "", "x0"], ["a"], body=inner)], untyped("a"))
    other = branch([node("Identity", ["x0"], ["b"])], untyped("b"))
    nodes = [*size_is("x0", 0, 2), node("If", ["is"], ["y"], then_branch=then, else_branch=other)]
    made = model(nodes, [floats("x0", "N"), floats("w", "K")], ["y"])
    return Flow(made, sizes("N", "K"), expect={"y": "[ite(N == 2, 2*K + N, N)]"})


@flow
def captured_value_is_broadcast_in_a_loop() -> Flow:
    """The body requires w to fit x: only if there is a trip."""
    step = [node("MatMul", ["x", "w"], ["x_next"])]
    return carry(step, "[N, K]", [floats("x0", "N", "K"), floats("w", "K", "K")], ["N", "K"])


@flow
def scan_sums() -> Flow:
    inner = body(
        [node("Add", ["s", "x"], ["sn"]), node("Concat", ["x", "x"], ["y"], axis=0)],
        [untyped("s"), untyped("x")],
        [untyped("sn"), untyped("y")],
    )
    nodes = [node("Scan", ["s0", "xs"], ["last", "ys"], body=inner, num_scan_inputs=1)]
    made = model(nodes, [floats("s0", "N"), floats("xs", "T", "N")], ["last", "ys"])
    return Flow(made, sizes("N", "T", values=(1, 2, 5)), expect={"last": "[N]", "ys": "[T, 2*N]"})


@flow
def scan_along_other_axes() -> Flow:
    inner = body(
        [node("Add", ["s", "x"], ["sn"]), node("Identity", ["sn"], ["y"])],
        [untyped("s"), untyped("x")],
        [untyped("sn"), untyped("y")],
    )
    nodes = [
        node(
            "Scan",
            ["s0", "xs"],
            ["last", "ys"],
            body=inner,
            num_scan_inputs=1,
            scan_input_axes=[-1],
            scan_output_axes=[-1],
            scan_input_directions=[1],
        )
    ]
    made = model(nodes, [floats("s0", "N", "K"), floats("xs", "N", "K", "T")], ["last", "ys"])
    return Flow(made, sizes("N", "K", "T", values=(1, 3)), expect={"last": "[N, K]", "ys": "[N, K, T]"})


@flow
def scan_of_two_inputs() -> Flow:
    inner = body([node("Mul", ["a", "b"], ["y"])], [untyped("a"), untyped("b")], [untyped("y")])
    nodes = [node("Scan", ["p", "q"], ["ys"], body=inner, num_scan_inputs=2, scan_input_axes=[0, 1])]
    made = model(nodes, [floats("p", 4, "N"), floats("q", "N", "T")], ["ys"])
    return Flow(made, [{"N": n, "T": 4} for n in (1, 2, 5)], expect={"ys": "[4, N]"})
