"""Every document that a command prints is one of its JSON Schema, which names every key."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import pytest

import absint
from absint.cli import COMMANDS, run
from absint.show.schemas import json_schema, names
from tests.absint.commands.cli_models import write_models
from tests.models import parsed
from tests.pages.test_json_keys import BROKEN, OPEN, POOLED, SIZES, SLICED

ROOT = Path(__file__).parents[1]
EXAMPLES = [str(ROOT / "examples" / f"tiny_{name}.onnx") for name in ("detector", "decoder")]
LOOP = """(float[N, 3] x, int64 trips, bool go, seq(float[N]) s, optional(float[N]) o) => (y, s, o, last) {
    y = Loop(trips, go, x) <body = b (int64 i, bool c, float[N, 3] a) => (bool c, float[N, 3] z) {z = Relu(a)}>
    last = Identity(y)
}"""
BAKED = """(float[2, 3, 4] x) => (z, y, w) <
    int64[2] target = {2, 12}, int64[3] whole = {2, 3, 4}, float[2, 3, 4] mask
> {
    y = Reshape(x, target)  z = Expand(x, whole)  w = Add(x, mask)
}"""
SMALL = ("product", "unet", "never", "free", "fixed", "matched", "odd", "branches", "sizes", "broken", "loop")


def strict(schema: Any) -> Any:
    """The schema without room for keys that it does not name."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(item) for key, item in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") in ("object", ["object", "null"]):
        closed["additionalProperties"] = False
    return closed


STRICT = {
    name: jsonschema.Draft202012Validator(json_schema(name) if name == "constraints" else strict(json_schema(name)))
    for name in names()
}
"""The schema of constraints leaves no room for other keys itself."""


def check(document: Any) -> str:
    """The name of the document, if it is one of its schema."""
    form = document.get("schema") or document["format"]
    name = re.fullmatch(r"absint\.([\w-]+)/[0-9]+", form)[1]  # type: ignore[index]
    errors = [f"{error.json_path}: {error.message}"[:300] for error in STRICT[name].iter_errors(document)]
    assert not errors, (form, errors[:5])
    assert document["absint"] == absint.__version__
    return name


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_models()
    small = (
        ("sizes", SIZES),
        ("broken", BROKEN),
        ("pooled", POOLED),
        ("sized", BAKED),
        ("sliced", SLICED),
        ("loop", LOOP),
        ("open", OPEN),
    )
    for name, text in small:
        onnx.save(parsed(text), f"{name}.onnx")
    np.savez("feeds.npz", image=np.zeros((1, 3, 32, 32), np.float32))
    np.savez("product.npz", x=np.ones((2, 3), np.float32), w=np.ones((4, 2), np.float32))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--format", "json"]) in (0, 1, 3), arguments
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    "command",
    [
        "analyze --values --timings --require shapes --require ranks --require rules",
        "analyze --policy max",
        "contract --all",
        "contract --samples 2",
        "contract --role all",
        "equal --distinct",
        "equal --what shapes",
        "equal --what buffers",
        "cost",
        "audit --no-confirm",
        "lint",
        "prove",
    ],
)
def test_documents_about_every_model(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    word, *options = command.split()
    more = ["1 == 1", "1 == 2"] if word == "prove" else []
    for model in (*(f"{name}.onnx" for name in SMALL), *EXAMPLES):
        document = printed(capsys, word, model, *more, *options)
        name = check(document)
        assert name == "lint" or document["model"] == model


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("check sizes.onnx N=20000000 K=2", "check"),
        ("check product.onnx N=1 K=2 D=3", "check"),
        ("check product.onnx x=2x3 D=3 --assume N>=1", "check"),
        ("check branches.onnx N=5 K=0 D=0", "check"),
        ("check sizes.onnx N=1.. K=2..4 --assume N>=2", "check-range"),
        ("check matched.onnx N=0..9 D=2", "check-range"),
        ("check broken.onnx N=1..", "check-range"),
        ("check unet.onnx H=2..8 W=2", "check-range"),
        ("check DETECTOR --feeds feeds.npz", "check-feeds"),
        ("check product.onnx --feeds product.npz", "check-feeds"),
        ("prove product.onnx x[1]==w[0] _d0<=1 N>=1 found[0]==3 --assume N<=9", "prove"),
        ("prove never.onnx N==1", "prove"),
        ("explain DETECTOR boxes", "explain"),
        ("explain DETECTOR boxes[0] batch=2", "explain"),
        ("explain branches.onnx n --element 0", "explain"),
        ("explain loop.onnx y --policy max", "explain"),
        ("analyze loop.onnx --trace y --trace last trips=3", "analyze"),
        ("cost unet.onnx H=2 W=4", "cost"),
        ("devices unet.onnx", "devices"),
        ("simplify unet.onnx -o simplified.onnx", "simplify"),
        ("rows unet.onnx", "rows"),
        ("rows pooled.onnx", "rows"),
        ("ranges unet.onnx", "ranges"),
        ("diff broken.onnx sizes.onnx --values", "diff"),
        ("diff pooled.onnx sliced.onnx --values", "diff"),
        ("diff sliced.onnx pooled.onnx --evidence none", "diff"),
        ("diff product.onnx product.onnx", "diff"),
        ("profile DETECTOR batch=1..4..8 height=32..64 width=32..64", "profile"),
        ("profile unet.onnx H=2..8 W=2", "profile"),
        ("dynamize fixed.onnx x[0]=batch", "dynamize"),
        ("dynamize sized.onnx x[0]=batch x[1]=seq", "dynamize"),
        ("dynamize sized.onnx x[0]=batch --fix", "dynamize"),
        ("freeze DETECTOR", "freeze"),
        ("freeze DETECTOR batch=1 height=64 width=64 -o out.onnx", "freeze"),
        ("freeze sizes.onnx N=2 --assume K>=1 -o out.onnx", "freeze"),
        ("freeze branches.onnx", "freeze"),
        ("freeze unet.onnx H=3 W=2 -o out.onnx", "freeze"),
        ("freeze unet.onnx H=3 -o out.onnx", "freeze"),
        ("freeze open.onnx", "freeze"),
        ("freeze open.onnx K=2 -o out.onnx", "freeze"),
        ("certify sizes.onnx -o certificate --prove N==1", "certify"),
        ("policies", "policies"),
        ("rules", "rules"),
        ("rules Gather com.microsoft::Gelu --prove", "rules"),
        ("rules Concat --prove --solver both", "rules"),
        ("rules unet.onnx --prove", "proved-nodes"),
    ],
)  # fmt: skip
def test_documents_of_single_commands(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = command.replace("DETECTOR", EXAMPLES[0]).split()
    assert check(printed(capsys, *words)) == name


@pytest.mark.usefixtures("models")
def test_documents_about_folders(capsys: pytest.CaptureFixture[str]) -> None:
    Path("some").mkdir()
    Path("product.onnx").rename("some/product.onnx")
    found = printed(capsys, "study", "some", "--source", "declared", "--jobs", "1", "--no-confirm")
    assert check(found) == "study"
    found = printed(capsys, "export-queries", "some", "--out", "out", "--source", "declared", "--jobs", "1", "--check")
    assert check(found) == "export-queries"


@pytest.mark.usefixtures("models")
def test_several_models_are_a_list_with_an_error_where_one_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["contract", "free.onnx", "gone.onnx", "never.onnx", "--format", "json"]) == 2
    said = capsys.readouterr()
    documents = json.loads(said.out)
    assert list(map(check, documents)) == ["contract", "error", "contract"]
    assert [document["model"] for document in documents] == ["free.onnx", "gone.onnx", "never.onnx"]
    assert documents[1]["error"] == "gone.onnx does not exist"
    assert said.err == "absint: error: gone.onnx does not exist\n"
    assert run(["contract", "free.onnx", "never.onnx", "--format", "json"]) == 1


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("model", ["sizes", "loop", "branches", "product"])
def test_the_manifest_of_a_certificate_has_a_schema(model: str) -> None:
    found = absint.analyze(f"{model}.onnx").certify(["1 <= 2"])
    assert check(json.loads(found.manifest())) == "certificate"


