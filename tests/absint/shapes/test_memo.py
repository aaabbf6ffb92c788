"""Sharing between analyses: nothing that one leaves behind changes the answers of another."""

from __future__ import annotations

import random
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import absint
from absint.program import nodes
from absint.program.instances import Instances
from absint.shapes.loops import zero_trip_sizes
from absint.shapes.memo import cache
from absint.transfer.stated import Applied
from tests.absint.shapes.flows import FLOWS
from tests.adversarial import MODELS
from tests.models import parsed

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.onnx"))


@pytest.fixture(autouse=True)
def _purged() -> None:
    absint.purge()


def answers(model: onnx.ModelProto, *, premises: bool = True) -> dict[str, str]:
    """All that is said of the values, and what is required."""
    result = absint.analyze(model, premises=premises)
    said = {name: repr(value) for name, value in result.values.items()}
    return said | {f"clause {at}": str(clause) for at, clause in enumerate(result.constraints)}


def test_the_second_analysis_of_a_model_runs_no_rule_of_the_first_round() -> None:
    for path in EXAMPLES:
        absint.purge()
        first, second = absint.analyze(path), absint.analyze(path)
        assert first.base.analysis.applications > 0
        assert second.base.analysis.applications == 0
        assert second.states == first.states
        absint.purge()
        assert absint.analyze(path).base.analysis.applications == first.base.analysis.applications


def test_what_was_analysed_before_changes_no_answer() -> None:
    names = random.Random(7).sample(sorted(MODELS), len(MODELS))
    alone = {}
    for name in names:
        absint.purge()
        alone[name] = answers(MODELS[name].model)
    for _ in range(2):  # after others, then after itself too
        for name in reversed(names):
            assert answers(MODELS[name].model) == alone[name], name


ASSUMED = (
    (),
    ("N != 1",),
    ("N <= 5",),
    ("N == 0 or N == 3 or N == 5",),
    ("N >= 2", "N <= 9"),
    ("N == M",),
    ("N % 4 == 0",),
    ("N + M >= 3",),
    ("N == 4",),
)


def assuming(*relations: str) -> str:
    """A sum of two sizes, a cut and a regrouping, which the relations settle or leave open."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N] x, float[M] z) => (float[K] y, float[L] c, float[A, B] r)
        <int64[1] s = {2}, int64[1] e = {9}, int64[2] t = {-1, 4}>
        { y = Add(x, z) c = Slice(x, s, e) r = Reshape(x, t) }"""
    result = absint.analyze(onnx.parser.parse_model(text), assume=relations)
    return str([result.shapes[name] for name in "ycr"])


def test_rules_that_ask_for_no_premise_serve_analyses_without_them() -> None:
    for path in EXAMPLES:
        absint.purge()
        first, second = absint.analyze(path), absint.analyze(path, premises=False)
        asked = [summary for summary in first.base.analysis.applied.values() if summary.conditional]
        assert second.base.analysis.applications <= len(asked)
    for name, made in MODELS.items():
        absint.purge()
        alone = answers(made.model, premises=False)
        absint.purge()
        known = answers(made.model)
        assert answers(made.model, premises=False) == alone, name
        assert answers(made.model) == known, name


def test_what_one_analysis_assumes_is_no_fact_of_another() -> None:
    alone = {}
    for relations in ASSUMED:
        absint.purge()
        alone[relations] = assuming(*relations)
    assert len(set(alone.values())) >= 6, "the relations make no difference"
    for first in ASSUMED:
        absint.purge()
        assuming(*first)
        for second in ASSUMED:
            assert assuming(*second) == alone[second], (first, second)


def relu(domain: str, *, function: bool) -> onnx.ModelProto:
    """One operator; with a function beside it, operators are told apart by their overloads too."""
    nodes = [helper.make_node("Relu", ["x"], ["y"], domain=domain)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", ["N"]), ("y", None))]
    imports = [helper.make_opsetid(name, 17) for name in sorted({"", domain})]
    body = helper.make_function("f", "F", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], imports)
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=imports, functions=[body] if function else [])


