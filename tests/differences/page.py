"""docs/differences.md, written from the rows, each executed at every version that it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

import onnx
import onnxruntime

from tests.differences.rows import Row, rows

PAGE: Final = Path(__file__).parents[2] / "docs" / "differences.md"

INTRODUCTION: Final = """\
# Differences, executed

[runtime-differences.md](runtime-differences.md) says where onnxruntime and ONNX's documents differ, and which of the
two absint follows. This page shows it: one small node for each kind of difference, as `python -m tests.differences`
runs it. `--search` looks for them at small sizes, on the [grids](rules.md) of all specified operators; some nodes that
no grid has are added.

| column | meaning |
|---|---|
| versions | versions of the operator at which the node behaves alike |
| node | the sizes of its inputs (`=[2]`: its elements), and its attributes |
| documents | the shapes of the outputs by the specification of the operator, or why it excludes the node |
| onnx.reference | the shapes in a run; it `fails`, or has not `implemented` this form of the operator |
| onnxruntime | the same, optimisations off; it may have `no kernel`, hang, or end the process |
| absint | the answer without `--semantics`: shapes, perhaps `or fails`, or `illegal` |

With `--semantics onnx` an answer says what the documents do, and with `--semantics onnxruntime` what onnxruntime does,
or leaves it open: a test holds each row to that. onnx.reference is no norm: it runs much that the documents exclude,
since numpy broadcasts, and fails on much that is empty.
"""


def page(found: Iterable[Row]) -> str:
    """The whole page."""
    lines = [INTRODUCTION]
    lines.append(f"With onnx {onnx.__version__} and onnxruntime {onnxruntime.__version__}.")
    for domain, of_domain in groupby(found, key=lambda row: row.case.domain):
        lines += ["", f"## {domain or 'ai.onnx'}", ""]
        lines += [
            "| operator | versions | node | documents | onnx.reference | onnxruntime | absint |",
            "|---|---|---|---|---|---|---|",
        ]
        for row in of_domain:
            lines += cells(row)
    return "\n".join(lines) + "\n"


def cells(row: Row) -> Iterator[str]:
    """The lines of a row: one for versions that are all alike."""
    for outcomes in dict.fromkeys(row.cells.values()):
        versions = ", ".join(str(version) for version, found in sorted(row.cells.items()) if found == outcomes)
        texts = (f"`{row.case.op}`", versions, f"`{row.node}`", row.document, *outcomes)
        yield f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |"


def written() -> str:
    """The page as its rows are now."""
    return page(rows())