@pytest.mark.usefixtures("models")
def test_answers_of_python_have_schemas_too() -> None:
    result = absint.analyze("product.onnx")
    sizes = {"N": 1, "K": 2, "D": 3}
    for text, name in (
        (result.contract().to_json(model="product.onnx"), "contract"),
        *(
            (found.to_json(), "classes")
            for found in (result.equal_dims(), result.equal_shapes(), result.equal_buffers())
        ),
        (result.check(sizes).to_json(), "check"),
        (result.check_range({"N": (1, 2)}).to_json(), "check-range"),
        (result.nearest(sizes).to_json(), "nearest"),
        (result.compare({"x": (2, 3)}, {"z": (2, 5)}).to_json(), "compare"),
        (result.explain("z").to_json(), "explain"),
    ):
        assert check(json.loads(text)) == name


@pytest.mark.parametrize("name", names())
def test_schemas_are_schemas_and_every_key_is_described_in_one_form(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["schema", name]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    if name != "constraints":
        assert schema["title"].startswith(f"absint.{name}/")
        assert schema["title"].partition(":")[0] == schema["properties"]["schema"]["const"]


def test_an_undocumented_key_is_found() -> None:
    document = json.loads(absint.analyze(EXAMPLES[0]).contract().to_json())
    check(document)
    for broken in ({**document, "more": 1}, {**document, "possible": "yes"}, {**document, "shared": {"N": 3}}):
        with pytest.raises(AssertionError):
            check(broken)


def test_schemas_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    assert capsys.readouterr().out.split() == names()
    assert run(["schema", "analyse"]) == 2
    assert capsys.readouterr().err == "absint: error: no document is called 'analyse'; did you mean 'analyze'?\n"
    others = {"equal": "classes", "schema": None, "annotate": None, "report": None, "site": None}
    assert {others.get(name, name) for name in COMMANDS} - {None} <= set(names())
