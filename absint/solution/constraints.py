"""Constraints that the nodes state, each with its origin and the guard of its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, Literal, cast

from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation, conjunction, ge, negation, truth_of
from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import ZERO_EXPR, Dim, Expr, Symbol
from absint.lattices.terms.polynomials import nonneg
from absint.lattices.value import Tensor, Value
from absint.program.limits import RULELESS
from absint.program.lowered import Lowered
from absint.program.steps import Gate, LoopBody
from absint.shapes.branches import condition_of
from absint.shapes.counts.relations import relations
from absint.shapes.inputs import Inputs
from absint.shapes.loops.body import BodySymbols
from absint.shapes.readability import more_names
from absint.shapes.refinement import Finding
from absint.shapes.rounds import Round
from absint.shapes.summaries import RuleSummary
from absint.solution.analysed import Analysed, once
from absint.solution.loading import load_errors, open_risks
from absint.solver.constraints import Constraint, ConstraintSet, Origin, PossibleFailure, Role

DECLARATION: Final = Origin(-1, "", "the declarations of the inputs", "", "")
ASSUMPTION: Final = Origin(-1, "", "the assumptions", "", "")
NOT_NEGATIVE: Final = "sizes must not be negative"
"""The reason of the premise on the sizes of every value that is computed."""

NOT_PROMISED: Final = "its rule does not promise that nothing else can fail"
"""The reason of the possible failure of a node whose rule does not state all that a run needs."""

_OF_RULES: Final = frozenset({NOT_PROMISED, *RULELESS})
"""Reasons of possible failures that say that requirements are not known."""


class Recorder:
    """Reads the constraints of one round, of every node, since a run executes all of them, needed or not."""

    def __init__(self, lowered: Lowered, round_: Round) -> None:
        self._nodes = lowered.program.nodes
        self._analysis = round_.analysis
        self._states = round_.states
        self._needed = lowered.needed
        facts = round_.analysis.facts
        self._back = facts.restored if facts.originals else None
        self._originals: dict[Relation, Relation] = {}
        self._paths: dict[int, Relation] = {}
        self._sizes: dict[Value, tuple[Relation, ...]] = {}
        self._origins: dict[int, Origin] = {}
        self._not_promised: set[tuple[str, Relation]] = set()
        self.constraints: list[Constraint] = []
        self.possible_failures: list[PossibleFailure] = []

    def run(self) -> Recorder:
        """Record every node, in execution order."""
        applied = self._analysis.applied
        operations = self._nodes.operations
        incomplete = {k for k in set(operations) if k is not None and not k.is_complete}
        for node in range(len(operations)):
            summary = applied.get(node)
            if summary is not None and summary.refusal:
                self.refused(node, summary.rejected or "")
                continue
            if summary is not None and (summary.statements or summary.possible_failures):
                for statement in self._analysis.statements(node):
                    if statement.role == "claimed":
                        continue
                    self._state(node, statement.relation, statement.role, statement.reason)
                for failure in self._analysis.possible_failures(node):
                    self.may_fail(node, failure.reason, failure.unless)
            if summary is None or summary.rejected is None:
                for relation in self._sizes_of(node):
                    self._state(node, relation, "defined", NOT_NEGATIVE)
            if incomplete and operations[node] in incomplete and summary is not None and summary.outputs:
                self._not_stated(node, summary)
        return self

    def _not_stated(self, node: int, summary: RuleSummary) -> None:
        """Record, once for the nodes of an operator on a path, that its rule does not promise to state all."""
        operation = self._nodes.operations[node]
        if operation is None or not RULELESS.isdisjoint(f.reason for f in summary.possible_failures):
            return
        guard = self._guard(node)
        if self._not_promised.isdisjoint({(operation.operator, guard), (operation.operator, TRUE)}):
            self._not_promised.add((operation.operator, guard))
            self.may_fail(node, NOT_PROMISED)

    def related(self) -> None:
        """Record what relates the sizes that data decide, in execution order. A round may drop what no output needs."""
        for item in relations(self._analysis.program, self._states):
            needed = all(self._needed[node] for node in item.nodes)
            self._state(item.node, item.relation, "defined", item.reason, is_needed=needed)
        self.constraints.sort(key=lambda c: c.origin.node)

    def found(self, findings: Sequence[Finding]) -> None:
        """Record what other analyses found, in execution order."""
        for finding in findings:
            self._state(finding.node, finding.relation, "defined", f"found by {', '.join(finding.by)}")
        self.constraints.sort(key=lambda c: c.origin.node)

    def refused(self, node: int, reason: str, where: str = "") -> None:
        """No runtime loads the model because of the node, or of what stands there, even if no run reaches it."""
        origin = Origin(node, "", where, "", "") if where else self.origin(node)
        self.constraints.append(Constraint(FALSE, TRUE, origin, "required", reason))

    def _state(self, node: int, relation: Relation, role: str, reason: str, *, is_needed: bool = True) -> None:
        guard = self._guard(node)
        relation = self._original(relation)
        if relation is TRUE or guard is FALSE:
            return
        varies = relation is UNKNOWN_RELATION or self._varies(node, relation)
        if role == "assumed" and not varies and (guard is UNKNOWN_RELATION or self._varies(node, guard)):
            guard = TRUE  # stronger than necessary
        if varies or guard is UNKNOWN_RELATION or self._varies(node, guard):
            if role == "required":
                self._in_first_trip(node, relation, guard, reason)
                self.may_fail(node, reason)
            elif role == "assumed" and any(map(_is_of_a_node, relation.symbols)):
                self.may_fail(node, f"taken for granted of what changes from trip to trip: {reason}")
            return
        needed = is_needed and bool(self._needed[node])
        self.constraints.append(Constraint(relation, guard, self.origin(node), cast("Role", role), reason, needed))

    def _in_first_trip(self, node: int, relation: Relation, guard: Relation, reason: str) -> None:
        """Record what a requirement that changes from trip to trip says of the first one, if that is known outside."""
        loops = self._nodes.loops(self._nodes.places[node][1])
        trips = {BodySymbols(loop).iteration for loop in loops}.intersection(relation.symbols)
        first = relation.substitute(dict.fromkeys(trips, ZERO_EXPR)) if trips else TRUE
        known = first is not TRUE and guard is not UNKNOWN_RELATION
        if known and not self._varies(node, first) and not self._varies(node, guard):
            needed = bool(self._needed[node])
            self.constraints.append(Constraint(first, guard, self.origin(node), "required", reason, needed))

    def may_fail(self, node: int, reason: str, unless: Relation = FALSE) -> None:
        """The node may fail, whatever constraints say."""
        guard = self._guard(node)
        if self._varies(node, guard):
            guard = TRUE
        unless = self._original(unless)
        if unless is not FALSE and not self._varies(node, unless):
            guard = conjunction(guard, negation(unless))
        if guard is not FALSE:
            kind: Literal["data", "rule"] = "rule" if reason in _OF_RULES else "data"
            self.possible_failures.append(PossibleFailure(self.origin(node), guard, reason, kind))

    def _guard(self, node: int) -> Relation:
        """The condition under which a run reaches the node."""
        return self.path_condition(self._nodes.places[node][1])

    def _sizes_of(self, node: int) -> Sequence[Relation]:
        """Sizes of the node's outputs that are natural numbers only because the node runs."""
        found: list[Relation] = []
        for value in self._states[node]:
            known = self._sizes.get(value)
            if known is None:
                dims = value.shape.dims if isinstance(value, Tensor) and value.shape.rank else ()
                known = tuple(ge(dim, 0) for dim in dims if isinstance(dim, Expr) and not _is_natural(dim))
                self._sizes[value] = known
            found += known
        return found

    def path_condition(self, gate: int) -> Relation:
        """The condition under which the nodes below a gate are reached, over symbols of the result."""
        if gate < 0:
            return TRUE
        found = self._paths.get(gate)
        if found is None:
            chain = []
            while gate >= 0 and gate not in self._paths:
                chain.append(gate)
                gate = self._nodes[gate].gate
            found = self._paths[gate] if gate >= 0 else TRUE
            for number in reversed(chain):
                found = self._paths[number] = conjunction(found, self._condition(number))
        return found

    def _condition(self, gate: int) -> Relation:
        item = self._nodes[gate]
        if isinstance(item.step, Gate):
            condition = condition_of(self._analysis.operand(item.operands[0], self._states))
            if condition is None:
                condition = truth_of(Symbol.fresh(item.step.join, "condition", 0, 1))
            condition = condition if item.step.taken else negation(condition)
        else:
            trips: Dim = self._analysis.trips.get(gate, Dim(None))
            condition = ge(trips, 1)
        return self._original(condition)

    def _original(self, relation: Relation) -> Relation:
        """The relation over the symbols of the first round."""
        if self._back is None:
            return relation
        found = self._originals.get(relation)
        if found is None:
            found = self._originals[relation] = relation.map(self._back)
        return found

    def _varies(self, node: int, relation: Relation) -> bool:
        """It mentions a symbol whose number changes with the trip of a loop around the node."""
        if relation is UNKNOWN_RELATION:
            return True
        if self._nodes.places[node][1] < 0:
            return False
        loops = self._nodes.loops(self._nodes.places[node][1])
        return bool(loops) and any(_begins_in(symbol, loops) for symbol in relation.symbols)

    def origin(self, node: int) -> Origin:
        """The node in words of the model."""
        found = self._origins.get(node)
        if found is None:
            item = self._nodes[node]
            output = next(filter(None, item.outputs), "")
            found = self._origins[node] = Origin(node, str(item.path), item.name, item.operator, output)
        return found


