"""Unsound policies: what they show of small models beside the tools that they mirror, false claims that a run refutes,
labels wherever their results are shown, and what is refused."""

from __future__ import annotations

import importlib
import io
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper
from onnx.reference import ReferenceEvaluator

import absint
from absint.cli import run as command
from absint.engine import fixpoint
from absint.lattices.logic.facts import NO_FACTS
from absint.lattices.unify import POLICIES
from absint.result import Result
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.policies import run_policy
from tests.absint.shapes.flows import FLOWS

UNSOUND = [name for name, policy in POLICIES.items() if not policy.sound]
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
Dims = Sequence[int | str | None]
node = helper.make_node


Output = Callable[..., tuple[int, str]]


@pytest.fixture
def absint_on_add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Output:
    """Runs `absint analyze` on A[N] + B[M]: its exit code, and what it prints."""
    monkeypatch.chdir(tmp_path)
    onnx.save(ADD, "add.onnx")

    def call(*options: str) -> tuple[int, str]:
        code = command(["analyze", "add.onnx", *options])
        out, err = capsys.readouterr()
        return code, out or err

    return call


def value(name: str, dims: Dims | None, dtype: int = FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, dims)


def model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Dims],
    outputs: Sequence[ValueInfoProto],
    opset: int = 18,
    declared: Sequence[ValueInfoProto] = (),
) -> ModelProto:
    graph = helper.make_graph(nodes, "g", [value(*item) for item in inputs.items()], outputs, value_info=declared)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def binary(operator: str, a: Dims, b: Dims, **attributes: int) -> ModelProto:
    return model([node(operator, ["A", "B"], ["Y"], **attributes)], {"A": a, "B": b}, [value("Y", None)])


def shape(result: Result, name: str = "Y") -> list[str]:
    found = result.shapes[name]
    assert found is not None
    return [str(dim) for dim in found]


# The tools that they mirror


PAIRS: Sequence[tuple[int | str | None, int | str | None]] = [
    ("N", "N"), ("N", "M"), ("M", "N"), ("N", 1), (1, "N"), ("N", 64), (64, "N"), ("N", 0), (0, "N"),
    ("N", None), (64, None), (None, 64), ("longer", "s"), ("s", "longer"), ("N+1", "M"), ("M", "N+1"), (1, 64),
]  # fmt: skip
INVENTED = "?"


def said(proto: ModelProto, name: str, known: set[str]) -> list[str]:
    """The dims of a value as a tool wrote them; a name that it invented is a question mark."""
    infos = {info.name: info for info in (*proto.graph.output, *proto.graph.value_info)}
    dims = infos[name].type.tensor_type.shape.dim
    texts = [str(d.dim_value) if d.HasField("dim_value") else d.dim_param.replace(" ", "") for d in dims]
    return [text if text.isdigit() or text in known else INVENTED for text in texts]


def by_onnx(proto: ModelProto) -> ModelProto:
    return onnx.shape_inference.infer_shapes(proto, data_prop=True)


def by_onnx_shape_inference(proto: ModelProto) -> ModelProto:
    ir = importlib.import_module("onnx_ir")
    inferred = importlib.import_module("onnx_shape_inference").infer_symbolic_shapes(ir.from_proto(proto))
    return ir.to_proto(inferred)  # type: ignore[no-any-return]


def by_auto_merge(proto: ModelProto) -> ModelProto:
    found = importlib.import_module("onnxruntime.tools.symbolic_shape_infer")
    logging.getLogger(found.__name__).disabled = True
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return found.SymbolicShapeInference.infer_shapes(proto, auto_merge=True)  # type: ignore[no-any-return]


MIRRORS: Sequence[tuple[str, str, Callable[[ModelProto], ModelProto]]] = [
    ("keep-target", "Add", by_onnx),
    ("keep-target", "Concat", by_onnx),
    ("fresh", "Add", by_onnx),
    ("prefer-concrete", "Add", by_onnx_shape_inference),
    ("prefer-first", "Add", by_onnx_shape_inference),
    ("prefer-first", "Concat", by_onnx_shape_inference),
]


def pair(operator: str, a: int | str | None, b: int | str | None) -> ModelProto:
    if operator == "Add":
        return binary("Add", [a], [b])
    return binary("Concat", [a, 2], [b, 3], axis=1)


