"""How much there is to hold in one's head, measured: `python -m tests.house`.

For each room its files, lines, comments and imports; then the counts that may only fall, with their limits. A change
that brings one down lowers its limit in `LIMITS`; `tests/test_house.py` fails where one is exceeded.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.test_architecture import MODULES, imports

LIMITS: Final[Mapping[str, float]] = {
    "folders at the top of absint/": 13,
    "lines of the product": 110_880,
    "longest file, check.py apart": 400,
    "imports inside functions": 140,
    "blocks of imports for types": 62,
    "imports, % of lines": 5.99,
    "files that write documents by hand": 0,
    "files that catch what is undefined": 6,
    "files that start processes": 2,
    "files that replace files": 1,
    "files that list primes": 1,
    "folders without a map": 0,
    "lines of the longest map": 38,
}
"""The most that each count may be."""

DOCUMENT: Final = r'"schema": (SCHEMA|f?"absint\.)'
"""The head of a document in a dict."""

CHECK: Final = "absint.questions.certificates.check"
"""One file by design: it goes into every certificate."""


@dataclass(frozen=True)
class Source:
    """One module, as far as it is counted."""

    module: str
    text: str

    @property
    def room(self) -> str:
        parts = self.module.split(".")
        folder = MODULES.get(".".join(parts[:2]))
        return (
            parts[1]
            if len(parts) > 1 and parts[0] == "absint" and folder is not None and folder.name == "__init__.py"
            else parts[0]
        )

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def comments(self) -> int:
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return sum(token.type == tokenize.COMMENT and not _is_pragma(token.string) for token in tokens)

    @property
    def tree(self) -> ast.Module:
        return _parsed(self.text)

    @property
    def import_lines(self) -> int:
        found = (node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom))
        return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in found)

    @property
    def lazy(self) -> int:
        return len({item.line for item in imports(self.tree, self.module) if item.lazy})

    @property
    def for_types(self) -> int:
        return len(re.findall(r"^if TYPE_CHECKING:", self.text, re.MULTILINE))


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _is_pragma(comment: str) -> bool:
    return re.match(r"# *(type:|noqa|fmt:|pragma)", comment) is not None


def sources() -> list[Source]:
    return [Source(name, file.read_text("utf-8")) for name, file in MODULES.items()]


def counts(found: Iterable[Source]) -> dict[str, float]:
    """The limited counts by name."""
    product = list(found)
    lines = sum(source.lines for source in product)
    maps = [ast.get_docstring(source.tree) or "" for source in product if MODULES[source.module].name == "__init__.py"]
    return {
        "folders at the top of absint/": len({s.room for s in product} - {"absint", "lattices", "transfer", "solver"}),
        "lines of the product": lines,
        "longest file, check.py apart": max((source.lines for source in product if source.module != CHECK), default=0),
        "imports inside functions": sum(source.lazy for source in product),
        "blocks of imports for types": sum(source.for_types for source in product),
        "imports, % of lines": round(100 * sum(s.import_lines for s in product) / sum(s.lines for s in product), 2),
        "files that write documents by hand": _files((s for s in product if s.module != CHECK), DOCUMENT),
        "files that catch what is undefined": _files(product, r"except \(?[^:]*\bUndefinedError"),
        "files that start processes": _files(product, r"^\s*(import|from) (subprocess|multiprocessing)\b"),
        "files that replace files": _files(product, r"\bos\.replace\("),
        "files that list primes": _files(product, r"\b5, 3, 7, 2, 11, 13|\b2, 3, 5, 7, 11, 13\)"),
        "folders without a map": sum(not text for text in maps),
        "lines of the longest map": max((text.count("\n") + 1 for text in maps), default=0),
    }


def _files(found: Iterable[Source], pattern: str) -> int:
    return sum(re.search(pattern, source.text, re.MULTILINE) is not None for source in found)


def exceeded(found: Mapping[str, float]) -> list[str]:
    return [f"{name}: {found[name]:,}, at most {most:,}" for name, most in LIMITS.items() if found[name] > most]


def main() -> int:
    product = sources()
    rooms = Table("room", *(("files", "lines", "median file", "comments", "import lines", "lazy", "for types")))
    for room, _ in Counter(source.room for source in product).most_common():
        inside = [source for source in product if source.room == room]
        numbers = [len(inside), sum(s.lines for s in inside), int(median(s.lines for s in inside))]
        numbers += [sum(s.comments for s in inside), sum(s.import_lines for s in inside)]
        numbers += [sum(s.lazy for s in inside), sum(s.for_types for s in inside)]
        rooms.add_row(room, *(f"{number:,}" for number in numbers))
    found = counts(product)
    limited = Table("count", "now", "limit")
    for name, most in LIMITS.items():
        limited.add_row(name, f"{found[name]:,}", f"{most:,}")
    console = Console(width=120)
    console.print(rooms)
    console.print(limited)
    return min(len(exceeded(found)), 1)


if __name__ == "__main__":
    sys.exit(main())
