"""Every asker says the same of the same sizes: checks, boxes, contracts, samples, profiles, freeze, diff and cost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, parser

import absint
from absint.cli import run
from absint.jobs.freezing.sizes import IllegalSizesError
from absint.lattices.logic.relation import conjunction, ge, le
from absint.lattices.value import Tensor
from absint.questions.sizes.outcomes import Outcome
from absint.transfer.op import Op
from absint.transfer.rule import rule
from tests.soundness.runs import ENGINE

ROTARY = """<ir_version: 11, opset_import: ["": 23]>
    g (float[B, 2, S, 8] x, float[C, 4] c, float[C, 4] s, int64[P, S] pos)
    => (float[D, E, F, G] y) { y = RotaryEmbedding(x, c, s, pos) }"""
OUT_OF_RANGE = """<ir_version: 10, opset_import: ["": 20]> g (float[N, K] x) => (float[1, K] y) <int64[1, 1] i = {5}> {
    y = GatherND(x, i) }"""
WINDOWS = """<ir_version: 8, opset_import: ["": 16]> g (float[1, 1, N] x, int64 sr) => (float[1, 1, M] y)
    <float[1, 1, 8] w8 = {1, 1, 1, 1, 1, 1, 1, 1}, float[1, 1, 4] w4 = {1, 1, 1, 1}, int64 c16 = {16000}> {
    is16 = Equal(sr, c16)
    y = If(is16) <then_branch = t () => (float[1, 1, T] a) { a = Conv(x, w8) },
                 else_branch = e () => (float[1, 1, E] b) { b = Conv(x, w4) }> }"""
JOINED = """<ir_version: 9, opset_import: ["" : 18]> g (float[a] x, float[b] y, float[200] z) => (float[200] o) {
    c = Concat<axis = 0>(x, y) o = Add(c, z) }"""
CACHED = """<ir_version: 10, opset_import: ["": 18]>
    g (float[T] table, float[B, S] x, float[P] past, bool[1] cached) => (float[B, S] y)
    <int64 zero = {0}, int64 one = {1}> {
    shape = Shape(x) s1 = Shape<start = 1>(x) p1 = Shape(past) s = Squeeze(s1) p = Squeeze(p1) e = Add(s, p)
    y = If(cached) <
      then_branch = t () => (float[B, S] a) { r = Range(p, e, one) i = Expand(r, shape) a = Gather(table, i) },
      else_branch = f () => (float[B, S] b) { q = Range(zero, s, one) j = Expand(q, shape) b = Gather(table, j) }> }"""
RANKS = """<ir_version: 10, opset_import: ["": 20]> g (float[M, N] x) => (float[] y)
    <int64[1] to = {%d}, int64 one = {1}, int64[1] ax = {1}> {
    s = Shape<start = 1>(x) n = Squeeze(s) e = Equal(n, one)
    v = If(e) <then_branch = t () => (float[] a) { a = Squeeze(x, ax) },
               else_branch = e () => (float[] b) { b = Identity(x) }>
    r = Reshape(v, to) y = ReduceSum<keepdims = 0>(r) }"""


def analysed(text: str) -> absint.Result:
    return absint.analyze(parser.parse_model(text))


def ran(model: ModelProto, **feeds: object) -> bool:
    return bool(ENGINE.run(model.SerializeToString(), {name: np.asarray(value) for name, value in feeds.items()})[0])


@rule("RotaryEmbedding", inputs="X cos_cache sin_cache position_ids")
def incomplete(op: Op) -> Tensor:
    return op.tensor("X")


def test_a_contract_names_the_rule_that_leaves_requirements_open() -> None:
    result = absint.analyze(parser.parse_model(ROTARY), table=absint.TABLE.extended([incomplete]))
    found = result.contract()
    assert found.proviso == ", but not all requirements are known"
    (failure,) = {f.kind: f for f in found.possible_failures}.values()
    assert (failure.kind, failure.origin.operator) == ("rule", "RotaryEmbedding")
    sizes = {"B": 2, "P": 1, "S": 3, "C": 9}
    assert found.allows(sizes)
    x, table, pos = np.zeros((2, 2, 3, 8), np.float32), np.zeros((9, 4), np.float32), np.zeros((1, 3), np.int64)
    assert not ran(parser.parse_model(ROTARY), x=x, c=table, s=table, pos=pos)
    assert "not all requirements are known: RotaryEmbedding" in str(result.check(sizes))
    assert result.check_range({"B": 2, "P": (1, 2)}).outcome is not Outcome.RUNS
    assert json.loads(result.check(sizes).to_json())["doubts"][0]["kind"] == "rule"


def test_a_box_without_a_legal_size_is_refused_by_all() -> None:
    result = analysed(OUT_OF_RANGE)
    assert result.check({"N": 3, "K": 2}).outcome is Outcome.ILLEGAL
    found = result.check_range({"N": (1, 4), "K": (1, 4)})
    assert found.outcome is Outcome.ILLEGAL
    assert found.sizes is not None
    assert not result.check(found.sizes).ok
    assert not result.profile({"N": (1, 2, 4), "K": (1, 2, 4)})
    assert result.check_range({"N": (6, 9), "K": 1}).ok
    assert result.profile({"N": (6, 7, 9), "K": 1})


def test_requirements_on_an_element_are_judged_together() -> None:
    result = analysed(WINDOWS)
    refused = result.check({"N": 1})
    assert refused.outcome is Outcome.ILLEGAL
    assert "no value of sr meets all requirements" in str(refused)
    assert not any(ran(parser.parse_model(WINDOWS), x=np.zeros((1, 1, 1), np.float32), sr=sr) for sr in (0, 16000))
    open_ = result.check({"N": 5})
    assert open_.outcome is Outcome.LEGAL
    assert "the window must fit spatial axis 0, which needs sr != 16000" in str(open_)
    assert result.check({"N": 8}).outcome is Outcome.RUNS
    for sizes in result.samples(4):
        assert result.contract().allows(sizes)
        assert result.check(sizes).ok
    with pytest.raises(IllegalSizesError, match="no value of sr"):
        result.freeze({"N": 2})
    assert not result.contract().allows({"N": 3})


def test_requirements_on_an_element_are_judged_where_there_are_too_many_indices_to_keep() -> None:
    result = analysed(CACHED)
    sizes = {"T": 4, "B": 100, "S": 93, "P": 79}
    refused = result.check(sizes)
    assert refused.outcome is Outcome.ILLEGAL
    assert "no value of cached meets all requirements" in str(refused)
    assert not result.contract().allows(sizes)
    table, x, past = (np.zeros(shape, np.float32) for shape in (4, (100, 93), 79))
    for cached in (False, True):
        assert not ran(parser.parse_model(CACHED), table=table, x=x, past=past, cached=np.array([cached]))
    assert result.check({**sizes, "T": 93}).ok


@rule("Part", domain="my", inputs="X start", complete=True, elements=True)
def part(op: Op) -> Tensor:
    x, starts = op.tensor("X"), op.integers("start")
    assert starts is not None
    rows, columns = x.shape.dims
    op.require(conjunction(ge(starts[0], 0), le(starts[0] + rows, columns)), "the part must fit")
    return x


def test_a_contract_judges_clauses_on_an_element_together() -> None:
    text = """<ir_version: 8, opset_import: ["": 13, "my": 1]>
        g (float[N, M] x, int64[1] start) => (float[N, M] y) { y = my.Part(x, start) }"""
    result = absint.analyze(parser.parse_model(text), table=absint.TABLE.extended([part]))
    contract = result.contract()
    assert len(contract.clauses) == 2
    for sizes, legal in (({"N": 5, "M": 3}, False), ({"N": 3, "M": 3}, True)):
        assert contract.allows(sizes) is result.check(sizes).ok is legal
    assert contract.allows({"N": 2, "M": 3, "start": 1})
    assert not contract.allows({"N": 2, "M": 3, "start": 2})
    assert "which needs start <= 1 and start >= 0" in str(result.check({"N": 2, "M": 3}))


def test_numbers_are_shown_at_legal_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(JOINED), path)
    result = absint.analyze(path)
    sizes = result.cost().default_sizes
    assert result.check(sizes).ok
    assert result.memory().default_sizes.items() <= sizes.items()
    assert run(["cost", str(path), "--top", "0"]) == 0
    assert "numbers at a=64, b=136" in capsys.readouterr().out
    assert run(["cost", str(tmp_path / "never.onnx")]) == 2
    capsys.readouterr()


def test_numbers_without_legal_sizes_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(JOINED.replace("float[b] y", "float[201] y")), path)
    assert run(["cost", str(path), "--top", "0"]) == 0
    assert "no legal sizes were found near them" in capsys.readouterr().out


def test_a_diff_finds_what_a_check_refuses_in_one_model() -> None:
    first, second = parser.parse_model(RANKS % -1), parser.parse_model(RANKS % 1)
    for evidence in ("run", "none"):
        found = absint.diff(first, second, evidence=evidence)  # type: ignore[arg-type]
        assert found.verdict == "changed"
        assert [unmet.relation for unmet in found.contract.narrowed] == ["M == 1", "N == 1"]
        for unmet in found.contract.narrowed:
            assert unmet.apart is not None
            assert absint.analyze(first).check(unmet.apart.sizes).ok
            assert not absint.analyze(second).check(unmet.apart.sizes).ok
    assert absint.diff(first, first).verdict == "same"


def test_a_diff_compares_costs_where_both_run() -> None:
    first, second = (parser.parse_model(JOINED.replace("200", str(size))) for size in (200, 100))
    found = absint.diff(first, second)
    assert found.figures is not None
    assert found.figures.sizes == {}
    assert any("no sizes were found that are legal in both" in line for line in found.figures.uncounted)


def test_a_diff_at_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "m.onnx")
    onnx.save(parser.parse_model(JOINED), path)
    assert run(["diff", path, path, "a=150"]) == 0
    assert "with a == 150" in capsys.readouterr().out
    assert run(["diff", path, path, "c=1"]) == 2
    assert "no input has a symbol 'c'" in capsys.readouterr().err


def test_a_report_begins_at_sizes(tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    analysed(JOINED).report(target, {"a": 150, "b": 50})
    text = target.read_text("utf-8")
    assert '"start": 150' in text or '"start":150' in text
    with pytest.raises(absint.UsageError, match="a range, where one size is asked for"):
        analysed(JOINED).report(target, {"a": (1, 2)})


def test_strict_takes_what_may_fail_for_undecided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "m.onnx")
    onnx.save(parser.parse_model(WINDOWS), path)
    for sizes, plain, strict in ((["N=5"], 0, 3), (["N=8"], 0, 0), (["N=1"], 1, 1), (["N=8..9"], 0, 0)):
        assert run(["check", path, *sizes]) == plain
        assert run(["check", path, *sizes, "--strict"]) == strict
    capsys.readouterr()
