"""Claims that are proved, refuted by a run, or neither."""

from __future__ import annotations

import numpy as np
import pytest

import absint
from absint.jobs.auditing import Audit, Claims, Judgement, Place, declared, judge
from absint.jobs.auditing.runs import Runs
from absint.questions.claims.claims import Stated
from absint.questions.claims.judging import false_declarations
from absint.runs.process import ProcessError
from tests.absint.jobs.auditing.models import LIE, SUM, model
from tests.absint.jobs.declared.test_false import BRANCH, GROWING, SCAN, TWICE

PROVED, REFUTED = Judgement.PROVED, Judgement.REFUTED
NOT_ENTAILED, UNPROVED = Judgement.NOT_ENTAILED, Judgement.UNPROVED

JOIN = "(float[N] x, float[M] y) => (z) {z = Concat<axis = 0>(x, y)}"
DOUBLED_TWICE = """(float[N] x) => (y) {t = Constant<value_int = 2>() y = Loop(t, , x)
    <body = b (int64 i, bool c, float[K] v) => (bool d, float[L] w) {d = Identity(c) w = Concat<axis = 0>(v, v)}>}"""
ROWS_OF_FOUR = "(float[N, 6] x) => (y) {s = Constant<value_ints = [-1, 4]>() y = Reshape(x, s)}"
FIRST_FIVE = """(float[N] x) => (y)
    {b = Constant<value_ints = [0]>() e = Constant<value_ints = [5]>() y = Slice(x, b, e)}"""
HALVED = """(float[N] x) => (y) <int64[1] five = {5}, int64[1] two = {2}, int64[1] three = {3}>
    {n = Shape(x) m = Sub(n, five) h = Div(m, two) s = Add(h, three) y = ConstantOfShape(s)}"""
SQUEEZED = "(float[N, M] x) => (y) {y = Squeeze(x)}"
COUNTED = "(float[N] x) => (y) {y = NonZero(x)}"
COUNTED_ALL = "(float[N] x) => (y) {a = Exp(x) y = NonZero(a)}"
UNNEEDED = "(float[N, M] x) => (y) {y = NonZero(x) t = Constant<value_ints = [12]>() d = Reshape(x, t)}"
TARGET = "(float[N] x, int64[K] s) => (y) {y = Reshape(x, s)}"

