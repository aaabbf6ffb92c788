"""Certificates under each semantics: a lemma assumes of a node what each run by it meets, and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnxruntime import InferenceSession

import absint
from absint.cli import run
from absint.lattices.logic.relation import disjunction, eq, ge, le
from absint.lattices.shape import Shape
from absint.lattices.value import Tensor
from absint.questions.certificates.certificate import Certificate
from absint.questions.certificates.single import single
from absint.transfer.op import Op
from absint.transfer.rule import Rule
from absint.transfer.semantics import SEMANTICS, Semantics
from tests.absint.questions.certificates.checking import checked, manifest_of, model_of
from tests.jobs.forged_models import accepted

POOLED = "(float[N, C, H] x) => (float[P, Q, R] y) {{ y = {} (x) }}"

MODELS = {
    "max": POOLED.format("MaxPool<kernel_shape=[2], strides=[2]>"),
    "max of one image": """(float[1, 3, H] x) => (float[P, Q, R] y) {
        y = MaxPool<kernel_shape=[2], strides=[2]>(x) }""",
    "padded": """(float[N, 3, H, W] x) => (float[P, Q, R, S] y) {
        y = MaxPool<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(x) }""",
    "ceiled": POOLED.format("MaxPool<kernel_shape=[3], strides=[2], ceil_mode=1>"),
    "average": POOLED.format("AveragePool<kernel_shape=[5], strides=[3], pads=[2, 1]>"),
    "dense": POOLED.format("AveragePool<kernel_shape=[3]>"),
    "norm": POOLED.format("LpPool<kernel_shape=[4], strides=[2], pads=[1, 1]>"),
    "global": POOLED.format("GlobalAveragePool"),
    "joined": "(float[N, C, H] x, float[M, D, K] z) => (float[P, Q, R] y) { y = Concat<axis=1>(x, z) }",
    "slope": "(float[N, M] x, float[K] a) => (float[P, Q] y) { y = PRelu(x, a) }",
    "convolved": """(float[N, 3, H] x, float[8, 3, 3] w) => (float[P, Q, R] y, float[S, T, U] z) {
        y = Conv<strides=[2]>(x, w)  z = Conv<strides=[2], auto_pad="SAME_UPPER">(x, w) }""",
    "deformed": """(float[N, 3, H, 4] x, float[8, 3, 3, 3] w, float[N, 18, I, J] offset) => (float[P, Q, R, S] y) {
        y = DeformConv<strides=[2, 1]>(x, w, offset) }""",
}
BOXES = """(float[N, S, 4] boxes, float[N, C, S] scores) => (int64[A, 3] y) <int64 most = {10}> {
    y = NonMaxSuppression(boxes, scores, most) }"""


def certified(text: str, semantics: Semantics, *rules: Rule, prove: tuple[str, ...] = ()) -> Certificate:
    """The certificate of a model, some operators by other rules."""
    model = model_of(text)
    model.opset_import[0].version = 22
    return absint.analyze(model, semantics=semantics, table=absint.TABLE.extended(rules)).certify(prove)


@pytest.mark.share(5)
@pytest.mark.parametrize("solver", ["z3", "cvc5"])
@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("name", MODELS)
def test_what_the_operator_says_is_certified(name: str, semantics: Semantics, solver: str, tmp_path: Path) -> None:
    found = certified(MODELS[name], semantics)
    assert not found.on_trust
    assert set(found.sizes) == {"certified"}
    assert set(found.requirements) <= {"certified"}
    found.write(tmp_path)
    assert manifest_of(tmp_path)["semantics"] == semantics
    code, said = checked(tmp_path, "--solver", solver)
    assert (code, said.splitlines()[-1]) == (0, "fine"), said


def standings(found: Certificate) -> dict[str, str]:
    """By whom each relation of a node is said."""
    return {given.formula: given.by for step in found.steps for given in step.relations}


@absint.rule("MaxPool", inputs="X")
def halves(op: Op) -> Tensor:
    """As k2 s2 by the documents, with more requirements than they have."""
    x = op.tensor("X")
    batch, channels, size = x.shape.dims
    op.require(disjunction(eq(batch, 0), ge(size, 1)), "onnxruntime pools no empty axis")
    op.require(disjunction(eq(batch, 0), ge(channels, 1)), "onnxruntime needs channels")
    op.require(ge(size, 2), "an invented requirement: the window must fit")
    return Tensor(x.dtype, Shape([batch, channels, size // 2]))


@pytest.mark.parametrize(
    ("semantics", "size", "axis", "channels"),
    [("either", False, True, False), ("onnx", True, False, False), ("onnxruntime", False, True, True)],
)
def test_what_some_run_breaks_is_not_certified(semantics: Semantics, size: bool, axis: bool, channels: bool) -> None:
    """The window count of an axis of 1 is 0 by the documents and 1 in onnxruntime, whose limits are no one else's."""
    found = certified(MODELS["max"], semantics, halves)
    (step,) = [step for step in found.steps if step.operator.startswith("MaxPool") and step.claims]
    assert (step.lemma is not None and "out0@2" not in step.on_trust) == size
    by = standings(found)
    assert {formula: by[formula] == "lemma" for formula in by} == {
        "(or (= N 0) (>= H 1))": axis,
        "(or (= N 0) (>= C 1))": channels,
        "(>= H 2)": False,
    }


