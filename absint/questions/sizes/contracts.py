"""The contract of a model: the legal sizes of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import cycle, islice
from math import log2
from random import Random
from typing import Final, cast

from absint.errors import UsageError
from absint.lattices.limits import LONG, DeadlineError, Limits, within
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, NO, TRUE, Comparison, Relation
from absint.lattices.terms.expr import MAX_DIM, Dim, Expr, Symbol, const, expr_of, mul, sub
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import sole_atom, substitute
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import excerpt, format_sizes
from absint.lattices.text.forms import SIZES, Key, many
from absint.lattices.value import AnyTensor
from absint.program.limits import checked
from absint.questions.sizes.boxes import stated_within
from absint.questions.sizes.nearest import LegalSizes, SizeRange
from absint.shapes.sizes import known_names
from absint.solution.analysed import Analysed
from absint.solution.constraints import all_names, recorded
from absint.solver.candidates import PRIMES
from absint.solver.constraints import ConstraintSet
from absint.solver.contracts.contract import Clause, Contract, contract as of_constraints
from absint.solver.prove import Prover

# Legal sizes to try a model at: small and large ones, at the ends of ranges and of remainders, no two alike.

_TRIED: Final = 8
"""Legal sizes around a wanted one that are passed over since they are samples already."""

_LARGEST: Final = 1 << 16
"""The greatest end of a range that is a sample."""

_DRAWN: Final = 4
"""Sizes that are drawn for each sample that is missing."""

_OPEN: Final = 1024
"""The end of a range without one."""

_DRAWN_TO: Final = 32
"""About the largest size that is drawn: one symbol at a time is at the end of its range."""

_LARGE: Final = 100


@dataclass(frozen=True)
class LegalSamples:
    """Sizes that a check confirms, the same in every run. The first are small, typical and large; no size is 0 before
    all other kinds have had their turn."""

    sizes: tuple[Mapping[str, int], ...]
    """A size for each input symbol, in each sample."""
    complete: bool = False
    """No other sizes are legal, those with a 0 apart: proved."""
    reason: str = ""
    """The reason why there are fewer than were asked for, if a limit was reached."""

    def __str__(self) -> str:
        rows = [format_sizes(sizes) for sizes in self.sizes]
        if not rows:
            rows = ["no sizes are legal" if self.complete else "no legal sizes were found"]
        return "\n".join([*rows, *([f"({self.reason})"] if self.reason else [])])

    def __repr__(self) -> str:
        return f"<LegalSamples: {excerpt('; '.join(str(self).splitlines()))}>"

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[Mapping[str, int]]:
        return iter(self.sizes)

    def to_json(self) -> str:
        """As a JSON object, schema `absint.samples/1`."""
        return SAMPLES.text(self)


SAMPLES: Final = Document[LegalSamples](
    "samples",
    1,
    "legal sizes to try a model at (Result.samples)",
    Key("sizes", many(SIZES)),
    Key("complete", bool, "there are no others"),
    Key("reason", str, "why there are fewer than were asked for"),
    head=(),
    defines=False,
)


def legal_samples(analysed: Analysed, count: int, limits: Limits | None = None) -> LegalSamples:
    """See `absint.Result.samples`."""
    analysed.require_sound("a check of sizes")
    if count < 1:
        raise UsageError(f"{count} samples: expected a number from 1 on")
    limits = checked(limits or Limits(LONG))
    legal = LegalSizes(analysed, analysed.symbols, limits)
    found: dict[tuple[int, ...], Mapping[str, int]] = {}
    complete = False
    try:
        with within(limits.seconds):
            for wanted in _wanted(legal, count):
                fresh = _beside(legal, wanted, found)
                if fresh is not None:
                    found[tuple(fresh.values())] = fresh
                elif all(wanted.values()) and not legal.reason and len(found) < _TRIED:
                    while len(found) < count:  # others have a 0
                        fresh = _beside(legal, dict.fromkeys(wanted, 0), found)
                        if fresh is None:
                            complete = len(found) < _TRIED
                            break
                        found[tuple(fresh.values())] = fresh
                    break
                if len(found) == count:
                    break
    except DeadlineError as error:
        legal.reason = str(error)
    return LegalSamples(
        tuple(found.values()), complete and not legal.reason, "" if len(found) == count else legal.reason
    )


def _beside(
    legal: LegalSizes, wanted: Mapping[str, int], found: Mapping[tuple[int, ...], object]
) -> Mapping[str, int] | None:
    """The legal sizes nearest to the wanted ones that are no sample yet."""
    near = islice(legal.near(wanted, legal.not_empty(wanted)), _TRIED)
    return next((sizes for sizes, _ in near if tuple(sizes.values()) not in found), None)


def _wanted(legal: LegalSizes, count: int) -> Iterator[dict[str, int]]:
    ranges = {name: _sample_range(found) for name, found in legal.ranges().items()}
    draw = Random(0)

    def drawn() -> dict[str, int]:
        ends = {name: (log2(r.start), log2(min(r[-1], _DRAWN_TO + 2 * r.start))) for name, r in ranges.items()}
        return {name: round(2 ** draw.uniform(*pair)) for name, pair in ends.items()}

    yield {name: r.start for name, r in ranges.items()}
    yield {name: r.start + (prime - 1) * r.step for (name, r), prime in zip(ranges.items(), cycle(sorted(PRIMES)))}
    yield {name: max(_LARGE - 7 * at, 1) for at, name in enumerate(ranges)}
    for place in (-1, 0, -2, 1):
        for name, r in ranges.items():
            yield {**drawn(), name: r[place]} if len(r) > 1 else drawn()
    for _ in range(count * _DRAWN if ranges else 0):
        yield drawn()
    for name in ranges:
        yield {**drawn(), name: 0}


def _sample_range(found: SizeRange) -> range:
    """The sizes of a symbol that may be legal, as far as samples go; 0 is none of them."""
    step = max(found.congruence.modulus, 1)
    start = max(found.low, 1)
    start += (found.congruence.remainder - start) % step
    last = found.high if found.high is not None and found.high <= _LARGEST else max(_OPEN, 2 * start)
    return range(start, max(last, start) + 1, step)


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


def places_of(analysed: Analysed) -> Mapping[str, Sequence[str]]:
    """The sizes of inputs that symbols stand for or in: `input_ids[1]`."""
    places: dict[str, list[str]] = {}
    for name in analysed.inputs:
        value = analysed.base.states[analysed.input_nodes[name]][0]
        if isinstance(value, AnyTensor) and value.shape.rank:
            for axis, dim in enumerate(value.shape.dims):
                for symbol in sorted(dim.free_symbols):
                    places.setdefault(symbol, []).append(f"{name}[{axis}]")
    return places


def shared(analysed: Analysed) -> Mapping[str, tuple[str, ...]]:
    """Symbols that stand for sizes of more than one input, with these places."""
    return {symbol: tuple(found) for symbol, found in places_of(analysed).items() if len(found) > 1}
