"""`check` on models with control flow: "runs" only if nothing but the stated requirements can fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from absint import analyze
from absint.questions.sizes.outcomes import Outcome
from absint.shapes.branches import ALLOCATED
from tests.models import body, boolean, const, floats, ints, loop_body, model, node, parsed, untyped
from tests.runs import Runs

ONE_SIZE = "a scan output must have as many elements in each trip"
MOVED = "onnxruntime may end the process where it moves an axis of an empty tensor"
STATE = "a state variable must keep its shape"
RANKED = "onnxruntime must know the ranks of the body's outputs before it runs"


class Checked(NamedTuple):
    """A model at one size. `failure` is why it fails there on some data; without one, it runs."""

    model: ModelProto
    sizes: Mapping[str, int]
    failure: str = ""
    data: Mapping[str, Any] = {}


def loop(slices: list[NodeProto], trips: int | None, failure: str = "", **data: Any) -> Checked:
    """A loop of `trips` (or m) trips over x: [N], whose slice is s."""
    nodes = [] if trips is None else [const("m", trips)]
    inputs = [floats("x", "N")] + ([ints("m")] if trips is None else [])
    nodes.append(node("Loop", ["m", ""], ["y"], body=loop_body(slices, scans=["s"])))
    return Checked(model(nodes, inputs, ["y"]), {"N": 4}, failure, data)


def scan(
    step: list[NodeProto],
    sizes: Mapping[str, int],
    failure: str = "",
    declared: ValueInfoProto = untyped("y"),  # noqa: B008
    **more: Any,
) -> Checked:
    """A scan over xs: [T, N] from a state s0: [K]."""
    inner = body(step, [untyped("s"), untyped("x")], [untyped("sn"), declared])
    scans = node("Scan", ["s0", "xs"], ["last", "ys"], body=inner, num_scan_inputs=1, **more)
    return Checked(model([scans], [floats("s0", "K"), floats("xs", "T", "N")], ["last", "ys"]), sizes, failure)


def choose(dims: list[int | str], failure: str = "") -> Checked:
    """An If whose branches give x: [N], of which the first declares `dims`."""
    then = body([node("Neg", ["x"], ["negated"])], [], [floats("negated", *dims)])
    other = body([node("Abs", ["x"], ["positive"])], [], [untyped("positive")])
    nodes = [node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    return Checked(model(nodes, [floats("x", "N"), boolean("c")], ["y"]), {"N": 4}, failure, {"c": True})


def scan_of_rank_by_data() -> Checked:
    inner = body([node("Reshape", ["x", "k"], ["y"])], [untyped("x")], [untyped("y")])
    nodes = [node("Scan", ["xs"], ["ys"], body=inner, num_scan_inputs=1)]
    made = model(nodes, [floats("xs", "T", "N"), ints("k", "R")], ["ys"])
    return Checked(made, {"T": 3, "N": 2, "R": 1}, RANKED, {"k": [-1]})


PICKED_BY_TRIP = [
    node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
    node("Greater", ["x", "f"], ["kept"]),
    node("Compress", ["x", "kept"], ["s"]),
]
BY_TRIP = [const("axis", [0]), node("Unsqueeze", ["i", "axis"], ["n"]), node("ConstantOfShape", ["n"], ["s"])]
KEEPS = [node("Identity", ["s"], ["sn"])]
COUNTING = np.arange(4.0)

CASES: dict[str, Callable[[], Checked]] = {
    "slices of one shape": lambda: loop([node("Neg", ["x"], ["s"])], 40),
    "slices that differ by data": lambda: loop(PICKED_BY_TRIP, 40, ONE_SIZE, x=COUNTING),
    "slices that differ by data, few trips": lambda: loop(PICKED_BY_TRIP, 3, ONE_SIZE, x=COUNTING),
    "slices that grow with the trip, one trip": lambda: loop(BY_TRIP, 1),
    "slices that grow with the trip": lambda: loop(BY_TRIP, 40, ONE_SIZE),
    "slices that grow, trips by data": lambda: loop(BY_TRIP, None, ONE_SIZE, m=3),
    "a scan": lambda: scan([*KEEPS, node("Neg", ["x"], ["y"])], {"K": 2, "T": 3, "N": 2}),
    "a scan whose states agree": lambda: scan(
        [node("Add", ["s", "x"], ["sn"]), node("Neg", ["x"], ["y"])], {"K": 2, "T": 3, "N": 2}
    ),
    "a scan whose state grows": lambda: scan(
        [node("Concat", ["s", "x"], ["sn"], axis=0), node("Neg", ["x"], ["y"])], {"K": 2, "T": 3, "N": 2}, STATE
    ),
    "a scan whose state is broadcast": lambda: scan(
        [node("Add", ["s", "x"], ["sn"]), node("Neg", ["x"], ["y"])], {"K": 1, "T": 3, "N": 2}, STATE
    ),
    "a scan whose body declares another size": lambda: scan(
        [*KEEPS, node("Neg", ["x"], ["y"])], {"K": 2, "T": 3, "N": 2}, ALLOCATED, floats("y", 3)
    ),
    "a scan whose body declares the size": lambda: scan(
        [*KEEPS, node("Neg", ["x"], ["y"])], {"K": 2, "T": 3, "N": 2}, declared=floats("y", 2)
    ),
    "a scan of a rank by data": scan_of_rank_by_data,
    "a branch that declares another size": lambda: choose([3], ALLOCATED),
    "a branch that declares its size": lambda: choose([4]),
    "a branch that declares a name": lambda: choose(["M"]),
    "a scan along another axis": lambda: scan(
        [*KEEPS, node("Neg", ["x"], ["y"])], {"K": 2, "T": 3, "N": 2}, scan_input_axes=[1], scan_output_axes=[1]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_runs_only_where_nothing_else_can_fail(name: str) -> None:
    case = CASES[name]()
    result = analyze(case.model)
    found = result.check(case.sizes)
    box = result.check_range({name: (size, size) for name, size in case.sizes.items()})
    runs = Runs(case.model, result, case.data)
    if case.failure:
        with pytest.raises(Exception, match=r"(?i)shape|slice|dim"):
            runs.run(case.sizes)
        assert case.failure in {d.reason for d in found.possible_failures}
        assert case.failure in {d.reason for d in box.possible_failures}
    else:
        runs.run(case.sizes)
        assert found.outcome is Outcome.RUNS
        assert box.ok


def test_a_scan_needs_a_trip() -> None:
    case = scan([*KEEPS, node("Neg", ["x"], ["y"])], {"K": 2, "T": 0, "N": 2})
    found = analyze(case.model).check(case.sizes)
    assert found.failure is not None
    assert found.failure.reason == "onnxruntime needs a scan axis that is not empty"
    with pytest.raises(Exception, match="dim0_offset"):
        Runs(case.model, analyze(case.model), case.data).run(case.sizes)


def test_what_a_body_requires_in_its_first_trip_is_a_requirement() -> None:
    """The state and a slice are added: later trips have a state of the sum's size."""
    case = scan([node("Add", ["s", "x"], ["sn"]), node("Neg", ["x"], ["y"])], {"K": 2, "T": 3, "N": 2})
    result = analyze(case.model)
    contract = result.contract()
    for k, t, n, legal in ((2, 3, 2, True), (1, 3, 1, True), (2, 3, 3, False), (2, 0, 2, False), (0, 2, 2, False)):
        sizes = {"K": k, "T": t, "N": n}
        assert result.check(sizes).ok is contract.allows(sizes) is legal, sizes


