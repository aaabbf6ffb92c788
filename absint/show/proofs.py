"""The answers of `absint prove`: their number, and their document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from absint.lattices.text.documents import Document
from absint.lattices.text.forms import RELATION, SECONDS, SIZES, Key, Object, many, maybe, one_of
from absint.lattices.text.sheets import Line
from absint.questions.proofs.proof import STYLES, Proof, Verdict
from absint.solution.heads import about
from absint.solution.naming import where
from absint.solver.documents import CONSTRAINT

if TYPE_CHECKING:
    from absint.result import Result


def summary(proofs: Sequence[Proof]) -> Iterator[Line]:
    """The number of each verdict, where there are several answers."""
    if len(proofs) > 1:
        counts = Counter(proof.verdict for proof in proofs)
        yield Line("")
        found = ", ".join(f"{counts[verdict]:,} {verdict.value}" for verdict in STYLES if verdict in counts)
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
