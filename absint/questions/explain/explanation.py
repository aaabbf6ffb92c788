"""The explanation of a size; it prints itself as text and as JSON."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from absint.lattices.text.documents import Document, Head
from absint.lattices.text.escapes import Json, excerpt
from absint.lattices.text.forms import ELEMENT, Key, Kind, Object, by_name, keys_of, kind_of, many, maybe
from absint.lattices.text.naming import Names
from absint.lattices.text.sheets import block, lines
from absint.lattices.value import Value
from absint.questions.explain.derived import Derived, Kind as StepKind, Number, PlaceKind, Source, Stated, Step
from absint.questions.explain.text import text
from absint.solution.described import described


def _attribute(value: object) -> Json:
    """A number, a text or a list of them as it is, anything else as text."""
    if isinstance(value, list):
        return [_attribute(item) for item in value]
    return value if isinstance(value, (int, str)) else str(value)


def _index(kind: PlaceKind) -> Callable[[Number], int | None]:
    return lambda number: number.place.at if number.place.kind == kind else None


_NUMBER: Final = Object[Number](
    Key("value", str, "the value that has the number"),
    Key("path", str, "the subgraph or inlined function of the value; empty for the main graph"),
    Key("axis", maybe(int), "of a dim; below 0 it counts from the end of an unknown rank", _index("axis")),
    Key("element", maybe(int), "of an element: its row-major index", _index("element")),
    Key("length", bool, "it is the length of a sequence", lambda number: number.place.kind == "length"),
    Key("depth", int, "how many sequences, optionals and maps are around it", lambda number: len(number.place.around)),
    Key("dim", ELEMENT, "the number", lambda number: number.number),
)
_SOURCE: Final = Object[Source](
    Key("step", maybe(int), "its step; null if it is not followed"),
    Key("role", str, "the operator's name for that input, or its part in control flow; may be empty"),
    Key("variable", str, "its name in the formula of the step"),
    _NUMBER.spread(attrgetter("at")),
    Key("by", str, "the operator that yields it, or `input` or `initialiser`"),
)
_STATED: Final = many(Object[Stated](*keys_of(Stated), name="stated"))
_NODE: Final = Object[Step](
    Key("id", int, "its place in execution order", lambda step: step.node),
    Key("name", str),
    Key("operator", str),
    Key("path", str, "its subgraph or inlined function; empty for the main graph"),
)
_ATTRIBUTES: Final = by_name(Kind[object]({}, lambda value, names: _attribute(value)))
_STEP: Final = Object[Step](
    Key("id", int),
    Key("kind", kind_of(StepKind), "`fixed`: by the operator and its attributes alone; `control`: an If or a loop"),
    _NUMBER.spread(attrgetter("at")),
    Key("node", _NODE, "the node that yields the number", lambda step: step),
    Key("does", str, "the work of a control-flow node, or why a symbol is invented"),
    Key("formula", maybe(str), "the number over its sources; null where there is no such form"),
    Key("attributes", _ATTRIBUTES, "those that the number depends on", lambda step: dict(step.attributes)),
    Key("from", many(_SOURCE), "what it is made of", lambda step: step.sources),
    Key("followed", bool, "false: its sources are not followed, since another source is the same number"),
    Key("requires", _STATED, "requirements and numeric premises of the node, about the number or its sources"),
    Key("defined", _STATED, "facts about a symbol that is invented here"),
    Key("facts", _STATED, "what else determines the number: assumptions, other requirements, conditions of branches"),
)
_DESCRIBED: Final = Kind[Value]({"type": "string"}, described)

EXPLANATION: Final = Document[Derived](
    "explain",
    2,
    "where a size comes from (absint explain)",
    Key("value", str, "what is explained"),
    Key("path", str, "its subgraph or inlined function; empty for the main graph"),
    Key("description", _DESCRIBED, "the value in one line", lambda found: found.shown),
    Key("claims", many(int), "the steps of the numbers asked for"),
    Key("left_out", int, "how many sources are not followed, because the limit was reached"),
    Key(
        "note",
        str,
        "for a value of unknown rank, where the unexplained sizes begin; left out if all are explained",
        when=lambda found: found.note,
    ),
    Key("policy", str, "the unsound policy; left out without one", lambda found: found.label, lambda f: f.label),
    Key("steps", many(_STEP)),
    head=("model", "assume"),
    head_of=lambda found: Head(found.model, tuple(map(str, found.assume))),
    lines=True,
)


@dataclass(frozen=True)
class Explanation(Derived):
    """The derivation of one number or of all of a value. `str()` folds what passes through unchanged."""

    def to_json(self) -> str:
        """Every step, nothing folded or cut. The form is `absint.explain/2`; dims are numbers or texts."""
        return EXPLANATION.text(self, Names(self.naming))

    def __str__(self) -> str:
        return "\n".join(text(self))

    def __repr__(self) -> str:
        place = f"{self.path}/{self.value}" if self.path else self.value
        return f"<Explanation of {excerpt(place)}: {len(self.steps):,} steps>"

    def _repr_html_(self) -> str:
        first, *rest = text(self)
        return block(first, lines("derivation", "\n".join(rest)) if rest else "")
