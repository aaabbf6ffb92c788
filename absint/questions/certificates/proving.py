"""The lemma of a node: the most general one that Z3 proves, and what is left to trust."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from absint.lattices.terms.interval import Interval
from absint.questions.certificates.claims import Claim
from absint.questions.certificates.lemma import GENERALITIES, Lemma, Problem, Stage
from absint.questions.certificates.meanings import NotSpecifiedError
from absint.questions.certificates.terms import symbols
from absint.solver.backend import Backend

RLIMIT: Final = 1_000_000
"""Z3's budget for a lemma."""

MOST_FACTS: Final = 24
"""Facts that a lemma may begin with."""


class Part(NamedTuple):
    """One claim of a node: a size, an element, or a relation."""

    name: str
    """`out0@1`, or `relation2`."""
    formula: str


class Proved(NamedTuple):
    """The lemma of a node, if there is one, and the names of the parts that it does not prove."""

    lemma: Lemma | None
    parts: tuple[Part, ...]
    """The relations that it proves, in the order of the lemma."""
    facts: tuple[str, ...] = ()
    """The formulas that it takes for granted."""
    reason: str = ""
    """The reason why parts are not proved; empty if all are."""


class Proving:
    """Looks for lemmas, and asks Z3 for a model of each script, once."""

    def __init__(self, backend: Backend, seconds: float) -> None:
        self._backend = backend
        self._seconds = seconds
        self._verdicts: dict[str, str] = {}

    def prove(
        self,
        problem: Problem,
        parts: Sequence[Part],
        bounds: Mapping[str, Interval],
        facts: Iterable[str],
        *,
        general: bool = False,
    ) -> Proved:
        """The lemma that proves the most of the parts; if `general`, one about any sizes or terms, or none."""
        try:
            stages = _Stages(problem, bounds)
            exact = stages.exact
        except NotSpecifiedError as error:
            return Proved(None, (), reason=str(error))
        spoken = [part for part in parts if _is_spoken_of(part, exact.places)]
        missing = "" if len(spoken) == len(parts) else "the specification does not speak of it"
        if not spoken:
            return Proved(None, (), reason=missing)
        formulas = [part.formula for part in spoken]
        for stage in stages:
            if general and stage is exact:
                return Proved(None, ())
            if exact.places <= stage.places and self._holds(found := stage.lemma(formulas)):
                return self._kept(found, spoken, (), missing)
        known = about(facts, formulas, problem.inputs)
        if known and self._holds(exact.lemma(formulas, known)):
            return self._with_facts(exact, spoken, known, missing)
        single = [part for part in spoken if self._holds(exact.lemma([part.formula], known))]
        if not single or not self._holds(exact.lemma([part.formula for part in single], known)):
            return Proved(None, (), reason="it does not follow from the specification")
        return self._with_facts(exact, single, known, "it does not follow from the specification")

    def _with_facts(self, stage: Stage, parts: Sequence[Part], facts: Sequence[str], reason: str) -> Proved:
        """Without the facts that are not needed."""
        formulas = [part.formula for part in parts]
        found = self.least(lambda chosen: stage.lemma(formulas, chosen), facts)
        if found is None:
            return Proved(None, (), reason=reason)
        return self._kept(found[0], parts, tuple(found[1]), reason)

    def least(self, lemma: Callable[[list[str]], Lemma], facts: Sequence[str]) -> tuple[Lemma, list[str]] | None:
        """The lemma that these facts prove, with those that it needs; None if there is no proof."""
        kept = list(facts)
        if not self._holds(lemma(kept)):
            return None
        for fact in facts:
            rest = [other for other in kept if other is not fact]
            if self._holds(lemma(rest)):
                kept = rest
        return lemma(kept), kept

    def _kept(self, found: Lemma, parts: Sequence[Part], facts: tuple[str, ...], reason: str) -> Proved:
        if self._asked(found.hypotheses) == "unsat":
            return Proved(None, (), reason="the specification allows no run")
        return Proved(found, tuple(parts), facts, reason)

    def _holds(self, found: Lemma) -> bool:
        return self._asked(found.script.replace("(check-sat)\n", "")) == "unsat"

    def _asked(self, script: str) -> str:
        verdict = self._verdicts.get(script)
        if verdict is None:
            answer = self._backend.check(script, rlimit=RLIMIT, seconds=self._seconds, core=False)
            verdict = self._verdicts[script] = answer.verdict
        return verdict


class _Stages:
    """The generalities of a problem, the widest first."""

    def __init__(self, problem: Problem, bounds: Mapping[str, Interval]) -> None:
        self._problem = problem
        self._bounds = bounds
        self.exact = Stage(problem, GENERALITIES[-1], bounds)

    def __iter__(self) -> Iterator[Stage]:
        for generality in GENERALITIES[:-1]:
            try:
                yield Stage(self._problem, generality, self._bounds)
            except NotSpecifiedError:
                continue
        yield self.exact


def _is_spoken_of(part: Part, places: frozenset[str]) -> bool:
    return "@" not in part.name or part.name in places


def about(
    facts: Iterable[str], formulas: Sequence[str], inputs: Iterable[Claim | None], *, closed: bool = False
) -> list[str]:
    """The facts whose symbols all occur in formulas or inputs; if `closed`, those that share a symbol, and so on."""
    texts = [*formulas, *(term for claim in inputs if claim is not None for term in claim.terms)]
    known = {symbol for text in texts for symbol in symbols(text)}
    left = [(fact, set(symbols(fact))) for fact in sorted(facts, key=len)]
    found = [fact for fact, inside in left if inside <= known]
    while closed and len(found) < MOST_FACTS:
        more = [(fact, inside) for fact, inside in left if fact not in found and inside & known]
        if not more:
            break
        found += [fact for fact, _ in more]
        known |= set().union(*(inside for _, inside in more))
    return found[:MOST_FACTS]
