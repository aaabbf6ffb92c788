"""Faults in what an answer means: which nodes a run executes, what a query says, what a deadline ends."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, mutant

UNNEEDED: Final = "'(float[N] x, float[M] y) => (float[N] z) { d = Add(x, y) z = Relu(x) }'"
EVERY_NODE: Final = "pytest tests/absint/questions/answers/test_every_node.py"
PARTIAL: Final = "pytest tests/absint/questions/answers/test_partial_queries.py"
TIERS: Final = "pytest tests/solver/test_query_tiers.py"

MUTANTS: Final[tuple[Mutant, ...]] = (
    mutant(
        "unneeded-nodes-prove",
        "a proof rests on nodes that a runtime may drop",
        "absint.questions.proofs.proof",
        "kept: Iterable[Constraint] = every.of_needed",
        "kept: Iterable[Constraint] = every",
        f"graph({UNNEEDED}).prove('N == M or N == 1 or M == 1').verdict",
        EVERY_NODE,
    ),
    mutant(
        "unneeded-nodes-demand-nothing",
        "sizes at which an unneeded node fails are legal",
        "absint.solution.constraints",
        "for node in range(len(operations)):",
        "for node in (n for n, needed in enumerate(self._needed) if needed):",
        f"str(graph({UNNEEDED}).contract())",
        EVERY_NODE,
    ),
    mutant(
        "query-broadcasts-as-a-node",
        "a query takes for granted that its operands broadcast",
        "absint.lattices.text.reference_parser",
        "super().__init__(text, names, relation, total=True)",
        "super().__init__(text, names, relation, total=False)",
        f"graph({UNNEEDED}).prove('broadcast(N, 3) == 3').verdict",
        PARTIAL,
    ),
    mutant(
        "quotients-by-0-are-false",
        "where a comparison divides by zero it is false, and so refuted",
        "absint.lattices.logic.relation",
        "parts.append(ne(divisor, 0))",
        "parts.append(TRUE)",
        "str(module('absint.lattices.logic.relation').falsity(relation('N // M >= 1')))",
        TIERS,
    ),
)
