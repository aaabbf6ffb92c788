"""Fresh sizes take the names that the author declares, where these say nothing false."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import onnx
import pytest

import absint
from absint.cli import run
from absint.questions.proofs.proof import Verdict
from absint.show.document import document
from absint.solution.constraints import all_names
from tests.absint.shapes.flows import FLOWS
from tests.models import parsed


def _names(text: str) -> dict[str, str]:
    """The tensors of the main graph, each with its dims as text."""
    return {name: str(shape) for name, shape in absint.analyze(parsed(text)).shapes.items()}


COUNTED = """(float[N, 4] x) => (int64[count, 2] places) <int64[2, k] raw> {
    raw = NonZero(x)  places = Transpose(raw)
}"""


def test_a_size_of_one_name_has_it_everywhere() -> None:
    found = _names("(float[N, 4] x) => (int64[count, 2] places) { raw = NonZero(x)  places = Transpose(raw) }")
    assert found == {"x": "[N, 4]", "raw": "[2, count]", "places": "[count, 2]"}


def test_of_two_names_that_of_an_output_is_taken() -> None:
    assert _names(COUNTED)["raw"] == "[2, count]"


TWO = "(float[N] x, float[M] y) => (int64[1, %s] a, int64[1, %s] b) { a = NonZero(x)  b = NonZero(y) }"


@pytest.mark.parametrize(
    ("first", "second", "a", "b"),
    [
        ("p", "q", "p", "q"),
        ("p", "p", "_d0", "_d1"),  # they may differ, and the name is of neither
        ("N", "q", "_d0", "q"),  # the name of an input's size
        ("x", "q", "x", "q"),  # the name of a value is none of a size
        ("_d1", "q", "_d1", "q"),
        ("w1", "q", "_d0", "q"),  # documents name long dims so
        ("true", "max", "_d0", "_d1"),
        ("2*p", "q", "_d0", "q"),
        ("7", "q", "_d0", "q"),
        ("q", "_d0", "q", "_d0"),
        ("a" * 65, "q", "_d0", "q"),
    ],
)
def test_names_that_say_nothing_false(first: str, second: str, a: str, b: str) -> None:
    proto = parsed(TWO % ("first", "second"))
    for output, text in zip(proto.graph.output, (first, second), strict=True):
        dim = output.type.tensor_type.shape.dim[1]
        if text.isdigit():
            dim.dim_value = int(text)
        else:
            dim.dim_param = text
    result = absint.analyze(proto)
    assert [str(result.shapes[name][1]) for name in ("a", "b")] == [a, b]


@pytest.mark.parametrize("text", ["batch size", "past-seq", "\\%1:x", "a\u202eb", " p"])
def test_a_text_that_is_no_name_of_the_grammar_is_not_taken(text: str) -> None:
    proto = parsed(TWO % ("p", "q"))
    proto.graph.output[0].type.tensor_type.shape.dim[1].dim_param = text
    assert str(absint.analyze(proto).shapes["a"][1]) == "_d0"


def test_a_name_that_an_exact_size_has_too_is_not_taken() -> None:
    found = _names("(float[N] x) => (int64[1, p] a, float[p] b) { a = NonZero(x)  b = Concat<axis=0>(x, x) }")
    assert found["a"] == "[1, _d0]"


def test_a_name_at_a_place_of_which_nothing_is_known_does_no_harm() -> None:
    found = _names("(float[N] x) => (int64[1, p] a, float[p] b) { a = NonZero(x)  b = my.Mystery(x) }")
    assert found["a"] == "[1, p]"


IN_A_BRANCH = """(float[N] x, bool[N] c) => (int64[1, p] a) {
    a = NonZero(x)
    t = Cast<to=6>(c)
    s = ReduceSum<keepdims=0>(t)
    some = Cast<to=9>(s)
    b = If(some) <
        then_branch = yes () => (float[p] y) { y = Concat<axis=0>(x, x) },
        else_branch = no () => (int64[1, %s] z) { z = NonZero(x) }>
}"""


@pytest.mark.parametrize(("inner", "shown"), [("q", "q"), ("p", "_d1")])
def test_each_graph_has_names_of_its_own_and_the_main_graph_is_first(inner: str, shown: str) -> None:
    result = absint.analyze(parsed(IN_A_BRANCH % inner))
    assert str(result.shapes["a"][1]) == "p"
    (path,) = [path for path in result.paths if "else" in path]
    assert str(result.at(path).shapes["z"][1]) == shown


def test_all_documents_have_the_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "counted.onnx"
    onnx.save(parsed(COUNTED), path)
    result = absint.analyze(path)
    assert {str(shown) for shown in all_names(result).values()} == {"count"}
    assert "4*N >= count" in map(str, (constraint.relation for constraint in result.constraints))
    assert result.prove("count <= 4*N").verdict is Verdict.PROVED
    assert result.prove("places[0] == count").verdict is Verdict.PROVED
    assert "count" in str(result.explain("places", 0))
    assert [fresh.bounds for fresh in result.fresh_symbols] == ["0 <= count <= 4*N"]
    assert json.loads(document(result, {}, ()))["outputs"][0]["shape"] == ["count", 2]
    result.report(tmp_path / "report.html")
    assert "count" in (tmp_path / "report.html").read_text("utf-8")
    assert result.cost().evaluate({"N": 3, "count": 5}).bytes == 4 * 12 + 3 * 2 * 8 * 5
    assert run(["explain", str(path), "raw[1]"]) == 0
    assert "raw[1] = count" in capsys.readouterr().out
    (info,) = [info for info in result.annotate().graph.value_info if info.name == "raw"]
    assert [dim.dim_value or dim.dim_param for dim in info.type.tensor_type.shape.dim] == [2, "k"]


def test_names_of_two_models_are_not_confused() -> None:
    first = parsed("(float[N] x) => (int64[1, count] a) { a = NonZero(x) }")
    second = parsed("(float[N] x) => (int64[1, count] a) { y = Neg(x)  z = Relu(y)  a = NonZero(z) }")
    (port,) = absint.diff(first, second).outputs.items
    assert port.status in ("not comparable", "changed")


def test_annotate_writes_the_name_wherever_the_size_is() -> None:
    text = """(float[N] x) => (int64[1, count] places, int64[1, other] more) {
        places = NonZero(x)  negative = Neg(places)  more = Neg(negative)
    }"""
    written = absint.analyze(parsed(text)).annotate()
    (info,) = written.graph.value_info
    assert info.type.tensor_type.shape.dim[1].dim_param == "count"
    again = absint.analyze(written)
    assert [str(again.shapes[name][1]) for name in ("places", "negative", "more")] == ["count"] * 3


def test_annotate_gives_no_name_of_another_size() -> None:
    """The branch declares `p` for its own size: where the file has it already, it stays the author's."""
    written = absint.analyze(parsed(IN_A_BRANCH % "p")).annotate()
    assert all(dim.dim_param != "p" for info in written.graph.value_info for dim in info.type.tensor_type.shape.dim)


def test_an_unsound_policy_shows_what_its_tool_would() -> None:
    result = absint.analyze(parsed(COUNTED), policy="prefer-first")
    assert str(result.shapes["raw"][1]) == "_d0"


@pytest.mark.parametrize("name", FLOWS)
def test_no_name_is_shared_and_none_depends_on_what_is_asked_first(name: str) -> None:
    proto = FLOWS[name]().model
    result = absint.analyze(proto)
    shown = result.names
    symbols = defaultdict(set)
    for born, dim in shown.items():
        symbols[str(dim)].add(born.name)
    assert all(len(found) == 1 for found in symbols.values())
    assert not symbols.keys() & result.taken
    other = absint.analyze(proto)
    for path in reversed(("", *other.paths)):
        for value in reversed(list(other.at(path))):
            str(other.at(path)[value])
    assert {born.name: str(dim) for born, dim in all_names(other).items()} == {
        born.name: str(dim) for born, dim in all_names(result).items()
    }
