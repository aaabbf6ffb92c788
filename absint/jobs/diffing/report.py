"""A comparison as text, what matters first, all that is the same in one line; as tables for notebooks, as a page."""

from collections.abc import Iterable, Iterator
from typing import Final

from absint.jobs.diffing.answers import Amount, Apart, Findings, Port, Ports, Unmet
from absint.lattices.text.escapes import format_sizes
from absint.lattices.text.sheets import Line, Sheet, Table, folded
from absint.show.page.frame import framed, written
from absint.version import VERSION

_SHOWN: Final = 10
"""Lines of one kind."""
_LONG: Final = 160
"""Characters of an expression; a longer one is not shown."""
_STYLES: Final = {"same": "green", "compatible": "green", "changed": "bold red", "undecided": "yellow"}
_ALIKE: Final = {"no rule": "operators without a rule", "on data": "possible failures on data"}
_BY: Final = {"run": "a run of both", "rules": "by their rules, not run", "declarations": "by declaration"}
_NAMES: Final = {"macs": "MACs", "flops": "FLOPs", "bytes": "bytes moved"}


def lines(diff: Findings) -> Iterator[Line]:
    """All of it."""
    nodes = diff.surroundings.nodes
    yield Line(f"A  {diff.first}: {nodes[0]:,} nodes", "bold")
    yield Line(f"B  {diff.second}: {nodes[1]:,} nodes", "bold")
    yield Line("")
    yield Line(headline(diff), _STYLES[diff.verdict])
    yield Line("")
    same: list[str] = []
    for name, text, details in sorted(_aspects(diff), key=lambda aspect: not aspect[2]):
        if not details and text.startswith("the same"):
            same.append(_ALIKE.get(name, name))
            continue
        yield Line(f"{name:<12}{text}")
        yield from (Line(f"  {detail}") for detail in _few(details))
    if same:
        yield Line(f"{'the same':<12}{', '.join(same)}")


def headline(diff: Findings) -> str:
    """The answer in one line."""
    match diff.verdict:
        case "changed":
            return f"changed: {'; '.join(diff.broken)}"
        case "undecided":
            return f"undecided: {'; '.join(diff.undecided)}"
        case "same":
            said = f"the same legal sizes and the same output shapes for all sizes{_assuming(diff)}"
            return f"{said} (proved){_proviso(diff)}"
    return f"B may take the place of A: {_how(diff)}{_assuming(diff)}{_proviso(diff)}"


def _assuming(diff: Findings) -> str:
    given = dict.fromkeys((*diff.assuming, *diff.contract.premises))
    return f" with {' and '.join(given)}" if given else ""


def _how(diff: Findings) -> str:
    """The differences of a model that works wherever A works."""
    legal = {"widened": "more sizes are legal", "undecided": "all legal sizes stay legal"}
    found = [legal.get(diff.contract.agreement, "the same sizes are legal")]
    if diff.inputs.of("optional", "widened"):
        found.append("an input asks for less")
    if diff.inputs.reordered:
        found.append("inputs stand in another order")
    if diff.outputs.of("new"):
        found.append("there are new outputs")
    return f"{', '.join(found)}; the same output shapes for all sizes"


def _proviso(diff: Findings) -> str:
    mixed = [lost.name for lost in diff.rows if lost.verdict == "mixes"]
    texts = [*diff.contract.proviso, *([f"but B mixes rows of {_joined(mixed)}"] if mixed else [])]
    return "".join(f"; {text}" for text in texts)


def _few(details: Iterable[str]) -> Iterator[str]:
    found = list(details)
    yield from found[:_SHOWN]
    if len(found) > _SHOWN:
        yield f"and {len(found) - _SHOWN:,} more (all: --format json)"


def _aspects(diff: Findings) -> Iterator[tuple[str, str, list[str]]]:
    """Each aspect with a line about it, and details where it differs."""
    yield "contract", *_contract(diff)
    yield "outputs", *_ports(diff.outputs)
    yield "inputs", *_ports(diff.inputs)
    renamed = [f"{name} of B is {text} of A" for name, text in diff.symbols.items() if name != text]
    if renamed:
        yield "symbols", _joined(renamed), []
    if diff.rows:
        told = [f"{lost.name}: independent -> {lost.verdict}: {_cut(lost.why)}" for lost in diff.rows]
        yield "rows", f"along {diff.rows[0].symbol} they stay apart in A, and in B not, or not for certain", told
    if diff.values is not None:
        yield "values", *_values(diff)
    yield from _figures(diff)
    yield from _files(diff)


def _contract(diff: Findings) -> tuple[str, list[str]]:
    found = diff.contract
    sides = (found.narrowed, "B"), (found.widened, "A"), (found.undecided, "B"), (found.widening_undecided, "A")
    details = [line for group, side in sides for unmet in group for line in _unmet(unmet, side)]
    clauses = f"{found.clauses[0]} {'clause' if found.clauses[0] == 1 else 'clauses'} in A, {found.clauses[1]} in B"
    if found.possible == (False, False):
        return "no size is legal in either", []
    if found.clauses == (0, 0) and not details:
        clauses = "every size is legal"
    if found.premises and not details:
        clauses += f", assuming {_joined(found.premises)}"
    if found.agreement == "undecided" and found.is_kept:
        return f"all sizes that are legal in A are legal in B; undecided if there are more ({clauses})", details
    words = {"same": "the same legal sizes", "undecided": "undecided"}
    return f"{words.get(found.agreement, found.agreement)} ({clauses})", details


