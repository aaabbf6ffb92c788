"""Answers of checks of sizes, as objects, text and JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter
from typing import Final

from absint.lattices.logic.relation import FALSE, Relation
from absint.lattices.terms.expr import MAX_DIM
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.escapes import excerpt, format_sizes
from absint.lattices.text.forms import SIZES, Key, Object, by_name, many, maybe, one_of
from absint.lattices.text.naming import Names, Naming
from absint.lattices.text.sheets import Line, Part, Sheet, Table, defined, listed, so_many
from absint.program.limits import LIMITED
from absint.questions.sizes.neighbours import NEIGHBOURS, Nearest
from absint.solution.naming import failures_by_reason, reason, runs_alone, stated
from absint.solver import constraints
from absint.solver.constraints import Constraint, Origin, PossibleFailure, by_kind


class Outcome(Enum):
    """The answer in one word."""

    RUNS = "runs"
    """The model loads, and runs on all data."""
    LEGAL = "legal"
    """No requirement is broken; the nodes that may fail, and the requirements that data decide, are listed."""
    ILLEGAL = "illegal"
    """There is no successful run, on any data: a node fails, or no elements of the inputs meet all requirements."""
    UNDECIDED = "undecided"
    """A limit was reached, or an open requirement was not decided."""


@dataclass(frozen=True)
class Failure:
    """The first requirement in execution order that does not hold."""

    origin: Origin
    """The node."""
    reason: str
    relation: str = ""
    """The requirement, as an expression over symbols; empty if it has none."""

    def __str__(self) -> str:
        return f"{self.origin}: {self.reason}" + (f", which needs {self.relation}" if self.relation else "")


@dataclass(frozen=True)
class Discharged:
    """A node that may fail as far as shapes tell, and the analyses that show that it does not."""

    failure: PossibleFailure
    by: str

    def __str__(self) -> str:
        return f"{self.failure} (shown by {self.by})"


@dataclass(frozen=True)
class Check:
    """The answer at given sizes: `ILLEGAL` with the first node, `RUNS` for all data, or `LEGAL`: no requirement is
    broken, and `possible_failures` are the nodes that may fail, on some data or for what their rules leave out."""

    sizes: Mapping[str, int]
    """The sizes of all input symbols."""
    outcome: Outcome
    shapes: Mapping[str, tuple[int | None, ...] | None] = field(default_factory=dict)
    """The shape of every tensor of the main graph; None stands for a data-dependent size or rank."""
    failure: Failure | None = None
    possible_failures: tuple[PossibleFailure, ...] = ()
    premises: tuple[Constraint, ...] = ()
    """Numeric premises that these sizes break: claims about values may be wrong there."""
    nearest: Nearest | None = None
    """The nearest legal sizes, if these fail and somebody looked for them (`Result.nearest`)."""
    assuming: tuple[Relation, ...] = ()
    """Relations that the caller assumes."""
    discharged: tuple[Discharged, ...] = ()
    """The failures that analyses given to `absint.analyze` rule out."""
    semantics: str = "either"
    """The runs that the answer is about: those of ONNX's documents, of onnxruntime, or of either."""

    @property
    def ok(self) -> bool:
        return self.outcome is not Outcome.ILLEGAL

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        at = format_sizes(self.sizes, "no symbols")
        if self.failure is not None:
            return f"illegal at {at}: {self.failure}"
        rest = "".join(f"; {title}: {'; '.join(map(str, found))}" for title, found in by_kind(self.possible_failures))
        shown = f"; does not fail: {'; '.join(map(str, self.discharged))}" if self.discharged else ""
        return f"{self.outcome.value} at {at}{rest}{shown}"

    def __repr__(self) -> str:
        return f"<Check: {excerpt(str(self))}>"

    def _repr_html_(self) -> str:
        shapes = [(name, _shape(shape)) for name, shape in self.shapes.items()]
        return self.sheet(Names(Naming()), [Table("shapes", shapes)]).html()

    @property
    def line(self) -> Line:
        """The answer, with the sizes."""
        at = f" at {format_sizes(self.sizes)}" if self.sizes else ""
        return _verdict(self.outcome, f"{at}{_assuming(self)}", LIMITED)

    def sheet(self, texts: Names, shapes: Sequence[Part] = ()) -> Sheet:
        """The node that fails, or these shapes and what may fail."""
        if self.failure is not None:
            nearest = [] if self.nearest is None else [Line(self.nearest.line)]
            return Sheet(self.line, [*failed(self.failure), *nearest], runs_alone(self.semantics))
        shown = [f"{reason(d.failure.origin, d.failure.reason)} ({d.by})" for d in self.discharged]
        premises = [stated(c, texts) for c in self.premises]
        parts = [
            *shapes,
            listed("these sizes break premises, so shapes may be others", premises),
            *failing(self.possible_failures),
            listed("does not fail", shown),
            defined(texts),
        ]
        return Sheet(self.line, parts, runs_alone(self.semantics))

    def to_json(self, texts: Names | None = None, *, model: str = "") -> str:
        """As a JSON object, schema `absint.check/2`, about the model of that name.

        Long dims have the names of `texts`, if there are any.
        """
        return CHECK.text(self, texts, _head(self, model))


