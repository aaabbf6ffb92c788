"""Loops whose trips are counted by a condition, and loops of few trips."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, TensorProto

from tests.absint.shapes.flows.build import TRIPS, Flow, flow, size_is, sizes
from tests.models import body, boolean, branch, const, floats, ints, loop_body, model, node, untyped

I64 = TensorProto.INT64
ROWS = node("Concat", ["x", "w"], ["x_next"], axis=0)


def grows_while(condition: list[NodeProto], before: list[NodeProto], first: str, expect: str, limit: str = "") -> Flow:
    """x grows by one row in each trip; `more` is the condition of the body, `first` the initial one, N and T sizes."""
    inner = loop_body([*condition, ROWS], ["x"], cond="more")
    nodes = [*before, node("Loop", [limit, first, "x0"], ["y"], body=inner)]
    made = model(nodes, [floats("n", "T"), floats("x0", "N"), floats("w", 1)], ["y"])
    return Flow(made, sizes("N", "T"), expect={"y": expect})


SIZE = node("Size", ["n"], ["t"])


@flow
def loop_for_i_below_a_size() -> Flow:
    """for i in range(T), written with a condition: one trip is made in any case."""
    step = [const("one", 1), node("Add", ["i", "one"], ["next"]), node("Less", ["next", "t"], ["more"])]
    return grows_while(step, [SIZE, const("go", True, bool)], "go", "[N + max(T, 1)]")


@flow
def loop_while_a_size_is_positive() -> Flow:
    """The initial condition is the body's before the first trip: T trips."""
    step = [const("one", 1), node("Add", ["i", "one"], ["next"]), node("Less", ["next", "t"], ["more"])]
    before = [SIZE, const("zero", 0), node("Less", ["zero", "t"], ["go"])]
    return grows_while(step, before, "go", "[N + T]")


@flow
def loop_with_steps_of_three() -> Flow:
    """k = 2; while k < T: k += 3."""
    inner = body(
        [
            node("Add", ["k", "three"], ["k_next"]),
            node("Less", ["k_next", "t"], ["more"]),
            node("Concat", ["x", "w"], ["x_next"], axis=0),
        ],
        [ints("i"), boolean("c"), ints("k"), untyped("x")],
        [boolean("more"), ints("k_next"), untyped("x_next")],
    )
    nodes = [
        SIZE,
        const("three", 3),
        const("two", 2),
        node("Less", ["two", "t"], ["go"]),
        node("Loop", ["", "go", "two", "x0"], ["last", "y"], body=inner),
    ]
    made = model(nodes, [floats("n", "T"), floats("x0", "N"), floats("w", 1)], ["y", "last"])
    bindings = [{"N": n, "T": t} for n in (0, 2) for t in range(10)]
    return Flow(made, bindings, expect={"y": "[N + T//3]"})


@flow
def loop_counts_down() -> Flow:
    """k = T; while k > 0: k -= 1."""
    inner = body(
        [
            node("Sub", ["k", "one"], ["k_next"]),
            node("Greater", ["k_next", "zero"], ["more"]),
            node("Concat", ["x", "w"], ["x_next"], axis=0),
        ],
        [ints("i"), boolean("c"), ints("k"), untyped("x")],
        [boolean("more"), ints("k_next"), untyped("x_next")],
    )
    nodes = [
        SIZE,
        const("one", 1),
        const("zero", 0),
        node("Greater", ["t", "zero"], ["go"]),
        node("Loop", ["", "go", "t", "x0"], ["last", "y"], body=inner),
    ]
    made = model(nodes, [floats("n", "T"), floats("x0", "N"), floats("w", 1)], ["y", "last"])
    return Flow(made, sizes("N", "T"), expect={"y": "[N + T]"})


@flow
def loop_grows_until_it_is_large_enough() -> Flow:
    """while size(x) < 7: x grows by 2."""
    size = [node("Shape", ["x_next"], ["s"]), node("Squeeze", ["s"], ["r"]), node("Less", ["r", "seven"], ["more"])]
    inner = loop_body([ROWS, *size], ["x"], cond="more")
    nodes = [const("seven", 7), const("go", True, bool), node("Loop", ["", "go", "x0"], ["y"], body=inner)]
    made = model(nodes, [floats("x0", "N"), floats("w", 2)], ["y"])
    return Flow(made, [{"N": n} for n in range(12)], expect={"y": "[N + 2*max(4 - (N + 1)//2, 1)]"})


