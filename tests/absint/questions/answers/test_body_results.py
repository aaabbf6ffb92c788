"""Bodies whose result is one of their inputs, or one value twice: onnxruntime gives other elements than the body."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, parser

import absint
from absint.lattices.value import Tensor
from absint.questions.sizes.checking import Outcome

HEAD = '<ir_version: 10, opset_import: ["": 21]> g (int64 m, int64[N] v, int64[K,N] w) => '
CONSTANTS = """
    zero = Constant<value = int64 {0}>() two = Constant<value = int64 {2}>() three = Constant<value = int64 {3}>()
    goes = Constant<value = bool {1}>()
"""


def loop(outputs: str, names: str, trips: str, starts: str, body: str) -> str:
    """A Loop; `body` has the condition as `c` and the iteration number as `i`."""
    return (
        HEAD + f"({outputs}) {{ {CONSTANTS} {names} = Loop({trips}, goes{starts}) <body = b (int64 i, bool c{body}> }}"
    )


def scan(outputs: str, names: str, operands: str, body: str) -> str:
    return HEAD + f"({outputs}) {{ {CONSTANTS} {names} = Scan <num_scan_inputs = 1, body = b {body}> ({operands}) }}"


LOOPS = {
    "the number, carried": loop(
        "int64 y", "y", "m", ", zero", ", int64 p) => (bool d, int64 i) { d = Identity(c) }"
    ),
    "the number, declared a vector": loop(
        "int64[1] y", "y", "m", ", zero", ", int64[1] p) => (bool d, int64[1] i) { d = Identity(c) }"
    ).replace("int64 i", "int64[1] i").replace("int64 {0}", "int64[1] {0}"),
    "the number, stacked": loop(
        "int64[L] y", "y", "three", "", ") => (bool d, int64 i) { d = Identity(c) }"
    ),
    "the number, carried and stacked": loop(
        "int64 y, int64[L] z", "y, z", "three", ", zero", ", int64 p) => (bool d, int64 i, int64 i) { d = Identity(c) }"
    ),
    "the number, passed on": loop(
        "int64 y, int64 z", "y, z", "m", ", zero, zero",
        ", int64 p, int64 q) => (bool d, int64 i, int64 p) { d = Identity(c) }"
    ),
    "the number of the trip before decides": loop(
        "int64 y, int64[L] z", "y, z", "m", ", zero",
        ", int64 p) => (bool d, int64 i, int64 s) { d = Less(p, two) s = Abs(p) }"
    ),
    "the number of an inner loop": loop(
        "int64 y", "y", "m", ", zero", """, int64 p) => (bool d, int64 q) { d = Identity(c)
            q = Loop(i, goes, i) <body = inner (int64 j, bool e, int64 r) => (bool f, int64 j) { f = Identity(e) }> }"""
    ),
    "the condition, carried": loop(
        "bool y, bool[L] z", "y, z", "m", ", goes", ", bool p) => (bool d, bool c, bool p) { d = Less(i, two) }"
    ),
    "a value twice": loop(
        "int64 y, int64 z", "y, z", "m", ", two, two",
        ", int64 p, int64 q) => (bool d, int64 r, int64 r) { d = Identity(c) r = Add(p, two) }"
    ),
    "values that change places": loop(
        "int64 y, int64 z", "y, z", "m", ", zero, two",
        ", int64 p, int64 q) => (bool d, int64 q, int64 p) { d = Identity(c) }"
    ),
}  # fmt: skip
SCANS = {
    "a state, handed through": scan(
        "int64 y, int64[L] z", "y, z", "two, v",
        "(int64 s, int64 x) => (int64 s, int64 x) {}"
    ),
    "states that change places": scan(
        "int64 y, int64 z", "y, z", "two, three, v", "(int64 s, int64 t, int64 x) => (int64 t, int64 s) {}"
    ),
    "a state, also stacked": scan(
        "int64 y, int64[L] z", "y, z", "two, v", "(int64 s, int64 x) => (int64 r, int64 r) { r = Add(s, two) }"
    ),
    "a value for two states": scan(
        "int64 y, int64 z", "y, z", "two, two, v",
        "(int64 s, int64 t, int64 x) => (int64 r, int64 r) { r = Add(s, two) }"
    ),
    "a row twice": scan(
        "int64[K,L] y, int64[K,L] z", "y, z", "w", "(int64[N] x) => (int64[N] r, int64[N] r) { r = Add(x, x) }"
    ),
    "a row of a declared size twice": scan(
        "int64[K,L] y, int64[K,L] z", "y, z", "w", "(int64[3] x) => (int64[3] r, int64[3] r) { r = Add(x, x) }"
    ),
    "a row, handed through": scan("int64[K,L] y", "y", "w", "(int64[N] x) => (int64[N] x) {}"),
}  # fmt: skip
FEEDS = {"m": np.array(5), "v": np.arange(5, 8), "w": np.arange(6).reshape(2, 3)}
SIZES = {"N": 3, "K": 2, "m": 5}


def ran(model: ModelProto) -> dict[str, Any] | None:
    """The outputs of onnxruntime, if it runs the model."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    try:
        found = session.run(None, FEEDS)
    except Exception:
        return None
    return {output.name: value for output, value in zip(session.get_outputs(), found, strict=True)}


@pytest.mark.parametrize("semantics", ["either", "onnxruntime"])
@pytest.mark.parametrize("name", [*LOOPS, *SCANS])
def test_claims_are_those_of_the_run(name: str, semantics: Any) -> None:
    model = parser.parse_model({**LOOPS, **SCANS}[name])
    result = absint.analyze(model, semantics=semantics)
    outputs = ran(model)
    if outputs is None:
        assert result.check(SIZES).outcome is not Outcome.RUNS
        return
    assert not result.compare(FEEDS, outputs).wrong
    assert not [d for d in result.diagnostics if d.severity is absint.Severity.ERROR]
    assert all(result[name].shape.rank == value.ndim for name, value in outputs.items())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("the number, carried", "ite(m >= 1, max(m, 0) - 1, 0)"),
        ("the number, stacked", "[0, 1, 2]"),
        ("a state, handed through", "2"),
        ("a value for two states", "2*N + 2"),
    ],
)
def test_by_the_documents_it_is_what_the_body_gives(name: str, value: str) -> None:
    result = absint.analyze(parser.parse_model({**LOOPS, **SCANS}[name]), semantics="onnx")
    assert str(result["y"]).endswith(f" = {value})")


def test_a_copy_of_the_number_is_known() -> None:
    text = LOOPS["the number, carried"].replace("(bool d, int64 i)", "(bool d, int64 q)")
    result = absint.analyze(parser.parse_model(text.replace("d = Identity(c)", "d = Identity(c) q = Identity(i)")))
    assert str(result["y"]) == "Tensor(INT64[] = ite(m >= 1, max(m, 0) - 1, 0))"
    assert isinstance(result["y"], Tensor)
