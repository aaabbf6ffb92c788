"""Choices and sizes of 0 in the shortest known form, which has the value of the original wherever that has one."""

from __future__ import annotations

import random
from itertools import product

import pytest

from absint import Dim, parse
from absint.lattices.logic.piecewise import shortest
from absint.lattices.logic.relation import TRUE, broadcastable
from absint.lattices.terms.evaluation import UndefinedError
from absint.lattices.terms.expr import Expr

SHORT = {
    "(max((N + 149)//288 - 1, 0) + 1)//4": "max((N + 149)//288, 1)//4",
    "ite(N >= 17, max(min(N - 16, 2*N - 32, 32), 0), min(N + 16, 2*N))": "ite(N >= 17, min(N - 16, 32), 2*N)",
    "16*max(4*N, 1)//max(N, 1)": "ite(N == 0, 16, 64)",
    "(2*M*max(N, 1) + 2*K*max(N, 1))//max(2*N, 1)": "ite(N == 0, 2*K + 2*M, K + M)",
    "M*ite(M == 0, max(N, 1), N)*N": "M*N*N",
}


@pytest.mark.parametrize("text", SHORT)
def test_shortest(text: str) -> None:
    assert shortest(parse(text)) is parse(SHORT[text])


@pytest.mark.parametrize("wide", ["max(N, 1)", "ite(M == 0, max(N, 1), N)", "ite(M == 0, 1, max(N, 1))"])
def test_a_size_that_is_another_or_1_where_that_is_0(wide: str) -> None:
    assert parse(f"broadcast(N, {wide})") is Dim("N")
    assert parse(f"broadcast(N, K, {wide})") is parse("broadcast(N, K)")
    assert broadcastable(Dim("N"), parse(wide)) is TRUE


@pytest.mark.parametrize("other", ["max(N, 2)", "max(N, M, 1)", "ite(M == 0, max(N, 1), 2*N)", "max(N - 1, 1)"])
def test_sizes_that_need_not_broadcast(other: str) -> None:
    assert parse(f"broadcast(N, {other})") is not Dim("N")
    assert broadcastable(Dim("N"), parse(other)) is not TRUE


def drawn(draw: random.Random, depth: int) -> str:
    if depth == 0:
        return draw.choice(["N", "M", "N", str(draw.randint(-3, 9))])
    a, b, k = drawn(draw, depth - 1), drawn(draw, max(depth - 1 - draw.randint(0, 1), 0)), draw.choice([2, 3, 4])
    symbol, least = draw.choice("NM"), draw.randint(0, 6)
    condition = draw.choice(
        [f"{symbol} == {least}", f"{symbol} >= {least}", "N == 0 or M == 0", "N >= M", "N + M >= 5"]
    )
    forms = [f"({a})//{k}", f"max({a}, {b})", f"min({a}, {b})", f"max({a}, 1)", f"ite({condition}, {a}, {b})"]
    forms += [f"({a}) + ({b})", f"({a}) - ({b})", f"({a})*({b})", f"({a})//max({k}*{symbol}, 1)"]
    forms += [f"max({k}*N, 1)*({a})", f"ite({symbol} == 0, max({a}, 1), {a})", f"broadcast({a}, max({a}, 1))"]
    return draw.choice(forms)


def test_a_shortest_form_has_the_same_values() -> None:
    draw, changed = random.Random(5), 0
    for _ in range(400):
        e = parse(drawn(draw, draw.randint(2, 4)))
        if not isinstance(e, Expr):
            continue
        short = shortest(e)
        assert shortest(short) is short
        changed += short is not e
        for n, m in product(range(8), repeat=2):
            try:
                value = e.evaluate({"N": n, "M": m})
            except UndefinedError:
                continue
            assert isinstance(short, Expr)
            assert short.evaluate({"N": n, "M": m}) == value, (str(e), str(short), n, m)
    assert changed > 80
