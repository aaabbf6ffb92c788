"""Frozen models, refused sizes, and the fewest symbols to fix, as text and as JSON."""

from collections.abc import Iterator, Mapping
from typing import Final

from absint.jobs.freezing.dynamic import Cause, DynamicValue, Fewest, counted
from absint.jobs.freezing.freeze import Frozen
from absint.jobs.freezing.sizes import IllegalSizesError
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import format_sizes
from absint.lattices.text.forms import AMOUNT, SIZES, Key, Kind, Object, by_name, many, maybe
from absint.lattices.text.sheets import Line, Part, listed, so_many
from absint.questions.sizes.neighbours import NEIGHBOURS
from absint.questions.sizes.outcomes import FAILURE, failed, failing
from absint.result import Result
from absint.show.text import weights_note
from absint.solution.naming import brief, names_of
from absint.solver.constraints import DOUBT
from absint.solver.contracts.contract import Clause


def report(result: Result, found: Frozen) -> Iterator[Part]:
    """The file written, the nodes gone, and the sizes still dynamic."""
    at = format_sizes({**found.given, **found.derived}) or "no symbols"
    yield Line(f"{found.path}: {result.origin} at {at}", "bold")
    if found.derived:
        other = "size is" if len(found.derived) == 1 else "sizes are"
        yield Line(f"  {format_sizes(found.derived)}: no other {other} legal with these")
    yield Line(f"  nodes         {found.nodes_before:,} -> {found.nodes:,}{_how(found)}")
    if found.removed:
        what = "is a constant" if len(found.removed) == 1 else "are constants"
        yield Line(f"  inputs        {', '.join(found.removed)} {what}")
    if found.dropped:
        yield Line(f"  initialisers  {len(found.dropped):,} dropped")
    yield Line(f"  bytes         {found.bytes_before:,} -> {found.bytes:,}")
    if found.calls:
        yield Line(f"  functions     {so_many(found.calls, 'call')}: their bodies stay as they are")
    yield from _dynamic(found)
    yield listed(
        "sizes of the other symbols are legal if", [brief(c.relation, names_of(result)) for c in found.clauses]
    )
    yield from failing(found.possible_failures)
    yield listed("other sizes if a loop has no trip", found.without_trip)
    yield listed("types left out", found.left_out)
    if found.unchecked:
        yield Line(f"note: it is not known whether the copy loads: {found.unchecked}")
    yield from weights_note(found.weights_elsewhere, found.path)


def _how(found: Frozen) -> str:
    parts = []
    if found.folded:
        parts.append(so_many(found.folded, "constant"))
    if found.inlined:
        parts.append(so_many(found.inlined, "decided If"))
    return f"  ({', '.join(parts)})" if parts else ""


def _dynamic(found: Frozen) -> Iterator[Part]:
    """The outputs that are not static, and the causes of all sizes that are no numbers."""
    if not found.dynamic:
        yield Line("  every size is a number", "green")
        return
    if found.dynamic.outputs:
        yield listed("still dynamic outputs", map(_value, found.dynamic.outputs))
    else:
        yield Line("  every output is static", "green")
    yield listed("still dynamic because of", _causes(found.dynamic.causes))


def _causes(counts: Mapping[Cause, int]) -> Iterator[str]:
    return (f"{cause}: {so_many(count, 'value')}" for cause, count in counts.items())


def _value(value: DynamicValue) -> str:
    causes = ", ".join(map(str, value.causes[:3])) + (", ..." if len(value.causes) > 3 else "")
    return f"{value.name} {value.shape}" + (f"  ({causes})" if causes else "")


def refused(error: IllegalSizesError) -> Iterator[Part]:
    """Sizes at which the model cannot run."""
    at = f" at {format_sizes(error.sizes)}" if error.sizes else ""
    yield Line(f"illegal{at}, nothing is written", "bold red")
    yield from failed(error.failure)
    if error.nearest is not None:
        yield Line(error.nearest.line)


