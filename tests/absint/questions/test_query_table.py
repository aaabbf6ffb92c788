"""The table of queries: each gets its verdict, and real runs agree.

Proved: it holds in every run that succeeds. Refuted: a run at the counterexample makes it false. Not entailed: the
candidate meets the constraints, and either data decide or no rule promises that it runs. Contradiction: nothing runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import pytest
from onnx import ModelProto

import absint
from absint import Result
from absint.lattices.logic.relation import NO
from absint.questions.proofs.proof import Proof, Verdict
from absint.solver.constraints import meets
from tests.absint.questions.queries import corpus, graphs, handwritten
from tests.absint.questions.queries.execution import Run, Runs
from tests.absint.questions.queries.rows import Row
from tests.absint.questions.queries.truth import is_true
from tests.real_models import REAL

CORPUS_ROWS = corpus.ROWS if REAL else ()
FEWEST_RUNS = 3


@cache
def runs_of(model: Callable[[], ModelProto]) -> Runs:
    return Runs(model())


@cache
def analysed(name: str) -> Result:
    return absint.analyze(REAL[name].path)


def answered(row: Row, result: Result, *, confirm: bool | None = None) -> Proof:
    asked = row.confirm if confirm is None else confirm
    proof = result.prove(row.query, given=row.given, assume=row.assume, confirm=asked)
    assert proof.verdict.value == row.verdict, proof
    assert proof.given == row.given
    return proof


def fits(row: Row, run: Run) -> bool:
    return all(is_true(text, run.sizes, run.shapes) for text in (*row.assume, *row.where))


def tells(row: Row, run: Run) -> bool:
    return is_true(row.query, run.sizes, run.shapes)


# Handwritten models


@pytest.mark.parametrize("row", handwritten.ROWS, ids=lambda row: row.name)
def test_handwritten(row: Row) -> None:
    assert callable(row.model)
    runs = runs_of(row.model)
    proof = answered(row, runs.result)
    seen = [run for run in runs.many(row) if fits(row, run)]
    if proof.verdict is Verdict.PROVED:
        assert all(tells(row, run) for run in seen)
        impossible = runs.result.contract().possible is False
        assert impossible or row.given == "inputs" or len(seen) >= FEWEST_RUNS, f"only {len(seen)} runs"
    elif proof.verdict is Verdict.REFUTED:
        check_refuted(row, runs, proof)
    elif proof.verdict is Verdict.NOT_ENTAILED:
        check_candidate(runs.result, proof)
    elif proof.verdict is Verdict.CONTRADICTION:
        assert not seen
        assert proof.because
    else:
        assert proof.reason
        assert row.note


def test_no_candidate_where_only_a_division_by_zero_meets_what_is_assumed() -> None:
    result = absint.analyze(graphs.broadcast())
    proof = result.prove("M % 8 == 1", given="inputs", assume=["N <= 2", "7 % (N - 1) > 3"])
    assert proof.verdict is Verdict.UNKNOWN
    assert proof.counterexample is None
    assert proof.reason == "every counterexample that was found divides by zero"


def check_refuted(row: Row, runs: Runs, proof: Proof) -> None:
    """A run at the sizes succeeds, and every one that does makes the relation false."""
    sizes = proof.counterexample
    assert sizes is not None
    assert set(runs.result.symbols) <= set(sizes) <= set(runs.result.parameters)
    assert proof.relation.at(sizes) is NO
    found = runs.at(sizes)
    assert not any(tells(row, run) for run in found)
    assert all(fits(row, run) for run in found)
    if row.given == "inputs":  # what the sizes are where it runs is not the question
        return
    assert found
    assert answered(row, absint.analyze(runs.live), confirm=True).confirmed


def check_candidate(result: Result, proof: Proof) -> None:
    """The candidate meets every constraint and makes the relation false; why it is no refutation is said."""
    assert proof.counterexample is not None
    values = {**proof.counterexample, **proof.invented}
    assert proof.relation.at(values) is NO
    known = [c for c in result.constraints.of_needed if c.formula.free_symbols <= set(values)]
    assert meets((c.formula for c in known), values)
    assert proof.reason
    by_data = proof.reason.endswith("it rests on data-dependent sizes")
    assert by_data or "not shown that these sizes run" in proof.reason
    assert by_data or proof.relation.free_symbols <= set(result.symbols)


# Models of the corpus


@cache
def recorded(name: str) -> list[Run]:
    """The runs that were recorded of a model of the corpus: its inputs, and what its nodes computed."""
    truth = REAL[name].truth
    runs = []
    for number, made in enumerate(truth["runs"]):
        binding: Mapping[str, int] = made["binding"]
        inputs = REAL[name].entry["inputs"].items()
        shapes = {value: tuple(binding.get(d, d) for d in dims) for value, dims in inputs}
        shapes |= {value: tuple(seen[number]) for value, seen in truth["shapes"].items() if seen}
        runs.append(Run(binding, shapes))
    return runs


if CORPUS_ROWS:

    @pytest.mark.parametrize("row", CORPUS_ROWS, ids=lambda row: row.name)
    def test_corpus(row: Row) -> None:
        assert isinstance(row.model, str)
        result = analysed(row.model)
        proof = answered(row, result)
        seen = [run for run in recorded(row.model) if fits(row, run)]
        if proof.verdict is Verdict.PROVED:
            assert len(seen) >= FEWEST_RUNS
            assert all(tells(row, run) for run in seen)
        elif proof.verdict is Verdict.REFUTED:
            assert proof.confirmed or row.given == "inputs"
            assert proof.counterexample is not None
            assert proof.relation.at(proof.counterexample) is NO
        elif proof.verdict is Verdict.NOT_ENTAILED:
            check_candidate(result, proof)
        elif proof.verdict is Verdict.CONTRADICTION:
            assert not seen
            assert proof.because

    def test_the_corpus_tells_queries_apart() -> None:
        """Every row names values of which runs were recorded."""
        for row in CORPUS_ROWS:
            assert isinstance(row.model, str)
            for run in recorded(row.model):
                tells(row, run)


# The table as a whole


def test_size_of_the_table() -> None:
    rows = (*handwritten.ROWS, *CORPUS_ROWS)
    assert len(handwritten.ROWS) >= 60
    assert len(corpus.ROWS) >= 25
    assert len({row.name for row in rows}) == len(rows)
    assert sum(row.verdict == "unknown" for row in rows) <= 5
    for verdict in Verdict:
        assert any(row.verdict == verdict.value for row in handwritten.ROWS), verdict


def test_unknown_rows_say_why() -> None:
    assert all(row.note for row in (*handwritten.ROWS, *CORPUS_ROWS) if row.verdict == "unknown")
