"""Claims about dims, whoever makes them, what may be used to judge them, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final, Protocol

from absint.lattices.limits import Limits
from absint.lattices.logic.relation import Relation
from absint.lattices.records import NamedTuple, record
from absint.lattices.terms.expr import Dim, Expr, symbol

Sizes = Mapping[str, int]
"""Of the symbols of the inputs."""

Advance = Callable[[int, int], None]
"""Called with the number of relations judged so far, and of all."""


Stated = int | str | None
"""A claimed dim: a size, a text, or nothing."""

WHOLE: Final = "\\%that"
"""The name of an expression that stands elsewhere as a whole."""


class Place(NamedTuple):
    """An axis of a value; without an axis, the value itself."""

    value: str
    axis: int | None = None

    def __str__(self) -> str:
        return self.value if self.axis is None else f"{self.value}[{self.axis}]"


class Judgement(Enum):
    """The verdict on a claim."""

    PROVED = "proved"
    """It holds in every run that succeeds."""
    REFUTED = "refuted"
    """A run shows that it is false; or, where none can be made at these sizes, the analysis at them does, and complete
    rules promise a run."""
    NOT_ENTAILED = "not entailed"
    """Nothing known rules out that it is false, but no run has shown it."""
    UNPROVED = "unproved"
    """It was not decided."""


class ClaimedShape(NamedTuple):
    """A shape that a source gives a value."""

    value: str
    """Its name, after the path of a body."""
    path: str
    """The graph."""
    gate: int | None
    """The gate of the graph; -1 where its nodes always run, None if it is not known."""
    computed: bool
    """A node computes the value: it is neither an input nor an initialiser."""
    stated: Sequence[Stated]
    known: Sequence[Dim] | None
    """The inferred dims; None where the rank is not as claimed, or the value never computed."""
    rank: Relation
    """The claim that the rank is as stated."""
    where: str = ""
    """The declaration in words of the model, if it is one."""


class ClaimedDim(NamedTuple):
    """A dim that a source gives some text or size."""

    shape: ClaimedShape
    axis: int
    stated: Expr
    """The claimed size, over input symbols and other names."""

    @property
    def known(self) -> Dim:
        """The inferred dim."""
        assert self.shape.known is not None
        return self.shape.known[self.axis]

    @property
    def place(self) -> Place:
        """The dim in words of the source."""
        return Place(self.shape.value, self.axis)


@record(eq=False)
class Claim:
    """One statement about one value."""

    shape: ClaimedShape
    axis: int | None
    """A dim; without an axis, the rank."""
    relation: Relation
    """The statement over what the analysis knows; UNKNOWN_RELATION where it knows too little."""
    said: Expr
    """The claimed size in the words of the source."""
    stated: Expr
    """It, over input symbols and the names in `refers`."""
    refers: Mapping[str, ClaimedDim]
    """The dims that define names."""

    @property
    def name(self) -> str:
        """The name, or the whole text, that another place defines; empty if there is none."""
        name = next(iter(self.refers), "")
        return str(self.said) if name is WHOLE else name

    @property
    def place(self) -> Place:
        """The place that it is about."""
        return Place(self.shape.value, self.axis)

    @property
    def places(self) -> tuple[Place, ...]:
        """The place that it is about, then those that it refers to."""
        return (self.place, *(other.place for other in self.refers.values()))

    def __str__(self) -> str:
        if self.axis is None:
            return f"rank({self.place}) == {self.stated}"
        if len(self.refers) == 1 and self.stated is symbol(next(iter(self.refers))):
            return f"{self.place} == {self.places[1]}"
        where = ", ".join(f"{name} = {other.place}" for name, other in self.refers.items())
        return f"{self.place} == {self.stated}" + (f" where {where}" if where else "")


class Finding(NamedTuple):
    """The verdict on a claim, with its evidence."""

    judgement: Judgement
    counterexample: Sizes | None = None
    """Sizes of the inputs at which it is false."""
    confirmed: bool = False
    """A run at these sizes showed that it is false."""
    because: tuple[str, ...] = ()
    """The constraints behind a proof, the shape that a run showed, or why there is no answer."""


class Observed(NamedTuple):
    """The shapes of one run."""

    sizes: Sizes
    shapes: Mapping[str, Sequence[tuple[int, ...]]]
    """Of every value, each time that it was computed."""

    def contradicts(self, claim: Claim) -> str:
        """The contradiction between run and claim, in words; empty if there is none."""
        for visit, shape in enumerate(self.shapes.get(claim.shape.value, ())):
            if claim.axis is None:
                if len(shape) != claim.stated.const:
                    return f"{claim.place} has shape {list(shape)}"
                continue
            if claim.axis >= len(shape):
                return f"{claim.shape.value} has shape {list(shape)}"
            binding = self._binding(claim, visit)
            stated = None if binding is None else claim.stated.at(binding)
            if stated is not None and shape[claim.axis] != stated:
                return f"{claim.place} is {shape[claim.axis]}, not {stated}"
        return ""

    def agrees(self, other: Observed) -> bool:
        """Two runs show the same shapes of the values that both computed once."""
        return all(
            shapes == other.shapes.get(name, shapes)
            for name, shapes in self.shapes.items()
            if len(shapes) == 1 and len(other.shapes.get(name, shapes)) == 1
        )

    def _binding(self, claim: Claim, visit: int) -> Mapping[str, int] | None:
        """The sizes of the places in a claim; None if one of them has several."""
        if not claim.refers:
            return self.sizes
        found = dict(self.sizes)
        for name, other in claim.refers.items():
            size = self._size(other, claim.shape.value, visit)
            if size is None:
                return None
            found[name] = size
        return found

    def _size(self, dim: ClaimedDim, seen_from: str, visit: int) -> int | None:
        shapes = self.shapes.get(dim.shape.value, ())
        if len(shapes) == len(self.shapes[seen_from]):
            shapes = shapes[visit : visit + 1]  # of the same visit, where both are computed in each
        sizes = {shape[dim.axis] for shape in shapes if dim.axis < len(shape)}
        return sizes.pop() if len(sizes) == 1 else None


class Trials(Protocol):
    """Runs of the model, at each size at most once."""

    observed: list[Observed]
    """Those that succeeded."""
    missing: str
    """One line if onnxruntime is not installed."""

    @property
    def failure(self) -> str:
        """The reason of the last failure."""

    @property
    def refused(self) -> bool:
        """The last failure says something about the model."""

    def tried(self, sizes: Sizes) -> bool:
        """There was a run at these sizes."""

    def failure_at(self, sizes: Sizes) -> str:
        """The reason why a run at these sizes failed."""

    def at(self, bindings: Sequence[Sizes]) -> Sequence[Observed]:
        """Run at those of these sizes that are new; what the runs showed."""


class Effort(NamedTuple):
    """What may be used to judge claims, beside facts and legal sizes."""

    limits: Limits
    """Of the solver, for all claims."""
    end: float
    """The time, on the clock of `perf_counter`, after which no proof begins."""
    trials: Trials | None = None
    advance: Advance | None = None


class Verdicts(NamedTuple):
    """The verdicts on claims."""

    findings: Mapping[Claim, Finding]
    calls: int = 0
    """Questions that reached the solver."""
