"""What is there for speed alone can be turned off, and every answer is the same: `absint.lattices.limits`."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import onnx
import pytest

import absint
from absint.lattices.limits import without_shortcuts
from absint.lattices.text import arithmetic
from absint.model.wire import read_attributes, read_tensors
from absint.program import shared_prefix
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.memo.gc_pause import uncollected
from absint.shapes.summaries import State
from tests.absint.shapes.flows import FLOWS
from tests.adversarial import MODELS
from tests.real_models import REAL

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.onnx"))
ADVERSARIAL = sorted(MODELS)[:: max(1, len(MODELS) // 24)]


@pytest.fixture(autouse=True)
def _purged() -> Iterator[None]:
    absint.purge()
    yield
    absint.purge()


def answers(model: onnx.ModelProto | bytes) -> list[str]:
    """Values, diagnostics, constraints, possible failures, lengths of loops, and the facts of the last round."""
    result = absint.analyze(model)
    result.verify()
    constraints = result.constraints
    trips = [f"{head}: {found}" for head, found in result.analysis.trips.items()]
    said = [f"{name}: {value!r}" for name, value in result.values.items()]
    return [
        *said,
        *trips,
        *map(str, result.diagnostics),
        *map(str, constraints),
        *map(str, constraints.possible_failures),
        *map(str, result.last.learned),
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_without_the_room(path: Path) -> None:
    model = onnx.load(path)
    found = answers(model)
    assert answers(model) == found
    with without_shortcuts():
        assert answers(model) == found


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_adversarial_models_without_the_room(name: str) -> None:
    model = MODELS[name].model
    found = answers(model)
    with without_shortcuts():
        assert answers(model) == found


@pytest.mark.parametrize("name", sorted(FLOWS)[::6])
def test_control_flow_without_the_room(name: str) -> None:
    model = FLOWS[name]().model
    found = answers(model)
    with without_shortcuts():
        assert answers(model) == found


@pytest.mark.share(4)
@pytest.mark.parametrize("name", sorted(REAL))
def test_real_models_by_the_plain_way(name: str) -> None:
    """From the bytes of the file on: with speed off it is read, lowered and analysed by the plain way."""
    content = REAL[name].path.read_bytes()
    found = answers(content)
    with without_shortcuts():
        assert answers(content) == found


def test_plain_ways_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the short ways is taken, and all of them are with speed on."""
    taken: set[str] = set()
    ways = {
        "tensors": (read_tensors, "_usual"),
        "attributes": (read_attributes, "_usual"),
        "arithmetic": (arithmetic.Arithmetic, "dim"),
        "nodes of the model of before": (shared_prefix.SharedPrefix, "_copy"),
    }
    for name, (home, function) in ways.items():
        monkeypatch.setattr(home, function, _told(name, taken, getattr(home, function)))
    content = EXAMPLES[0].read_bytes()
    with without_shortcuts():
        for _ in range(3):
            absint.analyze(content)
            absint.parse("n * 2 + 1")
    assert taken == set()
    absint.purge()
    for _ in range(3):
        absint.analyze(content)
        absint.parse("n * 2 + 1")
    assert taken == ways.keys()


def _told(name: str, taken: set[str], function: Callable[..., object]) -> Callable[..., object]:
    def way(*arguments: object, **options: object) -> object:
        taken.add(name)
        return function(*arguments, **options)

    return way


def test_without_the_room_every_rule_is_run() -> None:
    path = EXAMPLES[0]
    for _ in range(2):
        with without_shortcuts():
            base = absint.analyze(path).base.analysis
        assert base.memo is None
        assert base.applications == sum(node.operation is not None for node in base.nodes)
    assert absint.analyze(path).base.analysis.applications < base.applications / 3
    assert absint.analyze(path).base.analysis.applications == 0


def test_without_the_room_no_round_reuses_another() -> None:
    found = absint.analyze(EXAMPLES[0])
    assert len(found.rounds.rounds) > 1
    assert found.last.analysis.first_round is not None
    with without_shortcuts():
        result = absint.analyze(EXAMPLES[0])
    assert result.last.analysis.first_round is None
    assert result.last.states == found.last.states


def test_without_the_room_nodes_are_visited_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    transfer = ShapeAnalysis.transfer

    def visit(run: ShapeAnalysis, node: int, states: Sequence[State]) -> State:
        seen.append(node)
        return transfer(run, node, states)

    monkeypatch.setattr(ShapeAnalysis, "transfer", visit)
    with without_shortcuts():
        result = absint.analyze(EXAMPLES[0], refine=False)
    assert seen == list(range(len(result.nodes)))
    seen.clear()
    absint.analyze(EXAMPLES[0], refine=False)
    assert len(seen) < len(result.nodes) / 2


def test_garbage_collection_goes_on_without_the_room() -> None:
    collecting = uncollected(gc.isenabled)
    assert gc.isenabled()
    assert not collecting()
    with without_shortcuts():
        assert collecting()
    assert gc.isenabled()


@pytest.mark.parametrize("memoise", [True, False])
def test_garbage_collection_goes_on_without_the_memo(memoise: bool) -> None:
    collecting: set[bool] = set()

    def watch(done: int, total: int, phase: str) -> None:
        collecting.add(gc.isenabled())

    absint.analyze(EXAMPLES[0], memoise=memoise, on_progress=watch)
    assert collecting == {not memoise}
