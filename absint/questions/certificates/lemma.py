"""Lemmas: one node, the sizes of its inputs, and the claims about its outputs, as a script that must have no model.

A lemma is about any numbers that its symbols `$0`, `$1`, ... stand for, so many nodes share one. It hangs on nothing
else: the specification of the node, what is claimed of its inputs, and facts that are claimed elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from absint.lattices.terms.interval import Interval
from absint.questions.certificates.meanings import Meaning, NotSpecifiedError
from absint.questions.certificates.terms import Claim, number_of, replaced, symbols
from absint.solver.backend import Backend
from absint.solver.smtlib import within

Generality = Literal["any sizes", "any terms", "these terms"]
GENERALITIES: Final[tuple[Generality, ...]] = ("any sizes", "any terms", "these terms")
"""The meanings of the symbols of a lemma: sizes other than 0 and 1; sizes that are no numbers; symbols of the model."""

_DOMAIN: Final = "domain@0"
"""The name of the condition under which a specification speaks of the inputs."""


class Problem(NamedTuple):
    """The statement to be proved about a node."""

    inputs: tuple[Claim | None, ...]
    means: Callable[[Mapping[str, str]], Meaning]
    """Its specification; for terms of the model that may be any number, their names."""
    introduced: Mapping[str, str]
    """Symbols that name a size or an element of this node's outputs, each with the place: `{"_d0": "out0@1"}`."""


class Lemma(NamedTuple):
    """A script, and what its symbols stand for at a node."""

    title: str
    script: str
    """SMT-LIB 2 up to and with `check-sat`. It has no model if the claims hold."""
    names: Mapping[str, str]
    """A term of the model for each symbol of the script."""
    hypotheses: str
    """The script without the negated claims. It has a model, or else the lemma is empty."""


class Stage:
    """A node at one generality, for which lemmas can be written. Raises NotSpecifiedError."""

    def __init__(self, problem: Problem, generality: Generality, bounds: Mapping[str, Interval]) -> None:
        self._problem = problem
        self._bounds = bounds
        self._general = _general(problem, generality)
        self._means = problem.means(self._general)
        self.places = self._means.places
        """The names of sizes and elements that the specification speaks of."""

    def lemma(self, claims: Sequence[str], facts: Sequence[str] = ()) -> Lemma:
        """The lemma that the node has these claims, each a formula over `out0@1` and symbols of the model."""
        problem, names = self._problem, _Names(self._general)
        return _lemma(self._means, names, problem.inputs, problem.introduced, facts, claims, self._bounds)


def entailment(
    inputs: Sequence[Claim],
    claim: str,
    bounds: Mapping[str, Interval],
    facts: Sequence[str] = (),
    *,
    are_computed: bool = True,
) -> Lemma:
    """The lemma that sizes of values, as claimed, meet a formula over them; natural ones, if all are computed."""
    means = Meaning("query", (), (), (), are_computed)
    return _lemma(means, _Names({}), inputs, {}, facts, [claim], bounds)


def _lemma(
    means: Meaning,
    names: _Names,
    inputs: Sequence[Claim | None],
    introduced: Mapping[str, str],
    facts: Sequence[str],
    claims: Sequence[str],
    bounds: Mapping[str, Interval],
) -> Lemma:
    given = list(_given(inputs, names.local, are_computed=means.are_computed))
    defined = [f"(define-fun {names.local(name)} () Int {size})" for name, size in introduced.items()]
    stated = list(map(names.local, facts))
    goals = [*([_DOMAIN] if means.domain else []), *map(names.local, claims)]
    own = {names.used[name] for name in introduced}
    bounded = [within(name, bounds[symbol]) for symbol, name in names.used.items() if name not in own]
    commands = [
        f"; {means.title}, for any numbers $0, $1, ...",
        *([f"; node {means.node}"] if means.node else []),
        "(set-logic ALL)",
        *[f"(declare-const {name} Int)" for name in names.terms if name not in own],
        *_hypotheses("bound", [text for text in bounded if text]),
        "; what is claimed of the inputs",
        *given,
        *_specification(means),
        *(["; new names", *defined] if defined else []),
        *(["; facts that are claimed elsewhere", *_hypotheses("fact", stated)] if stated else []),
    ]
    tail = [
        "; the claims",
        *[f"(define-fun claim{at} () Bool {goal})" for at, goal in enumerate(goals)],
        f"(assert (not (and {' '.join(f'claim{at}' for at in range(len(goals)))})))",
        "(check-sat)",
    ]
    text = "\n".join(commands)
    return Lemma(means.title, "\n".join([text, *tail, ""]), names.terms, text)