def relus() -> str:
    """The answers for a Relu of ONNX, and then for one of another domain."""
    models = (relu("", function=True), relu(":", function=False))
    return str([absint.analyze(model).shapes["y"] for model in models])


@pytest.mark.parametrize("domain", [":", "a:b", "a"])
def test_domains_and_overloads_are_kept_apart(domain: str) -> None:
    assert str(absint.analyze(relu("", function=True)).shapes["y"]) == "[N]"
    for function in (True, False):
        assert absint.analyze(relu(domain, function=function)).unruled == {f"{domain}::Relu": 1}
    assert relus() == str([absint.Shape(["N"]), absint.Shape(None)])


def limited(version: int) -> onnx.ModelProto:
    """A Clip with its limit in an attribute."""
    graph = onnx.parser.parse_graph("agraph (float[N, 3, 4] x) => (float[a, b, c] y) { y = Clip<max = 2.0>(x) }")
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)


def test_versions_of_an_operator_are_kept_apart() -> None:
    """Clip takes its limits as attributes up to opset 10, and as inputs since, where such a node is malformed."""
    for versions in ((6, 13), (13, 6)):
        absint.purge()
        found = {version: [d.code for d in absint.analyze(limited(version)).diagnostics] for version in versions}
        assert found == {6: [], 13: ["node-form", "ill-formed"]}


