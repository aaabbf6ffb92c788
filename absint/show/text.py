"""The sheets of an analysis and of a check at one size, and lines written to a terminal, a pipe or a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TextIO

from absint.diagnostics import Diagnostic, Severity
from absint.lattices.shape import TOP_SHAPE
from absint.lattices.text import sheets
from absint.lattices.text.escapes import one_line, plain
from absint.lattices.text.naming import Names
from absint.lattices.text.sheets import MAX_ROWS, UNBROKEN, Line, Part, Sheet, Table, defined, listed, so_many
from absint.lattices.value import Tensor, Value
from absint.questions.claims.judging import diagnostics as all_diagnostics
from absint.questions.proofs.requirements import Needed, all_premises, required
from absint.show.summary import Row, computed, first_unknown, nodes_in_words, totals
from absint.solution.described import described
from absint.solution.naming import brief, claims, in_short, names_of, runs_alone

if TYPE_CHECKING:
    from absint.questions.explain.fresh import FreshSymbol
    from absint.questions.sizes.outcomes import Check
    from absint.shapes.timings import Timings
    from absint.show.summary import Traced
    from absint.solution.analysed import Analysed

SHOWN_OF_A_KIND: Final = 10
SHOWN_MISSING: Final = 20
SHOWN_FIRST: Final = 5
SHOWN_ALIKE: Final = 3
_ALIKE: Final = 8
_SHOWN_ROWS: Final = 20
_STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


def write(parts: Iterable[Part], out: TextIO | None = None, *, commands: bool = False) -> None:
    """Print the lines, with their styles if the output is a terminal; `commands` of a CI are escaped if not wanted."""
    out = out if out is not None else sys.stdout
    escaped = plain if commands else one_line
    lines = sheets.rendered(parts, width_of(out))
    if not out.isatty():
        out.writelines(f"{escaped(line.text)}\n" for line in lines)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, highlight=False, markup=False, emoji=False, soft_wrap=True)
    for line in lines:
        console.print(Text(escaped(line.text), line.style))


def answer(
    form: str,
    document: Callable[[], str],
    parts: Callable[[], Iterable[Part]],
    others: Mapping[str, Callable[[], str]] = MappingProxyType({}),
    *,
    to_stderr: bool = False,
) -> None:
    """Print an answer as JSON, as text, or in one of the other forms, by their names."""
    if form == "text":
        write(parts(), sys.stderr if to_stderr else None)
        return
    text = document() if form == "json" else others[form]()
    print(text, end="" if text.endswith("\n") else "\n")


def width_of(out: TextIO | None = None) -> int:
    """The width of a line: the terminal's, or no limit without one."""
    out = out if out is not None else sys.stdout
    if not out.isatty():
        return UNBROKEN
    import shutil

    return max(shutil.get_terminal_size().columns, 40)


def report(
    analysed: Analysed,
    *,
    values: bool = False,
    missing: Mapping[str, Sequence[str]] | None = None,
    traced: Sequence[Traced] = (),
    timings: Timings | None = None,
    texts: Names | None = None,
) -> Iterator[Part]:
    """The parts of `absint analyze`. `texts` wrote what is `missing`."""
    yield sheet(analysed, texts or names_of(analysed), values=values, traced=traced)
    yield from diagnostics(all_diagnostics(analysed))
    for requirement, lines in (missing or {}).items():
        yield from _missing(requirement, lines)
    if timings is not None:
        yield from _timings(timings)


