"""`absint rules MODEL --prove`: the obligations at the nodes of a model."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

import absint
from absint import Op, Shape, Tensor, rule
from absint.cli import run
from absint.research.obligations.nodes import Group, groups, instance_of
from absint.research.obligations.solving import asked, once
from absint.solver.backend import Backend
from absint.transfer.families import shipped
from tests.models import parsed

SHARED = """(float[N, 4] x, float[M, 4] y) => (float[N, 4] a, float[M, 4] b, float[N, 1] c) {
    a = Relu(x)  b = Relu(y)  c = ReduceMax<axes = [1]>(a)
}"""
LOOKED_UP = "(float[N] x, int64[K] i) => (float[K] y) { y = Gather(x, i) }"
UNSPECIFIED = "(float[N] x) => (int64[1, K] y) { y = NonZero(x) }"
CUT = """(float[N, 4] x, int64[1] k) => (y, z) {
    s = Shape(x)  c0 = Constant<value_ints = [0]>()  c1 = Constant<value_ints = [1]>()
    end = Slice(s, c0, c1)  y = Slice(x, k, end)  z = Reshape(x, s)
}"""


def _groups(graph: str, *rules: absint.Rule, seconds: float = 10) -> list[Group]:
    result = absint.analyze(parsed(graph, 17), table=shipped().extended(rules))
    with Backend() as backend:
        return groups(result, once(lambda item: asked(item, "auto", backend, seconds)))


def test_nodes_that_are_the_same_are_proved_once() -> None:
    relu, reduced = _groups(SHARED)
    assert (relu.operator, relu.version, relu.instance) == ("Relu", 14, "[s0, 4]")
    assert len(relu.nodes) == 2
    assert reduced.instance == "[s0, 4] axes=[1]"
    assert {relu.state, reduced.state} == {"proved"}


def test_a_wrong_rule_is_refuted_at_its_nodes() -> None:
    @rule("Relu", inputs="X", complete=True)
    def longer(op: Op) -> Tensor:
        """One more where the size is 4."""
        x = op.tensor("X")
        return Tensor(x.dtype, Shape([dim + 1 if dim.const == 4 else dim for dim in x.shape.dims]))

    relu, reduced = _groups(SHARED, longer)
    assert relu.state == "refuted"
    assert [item.obligation.claim for item in relu.decided if item.verdict == "refuted"] == ["output 0, axis 1 is 5"]
    assert reduced.instance == "[s0, 5] axes=[1]"  # what its rule was given


def test_what_is_open_or_not_compared_has_a_reason() -> None:
    (gather,) = _groups(LOOKED_UP)
    assert gather.record is not None
    assert gather.state == "open"
    assert [gap.reason for gap in gather.record.gaps] == ["may fail: every index must lie within the axis"]
    (nonzero,) = _groups(UNSPECIFIED)
    assert (nonzero.state, nonzero.reason) == ("not compared", "no specification")
    (unknown,) = _groups("(float x) => (float y) { y = Reshape(x, s) }".replace("float x", "float x, int64[K] s"))
    assert (unknown.state, unknown.reason) == ("not compared", "it hangs on elements that are not known")


def test_elements_are_sizes_or_of_any_sign() -> None:
    result = absint.analyze(parsed(CUT, 17))
    nodes = [(node.operation, node.operands) for node in result.nodes if node.operation is not None]
    found = [instance_of(operation, [result.states[of][at] for of, at in given]) for operation, given in nodes]
    texts = list(map(str, found))
    assert "[s0, 4], =[s1], =[s0], elements of any sign" in texts
    assert "[s0, 4], =[s0, 4]" in texts
    assert {tuple(instance.signed) for instance in found} == {(), ("s1",)}


@pytest.mark.parametrize(
    ("graph", "more", "code"),
    [
        (SHARED, "", 0),
        (SHARED, "--semantics onnx --solver cvc5", 0),
        (LOOKED_UP, "", 0),
        (UNSPECIFIED, "", 3),
        (SHARED, "--solver z3 --seconds 0.0001", 3),
    ],
)
def test_exit_codes(graph: str, more: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(parsed(graph, 17), path)
    assert run(["rules", str(path), "--prove", *more.split()]) == code
    text = capsys.readouterr().out
    assert f"{path}: " in text
    assert ("not compared" in text) == (graph is UNSPECIFIED)
    assert ("every index must lie within the axis" in text) == (graph is LOOKED_UP)
    assert run(["rules", str(path), "--prove", "--format", "json", *more.split()]) == code
    found = json.loads(capsys.readouterr().out)
    assert sum(found["states"].values()) == sum(len(item["nodes"]) for item in found["instances"])
    assert {item["state"] for item in found["instances"]} == {key for key, count in found["states"].items() if count}


def test_bad_usage_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(parsed(SHARED, 17), path)
    for arguments in ([str(path)], [str(path), "Relu", "--prove"]):
        assert run(["rules", *arguments]) == 2
        assert "a model stands with --prove, and without names of operators" in capsys.readouterr().err
    assert run(["rules", str(tmp_path / "none.onnx"), "--prove"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_assumes_what_never_holds_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A block that is larger than the image."""
    image = """(float[N, 18, L] x) => (y, z) <int64[2] image = {2, 2}, int64[2] block = {3, 3}> {
        y = Col2Im(x, image, block)  z = Relu(x) }"""
    onnx.save(parsed(image), tmp_path / "m.onnx")
    run(["rules", str(tmp_path / "m.onnx"), "--prove", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["distinct"]["proved"] == 6
    assert found["vacuous"] >= 5
    run(["rules", str(tmp_path / "m.onnx"), "--prove"])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("of 6 distinct obligations 6 proved, 0 refuted, 0 undecided; ")
    assert last.endswith(f"; {found['vacuous']} more assume what never holds")
    (relu,) = (group for group in _groups("(float[N, 18, L] x) => (z) { z = Relu(x) }"))
    assert relu.record is not None
    assert not relu.record.vacuous
