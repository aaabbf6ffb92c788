"""The claims of a source about the shapes of a model, and the outcome of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from absint.lattices.text.escapes import excerpt
from absint.questions.claims.claims import Judgement, Place, Stated


@dataclass(frozen=True)
class Claims:
    """Shapes of the values of one model, as a tool, an author or a policy claims them."""

    source: str
    shapes: Mapping[str, tuple[Stated, ...] | None]
    """Value name -> dims; None: the rank is unknown. A value of a body is named `path/value`."""
    failure: str = ""
    """One line where the source failed."""
    seconds: float = 0.0
    anonymous: frozenset[str] = frozenset()
    """Names that the source invented, as far as it reports them."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with its verdict."""

    places: tuple[Place, ...]
    """The place that it is about, and the one that it refers to, if any."""
    relation: str
    judgement: Judgement
    counterexample: Mapping[str, int] | None = None
    """Sizes of the inputs at which it is false; of a claim that is not entailed, a candidate."""
    confirmed: bool = False
    """A run at these sizes showed that it is false."""
    because: tuple[str, ...] = ()
    """The constraints behind a proof, the shape that a run showed, or why there is no answer."""


@dataclass(frozen=True)
class Audit:
    """The claims of one source about one model."""

    source: str
    failure: str
    """One line where the source failed."""
    seconds: float
    """Time that the source took."""
    judged: tuple[Judged, ...]
    dims: int
    """Dims of the main graph that the source speaks of, known or not."""
    resolved: int
    """Of these, dims that it gives a size, or a text without names of its own invention, and that are not refuted."""
    solver_calls: int
    judging: float = 0.0
    """Seconds that judging took."""
    needs: str = ""
    """One line where claims are not entailed because nothing here can run the model."""

    @cached_property
    def counts(self) -> Mapping[Judgement, int]:
        """The number of claims of each judgement."""
        found = dict.fromkeys(Judgement, 0)
        for item in self.judged:
            found[item.judgement] += 1
        return found

    def __repr__(self) -> str:
        counts = ", ".join(f"{count:,} {judgement.value}" for judgement, count in self.counts.items())
        return f"<Audit of {excerpt(self.source)}: {counts}>"

    @property
    def unconfirmed(self) -> int:
        """Refuted claims that rest on a proof alone, since the model cannot be run here."""
        return sum(item.judgement is Judgement.REFUTED and not item.confirmed for item in self.judged)

    def of(self, judgement: Judgement) -> tuple[Judged, ...]:
        """The claims of one judgement."""
        return tuple(item for item in self.judged if item.judgement is judgement)
