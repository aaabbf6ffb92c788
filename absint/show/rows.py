"""The rows of a model as text, as JSON, and as settings of servers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from absint.errors import UsageError
from absint.lattices.terms.expr import MAX_DIM
from absint.lattices.text.documents import Document
from absint.lattices.text.forms import COUNT, DIM, SIZES, TEXT, Key, Object, kind_of, many, maybe
from absint.lattices.text.sheets import Line, Part, Table, listed, plural
from absint.questions.rows.answer import OutputRows, Rows, Verdict
from absint.questions.rows.evidence import InputAxis, Meeting, Witness
from absint.questions.sizes.contracts import SymbolFacts
from absint.result import Result
from absint.show.text import assumed

_MOST: Final = 10
"""Outputs that are told one by one."""
_NAMED: Final = 3


def report(result: Result, found: Rows) -> Iterator[Part]:
    """The outputs with what is found of their rows, and what requests must have in common."""
    own = replace(found, others=())
    kept = sum(output.verdict in ("independent", "shared") for output in found.outputs)
    count = len(found.outputs)
    may = "requests may be stacked" if own else "requests must not be stacked"
    may = may if own or own.mixes else "whether requests may be stacked is not known"
    text = f"rows along {found.symbol} stay apart in {kept} of {count} {plural('output', count)}"
    yield Line(f"{result.origin}: {text}: {may}", "green" if own else "")
    yield from assumed(result)
    yield from _tables(found)
    for other in found.others:
        yield Line("")
        yield from report(result, other)


def _tables(found: Rows) -> Iterator[Part]:
    yield listed("rows of inputs", found.axes)
    yield Table("outputs", list(_of_outputs(found.outputs)))
    is_shown = all(output.witness is not None for output in found.outputs if output.meeting is not None)
    title = "where rows meet" if is_shown else "where rows may meet"
    yield Table(title, [(o.name, str(o.meeting)) for o in found.outputs if o.meeting is not None])
    yield Table("shown by a run", [(o.name, str(o.witness)) for o in found.outputs if o.witness is not None])
    equal = [*((name, "input") for name in found.shared), *((size, "size") for size in found.sizes)]
    yield Table("equal among requests", equal)


def _of_outputs(outputs: Sequence[OutputRows]) -> Iterator[tuple[str, str]]:
    """The outputs, and what is found of them; where there are many, once for all that are alike."""
    told = [(output.name, ", ".join(filter(None, (output.verdict, output.where)))) for output in outputs]
    if len(told) <= _MOST:
        yield from told
        return
    found: dict[str, list[str]] = {}
    for name, text in told:
        found.setdefault(text, []).append(name)
    for text, names in found.items():
        more = len(names) - _NAMED
        yield f"{', '.join(names[:_NAMED])}{f' and {more} more' if more > 0 else ''}", text


_SAID: Final[Mapping[Verdict, str]] = {
    "mixes": "rows of {} mix",
    "unknown": "rows of {} are not proved to stay apart",
    "by position": "rows of {} depend on their numbers, or on how many there are",
    "shared": "{} has no rows",
}


def said(output: OutputRows) -> str:
    """What keeps an output from being independent."""
    return _SAID[output.verdict].format(output.name) + (f": {output.meeting}" if output.meeting is not None else "")


# Servers


def _reason(found: Rows, *, first: bool) -> str:
    """The reason why a server must not stack requests; empty if it may. It may know of first axes alone."""
    for output in found.outputs:
        if output.verdict != "independent":
            return said(output)
        if not output.is_plain:
            return f"the rows of {output.name} are on {output.where}"
    if found.shared:
        return f"{found.shared[0]} has no rows"
    places = [*found.axes, *(InputAxis(output.name, output.axis or 0) for output in found.outputs)]
    other = next((place for place in places if first and place.axis), None)
    return f"the rows are on {other}" if other is not None else ""


def _triton(result: Result, found: Rows, most: int | None) -> str:
    """Raises UsageError for more rows than are legal."""
    reason = _reason(found, first=True)
    legal = None if reason else result.symbol(found.symbol)
    if legal is not None and not _are_all_legal(legal):
        reason = f"the legal numbers of rows are {legal}"
    if legal is None or reason:
        return f"max_batch_size: 0  # {' '.join(reason.split())}\n"
    limit = legal.hi if legal.hi < MAX_DIM else None
    if limit is not None and most is not None and most > limit:
        raise UsageError(f"--max-batch {most}: {result.origin} takes at most {limit} rows")
    if most is not None:
        size = f"max_batch_size: {most}"
    elif limit is not None:
        size = f"max_batch_size: {limit}  # more rows are not legal"
    else:
        size = "# max_batch_size: N  # any number is proved; which one is the server's choice (--max-batch N)"
    return f"{size}\ndynamic_batching {{ }}\n"


def _are_all_legal(facts: SymbolFacts) -> bool:
    """All numbers from 1 to the greatest, as far as is known: a server stacks as many as there are."""
    if facts.values is not None:
        return {*range(1, facts.hi + 1)} <= {*facts.values}
    return facts.lo <= 1 and facts.modulus == 1 and facts.solved is None


def _bentoml(found: Rows) -> str:
    reason = _reason(found, first=False)
    axes = {place.axis for place in found.axes}, {output.axis or 0 for output in found.outputs}
    if not reason and any(len(each) != 1 for each in axes):
        reason = "the rows are on several axes"
    if reason:
        return f"batchable: false  # {' '.join(reason.split())}\n"
    return f"batchable: true\nbatch_dim: [{axes[0].pop()}, {axes[1].pop()}]\n"


def server_settings(server: str, result: Result, found: Rows, most: int | None = None) -> str:
    """What a server has to be told: lines of config.pbtxt, or options of a runner's signature. `most` is the greatest
    number of rows for Triton.
    """
    return _triton(result, found, most) if server == "triton" else _bentoml(found)


OUTPUT: Final = Object[OutputRows](
    Key("name", str),
    Key("verdict", kind_of(Verdict)),
    Key("axis", maybe(COUNT), "the axis of the rows, null if it has none"),
    Key("outer", DIM, "the axis is made of outer x rows x inner"),
    Key("inner", DIM),
    Key(
        "meeting",
        maybe(Object[Meeting](Key("node", str), Key("reason", str))),
        "the first node where rows meet, or their numbers come in",
    ),
    Key(
        "witness",
        maybe(
            Object[Witness](
                Key("sizes", SIZES, "of the inputs"),
                Key("rows", many(COUNT), "the two rows, each of which changes the element alone"),
                Key("place", many(COUNT), "the index of the element"),
            )
        ),
        "a run that shows that rows mix",
    ),
)

_KEYS: Final[tuple[Key[Rows], ...]] = (
    Key("symbol", str, "the size that counts the rows"),
    Key("axes", many(Object[InputAxis](Key("input", str), Key("axis", COUNT))), "the axes of the rows"),
    Key("outputs", many(OUTPUT)),
    Key("shared", many(TEXT), "inputs without rows, which must be equal among requests"),
    Key("sizes", many(TEXT), "other sizes of inputs with rows, which must be equal too"),
)
ROWS: Final = Document[Rows](
    "rows",
    1,
    "rows that stay apart (absint rows)",
    *_KEYS,
    Key("others", many(Object[Rows](*_KEYS)), "the same for each further --axis"),
)