def fewest(result: Result, found: Fewest) -> Iterator[Part]:
    """The fewest symbols to fix."""
    if not found.choices:
        yield Line(f"{result.origin}: {found.reason}", "bold yellow")
        return
    first, *others = found.choices
    if first:
        yield Line(f"{result.origin}: fix {_names(first)}", "bold")
        for names in others:
            yield Line(f"  or fix {_names(names)}")
    else:
        yield Line(f"{result.origin}: no symbol has to be fixed", "bold")
    for name, text in found.follow.items():
        yield Line(f"  {name} follows" + (f": it is {text}" if text else ""))
    if found.unused:
        yield Line(f"  no computed size hangs on {_names(found.unused)}")
    if found.reason:
        yield Line(f"  fewer may do: {found.reason}", "yellow")
    if not found.by_data:
        yield Line("  then every computed size is a number", "green")
        return
    at = f" at {format_sizes(found.sizes)}" if found.sizes else ""
    yield listed(f"still dynamic{at}, because of", _causes(counted(found.by_data)))
    outputs = [value for value in found.by_data if value.name in result.outputs]
    yield listed("among them the outputs", map(_value, outputs))


def _names(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# JSON


_CLAUSE: Final = Kind[Clause]({"type": "string"}, lambda clause, names: brief(clause.relation, names))
_SHAPE: Final = maybe(many(AMOUNT))
_VALUES: Final = many(
    Object[DynamicValue](
        Key("name", str),
        Key("shape", _SHAPE, "null: the rank is unknown", lambda value: value.dims),
        Key(
            "open_shape",
            many(AMOUNT),
            "of unknown rank: the known sizes, and between them the name of the others, as `*X`",
            lambda value: value.open_dims or (),
            when=lambda value: value.open_dims is not None,
        ),
        Key("causes", many(str), "the symbols and nodes that it depends on"),
        name="dynamic",
    )
)
_TITLE: Final = "a model at fixed sizes (absint freeze)"
_WRITTEN: Final = "a copy was written"
_NODES: Final = "with those of subgraphs"

FROZEN: Final = Document[Frozen](
    "freeze",
    2,
    _TITLE,
    Key("written", bool, _WRITTEN, lambda found: True),
    Key("output", str, "its file", lambda found: found.path),
    Key("sizes", SIZES, "the sizes that were given, or tried", lambda found: found.given),
    Key("derived", SIZES, "those of other symbols that follow"),
    Key("nodes_before", int, f"nodes of the model, {_NODES}"),
    Key("nodes", int, f"nodes of the copy, {_NODES}"),
    Key("folded", int, "constants in place of nodes"),
    Key("inlined", int, "Ifs that became a branch"),
    Key("dropped", many(str), "initialisers that are gone"),
    Key("removed", many(str), "inputs whose elements are given: the copy does not have them"),
    Key("bytes_before", int, "of the model"),
    Key("bytes", int, "of the copy"),
    Key("calls", int, "function calls in the copy"),
    Key("static", bool, "every size is a number", lambda found: found.is_static),
    Key("outputs", _VALUES, "outputs with a size that is no number", lambda found: found.dynamic.outputs),
    Key("inner", _VALUES, "inner values with one", lambda found: found.dynamic.inner),
    Key("clauses", many(_CLAUSE), "what symbols without a size must meet"),
    Key("doubts", many(DOUBT), "nodes that may fail", lambda found: found.possible_failures),
    Key("without_trip", many(str), "outputs whose sizes differ if a loop makes no trip"),
    Key("left_out", many(str), "types that were not written"),
    Key("weights_elsewhere", many(str), "files to copy or link beside the copy"),
    Key("unchecked", str, "why it is not known whether the copy loads; empty if it does wherever the model does"),
    Key("definitions", by_name(str), "the names of long dims, and their texts", lambda f: f.dynamic.definitions),
    defines=False,
)
REFUSED: Final = Document[IllegalSizesError](
    "freeze",
    2,
    _TITLE,
    Key("written", bool, _WRITTEN, lambda error: False),
    Key("sizes", SIZES),
    Key("failure", FAILURE, "for illegal sizes"),
    Key("nearest", maybe(NEIGHBOURS), "for illegal sizes; null unless every symbol has a size"),
    defines=False,
)
FEWEST: Final = Document[Fewest](
    "freeze",
    2,
    _TITLE,
    Key("written", bool, _WRITTEN, lambda found: False),
    Key("choices", many(many(str)), "without sizes: the smallest sets of symbols to fix"),
    Key("follow", by_name(str), "symbols that follow"),
    Key("unused", many(str), "symbols on which no computed size depends"),
    Key("by_data", _VALUES, "values that stay dynamic at `sizes`"),
    Key("sizes", SIZES),
    Key("reason", str, "why fewer symbols may be enough"),
    defines=False,
)