def sheet(
    analysed: Analysed, texts: Names, *, values: bool = False, most: int = SHOWN_FIRST, traced: Sequence[Traced] = ()
) -> Sheet:
    """What was found, diagnostics apart: of requirements and unknown sizes as many as are wanted."""
    folded = most == SHOWN_FIRST and not values
    parts: list[Part] = list(assumed(analysed))
    if not analysed.policy.sound:
        said = f"{analysed.policy.label}: what is shown are claims, which may be false"
        parts.append(Line(said, _STYLES[Severity.WARNING]))
    known = analysed.values
    for title, names in (("inputs", analysed.inputs), ("outputs", analysed.outputs)):
        rows = [(name, described(known[name], texts) if name in known else "not computed") for name in names]
        parts.append(Table(title, (list(_folded(rows)) if folded else rows) or [("none",)]))
    if values:
        parts += _values(analysed, texts)
    parts += [_trace(history, texts) for history in traced]
    if traced:
        origin, place = quote(analysed.origin), quote(traced[0].place + "[0]")
        parts.append(Line(f"  (where a dim comes from: absint explain {origin} {place})", "dim"))
    rest = [
        _summary(analysed, texts),
        _required(analysed, texts, most),
        _unknown(analysed, texts, UNBROKEN if values else most, values=values),
        _claims(analysed, texts),
    ]
    return Sheet(_title(analysed), [*parts, defined(texts), *rest])


def check_sheet(analysed: Analysed, check: Check, *, values: bool = False) -> Sheet:
    """The shapes of outputs (of all values, if wanted) at these sizes, or the node that fails."""
    named = {"outputs": list(analysed.outputs)}
    if values:
        of_graph = {*analysed.outputs, *analysed.inputs}
        named["other values"] = [name for name in check.shapes if name not in of_graph]
    tables = [
        Table(title, [(name, _shape(analysed.values.get(name), check, name)) for name in names] or [("none",)])
        for title, names in named.items()
    ]
    return check.sheet(names_of(analysed), tables)


def _shape(value: Value | None, check: Check, name: str) -> str:
    """The type and the sizes, with `?` for a data-dependent one."""
    dtype = f"{value.dtype} " if isinstance(value, Tensor) else ""
    shape = check.shapes.get(name)
    if shape is not None:
        return f"{dtype}[{', '.join('?' if size is None else str(size) for size in shape)}]"
    found = value.shape.substitute(dict(check.sizes)) if isinstance(value, Tensor) else TOP_SHAPE
    is_known = found.variable is not None and not found.free_symbols
    return f"{dtype}{found if is_known else 'not a tensor of known rank'}"


def assumed(analysed: Analysed, more: Sequence[str] = ()) -> list[Line]:
    """The sizes and relations that the caller has given, and the runs; nothing without any."""
    given = ", ".join(map(str, (*analysed.assumptions, *more)))
    return [*runs_alone(analysed.semantics), *([Line(f"assuming {given}")] if given else [])]


def cut(rows: Sequence[tuple[str, ...]], word: str, *, everything: bool) -> Sequence[tuple[str, ...]]:
    """The first rows, and the number of those that `--all` shows beside them."""
    left = 0 if everything else max(len(rows) - _SHOWN_ROWS, 0)
    return [*rows[:_SHOWN_ROWS], (f"and {so_many(left, f'more {word}')} (all: --all)",)] if left else rows


def weights_note(files: Sequence[str], target: str, way_out: str = "") -> Iterator[Line]:
    """Where the weights of a copy are, if they are not beside it."""
    if files:
        more = f" and {len(files) - 1} more files" if len(files) > 1 else ""
        folder = os.path.dirname(os.path.realpath(target))
        yield Line(
            f"note: the weights stay in {files[0]}{more}, which runtimes look for beside the model: "
            f"copy or link them into {folder}{way_out}"
        )


def table(analysed: Analysed) -> str:
    """The report as one text."""
    return sheets.written(report(analysed))


def notebook(analysed: Analysed) -> str:
    """The same for a notebook, with all values of the main graph's signature and all diagnostics."""
    found = all_diagnostics(analysed)
    said = [(d.severity.value, d.where, d.message, d.code) for s in Severity for d in found if d.severity is s]
    return sheet(analysed, names_of(analysed), most=MAX_ROWS).html() + Table("diagnostics", said).html()


