"""Classes of equal dims, shapes or buffers as text."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from absint.lattices.text.escapes import format_sizes
from absint.lattices.text.sheets import UNBROKEN, Line, Part, Table, defined, listed, so_many
from absint.questions.proofs.equivalence import AxisPlace, Distinct, Equalities
from absint.result import Result
from absint.show.text import assumed
from absint.solution.naming import in_short

Found: TypeAlias = Equalities[AxisPlace] | Equalities[str]

_SHOWN_CLASSES: Final = 20
_SHOWN_MEMBERS: Final = 6
SHOWN_PAIRS: Final = 40
_WORDS: Final = {"dims": "dim", "shapes": "value", "buffers": "value"}


def report(
    result: Result, found: Found, distinct: Sequence[Distinct] | None, *, everything: bool = False
) -> Iterator[Part]:
    """The classes, the largest first, with their first members; then, if wanted, pairs of distinct classes."""
    classes = [(c.what, tuple(map(str, c.members))) for c in found.classes]
    total = sum(len(members) for _, members in classes)
    several = [item for item in classes if len(item[1]) > 1]
    word = _WORDS[found.what]
    yield Line(
        f"{result.origin}: {so_many(total, word)} in {len(found):,} "
        f"{'class' if len(found) == 1 else 'classes'} of equal {found.what}",
        "bold",
    )
    yield from assumed(result)
    yield Line("")
    shown = classes if everything else several[:_SHOWN_CLASSES]
    rows = []
    for name, members in shown:
        count = so_many(len(members), word)
        some = members if everything else members[:_SHOWN_MEMBERS]
        more = ", ..." if len(members) > len(some) else ""
        rows.append((name, f"{count}: {', '.join(some)}{more}"))
    yield Table("", rows)
    if not everything:
        alone, left = len(found) - len(several), len(several) - len(shown)
        rest = [f"{left:,} more {'class' if left == 1 else 'classes'}"] if left else []
        rest += [f"{so_many(alone, word)} equal to no other"] if alone else []
        if rest:
            yield Line(f"  and {', '.join(rest)} (all: --all)")
    if found.reason:
        yield Line(f"not all were compared: {found.reason}", "yellow")
    if found.undecided:
        yield Line(f"{so_many(found.undecided, 'pair')} undecided, kept apart", "yellow")
    if result.premises:
        yield Line(f"assuming {in_short(result.premises, found.texts)}")
    if distinct is not None:
        yield _distinct(result, distinct)
    yield defined(found.texts)


def _distinct(result: Result, pairs: Sequence[Distinct]) -> Table:
    rows = [f"{pair.first} and {pair.second}: {_apart(result, pair)}" for pair in pairs[:SHOWN_PAIRS]]
    more = ["and more (all: --format json)"] if len(pairs) > SHOWN_PAIRS else []
    return listed("told apart", [*rows, *more] or ["none"], UNBROKEN)


def _apart(result: Result, pair: Distinct) -> str:
    if pair.counterexample is None:
        return "no sizes are known that do"
    sizes = pair.counterexample  # those of input symbols first, in their order
    ordered = {name: sizes[name] for name in dict.fromkeys((*result.symbols, *sizes)) if name in sizes}
    return f"at {format_sizes(ordered)}" if ordered else "always"
