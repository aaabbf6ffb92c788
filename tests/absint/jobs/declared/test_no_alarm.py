"""No false alarms: every false declaration that is told is shown by a run at the sizes it names."""

from __future__ import annotations

from pathlib import Path

import pytest

import absint
from absint.questions.claims.judging import false_declarations
from tests.absint.jobs.declared.runs import unshown
from tests.adversarial import MODELS
from tests.soundness.models import node_tests

EXAMPLES = sorted((Path(__file__).parents[4] / "examples").glob("*.onnx"))


@pytest.mark.parametrize("name", MODELS)
def test_adversarial_models(name: str) -> None:
    assert unshown(absint.analyze(MODELS[name].model)) == []


def test_what_the_adversarial_set_has() -> None:
    told = {name for name in MODELS if false_declarations(absint.analyze(MODELS[name].model))}
    assert {f"declarations-{name}" for name in (
        "one_name_for_two_sizes", "input_name_for_a_sum", "inner_value_lies", "half_declared_as_whole",
        "maximum_declared", "pool_without_its_one", "first_dim_of_a_broadcast",
    )} <= told  # fmt: skip
    assert not told & {f"declarations-{name}" for name in (
        "count_declared", "unused_name", "true_expression", "true_name_of_a_sum", "batch_that_is_one",
    )}  # fmt: skip


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    assert unshown(absint.analyze(path)) == []


def test_node_models_of_onnx() -> None:
    """Their declarations are of the arrays beside them, so none is false."""
    told = {
        name: [str(item.message) for item in found]
        for name, test in node_tests().items()
        if (found := false_declarations(absint.analyze(test.model)))
    }
    assert told == {}
