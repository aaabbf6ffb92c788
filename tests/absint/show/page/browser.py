"""A headless Chromium with a page about a model in it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from onnx import ModelProto
from playwright.sync_api import Browser, Page, sync_playwright

import absint
from tests.conftest import CHROMIUM

_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server on this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@contextmanager
def started() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_ARGUMENTS))
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: Browser, folder: Path, model: ModelProto | Path, width: int = 1280, script: bool = True
) -> Iterator[Page]:
    """The page of a model, opened from disk. Any error, and any request of the network, fails the test."""
    file = folder / "report.html"
    absint.analyze(model).report(file)
    context = browser.new_context(viewport={"width": width, "height": 900}, java_script_enabled=script)
    page = context.new_page()
    page.add_init_script("window.patience = 3000")  # no search ends early where the machine is busy
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else wrong.append(request.url))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.goto(file.as_uri())
    yield page
    assert wrong == []
    context.close()


def set_size(page: Page, place: int, size: int) -> None:
    page.fill(f"#number-{place}", str(size))


def painted_after(page: Page) -> float:
    """Milliseconds to the first paint with content."""
    while True:
        found = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        if found is not None:
            return float(found)
        page.wait_for_timeout(50)


def search(page: Page, text: str) -> None:
    """Search, and choose the first hit."""
    page.fill("#search", text)
    page.locator("#search").press("Enter")
