"""Writers of the pages of docs/ that come from code: `python -m tests.pages.NAME` writes one anew.

json_keys, lint, operators, rules, unification, findings
                  a page, or the tables in it; finding_reports: one file for each finding
console, tour     output of the commands that pages and the notebook quote
schemas           absint/model/registry's table of ONNX's schemas
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def differences(old: str, new: str) -> Iterable[str]:
    """The lines of the new page that the old one has not."""
    known = set(old.splitlines())
    return [line for line in new.splitlines() if line not in known]


def settle(page: Path, text: str, *, check: bool) -> int:
    """Write the page; with `check`, print its new lines instead, and return 1 if the text differs."""
    if not check:
        page.write_text(text, "utf-8")
        return 0
    old = page.read_text("utf-8") if page.exists() else ""
    print(*differences(old, text), sep="\n")
    return int(text != old)
