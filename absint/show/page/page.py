"""The HTML file: sections that read without scripts, then the data and the scripts.

Names in models are hostile: here they are escaped, in the data `<` is, and scripts make text nodes of them. Names in a
section that lead into the graph carry a number.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from string import Template
from typing import Any, Final

from absint.errors import UsageError
from absint.lattices.text.escapes import in_html
from absint.model.writing import check_target, write_file
from absint.shapes.sizes import Sizes, exact_sizes
from absint.show.page.content import Content
from absint.show.page.frame import asset, framed, written
from absint.show.summary import nodes_in_words, totals
from absint.solution.analysed import Analysed
from absint.version import VERSION

Data = Any
"""Plain data, as `Content` makes it."""

_MOST_ROWS: Final = 20_000
"""Most values in the table of all values."""

_MOST_ITEMS: Final = 50
_FOLDED: Final = 3
"""So many more values of one type in a row are folded."""


def section(title: str, lines: Iterable[str], name: str, kind: str = "") -> Iterator[str]:
    """A section with a heading; `name` is for links."""
    yield f'<section id="{name}"{kind}><h2>{title}</h2>'
    yield from lines
    yield "</section>"


def interface(data: Data) -> Iterator[str]:
    """Inputs and outputs."""
    yield '<div class="columns">'
    for title in ("inputs", "outputs"):
        yield f"<table><caption>{title}</caption><tbody>"
        for _, alike in groupby(data[title], lambda at: (data["values"][at]["type"], data["values"][at]["dims"])):
            first, *others = alike
            yield _row(data, first)
            if len(others) < _FOLDED:
                yield from (_row(data, at) for at in others)
            else:
                names = ", ".join(_value(at, data["values"][at]["name"]) for at in others)
                yield (
                    f'<tr><td colspan="3"><details><summary>and {len(others)} more of this type</summary>{names}'
                    "</details></td></tr>"
                )
        yield "</tbody></table>"
    yield "</div>"
    yield from _definitions(data["definitions"])


def _definitions(definitions: Mapping[str, str]) -> Iterator[str]:
    if definitions:
        yield "<h3>where</h3><dl>"
        yield from (
            f"<dt><code>{written(name)}</code></dt><dd><code>{written(text)}</code></dd>"
            for name, text in definitions.items()
        )
        yield "</dl>"


def _row(data: Data, at: int) -> str:
    value = data["values"][at]
    return (
        f'<tr><th scope="row">{_value(at, value["name"])}</th><td class="shape">{written(value["type"])} '
        f'{written(_shape(data, value))}</td><td class="shape now only-script" data-shape="{at}"></td></tr>'
    )


def _shape(data: Data, value: Data) -> str:
    """The sizes, and the name of those of an unknown rank."""
    dims = value.get("open") if value["dims"] is None else value["dims"]
    return (
        "" if dims is None else f"[{', '.join(at if isinstance(at, str) else str(data['dims'][at][0]) for at in dims)}]"
    )


def _value(at: int | None, name: str) -> str:
    return written(name) if at is None else f'<bdi data-value="{at}">{written(name)}</bdi>'


def _node(number: int, name: str) -> str:
    return f'<bdi data-node="{number}">{written(name)}</bdi>' if number >= 0 else written(name)


def contract(data: Data) -> Iterator[str]:
    """Which sizes are legal, in words and as a picture."""
    terms = data["contract"]
    yield '<div class="columns"><div>'
    if terms["possible"] is False:
        yield '<p class="error">No size is legal.</p>'
    if terms["reason"]:
        yield f"<p>Not all of it was simplified: {written(terms['reason'])}.</p>"
    if terms["clauses"]:
        yield '<table><thead><tr><th scope="col">required</th><th scope="col" class="only-script">now</th>'
        yield '<th scope="col">by</th></tr></thead><tbody>'
        yield from map(_clause, terms["clauses"])
        yield "</tbody></table>"
    elif terms["possible"] is not False:
        yield "<p>Every size is legal.</p>"
    yield from items(terms["premises"], written, "Taken for granted")
    yield from items(terms["beyond"], written, "Required of sizes that only a run tells")
    yield from items(terms["doubts"], written, "May fail on data")
    yield "</div>"
    if len(data["sizes"]) > 1:
        yield """<figure class="only-script" id="picture"><p><label>across <select id="across"></select></label>
