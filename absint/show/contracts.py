"""The contract of a model as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.text.escapes import format_sizes
from absint.lattices.text.naming import Where
from absint.lattices.text.sheets import UNBROKEN, Line, Part, defined, listed, plural
from absint.questions.proofs.clauses import Row, rows, written
from absint.solution.naming import where
from absint.solution.relations import brief, by_nodes, failures_by_reason, in_short, reason, runs_alone, stated
from absint.solver.constraints import KINDS, Constraint, PossibleFailure

if TYPE_CHECKING:
    from absint.result import Result
    from absint.solver.contracts.contract import Contract

Item = TypeVar("Item")

_SHOWN: Final = 30
"""Clauses that are shown without `--all`."""


def report(result: Result, contract: Contract, *, everything: bool = False) -> Iterator[Part]:
    """The clauses, and the requirements that they cannot state: counted, or listed with `everything`."""
    names = (*result.symbols, *contract.elements)
    texts = where(result)
    over = f" over {', '.join(names)}" if names else ""
    yield from runs_alone(contract.semantics)
    if contract.possible is False:
        yield Line(f"{result.origin}: no size of the inputs is legal, this model can never run", "bold red")
    elif not contract.clauses:
        is_all = not contract.beyond and not contract.possible_failures
        what = "every size of the inputs is legal" if is_all else "no size of the inputs is ruled out"
        yield Line(f"{result.origin}: {what}", "bold")
    else:
        count = len(contract.clauses)
        yield Line(f"{result.origin}: legal sizes meet {count:,} {plural('clause', count)}{over}", "bold")
    found = rows(contract)
    for row in found if everything else found[:_SHOWN]:
        yield from _all_nodes(row, texts) if everything else [_short(contract, row, texts)]
    if len(found) > _SHOWN and not everything:
        yield Line(f"  and {len(found) - _SHOWN:,} more")
    if contract.possible is None:
        yield Line("whether any size meets all clauses was not decided", "yellow")
    if contract.reason:
        yield Line(f"the clauses may be longer than they need be: {contract.reason}", "yellow")
    yield from _beyond(result, contract, texts, everything)
    yield listed("legal sizes to try", map(format_sizes, contract.samples), UNBROKEN)
    if contract.fewer:
        yield Line(f"({len(contract.samples):,} legal sizes were found: {contract.fewer})", "yellow")
    yield defined(texts)


def _short(contract: Contract, row: Row, texts: Where) -> Line:
    """One line for the clauses of a row, with the first nodes that impose them."""
    relation = row.clauses[0].relation
    nodes = by_nodes(row.because, relation)
    return Line(f"  {nodes}" if relation is FALSE else f"  {written(contract, row, texts)}  ({nodes})")


def _all_nodes(row: Row, texts: Where) -> Iterator[Part]:
    """Each clause, with all nodes that impose it."""
    for clause in row.clauses:
        yield Line(f"  {brief(clause.relation, texts)}")
        for constraint in clause.because:
            same = constraint.formula is clause.relation
            stronger = "" if same else f", which needs {brief(constraint.formula, texts)}"
            yield Line(f"    {reason(constraint.origin, constraint.reason)}{stronger}", "dim")


def _beyond(result: Result, contract: Contract, texts: Where, everything: bool) -> list[Part]:
    """Premises, and requirements that no clause over input symbols can state."""
    names = result.parameters.keys()
    on_data: list[PossibleFailure] = []
    at_sizes: list[PossibleFailure] = []
    by_rules: list[PossibleFailure] = []
    for failure in dict.fromkeys(contract.possible_failures):
        is_by_size = failure.guard is not TRUE and failure.guard.free_symbols <= names
        (at_sizes if is_by_size else on_data if failure.kind == "data" else by_rules).append(failure)

    def section(
        title: str, word: str, items: Sequence[Item], row: Callable[[Item], str], short: Callable[[], str]
    ) -> list[Part]:
        if everything or not items:
            return [listed(title, map(row, items), UNBROKEN)] if items else []
        first = short()
        named = f" ({first})" if first else ""
        return [Line(f"{title}: {len(items):,} {plural(word, len(items))}{named}")]

    def told(constraint: Constraint) -> str:
        return stated(constraint, texts)

    def fails(failure: PossibleFailure) -> str:
        return reason(failure.origin, failure.reason)

    found = [
        *section("taken for granted", "premise", contract.premises, told, lambda: in_short(contract.premises, texts)),
        *section(
            "one size for several inputs, which no runtime checks",
            "symbol",
            list(contract.shared.items()),
            lambda item: f"{item[0]}: {', '.join(item[1])}",
            lambda: ", ".join(contract.shared),
        ),
        *section("also required, data-dependent", "requirement", contract.beyond, told, str),
        *section(
            "may fail at some sizes",
            "reason",
            at_sizes,
            lambda failure: f"{fails(failure)}  where {brief(failure.guard, texts)}",
            lambda: _first_two(at_sizes),
        ),
        *section("may fail on data", "node", on_data, fails, lambda: _first_two(on_data)),
        *section(KINDS["rule"], "node", by_rules, fails, lambda: _first_two(by_rules)),
    ]
    return found if everything or not found else [Line(""), *found, Line("(--all lists them)", "dim")]


def _first_two(failures: Sequence[PossibleFailure]) -> str:
    groups = list(failures_by_reason(failures))
    return "; ".join(groups[:2]) + ("; ..." if len(groups) > 2 else "")
