"""Answers as a terminal and a debugger show them, and unknown names."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import absint
from absint import Result
from absint.cli import run
from absint.errors import UnknownNameError
from absint.jobs.auditing import declared, judge
from absint.research.study import Study
from absint.runs.run import feeds_for
from tests.models import parsed

EXAMPLE = Path(__file__).parents[4] / "examples" / "tiny_decoder.onnx"


@pytest.fixture(scope="module")
def result() -> Result:
    return absint.analyze(EXAMPLE)


SIZES = {"batch": 1, "seq": 2, "past": 3}

REPRS: dict[str, tuple[Callable[[Result], object], str]] = {
    "contract": (lambda r: r.contract(), "<Contract: past + seq >= 1>"),
    "check": (lambda r: r.check({**SIZES, "seq": 0, "past": 0}), "<Check: illegal at batch=1, seq=0, past=0: "),
    "range": (lambda r: r.check_range({"seq": (1, 4)}), "<RangeCheck: "),
    "proof": (lambda r: r.prove("logits[1] == seq"), "<Proof proved: logits[1] == seq>"),
    "refuted": (lambda r: r.prove("logits[1] == past"), "<Proof refuted: logits[1] == past>"),
    "symbol": (lambda r: r.symbol("seq"), "<SymbolFacts: seq >= 0>"),
    "equal": (lambda r: r.equal_shapes(), "<Equalities: 534 in 47 classes>"),
    "explanation": (lambda r: r.explain("logits", 1), "<Explanation of logits: "),
    "cost": (lambda r: r.cost(), "<Cost of "),
    "memory": (lambda r: r.memory(), "<Memory of "),
    "comparison": (
        lambda r: r.compare(feeds_for(r, SIZES), {"logits": (1, 2, 65)}),
        f"<Comparison with {str(EXAMPLE)[:77]}",
    ),
    "annotated": (lambda r: r.annotated(), "<Annotated main_graph: 0 types left out>"),
    "audit": (lambda r: judge(r, declared(r.model)), "<Audit of declared: 24 proved, 0 refuted, 0 not entailed, 0 "),
    "study": (lambda _: Study(()), "<Study: 0 records, 0 lost>"),
    "timings": (lambda _: absint.Timings(), "<Timings: nothing yet; 0 visits>"),
    "values": (lambda r: r.values, "<View of the main graph: 5"),
}


@pytest.mark.parametrize("answer", REPRS)
def test_an_answer_has_a_short_repr(answer: str, result: Result) -> None:
    make, expected = REPRS[answer]
    shown = repr(make(result))
    assert shown.startswith(expected)
    assert len(shown) <= 300
    assert "\n" not in shown


def test_a_long_name_is_cut_and_made_safe() -> None:
    proof = absint.analyze(EXAMPLE).prove(" and ".join(["seq >= 0"] * 30))
    assert repr(proof) == f"<Proof proved: {' and '.join(['seq >= 0'] * 30)[:77]}...>"


def test_a_result_prints_as_the_table_of_the_command_line(result: Result, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(EXAMPLE)]) == 0
    assert capsys.readouterr().out == f"{result}\n"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r["logit"], "the main graph has no value 'logit'; did you mean 'logits'?"),
        (lambda r: r.values["logit"], "the main graph has no value 'logit'; did you mean 'logits'?"),
        (lambda r: r.tensor("logit"), "the main graph has no value 'logit'; did you mean 'logits'?"),
        (lambda r: r.shapes["logit"], "the main graph has no value 'logit'; did you mean 'logits'?"),
        (lambda r: r.shapes["?"], "the main graph has no value '?'"),
    ],
)
def test_a_name_that_is_not_there(ask: Callable[[Result], object], message: str, result: Result) -> None:
    with pytest.raises(UnknownNameError) as caught:
        ask(result)
    assert str(caught.value) == message
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, absint.UsageError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


def test_names_are_looked_up_as_in_any_mapping(result: Result) -> None:
    assert "logit" not in result.shapes
    assert "logit" not in result.values
    assert result.shapes.get("logit") is None
    assert result.shapes["logits"] == result.tensor("logits").shape


def test_get_gives_the_default_where_the_rank_is_unknown() -> None:

    model = parsed(
        """(float[N] x, int64[K] s) => (y)
        { y = Reshape(x, s) }""",
        17,
    )
    shapes = absint.analyze(model).shapes
    assert shapes["y"].is_top
    assert shapes.get("y") is None
    assert shapes.get("y", "?") == "?"
    assert shapes.get("x", "?") == shapes["x"]


def test_what_is_no_tensor_has_no_shape() -> None:

    model = parsed(
        """(float[N] x) => (float[M] y)
        { s = SequenceConstruct(x, x) y = ConcatFromSequence<axis = 0>(s) }""",
        17,
    )
    found = absint.analyze(model)
    with pytest.raises(absint.UsageError, match=r"^the main graph has no tensor 's'"):
        found.shapes["s"]
    with pytest.raises(absint.UsageError, match=r"no tensor 's': it is sequence of 2 x FLOAT \[N\]$"):
        found.tensor("s")
    assert "s" not in found.shapes


def test_a_shape_of_unknown_rank_is_a_shape() -> None:

    model = parsed(
        """(float[N] x) => (float y)
        { y = f.Unheard(x) }""",
        17,
        domains={"f": 1},
    )
    shape = absint.analyze(model).shapes["y"]
    assert (shape.is_top, shape.rank, str(shape)) == (True, None, "?")
