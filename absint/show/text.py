"""The report as text: sections of aligned rows.

Rows that are too long for a terminal break between their columns or at a comma; text that goes to a pipe or a file is
never broken, so that one row is one line there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from absint.diagnostics import Diagnostic, Severity
from absint.lattices.text.escapes import one_line, plain
from absint.lattices.text.naming import Where
from absint.questions.claims.diagnostics import diagnostics as all_diagnostics
from absint.questions.proofs.premises import all_premises
from absint.questions.proofs.requirements import Needed, required
from absint.show.relations import brief, in_short
from absint.show.summary import Row, computed, first_unknown, totals
from absint.solution.claimed import claims
from absint.solution.described import described
from absint.solution.naming import where
from absint.transfer.semantics import EITHER, ONNX

if TYPE_CHECKING:
    from absint.questions.explain.fresh import FreshSymbol
    from absint.shapes.timings import Timings
    from absint.show.tracing import Traced
    from absint.solution.analysed import Analysed

SHOWN_OF_A_KIND: Final = 10
SHOWN_MISSING: Final = 20
SHOWN_FIRST: Final = 5
SHOWN_ALIKE: Final = 3
_ALIKE: Final = 8
_LONGEST: Final = 1000
_UNBROKEN: Final = 1 << 30
_STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


class Line(NamedTuple):
    """A line of the report, and its style on a terminal."""

    text: str
    style: str = ""


def write(lines: Iterable[Line], out: TextIO | None = None, *, commands: bool = False) -> None:
    """Print the lines, with their styles if the output is a terminal; `commands` of a CI are escaped if not wanted."""
    out = out if out is not None else sys.stdout
    escaped = plain if commands else one_line
    if not out.isatty():
        out.writelines(f"{escaped(line.text)}\n" for line in lines)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, highlight=False, markup=False, emoji=False, soft_wrap=True)
    width = width_of(out)
    for line in lines:
        for part in _fitted(line.text, width):
            console.print(Text(escaped(part), line.style))


def _fitted(text: str, width: int) -> Iterator[str]:
    """A line that is too long in lines of the width; its own indentation and two columns more from the second on."""
    if len(text) <= width or len(text) > _LONGEST:
        yield text
    else:
        yield from wrapped(text, width, len(text) - len(text.lstrip()) + 2)


def width_of(out: TextIO | None = None) -> int:
    """The width of a line: the terminal's, or no limit without one."""
    out = out if out is not None else sys.stdout
    if not out.isatty():
        return _UNBROKEN
    import shutil

    return max(shutil.get_terminal_size().columns, 40)


def report(
    analysed: Analysed,
    width: int,
    *,
    values: bool = False,
    missing: Mapping[str, Sequence[str]] | None = None,
    traced: Sequence[Traced] = (),
    timings: Timings | None = None,
    texts: Where | None = None,
) -> Iterator[Line]:
    """The lines of `absint analyze`. `texts` wrote what is `missing`."""
    texts = texts or where(analysed)
    yield from _title(analysed)
    yield from assumed(analysed, width)
    if not analysed.policy.sound:
        yield Line(f"{analysed.policy.label}: what is shown are claims, which may be false", _STYLES[Severity.WARNING])
    for title, names in (("inputs", analysed.inputs), ("outputs", analysed.outputs)):
        known = analysed.values
        rows = [(name, described(known[name], texts) if name in known else "not computed") for name in names]
        yield from _section(title, rows if values else list(_folded(rows)), width)
    if values:
        yield from _values(analysed, texts, width)
    for history in traced:
        yield from _trace(history, texts, width)
    if traced:
        origin = quote(analysed.origin)
        yield from _hint(f"where a dim comes from: absint explain {origin} {quote(traced[0].place + '[0]')}", width)
    rest = [
        *_summary(analysed, texts, width),
        *_required(analysed, texts, width),
        *_unknown(analysed, texts, width, values=values),
        *_claims(analysed, texts, width),
    ]
    yield from definitions(texts, width)
    yield from rest
    yield from diagnostics(all_diagnostics(analysed), width)
    for requirement, lines in (missing or {}).items():
        yield from _missing(requirement, lines, width)
    if timings is not None:
        yield from _timings(timings, width)


