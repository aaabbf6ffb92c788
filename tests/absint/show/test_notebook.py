"""Results in a notebook: tables without scripts or ids, whatever the names; and the page in a frame."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import onnx
import pytest
from onnx import parser

import absint
from absint.lattices.text import sheets
from absint.lattices.text.naming import Names, Naming
from tests.models import parsed

EXAMPLES = Path(__file__).parents[3] / "examples"
ALLOWED = {"div", "p", "strong", "code", "pre", "table", "caption", "thead", "tbody", "tr", "th", "td", "details"} | {
    "summary"
}
HOSTILE = '</pre></td><script>alert("1")</script><b id=x onclick=alert(2)>&amp;\x1b[31m\n' + "x" * 2_000


class Read(HTMLParser):
    """The elements of an HTML text, checked to be nested well, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED
        self.open.append(tag)
        self.attributes.update(attrs)
        if tag in ("th", "td"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open and self.open[-1] in ("th", "td"):
            self.cells[-1] += data


def read(item: object) -> Read:
    """The form of an object that a notebook shows, by the name that notebooks look for."""
    found = Read(item._repr_html_())  # type: ignore[attr-defined]
    assert found.attributes <= {("scope", "row"), ("scope", "col")}
    return found


@cache
def decoder() -> absint.Result:
    return absint.analyze(EXAMPLES / "tiny_decoder.onnx")


@cache
def detector() -> absint.Result:
    return absint.analyze(EXAMPLES / "tiny_detector.onnx")


def hostile() -> absint.Result:
    """A model all of whose names are hostile: of the graph, of values, symbols and nodes."""
    model = parsed(
        "(float[N, 8] x, int64[1] k) => (float[] y) <int64[2] to = {-1, 4}> { r = Reshape(x, to)  y = Expand(r, k) }"
    )
    model.graph.name = HOSTILE
    for node in model.graph.node:
        node.name = f"{node.op_type}{HOSTILE}"
        node.input[:] = [HOSTILE if name == "x" else f"r{HOSTILE}" if name == "r" else name for name in node.input]
        node.output[:] = [name + HOSTILE for name in node.output]
    model.graph.input[0].name = HOSTILE
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = f"N{HOSTILE}"
    model.graph.output[0].name = f"y{HOSTILE}"
    return absint.analyze(model)


def answers(result: absint.Result, value: str, axis: int, sizes: dict[str, int]) -> Iterator[object]:
    """Every kind of answer that a notebook shows."""
    yield result
    yield result[value].shape  # type: ignore[union-attr]
    yield result.contract(samples=2)
    yield result.check(sizes)
    yield result.check_range({name: (0, size) for name, size in sizes.items()})
    yield result.prove("rank(`{}`) >= 1".format(value.replace("\\", "\\\\").replace("`", "\\`")), evidence="none")
    yield result.cost()
    yield result.memory()
    yield result.explain(value, axis)
    yield result.profile({name: (1, size) for name, size in sizes.items()})
    yield result.nearest(dict.fromkeys(sizes, 0))
    yield absint.diff(result, decoder(), evidence="none")


SIZES = [
    (decoder, "present.0.key", 2, {"batch": 2, "seq": 3, "past": 4}),
    (detector, "boxes", 0, {"batch": 2, "height": 3, "width": 4}),
]


@pytest.mark.parametrize(("model", "value", "axis", "sizes"), SIZES)
def test_every_answer_is_plain_html(model: object, value: str, axis: int, sizes: dict[str, int]) -> None:
    for item in answers(model(), value, axis, sizes):  # type: ignore[operator]
        assert read(item).text


def test_hostile_names_stay_text() -> None:
    result = hostile()
    (symbol,) = result.symbols
    seen = 0
    for item in answers(result, result.outputs[0], 0, {symbol: 4}):
        found = read(item)
        assert "\x1b" not in found.text
        seen += "<script>alert" in found.text
        assert max(map(len, found.cells), default=0) <= sheets.MAX_CELL
    assert seen >= 8


def test_a_result_shows_inputs_outputs_and_totals() -> None:
    found = read(decoder())
    at = found.cells.index("attention_mask")
    assert found.cells[at + 1] == "INT64 [batch, past + seq]"
    assert found.cells[found.cells.index("logits") + 1] == "FLOAT [batch, seq, 64]"
    assert found.cells[found.cells.index("past + seq >= 1") + 1].startswith("Add /layers.0")
    assert found.cells[found.cells.index("dims") + 1] == "792: 474 concrete, 318 expressions, 0 unknown"
    shown = read(detector()).cells
    assert shown[shown.index("detections") + 1].endswith("first at /NonZero_output_0")


def test_an_answer_shows_what_it_rests_on() -> None:
    contract = read(decoder().contract())
    assert contract.cells[:3] == ["clause", "nodes", "reason"]
    assert contract.cells[3] == "past + seq >= 1"
    assert "Add /layers.0/attention/Add_2" in contract.cells[4]

    failing = read(detector().check({"batch": 1, "height": 0, "width": 3}))
    assert "illegal" in failing.text
    assert "Conv /stem/stem.0/stem.0.0/Conv" in failing.text
    assert "which needs height >= 1" in failing.text

    refuted = read(decoder().prove("logits[1] == 7", evidence="none"))
    assert refuted.text.startswith("refuted  logits[1] == 7")
    sizes = decoder().prove("logits[1] == 7", evidence="none").counterexample
    assert sizes is not None
    assert f"seq={sizes['seq']}" in refuted.cells[refuted.cells.index("false at") + 1]

    profile = read(decoder().profile({"batch": (1, 4), "seq": (1, 8, 16), "past": (0, 128)}))
    assert profile.text.startswith("profile for batch=1..4..4, seq=1..8..16")
    assert profile.cells[0].startswith("input_ids: INT64 [1, 1] .. ")


def test_costs_are_those_of_the_methods() -> None:
    cost, memory = decoder().cost(), decoder().memory()
    cells = read(cost).cells
    assert cells[cells.index("MACs") + 1] == str(cost.macs)
    assert cells[cells.index("MACs") + 3].startswith(f"{cost.evaluate(cost.default_sizes).macs:,}")
    found = read(memory)
    assert found.cells[found.cells.index("number") + 1].startswith(f"{memory.at(memory.default_sizes).bytes:,}")
    assert all(str(bound) in found.cells for bound in memory.bounds)


def test_costs_without_legal_sizes_are_shown_without_numbers() -> None:
    text = (
        '<ir_version: 9, opset_import: ["": 18]> g (float[N, 3] x, float[4, N] z) => (float[] y) { y = MatMul(x, z) }'
    )
    impossible = absint.analyze(parser.parse_model(text))
    assert not impossible.can_run
    assert read(impossible.cost()).text.startswith("cost of")
    assert read(impossible.memory()).text.startswith("memory of")
    assert read(impossible.contract()).text.startswith("no size is legal")
    assert "error" in read(impossible).cells


def test_shapes_of_any_kind() -> None:
    assert read(absint.Shape([2, "N", None])).text == "shape [2, N, ?]"
    assert read(absint.Shape(None)).text == "shape ?"
    assert read(absint.Shape([])).text == "shape []"
    long = absint.Shape([" + ".join(f"a{k}*b{k}//{k + 2}" for k in range(30))])
    found = read(long)
    assert found.text.startswith("shape [w")
    assert len(found.cells) >= 2


def test_long_tables_and_texts_are_folded() -> None:
    rows = [(f"name {k}", k) for k in range(sheets.MAX_ROWS + 7)]
    short, long = sheets.Table("few", rows[:3]).html(), sheets.Table("many", rows).html()
    assert short.startswith("<table><caption>few</caption>")
    assert long.startswith(f"<details><summary>many: {sheets.MAX_ROWS + 7}</summary>")
    assert len(Read(long).cells) == 2 * sheets.MAX_ROWS
    assert Read(long).text.endswith("and 7 more")
    assert sheets.Table("none", []).html() == ""
    assert sheets.lines("a", "x\ny").startswith("<pre>")
    assert sheets.lines("a", "\n" * 20).startswith("<details>")


def test_rows_have_any_number_of_cells_and_columns_names() -> None:
    table = sheets.Table("many", [("a", "b", "c"), ("long", "d", "e")], head=("x", "y", "z"))
    assert Read(table.html()).cells == ["x", "y", "z", "a", "b", "c", "long", "d", "e"]
    assert sheets.written([table]) == "\nmany\n  a     b  c\n  long  d  e"


def test_a_contract_is_the_same_sheet_in_text() -> None:
    contract = detector().contract()
    text = str(contract.sheet)
    assert text.startswith("legal sizes: 2 clauses")
    assert "  height >= 1  Conv /stem/stem.0/stem.0.0/Conv  the window must fit spatial axis 0\n" in text
    for cell in read(contract).cells[3:6]:
        assert cell in text


def test_a_large_model_is_shown_briefly(tmp_path: Path) -> None:
    nodes = " ".join(f"v{k + 1} = Relu(v{k})" for k in range(3_000))
    text = f'<ir_version: 9, opset_import: ["": 18]> g (float[N] v0) => (float[] v3000) {{ {nodes} }}'
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    result = absint.analyze(tmp_path / "m.onnx")
    for item in (result, result.check({"N": 4}), result.cost(), result.explain("v3000", 0)):
        assert len(item._repr_html_()) < 100_000


def test_a_view_is_the_report_in_a_frame_of_its_own(tmp_path: Path) -> None:
    result = decoder()
    shown = result.view(300)._repr_html_()
    found = Frame(shown)
    assert found.attributes["sandbox"] == "allow-scripts"
    assert found.attributes["height"] == "300"
    result.report(tmp_path / "report.html")
    assert found.attributes["srcdoc"] == (tmp_path / "report.html").read_text("utf-8")
    assert repr(result.view()).startswith("<View: a page of ")


class Frame(HTMLParser):
    """The attributes of the one element of a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: dict[str, str | None] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "iframe"
        assert not self.attributes
        self.attributes = dict(attrs)


@pytest.mark.parametrize("height", [0, -5, 99, float("nan")])
def test_a_view_has_a_height(height: int) -> None:
    with pytest.raises(absint.UsageError, match="expected pixels, at least 100"):
        decoder().view(height)


def test_a_notebook_and_a_terminal_show_one_sheet() -> None:
    """Every fact of the text is in the HTML."""
    result = decoder()
    proof = result.prove("logits[1] == 7", evidence="none")
    for answer, sheet in (
        (proof, proof.sheet(Names(Naming()))),
        (check := result.check({"batch": 2, "seq": 3, "past": 4}), check.sheet(Names(Naming()))),
        (box := result.check_range({"batch": (1, 4)}), box.sheet(Names(Naming()))),
        (profile := result.profile({"batch": (1, 4), "seq": (0, 16), "past": (0, 128)}), profile.sheet),
        (nearest := result.nearest({"batch": 1, "seq": 0, "past": 0}), nearest.sheet),
    ):
        shown = " ".join(read(answer).text.split())
        lines = [line.text for line in sheet.lines()]
        assert len(lines) > 1 or answer is check
        for word in " ".join(lines).split():
            assert word in shown
