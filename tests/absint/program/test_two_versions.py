"""Functions that import another version of an operator than the model: which version counts, and what may fail."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import onnxruntime
import pytest

import absint
from absint.questions.sizes.outcomes import Outcome
from absint.transfer.semantics import SEMANTICS, Semantics
from tests.models import parsed

GIVEN = "one of split and num_outputs must be given, found none"
READ = "which the model imports and onnxruntime takes"


def called(model: int, function: int, body: str, dims: str = "4", outputs: int = 1) -> onnx.ModelProto:
    """A model that calls a function of one input `a`, whose outputs are `b` and `c`; both import these opsets."""
    given, inner = (", ".join(names[:outputs]) for names in (("y", "z"), ("b", "c")))
    return parsed(
        f"""(float[{dims}] x) => ({given}) {{ {given} = my.F(x) }}
        <domain: "my", opset_import: ["": {function}]> F (a) => ({inner}) {{ {body} }}""",
        model,
        domains={"my": 1},
    )


def runs(model: onnx.ModelProto, shape: Sequence[int]) -> list[tuple[int, ...]] | None:
    """The shapes of a run in onnxruntime; None if it fails."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        return [found.shape for found in session.run(None, {"x": np.ones(shape, np.float32)})]
    except Exception:
        return None


def outcome(model: onnx.ModelProto, semantics: Semantics) -> Outcome:
    return absint.analyze(model, semantics=semantics).check({}).outcome


@pytest.mark.parametrize("function", [11, 13])
def test_a_split_that_the_models_version_refuses(function: int) -> None:
    model = called(18, function, "b, c = Split<axis = 0>(a)", outputs=2)
    assert runs(model, [4]) is None
    checks = {s: absint.analyze(model, semantics=s).check({}) for s in SEMANTICS}
    assert checks["onnx"].outcome is Outcome.RUNS
    assert checks["onnxruntime"].outcome is Outcome.ILLEGAL
    assert checks["either"].outcome is Outcome.LEGAL
    assert checks["either"].shapes["y"] == (2,)
    (failure,) = checks["either"].possible_failures
    assert failure.reason == f"{GIVEN} (in version 18, {READ})"


@pytest.mark.parametrize("function", [11, 13])
def test_inference_lets_it_pass_without_sizes(function: int) -> None:
    model = called(18, function, "b, c = Split<axis = 0>(a)", "N", outputs=2)
    assert runs(model, [4]) == [(2,), (2,)]
    result = absint.analyze(model, semantics="onnxruntime")
    assert result.check({"N": 4}).outcome is Outcome.RUNS
    assert str(result.shapes["y"]) == "[N//2]"


@pytest.mark.parametrize(
    ("model", "function", "body"),
    [
        (13, 18, "b, c = Split<num_outputs = 2>(a)"),  # an attribute that the model's version lacks
        (18, 11, "b, c = Split<split = [2, 2]>(a)"),
        (13, 18, "b, c = Split<axis = 0>(a)"),  # types are inferred by the function's version first
        (13, 7, "b, c = Dropout(a)"),  # the mask is a float before opset 10
    ],
)
def test_what_either_version_refuses_may_fail(model: int, function: int, body: str) -> None:
    proto = called(model, function, body, outputs=2)
    assert runs(proto, [4]) is None
    assert outcome(proto, "either") is not Outcome.RUNS
    assert outcome(proto, "onnxruntime") is not Outcome.RUNS


@pytest.mark.parametrize("versions", [(11, 8), (13, 8), (8, 11)])
def test_an_axis_that_inference_refuses_in_one_version(versions: tuple[int, int]) -> None:
    proto = called(*versions, "b = Softmax<axis = 2>(a)", "2, 3")
    assert outcome(proto, "either") is not Outcome.RUNS
    if runs(proto, [2, 3]) is None:
        assert outcome(proto, "onnxruntime") is not Outcome.RUNS


def test_a_constant_has_the_version_of_its_function() -> None:
    proto = called(9, 12, "k = Constant<value_floats = [1.0, 2.0]>() b = Add(a, k)", "2")
    assert runs(proto, [2]) == [(2,)]
    for semantics in SEMANTICS:
        assert outcome(proto, semantics) is Outcome.RUNS


@pytest.mark.parametrize("versions", [(13, 13), (20, 20), (9, 13)])
def test_a_function_of_onnx_in_a_function_needs_its_axes(versions: tuple[int, int]) -> None:
    body = "b = MeanVarianceNormalization(a)"
    proto = called(*versions, body, "1, 2, 3, 4")
    assert runs(proto, [1, 2, 3, 4]) is None
    assert outcome(proto, "either") is outcome(proto, "onnxruntime") is Outcome.LEGAL
    proto = called(*versions, "b = MeanVarianceNormalization<axes = [0, 2, 3]>(a)", "1, 2, 3, 4")
    assert (outcome(proto, "onnxruntime") is Outcome.RUNS) == (runs(proto, [1, 2, 3, 4]) is not None)
    main = parsed(f"""(float[1, 2, 3, 4] a) => (b) {{ {body} }}""", 13)
    assert outcome(main, "onnxruntime") is Outcome.RUNS


@pytest.mark.parametrize("versions", [(14, 13), (13, 14), (14, 7)])
def test_versions_that_mean_the_same_keep_all_claims(versions: tuple[int, int]) -> None:
    proto = called(*versions, "b = Add(a, a)", "N, 3")
    result = absint.analyze(proto)
    assert str(result.shapes["y"]) == "[N, 3]"
    assert result.check({"N": 2}).outcome is Outcome.RUNS
    assert not result.verify()


def test_outputs_that_differ_are_said_to() -> None:
    proto = called(20, 17, "b = DFT<onesided = 1>(a)", "1, 3, 5, 1")
    result = absint.analyze(proto)
    assert str(result.shapes["y"]) == "[1, _d0, _d1, 2]"
    (warning,) = (str(d) for d in result.diagnostics if "DFT" in str(d))
    place = "in version 17, which the function imports, differ from those in version 20"
    assert f"its outputs {place}, {READ}: what differs is unknown" in warning
    assert not any("no transfer rule" in str(d) for d in result.diagnostics)


def test_an_operator_that_the_model_does_not_have_may_fail() -> None:
    proto = called(17, 18, "b, c = Split<num_outputs = 2>(a) d = Mish(b)", outputs=2)
    assert runs(proto, [4]) is None
    assert outcome(proto, "either") is not Outcome.RUNS


def test_scan_of_two_forms_is_left_opaque() -> None:
    body = """b = Scan<num_scan_inputs = 1, body = s (float[3] i) => (float[3] o) { o = Relu(i) }>(a)"""
    for versions in ((8, 9), (9, 8)):
        result = absint.analyze(called(*versions, body, "2, 3"))
        assert result.check({}).outcome is not Outcome.RUNS
        assert any("import versions of Scan of two forms" in str(d) for d in result.diagnostics)
    assert str(absint.analyze(called(11, 9, body, "2, 3")).shapes["y"]) == "[2, 3]"
