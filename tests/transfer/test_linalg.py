"""Matrix products, executed."""

from __future__ import annotations

import pytest

from tests.transfer.harness import Arg, Case, run_case, sizes

CASES = [
    Case("MatMul", [Arg(["M", "K"]), Arg(["K", "N"])], bindings=sizes(M=[0, 1, 3], K=[0, 1, 5], N=[1, 4]), expect=["[M, N]"]),
    Case("MatMul", [Arg(["B", 1, "M", 3]), Arg(["A", 3, "N"])], bindings=sizes(A=[1, 2], B=[1, 2], M=[1, 4], N=[2]), expect=["[B, A, M, N]"]),
    Case("MatMul", [Arg(["K1"]), Arg(["K2"])], bindings=sizes(K1=[1, 2, 3], K2=[1, 2, 3]), expect=["[]"]),
    Case("MatMul", [Arg(["K1"]), Arg(["B", "K2", "N"])], bindings=sizes(K1=[1, 3], K2=[1, 3], B=[0, 2], N=[4]), expect=["[B, N]"]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) > 0
