"""Where a dim comes from: its derivation, node by node, back to inputs, initialisers and sizes that the data decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from absint.errors import UsageError
from absint.explain.flow_sources import Slot
from absint.explain.places import Place, number_at, numbers_of
from absint.lattices.contents import Element
from absint.lattices.logic.relation import Relation
from absint.lattices.text.nearest import did_you_mean
from absint.lattices.value import BOTTOM, TOP, AnyTensor, Value
from absint.program.graph import ABSENT, Operand

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

MAX_STEPS: Final = 60_000
"""Numbers that one explanation follows; how many sources are left out beyond that is told."""

MAX_ELEMENTS: Final = 16
"""Elements of one value that are explained where no axis is asked for."""

Kind = Literal["input", "initialiser", "fixed", "unchanged", "computed", "invented", "control"]
"""`fixed`: the operator and its attributes alone give the number. `invented`: a symbol that stands for a size or an
element that has no expression over what the node reads. `control`: an If or a loop."""


@dataclass(frozen=True)
class Number:
    """A dim, an element or a length, and where it stands."""

    value: str
    """Name of the value that has it."""
    path: str
    """The subgraph or inlined function of the value, as `loop1/body`; empty for the main graph."""
    place: Place
    sizes: tuple[int, ...] | None
    """Of an element: the sizes of the value; None if it holds for every element of it."""
    number: Element

    @property
    def where(self) -> str:
        """As `x[1]`, `shape element 2`, `length of loop1/body/boxes`."""
        place, name = self.place, self.full_name
        if place.kind == "length":
            name = f"length of {name}"
        elif place.kind == "axis":
            name = f"{name}[{place.at}]"
        elif self.sizes is None:
            name = f"each element of {name}"
        elif not self.sizes:
            name = f"value of {name}"
        else:
            name = f"{name} element {', '.join(map(str, _unravelled(place.at, self.sizes)))}"
        around = place.items or (None,) * place.depth
        return name + "".join(" of each item" if at is None else f" of item {at}" for at in reversed(around))

    @property
    def full_name(self) -> str:
        """The value's name with its path."""
        return f"{self.path}/{self.value}" if self.path else self.value


def _unravelled(index: int, sizes: tuple[int, ...]) -> list[int]:
    found: list[int] = []
    for size in reversed(sizes):
        found.append(index % max(size, 1))
        index //= max(size, 1)
    return found[::-1]


@dataclass(frozen=True)
class Source:
    """A number that a step comes from."""

    role: str
    """The operator's name for that input (`starts`), or its part in control flow (`back edge`); may be empty."""
    step: int | None
    """Its step; None if it is not followed: a constant that an expression is computed with, or past the limit."""
    at: Number
    by: str
    """The operator that yields it, or `input` or `initialiser`."""
    variable: str = ""
    """What the formula of the step calls it."""


@dataclass(frozen=True)
class Stated:
    """A relation that a node states, or a fact that the analysis used, and who says so."""

    relation: Relation
    role: str
    reason: str
    node: str


@dataclass(frozen=True)
class Step:
    """One number (a dim, an element, a length) and what it comes from."""

    id: int
    kind: Kind
    at: Number
    node: int
    """Place in execution order of the node that yields it."""
    name: str
    operator: str
    path: str
    """The subgraph or inlined function, as `loop1/body`; empty for the main graph."""
    does: str = ""
    """What a control-flow node does, or why a symbol had to be invented."""
    formula: Element | None = None
    """What the operator makes of its sources, as `2*a + b`; None where there is no such form."""
    attributes: tuple[tuple[str, object], ...] = ()
    """Attributes without which the number would be another one."""
    sources: tuple[Source, ...] = ()
    followed: bool = True
    """False for a number whose sources are not followed, since another source is the same number."""
    requires: tuple[Stated, ...] = ()
    """Requirements and numeric premises of the node that mention symbols of the number or of its sources."""
    defined: tuple[Stated, ...] = ()
    """What is known of a symbol that was invented here."""
    facts: tuple[Stated, ...] = ()
    """Facts that made the number what it is: assumptions, requirements of other nodes, conditions of branches."""

    @property
    def label(self) -> str:
        """The node, in words of the model."""
        where = f"{self.path}/" if self.path else ""
        return f"{self.operator} {where}{self.name}".rstrip()


