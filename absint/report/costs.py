"""Cost and peak memory as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from absint.errors import UsageError
from absint.report.plain import plain
from absint.report.relations import plural, sizes
from absint.report.text import Line, aligned
from lattices.expr import ONE_EXPR, Dim, Expr

if TYPE_CHECKING:
    from absint.api import Result
    from absint.cost import Cost, Quantity, Ranked
    from absint.memory import Memory, Peak
    from absint.report.document import Json

_LONGEST: Final = 600
"""Characters of the longest expression that a text shows."""

_FEW_SUMS: Final = 4
"""A peak over more sums than this is shown by its bound."""

_SHOWN: Final = 5
_TITLES: Final[Mapping[Quantity, str]] = {"macs": "MACs", "flops": "FLOPs", "bytes": "bytes moved"}
_SCALES: Final = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"))


def report(result: Result, cost: Cost, memory: Memory, width: int, top: int, by: Quantity) -> Iterator[Line]:
    """The lines of `absint cost`."""
    nodes = len(cost.nodes)
    symbols = ", ".join(result.symbols) or "none"
    yield Line(f"{plain(result.origin)}: {nodes:,} {plural('operator', nodes)}, symbols {plain(symbols)}", "bold")
    yield from _section("peak memory of activations, in bytes", list(_memory(memory)), width)
    yield from _section("in a run", [(title, _amount(getattr(cost, name))) for name, title in _TITLES.items()], width)
    kinds = [(str(p.dtype), _parameters(p.elements, p.bytes)) for p in cost.parameters]
    total = ("all", _parameters(cost.parameter_elements, cost.parameter_bytes))
    yield from _section("parameters", [total, *kinds] if len(kinds) > 1 else kinds, width)
    if top:
        at = f", at {plain(sizes(cost.typical_sizes))}" if cost.typical_sizes else ""
        yield from _section(f"heaviest nodes by {_TITLES[by]}{at}", list(_heaviest(cost, top, by)), width)
    notes = list(_notes(cost, memory))
    if notes:
        yield from _section("not counted, or not exactly", notes, width)


def _section(title: str, rows: Sequence[tuple[str, str]], width: int) -> Iterator[Line]:
    yield Line("")
    yield Line(title, "bold")
    if not rows:
        yield Line("  none")
    yield from map(Line, aligned(rows, width))


def _memory(memory: Memory) -> Iterator[tuple[str, str]]:
    if memory.sums is not None and memory.sums <= _FEW_SUMS:
        yield "peak", _amount(memory.peak)
    else:
        if memory.sums is not None:
            yield "peak", f"the largest of {memory.sums:,} sums (--set SYMBOL=SIZE gives a number)"
        yield "at most", _amount(memory.bound)
    peak = _typical(memory)
    if peak is not None:
        if memory.typical_sizes:
            yield "", f"{_amount(Dim(peak.bytes))} at {sizes(memory.typical_sizes)}"
        yield "reached", f"at {peak.step}"
        live = [f"{item.name} {item.bytes:,}" for item in peak.live[:_SHOWN]]
        more = len(peak.live) - len(live)
        yield "live there", ", ".join(live) + (f", and {more:,} more" if more else "") or "nothing"


def _typical(memory: Memory) -> Peak | None:
    """The peak at typical sizes; None if no run has these."""
    try:
        return memory.at(memory.typical_sizes)
    except UsageError:
        return None


def _heaviest(cost: Cost, top: int, by: Quantity) -> Iterator[tuple[str, str]]:
    for node, _, share in cost.heaviest(top, by):
        amount = getattr(node, by)
        runs = "" if node.runs is ONE_EXPR else f" in each of {_short(node.runs)} runs"
        yield node.label, f"{share:6.1%}  {_short(amount)}{runs}"


def _notes(cost: Cost, memory: Memory) -> Iterator[tuple[str, str]]:
    if cost.without_rule:
        names = (f"{name} ({count:,})" for name, count in cost.without_rule.most_common())
        yield "no cost rule", _listed(names, len(cost.without_rule))
    for title, items in (
        ("arithmetic", cost.unsized),
        ("bytes moved", cost.unmoved),
        ("memory", memory.uncounted),
        ("larger branch", cost.undecided),
    ):
        if items:
            yield title, _listed(items, len(items))


def _listed(items: Iterable[str], count: int) -> str:
    shown = [item for item, _ in zip(items, range(_SHOWN), strict=False)]
    return ", ".join(shown) + (f", and {count - len(shown):,} more" if count > len(shown) else "")


def _parameters(elements: int, size: int | None) -> str:
    return f"{elements:,} {plural('element', elements)}" + ("" if size is None else f", {_amount(Dim(size))} bytes")


def _amount(amount: Dim) -> str:
    """A number with its scale, or an expression."""
    if not isinstance(amount, Expr) or amount.const is None:
        return _short(amount)
    scale, letter = next(((scale, letter) for scale, letter in _SCALES if amount.const >= scale), (1, ""))
    return f"{amount.const:,}" + (f" ({amount.const / scale:.3g} {letter})" if letter else "")


def _short(amount: Dim) -> str:
    if not isinstance(amount, Expr):
        return "too large to write: --set SYMBOL=SIZE gives the number"
    if amount.const is not None:
        return f"{amount.const:,}"
    text = str(amount)
    symbols = ", ".join(sorted(amount.free_symbols)[:4])
    return text if len(text) <= _LONGEST else f"<{amount.size:,} terms over {symbols}> (whole: --format json)"


def document(result: Result, cost: Cost, memory: Memory, top: int, by: Quantity) -> str:
    """As a JSON object, schema `absint.cost/1`; amounts are texts of the grammar, null where there is no expression."""
    whole: dict[str, Json] = {
        "schema": "absint.cost/1",
        "model": result.origin,
        "symbols": list(result.symbols),
        "memory": {"peak": _text(memory.peak), "at_most": _text(memory.bound), "uncounted": list(memory.uncounted)},
        "macs": _text(cost.macs),
        "flops": _text(cost.flops),
        "bytes": _text(cost.bytes),
        "parameters": [{"dtype": str(p.dtype), "elements": p.elements, "bytes": p.bytes} for p in cost.parameters],
        "typical": {"sizes": dict(cost.typical_sizes), "memory": _document(_typical(memory))},
        "by": by,
        "heaviest": [_node(item) for item in cost.heaviest(top, by)],
        "without_rule": dict(cost.without_rule),
        "unsized": list(cost.unsized),
        "unmoved": list(cost.unmoved),
        "undecided": list(cost.undecided),
    }
    return json.dumps(whole, ensure_ascii=False, indent=1)


def _document(peak: Peak | None) -> Json:
    if peak is None:
        return None
    live: list[Json] = [{"name": item.name, "bytes": item.bytes} for item in peak.live]
    return {"bytes": peak.bytes, "step": peak.step, "live": live}


def _node(ranked: Ranked) -> Json:
    node, amount, share = ranked
    return {
        "node": node.label,
        "amount": amount,
        "share": round(share, 6),
        "macs": _text(node.macs),
        "flops": _text(node.flops),
        "bytes": _text(node.bytes),
        "parameters": node.parameters,
        "runs": _text(node.runs),
    }


def _text(amount: Dim | None) -> str | None:
    return str(amount) if isinstance(amount, Expr) else None


__all__ = ["document", "report"]
