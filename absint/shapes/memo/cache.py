"""Rule results that are kept: for the layers of a model, its further analyses, and the next model of its family.

A rule's result depends on the operation, the interned inputs and the facts. Facts that the bounds of symbols show are
in the inputs; all others are part of the key. All programs share the results of interned operations; those of other
operations last as long as their program. The number of results is bounded.

First-round results that a further round need not compute again.

    round 0   [N, M] ── rule ──> summary          facts learned: M == 64
    round 1   [N, 64] ─ rule ──> the same summary with 64 for M, unless the rule left something open

Facts that only replace symbols refine most results by a replacement. A rule can add more only where its result shows
something open: invented symbols, failures that the facts leave possible, dims whose form depends on facts (choices,
extremes, broadcasts: `FORMED`). Those nodes run again, and so do the users of a node that knows more than before
(`FirstRound.changed`). A dim that a rule which ran again leaves as it was is settled: other nodes take it from there
(`Settled`). Either choice is sound: a first-round summary holds of every run, and a replacement by equal terms keeps
that. Facts that tell remainders change what rules state, so a round under such facts runs all rules.

`Reuse` is kept for the replacements, not for a round: it serves each model and round that learns the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Final
from weakref import WeakKeyDictionary

from absint.lattices.contents import MAX_ELEMENTS, Contents, Element, element_symbols, replace_in
from absint.lattices.limits import takes_shortcuts
from absint.lattices.logic.piecewise import shortest
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation
from absint.lattices.ramp import NO_RAMPS, mapped
from absint.lattices.shape import shape_of
from absint.lattices.terms import intern
from absint.lattices.terms.expr import UNKNOWN_DIM, Constant, Dim, Expr, postorder
from absint.lattices.terms.floats import Float
from absint.lattices.terms.intern import release, remembered
from absint.lattices.terms.normal import Real, Substitution
from absint.lattices.text import notation
from absint.lattices.value import Tensor, Value
from absint.program import shared_prefix
from absint.program.graph import Program
from absint.program.nodes import INTERNED, Operation
from absint.program.steps import Operand
from absint.shapes.memo import known_facts
from absint.shapes.summaries import RuleSummary, State
from absint.transfer.stated import Statement

MAX_MEMO: Final = 1024
"""Most results of one operation; a model that is checked at many sizes would make ever more."""

MAX_SUMMARIES: Final = 1 << 14
"""Most results of all interned operations; then all are forgotten."""

MAX_REUSES: Final = 32

Results = dict[object, RuleSummary]
"""Results of the rule of one operation, by inputs and facts."""


class Cache:
    """Results of interned operations, and first-round results by the replacements of symbols."""

    def __init__(self) -> None:
        self._results: dict[Operation, Results] = {}
        self._reuses: dict[object, Reuse] = {}
        self._count = 0

    def results(self, operation: Operation) -> Results:
        """The remembered results of an interned operation."""
        found = self._results.get(operation)
        return {} if found is None else found

    def keep(self, operation: Operation, results: Results) -> None:
        """Count a result that was added to those of an interned operation, and keep them from the first on."""
        self._count += 1
        if self._count > MAX_SUMMARIES:
            self.purge()
        if len(results) == 1:  # those of a program from before a purge stay its own
            self._results[operation] = results

    def reuse(self, replaced: Substitution) -> Reuse:
        """First-round results under facts that do no more than replace symbols."""
        key = frozenset(replaced.mapping.items())
        found = self._reuses.get(key)
        if found is None or len(found) > MAX_SUMMARIES:
            if len(self._reuses) >= MAX_REUSES:
                self._reuses = {}
            found = self._reuses[key] = Reuse(replaced)
        return found

    def purge(self) -> None:
        """Forget all; programs keep what they have."""
        self._results = {}
        self._reuses = {}
        self._count = 0


SHARED: Final = Cache()


class Memo(dict[Operation, Results]):
    """The results that serve one program."""

    def __missing__(self, operation: Operation) -> Results:
        found = self[operation] = SHARED.results(operation) if operation.is_interned else {}
        return found

    def remember(self, operation: Operation, key: object, summary: RuleSummary) -> None:
        """Keep the result of an operation's rule."""
        results = self[operation]
        if len(results) >= MAX_MEMO:
            results.clear()
        results[key] = summary
        if operation.is_interned:
            SHARED.keep(operation, results)


_MEMOS: Final[WeakKeyDictionary[Program, Memo]] = WeakKeyDictionary()


def memo_of(program: Program) -> Memo | None:
    """The results that serve the program; None while the room is switched off."""
    if not takes_shortcuts():
        return None
    found = _MEMOS.get(program)
    return _MEMOS.setdefault(program, Memo()) if found is None else found


