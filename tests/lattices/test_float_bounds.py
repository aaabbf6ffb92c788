"""Bounds of integers that floats are cast to, against numpy: at sizes where floats are exact, and where they round."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final, cast

import numpy as np
import pytest

from absint.lattices.logic.relation import NO, TRUE, Relation, ge, le
from absint.lattices.terms import floats
from absint.lattices.terms.expr import Dim, Expr, mul, symbol
from absint.lattices.terms.float_bounds import multiples
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import Format
from absint.lattices.terms.normal import integer

N, M = symbol("N"), symbol("M")
KINDS: Final = {"float32": np.float32, "float64": np.float64}
CONSTANTS: Final = (
    0.1, 0.3, 0.5, 0.9, 1 - 2**-24, 1 - 2**-23, 1 - 2**-53, 1.0, 1 + 2**-23, 1 / 3, 2.0, 2.5, 3.0, 1e-3, 1e-7,
    7.0, 100.0,
)  # fmt: skip


def sizes() -> Iterator[int]:
    """Small ones, and those around powers of 2, where rounding begins, ties, and what is just below a tie."""
    yield from range(70)
    for power in (10, 22, 23, 24, 25, 26, 27, 30, 31):
        for step in (1, 2, 3, 1 << max(0, power - 24)):
            for off in range(-3, 4):
                yield from ((1 << power) + off * step, (3 << power - 1) + off * step)


SIZES: Final = sorted(size for size in set(sizes()) if 0 <= size < 1 << 31)


def computed(term: Float, n: int, m: int) -> Any:
    """The term in numpy, each operation rounded by numpy."""
    kind = KINDS[term.format]
    inner = [computed(part, n, m) for part in term.floats]
    with np.errstate(all="ignore"):
        match term.op:
            case "constant":
                return kind(term.number)
            case "of":
                value = term.leaf.value({s: {"N": n, "M": m}[s.name] for s in term.leaf.symbols})
                assert term.under == 1
                return np.int64(value).astype(kind)
            case "cast":
                return inner[0].astype(kind)
            case "+":
                return inner[0] + inner[1]
            case "*":
                return inner[0] * inner[1]
            case "/":
                return inner[0] / inner[1]
            case "min" | "max":
                return (np.minimum if term.op == "min" else np.maximum)(*inner)
            case op:
                return {"floor": np.floor, "ceil": np.ceil, "round": np.round, "sqrt": np.sqrt}[op](inner[0])


def drawn(rng: random.Random) -> Float | None:
    form: Format = rng.choice(("float32", "float32", "float64"))
    leaves = [floats.of(form, leaf) for leaf in (N, N, M, cast(Expr, N + 1), cast(Expr, mul(N, M)))]
    term = rng.choice(leaves)
    for _ in range(rng.randint(1, 4)):
        if term is None:
            return None
        constant = floats.constant(term.format, rng.choice(CONSTANTS))
        match rng.randrange(8):
            case 0 | 1 | 2:
                term = floats.binary(rng.choice("*/"), term, constant)
            case 3:
                term = floats.unary(rng.choice(("floor", "ceil", "round", "sqrt")), term)
            case 4:
                term = floats.binary(
                    rng.choice(("min", "max")), term, floats.cast_float(term.format, rng.choice(leaves))
                )
            case 5:
                term = floats.binary(rng.choice(("min", "max", "+")), term, constant)
            case 6:
                term = floats.unary("sqrt", term)
            case _:
                term = floats.cast_float(rng.choice(("float32", "float64")), term)
    return term


@pytest.mark.parametrize("seed", range(12))
def test_no_run_is_above_a_bound(seed: int) -> None:
    rng, bounded = random.Random(seed), 0
    for _ in range(60):
        term = drawn(rng)
        found = () if term is None or any(p.op == "of" and p.under > 1 for p in term.subterms()) else multiples(term)
        for n in rng.sample(SIZES, 60) if found else ():
            m = rng.choice(SIZES)
            value = computed(cast(Float, term), n, m)
            if np.isfinite(value):
                for most, per in found:
                    least = most.value({s: {"N": n, "M": m}[s.name] for s in most.symbols})
                    assert per * int(value) <= least, f"{term} at N={n}, M={m} is {value}"
                    bounded += 1
    assert bounded > 500


def whole(operation: str, form: Format = "float32", *numbers: float) -> Dim:
    term = floats.of(form, N)
    for number in numbers:
        term = floats.binary(operation, term, floats.constant(form, number))
    return integer(floats.unary(operation, term) if operation in ("sqrt", "round", "ceil") else term)


@pytest.mark.parametrize(
    "relation",
    [
        *(le(whole("*", form, number), N) for form in KINDS for number in (0.1, 0.3, 0.9, 0.99999)),
        *(le(whole("*", form, 0.9, 0.7), N) for form in KINDS),
        *(le(whole("sqrt", form), N) for form in KINDS),
        *(le(whole("/", form, 3.0), N) for form in KINDS),
        le(mul(Dim(3), whole("*", "float32", 0.3)), N),
        le(whole("*", "float32", 0.1), N + M),
        ge(cast(Expr, N * 2), whole("*", "float32", 1.9)),
    ],
    ids=str,
)
def test_what_holds_at_all_sizes_is_shown(relation: Relation) -> None:
    assert relation is TRUE


@pytest.mark.parametrize(
    ("relation", "n"),
    [
        (le(whole("*", "float32"), N), 1 << 24),
        (le(integer(floats.of("float64", cast(Expr, mul(N, M)))), mul(N, M)), 94906267),
        (le(whole("round"), N), 1 << 24),
        (le(whole("*", "float32", 1 + 2**-23), N), 1 << 23),
        (le(mul(Dim(2), whole("*", "float32", 0.5)), N), 1 << 24),
        (le(mul(Dim(10), whole("*", "float32", 0.1)), N), 1 << 26),
        (le(whole("ceil"), N - 1), 0),
    ],
    ids=str,
)
def test_what_rounding_refutes_is_not_shown(relation: Relation, n: int) -> None:
    """The last but one: float32(0.1) is above 0.1."""
    assert relation is not TRUE
    assert any(relation.at({"N": size, "M": size + 2}) is NO for size in range(n, n + 400))
