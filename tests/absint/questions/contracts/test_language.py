"""Contracts of models of text and sound, and of single layers, held against runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from onnx import ModelProto

from absint.questions.sizes.outcomes import Outcome
from tests.absint.questions.contracts import language
from tests.absint.questions.contracts.boundary import Binding, Boundary, around, grid

BATCH = (0, 1, 2)

CASES: list[tuple[Callable[[], ModelProto], list[str], list[Binding]]] = [
    (lambda: language.bert("slice"), ["seq <= 16"], grid(batch=BATCH, seq=around(16, 20))),
    (lambda: language.bert("range"), ["seq <= 16"], grid(batch=BATCH, seq=around(16, 20))),
    (
        lambda: language.gathered_mask(flat=True),
        ["past + seq <= 12 or seq == 0", "past + seq <= total or batch == 0"],
        grid(batch=BATCH, seq=(0, 1, 3, 12, 13), past=(0, 1, 9, 12, 13), total=(0, 1, 4, 12, 13, 20)),
    ),
    (
        lambda: language.gathered_mask(flat=False),
        ["past + seq <= 12 or seq == 0", "past + seq <= total or batch == 0"],
        grid(batch=BATCH, seq=(0, 1, 3, 12, 13), past=(0, 1, 9, 12, 13), total=(0, 1, 4, 12, 13, 20)),
    ),
    (
        language.decoder,
        ["past + seq == total or total == 1"],
        grid(batch=BATCH, seq=(0, 1, 3), past=(0, 1, 4), total=(0, 1, 2, 3, 4, 5, 7)),
    ),
    (language.causal_decoder, ["past + seq <= 12"], grid(batch=BATCH, seq=around(6, 12), past=around(6, 12))),
    (language.cross_attention, ["K == V"], grid(batch=BATCH, seq=(0, 1, 3), K=around(4), V=around(4))),
    (
        language.head_split,
        ["batch >= 1", "seq >= 1", "hidden % 4 == 0"],
        grid(batch=BATCH, seq=(0, 1, 3), hidden=around(4, 8)),
    ),
    (
        language.head_split_by_size,
        ["hidden >= 4", "hidden % 4 == 0 or batch == 0 or seq == 0"],
        grid(batch=BATCH, seq=(0, 1, 3), hidden=around(4, 8)),
    ),
    (language.split_qkv, ["width % 3 == 0"], grid(batch=BATCH, seq=(0, 2), width=around(3, 6, 12))),
    (language.rotary, ["seq <= 10", "head == 1 or head == 8"], grid(batch=BATCH, seq=around(10), head=around(8))),
    (language.first_token, ["seq >= 1"], grid(batch=BATCH, seq=around(5))),
    (lambda: language.first_token(5), ["seq >= 6"], grid(batch=BATCH, seq=around(6))),
    (lambda: language.first_token(-3), ["seq >= 3"], grid(batch=BATCH, seq=around(3))),
    (language.agreeing, ["K1 == K2"], grid(M=(0, 1, 3), K1=around(4), K2=around(4), N=(0, 2))),
    (
        language.bilinear,
        ["I == 1 or I == 3", "J == 1 or J == 5"],
        grid(N=(0, 2), I=around(3, 5), M=(0, 1), J=around(3, 5)),
    ),
    (
        language.added,
        ["N == P or N == 1 or P == 1", "M == Q or M == 1 or Q == 1"],
        grid(N=(0, 1, 2), M=(0, 1, 3), P=(0, 1, 2, 3), Q=(0, 1, 3, 4)),
    ),
    (language.bias, ["d_model == 1 or d_model == 8"], grid(batch=BATCH, seq=(0, 3), d_model=around(8, 16))),
    (language.bias_alone, ["width == 1 or width == 8"], grid(batch=BATCH, width=around(8))),
    (language.audio, ["batch >= 1"], grid(batch=BATCH, T=around(8, 16))),
    (language.audio_convs, ["T >= 60"], grid(batch=BATCH, T=around(10, 60, 80))),
    (language.frames, ["batch >= 1", "T % 4 == 0"], grid(batch=BATCH, T=around(4, 8, 12))),
    (language.masked, ["L == seq or L == 1 or seq == 1"], grid(batch=BATCH, seq=around(4), L=around(4))),
    (language.expanded, ["M == N or M == 1 or N == 1"], grid(N=around(4), M=around(4))),
    (
        language.stacked,
        ["B1 == B2 or B1 == 0 or B2 == 0 or T1 == 0 or T2 == 0"],
        grid(B1=(0, 1, 2, 3), T1=(0, 1, 2), B2=(0, 1, 2, 3), T2=(0, 1, 2)),
    ),
    (language.by_length, ["seq % 2 == 0 or seq <= 8"], grid(seq=range(16))),
]


@pytest.mark.parametrize(("build", "clauses", "bindings"), CASES)
def test_contract(build: Callable[[], ModelProto], clauses: Sequence[str], bindings: Sequence[Binding]) -> None:
    boundary = Boundary(build(), ids=30)
    assert boundary.clauses == clauses
    assert boundary.contract.possible
    boundary.check(bindings)


def test_halves_of_a_split_by_number() -> None:
    """A last part may be empty."""
    boundary = Boundary(language.gated())
    assert boundary.clauses == ["width % 2 == 0 or width <= 3"]
    boundary.check(grid(batch=BATCH, width=range(10)))


def test_an_initial_state_of_a_batch_of_its_own() -> None:
    """Empty axes end the process of onnxruntime, so they are not run."""
    boundary = Boundary(language.lstm())
    assert boundary.clauses == ["batch == states", "batch == cells"]
    boundary.check(grid(seq=(1, 3), batch=(1, 2, 4), states=(1, 2, 4), cells=(1, 2, 4)))


def test_boxes_of_a_decoder_with_a_cache() -> None:
    boundary = Boundary(language.causal_decoder())
    assert boundary.check_box(batch=(1, 2), seq=(1, 1), past=(0, 11)) is Outcome.RUNS
    assert boundary.check_box(batch=(1, 1), seq=(1, 2), past=(9, 11)) is Outcome.ILLEGAL
    assert boundary.check_box(batch=(1, 1), seq=(13, 14), past=(0, 1)) is Outcome.ILLEGAL
    boundary = Boundary(language.decoder())
    assert boundary.check_box(batch=(1, 2), seq=(2, 2), past=(3, 3), total=(5, 5)) is Outcome.RUNS
    assert boundary.check_box(batch=(1, 1), seq=(2, 2), past=(3, 3), total=(4, 6)) is Outcome.ILLEGAL
    assert boundary.check_box(batch=(1, 2), seq=(0, 3), past=(0, 3), total=(1, 1)) is Outcome.RUNS
    found = boundary.result.check({"batch": 1, "seq": 2, "past": 3, "total": 4})
    assert found.failure is not None
    assert found.failure.origin.name == "mask0.add"


def test_boxes_of_lengths() -> None:
    boundary = Boundary(language.bert("slice"), ids=30)
    assert boundary.check_box(batch=(0, 2), seq=(0, 16)) is Outcome.LEGAL
    assert boundary.check_box(batch=(1, 1), seq=(15, 18)) is Outcome.ILLEGAL
    boundary = Boundary(language.by_length())
    assert boundary.check_box(seq=(0, 8)) is Outcome.RUNS
    assert boundary.check_box(seq=(8, 10)) is Outcome.ILLEGAL
    assert boundary.check_box(seq=(10, 10)) is Outcome.RUNS
    found = boundary.result.check({"seq": 11})
    assert found.failure is not None
    assert (found.failure.origin.path, found.failure.origin.name) == ("if/then_branch", "pairs")


def test_what_symbols_may_be() -> None:
    assert str(Boundary(language.bert("slice")).result.symbol("seq")) == "0 <= seq <= 16"
    assert str(Boundary(language.cross_attention()).result.symbol("V")) == "V == K"
    assert str(Boundary(language.bias()).result.symbol("d_model")) == "d_model in {1, 8}"
    assert str(Boundary(language.head_split()).result.symbol("hidden")) == "hidden >= 0 and hidden % 4 == 0"
    assert str(Boundary(language.causal_decoder()).result.symbol("past")) == "0 <= past <= 12"
