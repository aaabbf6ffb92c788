"""Folded calls: functions that call each other twice, analysed once for equal inputs; answers as if inlined."""

from __future__ import annotations

import re
from collections.abc import Callable

import onnx
import pytest
from onnx import FunctionProto, ModelProto, NodeProto, helper

from absint import Result, UsageError, analyze
from absint.shapes import calls as limits
from tests.absint.shapes.flows import FLOWS
from tests.adversarial import MODELS
from tests.models import const, floats, function, loop_body, model, node
from tests.runs import Runs

WITH_FUNCTIONS: dict[str, Callable[[], ModelProto]] = {
    **{name: (lambda build=build: build().model) for name, build in FLOWS.items() if "function" in name},
    **{name: (lambda case=case: case.model) for name, case in MODELS.items() if name.startswith("functions")},
}


@pytest.fixture
def every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call of a function is folded."""
    for name in ("LARGE", "LARGE_INSIDE", "ALIKE"):
        monkeypatch.setattr(f"absint.program.folded.{name}", 0)


def all_folded(made: ModelProto) -> str:
    """The shapes and required relations, with every call of a function folded."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LARGE", "LARGE_INSIDE", "ALIKE"):
            patch.setattr(f"absint.program.folded.{name}", 0)
        result = analyze(made)
    return f"{dict(result.shapes)} {[str(c.relation) for c in result.constraints if c.role == 'required']}"


def call(name: str, inputs: list[str], outputs: list[str], **attributes: object) -> NodeProto:
    return node(name, inputs, outputs, domain="my", **attributes)


def doubling(
    levels: int, first: list[NodeProto], inputs: list[str], join: NodeProto | None = None
) -> list[FunctionProto]:
    """F0, and functions that call the one before twice: one call after the other, or side by side and joined."""
    found = [function("F0", inputs, ["b"], first)]
    for k in range(1, levels + 1):
        one = call(f"F{k - 1}", inputs, ["t"])
        two = call(f"F{k - 1}", inputs if join else ["t", *inputs[1:]], ["u" if join else "b"])
        found.append(function(f"F{k}", inputs, ["b"], [one, two, *([join] if join else [])]))
    return found


def of_levels(
    levels: int, first: list[NodeProto], *inputs: onnx.ValueInfoProto, join: NodeProto | None = None
) -> ModelProto:
    names = [info.name for info in inputs]
    return model([call(f"F{levels}", names, ["y"])], inputs, ["y"], functions=doubling(levels, first, names, join))


def codes(result: Result) -> list[str]:
    return [d.code for d in result.diagnostics]


ROWS = [node("Concat", ["a", "r"], ["b"], axis=0)]
PRODUCT = [node("MatMul", ["a", "w"], ["t0"]), node("Relu", ["t0"], ["b"])]
BESIDE = node("Concat", ["t", "u"], ["b"], axis=0)


def test_a_million_calls_need_few_rules() -> None:
    """F20 stands for 3,145,726 nodes; each body is analysed once."""
    result = analyze(of_levels(20, PRODUCT, floats("a", "N", "K"), floats("w", "K", "K")))
    assert str(result.shapes["y"]) == "[N, K]"
    assert len(result.nodes) == 3
    assert result.analysis.applications < 50
    assert codes(result) == ["folded-call"]
    assert str(result.diagnostics[0]) == (
        "info: F20 #0: it stands for 4,194,302 nodes, which are analysed as one: values, costs and memory inside are "
        "not listed, and types that are declared inside are not checked [folded-call]"
    )
    result.verify()


def test_a_requirement_inside_is_stated_at_the_call() -> None:
    result = analyze(of_levels(20, PRODUCT, floats("a", "N", "K"), floats("w", "M", "M")))
    assert [str(c.relation) for c in result.constraints if c.role == "required"] == ["K == M"]
    assert result.prove("K == M").verdict.name == "PROVED"
    assert "inner dimensions" in result.constraints[0].reason
    assert [str(clause.relation) for clause in result.contract().clauses] == ["K == M"]
    assert result.check({"N": 2, "K": 3, "M": 4}).outcome.name == "ILLEGAL"
    assert str(analyze(of_levels(20, PRODUCT, floats("a", 2, 3), floats("w", 4, 4))).diagnostics[-1]).startswith(
        "error: my::F20 #0"
    )


