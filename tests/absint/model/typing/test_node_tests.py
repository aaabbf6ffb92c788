"""Node tests of onnx with an element type that the schema forbids: all told, and every answer says so."""

from __future__ import annotations

import json

import pytest

import absint
from absint.questions.sizes.outcomes import Outcome
from absint.solver.export import to_json, to_smtlib
from tests.absint.model.typing.mutations import Mutant, disagreeing, forbidden
from tests.absint.model.typing.runtime import refusal
from tests.soundness.models import node_tests

MUTANTS = list(forbidden(seed=13))
BY_OPERATOR: dict[str, list[Mutant]] = {}
for item in MUTANTS:
    BY_OPERATOR.setdefault(item.operator, []).append(item)


def test_there_are_many() -> None:
    assert len(MUTANTS) >= 350
    assert len(BY_OPERATOR) >= 174


@pytest.mark.parametrize("operator", BY_OPERATOR)
def test_onnxruntime_refuses_them_and_no_answer_takes_them_for_legal(operator: str) -> None:
    for mutant in BY_OPERATOR[operator]:
        assert refusal(mutant.model), mutant.place
        result = absint.analyze(mutant.model)
        assert any(d.code == "ill-typed" and d.severity.value == "error" for d in result.diagnostics), mutant.place
        assert not result.can_run
        sizes = dict.fromkeys(result.symbols, 2)
        assert result.check(sizes).outcome is Outcome.ILLEGAL, mutant.place
        assert result.check_range({}).outcome is Outcome.ILLEGAL, mutant.place


@pytest.mark.parametrize("operator", list(BY_OPERATOR)[::12])
def test_contracts_proofs_and_exports_know_it(operator: str) -> None:
    for mutant in BY_OPERATOR[operator]:
        result = absint.analyze(mutant.model)
        assert str(result.contract()).startswith("false"), mutant.place
        assert result.prove("1 == 2").verdict.value == "contradiction"
        assert any(c["relation"]["text"] == "false" for c in json.loads(to_json(result.constraints))["constraints"])
        assert "false" in to_smtlib(result.constraints)


def test_types_that_must_agree() -> None:
    count = 0
    for mutant in disagreeing(seed=15):
        result = absint.analyze(mutant.model)
        assert refusal(mutant.model), f"{mutant.operator}: {mutant.place}"
        assert [d.code for d in result.diagnostics if d.severity.value == "error"] == ["ill-typed"], mutant.operator
        assert result.check(dict.fromkeys(result.symbols, 2)).outcome is Outcome.ILLEGAL
        count += 1
    assert count >= 80


def test_a_legal_model_has_no_such_error() -> None:
    for name, test in node_tests().items():
        assert not [d for d in absint.analyze(test.model, refine=False).diagnostics if d.code == "ill-typed"], name