<label>up <select id="up"></select></label></p>
<div id="region"></div><figcaption id="region-text"></figcaption></figure>"""
    yield "</div>"


def _clause(clause: Data) -> str:
    now = "" if clause["holds"] is None else f'<span data-holds="{clause["holds"]}"></span>'
    because = [
        f"{_node(number, where)}: {written(reason)}"
        for number, (where, reason) in zip(clause["nodes"], clause["reasons"], strict=True)
    ]
    rest = because[1 : 1 + _MOST_ITEMS]
    more = len(because) - 1
    folded = (
        f"<details><summary>and {more:,} more</summary><ul>{''.join(f'<li>{one}</li>' for one in rest)}"
        f"{f'<li>and {more - len(rest):,} more</li>' if more > len(rest) else ''}</ul></details>"
        if rest
        else ""
    )
    text, hint, _ = clause["text"].partition(" (exactly: --format json)")
    exactly = f"<details><summary>exactly</summary><code>{written(clause['exactly'])}</code></details>" if hint else ""
    return (
        f'<tr><td><code>{written(text)}</code>{exactly}</td><td class="only-script">{now}</td>'
        f"<td>{because[0] if because else ''}{folded}</td></tr>"
    )


def unknown(data: Data) -> Iterator[str]:
    """Sizes that no formula over the inputs gives."""
    yield '<table><thead><tr><th scope="col">size</th><th scope="col">first at</th><th scope="col">operator</th></tr>'
    yield "</thead><tbody>"
    for row in data["unknown"]:
        yield (
            f'<tr><td><code class="open">{written(row["size"])}</code></td><td>{_value(row["value"], row["name"])}</td>'
            f"<td>{written(row['operator'])}</td></tr>"
        )
    yield "</tbody></table>"


def items(found: Data, line: Callable[[Data], str], title: str = "") -> Iterator[str]:
    """A list with a title, cut where it is long; nothing without items."""
    if not found:
        return
    if title:
        yield f"<h3>{title}</h3>"
    shown = [f"<li>{line(item)}</li>" for item in found[:_MOST_ITEMS]]
    more = f"<li>and {len(found) - _MOST_ITEMS:,} more</li>" if len(found) > _MOST_ITEMS else ""
    yield f"<ul>{''.join(shown)}{more}</ul>"


def diagnostics(data: Data) -> Iterator[str]:
    """The diagnostics of the model."""

    def line(found: Data) -> str:
        kind = "error" if found["severity"] == "error" else ""
        return (
            f'<strong class="{kind}">{written(found["severity"])}</strong> {written(found["where"])}: '
            f"{written(found['message'])} <small>[{written(found['code'])}]</small>"
        )

    if not data["diagnostics"]:
        yield "<p>Nothing is wrong.</p>"
    yield from items(data["diagnostics"], line)


def rows(data: Data) -> Iterator[str]:
    """The rows of a batch: where they are in each output, and the first node where they may meet."""
    found = data["rows"]
    yield f"<p>Is row i of an output that of a run on row i alone? Rows are counted by {written(found['symbol'])}.</p>"
    yield '<p class="choices only-script"><label><input id="rows-shown" type="checkbox"> show their way in the graph'
    yield "</label></p><table><tbody>"
    for output in found["outputs"]:
        said = ", ".join(filter(None, (output["verdict"], output["where"])))
        node = "" if output["meeting"] is None else f' data-node="{output["meeting"]}"'
        why = f"<span{node}>{written(output['why'])}</span>"
        yield f'<tr><th scope="row">{written(output["name"])}</th><td>{written(said)}</td><td>{why}</td></tr>'
    yield "</tbody></table>"


def verdicts(audits: Iterable[Data], names: Mapping[str, int]) -> Iterator[str]:
    """Claims of the author and of tools, judged; `absint.audit/1` has their form. Proved ones are counted."""
    for audit in audits:
        claims = audit["claims"]
        found = ", ".join(f"{count:,} {judgement}" for judgement, count in audit["counts"].items() if count)
        yield f"<h3>{written(audit['source'])}: {len(claims):,} claims{f': {found}' if found else ''}</h3>"
        yield from (f'<p class="error">{written(audit[key])}</p>' for key in ("failure", "needs") if audit[key])
        open_ones = [claim for claim in claims if claim["judgement"] != "proved"]
        if not open_ones:
            continue
        open_ones.sort(key=lambda claim: claim["judgement"] != "refuted")
        yield '<table><thead><tr><th scope="col">claim</th><th scope="col">verdict</th><th scope="col">false at</th>'
        yield '<th scope="col">because</th></tr></thead><tbody>'
        yield from (_verdict(claim, names) for claim in open_ones[:_MOST_CLAIMS])
        yield "</tbody></table>"
        if len(open_ones) > _MOST_CLAIMS:
            yield f"<p>and {len(open_ones) - _MOST_CLAIMS:,} more</p>"


_MOST_CLAIMS: Final = 200


def _verdict(claim: Data, names: Mapping[str, int]) -> str:
    kind = ' class="error"' if claim["judgement"] == "refuted" else ""
    at = ", ".join(f"{written(name)}={size}" for name, size in (claim["counterexample"] or {}).items())
    place = claim["places"][0]["value"] if claim["places"] else ""
    shown = f'<code data-value="{names[place]}">' if place in names else "<code>"
    return (
        f"<tr><td>{shown}{written(claim['relation'])}</code></td><td{kind}>{written(claim['judgement'])}</td>"
        f"<td>{at}</td><td>{written('; '.join(claim['because']))}</td></tr>"
    )


def all_values(data: Data) -> Iterator[str]:
    """Every value with its operator and its shape."""
    values = data["values"][:_MOST_ROWS]
    yield f"<details><summary>{len(data['values']):,} values, in execution order</summary><table><tbody>"
    by = {node["number"]: node for node in data["nodes"]}
    for value in values:
        node = by.get(value["by"])
        yield (
            f"<tr><td>{written(value['name'])}</td><td>{written(node['operator']) if node else ''}</td>"
            f'<td class="shape">{written(value["type"])} {written(_shape(data, value))}</td></tr>'
        )
    more = len(data["values"]) - len(values)
    yield f"</tbody></table>{f'<p>and {more:,} more</p>' if more else ''}</details>"


def page(analysed: Analysed, audits: Sequence[Data] = (), sizes: Mapping[str, int] | None = None) -> str:
    """The file as text; `audits` are verdicts on claims, in the form of `absint audit --format json`. It begins with
    the `sizes` that are given, and legal ones for the other symbols."""
    analysed.require_sound("a report")
    data: Data = Content(analysed, sizes or {}).document()
    name = data["model"]
    return framed(f"{name}: absint report", "\n".join(_body(analysed, data, name, audits)), data)


def write_page(analysed: Analysed, path: str, sizes: Sizes) -> None:
    """See `absint.Result.report`."""
    check_target(analysed.origin, path)
    write_file(page(analysed, sizes=exact_sizes(sizes, analysed.declared_inputs)), path)


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
            f'srcdoc="{in_html(self.document)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<View: a page of {len(self.document):,} characters, which a notebook shows>"


def view(analysed: Analysed, height: int) -> View:
    """Raises UsageError for a height that shows nothing."""
    if not height >= _LEAST_HEIGHT:
        raise UsageError(f"height {height!r}: expected pixels, at least {_LEAST_HEIGHT}")
    return View(page(analysed), height)
