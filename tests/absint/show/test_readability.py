"""Results are shown briefly: the shortest known form, and nothing over the budget without a word about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import onnxruntime
import pytest

import absint
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.terms.shortening import length
from absint.lattices.text import parse
from absint.shapes import readability
from tests.models import parsed

SHARED = Path(__file__).parents[4] / "shared"
MODELS = sorted(path for name in ("corpus", "corpus_more") for path in (SHARED / name).glob("*.onnx"))
LONG_OUTPUTS = {"fpn.dynamo": "the anchors of five levels, a sum of five products that have no factor in common"}
"""Models with an output dim of more than 120 characters, and the reason."""


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_no_size_of_a_real_model_is_long(path: Path) -> None:
    model = onnx.load(path, load_external_data=False)
    shapes = absint.analyze(model).shapes
    texts = {dim: str(dim) for shape in shapes.values() if shape.rank is not None for dim in shape}
    assert max(map(len, texts.values()), default=0) <= 400
    shown = [
        str(dim)
        for output in model.graph.output
        if (shape := shapes.get(output.name)) is not None and shape.rank is not None
        for dim in shape
    ]
    assert max(map(len, shown), default=0) <= 120 or path.stem in LONG_OUTPUTS


def graph(text: str) -> onnx.ModelProto:
    return parsed(f"{text}")


WIDE = """(float[N, height, width] x) => (float[A, B, C] y) {
  s = Shape(x) two = Constant<value = int64 {2}>() four = Constant<value = int64 {4}>()
  eight = Constant<value = int64 {8}>() none = Constant<value = int64[1] {0}>()
  w = Gather(s, two) a = Div(w, four) b = Div(w, eight) c = Sub(a, b)
  end = Unsqueeze(c, none) y = Slice(x, none, end, axis)
  axis = Constant<value = int64[1] {2}>() }"""


def wide() -> onnx.ModelProto:
    model = graph(WIDE)
    nodes = sorted(model.graph.node, key=lambda node: node.op_type != "Constant")
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def test_a_size_is_shown_in_its_shortest_form() -> None:
    result = absint.analyze(wide())
    assert str(result.shapes["y"]) == "[N, height, (width + 4)//8]"
    result.verify()


def test_the_shortest_form_is_that_of_every_run() -> None:
    import numpy as np

    model = wide()
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    shape = absint.analyze(model).shapes["y"]
    for width in (1, 2, 3, 4, 7, 8, 9, 31, 32, 33):
        (ran,) = session.run(None, {"x": np.zeros((1, 2, width), np.float32)})
        assert shape.evaluate({"N": 1, "height": 2, "width": width}) == list(ran.shape)


def long_size(count: int) -> onnx.ModelProto:
    inputs = ", ".join(f"float[first_size_{i}, second_size_{i}] x{i}" for i in range(count))
    flat = " ".join(f"f{i} = Flatten<axis = 2>(x{i})" for i in range(count))
    names = ", ".join(f"f{i}" for i in range(count))
    return graph(f"({inputs}) => (float[A, B] z) {{ {flat} y = Concat<axis = 0>({names}) z = Relu(y) }}")


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """400 characters at most."""
    absint.purge()
    monkeypatch.setattr(readability, "MOST", 400)
    yield
    absint.purge()


@pytest.mark.usefixtures("budget")
def test_a_size_over_the_budget_is_unknown_with_bounds_and_says_so() -> None:
    result = absint.analyze(long_size(24))
    dim = result.shapes["y"][0]
    assert str(dim) == "A"
    assert result.shapes["z"][0] is dim, "the value and its user say the same"
    (found,) = [d for d in result.diagnostics if "characters" in d.message]
    assert found.severity is absint.Severity.WARNING
    assert found.message.startswith("output 0, axis 0: its expression has about ")
    assert found.message.endswith("characters, more than 400: unknown but for its bounds")
    assert "more than 400: unknown but for its bounds" in str(result.explain("y", 0))
    result.verify()


@pytest.mark.usefixtures("budget")
def test_a_size_within_the_budget_is_exact() -> None:
    result = absint.analyze(long_size(12))
    dim = result.shapes["y"][0]
    assert isinstance(dim, Expr)
    assert len(dim.free_symbols) == 24
    assert not [d for d in result.diagnostics if "characters" in d.message]


@pytest.mark.parametrize(
    "text",
    [
        "N",
        "12",
        "N*M + 3*K - 7",
        "(height + 15)//16",
        "max(N//2, 3*M) - 1",
        "ite(N >= 4, N//4, 2*M)",
        "N*(M//2)*(K//3)",
    ],
)
def test_the_length_of_a_text_is_estimated(text: str) -> None:
    dim: Dim = parse(text)
    assert isinstance(dim, Expr)
    assert 0.6 * len(text) <= length(dim) <= 1.6 * len(text) + 2
