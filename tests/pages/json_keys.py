"""The tables of docs/json.md, written from the JSON Schemas of the documents: `python -m tests.pages.json_keys`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from absint.show.schemas import json_schema, names

PAGE: Final = Path(__file__).parents[2] / "docs" / "json.md"
SECTION: Final = re.compile(r"^## [^\n]*: absint\.([\w-]+)/[0-9]+\n(?:.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
TABLE: Final = re.compile(r"^\|.*\|\n(?:^\|.*\|\n)+", re.MULTILINE)
FORMS: Final = "These forms occur in several places:\n\n"
HEAD: Final = ("schema", "absint", "model", "assume[]", "semantics")
PLAIN: Final = ("dim", "sizes", "definitions", "semantics", "assume", "element")
"""Parts of schemas that need no row of their own."""

APART: Final = ("constraints", "certificate")
"""Documents that other pages describe."""

Schema = Mapping[str, Any]


def page() -> str:
    """The page with its tables as they should be."""
    text = PAGE.read_text("utf-8")
    text = SECTION.sub(lambda found: TABLE.sub(lambda _: _table(rows(json_schema(found[1]))), found[0], 1), text)
    start = text.index(FORMS) + len(FORMS)
    return text[:start] + TABLE.sub(lambda _: _table(_forms(), "form | keys"), text[start:], 1)


def _table(found: Iterator[tuple[str, str]], title: str = "key | meaning") -> str:
    return f"| {title} |\n|---|---|\n" + "".join(f"| {keys} | {meaning} |\n" for keys, meaning in found)


def rows(schema: Schema) -> Iterator[tuple[str, str]]:
    """The head of a document in one row, then its keys; keys without a meaning of their own share a row."""
    first = [key for key in HEAD if key.rstrip("[]") in schema["properties"]]
    yield ", ".join(f"`{key}`" for key in first), "as above"
    own = {key: item for key, item in schema["properties"].items() if f"{key}[]" not in first and key not in first}
    silent, found = _keys(own, "")
    if silent:
        yield ", ".join(silent), ""
    yield from found


def _keys(properties: Mapping[str, Schema], above: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The keys of an object that say nothing, and rows for the others and for what is below them."""
    silent: list[str] = []
    found: list[tuple[str, str]] = []
    own, whole = _without_form(properties)
    silent += [f"the keys of *{name}*" for name in whole]
    for key, item in own.items():
        end, inner = _inner(item)
        path = f"{above}{key}{end}"
        meaning = _meaning(item, inner)
        whole = "schema" not in inner.get("properties", {"schema": {}})  # else a document of its own
        below, more = _keys(inner["properties"], f"{path}.") if whole else ([], [])
        if meaning or below or more:
            found += [(f"`{path}`", "; ".join(filter(None, (meaning, ", ".join(below))))), *more]
        else:
            silent.append(f"`{path}`")
    return silent, found


def _without_form(properties: Mapping[str, Schema]) -> tuple[Mapping[str, Schema], list[str]]:
    """The keys that are not those of a form that several documents share, and the names of such forms."""
    for name, form in sorted(_shared().items(), key=lambda item: -len(item[1]["properties"])):
        inside = form["properties"]
        if len(inside) > 3 and len(inside) < len(properties) and inside.keys() <= properties.keys():
            return {key: item for key, item in properties.items() if key not in inside}, [name]
    return properties, []


@cache
def _shared() -> dict[str, Schema]:
    """Forms shared by several documents, those under `$defs`, by name."""
    found: dict[str, Schema] = {}
    for name in names():
        if name not in APART:
            found |= json_schema(name).get("$defs", {})  # type: ignore[arg-type]
    return {name: found[name] for name in sorted(found) if "properties" in found[name]}


def _forms() -> Iterator[tuple[str, str]]:
    for name, form in _shared().items():
        own, whole = _without_form(form["properties"])
        told = [f"the keys of *{other}*" for other in whole] + [_told(key, item) for key, item in own.items()]
        yield f"*{name}*", ", ".join(told)


def _told(key: str, item: Schema) -> str:
    end, inner = _inner(item)
    meaning = _meaning(item, inner)
    below = ", ".join(f"`{name}{_inner(each)[0]}`" for name, each in inner.get("properties", {}).items())
    said = "; ".join(filter(None, (meaning, below)))
    return f"`{key}{end}`" + (f" ({said})" if said else "")


def _inner(schema: Schema) -> tuple[str, Schema]:
    """The end of the path, and what lists, tables and nulls are about."""
    if "anyOf" in schema:
        return _inner(schema["anyOf"][0])
    if isinstance(schema.get("items"), dict):
        end, inner = _inner(schema["items"])
        return f"[]{end}", inner
    if isinstance(schema.get("additionalProperties"), dict):
        end, inner = _inner(schema["additionalProperties"])
        return ("{}" + end), inner
    if schema.get("$ref") == "#/$defs/sizes" or schema.get("$ref") == "#/$defs/definitions":
        return "{}", schema
    return ("[]", schema) if schema.get("$ref") == "#/$defs/assume" else ("", schema)


def _meaning(schema: Schema, inner: Schema) -> str:
    said, named = schema.get("description", ""), inner.get("$ref", "").rpartition("/")[2]
    if named == "definitions":
        said = "the names of long dims that occur above, and their texts"
    elif named and named not in PLAIN:
        said = f"*{named}*: {said}" if said else f"*{named}*"
    words = [f"`{word}`" for word in inner.get("enum", ()) if word and f"`{word}`" not in said]
    return "; ".join(filter(None, (said, ", ".join(words)))).replace("|", "\\|")


def main() -> None:
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
