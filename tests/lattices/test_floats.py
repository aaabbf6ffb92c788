"""Float terms: rounding as hardware rounds, bounds that hold, one object for each computation, texts that read back."""

from __future__ import annotations

import math
import pickle
import random
from contextlib import suppress
from fractions import Fraction
from typing import cast

import numpy as np
import pytest

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import ge
from absint.lattices.terms import floats, ieee, normal
from absint.lattices.terms.evaluation import casts_floats, values_of
from absint.lattices.terms.expr import Expr, Symbol, UndefinedError, const, expr_of, symbol
from absint.lattices.terms.floats import Float
from absint.lattices.terms.ieee import Format
from absint.lattices.terms.normal import maximum, minimum
from absint.lattices.text import TextError, format_dim, parse, parse_relation

N, M = symbol("N"), symbol("M")
FORMATS: tuple[Format, Format] = ("float32", "float64")
KINDS: dict[Format, type[np.floating]] = {"float32": np.float32, "float64": np.float64}


def number(draw: random.Random) -> float:
    kind = draw.randrange(5)
    if kind == 0:
        return float(draw.choice([0, 1, -1, 2, 3, 0.5, -0.5, 1.5, 2.5, -2.5, 2**24, 2**24 + 1, 1e30, -1e30, 3e38]))
    if kind == 1:
        return float(draw.randint(-1000, 1000))
    if kind == 2:
        return draw.randint(-1000, 1000) / draw.randint(1, 100)
    return draw.uniform(-1, 1) * 2.0 ** draw.randint(-40, 40)


@pytest.mark.parametrize("form", FORMATS)
def test_operations_round_as_numpy_does(form: Format) -> None:
    draw, kind = random.Random(7), KINDS[form]
    same = {"+": np.add, "*": np.multiply, "/": np.divide, "max": np.maximum, "min": np.minimum}
    alone = {"neg": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "sqrt": np.sqrt}
    for _ in range(4000):
        a, b = (ieee.rounded(form, number(draw)) for _ in range(2))
        with np.errstate(all="ignore"):
            for op, other in same.items():
                if op in ("max", "min") and a == b == 0:
                    continue
                found, expected = ieee.rounded(form, ieee.BINARY[op](a, b)), float(other(kind(a), kind(b)))
                assert found == expected or (math.isnan(found) and math.isnan(expected)), (op, a, b)
            for op, one in alone.items():
                found, expected = ieee.rounded(form, ieee.UNARY[op](a)), float(one(kind(a)))
                assert found == expected or (math.isnan(found) and math.isnan(expected)), (op, a)
                assert math.isnan(found) or math.copysign(1, found) == math.copysign(1, expected)


def test_a_quotient_of_integers_is_rounded_once() -> None:
    """Through float64, 2^60 + 2^36 + 1 would be a tie of float32 and go the wrong way."""
    tie = 2**60 + 2**36 + 1
    assert ieee.of_ratio("float32", tie) == float(np.int64(tie).astype(np.float32)) == 2.0**60 + 2**37
    assert ieee.of_ratio("float32", 10**60) == math.inf == -ieee.of_ratio("float64", -(10**400))
    draw = random.Random(3)
    for _ in range(4000):
        over, under = (
            draw.randint(-(2**63), 2**63 - 1) >> draw.randint(0, 62),
            draw.randint(1, 2 ** draw.randint(1, 40)),
        )
        found = Fraction(ieee.of_ratio("float32", over, under))
        near = np.float32(float(found))
        for other in (np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))):
            exact = Fraction(over, under)
            assert abs(found - exact) <= abs(Fraction(float(other)) - exact)


@pytest.mark.parametrize("form", FORMATS)
def test_the_shortest_text_reads_back(form: Format) -> None:
    draw = random.Random(5)
    for value in [*(ieee.rounded(form, number(draw)) for _ in range(1000)), 1e-30, 2.0**-149, 3.4e38]:
        assert ieee.decimal(form, ieee.shortest(form, ieee.rounded(form, value))) == ieee.rounded(form, value)
    assert ieee.shortest("float32", ieee.rounded("float32", 0.1)) == "0.1"
    assert ieee.shortest("float32", 96.0) == "96"


# Terms


