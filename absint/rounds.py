"""Rounds: what the nodes of one run of the analysis require becomes facts of the next one.

Round 0 rests on the declarations of the inputs and the user's assumptions alone. A requirement of a node that every run
computes holds in every run that succeeds, so where it solves or bounds a symbol (`d_model == 64`, `seq >= 1`), the next
round may use it. Round 0 is kept: contracts and checks of sizes use it, so that no requirement discharges itself.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.fixpoint import fixpoint
from absint.lower import Lowered
from absint.names import distinct_values
from absint.profiling import Profile, ProfiledAnalysis
from absint.renewal import Renewal
from absint.shapes import ShapeAnalysis, State, Trace, birthplace
from lattices.contents import element_symbols
from lattices.expr import Atom, Dim, Expr, Symbol, expr_of, substitute
from lattices.facts import Facts, positive_factors, solve
from lattices.normal import sole_atom
from lattices.piecewise import choices, chosen
from lattices.relation import Relation, negation
from lattices.tensor import Tensor, Value
from lattices.truth import UNKNOWN

if TYPE_CHECKING:
    import networkx as nx

MAX_ROUNDS: Final = 4
"""Runs of the analysis beyond the first."""


class Learned(NamedTuple):
    """A requirement that became a fact, and the node that states it."""

    relation: Relation
    node: int
    reason: str


class Round(NamedTuple):
    """One run of the analysis to its fixpoint, and the facts it started from."""

    analysis: ShapeAnalysis
    states: list[State]
    learned: tuple[Learned, ...] = ()


class Rounds(NamedTuple):
    """All rounds, the most exact last."""

    rounds: tuple[Round, ...]
    conflict: tuple[Learned, ...] = ()
    """Requirements that contradict each other or what is given, if any do: the model can never run."""
    adopted: tuple[Expr, ...] = ()
    """Declared dims that an unsound policy shows in place of inferred ones."""

    @property
    def originals(self) -> Mapping[Symbol, Dim]:
        """Symbols that facts narrowed -> the symbols of round 0."""
        return narrowed(self.rounds[-1].analysis.facts)


def run_rounds(
    lowered: Lowered,
    graph: nx.DiGraph[int],
    facts: Facts,
    order: Sequence[str],
    *,
    memoise: bool,
    trace: Trace | None,
    refine: bool,
    profile: Profile | None = None,
) -> Rounds:
    """Run the analysis until the requirements teach nothing new. `order` are the input symbols."""
    make = ShapeAnalysis if profile is None else ProfiledAnalysis

    def run(known: Facts, held: frozenset[Relation], learned: tuple[Learned, ...]) -> Round:
        simplify = partial(replaced, change=partial(chosen, held=held)) if held else None
        renews = rounds and not facts and not known.remainders
        renewal = Renewal(rounds[0].analysis, known.mapping) if renews else None
        analysis = make(lowered.program, known, simplify=simplify, memoise=memoise, trace=trace, renewal=renewal)
        if isinstance(analysis, ProfiledAnalysis) and profile is not None:
            analysis.profile = profile
            with profile.phase("fixpoint"):
                return Round(analysis, fixpoint(graph, analysis).states, learned)
        return Round(analysis, fixpoint(graph, analysis).states, learned)

    rounds: list[Round] = []
    rounds.append(run(facts, frozenset(), ()))
    needed = needed_nodes(lowered) if refine else bytearray()
    learned: dict[Relation, Learned] = {}
    for _ in range(MAX_ROUNDS if refine else 0):
        last = rounds[-1]
        wanted = open_conditions(last.states)
        found = (item for item in teachings(last.analysis, needed, wanted) if item.relation not in learned)
        new = {item.relation: item for item in found}
        if not new:
            break
        learned |= new
        known = Facts((*facts.relations, *learned), order)
        if known.contradiction:
            return Rounds(tuple(rounds), _clash(facts, learned, order))
        held = frozenset(r.substitute(known.mapping) for r in learned if not _teaches(r))
        settles = any(item.relation in wanted and not _teaches(item.relation) for item in new.values())
        changed = known.mapping != last.analysis.facts.mapping
        if not settles and not (changed and (_worthwhile(known, last.states) or _decides(known, last.states))):
            break
        rounds.append(run(known, held, tuple(learned.values())))
    return Rounds(tuple(rounds))


def _clash(facts: Facts, learned: Mapping[Relation, Learned], order: Sequence[str]) -> tuple[Learned, ...]:
    """Of requirements that contradict the facts, or each other, some that are enough and none that can be left out."""
    core = list(learned)
    step = max(len(core) // 2, 1)
    while True:
        at = 0
        while at < len(core):
            rest = core[:at] + core[at + step :]
            if Facts((*facts.relations, *rest), order).contradiction:
                core = rest
            else:
                at += step
        if step == 1:
            return tuple(learned[relation] for relation in core)
        step //= 2


def needed_nodes(lowered: Lowered) -> bytearray:
    """A flag for each node that some output depends on; the others impose nothing."""
    nodes = lowered.program.nodes
    needed = bytearray(len(nodes))
    for name in lowered.signature.outputs:
        operand = lowered.program.main.names.get(name)
        if operand is not None and operand[0] >= 0:
            needed[operand[0]] = 1
    # An exit depends on all that its body gives back, so one pass against the order of execution is enough.
    for number in range(len(nodes) - 1, -1, -1):
        if needed[number]:
            item = nodes[number]
            for producer, _ in item.operands:
                if producer >= 0:
                    needed[producer] = 1
            if item.gate >= 0:
                needed[item.gate] = 1
    return needed


def open_conditions(states: Sequence[State]) -> set[Relation]:
    """The conditions of choices in the values, truths among their elements, and the negations of both."""
    found = set(_truths(states))
    for value in distinct_values(states):
        for dim in _numbers(value):
            found.update(choices(dim))
    return found | set(map(negation, found))


def _truths(states: Sequence[State]) -> Iterator[Relation]:
    """Elements that are relations, such as the condition of an If."""
    for value in distinct_values(states):
        if isinstance(value, Tensor) and value.contents is not None:
            yield from (e for e in value.contents.open if isinstance(e, Relation) and e.symbols)


def teachings(analysis: ShapeAnalysis, needed: bytearray, wanted: Container[Relation] = ()) -> Iterator[Learned]:
    """What the nodes that every run computes say of single symbols, or of `wanted`, over the symbols of round 0."""
    seen: set[int] = set()
    back = narrowed(analysis.facts)
    for node, template in analysis.applied.items():
        if not template.statements or not needed[node] or analysis.nodes[node].gate >= 0:
            continue
        if not template.holes:
            if id(template) in seen:
                continue
            seen.add(id(template))
        for statement in analysis.statements(node):
            if statement.role == "assumed":
                continue
            whole = statement.relation
            for part in whole.parts if whole.op == "and" else (whole,):
                if all(map(_lasting, part.symbols)) and (_teaches(part) or part in wanted):
                    yield Learned(part.substitute(back) if back else part, node, statement.reason)


def narrowed(facts: Facts) -> Mapping[Symbol, Dim]:
    """Symbols that the facts narrowed -> the symbols they replace."""
    originals: dict[str, Symbol] = {}
    for symbol in facts.mapping:
        originals.setdefault(symbol.name, symbol)
    back: dict[Symbol, Dim] = {}
    for symbol, value in facts.mapping.items():
        for found in (symbol, *(value.symbols if isinstance(value, Expr) else ())):
            if found is not originals.get(found.name, found):
                back[found] = expr_of(originals[found.name])
    return back


def _lasting(symbol: Symbol) -> bool:
    """Of the inputs, or the size or element at a place of an output: the same number in every round."""
    if birthplace(symbol) is None:
        return True
    tag = symbol.name.partition(":")[2]
    return tag.replace(".", "").replace("[", "").replace("]", "").isdigit()


def _teaches(relation: Relation) -> bool:
    """It solves, bounds or limits a symbol."""
    if relation.op == "==":
        return solve(relation.expr) is not None or _divides(relation.expr)
    if relation.op == "or":
        lines = [part.line for part in relation.parts]
        return lines[0] is not None and all(line is not None and line.term is lines[0].term for line in lines)
    line = relation.line
    if line is None:
        return False
    return isinstance(sole_atom(line.term), Symbol) or (relation.op == ">=" and bool(positive_factors(relation.expr)))


def _divides(e: Expr) -> bool:
    """s - m*(s // m) - r == 0, over one symbol."""
    return len(e.symbols) == 1 and any(len(mono) == 1 and mono[0].op == "floordiv" for mono, _ in e.terms)


def _worthwhile(facts: Facts, states: Sequence[State]) -> bool:
    """The facts change some value, or some size was left open that another run may settle."""
    back = narrowed(facts)
    stays: dict[Atom, bool] = {}
    for value in distinct_values(states):
        if any(birthplace(s) is not None for s in _symbols(value)):
            return True
        if not all(_stays(dim, facts, back, stays) for dim in _numbers(value)):
            return True
    return False


def _stays(dim: Expr, facts: Facts, back: Mapping[Symbol, Dim], known: dict[Atom, bool]) -> bool:
    """The facts do no more than narrow the symbols of the dim. A sum stays if its atoms do, but for congruences."""
    if facts.remainders:
        return dim.const is not None or facts.simplify(dim) is _renamed(dim, back, facts)
    for mono, _ in dim.terms:
        for atom in mono:
            found = known.get(atom)
            if found is None:
                alone = expr_of(atom)
                found = known[atom] = facts.simplify(alone) is _renamed(alone, back, facts)
            if not found:
                return False
    return True


def _decides(facts: Facts, states: Sequence[State]) -> bool:
    """The facts decide a condition that was open."""
    return any(facts.decide(truth.substitute(facts.mapping)) is not UNKNOWN for truth in _truths(states))


def _renamed(dim: Expr, back: Mapping[Symbol, Dim], facts: Facts) -> Dim:
    """The dim if the facts do no more than narrow its symbols."""
    after = facts.simplify(dim)
    return after if isinstance(after, Expr) and substitute(after, back) is dim else dim


def _numbers(value: Value) -> Iterator[Expr]:
    """Dims and elements that are no constants."""
    if isinstance(value, Tensor):
        if value.shape.rank:
            yield from (dim for dim in value.shape.dims if isinstance(dim, Expr) and dim.const is None)
        if value.contents is not None and not value.contents.is_fill:
            yield from (e for e in value.contents.open if isinstance(e, Expr))


def _symbols(value: Value) -> Iterator[Symbol]:
    if isinstance(value, Tensor):
        for number in _numbers(value):
            yield from number.symbols
        if value.contents is not None:
            for element in value.contents.open:
                yield from element_symbols(element)


def replaced(value: Value, change: Callable[[Dim], Dim]) -> Value:
    """The value with its dims and integer elements changed."""
    if not isinstance(value, Tensor):
        return value
    contents = value.contents
    if contents is not None:
        contents = contents.map(lambda e: change(e) if isinstance(e, Dim) else e)
    return Tensor(value.dtype, value.shape.map(change), contents)


__all__ = [
    "MAX_ROUNDS",
    "Learned",
    "Round",
    "Rounds",
    "narrowed",
    "needed_nodes",
    "open_conditions",
    "replaced",
    "run_rounds",
    "teachings",
]
