"""`absint certify`."""

from __future__ import annotations

import click

from absint.commands.analysis import analysed, analysis_options, check_seconds
from absint.commands.command import FINE, UNDECIDED, Command, counted
from absint.commands.models import Ask, models_argument
from absint.errors import UsageError
from absint.questions.certificates.certificate import certify as certified, check_folder
from absint.show import certificates as report
from absint.show.text import answer
from absint.solution.naming import about
from absint.solver.backend import shared


@click.command(cls=Command, epilog="Recheck with cvc5 or z3, without absint: python DIR/check.py")
@click.option("-o", "--output", metavar="DIR", required=True, help="The folder to write; one that is there is renewed.")
@click.option(
    "--prove", "relations", metavar="RELATION", multiple=True, help="Certify a relation too, as 'logits[1] == seq'."
)
@click.option("--seconds", type=float, default=10.0, help="Time limit of one lemma.")
@analysis_options()
@models_argument(several=False)
def certify(ask: Ask, output: str, relations: tuple[str, ...], seconds: float) -> int:
    """Write lemmas that prove the shapes of MODEL.

    A lemma is an SMT-LIB file about one node: from the specification of its operator and the claims about its inputs
    follow the claims about its outputs, and what the node requires. Equal ones are written once. manifest.json names
    the lemma of each node and the claims that it takes; check.py, which needs Python and a solver and no absint, checks
    the lemmas and the chain. What no lemma shows is on trust: it is listed and counted.

    Exit code: 0 if DIR is written and every RELATION is certified; 3 if one is not.
    """
    check_seconds(seconds)
    check_folder(output)
    if lost := shared().lost:
        raise UsageError(f"absint certify needs Z3: {lost}")
    result = analysed(ask.model, ask.settings, ask.sizes)
    with counted("nodes") as advance:
        found = certified(result, relations, seconds=seconds, progress=lambda done, total: advance(done, total, ""))
    size = found.write(output)

    answer(
        ask.form,
        lambda: report.CERTIFY.text(report.Written(found, output, size), head=about(result)),
        lambda: report.report(found, output),
    )
    return UNDECIDED if found.unproved else FINE
