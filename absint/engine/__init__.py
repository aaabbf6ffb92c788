"""A dataflow engine for any lattice over any directed graph. It knows nothing of ONNX.

    analysis    write this: a lattice, a direction, a transfer function; what the engine promises and demands
    order       weak topological order (Bourdoncle 1993)
    iteration   `fixpoint`: iteration with widening at heads, then a bounded descending phase

`fixpoint` visits acyclic parts once, in order, and iterates each cycle at its head until it is stable, in the recursive
strategy over a weak topological order; heads are widened after a few visits, and a bounded descending phase takes back
what widening gave away.

An analysis owes: `transfer` is monotone (states that are above give a state that is above), and `lattice` keeps the
laws of `absint.lattices.lattice`, widening included; `check_laws` tests them. In return `fixpoint` ends, and each state
of the result is above what `transfer` makes of the result. If `transfer` is sound for one step of a run, the states so
describe every run, however often it goes round a cycle.

Cost: one call of `transfer` for each node of a graph without cycles. A cycle runs once for each visit that its head
needs: as often as a chain of joins, then widenings, can grow there, and a few descending passes; in nested cycles these
multiply. A chain without an end is cut off by `IterationPolicy.max_visits`.

Limits: with a transfer function that is not monotone the iteration still ends (widening sees to that), but the result
need not be the least fixpoint that the widening allows. Facts of a path need a state of their own: states are by node,
whichever way led there.

docs/tutorial.md builds three analyses. `absint.ForwardAnalysis` follows the values of a model.
"""

from absint.engine.analysis import DEFAULT_POLICY, Analysis, DivergenceError, IterationPolicy, S, Solution
from absint.engine.iteration import STEP, fixpoint
from absint.engine.order import Ordered, WeakTopologicalOrder, order_of, weak_topological_order

__all__ = [
    "DEFAULT_POLICY",
    "STEP",
    "Analysis",
    "DivergenceError",
    "IterationPolicy",
    "Ordered",
    "S",
    "Solution",
    "WeakTopologicalOrder",
    "fixpoint",
    "order_of",
    "weak_topological_order",
]