BRANCHES = {
    "then_branch": body([node("Neg", ["x"], ["negated"])], [], [untyped("negated")]),
    "else_branch": body([node("Abs", ["x"], ["positive"])], [], [untyped("positive")]),
}
TO_BRANCHES = node("If", ["c"], ["y"], **BRANCHES)
TO_LOOP = node("Loop", ["m", "c", "x"], ["y"], body=loop_body([node("Neg", ["x"], ["x_next"])], ["x"]))


ONE_ELEMENT = [(TO_BRANCHES, "c", []), (TO_BRANCHES, "c", [1]), (TO_LOOP, "c", []), (TO_LOOP, "m", [1])]
OTHERS = [(inner, operand, [size]) for inner, operand, _ in ONE_ELEMENT[1:] for size in (0, 2)]


def with_operand(inner: NodeProto, operand: str, dims: list[int] | list[str]) -> ModelProto:
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, dims if operand == "c" else [])
    return model([inner], [floats("x", "N"), condition, ints("m", *(dims if operand == "m" else []))], ["y"])


@pytest.mark.parametrize(("inner", "operand", "dims"), ONE_ELEMENT)
def test_a_condition_or_limit_is_one_element(inner: NodeProto, operand: str, dims: list[int]) -> None:
    made = with_operand(inner, operand, dims)
    result = analyze(made)
    assert result.check({"N": 2}).outcome is Outcome.RUNS
    Runs(made, result, {operand: np.ones(dims)}).run({"N": 2})


