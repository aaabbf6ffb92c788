"""Checks of sizes as text: one size of each symbol, or a box of sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from absint.lattices.logic.relation import FALSE
from absint.lattices.shape import TOP_SHAPE
from absint.lattices.terms.expr import MAX_DIM
from absint.lattices.text.escapes import format_sizes, plain
from absint.lattices.text.naming import Where
from absint.lattices.value import Tensor
from absint.program.limits import LIMITED
from absint.show.relations import failures_by_reason, plural, reason, stated
from absint.show.text import Line, aligned, definitions, semantics, wrapped
from absint.solution.naming import where
from absint.solver.constraints import Constraint, PossibleFailure, by_kind

if TYPE_CHECKING:
    from absint.questions.sizes.outcomes import Check, Failure, RangeCheck
    from absint.result import Result

_SHOWN: Final = 10


def check_report(result: Result, check: Check, width: int, *, values: bool = False) -> Iterator[Line]:
    """A check at one size: the shapes of outputs (of all values, if wanted), or the node that fails."""
    at = _at(check)
    yield from semantics(check.semantics)
    if check.failure is not None:
        yield Line(f"illegal{at}", "bold red")
        yield from _failure(check.failure, width)
        if check.nearest is not None:
            yield from map(Line, wrapped(check.nearest.line, width, 2))
        return
    yield from verdict(check)
    yield from _shapes(result, check, list(result.outputs), "outputs", width)
    if values:
        inner = [name for name in check.shapes if name not in result.outputs and name not in result.inputs]
        yield from _shapes(result, check, inner, "other values", width)
    texts = where(result)
    yield from _premises("these sizes break premises, so shapes may be others", check.premises, texts, width)
    yield from failing(check.possible_failures, width)
    shown = [f"{reason(d.failure.origin, d.failure.reason)} ({plain(d.by)})" for d in check.discharged]
    yield from listed("does not fail", shown, width)
    yield from definitions(texts, width)


def verdict(check: Check) -> Iterator[Line]:
    """The first line about one size."""
    at = _at(check)
    if check.failure is not None:
        yield Line(f"illegal{at}: {plain(str(check.failure))}", "bold red")
    elif check.outcome.value == "runs":
        yield Line(f"legal{at}, and no data make it fail", "bold green")
    elif check.outcome.value == "undecided":
        yield Line(f"undecided{at}: {LIMITED}", "bold yellow")
    else:
        yield Line(f"legal{at}", "bold green")


def _at(check: Check) -> str:
    """The sizes, and what the caller assumes."""
    at = f" at {format_sizes(check.sizes)}" if check.sizes else ""
    return at + (f", assuming {plain(' and '.join(map(str, check.assuming)))}" if check.assuming else "")


def range_report(check: RangeCheck, texts: Where, width: int) -> Iterator[Line]:
    """A check of a box of sizes."""
    box = f" for {plain(_box(check.box))}" if check.box else ""
    assuming = f", assuming {plain(' and '.join(map(str, check.assuming)))}" if check.assuming else ""
    box += assuming
    yield from semantics(check.semantics)
    match check.outcome.value:
        case "illegal":
            at = format_sizes(check.sizes or {})
            yield Line(f"illegal for some of {plain(_box(check.box))}{assuming}", "bold red")
            yield from map(Line, wrapped(f"  at {plain(at)}", width, 6))
            if check.failure is not None:
                yield from _failure(check.failure, width)
            return
        case "runs":
            yield Line(f"legal{box}, and no data make it fail", "bold green")
        case "legal":
            yield Line(f"legal{box}", "bold green")
        case _:
            yield Line(f"undecided{box}: {plain(check.reason)}", "bold yellow")
    title = "not shown" if check.reason else "data decide"
    yield from listed(title, [stated(c, texts) for c in check.open], width)
    yield from _premises("some sizes may break premises", check.premises, texts, width)
    yield from failing(check.possible_failures, width)
    yield from definitions(texts, width)


def _box(box: Mapping[str, tuple[int, int]]) -> str:
    return ", ".join(f"{name}{_ends(*ends)}" for name, ends in box.items())


def _ends(lo: int, hi: int) -> str:
    if lo == hi:
        return f"={lo}"
    if hi < MAX_DIM:
        return f"={lo}..{hi}"
    return f"={lo}.." if lo else " of any size"


def _failure(failure: Failure, width: int) -> Iterator[Line]:
    yield from map(Line, wrapped(f"  {plain(reason(failure.origin, failure.reason))}", width, 6))
    if failure.relation not in ("", str(FALSE)):
        yield from map(Line, wrapped(f"  which needs {plain(failure.relation)}", width, 6))


def _shapes(result: Result, check: Check, names: list[str], title: str, width: int) -> Iterator[Line]:
    yield Line("")
    yield Line(title, "bold")
    rows = [(name, f"{_type(result, name)}{_shape(result, check, name)}") for name in names]
    if not rows:
        yield Line("  none")
    yield from map(Line, aligned(rows, width))


def _type(result: Result, name: str) -> str:
    value = result.values.get(name)
    return f"{value.dtype} " if isinstance(value, Tensor) else ""


def _shape(result: Result, check: Check, name: str) -> str:
    """Sizes, with `?` for a data-dependent one."""
    shape = check.shapes.get(name)
    if shape is None:
        value = result.values.get(name)
        found = value.shape.substitute(dict(check.sizes)) if isinstance(value, Tensor) else TOP_SHAPE
        return "not a tensor of known rank" if found.variable is None or found.free_symbols else str(found)
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _premises(title: str, premises: Iterable[Constraint], texts: Where, width: int) -> Iterator[Line]:
    yield from listed(title, [stated(c, texts) for c in premises], width)


def failing(possible_failures: Iterable[PossibleFailure], width: int) -> Iterator[Line]:
    """Nodes that may fail, on data or for what rules leave out; many of one operator are one line."""
    for title, found in by_kind(dict.fromkeys(possible_failures)):
        rows = []
        for same in failures_by_reason(found).values():
            more = f", and {len(same) - 1:,} more {plural('node', len(same) - 1)}" if len(same) > 1 else ""
            rows.append(f"{reason(same[0].origin, same[0].reason)}{more}")
        yield from listed(title, rows, width)


def listed(title: str, rows: Sequence[str], width: int, shown: int = _SHOWN) -> Iterator[Line]:
    """A section with the first of the rows; nothing if there are none."""
    if rows:
        yield Line("")
        yield Line(title, "bold")
        for row in rows[:shown]:
            yield from map(Line, wrapped(f"  {plain(row)}", width, 6))
        if len(rows) > shown:
            yield Line(f"  and {len(rows) - shown:,} more (all: --format json)")