CASES: list[tuple[str, dict[str, tuple[Stated, ...] | None], dict[str, Judgement]]] = [
    # a symbol against a symbol is neither of them, nor the larger one: 0 wins over 1
    (SUM, {"z": ("M",)}, {"rank(z) == 1": PROVED, "z[0] == M": REFUTED}),
    (SUM, {"z": ("max(N, M)",)}, {"rank(z) == 1": PROVED, "z[0] == max(M, N)": REFUTED}),
    (SUM, {"z": (None,)}, {"rank(z) == 1": PROVED}),
    (SUM, {"z": None}, {}),
    # a loop is more than one visit of its body
    (DOUBLED_TWICE, {"y": ("2*N",)}, {"rank(y) == 1": PROVED, "y[0] == 2*N": REFUTED}),
    (DOUBLED_TWICE, {"y": ("4*N",)}, {"rank(y) == 1": PROVED, "y[0] == 4*N": PROVED}),
    (DOUBLED_TWICE, {"Loop#1/body/v": ("N",)}, {"rank(Loop#1/body/v) == 1": PROVED, "Loop#1/body/v[0] == N": REFUTED}),
    # what is left in a reshape
    (ROWS_OF_FOUR, {"y": ("N", 4)}, {"rank(y) == 2": PROVED, "y[0] == N": REFUTED, "y[1] == 4": PROVED}),
    (ROWS_OF_FOUR, {"y": ("3*N // 2", 4)}, {"rank(y) == 2": PROVED, "y[0] == N + N//2": PROVED, "y[1] == 4": PROVED}),
    # the end of a slice is clamped
    (FIRST_FIVE, {"y": (5,)}, {"rank(y) == 1": PROVED, "y[0] == 5": REFUTED}),
    (FIRST_FIVE, {"y": ("min(N, 5)",)}, {"rank(y) == 1": PROVED, "y[0] == min(N, 5)": PROVED}),
    # Div rounds towards zero
    (HALVED, {"y": ("(N - 5) // 2 + 3",)}, {"rank(y) == 1": PROVED, "y[0] == (N + 1)//2": REFUTED}),
    (HALVED, {"y": ("(N - 5) / 2 + 3",)}, {"rank(y) == 1": PROVED, "y[0] == truncdiv(N - 5, 2) + 3": PROVED}),
    # axes of size 1 are gone
    (SQUEEZED, {"y": ("N", "M")}, {"rank(y) == 2": REFUTED, "y[0] == N": REFUTED, "y[1] == M": REFUTED}),
    # what data decide
    (COUNTED, {"y": (1, "N")}, {"rank(y) == 2": PROVED, "y[0] == 1": PROVED, "y[1] == N": REFUTED}),
    # a run executes nodes that no output needs
    (UNNEEDED, {"y": (2, "N")}, {"rank(y) == 2": PROVED, "y[0] == 2": PROVED, "y[1] == N": REFUTED}),
    (COUNTED_ALL, {"y": (1, "N")}, {"rank(y) == 2": PROVED, "y[0] == 1": PROVED, "y[1] == N": NOT_ENTAILED}),
    ("(float[] x) => (y) {y = Relu(x)}", {"y": (3,)}, {"rank(y) == 1": UNPROVED, "y[0] == 3": UNPROVED}),
    # one name at two places; a name alone claims nothing
    (JOIN, {"z": ("total",)}, {"rank(z) == 1": PROVED}),
    (JOIN, {"x": ("a",), "z": ("a",)}, {"rank(z) == 1": PROVED, "z[0] == x[0]": REFUTED}),
    (
        JOIN,
        {"x": ("a",), "y": ("b",), "z": ("a + b",)},
        {"rank(z) == 1": PROVED, "z[0] == a + b where a = x[0], b = y[0]": PROVED},
    ),
    (
        "(float[N] x) => (a, b) {a = Relu(x) b = Concat<axis = 0>(x, x)}",
        {"a": ("k + 1",), "b": ("k + 1",)},
        {"rank(a) == 1": PROVED, "rank(b) == 1": PROVED, "b[0] == a[0]": REFUTED},
    ),
    # never, whatever the sizes
    ("(float[N] x) => (y) {y = Relu(x)}", {"y": ("N + 1",)}, {"rank(y) == 1": PROVED, "y[0] == N + 1": REFUTED}),
    ("(float[N] x) => (y) {y = Relu(x)}", {"y": ("N", 1)}, {"rank(y) == 2": REFUTED}),
    # nothing is proved of a model that never runs
    (
        "(float[2, 3] x, float[4, 5] w) => (y, z) {y = MatMul(x, w) z = Relu(x)}",
        {"z": (2, 3)},
        {"rank(z) == 2": UNPROVED, "z[0] == 2": UNPROVED, "z[1] == 3": UNPROVED},
    ),
    # names of values that are not there
    (JOIN, {"nowhere": ("N",)}, {}),
]  # fmt: skip


def judged(text: str, shapes: dict[str, tuple[Stated, ...] | None], *, confirm: bool = True) -> Audit:
    return judge(absint.analyze(model(text)), Claims("somebody", shapes), confirm=confirm)


@pytest.mark.parametrize(("text", "shapes", "expected"), CASES)
def test_a_claim_is_judged(
    text: str, shapes: dict[str, tuple[Stated, ...] | None], expected: dict[str, Judgement]
) -> None:
    found = judged(text, shapes)
    assert {item.relation: item.judgement for item in found.judged} == expected
    for item in found.judged:
        if item.judgement is REFUTED:
            assert item.confirmed
            assert item.counterexample is not None
            assert item.because