@flow
def loop_by_a_limit_and_a_condition() -> Flow:
    step = [const("five", 5), node("Less", ["i", "five"], ["more"])]
    return grows_while(step, [SIZE, const("go", True, bool)], "go", "[N + min(T, 6)]", limit="t")


@flow
def loop_by_two_conditions() -> Flow:
    step = [
        const("five", 5),
        node("Less", ["i", "five"], ["a"]),
        node("Less", ["i", "t"], ["b"]),
        node("And", ["a", "b"], ["more"]),
    ]
    return grows_while(step, [SIZE, const("go", True, bool)], "go", "[N + min(T + 1, 6)]")


@flow
def loop_by_a_condition_that_no_trip_changes() -> Flow:
    """The size of w does not change: all trips or one."""
    inner = loop_body([*size_is("v", 0, 2, "more"), ROWS], ["x"], cond="more")
    nodes = [SIZE, const("go", True, bool), node("Loop", ["t", "go", "x0"], ["y"], body=inner)]
    made = model(nodes, [floats("n", "T"), floats("x0", "N"), floats("w", 1), floats("v", "K")], ["y"])
    return Flow(made, sizes("N", "T", "K", values=(0, 1, 2, 4)), expect={"y": "[N + ite(K == 2, T, min(T, 1))]"})


@flow
def loop_by_a_condition_that_starts_late() -> Flow:
    """i >= 2 is false after the first trip, whatever comes later."""
    step = [const("two", 2), node("GreaterOrEqual", ["i", "two"], ["more"])]
    return grows_while(step, [SIZE, const("go", True, bool)], "go", "[N + min(T, 1)]", limit="t")


@flow
def loop_by_a_condition_on_a_remainder() -> Flow:
    """(i + 1) % 3 != 0 is no line."""
    step = [
        const("one", 1),
        const("three", 3),
        const("zero", 0),
        node("Add", ["i", "one"], ["next"]),
        node("Mod", ["next", "three"], ["rest"]),
        node("Greater", ["rest", "zero"], ["more"]),
    ]
    return grows_while(step, [SIZE, const("go", True, bool)], "go", "[N + _d0]", limit="t")


@flow
def loop_initial_condition_over_a_size() -> Flow:
    step = [const("five", 5), node("Less", ["i", "five"], ["more"])]
    before = [SIZE, *size_is("x0", 0, 2, "go")]
    return grows_while(step, before, "go", "[N + ite(N == 2, min(T, 6), 0)]", limit="t")


# Few trips


@flow
def loop_of_three_doublings() -> Flow:
    inner = loop_body([node("Concat", ["x", "x"], ["x_next"], axis=0)], ["x"])
    nodes = [const("m", 3), node("Loop", ["m", "", "x0"], ["y"], body=inner)]
    return Flow(model(nodes, [floats("x0", "N")], ["y"]), sizes("N"), expect={"y": "[8*N]"})


@flow
def loop_of_three_halvings() -> Flow:
    """n -> n // 2, and a tensor of that size."""
    inner = loop_body([const("two", [2]), node("Div", ["x", "two"], ["x_next"])], ["x"], dtype=I64)
    nodes = [
        const("m", 3),
        node("Shape", ["v"], ["s"]),
        node("Loop", ["m", "", "s"], ["t"], body=inner),
        node("ConstantOfShape", ["t"], ["y"]),
    ]
    return Flow(model(nodes, [floats("v", "N")], ["y"]), [{"N": n} for n in (0, 1, 7, 8, 31)], expect={"y": "[N//8]"})


@flow
def loop_while_a_number_is_small() -> Flow:
    """k = 1; while k < 100: k *= 3, and a Reshape by it."""
    inner = body(
        [node("Mul", ["k", "three"], ["k_next"]), node("Less", ["k_next", "most"], ["more"])],
        [ints("i"), boolean("c"), ints("k", 1)],
        [boolean("more"), ints("k_next", 1)],
    )
    nodes = [
        const("three", 3),
        const("most", 100),
        const("one", [1]),
        const("go", True, bool),
        node("Loop", ["", "go", "one"], ["k_last"], body=inner),
        node("ConstantOfShape", ["k_last"], ["y"]),
    ]
    return Flow(model(nodes, [floats("v", "N")], ["y"]), sizes("N"), expect={"y": "[243]"})


