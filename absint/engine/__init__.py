"""A dataflow engine for any lattice over any directed graph. It knows nothing about ONNX.

    analysis    write this: a lattice, a direction, a transfer function; what the engine promises and demands; for any
                graph, too, with transfer along edges and entry points
    order       weak topological order (Bourdoncle 1993), and the policy of iteration
    iteration   `fixpoint`: iteration with widening at heads, then a bounded descending phase; or outermost cycles as a
                whole, or by a worklist

`fixpoint` visits acyclic parts once, in order, and iterates each cycle at its head until it is stable, in the recursive
strategy over a weak topological order; heads are widened after a few visits, and a bounded descending phase regains
precision that widening lost.

An analysis must keep two promises: `transfer` is monotone (greater states give a state no less), and `lattice` obeys
the laws of `absint.lattices.lattice`, widening included; `check_laws` tests them. In return `fixpoint` terminates with
a post-fixpoint: no `transfer` of the result exceeds it. If `transfer` is sound for one step of a run, the states
therefore describe every run, however often it goes round a cycle.

Cost: one call of `transfer` for each node of a graph without cycles. A cycle runs once for each visit of its head: as
often as a chain of joins, then widenings, can grow there, and a few descending passes. In nested cycles these multiply,
until a head has been visited `IterationPolicy.patience` times; from then on it only ascends, by widening. A node in d
cycles is visited at most patience + d * h times, if no chain of widenings is longer than h.
`IterationPolicy.max_visits` ends an infinite chain.

Limits: with a transfer function that is not monotone the iteration still terminates, by widening, but the result need
not be the least fixpoint that the widening allows. States are per node and not per path: facts of a path must be part
of a state.

docs/tutorial.md builds three analyses. `absint.ForwardAnalysis` follows the values of a model.
"""

from absint.engine.analysis import Analysis, DivergenceError, GraphAnalysis, GraphSolution, N, S, Solution
from absint.engine.iteration import fixpoint
from absint.engine.order import STEP, IterationPolicy, Ordered, WeakTopologicalOrder, order_of, weak_topological_order

__all__ = [
    "STEP", "Analysis", "DivergenceError", "GraphAnalysis", "GraphSolution", "IterationPolicy", "N",
    "Ordered", "S", "Solution", "WeakTopologicalOrder", "fixpoint", "order_of", "weak_topological_order",
]  # fmt: skip