def test_sizes_that_grow_with_each_call_are_exact() -> None:
    """Every call of a body has other inputs; after a few it is analysed for any sizes."""
    result = analyze(of_levels(20, ROWS, floats("a", "N", 2), floats("r", "M", 2)))
    assert str(result.shapes["y"]) == "[1048576*M + N, 2]"
    assert result.analysis.applications < 2_000
    sides = analyze(of_levels(20, [node("Concat", ["a", "a"], ["b"], axis=0)], floats("a", "N", 2), join=BESIDE))
    assert str(sides.shapes["y"]) == "[2097152*N, 2]"


def test_work_grows_with_the_levels_not_with_the_calls() -> None:
    def work(levels: int) -> int:
        return analyze(of_levels(levels, ROWS, floats("a", "N", 2), floats("r", "M", 2))).analysis.applications

    few, more, most = work(16), work(20), work(24)
    assert most - more == more - few


def test_beyond_the_deepest_level_nothing_is_claimed() -> None:
    result = analyze(of_levels(60, ROWS, floats("a", "N", 2), floats("r", "M", 2)))
    assert str(result.shapes["y"]) == "?"
    assert {failure.reason for failure in result.contract().possible_failures} == {
        "calls of it are too many to be analysed"
    }


def test_too_many_kinds_of_inputs_are_unknown(monkeypatch: pytest.MonkeyPatch, every_call: None) -> None:
    monkeypatch.setattr(limits, "MAX_PRECISE", 0)
    monkeypatch.setattr(limits, "MAX_GENERAL", 1)
    flat = [node("Unsqueeze", ["a", "zero"], ["b"])]
    result = analyze(of_levels(2, [const("zero", [0]), *flat], floats("a", "N")))
    assert str(result.shapes["y"]) == "?"


def nonzero_twice() -> ModelProto:
    found = function("Found", ["a"], ["b"], [node("NonZero", ["a"], ["b"])])
    nodes = [call("Found", ["x"], ["p"]), call("Found", ["x"], ["q"]), node("NonZero", ["x"], ["r"])]
    return model(nodes, [floats("x", "N", 3)], ["p", "q", "r"], functions=[found])


def test_each_call_has_sizes_of_its_own(every_call: None) -> None:
    result = analyze(nonzero_twice())
    sizes = [str(result.shapes[name][1]) for name in "pqr"]
    assert len(set(sizes)) == 3
    assert not result.prove("`p`[1] == `q`[1]", evidence="none")
    assert result.prove("`p`[1] <= 3*N", evidence="none")


def nonzero_of_nonzero() -> ModelProto:
    """The first node of the graph invents a size, and so does the first of each body, from the caller's."""
    inner = function("Inner", ["a"], ["b"], [node("NonZero", ["a"], ["b"])])
    nodes = [node("NonZero", ["a"], ["c"]), call("Inner", ["c"], ["b"]), node("Neg", ["a"], ["d"])]
    outer = function("Outer", ["a"], ["b", "c", "d"], nodes)
    nodes = [node("NonZero", ["x"], ["f"]), call("Outer", ["f"], ["y", "z", "w"])]
    return model(nodes, [floats("x", "N")], ["f", "y", "z", "w"], functions=[inner, outer])


def test_symbols_of_the_caller_are_none_of_the_body(every_call: None) -> None:
    made = nonzero_of_nonzero()
    result = analyze(made)
    assert len({str(result.shapes[name][1]) for name in "fyz"}) == 3
    assert result.shapes["w"] == result.shapes["f"]
    Runs(made, result).check({"N": 3}, {"N": 0})


def test_a_node_that_only_one_output_needs_requires_nothing(every_call: None) -> None:
    """A runtime may remove the MatMul: nobody uses its product."""
    two = function("Two", ["a", "w"], ["b", "c"], [node("MatMul", ["a", "w"], ["b"]), node("Relu", ["a"], ["c"])])
    made = model(
        [call("Two", ["x", "w"], ["", "y"])], [floats("x", "N", "K"), floats("w", "M", 3)], ["y"], functions=[two]
    )
    result = analyze(made)
    assert not [c for c in result.constraints if c.role == "required"]
    assert any("inner dimensions" in failure.reason for failure in result.contract().possible_failures)


def product_in_a_loop() -> ModelProto:
    """In a loop that may make no trip a MatMul requires nothing."""
    body = loop_body([node("MatMul", ["v", "w"], ["v_next"])], ["v"])
    body.node[-1].input[1] = "k"
    looped = function("Looped", ["m", "a", "k"], ["b"], [node("Loop", ["m", "", "a"], ["b"], body=body)])
    trips = helper.make_tensor_value_info("m", onnx.TensorProto.INT64, [])
    inputs = [trips, floats("a", "N", "K"), floats("k", "M", "M")]
    return model([call("Looped", ["m", "a", "k"], ["y"])], inputs, ["y"], functions=[looped])