@pytest.mark.parametrize(("policy", "operator", "tool"), MIRRORS)
def test_a_policy_shows_what_its_tool_shows(
    policy: str, operator: str, tool: Callable[[ModelProto], ModelProto]
) -> None:
    wrong = []
    for a, b in PAIRS:
        if operator == "Concat" and (a, b) == (1, 64):
            continue  # an error of the model, which some report and some do not
        known = {text.replace(" ", "") for text in (a, b) if isinstance(text, str)}
        proto = pair(operator, a, b)
        theirs = said(tool(proto), "Y", known)
        ours = [text.replace(" ", "") for text in shape(absint.analyze(proto, policy=policy))]
        if [text if text.isdigit() or text in known else INVENTED for text in ours] != theirs:
            wrong.append((a, b, ours, theirs))
    assert wrong == []


@pytest.mark.parametrize("operator", ["Add", "Concat"])
def test_shortest_name_is_one_of_the_choices_of_auto_merge(operator: str) -> None:
    """Between two symbols of the inputs auto_merge takes the one that its hash table has first."""
    for a, b in PAIRS:
        if {a, b} in ({1, 64}, {1}):
            continue
        known = {text.replace(" ", "") for text in (a, b) if isinstance(text, str)}
        proto = pair(operator, a, b)
        ours = shape(absint.analyze(proto, policy="shortest-name"))[0].replace(" ", "")
        (theirs, *_) = said(by_auto_merge(proto), "Y", known)
        if isinstance(a, int) or isinstance(b, int) or a == b:
            assert theirs == ours
        else:
            assert {ours, theirs} <= {*known, INVENTED}


def test_auto_merge_takes_a_symbol_before_an_expression_and_the_shorter_of_two() -> None:
    nodes = [
        node("Concat", ["A", "A"], ["a"], axis=0),
        node("Concat", ["B"] * 11, ["b"], axis=0),
        node("Add", ["a", "C"], ["first"]),
        node("Add", ["b", "a"], ["second"]),
    ]
    outputs = [value("first", None), value("second", None)]
    for kept, expected in ((outputs[:1], "symbol"), (outputs[1:], "2*N")):
        proto = model(
            [n for n in nodes if n.output[0] in ("a", "b", kept[0].name)],
            {"A": ["N"], "B": ["M"], "C": ["symbol"]},
            kept,
        )
        known = {"N", "M", "symbol", "2*N", "11*M"}
        assert said(by_auto_merge(proto), kept[0].name, known) == [expected]
        assert shape(absint.analyze(proto, policy="shortest-name"), kept[0].name) == [expected]


def test_what_yobx_documents() -> None:
    """Its table for a broadcast; `^` is max there. Between shapes that must agree it shows the first."""
    expected = {
        ("N", "M"): "max(M, N)", ("N", 64): "64", (64, "N"): "64", ("N", 1): "N", (1, "N"): "N", (0, "N"): "0",
    }  # fmt: skip
    for (a, b), text in expected.items():
        assert shape(absint.analyze(pair("Add", a, b), policy="max")) == [text]
    assert shape(absint.analyze(pair("Concat", "N", 64), policy="max")) == ["N", "5"]
    claims = absint.analyze(pair("Add", "d_model", 64), policy="max").claims
    assert [(str(c.relation), c.reason) for c in claims] == [("d_model == 64", "dims of axis -1 must broadcast")]


def counted(declared_in: str | None = None) -> ModelProto:
    """NonZero, Neg, Concat with itself; the author names the size of the second value."""
    nodes = [
        node("NonZero", ["x"], ["found"]),
        node("Neg", ["found"], ["negative"]),
        node("Concat", ["found", "found"], ["twice"], axis=1),
    ]
    outputs = [value("negative", [1, "count"], INT64), value("twice", None, INT64)]
    return model(nodes, {"x": ["N"]}, outputs)


@pytest.mark.parametrize(
    ("policy", "found", "negative", "twice"),
    [
        ("sound", "count", "count", "2*count"),
        ("keep-target", "_d0", "count", "2*_d0"),
        ("rename", "count", "count", "2*count"),
        ("prefer-first", "_d0", "_d0", "2*_d0"),
    ],
)
def test_declared_names(policy: str, found: str, negative: str, twice: str) -> None:
    result = absint.analyze(counted(), policy=policy)
    assert [shape(result, name)[1] for name in ("found", "negative", "twice")] == [found, negative, twice]


def test_declared_names_as_the_tools_have_them() -> None:
    proto = counted()
    assert said(by_onnx(proto), "negative", {"count"}) == ["1", "count"]
    assert said(by_onnx(proto), "found", {"count"}) == ["1", INVENTED]
    assert said(by_onnx_shape_inference(proto), "found", {"count"}) == ["1", "count"]