def _unmet(unmet: Unmet, side: str) -> Iterator[str]:
    because = f"  ({', '.join(unmet.because[:2])}{_more(len(unmet.because) - 2)})" if unmet.because else ""
    if not unmet.relation:
        yield unmet.reason
        return
    over = f", in symbols of {'A' if side == 'B' else 'B'}: {unmet.over}" if unmet.over != unmet.relation else ""
    if unmet.apart is None:
        yield f"not decided: {side} needs {_cut(unmet.relation)}{_cut(over)}{because}: {unmet.reason}"
    else:
        yield f"{side} alone needs {_cut(unmet.relation)}{_cut(over)}{because}"
        yield f"  {_apart(unmet.apart)}"


def _apart(apart: Apart) -> str:
    at = format_sizes(apart.sizes) or "every size"
    only = ", and only where a size is 0" if apart.is_only_empty else ""
    return f"at {at}: A {_does(apart.first)}, B {_does(apart.second)} ({_BY[apart.evidence]}){only}"


def _does(text: str) -> str:
    return f"gives {text}" if text.startswith("[") else text


def _ports(ports: Ports) -> tuple[str, list[str]]:
    details = [line for port in ports.items if port.status != "same" for line in _port(port)]
    if ports.reordered:
        details.insert(0, "in another order")
    kept = len(ports.of("same"))
    if not details:
        return f"the same ({kept})", []
    return f"{kept} of {len(ports.items)} the same", details


def _port(port: Port) -> Iterator[str]:
    texts = {"gone": port.before, "new": port.after, "renamed": port.before, "optional": port.before}
    shown = texts.get(port.status, f"{port.before} -> {port.after}" if port.before != port.after else port.before)
    yield f"{port.name} {port.status}: {_cut(shown)}"
    for detail in port.details:
        yield f"  {_cut(detail)}"
    if port.apart is not None:
        yield f"  {_apart(port.apart)}"


def _values(diff: Findings) -> tuple[str, list[str]]:
    found = diff.values or ()
    details = []
    for value in found:
        at = " (not decided)" if not value.is_decided else f", apart at {format_sizes(value.at)}" if value.at else ""
        details.append(f"{value.name}: {_cut(value.before)} -> {_cut(value.after)}{at}")
    return (f"{len(found):,} of one name differ" if found else "the same shapes of all of one name"), details


def _figures(diff: Findings) -> Iterator[tuple[str, str, list[str]]]:
    found = diff.figures
    if found is None:
        yield "cost", "not counted: " + diff.reason, []
        return
    at = f" at {format_sizes(found.sizes)}" if found.sizes else ""
    same = [_NAMES.get(a.name, a.name) for a in found.amounts if a.is_same]
    other = [_amount(a) for a in found.amounts if not a.is_same]
    if other:
        heading = f"the same: {_joined(same)}; others{at}:" if same else f"{at.strip()}:" if at else "not the same"
        yield "cost", heading, [*other, *found.uncounted]
    else:
        yield "cost", f"the same: {_joined(same)}", []
    a, b = found.coverage
    exact = f"{a.exact:,} of {a.dims:,} dims exact in A, {b.exact:,} of {b.dims:,} in B"
    yield "coverage", exact if a != b else f"the same: {a.exact:,} of {a.dims:,} dims exact", []


def _amount(amount: Amount) -> str:
    """`FLOPs: 1,000 -> 1,100 (+10.0 %), by 100*batch`."""
    name = _NAMES.get(amount.name, amount.name)
    if amount.numbers is None:
        return f"{name}: {_cut(amount.first)} -> {_cut(amount.second)}"
    before, after = amount.numbers
    if before == after:
        return f"{name}: {before:,} in both, and perhaps not at other sizes"
    ratio = ""
    if amount.ratio is not None:
        change = 100 * amount.ratio - 100
        ratio = f" ({change:+.0f} %)" if abs(change) >= 10 else f" ({change:+.2g} %)"
    is_symbolic = amount.difference != "?" and not amount.difference.lstrip("-").isdigit()
    by = f", by {amount.difference}" if is_symbolic and len(amount.difference) <= _LONG else ""
    return f"{name}: {before:,} -> {after:,}{ratio}{by}"


