"""The state of the shape analysis: its knowledge about each node so far, as the functions of steps and rules see it.

Steps and operations are data that no analysis changes. Knowledge about them is kept here, by node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from absint.engine import Analysis
from absint.lattices.lattice import Rows
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, Relation
from absint.lattices.terms.expr import Dim, Expr, Symbol
from absint.lattices.terms.normal import substitute
from absint.lattices.unify import UnificationPolicy
from absint.lattices.value import BOTTOM, Value
from absint.lattices.value_lattice import VALUES
from absint.program.graph import Program
from absint.program.nodes import Callee, Operation
from absint.program.steps import ABSENT, Operand
from absint.shapes.memo.cache import FirstRound, Memo, Results
from absint.shapes.memo.known_facts import assuming
from absint.shapes.summaries import Inputs, RuleSummary, State, name_unknowns, own_symbols
from absint.transfer.semantics import EITHER
from absint.transfer.stated import PossibleFailure, Statement

if TYPE_CHECKING:
    from absint.shapes.loops.invariants import Invariants
    from absint.shapes.timings import Timings

STATES: Final = Rows(VALUES)
"""States are rows of values."""


Transfer = Callable[["Interpretation", int, Sequence[State]], State]


class Budget:
    """Nodes that a trial may still visit."""

    def __init__(self, left: int) -> None:
        self.left = left


class Calls:
    """Summaries of folded calls during one application of the outermost one, and the calls under way.

    They are forgotten with it, so that no answer depends on an earlier one.
    """

    def __init__(self, goes_on: Callable[[], bool] | None = None) -> None:
        """`goes_on` says now and then if the analysis may go on."""
        self.goes_on = goes_on
        self.summaries: dict[object, RuleSummary] = {}
        """By body, inputs and facts."""
        self.analysed: Counter[Callee] = Counter()
        """The number of inputs for which each body was analysed."""
        self.results = _OwnResults()
        """Of the rules in bodies."""
        self.depth = 0
        self.crash = ""
        """The failure of a rule in a body, if one failed."""


class _OwnResults(Memo):
    """Results of rules that no other analysis sees."""

    def __missing__(self, operation: Operation) -> Results:
        found: Results = {}
        self[operation] = found
        return found


class Interpretation(Analysis[State]):
    """One interpretation of a program, which the engine runs: the facts it starts from, and its findings."""

    lattice = STATES

    def __init__(
        self,
        program: Program,
        facts: Facts,
        interpret: Transfer,
        *,
        inputs: Mapping[int, Value],
        simplify: Callable[[Value], Value] | None,
        policy: UnificationPolicy,
        memo: Memo | None,
        first_round: FirstRound | None = None,
        timings: Timings | None = None,
    ) -> None:
        """`interpret` gives the state of a node from those that it depends on."""
        self.program = program
        self.nodes = program.nodes
        self.facts = facts
        self._interpret = interpret
        self.inputs = inputs
        """Values that stand for those of input nodes."""
        self.simplify = simplify
        """Applied to the outputs of rules."""
        self.policy = policy
        """The choice between two dims where a rule must choose."""
        self.memo = memo
        """Results of rules to reuse; None to run every rule."""
        self.first_round = first_round
        """Results of the first round, in a further one."""
        self.timings = timings
        is_usual = policy.sound and program.semantics == EITHER
        self.setting: object = None if is_usual else (policy, program.semantics)
        """The part of the key of each remembered result besides the inputs of its node; None if there is none."""
        self.under = self._under()
        """The further part of the key of results that rest on facts, as those that ask for a premise do; None if the
        bounds of symbols show all facts.
        """
        self._simple: dict[Value, bool] = {}
        """Outputs of remembered results, each with a flag: `simplify` leaves it as it is."""
        self.applied: dict[int, RuleSummary] = {}
        """The summary of each node's last visit."""
        self.crashes: dict[int, str] = {}
        self.trips: dict[int, Dim] = {}
        """Number of trips of each loop, by its head."""
        self.invariants: dict[int, Invariants] = {}
        """Claims about the values that each loop carries, by its head."""
        self.guards: dict[int, Facts] = {}
        """The facts that hold below a gate or head."""
        self.applications = 0
        """Rules actually run, memo hits not counted."""
        self.budget: Budget | None = None
        """Of a trial."""
        self.goes_on: Callable[[], bool] | None = None
        """The limits of the analysis, for what goes on within a node."""
        self.cut: dict[int, None] = {}
        """Folded calls that were not analysed to the end."""
        self.calls: Calls | None = None
        """Summaries of folded calls, in the body of one."""

    def _under(self) -> object:
        under: object = None if self.facts.narrows_only else self.facts.key
        if self.simplify is not None:
            under = self.simplify, self.facts.key
        return under if self.program.premises is True else (under, self.program.premises)

    # Results of rules

    def recalled(self, operation: Operation, inputs: Inputs, under: object) -> RuleSummary | None:
        """The remembered result of a rule, if there is one. `under` is what the facts add to its key."""
        if self.memo is None:
            return None
        results = self.memo[operation]
        key = inputs if self.setting is None else (inputs, self.setting)
        found = results.get(key)
        if under is None or (found is not None and self.holds(found)):
            return found
        return results.get((key, under))

    def holds(self, summary: RuleSummary) -> bool:
        """The result of a rule is the same under the facts of this interpretation as it was under others."""
        return not summary.conditional and (self.simplify is None or all(map(self._is_simple, summary.outputs)))

    def _is_simple(self, value: Value) -> bool:
        found = self._simple.get(value)
        if found is None:
            found = self._simple[value] = self.simplify is None or self.simplify(value) is value
        return found

    def remember(self, operation: Operation, inputs: Inputs, under: object, summary: RuleSummary) -> None:
        """Keep the result of a rule."""
        if self.memo is not None:
            key = inputs if self.setting is None else (inputs, self.setting)
            self.memo.remember(operation, (key, under) if under is not None and summary.conditional else key, summary)

    def transfer(self, node: int, states: Sequence[State]) -> State:
        """The state of a node, from those of the nodes it depends on."""
        return self._interpret(self, node, states)

    def merge(self, node: int, old: State, new: State, widen: bool) -> State:
        """A head does its own acceleration: its state is stable after finitely many visits (`Invariants`)."""
        return new

    def fork(self, *, knowing: bool = False) -> Interpretation:
        """A separate interpretation: it begins with the same facts, and keeps its findings to itself.

        With `knowing` it begins with all findings of this one, and runs every rule again, to prove them.
        """
        other = self._over(self.program, self.facts, self.inputs, None if knowing else self.memo)
        other.guards = dict(self.guards)
        other.goes_on = self.goes_on
        other.budget, other.calls = self.budget, self.calls
        if knowing:
            other.applied, other.trips = dict(self.applied), dict(self.trips)
            other.invariants = {head: found.to_prove() for head, found in self.invariants.items()}
        return other

    def of_body(self, program: Program, facts: Facts, inputs: Mapping[int, Value], calls: Calls) -> Interpretation:
        """An interpretation of the body of a folded call."""
        other = self._over(program, facts, inputs, calls.results)
        other.calls = calls
        return other

    def _over(self, program: Program, facts: Facts, inputs: Mapping[int, Value], memo: Memo | None) -> Interpretation:
        interpret, simplify, policy = self._interpret, self.simplify, self.policy
        return Interpretation(program, facts, interpret, inputs=inputs, simplify=simplify, policy=policy, memo=memo)

    # Values

    def operand(self, operand: Operand, states: Sequence[State]) -> Value | None:
        """The value of an operand: None if it is left out, bottom if nothing has been computed yet."""
        if operand == ABSENT:
            return None
        state = states[operand[0]]
        return state[operand[1]] if operand[1] < len(state) else BOTTOM

    def own(self, node: int, summary: RuleSummary) -> Mapping[Symbol, Dim]:
        """The filling of each hole of a summary at a node: a symbol of its own, or its value by the facts."""
        mapping = own_symbols(node, summary)
        known = self.facts.mapping
        if not known:
            return mapping
        return {hole: substitute(e, known) if isinstance(e, Expr) else e for hole, e in mapping.items()}

    def outputs(self, node: int, summary: RuleSummary) -> State:
        """The outputs of a summary at a node, with its holes filled."""
        if not summary.holes:
            return summary.outputs
        mapping = self.own(node, summary)
        return tuple(value.replace(mapping) for value in summary.outputs)

    def filled(self, node: int, dim: Dim) -> Dim:
        """A dim of the node's last summary with its holes filled."""
        return substitute(dim, self.own(node, self.applied[node])) if isinstance(dim, Expr) else dim

    # Statements

    def statements(self, node: int) -> list[Statement]:
        """Statements of the node's last visit, over symbols of the result."""
        summary = self.applied.get(node)
        if summary is None:
            return []
        if not summary.holes:
            return list(summary.statements)
        mapping = self.own(node, summary)
        return [s._replace(relation=s.relation.substitute(mapping)) for s in summary.statements]

    def possible_failures(self, node: int) -> list[PossibleFailure]:
        """Why the node may fail where kernels run it, over symbols of the result: first what no relation rules out."""
        summary = self.applied.get(node)
        if summary is None or not summary.possible_failures:
            return []
        mapping = self.own(node, summary)
        found = sorted(summary.possible_failures, key=lambda failure: not failure.is_open)
        return [f._replace(unless=f.unless.substitute(mapping)) for f in found if not f.at_load]

    def record(
        self, node: int, outputs: State, statements: Sequence[Statement] = (), possible_failures: Sequence[str] = ()
    ) -> State:
        """Keep the statements of a step, and name its unknown dims."""
        if self.simplify is not None:
            outputs = tuple(map(self.simplify, outputs))
        rejected = next((s.reason for s in statements if s.relation is FALSE and s.role == "required"), None)
        failures = tuple(map(PossibleFailure, possible_failures))
        summary = RuleSummary(outputs, (), tuple(statements), failures, rejected=rejected)
        summary = self.applied[node] = name_unknowns(summary)
        return self.outputs(node, summary)

    # Guards

    def guard(self, gate: int, relation: Relation) -> None:
        """Let a relation hold below a gate, besides the facts outside it."""
        self.guards[gate] = assuming(self.facts_at(self.nodes[gate].gate), relation)

    def under_gate(self, gate: int, states: Sequence[State]) -> tuple[Facts, object, bool]:
        """The facts below a gate, what they add to the keys of remembered results, and if nothing comes through it."""
        facts = self.facts_at(gate)
        under = self.under if facts is self.facts else (self.under, facts.key)
        return facts, under, gate >= 0 and states[gate][0] is BOTTOM

    def facts_at(self, gate: int) -> Facts:
        """The facts that hold below a gate."""
        while gate >= 0:
            found = self.guards.get(gate)
            if found is not None:
                return found
            gate = self.nodes[gate].gate
        return self.facts
