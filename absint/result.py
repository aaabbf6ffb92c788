"""`Result`: what an analysis found, with the questions about it as methods of one line each.

questions    what is asked of one result: proofs, contracts, sizes, costs, explanations
copies       what writes the model anew: with its inferred types in it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from absint import homes
from absint.diagnostics import Diagnostic
from absint.result_copies import Copies
from absint.result_questions import Questions

if TYPE_CHECKING:
    from absint.questions.explain.fresh import FreshSymbol
    from absint.solution.naming import Claimed
    from absint.solver.constraints import Constraint, ConstraintSet


INTERNAL: Final = frozenset(
    """
    again analysis analyze base continued cooperation declared_inputs declared_premises defaults input_nodes last limits
    loaded lowered names needed nodes once operands program reanalyse require_sound rounds scopes states taken under
    """.split()  # noqa: SIM905
)
"""What questions and jobs take from an analysis. No user needs these names, and any release may change them."""


class _PublicNames(type):
    """A class whose `dir`, which completion in notebooks reads, has the public names."""

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in INTERNAL]


class Result(Questions, Copies, metaclass=_PublicNames):
    """The findings of an analysis, and the questions about them.

    Indexing gives the abstract value of a name of the main graph.
    """

    def __str__(self) -> str:
        """The table of `absint analyze`: inputs, outputs, totals and diagnostics."""
        return homes.text.table(self)

    def _repr_html_(self) -> str:
        return homes.text.notebook(self)

    @property
    def fresh_symbols(self) -> tuple[FreshSymbol, ...]:
        """The symbols for numbers that have no expression, each with its cause, its node and its bounds."""
        return homes.fresh.fresh_symbols(self)

    @property
    def constraints(self) -> ConstraintSet:
        """Requirements of a run, and facts about computed values, under printed names."""
        return homes.constraints.constraints(self)

    @property
    def claims(self) -> tuple[Claimed, ...]:
        """Relations that an unsound policy took for granted where dims broadcast."""
        return homes.naming.claims(self)

    @property
    def premises(self) -> tuple[Constraint, ...]:
        """Numeric premises: no run requires them, and some claims rest on them."""
        return homes.requirements.all_premises(self)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Nodes that cannot run, declarations that are false, operators without a rule, and what else is wrong."""
        return homes.judging.diagnostics(self)

    @property
    def can_run(self) -> bool:
        """No node has been shown to fail in every run. A run executes every node, needed or not."""
        return homes.loading.can_run(self)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in INTERNAL]

    def verify(self) -> None:
        """Apply every rule again, without the memo, and check that the stored states are a post-fixpoint.

        Raises AssertionError naming the first node that is not.
        """
        homes.verify.verify(self)