def _timings(timings: Timings) -> Iterator[Table]:
    """Phases, the share of remembered results, and the rules that took most of the time."""
    rows = [(name, f"{1000 * tally.seconds:,.1f} ms") for name, tally in timings.phases.items()]
    share = f"{100 * timings.remembered:.1f} %"
    yield Table(
        "time", [*rows, ("visits", f"{timings.visits:,}, {timings.applications:,} rules run, {share} remembered")]
    )
    slowest = sorted(timings.rules.items(), key=lambda item: (-item[1].seconds, item[0]))
    rows = [(operator, f"{1000 * tally.seconds:,.1f} ms  {so_many(tally.count, 'run')}") for operator, tally in slowest]
    rest = sum(tally.seconds for _, tally in slowest[SHOWN_OF_A_KIND:])
    yield Table("rules by time", rows or [("none",)], SHOWN_OF_A_KIND, f"{1000 * rest:,.1f} ms")


def _title(analysed: Analysed) -> Line:
    model = analysed.loaded.model
    opsets = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    versions = ", ".join(f"{domain} {version}" for domain, version in opsets.items())
    return Line(f"{analysed.origin}: {nodes_in_words(analysed)}, opset {versions or 'unknown'}", "bold")


def _values(analysed: Analysed, texts: Names) -> Iterator[Table]:
    for path, group in groupby(computed(analysed), key=lambda row: row.path):
        rows = [(row.name, f"{described(row.value, texts)}  ({row.operator})") for row in group]
        yield Table(f"values of {path}" if path else "values", rows)


def _trace(history: Traced, texts: Names) -> Table:
    rows = [(f"visit {change.visit}", described(change.value, texts)) for change in history.changes]
    return Table(f"trace of {history.place} ({history.node})", rows or [("none",)])


def _claims(analysed: Analysed, texts: Names) -> Table:
    """Relations that an unsound policy takes for granted; of many the first few."""
    stated = [(texts.relation(claim.relation), f"{claim.node}: {claim.reason}") for claim in claims(analysed)]
    return Table("taken for granted", list(dict.fromkeys(stated)), SHOWN_OF_A_KIND)