@pytest.mark.parametrize(("inner", "operand", "dims"), OTHERS)
def test_more_or_no_elements_are_refused(inner: NodeProto, operand: str, dims: list[int]) -> None:
    made = with_operand(inner, operand, dims)
    result = analyze(made)
    assert not result.can_run
    with pytest.raises(Exception, match=r"(?i)scalar|one element|Mismatch"):
        Runs(made, result).run({"N": 2})


@pytest.mark.parametrize(("inner", "operand", "_"), ONE_ELEMENT[1:])
def test_a_symbol_must_be_one(inner: NodeProto, operand: str, _: list[int]) -> None:
    result = analyze(with_operand(inner, operand, ["K"]))
    assert [str(c.formula) for c in result.constraints if c.role == "required"] == ["K == 1"]
    assert result.check({"N": 2, "K": 2}).outcome is Outcome.ILLEGAL


@pytest.mark.parametrize("operand", ["c", "m"])
def test_an_operand_of_another_type_is_refused(operand: str) -> None:
    types = [floats("c"), ints("m")] if operand == "c" else [boolean("c"), floats("m")]
    inputs = [floats("x", "N"), *types]
    made = model([TO_LOOP], inputs, ["y"])
    assert [d.code for d in analyze(made).diagnostics] == ["ill-typed"]
    with pytest.raises(Exception, match="Type Error"):
        Runs(made)


@pytest.mark.parametrize(
    ("axis", "sizes", "moves"),
    [(1, (3, 0), True), (-2, (3, 0), True), (1, (0, 3), True), (1, (3, 2), False), (2, (3, 0), False)],
)
def test_an_axis_that_moves_before_one_without_elements(axis: int, sizes: tuple[int, int], moves: bool) -> None:
    """onnxruntime 1.32 divides by the number of elements behind the axis: the whole process ends."""
    made = parsed(f"""(float[T] x, float[A, B] w) => (float[a, b, c] y)
        {{ y = Scan <num_scan_inputs = 1, scan_output_axes = [{axis}], body = b (float[] r) => (float[a, b] s)
           {{ s = Relu(w) }}> (x) }}""")
    check = analyze(made).check({"T": 2, "A": sizes[0], "B": sizes[1]})
    assert [d.reason for d in check.possible_failures] == [MOVED] * moves
    assert analyze(made, semantics="onnx").check(check.sizes).outcome is Outcome.RUNS


def test_scanned_along_an_inner_axis() -> None:
    made = parsed("""(float[A, T, B] x) => (float[a, b, c] y)
        { y = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = b (float[a, b] r) => (float[a, b] s)
          { s = Relu(r) }> (x) }""")
    result = analyze(made)
    assert [d.reason for d in result.check({"A": 2, "T": 3, "B": 0}).possible_failures] == [MOVED]
    assert result.check({"A": 0, "T": 3, "B": 2}).outcome is Outcome.RUNS


@pytest.mark.parametrize("axis", [1, -1])
def test_vectors_stacked_along_the_last_axis(axis: int) -> None:
    """onnxruntime 1.32 divides by the number of their elements; of slices of higher rank it does not."""
    made = parsed(f"""(float[T] x, float[A] w) => (float[a, b] y)
        {{ y = Scan <num_scan_inputs = 1, scan_output_axes = [{axis}], body = b (float[] r) => (float[a] s)
           {{ s = Relu(w) }}> (x) }}""")
    result = analyze(made)
    assert [d.reason for d in result.check({"T": 2, "A": 0}).possible_failures] == [MOVED]
    assert result.check({"T": 2, "A": 1}).outcome is Outcome.RUNS
    assert Runs(made, result).run({"T": 2, "A": 3})["y"].shape == (3, 2)
