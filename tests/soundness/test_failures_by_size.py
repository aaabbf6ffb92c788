"""Nodes that onnxruntime refuses at some sizes: contracts name the sizes, and what is said to run does."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

import absint
from absint.cli import run
from absint.questions.sizes.outcomes import Outcome
from tests.models import parsed

HEAD = '<ir_version: 8, opset_import: ["": 18]> g '
FORMS = {
    "padded": "before = Shape(a) after = Shape(b)",
    "cropped": "c = Shape(a) before = Neg(c) d = Shape(b) after = Neg(d)",
    "moved": "before = Shape(a) d = Shape(b) after = Neg(d)",
}


def reflected(form: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f"{HEAD} (float[N] x, float[A] a, float[B] b) => (float[M] y) "
        f'{{ {FORMS[form]} p = Concat<axis = 0>(before, after) y = Pad<mode = "reflect">(x, p) }}'
    )


@pytest.mark.parametrize("form", FORMS)
def test_sizes_decide_and_runs_agree(form: str) -> None:
    made = reflected(form)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    result = absint.analyze(made)
    promised = runs = 0
    for n, a, b in product(range(5), range(4), range(4)):
        found = result.check({"N": n, "A": a, "B": b})
        feeds = {name: np.ones(size, np.float32) for name, size in (("x", n), ("a", a), ("b", b))}
        try:
            (y,) = session.run(None, feeds)
        except (Fail, InvalidArgument):
            assert found.outcome is not Outcome.RUNS, (n, a, b)
            continue
        assert found.outcome is not Outcome.ILLEGAL, (n, a, b)
        assert found.shapes["y"] == y.shape
        runs += n > 0
        promised += n > 0 and found.outcome is Outcome.RUNS
    assert promised == runs > 15


def test_a_contract_names_the_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f'{HEAD} (float[N] x) => (float[M] y) <int64[2] p = {{0, 3}}> {{ y = Pad<mode = "reflect">(x, p) }}'
    onnx.save(onnx.parser.parse_model(text), "fixed.onnx")
    assert run(["contract", "fixed.onnx", "--all"]) == 0
    assert capsys.readouterr().out.endswith(
        "\n\nmay fail at some sizes\n  Pad #0: onnxruntime reflects axis 0 by less than its size  where N <= 3\n"
    )
    assert run(["contract", "fixed.onnx"]) == 0
    assert "may fail at some sizes: 1 reason (Pad: onnxruntime reflects" in capsys.readouterr().out


OTHERS = {
    "MatMul": "(float[N, 2, 3] x, float[M, 3, 2] w) => (y) { y = MatMul(x, w) }",
    "ArgMax": "(float[N, M] x) => (y) { y = ArgMax<axis = -1>(x) }",
    "MaxPool": "(float[N, M, 3] x) => (y) { y = MaxPool<kernel_shape = [2]>(x) }",
    "ReduceMin": "(bool[N, M] x) => (y) <int64[1] last = {1}> { y = ReduceMin(x, last) }",
    "Pad": '(float[N, M] x) => (y) <int64[4] p = {0, 1, 0, 1}> { y = Pad<mode = "wrap">(x, p) }',
    "OneHot": "(int64[N] i, float[M] m) => (y) <float[2] v = {0, 1}> { d = Shape(m) y = OneHot(i, d, v) }",
}


@pytest.mark.parametrize("name", OTHERS)
def test_sizes_decide(name: str) -> None:
    made = parsed(f"{OTHERS[name]}", 20)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    result = absint.analyze(made)
    failures = result.contract().possible_failures
    assert failures
    assert all(failure.guard.free_symbols <= {"N", "M"} and failure.guard.free_symbols for failure in failures)
    kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}
    runs = 0
    for n, m in product(range(4), range(4)):
        sizes = {"N": n, "M": m}
        found = result.check(sizes)
        feeds = {i.name: np.zeros([sizes.get(d, d) for d in i.shape], kinds[i.type]) for i in session.get_inputs()}
        try:
            session.run(None, feeds)
        except (Fail, InvalidArgument, RuntimeException):
            assert found.outcome is not Outcome.RUNS, sizes
            continue
        assert found.outcome is not Outcome.ILLEGAL, sizes
        runs += found.outcome is Outcome.RUNS
    assert runs >= 3
