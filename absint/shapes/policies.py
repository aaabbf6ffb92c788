"""One run of the shape analysis under an unsound policy, whose results are claims to be judged.

There is no refinement: requirements over dims that may be wrong are no facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from absint.errors import UsageError
from absint.lattices.logic.facts import Facts
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import Dim, Expr, Symbol
from absint.lattices.terms.normal import sole_atom, substitute
from absint.lattices.unify import POLICIES, UnificationPolicy
from absint.lattices.value import TOP, Tensor, Value
from absint.model.declared_types import read_type
from absint.program.limits import ANALYSE
from absint.program.lowered import Lowered, declarations
from absint.shapes.analysis import ShapeAnalysis, Trace
from absint.shapes.refinement import solved
from absint.shapes.rounds import Round, Rounds, replaced
from absint.shapes.summaries import State

Anchors = Mapping[int, Sequence[tuple[int, Tensor]]]
"""For each node the outputs of it that have a declared shape, and their declared types."""


def policy_of(policy: str | UnificationPolicy) -> UnificationPolicy:
    """A policy by its name. Raises UsageError for an unknown name."""
    if isinstance(policy, UnificationPolicy):
        return policy
    if policy not in POLICIES:
        raise UsageError(f"unknown policy {policy!r}: it is one of {', '.join(POLICIES)}")
    return POLICIES[policy]


def run_policy(
    lowered: Lowered, facts: Facts, policy: UnificationPolicy, *, memoise: bool, trace: Trace | None
) -> Rounds:
    """The one round of an unsound policy."""
    analysis = PolicyAnalysis(lowered, facts, policy, memoise=memoise, trace=trace)
    states = solved(lowered, analysis, ANALYSE) or []
    if policy.renames:
        states = renamed(states, analysis.adopted)
    adopted = tuple([dim for dim in analysis.adopted.values() if isinstance(dim, Expr)])
    return Rounds((Round(analysis, states),), adopted=adopted)


class PolicyAnalysis(ShapeAnalysis):
    """The shape analysis, with declared dims shown where the policy adopts them."""

    def __init__(
        self, lowered: Lowered, facts: Facts, policy: UnificationPolicy, *, memoise: bool, trace: Trace | None
    ) -> None:
        super().__init__(lowered.program, facts, memoise=memoise, policy=policy)
        self._told = trace
        self._anchors: Anchors = {} if policy.anchoring is None else _anchors(lowered)
        self.adopted: dict[Dim, Dim] = {}
        """Inferred dims -> the declared ones that replace them."""

    def transfer(self, node: int, states: Sequence[State]) -> State:
        state = super().transfer(node, states)
        for output, declared in self._anchors.get(node, ()):
            if output < len(state):
                state = (*state[:output], self._anchored(state[output], declared), *state[output + 1 :])
        if self._told is not None:
            self._told(node, state)
        return state

    def _anchored(self, value: Value, declared: Tensor) -> Value:
        if value is TOP:
            return declared
        if not isinstance(value, Tensor):
            return value
        if value.shape.rank is None:
            return Tensor(value.dtype, declared.shape)
        if value.shape.rank != declared.shape.rank:
            return value
        shown = tuple(map(self._adopted, value.shape.dims, declared.shape.dims))
        return value if shown == value.shape.dims else Tensor(value.dtype, shape_of(shown))

    def _adopted(self, inferred: Dim, declared: Dim) -> Dim:
        dim = self.policy.adopt(inferred, declared)
        if dim is not inferred:
            self.adopted.setdefault(inferred, dim)
        return dim


def _anchors(lowered: Lowered) -> Anchors:
    """The declared shapes of the tensors that nodes of the main graph compute."""
    computed = {
        operand
        for operand in lowered.program.main.names.values()
        if operand[0] >= 0 and lowered.program.nodes[operand[0]].value is None
    }
    anchors: dict[int, list[tuple[int, Tensor]]] = {}
    for item in declarations(lowered):
        if not item.path and item.name not in lowered.signature.inputs and item.operand in computed:
            declared = read_type(item.type).replace(lowered.definitions)
            if isinstance(declared, Tensor) and declared.shape.rank is not None:
                anchors.setdefault(item.operand[0], []).append((item.operand[1], declared))
    return anchors


def renamed(states: Sequence[State], adopted: Mapping[Dim, Dim]) -> list[State]:
    """The states with every inferred dim under its declared name; symbols of the inputs stay."""
    whole = {d: name for d, name in adopted.items() if (s := _symbol(d)) is None or s.origin_node is not None}
    symbols = {symbol: name for dim, name in whole.items() if (symbol := _symbol(dim)) is not None}

    def change(dim: Dim) -> Dim:
        if dim in whole:
            return whole[dim]
        return substitute(dim, symbols) if isinstance(dim, Expr) else dim

    return [tuple([replaced(value, change) for value in state]) for state in states] if whole else list(states)


def _symbol(dim: Dim) -> Symbol | None:
    atom = sole_atom(dim) if isinstance(dim, Expr) else None
    return atom if isinstance(atom, Symbol) else None
