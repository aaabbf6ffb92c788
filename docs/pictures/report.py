"""The pictures of a report in README.md, light and dark: `python docs/pictures/report.py [FOLDER]`.

It needs Chromium and playwright. The model is examples/bert/bert.onnx, longer than its table of positions.
"""

from __future__ import annotations

import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

import absint

ROOT = Path(__file__).parents[2]
WIDTH, HEIGHT = 1120, 640
SIZES = {"batch": 1, "seq": 128}


def pictures(browser: Browser, folder: Path) -> list[Path]:
    """Writes one picture for each colour scheme."""
    made = []
    with TemporaryDirectory() as inner, chdir(ROOT):
        page = Path(inner) / "report.html"
        absint.analyze("examples/bert/bert.onnx").report(page)
        for scheme in ("light", "dark"):
            made.append(folder / f"report-{scheme}.png")
            _picture(browser, page, scheme, made[-1])
    return made


def _picture(browser: Browser, page: Path, scheme: str, target: Path) -> None:
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    view = context.new_page()
    view.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    view.goto(page.as_uri())
    for place, size in enumerate(SIZES.values()):
        view.fill(f"#number-{place}", str(size))
    view.wait_for_selector("#offers button")
    view.evaluate("select({node: state.failure.node}); document.activeElement.blur()")
    view.screenshot(path=target)
    context.close()


if __name__ == "__main__":
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for path in pictures(chromium, Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent):
            print(path)
        chromium.close()
