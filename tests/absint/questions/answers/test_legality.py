"""All askers about sizes, on a few models; and the job that holds them against each other finds a wrong answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

import absint
from absint import Result
from absint.questions.sizes.outcomes import Outcome
from tests.jobs.legality import Asker, Case, node_cases, other_cases
from tests.models import parsed

NODES = ("linear_attention_linear_expanded", "gathernd_example_int32", "matmul_2d", "rotary_embedding")


@pytest.mark.parametrize("name", NODES)
def test_node_tests(name: str) -> None:
    total: Counter[str] = Counter()
    case = next(case for case in node_cases() if case.name == f"test_{name}")
    assert list(Asker(case, total).wrong()) == []
    assert total["answers"] > 30


def test_adversarial_models() -> None:
    total: Counter[str] = Counter()
    assert [text for case in islice(other_cases(), 0, 120, 15) for text in Asker(case, total).wrong()] == []
    assert total["runs"] > 20


def test_a_clause_of_a_broadcast_is_false_where_it_has_no_value() -> None:
    model = parsed(
        """(float[M, 4] x, float[N, 4] y, float[3, M] z) => (float[] w) { a = Add(x, y) w = MatMul(z, a) }"""
    )
    contract = absint.analyze(model).contract()
    assert [contract.allows({"M": m, "N": n}) for m, n in ((8, 8), (8, 1), (8, 0), (1, 0), (1, 8))] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_a_contract_allows_no_sizes_that_declarations_exclude() -> None:
    model = parsed("""(float["N - M"] x, float[N] y, float[M] z) => (float[] w) { w = Identity(x) }""")
    result = absint.analyze(model)
    for sizes, legal in (({"N": 3, "M": 2}, True), ({"N": 2, "M": 3}, False)):
        assert result.check(sizes).ok is legal
        assert result.contract().allows(sizes) is legal
    assert not absint.analyze(model, assume=["N >= 4"]).contract().allows({"N": 3, "M": 2})


def test_wrong_answers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    model = parsed("""(float[N] x, float[M] y) => (float[] z) { z = MatMul(x, y) }""")
    sizes = [{"N": 2, "M": 2}, {"N": 2, "M": 3}]
    case = Case("product", model, sizes, lambda at: iter([(at["N"] == at["M"], "sizes")]))
    assert list(Asker(case, Counter()).wrong()) == []
    real = Result.check

    def runs(self: Result, at: Any) -> Any:
        return replace(real(self, at), outcome=Outcome.RUNS, failure=None)

    monkeypatch.setattr(Result, "check", runs)
    texts = list(Asker(case, Counter()).wrong())
    assert any("the contract does not allow it" in text for text in texts)
    assert any("check says that it runs, and it fails" in text for text in texts)
    assert any("the box of these sizes" in text for text in texts)
