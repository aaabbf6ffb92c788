"""The HTML file: what reads without scripts, then the data and the scripts.

Names in models are hostile: here they are escaped, in the data `<` is, and scripts make text nodes of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from string import Template
from typing import Final

from absint.errors import UsageError
from absint.show.page.content import Content
from absint.show.page.frame import asset, framed, written
from absint.show.page.sections import (
    Data,
    all_values,
    contract,
    diagnostics,
    interface,
    rows,
    section,
    unknown,
    verdicts,
)
from absint.show.summary import nodes_in_words, totals
from absint.solution.analysed import Analysed
from absint.version import VERSION


def page(analysed: Analysed, audits: Sequence[Data] = (), sizes: Mapping[str, int] | None = None) -> str:
    """The file as text; `audits` are verdicts on claims, in the form of `absint audit --format json`. It begins with
    the `sizes` that are given, and legal ones for the other symbols."""
    analysed.require_sound("a report")
    data: Data = Content(analysed, sizes or {}).document()
    name = data["model"]
    return framed(f"{name}: absint report", "\n".join(_body(analysed, data, name, audits)), data)


def _body(analysed: Analysed, data: Data, name: str, audits: Sequence[Data]) -> Iterator[str]:
    counts = totals(analysed)
    yield Template(asset("top.html")).substitute(
        name=written(name),
        nodes=nodes_in_words(analysed),
        version=VERSION,
        cost='<a class="only-script" href="#cost">cost</a>' if data["sizes"] else "",
        **{kind: f"{getattr(counts, kind):,}" for kind in ("dims", "concrete", "expression", "unknown")},
    )
    yield from section("Inputs and outputs", interface(data), "interface")
    yield from section("Legal sizes", contract(data), "contract")
    if data["unknown"]:
        yield from section("Sizes that only a run tells", unknown(data), "unknown")
    yield from section("Diagnostics", diagnostics(data), "diagnostics")
    if data["rows"]:
        yield from section("Rows", rows(data), "rows")
    if audits:
        names = {value["name"]: at for at, value in reversed([*enumerate(data["values"])])}
        yield from section("Claims, judged", verdicts(audits, names), "verdicts")
    yield from section("Memory over the run", ['<div id="memory"></div>'], "memory-section", ' class="only-script"')
    if data["sizes"]:
        yield """<section class="only-script" id="cost"><h2>Cost over a size</h2><p class="choices">
<label>over <select id="over"></select></label>
<label>up to <input id="upto" type="number" min="1" value="1024"></label></p>
<div class="columns"><div id="curves-width"></div><div></div></div><div id="curves" class="columns"></div></section>"""
    yield from section("All values", all_values(data), "values")
    yield "</main>"


# The page about a result in a notebook, in a frame.

_LEAST_HEIGHT: Final = 100


class View:
    """The page about a result in a frame of its own, as a notebook shows it.

    The frame runs the scripts of the page and can reach neither the notebook nor the network.
    """

    def __init__(self, document: str, height: int) -> None:
        self.document = document
        """The page, as `Result.report` writes it."""
        self.height = height
        """Pixels."""

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="absint report" sandbox="allow-scripts" width="100%" height="{self.height:.0f}" '
            f'srcdoc="{escape(self.document)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<View: a page of {len(self.document):,} characters, which a notebook shows>"


def view(analysed: Analysed, height: int) -> View:
    """Raises UsageError for a height that shows nothing."""
    if not height >= _LEAST_HEIGHT:
        raise UsageError(f"height {height!r}: expected pixels, at least {_LEAST_HEIGHT}")
    return View(page(analysed), height)
