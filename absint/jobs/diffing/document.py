"""A comparison as JSON."""

from __future__ import annotations

from typing import Final

from absint.jobs.diffing.answers import Apart, Figures, Inner, Port, Ports, Unmet
from absint.jobs.diffing.findings import Findings
from absint.lattices.text.escapes import json_text
from absint.version import VERSION

SCHEMA: Final = "absint.diff/1"


def document(diff: Findings) -> str:
    """The whole comparison."""
    contract, files = diff.contract, diff.surroundings
    return json_text(
        {
            "schema": SCHEMA,
            "absint": VERSION,
            "model": diff.first,
            "other": diff.second,
            "verdict": diff.verdict,
            "broken": list(diff.broken),
            "undecided": list(diff.undecided),
            "symbols": dict(diff.symbols),
            "assuming": list(diff.assuming),
            "contract": {
                "agreement": contract.agreement,
                "narrowed": [_unmet(item) for item in contract.narrowed],
                "widened": [_unmet(item) for item in contract.widened],
                "undecided": [_unmet(item) for item in contract.undecided],
                "widening_undecided": [_unmet(item) for item in contract.widening_undecided],
                "clauses": list(contract.clauses),
                "possible": list(contract.possible),
                "assuming": list(contract.premises),
                "proviso": list(contract.proviso),
            },
            "inputs": _ports(diff.inputs),
            "outputs": _ports(diff.outputs),
            "cost": None if diff.figures is None else _figures(diff.figures),
            "nodes": list(files.nodes),
            "opsets": {domain: list(versions) for domain, versions in files.opsets.items()},
            "operators_defined_anew": [item._asdict() for item in files.meanings],
            "operators_without_rule": {name: [a, b] for name, a, b in files.without_rule},
            "diagnostics": {"new": list(files.new_diagnostics), "gone": list(files.gone_diagnostics)},
            "failures_on_data": {"new": list(files.new_failures), "gone": list(files.gone_failures)},
            "values": None if diff.values is None else [_inner(item) for item in diff.values],
            "reason": diff.reason,
        },
        indent=1,
    )


def _apart(apart: Apart | None) -> object:
    if apart is None:
        return None
    return {
        "sizes": dict(apart.sizes),
        "of": apart.of,
        "A": apart.first,
        "B": apart.second,
        "evidence": apart.evidence,
        "only_empty": apart.is_only_empty,
    }


def _unmet(item: Unmet) -> object:
    return {
        "relation": item.relation,
        "over_other": item.over,
        "because": list(item.because),
        "apart": _apart(item.apart),
        "reason": item.reason,
    }


def _ports(ports: Ports) -> object:
    return {"reordered": ports.reordered, "items": [_port(port) for port in ports.items]}


def _port(port: Port) -> object:
    return {
        "A": port.first,
        "B": port.second,
        "before": port.before,
        "after": port.after,
        "status": port.status,
        "details": list(port.details),
        "apart": _apart(port.apart),
    }


def _figures(figures: Figures) -> object:
    return {
        "sizes": dict(figures.sizes),
        "amounts": [
            {
                "name": amount.name,
                "A": _amount(amount.first),
                "B": _amount(amount.second),
                "difference": _amount(amount.difference),
                "numbers": None if amount.numbers is None else list(amount.numbers),
                "ratio": amount.ratio,
            }
            for amount in figures.amounts
        ],
        "coverage": {"A": figures.coverage[0]._asdict(), "B": figures.coverage[1]._asdict()},
        "uncounted": list(figures.uncounted),
    }


def _amount(text: str | None) -> int | str | None:
    """A number as one; the text of an expression."""
    return int(text) if text is not None and text.removeprefix("-").isdecimal() else text


def _inner(item: Inner) -> object:
    return {
        "name": item.name,
        "A": item.before,
        "B": item.after,
        "at": None if item.at is None else dict(item.at),
        "decided": item.is_decided,
    }


__all__ = ["SCHEMA", "document"]