def purge() -> None:
    """Forget the results of earlier analyses, texts and types, and drop the entries of terms that nobody holds.
    It costs nothing but the time to compute them again.
    """
    INTERNED.purge()
    SHARED.purge()
    shared_prefix.purge()
    notation.forget()
    intern.forget()
    known_facts.forget()
    release()


FORMED: Final = frozenset({"broadcast", "int", "int32", "int64", "ite", "max", "min", "truncdiv"})
"""Atoms that may simplify under more facts."""


class Reuse:
    """Rule summaries of a first round over the symbols of another one, by the replacements of symbols."""

    def __init__(self, replaced: Substitution) -> None:
        self._replaced = replaced
        self.summaries: dict[int, tuple[RuleSummary, RuleSummary | None]] = {}
        """Summaries so far, by the identity of the first-round summary, which is kept beside them."""
        self._values: dict[Value, Value | None] = {}
        self._dims: dict[Expr, Dim] = {}
        self._plain: dict[Value, Value] = {}
        self._relations: dict[Relation, Relation] = {}
        self._points: list[Settled] = []

    def __len__(self) -> int:
        """The number of results that it keeps, for all points of rounds."""
        return len(self.summaries) + sum(len(point.summaries) + len(point.known_next) for point in self._points)

    @cached_property
    def settled(self) -> Settled:
        """The reuse at the beginning of a round."""
        return Settled(self)

    def summary(self, first: RuleSummary) -> RuleSummary | None:
        """The summary over the new symbols; None if the rule has to run."""
        found = self.summaries.get(id(first))
        if found is None:
            found = self.summaries[id(first)] = (first, self._again(first))
        return found[1]

    def _again(self, summary: RuleSummary) -> RuleSummary | None:
        if summary.holes or summary.notes or summary.rejected is not None or summary.refusal:
            return None
        if any(self._relation(failure.unless) is not TRUE for failure in summary.possible_failures):
            return None
        outputs = tuple([value for value in map(self._value, summary.outputs) if value is not None])
        if len(outputs) < len(summary.outputs):
            return None
        statements = []
        for statement in summary.statements:
            relation = self._relation(statement.relation)
            if relation is FALSE or relation is UNKNOWN_RELATION:
                return None
            if relation is not TRUE:
                is_same = relation is statement.relation
                statements.append(statement if is_same else Statement(relation, statement.reason, statement.role))
        return RuleSummary(outputs, (), tuple(statements), conditional=summary.conditional)

    def _value(self, value: Value) -> Value | None:
        if value not in self._values:
            self._values[value] = self._value_again(value)
        return self._values[value]

    def _value_again(self, value: Value) -> Value | None:
        if not isinstance(value, Tensor) or value.shape.is_top:
            return None
        shape, ramps = value.shape, value.ramps
        if ramps:
            ramps = mapped(ramps, self._final)
            if not ramps:
                return None
        if shape.open or shape.has_unknown:
            dims: list[Dim] = []
            for dim in shape.dims:
                new = dim if type(dim) is Constant else self._dim(dim)
                if new is None:
                    return None
                dims.append(new)
            shape = shape_of(tuple(dims))
            if value.dtype.is_integer and shape.concrete is not None and prod(shape.concrete) <= MAX_ELEMENTS:
                return None  # the rule may know the elements now
        if value.contents is None or not value.contents.open:
            return Tensor(value.dtype, shape, value.contents, ramps)
        elements = [self._element(e) for e in value.contents.elements]
        replaced = [e for e in elements if e is not None]
        if len(replaced) < len(elements):
            return None
        contents = (
            Contents.fill(replaced[0]) if value.contents.is_fill else Contents.of(value.contents.shape or (), replaced)
        )
        return Tensor(value.dtype, shape, contents, ramps)

    def _element(self, element: Element) -> Element | None:
        if isinstance(element, Dim):
            return element if element.is_concrete else self._dim(element)
        if isinstance(element, Real):
            num = self._dim(element.num)
            return None if num is None else element.over(num)
        return None if isinstance(element, (Relation, Float)) and element_symbols(element) else element

    def is_replaced(self, first: Value | None, now: Value | None) -> bool:
        """`now` is the first value with its symbols replaced, and tells a rule no more."""
        if first is now and (not isinstance(first, Tensor) or not _is_open(first)):
            return True
        if not isinstance(first, Tensor) or first.shape.is_top:
            return first is now
        if first not in self._plain:
            shape = first.shape.map(self._short) if first.shape.open else first.shape
            contents = first.contents
            if contents is not None and contents.open:
                contents = contents.map(self._short_element)
            ramps = mapped(first.ramps, self._short) if first.ramps else NO_RAMPS
            self._plain[first] = Tensor(first.dtype, shape, contents, ramps)
        return self._plain[first] == now

    def _short(self, dim: Dim) -> Dim:
        """The dim over the new symbols."""
        if not isinstance(dim, Expr):
            return dim
        found = self._dims.get(dim)
        if found is None:
            found = self._dims[dim] = shortest(self._replaced(dim))
        return found

    def _short_element(self, element: Element) -> Element:
        return self._short(element) if isinstance(element, Dim) else replace_in(element, self._replaced.mapping)

    def _dim(self, dim: Dim) -> Dim | None:
        """The dim over the new symbols; None if a rule may know a better form."""
        new = self._short(dim)
        return new if isinstance(new, Expr) and self._is_final(dim, new) else None

    def _final(self, dim: Dim) -> Dim:
        found = self._dim(dim)
        return UNKNOWN_DIM if found is None else found

    def _is_final(self, _: Dim, new: Expr) -> bool:
        return _is_closed(new)

    def _relation(self, relation: Relation) -> Relation:
        found = self._relations.get(relation)
        if found is None:
            found = self._relations[relation] = relation.map(self._replaced)
        return found


