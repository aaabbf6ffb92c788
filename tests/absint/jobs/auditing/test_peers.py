"""Tools that say something of shapes: installed ones, one that is recorded, and those that fail."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

import absint
from absint.errors import UsageError
from absint.jobs.auditing import TOOLS, Claims, Judgement, judge, peer
from absint.jobs.auditing.sources import _INFER, is_installed, undeclared
from absint.runs.pool import Worker
from tests.absint.jobs.auditing.models import LIE, SUM, model

JOIN = "(float[N] x, float[M] y) => (z) {z = Concat<axis = 0>(x, y) w = Add(z, z)}"
INSTALLED = [name for name, tool in TOOLS.items() if find_spec(tool.module) is not None]

BUILDER = """
class BasicShapeBuilder:
    def run_model(self, model):
        assert not model.graph.output
        {run}
    def has_shape(self, name):
        return name in SHAPES
    def get_shape(self, name):
        return SHAPES[name]
SHAPES = {shapes}
"""


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of a module that stands in for the tool's."""
    (tmp_path / "yobx").mkdir()
    (tmp_path / "yobx" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "yobx" / "xshape.py"


def test_what_is_recorded_of_a_tool_is_judged(builder: Path) -> None:
    """ShapeBuilder gives the maximum, written N^M, for a symbol against a symbol."""
    builder.write_text(BUILDER.format(run="pass", shapes={"x": ("N",), "z": ("N^M",)}))
    proto = model(SUM)
    claims = peer("yobx", proto)
    assert (claims.source, claims.failure, claims.shapes) == ("yobx", "", {"x": ("N",), "z": ("N^M",)})
    (item,) = judge(absint.analyze(proto), claims).of(Judgement.REFUTED)
    assert item.relation == "z[0] == max(M, N)"


@pytest.mark.parametrize(
    ("run", "failure"),
    [
        ("raise KeyError('no\\nrule')", r"KeyError: 'no\\nrule'"),
        ("import os; os.abort()", r"it ended its process \(SIGABRT\)"),
        ("import time; time.sleep(60)", "it did not end within 3 s"),
        ("import os; os._exit(0)", r"it ended its process \(exit code 0\)"),
        ("print('noise'); raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_tool_that_fails_takes_nothing_down(builder: Path, run: str, failure: str) -> None:
    builder.write_text(BUILDER.format(run=run, shapes={}))
    claims = peer("yobx", model(SUM), None, 3 if "sleep" in run else 60)
    assert claims.shapes == {}
    assert "\n" not in claims.failure
    assert re.fullmatch(failure, claims.failure)


def test_a_tool_that_is_not_there() -> None:
    absent = [name for name in TOOLS if name not in INSTALLED]
    for name in absent:
        assert peer(name, model(SUM)) == Claims(name, {}, f"{TOOLS[name].package} is not installed")
        assert not is_installed(name)
    with pytest.raises(UsageError, match="unknown tool 'onix': it is one of onnx, "):
        peer("onix", model(SUM))


@pytest.mark.parametrize("tool", INSTALLED)
def test_an_installed_tool_speaks(tool: str) -> None:
    proto = model(JOIN)
    claims = peer(tool, proto)
    assert not claims.failure
    assert claims.source.startswith(TOOLS[tool].package)
    found = judge(absint.analyze(proto), claims)
    assert found.seconds > 0
    assert {item.relation for item in found.of(Judgement.PROVED)} >= {"rank(z) == 1", "rank(w) == 1"}
    assert found.dims == 2


def test_names_that_a_tool_makes_up_are_not_resolved() -> None:
    proto = model("(float[N] x, float[M] y) => (z) {z = NonZero(x)}")
    claims = peer("onnx", proto)
    assert claims.shapes["z"] is not None
    assert claims.anonymous >= {dim for dim in claims.shapes["z"] if isinstance(dim, str)}
    assert judge(absint.analyze(proto), claims).resolved == 1


def test_a_tool_does_not_see_what_the_author_says() -> None:
    bare = undeclared(model(LIE))
    assert not bare.graph.value_info
    assert not bare.graph.output[0].type.tensor_type.HasField("shape")
    assert bare.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"


def test_equalities_that_are_made_up_are_refuted() -> None:
    """onnxruntime's tool may merge two symbols into one: then it claims that the inputs are equal."""
    proto = model(SUM)
    found = judge(absint.analyze(proto), peer("onnxruntime-auto-merge", proto))
    assert {item.relation for item in found.of(Judgement.REFUTED)} & {"y[0] == N", "x[0] == M"}


def test_what_a_tool_leaves_behind_counts() -> None:
    """onnxruntime's tool gives up on a symbol against a symbol, with what it has found until then in a file."""
    claims = peer("onnxruntime", model("(float[N] x, float[M] y) => (z) {a = Relu(x) z = Add(a, y)}"))
    assert claims.failure == "Exception: Incomplete symbolic shape inference"
    assert claims.shapes["a"] == ("N",)


def test_a_kept_process_takes_one_model_after_the_other(builder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after one that kills it; files that a tool leaves behind are not there for the next."""
    monkeypatch.setattr("absint.jobs.auditing.sources._process", cache(lambda tool: Worker(_INFER)))
    run = """
        import os
        open("left", "x").close()
        model.doc_string != "deadly" or os.abort()
        SHAPES["y"] = (os.getpid(),)
"""
    builder.write_text(BUILDER.format(run=run.strip(), shapes={}))
    proto = model(SUM)
    proto.graph.node[0].output[0] = "y"
    numbers = []
    for doc in ("", "", "deadly", "", ""):
        proto.doc_string = doc
        claims = peer("yobx", proto, keep=True)
        numbers.append(claims.shapes.get("y"))
        assert claims.failure == ("it ended its process (SIGABRT)" if doc else "")
    assert numbers[0] == numbers[1] != numbers[3] == numbers[4]
    assert numbers[2] is None
