"""`absint policies`."""

from __future__ import annotations

import click

from absint.commands.analysis import format_option
from absint.commands.command import FINE, Command
from absint.lattices.unify import POLICIES
from absint.show import policies as report
from absint.show.text import answer


@click.command(cls=Command)
@format_option()
def policies(form: str) -> int:
    """List the unification policies.

    A policy says which of two dims is shown where a rule must choose. "sound" claims what every run shows; the others
    do as other tools do, so that their claims can be counted and judged: see --policy of analyze, explain, annotate and
    audit, absint study, and docs/policies.md.
    """
    answer(form, lambda: report.DOCUMENT.text(POLICIES.values()), report.report)
    return FINE