def _begins_in(symbol: Symbol, loops: Sequence[LoopBody]) -> bool:
    place = symbol.origin_node
    return place is not None and any(loop.first <= place <= loop.last for loop in loops)


def _is_of_a_node(symbol: Symbol) -> bool:
    """Some node invented it, but no loop for its iterations."""
    return symbol.origin_node is not None and symbol.kind is not SymbolKind.ITERATION


def premises(inputs: Inputs, assumptions: Sequence[Relation]) -> Iterator[Constraint]:
    """The premises: declarations of the inputs, and assumptions of the caller."""
    for relation in inputs.premises:
        if relation is not TRUE:
            yield Constraint(relation, TRUE, DECLARATION, "declared", "a declared size is defined and not negative")
    for relation in assumptions:
        if relation is not TRUE:
            yield Constraint(relation, TRUE, ASSUMPTION, "assumed", "assumed by the caller")


def _is_natural(dim: Expr) -> bool:
    lo = dim.bounds.lo
    return (lo is not None and lo >= 0) or nonneg(dim)


class Recorded(NamedTuple):
    """Constraints over internal symbols."""

    base: ConstraintSet
    """Constraints of the first round: no requirement simplified another."""
    every: ConstraintSet
    """Constraints of all rounds."""


def found(analysed: Analysed) -> list[Constraint]:
    """The findings of other analyses about values, over internal symbols."""
    if analysed.cooperation is None:
        return []
    relations = {finding.relation for finding in analysed.cooperation.advice.findings}
    return [c for c in recorded(analysed).every if c.role == "defined" and c.relation in relations]


