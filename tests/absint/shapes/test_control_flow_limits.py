"""The cost of control flow, intended imprecision, and the termination of adversarial loops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from absint import Shape, analyze, purge
from absint.program.folded import called_by, expanded_sizes
from absint.shapes.loops.unrolling import MAX_STEPS
from tests.absint.shapes.flows import FLOWS
from tests.absint.shapes.flows.build import size_is
from tests.models import body, boolean, const, floats, function, ints, loop_body, model, node, parsed, untyped
from tests.runs import Runs

DOCS = (Path(__file__).parents[3] / "docs" / "control-flow.md").read_text(encoding="utf-8")


def named_in(section: str) -> list[str]:
    """The models that a section of the documentation names."""
    text = DOCS.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return list(dict.fromkeys(re.findall(r"`((?:if|loop|map|sequence|function|scan|optional)_[a-z_]+)`", text)))


@pytest.mark.parametrize("name", named_in("Given up on purpose"))
def test_intended_imprecision(name: str) -> None:
    """A size is a symbol of its own, or the rank is unknown; if that changes, the documentation has to."""
    result = analyze(FLOWS[name]().model)
    texts = [str(result.shapes[value]) for value in FLOWS[name]().expect]
    assert any(re.search(r"_[ds]\d", text) for text in texts)


def test_every_loss_is_on_the_list() -> None:
    """A model with a size or a shape that is a symbol of its own is named in the documentation."""
    lossy = {
        name
        for name, build in FLOWS.items()
        if any(re.search(r"[\[ *]_[ds]\d+[\],]", text) for text in build().expect.values())
    }
    assert lossy <= {*named_in("Given up on purpose"), *named_in("Bounded")}


@pytest.mark.parametrize("name", named_in("Exact"))
def test_exact_models_have_an_expected_answer(name: str) -> None:
    expected = FLOWS[name]().expect
    assert expected or name.startswith("sequence")
    assert "?" not in expected.values()


def test_there_are_enough_executed_models() -> None:
    """At least 60 models, each run at three or more combinations of sizes and data."""
    runs = {name: len(flow.bindings) * len(flow.data) for name, flow in ((n, build()) for n, build in FLOWS.items())}
    assert sum(count >= 3 for count in runs.values()) >= 75


def heads_visits(made: ModelProto) -> int:
    """The number of visits to nodes in all rounds."""
    visits = 0

    def count(node_: int, state: object) -> None:
        nonlocal visits
        visits += 1

    analyze(made, trace=count).verify()
    return visits


def carried_numbers(*steps: tuple[str, str, str]) -> ModelProto:
    """A loop over M that carries integer vectors a0, a1, ...: each step is an operator on two of them or constants."""
    names = [f"a{k}" for k in range(len(steps))]
    nodes = [node(op, [x, y], [f"{name}_next"]) for name, (op, x, y) in zip(names, steps, strict=True)]
    inner = loop_body([const("two", [2]), const("three", [3]), *nodes], names, dtype=TensorProto.INT64)
    starts = [node("Shape", ["x"], ["s"])]
    return model(
        [*starts, node("Loop", ["m", "", *["s"] * len(names)], [f"r{k}" for k in range(len(names))], body=inner)],
        [ints("m"), floats("x", "N")],
        [f"r{k}" for k in range(len(names))],
    )


ADVERSARIAL = {
    "products": carried_numbers(("Mul", "a0", "a1"), ("Mul", "a1", "a0")),
    "fibonacci": carried_numbers(("Add", "a0", "a1"), ("Sub", "a0", "a1"), ("Mul", "a1", "a2")),
    "sums of sums": carried_numbers(
        ("Add", "a0", "a1"), ("Add", "a1", "a2"), ("Add", "a2", "two"), ("Mul", "a3", "a0")
    ),
    "extremes": carried_numbers(("Max", "a0", "a1"), ("Sub", "two", "a0"), ("Min", "a1", "a0")),
    "quotients": carried_numbers(("Div", "a0", "two"), ("Add", "a0", "three"), ("Mod", "a1", "two")),
    "a chain of twenty": carried_numbers(("Add", "a0", "two"), *(("Add", f"a{k}", f"a{k}") for k in range(19))),
}


def carried_tensors(*steps: NodeProto, names: Sequence[str] = ("a", "b")) -> ModelProto:
    """A loop over M that carries vectors from x: [N] and w: [K]."""
    inner = loop_body(list(steps), names)
    nodes = [node("Loop", ["m", "", "x", "w"], ["p", "q"], body=inner)]
    return model(nodes, [ints("m"), floats("x", "N"), floats("w", "K")], ["p", "q"])


def growing_sequence() -> ModelProto:
    """In each trip everything that the sequence holds is joined, and put in again."""
    kind = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    after = helper.make_tensor_sequence_value_info("s_next", TensorProto.FLOAT, None)
    step = [
        node("Identity", ["c"], ["cn"]),
        node("ConcatFromSequence", ["s"], ["all"], axis=0),
        node("SequenceInsert", ["s", "all"], ["s_next"]),
    ]
    inner = body(step, [ints("i"), boolean("c"), kind], [boolean("cn"), after])
    nodes = [node("SequenceConstruct", ["x"], ["one"]), node("Loop", ["m", "", "one"], ["last"], body=inner)]
    nodes.append(node("ConcatFromSequence", ["last"], ["y"], axis=0))
    return model(nodes, [ints("m"), floats("x", "N")], ["y"])


ADVERSARIAL |= {
    "three in a circle that grow": carried_numbers(("Add", "a1", "two"), ("Mul", "a2", "two"), ("Sub", "a0", "a1")),
    "two sizes that grow with each other": carried_tensors(
        node("Concat", ["a", "b"], ["a_next"], axis=0), node("Concat", ["b", "a", "a"], ["b_next"], axis=0)
    ),
    "a size that follows a product": carried_tensors(
        node("Concat", ["b", "b"], ["a_next"], axis=0), node("Tile", ["b", "reps"], ["b_next"]), const("reps", [3])
    ),
    "a sequence that takes in itself": growing_sequence(),
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_adversarial_carried_numbers_come_to_rest(name: str) -> None:
    made = ADVERSARIAL[name]
    assert heads_visits(made) <= 60 * len(analyze(made).nodes)


def collatz() -> ModelProto:
    """n -> n/2 or 3n + 1, while n > 1."""
    step = [
        const("one", 1),
        const("two", 2),
        const("three", 3),
        node("Mod", ["x", "two"], ["odd"]),
        node("Cast", ["odd"], ["is_odd"], to=TensorProto.BOOL),
        node("Div", ["x", "two"], ["half"]),
        node("Mul", ["x", "three"], ["triple"]),
        node("Add", ["triple", "one"], ["more_of_it"]),
        node("Where", ["is_odd", "more_of_it", "half"], ["x_next"]),
        node("Greater", ["x_next", "one"], ["more"]),
    ]
    inner = loop_body(step, ["x"], cond="more", dtype=TensorProto.INT64)
    nodes = [node("Size", ["v"], ["n"]), node("Loop", ["", "", "n"], ["y"], body=inner)]
    return model(nodes, [floats("v", "N")], ["y"])


def test_collatz_comes_to_rest() -> None:
    made = collatz()
    assert heads_visits(made) <= 60 * len(analyze(made).nodes)


def nested_growth(depth: int) -> ModelProto:
    """A loop in a loop in a loop ..., each of which joins what it carries to itself."""
    inner = body(
        [node("Identity", ["c0"], ["d0"]), node("Concat", ["x0", "x0"], ["y0"], axis=0)],
        [ints("i0"), boolean("c0"), untyped("x0")],
        [boolean("d0"), untyped("y0")],
    )
    for k in range(1, depth):
        step = [
            node("Identity", [f"c{k}"], [f"d{k}"]),
            node("Loop", ["m", "", f"x{k}"], [f"t{k}"], body=inner),
            node("Concat", [f"t{k}", f"x{k}"], [f"y{k}"], axis=0),
        ]
        ins, outs = [ints(f"i{k}"), boolean(f"c{k}"), untyped(f"x{k}")], [boolean(f"d{k}"), untyped(f"y{k}")]
        inner = body(step, ins, outs)
    return model([node("Loop", ["m", "", "x"], ["y"], body=inner)], [ints("m"), floats("x", "N")], ["y"])


def test_nested_growth_comes_to_rest() -> None:
    """The visits of a node grow with the depth, not exponentially."""
    depth = 8
    made = nested_growth(depth)
    assert heads_visits(made) <= 40 * depth * len(analyze(made).nodes)


def test_nested_numbers_come_to_rest() -> None:
    """Loops inside one another: the innermost multiplies what the others start it with, and add to."""
    inner = loop_body([node("Mul", ["x0", "n"], ["x0_next"])], ["x0"], dtype=TensorProto.INT64)
    for k in range(1, 4):
        step = [
            node("Loop", ["m", "", f"x{k}"], [f"t{k}"], body=inner),
            node("Add", [f"t{k}", f"x{k}"], [f"x{k}_next"]),
        ]
        inner = loop_body(step, [f"x{k}"], dtype=TensorProto.INT64)
    nodes = [node("Size", ["v"], ["n"]), node("Loop", ["m", "", "n"], ["y"], body=inner)]
    made = model(nodes, [ints("m"), floats("v", "N")], ["y"])
    assert heads_visits(made) <= 100 * len(analyze(made).nodes)


def test_few_trips_of_few_trips_stop_at_the_budget() -> None:
    """16 trips of 16 trips of 16 trips are not gone through."""
    inner = body(
        [node("Identity", ["c0"], ["d0"]), node("Concat", ["x0", "x0"], ["y0"], axis=0)],
        [ints("i0"), boolean("c0"), untyped("x0")],
        [boolean("d0"), untyped("y0")],
    )
    for k in range(1, 4):
        step = [node("Identity", [f"c{k}"], [f"d{k}"]), node("Loop", ["m", "", f"x{k}"], [f"y{k}"], body=inner)]
        inner = body(step, [ints(f"i{k}"), boolean(f"c{k}"), untyped(f"x{k}")], [boolean(f"d{k}"), untyped(f"y{k}")])
    made = model([const("m", 16), node("Loop", ["m", "", "x"], ["y"], body=inner)], [floats("x", "N")], ["y"])
    result = analyze(made)
    assert result.analysis.applications <= 4 * MAX_STEPS
    assert re.fullmatch(r"\[_d\d+\]", str(result.shapes["y"]))


# Function calls


def test_a_function_called_often_applies_each_rule_once() -> None:
    """A thousand calls with equal inputs: as many rule applications as one call."""

    def calls(count: int) -> ModelProto:
        step = function(
            "Step",
            ["a", "w"],
            ["b"],
            [node("MatMul", ["a", "w"], ["t"]), node("Relu", ["t"], ["r"]), node("Add", ["r", "a"], ["b"])],
        )
        chain = [node("Step", [f"x{k}", "w"], [f"x{k + 1}"], domain="my") for k in range(count)]
        inputs = [floats("x0", "N", "K"), floats("w", "K", "K")]
        return model(chain, inputs, [f"x{count}"], functions=[step])

    purge()
    once = analyze(calls(1), refine=False)
    purge()
    often = analyze(calls(1_000), refine=False)
    assert len(often.nodes) > 3_000
    assert often.analysis.applications == once.analysis.applications
    assert str(often.shapes["x1000"]) == "[N, K]"


def test_calls_that_would_be_too_many_are_counted_before_they_are_inlined() -> None:
    """2**20 calls of Relu, two in each of twenty functions."""
    functions = [function("F0", ["a"], ["b"], [node("Relu", ["a"], ["b"])])]
    for k in range(1, 21):
        calls = [node(f"F{k - 1}", ["a"], ["t"], domain="my"), node(f"F{k - 1}", ["t"], ["b"], domain="my")]
        functions.append(function(f"F{k}", ["a"], ["b"], calls))
    nodes = [node("F20", ["x"], ["y"], domain="my"), node("F10", ["x"], ["z"], domain="my")]
    result = analyze(model(nodes, [floats("x", "N", 3)], ["y", "z"], functions=functions))
    assert [d.code for d in result.diagnostics] == ["folded-call"]
    assert len(result.nodes) < 5_000
    assert (str(result.shapes["y"]), str(result.shapes["z"])) == ("[N, 3]", "[N, 3]")


def test_expanded_sizes() -> None:
    leaf = function("Leaf", ["a"], ["b"], [node("Relu", ["a"], ["t"]), node("Neg", ["t"], ["b"])])
    inner = loop_body([node("Leaf", ["x"], ["x_next"], domain="my")], ["x"])
    loop = function("Loop", ["a"], ["b"], [const("m", 2), node("Loop", ["m", "", "a"], ["b"], body=inner)])
    itself = function("Self", ["a"], ["b"], [node("Self", ["a"], ["b"], domain="my")])
    sizes = expanded_sizes(called_by({("my", f.name, ""): f for f in (leaf, loop, itself)}))
    assert sizes == {("my", "Leaf", ""): 2, ("my", "Loop", ""): 6, ("my", "Self", ""): 2}


# Scan


@pytest.mark.parametrize(
    ("dims", "more", "reason"),
    [
        (((4, 2), (3, 2)), {}, "scan inputs must have the same length"),
        (((4, 2), (4, 2)), {"scan_input_axes": [5, 0]}, "scan input axis 5 is out of range for rank 2"),
        (((4, 2), (4, 2)), {"scan_output_axes": [3]}, "scan output axis 3 is out of range for rank 2"),
        (((4, 2), (4, 2)), {"num_scan_inputs": 3}, "num_scan_inputs is 3, of 2 inputs"),
        (((4, 2), (4, 2)), {"num_scan_inputs": 0}, "num_scan_inputs is 0, of 2 inputs"),
        (((4, 2), (4, 2)), {"scan_input_directions": [2, 0]}, "scan_input_directions is [2, 0]; a direction is 0 or 1"),
        (((4, 2), (4, 2)), {"scan_output_directions": [-1]}, "scan_output_directions is [-1]; a direction is 0 or 1"),
        (
            ((4, 2), (4, 2)),
            {"scan_input_directions": [1]},
            "scan_input_directions needs one element for each of the 2 scan inputs, found 1",
        ),
        (
            ((4, 2), (4, 2)),
            {"scan_input_axes": [0]},
            "scan_input_axes needs one element for each of the 2 scan inputs, found 1",
        ),
        (
            ((4, 2), (4, 2)),
            {"scan_output_axes": [0, 0]},
            "scan_output_axes needs one element for each of the 1 scan outputs, found 2",
        ),
        (
            ((4, 2), (4, 2)),
            {"scan_output_directions": [0, 1]},
            "scan_output_directions needs one element for each of the 1 scan outputs",
        ),
        (((4, 2), (4, 2)), {"scan_output_axes": "0"}, "scan_output_axes must be a list of integers"),
    ],
)
def test_a_scan_that_cannot_run(
    dims: tuple[tuple[int, int], tuple[int, int]], more: dict[str, object], reason: str
) -> None:
    inner = body([node("Add", ["a", "b"], ["y"])], [untyped("a"), untyped("b")], [untyped("y")])
    nodes = [node("Scan", ["p", "q"], ["ys"], body=inner, **({"num_scan_inputs": 2} | more))]
    made = model(nodes, [floats("p", *dims[0]), floats("q", *dims[1])], ["ys"])
    result = analyze(made)
    assert any(reason in str(d) for d in result.diagnostics)
    with pytest.raises(Exception, match=r"(?i)scan|mismatch"):
        Runs(made, result).run({})


def test_a_loop_whose_scan_output_grows_cannot_run() -> None:
    """The slices of two trips have different sizes, which no runtime joins."""
    inner = loop_body([node("Concat", ["x", "w"], ["x_next"], axis=0), node("Neg", ["x"], ["s"])], ["x"], ["s"])
    nodes = [const("m", 2), node("Loop", ["m", "", "x0"], ["last", "all"], body=inner)]
    result = analyze(model(nodes, [floats("x0", "N"), floats("w", 1)], ["last", "all"]))
    assert any("a scan output must have as many elements in each trip" in str(d) for d in result.diagnostics)


def test_numbers_that_take_turns_end() -> None:
    """One element asked for forms of both in every visit, and the other was dropped from its form each time."""
    numbers = parsed("""(int64 t, int64 n, int64[2] v) => (int64[] a, int64[] b) {
      a, b = Loop (t, "", n, v) <body = outer (int64 i, bool c, int64 m, int64[] w) => (bool d, int64 z, int64[] u) {
        d = Identity (c)
        z = Constant <value = int64 {0}> ()
        u = Loop (m, "", v) <body = middle (int64 j, bool c1, int64[] x) => (bool d1, int64[] y) {
          d1 = Identity (c1)
          y = Loop (j, "", w) <body = inner (int64 k, bool c2, int64[] p) => (bool d2, int64[] q) {
            d2 = Identity (c2)
            q = Constant <value = int64[2] {-1, 3}> ()
          }>
        }>
      }>
    }""")
    assert analyze(numbers).shapes["b"] == Shape([2])


def test_what_a_carried_number_must_not_exceed_is_a_premise() -> None:
    """x -> x + K, M times, in int64."""
    step = [node("Add", ["x", "k"], ["x_next"])]
    inner = loop_body(step, ["x"], dtype=TensorProto.INT64)
    nodes = [node("Loop", ["m", "", "k"], ["total"], body=inner), *size_is("v", 0, 2)]
    result = analyze(model(nodes, [ints("m"), ints("k"), floats("v", "N")], ["total"]))
    assert any(c.role == "assumed" and "9223372036854775807" in str(c.formula) for c in result.constraints)