def semantics(name: str) -> Iterator[Line]:
    """The runs that an answer is about; nothing for those of either semantics."""
    if name != EITHER:
        yield Line(f"of runs {'by the documents of ONNX' if name == ONNX else 'in onnxruntime'} alone")


def assumed(analysed: Analysed, width: int, more: Sequence[str] = ()) -> Iterator[Line]:
    """The sizes and relations that the caller has given, and the runs; nothing without any."""
    yield from semantics(analysed.semantics)
    if analysed.assumptions or more:
        text = f"assuming {', '.join(map(str, (*analysed.assumptions, *more)))}"
        yield from map(Line, wrapped(plain(text), width, 2))


def table(analysed: Analysed) -> str:
    """The report as one text."""
    return "\n".join(line.text for line in report(analysed, _UNBROKEN))


def _timings(timings: Timings, width: int) -> Iterator[Line]:
    """Phases, the share of remembered results, and the rules that took most of the time."""
    rows = [(name, f"{1000 * tally.seconds:,.1f} ms") for name, tally in timings.phases.items()]
    share = f"{100 * timings.remembered:.1f} %"
    rows.append(("visits", f"{timings.visits:,}, {timings.applications:,} rules run, {share} remembered"))
    yield from _section("time", rows, width)
    slowest = sorted(timings.rules.items(), key=lambda item: (-item[1].seconds, item[0]))
    rows = [
        (operator, f"{1000 * tally.seconds:,.1f} ms  {tally.count:,} {'run' if tally.count == 1 else 'runs'}")
        for operator, tally in slowest[:SHOWN_OF_A_KIND]
    ]
    if len(slowest) > SHOWN_OF_A_KIND:
        rest = sum(tally.seconds for _, tally in slowest[SHOWN_OF_A_KIND:])
        rows.append((f"and {len(slowest) - SHOWN_OF_A_KIND} more", f"{1000 * rest:,.1f} ms"))
    yield from _section("rules by time", rows, width)


def _title(analysed: Analysed) -> Iterator[Line]:
    model = analysed.loaded.model
    opsets = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    versions = ", ".join(f"{plain(domain)} {version}" for domain, version in opsets.items())
    nodes = len(model.graph.node)
    yield Line(
        f"{plain(analysed.origin)}: {nodes:,} {'node' if nodes == 1 else 'nodes'}, opset {versions or 'unknown'}",
        "bold",
    )


def _section(title: str, rows: Sequence[tuple[str, str]], width: int) -> Iterator[Line]:
    yield Line("")
    yield Line(title, "bold")
    if not rows:
        yield Line("  none")
    for text in aligned(rows, width):
        yield Line(text)


def definitions(texts: Where, width: int) -> Iterator[Line]:
    """The names of long expressions that a document uses, each with what it stands for; nothing without any."""
    found = texts.definitions
    if found:
        yield from _section("where", [(name, f"= {text}") for name, text in found.items()], width)


def _values(analysed: Analysed, texts: Where, width: int) -> Iterator[Line]:
    for path, group in groupby(computed(analysed), key=lambda row: row.path):
        rows = [(row.name, f"{described(row.value, texts)}  ({row.operator})") for row in group]
        yield from _section(f"values of {plain(path)}" if path else "values", rows, width)


def _trace(history: Traced, texts: Where, width: int) -> Iterator[Line]:
    rows = [(f"visit {change.visit}", described(change.value, texts)) for change in history.changes]
    yield from _section(f"trace of {plain(history.place)} ({plain(history.node)})", rows, width)


def _hint(text: str, width: int) -> Iterator[Line]:
    yield from (Line(part, "dim") for part in wrapped(f"  ({plain(text)})", width, 4))


