"""docs/json.md is written from the schemas of the documents, and every key of these is printed by some command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from absint.cli import run
from absint.show.schemas import json_schema, names
from tests.models import parsed
from tests.pages.json_keys import PAGE, SECTION, page, rows

ROOT = Path(__file__).parents[2]
DETECTOR = str(ROOT / "examples" / "tiny_detector.onnx")
ANALYSIS = str(ROOT / "examples" / "quantised_scales.py")
UNSEEN = {
    "analyze": r"timings\.rules{}.*|(inputs|outputs|values|trace\[\]\.changes)\[\]\.(cases.*|key)",
    "check": r"discharged.*",
    "check-feeds": r"check\.discharged.*|comparison\.policy",
    "rules": r"operators\[\]\.refuted\[\]\..*",
    "proved-nodes": r"instances\[\]\.(refuted|undecided)\[\]\..*",
    "rows": r"others.*",
    "dynamize": r"(rows|proved){}.*",
    "diff": r"operators_defined_anew\[\]\..*",
}
"""Keys that no command below prints for certain (no rule runs where all is remembered): tests of their own do."""

SIZES = """(float[N, K] x, int64[2] target, int64[1] many) => (float[A, B] z, float[C] r, float[D] e) <float[3, K] u> {
    e = ConstantOfShape(many)
    u = Relu(x)  z = Reshape(x, target)  h = Shape(x)  zero = Constant<value_int=0>()  n = Gather<axis=0>(h, zero)
    f = Cast<to=1>(n)  i = Cast<to=7>(f)  one = Constant<value_ints=[1]>()  v = Reshape(i, one)  r = ConstantOfShape(v)
}"""
EIGHTHS = "(float[N] x) => (float[A, 8] y) {to = Constant<value_ints=[-1, 8]>()  y = Reshape(x, to)}"
POOLED = "(float[N, 1, H] x) => (float[A, B, C] y) {r = Relu(x)  y = MaxPool<kernel_shape=[1], strides=[2]>(r)}"
SLICED = """(float[N, 1, H] x) => (float[A, B, C] y) <int64[1] start = {0}, int64[1] end = {99}, int64[1] two = {2}> {
    r = Concat<axis=0>(x, x)  z = Relu(r)  y = Slice(x, start, end, two, two) }"""
STILL = "(float[12] x) => (float[3, 4] y) <int64[2] t = {3, 4}> {y = Reshape(x, t)}"
TABLE = "(float[2] x) => (float[2] y) <float[2] t = {3, 4}> {y = Add(x, t)}"
BROKEN = "(float[N] x, int64[N] s) => (float[N] y) <float[3] u> {y = Add(x, s)  u = my.Nothing(x)}"
PLACES = "(float[N] x) => (int64[A, B] y) {y = NonZero(x)}"
KINDS = """(float[N, 3] x, int64 trips, bool go, seq(float[N]) s, optional(float[N]) o) => (y) {
    y = Loop(trips, go, x) <body = b (int64 i, bool c, float[N, 3] a) => (bool c, float[N, 3] z) {z = Relu(a)}>
}"""
JOINED = "(float[N] x, float[M] w) => (float[A] y) {y = Add(x, w)}"
MIXED = "(float[N, 2] x) => (float[N, 2] y) {y = Softmax<axis=0>(x)}"
APART = "(float[N, 2] x) => (float[N, 2] y) {y = Softmax<axis=1>(x)}"
OPAQUE = "(float[N] x) => (float[N] y) {y = my.Nothing(x)}"
RANKS = "(float[N] x, int64[K] t) => (float[A] y) {y = Reshape(x, t)}"
OPEN = "(float[K, 8] table, int64[] ids) => (float[] y) {rows = Gather(table, ids)  y = Relu(rows)}"
SCALES = """(float[N] x) => (float[N] y) <float s = {0.1}, float t = {0.2}, uint8 z = {128}> {
    q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, t, z) }"""
MODELS = {"kinds": KINDS, "opaque": OPAQUE, "ranks": RANKS, "sizes": SIZES, "places": PLACES, "broken": BROKEN,
          "eighths": EIGHTHS, "pooled": POOLED, "sliced": SLICED, "still": STILL, "table": TABLE, "open": OPEN,
          "joined": JOINED, "mixed": MIXED, "apart": APART, "scales": SCALES}  # fmt: skip


def used(schema: Any, data: Any, whole: Any, above: str = "") -> Iterator[str]:
    """The paths of keys of the schema that the document has."""
    while "$ref" in schema or "anyOf" in schema:
        schema = schema["anyOf"][0] if "anyOf" in schema else whole["$defs"][schema["$ref"].rpartition("/")[2]]
    if isinstance(data, list):
        for item in data:
            yield from used(schema.get("items", {}), item, whole, f"{above}[]")
    elif isinstance(data, dict):
        for key, item in data.items():
            if key in schema.get("properties", {}):
                yield f"{above}.{key}"
                yield from used(schema["properties"][key], item, whole, f"{above}.{key}")
            elif isinstance(schema.get("additionalProperties"), dict):
                yield from used(schema["additionalProperties"], item, whole, f"{above}{{}}")


def declared(schema: Any, above: str = "") -> Iterator[str]:
    """The paths of all keys of a schema, without those inside of forms that several documents share."""
    if "anyOf" in schema:
        yield from declared(schema["anyOf"][0], above)
    for key, item in schema.get("properties", {}).items():
        yield f"{above}.{key}"
        yield from declared(item, f"{above}.{key}")
    for key, end in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(key), dict):
            yield from declared(schema[key], f"{above}{end}")


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, set[str]]:
    """The paths of keys that the commands print, by the name of the document."""
    monkeypatch.chdir(tmp_path)
    for name, text in MODELS.items():
        onnx.save(parsed(f"{text}", domains={"my": 1}), f"{name}.onnx")
    np.savez("feeds.npz", image=np.zeros((1, 3, 32, 32), np.float32))
    found: dict[str, set[str]] = {}
    for command in (
        "analyze sizes.onnx --timings --trace r --require ranks",
        "analyze broken.onnx",
        "analyze places.onnx",
        "analyze opaque.onnx --trust custom",
        "analyze kinds.onnx",
        "analyze joined.onnx --policy max",
        "explain kinds.onnx y --policy max",
        "analyze open.onnx",
        "prove sizes.onnx r[0]==N N>=1 z[0]==3",
        "prove broken.onnx N==1",
        f"prove {DETECTOR} height>=1",
        "contract sizes.onnx",
        "contract broken.onnx",
        f"contract {DETECTOR}",
        "check sizes.onnx N=20000000 K=2",
        "check broken.onnx N=1",
        "check sizes.onnx N=1.. K=2..4 --assume N>=2",
        "check broken.onnx N=1..",
        f"check {DETECTOR} --feeds feeds.npz",
        "profile broken.onnx N=1..2..4",
        f"profile {DETECTOR} batch=1..2 height=32 width=32",
        "profile eighths.onnx N=1..16..24 --assume N>=2",
        "equal sizes.onnx --distinct",
        "freeze sizes.onnx",
        "freeze open.onnx",
        "freeze open.onnx K=2 -o open_frozen.onnx",
        "freeze broken.onnx N=1 -o refused.onnx",
        f"freeze {DETECTOR}",
        f"freeze {DETECTOR} batch=1 height=32 -o part.onnx",
        f"freeze {DETECTOR} image=1x3x32x32 -o frozen.onnx",
        f"simplify {DETECTOR} -o simplified.onnx --report",
        "simplify sliced.onnx -o small.onnx --report --run",
        "certify sizes.onnx -o certificate --prove N==1",
        f"cost {DETECTOR}",
        f"devices {DETECTOR}",
        f"rows {DETECTOR} --no-run",
        "rows mixed.onnx",
        f"ranges {DETECTOR}",
        f"audit {DETECTOR}",
        "lint broken.onnx",
        f"lint scales.onnx --analysis {ANALYSIS}",
        f"analyze scales.onnx --analysis {ANALYSIS}",
        "policies",
        "rules Gather Relu --prove",
        "rules Relu --prove --solver z3 --seconds 0.001",
        "rules open.onnx --prove --solver z3",
        "dynamize still.onnx x[0]=n",
        "dynamize table.onnx x[0]=n",
        "diff broken.onnx sizes.onnx --values",
        "diff pooled.onnx sliced.onnx --values",
        "diff apart.onnx mixed.onnx",
        "diff sliced.onnx pooled.onnx --evidence none",
        "explain ranks.onnx y",
        f"explain {DETECTOR} boxes",
        f"explain {DETECTOR} /Resize_output_0",
    ):
        run([*command.split(), "--format", "json"])
        data = json.loads(capsys.readouterr().out)
        name = data["schema"].partition("/")[0].removeprefix("absint.")
        schema = json_schema(name)
        found.setdefault(name, set()).update(used(schema, data, schema))
    return found


VALUES = re.compile(r"^\.(inputs|outputs|values|trace\[\]\.changes)\[\]")


def test_every_key_is_printed_by_some_command(printed: dict[str, set[str]]) -> None:
    for name, paths in printed.items():
        known = {VALUES.sub("value", path) for path in paths}
        unseen = {path for path in declared(json_schema(name)) if VALUES.sub("value", path) not in known}
        assert not {path for path in unseen if not re.fullmatch(UNSEEN.get(name, ""), path[1:])}, name


def test_the_page_is_written_from_the_schemas() -> None:
    assert page() == PAGE.read_text("utf-8"), "python -m tests.pages.json_keys writes it"
    elsewhere = [
        "certificate",
        "compare",
        "constraints",
        "error",
        "export-queries",
        "nearest",
        "queries",
        "samples",
        "study",
    ]
    assert {found[1] for found in SECTION.finditer(page())} == set(names()).difference(elsewhere, ["queries"])


def test_a_row_for_a_key_tells_its_words_and_what_is_below() -> None:
    end: dict[str, Any] = {"enum": ["left", "right"], "description": "where it stops"}
    schema: dict[str, Any] = {
        "properties": {"schema": {}, "a": {"type": "array", "items": {"properties": {"b": end, "c": {}}}}}
    }
    assert list(rows(schema)) == [
        ("`schema`", "as above"),
        ("`a[]`", "`a[].c`"),
        ("`a[].b`", "where it stops; `left`, `right`"),
    ]
