"""References to values in texts: what they mean, which names need backquotes, and what errors say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

import pytest
from hypothesis import example, given, strategies as st

from absint.lattices.logic.relation import FALSE, TRUE, Relation, boolean, eq, ge, implies, ne
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, as_dim, const, integer_symbol, symbol
from absint.lattices.text import TextError, format_relation, parse, parse_relation
from absint.lattices.text.escapes import nearest
from absint.lattices.text.syntax import UnresolvedError
from absint.lattices.text.tokens import quote
from absint.lattices.text.value_names import MAX_BARE_NAME, is_bare
from tests.lattices.test_text import HOSTILE, conditions, source, trees
from tests.reference import Tree

N, M, K, H = (symbol(name) for name in "NMKH")
SYMBOLS = {name: symbol(name) for name in ("N", "M", "K", "H", "seq", "batch size", "rank")}


class Known:
    """Values with their dims; None for a rank that is not known."""

    def __init__(self, shapes: Mapping[str, Sequence[Dim | int] | None]) -> None:
        self.shapes = shapes

    def __contains__(self, name: object) -> bool:
        return name in self.shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def shape(self, name: str) -> tuple[Dim, ...]:
        dims = self.shapes[name]
        if dims is None:
            raise UnresolvedError(f"the rank of {name!r} is unknown")
        return tuple(map(as_dim, dims))


NO_VALUES = Known({})
VALUES = Known(
    {
        "X": (N, M),
        "Z": (N, M),
        "W": (N, 3, H // 2),
        "scalar": (),
        "U": None,
        "partly": (N, UNKNOWN_SIZE),
        "N": (K, 2),
        "/model/layers.0/Add_output_0": (N, M, 768),
        "/model/layers.1/Add_output_0": (N, M, 768),
        "onnx::Add_12": (N + 1,),
        "past-key": (M,),
        "12": (H,),
        "my value": (M, H),
        "a": (5,),
        "b": (6,),
        "a/b": (7,),
        "f(x)": (8,),
        "x - y": (9,),
        "Y[0]": (10,),
        "%5": (11,),
        "Y": (12,),
        "shape": (13,),
        "true": (14,),
        "größe.é": (15,),
    }
)


def relation(text: str) -> Relation:
    return parse_relation(text, SYMBOLS, VALUES)


def dim(text: str) -> Dim:
    return parse(text, SYMBOLS, VALUES)


def error(text: str) -> TextError:
    with pytest.raises(TextError) as caught:
        relation(text)
    return caught.value


# What references mean


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("X[1]", M),
        ("X[-1] + X[-2]", M + N),
        ("X [ 0 ]", N),
        ("(X)[0]", N),
        ("X[3 - 2]", M),
        ("2*X[0]//W[1]", 2 * N // 3),
        ("-X[0]", -N),
        ("floor(X[0]/2)", N // 2),
        ("floor(X[7/7]/2)", M // 2),
        ("W[2]", H // 2),
        ("shape(W)[-1]", H // 2),
        ("[N[0], 4][1]", const(4)),
        ("size(X)", M * N),
        ("size(scalar)", const(1)),
        ("rank(W)", const(3)),
        ("rank(scalar)", const(0)),
        ("size ( `X` ) // rank(X)", M * N // 2),
        ("symbol(N)", N),
        ("symbol(N) + N[0]", N + K),
        ("symbol(batch size)", symbol("batch size")),
        ("M", M),
        ("rank", symbol("rank")),
        ("rank + rank(X)", symbol("rank") + 2),
        ("shape[0]", const(13)),
        ("max(X[0], M)", parse("max(N, M)")),
    ],
)
def test_dims(text: str, meaning: Dim) -> None:
    assert dim(text) is meaning


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("X[1] == Z[1]", TRUE),
        ("H % 32 == 0", eq(H % 32, 0)),
        ("X[0] <= W[2] + 2", ge(H // 2 + 2, N)),
        ("1 <= X[0] < X[1]", ge(N, 1) & ge(M, N + 1)),
        ("X[0] in {1, M}", eq(N, 1) | eq(N, M)),
        ("X[0] not in [1, W[1]]", ne(N, 1) & ne(N, 3)),
        ("not X[0] == 1 or H == 2", ne(N, 1) | eq(H, 2)),
        ("X[0] == 1 -> X[1] == 2 and M == 2", implies(eq(N, 1), eq(M, 2))),
        ("shape(X) == shape(Z)", TRUE),
        ("shape(X) != shape(Z)", FALSE),
        ("shape(X) == shape(W)", FALSE),
        ("shape(X) != shape(scalar)", TRUE),
        ("shape(my value) == shape(X)", eq(M, N) & eq(H, M)),
        ("shape(my value) != shape(X)", ne(M, N) | ne(H, M)),
        ("shape(X) == shape(Z) == [symbol(N), 4]", eq(M, 4)),
        ("[2*M, 3, H//2] == shape(W)", eq(N, 2 * M)),
        ("shape(scalar) == []", TRUE),
        ("shape(X) == []", FALSE),
        ("shape(partly) == [symbol(N)]", FALSE),
        ("shape(W) == [symbol(N), 4, X[0]]", FALSE),
        ("(shape(X)) == shape(Z) and rank(W) == 3", TRUE),
        ("rank(X) == rank(W)", FALSE),
        ("size(X) == size(W)", eq(N * M, 3 * N * (H // 2))),
        ("size(X) % 8 == 0 implies size(X) % 4 == 0", implies(eq(N * M % 8, 0), eq(N * M % 4, 0))),
    ],
)
def test_relations(text: str, meaning: Relation) -> None:
    assert relation(text) is meaning


def test_unknown_dims_matter_only_where_they_decide() -> None:
    assert relation("partly[0] == 3") is eq(N, 3)
    assert relation("rank(partly) == 2") is TRUE
    assert relation("shape(partly) == [4, 5, 6]") is FALSE
    values = Known({"V": (2, UNKNOWN_SIZE)})
    assert parse_relation("shape(V) == [3, 4]", None, values) is FALSE


def test_conditions_are_boolean_symbols() -> None:
    names = {"N": N, "_d0": integer_symbol("%3:0[0]", 0, 1), "_d1": integer_symbol("%4:0", 0, 9)}
    assert parse_relation("_d0 -> N == 2", names, NO_VALUES) is implies(boolean("%3:0[0]"), eq(N, 2))
    assert parse_relation("not symbol(_d0)", names, NO_VALUES) is ~boolean("%3:0[0]")
    assert parse_relation("_d0 + _d1 == 2", names, NO_VALUES) is eq(names["_d0"] + names["_d1"], 2)
    for text in ("N and _d0", "_d1 -> _d0"):
        with pytest.raises(TextError, match="expected a condition such as N >= 1, found a number"):
            parse_relation(text, names, NO_VALUES)
    assert parse_relation("c -> N == 2", None, NO_VALUES) is implies(boolean("c"), eq(N, 2))


# Names


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("/model/layers.0/Add_output_0[-1]", const(768)),
        ("2//model/layers.0/Add_output_0[2]", None),
        ("2*/model/layers.0/Add_output_0[2]", const(1536)),
        ("onnx::Add_12[0]", N + 1),
        ("past-key[0]", M),
        ("12[0] + 12", H + 12),
        ("my value[1]", H),
        ("a/b[0]", const(7)),
        ("a / b[0]", None),
        ("a[0]/b[0]", const(0)),
        ("2*a/b[0]", const(14)),
        ("(100)/b[0]", const(16)),
        ("`a/b`[0]", const(7)),
        ("`f(x)`[0]", const(8)),
        ("`x - y`[0]", const(9)),
        ("`Y[0]`[0]", const(10)),
        ("Y[0]", const(12)),
        ("%5[0]", const(11)),
        ("`%5`[0]", const(11)),
        ("size(a/b)", const(7)),
        ("size(`a/b`)", const(7)),
        ("size(onnx::Add_12)", N + 1),
        ("true[0]", const(14)),
        ("größe.é[0]", const(15)),
    ],
)
def test_names_that_need_no_backquotes(text: str, size: Dim | None) -> None:
    if size is not None:
        assert dim(text) is size
    else:
        with pytest.raises(TextError):
            dim(text)


odd_names = st.text(st.sampled_from("aN/.:- 0[](),`%+*<=\\é\n#") | st.characters(), max_size=8)
tables = st.dictionaries(
    odd_names, st.integers(1, 9).map(lambda size: (size, symbol("length"))), min_size=1, max_size=4
)


@given(tables, st.data())
def test_every_name_reads_in_backquotes(table: dict[str, tuple[int, Dim]], data: st.DataObject) -> None:
    x, z = (data.draw(st.sampled_from(sorted(table))) for _ in "xz")
    text = f"{quote(x)}[0] == {quote(z)}[-2] and size({quote(x)}) == {table[x][0]}*symbol(length)"
    assert parse_relation(text, ["length"], Known(table)) is eq(table[x][0], table[z][0])


@given(tables, st.data())
def test_a_name_without_brackets_reads_bare(table: dict[str, tuple[int, Dim]], data: st.DataObject) -> None:
    bare = sorted(filter(is_bare, table))
    if bare:
        x, z = (data.draw(st.sampled_from(bare)) for _ in "xz")
        assert parse(f"{x}[0]", None, Known(table)) is const(table[x][0])

        def text(x: str, z: str) -> str:
            return f"({x}[0] <= 2 * {z}[0] or shape({x}) == [1, {z}[1]]) -> {x}[1] != {z}[0]"

        written, quoted = text(x, z), text(quote(x), quote(z))
        assert parse_relation(written, None, Known(table)) is parse_relation(quoted, None, Known(table))


def test_long_names_need_backquotes() -> None:
    for length in (MAX_BARE_NAME, MAX_BARE_NAME + 1):
        name = "x-" * (length // 2) + "y" * (length % 2)
        values = Known({name: (4,)})
        assert parse(f"`{name}`[0]", None, values) is const(4)
        assert is_bare(name) == (length == MAX_BARE_NAME)
        if is_bare(name):
            assert parse(f"{name}[0]", None, values) is const(4)


# Without values nothing changes


@given(conditions(trees))
def test_texts_without_references_mean_the_same(tree: Tree) -> None:
    text = source(tree)
    expected = outcome(text, None, None)
    assert outcome(text, None, NO_VALUES) == outcome(text, None, VALUES_OF_OTHER_NAMES) == expected
    if isinstance(expected, Relation):
        assert outcome(format_relation(expected), None, NO_VALUES) is expected


def outcome(text: str, names: Collection[str] | None, values: Known | None) -> Relation | tuple[str, int]:
    """The relations that a text states, or the reason and the column of the error."""
    try:
        return parse_relation(text, names, values, total=True)
    except TextError as problem:
        return problem.reason, problem.column


VALUES_OF_OTHER_NAMES = Known({"x": (2,), "N - M": (3,), "2*N": (4,)})


@pytest.mark.parametrize(
    "text", ["X[1] == 2", "shape(X) == shape(Z)", "[1] == [1]", "rank(X) == 2", "size(X) == 2", "symbol(N) == 2"]
)
def test_references_need_a_resolver(text: str) -> None:
    with pytest.raises(TextError):
        parse_relation(text)


# Errors


@pytest.mark.parametrize(
    ("text", "reason", "caret"),
    [
        ("2*X[2] == 1", "axis 2 is out of range: 'X' has rank 2, its axes are -2 to 1", 4),
        ("X[-3] == 1", "axis -3 is out of range: 'X' has rank 2, its axes are -2 to 1", 2),
        ("scalar[0] == 1", "axis 0 is out of range: 'scalar' is a scalar, it has no axes", 7),
        ("[3][1] == 1", "axis 1 is out of range: the list has rank 1, its axes are -1 to 0", 4),
        (f"X[{'9' * 99}] == 1", "axis of so many digits is out of range: 'X' has rank 2, its axes are -2 to 1", 2),
        ("1 == U[0]", "the rank of 'U' is unknown", 5),
        ("shape(U) == []", "the rank of 'U' is unknown", 6),
        ("partly[1] >= 0", "axis 1 of 'partly' is unknown: it has no expression", 0),
        ("size(partly) >= 0", "axis 1 of 'partly' is unknown: it has no expression", 5),
        ("shape(partly) == shape(X)", "axis 1 of 'partly' is unknown: it has no expression", 14),
        ("X == 3", "'X' is a value: write X[axis], shape(X), size(X) or rank(X)", 0),
        ("shape(X) == Z", "'Z' is a value: write Z[axis], shape(Z), size(Z) or rank(Z)", 12),
        ("X", "'X' is a value: write X[axis], shape(X), size(X) or rank(X)", 0),
        ("not `a/b`", "'a/b' is a value: write a/b[axis], shape(a/b), size(a/b) or rank(a/b)", 4),
        (
            "1 <= onnx::Add_12",
            "'onnx::Add_12' is a value: write onnx::Add_12[axis], shape(onnx::Add_12), size(onnx::Add_12) or "
            "rank(onnx::Add_12)",
            5,
        ),
        (
            "my value == 1",
            "'my value' is a value: write my value[axis], shape(my value), size(my value) or rank(my value)",
            0,
        ),
        ("N == 3", "'N' is a symbol and a value: write symbol(N), or N[axis] and the like", 0),
        ("2 == `N`", "'N' is a symbol and a value: write symbol(N), or N[axis] and the like", 5),
        ("symbol(X) == 2", "no symbol 'X' here", 7),
        ("symbol(sec) == 2", "no symbol 'sec' here; did you mean 'seq'?", 7),
        ("sec + X[0] == 2", "no symbol or value 'sec' here; did you mean 'seq'?", 0),
        ("Xs[0] == 2", "no value 'Xs' here; did you mean 'X'?", 0),
        ("M*`Xs`[0] == 2", "no value 'Xs' here; did you mean 'X'?", 2),
        ("seq*scala[0] == 2", "no value 'scala' here; did you mean 'scalar'?", 4),
        ("seq == rank(scalr)", "no value 'scalr' here; did you mean 'scalar'?", 12),
        (
            "1 == /model/layers.0/Ad_output_0[0]",
            "no value '/model/layers.0/Ad_output_0' here; did you mean '/model/layers.0/Add_output_0' or "
            "'/model/layers.1/Add_output_0'?",
            5,
        ),
        (
            "1 == model/layers.1/Add_output_0[0]",
            "no value 'model/layers.1/Add_output_0' here; did you mean '/model/layers.1/Add_output_0' or "
            "'/model/layers.0/Add_output_0'?",
            5,
        ),
        ("onnx::Add_2[0] == 1", "no value 'onnx::Add_2' here; did you mean 'onnx::Add_12'?", 0),
        ("/other/name[0] == 1", "no value '/other/name' here", 0),
        ("f(x)[0] == 8", "the name of the value 'f(x)' has to be in backquotes here", 0),
        ("size(f(x)) == 8", "the name of the value 'f(x)' has to be in backquotes here", 5),
        ("x - y[0] == 8", "the name of the value 'x - y' has to be in backquotes here", 0),
        ("Y[0][0] == 8", "the name of the value 'Y[0]' has to be in backquotes here", 0),
        ("`%6` == 1", "names that begin with '%' are internal", 0),
        ("X[0, 1] == 1", "expected one axis, found ','", 3),
        ("X[] == 1", "expected a number, a name or '(', found ']'", 2),
        ("X[0 == 1", "expected ']', found the end", 8),
        ("X[0 == 1] == 1", "expected a number, found a condition", 2),
        ("X[M] == 1", "expected an axis: an integer", 2),
        ("X[0) == 1", "expected ']', found ')'", 3),
        ("X[0] = 1", "expected '==' for a comparison", 5),
        ("X[0] + * Z[0] == 1", "expected a number, a name or '(', found '*'", 7),
        ("X[0] Z[0] == 1", "expected an operator, found 'Z'", 5),
        ("X[0][1] == 1", "expected an operator, found '['", 4),
        ("symbol(M)[0] == 1", "expected an operator, found '['", 9),
        ("shape(X", "expected ')' after the name of a value, found the end", 7),
        ("shape(X, Z)", "expected ')' after the name of a value, found ','", 7),
        ("shape()", "expected the name of a value, found ')'", 6),
        ("symbol([)", "expected the name of a symbol, found '['", 7),
        ("shap(X) == []", "no function 'shap'; did you mean 'shape'?", 0),
        ("shape(X) < shape(Z)", "a shape is compared by == or != with a shape: shape(X) or [N, 3]", 9),
        ("shape(X) == 3", "a shape is compared by == or != with a shape: shape(X) or [N, 3]", 9),
        ("3 in {1} == shape(X)", "a shape is compared by == or != with a shape: shape(X) or [N, 3]", 9),
        ("shape(X) + 1 == 3", "expected a number, found a shape", 0),
        ("shape(X) and M == 1", "expected a condition such as N >= 1, found a shape", 0),
        ("M in X[0]", "expected a set such as {1, 64}, found 'X'", 5),
        ("?", "unexpected character '?': a name with other characters is written in backquotes", 0),
    ],
)
def test_errors(text: str, reason: str, caret: int) -> None:
    problem = error(text)
    assert (problem.reason, problem.column) == (reason, caret)
    assert str(problem).splitlines()[-1].index("^") == caret + 4 or len(text) > 30


def test_an_error_shows_the_text_and_a_caret() -> None:
    assert str(error("X[1] == Xs[0]")) == "no value 'Xs' here; did you mean 'X'?\n    X[1] == Xs[0]\n            ^"


def test_dims_are_subject_to_the_same_errors() -> None:
    for text in ("X", "N", "my value", "?", "sec"):
        with pytest.raises(TextError):
            dim(text)


def test_products_over_the_limits_are_refused() -> None:
    wide = sum((symbol(f"x{i}") for i in range(200)), start=N)
    for shape, reason in (((wide, wide), "too much work"), ((wide, M + 1, K + 1), "outgrows the limits")):
        with pytest.raises(TextError, match=reason):
            parse("size(V)", None, Known({"V": shape}))


def test_nearest_names() -> None:
    names = ["logits", "logits_1", "logit_bias", "x", "input_ids"]
    assert [name for _, name in nearest("logit", names)] == ["logits", "logits_1", "logit_bias"]
    assert [name for _, name in nearest("logit", names, 1)] == ["logits"]
    assert nearest("attention", names) == nearest("", names) == nearest("logit", []) == []
    assert nearest("logits", ["x" * 10_000, "y" * 300]) == []


# Any text


PIECES = (
    "[ ] ( ) { } , ` == != <= -> in and or + - * / // % ^ & ** 0 1 -1 2 [0] [1] [-1] 0.5 ? = \\ é . : N seq Xs "
    "shape( size( rank( symbol( max( floor( ite("
)
fragments = st.sampled_from([*VALUES, *PIECES.split(), "not ", "batch size", " ", "\n", "\0"])


@given(st.lists(fragments, max_size=14).map("".join) | st.lists(fragments, max_size=14).map(" ".join))
@example("shape(" * 9)
def test_any_text_is_read_or_refused(text: str) -> None:
    for names in (SYMBOLS, None, ()):
        found = outcome(text, names, VALUES)
        assert isinstance(found, Relation) or 0 <= found[1] <= len(text)
        with suppress(TextError):
            assert isinstance(parse(text, names, VALUES), Dim)


@given(tables, st.text(st.sampled_from("aN/.:- 0[](),`%+*<=\\é\n#?rank")), st.booleans())
def test_any_text_over_any_names_is_read_or_refused(
    table: dict[str, tuple[int, Dim]], text: str, symbols: bool
) -> None:
    for name in table:
        for query in (text, text + name, f"{name}{text}", f"rank({name}{text})"):
            found = outcome(query, SYMBOLS if symbols else None, Known(table))
            assert isinstance(found, Relation) or 0 <= found[1] <= len(query)


MANY = Known({**VALUES.shapes, **{f"/model/layers.{i % 40}/attn/MatMul_{i}_output_0": (N,) for i in range(10_000)}})
HOSTILE_REFERENCES = {
    "axes": "X[" * 100_000,
    "lists": "[" * 100_000,
    "calls": "shape(" * 500_000,
    "sum": "+".join(["X[0]"] * 100_000),
    "quotients": "a/" * 200_000 + "b[0] == 1",
    "sizes": "*".join(["size(W)"] * 5_000) + " == 1",
    "alternation": "X[0] == 1 or (X[1] == 2 and (" * 120 + "X[0] == 3" + "))" * 120,
    "no space": "x" * 3_900_000 + "[0] == 1",
    "quoted": "`" + "x" * 3_900_000 + "`[0] == 1",
    "spaces": "shape(X" + " " * 3_900_000 + "[0]) == 1",
    "typo at the end": "M + " * 100_000 + "/model[0] == 1",
}


@pytest.mark.parametrize("name", [*HOSTILE_REFERENCES, *HOSTILE])
def test_hostile_texts_are_refused(name: str) -> None:
    with pytest.raises(TextError) as caught:
        parse_relation((HOSTILE_REFERENCES | HOSTILE)[name], SYMBOLS if name in HOSTILE_REFERENCES else None, MANY)
    assert len(str(caught.value)) < 600
