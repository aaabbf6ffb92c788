"""Limits of an analysis: what was reached is as true as ever, what was not is unknown, and the result says so."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import absint
from absint.cli import run
from absint.program.limits import UNFINISHED, LimitError
from absint.questions.proofs.proof import Verdict
from absint.questions.sizes.outcomes import Outcome
from absint.shapes.interpretation import STATES
from absint.solution.constraints import recorded
from absint.solver.export import to_json
from tests.adversarial import MODELS

ROOT = Path(__file__).parents[3]
DECODER = ROOT / "examples" / "tiny_decoder.onnx"
WITH_LOOPS = [name for name in MODELS if name.startswith(("loops", "scans", "branches", "functions", "sequences"))]


def chain(length: int) -> onnx.ModelProto:
    """X doubled along its axis, so many times."""
    names = ["X", *(f"v{i}" for i in range(length))]
    nodes = [helper.make_node("Concat", [a, a], [b], axis=0) for a, b in itertools.pairwise(names)]
    x = helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N"])
    y = helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, None)
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 17)])


def limits_of(result: absint.Result) -> list[str]:
    return [d.message for d in result.diagnostics if d.code == "limit"]


def test_beyond_the_first_nodes_everything_is_unknown() -> None:
    result = absint.analyze(chain(100), max_nodes=3)
    assert [str(result.shapes[name]) for name in ("v0", "v1", "v2", "v3", "v99")] == [
        "[2*N]", "[4*N]", "[8*N]", "?", "?",
    ]  # fmt: skip
    assert limits_of(result) == ["max_nodes=3: 3 of 100 nodes were analysed, and what the others compute is unknown"]
    assert str(absint.analyze(chain(100), max_nodes=100)["v9"]) == "Tensor(FLOAT[1024*N])"
    assert limits_of(absint.analyze(chain(100), max_nodes=100)) == []


def test_what_was_not_reached_may_fail() -> None:
    """At N=0 the model runs; a partial result must not say so of nodes it has not seen."""
    model = chain(3)
    assert absint.analyze(model).check({"N": 1}).outcome is Outcome.RUNS
    partial = absint.analyze(model, max_nodes=1)
    assert partial.check_range({}).outcome is Outcome.UNDECIDED
    assert partial.check({"N": 1}).outcome is Outcome.UNDECIDED
    assert {failure.reason for failure in partial.contract().possible_failures} == {UNFINISHED}
    assert partial.prove("v2[0] == 8*N").verdict is Verdict.UNKNOWN
    assert partial.prove("v0[0] == 2*N")


@pytest.mark.parametrize("name", WITH_LOOPS)
def test_every_partial_result_is_a_weaker_one(name: str) -> None:
    """Wherever the analysis stops, in loops too: a post-fixpoint, above the whole result, node by node."""
    model = MODELS[name].model
    whole = absint.analyze(model, refine=False)
    operators = sum(node.value is None for node in whole.nodes)
    for most in range(0, operators + 1, max(1, operators // 12)):
        partial = absint.analyze(model, refine=False, max_nodes=most)
        if len(partial.nodes) == len(whole.nodes):  # a call beyond the limit is one opaque node
            assert all(map(STATES.leq, whole.base.states, partial.base.states)), most
        partial.verify()
        assert most == operators or any("limit" in d.code for d in partial.diagnostics)
        if partial.base.analysis.unfinished:
            assert recorded(partial).base.possible_failures
            assert partial.check_range({}).outcome in (Outcome.UNDECIDED, Outcome.ILLEGAL)
        assert partial.annotate() is not None
        partial.cost(), to_json(partial.constraints), partial.contract(), partial.equal_dims()


@pytest.mark.parametrize("name", WITH_LOOPS)
def test_stopping_at_any_visit_of_a_loop(name: str) -> None:
    """`on_progress` stops at the n-th step of the iteration, also while a head is not stable."""
    model = MODELS[name].model
    whole = absint.analyze(model, refine=False)
    for steps in (1, 2, 3, 5, 8, 13, 21, 34):
        heard = 0

        def stops(done: int, total: int, phase: str, steps: int = steps) -> bool:
            nonlocal heard
            heard += phase == "analyse"
            return heard < steps

        partial = absint.analyze(model, refine=False, on_progress=stops)
        assert all(map(STATES.leq, whole.base.states, partial.base.states)), steps
        partial.verify()


def test_a_deadline() -> None:
    with pytest.raises(LimitError, match=r"^the model: the time limit of 1e-09 s is over before the model was read"):
        absint.analyze(chain(10), max_seconds=1e-9)
    result = absint.analyze(chain(10), max_seconds=60)
    assert limits_of(result) == []


def test_a_deadline_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1000))
    monkeypatch.setattr("absint.program.limits.monotonic", lambda: next(ticks))
    result = absint.analyze(chain(640), max_seconds=14)
    (said,) = limits_of(result)
    assert said.startswith("the time limit of 14 s is over: ")
    assert said.endswith("what the others compute is unknown")
    assert not result.shapes["v1"].is_top
    assert result.shapes["v639"].is_top


def test_progress_is_told_in_phases() -> None:
    heard: list[tuple[int, int, str]] = []
    absint.analyze(DECODER, on_progress=lambda *told: heard.append(told))
    assert list(dict.fromkeys(phase for _, _, phase in heard)) == ["lower", "analyse", "refine"]
    assert all(0 <= done <= total for done, total, _ in heard)
    assert max(done for done, _, phase in heard if phase == "analyse") == len(absint.analyze(DECODER).nodes)


def test_a_callback_cancels_a_refining_round_alone() -> None:
    result = absint.analyze(DECODER, on_progress=lambda done, total, phase: phase != "refine")
    assert limits_of(result) == [
        "cancelled by on_progress: every node was analysed, but shapes may be less exact than they could be"
    ]
    plain = absint.analyze(DECODER, refine=False)
    assert [str(v) for v in result.shapes.values()] == [str(v) for v in plain.shapes.values()]


def test_what_a_callback_raises_passes_through() -> None:
    class StopError(Exception):
        pass

    def raises(done: int, total: int, phase: str) -> None:
        raise StopError

    with pytest.raises(StopError):
        absint.analyze(DECODER, on_progress=raises)


def test_a_callback_cancels_lowering() -> None:
    with pytest.raises(LimitError, match="cancelled by on_progress before the model was read to its end"):
        absint.analyze(DECODER, on_progress=lambda *told: False)


def test_policies_keep_limits() -> None:
    result = absint.analyze(chain(10), policy="keep-target", max_nodes=2)
    assert str(result.shapes["v1"]) == "[4*N]"
    assert result.shapes["v2"].is_top
    assert len(limits_of(result)) == 1


def test_calls_beyond_the_limit_stay_opaque() -> None:
    name = next(name for name in MODELS if name.startswith("functions"))
    result = absint.analyze(MODELS[name].model, max_nodes=0)
    assert not any(str(node.path) for node in result.nodes)


@pytest.mark.parametrize("wrong", [{"max_seconds": 0}, {"max_seconds": float("nan")}, {"max_nodes": -1}])
def test_a_limit_that_is_none(wrong: dict[str, float]) -> None:
    with pytest.raises(absint.UsageError, match="expected a number"):
        absint.analyze(DECODER, **wrong)  # type: ignore[arg-type]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(chain(5).SerializeToString())
    assert run(["analyze", str(path), "--max-nodes", "2", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [d["code"] for d in found["diagnostics"]] == ["limit"]
    assert run(["analyze", str(path), "--max-nodes", "2", "--strict"]) == 1
    assert "max_nodes=2: 2 of 5 nodes were analysed" in capsys.readouterr().out
    assert run(["check", str(path), "N=..8", "--max-nodes", "2"]) == 3
    capsys.readouterr()
    assert run(["analyze", str(path), "--max-seconds", "1e-9"]) == 2
    assert capsys.readouterr().err.startswith(f"absint: error: {path}: the time limit of 1e-09 s is over")
    assert run(["analyze", str(path), "--max-seconds", "-1"]) == 2
    assert capsys.readouterr().err == "absint: error: max_seconds=-1 (--seconds): expected a number above 0\n"


def test_commands_that_show_no_diagnostics_tell_the_limit_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(chain(5).SerializeToString())
    warning = "absint: warning: max_nodes=2: 2 of 5 nodes were analysed, and what the others compute is unknown\n"
    unseen = "Concat #2: the analysis stopped before it, and 2 more nodes"
    for code, command, more in (
        (0, ["contract"], []),
        (0, ["contract", "--role", "all"], []),
        (3, ["check"], ["N=1"]),
        (0, ["equal"], []),
        (0, ["cost"], []),
        (0, ["prove"], ["v0[0] == 2*N"]),
        (0, ["explain"], ["v0"]),
        (0, ["audit"], []),
    ):
        assert run([*command, str(path), *more, "--max-nodes", "2"]) == code, command
        said = capsys.readouterr()
        assert said.err == warning, command
        assert (unseen in said.out) == ("--role" in command or command == ["check"]), command
    whole = absint.analyze(chain(5))
    assert whole.limits_reached == ()
    assert absint.analyze(chain(5), max_nodes=2).limits_reached == (warning.removeprefix("absint: warning: ").strip(),)
    assert run(["annotate", str(path), "-o", str(tmp_path / "o.onnx"), "--max-nodes", "2"]) == 0
    assert capsys.readouterr().err.splitlines()[0] == "1 warning"