def test_a_name_of_the_inputs_is_not_renamed() -> None:
    proto = model([node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["y"])], {"x": ["N"]}, [value("y", ["M"])])
    result = absint.analyze(proto, policy="rename")
    assert [shape(result, name) for name in ("x", "a", "y")] == [["N"], ["N"], ["M"]]


def test_an_expression_gives_way_to_its_declared_name_everywhere() -> None:
    nodes = [node("Concat", ["x", "x"], ["a"], axis=0), node("Relu", ["a"], ["y"])]
    result = absint.analyze(model(nodes, {"x": ["N"]}, [value("y", ["M"])]), policy="rename")
    assert [shape(result, name) for name in ("a", "y")] == [["M"], ["M"]]


def test_a_declared_shape_of_unknown_rank_is_adopted_and_one_of_another_rank_is_not() -> None:
    opaque = model([node("Mystery", ["x"], ["y"], domain="my")], {"x": ["N"]}, [value("y", ["N", 3])])
    assert shape(absint.analyze(opaque, policy="rename"), "y") == ["N", "3"]
    lying = model([node("Relu", ["x"], ["y"])], {"x": ["N"]}, [value("y", ["N", 3])])
    assert shape(absint.analyze(lying, policy="rename"), "y") == ["N"]


def test_invented_names_avoid_adopted_ones() -> None:
    nodes = [node("NonZero", ["x"], ["a"]), node("NonZero", ["a"], ["b"]), node("Neg", ["b"], ["y"])]
    result = absint.analyze(model(nodes, {"x": ["N"]}, [value("y", [2, "_d0"], INT64)]), policy="rename")
    assert [shape(result, name)[1] for name in ("a", "b")] == ["_d1", "_d0"]


# False claims that a run refutes


def run(proto: ModelProto, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, dict(feeds)), strict=True))


ADD = binary("Add", ["N"], ["M"])
WIDE = binary("Add", ["B", 1, "d"], [64])
JOIN = binary("Concat", ["N", "P"], ["M", "Q"], axis=1)
FIXED = binary("Concat", [3, "P"], ["M", "Q"], axis=1)
LIE = model([node("Relu", ["A"], ["Y"])], {"A": ["N"], "B": ["M"]}, [value("Y", ["M"])])
REFUTED: Sequence[tuple[str, ModelProto, Mapping[str, Sequence[int]], str]] = [
    ("prefer-concrete", ADD, {"A": [1], "B": [5]}, "Y[0]: claimed N = 1, ran 5"),
    ("prefer-first", ADD, {"A": [1], "B": [0]}, "Y[0]: claimed N = 1, ran 0"),
    ("max", ADD, {"A": [1], "B": [0]}, "Y[0]: claimed max(M, N) = 1, ran 0"),
    ("shortest-name", ADD, {"A": [5], "B": [1]}, "Y[0]: claimed M = 1, ran 5"),
    ("max", WIDE, {"A": [2, 1, 1], "B": [64]}, "d == 64"),
    ("keep-target", JOIN, {"A": [3, 0], "B": [2, 4]}, "Y[0]: claimed N = 3, ran 2"),
    ("prefer-first", JOIN, {"A": [3, 0], "B": [2, 4]}, "Y[0]: claimed N = 3, ran 2"),
    ("shortest-name", JOIN, {"A": [3, 4], "B": [2, 0]}, "Y[0]: claimed M = 2, ran 3"),
    ("fresh", FIXED, {"A": [3, 0], "B": [2, 4]}, "Y[0]: claimed 3, ran 2"),
    ("keep-target", LIE, {"A": [3], "B": [2]}, "Y[0]: claimed M = 2, ran 3"),
    ("rename", LIE, {"A": [3], "B": [2]}, "Y[0]: claimed M = 2, ran 3"),
]


@pytest.mark.parametrize(("policy", "proto", "sizes", "wrong"), REFUTED)
def test_a_run_refutes_a_claim(policy: str, proto: ModelProto, sizes: Mapping[str, Sequence[int]], wrong: str) -> None:
    feeds = {name: np.zeros(dims, np.float32) for name, dims in sizes.items()}
    outputs = run(proto, {name: feeds[name] for name in feeds})
    claimed = absint.analyze(proto, policy=policy).compare(feeds, outputs)
    assert not claimed.ok
    assert any(wrong in str(row) for row in claimed.wrong)
    assert str(claimed).splitlines()[0].startswith(f"the model (unsound policy {policy})")
    assert json.loads(claimed.to_json())["policy"] == f"unsound policy {policy}"
    sound = absint.analyze(proto).compare(feeds, outputs)
    assert sound.ok
    assert "policy" not in json.loads(sound.to_json())


