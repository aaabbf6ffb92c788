"""Clauses of a contract in the order in which they matter, and the meaning of those that are too long to read."""

from collections.abc import Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Final, NamedTuple, cast

from absint.lattices.limits import DeadlineError, within
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import TRUE, YES, Relation, ge, is_plain
from absint.lattices.terms.expr import Expr, Symbol, expr_of
from absint.lattices.text.escapes import format_sizes, plain
from absint.lattices.text.naming import Names
from absint.lattices.text.notation import form_of
from absint.solution.naming import brief
from absint.solver.candidates import USUAL, combined, equal
from absint.solver.constraints import Constraint, ConstraintSet, meets
from absint.solver.contracts.contract import Clause, Contract
from absint.solver.contracts.summaries import forms
from absint.solver.prove import Prover

LONG: Final = 120
"""Characters from which on a clause is replaced by its meaning."""

_SECONDS: Final = 5.0
"""The time of one meaning."""

_PLACES: Final = 5000
"""Combinations of usual sizes that a long clause is tried at."""
_EXAMPLES: Final = 2
_FEW: Final = 3

_PERIODS: Final = 8
"""Multiples that follow one another before a clause is said to allow any."""


class Row(NamedTuple):
    """Clauses that are shown as one: all that say `>= 1`, or one alone."""

    clauses: tuple[Clause, ...]

    @property
    def because(self) -> list[Constraint]:
        """What imposes them."""
        return [constraint for clause in self.clauses for constraint in clause.because]

    @property
    def names(self) -> list[str]:
        """The symbols of the clauses."""
        return [name for clause in self.clauses for name in sorted(clause.relation.free_symbols)]


def rows(contract: Contract) -> list[Row]:
    """The clauses, those first that fix symbols or tie them together; those that say `>= 1` are one row, the last."""
    ranked: dict[int, list[Clause]] = {}
    for clause in contract.clauses:
        ranked.setdefault(_rank(clause.relation), []).append(clause)
    not_empty = ranked.pop(_NOT_EMPTY, [])
    found = [Row((clause,)) for _, group in sorted(ranked.items()) for clause in group]
    return [*found, Row(tuple(not_empty))] if not_empty else found


_NOT_EMPTY: Final = 3


def _rank(relation: Relation) -> int:
    if len(relation.symbols) == 1 and relation is ge(expr_of(next(iter(relation.symbols))), 1):
        return _NOT_EMPTY
    if relation.op == "==" or (relation.op == "or" and all(part.op == "==" for part in relation.parts)):
        return 0
    return 2 if relation is TRUE or (is_plain(relation) and len(relation.symbols) == 1) else 1


def written(contract: Contract, row: Row, texts: Names) -> str:
    """The text of a row: `height, width >= 1`, a clause as it stands, or the meaning of a long one."""
    relation = row.clauses[0].relation
    if len(row.clauses) > 1:
        return f"{', '.join(row.names)} >= 1"
    return (meaning(contract, relation) if is_long(relation) else "") or brief(relation, texts)


def is_long(relation: Relation) -> bool:
    """The text of the clause is too long to read."""
    return form_of(relation).length > LONG


def meaning(contract: Contract, relation: Relation) -> str:
    """A long clause in ranges and remainders, proved to say the same beside the others; else sizes that meet it, and
    sizes that do not. Empty if neither is found."""
    others = [c.relation for c in contract.clauses if c.relation is not relation]
    try:
        with within(_SECONDS):
            if len(relation.symbols) == 1:
                (symbol,) = relation.symbols
                found = _one_symbol(symbol, relation, [r for r in others if r.symbols == {symbol}])
                if found:
                    return found
            return _by_examples(relation, [r for r in others if r.symbols <= relation.symbols])
    except DeadlineError:
        return ""


def _one_symbol(symbol: Symbol, relation: Relation, context: Sequence[Relation]) -> str:
    """The sizes of one symbol, if a short form is proved to be the same; else nothing."""
    prover = Prover(ConstraintSet())
    for form in forms(symbol, [relation], context):
        pairs = ((form, relation), (relation, form))
        if all(prover.entails([*context, given], other).entailed for given, other in pairs):
            return _sizes_of(symbol, form, context)
    return ""


def _sizes_of(symbol: Symbol, form: Relation, context: Sequence[Relation]) -> str:
    """`height: 32, 64, 96, ..., any multiple of 32`; the form itself where sizes do not follow one another so."""
    facts = Facts([form, *context])
    known = facts.congruence(cast(Expr, facts.simplify(expr_of(symbol))))
    first = [n for n in range(known.modulus * _PERIODS) if meets([form, *context], {symbol.name: n})]
    steps = {b - a for a, b in pairwise(first)}
    if known.modulus < 2 or steps != {known.modulus} or len(first) < _PERIODS - 1:
        return str(form)
    rest = f"any multiple of {known.modulus}"
    if known.remainder:
        rest += f" plus {known.remainder}"
    return f"{plain(symbol.name)}: {', '.join(map(str, first[:3]))}, ..., {rest}"


def _by_examples(relation: Relation, others: Sequence[Relation]) -> str:
    """The least of the sizes tried that meet the clause, and the largest that do not."""
    names = sorted(relation.free_symbols)
    if len(names) > _FEW:
        return ""
    places = [place for place in _points(names) if meets(others, place)]
    met = {place: relation.at(sizes) is YES for place, sizes in enumerate(places)}
    legal = sorted((place for place in met if met[place]), key=lambda place: sum(places[place].values()))
    illegal = sorted((place for place in met if not met[place]), key=lambda place: -sum(places[place].values()))
    if not legal or not illegal:
        return ""
    shown = [("; ".join(format_sizes(places[at]) for at in found[:_EXAMPLES])) for found in (legal, illegal)]
    return f"{', '.join(map(plain, names))}: holds at {shown[0]}; not at {shown[1]} (exactly: --format json)"


def _points(names: Sequence[str]) -> list[Mapping[str, int]]:
    """Equal sizes first, then all combinations of a few."""
    every = chain(equal(names, USUAL), islice(combined(dict.fromkeys(names, USUAL)), _PLACES))
    return list({tuple(sizes.values()): sizes for sizes in every}.values())
