"""The provers of an analysis, one for each set of premises; and the answer to a query: a verdict, what it rests on, its
sheet and its document.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, Literal

from absint.lattices.limits import Limits
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation
from absint.lattices.terms.expr import reached
from absint.lattices.text import TextError, parse_relation
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import excerpt, format_sizes, plain
from absint.lattices.text.forms import RELATION, SECONDS, SIZES, Key, Object, many, maybe, one_of
from absint.lattices.text.naming import Names, Naming
from absint.lattices.text.sheets import Line, Sheet, Table, so_many
from absint.lattices.value import Tensor
from absint.program.limits import checked
from absint.program.nodes import Node
from absint.program.steps import ABSENT
from absint.questions.proofs.requirements import independent
from absint.questions.proofs.text import Query
from absint.solution.analysed import Analysed
from absint.solution.constraints import ASSUMPTION, Recorder, all_names, found, recorded
from absint.solution.naming import about, brief, names_of, stated
from absint.solver.constraints import CONSTRAINT, Constraint, ConstraintSet
from absint.solver.prove import Decision, Prover, Tier
from absint.transfer.traits import RANDOM

ShownBy = Literal["", "rules", "run"]

_PREMISES: Final = 3
"""Numeric premises that are shown of one proof."""


class Verdict(Enum):
    """The status of a relation; see `absint.Result.prove`."""

    PROVED = "proved"
    REFUTED = "refuted"
    NOT_ENTAILED = "not entailed"
    UNKNOWN = "unknown"
    CONTRADICTION = "contradiction"


STYLES: Final = {
    Verdict.PROVED: "bold green",
    Verdict.REFUTED: "bold red",
    Verdict.NOT_ENTAILED: "bold yellow",
    Verdict.UNKNOWN: "bold yellow",
    Verdict.CONTRADICTION: "bold red",
}


@dataclass(frozen=True)
class Proof:
    """The answer to one query."""

    relation: Relation
    """The relation over symbols, as it was decided."""
    verdict: Verdict
    """The answer."""
    text: str = ""
    """The query as it was asked."""
    given: str = "run"
    """The premises that were taken for granted: `run`, `inputs` or `declared`."""
    because: tuple[Constraint, ...] = ()
    """The constraints that a proof used, or that contradict each other."""
    assuming: tuple[Constraint, ...] = ()
    """Numeric premises on which the sizes in the query and in `because` rest: no run requires them."""
    counterexample: Mapping[str, int] | None = None
    """Sizes of the input symbols that make the relation false; for "not entailed", a candidate."""
    invented: Mapping[str, int] = field(default_factory=dict)
    """The values that the counterexample assumes for data-dependent sizes."""
    reason: str = ""
    """The reason why it is unknown, or why a candidate is no refutation."""
    tier: Tier = "normal form"
    """The cheapest means that decided it."""
    confirmed: bool = False
    """The counterexample was run, and the relation was false in that run."""
    evidence: ShownBy = ""
    """The evidence that the model runs at the refuting sizes: the `rules`, or a `run` of the model."""
    premises_shown_consistent: bool = True
    """Values were found that meet all premises."""
    asked: int = 0
    """Premises that were sent to Z3."""
    seconds: float = 0.0
    """Time of the answer."""
    semantics: str = "either"
    """The runs that the answer is about: those of ONNX's documents, of onnxruntime, or of either."""

    def __bool__(self) -> bool:
        return self.verdict is Verdict.PROVED

    def __str__(self) -> str:
        text = f"{self.verdict.value}: {plain(self.text) or self.relation}"
        if self.counterexample is not None:
            text += " at " + format_sizes(self.counterexample)
        if self.because:
            text += "; because " + "; ".join(map(str, self.because))
        if self.assuming:
            text += "; assuming " + "; ".join(map(str, self.assuming))
        if self.evidence == "run":
            text += " (a run of the model shows it)"
        return text + (f" ({self.reason})" if self.reason else "")

    def __repr__(self) -> str:
        return f"<Proof {self.verdict.value}: {excerpt(self.text or str(self.relation))}>"

    def _repr_html_(self) -> str:
        return self.sheet(Names(Naming())).html()

    def sheet(self, texts: Names, *, fixed: bool = False, verbose: bool = False) -> Sheet:
        """The verdict, and in rows what it rests on. `fixed`: sizes are given."""
        verdict = Line(f"{self.verdict.value}  {self.text or brief(self.relation, texts)}", STYLES[self.verdict])
        return Sheet(verdict, [Table("", list(_rows(self, texts, fixed, verbose)))])


