"""JSON of records, declared once: what is written and its JSON Schema come from the same lines.

A *kind* writes a value as JSON and says which JSON it writes. An *object* is the kind of a record: its keys, each with
a kind, a meaning, and where in the record its value stands (the attribute of that name, if nothing else is said). A
*document* (`documents`) is an object that stands alone.

    NEIGHBOUR = Object[Neighbour](Key("size", maybe(int), "null: none was found"), Key("proved", bool))
    ALONE = Object[Alone](Key("symbol", str), Key("below", NEIGHBOUR), Key("above", NEIGHBOUR))
    NEAREST = Document[Nearest]("nearest", 1, "the nearest legal sizes", Key("alone", many(ALONE)))
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from operator import attrgetter, itemgetter
from types import UnionType
from typing import Any, Final, Generic, Literal, TypeVar, Union, cast, get_args, get_origin, overload

from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim
from absint.lattices.text.escapes import Json
from absint.lattices.text.naming import Names

T = TypeVar("T")
Value = TypeVar("Value", contravariant=True)
Subject = TypeVar("Subject", contravariant=True)
Outer = TypeVar("Outer")
Schema = dict[str, Json]


class Kind(Generic[Value]):
    """A kind of value: how JSON has it."""

    def __init__(self, schema: Schema, write: Callable[[Value, Names], Json], parts: Iterable[Kind[Any]] = ()) -> None:
        self.schema = schema
        """Where it is used: the JSON Schema, or a reference to it."""
        self.write = write
        self.parts = tuple(parts)
        """The kinds that the schema is made of."""
        self.name = ""
        """The name under `$defs`, if it stands there; then the schema refers to it, and this is what stands there:"""
        self.definition = schema

    def named(self, name: str, says: str = "") -> Kind[Value]:
        """The same kind, which stands under `$defs` in schemas."""
        kind = Kind({"$ref": f"#/$defs/{name}"}, self.write, self.parts)
        kind.name, kind.definition = name, _described(self.schema, says)
        return kind


class Key(Generic[Subject]):
    """A key of an object: its kind (`str`, `int`, ... for plain ones), what it means, where its value stands (the
    attribute of its name), and when it is there (always)."""

    def __init__(
        self,
        name: str,
        kind: Kind[T] | type[object],
        says: str = "",
        of: Callable[[Subject], T] | None = None,
        when: Callable[[Subject], object] | None = None,
    ) -> None:
        self.name = name
        self.kind = _of(kind)
        self.says = says
        self.of: Callable[[Subject], Any] = of or attrgetter(name)
        self.when = when


class Filled(Key[Subject]):
    """A key that is left out if its value is empty."""

    def __init__(
        self, name: str, kind: Kind[T] | type[object], says: str = "", of: Callable[[Subject], T] | None = None
    ) -> None:
        super().__init__(name, kind, says, of)
        self.when = self.of


_Step = tuple[str, Callable[[Any, Names], Json], Callable[[Any], Any], Callable[[Any], object] | None]


class Object(Kind[Subject]):
    """The kind of a record. With a name, it stands under `$defs` in schemas."""

    def __init__(self, *keys: Key[Subject] | Spread[Subject], name: str = "", says: str = "") -> None:
        self.keys = keys
        self.all_keys: dict[str, Key[Any]] = {}
        """By name, including the keys of parts."""
        self.required: set[str] = set()
        """The names of keys that are always there."""
        self._steps: list[_Step] = []
        for key in keys:
            if isinstance(key, Spread):
                self.all_keys |= key.inner.all_keys
                self.required |= set() if key.when else key.inner.required
                self._steps.append(("", key.inner.write, key.of, key.when))
            else:
                self.all_keys[key.name] = key
                self.required |= set() if key.when else {key.name}
                self._steps.append((key.name, key.kind.write, key.of, key.when))
        self._describe(name, says)

    def _describe(self, name: str, says: str) -> None:
        properties: Schema = {key.name: _described(key.kind.schema, key.says) for key in self.all_keys.values()}
        required: list[Json] = [key for key in self.all_keys if key in self.required]
        whole = _described({"type": "object", "required": required, "properties": properties}, says)
        schema: Schema = {"$ref": f"#/$defs/{name}"} if name else whole
        super().__init__(schema, self._written, (key.kind for key in self.all_keys.values()))
        self.name, self.definition = name, whole

    def _written(self, subject: Subject, names: Names) -> Json:
        found: dict[str, Json] = {}
        for name, write, of, when in self._steps:
            if when is None or when(subject):
                item = write(of(subject), names)
                if name:
                    found[name] = item
                else:
                    found.update(cast("dict[str, Json]", item))
        return found

    def spread(self, of: Callable[[Outer], Subject], when: Callable[[Outer], object] | None = None) -> Spread[Outer]:
        """All keys, as keys of an object around this one, in whose record `of` finds that of this one."""
        return Spread(self, of, when)


class Spread(Generic[Subject]):
    """All keys of an object, inside another; they are there together (always)."""

    def __init__(self, inner: Object[T], of: Callable[[Subject], T], when: Callable[[Subject], object] | None) -> None:
        self.inner: Object[Any] = inner
        self.of: Callable[[Subject], Any] = of
        self.when = when


class OneOf(Object[Subject]):
    """One of several objects, depending on the record."""

    def __init__(
        self, objects: Sequence[Object[Any]], choose: Callable[[Subject], Object[Any]], name: str = "", says: str = ""
    ) -> None:
        self.choose = choose
        self.keys = ()
        self.all_keys = {name: key for found in objects for name, key in found.all_keys.items()}
        self.required = set.intersection(*(found.required for found in objects))
        self._describe(name, says)

    def _written(self, subject: Subject, names: Names) -> Json:
        return self.choose(subject).write(subject, names)


def _described(schema: Schema, says: str) -> Schema:
    return {"description": says, **schema} if says else schema


TEXT: Final = Kind[object]({"type": "string"}, lambda value, names: str(value))
INTEGER: Final = Kind[int]({"type": "integer"}, lambda value, names: value)
COUNT: Final = Kind[int]({"type": "integer", "minimum": 0}, lambda value, names: value)
NUMBER: Final = Kind[float]({"type": "number"}, lambda value, names: value)
TRUTH: Final = Kind[bool]({"type": "boolean"}, lambda value, names: value)
SECONDS: Final = Kind[float]({"type": "number"}, lambda value, names: round(value, 6))
AMOUNT: Final = Kind[int | str]({"type": ["integer", "string"]}, lambda value, names: value)
NUMERAL: Final = Kind[str](AMOUNT.schema, lambda text, names: int(text) if text.removeprefix("-").isdecimal() else text)
"""A text; a number if it is the text of one."""
ANYTHING: Final = Kind[Json]({}, lambda value, names: value)
RELATION: Final = Kind[Relation]({"type": "string"}, lambda relation, names: names.relation(relation))
DIM: Final = Kind[object]({"type": ["integer", "string"]}, lambda dim, names: names.json(dim)).named(
    "dim", "A number, a text of the grammar, or a name in `definitions`."
)
ELEMENT: Final = Kind[object]({"type": ["integer", "string", "boolean"]}, lambda item, names: names.json(item)).named(
    "element", "A number, a truth, or a text of the grammar."
)


def _of(kind: Kind[Any] | type[object]) -> Kind[Any]:
    return kind if isinstance(kind, Kind) else kind_of(kind)


@overload
def many(kind: Kind[T]) -> Kind[Iterable[T]]: ...
@overload
def many(kind: type[object]) -> Kind[Iterable[object]]: ...
def many(kind: Kind[T] | type[object]) -> Kind[Any]:
    """A list."""
    kind = _of(kind)
    write = kind.write
    return Kind(
        {"type": "array", "items": kind.schema}, lambda values, names: [write(item, names) for item in values], (kind,)
    )


@overload
def maybe(kind: Kind[T]) -> Kind[T | None]: ...
@overload
def maybe(kind: type[object]) -> Kind[object]: ...
def maybe(kind: Kind[T] | type[object]) -> Kind[Any]:
    """Null for None."""
    kind = _of(kind)
    write, only = kind.write, kind.schema.get("type")
    null: Json = {"type": "null"}
    schema: Schema = (
        {**kind.schema, "type": [*(only if isinstance(only, list) else [only]), "null"]}
        if only is not None and "enum" not in kind.schema
        else {"anyOf": [kind.schema, null]}
    )
    return Kind(schema, lambda value, names: None if value is None else write(value, names), (kind,))


@overload
def by_name(kind: Kind[T]) -> Kind[Mapping[str, T]]: ...
@overload
def by_name(kind: type[object]) -> Kind[Mapping[str, object]]: ...
def by_name(kind: Kind[T] | type[object]) -> Kind[Any]:
    """An object whose keys are names of the model, symbols or operators."""
    kind = _of(kind)
    write = kind.write
    return Kind(
        {"type": "object", "additionalProperties": kind.schema},
        lambda values, names: {str(name): write(item, names) for name, item in values.items()},
        (kind,),
    )


def one_of(first: type[Enum] | str | None, *others: str | None) -> Kind[object]:
    """One of some words; the values of an enum."""
    words: list[Json] = [item.value for item in first] if isinstance(first, type) else [first, *others]
    return Kind({"enum": words}, lambda value, names: cast("str", value.value if isinstance(value, Enum) else value))


def tally(words: Iterable[Enum | str], **says: str) -> Object[Mapping[Any, int]]:
    """How many there are of each of some words or members of an enum; what some of them mean."""
    names = {word: str(word.value if isinstance(word, Enum) else word) for word in words}
    return Object(*(Key(name, COUNT, says.get(name, ""), itemgetter(word)) for word, name in names.items()))


def kind_of(hint: object) -> Kind[Any]:
    """The kind of values of a type: a number, text, truth or relation, or one of several; lists, tables, records; an
    object may be anything.
    """
    if hint is object:
        return ANYTHING
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        first, *more = (kind_of(item) for item in arguments if item is not type(None))
        kind = Kind({"type": [one.schema["type"] for one in (first, *more)]}, lambda v, names: v) if more else first
        return maybe(kind) if type(None) in arguments else kind
    if origin is Literal:
        return one_of(*arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return by_name(kind_of(arguments[1]))
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return many(kind_of(arguments[0]))
    assert isinstance(hint, type)
    for known, kind in _KINDS.items():
        if issubclass(hint, known):
            return kind
    return one_of(hint) if issubclass(hint, Enum) else Object(*keys_of(hint))


def keys_of(record: type[Any], **says: str) -> tuple[Key[Any], ...]:
    """A key for each field of a dataclass, named tuple or typed dict, of its name and type; what some of them mean.

    Raises NameError where a type is imported for type checkers alone.
    """
    hints, of = typing.get_type_hints(record), itemgetter if typing.is_typeddict(record) else attrgetter
    names = getattr(record, "__match_args__", hints)
    return tuple(Key(name, kind_of(hints[name]), says.get(name, ""), of(name)) for name in names)


_KINDS: Final[Mapping[type, Kind[Any]]] = {
    str: TEXT, bool: TRUTH, int: INTEGER, float: NUMBER, Relation: RELATION, Dim: DIM,
}  # fmt: skip

SIZES: Final = by_name(INTEGER).named("sizes")
DEFINITIONS: Final = by_name(TEXT).named("definitions", "The names of long dims in this document, and their texts.")
SEMANTICS: Final = one_of("either", "onnx", "onnxruntime").named(
    "semantics", "The runs that the answers are about, where onnxruntime differs from ONNX's documents."
)
ASSUME: Final = many(TEXT).named("assume", "Sizes and relations that the caller has given.")