def test_every_unsound_policy_is_refuted_somewhere() -> None:
    assert {policy for policy, *_ in REFUTED} == set(UNSOUND)


# The engine


def test_the_memo_of_an_operator_keeps_policies_apart() -> None:
    """Two analyses of one program share the memo of each operator."""
    result = absint.analyze(ADD)
    lowered, graph = result.lowered, result.graph
    (number,) = [at for at, item in enumerate(result.nodes) if item.operation is not None]
    texts = []
    for name in (*POLICIES, *POLICIES):
        policy = POLICIES[name]
        if policy.sound:
            states = fixpoint(graph, ShapeAnalysis(lowered.program)).states
        else:
            states = run_policy(lowered, NO_FACTS, policy, memoise=True, trace=None).rounds[0].states
        texts.append(str(states[number][0]))
    assert texts[: len(POLICIES)] == texts[len(POLICIES) :]
    assert len(set(texts)) == 5


@pytest.mark.parametrize("policy", UNSOUND)
def test_the_suite_runs_under_every_policy(policy: str) -> None:
    """Every rule gets through; what cannot be decided is unknown."""
    failed = {}
    for name, build in FLOWS.items():
        result = absint.analyze(build().model, policy=policy)
        if result.analysis.crashes:
            failed[name] = result.analysis.crashes
        assert str(dict(result.shapes))
    assert failed == {}


def test_a_policy_is_given_by_name_or_as_a_value() -> None:
    assert absint.analyze(ADD).policy is absint.analyze(ADD, policy="sound").policy is POLICIES["sound"]
    assert absint.analyze(ADD, policy=POLICIES["max"]).policy is POLICIES["max"]
    with pytest.raises(absint.UsageError) as raised:
        absint.analyze(ADD, policy="best")
    assert str(raised.value) == f"unknown policy 'best': it is one of {', '.join(POLICIES)}"


def test_a_trace_shows_what_is_adopted() -> None:
    seen: dict[int, str] = {}
    result = absint.analyze(LIE, policy="rename", trace=lambda at, state: seen.update({at: str(state[0])}))
    assert seen[result.producer("Y")[0]] == str(result["Y"])


# What is refused


REFUSED: Mapping[str, Callable[[Result], object]] = {
    "the constraint set": lambda result: result.constraints,
    "a proof": lambda result: result.prove("Y[0] == A[0]"),
    "a class of equal dims": Result.equal_dims,
    "a class of equal shapes": Result.equal_shapes,
    "a class of equal buffers": Result.equal_buffers,
    "a contract": Result.contract,
    "what is known of a symbol": lambda result: result.symbol("N"),
    "a check of sizes": lambda result: result.check({"N": 1, "M": 1}),
    "a cost": Result.cost,
    "the memory": Result.memory,
    "the placement of nodes": Result.devices,
    "verification": Result.verify,
    "annotate with 'strict'": lambda result: result.annotate("strict"),
}


@pytest.mark.parametrize("policy", UNSOUND)
@pytest.mark.parametrize("what", REFUSED)
def test_what_an_unsound_policy_does_not_answer(what: str, policy: str) -> None:
    with pytest.raises(absint.UsageError) as raised:
        REFUSED[what](absint.analyze(ADD, policy=policy))
    assert str(raised.value) == (
        f"{what} needs the sound analysis, and this result is of the unsound policy {policy}: what it claims may be "
        f"false; analyse the model without a policy"
    )


def test_a_range_is_not_checked_either() -> None:
    with pytest.raises(absint.UsageError, match="a check of sizes needs the sound analysis"):
        absint.analyze(ADD, policy="max").check_range({"N": (1, 4)})


def test_there_is_no_round_with_z3() -> None:
    with pytest.raises(
        absint.UsageError, match="refine='smt' needs the sound policy: claims of the unsound policy max"
    ):
        absint.analyze(ADD, policy="max", refine="smt")


