"""docs/json.md names every key that the commands print, and no other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from absint.cli import run

ROOT = Path(__file__).parents[1]
DETECTOR = str(ROOT / "examples" / "tiny_detector.onnx")
PAGE = (ROOT / "docs" / "json.md").read_text("utf-8")
SECTION = re.compile(r"^## [^\n]*: (absint\.[\w-]+/[0-9])\n(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
KEY = re.compile(r"`([a-z_]+(?:(?:\[\]|\{\})?(?:\.[a-z_]+)?)*)`")

PLACE = {"node", "path", "operator", "output", "reason"}
CONSTRAINT = PLACE | {"relation", "guard", "role"}
VALUE = {
    "kind",
    "dtype",
    "shape",
    "open_shape",
    "cases[].when",
    "cases[].shape[]",
    "contents",
    "length",
    "element",
    "present",
    "key",
}
STATED = {"relation", "role", "reason", "node"}
APART = {f"apart.{key}" for key in ("sizes{}", "of", "A", "B", "evidence", "only_empty")}
UNMET = {"relation", "over_other", "because", "apart", "reason"} | APART
PORT = {"A", "B", "before", "after", "status", "details", "apart"} | APART
FORMS = {
    "absint.analyze/2": {"inputs[]": VALUE, "outputs[]": VALUE, "values[]": VALUE, "assuming[]": CONSTRAINT,
                         "trace[].changes[]": VALUE},
    "absint.prove/1": {"proofs[].because[]": CONSTRAINT, "proofs[].assuming[]": CONSTRAINT},
    "absint.check/2": {"failure": PLACE, "doubts[]": PLACE | {"kind", "when"}, "premises[]": PLACE},
    "absint.check-range/3": {"failure": PLACE, "open[]": PLACE, "doubts[]": PLACE | {"kind", "when"},
                             "premises[]": PLACE},
    "absint.classes/2": {"assuming[]": CONSTRAINT},
    "absint.diff/1": {
        **{f"contract.{key}[]": UNMET for key in ("narrowed", "widened", "undecided", "widening_undecided")},
        **{f"{ports}.items[]": PORT for ports in ("inputs", "outputs")},
        "cost.amounts[]": {"name", "A", "B", "difference", "numbers", "ratio"},
        "cost.coverage": {"A", "B", "A.exact", "A.dims", "B.exact", "B.dims"},
        "operators_defined_anew[]": {"operator", "first", "second", "nodes"},
        "values[]": {"name", "A", "B", "at{}", "decided"},
    },
    "absint.freeze/2": {"failure": PLACE, "doubts[]": PLACE | {"kind", "when"}},
    "absint.explain/2": {"steps[].requires[]": STATED, "steps[].defined[]": STATED, "steps[].facts[]": STATED},
}  # fmt: skip
"""Keys that the page names once for several places."""

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
OPAQUE = "(float[N] x) => (float[N] y) {y = my.Nothing(x)}"
RANKS = "(float[N] x, int64[K] t) => (float[A] y) {y = Reshape(x, t)}"
OPEN = "(float[K, 8] table, int64[] ids) => (float[] y) {rows = Gather(table, ids)  y = Relu(rows)}"
MODELS = {"opaque": OPAQUE, "ranks": RANKS, "sizes": SIZES, "places": PLACES, "broken": BROKEN, "eighths": EIGHTHS,
          "pooled": POOLED, "sliced": SLICED, "still": STILL, "table": TABLE, "open": OPEN}  # fmt: skip


def keys(data: object, below: str = "") -> Iterator[str]:
    """The path of every key."""
    if isinstance(data, dict):
        for name, item in data.items():
            path = f"{below}.{name}" if below else name
            yield path
            yield from keys(item, path)
    elif isinstance(data, list):
        for item in data:
            yield from keys(item, f"{below}[]")


def documented(schema: str, section: str) -> set[str]:
    """Paths that a section names, in the first column or with a dot; `{}` ends one whose keys may be any names."""
    first = re.findall(r"^\|([^|]*)\|", section, re.MULTILINE)
    named = {path for cell in first for path in KEY.findall(cell)} | {p for p in KEY.findall(section) if "." in p}
    return named | {f"{above}.{key}" for above, form in FORMS.get(schema, {}).items() for key in form}


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, set[str]]:
    """The paths of keys that the commands print, by schema."""
    monkeypatch.chdir(tmp_path)
    for name, text in MODELS.items():
        onnx.save(parser.parse_model(f'<ir_version: 10, opset_import: ["": 18, "my": 1]> g {text}'), f"{name}.onnx")
    np.savez("feeds.npz", image=np.zeros((1, 3, 32, 32), np.float32))
    found: dict[str, set[str]] = {}
    for command in (
        "analyze sizes.onnx --timings --trace r --require ranks",
        "analyze broken.onnx",
        "analyze places.onnx",
        "analyze opaque.onnx --trust custom",
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
        "certify sizes.onnx -o certificate --prove N==1",
        f"cost {DETECTOR}",
        f"devices {DETECTOR}",
        f"ranges {DETECTOR}",
        f"audit {DETECTOR}",
        "lint broken.onnx",
        "policies",
        "rules Gather Relu --prove",
        "rules Relu --prove --solver z3 --seconds 0.001",
        "dynamize still.onnx x[0]=n",
        "dynamize table.onnx x[0]=n",
        "diff broken.onnx sizes.onnx --values",
        "diff pooled.onnx sliced.onnx --values",
        "diff sliced.onnx pooled.onnx --evidence none",
        "explain ranks.onnx y",
        f"explain {DETECTOR} boxes",
        f"explain {DETECTOR} /Resize_output_0",
    ):
        run([*command.split(), "--format", "json"])
        data = json.loads(capsys.readouterr().out)
        found.setdefault(data["schema"], set()).update(keys(data))
    return found


def is_named(path: str, named: set[str]) -> bool:
    """The page names the key, one below it, or an object with keys of any name that has it."""
    if path in named or any(name.startswith((f"{path}.", f"{path}[]", f"{path}{{}}")) for name in named):
        return True
    parts = path.split(".")
    return any(f"{'.'.join(parts[:n])}{{}}" in named for n in range(1, len(parts)))


def test_every_key_is_on_the_page(printed: dict[str, set[str]]) -> None:
    sections = dict(SECTION.findall(PAGE))
    assert sections.keys() == printed.keys()
    for schema, paths in printed.items():
        named = documented(schema, sections[schema])
        forms = FORMS.get(schema, {})
        inner = {path for path in paths if ".contents." in path or path.startswith(("check.", "element"))}
        missing = {path for path in paths - inner if not is_named(path, named)}
        assert not missing, (schema, sorted(missing))
        flat = paths | {f"{path}{end}" for path in paths for end in ("[]", "{}")}
        of_forms = {f"{above}.{key}" for above, form in forms.items() for key in form}
        unknown = {name for name in named - of_forms if name not in flat}
        assert not unknown, (schema, sorted(unknown))
