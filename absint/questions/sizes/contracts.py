"""The contract of a model: the legal sizes of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from absint.lattices.deadline import DeadlineError, within
from absint.lattices.limits import Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, TRUE, Comparison, Relation
from absint.lattices.logic.truth import NO
from absint.lattices.terms.expr import MAX_DIM, Dim, Expr, Symbol, const, expr_of, mul, sub
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import sole_atom
from absint.lattices.terms.substitution import substitute
from absint.lattices.text.escapes import excerpt
from absint.lattices.value import Tensor
from absint.questions.limits import checked
from absint.questions.sizes.boxes import stated_within
from absint.questions.sizes.samples import legal_samples
from absint.shapes.assumptions import known_names
from absint.solution.constraints import all_names, recorded
from absint.solver.constraints import ConstraintSet
from absint.solver.contracts.contract import Clause, Contract
from absint.solver.contracts.contract import contract as of_constraints
from absint.solver.prove import Prover

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


def contract(analysed: Analysed, limits: Limits, samples: int = 0) -> Contract:
    """See `absint.Result.contract`."""
    analysed.require_sound("a contract")
    if not samples:
        return _contract(analysed, limits)
    with within(checked(limits).seconds):
        clauses = _contract(analysed, limits)
        found = legal_samples(analysed, samples, limits)
    fewer = "no other sizes are legal" if found.complete else found.reason
    return replace(clauses, samples=found.sizes, fewer=fewer if len(found) < samples else "")


def _contract(analysed: Analysed, limits: Limits) -> Contract:
    base = recorded(analysed).base
    shown = base.renamed(all_names(analysed))
    with within(checked(limits).seconds):
        found = _of_base(analysed, shown, limits)
        with suppress(DeadlineError):
            if found.possible_failures and analysed.last is not analysed.base:
                found = _refined(analysed, base, found, limits)
            found = _at_legal_sizes(found)
        return found


def _at_legal_sizes(found: Contract) -> Contract:
    """The contract without nodes that may fail where no size is legal."""
    facts = Facts(clause.relation for clause in found.clauses)
    kept = tuple(f for f in found.possible_failures if f.guard is TRUE or facts.decide(f.guard) is not NO)
    return replace(found, possible_failures=kept)


def _of_base(analysed: Analysed, shown: ConstraintSet, limits: Limits) -> Contract:
    """The contract of the first round."""
    prover = Prover(shown, order=tuple(analysed.parameters), limits=limits)
    elements = tuple(analysed.declared_inputs.elements)
    found = of_constraints(shown, prover, shown.possible_failures, shared(analysed), elements)
    with suppress(DeadlineError):
        if any(clause.relation is FALSE for clause in found.clauses) and prover.consistent.entailed:
            core = prover.because(prover.consistent.core)
            found = replace(found, clauses=(Clause(FALSE, tuple(c for c in core if c.origin.node >= 0)),))
    return found


def _refined(analysed: Analysed, base: ConstraintSet, found: Contract, limits: Limits) -> Contract:
    """The contract with the possible failures of the last round, if that round assumes nothing beyond the clauses."""
    met = [c.formula for c in base if c.origin.node < 0] + [clause.relation for clause in found.clauses]
    prover = Prover(base, order=tuple(analysed.parameters), limits=limits)
    stated = stated_within(analysed, prover, met)
    inputs = analysed.parameters.keys()
    new = [formula for formula in stated.filter("required").distinct if formula not in base.distinct]
    if not all(prover.entails(met, f).entailed for f in new if f.free_symbols <= inputs):
        return found
    stated = stated.renamed(all_names(analysed))
    beyond = {c.formula: c for c in stated.filter("required") if not c.formula.free_symbols <= inputs}
    beyond = {c.formula: c for c in found.beyond} | beyond
    return replace(found, possible_failures=stated.possible_failures, beyond=tuple(beyond.values()))


@dataclass(frozen=True)
class SymbolFacts:
    """Facts about one size of the inputs, or element of a small one, that hold in every run that succeeds."""

    name: str
    lo: int
    """No legal size is below this."""
    hi: int
    """No legal size is above this."""
    modulus: int = 1
    """Every legal size is `remainder` modulo this."""
    remainder: int = 0
    values: tuple[int, ...] | None = None
    """The legal sizes, if they are few."""
    solved: Dim | None = None
    """Its value if determined: a constant, or an expression over earlier symbols."""
    because: tuple[Clause, ...] = ()
    """The clauses of the contract that mention it."""
    reason: str = ""
    """The reason why not all facts were used, if not all were."""

    def __str__(self) -> str:
        said = [f"{self.lo} <= {self.name} <= {self.hi}" if self.hi < MAX_DIM else f"{self.name} >= {self.lo}"]
        if self.lo < -MAX_DIM:
            said = [f"{self.name} <= {self.hi}" if self.hi < MAX_DIM else f"{self.name} is any integer"]
        if self.solved is not None:
            said = [f"{self.name} == {self.solved}"]
        elif self.values is not None:
            said = [f"{self.name} in {{{', '.join(map(str, self.values))}}}"]
        elif self.modulus > 1:
            said.append(f"{self.name} % {self.modulus} == {self.remainder}")
        return " and ".join(said)

    def __repr__(self) -> str:
        return f"<SymbolFacts: {excerpt(str(self))}>"


def symbol_facts(analysed: Analysed, name: str, limits: Limits) -> SymbolFacts:
    """See `absint.Result.symbol`."""
    analysed.require_sound("what is known of a symbol")
    known_names([name], analysed.declared_inputs, f"symbol {name!r}")
    with within(checked(limits).seconds):
        return facts_from(analysed, name, contract(analysed, limits))


def facts_from(analysed: Analysed, name: str, found: Contract) -> SymbolFacts:
    """A clause of a contract about a size or element of the inputs."""
    mine = tuple(clause for clause in found.clauses if name in clause.relation.free_symbols)
    try:
        return replace(_facts_of(analysed, name, found.clauses, mine), reason=found.reason)
    except DeadlineError as error:
        lo, hi = _range(analysed.parameters[name].bounds)
        return SymbolFacts(name, lo, hi, because=mine, reason=str(error))


def _facts_of(analysed: Analysed, name: str, clauses: Sequence[Clause], mine: tuple[Clause, ...]) -> SymbolFacts:
    given = [c.formula for c in recorded(analysed).base if c.origin.node < 0]
    facts = Facts([*given, *(clause.relation for clause in clauses)], tuple(analysed.parameters))
    start = analysed.parameters[name]
    value = facts.simplify(start)
    narrowed = sole_atom(value) if isinstance(value, Expr) else None
    if not isinstance(narrowed, Symbol) or narrowed.name != name:
        lo, hi = _range(value.bounds, start.bounds)
        return SymbolFacts(name, lo, hi, solved=_widened(value, analysed.parameters), because=mine)
    lo, hi = _range(_bounds(narrowed, facts), start.bounds)
    congruence = facts.congruence(expr_of(narrowed))
    values = next((v for s, v in facts.values.items() if s.name == name), None)
    return SymbolFacts(
        name,
        lo,
        hi,
        max(congruence.modulus, 1),
        congruence.remainder,
        None if values is None else tuple(sorted(values)),
        because=mine,
    )


_ANY: Final = Interval(None, None)


def _range(found: Interval, widest: Interval = _ANY) -> tuple[int, int]:
    """Both ends, within the range that the symbol has as it is declared."""
    lo, hi = found.meet(widest)
    assert lo is not None
    assert hi is not None
    return lo, hi


def _bounds(symbol: Symbol, facts: Facts) -> Interval:
    """Bounds of the symbol from each linear relation that holds, at the bounds of the others: past + seq <= 12."""
    bounds = symbol.bounds
    for relation in facts.relations:
        inside = relation.substitute(facts.mapping)
        for e in _at_least_zero(inside):
            coef = dict(e.terms).get((symbol,), 0)
            rest = sub(e, mul(const(coef), expr_of(symbol)))
            hi = rest.bounds.hi
            if not coef or hi is None or symbol in cast(Expr, rest).symbols:
                continue
            bounds = bounds.meet(Interval(-(hi // coef), None) if coef > 0 else Interval(None, hi // -coef))
    return bounds


def _at_least_zero(relation: Relation) -> Iterator[Expr]:
    """The sums that are at least 0 where the relation holds, if it is a relation of sums."""
    if isinstance(relation, Comparison) and relation.op != "!=":
        yield relation.expr
        if relation.op == "==":
            yield cast(Expr, -relation.expr)


def _widened(value: Dim, declared: Mapping[str, Expr]) -> Dim:
    """The expression over symbols as they are declared."""
    if not isinstance(value, Expr):
        return value
    return substitute(value, {s: declared[s.name] for s in value.symbols})


def shared(analysed: Analysed) -> Mapping[str, tuple[str, ...]]:
    """Symbols that stand for sizes of more than one input, with these places."""
    places: dict[str, list[str]] = {}
    for name in analysed.inputs:
        value = analysed.base.states[analysed.input_nodes[name]][0]
        if isinstance(value, Tensor) and value.shape.rank:
            for axis, dim in enumerate(value.shape):
                for symbol in sorted(dim.free_symbols if isinstance(dim, Expr) else ()):
                    places.setdefault(symbol, []).append(f"{name}[{axis}]")
    return {symbol: tuple(found) for symbol, found in places.items() if len(found) > 1}
