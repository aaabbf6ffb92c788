"""`Result.ranges`: what `absint ranges` says, as an answer."""

import json
from pathlib import Path

import pytest
from onnx import parser

import absint
from absint.cli import run

EXAMPLES = Path(__file__).parents[3] / "examples"

MODEL = """<ir_version: 10, opset_import: ["": 18]>
g (int8[N] q, float[N] x) => (int8[N] y, float[N] z) {y = Add(q, q) w = Neg(x) z = Sqrt(w)}"""


def test_ranges_follow_from_those_of_inputs() -> None:
    result = absint.analyze(parser.parse_model(MODEL))
    found = result.ranges({"q": (-10, 20), "x": (1, 2)})
    assert (found.values["y"].lo, found.values["y"].hi) == (-20, 40)
    assert {finding.kind: finding.certainty for finding in found.findings} == {
        "overflow": "never",
        "outside of domain": "always",
    }
    assert not found
    assert str(found).splitlines()[0] == "1 certain, 0 possible, 0 unknown, 1 ruled out"
    assert result.ranges({"q": (100, 120), "x": (-2, -1)}).findings[0].certainty == "always"
    assert result.ranges({"q": (0, 1), "x": (-2, -1)})


def test_options_of_the_analysis_are_kept() -> None:
    result = absint.analyze(parser.parse_model(MODEL), bind={"N": (1, 8)})
    again = result.ranges({"x": (0, 1)}).result
    assert [str(one) for one in again.assumptions] == [str(one) for one in result.assumptions] != []


def test_the_answer_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(EXAMPLES / "bert" / "bert.onnx")
    assert run(["ranges", model, "--input", "input_ids=0..49", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = absint.analyze(model).ranges({"input_ids": (0, 49)})
    assert [finding.node for finding in found.findings] == [finding["node"] for finding in document["findings"]]
    assert {name: span.lo for name, span in found.values.items() if abs(span.lo) < 1e300} == {
        value["value"]: value["least"] for value in document["values"] if value["least"] is not None
    }
    weightless = absint.analyze(model).ranges({"input_ids": (0, 49)}, weights=False)
    assert weightless.values["last_hidden_state"] != found.values["last_hidden_state"]


def test_mistakes_are_told() -> None:
    result = absint.analyze(parser.parse_model(MODEL))
    with pytest.raises(absint.UsageError, match="no input is named 'xx'; did you mean 'x'"):
        result.ranges({"xx": (0, 1)})
    with pytest.raises(absint.UsageError, match="needs the sound policy"):
        absint.analyze(parser.parse_model(MODEL), policy="max").ranges()