def saved(folder: Path, numbers: tuple[int, int]) -> Path:
    """A reshape by a Constant whose elements lie in a file beside the model."""
    folder.mkdir()
    (folder / "target.bin").write_bytes(struct.pack("<2q", *numbers))
    target = TensorProto(name="t", data_type=TensorProto.INT64, dims=[2], data_location=TensorProto.EXTERNAL)
    target.external_data.add(key="location", value="target.bin")
    nodes = [helper.make_node("Constant", [], ["t"], value=target), helper.make_node("Reshape", ["x", "t"], ["y"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", [12]), ("y", None))]
    model = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_tensors_of_files_are_kept_apart(tmp_path: Path) -> None:
    """The attributes are equal byte for byte, and the files that they name are not."""
    shapes = [str(absint.analyze(saved(tmp_path / str(rows), (rows, -1))).shapes["y"]) for rows in (2, 3)]
    assert shapes == ["[2, 6]", "[3, 4]"]


def test_a_rule_of_the_user_shares_nothing_with_the_shipped_one() -> None:
    @absint.rule("Relu", inputs="X")
    def relu(op: absint.Op) -> absint.Tensor:
        """Of one element."""
        return absint.Tensor(op.dtype("X"), absint.Shape([1]))

    model = parsed("(float[N] x) => (y) { y = Relu(x) }", 17)
    table = absint.TABLE.extended([relu])
    for _ in range(2):
        assert str(absint.analyze(model).shapes["y"]) == "[N]"
        assert str(absint.analyze(model, table=table).shapes["y"]) == "[1]"


def test_a_failure_of_a_rule_is_not_remembered() -> None:
    """It is told in each analysis, and where its cause is gone (a deep stack, say) the rule answers."""
    model = relu("", function=False)
    rule = absint.TABLE.lookup("", "Relu", 17)
    works = rule.function  # type: ignore[union-attr]

    def fails(op: absint.Op) -> absint.Tensor:
        raise RecursionError("too deep")

    try:
        object.__setattr__(rule, "function", fails)
        for _ in range(2):
            result = absint.analyze(model)
            assert result.shapes["y"].is_top
            assert [d.code for d in result.diagnostics] == ["rule-failed"]
            assert "RecursionError" in str(result.diagnostics[0])
    finally:
        object.__setattr__(rule, "function", works)
    assert str(absint.analyze(model).shapes["y"]) == "[N]"


def test_a_failure_that_the_facts_exclude_needs_no_rule_in_the_next_round() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["y"]),  # its window must fit
        helper.make_node("ConvTranspose", ["y", "w"], ["z"]),  # may fail on an empty axis
        helper.make_node("Slice", ["x", "start", "end", "axes"], ["first"]),  # at most one row
    ]
    graph = helper.make_graph(
        nodes,
        "rows",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, "rows", "columns"])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("z", "first")],
        [
            helper.make_tensor("w", TensorProto.FLOAT, [1, 1, 3, 3], [0.0] * 9),
            *(helper.make_tensor(n, TensorProto.INT64, [1], [at]) for n, at in (("start", 0), ("end", 1), ("axes", 2))),
        ],
    )
    result = absint.analyze(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    transposed, _ = result.producer("z")
    first, second = (item.analysis for item in result.rounds.rounds)
    assert str(result.shapes["first"]) == "[n, 1, 1, columns]"
    assert len(first.applied[transposed].possible_failures) == 2
    assert not second.applied[transposed].possible_failures
    assert not second.applications


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {path: answers(onnx.load(path)) for path in EXAMPLES}
    monkeypatch.setattr(cache, "MAX_SUMMARIES", 7)
    monkeypatch.setattr(cache, "MAX_REUSES", 1)
    monkeypatch.setattr(nodes, "MAX_OPERATIONS", 3)
    absint.purge()
    for path in EXAMPLES:
        assert answers(onnx.load(path)) == alone[path]
        assert len(nodes.INTERNED) <= 3


def test_a_reuse_that_has_grown_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts such as `seq >= 1` are those of many models."""
    result = absint.analyze(EXAMPLES[0])
    facts = result.last.analysis.facts
    reuse = cache.SHARED.reuse(facts.replaced)
    for summary in result.base.analysis.applied.values():
        reuse.summary(summary)
    assert cache.SHARED.reuse(facts.replaced) is reuse
    monkeypatch.setattr(cache, "MAX_SUMMARIES", len(reuse) - 1)
    assert len(cache.SHARED.reuse(facts.replaced)) == 0


def test_threads_may_share() -> None:
    names = sorted(MODELS)[::9]
    alone = [answers(MODELS[name].model) for name in names]
    absint.purge()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda name: answers(MODELS[name].model), names * 3))
    assert found == alone * 3


def test_sizes_without_a_trip_are_inferred_once(monkeypatch: pytest.MonkeyPatch) -> None:
    applied: list[str] = []
    apply = zero_trip_sizes.apply

    def counted(rule: absint.Rule, op: absint.Op) -> Applied:
        applied.append(op.name)
        return apply(rule, op)

    monkeypatch.setattr(zero_trip_sizes, "apply", counted)
    flow = FLOWS["loops_of_keras_in_a_row"]().model
    absint.analyze(flow)
    first = len(applied)
    assert first > 0
    absint.analyze(flow)
    assert len(applied) == first
    absint.purge()
    absint.analyze(flow)
    assert len(applied) == 2 * first


def test_operators_that_an_earlier_model_had_are_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[object] = []
    operation = Instances.operation

    def counted(self: Instances, *given: Any) -> nodes.Operation | None:
        looked_up.append(given[3])
        return operation(self, *given)

    monkeypatch.setattr(Instances, "operation", counted)
    models = [onnx.load(path) for path in EXAMPLES]
    expected = [answers(model) for model in models]
    assert len(looked_up) > 0
    del looked_up[:]
    assert [answers(model) for model in models] == expected
    assert looked_up == []
    absint.purge()
    absint.analyze(models[0])
    assert len(looked_up) > 0


def test_operators_are_kept_by_the_versions_that_a_model_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "MAX_OPERATIONS", 2)
    for version in (6, 13, 6, 13):
        found = [d.code for d in absint.analyze(limited(version)).diagnostics]
        assert found == ({6: [], 13: ["node-form", "ill-formed"]})[version]
        kept = nodes.INTERNED._under
        assert sum(map(len, kept.values())) <= 2
        assert all(dict(versions)[""] in (6, 13) for versions in kept)


def test_results_of_a_program_do_not_survive_purge() -> None:
    """The program keeps its own; a later model starts anew, also where the program was analysed in between."""
    result = absint.analyze(EXAMPLES[0])
    first = result.base.analysis.applications
    absint.purge()
    result.check(dict.fromkeys(result.symbols, 3))
    kept = sum(map(len, cache.SHARED._results.values()))
    assert kept <= cache.SHARED._count
    absint.purge()
    assert absint.analyze(EXAMPLES[0]).base.analysis.applications == first
