"""Random models and questions: no answer that a run contradicts. See `random_proofs` for the long hunt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import absint
from absint.questions.proofs.proof import Proof, Verdict
from absint.questions.sizes import checking
from absint.questions.sizes.outcomes import Outcome
from absint.solver.contracts.contract import Contract
from tests.soundness.proof_checks import Judge
from tests.soundness.proof_graphs import draft
from tests.soundness.random_graphs import draft as general

SEEDS = range(700_000, 700_016)
BATCH = 8
SECONDS = 2.0
"""For a query: those that take longer are unknown, which no run contradicts."""


FOUND = (300_155, 300_251, 300_428, 70_465, 31_346, 31_381)
"""Models of which a check said that they run, although slices of a scan output or a hidden target may not fit; and of
counterexamples without an element that a divisor needs.
"""


@pytest.mark.share(4)
@pytest.mark.parametrize("seed", FOUND)
def test_what_was_wrong_once(seed: int) -> None:
    problems = list(Judge(general(seed) if seed % 4 == 3 else draft(seed), seconds=SECONDS).wrong())
    assert not problems


@pytest.mark.parametrize("first", SEEDS[::BATCH])
def test_random_proofs(first: int) -> None:
    for seed in range(first, first + BATCH):
        found = general(seed) if seed % 4 == 3 else draft(seed)
        problems = list(Judge(found, seconds=SECONDS).wrong())
        assert not problems, f"seed {seed}: {problems}"


ELEMENTS = (31_337, 31_340, 31_364)
"""Models with a small integer input that decides sizes: they run at some of its elements only."""


@pytest.mark.parametrize("seed", ELEMENTS)
def test_elements_of_inputs_are_given_in_runs(seed: int) -> None:
    judge = Judge(draft(seed), seconds=SECONDS)
    assert judge.elements.keys() == judge.result.declared_inputs.elements.keys() != set()
    assert not list(judge.wrong())
    assert all(run.sizes.keys() == {*judge.names, *judge.elements} for run in judge.made)
    by_elements: dict[tuple[int, ...], set[bool]] = {}
    for run in judge.made:
        by_elements.setdefault(tuple(run.sizes[name] for name in judge.names), set()).add(run.ok)
    assert {True, False} in by_elements.values()


def test_runs_have_the_elements_of_the_binding() -> None:
    runs = Judge(draft(31_364), seconds=SECONDS).runs
    sizes = {"M": 2, "x1_dim0": 2, "N": 1}
    assert all(run.ok for run in runs.runs({**sizes, "k": 2}))
    assert not any(run.ok for run in runs.runs({**sizes, "k": 1}))
    assert {run.sizes["k"] for run in runs.runs(sizes)} >= {0, 1}


def test_every_kind_of_answer_is_judged() -> None:
    """Most models run at some sizes and fail at others; otherwise little is tested."""
    counts: Counter[str] = Counter()
    for seed in range(12):
        judge = Judge(draft(seed), seconds=SECONDS)
        list(judge.wrong())
        counts += judge.counts
    for answer in ("run: proved", "run: refuted", "inputs: proved", "inputs: refuted", "run: contradiction"):
        assert counts[answer] >= 3, answer
    for answer in ("check: runs", "check: illegal", "check_range: runs", "check_range: illegal", "clauses"):
        assert counts[answer] >= 3, answer
    assert counts["counterexamples run"] >= 20
    assert 0.2 * counts["runs"] < counts["succeeded"] < 0.95 * counts["runs"]


def test_drafts_are_the_same_every_time() -> None:
    one, two = draft(11), draft(11)
    assert one.model().SerializeToString() == two.model().SerializeToString()
    assert one.bindings == two.bindings


Faulty = Callable[..., Any]


def proves_everything(prove: Faulty) -> Faulty:
    def faulty(*args: Any, **options: Any) -> Proof:
        proof: Proof = prove(*args, **options)
        return replace(proof, verdict=Verdict.PROVED)

    return faulty


def refutes_what_it_proves(prove: Faulty) -> Faulty:
    def faulty(result: absint.Result, *args: Any, **options: Any) -> Proof:
        proof: Proof = prove(result, *args, **options)
        if proof.verdict is not Verdict.PROVED:
            return proof
        return replace(proof, verdict=Verdict.REFUTED, counterexample=dict.fromkeys(result.symbols, 4))

    return faulty


def contradicts(prove: Faulty) -> Faulty:
    def faulty(*args: Any, **options: Any) -> Proof:
        proof: Proof = prove(*args, **options)
        return replace(proof, verdict=Verdict.CONTRADICTION)

    return faulty


def always(outcome: Outcome) -> Callable[[Faulty], Faulty]:
    def wrap(check: Faulty) -> Faulty:
        def faulty(*args: Any, **options: Any) -> Any:
            return replace(check(*args, **options), outcome=outcome)

        return faulty

    return wrap


def forgets_clauses(contract: Faulty) -> Faulty:
    def faulty(*args: Any) -> Contract:
        found: Contract = contract(*args)
        return replace(found, clauses=())

    return faulty


FAULTS: dict[str, tuple[object, str, Callable[[Faulty], Faulty], int]] = {
    "proved, but false": (absint.Result, "prove", proves_everything, 1),
    "refuted, but not false": (absint.Result, "prove", refutes_what_it_proves, 1),
    "contradiction, but it runs": (absint.Result, "prove", contradicts, 1),
    "check says illegal": (absint.Result, "check", always(Outcome.ILLEGAL), 1),
    "check says runs": (absint.Result, "check", always(Outcome.RUNS), 18),
    "check_range says runs": (absint.Result, "check_range", always(Outcome.RUNS), 24),
    "the contract says everything": (absint.Result, "contract", forgets_clauses, 0),
}
"""Each with the first seed that is tried."""


@pytest.mark.parametrize("said", FAULTS)
def test_a_fault_is_found(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, wrap, first = FAULTS[said]
    monkeypatch.setattr(owner, name, wrap(getattr(owner, name)))
    problems = (problem for seed in range(first, 40) for problem in Judge(draft(seed), seconds=SECONDS).wrong())
    assert any(problem.startswith(said) for problem in problems), said


def test_a_proof_without_all_premises_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requirements of a branch taken without their guard: what such a fault would prove is false in some run."""
    from absint.lattices.logic.relation import TRUE
    from absint.solution.constraints import Recorder

    monkeypatch.setattr(Recorder, "path_condition", lambda self, gate: TRUE)
    assert checking.Recorder is Recorder
    problems = (p for seed in range(467, 470) for p in Judge(draft(seed), seconds=SECONDS).wrong())
    assert any("but it runs" in problem or "but false" in problem for problem in problems)
