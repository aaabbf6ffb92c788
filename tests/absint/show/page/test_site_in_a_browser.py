"""The page of `absint site` in a real browser: it answers what the commands answer, and asks no other server."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from playwright.sync_api import Page, expect

import absint
from absint.cli import run
from absint.lattices.text.sheets import written
from absint.model.load import MAX_IN_MEMORY
from absint.show import contracts, costs, text
from absint.show.site.files import PYODIDE as VERSION
from tests.absint.show.page.browser import served, started
from tests.absint.show.page.models import DECODER, DETECTOR, flat, needs_a_multiple
from tests.conftest import CHROMIUM, PYODIDE
from tests.models import parsed
from tests.real_models import ROOT

pytestmark = pytest.mark.skipif(PYODIDE is None, reason="Pyodide is not installed")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

LOADED = 120_000
"""Milliseconds to load Pyodide and analyse a model on a busy machine."""


def large() -> onnx.ModelProto:
    """A model that is not read as a whole."""
    weights = onnx.TensorProto(name="w", data_type=1, dims=[4, MAX_IN_MEMORY >> 4], raw_data=bytes(MAX_IN_MEMORY))
    model = parsed("(float[N, 4] x) => (float[] y) { y = MatMul (x, w) }")
    model.graph.initializer.append(weights)
    return model


BUILT = {"built.onnx": needs_a_multiple, "large.onnx": large}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site") / "page"
    assert run(["site", "-o", str(target), "--pyodide", str(PYODIDE)]) == 0
    return target


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Page]:
    """The page, at work for all tests of this file. Any error, and any request elsewhere, fails them."""
    with served(folder) as address, started() as browser:
        context = browser.new_context(viewport={"width": 420, "height": 900})
        page = context.new_page()
        wrong: list[str] = []
        page.on("console", lambda one: wrong.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        allowed = (address, f"blob:{address}", "data:,")
        context.on("request", lambda one: None if one.url.startswith(allowed) else wrong.append(one.url))
        page.goto(address)
        yield page
        assert wrong == []
        context.close()


def choose(page: Page, path: Path) -> None:
    page.set_input_files("#file", path)


def set_sizes(page: Page, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        page.fill(f"#sizes input[name={json.dumps(name)}]", str(size))


@in_a_browser
@pytest.mark.parametrize("name", [DECODER.name, DETECTOR.name, "built.onnx", "large.onnx"])
def test_answers_are_those_of_absint(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(name)
    if name in BUILT:
        onnx.save(BUILT[name](), path)
    else:
        path.write_bytes(DECODER.with_name(name).read_bytes())
    result = absint.analyze(name)
    choose(page, path)
    expect(page.locator("#state")).to_have_text("", timeout=LOADED)
    assert page.locator("#report").text_content() == text.table(result)
    contract = written(contracts.report(result, result.contract(), everything=True))
    assert page.locator("#contract").text_content() == contract

    assert page.locator("#sizes input[type=number]").evaluate_all("all => all.map(one => one.name)") == [
        *result.symbols
    ]
    sizes = dict.fromkeys(result.symbols, 14)
    set_sizes(page, sizes)
    check = result.check(sizes)
    expect(page.locator("#check")).to_have_class(check.outcome.value, timeout=LOADED)
    expect(page.locator("#check")).to_have_text(written([text.check_sheet(result, check)]))
    fixed = absint.analyze(name, bind=sizes)
    cost = written([costs.report(fixed, fixed.cost(), fixed.memory(), 10, "flops")])
    expect(page.locator("#cost")).to_have_text(cost)

    frame = page.frame_locator("#explore iframe")
    expect(frame.locator("h1")).to_have_text(name)
    expect(frame.locator("#drawing .box").first).to_be_visible()
    frame.get_by_role("link", name="all values").click()
    expect(frame.locator("#values h2")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


@in_a_browser
def test_sizes_that_fail_and_files_that_are_no_model(
    page: Page, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(DETECTOR.read_bytes()[:1000])
    choose(page, damaged)
    expect(page.locator("#state")).to_have_class("error", timeout=LOADED)
    assert run(["analyze", str(damaged)]) == 2
    said = capfd.readouterr().err.strip().removeprefix("absint: error: ").replace(str(damaged), damaged.name)
    assert page.locator("#state").text_content() == said
    expect(page.locator("#answers")).to_be_hidden()

    built = tmp_path / "<b>built.onnx"
    onnx.save(needs_a_multiple(), built)
    choose(page, built)
    expect(page.locator("#report")).to_contain_text("<b>built.onnx: 1 node", timeout=LOADED)
    set_sizes(page, {"N": 3, "M": 7})
    expect(page.locator("#check")).to_have_class("illegal", timeout=LOADED)
    expect(page.locator("#check")).to_contain_text("halves")
    expect(page.locator("#cost")).to_be_empty()
    set_sizes(page, {"N": -1})
    expect(page.locator("#check")).to_have_text("each size is a whole number from 0")


@in_a_browser
def test_elements_of_inputs_have_fields_and_weights_beside_the_file_are_not_needed(page: Page, tmp_path: Path) -> None:
    model = parsed(
        """(float[N, 64] x, int64[2] to) => (float[a, b] y)
        { h = MatMul (x, w) y = Reshape (h, to) }"""
    )
    weights = onnx.TensorProto(name="w", data_type=1, dims=[64, 64], data_location=onnx.TensorProto.EXTERNAL)
    weights.external_data.add(key="location", value="weights.bin")
    model.graph.initializer.append(weights)
    path = tmp_path / "external.onnx"
    path.write_bytes(model.SerializeToString())
    choose(page, path)
    expect(page.locator("#state")).to_have_text("", timeout=LOADED)
    expect(page.locator("#weights")).to_have_text("The weights of 1 tensor lie in other files, which are not needed.")
    fields = page.locator("#sizes input[type=number]")
    assert fields.evaluate_all("all => all.map(one => one.name)") == ["N", "to_0", "to_1"]
    set_sizes(page, {"N": 4})
    expect(page.locator("#check")).to_contain_text("y  FLOAT [?, ?]", timeout=LOADED)
    set_sizes(page, {"to_0": -1, "to_1": 16})
    expect(page.locator("#check")).to_contain_text("y  FLOAT [16, 16]", timeout=LOADED)
    set_sizes(page, {"to_1": 7})
    expect(page.locator("#check")).to_have_class("illegal", timeout=LOADED)
    choose(page, DECODER)
    expect(page.locator("#state")).to_have_text("", timeout=LOADED)
    expect(page.locator("#weights")).to_be_empty()


@in_a_browser
def test_a_model_of_4000_nodes(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "flat.onnx"
    onnx.save(flat(4000), path)
    page.wait_for_timeout(100)
    choose(page, path)
    expect(page.locator("#report")).to_contain_text("flat.onnx: 4,000 nodes", timeout=LOADED)
    set_sizes(page, {"N": 3})
    expect(page.locator("#check")).to_contain_text("v4000  FLOAT [3, 4]", timeout=LOADED)
    expect(page.locator("#state")).to_have_text("", timeout=LOADED)
    frame = page.frame_locator("#explore iframe")
    expect(frame.locator("#drawing .box").first).to_be_visible()
    assert frame.locator("#drawing .box").count() < 20


def test_the_version_of_pyodide_is_the_same_everywhere() -> None:
    for name in (".ci/run", "docs/light.md"):
        assert set(re.findall(r"pyodide@([\d.]+)", (ROOT / name).read_text("utf-8"))) == {VERSION}


@in_a_browser
def test_another_file_ends_the_analysis_of_the_first(page: Page) -> None:
    choose(page, DECODER)
    drop(page, DETECTOR)
    expect(page.locator("#state")).to_have_text("", timeout=LOADED)
    expect(page.locator("#report")).to_contain_text("tiny_detector.onnx: ")
    expect(page.locator("iframe")).to_have_count(1)


@in_a_browser
def test_the_worker_reaches_no_other_server(page: Page, folder: Path) -> None:
    """The policy of the page holds in the worker."""
    browser = page.context.browser
    assert browser is not None
    with served(folder) as address, served(folder) as other:
        fresh = browser.new_page()
        fresh.goto(address)
        reached = fresh.evaluate(
            """async (address) => {
                const source = `import ${JSON.stringify(new URL("worker.js", document.baseURI).href)};
                    fetch(${JSON.stringify(address)}, { mode: "no-cors" })
                        .then(() => postMessage("reached"), () => postMessage("refused"));`;
                const blob = new Blob([source], { type: "text/javascript" });
                const worker = new Worker(URL.createObjectURL(blob), { type: "module" });
                return new Promise((done) => { worker.onmessage = ({ data }) => data.kind || done(data); });
            }""",
            other,
        )
        fresh.close()
        assert reached == "refused"


def drop(page: Page, path: Path) -> None:
    page.evaluate(
        """([name, bytes]) => {
            const data = new DataTransfer();
            data.items.add(new File([Uint8Array.from(bytes)], name));
            dispatchEvent(new DragEvent("drop", { dataTransfer: data }));
        }""",
        [path.name, list(path.read_bytes())],
    )


def test_a_folder_is_written_whole_or_not_at_all(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert PYODIDE is not None
    changed = tmp_path / "changed"
    shutil.copytree(PYODIDE, changed)
    with open(changed / "pyodide.mjs", "a") as file:
        file.write(" ")
    for runtime, said in (
        (changed, f"is not that of Pyodide {VERSION}, its SHA-256 is another one: npm install"),
        (tmp_path / "nowhere", f"pyodide.mjs is not there: npm install --prefix build/pyodide pyodide@{VERSION}"),
    ):
        assert run(["site", "-o", str(tmp_path / "page"), "--pyodide", str(runtime)]) == 2
        error = capfd.readouterr().err
        assert said in error
        assert error.count("\n") == 1
    assert not (tmp_path / "page").exists()
    assert run(["site", "-o", str(changed), "--pyodide", str(PYODIDE)]) == 2
    assert "is not empty and holds no page of absint" in capfd.readouterr().err

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "index.html").write_text("older")
    assert run(["site", "-o", str(folder), "--pyodide", str(PYODIDE)]) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with zipfile.ZipFile(folder / "absint.zip") as archive:
        assert {"absint/lattices/shape.py", "absint/solver/constraints.py", "absint/transfer/rule.py"} <= set(
            archive.namelist()
        )
