"""JSON documents: objects that say their form, the version of absint, and which model they are about.

    NEAREST.text(found)       the document
    json_schema(NEAREST)      its JSON Schema; an object with a name stands under `$defs` there

Within a version keys may be added, but none changes its meaning or goes away, so a schema allows keys that it does not
name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, cast

from absint.lattices.text.escapes import Json, json_text
from absint.lattices.text.forms import ASSUME, DEFINITIONS, SEMANTICS, Key, Kind, Object, Schema, Spread, Subject
from absint.lattices.text.naming import Names, Naming
from absint.version import VERSION

HeadKey = Literal["model", "assume", "semantics"]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class Head(NamedTuple):
    """The keys of a head: a document begins with its form, the version of absint, and some of these."""

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
        *keys: Key[Subject] | Spread[Subject],
        head: Sequence[HeadKey] = ("model", "assume", "semantics"),
        head_of: Callable[[Subject], Head] = lambda subject: Head(),
        defines: bool = True,
        lines: bool = False,
        versioned: bool = True,
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
            *([Key[Head]("absint", str, "the version of absint", lambda head: VERSION)] if versioned else []),
            *(_HEAD[key] for key in head),
        )
        last = {"definitions": Key[object]("definitions", DEFINITIONS)} if defines else {}
        self.all_keys = {**self._head.all_keys, **self.all_keys, **last}
        self.required |= {*self._head.required, *last}
        self._describe("", "")

    def _written(self, subject: Subject, names: Names) -> Json:
        return self.record(subject, names)

    def record(self, subject: Subject, names: Names | None = None, head: Head | None = None) -> dict[str, Json]:
        """The document as data. `names` of long dims may be shared with other texts about the model."""
        names = names or Names(Naming())
        whole = cast("dict[str, Json]", self._head.write(head or self.head_of(subject), names))
        whole |= cast("dict[str, Json]", super()._written(subject, names))
        return whole | ({"definitions": {**names.definitions}} if self.defines else {})

    def text(self, subject: Subject, names: Names | None = None, head: Head | None = None) -> str:
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
            if kind.name:
                defined[kind.name] = kind.definition
    head: Schema = {"$schema": DIALECT, "title": forms[0].title, "type": "object"}
    whole: Schema = {**head, "required": required, "properties": properties}
    return {**whole, "$defs": dict(sorted(defined.items()))} if defined else whole


def _in_lines(item: Json) -> str:
    """One line, or one for each item of a list of objects."""
    if isinstance(item, list) and item and isinstance(item[0], dict):
        return "[\n  " + ",\n  ".join(map(json_text, item)) + "\n]"
    return json_text(item)


_HEAD: Final[Mapping[str, Key[Head]]] = {
    "model": Key("model", str, "the path of the model, or a word for it; empty if nobody said"),
    "assume": Key("assume", ASSUME),
    "semantics": Key("semantics", SEMANTICS),
}
