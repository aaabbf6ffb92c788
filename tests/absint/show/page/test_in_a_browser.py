"""The page of a model in a real browser: a document of small size, soon there, that does nothing but show the model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from playwright.sync_api import Browser, expect

import absint
from absint.questions.sizes.checking import left_open
from tests.absint.show.page.browser import opened, painted_after, search, set_size, started
from tests.absint.show.page.models import DECODER, DETECTOR, flat
from tests.conftest import CHROMIUM
from tests.real_models import CORPUS, PATHS

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

SHOWN = (
    "bert.legacy",
    "swin_batch.legacy",
    "yolo_nms.legacy",
    "lstm_seq2seq_loop.legacy",
    "llama_past.legacy",
    "resnet50.dynamo",
)
LOOKED_AT = [DECODER, DETECTOR, *(path for path in PATHS if path.stem in SHOWN)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


def allowed(result: absint.Result, sizes: dict[str, int]) -> str:
    """What the page may say of sizes: never the opposite of a check."""
    legal = result.check(sizes).outcome is not absint.Outcome.ILLEGAL
    is_open = left_open(result) != []
    return f"^({'legal' if legal else 'illegal'}{'|undecided' if is_open else ''})$"


@pytest.mark.share(4)
@pytest.mark.parametrize("path", LOOKED_AT, ids=lambda path: path.stem)
def test_a_model_can_be_looked_at(browser: Browser, tmp_path: Path, path: Path) -> None:
    """First paint, sliders, folds, search, illegal sizes, pictures and dark mode; no error in the console."""
    result = absint.analyze(path)
    with opened(browser, tmp_path, path) as page:
        assert painted_after(page) < 2000
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        shapes = page.locator("[data-shape]").all_inner_texts()
        for place in range(len(result.parameters)):
            set_size(page, place, 37)
        assert page.locator("[data-shape]").all_inner_texts() != shapes
        at = dict.fromkeys(result.parameters, 37)
        expect(page.locator("#verdict")).to_have_class(re.compile(allowed(result, at)))
        set_size(page, 0, 0)
        expect(page.locator("#verdict")).to_have_class(re.compile(allowed(result, {**at, next(iter(at)): 0})))
        page.click("#reset")

        group = page.locator("#drawing .box.group:not([aria-label^='group constants'])").first
        group.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#crumbs button")).to_have_count(1)
        page.locator("#crumbs button").click()
        expect(page.locator("#crumbs button")).to_have_count(0)
        search(page, result.outputs[0])
        expect(page.locator("#details pre").first).to_be_visible()

        expect(page.locator("#curves svg")).to_have_count(2)
        if len(result.parameters) > 1:
            expect(page.locator("#region svg")).to_have_count(1, timeout=20_000)
        expect(page.locator("#course svg").or_(page.locator("#memory", has_text="trips of loops"))).to_be_visible()
        page.emulate_media(color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"


def test_dark_and_light(browser: Browser, tmp_path: Path) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, tmp_path, DECODER) as page:
        before = page.evaluate(back)
        page.click("#theme")
        assert page.evaluate(back) == "rgb(20, 23, 27)" != before


def contrast(one: str, other: str) -> float:
    """Of two colours, as `rgb(1, 2, 3)`: from 1 to 21, by the web's accessibility guidelines."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour[4:-1].split(",")]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(browser: Browser, tmp_path: Path, scheme: str) -> None:
    with opened(browser, tmp_path, DETECTOR) as page:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        colours = page.evaluate(
            """() => { const probe = document.body.appendChild(document.createElement('p'));
                const of = name => { probe.style.color = ''; probe.style.setProperty('color', `var(${name})`);
                                     return getComputedStyle(probe).color };
                return Object.fromEntries(['back', 'panel', 'node', 'group', 'input', 'good', 'bad', 'text', 'dim',
                    'accent', 'open'].map(name => [name, of(`--${name}`)])) }"""
        )
        for back in ("back", "panel", "node", "group", "input", "good", "bad"):
            assert contrast(colours["text"], colours[back]) >= 7, back
        for front in ("dim", "accent", "open"):
            for back in ("back", "panel"):
                assert contrast(colours[front], colours[back]) >= 4.5, (front, back)


def test_without_scripts_it_is_a_document(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, DETECTOR, script=False) as page:
        assert page.locator("h2:visible").all_inner_texts() == [
            "Inputs and outputs", "Legal sizes", "Sizes that only a run tells", "Diagnostics", "Rows", "All values"
        ]  # fmt: skip
        text = page.locator("main").inner_text()
        assert "FLOAT [batch, 3, height, width]" in text
        assert "height, width >= 1" in text
        assert "Conv /stem/stem.0/stem.0.0/Conv: the window must fit" in text
        for control in ("#controls", "#explore", "#memory", "#theme"):
            assert not page.locator(control).is_visible()


def test_it_prints(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, DECODER) as page:
        expect(page.locator("#curves svg")).to_have_count(2)
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.locator("#print-sizes").inner_text() == "batch=64 seq=64 past=64"
        for shown in ("#region svg", "#course svg", "#curves svg >> nth=0", "text=Legal sizes >> nth=1"):
            assert page.locator(shown).is_visible()
        for hidden in ("#controls", "#graph", "#values", "#search"):
            assert not page.locator(hidden).is_visible()
        assert page.pdf(format="A4").count(b"/Type /Page\n") <= 4


@pytest.mark.parametrize("width", [1280, 420, 320])
def test_nothing_is_wider_than_the_window(browser: Browser, tmp_path: Path, width: int) -> None:
    with opened(browser, tmp_path, DETECTOR, width) as page:
        search(page, "boxes")
        set_size(page, 1, 0)
        expect(page.locator("#offers button").first).to_be_visible()
        expect(page.locator("#curves svg")).to_have_count(2)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    '" onmouseover="alert(3)',
    "'; alert(4); '",
    "line\nbreak\r\ttab",
    "\u202eright to left\u2066",
    "bell\x07</title><b>",
    "__proto__",
    "${alert(5)}`",
    "x" * 10_000,
    "a/../<b>/c",
    "/deep" * 4_000,
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
            search(page, field)
        for button in page.locator("#drawing .box").all()[:6]:
            button.focus()
            page.keyboard.press("Enter")
        assert page.locator("img, b, i, body script:not([id])").count() == 1  # the page's own script
        shown = page.locator("body").inner_text()
        assert "<script>alert(1)</script>" in shown
        assert not any(character in shown for character in "\u202e\u2066\r\x07")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_ten_thousand_nodes(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, tmp_path, flat(10_000)) as page:
        assert painted_after(page) < 2000
        assert page.locator("#drawing .box").count() <= 70
        search(page, "v7777")
        expect(page.locator("#details")).to_contain_text("FLOAT [N, 4]")


def test_a_report_is_small(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    absint.analyze(flat(4_000)).report(file)
    assert file.stat().st_size < 3_000_000


@pytest.mark.parametrize("path", [path for path in PATHS if path.parent == CORPUS][5:40:8], ids=lambda path: path.stem)
def test_reports_of_real_models_are_small(tmp_path: Path, path: Path) -> None:
    result = absint.analyze(path)
    result.report(tmp_path / "report.html")
    size = (tmp_path / "report.html").stat().st_size
    assert size < 1_000_000 + 1_000 * len(onnx.load(path, load_external_data=False).graph.node)
    text = (tmp_path / "report.html").read_text("utf-8")
    data = json.loads(text.split('type="application/json">')[1].split("</script>")[0])
    assert data["schema"] == "absint.report/1"
