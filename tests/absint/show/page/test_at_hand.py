"""What a page has at hand: attributes, small tensors, clauses, an If in its place, a view of all, ranges of sliders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from onnx import ModelProto, save
from playwright.sync_api import Browser, expect

import absint
from absint.cli import run
from tests.absint.show.page.browser import opened, search, set_size, started
from tests.absint.show.page.models import DECODER, DETECTOR
from tests.conftest import CHROMIUM
from tests.models import parsed
from tests.real_models import PATHS

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
MANY = [path for path in PATHS if path.stem in ("llama_past.legacy", "unet_sd.dynamo", "bart.legacy")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


def branching() -> ModelProto:
    return parsed(
        """(float[N, C] x, int64[2] to, bool flag) => (float[a, b] y)
        <float[3] eps = {0.1, 2, 3}, int64[1] last = {-1}> {
            chosen = If (flag) <
                then_branch = yes () => (float[N, C] s) { s0 = Relu (x) s1 = Neg (s0) s = Softmax <axis = 1> (s1) },
                else_branch = no () => (float[N, C] t) { t0 = Add (x, eps) t = Abs (t0) }
            >
            y = Reshape (chosen, to)
        }"""
    )


def test_a_node_shows_its_attributes_and_small_tensors(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, DETECTOR) as page:
        search(page, "/stem/stem.1/MaxPool")
        table = page.locator("#details .attributes")
        expect(table).to_contain_text("kernel_shape")
        assert "[3, 3]" in table.inner_text()
    with opened(browser, tmp_path, branching()) as page:
        search(page, "eps")
        assert "elements: 0.1, 2, 3" in page.locator("#details").inner_text()
        page.evaluate("reveal(data.nodes.find((node) => node.operator === 'Add').number)")
        assert "= 0.1, 2, 3" in page.locator("#details").inner_text()


@pytest.mark.parametrize("path", [DETECTOR, *MANY], ids=lambda path: path.stem)
def test_clauses_are_those_of_the_contract(
    browser: Browser, tmp_path: Path, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["contract", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    wanted = [line.strip().split("  (")[0] for line in lines if line.startswith("  ") and "  (" in line.strip()]
    with opened(browser, tmp_path, path) as page:
        assert page.locator("#contract tbody tr td:first-child > code").all_inner_texts() == wanted


@pytest.mark.parametrize("path", [DECODER, *MANY], ids=lambda path: path.stem)
def test_the_first_view_has_all_of_the_model(browser: Browser, tmp_path: Path, path: Path) -> None:
    with opened(browser, tmp_path, path) as page:
        left, top, width, height = page.evaluate("view.box")
        assert left <= 0
        assert top <= 0
        assert [left + width, top + height] >= page.evaluate("view.full.slice(2)")
        before = page.evaluate("view.full")
        page.select_option("#direction", "LR")
        after = page.evaluate("view.full")
        assert after[2] / after[3] > before[2] / before[3]


def test_an_if_is_one_box_that_opens_in_its_place(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, branching()) as page:
        boxes = page.locator("#drawing .box.node, #drawing .box.group")
        operators = [text.split("\n")[0] for text in boxes.locator(".head").all_text_contents()]
        assert sorted(operators) == ["If", "Reshape"]
        page.locator("#drawing .box.group").click()
        expect(page.locator("#drawing .box.frame")).to_have_count(1)
        expect(page.locator("#crumbs button")).to_have_count(0)
        assert {"then_branch", "else_branch", "Reshape"} <= set(boxes.locator(".head").all_text_contents())
        page.keyboard.press("Enter")  # the frame has the focus
        expect(page.locator("#drawing .box.frame")).to_have_count(0)
    with opened(browser, tmp_path, DECODER) as page:
        page.locator("#drawing .box.group[aria-label*='layers.0']").click(modifiers=["Shift"])
        expect(page.locator("#drawing .box.frame")).to_have_count(1)
        expect(page.locator("#drawing .box.group[aria-label*='layers.1']")).to_have_count(1)


def test_a_slider_of_an_element_offers_what_is_legal(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, branching()) as page:
        names = page.evaluate("data.sizes.map((size) => size.text)")
        at = names.index("to_0")
        slider = page.locator(f"#slider-{at}")
        assert slider.get_attribute("min") == "-1"
        assert int(slider.get_attribute("max") or 0) <= 256
        set_size(page, at, -1)
        expect(page.locator("#verdict")).to_have_class("legal")


def test_curves_lie_around_the_size_of_now(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, DECODER) as page:
        expect(page.locator("#curves svg")).to_have_count(2)
        at = page.evaluate("data.sizes.findIndex((size) => size.name === document.getElementById('over').value)")
        for size, most in ((5, "16"), (3000, "8192")):
            set_size(page, at, size)
            expect(page.locator("#upto")).to_have_value(most)
        page.fill("#upto", "100")
        set_size(page, at, 7)
        expect(page.locator("#upto")).to_have_value("100")


def test_one_count_of_nodes_and_no_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "of_its_maker" / "m.onnx"
    file.parent.mkdir()
    save(branching(), file)
    counts = set()
    for command in ("analyze", "cost"):
        assert run([command, str(file)]) == 0
        counts.add(capsys.readouterr().out.partition(": ")[2].partition(",")[0])
    assert run(["report", str(file), "-o", str(tmp_path / "page.html")]) == 0
    counts.add(capsys.readouterr().out.strip().rpartition(": ")[2])
    page = (tmp_path / "page.html").read_text("utf-8")
    counts.add(page.partition("<p>")[2].partition(",")[0])
    assert counts == {"2 nodes and 5 in bodies"}
    assert "of_its_maker" not in page
    assert absint.diff(str(file), str(file)).surroundings.nodes == (7, 7)
