"""JSON documents, each declared once: what is written and its JSON Schema come from the same lines.

A *kind* writes a value as JSON and says which JSON it writes. An *object* is the kind of a record: its keys, each with
a kind, a meaning, and where in the record its value stands (the attribute of that name, if nothing else is said). A
*document* is an object that says its form, the version of absint, and which model it is about.

    NEIGHBOUR = Object[Neighbour](Key("size", maybe(INTEGER), "null: none was found"), Key("proved", TRUTH))
    ALONE = Object[Alone](Key("symbol", TEXT), Key("below", NEIGHBOUR), Key("above", NEIGHBOUR))
    NEAREST = Document[Nearest]("nearest", 1, "the nearest legal sizes", Key("alone", many(ALONE)))

    NEAREST.text(found)       the document
    json_schema(NEAREST)      its JSON Schema; an object with a name stands under `$defs` there

Within a version keys may be added, but none changes its meaning or goes away, so a schema allows keys that it does not
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from operator import attrgetter, itemgetter
from types import UnionType
from typing import (
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim
from absint.lattices.text.escapes import Json, json_text
from absint.lattices.text.naming import Naming, Where
from absint.version import VERSION

T = TypeVar("T")
Value = TypeVar("Value", contravariant=True)
Subject = TypeVar("Subject", contravariant=True)
Outer = TypeVar("Outer")
Schema = dict[str, Json]
HeadKey = Literal["model", "assume", "semantics"]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class Kind(Generic[Value]):
    """A kind of value: how JSON has it."""

    def __init__(self, schema: Schema, write: Callable[[Value, Where], Json], parts: Iterable[Kind[Any]] = ()) -> None:
        self.schema = schema
        """Where it is used: the JSON Schema, or a reference to it."""
        self.write = write
        self.parts = tuple(parts)
        """The kinds that the schema is made of."""

    def named(self, name: str, says: str = "") -> Kind[Value]:
        """The same kind, which stands under `$defs` in schemas."""
        return _Named(name, _described(self.schema, says), self.write, self.parts)


class _Named(Kind[Value]):
    def __init__(
        self, name: str, schema: Schema, write: Callable[[Value, Where], Json], parts: Iterable[Kind[Any]]
    ) -> None:
        super().__init__({"$ref": f"#/$defs/{name}"}, write, parts)
        self.name = name
        self.definition = schema


class Key(Generic[Subject]):
    """A key of an object: its kind, what it means, where its value stands, and when it is there (always)."""

    def __init__(
        self,
        name: str,
        kind: Kind[T],
        says: str = "",
        of: Callable[[Subject], T] | None = None,
        when: Callable[[Subject], object] | None = None,
    ) -> None:
        self.name = name
        self.kind: Kind[Any] = kind
        self.says = says
        self.of: Callable[[Subject], Any] = of or attrgetter(name)
        self.when = when


class Filled(Key[Subject]):
    """A key that is left out if its value is empty."""

    def __init__(self, name: str, kind: Kind[T], says: str = "", of: Callable[[Subject], T] | None = None) -> None:
        super().__init__(name, kind, says, of)
        self.when = self.of


class Object(Kind[Subject]):
    """The kind of a record. With a name, it stands under `$defs` in schemas."""

    def __init__(self, *keys: Key[Subject] | Part[Subject], name: str = "", says: str = "") -> None:
        self.keys = keys
        self.all_keys: dict[str, Key[Any]] = {}
        """Those of parts too."""
        self.required: set[str] = set()
        """The names of keys that are always there."""
        self._steps: list[tuple[str, Callable[[Any, Where], Json], Callable[[Subject], Any], Callable[..., object] | None]]
        self._steps = []
        for key in keys:
            if isinstance(key, Part):
                self.all_keys |= key.inner.all_keys
                self.required |= set() if key.when else key.inner.required
                self._steps.append(("", key.inner.write, key.of, key.when))
            else:
                self.all_keys[key.name] = key
                self.required |= set() if key.when else {key.name}
                self._steps.append((key.name, key.kind.write, key.of, key.when))
        self._describe(name, says)

    def _describe(self, name: str, says: str) -> None:
        self.name = name
        properties: Schema = {key.name: _described(key.kind.schema, key.says) for key in self.all_keys.values()}
        required: list[Json] = [key for key in self.all_keys if key in self.required]
        self.definition = _described({"type": "object", "required": required, "properties": properties}, says)
        schema: Schema = {"$ref": f"#/$defs/{name}"} if name else self.definition
        super().__init__(schema, self._written, (key.kind for key in self.all_keys.values()))

    def _written(self, subject: Subject, names: Where) -> Json:
        found: dict[str, Json] = {}
        for name, write, of, when in self._steps:
            if when is None or when(subject):
                item = write(of(subject), names)
                if name:
                    found[name] = item
                else:
                    found.update(cast("dict[str, Json]", item))
        return found

    def spread(self, of: Callable[[Outer], Subject], when: Callable[[Outer], object] | None = None) -> Part[Outer]:
        """All keys, as keys of an object around this one, in whose record `of` finds that of this one."""
        return Part(self, of, when)


class Part(Generic[Subject]):
    """All keys of an object, inside another; they are there together (always)."""

    def __init__(
        self, inner: Object[T], of: Callable[[Subject], T], when: Callable[[Subject], object] | None
    ) -> None:
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

    def _written(self, subject: Subject, names: Where) -> Json:
        return self.choose(subject).write(subject, names)


class Head(NamedTuple):
    """What a document says first, apart from its form and the version of absint."""

    model: str = ""
    """The path of the model, or a word for it."""
    assume: tuple[str, ...] = ()
    """Sizes and relations that the caller has given."""
    semantics: str = "either"
    """The runs that the answers are about."""


class Document(Object[Subject]):
    """An object that stands alone: `absint.NAME/VERSION`.

    `head` are the keys that it begins with, after `schema` and `absint`. `defines`: dims have names where their texts
    are long, and the last key says what these stand for. `lines`: one line for each item of a list of objects.
    """

    def __init__(
        self,
        name: str,
        version: int,
        title: str,
        *keys: Key[Subject] | Part[Subject],
        head: Sequence[HeadKey] = ("model", "assume", "semantics"),
        head_of: Callable[[Subject], Head] = lambda subject: Head(),
        defines: bool = True,
        lines: bool = False,
    ) -> None:
        self.form = f"absint.{name}/{version}"
        self.title = f"{self.form}: {title}"
        self.document = name
        self.head_of = head_of
        self.defines = defines
        self._lines = lines
        super().__init__(*keys)
        self._head = Object[Head](
            Key("schema", Kind({"const": self.form}, lambda form, names: form), "the form", lambda head: self.form),
            Key("absint", TEXT, "the version of absint", lambda head: VERSION),
            *(_HEAD[key] for key in head),
        )
        last = {"definitions": Key[object]("definitions", DEFINITIONS)} if defines else {}
        self.all_keys = {**self._head.all_keys, **self.all_keys, **last}
        self.required |= {*self._head.required, *last}
        self._describe("", "")

    def _written(self, subject: Subject, names: Where) -> Json:
        return self.record(subject, names)

    def record(self, subject: Subject, names: Where | None = None, head: Head | None = None) -> dict[str, Json]:
        """The document as data. `names` of long dims may be shared with other texts about the model."""
        names = names or Where(Naming())
        whole = cast("dict[str, Json]", self._head.write(head or self.head_of(subject), names))
        whole |= cast("dict[str, Json]", super()._written(subject, names))
        return whole | ({"definitions": {**names.definitions}} if self.defines else {})

    def text(self, subject: Subject, names: Where | None = None, head: Head | None = None) -> str:
        """The document as JSON text."""
        whole = self.record(subject, names, head)
        if not self._lines:
            return json_text(whole, indent=1)
        return "{\n" + ",\n".join(f"{json_text(key)}: {_in_lines(item)}" for key, item in whole.items()) + "\n}"


def json_schema(*forms: Document[Any]) -> Schema:
    """The JSON Schema of documents of one name, with all that it refers to."""
    definitions = [cast("dict[str, Schema]", form.definition) for form in forms]
    properties: Schema = {}
    for definition in definitions:
        properties |= definition["properties"]
    required: list[Json] = [key for key in properties if all(key in found["required"] for found in definitions)]
    defined: dict[str, Json] = {}
    seen: set[int] = set()
    pending: list[Kind[Any]] = [*forms]
    while pending:
        kind = pending.pop()
        if id(kind) not in seen:
            seen.add(id(kind))
            pending += kind.parts
            if isinstance(kind, _Named) or (isinstance(kind, Object) and kind.name):
                defined[kind.name] = kind.definition
    head: Schema = {"$schema": DIALECT, "title": forms[0].title, "type": "object"}
    whole: Schema = {**head, "required": required, "properties": properties}
    return {**whole, "$defs": dict(sorted(defined.items()))} if defined else whole


def _in_lines(item: Json) -> str:
    """One line, or one for each item of a list of objects."""
    if isinstance(item, list) and item and isinstance(item[0], dict):
        return "[\n  " + ",\n  ".join(map(json_text, item)) + "\n]"
    return json_text(item)


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


def many(kind: Kind[T]) -> Kind[Iterable[T]]:
    """A list."""
    write = kind.write
    return Kind(
        {"type": "array", "items": kind.schema}, lambda values, names: [write(item, names) for item in values], (kind,)
    )


def maybe(kind: Kind[T]) -> Kind[T | None]:
    """Null for None."""
    write, only = kind.write, kind.schema.get("type")
    null: Json = {"type": "null"}
    schema: Schema = (
        {**kind.schema, "type": [*(only if isinstance(only, list) else [only]), "null"]}
        if only is not None and "enum" not in kind.schema
        else {"anyOf": [kind.schema, null]}
    )
    return Kind(schema, lambda value, names: None if value is None else write(value, names), (kind,))


def by_name(kind: Kind[T]) -> Kind[Mapping[str, T]]:
    """An object whose keys are names of the model, symbols or operators."""
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
    """The kind of values of a type: a number, text, truth or relation, or one of several; lists, tables, records."""
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
    hints, of = get_type_hints(record), itemgetter if is_typeddict(record) else attrgetter
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


_HEAD: Final[Mapping[str, Key[Head]]] = {
    "model": Key("model", TEXT, "the path of the model, or a word for it; empty if nobody said"),
    "assume": Key("assume", ASSUME),
    "semantics": Key("semantics", SEMANTICS),
}

__all__ = [
    "AMOUNT",
    "ANYTHING",
    "ASSUME",
    "COUNT",
    "DIM",
    "ELEMENT",
    "INTEGER",
    "NUMBER",
    "NUMERAL",
    "RELATION",
    "SECONDS",
    "SEMANTICS",
    "SIZES",
    "TEXT",
    "TRUTH",
    "Document",
    "Filled",
    "Head",
    "Key",
    "Kind",
    "Object",
    "OneOf",
    "Part",
    "by_name",
    "json_schema",
    "keys_of",
    "kind_of",
    "many",
    "maybe",
    "one_of",
    "tally",
]
