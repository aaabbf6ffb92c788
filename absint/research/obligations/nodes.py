"""The rules of a model's nodes: the instance that each node is, and what is proved of its rule there; and the rules of
a table: the versions of each operator, and which of these are specified.

Numbers stay as they are; each other term is a name of its own, with a factor if it has one. A name stands for any size,
or any integer if it is that of elements alone, which may be negative. Nodes that are then alike are proved once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from absint.errors import UsageError
from absint.lattices.contents import Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, TRUE, Relation
from absint.lattices.terms.expr import Dim, Expr, polynomial
from absint.lattices.terms.normal import Real
from absint.lattices.text.escapes import bounded, did_you_mean
from absint.lattices.value import BOTTOM, MapOf, OptionalOf, SequenceOf, Tensor, Value
from absint.model.schemas import since
from absint.program.nodes import Node, Operation
from absint.program.steps import ABSENT, LOWERED
from absint.research.obligations.making import Decided, Record, obligations, obligations_of, recorded, status
from absint.research.obligations.solving import Decide
from absint.research.specification.node import Attribute, Held
from absint.research.specification.specs import Argument, Holder, Instance, specification
from absint.shapes.summaries import value_in
from absint.solution.analysed import Analysed
from absint.transfer.rule import NEWEST, Table
from absint.transfer.semantics import DOCUMENTED, EITHER, Semantics
from absint.transfer.stating import AttributeValue

State = Literal["proved", "open", "refuted", "undecided", "not compared"]
STATES: Final[tuple[State, ...]] = ("proved", "open", "refuted", "undecided", "not compared")
"""open: all that the rule says is proved, and it leaves something open. not compared: nothing is specified of such a
node, or too little is known of it."""

MOST_ELEMENTS: Final = 64
"""Elements of a tensor that are looked at."""
MOST_FLOATS: Final = 8
"""The same of floats, which are weights where there are more."""


class NotComparedError(Exception):
    """Nothing is specified of a node as it stands; the text says why."""


@dataclass(frozen=True)
class Group:
    """The nodes of a model that are one instance."""

    domain: str
    operator: str
    version: int
    """The opset that introduced or last changed the operator."""
    instance: str
    nodes: tuple[str, ...]
    """In words of the model."""
    record: Record | None
    """What is proved; None if they are not compared."""
    reason: str = ""
    """The reason why they are not compared."""

    @property
    def state(self) -> State:
        """The worst of what is found."""
        if self.record is None:
            return "not compared"
        kinds = {item.obligation.kind for item in self.record.decided}
        found = status([self.record], *kinds)
        if found in (None, "proved"):
            return "open" if self.record.gaps else "proved"
        return "refuted" if found == "refuted" else "undecided"

    @property
    def decided(self) -> tuple[Decided, ...]:
        """All obligations."""
        return () if self.record is None else self.record.decided


class _Place(NamedTuple):
    operation: Operation
    version: int
    instance: Instance | None
    reason: str


def groups(
    analysed: Analysed, decide: Decide, advance: Callable[[int, int, str], None] = lambda done, total, last: None
) -> list[Group]:
    """The nodes of a model by instance, each proved under the semantics of the analysis."""
    nodes: dict[object, list[str]] = defaultdict(list)
    places: dict[object, _Place] = {}
    known: dict[object, tuple[_Place, object]] = {}
    for node, values in _given(analysed):
        assert node.operation is not None
        at = (id(node.operation), tuple(map(id, values)))
        if at not in known:
            place = _place(node.operation, values)
            known[at] = place, (place.operation.operator, place.version, repr(place.instance), place.reason)
        place, key = known[at]
        places.setdefault(key, place)
        nodes[key].append(str(node))
    found = []
    for done, (key, place) in enumerate(places.items()):
        advance(done, len(places), place.operation.operator)
        found.append(_group(place, tuple(nodes[key]), analysed, decide))
    return found


def _given(analysed: Analysed) -> Iterator[tuple[Node, list[Value | None]]]:
    """The nodes that have an operator, and the values of their inputs; those that are left out at the end are not."""
    for node in analysed.nodes:
        if node.operation is not None:
            values = [None if operand == ABSENT else value_in(analysed.states, operand) for operand in node.operands]
            while values and values[-1] is None:
                values.pop()
            yield node, values


def _place(operation: Operation, values: Sequence[Value | None]) -> _Place:
    version = since(operation.domain, operation.op_type, operation.version) or operation.version
    try:
        if operation.body is not None:
            raise NotComparedError("a call of a function whose nodes are analysed together")
        if operation.rule is None or operation.rule.is_missing:
            raise NotComparedError("no rule")
        if specification(operation.domain, operation.op_type, version) is None:
            raise NotComparedError("no specification")
        return _Place(operation, version, instance_of(operation, values), "")
    except NotComparedError as error:
        return _Place(operation, version, None, str(error))


def _group(place: _Place, nodes: tuple[str, ...], analysed: Analysed, decide: Decide) -> Group:
    operation, version, instance, reason = place
    names = operation.domain, operation.op_type, version
    if instance is None:
        return Group(*names, "", nodes, None, reason)
    spec, rule = specification(*names), operation.rule
    assert spec is not None
    assert rule is not None
    chosen = analysed.semantics if operation.domain in DOCUMENTED else EITHER
    try:
        items = list(obligations(rule, spec, operation.op_type, version, instance, chosen))
    except LookupError:
        return Group(*names, str(instance), nodes, None, "it hangs on elements that are not known")
    except (AssertionError, TypeError, ValueError):
        return Group(*names, str(instance), nodes, None, "the specification does not cover this form")
    return Group(*names, str(instance), nodes, recorded(*names, items, decide))


# The instance that a node is.


class _Names:
    """Names of terms that are no numbers."""

    def __init__(self) -> None:
        self._names: dict[object, str] = {}
        self.natural: dict[str, None] = {}

    def of(self, item: object) -> str:
        return self._names.setdefault(item, f"s{len(self._names)}")

    def size(self, dim: Dim) -> int | str:
        """The number, or a name; a name and its factor, which a Reshape may need."""
        if not isinstance(dim, Expr):
            return self.of(object())
        if dim.const is not None:
            return dim.const
        (monomial, factor), *others = dim.terms
        return self.of(dim) if others or factor < 2 else f"{factor}*{self.of(polynomial({monomial: 1}))}"

    def element(self, item: Element) -> int | str | Fraction:
        """Raises NotComparedError for a float that is no number."""
        if isinstance(item, Relation):
            return int(item is TRUE) if item in (TRUE, FALSE) else self.of(item)
        if isinstance(item, Real) and item.num.const is not None:
            return Fraction(item.num.const, item.den)
        if not isinstance(item, Dim):
            raise NotComparedError("an element is not known")
        found = self.size(item)
        if isinstance(found, str) and item.bounds.lo is not None and item.bounds.lo >= 0:
            self.natural[found.rpartition("*")[2]] = None
        return found


def instance_of(operation: Operation, values: Sequence[Value | None]) -> Instance:
    """A node as an instance of its operator. Raises NotComparedError."""
    names = _Names()
    bare = [None if value is None else _argument(place, value, names) for place, value in enumerate(values)]
    inputs = [
        given._replace(elements=_elements(value, names)) if given is not None and isinstance(value, Tensor) else given
        for given, value in zip(bare, values, strict=True)
    ]
    attributes = dict(attributes_of(operation.attributes))
    found = Instance(tuple(inputs), attributes, operation.outputs, shown="signed", natural=tuple(names.natural))
    return found if found.signed else found._replace(shown="elements")


def _argument(place: int, value: Value, names: _Names) -> Argument:
    if value is BOTTOM:
        raise NotComparedError("no run computes it")
    holder: Holder | None = None
    if isinstance(value, SequenceOf):
        holder, value = Holder("sequence", names.size(value.length)), value.element
    elif isinstance(value, OptionalOf) and value.present is not None:
        holder, value = Holder("optional", int(value.present)), value.element
    elif isinstance(value, MapOf):
        holder, value = Holder("map", names.of(object()), value.key.name.lower()), value.element
    if not isinstance(value, Tensor) or value.shape.rank is None:
        raise NotComparedError(f"the rank of input {place} is not known")
    if value.dtype is DType.UNDEFINED:
        raise NotComparedError(f"the type of input {place} is not known")
    dims = tuple(map(names.size, value.shape.dims))
    return Argument(dims, None, value.dtype.name.lower(), holder=holder)


def _elements(value: Tensor, names: _Names) -> tuple[int | str | Fraction, ...] | None:
    block = None if value.contents is None else value.contents.block(value.shape.concrete)
    most = MOST_FLOATS if value.dtype.is_float else MOST_ELEMENTS
    if block is None or len(block.elements) > most:
        return None
    try:
        return tuple(map(names.element, block.elements))
    except NotComparedError:
        return None


def attributes_of(attributes: Mapping[str, AttributeValue]) -> Iterable[tuple[str, Attribute]]:
    """Attributes as specifications read them. Raises NotComparedError for one that is not known."""
    for name, value in attributes.items():
        if isinstance(value, bytes):
            yield name, value.decode("utf-8", "replace")
        elif isinstance(value, int | float | str | list):
            yield name, value
        elif isinstance(value, Tensor) and value.shape.concrete is not None:
            yield name, Held(value.dtype.name.lower(), value.shape.concrete, _numbers(value))
        else:
            raise NotComparedError(f"attribute {name} is not known")


def _numbers(value: Tensor) -> tuple[float, ...] | None:
    found = _elements(value, _Names())
    return None if found is None else tuple(float(part) if isinstance(part, Fraction) else int(part) for part in found)


# The operators that have a rule


@dataclass(frozen=True)
class Ruled:
    """An operator that has a rule."""

    domain: str
    operator: str
    versions: tuple[int, ...]
    """The versions at which its schema changed and for which there is a rule, ascending."""
    specified: tuple[int, ...]
    """The versions that have a specification."""
    instances: int
    """The nodes at which the newest specified version is compared."""
    complete: bool
    """The rule of the newest version promises that its requirements are sufficient."""

    def __str__(self) -> str:
        return f"{self.domain}::{self.operator}" if self.domain else self.operator


def ruled(table: Table, names: Sequence[str] = ()) -> list[Ruled]:
    """The operators of a table, or those with the names: `Conv`, of ai.onnx if it has one, `com.microsoft::FusedConv`.

    Raises UsageError for a name that has no rule.
    """
    known = sorted({(rule.domain, name) for rule in table for name in rule.names})
    chosen = dict.fromkeys(operator for name in names for operator in _named(name, known))
    return [_ruled(table, *operator) for operator in chosen or known]


def prove(table: Table, operator: Ruled, decide: Decide, semantics: Semantics = EITHER) -> tuple[Record, ...]:
    """The record of each specified version, the oldest first."""
    places = [(operator.domain, operator.operator, version) for version in operator.specified]
    return tuple(recorded(*place, list(obligations_of(table, *place, semantics)), decide) for place in places)


def _named(name: str, known: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    domain, colons, operator = name.rpartition("::")
    domain = "" if domain == "ai.onnx" else domain
    found = [item for item in known if item[1] == operator and (not colons or item[0] == domain)]
    if not colons and ("", operator) in found:
        found = [("", operator)]
    if not found and not domain and operator in LOWERED:
        raise UsageError(f"{operator} has no rule: it becomes plain nodes before the analysis")
    if not found:
        texts = {f"{d}::{n}" if d and colons else n for d, n in known}
        hint = did_you_mean(name, texts) or "absint rules lists the operators"
        raise UsageError(f"no operator with a rule is called {bounded(name)}; {hint}")
    yield from found


def _ruled(table: Table, domain: str, operator: str) -> Ruled:
    changed = {since(domain, operator, version) for version in range(1, NEWEST.get(domain, 1) + 1)} - {0}
    versions = tuple(v for v in sorted(changed or {1}) if table.lookup(domain, operator, v) is not None)
    specified = tuple(v for v in versions if specification(domain, operator, v) is not None)
    instances = _instances(domain, operator, specified[-1]) if specified else 0
    newest = table.lookup(domain, operator, versions[-1]) if versions else None
    return Ruled(domain, operator, versions, specified, instances, newest is not None and newest.complete)


def _instances(domain: str, operator: str, version: int) -> int:
    spec = specification(domain, operator, version)
    return 0 if spec is None else len(spec.instances(operator, version))
