"""Pages beside the report in a real browser: the report in the frame of a notebook, and a comparison."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from onnx import parser
from playwright.sync_api import Browser, Page, expect

import absint
from tests.absint.show.page.browser import started
from tests.conftest import CHROMIUM

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@contextmanager
def shown(browser: Browser, file: Path, width: int = 1000) -> Iterator[Page]:
    """A file, opened from disk: any message of the console, error, request or dialog fails the test."""
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else wrong.append(request.url))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.goto(file.as_uri())
    yield page
    assert wrong == []
    context.close()


def test_the_view_of_a_notebook_works_in_its_frame(browser: Browser, tmp_path: Path) -> None:
    result = absint.analyze(EXAMPLES / "tiny_decoder.onnx")
    file = tmp_path / "cell.html"
    file.write_text(f"<!DOCTYPE html><body id=notebook>{result.view(600)._repr_html_()}", "utf-8")
    with shown(browser, file) as page:
        frame = page.frame_locator("iframe")
        frame.locator("#number-1").fill("5")
        expect(frame.locator("tr:has-text('logits') [data-shape]")).to_have_text("[64, 5, 64]")
        expect(frame.locator("#drawing .box").first).to_be_visible()
        frame.get_by_role("link", name="all values").click()
        expect(frame.locator("#values h2")).to_be_in_viewport()
        frame.locator("#number-0").fill("-1")
        inside = page.frames[1]
        reached = inside.evaluate("() => { try { return parent.document.body.id } catch (e) { return 'apart' } }")
        assert reached == "apart"


NAME = '"><script>alert(1)</script>'


@pytest.mark.parametrize("width", [1000, 420])
def test_a_comparison_is_a_page(browser: Browser, tmp_path: Path, width: int) -> None:
    text = '<ir_version: 9, opset_import: ["": 18]> g (float[N, 8] x) => (float[] y) <int64[2] to = {%s}> %s'
    before, after = (parser.parse_model(text % (to, "{ y = Reshape(x, to) }")) for to in ("0, 8", "-1, 4"))
    for model in (before, after):
        model.graph.output[0].name = model.graph.node[0].output[0] = NAME
    found = absint.diff(before, after)
    file = tmp_path / "diff.html"
    file.write_text(found.to_html(), "utf-8")
    with shown(browser, file, width) as page:
        assert page.locator("h2").all_inner_texts() == ["Answer", "Aspects", "All of it"]
        expect(page.locator("p.error")).to_have_text(f"changed: output {NAME} changed")
        row = page.locator("table:has(caption:text-is('outputs')) tbody tr").first
        cells = [text.strip() for text in row.locator("th, td").all_inner_texts()]
        assert cells[:4] == [NAME, "changed", "FLOAT [N, 8]", "FLOAT [2*N, 4]"]
        assert "A gives [1, 8], B gives [2, 4]" in page.locator("main").inner_text()
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        assert page.locator("script").count() == 0


def test_the_pictures_of_the_readme_are_made_of_a_report(browser: Browser, tmp_path: Path) -> None:
    made = runpy.run_path(str(EXAMPLES.parent / "docs" / "pictures" / "report.py"))["pictures"](browser, tmp_path)
    for picture in made:
        kept = EXAMPLES.parent / "docs" / "pictures" / picture.name
        assert picture.read_bytes()[16:24] == kept.read_bytes()[16:24]  # width and height
        assert len(picture.read_bytes()) > 50_000


def test_the_picture_of_the_site_is_small() -> None:
    picture = (EXAMPLES.parent / "docs" / "pictures" / "site.png").read_bytes()
    assert [int.from_bytes(picture[at : at + 4]) for at in (16, 20)] == [1000, 760]
    assert len(picture) < 100_000
    assert "pictures/site.png" in (EXAMPLES.parent / "docs" / "light.md").read_text("utf-8")
