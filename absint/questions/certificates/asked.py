"""Relations that somebody asks to be certified: each a step that takes the claims of the values in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.lattices.terms.expr import Dim, Symbol, expr_of
from absint.questions.certificates.chain import Chain
from absint.questions.certificates.claims import Claim
from absint.questions.certificates.lemma import Lemma, entailment
from absint.questions.certificates.proving import about
from absint.questions.certificates.step import Given, Place, Step
from absint.questions.proofs.text import Query

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

_SIZE: Final = re.compile(r"\|%25(in\d+@\d+)\|")


class _Reader(Query):
    """Reads a relation with a name for each size of the values in it: `in0@1`."""

    def __init__(self, analysed: Analysed) -> None:
        super().__init__(analysed)
        self.values: list[str] = []

    def shape(self, name: str) -> tuple[Dim, ...]:
        dims = super().shape(name)
        if name not in self.values:
            self.values.append(name)
        place = self.values.index(name)
        return tuple(expr_of(Symbol.placeholder(f"in{place}@{axis}")) for axis in range(len(dims)))


class _Question(NamedTuple):
    """A relation as a formula, and the values whose sizes it is about."""

    text: str
    formula: str
    takes: tuple[Place, ...]
    inputs: tuple[Claim, ...]


def certify_query(chain: Chain, text: str) -> bool:
    """Add the step of a relation to the chain; False if it does not follow from the claims.

    Raises UsageError for a text that cannot be read.
    """
    question = _read(chain, text)
    if question is None:
        return False
    for pool in ((), chain.facts):
        facts = about(pool, [question.formula], question.inputs, closed=True)
        found = chain.proving.least(lambda chosen: _lemma(chain, question, chosen), facts)
        if found is not None:
            lemma, used = found
            asked = Given(question.formula, "query", question.text, "lemma")
            chain.steps.append(Step.of_query(question.takes, asked, lemma, tuple(chain.facts[fact] for fact in used)))
            return True
    return False


def _read(chain: Chain, text: str) -> _Question | None:
    reader = _Reader(chain.analysed)
    relation = reader.relation(text).substitute(dict(chain.names))
    formula = chain.terms.relation(relation)
    if formula is None:
        return None
    places = tuple(chain.places[chain.analysed.operands[name]] for name in reader.values)
    return _Question(text, _SIZE.sub(r"\1", formula), places, tuple(map(chain.claim, places)))


def _lemma(chain: Chain, question: _Question, facts: list[str]) -> Lemma:
    return entailment(question.inputs, question.formula, chain.terms.bounds, facts)
