"""The page of a model in a real browser: what it shows, and that it does nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import onnx
import pytest
from onnx import ModelProto, TensorProto, helper
from playwright.sync_api import Browser, Page, expect

import absint
from tests.absint.page.browser import opened, started
from tests.adversarial import MODELS
from tests.conftest import CHROMIUM
from tests.real_models import CORPUS, PATHS

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

EXAMPLES = Path(__file__).parents[3] / "examples"
DECODER = EXAMPLES / "tiny_decoder.onnx"
DETECTOR = EXAMPLES / "tiny_detector.onnx"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture
def decoder(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    with opened(browser, tmp_path, DECODER) as page:
        yield page


def set_size(page: Page, place: int, size: int) -> None:
    page.fill(f"#number-{place}", str(size))


def painted_after(page: Page) -> float:
    """Milliseconds to the first paint with content."""
    while True:
        found = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        if found is not None:
            return float(found)
        page.wait_for_timeout(50)


def numbers(page: Page) -> dict[str, str]:
    """The shapes of inputs and outputs at the sizes of the sliders."""
    rows = page.locator("tr:has([data-shape])")
    return {
        rows.nth(at).locator("th").inner_text(): rows.nth(at).locator("[data-shape]").inner_text()
        for at in range(rows.count())
    }


def agrees(page: Page, result: absint.Result, random: Random, count: int) -> None:
    """Every size that the page computes is that of `Shape.evaluate`."""
    names = list(result.parameters)
    least_and_most = {name: next(iter(dim.symbols)).bounds for name, dim in result.parameters.items()}
    bindings = [
        {
            name: min(
                max(random.choice([0, 1, 2, random.randrange(3, 400)]), lo or 0), hi if hi is not None else 1 << 31
            )
            for name, (lo, hi) in least_and_most.items()
        }
        for _ in range(count)
    ]
    values = page.evaluate(
        """bindings => bindings.map(sizes => {
            const found = evaluate(data.program, sizes);
            return data.values.map(value => value.dims === null ? null : value.dims.map(at => {
                const number = data.dims[at][1] === null ? undefined : found[data.dims[at][1]];
                return number === undefined ? "unknown" : number;
            }));
        })""",
        bindings,
    )
    shown = page.evaluate("data.values.map(value => value.name)")
    checked = 0
    for sizes, row in zip(bindings, values, strict=True):
        for name, found in zip(shown, row, strict=True):
            shape = result.shapes.get(name)
            if shape is None or shape.rank is None:
                continue
            for dim, size in zip(shape.dims, found, strict=True):
                if dim.is_unknown or not dim.free_symbols <= set(names):
                    assert size == "unknown"
                    continue
                try:
                    expected = dim.evaluate(sizes)
                except (ArithmeticError, ValueError):
                    expected = None
                assert size == expected, (name, str(dim), sizes)
                checked += not dim.is_concrete
    assert checked or not names


@pytest.mark.parametrize("path", PATHS[:7], ids=lambda path: path.stem)
def test_sizes_are_those_of_evaluate(browser: Browser, tmp_path: Path, path: Path) -> None:
    with opened(browser, tmp_path, path) as page:
        agrees(page, absint.analyze(path), Random(1), 50)


@pytest.mark.parametrize("name", list(MODELS)[::9])
def test_sizes_of_odd_models_are_those_of_evaluate(browser: Browser, tmp_path: Path, name: str) -> None:
    with opened(browser, tmp_path, MODELS[name].model) as page:
        agrees(page, absint.analyze(MODELS[name].model), Random(2), 20)


def test_the_first_paint_is_fast(decoder: Page) -> None:
    assert painted_after(decoder) < 2000


def test_sliders_move_every_shape(decoder: Page) -> None:
    for place, size in enumerate((2, 3, 5)):
        set_size(decoder, place, size)
    shown = numbers(decoder)
    assert shown["input_ids"] == "[2, 3]"
    assert shown["logits"] == "[2, 3, 64]"
    assert shown["present.0.key"] == "[2, 2, 8, 8]"
    expect(decoder.locator("#verdict")).to_contain_text("legal at these sizes")


def needs_a_multiple() -> ModelProto:
    """A model that runs at even sizes only."""
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "target"], ["out"], name="halves")],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "M"])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2, "K"])],
        [helper.make_tensor("target", TensorProto.INT64, [3], [2, 7, -1])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_illegal_sizes_show_the_node_and_legal_ones_nearby(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, needs_a_multiple()) as page:
        set_size(page, 0, 5)
        set_size(page, 1, 3)
        verdict = page.locator("#verdict")
        expect(verdict).to_have_class("illegal")
        expect(verdict).to_contain_text("Reshape halves")
        verdict.get_by_role("button", name="show the node").click()
        expect(page.locator("#drawing .failing")).to_have_count(1)
        expect(page.locator("#details")).to_contain_text("Reshape")
        offers = verdict.get_by_role("button", name="=")
        assert offers.count() >= 1
        offers.first.click()
        expect(verdict).to_have_class("legal")


def test_the_contract_is_a_picture_for_two_sizes(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, needs_a_multiple()) as page:
        text = page.locator("#region-text").inner_text()
        legal, total = (int(word) for word in text.split(" sizes")[0].split(" of "))
        assert 0 < legal < total
        assert page.locator("#region").get_attribute("aria-label") == text


def test_groups_open_and_close(decoder: Page) -> None:
    before = decoder.locator("#crumbs").inner_text()
    group = decoder.locator("#drawing .box.group").first
    group.focus()
    decoder.keyboard.press("Enter")
    assert decoder.locator("#crumbs").inner_text() != before
    decoder.locator("#graph").focus()
    decoder.keyboard.press("Escape")
    assert decoder.locator("#crumbs").inner_text() == before


def test_search_finds_a_node_and_shows_it(decoder: Page) -> None:
    decoder.locator("body").press("/")
    expect(decoder.locator("#search")).to_be_focused()
    decoder.fill("#search", "softmax")
    expect(decoder.locator("#hits li").first).to_be_visible()
    decoder.locator("#search").press("Enter")
    expect(decoder.locator("#details h3")).to_contain_text("Softmax")
    expect(decoder.locator("#drawing .selected")).to_have_count(1)
    decoder.fill("#search", "no such name")
    expect(decoder.locator("#hits")).to_contain_text("nothing has this name")


def test_a_value_tells_where_its_size_comes_from(decoder: Page) -> None:
    decoder.fill("#search", "logits")
    decoder.locator("#hits button", has_text="logits").last.click()
    details = decoder.locator("#details")
    expect(details).to_contain_text("FLOAT [batch, seq, 64]")
    expect(details.locator("pre").first).to_contain_text("input_ids")
    decoder.fill("#search", "/cumsum_output_0")
    decoder.locator("#hits button").first.click()
    details.locator("summary", has_text="past + seq").click()
    expect(details.locator("pre:visible")).to_contain_text("attention_mask")


def test_edges_show_formulas_or_numbers(decoder: Page) -> None:
    labels = "#drawing .edge text"
    formulas = decoder.locator(labels).all_text_contents()
    assert any("batch" in text for text in formulas)
    decoder.select_option("#shows", "numbers")
    assert not any("batch" in text for text in decoder.locator(labels).all_text_contents())


def test_dark_and_light(decoder: Page) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    before = decoder.evaluate(back)
    decoder.click("#theme")
    assert decoder.evaluate(back) != before
    decoder.emulate_media(color_scheme="dark")
    decoder.evaluate("delete document.documentElement.dataset.theme")
    assert decoder.evaluate(back) == "rgb(20, 23, 27)"


def test_memory_and_cost_are_those_of_the_command(decoder: Page) -> None:
    result = absint.analyze(DECODER)
    sizes = {"batch": 2, "seq": 7, "past": 9}
    found = decoder.evaluate(
        "sizes => { const values = evaluate(data.program, sizes); return [flopsOf(values), peakOf(values)]; }", sizes
    )
    assert found == [result.cost().evaluate(sizes).flops, result.memory().evaluate(sizes)]
    decoder.click("#draw")
    expect(decoder.locator("#curves svg")).to_have_count(2)
    expect(decoder.locator("#memory svg")).to_have_count(1)


def test_without_scripts_it_is_a_document(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, DECODER, script=False) as page:
        text = page.locator("body").inner_text()
        assert "logits" in text
        assert "FLOAT [batch, seq, 64]" in text
        assert not page.locator("#controls").is_visible()


@pytest.mark.parametrize("width", [1280, 420])
def test_nothing_is_wider_than_the_window(browser: Browser, tmp_path: Path, width: int) -> None:
    with opened(browser, tmp_path, DETECTOR, width) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    '" onmouseover="alert(3)',
    "'; alert(4); '",
    "line\nbreak\r\ttab",
    "\u202eright to left",
    "${alert(5)}`",
    "x" * 10_000,
    "a/../<b>/c",
)


def test_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    """Names of values, nodes, dims, operators and of the graph are shown, and nothing in them is executed."""
    nodes, last = [], "x"
    for at, name in enumerate(HOSTILE):
        nodes.append(helper.make_node("Relu", [last], [f"{name}{at}"], name=f"{name}/{at}"))
        last = f"{name}{at}"
    nodes.append(helper.make_node("<b>Custom</b>", [last], ["out"], name="odd", domain="<i>d</i>"))
    dims = [name[:200] for name in HOSTILE]
    graph = helper.make_graph(
        nodes,
        HOSTILE[0],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("<i>d</i>", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    path = tmp_path / "<img src=x onerror=alert(6)>.onnx"
    path.write_bytes(model.SerializeToString())
    with opened(browser, tmp_path, path) as page:
        for field in ("alert", "<script>", "Custom"):
            page.fill("#search", field)
            page.locator("#search").press("Enter")
        for button in page.locator("#drawing .box").all()[:6]:
            button.focus()
            page.keyboard.press("Enter")
        assert page.locator("img, b, i, body script:not([id])").count() == 1  # the page's own script
        assert "<script>alert(1)</script>" in page.locator("body").inner_text()


def flat(count: int) -> ModelProto:
    """A model of many nodes whose names say nothing."""
    operators = ("Relu", "Abs", "Neg", "Sigmoid", "Tanh")
    nodes = [helper.make_node(operators[at % 5], [f"v{at}"], [f"v{at + 1}"]) for at in range(count)]
    graph = helper.make_graph(
        nodes,
        "flat",
        [helper.make_tensor_value_info("v0", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info(f"v{count}", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_ten_thousand_nodes(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, flat(10_000)) as page:
        assert painted_after(page) < 2000
        assert page.locator("#drawing .box").count() <= 70
        page.fill("#search", "v7777")
        page.locator("#hits button").first.click()
        expect(page.locator("#details")).to_contain_text("FLOAT [N, 4]")


@pytest.mark.parametrize("path", [path for path in PATHS if path.parent == CORPUS][5:40:8], ids=lambda path: path.stem)
def test_reports_of_real_models_are_small(tmp_path: Path, path: Path) -> None:
    result = absint.analyze(path)
    result.report(tmp_path / "report.html")
    size = (tmp_path / "report.html").stat().st_size
    assert size < 1_000_000 + 1_000 * len(onnx.load(path, load_external_data=False).graph.node)
    text = (tmp_path / "report.html").read_text("utf-8")
    data = json.loads(text.split('type="application/json">')[1].split("</script>")[0])
    assert data["schema"] == "absint.report/1"
