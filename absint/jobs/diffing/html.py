"""A comparison as HTML: tables for a notebook, and a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from absint.jobs.diffing.answers import Amount, Apart, Figures, Findings, Ports, Unmet
from absint.jobs.diffing.text import amount_text, aspects, headline
from absint.lattices.text.escapes import format_sizes
from absint.lattices.text.sheets import block, folded, table
from absint.show.page.frame import framed, written
from absint.version import VERSION

_PORTS: Final = ("name", "", "in A", "in B", "details")
_BY: Final = {"run": "a run of both", "rules": "by their rules, not run", "declarations": "by declaration"}


def notebook(diff: Findings) -> str:
    """The answer, and a table of what is compared."""
    nodes = diff.surroundings.nodes
    models = [("A", diff.first, f"{nodes[0]:,} nodes"), ("B", diff.second, f"{nodes[1]:,} nodes")]
    return block(headline(diff), table("models", models), *_tables(diff))


def page(diff: Findings) -> str:
    """One file: the answer, the same tables, and each aspect in a line."""
    return framed(f"{diff.first} and {diff.second}: absint diff", "\n".join(_body(diff)))


def _body(diff: Findings) -> Iterator[str]:
    nodes = diff.surroundings.nodes
    yield "<header><h1>May B take the place of A?</h1>"
    models = (("A", diff.first, nodes[0]), ("B", diff.second, nodes[1]))
    said = (f"{name}: {written(path)}, {count:,} nodes." for name, path, count in models)
    yield f"<p>{' '.join(said)} absint {VERSION}</p>"
    yield "</header><main>"
    kind = ' class="error"' if diff.verdict == "changed" else ""
    yield f"<section><h2>Answer</h2><p{kind}>{written(headline(diff))}</p></section>"
    yield "<section><h2>Aspects</h2><table><tbody>"
    yield from (
        f'<tr><th scope="row">{written(name)}</th><td>{written(line.rstrip(":"))}{_details(details)}</td></tr>'
        for name, line, details in aspects(diff)
    )
    yield "</tbody></table></section>"
    yield f"<section><h2>All of it</h2>{''.join(_tables(diff))}</section>"
    yield "</main>"


def _details(details: list[str]) -> str:
    items = "".join(f"<li>{written(line)}</li>" for line in details)
    return f"<ul>{items}</ul>" if len(details) <= _FEW else folded(f"{len(details):,} lines", f"<ul>{items}</ul>")


_FEW: Final = 20


def _tables(diff: Findings) -> Iterator[str]:
    """The differences that fit in columns."""
    contract = diff.contract
    required = [
        *(("B alone", *_unmet(item)) for item in contract.narrowed),
        *(("A alone", *_unmet(item)) for item in contract.widened),
        *(("B, not decided", *_unmet(item)) for item in contract.undecided),
        *(("A, not decided", *_unmet(item)) for item in contract.widening_undecided),
    ]
    yield table("requirements", required, ("needed by", "relation", "nodes", "apart at"))
    yield table("symbols of B over those of A", [(b, a) for b, a in diff.symbols.items() if a != b])
    yield table("inputs", list(_ports(diff.inputs)), _PORTS)
    yield table("outputs", list(_ports(diff.outputs)), _PORTS)
    if diff.values:
        values = [(value.name, value.before, value.after, format_sizes(value.at or {})) for value in diff.values]
        yield table("computed values", values, ("name", "in A", "in B", "apart at"))
    if diff.figures is not None:
        at = f" at {format_sizes(diff.figures.sizes)}" if diff.figures.sizes else ""
        yield table(f"costs{at}", list(_amounts(diff.figures)), ("", "in A", "in B", "change"))


def _unmet(item: Unmet) -> tuple[str, str, str]:
    return item.relation, ", ".join(item.because), item.reason if item.apart is None else _apart(item.apart)


def _apart(apart: Apart) -> str:
    return f"{format_sizes(apart.sizes) or 'every size'}: A {apart.first}, B {apart.second} ({_BY[apart.evidence]})"


def _ports(ports: Ports) -> Iterator[tuple[str, ...]]:
    for port in ports.items:
        found = [*port.details, *([] if port.apart is None else [_apart(port.apart)])]
        yield port.name, port.status, port.before, port.after, "; ".join(found)


def _amounts(figures: Figures) -> Iterator[tuple[str, ...]]:
    for amount in figures.amounts:
        yield amount.name, amount.first, amount.second, _change(amount)


def _change(amount: Amount) -> str:
    return "the same" if amount.is_same else amount_text(amount).partition(": ")[2]
