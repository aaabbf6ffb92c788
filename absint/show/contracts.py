"""The contract of a model as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.text.escapes import format_sizes, plain
from absint.lattices.text.naming import Where
from absint.questions.proofs.clauses import Row, is_long, meaning, rows
from absint.show.checks import listed
from absint.show.relations import brief, by_nodes, failures_by_reason, in_short, plural, reason, stated
from absint.show.text import Line, definitions, semantics, wrapped
from absint.solution.naming import where
from absint.solver.constraints import KINDS, PossibleFailure

if TYPE_CHECKING:
    from absint.result import Result
    from absint.solver.contracts.contract import Contract

_SHOWN: Final = 30
"""Clauses that are shown without `--all`."""


def report(result: Result, contract: Contract, width: int, *, everything: bool = False) -> Iterator[Line]:
    """The clauses, and the requirements that they cannot state: counted, or listed with `everything`."""
    names = (*result.symbols, *contract.elements)
    texts = where(result)
    over = f" over {', '.join(map(plain, names))}" if names else ""
    yield from semantics(contract.semantics)
    if contract.possible is False:
        yield Line(f"{plain(result.origin)}: no size of the inputs is legal, this model can never run", "bold red")
    elif not contract.clauses:
        is_all = not contract.beyond and not contract.possible_failures
        what = "every size of the inputs is legal" if is_all else "no size of the inputs is ruled out"
        yield Line(f"{plain(result.origin)}: {what}", "bold")
    else:
        count = len(contract.clauses)
        yield Line(f"{plain(result.origin)}: legal sizes meet {count:,} {plural('clause', count)}{over}", "bold")
    found = rows(contract)
    for row in found if everything else found[:_SHOWN]:
        yield from _all_nodes(row, texts, width) if everything else _short(contract, row, texts, width)
    if len(found) > _SHOWN and not everything:
        yield Line(f"  and {len(found) - _SHOWN:,} more")
    if contract.possible is None:
        yield Line("whether any size meets all clauses was not decided", "yellow")
    if contract.reason:
        yield Line(f"the clauses may be longer than they need be: {contract.reason}", "yellow")
    yield from _beyond(result, contract, texts, width, everything)
    yield from listed("legal sizes to try", list(map(format_sizes, contract.samples)), width, len(contract.samples))
    if contract.fewer:
        yield Line(f"({len(contract.samples):,} legal sizes were found: {contract.fewer})", "yellow")
    yield from definitions(texts, width)


def _short(contract: Contract, row: Row, texts: Where, width: int) -> Iterator[Line]:
    """One line for the clauses of a row, with the first nodes that impose them."""
    because = [constraint for clause in row.clauses for constraint in clause.because]
    relation = row.clauses[0].relation
    nodes = by_nodes(because, relation)
    if relation is FALSE:
        said = nodes
    elif len(row.clauses) > 1:
        said = f"{', '.join(row.names)} >= 1  ({nodes})"
    else:
        short = meaning(contract, relation) if is_long(relation) else ""
        said = f"{short or brief(relation, texts)}  ({nodes})"
    yield from _row(said, width)


def _all_nodes(row: Row, texts: Where, width: int) -> Iterator[Line]:
    """Each clause, with all nodes that impose it."""
    for clause in row.clauses:
        yield from _row(brief(clause.relation, texts), width)
        for constraint in clause.because:
            same = constraint.formula is clause.relation
            stronger = "" if same else f", which needs {brief(constraint.formula, texts)}"
            text = f"    {plain(reason(constraint.origin, constraint.reason) + stronger)}"
            yield from (Line(part, "dim") for part in wrapped(text, width, 8))


def _beyond(result: Result, contract: Contract, texts: Where, width: int, everything: bool) -> Iterator[Line]:
    """Premises, and requirements that no clause over input symbols can state."""
    names = result.parameters.keys()
    on_data: list[PossibleFailure] = []
    at_sizes: list[PossibleFailure] = []
    by_rules: list[PossibleFailure] = []
    for failure in dict.fromkeys(contract.possible_failures):
        is_by_size = failure.guard is not TRUE and failure.guard.free_symbols <= names
        (at_sizes if is_by_size else on_data if failure.kind == "data" else by_rules).append(failure)

    sections: tuple[tuple[str, str, int, Callable[[], Iterable[str]], Callable[[], str]], ...] = (
        (
            "taken for granted",
            "premise",
            len(contract.premises),
            lambda: (stated(constraint, texts) for constraint in contract.premises),
            lambda: in_short(contract.premises, texts),
        ),
        (
            "one size for several inputs, which no runtime checks",
            "symbol",
            len(contract.shared),
            lambda: (f"{name}: {', '.join(places)}" for name, places in contract.shared.items()),
            lambda: ", ".join(contract.shared),
        ),
        (
            "also required, data-dependent",
            "requirement",
            len(contract.beyond),
            lambda: (stated(constraint, texts) for constraint in contract.beyond),
            str,
        ),
        (
            "may fail at some sizes",
            "reason",
            len(at_sizes),
            lambda: (f"{reason(f.origin, f.reason)}  where {brief(f.guard, texts)}" for f in at_sizes),
            lambda: _first_two(at_sizes),
        ),
        (
            "may fail on data",
            "node",
            len(on_data),
            lambda: (reason(f.origin, f.reason) for f in on_data),
            lambda: _first_two(on_data),
        ),
        (
            KINDS["rule"],
            "node",
            len(by_rules),
            lambda: (reason(f.origin, f.reason) for f in by_rules),
            lambda: _first_two(by_rules),
        ),
    )
    if not any(count for _, _, count, _, _ in sections):
        return
    if everything:
        for title, _, count, rows, _ in sections:
            if count:
                yield Line("")
                yield Line(title, "bold")
                for row in rows():
                    yield from _row(row, width)
        return
    yield Line("")
    for title, word, count, _, short in sections:
        if count:
            yield from map(Line, wrapped(f"{title}: {_counted(count, word, plain(short()))}", width, 2))
    yield Line("(--all lists them)", "dim")


def _first_two(failures: Sequence[PossibleFailure]) -> str:
    groups = list(failures_by_reason(failures))
    return "; ".join(groups[:2]) + ("; ..." if len(groups) > 2 else "")


def _counted(count: int, word: str, names: str) -> str:
    return f"{count:,} {plural(word, count)}" + (f" ({names})" if names else "")


def _row(text: str, width: int) -> Iterator[Line]:
    yield from map(Line, wrapped(f"  {plain(text)}", width, 6))
