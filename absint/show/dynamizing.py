"""A model whose sizes became symbols, as text and as JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from absint.lattices.text.escapes import json_text, plain
from absint.show.checks import listed
from absint.show.documents import head_of
from absint.show.relations import by_nodes, plural
from absint.show.text import Line, wrapped

if TYPE_CHECKING:
    from absint.jobs.dynamizing.dynamize import Dynamized
    from absint.jobs.dynamizing.listing import Baked
    from absint.jobs.dynamizing.stacked import Compared
    from absint.result import Result
    from absint.solver.contracts.contract import Contract

SCHEMA: Final = "absint.dynamize/1"
_SHOWN: Final = 30
_NODES: Final = 2


def report(found: Dynamized, width: int) -> Iterator[Line]:
    """The constants, what becomes of them, and the sizes that are legal then."""
    was = ", ".join(f"{name} was {size}" for name, size in found.sizes.items())
    yield Line(f"{plain(found.path)}: {plain(was)}" if found.path and found.path != "-" else plain(was), "bold")
    mended = [item for item in found.baked if not item.problem]
    title = "rewritten" if found.fixed else "constants that hold an old size"
    yield from _section(title, mended, width)
    yield from _section("not rewritten", found.unmended, width)
    if found.causes:
        yield Line(f"not led back to a constant: {len(found.causes):,}")
        for cause in found.causes[:_SHOWN]:
            yield from map(Line, wrapped(f"  {plain(str(cause))}", width, 6))
    if found.taken:
        yield from map(
            Line, wrapped(f"no inputs any more, since they say shapes: {plain(', '.join(found.taken))}", width, 2)
        )
    yield from _contract(found, width)
    if found.refusal:
        yield from (
            Line(text, "bold red") for text in wrapped(f"nothing is rewritten: {plain(found.refusal)}", width, 2)
        )
    elif found.differing:
        names = ", ".join(found.differing[:3])
        yield Line(f"not proved to be as before at the old sizes: {plain(names)}", "bold red")
    elif found.fixed:
        yield Line("at the old sizes every value has the shape that it had", "green")
    yield from _rows(found, width)
    yield from listed("types left out", [str(item) for item in found.left_out], width)
    if found.unchecked:
        yield Line(f"note: it is not known whether the copy loads: {plain(found.unchecked)}")
    if found.weights_elsewhere:
        folder = Path(os.path.realpath(found.path)).parent
        yield Line(
            f"note: the weights stay in {plain(found.weights_elsewhere[0])}, which runtimes look for beside the model: "
            f"copy or link them into {plain(str(folder))}"
        )


def _rows(found: Dynamized, width: int) -> Iterator[Line]:
    if found.fixed and not found.rows:
        yield Line("stacked rows were not compared with single ones: no symbol is called a batch, or --no-run", "dim")
    for name, each in found.rows.items() if not found.refusal else ():
        if each.reason:
            text = f"stacked rows of {name} were not compared with single ones: {each.reason}"
            yield from map(Line, wrapped(plain(text), width, 2))
        else:
            yield Line(f"2 and 3 stacked rows of {plain(name)} give what single ones give", "green")
            if each.without_rows:
                yield Line(f"  not compared, as no axis grows with the rows: {plain(', '.join(each.without_rows))}")


def _section(title: str, items: Sequence[Baked], width: int) -> Iterator[Line]:
    if not items:
        return
    yield Line(f"{title}: {len(items):,}")
    rows: dict[str, dict[str, None]] = {}
    for item in items:
        old = f": {item.old}, should be {item.new}" if item.old else f": {item.new}"
        end = f"; {item.problem}" if item.problem else f"; now {item.written}" if item.written else ""
        rows.setdefault(f"{item.place}{old}{end}", {})[item.node] = None
    for text, nodes in islice(rows.items(), _SHOWN):
        more = f" and {len(nodes) - _NODES:,} more" if len(nodes) > _NODES else ""
        listed = f"{', '.join(islice(nodes, _NODES))}{more}"
        yield from map(Line, wrapped(f"  {plain(text)}  ({plain(listed)})", width, 6))
    if len(rows) > _SHOWN:
        yield Line(f"  and {len(rows) - _SHOWN:,} more kinds (--format json lists them)")


def _contract(found: Dynamized, width: int) -> Iterator[Line]:
    contract = found.contract
    if contract.possible is False:
        yield Line("no size of the inputs is legal", "bold red")
    elif not contract.clauses:
        yield Line(f"every size is legal{contract.proviso}", "bold green")
    else:
        count = len(contract.clauses)
        yield Line(f"legal sizes meet {count:,} {plural('clause', count)}", "bold")
        for clause in contract.clauses[:_SHOWN]:
            nodes = by_nodes(clause.because, clause.relation)
            yield from map(Line, wrapped(f"  {plain(f'{clause.relation}  ({nodes})')}", width, 6))
    if contract.reason:
        yield Line(f"the clauses are those of single nodes: {contract.reason}", "yellow")
    ready = len(found.baked) - len(found.unmended)
    if not found.fixed and not found.refusal and ready:
        yield Line(f"--fix rewrites {ready:,} {plural('constant', ready)}", "dim")


def document(result: Result, found: Dynamized) -> str:
    """As a JSON object, schema `absint.dynamize/1`."""
    return json_text(
        {
            **head_of(SCHEMA, result),
            "sizes": dict(found.sizes),
            "axes": {name: {str(axis): text for axis, text in axes.items()} for name, axes in found.axes.items()},
            "fixed": found.fixed,
            "written": found.path or None,
            "constants": [
                {
                    "node": item.node,
                    "operator": item.operator,
                    "constant": item.constant,
                    "operand": item.operand,
                    "place": item.place,
                    "old": item.old,
                    "new": item.new,
                    "written": item.written or None,
                    "problem": item.problem or None,
                    "is_open": item.is_open,
                }
                for item in found.baked
            ],
            "causes": [cause._asdict() for cause in found.causes],
            "legal": _clauses(found.contract),
            "legal_before": _clauses(found.before),
            "differing": list(found.differing),
            "refusal": found.refusal or None,
            "rows": {name: _compared(each) for name, each in found.rows.items()},
            "taken": list(found.taken),
            "left_out": [str(item) for item in found.left_out],
            "unchecked": found.unchecked,
        },
        indent=1,
    )


def _compared(found: Compared) -> dict[str, object]:
    return {
        "reason": found.reason,
        "differing": list(found.differing),
        "without_rows": list(found.without_rows),
    }


def _clauses(contract: Contract) -> dict[str, object]:
    return {
        "possible": contract.possible,
        "reason": contract.reason,
        "clauses": [
            {"relation": str(clause.relation), "nodes": list(dict.fromkeys(str(c.origin) for c in clause.because))}
            for clause in contract.clauses
        ],
    }


__all__ = ["document", "report"]