class Settled(Reuse):
    """The same reuse at a point of a round: numbers whose form depends on facts are as rules that ran again left them.

    It does not change, so that what it renewed serves every round that comes to the same point.
    """

    def __init__(self, reuse: Reuse, numbers: frozenset[Expr] = frozenset()) -> None:
        super().__init__(reuse._replaced)
        self._dims, self._plain, self._relations = reuse._dims, reuse._plain, reuse._relations
        self._points = reuse._points
        self._points.append(self)
        self.numbers = numbers
        """Numbers of the first round of which a rule that ran again knew no better form."""
        self.known_next: dict[Value, Settled] = {}

    def after(self, value: Value) -> Settled:
        """The next point: a rule ran again and gave this value of the first round, with symbols replaced."""
        found = self.known_next.get(value)
        if found is None:
            new = {e for e in _numbers(value) if e not in self.numbers and self._dim(e) is None}
            found = self.known_next[value] = Settled(self, self.numbers | new) if new else self
        return found

    def _is_final(self, dim: Dim, new: Expr) -> bool:
        return dim in self.numbers or _is_closed(new)


def _numbers(value: Value) -> list[Expr]:
    """Sizes and elements of a value in which symbols occur."""
    if not isinstance(value, Tensor):
        return []
    elements = value.contents.open if value.contents is not None else ()
    return [*value.shape.open, *[e for e in elements if isinstance(e, Expr)]]


def _is_open(value: Tensor) -> bool:
    """A symbol occurs in it."""
    contents = value.contents
    return bool(value.shape.open or value.ramps or (contents is not None and contents.open))


@remembered
def _is_closed(expr: Expr) -> bool:
    """More facts find no better form of it."""
    return not any(atom.op in FORMED for atom in postorder(expr.atoms()))


class FirstRound:
    """First-round results for a further round."""

    def __init__(self, reuse: Reuse, applied: Mapping[int, RuleSummary], states: Sequence[State]) -> None:
        """`applied` is what the rule of each node gave in the first round, and `states` are those it ended with."""
        self._reuse = reuse
        self.known = reuse.summaries
        """Summaries over the new symbols so far, as in `Reuse`."""
        self.applied = applied
        self._states = states
        self.changed: set[int] = set()
        """Nodes of which this round knows more than their results of the first round, with symbols replaced."""
        self.settled = reuse.settled
        """The point that this round has reached."""

    def summary(self, node: int, operands: Sequence[Operand]) -> RuleSummary | None:
        """The node's summary over the new symbols, which has no holes; None if its rule has to run."""
        first = self.applied.get(node)
        if first is None:
            return None
        if self.changed:
            for source, _ in operands:
                if source in self.changed:
                    return None
        found = self.known.get(id(first))
        renewed = self._reuse.summary(first) if found is None else found[1]
        return self.settled.summary(first) if renewed is None and self.settled.numbers else renewed

    def visited(self, node: int, state: State) -> None:
        """A node got its state from its rule or step: where that says more than before, its users run again too."""
        before = self._states[node]
        if len(state) == len(before) and all(map(self._reuse.is_replaced, before, state)):
            self.changed.discard(node)
            for value in before:
                self.settled = self.settled.after(value)
        elif before:  # the first round reached no user of a node that it did not reach
            self.changed.add(node)
