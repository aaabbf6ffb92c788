"""The page of a model in a real browser: looking around in it, with a mouse and with the keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from onnx import parser
from playwright.sync_api import Browser, Page, expect

from tests.absint.show.page.browser import opened, search, set_size, started
from tests.absint.show.page.models import DECODER, DETECTOR, needs_a_multiple
from tests.conftest import CHROMIUM

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture(autouse=True)
def _time_for_derivations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.show.page.derivations.EXPLAINED", 60.0)


@pytest.fixture
def decoder(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    with opened(browser, tmp_path, DECODER) as page:
        yield page


@pytest.fixture
def detector(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    with opened(browser, tmp_path, DETECTOR) as page:
        yield page


def test_sliders_move_every_shape(decoder: Page) -> None:
    for place, size in enumerate((2, 3, 5)):
        set_size(decoder, place, size)
    shown = {
        row.locator("th").inner_text(): row.locator("[data-shape]").inner_text()
        for row in decoder.locator("tr:has([data-shape])").all()
    }
    assert shown["input_ids"] == "[2, 3]"
    assert shown["logits"] == "[2, 3, 64]"
    assert shown["present.0.key"] == "[2, 2, 8, 8]"
    expect(decoder.locator("#verdict")).to_contain_text("legal at these sizes")
    decoder.click("#reset")
    expect(decoder.locator("#number-2")).to_have_value("64")


def test_illegal_sizes_show_the_node_and_legal_ones(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, needs_a_multiple()) as page:
        set_size(page, 0, 5)
        set_size(page, 1, 3)
        verdict = page.locator("#verdict")
        expect(verdict).to_have_class("illegal")
        expect(verdict).to_contain_text("Reshape halves")
        expect(page.locator("[data-holds]").first).to_have_text("\u2717 false")
        verdict.get_by_role("button", name="show the node").click()
        expect(page.locator("#drawing .failing")).to_have_count(1)
        expect(page.locator("#details li.broken")).to_have_count(1)
        offers = page.locator("#offers").get_by_role("button")
        expect(offers.first).to_be_visible()
        offers.first.click()
        expect(verdict).to_have_class("legal")
        expect(page.locator("[data-holds]").first).to_have_text("\u2713 holds")


def test_groups_open_and_close(decoder: Page) -> None:
    before = decoder.locator("#crumbs").inner_text()
    group = decoder.locator("#drawing .box.group", has_text="layers.0").first
    group.focus()  # moves the graph until it is seen
    group.click()
    assert decoder.locator("#crumbs").inner_text() != before
    decoder.locator("#crumbs button").first.click()
    assert decoder.locator("#crumbs").inner_text() == before


def test_the_first_look_shows_layers(decoder: Page) -> None:
    labels = [box.get_attribute("aria-label") or "" for box in decoder.locator("#drawing .box.group").all()]
    assert sum("layers." in label for label in labels) == 2
    assert any("alike" in label for label in labels)


def test_search_finds_a_node_and_shows_it(decoder: Page) -> None:
    decoder.locator("body").press("/")
    expect(decoder.locator("#search")).to_be_focused()
    decoder.fill("#search", "softmax")
    expect(decoder.locator("#hits li").first).to_be_visible()
    decoder.locator("#search").press("ArrowDown")
    expect(decoder.locator("#hits button").first).to_be_focused()
    decoder.keyboard.press("Escape")
    expect(decoder.locator("#hits li")).to_have_count(0)
    search(decoder, "softmax")
    expect(decoder.locator("#details h3")).to_contain_text("Softmax")
    expect(decoder.locator("#drawing .selected")).to_have_count(1)
    decoder.fill("#search", "no such name")
    expect(decoder.locator("#hits")).to_contain_text("nothing has this name")


def test_where_a_size_comes_from_is_a_chain_of_links(decoder: Page) -> None:
    search(decoder, "logits")
    details = decoder.locator("#details")
    expect(details).to_contain_text("FLOAT [batch, seq, 64]")
    chain = details.locator("pre").first
    expect(chain).to_contain_text("input_ids")
    assert decoder.locator("#drawing .chain").count() >= 1
    chain.get_by_role("button", name="input_ids[1]").first.click()
    expect(details.locator("h3")).to_contain_text("input_ids")
    decoder.click("#back")
    expect(details.locator("h3")).to_contain_text("logits")
    node = details.locator("pre").first.get_by_role("button", name=re.compile("^(MatMul|Add|Gather|Mul) ")).first
    name = node.inner_text()
    node.click()
    expect(details.locator("h3")).to_contain_text(name)
    expect(decoder.locator("#drawing .selected")).to_have_count(1)


def test_a_reference_leads_to_its_step(detector: Page) -> None:
    search(detector, "boxes")
    chain = detector.locator("#details pre").first
    reference = chain.get_by_role("button", name=re.compile(r"step \d+")).first
    step = reference.inner_text().strip("[]").split(",")[0]
    reference.click()
    expect(chain.locator(f"[data-entry='{step}']")).to_be_focused()


def test_a_size_is_explained_at_its_first_value(decoder: Page) -> None:
    search(decoder, "/cumsum_output_0")
    details = decoder.locator("#details")
    details.locator("summary", has_text="past + seq").click()
    expect(details.locator("details:has(summary:has-text('past + seq')) pre")).to_contain_text("attention_mask")


def test_a_node_names_what_it_requires_and_its_values(decoder: Page) -> None:
    search(decoder, "/layers.0/attention/reshape_4")
    details = decoder.locator("#details")
    expect(details.locator("h4")).to_have_text("requires")
    expect(details.locator("li code").first).to_contain_text("batch")
    details.locator("table:has(caption:text-is('inputs')) button").first.click()
    expect(details.locator("h3")).to_contain_text("value")


def test_sizes_that_a_run_decides_stand_out(detector: Page) -> None:
    row = detector.locator("#unknown tbody tr").first
    expect(row).to_contain_text("detections")
    expect(row).to_contain_text("NonZero")
    row.locator("button").click()
    expect(detector.locator("#details")).to_contain_text("only a run decides count(")
    assert detector.locator("#drawing .edge.open").count() >= 1


def test_edges_show_formulas_or_numbers(decoder: Page) -> None:
    labels = "#drawing .edge text"
    formulas = decoder.locator(labels).all_text_contents()
    assert any("batch" in text for text in formulas)
    decoder.select_option("#shows", "numbers")
    assert not any("batch" in text for text in decoder.locator(labels).all_text_contents())


def test_labels_do_not_cover_each_other(decoder: Page) -> None:
    overlaps = decoder.evaluate(
        """() => { const found = document.querySelectorAll('#drawing .label, #drawing .box');
            const boxes = [...found].map(one => one.getBBox());
            const isOver = (a, b) => a.x < b.x + b.width - 1 && b.x < a.x + a.width - 1
                && a.y < b.y + b.height - 1 && b.y < a.y + a.height - 1;
            return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => isOver(a, b))).length }"""
    )
    assert overlaps == 0


def test_the_heaviest_nodes_are_links(decoder: Page) -> None:
    row = decoder.locator("#totals tbody tr").first
    expect(row).to_contain_text("MatMul")
    expect(row).to_contain_text("%")
    row.locator("button").click()
    expect(decoder.locator("#details h3")).to_contain_text("MatMul")


def test_memory_at_a_moment(decoder: Page) -> None:
    there = decoder.locator("#there")
    expect(there).to_contain_text("peak: ")
    decoder.locator("#moment").fill("0")
    expect(there).to_contain_text("live: ")
    assert decoder.locator("#course .tick").count() > 4
    decoder.get_by_role("button", name="peak").click()
    expect(there).to_contain_text("peak: ")
    there.locator("table button").first.click()
    expect(decoder.locator("#details h3")).to_contain_text("value")


def test_curves_are_drawn_with_axes(decoder: Page) -> None:
    expect(decoder.locator("#curves svg")).to_have_count(2)
    caption = decoder.locator("#curves figcaption").first
    expect(caption).to_contain_text("FLOP at past=0")
    assert decoder.locator("#curves .tick").count() >= 8
    decoder.select_option("#over", "seq")
    expect(caption).to_contain_text("at seq=0")
    decoder.fill("#upto", "100")
    decoder.locator("#upto").press("Tab")
    expect(caption).to_contain_text("at seq=100")


def test_the_keyboard_reaches_everything_and_leaves_again(decoder: Page) -> None:
    decoder.locator("#drawing .box.group").last.focus()
    decoder.keyboard.press("Enter")
    expect(decoder.locator("#crumbs button")).to_have_count(1)
    decoder.keyboard.press("Escape")
    expect(decoder.locator("#crumbs button")).to_have_count(0)
    decoder.locator("#fit").focus()
    decoder.keyboard.press("Tab")
    expect(decoder.locator("#graph")).to_be_focused()
    decoder.keyboard.press("ArrowDown")
    first = decoder.evaluate("document.activeElement.dataset.key")
    assert first
    decoder.keyboard.press("ArrowDown")
    assert decoder.evaluate("document.activeElement.dataset.key") not in (None, first)
    assert decoder.evaluate("getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth") == "3.5px"
    decoder.keyboard.press("Enter")
    decoder.keyboard.press("Tab")
    assert decoder.evaluate("document.activeElement.closest('#graph')") is None


def test_zoom_and_drag(decoder: Page) -> None:
    box = "document.getElementById('drawing').getAttribute('viewBox').split(' ').map(Number)"
    before = decoder.evaluate(box)
    decoder.click("#zoom-in")
    assert decoder.evaluate(box)[2] < before[2]
    frame = decoder.locator("#graph").bounding_box()
    assert frame is not None
    place = decoder.evaluate(box)
    decoder.mouse.move(frame["x"] + 20, frame["y"] + 200)
    decoder.mouse.down()
    decoder.mouse.move(frame["x"] + 70, frame["y"] + 240)
    decoder.mouse.up()
    assert decoder.evaluate(box)[:2] != place[:2]
    expect(decoder.locator("#details")).to_contain_text("Choose a node")


def test_every_control_has_a_name(decoder: Page) -> None:
    nameless = decoder.evaluate(
        """() => [...document.querySelectorAll('button, input, select, [role=button], [role=img]')].filter(one =>
            !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length)).length"""
    )
    assert nameless == 0


def test_the_way_of_the_rows(browser: Browser, tmp_path: Path) -> None:
    """Nodes that keep rows apart are coloured, and the first one where they meet is marked; not before it is asked."""
    text = "(float[batch, 4] x) => (float[batch, 4] z) { y = Relu(x) w = Softmax<axis = 0>(y) z = Exp(w) }"
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(f'<ir_version: 9, opset_import: ["": 18]> net {text}'), path)
    with opened(browser, tmp_path, path) as page:
        expect(page.locator(".rows-apart, .rows-meet")).to_have_count(0)
        page.locator("#rows-shown").check()
        expect(page.locator("#drawing .rows-meet")).to_have_count(1)
        expect(page.locator("#drawing .rows-meet .head")).to_have_text("Softmax")
        expect(page.locator("#drawing .box.node.rows-apart .head")).to_have_text("Relu")
        expect(page.locator("#rows")).to_contain_text("Softmax #1: rows of y (axis 0) meet")