def _files(diff: Findings) -> Iterator[tuple[str, str, list[str]]]:
    found = diff.surroundings
    opsets = [
        f"{domain}: {'none' if a is None else a} -> {'none' if b is None else b}"
        for domain, (a, b) in found.opsets.items()
        if a != b
    ]
    for m in found.meanings:
        nodes = f"{m.nodes} {'node' if m.nodes == 1 else 'nodes'}"
        opsets.append(f"{m.operator} ({nodes}) has another definition: that of opset {m.first} -> {m.second}")
    same = ", ".join(f"{domain} {a}" for domain, (a, b) in found.opsets.items() if a == b)
    yield "opsets", (f"the same: {same}" if not opsets else "not the same"), opsets
    rules = [f"{name}: {a} in A, {b} in B" for name, a, b in found.without_rule if a != b]
    without = ", ".join(name for name, _, _ in found.without_rule) or "every operator has one"
    yield "no rule", (f"the same: {without}" if not rules else "not the same"), rules
    news = [*(f"new: {text}" for text in found.new_diagnostics), *(f"gone: {text}" for text in found.gone_diagnostics)]
    yield "diagnostics", ("the same" if not news else "not the same"), news
    data = [*(f"new: {text}" for text in found.new_failures), *(f"gone: {text}" for text in found.gone_failures)]
    yield "on data", ("the same possible failures" if not data else "other possible failures"), data


def _joined(texts: Iterable[str]) -> str:
    found = list(texts)
    return ", ".join(found[:6]) + _more(len(found) - 6)


def _more(count: int) -> str:
    return f" and {count:,} more" if count > 0 else ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


_FEW: Final = 20


def notebook(diff: Findings) -> str:
    """The answer, and a table of what is compared."""
    nodes = diff.surroundings.nodes
    models = [("A", diff.first, f"{nodes[0]:,} nodes"), ("B", diff.second, f"{nodes[1]:,} nodes")]
    return Sheet(Line(headline(diff)), [Table("models", models), *_tables(diff)]).html()


def page(diff: Findings) -> str:
    """One file: the answer, the same tables, and each aspect in a line."""
    return framed(f"{diff.first} and {diff.second}: absint diff", "\n".join(_body(diff)))


def _body(diff: Findings) -> Iterator[str]:
    models = zip("AB", (diff.first, diff.second), diff.surroundings.nodes, strict=True)
    yield "<header><h1>May B take the place of A?</h1>"
    said = (f"{name}: {written(path)}, {count:,} nodes." for name, path, count in models)
    yield f"<p>{' '.join(said)} absint {VERSION}</p>"
    yield "</header><main>"
    kind = ' class="error"' if diff.verdict == "changed" else ""
    yield f"<section><h2>Answer</h2><p{kind}>{written(headline(diff))}</p></section>"
    yield "<section><h2>Aspects</h2><table><tbody>"
    for name, line, details in _aspects(diff):
        items = f"<ul>{''.join(f'<li>{written(detail)}</li>' for detail in details)}</ul>"
        shown = items if len(details) <= _FEW else folded(f"{len(details):,} lines", items)
        yield f'<tr><th scope="row">{written(name)}</th><td>{written(line.rstrip(":"))}{shown}</td></tr>'
    yield "</tbody></table></section>"
    yield f"<section><h2>All of it</h2>{''.join(table.html() for table in _tables(diff))}</section>"
    yield "</main>"


def _tables(diff: Findings) -> Iterator[Table]:
    """The differences that fit in columns."""
    contract = diff.contract
    groups = {
        "B alone": contract.narrowed,
        "A alone": contract.widened,
        "B, not decided": contract.undecided,
        "A, not decided": contract.widening_undecided,
    }
    required = [
        (who, item.relation, ", ".join(item.because), item.reason if item.apart is None else _place(item.apart))
        for who, group in groups.items()
        for item in group
    ]
    yield Table("requirements", required, head=("needed by", "relation", "nodes", "apart at"))
    yield Table("symbols of B over those of A", [(b, a) for b, a in diff.symbols.items() if a != b])
    for title, ports in (("inputs", diff.inputs.items), ("outputs", diff.outputs.items)):
        apart = [[*port.details, *([] if port.apart is None else [_place(port.apart)])] for port in ports]
        columns = zip(ports, apart, strict=True)
        rows = [(p.name, p.status, p.before, p.after, "; ".join(texts)) for p, texts in columns]
        yield Table(title, rows, head=("name", "", "in A", "in B", "details"))
    lost = [(item.name, item.symbol, item.verdict, item.why) for item in diff.rows]
    yield Table("rows that stay apart in A alone", lost, head=("output", "rows", "in B", "where"))
    if diff.values:
        values = [(value.name, value.before, value.after, format_sizes(value.at or {})) for value in diff.values]
        yield Table("computed values", values, head=("name", "in A", "in B", "apart at"))
    if diff.figures is not None:
        at = f" at {format_sizes(diff.figures.sizes)}" if diff.figures.sizes else ""
        costs = [
            (a.name, a.first, a.second, "the same" if a.is_same else _amount(a).partition(": ")[2])
            for a in diff.figures.amounts
        ]
        yield Table(f"costs{at}", costs, head=("", "in A", "in B", "change"))


def _place(apart: Apart) -> str:
    return f"{format_sizes(apart.sizes) or 'every size'}: A {apart.first}, B {apart.second} ({_BY[apart.evidence]})"
