"""Frozen models, refused sizes, and the fewest symbols to fix, as text and as JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from absint.lattices.logic.relation import FALSE
from absint.lattices.text.escapes import json_text, plain
from absint.questions.sizes.outcomes import doubt, place_of
from absint.show.checks import failing, listed
from absint.show.documents import head_of
from absint.show.relations import brief, plural, reason, sizes
from absint.show.text import Line, wrapped
from absint.solution.naming import where

if TYPE_CHECKING:
    from absint.jobs.freezing.dynamic import Cause, DynamicValue
    from absint.jobs.freezing.fewest import Fewest
    from absint.jobs.freezing.freeze import Frozen
    from absint.jobs.freezing.sizes import IllegalSizesError
    from absint.result import Result

_SHOWN: Final = 10


def report(result: Result, found: Frozen, width: int) -> Iterator[Line]:
    """The file written, the nodes gone, and the sizes still dynamic."""
    at = plain(sizes({**found.given, **found.derived})) or "no symbols"
    yield Line(f"{plain(found.path)}: {plain(result.origin)} at {at}", "bold")
    if found.derived:
        other = "size is" if len(found.derived) == 1 else "sizes are"
        yield from map(Line, wrapped(f"  {plain(sizes(found.derived))}: no other {other} legal with these", width, 4))
    yield Line(f"  nodes         {found.nodes_before:,} -> {found.nodes:,}{_how(found)}")
    if found.removed:
        what = "is a constant" if len(found.removed) == 1 else "are constants"
        yield Line(f"  inputs        {plain(', '.join(found.removed))} {what}")
    if found.dropped:
        yield Line(f"  initialisers  {len(found.dropped):,} dropped")
    yield Line(f"  bytes         {found.bytes_before:,} -> {found.bytes:,}")
    if found.calls:
        calls = f"{found.calls:,} {plural('call', found.calls)}"
        yield Line(f"  functions     {calls}: their bodies stay as they are")
    yield from _dynamic(found, width)
    yield from listed("sizes of the other symbols are legal if", [_clause(result, c) for c in found.clauses], width)
    yield from failing(found.possible_failures, width)
    yield from listed("other sizes if a loop has no trip", list(found.without_trip), width)
    yield from listed("types left out", [str(item) for item in found.left_out], width)
    if found.unchecked:
        yield Line(f"note: it is not known whether the copy loads: {plain(found.unchecked)}")
    if found.weights_elsewhere:
        names = found.weights_elsewhere
        more = f" and {len(names) - 1} more files" if len(names) > 1 else ""
        folder = Path(os.path.realpath(found.path)).parent
        yield Line(
            f"note: the weights stay in {plain(names[0])}{more}, which runtimes look for beside the model: "
            f"copy or link them into {plain(str(folder))}"
        )


def _how(found: Frozen) -> str:
    parts = []
    if found.folded:
        parts.append(f"{found.folded:,} {plural('constant', found.folded)}")
    if found.inlined:
        parts.append(f"{found.inlined:,} decided {plural('If', found.inlined)}")
    return f"  ({', '.join(parts)})" if parts else ""


def _clause(result: Result, clause: object) -> str:
    from absint.solver.contracts.contract import Clause

    assert isinstance(clause, Clause)
    return brief(clause.relation, where(result))


def _dynamic(found: Frozen, width: int) -> Iterator[Line]:
    """The outputs that are not static, and the causes of all sizes that are no numbers."""
    if not found.dynamic:
        yield Line("  every size is a number", "green")
        return
    if found.dynamic.outputs:
        yield from listed("still dynamic outputs", [_value(value) for value in found.dynamic.outputs], width)
    else:
        yield Line("  every output is static", "green")
    rows = [f"{cause}: {count:,} {plural('value', count)}" for cause, count in found.dynamic.causes.items()]
    yield from listed("still dynamic because of", rows, width)


def _value(value: DynamicValue) -> str:
    causes = ", ".join(map(str, value.causes[:3])) + (", ..." if len(value.causes) > 3 else "")
    return f"{value.name} {value.shape}" + (f"  ({causes})" if causes else "")


def refused(error: IllegalSizesError, width: int) -> Iterator[Line]:
    """Sizes at which the model cannot run."""
    at = f" at {plain(sizes(error.sizes))}" if error.sizes else ""
    yield Line(f"illegal{at}, nothing is written", "bold red")
    failure = error.failure
    yield from map(Line, wrapped(f"  {plain(reason(failure.origin, failure.reason))}", width, 6))
    if failure.relation not in ("", str(FALSE)):
        yield from map(Line, wrapped(f"  which needs {plain(failure.relation)}", width, 6))
    if error.nearest is not None:
        yield from map(Line, wrapped(plain(error.nearest.line), width, 2))


def fewest(result: Result, found: Fewest, width: int) -> Iterator[Line]:
    """The fewest symbols to fix."""
    if not found.choices:
        yield Line(f"{plain(result.origin)}: {found.reason}", "bold yellow")
        return
    first, *others = found.choices
    if first:
        yield Line(f"{plain(result.origin)}: fix {_names(first)}", "bold")
        for names in others:
            yield Line(f"  or fix {_names(names)}")
    else:
        yield Line(f"{plain(result.origin)}: no symbol has to be fixed", "bold")
    for name, text in found.follow.items():
        yield Line(f"  {plain(name)} follows" + (f": it is {plain(text)}" if text else ""))
    if found.unused:
        yield Line(f"  no computed size hangs on {_names(found.unused)}")
    if found.reason:
        yield Line(f"  fewer may do: {found.reason}", "yellow")
    if not found.by_data:
        yield Line("  then every computed size is a number", "green")
        return
    causes: dict[Cause, int] = {}
    for value in found.by_data:
        for cause in value.causes:
            causes[cause] = causes.get(cause, 0) + 1
    rows = [f"{cause}: {count:,} {plural('value', count)}" for cause, count in causes.items()]
    at = f" at {plain(sizes(found.sizes))}" if found.sizes else ""
    yield from listed(f"still dynamic{at}, because of", rows, width)
    outputs = [value for value in found.by_data if value.name in result.outputs]
    yield from listed("among them the outputs", [_value(value) for value in outputs], width)


def _names(names: tuple[str, ...]) -> str:
    shown = [plain(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


# JSON


def document(result: Result, found: Frozen) -> str:
    """As a JSON object, schema `absint.freeze/2`."""
    return json_text(
        {
            **_head(result),
            "written": True,
            "output": found.path,
            "sizes": dict(found.given),
            "derived": dict(found.derived),
            "nodes_before": found.nodes_before,
            "nodes": found.nodes,
            "folded": found.folded,
            "inlined": found.inlined,
            "dropped": list(found.dropped),
            "removed": list(found.removed),
            "bytes_before": found.bytes_before,
            "bytes": found.bytes,
            "calls": found.calls,
            "static": found.is_static,
            "outputs": [_entry(value) for value in found.dynamic.outputs],
            "inner": [_entry(value) for value in found.dynamic.inner],
            "clauses": [_clause(result, clause) for clause in found.clauses],
            "doubts": [doubt(failure, where(result)) for failure in found.possible_failures],
            "without_trip": list(found.without_trip),
            "left_out": [str(item) for item in found.left_out],
            "weights_elsewhere": list(found.weights_elsewhere),
            "unchecked": found.unchecked,
            "definitions": dict(found.dynamic.definitions),
        },
        indent=1,
    )


def refused_document(result: Result, error: IllegalSizesError) -> str:
    """As a JSON object, schema `absint.freeze/2`."""
    failure = error.failure
    return json_text(
        {
            **_head(result),
            "written": False,
            "sizes": dict(error.sizes),
            "failure": place_of(failure.origin, failure.reason) | {"requirement": failure.relation},
            "nearest": None if error.nearest is None else error.nearest.document(),
        },
        indent=1,
    )


def fewest_document(result: Result, found: Fewest) -> str:
    """As a JSON object, schema `absint.freeze/2`."""
    return json_text(
        {
            **_head(result),
            "written": False,
            "choices": [list(names) for names in found.choices],
            "follow": dict(found.follow),
            "unused": list(found.unused),
            "by_data": [_entry(value) for value in found.by_data],
            "sizes": dict(found.sizes),
            "reason": found.reason,
        },
        indent=1,
    )


def _head(result: Result) -> Mapping[str, object]:
    return head_of("absint.freeze/2", result)


def _entry(value: DynamicValue) -> Mapping[str, object]:
    entry: dict[str, object] = {"name": value.name, "shape": None if value.dims is None else list(value.dims)}
    if value.open_dims is not None:
        entry["open_shape"] = list(value.open_dims)
    return {**entry, "causes": [str(cause) for cause in value.causes]}


__all__ = ["document", "fewest", "fewest_document", "refused", "refused_document", "report"]
