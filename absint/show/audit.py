"""The outcome of an audit, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from absint.jobs.auditing.audit import Audit, Judged, Judgement
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import format_sizes
from absint.lattices.text.forms import SECONDS, Key, Object, keys_of, many, tally
from absint.lattices.text.sheets import Line, Part, Table, plural

SHOWN: Final = 20
"""Claims of one judgement that the text lists."""

_STYLES: Final = {
    Judgement.REFUTED: "bold red",
    Judgement.NOT_ENTAILED: "bold yellow",
    Judgement.UNPROVED: "yellow",
    Judgement.PROVED: "green",
}


def report(audits: Sequence[Audit], *, everything: bool = False) -> Iterator[Part]:
    """A section for each source."""
    for number, audit in enumerate(audits):
        if number:
            yield Line("")
        yield Line(_title(audit), "bold")
        if audit.failure:
            yield Line(f"  failed: {audit.failure}", "bold yellow")
        if audit.needs:
            yield Line(f"  {audit.needs}", "bold yellow")
        for judgement, style in _STYLES.items():
            found = audit.of(judgement) if everything or judgement is not Judgement.PROVED else ()
            shown = found if everything else found[:SHOWN]
            for _, same in groupby(enumerate(shown), key=_together):
                for _, item in same:
                    yield Line(f"  {item.judgement.value}  {item.relation}", style)
                yield Table("", [(f"  {name}", text) for name, text in _rows(item) if text])
            if len(found) > len(shown):
                yield Line(f"  and {len(found) - len(shown):,} more {judgement.value} (--all shows them)", style)


def _title(audit: Audit) -> str:
    total = len(audit.judged)
    found = [f"{count:,} {judgement.value}" for judgement, count in audit.counts.items() if count]
    if audit.unconfirmed:
        found.append(f"{audit.unconfirmed:,} of the refuted by proof alone")
    return f"{audit.source}: {total:,} {plural('claim', total)}" + (f": {', '.join(found)}" if found else "")


def _together(numbered: tuple[int, Judged]) -> int | tuple[str, ...]:
    """A key, equal for unproved neighbours with one reason, which is shown once, below the last."""
    number, item = numbered
    return item.because if item.judgement is Judgement.UNPROVED else number


def _rows(item: Judged) -> Iterator[tuple[str, str]]:
    at = "" if item.counterexample is None else format_sizes(item.counterexample)
    match item.judgement:
        case Judgement.REFUTED:
            yield "false at", at or "the sizes of the inputs, which are fixed"
            yield ("a run shows" if item.confirmed else "refuted"), "; ".join(item.because)
        case Judgement.NOT_ENTAILED:
            yield "perhaps false at", at
            yield "but", "; ".join(item.because)
        case Judgement.UNPROVED:
            yield "because", "; ".join(item.because)
        case Judgement.PROVED:
            for text in item.because:
                yield "because", text


_PLACES, _RELATION, *_VERDICT = keys_of(
    Judged,
    places="what the claim is about, and what it refers to, if anything; without an axis a whole value",
    counterexample="sizes at which it is false, or may be if it is not entailed; null without any",
    confirmed="a run at these sizes showed that it is false",
    because="the constraints behind a proof, what a run showed, or why there is no answer",
)
_AUDIT: Final = Object[Audit](
    Key("source", str, "who makes the claims"),
    Key("failure", str, "why the source failed; empty if it did not"),
    Key("needs", str, "what is missing for a verdict; empty if nothing is"),
    Key("seconds", SECONDS, "the time that the source took"),
    Key("judging", SECONDS, "the time that the judgement took"),
    Key("dims", int, "dims of the main graph that the source speaks of"),
    Key("resolved", int, "of these, dims that it gives, refuted ones left out"),
    Key("solver_calls", int, "questions to Z3"),
    Key("counts", tally(Judgement), "claims by judgement"),
    Key("unconfirmed", int, "refuted by proof alone"),
    Key("claims", many(Object[Judged](_RELATION, _PLACES, *_VERDICT)), of=lambda audit: audit.judged),
)
AUDIT: Final = Document[Sequence[Audit]](
    "audit",
    1,
    "claims of others, judged (absint audit)",
    Key("audits", many(_AUDIT), of=lambda audits: audits),
    head=("model",),
    defines=False,
    lines=True,
)
