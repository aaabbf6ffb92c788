"""Long expressions get names, whose definitions are short, linear in the distinct expressions, and read back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from absint.lattices.logic.relation import eq, ge, ite
from absint.lattices.terms.expr import Dim, Expr, const, symbol
from absint.lattices.terms.normal import floordiv, maximum, minimum, mod
from absint.lattices.text import TextError, notation, parse, parse_relation
from absint.lattices.text.naming import MAX_SHOWN, Names, Naming
from absint.lattices.text.notation import read_definitions
from tests.lattices.test_forms import tower

N, M, K = (symbol(name) for name in "NMK")

leaves = st.sampled_from([N, M, K]) | st.integers(-9, 9).map(const)


def grow(dims: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
    two = st.tuples(dims, dims)
    return st.one_of(
        two.map(lambda ab: ab[0] + ab[1]),
        two.map(lambda ab: ab[0] * ab[1]),
        two.map(lambda ab: maximum(*ab)),
        two.map(lambda ab: minimum(*ab)),
        st.tuples(dims, st.integers(2, 9)).map(lambda ab: floordiv(ab[0], const(ab[1]))),
        st.tuples(dims, st.integers(2, 9)).map(lambda ab: mod(ab[0], const(ab[1]))),
        st.tuples(dims, dims, dims).map(lambda abc: ite(ge(abc[0], 3), abc[1], abc[2])),
    )


dims = st.recursive(leaves, grow, max_leaves=60)


def expanded(where: Names, text: str) -> Dim:
    """The dim of a text that may use names of a document."""
    return parse(text, {"N": N, "M": M, "K": K, "H": symbol("H"), **read_definitions(where.definitions)})


@given(st.lists(dims, min_size=1, max_size=4))
def test_definitions_substituted_back_give_the_same_dims(found: list[Dim]) -> None:
    where = Names(Naming())
    texts = [where.dim(dim) for dim in found]
    assert all(len(text) <= MAX_SHOWN for text in texts)
    for dim, text in zip(found, texts, strict=True):
        if "?" not in text:
            assert expanded(where, text) is dim
    for name, text in where.definitions.items():
        assert text != name
        assert re.fullmatch(r"w[1-9]\d*", name)


@given(dims, dims)
def test_a_relation_reads_back(a: Dim, b: Dim) -> None:
    if not isinstance(a, Expr) or not isinstance(b, Expr):
        return
    for relation in (eq(a, b), ge(a, b)):
        where = Names(Naming())
        text = where.relation(relation)
        names = {"N": N, "M": M, "K": K, **read_definitions(where.definitions)}
        assert parse_relation(text, names) is relation


def test_a_short_dim_stands_in_place() -> None:
    where = Names(Naming())
    assert where.dim(parse("2*N + 1")) == "2*N + 1"
    assert where.dim(Dim(None)) == "?"
    assert where.dim(symbol("N" * 500)) == "N" * 500
    assert not where.definitions


def test_the_tower_in_full() -> None:
    where = Names(Naming())
    dim = tower(6)
    assert len(str(dim)) > 500
    assert where.dim(dim) == "w1"
    assert where.dim(floordiv(dim, const(2))) == "w4"
    assert where.definitions == {
        "w1": "max((max((w2 + 4)//K, w2//M) + 5)//K, max((w2 + 4)//K, w2//M)//M)",
        "w2": "max((max((w3 + 2)//K, w3//M) + 3)//K, max((w3 + 2)//K, w3//M)//M)",
        "w3": "max((max(N//K, N//M) + 1)//K, max(N//K, N//M)//M)",
        "w4": "w1//2",
    }
    assert expanded(where, "w4") is floordiv(dim, const(2))


def test_definitions_are_linear_in_the_distinct_expressions() -> None:
    """The text of the expression doubles with each level; the definitions grow by a constant."""
    notation.forget()
    lengths = []
    for levels in (5, 9, 13):
        where = Names(Naming())
        dim = tower(levels)
        assert where.dim(dim) == "w1"
        assert max(map(len, where.definitions.values())) <= MAX_SHOWN
        assert read_definitions(where.definitions)["w1"] is dim
        lengths.append(sum(map(len, where.definitions.values())))
    assert len(str(dim)) > 80 * lengths[2]
    assert lengths[2] < 4 * lengths[0]
    assert len(notation._forms) <= 4 * 13 + 5


def test_names_of_the_model_are_left_alone() -> None:
    dim = tower(6)
    where = Names(Naming(is_taken={"w1", "w3"}.__contains__))
    assert where.dim(dim) == "w2"
    assert not {"w1", "w3"} & where.definitions.keys()
    assert expanded(where, "w2") is dim


def test_given_names_are_used_again() -> None:
    dim = tower(6)
    assert isinstance(dim, Expr)
    where = Names(Naming(given={"w7": dim, "w1": symbol("other")}))
    assert where.dim(dim) == "w7"
    assert "w1" not in where.definitions


def test_names_do_not_depend_on_what_is_asked_first() -> None:
    first, second = tower(6), tower(6, K)
    batches = [[first], [second]]
    assert Names(Naming(batches=batches)).dim(first) == "w1"
    late = Names(Naming(batches=batches))
    name = late.dim(second)
    assert name != "w1"
    assert late.dim(first) == "w1"
    early = Names(Naming(batches=batches))
    early.dim(first)
    assert early.dim(second) == name
    assert early.definitions == late.definitions


def test_a_document_lists_only_what_it_uses() -> None:
    naming = Naming()
    one, other = Names(naming), Names(naming)
    one.dim(tower(6))
    other.dim(tower(6, K + 1))
    assert not one.definitions.keys() & other.definitions.keys()
    assert naming.lookup("w1") is tower(6)
    assert naming.lookup("w1000") is None


def test_an_amount_has_no_name_of_its_own() -> None:
    where = Names(Naming())
    dim = tower(6)
    assert where.amount(dim * 3 + N) == "N + 3*max((max((w1 + 4)//K, w1//M) + 5)//K, max((w1 + 4)//K, w1//M)//M)"
    assert where.amount(Dim(None)) == "?"


def test_a_side_of_a_relation_has_the_name_of_its_dim() -> None:
    where = Names(Naming())
    dim = tower(6)
    where.dim(dim)
    assert where.relation(ge(dim, 7)) == "w1 >= 7"
    assert where.relation(eq(dim, N)) == "N == w1"


def test_a_circle_is_refused() -> None:
    with pytest.raises(TextError, match="w2 is defined by itself"):
        read_definitions({"w1": "w2 + 1", "w2": "w1 + 1"})
    with pytest.raises(TextError, match="w1 is defined by itself"):
        read_definitions({"w1": "w1 + 1"})