def test_a_requirement_on_a_path_may_fail(every_call: None) -> None:
    result = analyze(product_in_a_loop())
    assert not result.prove("K == M", evidence="none")
    assert any("inner dimensions" in failure.reason for failure in result.contract().possible_failures)


def test_nodes_that_no_runtime_loads_are_reported(every_call: None) -> None:
    wrong = function("Wrong", ["a"], ["b"], [node("Relu", ["a", "a"], ["b"])])
    result = analyze(model([call("Wrong", ["x"], ["y"])], [floats("x", "N")], ["y"], functions=[wrong]))
    assert not result.can_run
    missing = function("Missing", ["a"], ["b"], [node("Relu", ["nothing"], ["b"])])
    result = analyze(model([call("Missing", ["x"], ["y"])], [floats("x", "N")], ["y"], functions=[missing]))
    assert "undefined-input" in codes(result)


def test_answers_say_what_they_leave_out() -> None:
    result = analyze(of_levels(20, PRODUCT, floats("a", "N", "K"), floats("w", "K", "K")))
    with pytest.raises(UsageError, match="no subgraph at 'F20#0'"):
        result.at("F20#0")
    assert result.cost().without_rule == {"my::F20": 1}
    check = result.check({"N": 2, "K": 2})
    assert "its rule does not promise that nothing else can fail" in str(check)


def test_a_size_from_inside_has_a_reason(every_call: None) -> None:
    assert "a node of the function that is called decides it" in str(analyze(nonzero_twice()).explain("p", 1))


@pytest.mark.parametrize("name", WITH_FUNCTIONS)
def test_folded_and_inlined_calls_say_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = WITH_FUNCTIONS[name]()
    inlined = said(analyze(made))
    for limit in ("LARGE", "LARGE_INSIDE", "ALIKE"):
        monkeypatch.setattr(f"absint.program.folded.{limit}", 0)
    result = analyze(made)
    assert "folded-call" in codes(result)
    assert said(result) == inlined
    result.verify()


def said(result: Result) -> list[str]:
    return [re.sub(r"_d\d+", "_d", f"{name}: {value}") for name, value in result.values.items()]


def test_risks_that_are_not_listed_are_counted(every_call: None) -> None:
    """onnxruntime refuses a ratio that is no scalar while it loads a model."""
    drops = [node("Dropout", [f"t{k}", "r"], [f"t{k + 1}"], name=f"d{k}") for k in range(limits.MAX_STATEMENTS + 2)]
    body = [node("Identity", ["a"], ["t0"]), *drops, node("Identity", [f"t{len(drops)}"], ["b"])]
    dropping = function("Dropping", ["a", "r"], ["b"], body)
    inputs = [floats("x", "N"), floats("ratio", 1)]
    result = analyze(model([call("Dropping", ["x", "ratio"], ["y"])], inputs, ["y"], functions=[dropping]))
    failures = (failure for summary in result.analysis.applied.values() for failure in summary.possible_failures)
    risks = [failure.reason for failure in failures if failure.at_load]
    assert risks[0] == "Dropout Dropping/d0: ratio must be a scalar, found shape [1]"
    assert len(risks) == limits.MAX_STATEMENTS + 1
    assert risks[-1] == "2 more nodes in it that may keep the model from loading are not listed"


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8, 13])
def test_a_limit_stops_inside_of_a_call(steps: int, every_call: None) -> None:
    """The call whose body was not analysed to its end is unknown, and a later analysis begins anew."""
    relus = [node("Relu", ["a"], ["t0"]), *(node("Relu", [f"t{k}"], [f"t{k + 1}"]) for k in range(200))]
    made = of_levels(3, [*relus, node("Relu", ["t200"], ["b"])], floats("a", "N"))
    heard = 0

    def stops(done: int, total: int, phase: str) -> bool:
        nonlocal heard
        heard += phase == "analyse"
        return heard < steps

    result = analyze(made, refine=False, on_progress=stops)
    is_whole = heard < steps
    assert str(result.shapes["y"]) == ("[N]" if is_whole else "?")
    assert result.analysis.unfinished is not is_whole
    said = [d.message for d in result.diagnostics if d.code == "limit"]
    assert said == ([] if is_whole else [f"cancelled by on_progress: {_UNKNOWN}"])
    assert str(analyze(made).shapes["y"]) == "[N]"


_UNKNOWN = "0 of 1 nodes were analysed, and what the others compute is unknown"
