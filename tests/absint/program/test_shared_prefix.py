"""Nodes that were lowered before: copied only if nothing that their lowering depends on has changed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper, parser

import absint
from absint.program import shared_prefix
from tests.absint.shapes.flows import FLOWS
from tests.adversarial import MODELS

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").rglob("*.onnx"))


@pytest.fixture(autouse=True)
def _purged() -> Iterator[None]:
    absint.purge()
    yield
    absint.purge()


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of nodes that each analysis copies."""
    counts: list[int] = []
    keep = shared_prefix.SharedPrefix.keep

    def spied(self: shared_prefix.SharedPrefix) -> None:
        counts.append(self.copied)
        keep(self)

    monkeypatch.setattr(shared_prefix.SharedPrefix, "keep", spied)
    return counts


def answers(model: onnx.ModelProto | Path) -> list[str]:
    """All nodes and what is said of them; or why there is no answer."""
    try:
        result = absint.analyze(model)
    except absint.ModelError as error:
        return [str(error)]
    nodes = [f"{node} {node.operands} {node.outputs} {node.gate} {node.path}" for node in result.nodes]
    return [*nodes, *map(str, result.states), *map(str, result.diagnostics), *map(str, result.constraints)]


@pytest.mark.parametrize("is_file", [True, False])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_model_that_comes_again_is_copied(path: Path, is_file: bool, copied: list[int]) -> None:
    model = path if is_file else onnx.load(path)
    first = answers(model)
    assert [answers(model) for _ in range(3)] == [first] * 3
    nodes = onnx.load(path).graph.node
    plain = next((at for at, node in enumerate(nodes) if node.op_type in ("If", "Loop")), len(nodes))
    assert copied == [0, 0, plain, plain]


def edited(model: onnx.ModelProto, draw: random.Random) -> onnx.ModelProto:
    """A revision: a node renamed, exchanged with its neighbour, dropped, repeated or without an attribute."""
    found = deepcopy(model)
    nodes = found.graph.node
    at = draw.randrange(len(nodes))
    edit = draw.choice(("name", "exchange", "drop", "repeat", "attribute"))
    if edit == "name":
        nodes[at].name += "_"
    elif edit == "exchange" and at + 1 < len(nodes):
        node = deepcopy(nodes[at])
        nodes[at].CopyFrom(nodes[at + 1])
        nodes[at + 1].CopyFrom(node)
    elif edit == "drop":
        del nodes[at]
    elif edit == "repeat":
        nodes.append(deepcopy(nodes[at]))
    elif nodes[at].attribute:
        del nodes[at].attribute[draw.randrange(len(nodes[at].attribute))]
    return found


REVISED = {name: MODELS[name].model for name in sorted(MODELS)[::4]} | {
    name: FLOWS[name]().model for name in sorted(FLOWS)[::3]
}


@pytest.mark.parametrize("name", REVISED)
def test_a_revision_gets_the_answers_that_it_gets_alone(name: str) -> None:
    model, draw = REVISED[name], random.Random(name)
    revised = edited(model, draw)
    known = answers(model)
    for _ in range(2):
        assert answers(model) == known
    again = [answers(revised), answers(revised), answers(model), answers(revised)]
    absint.purge()
    alone = answers(revised)
    assert again == [alone, alone, known, alone]


CHAIN = """<ir_version: 9, opset_import: ["" : 17]>
    g (float[N, M] x) => (float[K] y) <int64[1] t = {-1}>
    { a = Relu(x) c = Constant<value = int64[1] {2}>() b = Concat<axis = 0>(a, a) y = Reshape(b, t) }"""


def flatten(model: onnx.ModelProto) -> None:
    del model.graph.node[2].attribute[:]
    model.graph.node[2].attribute.append(helper.make_attribute("axis", 1))


def repeat(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].CopyFrom(helper.make_tensor("t", TensorProto.INT64, [2], [-1, 1]))


def older(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 12


def constant(model: onnx.ModelProto) -> None:
    value = helper.make_tensor("", TensorProto.INT64, [1], [3])
    model.graph.node[1].attribute[0].CopyFrom(helper.make_attribute("value", value))


@pytest.mark.parametrize(
    ("change", "kept"),
    [(flatten, 2), (repeat, 4), (older, 0), (constant, 1)],
    ids=lambda item: getattr(item, "__name__", item),
)
def test_a_model_that_is_changed_in_place(
    change: Callable[[onnx.ModelProto], None], kept: int, copied: list[int]
) -> None:
    model = parser.parse_model(CHAIN)
    for _ in range(3):
        answers(model)
    change(model)
    found = [answers(model), answers(model), answers(model)]
    assert copied[2:4] == [4, kept]
    absint.purge()
    assert found == [answers(model)] * 3


def test_the_same_nodes_behind_other_inputs(copied: list[int]) -> None:
    text = '<ir_version: 9, opset_import: ["" : 17]> g ({}) => (float[K] y) {{ y = Gather(x, z) }}'
    ways = {
        "float[N] x, int64[M] z": "[M]",
        "int64[M] z, float[N] x": "[M]",
        "int64[A] v, float[N] x, int64[M, 2] z": "[M, 2]",
    }
    for inputs, shape in [*ways.items()] * 4:
        model = parser.parse_model(text.format(inputs))
        result = absint.analyze(model)
        assert str(result.shapes["y"]) == shape
        assert [result.nodes[node].name for node, _ in result.nodes[-1].operands] == ["x", "z"]
    assert sum(copied) == 2 * len(ways)


def test_results_do_not_share_what_can_be_changed() -> None:
    model = parser.parse_model(CHAIN)
    one, two, three, four = (absint.analyze(model, bind=bind) for bind in ({}, {}, {"N": 2, "M": 3}, {}))
    assert [str(result.shapes["y"]) for result in (one, two, three, four)] == ["[2*M*N]", "[2*M*N]", "[12]", "[2*M*N]"]
    assert one.states == two.states == four.states


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_prefix, "MAX_SIZE", 40)
    text = "<ir_version: 9, opset_import: ['' : 17]> g (float[N] {0}) => (float[N] y) {{ a = Relu({0}) y = Relu(a) }}"
    for at in range(30):
        model = parser.parse_model(text.format(f"x{at}").replace("'", '"'))
        for _ in range(3):
            assert str(absint.analyze(model).shapes["y"]) == "[N]"
        assert shared_prefix.size() <= 40
    monkeypatch.setattr(shared_prefix, "MAX_NODES", 1)
    for _ in range(4):
        assert str(absint.analyze(model).shapes["y"]) == "[N]"


def test_names_that_are_not_text(copied: list[int]) -> None:
    content = parser.parse_model(CHAIN).SerializeToString()
    damaged = content.replace(b"\x0a\x01x\x12\x01a", b"\x0a\x01x\x12\x01\xff")
    assert damaged != content
    for _ in range(3):
        assert absint.analyze(content).shapes["a"] == absint.Shape(["N", "M"])
    with pytest.raises(absint.ModelError, match="not valid UTF-8"):
        absint.analyze(damaged)
    assert copied == [0, 0, 4, 0]