def _folded(rows: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Of many values of one type in a row, as a cache has, the first ones and the number of the others."""
    for text, group in groupby(rows, key=lambda row: row[1]):
        alike = list(group)
        shown = alike if len(alike) <= _ALIKE else alike[:SHOWN_ALIKE]
        yield from shown
        if len(shown) < len(alike):
            yield f"and {len(alike) - len(shown):,} more", f"{text}  (all: --values)"


def _required(analysed: Analysed, texts: Names, most: int) -> Table:
    """The requirements of nodes on the sizes of the inputs, as they stand; of many the first."""
    found = required(analysed)
    rows = [(brief(needed.relation, texts), _stating(analysed, needed)) for needed in found[:most]]
    return Table("required", rows, most, "the shortest form: absint contract", len(found))


def _stating(analysed: Analysed, needed: Needed) -> str:
    """The first node that states a requirement, with its reason, and the number of others."""
    more = len(needed.nodes) - 1
    rest = f", and {so_many(more, 'more node')}" if more else ""
    return f"{analysed.nodes[needed.nodes[0]]}: {needed.reason}{rest}"


def _unknown(analysed: Analysed, texts: Names, most: int, *, values: bool) -> Table:
    """The numbers that only a run tells, where each begins, and its bounds: sizes, of many the first few, or all."""
    found = first_unknown(analysed) if values or totals(analysed).unknown else {}
    title = "unknown until a run"
    if not found and not (values and analysed.names):
        return Table(title, ())
    from absint.questions.explain.fresh import fresh_symbols

    known = {fresh.name: fresh for fresh in fresh_symbols(analysed)}
    names = list(dict.fromkeys([*found, *known]) if values else found)
    rows = [(name, _born(name, known.get(name), found.get(name), texts)) for name in names[:most]]
    return Table(title, rows, most, "all: --values; each in full: absint explain", len(names))


def _born(name: str, fresh: FreshSymbol | None, row: Row | None, texts: Names) -> str:
    """The bounds of a symbol, and where it begins: `0 <= _d0 <= 4*N  data-dependent: NonZero nz; first at found`."""
    first = f"first at {row.place}" if row is not None else ""
    if fresh is None:
        return first
    least = "" if fresh.least is None else f"{texts.amount(fresh.least)} <= "
    most = "" if fresh.most is None else f" <= {texts.amount(fresh.most)}"
    bounds = f"{least}{name}{most}  " if least or most else ""
    return f"{bounds}{fresh.why}: {fresh.label}{'; ' if first else ''}{first}"


def _summary(analysed: Analysed, texts: Names) -> Table:
    counts = totals(analysed)
    ranks = "every rank known" if not counts.unranked else f"{counts.unranked:,} of unknown rank"
    kinds = f"{counts.concrete:,} concrete, {counts.expression:,} expressions, {counts.unknown:,} unknown"
    without = ", ".join(f"{operator} ({count:,})" for operator, count in analysed.unruled.most_common(SHOWN_OF_A_KIND))
    more = len(analysed.unruled) - SHOWN_OF_A_KIND
    rows = [
        ("symbols", ", ".join(analysed.symbols) or "none"),
        ("elements", ", ".join(analysed.elements)),
        ("values", f"{counts.values:,} computed, {ranks}"),
        ("dims", f"{counts.dims:,}: {kinds}"),
        ("no rule", (without + (f", and {more:,} more" if more > 0 else "")) or "none"),
        ("by schema", ", ".join(f"{operator} ({count:,})" for operator, count in analysed.inferred.items())),
    ]
    if analysed.trusted:
        count = len(analysed.trusted)
        rest = ", ..." if count > SHOWN_ALIKE else ""
        shown = ", ".join(item.where for item in analysed.trusted[:SHOWN_ALIKE]) + rest
        rows.append(("trusting", f"{so_many(count, 'declaration')}: {shown}"))
    premises = all_premises(analysed)
    rows.append(("assuming", in_short(premises, texts) if premises else ""))
    return Table("totals", [row for row in rows if row[1]])


def diagnostics(found: Sequence[Diagnostic], rest: str = "--format json") -> Iterator[Line]:
    """Diagnostics by severity and code, equal ones in one line; of each code only the first few. `rest` shows all."""
    for severity in Severity:
        of_severity = [d for d in found if d.severity is severity]
        if not of_severity:
            continue
        yield Line("")
        word = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}[severity]
        yield Line(so_many(len(of_severity), word), _STYLES[severity])
        by_code: dict[str, dict[str, list[Diagnostic]]] = {}
        for d in of_severity:
            by_code.setdefault(d.code, {}).setdefault(d.message, []).append(d)
        for code, alike in by_code.items():
            for message, (d, *others) in list(alike.items())[:SHOWN_OF_A_KIND]:
                # A hint about a text is followed by the text and a caret.
                first, *pointed = message.split("\n") if code == "dim-text" else [message]
                more = f", and {len(others):,} more" if others else ""
                yield Line(f"  {d.where}{more}: {first} [{code}]")
                yield from (Line(f"  {line}") for line in pointed)
            if left := sum(map(len, list(alike.values())[SHOWN_OF_A_KIND:])):
                yield Line(f"  and {left:,} more [{code}] (all: {rest})")


def _missing(requirement: str, lines: Sequence[str]) -> Iterator[Part]:
    yield Line("")
    if not lines:
        yield Line(f"required {requirement}: complete", "green")
        return
    yield Line(f"required {requirement}: {len(lines):,} missing", "bold red")
    yield listed("", lines, SHOWN_MISSING)
