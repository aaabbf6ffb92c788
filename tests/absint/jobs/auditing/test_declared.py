"""Declarations of authors, on outputs, inner values, bodies and functions, against the analysis."""

from __future__ import annotations

import pytest
from onnx import helper

import absint
from absint.errors import UsageError
from absint.jobs.auditing import Judgement, by_policy, by_result, declared, judge
from absint.jobs.auditing.runs import bodies
from absint.model.declared_types import write_definitions
from tests.absint.jobs.auditing.models import LIE, SUM, model

BRANCHES = """(bool c, float[N] x) => (float[n] y) {y = If(c)
    <then_branch = t () => (float[N] p) {p = Relu(x)},
     else_branch = e () => (float[M] q) {q = Concat<axis = 0>(x, x)}>}"""
CALLS = """(float[N] x) => (y, z) {y = my.twice(x) z = my.twice(y)}
    <opset_import: ["": 18], domain: "my"> twice (a) => (b) {c = Relu(a) b = Concat<axis = 0>(c, c)}"""


def with_types_in_the_function(text: str, shape: list[str | int]) -> absint.Result:
    proto = model(text)
    proto.functions[0].value_info.append(helper.make_tensor_value_info("c", 1, shape))
    return absint.analyze(proto)


def test_every_graph_has_its_path() -> None:
    assert [body.path for body in bodies(model(BRANCHES))] == ["", "If#0/then_branch", "If#0/else_branch"]
    assert [body.path for body in bodies(model(CALLS))] == ["", "twice#0", "twice#1"]


def test_a_path_that_two_graphs_have_is_left_out() -> None:
    proto = model(CALLS)
    for node in proto.graph.node:
        node.name = "same"
    assert [body.path for body in bodies(proto)] == [""]


def test_a_function_that_calls_itself_is_entered_once() -> None:
    proto = model(CALLS)
    proto.functions[0].node[0].CopyFrom(helper.make_node("twice", ["a"], ["c"], domain="my"))
    assert [body.path for body in bodies(proto)] == ["", "twice#0", "twice#1"]


def test_declarations_are_found_everywhere() -> None:
    assert declared(model(LIE)).shapes == {"y": ("N",), "z": ("N",)}
    assert declared(model(BRANCHES)).shapes == {"y": ("n",), "If#0/then_branch/p": ("N",), "If#0/else_branch/q": ("M",)}
    result = with_types_in_the_function(CALLS, ["N"])
    assert declared(result.model).shapes["twice#0/c"] == ("N",)
    assert declared(result.model).shapes["twice#1/c"] == ("N",)


@pytest.mark.parametrize(
    ("text", "refuted"),
    [
        (LIE, ["y[0] == N"]),
        (BRANCHES, []),
        (BRANCHES.replace("float[M] q", "float[N] q"), ["If#0/else_branch/q[0] == N"]),
    ],
)
def test_false_declarations_are_refuted_by_a_run(text: str, refuted: list[str]) -> None:
    result = absint.analyze(model(text))
    found = judge(result, declared(result.model))
    assert [item.relation for item in found.of(Judgement.REFUTED)] == refuted
    assert all(item.confirmed for item in found.of(Judgement.REFUTED))


def test_a_name_that_the_model_defines_stands_for_its_text() -> None:
    proto = model('(float[N] x, float[M] y) => (float["_d"] z, float["_d"] w) {z = Concat<axis=0>(x, y) w = Relu(z)}')
    write_definitions(proto, {"_d": "N + M"})
    result = absint.analyze(proto)
    proved = [item.relation for item in judge(result, declared(result.model)).of(Judgement.PROVED)]
    assert proved == ["rank(z) == 1", "rank(w) == 1", "z[0] == M + N", "w[0] == M + N"]


def test_a_function_is_judged_at_each_call() -> None:
    result = with_types_in_the_function(CALLS, ["N"])
    found = {item.relation: item.judgement for item in judge(result, declared(result.model), confirm=False).judged}
    assert found["twice#0/c[0] == N"] is Judgement.PROVED
    assert found["twice#1/c[0] == N"] is Judgement.NOT_ENTAILED


def test_a_function_that_is_called_once_is_looked_into() -> None:
    text = CALLS.replace("(y, z)", "(y)").replace("z = my.twice(y)", "")
    result = with_types_in_the_function(text, [3])
    (item,) = judge(result, declared(result.model)).of(Judgement.REFUTED)
    assert (item.relation, item.confirmed) == ("twice#0/c[0] == 3", True)


def test_the_analysis_proves_what_it_says() -> None:
    for text in (SUM, LIE, BRANCHES, "(float[N] x) => (y) {n = NonZero(x) y = Relu(x)}"):
        result = absint.analyze(model(text))
        found = judge(result, by_result("sound", result))
        assert found.judged
        assert found.counts[Judgement.PROVED] == len(found.judged)


def test_sizes_that_only_data_decide_have_anonymous_names() -> None:
    claims = by_result("sound", absint.analyze(model("(float[N] x) => (y) {y = NonZero(x)}")))
    assert claims.shapes == {"y": (1, "_d0")}
    assert claims.anonymous == {"_d0"}


def test_a_policy_is_judged() -> None:
    proto = model(SUM)
    result = absint.analyze(proto)
    claims = by_policy("max", result)
    assert (claims.source, by_policy("sound", result).source) == ("unsound policy max", "policy sound")
    (item,) = judge(result, claims).of(Judgement.REFUTED)
    assert item.relation == "z[0] == max(M, N)"
    with pytest.raises(UsageError, match="unknown policy"):
        by_policy("nobody's", result)