def test_a_refutation_shows_the_sizes_and_the_run() -> None:
    (item,) = judged(FIRST_FIVE, {"y": (5,)}).of(REFUTED)
    assert item.places == (Place("y", 0),)
    assert item.counterexample is not None
    size = item.counterexample["N"]
    assert size < 5
    assert item.because == (f"y[0] is {size}, not 5",)


def test_a_proof_names_what_it_rests_on() -> None:
    text = "(float[N, K] x, float[D, 2] w) => (y, z) {y = MatMul(x, w) z = Relu(x)}"
    found = judged(text, {"z": ("N", "D")})
    assert found.counts[PROVED] == 3
    (item,) = (item for item in found.judged if item.relation == "z[1] == D")
    assert any("inner dimensions" in reason for reason in item.because)


def test_without_runs_nothing_is_refuted() -> None:
    found = judged(SUM, {"z": ("M",)}, confirm=False)
    (item,) = found.of(NOT_ENTAILED)
    assert not item.confirmed
    assert item.counterexample is not None
    assert item.because == ("no run was asked for",)


def test_a_model_that_cannot_be_run_is_refuted_by_proof_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runs, "run", lambda *_, **__: [])
    found = judged(SUM, {"z": ("M",)})
    (item,) = found.of(REFUTED)
    assert not item.confirmed
    assert found.unconfirmed == 1
    assert item.because[0].startswith("by proof alone")


def test_data_that_decide_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runs, "run", lambda *_, **__: [])
    (item,) = judged(COUNTED, {"y": (None, "N")}).of(NOT_ENTAILED)
    assert item.because == ("it rests on data-dependent sizes",)


@pytest.mark.parametrize(
    ("text", "refuted"),
    [
        (SCAN, ["Scan#0/body/u[0] == 3", "Scan#0/body/w[0] == N"]),
        (TWICE, ["Loop#1/body/v[0] == N"]),
        (BRANCH, []),  # data decide which branch is taken,
        (GROWING, []),  # and how often the body
    ],
)
def test_a_body_is_refuted_by_proof_alone_where_sizes_decide_that_it_is_visited(
    text: str, refuted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Runs, "run", lambda *_, **__: [])
    result = absint.analyze(model(text))
    found = judge(result, declared(result.model))
    assert [item.relation for item in found.of(REFUTED)] == refuted
    assert found.unconfirmed == len(refuted)


@pytest.mark.parametrize("text", [SCAN, TWICE, BRANCH, GROWING, LIE])
def test_an_audit_and_an_analysis_show_the_same_sizes(text: str) -> None:
    result = absint.analyze(model(text))
    told = {item.declaration.key: item.sizes for item in false_declarations(result)}
    found = judge(result, declared(result.model)).of(REFUTED)
    assert told == {item.places[0].value: item.counterexample for item in found}


def test_known_sizes_and_feeds_are_run_first() -> None:
    result = absint.analyze(model(TARGET))
    claims = Claims("somebody", {"y": ("N", 1)})
    feeds = {"x": np.zeros(6, np.float32), "s": np.array([2, 3])}
    (item,) = (item for item in judge(result, claims, runs=[feeds]).judged if item.relation == "y[0] == N")
    assert (item.counterexample, item.because) == ({"N": 6, "K": 2}, ("y[0] is 2, not 6",))
    assert judge(absint.analyze(model(SUM)), Claims("somebody", {"z": ("M",)}), sizes=[{"N": 6, "M": 1}]).of(REFUTED)[
        0
    ].counterexample == {"N": 6, "M": 1}


