"""Queries over sizes that do not broadcast, and over divisors that are 0 or negative."""

from __future__ import annotations

import pytest
from onnx import parser

import absint
from absint.questions.proofs.proof import Verdict
from tests.models import parsed

TWO = '<ir_version: 8, opset_import: ["" : 17]> g (float[N] X, float[M] Y) => (float[N] A, float[M] B) {'
APART = TWO + " A = Relu(X) B = Relu(Y) }"
TOGETHER = TWO.replace("float[N] A, float[M] B", "Z") + " Z = Add(X, Y) }"


def result_of(text: str, **options: object) -> absint.Result:
    return absint.analyze(parser.parse_model(text), **options)  # type: ignore[arg-type]


PROVED = (
    "broadcast(N, M) == N or N == 1",
    "broadcast(N, M) == M or N != 1",
    "broadcast(M, N) == M or M == 1",
    "broadcast(N, 3) == N or N == 1",
    "N % M < M",
    "(N//M)*M + N % M == N",
    "N % -3 <= 0",
)


@pytest.mark.parametrize("given", ["run", "inputs"])
@pytest.mark.parametrize("query", PROVED)
def test_what_is_false_at_no_size_is_proved(query: str, given: absint.Given) -> None:
    assert result_of(APART).prove(query, given=given).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("query", "false"),
    [
        ("broadcast(N, 3) == 3", lambda n, m: n not in (1, 3)),
        ("broadcast(N, M) == broadcast(M, N)", lambda n, m: n != m and 1 not in (n, m)),
        ("broadcast(A[0], B[0]) == broadcast(B[0], A[0])", lambda n, m: n != m and 1 not in (n, m)),
        ("N//M >= 1", lambda n, m: m > 0 and n < m),
        ("N % M == 0", lambda n, m: m > 0 and n % m),
        ("max(N, broadcast(M, 2)) <= 7", lambda n, m: max(n, 2 if m == 1 else m) > 7),
    ],
)
def test_what_is_false_somewhere_is_refuted_where_it_has_a_truth(query: str, false: object) -> None:
    proof = result_of(APART).prove(query)
    assert proof.verdict is Verdict.REFUTED
    assert proof.counterexample is not None
    assert callable(false)
    assert false(proof.counterexample["N"], proof.counterexample["M"])


def test_sizes_at_which_the_text_divides_by_zero_refute_nothing() -> None:
    """The normal form cancels `M // M`."""
    result = result_of(APART)
    for query in ("N*M // M == N + 1", "(2*M) // M + N == 1", "N + M // M != N + 1", "floordiv(N*M, M) >= N + 1"):
        proof = result.prove(query)
        assert proof.verdict is Verdict.REFUTED
        assert proof.counterexample is not None
        assert proof.counterexample["M"] >= 1
        assert result.prove(query, assume=["M == 0"]).verdict is not Verdict.REFUTED


def test_a_computed_size_is_broadcast_by_a_node_that_requires_it() -> None:
    result = result_of(TOGETHER)
    assert result.prove("Z[0] == broadcast(N, M)")
    assert result.prove("Z[0] == broadcast(M, N)")
    assert result.prove("Z[0] == N or N == 1")
    assert result.prove("Z[0] == N or N == 1", given="inputs")
    assert result.prove("Z[0] == max(N, M)", given="inputs").verdict is Verdict.REFUTED


def test_an_assumption_says_what_a_query_says() -> None:
    assert result_of(APART, assume=["broadcast(N, 3) == 3"]).prove("N == 1 or N == 3")
    assert result_of(APART).prove("N == 1 or N == 3", assume=["broadcast(N, 3) == 3"])


def test_a_declared_dim_means_the_first_that_is_not_1() -> None:
    model = parsed("(float[N] X, float[K] Y) => (Z) { Z = Relu(Y) }", 17)
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "broadcast(N, 3)"
    result = absint.analyze(model)
    found = result.shapes["Z"]
    assert found is not None
    assert [int(found[0].evaluate({"N": n})) for n in (0, 1, 2, 3)] == [0, 3, 2, 3]  # type: ignore[union-attr]


@pytest.mark.parametrize("assumed", ["N//N >= M", "(N*M)//N <= 7", "N % N == 0", "(2*N)//N == 2 or M == 100"])
def test_sizes_at_which_an_assumption_divides_by_0_refute_nothing(assumed: str) -> None:
    result = result_of(APART)
    proof = result.prove("A[0] >= 2", assume=[assumed])
    assert proof.verdict is Verdict.REFUTED
    assert proof.counterexample is not None
    assert proof.counterexample["N"] == 1
    assert result.prove("N >= 1", assume=[assumed]).verdict is Verdict.NOT_ENTAILED


def test_a_part_that_divides_by_0_proves_nothing_beside_one_that_holds() -> None:
    result = result_of(APART)
    assert result.prove("N >= 1", assume=["N//N == 1 or M == 100"]).verdict is not Verdict.PROVED


@pytest.mark.parametrize("query", ["not (N == N % (N - 1))", "not (M*(N//M) == 0)"])
def test_a_factor_of_0_settles_no_text_that_divides_by_it(query: str) -> None:
    proof = result_of(APART).prove(query, given="inputs")
    if proof.verdict is Verdict.REFUTED:
        assert eval(query, {}, dict(proof.counterexample or {})) is False
    assert result_of(APART).prove("not (M*(N//M) + M == 0)").verdict is not Verdict.REFUTED