@dataclass(frozen=True)
class Explanation:
    """The derivation of one number or of all of a value. `str()` folds what passes through unchanged."""

    model: str
    value: str
    path: str
    shown: Value
    """The value itself, with printed names for invented symbols."""
    claims: tuple[int, ...]
    """The steps of the numbers that were asked for."""
    steps: tuple[Step, ...]
    """`steps[k].id` is k."""
    left_out: int = 0
    """Sources that were not followed for want of room."""
    label: str = ""
    """The unsound policy that the numbers are claims of; empty for a sound result."""

    def to_json(self) -> str:
        """Every step, nothing folded or cut. The form is `absint.explain/1`; dims are texts of the grammar."""
        from absint.explain.document import document

        return document(self)

    def __str__(self) -> str:
        from absint.explain.text import text

        return "\n".join(text(self))


def explain(
    result: Analysed, value: str, axis: int | None = None, *, element: int | None = None, path: str = ""
) -> Explanation:
    """Where the dim of an axis comes from; without an axis, all dims and known elements of the value.

    `element` asks for one element instead, by its row-major index. `path` is that of a subgraph or inlined function
    (`loop1/body`) whose value is meant. A negative axis counts from the back.

    Raises UsageError for a value, axis or element that is not there, or of which nothing is known.
    """
    operand = _found(result, value, path)
    slots = _slots(result, value, operand, axis, element)
    from absint.explain.steps import Steps

    return Steps(result).explanation(value, path, operand, slots)


# What is asked for


def _found(result: Analysed, value: str, path: str) -> Operand:
    view = result.at(path) if path else result.values
    if value not in view:
        scopes = result.scopes
        inner = [p for p, scope in scopes.items() if value in scope.names]
        where = f"{path!r} has" if path else "the main graph has"
        if inner:
            hint = f"; there is one in {', '.join(repr(p) if p else 'the main graph' for p in inner[:3])}"
        else:
            near = did_you_mean(value, list(view))
            hint = f"; {near}" if near else ""
        raise UsageError(f"{where} no value {value!r}{hint}")
    operand = result.scopes[path].names[value]
    if operand == ABSENT:
        raise UsageError(f"{value!r} is an input of the function that this call leaves out")
    return operand


def _slots(result: Analysed, value: str, operand: Operand, axis: int | None, element: int | None) -> Sequence[Slot]:
    if axis is not None and element is not None:
        raise UsageError("ask for an axis or for an element, not for both")
    found = result.value_of(operand)
    if found is BOTTOM:
        raise UsageError(f"{value!r} is never computed: no run reaches {result.nodes[operand[0]]}")
    if not isinstance(found, AnyTensor):
        kind = "nothing is known of it" if found is TOP else f"it is {found!r}"
        raise UsageError(f"{value!r} is not known to be a tensor: {kind}")
    if element is not None:
        place = Place("element", element)
        if element < 0 or number_at(found, place) is None:
            raise UsageError(f"nothing is known of element {element} of {value!r}: it is {found!r}")
        return [Slot(*operand, place)]
    rank = found.shape.rank
    if rank is None:
        raise UsageError(
            f"the rank of {value!r} is unknown, so it has no dim to explain (it is computed by "
            f"{result.nodes[operand[0]]})"
        )
    if axis is not None:
        if not -rank <= axis < rank:
            raise UsageError(f"axis {axis} of {value!r} is out of range: it has rank {rank}, shape {found.shape}")
        return [Slot(*operand, Place("axis", axis % rank))]
    places = [place for place, _ in numbers_of(found) if place.kind == "element"]
    dims = [Place("axis", at) for at in range(rank)]
    return [Slot(*operand, place) for place in (*dims, *(places if len(places) <= MAX_ELEMENTS else ()))]


__all__ = ["MAX_ELEMENTS", "MAX_STEPS", "Explanation", "Kind", "Number", "Source", "Stated", "Step", "explain"]