@absint.rule("Concat", inputs="inputs*", outputs="concat_result")
def agrees(op: Op) -> Tensor:
    """All sizes agree, as the documents want it."""
    first, second = (found.shape.dims for found in op.variadic())
    for place in (0, 2):
        op.require(eq(first[place], second[place]), "sizes must be equal")
    return Tensor(op.variadic()[0].dtype, Shape([first[0], first[1] + second[1], first[2]]))


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_an_empty_input_of_a_concat_is_a_run_of_onnxruntime(semantics: Semantics) -> None:
    found = certified(MODELS["joined"], semantics, agrees)
    assert set(standings(found).values()) == {"lemma" if semantics == "onnx" else "rule"}


@absint.rule("QLinearAveragePool", domain="com.microsoft", inputs="X s z t u")
def pools_quantised(op: Op) -> Tensor:
    """Nobody says that onnxruntime, which may crash, refuses an empty axis."""
    x = op.tensor("X")
    op.require(disjunction(eq(x.shape[0], 0), ge(x.shape[2], 1)), "the axis must not be empty")
    return Tensor(x.dtype, Shape([*x.shape.dims[:2], None]))


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_a_limit_that_onnxruntime_may_not_mind_is_not_assumed(semantics: Semantics) -> None:
    model = model_of("""(uint8[N, C, H] x, float s, uint8 z) => (uint8[P, Q, R] y) {
        y = com.microsoft.QLinearAveragePool<kernel_shape=[3], strides=[2]>(x, s, z, s, z) }""")
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    table = absint.TABLE.extended([pools_quantised])
    found = absint.analyze(model, semantics=semantics, table=table).certify()
    assert set(standings(found).values()) == {"rule"}


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
@pytest.mark.parametrize("semantics", SEMANTICS)
def test_the_number_of_boxes_is_bounded(semantics: Semantics, solver: str, tmp_path: Path) -> None:
    found = certified(BOXES, semantics, prove=("y[0] <= 10*N*C",))
    assert (found.defined, found.queries) == (Counter({"certified": 1}), Counter({"certified": 1}))
    found.write(tmp_path)
    assert checked(tmp_path, "--solver", solver)[0] == 0


@absint.rule("NonMaxSuppression", inputs="boxes scores most", outputs="selected")
def keeps_few(op: Op) -> Tensor:
    """Too few."""
    count = op.fresh("few")
    op.define(le(count, op.tensor("boxes").shape[0] * 9), "an invented bound")
    return Tensor(absint.DType.INT64, Shape([count, 3]))


def test_a_bound_on_the_word_of_a_rule_is_counted() -> None:
    found = certified(BOXES, "either", keeps_few, prove=("y[0] <= 9*N",))
    assert (found.defined, found.queries) == (Counter({"trusted": 1}), Counter({"resting": 1}))
    assert found.on_trust == Counter({("NonMaxSuppression-22", "it does not follow from the specification"): 1})


