"""Contracts: which input sizes are legal, as a short list of clauses none of which can be left out.

The clauses are the requirements over input symbols alone, simplified by one another, without those that the rest
entail. Several clauses about one symbol become one where it is proved to say the same (`H % 8 == 0` for a chain of
halvings).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd, lcm
from typing import Final, NamedTuple, cast

from lattices.expr import Atom, Expr, Symbol, expr_of, postorder
from lattices.facts import Facts
from lattices.normal import sole_atom
from lattices.piecewise import choices, restrict
from lattices.relation import FALSE, TRUE, Relation, conjunction, disjunction, eq, ge, le, negation, one_of
from lattices.truth import NO, YES
from solver.constraints import Constraint, ConstraintSet, Doubt
from solver.prove import Prover, holds

_MOST_VALUES: Final = 4096
"""Sizes of one symbol that are tried in the search for a shorter clause."""

_LISTED: Final = 6
"""Longest finite set of sizes that is listed."""


class Clause(NamedTuple):
    """A relation over input symbols that every run needs, with the constraints that impose it."""

    relation: Relation
    because: tuple[Constraint, ...]

    def __str__(self) -> str:
        nodes = list(dict.fromkeys(str(c.origin) for c in self.because))
        more = f" and {len(nodes) - 2} more" if len(nodes) > 2 else ""
        return f"{self.relation}  ({', '.join(nodes[:2])}{more})"


@dataclass(frozen=True)
class Contract:
    """Which sizes of the inputs are legal: necessary for every run, and for a run on some data as far as is stated."""

    clauses: tuple[Clause, ...]
    possible: bool | None = True
    """Whether some sizes meet the clauses; None if that was not decided."""
    premises: tuple[Constraint, ...] = ()
    """What declarations and the caller assume, and numeric premises of the claims."""
    shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Symbols that stand for sizes of several inputs: that they are equal is a premise which no runtime enforces."""
    beyond: tuple[Constraint, ...] = ()
    """Requirements over sizes that data decide, which no clause over input symbols can state."""
    doubts: tuple[Doubt, ...] = ()
    """Nodes that may fail for a reason that is not stated."""

    def __str__(self) -> str:
        lines = [str(clause) for clause in self.clauses] or ["every size is legal"]
        return "\n".join(lines)

    def allows(self, binding: Mapping[str, int]) -> bool:
        """Whether the sizes meet every clause. Raises KeyError naming a symbol without a size."""
        return all(clause.relation.evaluate(binding) for clause in self.clauses)

    def to_json(self) -> str:
        """As a JSON object, schema `absint.contract/1`."""
        return json.dumps(
            {
                "schema": "absint.contract/1",
                "possible": self.possible,
                "clauses": [
                    {"relation": str(clause.relation), "because": [_node(c) for c in clause.because]}
                    for clause in self.clauses
                ],
                "premises": [{"relation": str(c.formula), **_node(c)} for c in self.premises],
                "shared": {name: list(places) for name, places in self.shared.items()},
                "beyond": [{"relation": str(c.formula), **_node(c)} for c in self.beyond],
                "doubts": [
                    {"node": d.origin.name, "operator": d.origin.operator, "path": d.origin.path, "reason": d.reason}
                    for d in self.doubts
                ],
            },
            ensure_ascii=False,
            indent=1,
        )


def _node(c: Constraint) -> dict[str, str]:
    return {"node": c.origin.name, "operator": c.origin.operator, "path": c.origin.path, "reason": c.reason}


def contract(
    base: ConstraintSet,
    prover: Prover,
    doubts: Sequence[Doubt] = (),
    shared: Mapping[str, tuple[str, ...]] | None = None,
) -> Contract:
    """The contract of the requirements of a first round, which no requirement has simplified."""
    inputs = frozenset(base.symbols)
    stated: dict[Relation, list[Constraint]] = {}
    beyond: dict[Relation, Constraint] = {}
    for c in base:
        if c.role == "required":
            if c.formula.free_symbols <= inputs:
                stated.setdefault(c.formula, []).append(c)
            else:
                beyond.setdefault(c.formula, c)
    premises = tuple({c.formula: c for c in base if c.role in ("assumed", "declared")}.values())
    given = [c.formula for c in base if c.origin.node < 0]
    clauses = _simplified([Clause(r, tuple(found)) for r, found in stated.items()], given, base.symbols)
    clauses = _summarised(clauses, given, prover)
    clauses = _needed(clauses, given, prover)
    clauses.sort(key=lambda clause: _order(clause.relation, base.symbols))
    consistent = prover.entails([*given, *(c.relation for c in clauses)], FALSE) if clauses else None
    possible = True if consistent is None else None if consistent.entailed is None else not consistent.entailed
    if FALSE in (clause.relation for clause in clauses):
        possible = False
    return Contract(tuple(clauses), possible, premises, shared or {}, tuple(beyond.values()), tuple(doubts))


