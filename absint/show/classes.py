"""Classes of equal dims, shapes or buffers as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import format_sizes, plain
from absint.lattices.text.forms import Key, Object, keys_of, many, one_of
from absint.questions.proofs.equivalence import PARTITION, Distinct, Equalities, Place
from absint.result import Result
from absint.show.documents import about
from absint.show.relations import in_short, plural
from absint.show.text import Line, aligned, assumed, definitions, wrapped
from absint.solver.documents import CONSTRAINT

Found: TypeAlias = Equalities[Place] | Equalities[str]

_SHOWN_CLASSES: Final = 20
_SHOWN_MEMBERS: Final = 6
SHOWN_PAIRS: Final = 40
_WORDS: Final = {"dims": "dim", "shapes": "value", "buffers": "value"}


def report(
    result: Result,
    what: str,
    found: Found,
    distinct: Sequence[Distinct] | None,
    width: int,
    *,
    everything: bool = False,
) -> Iterator[Line]:
    """The classes, the largest first, with their first members; then, if wanted, pairs of distinct classes."""
    classes = [(c.what, tuple(map(str, c.members))) for c in found.classes]
    total = sum(len(members) for _, members in classes)
    several = [item for item in classes if len(item[1]) > 1]
    word = _WORDS[what]
    yield Line(
        f"{plain(result.origin)}: {total:,} {plural(word, total)} in {len(found):,} "
        f"{'class' if len(found) == 1 else 'classes'} of equal {what}",
        "bold",
    )
    yield from assumed(result, width)
    yield Line("")
    shown = classes if everything else several[:_SHOWN_CLASSES]
    rows = []
    for name, members in shown:
        count = f"{len(members):,} {plural(word, len(members))}"
        listed = members if everything else members[:_SHOWN_MEMBERS]
        more = ", ..." if len(members) > len(listed) else ""
        rows.append((name, f"{count}: {', '.join(listed)}{more}"))
    yield from map(Line, aligned(rows, width))
    if not everything:
        alone, left = len(found) - len(several), len(several) - len(shown)
        rest = [f"{left:,} more {'class' if left == 1 else 'classes'}"] if left else []
        rest += [f"{alone:,} {plural(word, alone)} equal to no other"] if alone else []
        if rest:
            yield Line(f"  and {', '.join(rest)} (all: --all)")
    if found.reason:
        yield Line(f"not all were compared: {found.reason}", "yellow")
    if found.undecided:
        yield Line(f"{found.undecided:,} {plural('pair', found.undecided)} undecided, kept apart", "yellow")
    if result.premises:
        yield from map(Line, wrapped(f"assuming {plain(in_short(result.premises, found.texts))}", width, 2))
    if distinct is not None:
        yield from _distinct(result, distinct, width)
    yield from definitions(found.texts, width)


def _distinct(result: Result, pairs: Sequence[Distinct], width: int) -> Iterator[Line]:
    yield Line("")
    yield Line("told apart", "bold")
    if not pairs:
        yield Line("  none")
    for pair in pairs[:SHOWN_PAIRS]:
        at = (
            "no sizes are known that do"
            if pair.counterexample is None
            else f"at {format_sizes(_ordered(result, pair.counterexample))}"
        )
        if pair.counterexample == {}:
            at = "always"
        yield from map(Line, wrapped(f"  {plain(f'{pair.first} and {pair.second}: {at}')}", width, 6))
    if len(pairs) > SHOWN_PAIRS:
        yield Line("  and more (all: --format json)")


def _ordered(result: Result, binding: Mapping[str, int]) -> dict[str, int]:
    """The sizes of input symbols first, in their order."""
    return {name: binding[name] for name in dict.fromkeys((*result.symbols, *binding)) if name in binding}


class Answer(NamedTuple):
    """An answer of `absint equal`."""

    result: Result
    what: str
    found: Found
    distinct: Sequence[Distinct] | None


CLASSES: Final = Document[Answer](
    "classes",
    2,
    "what is always equal (absint equal)",
    Key("what", one_of(*_WORDS)),
    PARTITION.spread(attrgetter("found")),
    Key("undecided", int, "pairs kept apart because they were not decided", lambda answer: answer.found.undecided),
    Key("assuming", many(CONSTRAINT), "numeric premises", lambda answer: answer.result.premises),
    Key(
        "distinct",
        many(Object[Distinct](*keys_of(Distinct, counterexample="sizes where they differ; null if none are known"))),
        "with `--distinct`: pairs of classes",
        lambda answer: answer.distinct or (),
        lambda answer: answer.distinct is not None,
    ),
    head_of=lambda answer: about(answer.result),
)