@dataclass(frozen=True)
class RangeCheck:
    """The answer for a box of sizes.

    `LEGAL`: no size in it is known to be illegal; `open` are requirements that data decide, `possible_failures` nodes
    that may fail. `RUNS`: there are none. `ILLEGAL`: with a size and the node. `UNDECIDED`: a requirement was not
    decided.
    """

    box: Mapping[str, tuple[int, int]]
    """The range of each input symbol that was given, both ends included."""
    outcome: Outcome
    failure: Failure | None = None
    sizes: Mapping[str, int] | None = None
    """Sizes at which it fails."""
    open: tuple[Constraint, ...] = ()
    """Requirements that are not shown to hold."""
    possible_failures: tuple[PossibleFailure, ...] = ()
    premises: tuple[Constraint, ...] = ()
    """Numeric premises that some size of the box may break."""
    reason: str = ""
    assuming: tuple[Relation, ...] = ()
    """Relations that the caller assumes: the answer is about sizes that meet them only."""
    semantics: str = "either"
    """The runs that the answer is about: those of ONNX's documents, of onnxruntime, or of either."""

    @property
    def ok(self) -> bool:
        return self.outcome in (Outcome.RUNS, Outcome.LEGAL)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        box = ", ".join(f"{name}={lo}..{hi}" for name, (lo, hi) in self.box.items()) or "no symbols"
        text = f"{self.outcome.value} for {box}"
        if self.failure is not None:
            at = format_sizes(self.sizes or {})
            text = f"illegal for {box} at {at}: {self.failure}"
        if self.assuming:
            text += f"; assuming {' and '.join(map(str, self.assuming))}"
        if self.open:
            text += f"; not shown: {'; '.join(map(str, self.open))}"
        text += "".join(f"; {title}: {'; '.join(map(str, found))}" for title, found in by_kind(self.possible_failures))
        return text + (f" ({self.reason})" if self.reason else "")

    def __repr__(self) -> str:
        return f"<RangeCheck: {excerpt(str(self))}>"

    def _repr_html_(self) -> str:
        return self.sheet(Names(Naming())).html()

    def sheet(self, texts: Names) -> Sheet:
        """Where it fails, or what is not shown and what may fail."""
        box = ", ".join(f"{name}{_ends(*ends)}" for name, ends in self.box.items())
        above, assuming = runs_alone(self.semantics), _assuming(self)
        if self.failure is not None:
            at = Line(f"  at {format_sizes(self.sizes or {})}")
            verdict = Line(f"illegal for some of {box}{assuming}", "bold red")
            return Sheet(verdict, [at, *failed(self.failure)], above)
        parts = [
            listed("not shown" if self.reason else "data decide", [stated(c, texts) for c in self.open]),
            listed("some sizes may break premises", [stated(c, texts) for c in self.premises]),
            *failing(self.possible_failures),
            defined(texts),
        ]
        verdict = _verdict(self.outcome, f"{f' for {box}' if box else ''}{assuming}", self.reason)
        return Sheet(verdict, parts, above)

    def to_json(self, texts: Names | None = None, *, model: str = "") -> str:
        """As a JSON object, schema `absint.check-range/3`, about the model of that name.

        Long dims have the names of `texts`, if there are any.
        """
        return CHECK_RANGE.text(self, texts, _head(self, model))


