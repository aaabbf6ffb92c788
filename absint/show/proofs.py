"""The answers of `absint prove`, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION
from absint.lattices.text import TextError, parse_relation
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import format_sizes, plain
from absint.lattices.text.forms import RELATION, SECONDS, SIZES, Key, Object, many, maybe, one_of
from absint.lattices.text.naming import Where
from absint.show.documents import about
from absint.show.relations import brief, plural, stated
from absint.show.text import Line, aligned, wrapped
from absint.solution.naming import where
from absint.solver.constraints import Constraint
from absint.solver.documents import CONSTRAINT
from absint.solver.prove import Proof, Verdict

if TYPE_CHECKING:
    from absint.result import Result

_PREMISES: Final = 3
"""Numeric premises that are shown of one proof."""

_STYLES: Final = {
    "proved": "bold green",
    "refuted": "bold red",
    "not entailed": "bold yellow",
    "unknown": "bold yellow",
    "contradiction": "bold red",
}


def block(proof: Proof, texts: Where, width: int, *, fixed: bool = False, verbose: bool = False) -> Iterator[Line]:
    """The answer to one query: the verdict, and in indented rows what it rests on. `fixed`: sizes are given."""
    verdict = proof.verdict.value
    first, *more = wrapped(f"{verdict}  {plain(proof.text)}", width, len(verdict) + 2)
    yield Line(first, _STYLES[verdict])
    yield from (Line(text, _STYLES[verdict]) for text in more)
    yield from map(Line, aligned(list(_rows(proof, texts, fixed, verbose)), width))


def _rows(proof: Proof, texts: Where, fixed: bool, verbose: bool) -> Iterator[tuple[str, str]]:
    if proof.relation not in (TRUE, FALSE, UNKNOWN_RELATION) and not _is_said(proof):
        yield "in symbols", brief(proof.relation, texts)
    match proof.verdict.value:
        case "proved":
            yield from _because(proof.because, texts)
            if not proof.because:
                yield "rests on", f"the declared inputs{' and the given sizes' if fixed else ''} alone"
            yield from _assuming(proof.assuming, texts)
            if not proof.premises_shown_consistent:
                yield "note", "the premises are not shown to be consistent"
        case "refuted":
            shown = format_sizes(proof.counterexample or {})
            yield "false at", (shown or "the sizes of the inputs, which are fixed")
            if proof.confirmed:
                yield "confirmed", "by a run at these sizes"
            elif proof.evidence == "run":
                yield "shown", "by a run of the model at these sizes"
        case "not entailed":
            yield from _candidate(proof)
            yield "but", proof.reason or "these sizes are not shown to run"
        case "unknown":
            yield "because", proof.reason or "no reason is known"
        case "contradiction":
            yield "so", "nothing is proved: what is taken for granted cannot hold together"
            yield from _because(proof.because, texts)
    if verbose:
        sent = f", {proof.asked:,} {plural('premise', proof.asked)} sent to Z3" if proof.asked else ""
        yield "decided", f"by {proof.tier} in {proof.seconds * 1000:,.1f} ms{sent}; given {proof.given}"


def _is_said(proof: Proof) -> bool:
    """The query itself is over symbols."""
    try:
        return parse_relation(proof.text) is proof.relation
    except TextError:
        return False


def _assuming(premises: Sequence[Constraint], texts: Where) -> Iterator[tuple[str, str]]:
    for premise in premises[:_PREMISES]:
        yield "assuming", stated(premise, texts)
    if len(premises) > _PREMISES:
        yield "assuming", f"{len(premises) - _PREMISES:,} more numeric premises (absint contract --role assumed)"


def _because(core: Sequence[Constraint], texts: Where) -> Iterator[tuple[str, str]]:
    """The constraints of the core, each under its role."""
    for constraint in dict.fromkeys(core):
        yield "assuming" if constraint.is_premise else constraint.role, stated(constraint, texts)


def _candidate(proof: Proof) -> Iterator[tuple[str, str]]:
    shown = format_sizes(proof.counterexample or {})
    invented = format_sizes(proof.invented)
    taken = f"{shown}, if {invented}" if shown and invented else shown or invented
    if taken:
        yield "false at", taken


def summary(proofs: Sequence[Proof]) -> Iterator[Line]:
    """The number of each verdict, where there are several answers."""
    if len(proofs) > 1:
        counts: dict[str, int] = {}
        for proof in proofs:
            counts[proof.verdict.value] = counts.get(proof.verdict.value, 0) + 1
        yield Line("")
        found = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in _STYLES if verdict in counts)
        yield Line(f"{len(proofs):,} relations: {found}")


_PROOF: Final = Object[Proof](
    Key("query", str, "as it was asked", lambda proof: proof.text),
    Key("verdict", one_of(Verdict)),
    Key("relation", RELATION, "the query over symbols"),
    Key("given", one_of("run", "inputs", "declared"), "what was taken for granted"),
    Key("because", many(CONSTRAINT), "the core of a proof or contradiction"),
    Key("assuming", many(CONSTRAINT), "numeric premises that it rests on"),
    Key("counterexample", maybe(SIZES), "sizes of the inputs; null without any"),
    Key("invented", SIZES, "data-dependent numbers of the counterexample"),
    Key("confirmed", bool, "a run took place (`--confirm`)"),
    Key("evidence", maybe(one_of("rules", "run")), "null unless refuted", lambda proof: proof.evidence or None),
    Key("reason", str, "why it is not decided or not entailed"),
    Key("premises_shown_consistent", maybe(bool), "the premises can hold together"),
    Key("tier", str, "what decided it"),
    Key("asked", int, "questions to Z3"),
    Key("seconds", SECONDS),
)
PROVE: Final = Document[Sequence[Proof]](
    "prove",
    1,
    "answers to relations (absint prove)",
    Key("proofs", many(_PROOF), of=lambda proofs: proofs),
    lines=True,
)


def document(result: Result, proofs: Sequence[Proof], assume: Sequence[str] = ()) -> str:
    """All answers, one a line; `assume` are the assumptions of the queries alone."""
    head = about(result)
    return PROVE.text(proofs, where(result), head._replace(assume=(*head.assume, *assume)))
