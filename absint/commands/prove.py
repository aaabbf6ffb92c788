"""`absint prove` and `absint equal`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal

import click

from absint.commands.analysis import analysed, analysis_options, limit_options, warm_up
from absint.commands.command import FINE, NO, UNDECIDED, Command, status, tell, worst
from absint.commands.models import Ask, models_argument
from absint.errors import UsageError
from absint.lattices.limits import LONG, SECONDS
from absint.lattices.text.sheets import defined
from absint.model.writing import check_target, write_text
from absint.questions.proofs.equivalence import Distinct
from absint.questions.proofs.proof import Proof, document, summary
from absint.questions.proofs.text import Query
from absint.result import Result
from absint.show import classes
from absint.show.classes import Found
from absint.show.text import answer, assumed, write
from absint.solution.naming import names_of

if TYPE_CHECKING:
    from absint.questions.proofs.evidence import Evidence
    from absint.questions.proofs.proof import Given


@click.command(
    cls=Command,
    epilog="Quote relations, since a shell reads > and * itself; after -- a relation may begin with a minus sign: "
    "absint prove model.onnx -- '-1 <= N'.",
)
@click.option(
    "--given",
    type=click.Choice(["run", "inputs", "declared"]),
    default="run",
    help="What to take for granted: that the run succeeds, the declared inputs alone, or the author's other "
    "declarations too.",
)
@click.option(
    "--assume",
    metavar="RELATION...",
    multiple=True,
    help="A premise of every query, as 'seq % 8 == 0'; it may name values.",
)
@click.option("--confirm", is_flag=True, help="Run the model at the sizes of each counterexample (needs onnxruntime).")
@click.option(
    "--evidence",
    type=click.Choice(["run", "none"]),
    default=None,
    help="Run the model where the rules do not show that a counterexample runs, or never.  [default: run, if "
    "onnxruntime is installed]",
)
@click.option(
    "--certificate",
    metavar="FILE",
    help="Write what the one RELATION follows from as SMT-LIB, for any solver: docs/certificates.md.",
)
@limit_options(SECONDS)
@click.option("--verbose", is_flag=True, help="Show what decided each relation, and how long it took.")
@analysis_options(runs=True, assume=False)
@models_argument("RELATION", titled=False)
def prove(
    ask: Ask,
    relation: tuple[str, ...],
    given: Given,
    confirm: bool,
    evidence: Evidence | None,
    certificate: str | None,
    verbose: bool,
) -> int:
    """Prove or refute relations between sizes of MODEL.

    A relation is proved if it holds in every run that succeeds. It is over dims of values and symbols of inputs:
    'logits[1] == input_ids[1]', 'H % 32 == 0', 'shape(X) == shape(Z)', 'size(A) <= size(B)',
    'N == 1 -> rank(X) == 4'. A name with odd characters is quoted: '`past seq`[1] == 8'.

    \b
    proved         the premises entail it; the nodes that the proof rests on are listed
    refuted        it is false at the sizes shown, and there is such a run
    not entailed   the premises allow it to be false, but perhaps no run does
    unknown        undecided, with the reason
    contradiction  the premises cannot hold together; the nodes are listed

    Exit code: 0 if all are proved; else 1 if one is refuted or a contradiction; else 3.
    """
    if certificate is not None:
        _check_certificate(ask.model, certificate, relation, given, ask.settings.assume)
    warm_up(ask.limits)
    assume = ask.settings.assume
    result = analysed(ask.model, ask.settings._replace(assume=()), ask.sizes)
    query = Query(result)
    for text in (*assume, *relation):
        query.relation(text)  # report a mistake in the last one before answering the first

    proofs = []
    texts = names_of(result)
    if ask.form == "text":
        write(assumed(result, assume))
    for text in relation:
        with status("proving"):
            proof = result.prove(
                text, given=given, assume=assume, confirm=confirm, evidence=evidence, **ask.limits._asdict()
            )
        proofs.append(proof)
        if ask.form == "text":
            write([proof.sheet(texts, fixed=bool(ask.sizes), verbose=verbose)])
    if ask.form == "json":
        click.echo(document(result, proofs, assume))
    else:
        write(summary(proofs))
        write([defined(texts)])
    if certificate is not None and proofs[0]:
        _certify(result, relation[0], certificate)
    return worst(map(_code, proofs))


def _check_certificate(model: str, path: str, relations: Sequence[str], given: Given, assume: Sequence[str]) -> None:
    if len(relations) > 1:
        raise UsageError("--certificate holds one answer: give one RELATION; absint certify takes several")
    if given != "run" or assume:
        raise UsageError("--certificate is about every run that succeeds: leave out --given and --assume")
    check_target(model, path)


def _certify(result: Result, relation: str, path: str) -> None:
    from absint.questions.certificates.single import single

    found = result.certify([relation])
    if found.unproved:
        tell(f"warning: {path} is not written: {relation} does not follow from what is certified")
    else:
        write_text(single(found), result.loaded.outline(), result.origin, path)


def _code(proof: Proof) -> int:
    return {"proved": FINE, "refuted": NO, "contradiction": NO}.get(proof.verdict.value, UNDECIDED)


@click.command(cls=Command)
@click.option(
    "--what",
    type=click.Choice(["dims", "shapes", "buffers"]),
    default="dims",
    help="Axes of equal size, values of equal shape, or values of equal size in bytes, which can share a buffer.",
)
@click.option("--distinct", is_flag=True, help="List pairs of classes with sizes that tell them apart.")
@click.option("--all", "everything", is_flag=True, help="List every class with all its members.")
@analysis_options(seconds=LONG)
@models_argument()
def equal(ask: Ask, what: Literal["dims", "shapes", "buffers"], distinct: bool, everything: bool) -> int:
    """Group dims, shapes or buffers that are always equal.

    Equal means equal in every run of MODEL that succeeds. Every value of the main graph is in a class; two in different
    classes are not proved equal, which --distinct shows.
    """
    warm_up(ask.limits)
    result = analysed(ask.model, ask.settings, ask.sizes)
    with status("comparing"):
        questions: Mapping[str, Callable[..., Found]] = {
            "dims": result.equal_dims,
            "shapes": result.equal_shapes,
            "buffers": result.equal_buffers,
        }
        found = questions[what](**ask.limits._asdict())
        pairs: list[Distinct] | None = None
        if distinct:
            most = None if ask.form == "json" else classes.SHOWN_PAIRS + 1
            pairs = list(islice(found.distinct(), most))
    answer(
        ask.form,
        lambda: found.to_json(distinct=pairs),
        lambda: classes.report(result, found, pairs, everything=everything),
    )
    return FINE
