"""The steps of a certificate: each gives claims, from earlier ones and from a lemma, the model, or a rule's word."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from absint.questions.certificates.lemma import Lemma
from absint.questions.certificates.terms import Claim

By = Literal["lemma", "model", "rule"]
"""lemma: proved from the specification of the node. model: read from the file, or declared there of an input. rule: the
word of absint, since nothing is specified or proved."""


class ClaimPlace(NamedTuple):
    """A claim: of an output of a step, or a relation of it."""

    step: int
    """-1 for the premises."""
    at: int


class Given(NamedTuple):
    """A relation that a step gives."""

    formula: str
    role: str
    """required, defined, query, derived from other relations, or assumed: a numeric premise of the rule."""
    reason: str
    by: By


class Step(NamedTuple):
    """The outcome of one node."""

    node: str
    """In words of the model: `MatMul layer0/mm`."""
    by: By = "lemma"
    operator: str = ""
    values: tuple[str, ...] = ()
    """The names of the outputs."""
    round: int = 0
    """The round of the analysis whose claims these are. Later ones rest on facts from earlier ones."""
    reason: str = ""
    """The reason why a rule's word is all there is."""
    takes: tuple[ClaimPlace | None, ...] = ()
    """The claims of the inputs, which come from earlier steps."""
    claims: tuple[Claim, ...] = ()
    """One for each output."""
    on_trust: frozenset[str] = frozenset()
    """Parts of the claims that the lemma does not prove: `out0@1`."""
    relations: tuple[Given, ...] = ()
    """Relations that the lemma proves come first."""
    lemma: Lemma | None = None
    facts: tuple[ClaimPlace, ...] = ()
    """Relations of earlier steps that the lemma takes for granted."""
    closes: int = -1
    """The step of the head of a loop whose claims the lemma shows of the next trip."""
    introduces: Mapping[str, str] = {}
    """Symbols that occur here first; for one that names a size or an element, which: `{"_d0": "out0@1"}`."""
    at: tuple[str, ...] = ()
    """The place of the node in the file: that of its body (`program.nodes.Path.site`), then its first output. The head
    of a loop has the place of the loop's body. Empty for what the file does not have.
    """

    @property
    def has_word_of_rule(self) -> bool:
        """Some claim, requirement or relation of a number that it introduces is the word of absint."""
        roles = ("required", "defined")
        return self.is_on_trust or any(given.role in roles and given.by == "rule" for given in self.relations)

    @property
    def is_on_trust(self) -> bool:
        """Some claim about an output is the word of absint."""
        return self.by == "rule" or bool(self.on_trust) or (self.by == "lemma" and "" in self.introduces.values())

    def name_of(self, output: int) -> str:
        """The name of an output; empty if it has none."""
        return self.values[output] if output < len(self.values) else ""
