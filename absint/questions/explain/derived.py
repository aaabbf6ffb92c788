"""The parts of an explanation, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from absint.lattices.contents import Element
from absint.lattices.logic.relation import Relation
from absint.lattices.text.naming import Naming
from absint.lattices.value import Value
from absint.questions.explain.places import Coordinate

Kind = Literal["input", "initialiser", "fixed", "unchanged", "computed", "invented", "control"]
"""`fixed`: the operator and its attributes alone give the number. `invented`: a symbol for a size or an element that
has no expression over what the node reads. `control`: an If or a loop.
"""


@dataclass(frozen=True)
class Number:
    """A dim, an element or a length, and where it stands."""

    value: str
    """Name of the value that has it."""
    path: str
    """The subgraph or inlined function of the value, as `loop1/body`; empty for the main graph."""
    place: Coordinate
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
    """Its name in the formula of the step."""


@dataclass(frozen=True)
class Stated:
    """A relation that a node states, or a fact that the analysis used, with its origin."""

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
    """The work of a control-flow node, or the reason for an invented symbol."""
    formula: Element | None = None
    """The number as a term over its sources, as `2*a + b`; None where there is no such form."""
    attributes: tuple[tuple[str, object], ...] = ()
    """Attributes that the number depends on."""
    sources: tuple[Source, ...] = ()
    followed: bool = True
    """False if its sources are not followed, since another source is the same number."""
    requires: tuple[Stated, ...] = ()
    """Requirements and numeric premises of the node that mention symbols of the number or of its sources."""
    defined: tuple[Stated, ...] = ()
    """Facts about a symbol that was invented here."""
    facts: tuple[Stated, ...] = ()
    """Facts that determine the number: assumptions, requirements of other nodes, conditions of branches."""

    @property
    def label(self) -> str:
        """The node, in words of the model."""
        where = f"{self.path}/" if self.path else ""
        return f"{self.operator} {where}{self.name}".rstrip()


@dataclass(frozen=True)
class Derived:
    """The derivation of one number or of all of a value."""

    model: str
    """The path of the model, or a word for its origin."""
    value: str
    """The name of the value."""
    path: str
    """The subgraph or inlined function of the value; empty for the main graph."""
    shown: Value
    """The value itself, with printed names for invented symbols."""
    claims: tuple[int, ...]
    """The steps of the numbers asked for."""
    steps: tuple[Step, ...]
    """`steps[k].id` is k."""
    left_out: int = 0
    """Sources that were not followed because the limit was reached."""
    note: str = ""
    """The reason why there is no number to explain; empty if there is one."""
    label: str = ""
    """The unsound policy that the numbers are claims of; empty for a sound result."""
    assume: tuple[Relation, ...] = ()
    """Sizes and assumptions that the caller has given."""
    naming: Naming = field(default_factory=Naming, repr=False, compare=False)
    """The names of long dims."""