def _order(relation: Relation, symbols: Sequence[str]) -> tuple[int, list[int], str]:
    """Clauses about one symbol first, in the order of the symbols."""
    places = sorted(symbols.index(name) for name in relation.free_symbols)
    return len(places), places, relation.key


# Simplification by one another


def _simplified(clauses: Sequence[Clause], given: Sequence[Relation], order: Sequence[str]) -> list[Clause]:
    """Each clause under the ones that are simpler; together they say the same."""
    kept: list[Clause] = []
    pending = sorted(clauses, key=lambda clause: (clause.relation.size, clause.relation.key))
    changed = True
    while changed:
        changed = False
        done: list[Clause] = []
        facts = Facts(given, order)
        for clause in pending:
            relation = simplify(clause.relation, facts)
            changed = changed or relation is not clause.relation
            if relation is TRUE:
                continue
            if relation is FALSE:
                return [Clause(FALSE, clause.because)]
            done.append(Clause(relation, clause.because))
            facts = facts.assume(relation)
            if facts.contradiction:
                return [*done]
        kept = _distinct(done)
        pending = sorted(kept, key=lambda clause: (clause.relation.size, clause.relation.key))
    return kept


def _distinct(clauses: Iterable[Clause]) -> list[Clause]:
    """Conjunctions taken apart, and equal clauses made one."""
    found: dict[Relation, dict[Constraint, None]] = {}
    for clause in clauses:
        for part in clause.relation.parts if clause.relation.op == "and" else (clause.relation,):
            found.setdefault(part, {}).update(dict.fromkeys(clause.because))
    return [Clause(relation, tuple(because)) for relation, because in found.items()]


def simplify(relation: Relation, facts: Facts) -> Relation:
    """A relation that holds in the same runs that meet the facts, over the same symbols."""
    if facts.decide(relation) is YES:
        return TRUE
    originals: dict[str, Symbol] = {}
    for symbol in facts.mapping:
        originals.setdefault(symbol.name, symbol)
    inside = relation.substitute(facts.mapping)
    inside = _decided(inside, facts)
    back = {s: expr_of(originals[s.name]) for s in inside.symbols if s.name in originals}
    restored = inside.substitute(back)
    return restored if restored.size < relation.size or restored in (TRUE, FALSE) else relation


def _decided(relation: Relation, facts: Facts) -> Relation:
    """Without the choices and the parts that the facts settle."""
    for condition in choices(relation):
        truth = facts.decide(condition)
        if truth in (YES, NO):
            chosen = condition if truth is YES else negation(condition)
            relation = _restricted(relation, chosen)
    if relation.op in ("and", "or"):
        parts = [_decided(part, facts) for part in relation.parts]
        if relation.op == "or":
            parts = [_restricted(part, negation(p)) if choices(part) else part for part, p in _beside(parts)]
        return conjunction(*parts) if relation.op == "and" else disjunction(*parts)
    truth = facts.decide(relation)
    return TRUE if truth is YES else FALSE if truth is NO else relation


def _beside(parts: Sequence[Relation]) -> Iterator[tuple[Relation, Relation]]:
    """Each alternative with the plain ones beside it: where it matters, none of them holds."""
    for part in parts:
        yield part, disjunction(*(other for other in parts if other is not part and _is_plain(other)))


def _restricted(relation: Relation, condition: Relation) -> Relation:
    values = {atom: restrict(expr_of(atom), condition) for atom in relation.atoms()}
    return relation.rebuild(values)


# One clause for several


def _summarised(clauses: Sequence[Clause], given: Sequence[Relation], prover: Prover) -> list[Clause]:
    """Clauses about one symbol, shared alternatives apart, replaced by a shorter one that says the same."""
    groups: dict[tuple[Symbol, frozenset[Relation]], list[Clause]] = {}
    rest: list[Clause] = []
    for clause in clauses:
        key = _subject(clause.relation)
        if key is None:
            rest.append(clause)
        else:
            groups.setdefault(key, []).append(clause)
    for (symbol, alternatives), group in groups.items():
        pure = [c.relation for (s, a), g in groups.items() if s is symbol and not a for c in g]
        mine = [_about(clause.relation, symbol) for clause in group]
        context = pure if alternatives else []
        short = None if all(map(_is_plain, mine)) and len(mine) < 2 else _shorter(symbol, [*mine, *context])
        if short is None or (not _is_shorter(short, mine)):
            rest += group
            continue
        wanted = [*given, *context]
        sound = all(prover.entails([*wanted, short], part).entailed for part in mine)
        exact = sound and all(prover.entails([*wanted, *mine], part).entailed for part in _parts(short))
        if not exact:
            rest += group
            continue
        because = tuple(dict.fromkeys(c for clause in group for c in clause.because))
        rest += [Clause(disjunction(part, *alternatives), because) for part in _parts(short)]
    return _distinct(rest)


