"""Records as JSON: what is written is of the schema that the same lines give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple, TypedDict

import jsonschema
import pytest

from absint.lattices.terms.expr import Dim
from absint.lattices.text.documents import Document, Head, json_schema
from absint.lattices.text.forms import (
    SIZES,
    Filled,
    Key,
    Kind,
    Object,
    OneOf,
    by_name,
    keys_of,
    kind_of,
    many,
    maybe,
    tally,
)
from absint.lattices.text.naming import Names, Naming
from absint.version import VERSION


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    x: int
    y: float | None


class Marked(TypedDict):
    mark: str


@dataclass(frozen=True)
class Shape:
    points: tuple[Point, ...]
    colour: Colour
    side: Literal["left", "right"]
    by: Mapping[str, bool]
    size: Dim


POINT = Object[Point](*keys_of(Point, y="null: on the axis"), name="point")
SHAPE = Document[Shape](
    "shape",
    3,
    "a shape (absint draw)",
    Key("first", POINT, of=lambda shape: shape.points[0]),
    Key("colour", kind_of(Colour), "as it is drawn"),
    Filled("by", by_name(bool)),
    Key("size", Dim),
    Key("rest", many(POINT), of=lambda shape: shape.points[1:], when=lambda shape: len(shape.points) > 1),
)
RED = Shape((Point(1, None), Point(2, 0.5)), Colour.RED, "left", {"N": True}, Dim("N + 1"))


def test_a_document_has_a_head_and_its_keys_in_order() -> None:
    text = SHAPE.text(RED, head=Head("m.onnx", ("N >= 1",), "onnx"))
    assert json.loads(text) == {
        "schema": "absint.shape/3",
        "absint": VERSION,
        "model": "m.onnx",
        "assume": ["N >= 1"],
        "semantics": "onnx",
        "first": {"x": 1, "y": None},
        "colour": "red",
        "by": {"N": True},
        "size": "N + 1",
        "rest": [{"x": 2, "y": 0.5}],
        "definitions": {},
    }
    assert list(json.loads(text))[5:] == ["first", "colour", "by", "size", "rest", "definitions"]


def test_keys_that_may_be_left_out_are_not_required() -> None:
    small = Shape(RED.points[:1], Colour.BLUE, "right", {}, Dim(3))
    found = SHAPE.record(small)
    assert {"by", "rest"}.isdisjoint(found)
    assert found["size"] == 3
    schema = json_schema(SHAPE)
    assert {"by", "rest"}.isdisjoint(schema["required"])  # type: ignore[arg-type]
    for record in (small, RED):
        jsonschema.validate(SHAPE.record(record), schema)


@pytest.mark.parametrize(
    "change", [{"colour": "green"}, {"first": {"x": 1}}, {"size": None}, {"by": {"N": 1}}, {"schema": "absint.shape/2"}]
)
def test_what_is_of_another_kind_is_not_of_the_schema(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(SHAPE.record(RED) | change, json_schema(SHAPE))


def test_a_schema_says_what_keys_mean_and_defines_shared_forms_once() -> None:
    schema: Any = json_schema(SHAPE)
    assert schema["title"] == "absint.shape/3: a shape (absint draw)"
    assert schema["properties"]["colour"] == {"description": "as it is drawn", "enum": ["red", "blue"]}
    assert schema["properties"]["rest"] == {"type": "array", "items": {"$ref": "#/$defs/point"}}
    assert schema["$defs"]["point"]["properties"]["y"] == {
        "description": "null: on the axis",
        "type": ["number", "null"],
    }
    assert {"point", "dim", "definitions"} <= schema["$defs"].keys()


def test_keys_of_records() -> None:
    (mark,) = keys_of(Marked)
    assert Object[Marked](mark).write({"mark": "x"}, Names(Naming())) == {"mark": "x"}
    assert [key.name for key in keys_of(Shape)] == ["points", "colour", "side", "by", "size"]
    assert kind_of(int | str).schema == {"type": ["integer", "string"]}
    assert kind_of(Literal["a", "b"]).schema == {"enum": ["a", "b"]}


def test_a_part_and_one_of_several() -> None:
    inside = Object[Shape](Key("side", str), POINT.spread(lambda shape: shape.points[0], lambda shape: shape.points))
    empty = Shape((), Colour.RED, "left", {}, Dim(1))
    names = Names(Naming())
    assert inside.write(RED, names) == {"side": "left", "x": 1, "y": None}
    assert inside.write(empty, names) == {"side": "left"}
    assert inside.required == {"side"}
    colour = Object[Shape](Key("side", str), Key("colour", kind_of(Colour)))
    either = OneOf[Shape]((inside, colour), lambda shape: inside if shape.points else colour)
    assert either.write(empty, names) == {"side": "left", "colour": "red"}
    assert either.required == {"side"}
    assert list(either.all_keys) == ["side", "x", "y", "colour"]


def test_several_documents_of_one_name_share_a_schema() -> None:
    other = Document[Shape]("shape", 3, "a shape", Key("error", str, of=lambda shape: "none"), head=("model",))
    schema: Any = json_schema(SHAPE, other)
    assert schema["required"] == ["schema", "absint", "model", "definitions"]
    assert "error" in schema["properties"]
    jsonschema.validate(other.record(RED), schema)


def test_one_line_for_each_object_of_a_list() -> None:
    listed = Document[Shape]("shape", 3, "a shape", Key("points", many(POINT)), head=(), defines=False, lines=True)
    assert listed.text(RED).splitlines() == [
        "{",
        '"schema": "absint.shape/3",',
        f'"absint": "{VERSION}",',
        '"points": [',
        '  {"x": 1, "y": null},',
        '  {"x": 2, "y": 0.5}',
        "]",
        "}",
    ]


def test_null_of_a_form_and_counts() -> None:
    assert maybe(POINT).schema == {"anyOf": [{"$ref": "#/$defs/point"}, {"type": "null"}]}
    assert maybe(SIZES).write(None, Names(Naming())) is None
    count = tally(Colour, red="danger")
    assert count.write({Colour.RED: 2, Colour.BLUE: 0}, Names(Naming())) == {"red": 2, "blue": 0}
    text = Kind[int]({"type": "string"}, lambda value, names: "x" * value).named("crosses")
    assert many(text).schema == {"type": "array", "items": {"$ref": "#/$defs/crosses"}}
    assert many(text).write([1, 2], Names(Naming())) == ["x", "xx"]
