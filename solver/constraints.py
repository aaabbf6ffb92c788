"""Constraints: what a run requires, and what holds of computed values, each with the node that states it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, Protocol, overload

from absint.lattices.logic.relation import TRUE, YES, Relation, implies
from absint.lattices.records import NamedTuple
from absint.lattices.terms.expr import Dim, Symbol, expr_of
from absint.lattices.text.escapes import plain
from absint.lattices.text.forms import RELATION, Key, Kind, Object, one_of
from absint.solver.subsets import connected

Role = Literal["required", "defined", "assumed", "declared"]
"""`required`: the node fails without it. `defined`: holds of what the node computes. `assumed`: a numeric premise, or
an assumption of the user. `declared`: a premise in the declarations of the inputs."""


class Origin(NamedTuple):
    """The node that states a constraint."""

    node: int
    """Its place in execution order; -1 if no node states the constraint."""
    path: str
    """The subgraph or inlined function, as `loop1/body`; empty for the main graph."""
    name: str
    """The name of the node, which may be empty."""
    operator: str
    """The operator."""
    output: str
    """Name of its first output."""

    def __str__(self) -> str:
        if self.node < 0 or not (self.operator or self.output):
            return self.name
        where = f"{self.path}/" if self.path else ""
        return plain(f"{self.operator} {where}{self.name or self.output}")


@dataclass(frozen=True, slots=True)
class Constraint:
    """A relation that holds in every run that succeeds and meets the guard."""

    relation: Relation
    """The relation, which holds where the guard does."""
    guard: Relation
    """The condition of the branches and loops around the node."""
    origin: Origin
    """The node that states it."""
    role: Role
    """`required`, `defined`, `assumed` or `declared`."""
    reason: str
    """The condition in words."""
    needed: bool = True
    """Some output depends on the node. A run executes others too, but a runtime may drop them: no proof uses those."""

    @property
    def formula(self) -> Relation:
        """Guard and relation as one: `guard -> relation`."""
        return self.relation if self.guard is TRUE else implies(self.guard, self.relation)

    @property
    def is_premise(self) -> bool:
        """A node assumes it of its arithmetic; no run requires it."""
        return self.role == "assumed" and self.origin.node >= 0

    @property
    def symbols(self) -> frozenset[Symbol]:
        return self.formula.symbols

    def __str__(self) -> str:
        return f"{self.formula}  ({self.origin}: {self.reason})"


class PossibleFailure(NamedTuple):
    """A node that may fail for a reason that no constraint states: on some data, or over sizes without expression."""

    origin: Origin
    guard: Relation
    """The condition under which it may."""
    reason: str
    kind: Literal["data", "rule"] = "data"
    """What leaves it open: data, or a rule that does not state all that a run needs."""

    def __str__(self) -> str:
        return f"{self.origin}: {self.reason}"


KINDS: Final = {"data": "may fail on data", "rule": "not all requirements are known"}
"""Titles of possible failures by what leaves them open."""


def by_kind(failures: Iterable[PossibleFailure]) -> Iterator[tuple[str, list[PossibleFailure]]]:
    """The possible failures under a title each for data and for rules, as far as there are any."""
    failures = list(failures)
    for kind, title in KINDS.items():
        if of_kind := [failure for failure in failures if failure.kind == kind]:
            yield title, of_kind


class ConstraintSet(Sequence[Constraint]):
    """Constraints in execution order, with the nodes that may fail beyond them. Immutable."""

    def __init__(
        self,
        constraints: Iterable[Constraint] = (),
        *,
        symbols: Sequence[str] = (),
        possible_failures: Iterable[PossibleFailure] = (),
    ) -> None:
        self._items = tuple(constraints)
        self.symbols = tuple(symbols)
        """The sizes that the inputs name, in order of appearance; all other symbols are invented, or elements."""
        self.possible_failures = tuple(possible_failures)

    @overload
    def __getitem__(self, index: int) -> Constraint: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Constraint, ...]: ...
    def __getitem__(self, index: int | slice) -> Constraint | tuple[Constraint, ...]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Constraint]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstraintSet):
            return NotImplemented
        return (self._items, self.symbols, self.possible_failures) == (
            other._items,
            other.symbols,
            other.possible_failures,
        )

    def __hash__(self) -> int:
        return hash((self._items, self.symbols))

    def __repr__(self) -> str:
        return f"<ConstraintSet of {len(self)} over {', '.join(self.symbols) or 'no symbols'}>"

    def filter(self, *roles: Role) -> ConstraintSet:
        """The constraints of these roles."""
        return self._only(c for c in self if c.role in roles)

    @cached_property
    def of_needed(self) -> ConstraintSet:
        """The constraints of nodes that some output depends on: a proof may rest on these."""
        return self if all(c.needed for c in self) else self._only(c for c in self if c.needed)

    def without_premises(self) -> ConstraintSet:
        """The constraints without numeric premises: sizes that break one may run."""
        return self._only(c for c in self if not c.is_premise)

    def over_inputs(self) -> ConstraintSet:
        """The constraints without invented symbols, guard included."""
        return self._only(c for c in self if c.formula.free_symbols <= set(self.symbols))

    def _only(self, constraints: Iterable[Constraint]) -> ConstraintSet:
        return ConstraintSet(constraints, symbols=self.symbols, possible_failures=self.possible_failures)

    def renamed(self, names: Mapping[Symbol, Dim]) -> ConstraintSet:
        """The set with symbols replaced, invented ones by their printed names, say."""
        if not names:
            return self
        changed: dict[Relation, Relation] = {}

        def rename(relation: Relation) -> Relation:
            if relation not in changed:
                changed[relation] = relation.substitute(names)
            return changed[relation]

        constraints = (replace(c, relation=rename(c.relation), guard=rename(c.guard)) for c in self)
        possible_failures = (failure._replace(guard=rename(failure.guard)) for failure in self.possible_failures)
        return ConstraintSet(constraints, symbols=self.symbols, possible_failures=possible_failures)

    @cached_property
    def unified(self) -> ConstraintSet:
        """The set in which a name is one symbol, whose range holds those of all symbols of this name."""
        by_name: dict[str, Symbol] = {}
        mentioned = {s for c in self for s in c.symbols}.union(*(f.guard.symbols for f in self.possible_failures))
        for symbol in mentioned:
            other = by_name.setdefault(symbol.name, symbol)
            if other is not symbol:
                by_name[symbol.name] = symbol.within(*symbol.bounds.join(other.bounds))
        return self.renamed({s: expr_of(one) for s in mentioned if (one := by_name[s.name]) is not s})

    @cached_property
    def distinct(self) -> Mapping[Relation, tuple[Constraint, ...]]:
        """Formula -> the constraints that state it, in execution order."""
        stating: dict[Relation, list[Constraint]] = {}
        for constraint in self:
            stating.setdefault(constraint.formula, []).append(constraint)
        return {formula: tuple(same) for formula, same in stating.items()}

    def slice(self, symbols: Iterable[Symbol]) -> list[Relation]:
        """The distinct formulas that are connected to the symbols through shared symbols, in execution order."""
        reached = set(connected(self.distinct, (s.name for s in symbols)))
        return [formula for formula in self.distinct if formula in reached or not formula.free_symbols]


def meets(formulas: Iterable[Relation], model: Mapping[str, int]) -> bool:
    """Every formula holds under the binding."""
    return all(formula.at(model) is YES for formula in formulas)


# Constraints and the nodes that state them, as documents have them.


class Placed(Protocol):
    """Something that a node states."""

    @property
    def origin(self) -> Origin: ...
    @property
    def reason(self) -> str: ...


ORIGIN: Final[tuple[Key[Placed], ...]] = (
    Key("node", str, "its name, or what states it", lambda item: item.origin.name),
    Key("path", str, "its subgraph or inlined function; empty for the main graph", lambda item: item.origin.path),
    Key("operator", str, of=lambda item: item.origin.operator),
    Key("output", str, "the first that it has", lambda item: item.origin.output),
)
_NODE, _PATH, _OPERATOR, _ = ORIGIN
REASON: Final = Key[Placed]("reason", str)

NODE: Final = Object[Placed](_NODE, _OPERATOR, _PATH, REASON, name="node")
PLACE: Final = Object[Placed](*ORIGIN, REASON, name="place")

CONSTRAINT: Final = Object[Constraint](
    Key("relation", RELATION),
    Key("guard", RELATION, "where it holds"),
    Key("role", one_of("required", "defined", "assumed", "declared")),
    *ORIGIN,
    REASON,
    name="constraint",
)
PREMISE: Final = Object[Constraint](*ORIGIN, Key("reason", RELATION, of=lambda c: c.relation), name="place")
"""A constraint whose reason is its relation."""
OPEN: Final = Object[Constraint](*ORIGIN, Key("reason", RELATION, of=lambda c: c.formula), name="place")
"""The same with its guard."""

_CONDITION: Final = Kind[Relation]({"type": "string"}, lambda guard, w: "" if guard is TRUE else w.relation(guard))
_WHY: Final[tuple[Key[PossibleFailure], ...]] = (
    Key("kind", one_of("data", "rule"), "what leaves it open: data, or a rule that does not state all a run needs"),
    Key("when", _CONDITION, "the condition under which the node may fail; empty if there is none", lambda f: f.guard),
)
DOUBT: Final = Object[PossibleFailure](*ORIGIN, REASON, *_WHY, name="doubt")
"""A node that may fail."""
NODE_DOUBT: Final = Object[PossibleFailure](*NODE.keys, *_WHY)
"""The same without its output."""
