"""Answers of checks of sizes, as objects, text and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from absint.lattices.logic.relation import Relation
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.escapes import excerpt, format_sizes
from absint.lattices.text.forms import SIZES, Key, Object, by_name, many, maybe, one_of
from absint.lattices.text.html import block, paragraph, table
from absint.lattices.text.naming import Naming, Where
from absint.questions.sizes.neighbours import NEIGHBOURS, Nearest
from absint.solver.constraints import Constraint, Origin, PossibleFailure, by_kind
from absint.solver.documents import DOUBT, OPEN, ORIGIN, PLACE, PREMISE, REASON


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
        texts = Where(Naming())
        shapes = [(name, _shape(shape)) for name, shape in self.shapes.items()]
        return block(
            self.outcome.value,
            table("sizes", list(self.sizes.items()), ("symbol", "size")),
            _failed(self.failure),
            paragraph("" if self.nearest is None else self.nearest.line),
            paragraph(self.assuming and f"assuming {' and '.join(map(str, self.assuming))}"),
            *(
                table(title, [(d.origin, d.reason) for d in found], ("node", "reason"))
                for title, found in by_kind(self.possible_failures)
            ),
            table(
                "does not fail",
                [(d.failure.origin, d.failure.reason, d.by) for d in self.discharged],
                ("node", "what must hold", "shown by"),
            ),
            table("premises that these sizes break", [(c.origin, texts.relation(c.relation)) for c in self.premises]),
            table("shapes", shapes, ("value", "shape")),
            table("where", list(texts.definitions.items())),
        )

    def to_json(self, texts: Where | None = None, *, model: str = "") -> str:
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
        texts = Where(Naming())
        return block(
            self.outcome.value,
            table("all sizes", [(name, f"{lo}..{hi}") for name, (lo, hi) in self.box.items()], ("symbol", "range")),
            table("illegal at", list((self.sizes or {}).items()), ("symbol", "size")),
            _failed(self.failure),
            paragraph(self.reason),
            paragraph(self.assuming and f"assuming {' and '.join(map(str, self.assuming))}"),
            table("not shown", [(texts.relation(c.formula), c.origin, c.reason) for c in self.open], _REQUIREMENT),
            *(
                table(title, [(d.origin, d.reason) for d in found], ("node", "reason"))
                for title, found in by_kind(self.possible_failures)
            ),
            table("premises", [(c.origin, texts.relation(c.relation)) for c in self.premises]),
            table("where", list(texts.definitions.items())),
        )

    def to_json(self, texts: Where | None = None, *, model: str = "") -> str:
        """As a JSON object, schema `absint.check-range/3`, about the model of that name.

        Long dims have the names of `texts`, if there are any.
        """
        return CHECK_RANGE.text(self, texts, _head(self, model))


_REQUIREMENT: Final = ("relation", "node", "reason")


def _failed(failure: Failure | None) -> str:
    rows = [] if failure is None else [(failure.origin, failure.reason, failure.relation)]
    return table("the first node that fails", rows, ("node", "reason", "needs"))


def _shape(shape: tuple[int | None, ...] | None) -> str:
    """`[2, ?]`: what data decide is a question mark."""
    return "?" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _head(found: Check | RangeCheck, model: str) -> Head:
    return Head(model, tuple(map(str, found.assuming)), found.semantics)


FAILURE: Final = Object[Failure](
    *ORIGIN,
    REASON,
    Key("requirement", str, "the relation that is broken; empty if none states it", lambda found: found.relation),
    name="failure",
)
_OUTCOME: Final = Key[Check | RangeCheck]("outcome", one_of(Outcome), "`legal`: no requirement is broken")
_DOUBTS: Final = Key[Check | RangeCheck]("doubts", many(DOUBT), "nodes that may fail", lambda c: c.possible_failures)


def _failure(found: Discharged) -> PossibleFailure:
    return found.failure


_DISCHARGED: Final = Object[Discharged](PLACE.spread(_failure), Key("by", str, "the analyses that show it"))
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
    Key("premises", many(PREMISE), "numeric premises that these sizes break"),
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
    Key("open", many(OPEN), "requirements that depend on data"),
    _DOUBTS,
    Key("premises", many(PREMISE), "numeric premises that some size may break"),
    Key("reason", str, "why it is not decided"),
    head_of=lambda found: _head(found, ""),
)
