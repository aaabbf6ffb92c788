"""An analysis for the engine: a lattice, a direction and a transfer function; and the solution that it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, Literal, TypeVar

from absint.lattices.lattice import Lattice
from absint.lattices.records import record

S = TypeVar("S")
N = TypeVar("N", bound=Hashable)


class Analysis(ABC, Generic[S]):
    """Runs under `fixpoint`: subclass it, set `lattice` (and `direction`), and write `transfer`."""

    lattice: Lattice[S]
    """The domain of the states."""
    direction: Literal["forward", "backward"] = "forward"
    """`forward`: states flow along the edges; `backward`: against them."""

    @abstractmethod
    def transfer(self, node: int, states: Sequence[S]) -> S:
        """The state of `node`, from the states of its predecessors (its successors if backward), by node id.

        A state that has not been computed yet is the lattice's bottom. It may read the states of all nodes from which
        edges lead here, directly or over others, without closing a cycle; and at the head of a cycle those of the edges
        that close it. Other states may change later without another call. It may also use what earlier visits of the
        same node left behind. It must be monotone: greater inputs give a state no less.
        """

    def sweep(self, order: Sequence[int], states: list[S]) -> None:
        """Write the state of each node of a graph without cycles, in turn. Override only to do the same faster."""
        transfer = self.transfer
        for node in order:
            states[node] = transfer(node, states)

    def merge(self, node: int, old: S, new: S, widen: bool) -> S:
        """The next state of a cycle head whose transfer gave `new`, not below `old`. Override to accelerate.

        The default is above both. An override may give any state, such as a recurrence in closed form: a cycle is left
        only once `transfer` gives a state below that of its head, so the result is sound with any override. An override
        must ensure termination: the states of a head become stable after finitely many visits, with `widen` after few.
        """
        return self.lattice.widen(old, new) if widen else self.lattice.join(old, new)


class GraphAnalysis(ABC, Generic[N, S]):
    """An analysis of a graph whose nodes are any hashable things, as a control-flow graph. Runs under `fixpoint`.

    Subclass it, set `lattice` (and `direction`), and write `transfer`, `edge` or both. They must be monotone. The
    engine joins what the edges bring; an edge brings bottom until the node that it comes from has been visited.
    """

    lattice: Lattice[S]
    """The domain of the states."""
    direction: Literal["forward", "backward"] = "forward"
    """`forward`: states flow along the edges; `backward`: against them."""

    def transfer(self, node: N, state: S) -> S:
        """The state after `node`, from that before it."""
        return state

    def edge(self, source: N, target: N, state: S) -> S:
        """The state that the edge from `source` to `target` brings, from that after `source`.

        If backward: that which it brings to `source`, from the one after `target`, in the direction of the analysis.
        """
        return state

    def merge(self, node: N, old: S, new: S, widen: bool) -> S:
        """The next state before a cycle head whose edges bring `new`, not below `old`: see `Analysis.merge`."""
        return self.lattice.widen(old, new) if widen else self.lattice.join(old, new)


@record()
class Solution(Generic[S]):
    """The states by node id, and how often each cycle head was visited."""

    states: list[S]
    """The state of each node, by node id."""
    visits: dict[int, int]
    """The visits of each head of a cycle."""
    unfinished: Sequence[int] = ()
    """Nodes that were not reached before `proceed` stopped the iteration, or whose cycle was not yet stable: their
    states say nothing. If there are none, the states are a fixpoint.
    """


@record()
class GraphSolution(Generic[N, S]):
    """The states before and after each node, in the direction of the analysis."""

    before: Mapping[N, S]
    after: Mapping[N, S]
    visits: Mapping[N, int]
    """The visits of each head of a cycle."""

    unfinished: Sequence[N] = ()
    """As in `Solution`."""


class DivergenceError(RuntimeError):
    """A cycle head changed at more visits than the policy allows: the widening of the domain does not terminate."""

    def __init__(self, analysis: object, node: int, visits: int, name: str = "") -> None:
        super().__init__(f"node {name or node} changed at each of {visits} visits")
        self.analysis, self.node, self.visits = analysis, node, visits
