"""The HTML file: what reads without scripts, then the data and the scripts.

Names in models are hostile: here they are escaped, in the data `<` is, and scripts make text nodes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from absint.page.content import Content
from absint.page.frame import framed
from absint.page.frame import written as _text
from absint.report.summary import totals
from absint.version import VERSION

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

Data = Any
"""Plain data, as `Content` makes it."""

_MOST_ROWS: Final = 20_000
"""Most values in the table of all values."""


def page(analysed: Analysed) -> str:
    """The file as text."""
    analysed.require_sound("a report")
    data: Data = Content(analysed).document()
    return framed(f"{analysed.origin}: absint report", "\n".join(_body(analysed, data)), data)


def _body(analysed: Analysed, data: Data) -> Iterator[str]:
    counts = totals(analysed)
    yield f"""<header><h1>{_text(analysed.origin)}</h1>
<p>{len(data["nodes"]):,} nodes, {counts.dims:,} sizes of computed values: {counts.concrete:,} constant,
{counts.expression:,} in terms of the inputs, {counts.unknown:,} that only a run tells. absint {VERSION}</p>
<button type="button" id="theme" class="only-script">dark or light</button></header>
<main>
<section id="controls" class="only-script" aria-label="sizes"><div id="sizes"></div>
<p id="verdict" role="status" aria-live="polite"></p></section>
<section id="explore" class="only-script"><div>
<div id="bar"><label for="search">search</label> <input id="search" type="search" placeholder="a node or a value ( / )">
<ul id="hits"></ul>
<label for="shows">edges show</label> <select id="shows"><option value="formulas">formulas</option>
<option value="numbers">numbers</option></select>
<button type="button" id="zoom-in" aria-label="zoom in">+</button><button type="button" id="zoom-out"
aria-label="zoom out">&minus;</button><button type="button" id="fit">fit</button></div>
<nav id="crumbs" aria-label="where in the model"></nav>
<div id="graph" tabindex="0" role="application"
aria-label="the graph: arrows move it, + and - zoom, Escape goes up"></div>
</div><div><div id="details" aria-live="polite"><p>Choose a node for what it requires, a shape for where it comes from,
a group to open it.</p></div><dl id="totals"></dl></div></section>"""
    yield from _section("Inputs and outputs", _interface(data))
    yield from _section("Legal sizes", _contract(data))
    yield from _section("Diagnostics", _diagnostics(data))
    yield '<section class="only-script"><h2>Memory over the run</h2><div id="memory"></div></section>'
    if data["sizes"]:
        yield """<section class="only-script"><h2>Cost over a size</h2><p>
<label>over <select id="over"></select></label>
<label>up to <input id="upto" type="number" min="1" value="1024"></label>
<button type="button" id="draw">draw</button></p>
<div id="curves" class="columns"></div></section>"""
    yield from _section("All values", _values(data))
    yield "</main>"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"<section><h2>{title}</h2>"
    yield from lines
    yield "</section>"


def _interface(data: Data) -> Iterator[str]:
    yield '<div class="columns">'
    for title in ("inputs", "outputs"):
        yield f"<table><caption>{title}</caption><tbody>"
        for _, alike in groupby(data[title], lambda at: (data["values"][at]["type"], data["values"][at]["dims"])):
            first, *others = alike
            yield _row(data, first)
            if len(others) < _FOLDED:
                yield from (_row(data, at) for at in others)
            else:
                names = ", ".join(_text(data["values"][at]["name"]) for at in others)
                yield (
                    f'<tr><td colspan="3"><details><summary>and {len(others)} more of this type</summary>{names}'
                    "</details></td></tr>"
                )
        yield "</tbody></table>"
    yield "</div>"
    if data["definitions"]:
        yield "<h3>where</h3><dl>"
        yield from (
            f"<dt><code>{_text(name)}</code></dt><dd><code>{_text(text)}</code></dd>"
            for name, text in data["definitions"].items()
        )
        yield "</dl>"


_FOLDED: Final = 3
"""So many more values of one type in a row are folded."""


def _row(data: Data, at: int) -> str:
    value = data["values"][at]
    return (
        f'<tr><th scope="row">{_text(value["name"])}</th><td class="shape">{_text(value["type"])} '
        f'{_text(_shape(data, value))}</td><td class="shape" data-shape="{at}"></td></tr>'
    )


def _shape(data: Data, value: Data) -> str:
    return "" if value["dims"] is None else f"[{', '.join(str(data['dims'][at][0]) for at in value['dims'])}]"


def _contract(data: Data) -> Iterator[str]:
    terms = data["contract"]
    if terms["possible"] is False:
        yield '<p class="error">No size is legal.</p>'
    if terms["reason"]:
        yield f"<p>Not all of it was simplified: {_text(terms['reason'])}.</p>"
    yield from _list("Every size is legal." if not terms["clauses"] else "", terms["clauses"], _clause)
    yield from _list("", terms["premises"], _text, "Taken for granted")
    yield from _list("", terms["beyond"], _text, "Required of sizes that only a run tells")
    yield from _list("", terms["doubts"], _text, "May fail on data")
    if len(data["sizes"]) > 1:
        yield """<div class="only-script"><p><label>across <select id="across"></select></label>
<label>up <select id="up"></select></label></p><canvas id="region" width="288" height="288" role="img"></canvas>
<p id="region-text"></p></div>"""


def _clause(clause: Data) -> str:
    reasons = "; ".join(map(_text, clause["reasons"][:3]))
    more = f"; and {len(clause['reasons']) - 3:,} more" if len(clause["reasons"]) > 3 else ""
    return f"<code>{_text(clause['text'])}</code> {reasons}{more}"


def _list(otherwise: str, items: Data, written: Callable[[Data], str], title: str = "") -> Iterator[str]:
    if title and items:
        yield f"<h3>{title}</h3>"
    if items:
        shown = [f"<li>{written(item)}</li>" for item in items[:_MOST_ITEMS]]
        more = f"<li>and {len(items) - _MOST_ITEMS:,} more</li>" if len(items) > _MOST_ITEMS else ""
        yield f"<ul>{''.join(shown)}{more}</ul>"
    elif otherwise:
        yield f"<p>{otherwise}</p>"


_MOST_ITEMS: Final = 50


def _diagnostics(data: Data) -> Iterator[str]:
    def line(found: Data) -> str:
        kind = "error" if found["severity"] == "error" else ""
        return (
            f'<strong class="{kind}">{_text(found["severity"])}</strong> {_text(found["where"])}: '
            f"{_text(found['message'])} <small>[{_text(found['code'])}]</small>"
        )

    yield from _list("Nothing is wrong.", data["diagnostics"], line)


def _values(data: Data) -> Iterator[str]:
    values = data["values"][:_MOST_ROWS]
    yield f"<details><summary>{len(data['values']):,} values, in execution order</summary><table><tbody>"
    by = {node["number"]: node for node in data["nodes"]}
    for value in values:
        node = by.get(value["by"])
        yield (
            f"<tr><td>{_text(value['name'])}</td><td>{_text(node['operator']) if node else ''}</td>"
            f'<td class="shape">{_text(value["type"])} {_text(_shape(data, value))}</td></tr>'
        )
    more = len(data["values"]) - len(values)
    yield f"</tbody></table>{f'<p>and {more:,} more</p>' if more else ''}</details>"


__all__ = ["page"]
