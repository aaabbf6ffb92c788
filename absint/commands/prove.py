"""`absint prove`, `certify` and `equal`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Literal

import click

from absint import homes, show
from absint.commands.analysis import analysed, analysis_options, check_seconds, limit_options, warm_up
from absint.commands.command import FINE, NO, UNDECIDED, Command, counted, status, tell, worst
from absint.commands.models import Ask, models_argument
from absint.errors import UsageError
from absint.lattices.limits import LONG, SECONDS
from absint.lattices.text.sheets import defined
from absint.questions.proofs.text import Query
from absint.result import Result
from absint.show.text import answer, assumed, write
from absint.solution.naming import about, names_of


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
    given: homes.proof.Given,
    confirm: bool,
    evidence: homes.evidence.Evidence | None,
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
        click.echo(homes.proof.document(result, proofs, assume))
    else:
        write(homes.proof.summary(proofs))
        write([defined(texts)])
    if certificate is not None and proofs[0]:
        _certify(result, relation[0], certificate)
    return worst(map(_code, proofs))


def _check_certificate(
    model: str, path: str, relations: Sequence[str], given: homes.proof.Given, assume: Sequence[str]
) -> None:
    if len(relations) > 1:
        raise UsageError("--certificate holds one answer: give one RELATION; absint certify takes several")
    if given != "run" or assume:
        raise UsageError("--certificate is about every run that succeeds: leave out --given and --assume")
    homes.writing.check_target(model, path)


def _certify(result: Result, relation: str, path: str) -> None:
    found = result.certify([relation])
    if found.unproved:
        tell(f"warning: {path} is not written: {relation} does not follow from what is certified")
    else:
        homes.writing.write_text(homes.single.single(found), result.loaded.outline(), result.origin, path)


def _code(proof: homes.proof.Proof) -> int:
    return {"proved": FINE, "refuted": NO, "contradiction": NO}.get(proof.verdict.value, UNDECIDED)


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
    homes.certificate.check_folder(output)
    if lost := homes.backend.shared().lost:
        raise UsageError(f"absint certify needs Z3: {lost}")
    result = analysed(ask.model, ask.settings, ask.sizes)
    with counted("nodes") as advance:
        found = homes.certificate.certify(
            result, relations, seconds=seconds, progress=lambda done, total: advance(done, total, "")
        )
    size = found.write(output)

    answer(
        ask.form,
        lambda: show.certificates.CERTIFY.text(show.certificates.Written(found, output, size), head=about(result)),
        lambda: show.certificates.report(found, output),
    )
    return UNDECIDED if found.unproved else FINE


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
        questions: Mapping[str, Callable[..., show.classes.Found]] = {
            "dims": result.equal_dims,
            "shapes": result.equal_shapes,
            "buffers": result.equal_buffers,
        }
        found = questions[what](**ask.limits._asdict())
        pairs: list[homes.equivalence.Distinct] | None = None
        if distinct:
            most = None if ask.form == "json" else show.classes.SHOWN_PAIRS + 1
            pairs = list(islice(found.distinct(), most))
    answer(
        ask.form,
        lambda: found.to_json(distinct=pairs),
        lambda: show.classes.report(result, found, pairs, everything=everything),
    )
    return FINE
