"""Lemmas: one node, the sizes of its inputs, and the claims about its outputs, as a script that must have no model.

A lemma is about any numbers that its symbols `$0`, `$1`, ... stand for, so many nodes share one. It hangs on nothing
else: the specification of the node, what is claimed of its inputs, and facts that are claimed elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from absint.lattices.terms.interval import Interval
from absint.questions.certificates.claims import Claim
from absint.questions.certificates.meanings import Meaning
from absint.questions.certificates.terms import literal, number_of, replaced, symbols

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


def entailment(inputs: Sequence[Claim], claim: str, bounds: Mapping[str, Interval], facts: Sequence[str] = ()) -> Lemma:
    """The lemma that sizes of values, as claimed, meet a formula over them."""
    return _lemma(Meaning("query", (), (), ()), _Names({}), inputs, {}, facts, [claim], bounds)


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
    """The symbols of a lemma."""

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
        if claim is None or claim.dims is None:
            continue
        yield f"(define-fun in{place}@rank () Int {len(claim.dims)})"
        for axis, dim in enumerate(claim.dims):
            name = f"in{place}@{axis}"
            yield f"(declare-const {name} Int)" if dim is None else f"(define-fun {name} () Int {local(dim)})"
            if are_computed:
                yield f"(assert (<= 0 {name}))"
        sort = claim.sort
        for at, element in enumerate(claim.elements or ()):
            name = f"in{place}@e{at}"
            unknown = f"(declare-const {name} {sort})"
            yield unknown if element is None else f"(define-fun {name} () {sort} {local(element)})"


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


def within(name: str, bounds: Interval) -> str:
    """The formula that bounds a number; empty if there are no bounds."""
    parts = [*([] if bounds.lo is None else [literal(bounds.lo)]), name]
    parts += [] if bounds.hi is None else [literal(bounds.hi)]
    return f"(<= {' '.join(parts)})" if len(parts) > 1 else ""