def _rows(proof: Proof, texts: Names, fixed: bool, verbose: bool) -> Iterator[tuple[str, str]]:
    if proof.relation not in (TRUE, FALSE, UNKNOWN_RELATION) and not _is_said(proof):
        yield "in symbols", brief(proof.relation, texts)
    match proof.verdict:
        case Verdict.PROVED:
            yield from _because(proof.because, texts)
            if not proof.because:
                yield "rests on", f"the declared inputs{' and the given sizes' if fixed else ''} alone"
            yield from _assuming(proof.assuming, texts)
            if not proof.premises_shown_consistent:
                yield "note", "the premises are not shown to be consistent"
        case Verdict.REFUTED:
            shown = format_sizes(proof.counterexample or {})
            yield "false at", (shown or "the sizes of the inputs, which are fixed")
            if proof.confirmed:
                yield "confirmed", "by a run at these sizes"
            elif proof.evidence == "run":
                yield "shown", "by a run of the model at these sizes"
        case Verdict.NOT_ENTAILED:
            yield from _candidate(proof)
            yield "but", proof.reason or "these sizes are not shown to run"
        case Verdict.UNKNOWN:
            yield "because", proof.reason or "no reason is known"
        case Verdict.CONTRADICTION:
            yield "so", "nothing is proved: what is taken for granted cannot hold together"
            yield from _because(proof.because, texts)
    if verbose:
        sent = f", {so_many(proof.asked, 'premise')} sent to Z3" if proof.asked else ""
        yield "decided", f"by {proof.tier} in {proof.seconds * 1000:,.1f} ms{sent}; given {proof.given}"


def _is_said(proof: Proof) -> bool:
    """The query itself is over symbols."""
    try:
        return parse_relation(proof.text) is proof.relation
    except TextError:
        return False


def _assuming(premises: Sequence[Constraint], texts: Names) -> Iterator[tuple[str, str]]:
    for premise in premises[:_PREMISES]:
        yield "assuming", stated(premise, texts)
    if len(premises) > _PREMISES:
        yield "assuming", f"{len(premises) - _PREMISES:,} more numeric premises (absint contract --role assumed)"


def _because(core: Sequence[Constraint], texts: Names) -> Iterator[tuple[str, str]]:
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
    "prove", 1, "answers to relations (absint prove)", Key("proofs", many(_PROOF), of=lambda proofs: proofs), lines=True
)


def document(analysed: Analysed, proofs: Sequence[Proof], assume: Sequence[str] = ()) -> str:
    """All answers, one a line; `assume` are the assumptions of the queries alone."""
    head = about(analysed)
    return PROVE.text(proofs, names_of(analysed), head._replace(assume=(*head.assume, *assume)))


# Numeric premises behind an answer: those of the nodes from which its sizes come.
#
# The node that computes an integer, or a float that holds a size, assumes that it does not overflow and is not
# rounded. Every size computed from it rests on that, even if the premise is used in no proof.


def with_premises(analysed: Analysed, query: str | Relation, proof: Proof) -> Proof:
    """The proof with the numeric premises on which it rests, and what other analyses found of the sizes in it."""
    if proof.verdict.value != "proved":
        return proof
    premises = [c for c in recorded(analysed).every if c.is_premise]
    findings = found(analysed)
    if not premises and not findings:
        return proof
    nodes = {c.origin.node for c in proof.because}
    if isinstance(query, str):
        reading = Query(analysed)
        reading.relation(query)
        nodes.update(analysed.operands[name][0] for name in reading.asked)
    relation = query.substitute(all_names(analysed)) if isinstance(query, Relation) else proof.relation
    shown = relation.free_symbols
    nodes.update(s.origin_node or 0 for s, dim in all_names(analysed).items() if dim.free_symbols & shown)
    behind = upstream(analysed, nodes)
    stated = {c.formula: c for c in premises if c.origin.node in behind}
    names = all_names(analysed)
    kept = ConstraintSet(stated[formula] for formula in independent(list(stated))).renamed(names)
    told = ConstraintSet(c for c in findings if c.origin.node in behind).renamed(names)
    because = (*proof.because, *(c for c in told if c not in proof.because))
    return replace(proof, because=because, assuming=tuple(c for c in kept if c not in because))


