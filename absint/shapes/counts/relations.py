"""Relations between the sizes that data decide in one round: what equal values and masks of one shape say of them.

A mask holds in some cells (`masks`), and how often it holds is the sum of how often each cell occurs. So a count is a
sum of others where its cells are, and no more than others whose cells cover its own. Relations are made for each body
from the nodes of it and of the bodies around it, since these are computed wherever it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import Final, NamedTuple

from absint.lattices.logic.relation import Comparison, Relation, eq, le
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, Symbol, const, expr_of, mul, product, sub
from absint.lattices.value import SequenceOf, Tensor, Value
from absint.program.graph import Program
from absint.program.lowered import Lowered
from absint.program.nodes import Operation
from absint.shapes.counts.masks import At, Cells, Masks, Space
from absint.shapes.counts.numbering import Numbering
from absint.shapes.readability import distinct_values
from absint.shapes.refinement import Advice, run
from absint.shapes.rounds import Learned, ResolvedChoices, Round, counts_in
from absint.shapes.summaries import State

ALIKE: Final = "the same computation on the same inputs"
ADDS_UP: Final = "counts of places where masks hold add up"
COVERED: Final = "a mask holds nowhere else than others"

_COUNTING: Final = frozenset({"NonZero", "Compress", "Unique"})

_MOST: Final = 64
"""Most counts that are compared with one another."""

_MOST_IN_TWO: Final = 12
"""Most counts that are compared with sums of two."""


class Related(NamedTuple):
    """A relation that holds where a node runs, those whose sizes it is about, and why."""

    relation: Relation
    node: int
    nodes: frozenset[int]
    reason: str


class _Count(NamedTuple):
    size: Expr
    nodes: frozenset[int]


class _Sum(NamedTuple):
    """How often masks hold: cells with factors, as counts with factors."""

    cells: dict[int, Fraction]
    counts: dict[int, Fraction]


def relations(program: Program, states: Sequence[State]) -> list[Related]:
    """What is known of the sizes that data decide. Nothing is read where no operator invents one."""
    if not any(_is_by_operator(program, symbol) for symbol in _symbols(states)):
        return []
    found = {(item.relation, item.node): item for item in [*_Relations(program, states).found()][::-1]}
    return list(found.values())[::-1]


def _symbols(states: Sequence[State]) -> set[Symbol]:
    dims = {dim for value in distinct_values(states) for dim in _sizes(value)}
    return {symbol for dim in dims if isinstance(dim, Expr) and dim.const is None for symbol in dim.symbols}


def _is_by_operator(program: Program, symbol: Symbol) -> bool:
    """An operator invented it."""
    node = symbol.origin_node
    return symbol.kind is SymbolKind.FRESH and node is not None and program.nodes.operations[node] is not None


def _sizes(value: Value) -> Sequence[Dim]:
    if isinstance(value, SequenceOf):
        return (value.length, *_sizes(value.element))
    return value.shape.dims if isinstance(value, Tensor) and value.shape.rank else ()


class _Relations:
    def __init__(self, program: Program, states: Sequence[State]) -> None:
        self._nodes, self._states = program.nodes, states
        self._numbering = Numbering(program, states)
        self._masks = Masks(self._numbering)

    def found(self) -> Iterator[Related]:
        """For each body that counts: relations between counts in it and in those around it."""
        gates: dict[int, list[int]] = defaultdict(list)
        for node in self._telling():
            gates[self._nodes.places[node][1]].append(node)
        for gate in gates:
            inside = sorted(node for g in (*self._nodes.around(gate), -1) for node in gates.get(g, ()))
            yield from self._alike(gate, inside)
            yield from self._counted(gate, inside)

    def _telling(self) -> Iterator[int]:
        """The nodes that count, and those of one value that it is not known to have one shape."""
        alike: dict[Hashable, list[int]] = defaultdict(list)
        for node, operation in enumerate(self._nodes.operations):
            if operation is not None and operation.operator in _COUNTING:
                yield node
            elif operation is not None:
                alike[self._numbering.of((node, 0))].append(node)
        for nodes in alike.values():
            if len(nodes) > 1 and len({id(self._states[node]) for node in nodes}) > 1:
                yield from nodes

    def _related(self, gate: int, relation: Relation, nodes: frozenset[int], reason: str) -> Iterator[Related]:
        """The relation at the last of the nodes of this body; nothing if it says nothing, or is of bodies around it."""
        own = [node for node in nodes if self._nodes.places[node][1] == gate]
        if own and relation.op not in ("true", "false", "unknown"):
            yield Related(relation, max(own), nodes, reason)

    def _alike(self, gate: int, inside: Sequence[int]) -> Iterator[Related]:
        """Equal values have equal sizes."""
        first: dict[Hashable, tuple[int, Value]] = {}
        for node in inside:
            operation = self._nodes.operations[node]
            for at, value in enumerate(self._states[node]):
                key = self._key(node, at, operation)
                other, before = first.setdefault(key, (node, value))
                if before is value:
                    continue
                for a, b in zip(_sizes(before), _sizes(value), strict=False):
                    yield from self._related(gate, eq(b, a), frozenset((other, node)), ALIKE)

    def _key(self, node: int, at: int, operation: Operation | None) -> Hashable:
        """The same for values of the same sizes."""
        if operation is not None and operation.operator == "Unique" and at == 0:
            attributes = operation.attributes.get("axis"), operation.attributes.get("sorted")
            return "unique", attributes, self._numbering.of(self._nodes.operands[node][0])
        return self._numbering.of((node, at))

    # Counts

    def _counted(self, gate: int, inside: Sequence[int]) -> Iterator[Related]:
        counts: dict[int, _Count] = {}
        cut: dict[Hashable, _Count] = {}
        for node in inside:
            for key, size in self._counts(node):
                found = _Count(size, frozenset([node]))
                known = counts.setdefault(key, found) if isinstance(key, int) else cut.setdefault(key, found)
                yield from self._related(gate, eq(size, known.size), known.nodes | {node}, ADDS_UP)
        if counts:
            yield from self._parts(gate, counts)
            yield from self._cells(gate, counts)

    def _counts(self, node: int) -> Iterator[tuple[Hashable, Expr]]:
        """What a node counts, and the count: how often a value is not 0, by its number; or only at first places."""
        operation, value = self._nodes.operations[node], self._states[node][0]
        if operation is None or not isinstance(value, Tensor) or value.shape.rank is None:
            return
        operands = [self._numbering.of(operand) for operand in self._nodes.operands[node]]
        if operation.operator == "NonZero" and value.shape.rank == 2:
            size = value.shape[1]
            if isinstance(size, Expr):
                yield self._masks.counted(operands[0]), size
        elif operation.operator == "Compress":
            axis = operation.attributes.get("axis")
            data, space = self._masks.space(operands[0]), self._masks.space(operands[1])
            if data is None or space is None or len(space) != 1 or not (axis is None or isinstance(axis, int)):
                return
            if axis is not None and not -len(data) <= axis < len(data):
                return
            extent, size = product(data) if axis is None else data[axis], value.shape[axis or 0]
            if isinstance(size, Expr):
                counted = self._masks.counted(operands[1])
                yield (counted if extent is space[0] else ("cut", operands[1], extent)), size

    def _count(self, counts: dict[int, _Count], at: At) -> _Count | None:
        """How often a value holds in a space, if a node counts it."""
        found, times = counts.get(self._masks.counted(at.number)), self._masks.repeated(at)
        size = None if found is None or times is None else mul(found.size, times)
        return _Count(size, found.nodes) if found is not None and isinstance(size, Expr) else None

    def _parts(self, gate: int, counts: dict[int, _Count]) -> Iterator[Related]:
        """What is joined or cut."""
        for number, whole in counts.items():
            operation = self._numbering.operation(number)
            name = operation.operator if operation is not None else ""
            operands = self._numbering.operands(number) if name in ("Concat", "Slice", "Split") else []
            known = [counts.get(self._masks.counted(each)) for each in operands]
            if name == "Concat":
                parts = [each for each in known if each is not None]
                is_whole = len(parts) == len(known)
                yield from self._sum(gate, parts, [whole], is_whole=is_whole)
            elif name and known and known[0] is not None:
                yield from self._sum(gate, [whole], [known[0]])
                node = self._numbering.first[number][0]
                outputs = [self._numbering.of((node, at)) for at in range(len(self._states[node]))]
                found = [counts[self._masks.counted(n)] for n in outputs if self._masks.counted(n) in counts]
                if name == "Split":
                    yield from self._sum(gate, found, [known[0]], is_whole=len(found) == len(outputs))

    def _sum(
        self, gate: int, parts: Sequence[_Count], wholes: Sequence[_Count], *, is_whole: bool = False
    ) -> Iterator[Related]:
        total, most = _total(parts), _total(wholes)
        nodes = frozenset[int]().union(*(count.nodes for count in (*parts, *wholes)))
        relation = eq(total, most) if is_whole else le(total, most)
        yield from self._related(gate, relation, nodes, ADDS_UP if is_whole else COVERED)

    def _cells(self, gate: int, counts: dict[int, _Count]) -> Iterator[Related]:
        """Masks over one space that test the same variables."""
        spaces: dict[Space, list[At]] = defaultdict(list)
        for number in counts:
            space = self._masks.space(number)
            if space is not None:
                spaces[space].append(At(number, space))
        for space, roots in spaces.items():
            size = product(space)
            for group in self._groups(roots):
                cells = Cells(self._masks, self._numbering, group)
                if not cells.all or not isinstance(size, Expr):
                    continue
                known = {cells.all: _Count(size, frozenset()), 0: _Count(ZERO_EXPR, frozenset())}
                for at in sorted(cells.inside):
                    count = self._count(counts, at)
                    if count is not None:
                        known.setdefault(cells.bits(at), count)
                        yield from self._sum(gate, [count], [known[cells.bits(at)]], is_whole=True)
                kept = dict(list(known.items())[:_MOST])
                for factors in _sums(kept, cells.count):
                    yield from self._equal(gate, kept, factors)
                for parts, wholes in _covers(kept, cells.all):
                    yield from self._sum(gate, *([kept[bits] for bits in side] for side in (parts, wholes)))

    def _groups(self, roots: Sequence[At]) -> list[list[At]]:
        """Masks that share variables, directly or through others."""
        groups: list[tuple[set[Hashable], list[At]]] = []
        for root in roots:
            variables: set[Hashable] = {
                mask.variable
                for mask in map(self._masks.mask, Cells(self._masks, self._numbering, [root]).inside)
                if mask.variable is not None
            }
            apart, members = [], [root]
            for group in groups:
                if variables.isdisjoint(group[0]):
                    apart.append(group)
                else:
                    variables |= group[0]
                    members = [*group[1], *members]
            groups = [*apart, (variables, members)]
        return [members for _, members in groups]

    def _equal(self, gate: int, known: dict[int, _Count], factors: dict[int, int]) -> Iterator[Related]:
        total: Dim = ZERO_EXPR
        for bits, factor in factors.items():
            total = total + known[bits].size * factor
        nodes = frozenset[int]().union(*(known[bits].nodes for bits in factors))
        yield from self._related(gate, eq(total, 0), nodes, ADDS_UP)


def _total(counts: Sequence[_Count]) -> Dim:
    total: Dim = ZERO_EXPR
    for count in counts:
        total = total + count.size
    return total


def _sums(known: dict[int, _Count], count: int) -> Iterator[dict[int, int]]:
    """Factors with which sets of cells add up to nothing: a basis, each set by those before it."""
    basis: dict[int, _Sum] = {}
    for bits in known:
        left = _Sum({at: Fraction(1) for at in range(count) if bits >> at & 1}, {bits: Fraction(1)})
        for pivot, other in basis.items():
            factor = left.cells.get(pivot)
            if factor:
                left = _Sum(_less(left.cells, other.cells, factor), _less(left.counts, other.counts, factor))
        if left.cells:
            pivot = min(left.cells)
            scale = left.cells[pivot]
            basis[pivot] = _Sum(*({k: v / scale for k, v in part.items()} for part in left))
        elif bits:
            whole = lcm(*(v.denominator for v in left.counts.values()))
            yield {k: int(v * whole) for k, v in left.counts.items()}


def _less(a: dict[int, Fraction], b: dict[int, Fraction], factor: Fraction) -> dict[int, Fraction]:
    found = {key: a.get(key, Fraction(0)) - factor * b.get(key, Fraction(0)) for key in {**a, **b}}
    return {key: value for key, value in found.items() if value}


def _covers(known: dict[int, _Count], every: int) -> Iterator[tuple[list[int], list[int]]]:
    """Sets of cells with none in common, and others that cover them together; none that follows from sums. That a mask
    holds no more often than its space is large is known.
    """
    for whole in known:
        parts = sorted((bits for bits in known if bits and bits != whole and not bits & ~whole), key=int.bit_count)
        inside: list[int] = []
        for bits in parts:
            if not any(bits & other for other in inside):
                inside.append(bits)
            elif whole != every and not any(bits != p and not bits & ~p for p in parts):
                yield [bits], [whole]
        if len(inside) > (whole == every) and sum(inside) != whole:
            yield inside, [whole]
    for a, b in combinations(known, 2) if len(known) <= _MOST_IN_TWO else ():
        for bits in known if a & b else ():
            if bits & ~a and bits & ~b and not bits & ~(a | b):
                yield [bits], [a, b]


# A last round in which counts that add up to a size are that size, if some size is a sum of counts.


def added_up(lowered: Lowered, last: Round, advice: Advice | None) -> list[Round]:
    """The round, with what it learned from nodes of every run; none if no counts add up."""
    facts, learned, sums = last.analysis.facts, list(last.learned), set[tuple[frozenset[Symbol], Expr]]()
    for item in relations(lowered.program, last.states):
        in_every_run = all(lowered.needed[n] and lowered.program.nodes.places[n][1] < 0 for n in item.nodes)
        found = _added(item.relation) if in_every_run and item.reason == ADDS_UP else None
        if found is not None:
            sums.add(found)
            learned.append(Learned(item.relation.map(facts.restored), item.node, item.reason))
    before = last.analysis.simplify
    known = before if isinstance(before, ResolvedChoices) else ResolvedChoices(frozenset(), facts)
    simplify = ResolvedChoices(known.held, known.facts, known.proved, frozenset(sums))
    return [run(lowered, facts, advice=advice, simplify=simplify, learned=tuple(learned))] if sums else []


def _added(relation: Relation) -> tuple[frozenset[Symbol], Expr] | None:
    """The symbols by data that add up to an expression without any, if the relation says so."""
    if not isinstance(relation, Comparison) or relation.op != "==":
        return None
    counts = counts_in(relation.expr)
    factors = {dict(relation.expr.terms)[symbol,] for symbol in counts}
    total: Dim = relation.expr
    if len(counts) < 2 or len(factors) != 1 or not factors <= {1, -1}:
        return None
    factor = factors.pop()
    for symbol in counts:
        total = sub(total, mul(const(factor), expr_of(symbol)))
    total = mul(const(-factor), total)
    is_told = isinstance(total, Expr) and all(s.kind is not SymbolKind.FRESH for s in total.symbols)
    return (frozenset(counts), total) if isinstance(total, Expr) and is_told else None