class _Names:
    def __init__(self, general: Mapping[str, str]) -> None:
        self._general = general
        self.used: dict[str, str] = {}
        """For a symbol of the model that of the lemma."""

    @property
    def terms(self) -> Mapping[str, str]:
        """For a symbol of the lemma the term of the model."""
        return {name: term for term, name in (*self._general.items(), *self.used.items())}

    def local(self, text: str) -> str:
        """A term of the model with the symbols of the lemma."""
        general = text if "@rank " in text else replaced(text, self._general)
        for symbol in symbols(general):
            if symbol[0] != "$" and symbol not in self.used:
                self.used[symbol] = f"${len(self._general) + len(self.used)}"
        return replaced(general, self.used)


def _general(problem: Problem, generality: Generality) -> dict[str, str]:
    """The terms that the lemma has a symbol for, as if they were any numbers."""
    if generality == "these terms":
        return {}
    found: dict[str, str] = {}
    for claim in problem.inputs:
        if claim is None:
            continue
        for dim in claim.dims or ():
            number = None if dim is None else number_of(dim)
            if dim is not None and (number is None or (generality == "any sizes" and number not in (0, 1))):
                found.setdefault(dim, f"${len(found)}")
        for element in claim.elements or () if claim.sort == "Int" else ():
            if element is not None and number_of(element) is None:
                found.setdefault(element, f"${len(found)}")
    return found


def _given(inputs: Sequence[Claim | None], local: Callable[[str], str], *, are_computed: bool) -> Iterator[str]:
    for place, claim in enumerate(inputs):
        for part, sort, term in () if claim is None else claim.parts:
            name = f"in{place}@{part}"
            if term is None:
                yield f"(declare-const {name} {sort})"
            else:
                yield f"(define-fun {name} () {sort} {term if part == 'rank' else local(term)})"
            if are_computed and part.isdecimal():
                yield f"(assert (<= 0 {name}))"


def _specification(means: Meaning) -> Iterator[str]:
    if means.declared:
        yield "; the specification"
    yield from means.declared
    if means.domain:
        yield "; it speaks of numbers that are sizes, and -1"
        yield f"(define-fun {_DOMAIN} () Bool (and {' '.join(means.domain)}))"
    for formula, reason in means.specified:
        whole = f"(=> {_DOMAIN} {formula})" if means.domain else formula
        yield f"(assert {whole}) ; {reason}"


def _hypotheses(kind: str, formulas: Sequence[str]) -> Iterator[str]:
    for at, formula in enumerate(formulas):
        yield f"(define-fun {kind}{at} () Bool {formula})"
        yield f"(assert {kind}{at})"


# The lemma of a node: the most general one that Z3 proves, and what is left to trust.

RLIMIT: Final = 1_000_000
"""Z3's budget for a lemma."""

MOST_FACTS: Final = 24
"""Facts that a lemma may begin with."""


class Goal(NamedTuple):
    """One claim of a node: a size, an element, or a relation."""

    name: str
    """`out0@1`, or `relation2`."""
    formula: str


class Proved(NamedTuple):
    """The lemma of a node, if there is one, and the names of the parts that it does not prove."""

    lemma: Lemma | None
    parts: tuple[Goal, ...]
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
        parts: Sequence[Goal],
        bounds: Mapping[str, Interval],
        facts: Iterable[str],
        *,
        general: bool = False,
    ) -> Proved:
        """The lemma that proves the most of the parts; if `general`, one about any sizes or terms, or none."""
        try:
            exact = Stage(problem, GENERALITIES[-1], bounds)
        except NotSpecifiedError as error:
            return Proved(None, (), reason=str(error))
        spoken = [part for part in parts if "@" not in part.name or part.name in exact.places]
        missing = "" if len(spoken) == len(parts) else "the specification does not speak of it"
        if not spoken:
            return Proved(None, (), reason=missing)
        formulas = [part.formula for part in spoken]
        for stage in _stages(problem, bounds, exact):
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

    def _with_facts(self, stage: Stage, parts: Sequence[Goal], facts: Sequence[str], reason: str) -> Proved:
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

    def _kept(self, found: Lemma, parts: Sequence[Goal], facts: tuple[str, ...], reason: str) -> Proved:
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


def _stages(problem: Problem, bounds: Mapping[str, Interval], exact: Stage) -> Iterator[Stage]:
    """The generalities of a problem, the widest first."""
    for generality in GENERALITIES[:-1]:
        try:
            yield Stage(problem, generality, bounds)
        except NotSpecifiedError:
            continue
    yield exact


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