def upstream(analysed: Analysed, nodes: Iterable[int]) -> set[int]:
    """The nodes and all that they depend on, through branches and loops too."""
    before: dict[int, list[int]] = {}
    for producer, node in analysed.program.edges():
        before.setdefault(node, []).append(producer)
    return reached((node for node in nodes if node >= 0), lambda node: before.get(node, ()))


def drawn(analysed: Analysed) -> set[str]:
    """The outputs that random numbers reach: two runs on equal inputs may give others."""
    draws = {number for number, node in enumerate(analysed.nodes) if _draws(analysed, node)}
    found = {name: analysed.operands[name][0] for name in analysed.outputs if name in analysed.operands}
    return {name for name, node in found.items() if draws and upstream(analysed, [node]) & draws}


def _draws(analysed: Analysed, node: Node) -> bool:
    """The node draws random numbers; a Dropout does unless training is known to be off."""
    operation = node.operation
    if operation is None or operation.op_type not in RANDOM:
        return False
    if operation.operator != "Dropout" or operation.version < 7:
        return True
    given = node.operands[2] if len(node.operands) > 2 else ABSENT
    value = analysed.value_of(given)
    return given != ABSENT and not (
        isinstance(value, Tensor) and value.contents is not None and value.contents.elements[:1] == (FALSE,)
    )


Given = Literal["run", "inputs", "declared"]


class Provers:
    """Provers that are kept, so that queries share their work."""

    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._kept: dict[tuple[str, tuple[Relation, ...]], Prover] = {}

    def of(
        self,
        given: str,
        limits: Limits,
        extra: tuple[Relation, ...] = (),
        declared: Callable[[], Sequence[Constraint]] = tuple,
    ) -> Prover:
        """The prover under these premises, with limits for the next question.

        `given` is as for `Result.prove`, `base` for the first round alone, or `required` for a run without numeric
        premises; `extra` is assumed. `declared` reads what the author declares, if that is given.
        """
        key = given, extra
        prover = self._kept.get(key)
        if prover is None:
            found = recorded(self._analysed)
            every = found.base if given == "base" else found.every
            kept: Iterable[Constraint] = every.of_needed
            if given == "required":
                kept = every.of_needed.without_premises()
            elif given == "inputs":
                kept = (c for c in every if c.origin.node < 0)
            elif given == "declared":
                kept = [*kept, *declared()]
            assumed = [Constraint(r, TRUE, ASSUMPTION, "assumed", "assumed in the query") for r in extra]
            prover = Prover(ConstraintSet([*assumed, *kept], symbols=self._analysed.symbols))
            self._kept[key] = prover
        prover.limits = limits
        return prover

    def because(self, prover: Prover, decision: Decision, given: Given) -> tuple[Constraint, ...]:
        """The constraints behind a decision, under printed names."""
        found = dict.fromkeys(prover.because(decision.core))
        if given != "inputs" and prover is not self._kept.get(("base", ())) and self._analysed.last.learned:
            found |= dict.fromkeys(self._learned())
        return self.shown(found)

    def shown(self, constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
        """Constraints under printed names."""
        names = all_names(self._analysed)
        return tuple(ConstraintSet(constraints).renamed(names))

    def _learned(self) -> Iterable[Constraint]:
        """The requirements that the last round took as facts; what is given has the prover anyway."""
        recorder = Recorder(self._analysed.lowered, self._analysed.base)
        for item in self._analysed.last.learned:
            if item.node >= 0:
                yield Constraint(item.relation, TRUE, recorder.origin(item.node), "required", item.reason)


def prover(analysed: Analysed, limits: Limits | None = None) -> Prover:
    """The prover of all rounds under these limits. Raises UsageError for a limit that makes no sense."""
    return analysed.once(Provers).of("run", checked(limits or Limits()))