LEAVES = [N, M, N + 1, N - M, 3 * N, N // 2, maximum(N, M), minimum(N, M), N * M, const(7)]


def drawn(draw: random.Random, depth: int) -> Float | None:
    """A random term over N and M."""
    form = draw.choice(FORMATS)
    if depth == 0 or draw.random() < 0.15:
        if draw.random() < 0.3:
            return floats.constant(form, number(draw))
        return floats.of(form, draw.choice(LEAVES), draw.choice([1, 1, 1, 2, 3, 10]))
    kind = draw.randrange(12)
    a = drawn(draw, depth - 1)
    if kind < 4:
        return floats.unary(draw.choice([*ieee.UNARY]), a)
    if kind == 4:
        return floats.cast_float(form, a)
    b = drawn(draw, depth - 1)
    b = b if a is None else floats.cast_float(a.format, b)
    if kind == 5:
        return floats.choose(ge(N, M), a, b)
    if kind == 6:
        return floats.of(form, normal.integer(a))
    return floats.binary(draw.choice([*ieee.BINARY]), a, b)


def numpy_value(term: Float, sizes: dict[str, int]) -> np.floating:
    """The value by numpy, operation by operation."""
    kind = KINDS[term.format]
    args = [numpy_value(part, sizes) for part in term.floats]
    with np.errstate(all="ignore"):
        if term.is_constant:
            return kind(term.number)
        if term.op == "of":
            exact = Fraction(term.leaf.evaluate(sizes), term.under)
            return kind(np.int64(exact.numerator)) if term.under == 1 else kind(ieee.of_ratio(term.format, *(
                exact.as_integer_ratio())))  # fmt: skip
        if term.op == "cast":
            return kind(args[0])
        if term.op == "ite":
            return args[0 if sizes["N"] >= sizes["M"] else 1]
        names = {
            "+": np.add,
            "*": np.multiply,
            "/": np.divide,
            "max": np.maximum,
            "min": np.minimum,
            "neg": np.negative,
        }
        names |= {"abs": np.abs, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "sqrt": np.sqrt}
        return cast(np.floating, names[term.op](*args))


SIZES = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 3), (7, 5), (100, 77), (1023, 1024), (65536, 65535), (2**24 + 1, 3)]


def test_terms_evaluate_as_numpy_does_and_stay_within_their_bounds() -> None:
    draw, computed = random.Random(11), 0
    for _ in range(3000):
        term = drawn(draw, 4)
        if term is None:
            continue
        for n, m in SIZES:
            sizes = {"N": n, "M": m}
            expected = float(numpy_value(term, sizes)) if not casts_floats(term) else None
            try:
                found = term.compute(values_of(term, sizes))
            except UndefinedError:
                assert not term.is_total or casts_floats(term)
                continue
            computed += 1
            assert expected is None or found == expected, (str(term), sizes)
            assert term.span.has(found), (str(term), sizes, term.span)
            number_of = normal.int64(term)
            if isinstance(number_of, Expr) and abs(found) < 2**62:
                assert number_of.evaluate(sizes) == int(found), (str(term), sizes, str(number_of))
                assert int(found) in number_of.bounds
    assert computed > 10_000


def test_replacing_symbols_changes_no_value() -> None:
    draw, compared = random.Random(13), 0
    for _ in range(1500):
        found = normal.integer(drawn(draw, 4))
        if not isinstance(found, Expr):
            continue
        for n, m in SIZES:
            try:
                value = found.evaluate({"N": n, "M": m})
            except UndefinedError:
                continue
            changed = found.substitute({"N": n, "M": m})
            assert changed.is_unknown or int(changed) == value
            partly = found.substitute({"N": M + (n - m)} if n >= m else {"M": N + (m - n)})
            with suppress(UndefinedError):  # a 0 of unknown sign
                assert partly.is_unknown or partly.evaluate({"N": n, "M": m}) == value
            compared += 1
    assert compared > 2000


def test_texts_read_back_as_the_same_object() -> None:
    draw, seen = random.Random(17), set()
    for _ in range(4000):
        for cast_to in (normal.integer, normal.int64, normal.int32):
            found = cast_to(drawn(draw, 4))
            if isinstance(found, Expr) and found not in seen:
                assert parse(format_dim(found)) is found, format_dim(found)
                assert pickle.loads(pickle.dumps(found)) is found
                seen.add(found)
    assert len(seen) > 1500


@pytest.mark.parametrize(
    ("text", "prints"),
    [
        ("int(0.6666667 * float32(N))", "int(float32(N)*0.6666667)"),
        ("int(floor(float32(N)*2.5))", "int(float32(N)*2.5)"),
        ("int(float32(N) / 32)", "int(float32(N)/32)"),
        ("int(2 - float32(N))", "int(2 - float32(N))"),
        ("int(float32(M) - (float32(N) - 3)*2)", "int(float32(M) - (float32(N) - 3)*2)"),
        ("int(float64(N))", "N"),
        ("int(floor(float64(N/3)))", "N//3"),
        ("int(ceil(float64(N/3)))", "(N + 2)//3"),
        ("int(float32(N/0.1))", "int(float32(N/0.1))"),
        ("int(float64(float32(N)*0.5))", "int(float32(N)/2)"),
        ("int(float32(N)*0.00000000000001)", "0"),
        ("int(min(float32(N) + 9, 0.5))", "0"),
        ("int(ite(N >= 3, float32(N)*0.2, 1.5))", "int(ite(N >= 3, float32(N)*0.2, float32(1.5)))"),
        ("int64(1/float32(N))", "int64(1/float32(N))"),
        ("int32(float32(N)*3)", "int32(float32(N)*3)"),
        ("int(round(sqrt(abs(-float32(N)*0.3))))", "int(round(sqrt(abs((-float32(N))*0.3))))"),
        ("int(ceil(float32(int(float32(N)*1.7))/32)*32)", "int(ceil(floor(float32(N)*1.7)/32)*32)"),
    ],
)
def test_forms(text: str, prints: str) -> None:
    assert format_dim(parse(text)) == prints


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("float32(N)", "expected an integer, found a float: int(...) rounds it towards 0"),
        ("int(float32(N)*N)", "expected a float, found an integer: write float32(...)"),
        ("int(float32(N) + float64(N))", "expected a float32, found a float64: write float32(...)"),
        ("int(float32(N) % 2)", "'%' takes no float: int(...) makes an integer of it"),
        ("mod(float32(N), 2)", "mod takes no float: int(...) makes an integer of it"),
        ("int(1/float32(0))", "no float: it is infinite or no number, or over 400 operations"),
        ("float32(N/M)", "float32 takes a dim, or a quotient by a constant"),
        ("round(N)", "round takes a float: float32(...) makes one of a dim"),
        ("N*0.1", "expected an integer, or a binary fraction inside floor(...) or ceil(...)"),
        ("floor(N/0.1)", "expected an integer, or a binary fraction inside floor(...) or ceil(...)"),
        ("float32(N, 2)", "float32 takes 1 operand, found 2"),
    ],
)
def test_errors(text: str, reason: str) -> None:
    with pytest.raises(TextError) as caught:
        parse(text)
    assert str(caught.value).splitlines()[0] == reason