def _parts(relation: Relation) -> tuple[Relation, ...]:
    return relation.parts if relation.op == "and" else (relation,)


def _is_shorter(short: Relation, clauses: Sequence[Relation]) -> bool:
    return sum(part.size for part in _parts(short)) < sum(clause.size for clause in clauses)


def _subject(relation: Relation) -> tuple[Symbol, frozenset[Relation]] | None:
    """The one symbol that a clause is about, and its alternatives over other symbols."""
    if len(relation.symbols) == 1:
        return next(iter(relation.symbols)), frozenset()
    if relation.op != "or" or any(len(part.symbols) != 1 for part in relation.parts):
        return None
    subjects = [next(iter(part.symbols)) for part in relation.parts]
    mains = {s for s, part in zip(subjects, relation.parts, strict=True) if not _is_plain(part)}
    if len(mains) != 1:
        return None
    (main,) = mains
    return main, frozenset(part for s, part in zip(subjects, relation.parts, strict=True) if s is not main)


def _about(relation: Relation, symbol: Symbol) -> Relation:
    """The parts of a clause that are about the symbol."""
    if relation.op == "or" and len(relation.symbols) > 1:
        return disjunction(*(part for part in relation.parts if part.symbols == {symbol}))
    return relation


def _is_plain(relation: Relation) -> bool:
    """A comparison of one symbol with a constant."""
    line = relation.line
    return line is not None and isinstance(sole_atom(line.term), Symbol)


def _shorter(symbol: Symbol, clauses: Sequence[Relation]) -> Relation | None:
    """A bound, a congruence or a finite set that holds at the same small sizes as the clauses."""
    period = lcm(*map(_period, clauses))
    limit = max(16, *(abs(c) for clause in clauses for c in _constants(clause))) * 2 + 4 * period
    if limit > _MOST_VALUES:
        return None
    legal = [v for v in range(limit) if all(holds(clause, {symbol.name: v}) is True for clause in clauses)]
    if not legal:
        return FALSE
    s = expr_of(symbol)
    if len(legal) == 1:
        return eq(s, legal[0])
    step = gcd(*(b - a for a, b in pairwise(legal)))
    open_ended = legal[-1] + step >= limit
    if legal == list(range(legal[0], legal[-1] + 1, step)):
        parts = [] if legal[0] < step and legal[0] == legal[0] % step else [ge(s, legal[0])]
        parts += [] if step == 1 else [eq(s % step, legal[0] % step)]
        parts += [] if open_ended else [le(s, legal[-1])]
        return conjunction(*parts)
    return one_of(s, tuple(legal)) if len(legal) <= _LISTED and not open_ended else None


def _period(relation: Relation) -> int:
    """After how many sizes the remainders of all quotients come again."""
    periods: dict[Atom, int] = {}
    for node in postorder(relation.atoms()):
        inner = lcm(1, *(periods[child] for child in node.children()))
        divisor = cast(Expr, node.args[1]).const if node.op in ("floordiv", "truncdiv") else None
        periods[node] = inner * abs(divisor or 1)
    return lcm(1, *periods.values())


def _constants(relation: Relation) -> Iterator[int]:
    for part in relation.comparisons():
        yield from (coef for mono, coef in part.expr.terms if not mono)
        for node in postorder(part.expr.atoms()):
            for arg in node.args:
                if isinstance(arg, Expr):
                    yield from (coef for mono, coef in arg.terms if not mono)


# Redundancy


def _needed(clauses: Sequence[Clause], given: Sequence[Relation], prover: Prover) -> list[Clause]:
    """The clauses without those that the others entail; the longest are tried first."""
    kept = list(clauses)
    for clause in sorted(clauses, key=lambda c: (c.relation.size, c.relation.key), reverse=True):
        rest = [c for c in kept if c is not clause]
        if rest and prover.entails([*given, *(c.relation for c in rest)], clause.relation).entailed:
            kept = rest
    return kept


__all__ = ["Clause", "Contract", "contract", "simplify"]
