"""The picture of the page of `absint site` in docs/light.md: `python docs/pictures/site.py [FOLDER]`.

It needs Chromium, playwright and Pyodide in build/pyodide. The model is examples/tiny_decoder.onnx.
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, expect, sync_playwright

from absint.cli import run

ROOT = Path(__file__).parents[2]
WIDTH, HEIGHT = 1000, 760
LOADED = 120_000


def picture(browser: Browser, address: str, target: Path) -> Path:
    """Writes the picture of the page at this address."""
    view = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    view.goto(address)
    view.set_input_files("#file", ROOT / "examples" / "tiny_decoder.onnx")
    expect(view.locator("#state")).to_have_text("", timeout=LOADED)
    view.fill("#sizes input[name=seq]", "7")
    expect(view.locator("#check")).to_contain_text("seq=7", timeout=LOADED)
    expect(view.frame_locator("#explore iframe").locator("#drawing .box").first).to_be_visible()
    view.locator("#sizes").evaluate("form => form.parentElement.scrollIntoView()")
    view.screenshot(path=target)
    view.close()
    return target


if __name__ == "__main__":
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        run(["site", "-o", f"{folder}/page", "--pyodide", str(ROOT / "build/pyodide/node_modules/pyodide")])
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=f"{folder}/page"))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        to = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
        print(picture(chromium, f"http://127.0.0.1:{server.server_port}", to / "site.png"))
        chromium.close()
        server.shutdown()