@flow
def loop_of_three_swaps() -> Flow:
    inner = loop_body([node("Identity", ["a"], ["b_next"]), node("Identity", ["b"], ["a_next"])], ["a", "b"])
    nodes = [const("m", 3), node("Loop", ["m", "", "a0", "b0"], ["p", "q"], body=inner)]
    made = model(nodes, [floats("a0", "N"), floats("b0", "M")], ["p", "q"])
    return Flow(made, sizes("N", "M"), expect={"p": "[M]", "q": "[N]"})


@flow
def loop_of_two_changes_of_rank() -> Flow:
    inner = loop_body([const("axes", [0]), node("Unsqueeze", ["x", "axes"], ["x_next"])], ["x"])
    nodes = [const("m", 2), node("Loop", ["m", "", "x0"], ["y"], body=inner)]
    return Flow(model(nodes, [floats("x0", "N")], ["y"]), sizes("N"), expect={"y": "[1, 1, N]"})


@flow
def loop_collects_numbers() -> Flow:
    """The scan output is [0, 1, 4], and a target shape."""
    inner = loop_body([node("Mul", ["i", "i"], ["s"])], scans=["s"], dtype=I64)
    nodes = [const("m", 3), node("Loop", ["m", ""], ["t"], body=inner), node("ConstantOfShape", ["t"], ["y"])]
    return Flow(model(nodes, [floats("v", "N")], ["y"]), sizes("N"), expect={"t": "[3]", "y": "[0, 1, 4]"})


@flow
def loop_of_few_trips_with_a_choice() -> Flow:
    """The iteration number decides the branch."""
    pick = node(
        "If", ["even"], ["x_next"],
        then_branch=branch([node("Concat", ["x", "w"], ["a"], axis=0)], untyped("a")),
        else_branch=branch([node("Concat", ["x", "x"], ["b"], axis=0)], untyped("b")),
    )  # fmt: skip
    step = [
        const("two", 2),
        node("Mod", ["i", "two"], ["odd"]),
        const("zero", 0),
        node("Equal", ["odd", "zero"], ["even"]),
        pick,
    ]
    nodes = [const("m", 3), node("Loop", ["m", "", "x0"], ["y"], body=loop_body(step, ["x"]))]
    return Flow(model(nodes, [floats("x0", "N"), floats("w", 1)], ["y"]), sizes("N"), expect={"y": "[2*N + 3]"})


@flow
def loop_of_few_trips_in_another() -> Flow:
    """The inner loop runs i times: 0 + 1 + 2 rows."""
    inner = body(
        [node("Identity", ["c2"], ["c2n"]), node("Concat", ["z", "w"], ["zn"], axis=0)],
        [ints("j"), boolean("c2"), untyped("z")],
        [boolean("c2n"), untyped("zn")],
    )
    outer = loop_body([node("Loop", ["i", "", "x"], ["x_next"], body=inner)], ["x"])
    nodes = [const("m", 3), node("Loop", ["m", "", "x0"], ["y"], body=outer)]
    made = model(nodes, [floats("x0", "N"), floats("w", 1)], ["y"])
    return Flow(made, sizes("N"), expect={"y": "[N + 3]"})


@flow
def loop_of_few_trips_with_sizes_from_data() -> Flow:
    """A size that the data decide is another one in each trip."""
    step = [
        node("NonZero", ["x"], ["n"]),
        node("Concat", ["x", "w"], ["x_next"], axis=0),
        node("Shape", ["n"], ["s"]),
        node("Sub", ["s", "before"], ["d"]),
    ]
    inner = body(
        [node("Identity", ["c"], ["cn"]), *step],
        [ints("i"), boolean("c"), untyped("x"), ints("before", 2)],
        [boolean("cn"), untyped("x_next"), ints("s", 2), ints("d", 2)],
    )
    nodes = [const("m", 2), const("b0", [1, 0]), node("Loop", ["m", "", "x0", "b0"], ["y", "n", "gaps"], body=inner)]
    made = model(nodes, [floats("x0", "N"), floats("w", 2)], ["y", "n", "gaps"])
    return Flow(made, sizes("N"), expect={"y": "[N + 4]", "gaps": "[2, 2]"})


