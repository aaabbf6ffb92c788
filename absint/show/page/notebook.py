"""A result in a notebook: tables, and the whole page in a frame."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from absint.diagnostics import Severity
from absint.errors import UsageError
from absint.lattices.text.html import block, paragraph, table
from absint.questions.claims.diagnostics import diagnostics
from absint.questions.proofs.requirements import required
from absint.show.page.page import page
from absint.show.summary import first_unknown, totals
from absint.solution.described import described
from absint.solution.naming import where

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

_LEAST_HEIGHT: Final = 100


def result_html(analysed: Analysed) -> str:
    """The lines of the table of `absint analyze`."""
    texts, counts = where(analysed), totals(analysed)
    names = (("inputs", analysed.inputs), ("outputs", analysed.outputs))
    known = analysed.values
    rows = {
        title: [(name, described(known[name], texts) if name in known else "not computed") for name in found]
        for title, found in names
    }
    found = diagnostics(analysed)
    said = [
        (d.severity.value, d.where, d.message, d.code) for severity in Severity for d in found if d.severity is severity
    ]
    needed = [(texts.relation(n.relation), analysed.nodes[n.nodes[0]], n.reason) for n in required(analysed)]
    unknown = [(name, row.name, row.operator) for name, row in first_unknown(analysed).items()]
    without = ", ".join(f"{operator} ({count:,})" for operator, count in analysed.unruled.most_common())
    return block(
        f"{analysed.origin}: {counts.values:,} computed values, {counts.dims:,} sizes: {counts.concrete:,} constant, "
        f"{counts.expression:,} in terms of the inputs, {counts.unknown:,} that only a run tells",
        paragraph("" if analysed.policy.sound else f"{analysed.policy.label}: claims, which may be false"),
        paragraph(analysed.assumptions and f"assuming {', '.join(map(str, analysed.assumptions))}"),
        *(table(title, found_rows) for title, found_rows in rows.items()),
        table("required", needed, ("relation", "first node", "reason")),
        table("unknown until a run", unknown, ("size", "first at", "operator")),
        table("where", list(texts.definitions.items())),
        paragraph(without and f"operators without a rule: {without}"),
        table("diagnostics", said, ("", "where", "message", "code")),
    )


class View:
    """The page about a result in a frame of its own, as a notebook shows it.

    The frame runs the scripts of the page and can reach neither the notebook nor the network.
    """

    def __init__(self, document: str, height: int) -> None:
        self.document = document
        """The page, as `Result.report` writes it."""
        self.height = height
        """Pixels."""

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="absint report" sandbox="allow-scripts" width="100%" height="{self.height:.0f}" '
            f'srcdoc="{escape(self.document)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<View: a page of {len(self.document):,} characters, which a notebook shows>"


def view(analysed: Analysed, height: int) -> View:
    """Raises UsageError for a height that shows nothing."""
    if not height >= _LEAST_HEIGHT:
        raise UsageError(f"height {height!r}: expected pixels, at least {_LEAST_HEIGHT}")
    return View(page(analysed), height)