@pytest.mark.parametrize(
    ("sizes", "feeds"),
    [
        ([{"N": 6}], []),
        ([{"N": 6, "M": 1}], []),
        ([{"N": 3, "M": 3, "K": 3}], []),
        ([], [{"x": np.zeros(6, np.float32), "y": np.zeros(1, np.float32)}]),
        ([], [{"x": np.zeros(6, np.float32)}]),
    ],
)
def test_runs_that_are_not_of_the_claim_refute_nothing(
    sizes: list[dict[str, int]], feeds: list[dict[str, np.ndarray]]
) -> None:
    result = absint.analyze(model(SUM), assume=["N == M"])
    assert judge(result, Claims("somebody", {"z": ("M",)}), sizes=sizes, runs=feeds).counts[REFUTED] == 0
    result = absint.analyze(model(SUM.replace("M", "N")))
    assert judge(result, Claims("somebody", {"z": (6,)}), runs=feeds, sizes=sizes).of(REFUTED)[0].counterexample in (
        {"N": size} for size in range(30) if size != 6
    )


def test_equal_relations_are_asked_once_and_runs_are_shared() -> None:
    names = [f"v{number}" for number in range(20)]
    nodes = " ".join(f"{new} = Relu({old})" for old, new in zip(["z", *names], names, strict=False))
    body = f"z = Identity(x) m = MatMul(x, w) {nodes}"
    result = absint.analyze(model(f"(float[N, K] x, float[D, 2] w) => (m) {{{body}}}"))
    claims = Claims("somebody", dict.fromkeys(names, ("N", "D")))
    first = judge(result, claims)
    assert first.counts[PROVED] == 60
    assert first.solver_calls <= 1


def test_counts() -> None:
    result = absint.analyze(model(JOIN))
    claims = Claims("somebody", {"x": ("N",), "z": ("u",), "nowhere": (3,)}, anonymous=frozenset({"u"}))
    found = judge(result, claims)
    assert (found.dims, found.resolved) == (1, 0)
    assert judge(result, Claims("somebody", {"z": (None,)})).dims == 1
    assert judge(result, Claims("somebody", {"z": ("N + M",)})).resolved == 1
    wrong = [judge(result, Claims("somebody", {"z": shape})) for shape in (("N",), ("N", 2))]
    assert [(found.counts[REFUTED], found.resolved) for found in wrong] == [(1, 0), (1, 0)]


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    result = absint.analyze(model(LIE))
    judge(result, declared(result.model), advance=lambda done, total: told.append((done, total)))
    assert told == [(0, 1)]


def test_runs_that_hang_or_end_onnxruntime_take_no_more_than_the_time_that_is_given() -> None:
    """A kernel of size 0 does either; with any other the claim is true."""
    text = '(float[1, 3, 8, 8] x, float[4, 3, h, w] k) => (y) {y = Conv<auto_pad = "SAME_LOWER">(x, k)}'
    proto = model(text)
    found = judge(absint.analyze(proto), Claims("somebody", {"y": (1, 4, 8, 8)}), seconds=8)
    assert found.judging < 30
    judged = {item.relation: item for item in found.judged}
    assert judged["y[1] == 4"].judgement is PROVED
    assert judged["y[2] == 8"].judgement in (NOT_ENTAILED, UNPROVED)
    assert (
        "used up" in judged["y[2] == 8"].because[0]
        or "a run at these sizes fails: it " in judged["y[2] == 8"].because[0]
    )


def test_a_hanging_run_costs_the_others_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts that share a process are made one by one after it died or met its limit."""
    runs = Runs(absint.analyze(model(SUM)))
    asked = []

    def replies(feeds: list[dict[str, np.ndarray]], _: bool) -> list[object]:
        asked.append(len(feeds))
        if any(len(one["x"]) == 3 for one in feeds):
            raise ProcessError("it did not end within 1 s", "timed out")
        return [{name: [array.shape] for name, array in one.items()} for one in feeds]

    monkeypatch.setattr(runs, "_replies", replies)
    at = [{"N": 3, "M": 3}, {"N": 2, "M": 2}]
    assert [run.sizes for run in runs.at(at)] == [{"N": 2, "M": 2}] * 3
    assert asked == [6, 1, 1, 1, 1]  # sizes that were lost once are not tried again
    assert runs.failure_at({"N": 3, "M": 3}) == "it did not end within 1 s"