def _claims(analysed: Analysed, texts: Where, width: int) -> Iterator[Line]:
    """Relations that an unsound policy takes for granted; of many the first few."""
    taken = claims(analysed)
    if taken:
        stated = [(texts.relation(claim.relation), f"{claim.node}: {claim.reason}") for claim in taken]
        found = list(dict.fromkeys(stated))
        more = len(found) - SHOWN_OF_A_KIND
        rows = [*found[:SHOWN_OF_A_KIND], *([(f"and {more:,} more", "")] if more > 0 else [])]
        yield from _section("taken for granted", rows, width)


def _folded(rows: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Of many values of one type in a row, as a cache has, the first ones and the number of the others."""
    for text, group in groupby(rows, key=lambda row: row[1]):
        alike = list(group)
        shown = alike if len(alike) <= _ALIKE else alike[:SHOWN_ALIKE]
        yield from shown
        if len(shown) < len(alike):
            yield f"and {len(alike) - len(shown):,} more", f"{text}  (all: --values)"


def _required(analysed: Analysed, texts: Where, width: int) -> Iterator[Line]:
    """The requirements of nodes on the sizes of the inputs, as they stand; of many the first."""
    found = required(analysed)
    rows = [(brief(needed.relation, texts), _stating(analysed, needed)) for needed in found[:SHOWN_FIRST]]
    if len(found) > SHOWN_FIRST:
        rows.append((f"and {len(found) - SHOWN_FIRST:,} more", "the shortest form: absint contract"))
    if rows:
        yield from _section("required", rows, width)


def _stating(analysed: Analysed, needed: Needed) -> str:
    """The first node that states a requirement, with its reason, and the number of others."""
    more = len(needed.nodes) - 1
    rest = f", and {more:,} more {'node' if more == 1 else 'nodes'}" if more else ""
    return f"{analysed.nodes[needed.nodes[0]]}: {needed.reason}{rest}"


def _unknown(analysed: Analysed, texts: Where, width: int, *, values: bool) -> Iterator[Line]:
    """The numbers that only a run tells, where each begins, and its bounds: sizes, of many the first few, or all."""
    found = first_unknown(analysed) if values or totals(analysed).unknown else {}
    if not found and not (values and analysed.names):
        return
    from absint.questions.explain.fresh import fresh_symbols

    known = {fresh.name: fresh for fresh in fresh_symbols(analysed)}
    names = list(dict.fromkeys([*found, *known])) if values else list(found)
    shown = names if values else names[:SHOWN_FIRST]
    rows = [(name, _born(name, known.get(name), found.get(name), texts)) for name in shown]
    if len(shown) < len(names):
        rows.append((f"and {len(names) - len(shown):,} more", "all: --values; each in full: absint explain"))
    yield from _section("unknown until a run", rows, width)


def _born(name: str, fresh: FreshSymbol | None, row: Row | None, texts: Where) -> str:
    """The bounds of a symbol, and where it begins: `0 <= _d0 <= 4*N  data-dependent: NonZero nz; first at found`."""
    first = f"first at {row.place}" if row is not None else ""
    if fresh is None:
        return first
    least = "" if fresh.least is None else f"{texts.amount(fresh.least)} <= "
    most = "" if fresh.most is None else f" <= {texts.amount(fresh.most)}"
    bounds = f"{least}{name}{most}  " if least or most else ""
    return f"{bounds}{fresh.why}: {fresh.label}{'; ' if first else ''}{first}"


def _summary(analysed: Analysed, texts: Where, width: int) -> Iterator[Line]:
    counts = totals(analysed)
    ranks = "every rank known" if not counts.unranked else f"{counts.unranked:,} of unknown rank"
    kinds = f"{counts.concrete:,} concrete, {counts.expression:,} expressions, {counts.unknown:,} unknown"
    without = ", ".join(f"{operator} ({count:,})" for operator, count in analysed.unruled.most_common(SHOWN_OF_A_KIND))
    more = len(analysed.unruled) - SHOWN_OF_A_KIND
    rows = [
        ("symbols", ", ".join(analysed.symbols) or "none"),
        *([("elements", ", ".join(analysed.elements))] if analysed.elements else []),
        ("values", f"{counts.values:,} computed, {ranks}"),
        ("dims", f"{counts.dims:,}: {kinds}"),
        ("no rule", (without + (f", and {more:,} more" if more > 0 else "")) or "none"),
    ]
    if analysed.inferred:
        rows.append(
            ("by schema", ", ".join(f"{operator} ({count:,})" for operator, count in analysed.inferred.items()))
        )
    if analysed.trusted:
        count = len(analysed.trusted)
        rest = ", ..." if count > SHOWN_ALIKE else ""
        shown = ", ".join(item.where for item in analysed.trusted[:SHOWN_ALIKE]) + rest
        rows.append(("trusting", f"{count:,} {'declaration' if count == 1 else 'declarations'}: {shown}"))
    premises = all_premises(analysed)
    if premises:
        rows.append(("assuming", in_short(premises, texts)))
    yield from _section("totals", rows, width)


def diagnostics(found: Sequence[Diagnostic], width: int, rest: str = "--format json") -> Iterator[Line]:
    """Diagnostics by severity and code; of each code only the first few. `rest` shows the others."""
    for severity in Severity:
        of_severity = [d for d in found if d.severity is severity]
        if not of_severity:
            continue
        yield Line("")
        word = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}[severity]
        yield Line(f"{len(of_severity):,} {word}{'' if len(of_severity) == 1 else 's'}", _STYLES[severity])
        by_code: dict[str, list[Diagnostic]] = {}
        for d in of_severity:
            by_code.setdefault(d.code, []).append(d)
        for code, items in by_code.items():
            for d in items[:SHOWN_OF_A_KIND]:
                # A hint about a text is followed by the text and a caret.
                first, *pointed = d.message.split("\n") if code == "dim-text" else [d.message]
                yield from map(Line, wrapped(f"  {plain(d.where)}: {plain(first)} [{code}]", width, 6))
                yield from (Line(f"  {plain(line)}") for line in pointed)
            if len(items) > SHOWN_OF_A_KIND:
                yield Line(f"  and {len(items) - SHOWN_OF_A_KIND:,} more [{code}] (all: {rest})")


def _missing(requirement: str, lines: Sequence[str], width: int) -> Iterator[Line]:
    yield Line("")
    if not lines:
        yield Line(f"required {requirement}: complete", "green")
        return
    yield Line(f"required {requirement}: {len(lines):,} missing", "bold red")
    for line in lines[:SHOWN_MISSING]:
        yield from map(Line, wrapped(f"  {plain(line)}", width, 6))
    if len(lines) > SHOWN_MISSING:
        yield Line(f"  and {len(lines) - SHOWN_MISSING:,} more (all: --format json)")


def aligned(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Two columns. The second is broken at spaces; a name that takes over half of the width has a line for itself."""
    cells = [(plain(name), plain(text)) for name, text in rows]
    share = width // 2 - 2
    room = max((len(name) for name, _ in cells if len(name) <= share), default=4)
    for name, text in cells:
        if len(name) > room:
            yield f"  {name}"
            name = ""
        yield from wrapped(f"  {name.ljust(room)}  {text}", width, room + 4)


def wrapped(text: str, width: int, indent: int) -> Iterator[str]:
    """The text in lines of the width, broken after a comma in the right half, else at a space.

    Lines after the first are indented, less where a name would not fit otherwise.
    """
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    indent = used = indent if indent <= width - 20 else 6
    while len(text) > width:
        at = text.rfind(", ", used + 1, width) + 1
        if at <= max(used, width // 2):
            at = text.rfind(" ", used + 1, width + 1)
        if at <= used:
            at = text.find(" ", width)
            if at < 0:
                break
        yield text[:at].rstrip()
        rest = text[at:].lstrip()
        used = min(indent, max(width - len(rest.partition(" ")[0]), 2))
        text = " " * used + rest
    yield text