def test_the_semantics_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(model_of(MODELS["max"]), "m.onnx")
    told = {"either": False, "onnx": True, "onnxruntime": True}
    for semantics, is_told in told.items():
        assert run(["certify", "m.onnx", "-o", "out", "--semantics", semantics]) == 0
        assert ("  of runs " in capsys.readouterr().out) == is_told
        assert run(["prove", "m.onnx", "y[0] == x[0]", "--certificate", "y.smt2", "--semantics", semantics]) == 0
        assert f"\n; semantics: {semantics}\n" in Path("y.smt2").read_text("utf-8")
        capsys.readouterr()
    text = single(certified(MODELS["max"], "onnx", prove=("y[0] == N",)))
    assert "\n; semantics: onnx\n" in text


ADDED = """<ir_version: 10, opset_import: ["": 1, "my": 1]> m (float[N, 4] a, float[M, 4] b) => (y) { y = Add(a, b) }"""
CALLED = """<ir_version: 10, opset_import: ["": 6, "my": 1]> m (float[N, 4] a, float[M, 4] b) => (y) { y = my.f(a, b) }
    <domain: "my", opset_import: ["": 6]> f (p, q) => (r) { r = Add(p, q) }"""
FLAT = """<ir_version: 10, opset_import: ["": 18, "my": 1]> m (float[N, 4] a, float[M, 4] b) => (y) { y = my.f(a) }
    <domain: "my", opset_import: ["": 18]> f (p) => (r) { r = Flatten<axis=0>(p) }"""
BRANCHES = """<ir_version: 10, opset_import: ["": 18, "my": 1]> m (float[N, 4] a, float[M, 4] b) => (y) {
        c = Constant<value_int=1>()  d = Cast<to=9>(c)
        y = my.f<g = other () => (float[K] k) { k = Constant<value_floats=[1.0, 2.0]>() }>(a, d) }
    <domain: "my", opset_import: ["": 18]> f <g> (p, c) => (r) {
        r = If(c) <then_branch = t () => (float[I, J] u) { u = Relu(p) },
            else_branch = e () => (float[I, J] v) { v = Abs(p) }> }"""


def newer_model(model: ModelProto) -> None:
    model.opset_import[0].version = 18


def no_import(model: ModelProto) -> None:
    del model.opset_import[0]


def operator_of_onnxruntime(model: ModelProto) -> None:
    model.opset_import[1].domain = model.functions[0].domain = model.graph.node[0].domain = "com.microsoft"
    model.functions[0].name = model.graph.node[0].op_type = "Gelu"


def branches_of_the_caller(model: ModelProto) -> None:
    for attribute in model.functions[0].node[0].attribute:
        attribute.ref_attr_name = "g"


@pytest.mark.parametrize(
    ("text", "change", "a", "told"),
    [
        (CALLED, newer_model, 1, ""),
        (ADDED, no_import, 1, ""),
        (FLAT, operator_of_onnxruntime, 3, ""),
        (BRANCHES, branches_of_the_caller, 3, "then_branch is no graph"),
    ],
)
def test_what_onnxruntime_reads_otherwise_is_not_certified(
    text: str, change: Callable[[ModelProto], None], a: int, told: str, tmp_path: Path
) -> None:
    """The changed model runs, with another shape than the certificate says of the first."""
    model = model_of(text)
    onnx.save(model, tmp_path / "m.onnx")
    absint.analyze(tmp_path / "m.onnx").certify().write(tmp_path / "c")
    assert accepted(tmp_path / "c", model, tmp_path) is None
    shown = absint.analyze(model).shapes["y"]
    change(model)
    feeds = {"a": np.ones((a, 4), np.float32), "b": np.ones((3, 4), np.float32)}
    session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {value.name: feeds[value.name] for value in session.get_inputs()})
    assert list(y.shape) != shown.evaluate({"N": a, "M": 3})
    problem = accepted(tmp_path / "c", model, tmp_path)
    assert problem is not None
    assert told in problem
    assert str(absint.analyze(model).shapes["y"]) != str(shown)
