"""SMT-LIB text: any name survives, size stays in proportion, and what it asserts comes back by name."""

from __future__ import annotations

import pytest
import z3
from hypothesis import given, strategies as st

from absint.lattices.logic.relation import conjunction, disjunction, eq, ge, ne
from absint.lattices.terms.expr import Dim, Expr, const, integer_symbol, symbol
from absint.lattices.terms.normal import broadcast, maximum
from absint.lattices.text import parse, parse_relation
from absint.solver.encode import Encoder
from absint.solver.smtlib import Script, query, quote, quote_label, unquote
from absint.solver.z3_process import answer, fresh_solver
from tests.lattices.test_expr_fuzz import DEPTHS, deep, forget

ODD = [
    "", " ", "%", "%41", "|", "\\", "a|b", "a\\b", "a b", "a\nb", "a\0b", "a;b", 'a"b', "(declare-const b Int)", ")",
    "0", "-1", "?", "?p", "$1", "!p", "!partial_eq", "@x", ".x", ":named", "%12:Conv:0", "größe", "图", "\ud800",
    "\udcff", "_", "as", "let", "and", "or", "true", "false", "distinct", "xor", "not", "ite", "=>", "=", "div", "mod",
    "abs", "+", "*", "<=", "&&", "exists", "assert", "Int", "Bool", "to_real", "is_int", "select", "N", "p", "k!0",
    "x!1", "int.pow2", "N|", "|N|", "%7c", "a%", "~", "'",
]  # fmt: skip


@given(st.text() | st.text(st.sampled_from("|\\%$?ab4 "), max_size=6) | st.sampled_from(ODD))
def test_every_name_has_a_symbol_of_its_own(name: str) -> None:
    for written in (quote(name), quote_label(name)):
        assert unquote(written) == name
        plain = written.strip("|")
        assert plain.isascii()
        assert plain.isprintable()
        assert not set(plain) & {"|", "\\"}
        assert written in (plain, f"|{plain}|")
    assert not quote(name).strip("|").startswith(("$", "?"))
    assert quote_label(name).strip("|").startswith("?")


def test_a_solver_takes_every_name_for_a_name() -> None:
    script = Script()
    for size, name in enumerate(ODD):
        script.add(eq(symbol(name), size), name)
    told = answer(fresh_solver(), {"script": script.text, "rlimit": 0, "core": True, "minimize": False})
    assert {unquote(name): size for name, size in told["model"].items()} == {n: size for size, n in enumerate(ODD)}
    for name in ODD:
        script.add(ne(symbol(name), ODD.index(name)), f"not {name}")
    told = answer(fresh_solver(), {"script": script.text, "rlimit": 0, "core": True, "minimize": False})
    first, second = sorted((unquote(label) for label in told["core"]), key=len)
    assert first in ODD
    assert second == f"not {first}"


def test_words_that_are_plain_stay() -> None:
    assert [quote(name) for name in ("batch", "past_seq", "H2", "input.ids")] == [
        "batch",
        "past_seq",
        "H2",
        "input.ids",
    ]
    assert quote_label("c0") == "?c0"
    assert unquote("no%escape%zz%ff") == "no%escape%zz%ff"


def test_premises_have_names_and_the_goal_has_none() -> None:
    premises = {"even": parse_relation("N % 2 == 0"), "more": parse_relation("N >= 4")}
    text = query(premises, parse_relation("N//2 <= 1"))
    told = answer(fresh_solver(), {"script": text, "rlimit": 0, "core": True, "minimize": True})
    assert (told["verdict"], told["core"]) == ("unsat", ["?more"])


def test_a_name_of_an_assertion_is_taken_once() -> None:
    script = Script()
    script.add(parse_relation("N >= 1"), "N")
    with pytest.raises(ValueError, match="two assertions are named 'N'"):
        script.add(parse_relation("N >= 2"), "N")


@pytest.mark.parametrize(
    ("text", "logic"),
    [("2*N//3 - M >= 1", "QF_LIA"), ("max(N, M) == 3", "QF_LIA"), ("N*M >= 7", "QF_NIA"), ("N//M >= 1", "QF_NIA")],
)
def test_the_logic_is_the_least_that_is_needed(text: str, logic: str) -> None:
    script = Script()
    script.add(parse_relation(text))
    assert script.logic == logic


def test_bounds_of_symbols() -> None:
    script = Script()
    dims = [symbol("N"), integer_symbol("I"), integer_symbol("J", -3), integer_symbol("K", None, -4)]
    script.dim(dims[0] + dims[1] + dims[2] + dims[3])
    assert [line for line in script.text.splitlines() if line.startswith("(assert")] == [
        "(assert (<= (- 3) J))",
        "(assert (<= K (- 4)))",
        "(assert (<= 0 N 2147483647))",
    ]
    assert list(script.symbols) == ["I", "J", "K", "N"]


def test_the_text_does_not_depend_on_what_was_built_before() -> None:
    def text(names: list[str]) -> str:
        forget()
        total: Dim = const(0)
        for name in names:
            total = total + symbol(name) * symbol("x") // 3
        script = Script()
        script.add(eq(maximum(total, symbol(names[0])), 7))
        return script.text

    assert text(["a", "b", "c"]) == text(["a", "c", "b"])


# Size


@pytest.mark.parametrize("kind", DEPTHS)
def test_deep_terms_stay_in_proportion(kind: str) -> None:
    dim = deep(kind)
    assert isinstance(dim, Expr)
    script = Script()
    script.add(ge(dim, 1))
    assert len(script.text) < 400 * DEPTHS[kind]
    assert Encoder().dim(dim) is not None
    z3.parse_smt2_string(script.text)


def test_shared_terms_are_written_once() -> None:
    dim: Dim = symbol("N")
    for i in range(200):
        dim = maximum(dim // symbol("M"), broadcast(dim - i, symbol("K"))) + dim
        if not isinstance(dim, Expr):
            break
        last = dim
    script = Script()
    script.add(eq(last, const(3)))
    assert last.size > 20_000
    assert len(script.text) < 20_000


def test_shared_formulas_are_written_once() -> None:
    shared = ge(symbol("N"), 3)
    for i in range(60):
        shared = disjunction(conjunction(shared, ne(symbol("M"), i)), conjunction(shared, eq(symbol("K"), i)))
    script = Script()
    script.add(shared)
    assert len(script.text) < 20_000
    assert Encoder().relation(shared) is not None


def test_many_operands() -> None:
    script = Script()
    script.add(eq(maximum(*(symbol(f"s{i}") for i in range(64))), parse("N")))
    assert len(script.text) < 20_000