def _verdict(outcome: Outcome, of: str, undecided: str) -> Line:
    match outcome:
        case Outcome.ILLEGAL:
            return Line(f"illegal{of}", "bold red")
        case Outcome.RUNS:
            return Line(f"legal{of}, and no data make it fail", "bold green")
        case Outcome.LEGAL:
            return Line(f"legal{of}", "bold green")
        case Outcome.UNDECIDED:
            return Line(f"undecided{of}: {undecided}", "bold yellow")


def _assuming(found: Check | RangeCheck) -> str:
    return f", assuming {' and '.join(map(str, found.assuming))}" if found.assuming else ""


def _ends(lo: int, hi: int) -> str:
    if lo == hi:
        return f"={lo}"
    if hi < MAX_DIM:
        return f"={lo}..{hi}"
    return f"={lo}.." if lo else " of any size"


def failed(failure: Failure) -> list[Line]:
    """The node, and the requirement that does not hold."""
    needs = [] if failure.relation in ("", str(FALSE)) else [Line(f"  which needs {failure.relation}")]
    return [Line(f"  {reason(failure.origin, failure.reason)}"), *needs]


def failing(possible_failures: Iterable[PossibleFailure]) -> Iterator[Table]:
    """Nodes that may fail, on data or for what rules leave out; many of one operator are one line."""
    for title, found in by_kind(dict.fromkeys(possible_failures)):
        rows = []
        for same in failures_by_reason(found).values():
            more = f", and {so_many(len(same) - 1, 'more node')}" if len(same) > 1 else ""
            rows.append(f"{reason(same[0].origin, same[0].reason)}{more}")
        yield listed(title, rows)


def _shape(shape: tuple[int | None, ...] | None) -> str:
    """`[2, ?]`: what data decide is a question mark."""
    return "?" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _head(found: Check | RangeCheck, model: str) -> Head:
    return Head(model, tuple(map(str, found.assuming)), found.semantics)


FAILURE: Final = Object[Failure](
    *constraints.ORIGIN,
    constraints.REASON,
    Key("requirement", str, "the relation that is broken; empty if none states it", lambda found: found.relation),
    name="failure",
)
_OUTCOME: Final = Key[Check | RangeCheck]("outcome", one_of(Outcome), "`legal`: no requirement is broken")
_DOUBTS: Final = Key[Check | RangeCheck](
    "doubts", many(constraints.DOUBT), "nodes that may fail", lambda found: found.possible_failures
)


_BY: Final = Key[Discharged]("by", str, "the analyses that show it")
_DISCHARGED: Final = Object[Discharged](constraints.PLACE.spread(attrgetter("failure")), _BY)
CHECK: Final = Document[Check](
    "check",
    2,
    "a check at given sizes (absint check)",
    Key("sizes", SIZES),
    _OUTCOME,
    Key("failure", maybe(FAILURE), "null unless it fails"),
    _DOUBTS,
    Key(
        "discharged",
        many(_DISCHARGED),
        "nodes that do not fail, as an analysis that was given to `absint.analyze` shows; left out without one",
        when=lambda found: found.discharged,
    ),
    Key("premises", many(constraints.PREMISE), "numeric premises that these sizes break"),
    Key("nearest", maybe(NEIGHBOURS), "null unless it fails"),
    Key(
        "shapes",
        by_name(maybe(many(maybe(int)))),
        "of every tensor of the main graph; null is a data-dependent size or rank",
    ),
    head_of=lambda found: _head(found, ""),
)
CHECK_RANGE: Final = Document[RangeCheck](
    "check-range",
    3,
    "a check of ranges of sizes (absint check)",
    Key("box", by_name(many(int)), "both ends for every symbol"),
    _OUTCOME,
    Key("sizes", maybe(SIZES), "where it fails"),
    Key("failure", maybe(FAILURE), "null unless it fails"),
    Key("open", many(constraints.OPEN), "requirements that depend on data"),
    _DOUBTS,
    Key("premises", many(constraints.PREMISE), "numeric premises that some size may break"),
    Key("reason", str, "why it is not decided"),
    head_of=lambda found: _head(found, ""),
)
