"""Writers of the pages of docs/ that come from code: `python -m tests.pages.NAME` writes one anew.

json_keys, lint, operators, rules, unification, findings
                  a page, or the tables in it; finding_reports: one file for each finding
console, tour     output of the commands that pages and the notebook quote
schemas           absint/model/registry's table of ONNX's schemas
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

GENERATED: Final[Mapping[str, tuple[str, ...]]] = {
    "operators.md": (r"\A.*",),
    "differences.md": (r"\A.*",),
    "unification.md": (r"\A.*",),
    "rules.md": (r"<!-- The rest of this page is written by .*",),
    "lint.md": (r"<!-- begin rules: .*?<!-- end rules -->",),
    "study.md": (r"<!-- tables: begin -->.*?<!-- tables: end -->",),
    "json.md": (r"^\|[^\n]*\|$",),
    "cost.md": (r"^\|[^\n]*\|$",),
    "jobs.md": (r"^\| tool \| answer \|$.*?^$",),
}
"""The parts of pages that programs write: `python -m tests.pages.*`, `tests.differences`, and what `benchmarks` print.
The tables of cost.md are those of the rules, word for word: tests/absint/questions/test_cost_docs.py."""

DIRECTIVE: Final = re.compile(r"^::: .*\n(?: +.*\n)*", re.MULTILINE)
"""What names a docstring that the site shows."""


def by_hand(name: str, text: str) -> str:
    """What people write of a page, named from docs/. Raises ValueError if a part that programs write is not there."""
    for part in GENERATED.get(name, ()):
        text, found = re.subn(part, "", text, flags=re.MULTILINE | re.DOTALL)
        if not found:
            raise ValueError(f"docs/{name}: nothing looks like {part}")
    return DIRECTIVE.sub("", text)


def words(text: str) -> int:
    """As `wc -w` counts: whatever blanks part, the strokes of tables too."""
    return len(text.split())


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
