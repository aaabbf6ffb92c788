"""Loops that carry numbers: recurrences that have a closed form, and some that have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import NodeProto, TensorProto

from tests.absint.shapes.flows.build import Flow, flow, sizes
from tests.models import const, floats, loop_body, model, node

ONE, TWO, THREE = const("one", [1]), const("two", [2]), const("three", [3])
TRIP = node("Reshape", ["i", "flat"], ["j"])
"""j: the number of the trip."""


def carried(steps: Sequence[NodeProto], starts: Mapping[str, int | str], expect: Mapping[str, str]) -> Flow:
    """T trips over integer vectors of one element, each a size afterwards; a start is a number, or the size N or K."""
    nodes = [
        node("Size", ["n"], ["t"]),
        node("Shape", ["v"], ["N"]),
        node("Shape", ["w"], ["K"]),
        const("flat", [-1]),
        *(const(f"{name}_start", [start]) for name, start in starts.items() if isinstance(start, int)),
    ]
    inputs = [start if isinstance(start, str) else f"{name}_start" for name, start in starts.items()]
    inner = loop_body([ONE, TWO, THREE, *steps], list(starts), dtype=TensorProto.INT64)
    nodes.append(node("Loop", ["t", "", *inputs], [f"{name}_last" for name in starts], body=inner))
    nodes += [node("ConstantOfShape", [f"{name}_last"], [f"{name}_y"]) for name in starts]
    made = model(nodes, [floats("n", "T"), floats("v", "N"), floats("w", "K")], [f"{name}_y" for name in starts])
    bindings = [*sizes("N", "K", "T", values=(0, 1, 2)), *({"N": 5, "K": k, "T": t} for k in (3, 7) for t in (3, 4, 7))]
    return Flow(made, bindings, expect={f"{name}_y": text for name, text in expect.items()})


@flow
def loop_triangular() -> Flow:
    """b is the sum of what a has been."""
    steps = [node("Add", ["a", "one"], ["a_next"]), node("Add", ["b", "a"], ["b_next"])]
    return carried(steps, {"a": 0, "b": "K"}, {"a": "[T]", "b": "[K + (T**2 + T)//2 - T]"})


@flow
def loop_broadcasts_what_it_carries() -> Flow:
    """The first trip broadcasts; for further ones there is nothing left to do."""
    inner = loop_body([node("Add", ["x", "q"], ["x_next"])], ["x"])
    nodes = [node("Size", ["n"], ["t"]), node("Loop", ["t", "", "x0"], ["y"], body=inner)]
    made = model(nodes, [floats("n", "T"), floats("x0", "N"), floats("q", "M")], ["y"])
    together = [at for at in sizes("N", "M", "T", values=(0, 1, 2, 3)) if at["N"] == at["M"] or 1 in (at["N"], at["M"])]
    return Flow(made, together, expect={"y": "[ite(T >= 1, broadcast(M, N), N)]"})


@flow
def loop_of_odd_steps() -> Flow:
    steps = [
        TRIP,
        node("Mul", ["j", "two"], ["e"]),
        node("Add", ["e", "one"], ["o"]),
        node("Add", ["a", "o"], ["a_next"]),
    ]
    return carried(steps, {"a": 0}, {"a": "[T**2]"})


@flow
def loop_sum_of_squares() -> Flow:
    steps = [TRIP, node("Mul", ["j", "j"], ["q"]), node("Add", ["a", "q"], ["a_next"])]
    return carried(steps, {"a": 0}, {"a": "[(2*T**3 + 3*T**2 + T)//6 - T**2]"})


@flow
def loop_sum_of_multiples_of_a_size() -> Flow:
    steps = [TRIP, node("Mul", ["j", "N"], ["q"]), node("Add", ["a", "q"], ["a_next"])]
    return carried(steps, {"a": "N"}, {"a": "[N*((T**2 + T)//2) + N - N*T]"})


@flow
def loop_three_deep_sums() -> Flow:
    steps = [
        node("Add", ["a", "one"], ["a_next"]),
        node("Add", ["b", "a"], ["b_next"]),
        node("Add", ["d", "b"], ["d_next"]),
    ]
    return carried(steps, {"a": 0, "b": 0, "d": 0}, {"d": "[(T**3 + 3*T**2 + 2*T)//6 - T**2]"})


@flow
def loop_takes_the_largest() -> Flow:
    return carried([node("Max", ["a", "K"], ["a_next"])], {"a": "N"}, {"a": "[ite(T >= 1, max(K, N), N)]"})


@flow
def loop_grows_up_to_a_limit() -> Flow:
    steps = [node("Add", ["a", "two"], ["more"]), node("Min", ["more", "K"], ["a_next"])]
    return carried(steps, {"a": "N"}, {"a": "[ite(T >= 1, min(K, N + 2*T), N)]"})


@flow
def loop_limit_that_moves() -> Flow:
    """max(a, K) + 1: the limit of the first trip has grown by 1 in each later one."""
    steps = [node("Max", ["a", "K"], ["more"]), node("Add", ["more", "one"], ["a_next"])]
    return carried(steps, {"a": "N"}, {"a": "[ite(T >= 1, T + max(K, N), N)]"})


@flow
def loop_counts_round() -> Flow:
    steps = [node("Add", ["a", "two"], ["more"]), node("Mod", ["more", "three"], ["a_next"])]
    return carried(steps, {"a": "N"}, {"a": "[ite(T >= 1, (N - T) % 3, N)]"})


@flow
def loop_of_what_is_left() -> Flow:
    """a -> K - a, from K."""
    return carried([node("Sub", ["K", "a"], ["a_next"])], {"a": "K"}, {"a": "[ite(T % 2 == 1, 0, K)]"})


@flow
def loop_of_two_that_follow_each_other() -> Flow:
    """a -> b + 2, b -> a: each grows in every second trip."""
    steps = [node("Add", ["b", "two"], ["a_next"]), node("Identity", ["a"], ["b_next"])]
    return carried(steps, {"a": 0, "b": 0}, {"a": "[2*((T + 1)//2)]", "b": "[2*(T//2)]"})


@flow
def loop_swaps_and_grows() -> Flow:
    steps = [node("Add", ["b", "one"], ["a_next"]), node("Add", ["a", "one"], ["b_next"])]
    return carried(steps, {"a": "N", "b": "K"}, {"a": "[ite(T % 2 == 1, K + T, N + T)]"})


@flow
def loop_of_two_equal_counters() -> Flow:
    """a -> b + 1, b -> a + 1, from one start."""
    steps = [node("Add", ["b", "one"], ["a_next"]), node("Add", ["a", "one"], ["b_next"])]
    return carried(steps, {"a": "N", "b": "N"}, {"a": "[N + T]", "b": "[N + T]"})


@flow
def loop_adds_a_gap_that_stays() -> Flow:
    """a -> a + b - d, where b and d grow alike."""
    steps = [
        node("Sub", ["b", "d"], ["gap"]),
        node("Add", ["a", "gap"], ["a_next"]),
        node("Add", ["b", "one"], ["b_next"]),
        node("Add", ["d", "one"], ["d_next"]),
    ]
    return carried(steps, {"a": 0, "b": "N", "d": 0}, {"a": "[N*T]", "b": "[N + T]", "d": "[T]"})


@flow
def loop_adds_what_settles() -> Flow:
    """The first step is N, all others are K."""
    steps = [node("Identity", ["K"], ["a_next"]), node("Add", ["b", "a"], ["b_next"])]
    return carried(steps, {"a": "N", "b": 0}, {"b": "[ite(T >= 1, K*T + N - K, 0)]"})


@flow
def loop_halves_a_counter() -> Flow:
    steps = [node("Add", ["a", "one"], ["a_next"]), node("Div", ["a_next", "two"], ["b_next"])]
    return carried(steps, {"a": "N", "b": 0}, {"a": "[N + T]", "b": "[ite(T >= 1, (N + T)//2, 0)]"})


@flow
def loop_fibonacci_many_times() -> Flow:
    steps = [node("Add", ["a", "b"], ["a_next"]), node("Identity", ["a"], ["b_next"])]
    return carried(steps, {"a": 1, "b": 1}, {"a": "[_d0]", "b": "[_d1]"})


@flow
def loop_adds_quotients() -> Flow:
    steps = [TRIP, node("Div", ["j", "two"], ["half"]), node("Add", ["a", "half"], ["a_next"])]
    return carried(steps, {"a": 0}, {"a": "[ite(T % 2 == 1, (T//2)**2, (T//2)**2 - T//2)]"})


@flow
def loop_swaps_up_to_a_limit() -> Flow:
    """a -> min(b, 3), b -> a: after the first trip two numbers in turns."""
    steps = [node("Min", ["b", "three"], ["a_next"]), node("Identity", ["a"], ["b_next"])]
    expect = {"a": "[ite(T % 2 == 1, min(K, 3), 2)]", "b": "[ite(T >= 1, ite((T + 1) % 2 == 1, min(K, 3), 2), K)]"}
    return carried(steps, {"a": 2, "b": "K"}, expect)


@flow
def loop_halves_a_constant() -> Flow:
    return carried([node("Div", ["a", "two"], ["a_next"])], {"a": 2}, {"a": "[divided(2, 2, T)]"})


@flow
def loop_divides_what_it_adds_to() -> Flow:
    steps = [node("Add", ["a", "N"], ["more"]), node("Div", ["more", "three"], ["a_next"])]
    return carried(steps, {"a": "K"}, {"a": "[(N + divided(2*K - N, 3, T))//2]"})


@flow
def loop_takes_the_smaller_half_away() -> Flow:
    """The rest is rounded up; b is the largest of all."""
    steps = [
        node("Div", ["a", "two"], ["half"]),
        node("Sub", ["a", "half"], ["a_next"]),
        node("Max", ["b", "a"], ["b_next"]),
    ]
    return carried(steps, {"a": "N", "b": "K"}, {"a": "[divided(N - 1, 2, T) + 1]", "b": "[ite(T >= 1, max(K, N), K)]"})


@flow
def loop_swaps_and_adds_the_number_of_the_trip() -> Flow:
    steps = [TRIP, node("Add", ["b", "j"], ["a_next"]), node("Identity", ["a"], ["b_next"])]
    expect = {
        "a": "[ite(T % 2 == 1, (T//2)**2 + N + T//2, (T//2)**2 + K)]",
        "b": "[ite(T % 2 == 1, (T//2)**2 + K, (T//2)**2 + N - T//2)]",
    }
    return carried(steps, {"a": "K", "b": "N"}, expect)


@flow
def loop_sums_of_sums() -> Flow:
    """a is of degree 2, b of degree 3, d of degree 4 in T."""
    steps = [
        TRIP,
        node("Add", ["a", "j"], ["a_next"]),
        node("Add", ["b", "a"], ["b_next"]),
        node("Add", ["d", "b"], ["d_next"]),
    ]
    return carried(
        steps,
        {"a": 0, "b": "N", "d": "K"},
        {
            "a": "[(T**2 + T)//2 - T]",
            "b": "[N + (T**3 + 3*T**2 + 2*T)//6 - T**2]",
            "d": "[N*T + K + (T**4 + 11*T**2 - 6*T**3 - 6*T)//24]",
        },
    )


@flow
def loop_takes_the_largest_of_a_size_and_the_trips() -> Flow:
    steps = [TRIP, node("Max", ["a", "j"], ["a_next"])]
    return carried(steps, {"a": "N"}, {"a": "[max(N, T - 1)]"})


@flow
def loop_grows_until_a_trip() -> Flow:
    """By 3 in each of the first K trips."""
    steps = [
        TRIP,
        node("Less", ["j", "K"], ["early"]),
        node("Add", ["a", "three"], ["more"]),
        node("Where", ["early", "more", "a"], ["a_next"]),
    ]
    return carried(steps, {"a": "N"}, {"a": "[N + 3*min(K, T)]"})


@flow
def loop_of_two_that_grow_together() -> Flow:
    """a -> b, b -> a + i: a polynomial in the round for each of two turns."""
    steps = [TRIP, node("Identity", ["b"], ["a_next"]), node("Add", ["a", "j"], ["b_next"])]
    expect = {
        "a": "[ite(T % 2 == 1, (T//2)**2, (T//2)**2 - T//2)]",
        "b": "[ite(T % 2 == 1, (T//2)**2 + T//2, (T//2)**2)]",
    }
    return carried(steps, {"a": 0, "b": 0}, expect)