@flow
def loop_that_carries_one_after_the_other() -> Flow:
    """b is what a was in the trip before."""
    inner = loop_body([node("Identity", ["a"], ["b_next"]), node("Concat", ["a", "w"], ["a_next"], axis=0)], ["a", "b"])
    nodes = [SIZE, node("Loop", ["t", "", "a0", "b0"], ["p", "q"], body=inner)]
    made = model(nodes, [floats("n", "T"), floats("a0", "N"), floats("b0", "M"), floats("w", 2)], ["p", "q"])
    return Flow(
        made, sizes("N", "M", "T", values=(0, 1, 3)), expect={"p": "[N + 2*T]", "q": "[ite(T >= 1, N + 2*T - 2, M)]"}
    )


@flow
def loop_counter_settles() -> Flow:
    """x becomes the size of w in the first trip and stays it."""
    inner = loop_body([node("Shape", ["w"], ["x_next"])], ["x"], dtype=I64)
    nodes = [
        const("start", [3]),
        node("Loop", ["m", "", "start"], ["t"], body=inner),
        node("ConstantOfShape", ["t"], ["y"]),
    ]
    made = model(nodes, [ints("m"), floats("w", "K")], ["y"])
    return Flow(made, sizes("K"), TRIPS, {"y": "[ite(m >= 1, K, 3)]"})


@flow
def loop_halves_an_unknown_number_of_times() -> Flow:
    """n // 2 again and again: never negative, so it is a size."""
    inner = loop_body([const("two", [2]), node("Div", ["x", "two"], ["x_next"])], ["x"], dtype=I64)
    nodes = [
        node("Shape", ["v"], ["s"]),
        node("Loop", ["m", "", "s"], ["t"], body=inner),
        node("ConstantOfShape", ["t"], ["y"]),
    ]
    return Flow(
        model(nodes, [ints("m"), floats("v", "N")], ["y"]), sizes("N"), TRIPS, {"y": "[divided(N, 2, max(m, 0))]"}
    )


@flow
def loop_scan_where_no_trip_is_made() -> Flow:
    inner = loop_body([node("Concat", ["x", "x"], ["s"], axis=0)], scans=["s"])
    inner.output[-1].CopyFrom(floats("s", None))
    nodes = [const("m", 0), node("Loop", ["m", ""], ["y"], body=inner)]
    return Flow(model(nodes, [floats("x", "N")], ["y"]), sizes("N"), expect={"y": "[0, _d0]"})


@flow
def loop_number_that_grows_with_the_data() -> Flow:
    """M is data; the carried number is a size afterwards."""
    inner = loop_body([const("four", [4]), node("Add", ["x", "four"], ["x_next"])], ["x"], dtype=I64)
    nodes = [
        const("start", [1]),
        node("Loop", ["m", "", "start"], ["t"], body=inner),
        node("ConstantOfShape", ["t"], ["y"]),
        const("fill", np.zeros((1,)), np.float32),
    ]
    return Flow(model(nodes, [ints("m"), floats("v", "N")], ["y"]), [{"N": 1}], TRIPS, {"y": "[4*max(m, 0) + 1]"})


@flow
def loop_scan_of_slices_of_one_size_and_two_shapes() -> Flow:
    """onnxruntime counts elements only, and takes the shape of the first trip."""
    inner = loop_body([node("Transpose", ["x"], ["x_next"]), node("Neg", ["x"], ["s"])], ["x"], ["s"])
    nodes = [const("m", 2), node("Loop", ["m", "", "x0"], ["last", "all"], body=inner)]
    made = model(nodes, [floats("x0", "N", "M")], ["last", "all"])
    return Flow(made, sizes("N", "M"), expect={"last": "[N, M]", "all": "[2, N, M]"})


@flow
def loop_scan_of_empty_slices() -> Flow:
    """x[i + 1:] of nothing stays nothing, whatever its first size."""
    step = [
        const("one", [1]),
        const("end", [2**62]),
        node("Add", ["i", "one"], ["next"]),
        node("Slice", ["x", "next", "end"], ["x_next"]),
        node("Neg", ["x"], ["s"]),
    ]
    nodes = [const("m", 2), node("Loop", ["m", "", "x0"], ["last", "all"], body=loop_body(step, ["x"], ["s"]))]
    made = model(nodes, [floats("x0", 2, "N")], ["last", "all"])
    return Flow(made, [{"N": 0}], expect={"last": "[0, 0]", "all": "[2, 2, 0]"})
