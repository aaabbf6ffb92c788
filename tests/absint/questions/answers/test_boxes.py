"""Boxes of sizes, one size of each symbol, and contracts: none says less than another, and assumptions are shown."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import parser

import absint
from absint.cli import run
from absint.lattices.text import parse_relation
from absint.questions.sizes.outcomes import Outcome
from absint.solver.contracts.contract import Clause, Contract
from tests.models import parsed

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'


def result_of(text: str, *assume: str) -> absint.Result:
    return absint.analyze(parser.parse_model(HEADER + text), assume=assume)


CHUNKS = """g (float[batch, 6] X) => (Z) { s = Constant<value = int64[2] {-1, 4}>() Z = Reshape(X, s) }"""
LOOP = """g (float[N] X, float[M] Y) => (Z) {
    c = Constant<value = bool {1}>() k = Constant<value = int64 {3}>()
    Z = Loop(k, c, X)<body = b (int64 i, bool ci, v) => (bool co, vo)
        { D = Concat<axis = 0>(v, Y) vo = Add(D, X) co = Identity(ci) }> }"""


def test_an_assumption_narrows_the_box_and_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = result_of("g (float[batch] X) => (Z) { Z = Relu(X) }", "batch >= 1")
    found = result.check_range({"batch": (0, 8)})
    assert found.box == {"batch": (1, 8)}
    assert found.outcome is Outcome.RUNS
    assert str(found) == "runs for batch=1..8; assuming batch >= 1"
    assert json.loads(found.to_json())["assume"] == ["batch >= 1"]
    path = str(tmp_path / "m.onnx")
    onnx.save(result.model, path)
    assert run(["check", path, "batch=..8", "--assume", "batch >= 1"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "legal for batch=1..8, assuming batch >= 1, and no data make it fail"
    )
    assert run(["check", path, "batch=..8"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "legal for batch=0..8, and no data make it fail"


@pytest.mark.parametrize(
    ("assume", "box"),
    [
        (["batch <= 5"], (0, 5)),
        (["batch >= 2", "batch <= 6"], (2, 6)),
        (["batch % 2 == 0"], (0, 8)),
        (["batch == 4"], (4, 4)),
        (["batch in {2, 4, 6}"], (2, 6)),
        (["batch >= 3 or batch == 1"], (1, 8)),
    ],
)
def test_ends_of_boxes_under_assumptions(assume: list[str], box: tuple[int, int]) -> None:
    result = result_of(CHUNKS, *assume)
    found = result.check_range({"batch": (0, 8)})
    assert found.box == {"batch": box}
    allowed = [n for n in range(9) if all(parse_relation(text).evaluate({"batch": n}) for text in assume)]
    legal = [n for n in allowed if 6 * n % 4 == 0]
    assert found.ok is (legal == allowed)
    if not found.ok:
        assert found.sizes is not None
        assert found.sizes["batch"] in set(allowed) - set(legal)


def test_a_box_that_the_assumptions_exclude_fails() -> None:
    found = result_of(CHUNKS, "batch >= 9").check_range({"batch": (0, 8)})
    assert found.outcome is Outcome.ILLEGAL
    assert "no size in the box is one that is assumed" in str(found.failure)


def test_a_check_is_never_weaker_than_the_contract() -> None:
    """At given sizes the shapes inside a loop may be known less well than over symbols."""
    for text in (LOOP, CHUNKS):
        result = result_of(text)
        contract = result.contract()
        names = result.symbols
        for code in range(6 ** len(names)):
            sizes = {name: code // 6**place % 6 for place, name in enumerate(names)}
            if not contract.allows(sizes):
                check = result.check(sizes)
                assert check.outcome is Outcome.ILLEGAL
                assert check.failure is not None
                assert check.failure.origin.node >= 0
                box = result.check_range({name: (size, size) for name, size in sizes.items()})
                assert box.outcome is Outcome.ILLEGAL


def test_a_clause_that_divides_by_zero_is_not_met() -> None:
    contract = Contract((Clause(parse_relation("N // M >= 1"), ()),))
    assert contract.allows({"N": 4, "M": 2})
    assert not contract.allows({"N": 1, "M": 2})
    assert not contract.allows({"N": 4, "M": 0})
    assert not Contract((Clause(parse_relation("N % M == 0"), ()),)).allows({"N": 4, "M": 0})
    assert Contract((Clause(parse_relation("M == 0 or N % M == 0"), ()),)).allows({"N": 4, "M": 0})
    with pytest.raises(KeyError, match="no size for 'M'"):
        contract.allows({"N": 4})


@pytest.mark.parametrize("text", ["N", "not N", "N >= 1 and N", "N -> N >= 1"])
def test_a_size_is_no_condition(text: str) -> None:
    """As one it would be a symbol from 0 to 1 that only shares the name of the size."""
    model = parsed("(float[N] x) => (float[N] y) {y = Relu(x)}")
    with pytest.raises(absint.UsageError) as caught:
        absint.analyze(model, assume=[text])
    assert str(caught.value) == f"assumption {text}: 'N' is a size, not a condition: write N >= 1, say"
    with pytest.raises(absint.UsageError, match="expected a condition such as N >= 1"):
        absint.analyze(model).prove("N >= 0", assume=[text])