def test_what_nodes_require_teaches_nothing() -> None:
    """MatMul with a (64, 2) weight runs only where K is 64."""
    proto = model([node("MatMul", ["A", "W"], ["Y"]), node("Relu", ["A"], ["a"])], {"A": ["N", "K"], "W": [64, 2]}, [
        value("Y", None), value("a", None),
    ])  # fmt: skip
    assert shape(absint.analyze(proto), "a") == ["N", "64"]
    result = absint.analyze(proto, policy="keep-target")
    assert shape(result, "a") == ["N", "K"]
    assert len(result.rounds.rounds) == 1


def test_a_claim_does_not_say_that_a_model_cannot_run() -> None:
    """The author's 5 is false: it runs at size 4, except in onnxruntime, which believes the author."""
    nodes = [node("Relu", ["A"], ["a"]), node("Add", ["a", "B"], ["Y"])]
    proto = model(nodes, {"A": ["N"], "B": [4]}, [value("Y", None)], declared=[value("a", [5])])
    zeros = np.zeros(4, np.float32)
    assert ReferenceEvaluator(proto).run(None, {"A": zeros, "B": zeros})[0].shape == (4,)  # type: ignore[union-attr]
    result = absint.analyze(proto, policy="rename")
    assert result.can_run
    (found,) = [d for d in result.diagnostics if d.code == "cannot-run"]
    assert found.severity is absint.Severity.WARNING
    assert found.message.endswith("(unsound policy rename)")


# Labels


@pytest.mark.parametrize("policy", UNSOUND)
def test_the_reports_are_labelled(policy: str, absint_on_add: Output) -> None:
    label = f"unsound policy {policy}"
    code, text = absint_on_add("--policy", policy)
    assert code == 0
    assert text.splitlines()[1] == f"{label}: what is shown are claims, which may be false"
    found = json.loads(absint_on_add("--policy", policy, "--format", "json")[1])
    assert found["policy"] == {"name": policy, "sound": False, "summary": POLICIES[policy].summary}
    assert found["label"] == label
    result = absint.analyze(ADD, policy=policy)
    assert label in repr(result)
    explanation = result.explain("Y", 0)
    assert label in str(explanation).splitlines()[0]
    assert json.loads(explanation.to_json())["policy"] == label
    for merge in ("skip", "override", "refine"):
        annotated = result.annotate(merge, outputs=True)  # type: ignore[arg-type]
        assert {entry.key: entry.value for entry in annotated.metadata_props} == {"absint.policy": label}


def test_a_sound_report_has_no_label(absint_on_add: Output) -> None:
    plain = absint_on_add()
    assert plain == absint_on_add("--policy", "sound")
    assert "policy" not in plain[1]
    result = absint.analyze(ADD)
    assert result.claims == ()
    assert "policy" not in repr(result)
    assert "policy" not in json.loads(result.explain("Y", 0).to_json())
    assert list(result.annotate().metadata_props) == []


def test_claims_are_listed(absint_on_add: Output) -> None:
    lines = absint_on_add("--policy", "prefer-first")[1].splitlines()
    at = lines.index("taken for granted")
    (claim,) = absint.analyze(ADD, policy="prefer-first").claims
    assert lines[at + 1].split("  ")[1].strip() == str(claim.relation)
    assert claim.relation.evaluate({"N": 5, "M": 1})
    assert not claim.relation.evaluate({"N": 1, "M": 5})


def test_a_label_replaces_an_older_one() -> None:
    proto = absint.analyze(ADD, policy="max").annotate()
    again = absint.analyze(proto, policy="fresh").annotate()
    assert [(entry.key, entry.value) for entry in again.metadata_props] == [("absint.policy", "unsound policy fresh")]


def test_explain_and_annotate_take_a_policy(absint_on_add: Output, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["explain", "add.onnx", "Y", "--policy", "max"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "Y: FLOAT [max(M, N)]  (unsound policy max)"
    assert command(["annotate", "add.onnx", "-o", "out.onnx", "--outputs", "--policy", "max"]) == 0
    assert capsys.readouterr().out == "out.onnx: value_info of 0 values, unsound policy max\n"
    (entry,) = onnx.load("out.onnx").metadata_props
    assert (entry.key, entry.value) == ("absint.policy", "unsound policy max")
    assert command(["annotate", "add.onnx", "-o", "strict.onnx", "--merge", "strict", "--policy", "max"]) == 2
    assert not Path("strict.onnx").exists()


def test_an_unknown_policy_on_the_command_line(absint_on_add: Output) -> None:
    code, text = absint_on_add("--policy", "best")
    assert code == 2
    assert "'best' is not one of 'sound', 'keep-target'" in text
