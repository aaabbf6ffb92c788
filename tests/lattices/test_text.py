"""The text form: what is printed reads back, each dialect reads as it means, errors point at the column."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from absint.lattices import text as public
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, boolean, eq, ge, ite
from absint.lattices.terms.expr import MAX_BITS, UNKNOWN_DIM, Dim, Expr, UndefinedError, const, integer_symbol, symbol
from absint.lattices.terms.intern import Kept
from absint.lattices.terms.normal import broadcast, maximum, minimum, truncdiv
from absint.lattices.text import (
    MAX_CONDITION_DEPTH,
    MAX_TEXT,
    TextError,
    dim_params,
    format_dim,
    format_dim_param,
    format_relation,
    parse,
    parse_relation,
    read_dim_param,
)
from tests import reference
from tests.reference import NoValueError, Tree

N, M, K, H = (symbol(name) for name in "NMKH")
ODD_NAMES = {"N": symbol("batch size"), "M": symbol("max"), "K": symbol("a`b\\c\n\U000e0001"), "I": symbol("x.0.y")}


# Random expressions

leaves = st.tuples(st.just("const"), st.integers(-9, 9)) | st.tuples(st.just("symbol"), st.sampled_from("NNMMKI"))


def conditions(dims: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    base = st.tuples(st.sampled_from(sorted(reference.COMPARISONS)), dims, dims) | st.tuples(
        st.just("boolean"), st.sampled_from("FG")
    )
    negated = base | st.tuples(st.just("not"), base)
    joined = st.tuples(st.sampled_from(["and", "or", "implies"]), negated, negated)
    return negated | joined | st.tuples(st.sampled_from(["and", "or"]), joined, joined)


def grow(dims: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    binary = st.tuples(
        st.sampled_from(["+", "-", "*", "//", "%", "trunc", "fmod", "max", "min", "broadcast"]), dims, dims
    )
    return binary | st.tuples(st.just("ite"), conditions(dims), dims, dims)


trees = st.recursive(leaves, grow, max_leaves=12)
bindings = st.fixed_dictionaries({name: st.integers(0, 12) for name in "NMKI"} | dict.fromkeys("FG", st.integers(0, 1)))


@given(trees)
def test_what_is_printed_reads_back(tree: Tree) -> None:
    integers = {"I": integer_symbol("I")}
    for symbols in ({"I": symbol("I")}, ODD_NAMES, integers):
        dim = reference.build(tree, symbols)
        names = {name: integers.get(name, symbol(name)) for name in "NMKIFG"} if symbols is integers else None
        assert parse(format_dim(dim), names) is (dim if isinstance(dim, Expr) else UNKNOWN_DIM)
        if isinstance(dim, Expr) and names is None and not (dim.const is not None and dim.const < 0):
            assert read_dim_param(format_dim(dim), ()).dim is dim


@given(conditions(trees))
def test_a_printed_relation_reads_back(tree: Tree) -> None:
    for symbols in ({"I": symbol("I")}, ODD_NAMES):
        relation = reference.build_relation(tree, symbols)
        if relation is not UNKNOWN_RELATION:
            assert parse_relation(format_relation(relation)) is relation


@given(st.text(max_size=12))
def test_every_name_reads_back(name: str) -> None:
    dim = read_dim_param(name, ()).dim
    if not name.startswith("%") and dim.free_symbols:
        assert parse(format_dim(dim)) is dim
        assert parse(format_dim(2 * dim + 1)) is 2 * dim + 1
        assert read_dim_param(format_dim_param(dim), ()).dim is dim
        assert parse_relation(format_relation(boolean(name))) is boolean(name)


def source(tree: Tree) -> str:
    """The tree as a text with every parenthesis."""
    op, *args = tree
    if op in ("const", "symbol", "boolean"):
        return f"({args[0]})"
    texts = [source(arg) for arg in args]
    if op in ("+", "-", "*", "//", "%") or (op in reference.RELATIONS and op != "not"):
        return f"({texts[0]} {op} {texts[1]})"
    if op == "trunc":
        return f"({texts[0]} / {texts[1]})"
    return f"({op} {texts[0]})" if op == "not" else f"{op}({', '.join(texts)})"


def parsed(text: str) -> Dim | None:
    """The dim, or None for a text that divides by the constant zero."""
    try:
        return parse(text)
    except TextError as problem:
        if "by zero" not in problem.reason:
            raise
        return None


@given(trees, bindings)
def test_a_text_means_what_it_says(tree: Tree, binding: dict[str, int]) -> None:
    try:
        expected = reference.value(tree, binding)
        dim = parsed(source(tree))
        assert dim is None or dim.evaluate(binding) == expected
    except (NoValueError, UndefinedError):
        return  # it divides by zero


@given(conditions(leaves), bindings)
def test_a_relation_means_what_it_says(tree: Tree, binding: dict[str, int]) -> None:
    assert parse_relation(source(tree)).evaluate(binding) == reference.truth(tree, binding)


quotients = st.recursive(
    st.integers(0, 9).map(str) | st.sampled_from("NMK"),
    lambda parts: (
        st.tuples(parts, st.sampled_from(["+", "-", "*", "/"]), parts).map(lambda t: f"({''.join(t)})")
        | st.tuples(st.sampled_from(["floor", "ceil", "trunc"]), parts).map(lambda t: f"{t[0]}({t[1]})")
    ),
    max_leaves=7,
)


@given(quotients, st.sampled_from(["floor", "ceil", "trunc"]), bindings)
def test_rounded_quotients_are_exact(text: str, rounding: str, binding: dict[str, int]) -> None:
    text = f"{rounding}({text})"
    exact = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}
    # every number is a Fraction, so Python's own parser and `/` are the reference
    fractions = "".join(f"Fraction({c})" if c.isdigit() else c for c in text)
    values = {name: Fraction(size) for name, size in binding.items()}
    rounders = {name: lambda x, f=f: Fraction(f(x)) for name, f in exact.items()}
    try:
        expected = eval(fractions, {"Fraction": Fraction, **values, **rounders})
        dim = parsed(text)
        assert dim is None or dim.evaluate(binding) == expected
    except (ZeroDivisionError, UndefinedError):
        return


# What prints


@pytest.mark.parametrize(
    "text",
    [
        "0", "7", "-1", "N", "-N", "2*N", "seq1 + seq2", "N - 7", "5 - N", "-N - 5", "(H + 1)//2", "2*(N//2)",
        "N*(M//N)", "4*((N + 3)//4)", "max(N, 1)", "max(N - 5, 0)", "min(M, N)", "broadcast(M, N)", "ite(N == 2, 1, N)",
        "truncdiv(N - 5, 2)", "fmod(N - 9, 4)", "N % 8", "2*(N % 8)", "(N + 3) % 8", "7 - (N + 2) % 8", "-(N % 8)",
        "7 % N", "M % (N + 1)", "-(N//2)", "-N*(M//2)", "M*N**2", "(N//2)**3", "7//N", "2*N//5", "N//(2*M)",
        "M//(N + 1)", "`batch size` + 1", "`max` + 1", "`and` + 1", "`a\\`b` + 1", "past_key_values.0.key_dim_2 + 1",
        "größe + 1",
        "ite(c, N, 1)", "ite(N >= 4 and (M == N or c), M, N)", "(N - M)//K",
    ],
)  # fmt: skip
def test_canonical_texts_print_as_they_are(text: str) -> None:
    assert format_dim(parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "true", "false", "c", "not c", "`true`", "K1 == K2", "N >= 7", "N <= 7", "N != 3", "N == 1 or N == 64",
        "seq % 8 == 0", "M > N", "M >= N", "N == 7", "M + N <= 5", "c or M == N", "`a b` and N >= 2",
    ],
)  # fmt: skip
def test_canonical_relations_print_as_they_are(text: str) -> None:
    assert sorted(format_relation(parse_relation(text)).split()) == sorted(text.split())  # operands are ordered by key


def test_printing_builds_on_the_constructors() -> None:
    assert format_dim((H + 1) // 2) == "(H + 1)//2"
    assert format_dim(N - 8 * (N // 8)) == "N % 8"
    assert format_dim(UNKNOWN_DIM) == format_relation(UNKNOWN_RELATION) == "?"
    assert format_relation(ge(N, 7)) == "N >= 7"
    assert format_relation(~boolean("cond")) == "not cond"
    assert (format_relation(TRUE), format_relation(FALSE)) == ("true", "false")


def test_a_lone_name_prints_bare_where_that_reads_back() -> None:
    for name in ("batch size", "N:1", "class", "2x", "max", "true", "名前"):
        assert format_dim(symbol(name)) == name
    for name in ("past-seq", "-1", "?", "12", "N + 1", "", " N", "a\tb", "f(x)"):
        assert format_dim(symbol(name)).startswith("`")
        assert parse(format_dim(symbol(name))) is symbol(name)


def test_internal_names_are_never_printed() -> None:
    hole = symbol("%0")
    assert format_dim(hole) == "?"
    assert format_dim(2 * hole + N) == "2*? + N"
    assert "%" not in format_relation(boolean("%c")) + format_relation(eq(hole, N))
    assert format_dim_param(hole) == format_dim_param(hole + 1) == ""
    with pytest.raises(TextError, match="internal"):
        parse("`%0` + 1")
    assert read_dim_param("%0", ()).dim is not hole
    assert len({read_dim_param(text, ()).dim for text in ("%0", "\\%0", "\\\\%0")}) == 3


def test_long_integers_read_back() -> None:
    for number in (2**MAX_BITS - 1, 1 - 2**MAX_BITS):
        assert parse(format_dim(const(number) * N + 1)) is const(number) * N + 1
    with pytest.raises(TextError, match="limits"):
        parse(f"{2**MAX_BITS} + N")


# Dialects


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("N // 2 + M % 3", N // 2 + M % 3),
        ("-N**2 + 2**3", 8 - N * N),
        ("2**3**2", const(512)),
        ("-7 // 2", const(-4)),
        ("-7 / 2", const(-3)),
        ("(N - 5) / 2", truncdiv(N - 5, 2)),
        ("1/2*N", const(0)),
        ("floor(1/2*N)", N // 2),
        ("ceil((N - 1)/2) + 1", N // 2 + 1),
        ("ceil(-7/2)", const(-3)),
        ("floor(W/2 - 1/2) + 1", (symbol("W") - 1) // 2 + 1),
        ("2*floor(N/2)", 2 * (N // 2)),
        ("ceiling(N/4)", (N + 3) // 4),
        ("floor(N/M + 1)", (N + M) // M),
        ("floor(Max(1, N/2))", maximum(2, N) // 2),
        ("Max(1, s0)", maximum(symbol("s0"), 1)),
        ("Min(N, M)", minimum(M, N)),
        ("Mod(N, 8)", N % 8),
        ("s77 + 1", symbol("s77") + 1),
        ("FloorDiv(s0 + 1, 2)", (symbol("s0") + 1) // 2),
        ("CeilDiv(N, 4)", (N + 3) // 4),
        ("CleanDiv(N, 4)", N // 4),
        ("PythonMod(N, 8)", N % 8),
        ("ModularIndexing(N, 2, 3)", N // 2 % 3),
        ("TruncToInt(IntTrueDiv(N, 2))", N // 2),
        ("FloorToInt(0.5*ToFloat(N))", N // 2),
        ("floor(2.0*N)", 2 * N),
        ("Where(Eq(N, 2), 1, N)", ite(eq(N, 2), 1, N)),
        ("N^M", maximum(M, N)),
        ("N + 1^M", maximum(N + 1, M)),
        ("N&4", minimum(N, 4)),
        ("N/:2", N // 2),
        ("CeilToInt(N, 4)", (N + 3) // 4),
        ("broadcast(N, M, 1)", broadcast(M, N)),
        ("+N", N),
        ("N-M", N - M),
    ],
)
def test_dialects(text: str, meaning: Dim) -> None:
    assert parse(text) is meaning


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("seq % 8 == 0", eq(symbol("seq") % 8, 0)),
        ("0 <= N - 1 <= 7", ge(N, 1) & ge(8, N)),
        ("N in {1, 64}", eq(N, 1) | eq(N, 64)),
        ("N not in [1, 64]", ~(eq(N, 1) | eq(N, 64))),
        ("M < N", ge(N, M + 1)),
        ("c -> N == M", ~boolean("c") | eq(N, M)),
        ("a implies b implies c", ~boolean("a") | ~boolean("b") | boolean("c")),
        ("~(a & b) | c", ~(boolean("a") & boolean("b")) | boolean("c")),
        ("not N == M and (c)", ~eq(N, M) & boolean("c")),
        ("N == 2 & M == 3", eq(N, 2) & eq(M, 3)),
        ("Eq(Mod(s0, 8), 0)", eq(symbol("s0") % 8, 0)),
        ("And(Ge(N, 2), Not(c))", ge(N, 2) & ~boolean("c")),
        ("(N) == (M)", eq(N, M)),
        ("True or c", TRUE),
    ],
)
def test_relations(text: str, meaning: object) -> None:
    assert parse_relation(text) is meaning


def test_the_worked_cases() -> None:
    assert str(parse("d + f - f")) == "d"
    assert str(parse("2*seq//2")) == "seq"
    assert str(parse("1024*a//2")) == "512*a"
    assert str(parse("b + a")) == "a + b"
    assert str(parse("((_d0 + 2) - 1)/2")) == "(_d0 + 1)//2"
    assert str(parse("x*0")) == "0"
    assert [str(parse(t)) for t in ("N-0", "N*1", "0+A", "x/1")] == ["N", "N", "A", "x"]
    assert Dim("seq//2").evaluate({"seq": 128}) == 64


# Names


@pytest.mark.parametrize(
    "text", ["batch size", "N:1", "?", "-1", "2x", "class", "past-seq", "a/b", "<unk>", "", " N", "N "]
)
def test_what_is_not_an_expression_is_a_name(text: str) -> None:
    assert read_dim_param(text, ()) == (symbol(text), None)
    assert format_dim_param(symbol(text)) == text


def test_a_hyphen_needs_names_that_stand_alone() -> None:
    assert read_dim_param("past-seq", {"past", "seq"}).dim is symbol("past") - symbol("seq")
    assert read_dim_param("past-seq", {"past"}).dim is symbol("past-seq")
    assert read_dim_param("a/b", {"a", "b"}).dim is symbol("a") // symbol("b")
    assert read_dim_param("a - b", ()).dim is symbol("a") - symbol("b")
    assert read_dim_param("max(a,b)-a", {"a", "b"}).dim is maximum(symbol("a"), symbol("b")) - symbol("a")
    assert read_dim_param("1-2", ()).dim is symbol("1-2")
    assert read_dim_param("2*N", ()).dim is 2 * N
    assert read_dim_param("(H+1)//2", ()).dim is (H + 1) // 2
    assert format_dim_param(symbol("past-seq"), {"past", "seq"}) == "`past-seq`"


def test_an_expression_that_does_not_parse_gets_a_hint() -> None:
    dim, hint = read_dim_param("N + * 2", ())
    assert dim is symbol("N + * 2")
    assert hint == "expected a number, a name or '(', found '*'\n    N + * 2\n        ^"


def test_given_names_are_the_only_ones() -> None:
    assert parse("seq + 1", {"seq"}) is symbol("seq") + 1
    assert parse("i + 1", {"i": integer_symbol("i")}) is integer_symbol("i") + 1
    assert parse("batch size", {"batch size"}) is symbol("batch size")
    for text in ("sequ", "sequ + 1"):
        with pytest.raises(TextError) as caught:
            parse(text, {"seq", "batch"})
        assert caught.value.reason == "no symbol 'sequ' here; did you mean 'seq'?"


# Errors

ERRORS = [
    ("N +", "expected a number, a name or '(', found the end", "N +", 3),
    ("2x + 1", "expected an operator, found 'x'", "2x + 1", 1),
    ("(N", "expected ')', found the end", "(N", 2),
    ("(N M)", "expected an operator or ')', found 'M'", "(N M)", 3),
    ("N)", "')' closes nothing", "N)", 1),
    ("(N]", "expected ')', found ']'", "(N]", 2),
    ("(a, b)", "a comma separates the operands of a function only", "(a, b)", 2),
    ("flor(N/2)", "no function 'flor'; did you mean 'floor'?", "flor(N/2)", 0),
    ("1 + Mod(N)", "Mod takes 2 operands, found 1", "1 + Mod(N)", 4),
    ("N // 0", "division by zero", "N // 0", 2),
    ("2**N", "expected a natural number as exponent", "2**N", 3),
    ("N**33", "expected an exponent of at most 32", "N**33", 3),
    ("10**9999999", "expected a power of at most 2048 bits", "10**9999999", 4),
    ("1.5*N", "expected an integer, or a binary fraction inside floor(...) or ceil(...)", "1.5*N", 0),
    (
        "floor(FloorDiv(N/2, 3))",
        "an exact quotient has to be rounded here by floor(...), ceil(...) or trunc(...)",
        "floor(FloorDiv(N/2, 3))",
        15,
    ),
    ("1 + (N == 2)", "expected a number, found a condition", "1 + (N == 2)", 4),
    ("ite(N + 1, 1, 2)", "expected a condition such as N >= 1, found a number", "ite(N + 1, 1, 2)", 4),
    ("N = 4", "expected '==' for a comparison", "N = 4", 2),
    ("`a + 1", "expected a closing backquote", "`a + 1", 0),
    ("`a\\q` + 1", r"expected \` \\ \xHH \uHHHH or \UHHHHHHHH", "`a\\q` + 1", 2),
    ("N + $", "unexpected character '$': a name with other characters is written in backquotes", "N + $", 4),
    ("名前 + *", "expected a number, a name or '(', found '*'", "名前 + *", 7),
    ("max(N,\n*2)", "expected a number, a name or '(', found '*'", "max(N,\N{REPLACEMENT CHARACTER}*2)", 7),
    (
        "x" * 100 + " + * " + "y" * 100,
        "expected a number, a name or '(', found '*'",
        f"...{'x' * 27} + * {'y' * 28}...",
        33,
    ),
]


@pytest.mark.parametrize(("text", "reason", "line", "caret"), ERRORS)
def test_errors_point_at_the_column(text: str, reason: str, line: str, caret: int) -> None:
    with pytest.raises(TextError) as caught:
        parse(text)
    assert str(caught.value) == f"{reason}\n    {line}\n    {' ' * caret}^"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("N", None),
        ("N + 1", "expected a condition such as N >= 1, found a number"),
        ("N in 3", "expected a set such as {1, 64}, found '3'"),
        ("N not 3", "expected 'in' after 'not', found '3'"),
        ("", "expected a number, a name or '(', found the end"),
        ("N >= 1 and", "expected a number, a name or '(', found the end"),
    ],
)
def test_relation_errors(text: str, reason: str | None) -> None:
    if reason is None:
        assert parse_relation(text) is boolean(text)
        return
    with pytest.raises(TextError) as caught:
        parse_relation(text)
    assert caught.value.reason == reason


# Limits


NAMES = [f"x{i}" for i in range(20_000)]
HOSTILE = {
    "open": "(" * 100_000,
    "nothing": "(" * 50_000 + ")" * 50_000,
    "digits": "9" * 100_000 + " + 1",
    "power": "9**9**9**9",
    "product": "*".join(NAMES),
    "sum": "+".join(NAMES),
    "max": f"max({','.join(NAMES)})",
    "polynomials": "+".join(f"((a+b+c+d)**7+{i})//((a+b+c)**7+{i})" for i in range(2_000)),
    "quotients": f"floor({'+'.join(f'1/{name}' for name in NAMES)})",
    "long": "N +" * MAX_TEXT,
    "backquotes": "`" * 100_001,
    "alternation": "ite(" + "a or (b and (" * MAX_CONDITION_DEPTH + "c" + "))" * MAX_CONDITION_DEPTH + ", 1, N)",
    "implications": "ite(" + "->".join(NAMES) + ", 1, N)",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused(name: str) -> None:
    with pytest.raises(TextError) as caught:
        parse(HOSTILE[name])
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", ["trunc", "ite", "floor", "extremes"])
def test_ten_thousand_nested_operations(name: str) -> None:
    dim: Dim = N
    for i in range(10_000):
        if name == "trunc":
            dim = truncdiv(dim - 7, M - 3)
        elif name == "floor":
            dim = (dim - M) // (K + 1)
        elif name == "ite":
            dim = ite(ge(M, i + 4), dim + 1, K)
        else:
            dim = maximum(dim * M, K) if i % 2 else minimum(dim - 5, K * M)
    assert parse(format_dim(dim)) is dim


def test_deep_groups_and_signs() -> None:
    assert parse("(" * 20_000 + "N" + ")" * 20_000) is N
    assert parse("-" * 20_000 + "N") is N
    assert parse_relation("not " * 20_000 + "c") is boolean("c")


def test_the_public_names() -> None:
    assert all(hasattr(public, name) for name in public.__all__)


def test_a_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One exported EfficientNet writes 21 long texts at 548 values."""
    parsed: list[str] = []

    def counted(text: str, *, total: bool = False) -> Dim:
        parsed.append(text)
        return parse(text, total=total)

    monkeypatch.setattr(dim_params, "parse", counted)
    texts = [f"({name} + 7)//8*8" for name in ("once_a", "once_b")]
    for _ in range(100):
        for text in texts:
            assert read_dim_param(text, ()).dim is parse_uncounted(text)
    assert parsed == texts


def parse_uncounted(text: str) -> Dim:
    name = text[1 : text.index(" ")]
    return (symbol(name) + 7) // 8 * 8


def test_parsed_texts_are_kept_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: Kept[tuple[str, frozenset[str], bool], dim_params.DimParam] = Kept(100)
    monkeypatch.setattr(dim_params, "_read", kept)
    for number in range(50):
        read_dim_param(f"bounded + {number + 1}", ())
        assert 0 < len(kept) <= 100 // len("bounded + 1")
    assert kept.get(("bounded + 50", frozenset(), False)) is not None
    assert kept.get(("bounded + 1", frozenset(), False)) is None
