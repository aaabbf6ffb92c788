"""Ifs by size whose branches differ in rank: rules see each case, and what they refuse decides the size."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx import parser

import absint
from absint import Shape
from absint.cli import run
from absint.lattices.shape import TOP_SHAPE
from absint.lattices.shape_choice import MAX_CASES, ShapeChoice
from absint.lattices.shape_lattice import SHAPES
from absint.lattices.terms.expr import Dim
from absint.lattices.text import parse_relation as relation
from absint.questions.proofs.proof import Verdict
from absint.questions.sizes.outcomes import Outcome
from tests.models import parsed
from tests.soundness.runs import ENGINE, typed

HEAD = """<ir_version: 9, opset_import: ["": 18]> g (float[B, C] x) => ({outputs})
<int64[1] zero = {{0}}, int64[1] one = {{1}}, int64 first = {{0}}, int64 second = {{1}}, int64 two = {{2}}> {{
  sizes = Shape (x)
  b = Gather (sizes, first)
  c = Gather (sizes, second)
  """
SQUEEZED = """is_one = Equal (c, second)
  q = If (is_one) <
    then_branch = yes () => (float[] s) { s = Squeeze (x, one) },
    else_branch = no () => (float[] t) { t = Identity (x) }
  >
  """


def model(body: str, *outputs: str) -> onnx.ModelProto:
    made = parser.parse_model(HEAD.format(outputs=", ".join(f"float[] {name}" for name in outputs)) + body + "}")
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    return made


def test_a_choice_stands_for_one_shape_in_each_run() -> None:
    chosen = ShapeChoice.of(relation("C == 1"), Shape(["N"]), Shape(["N", "C"]))
    assert str(chosen) == "[N] if C == 1, else [N, C]"
    assert chosen.is_top
    assert chosen.rank is None
    assert chosen.evaluate({"N": 3, "C": 1}) == [3]
    assert chosen.evaluate({"N": 3, "C": 2}) == [3, 2]
    assert chosen.substitute({"C": 1}) is Shape(["N"])
    assert chosen.substitute({"C": 5}) is Shape(["N", 5])
    assert str(chosen.size) == "ite(C == 1, N, C*N)"
    assert ShapeChoice.of(relation("C == 1"), Shape(["N"]), Shape(["N", "C"])) is chosen
    assert ShapeChoice.of(relation("C == 1"), Shape(["N"]), TOP_SHAPE) is TOP_SHAPE


def test_the_order_of_choices() -> None:
    chosen = ShapeChoice.of(relation("C == 1"), Shape(["N"]), Shape(["N", "C"]))
    other = ShapeChoice.of(relation("C == 2"), Shape(["N"]), Shape(["N", "C"]))
    assert SHAPES.leq(chosen, chosen)
    assert SHAPES.leq(chosen, TOP_SHAPE)
    assert not SHAPES.leq(chosen, other)
    assert not SHAPES.leq(Shape(["N"]), chosen)
    assert SHAPES.join(chosen, other) is TOP_SHAPE
    assert SHAPES.join(chosen, chosen) is chosen
    assert SHAPES.widen(chosen, Shape(["N"])) is TOP_SHAPE
    assert SHAPES.meet(chosen, Shape(["N", "C"])) is Shape(["N", "C"])


def test_cases_of_a_choice_within_another_are_counted() -> None:
    shape: Shape = Shape([1] * 3)
    for size in range(1, MAX_CASES):
        shape = ShapeChoice.of(relation(f"C == {size}"), Shape([Dim("N")] * (3 + size)), shape)
        assert len(shape.cases) == size + 1
    assert shape.evaluate({"N": 2, "C": 2}) == [2] * 5
    assert shape.evaluate({"N": 2, "C": 9}) == [1] * 3
    assert ShapeChoice.of(relation("C == 9"), Shape([2] * 9), shape) is TOP_SHAPE


def test_a_rule_sees_each_case() -> None:
    result = absint.analyze(model(SQUEEZED + "y = Relu (q) r = ReduceSum <keepdims = 0> (y) w = Add (q, y)", "w", "r"))
    assert str(result.shapes["w"]) == "[B] if C == 1, else [B, C]"
    assert result.shapes["w"] is result.shapes["q"]
    assert str(result.shapes["r"]) == "[]"
    assert str(result.contract()) == "every size is legal"
    result.verify()


def test_cases_of_one_rank_are_one_shape() -> None:
    body = SQUEEZED + "n = If (is_one) <then_branch = u () => (float[] v) { v = Unsqueeze (q, one) },"
    body += "else_branch = w () => (float[] z) { z = Identity (q) }> y = Flatten (q)"
    result = absint.analyze(model(body, "n", "y"))
    assert str(result.shapes["n"]) == "[B, C]"
    assert str(result.shapes["y"]) == "[B, C]"


def test_a_refused_case_is_a_requirement() -> None:
    result = absint.analyze(model(SQUEEZED + "y = Transpose <perm = [0]> (q)", "y"))
    assert str(result.contract()) == "C == 1  (Transpose #5)"
    assert result.check_range({"B": (1, 8), "C": (2, 8)}).outcome is Outcome.ILLEGAL
    assert result.prove("C == 1").verdict is Verdict.PROVED
    assert str(result.shapes["y"]) == "[B]"
    assert result.nearest({"B": 2, "C": 5}).sizes == {"B": 2, "C": 1}


def test_two_values_that_one_size_chooses_stay_together() -> None:
    body = SQUEEZED + "n = Neg (x) p = If (is_one) <then_branch = u () => (float[] v) { v = Squeeze (n, one) },"
    body += "else_branch = w () => (float[] z) { z = Identity (n) }> y = MatMul (q, p)"
    result = absint.analyze(model(body, "y"))
    assert str(result.contract()) == "B == C or C == 1  (MatMul #7)"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("rank(q) <= 2", Verdict.PROVED),
        ("rank(q) == 2", Verdict.REFUTED),
        ("q[0] == B", Verdict.PROVED),
        ("size(q) == B*C", Verdict.PROVED),
        ("shape(q) == shape(w)", Verdict.PROVED),
        ("q[-1] == C", Verdict.REFUTED),
        ("q[1] == C", Verdict.UNKNOWN),
    ],
)
def test_a_relation_that_holds_in_every_case_is_proved(text: str, verdict: Verdict) -> None:
    result = absint.analyze(model(SQUEEZED + "w = Relu (q)", "w"))
    assert result.prove(text).verdict is verdict


def test_a_voice_detector_has_an_exact_interval() -> None:
    made = parsed("""(float[1, 1, N] x, float[4, 1, 128] v, float[8, 4, 2] w, float[1, 32, 8] W,
    float[1, 32, 8] R) => (float[] y)
    <int64 one = {1}, int64[1] two = {2}, int64[1] zero = {0}> {
        framed = Conv <kernel_shape = [128], strides = [64]> (x, v)
        steps = Conv <kernel_shape = [2], strides = [8]> (framed, w)
        sizes = Shape <start = 2, end = 3> (steps)
        size = Squeeze (sizes)
        is_one = Equal (size, one)
        last = If (is_one) <
            then_branch = yes () => (float[1, 8] s) { s = Squeeze (steps, two) },
            else_branch = no () => (float[1, 8, n] t) { t = Identity (steps) }
        >
        batch = Unsqueeze (last, zero)
        y = LSTM <hidden_size = 8> (batch, W, R)
    }""")
    result = absint.analyze(made)
    assert [str(clause.relation) for clause in result.contract().clauses] == ["N >= 192", "N <= 703"]
    assert [result.check({"N": size}).ok for size in (191, 192, 703, 704)] == [False, True, True, False]


def test_documents_list_the_cases(tmp_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(model(SQUEEZED, "q"), path := f"{tmp_path}/model.onnx")
    assert run(["analyze", path]) == 0
    assert "q  FLOAT [B] if C == 1, else [B, C]" in capsys.readouterr().out
    assert run(["analyze", path, "--format", "json"]) == 0
    (output,) = json.loads(capsys.readouterr().out)["outputs"]
    assert output["shape"] is None
    assert output["cases"] == [{"when": "C == 1", "shape": ["B"]}, {"when": "C != 1", "shape": ["B", "C"]}]


CONDITIONS = {
    "C == 1": "is{k} = Equal (c, second)",
    "B == C": "is{k} = Equal (b, c)",
    "C > 2": "is{k} = Greater (c, two)",
}
BRANCHES = (
    "Identity ({v})", "ReduceSum <keepdims = 0> ({v}, zero)", "ReduceSum <keepdims = 0> ({v}, one)",
    "Unsqueeze ({v}, zero)", "Unsqueeze ({v}, one)", "Squeeze ({v}, one)", "Flatten <axis = 0> ({v})",
)  # fmt: skip
STEPS = (
    "Relu ({v})", "Add ({v}, {w})", "Transpose ({v})", "Transpose <perm = [1, 0]> ({v})", "Flatten ({v})",
    "MatMul ({v}, {w})", "Concat <axis = 0> ({v}, {w})", "Expand ({v}, sizes)", "Gemm ({v}, {w})",
    "Slice ({v}, zero, one)", "Squeeze ({v})", "ReduceSum <keepdims = 0> ({v}, one)",
)  # fmt: skip


def drawn(seed: int) -> onnx.ModelProto:
    """A model with up to three Ifs by size, and steps after each."""
    draw = random.Random(seed)
    values, lines = ["x"], []
    for k in range(draw.randint(1, 3)):
        value = draw.choice(values)
        one, other = (draw.choice(BRANCHES).format(v=value) for _ in range(2))
        lines.append(draw.choice(list(CONDITIONS.values())).format(k=k))
        lines.append(f"q{k} = If (is{k}) <then_branch = t{k} () => (float[] a{k}) {{ a{k} = {one} }},")
        lines.append(f"else_branch = e{k} () => (float[] b{k}) {{ b{k} = {other} }}>")
        values.append(f"q{k}")
        for j in range(draw.randint(0, 3)):
            lines.append(f"y{k}{j} = {draw.choice(STEPS).format(v=draw.choice(values[-3:]), w=draw.choice(values))}")
            values.append(f"y{k}{j}")
    return model("\n".join(lines), *values[1:])


def compared(seed: int) -> Iterator[str]:
    """Claims about a drawn model that runs contradict."""
    made = drawn(seed)
    result = absint.analyze(made)
    result.verify()
    names = [output.name for output in made.graph.output]
    loaded, types = ENGINE.load(made.SerializeToString())
    for b, c in ((1, 1), (1, 3), (3, 1), (2, 2), (2, 3), (0, 1), (1, 0)) if loaded else ():
        check = result.check({"B": b, "C": c})
        runs, found = ENGINE.run(made.SerializeToString(), {"x": np.ones((b, c), np.float32)})
        if not runs:
            if check.outcome is Outcome.RUNS:
                yield f"{seed} {b, c}: it does not run: {found}"
            continue
        if not check.ok:
            yield f"{seed} {b, c}: it runs, and check says {check}"
        for name, kind, value in zip(names, types, found, strict=True):
            shape, size = result.shapes[name], typed(kind, value).shape
            if (shape.cases or shape.rank is not None) and tuple(shape.evaluate({"B": b, "C": c})) != size:
                yield f"{seed} {b, c}: {name} is {shape}, found {size}"


@pytest.mark.share(4)
@pytest.mark.parametrize("seed", range(60))
def test_runs_agree(seed: int) -> None:
    assert list(compared(seed)) == []
