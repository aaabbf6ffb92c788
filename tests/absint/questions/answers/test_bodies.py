"""Bodies that onnxruntime sees otherwise than the specification: what they hand through, and what they declare."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import onnxruntime as ort
import pytest
from onnx import ModelProto, parser

import absint
from absint.questions.proofs.proof import Verdict
from absint.questions.sizes.checking import Outcome
from absint.runs.run import feeds_for

SCAN = '<ir_version: 8, opset_import: ["" : 18]> g (float[N,K] a, float[M] b) => (float[Y] y, float[Z,W] z) { '
SCAN += "y, z = Scan <num_scan_inputs = 1, body = t (%s) => (%s) { %s }> (b, a) }"
ONE = '<ir_version: 8, opset_import: ["" : 18]> g (float[N] a, float[M] b) => (float[Y] y) { '
LOOP = ONE + "d = Constant <value_int = 2> () "
LOOP += 'y = Loop (d, "", b) <body = t (int64 i, %s cc, float[S] s) => (%s, float[R] r) { %s }> }'

GOES_ON = "co = Constant <value = bool {1}> () "

SCANS = {
    "a gathered element": ("float[S] s, float[E] e", "float[S] s, float[E] e", ""),
    "an element of a declared size": ("float[S] s, float[3] e", "float[S] s, float[3] e", ""),
    "a state of a declared size": ("float[3] s, float[E] e", "float[3] s, float[F] f", "f = Relu(e)"),
    "a state of another rank": ("float[S,T] s, float[E] e", "float[S,T] s, float[F] f", "f = Relu(e)"),
    "a computed state of another rank": ("float[S,T] s, float[E] e", "float[R] r, float[F] f", "r = Abs(s) f = Abs(e)"),
    "an element of another rank": ("float[S] s, float[E,G] e", "float[S] s, float[F] f", "f = Relu(e)"),
    "an output of another rank": ("float[S] s, float[E] e", "float[S] s, float[F,G] f", "f = Relu(e)"),
    "the gathered state": ("float[S] s, float[E] e", "float[R] r, float[S] s", "r = Relu(s)"),
}  # fmt: skip
LOOPS = {
    "an unused condition": ("int64", "bool co", GOES_ON + "r = Add(s, a)"),
    "a condition that is added to": ("int64", "bool co", GOES_ON + "q = Add(cc, i) r = Add(s, a)"),
    "a condition that is negated": ("int64", "bool co", GOES_ON + "q = Not(cc) r = Add(s, a)"),
    "a condition that is given back": ("int64", "int64 co", "co = Identity(cc) r = Add(s, a)"),
    "a condition that is handed through": ("int64", "int64 cc", "r = Add(s, a)"),
    "a condition that is given back as BOOL": ("int64", "bool co", "co = Identity(cc) r = Add(s, a)"),
    "a condition that is cast": ("int64", "bool co", "co = Cast <to = 9> (cc) r = Add(s, a)"),
}  # fmt: skip
SWAP = (
    '<ir_version: 8, opset_import: ["" : 18]> g (float[N,K] a, float[M] b, float[L] c) => (float[Y] y, float[X] x) { '
)
SWAP += (
    "y, x = Scan <num_scan_inputs = 1, body = t (float[S] s, float[R] r, float[E] e) => (float[R] r, float[S] s) { }> "
)
SWAP += "(b, c, a) }"
MODELS = {
    **{name: SCAN % parts for name, parts in SCANS.items()},
    **{name: LOOP % parts for name, parts in LOOPS.items()},
    "states that change places": SWAP,
}


def runs(model: ModelProto, result: absint.Result) -> Iterator[tuple[dict[str, int], list[tuple[int, ...]] | None]]:
    """Sizes, each with the shapes of the outputs of a run there; None for one that fails."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:
        session = None
    for sizes in product((3, 4, 5), repeat=len(result.symbols)):
        at = dict(zip(result.symbols, sizes, strict=True))
        try:
            yield at, None if session is None else [out.shape for out in session.run(None, feeds_for(result, at))]
        except Exception:
            yield at, None


@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_said_that_a_run_contradicts(name: str) -> None:
    model = parser.parse_model(MODELS[name])
    result = absint.analyze(model)
    contract = result.contract()
    for sizes, shapes in runs(model, result):
        check = result.check(sizes)
        assert check.outcome is not (Outcome.RUNS if shapes is None else Outcome.ILLEGAL), (sizes, str(check))
        if shapes is None:
            continue
        assert result.can_run
        assert contract.allows(sizes)
        for output, shape in zip(result.outputs, shapes, strict=True):
            claimed = check.shapes[output]
            assert claimed is None or all(a in (None, b) for a, b in zip(claimed, shape, strict=True)), (sizes, output)


def test_what_a_scan_hands_through_has_no_known_size() -> None:
    result = absint.analyze(parser.parse_model(MODELS["an element of a declared size"]))
    assert result.prove("z[1] == K", evidence="none").verdict is not Verdict.PROVED
    assert result.prove("z[0] == N").verdict is not Verdict.REFUTED


def test_a_condition_that_is_declared_otherwise_is_told() -> None:
    for name in LOOPS:
        result = absint.analyze(parser.parse_model(MODELS[name]))
        told = [str(d) for d in result.diagnostics if d.code == "false-declaration"]
        assert any("input 'cc': declared INT64, but it is BOOL" in line for line in told), name
    possible_failures = absint.analyze(parser.parse_model(MODELS["an unused condition"])).contract().possible_failures
    assert any(d.reason == "the body declares its condition INT64, and it is BOOL" for d in possible_failures)


REASONS = {
    "a gathered element": "onnxruntime copies a value of the body into an output only if its sizes are declared",
    "a state of another rank": "a body must declare the ranks that its inputs have",
    "an output of another rank": "onnxruntime must know the ranks of the body's outputs before it runs",
}


@pytest.mark.parametrize("name", REASONS)
def test_why_a_scan_may_fail(name: str) -> None:
    possible_failures = absint.analyze(parser.parse_model(MODELS[name])).contract().possible_failures
    assert REASONS[name] in [d.reason for d in possible_failures]
