"""Einsum, executed."""

from __future__ import annotations

import pytest

from tests.transfer.harness import Arg, Case, run_case, sizes


def einsum(equation: str, *inputs: list[object], expect: str | None = None, **choices: list[int]) -> Case:
    return Case(
        "Einsum",
        [Arg(dims) for dims in inputs],
        {"equation": equation},
        bindings=sizes(**choices),
        expect=None if expect is None else [expect],
    )


SMALL = [0, 1, 2, 3]

CASES = [
    einsum("ij,jk->ik", ["M", "K"], ["L", "N"], M=[0, 2], K=SMALL, L=SMALL, N=[1, 4], expect="[M, N]"),
    einsum("ij,jk", ["M", "K"], ["K", "N"], M=[0, 2], K=[0, 3], N=[4], expect="[M, N]"),
    einsum(
        "bij,bjk->bik", ["A", "M", 2], ["B", 2, "N"], A=SMALL, B=SMALL, M=[2], N=[3], expect="[broadcast(A, B), M, N]"
    ),
    einsum("ii->i", ["M", "N"], M=SMALL, N=SMALL, expect="[M]"),
    einsum("ii", ["M", "M"], M=[0, 1, 3], expect="[]"),
    einsum("iij->ij", ["M", "M", "N"], M=[0, 1, 3], N=[2], expect="[M, N]"),
    einsum("ba", ["M", "N"], M=[2], N=[3], expect="[N, M]"),
    einsum("ba...", ["M", "N", "P"], M=[2], N=[3], P=[4], expect="[P, N, M]"),
    einsum("...ij,...jk->...ik", ["A", "M", 2], ["B", "C", 2, "N"], A=[1, 2], B=[1, 3], C=[0, 1, 2], M=[2], N=[3]),
    einsum("...ij,jk", ["A", "M", 2], [2, "N"], A=[0, 1, 2], M=[2], N=[3], expect="[A, M, N]"),
    einsum("...ij->ij", [1, "M", "N"], M=[2], N=[3], expect="[M, N]"),
    einsum("i...->...i", ["M", "N", "P"], M=[2], N=[3], P=[0, 4], expect="[N, P, M]"),
    einsum("...,...->...", ["M", "N"], ["N"], M=[2], N=[1, 3], expect="?"),  # of two widths: refused
    einsum("->", [], expect="[]"),
    einsum(",i->i", [], ["M"], M=[0, 3], expect="[M]"),
    einsum(" i j , j k -> i k ", ["M", 2], [2, "N"], M=[3], N=[4], expect="[M, N]"),
    einsum("ij->ii", ["M", "N"], M=[2], N=[2]),
    einsum("ij->k", ["M", "N"], M=[2], N=[2]),
    einsum("ij", ["M", "N", "P"], M=[2], N=[2], P=[2]),
    einsum("ij,jk->ik", ["M", "N"], M=[2], N=[2]),
    einsum(".ij->ij", ["M", "N", "P"], M=[2], N=[2], P=[2]),
    einsum("..ij->ij", ["M", "N"], M=[2], N=[2]),
    einsum("ij;jk->ik", ["M", "N"], ["N", "M"], M=[2], N=[2]),
    einsum("bA", ["M", "N"], M=[2], N=[3], expect="[N, M]"),
    einsum("ij,kl->", ["M", "N"], ["N", "P"], M=[2], N=[0, 2], P=[3], expect="[]"),
    Case(
        "Einsum",
        [Arg(["M", "K"], unknown_rank=True), Arg(["L", "N"])],
        {"equation": "ij,jk->ik"},
        bindings=sizes(M=[2], K=[3], L=[3], N=[4]),
    ),
    Case(
        "Einsum",
        [Arg(["M", "K"], unknown_rank=True), Arg(["L", "N"])],
        {"equation": "...j,jk->...k"},
        bindings=sizes(M=[2], K=[3], L=[3], N=[4]),
        expect=["?"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_runs_agree(case: Case) -> None:
    run_case(case)