def test_where_a_float_has_no_integer_the_size_has_no_value() -> None:
    scale = parse("int(float32(N)*min(96/float32(min(N, M)), 160/float32(max(N, M))))")
    assert scale.evaluate({"N": 100, "M": 77}) == 124
    assert scale.evaluate({"N": 0, "M": 5}) == 0
    assert scale.bounds.lo == 0
    for text, sizes in [
        (str(scale), {"N": 0, "M": 0}),
        ("int(1/float32(N))", {"N": 0}),
        ("int(sqrt(float32(N) - 3))", {"N": 2}),
        ("int32(float32(N)*3)", {"N": 2**30}),
        ("int(1/max(float32(N) - 1, -float32(0.5)*float32(M)))", {"N": 1, "M": 0}),
        ("int(1/(float32(N - M)))", {"N": 1, "M": 1}),
        ("int(min(1/float32(N - M), 7))", {"N": 3, "M": 3}),
    ]:
        with pytest.raises(UndefinedError):
            parse(text).evaluate(sizes)
    raw = parse("int64(float32(N)*min(96/float32(min(N, M)), 160/float32(max(N, M))))")
    assert raw.bounds == (-(2**63), 2**63 - 1)


def test_facts_narrow_what_floats_are_cast_to() -> None:
    size = parse("int64(float32(N)*(96/float32(M)))")
    facts = Facts([parse_relation("1 <= N <= 4096"), parse_relation("M >= 3")])
    assert facts.simplify(size).bounds == (0, 131072)
    assert str(facts.decide(ge(size, 0))) == "Truth.YES"


def test_equal_computations_are_one_object() -> None:
    a, b = floats.of("float32", N), floats.of("float32", M)
    assert floats.binary("*", a, b) is floats.binary("*", b, a)
    eighth, inverse = floats.constant("float32", 8.0), floats.constant("float32", 0.125)
    assert floats.binary("/", a, eighth) is floats.binary("*", a, inverse)
    third, factor = floats.constant("float32", 3.0), floats.constant("float32", 1 / 3)
    assert floats.binary("/", a, third) is not floats.binary("*", a, factor)
    assert floats.unary("floor", a) is a
    narrow = expr_of(Symbol("N", 0, 9))
    assert floats.of("float32", narrow) is not a


def test_a_term_over_the_budget_is_unknown() -> None:
    term = floats.of("float32", N)
    for _ in range(floats.MAX_FLOAT):
        term = floats.binary("*", floats.binary("+", term, floats.of("float32", M)), floats.constant("float32", 1.1))
    assert term is None
    assert normal.integer(term).is_unknown


def test_spans_of_infinities_and_zeros_hold_every_result() -> None:
    """As 0 times any number: at both ends of the numbers it is NaN, and 0 between them."""
    marks = [-math.inf, -3.0, -0.0, 0.0, 2.0, math.inf]
    spans = [ieee.Span(lo, hi) for at, lo in enumerate(marks) for hi in marks[at:]]
    for op, apply in ieee.BINARY.items():
        for a in spans:
            for b in spans:
                found = ieee.binary_span("float64", op, a, b)
                for x in marks:
                    for y in marks:
                        if not (_within(a, x) and _within(b, y)) or (op in ("max", "min") and x == y == 0):
                            continue
                        result = apply(x, y)
                        assert found.nan if math.isnan(result) else _within(found, result), (op, a, b, x, y, found)
    assert ieee.binary_span("float64", "*", ieee.Span(0.0, 0.0), ieee.Span(math.inf, math.inf)) == ieee.NOTHING


def _within(span: ieee.Span, value: float) -> bool:
    return ieee.order(span.lo) <= ieee.order(value) <= ieee.order(span.hi)