@once
def constraints(analysed: Analysed) -> ConstraintSet:
    """Requirements of a run, and facts about computed values, under printed names.

    Raises UsageError for an analysis under an unsound policy.
    """
    analysed.require_sound("the constraint set")
    return recorded(analysed).every.renamed(all_names(analysed)).unified


@once
def all_names(analysed: Analysed) -> Mapping[Symbol, Dim]:
    """Printed names of the symbols of values and constraints."""
    return more_names(symbols_in(recorded(analysed).every), analysed.names, analysed.taken)


@once
def recorded(analysed: Analysed) -> Recorded:
    """The constraints of all rounds, and unsatisfiable ones for errors that keep the model from loading."""
    inputs, rounds = analysed.declared_inputs, analysed.rounds.rounds
    errors = [error for error in load_errors(analysed) if not error.is_met]
    runs = [Recorder(analysed.lowered, round_).run() for round_ in rounds]
    for run in runs:
        run.related()
    for error in errors:
        runs[0].refused(error.node, error.reason, error.where)
    if errors:
        runs[0].constraints.sort(key=lambda c: c.origin.node)
    doubts = load_doubts(analysed)
    if analysed.cooperation is not None:
        runs[0].found(analysed.cooperation.advice.findings)
    given = list(premises(inputs, analysed.assumptions))
    symbols = tuple(inputs.symbols)
    base = ConstraintSet(
        [*given, *runs[0].constraints], symbols=symbols, possible_failures=[*runs[0].possible_failures, *doubts]
    )
    every = merged(runs[0].constraints, [run.constraints for run in runs[1:]])
    return Recorded(
        base, ConstraintSet([*given, *every], symbols=symbols, possible_failures=[*runs[-1].possible_failures, *doubts])
    )


def load_doubts(analysed: Analysed) -> Sequence[PossibleFailure]:
    """Reasons why a runtime may not load the model, whatever its sizes and data."""
    recorder = Recorder(analysed.lowered, analysed.base)
    return [
        PossibleFailure(
            Origin(0, "", doubt.where, "", "") if doubt.where else recorder.origin(doubt.node), TRUE, doubt.reason
        )
        for doubt in open_risks(analysed)
    ]


def merged(first: Sequence[Constraint], later: Sequence[Sequence[Constraint]]) -> list[Constraint]:
    """The constraints of the first round and those that later ones add, in execution order."""
    known = {(c.formula, c.needed) for c in first}
    added = []
    for constraints in later:
        added += [constraint for constraint in constraints if (constraint.formula, constraint.needed) not in known]
        known |= {(c.formula, c.needed) for c in constraints}
    return sorted([*first, *added], key=lambda c: c.origin.node) if added else list(first)


def symbols_in(constraints: ConstraintSet) -> Iterator[Symbol]:
    """The symbols of the constraints in order of appearance, then those of the possible failures."""
    for symbols in chain((c.symbols for c in constraints), (d.guard.symbols for d in constraints.possible_failures)):
        yield from sorted(symbols, key=lambda s: (s.origin_node or -1, s.name))
