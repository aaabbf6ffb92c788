"""Long texts of dims: exporters repeat subexpressions, each of which is parsed once, with the same results."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

import absint
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text import TextError, dim_params, parse, parse_relation, parser, read_dim_param
from absint.lattices.text.arithmetic import Arithmetic
from absint.lattices.text.syntax import Infix, Item
from absint.lattices.text.tokens import pieces, tokens


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operators that are applied."""
    found: list[str] = []
    apply = parser.Parser._infixed

    def counted(self: parser.Parser, left: Item, infix: Infix, right: Item) -> object:
        found.append(infix.op)
        return apply(self, left, infix, right)

    monkeypatch.setattr(parser.Parser, "_infixed", counted)
    return found


def same_padding(levels: int) -> str:
    """The size after convolutions of stride 2 with padding that depends on it, as torch writes it."""
    size = "s77"
    for _ in range(levels):
        padding = f"(Max(0, (2*(({size} + 1)//2) - 2 + 3 - ({size}))))"
        size = f"((({size}) + {padding} - 3)//2 + 1)"
    return size


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text passes for plain arithmetic."""
    monkeypatch.setattr(Arithmetic, "dim", lambda _: None)


@pytest.mark.usefixtures("unread")
def test_repeated_parentheses_are_parsed_once(applied: list[str]) -> None:
    """Each level has the text of the one below three times."""
    counts = []
    for levels in (3, 4, 5, 6, 7):
        del applied[:]
        parse(same_padding(levels))
        counts.append(len(applied))
    assert len(same_padding(7)) > 60 * len(same_padding(3)) > 30 * parser.MIN_SHARED
    assert len({after - before for before, after in pairwise(counts)}) == 1
    assert counts[-1] < 80


def test_parentheses_of_different_lengths_are_not_compared() -> None:
    depth = 20_000
    found = parser.Parser("(" * depth + "N" + ")" * depth, None, relation=False, total=False)
    assert found.dim() is parse("N")
    assert found.ends == {}


def test_what_is_compared_is_bounded() -> None:
    """Two equal towers: each pair of parentheses has one partner."""
    tower = "(" * 5_000 + "N" + ")" * 5_000
    text = f"{tower} + {tower}"
    found = parser.Parser(text, None, relation=False, total=False)
    assert found.dim() is parse("2*N")
    assert sum(len(key[2]) for key in found.shared) <= parser.MAX_COMPARED * len(text)
    assert 0 <= found.compared < 10_001


def test_a_long_text_is_the_size_that_it_denotes() -> None:
    dim = parse(same_padding(6))
    assert isinstance(dim, Expr)
    for size in (1, 2, 3, 7, 63, 64, 65, 224):
        expected = size
        for _ in range(6):
            expected = (expected + max(0, 2 * ((expected + 1) // 2) - 2 + 3 - expected) - 3) // 2 + 1
        assert dim.evaluate({"s77": size}) == expected


PARTS = ("N", "M", "7", "a b", "(N + 1)", "(N + M)", "(N/2)", "(N - M)//2", "floor(N/2 + 1/2)", "ceil((N + 1)/4)")
PARTS += ("max(N, M + 1)", "(M)", "min((N + 1), 4)", "ite(N >= (M + 1), 1, 0)", "Mod((N + M), 3)", "max", "N//(M)")


def written(rng: random.Random, depth: int) -> str:
    """A text in which many parentheses repeat; some do not parse."""
    if not depth:
        return rng.choice(PARTS).replace("a b", rng.choice(("`a b`", "a", "(")) if rng.random() < 0.1 else "a")
    left, right = written(rng, depth - 1), written(rng, depth - 1)
    form = rng.choice(("({0} + {1})", "({0})*2 - ({0})", "max({0}, {1})", "floor(({0} + {1})/2)", "({0})//2 + ({1})/3"))
    return form.format(left, right)


def read(text: str) -> tuple[Dim | str, tuple[Expr, ...], object]:
    """The dim or the error, the divisors, and what a model means by the text."""
    divisors: list[Expr] = []
    try:
        dim: Dim | str = parse(text)
        parse_relation(f"{text} >= 1", divisors=divisors)
    except TextError as error:
        dim = str(error)
    return dim, tuple(divisors), read_dim_param(text, ("N",))


@pytest.mark.usefixtures("unread")
def test_shared_parentheses_change_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    texts = [written(rng, rng.randrange(1, 5)) for _ in range(600)]
    monkeypatch.setattr(parser, "MIN_SHARED", 1 << 30)
    plain = [read(text) for text in texts]
    monkeypatch.setattr(parser, "MIN_SHARED", 0)
    for most in (64, 2):
        monkeypatch.setattr(parser, "MAX_COMPARED", most)
        absint.purge()
        assert [read(text) for text in texts] == plain
    assert 20 < sum(isinstance(dim, str) for dim, *_ in plain) < 300
    assert any(divisors for _, divisors, _ in plain)


@pytest.mark.usefixtures("unread")
def test_a_sum_in_parentheses_is_not_changed_by_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MIN_SHARED", 0)
    assert parse("(N + M) + K + (N + M) + K") is parse("2*N + 2*M + 2*K")
    assert parse("floor((N + 1)/2) + (N + 1)/2 + M") is parse("(N + 1)//2 + (N + 1)/2 + M")


@pytest.mark.parametrize("text", ["N + 1", " `a)(b` *2", "max(N,M)//3", "1.5*N", "a.b-c", "", "  ", "N  +\t(M)"])
def test_pieces_are_the_tokens_and_the_spaces(text: str) -> None:
    found = pieces(text)
    assert "".join(found) == text
    assert [piece for piece in found if not piece.isspace()] == [token.text for token in tokens(text)][:-1]


@pytest.mark.parametrize("text", ["N $ 1", "N = 1", "`N", "N + \x00"])
def test_pieces_end_at_what_is_no_token(text: str) -> None:
    with pytest.raises(TextError) as told:
        list(tokens(text))
    with pytest.raises(TextError) as found:
        pieces(text)
    assert str(found.value) == str(told.value)


HYPHENS = {
    "past-seq": True,
    "past - seq": False,
    "past -seq": False,
    "past- seq": False,
    "a/b": True,
    "a//b": False,
    "a/:b": False,
    "a->b": False,
    "(a)-b": True,
    "`a b`-c": True,
    "`a-b` + c": False,
    "f(-1)": False,
    "-1": False,
    "a--b": True,
    "a-": True,
    "2*-a": False,
}


@pytest.mark.parametrize(("text", "expected"), HYPHENS.items())
def test_hyphens_are_signs_between_operands_without_spaces(text: str, expected: bool) -> None:
    """Such a text is one name where its names do not stand alone on some input."""
    assert dim_params._has_hyphen(text) is expected


WORDS = ("N", "M", "a.b", "7", "0", "2", "(", ")", ",", "+", "-", "*", "//", "%", "max(", "Min(", "Mod(", "floordiv(")
RARE = (
    "broadcast(",
    "floor(",
    "ite(",
    "int(",
    "float32(",
    "f(",
    "**",
    "/",
    "1.5",
    "and",
    "True",
    "`q r`",
    "$",
    "\t",
    ">=",
)


def soup(rng: random.Random) -> str:
    """Words in any order, which some texts close again."""
    words = [rng.choice(RARE if rng.random() < 0.1 else WORDS) for _ in range(rng.randrange(1, 8))]
    return rng.choice(("", " ")).join(words)


def balanced(rng: random.Random, depth: int) -> str:
    """Plain arithmetic, now and then with something else in it."""
    if not depth or rng.random() < 0.1:
        return rng.choice(
            ("N", "M", "a.b", "3", "12", "0", "K") if rng.random() < 0.99 else ("-N", "N/2", "`q`", "N**2")
        )
    left, right = balanced(rng, depth - 1), balanced(rng, depth - 1)
    forms = ("{0} + {1}", "{0}-{1}", "({0})*({1})", "{0} // {1}", "({0})%({1})", "max({0}, {1})", "Min({0},{1})")
    forms += (
        "Mod({0}, {1})",
        "ceildiv({0}, 2)",
        "broadcast({0}, {1})",
        "abs({0})",
        "({0}) - ({1}) + {0}",
        "floor({0})",
    )
    return rng.choice(forms).format(left, right)


def parsed(text: str, *, total: bool) -> Dim | str:
    try:
        return parser.Parser(text, None, relation=False, total=total).dim()
    except TextError as error:
        return str(error)


@pytest.mark.parametrize("total", [False, True])
def test_arithmetic_gives_the_dims_of_the_parser(total: bool) -> None:
    rng = random.Random(5 + total)
    texts = [soup(rng) for _ in range(3000)] + [balanced(rng, rng.randrange(1, 6)) for _ in range(1500)]
    read = [(text, Arithmetic(text, total=total).dim()) for text in texts]
    for text, dim in read:
        if dim is not None:
            assert parsed(text, total=total) is dim, text
    assert sum(dim is not None for _, dim in read[3000:]) > 1000
    assert sum(dim is not None for _, dim in read[:3000]) > 100
    assert sum(dim is None for _, dim in read) > 1000


def test_what_the_parser_reads_arithmetic_need_not() -> None:
    """Nothing else is plain: signs before operands, exact quotients, decimals, conditions, quotes, other spaces."""
    for text in (
        "-N + 1",
        "floor(N/2)",
        "1.5*N",
        "ite(N >= 1, N, 1)",
        "`a b` + 1",
        "floor(N**",
        "(N**)",
        "N\t+ 1",
        "N**2",
        "N ^ M",
        "not N",
    ):
        assert Arithmetic(text, total=False).dim() is None, text
    assert Arithmetic(f"N + {'9' * 620}", total=False).dim() is None
    assert Arithmetic("(N + 1)*2 - max(M, 3, N)//2 % 5", total=False).dim() is not None


def test_arithmetic_that_takes_much_work_is_left_to_the_parser() -> None:
    text = "*".join(f"({' + '.join(f'x{i}{j}' for j in range(14))})" for i in range(3))
    assert Arithmetic(text, total=False).dim() is None


@pytest.mark.parametrize("total", [False, True])
def test_dim_params_mean_the_same_without_arithmetic(total: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(11 + total)
    texts = [soup(rng) for _ in range(1500)] + [f"{' ' * rng.randrange(2)}{balanced(rng, 2)}" for _ in range(500)]
    found = [dim_params._read_dim_param(text, frozenset("N"), total) for text in texts]
    monkeypatch.setattr(Arithmetic, "dim", lambda _: None)
    assert [dim_params._read_dim_param(text, frozenset("N"), total) for text in texts] == found
    assert sum(read.hint is not None for read in found) > 300


def test_a_long_text_of_arithmetic_needs_no_parser(applied: list[str]) -> None:
    for levels in (3, 6):
        assert isinstance(parse(same_padding(levels)), Expr)
    assert applied == []
