"""Normal forms of relations: what an equality of quotients and products says is written down plainly."""

from __future__ import annotations

from itertools import product

import pytest

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import divisible, ge, ite
from absint.lattices.terms.expr import symbol
from absint.lattices.text import parse_relation

SIZES = range(60)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        # a quotient that is 0
        ("H//7 == 0", "H <= 6"),
        ("(H + 1)//2 == 0", "H == 0"),
        ("(H + 1)//2 != 0", "H >= 1"),
        ("(H - 3)//2 == 0", "(H + 1)//2 == 2"),  # H - 3 may be negative
        # a multiple of a quotient that is all of it
        ("H*W == 32*(H*(W//4)//8)", "H*(W//4) % 8 == 0 and (W % 4 == 0 or H == 0)"),
        ("H*W == 49*(H*(W//7)//7)", "H*(W//7) % 7 == 0 and (W % 7 == 0 or H == 0)"),
        ("H + W == 8*(H//8)", "H % 8 == 0 and W == 0"),
        ("H*W == 4*(H*W//4)", "H*W % 4 == 0"),
        ("H*W == 196*(H//7)", "H*W == 196*(H//7)"),
        ("H == 8*(W//8)", "H == 8*(W//8)"),
        # a part that another one implies
        ("W == 1 or W == 1 and H >= 2", "W == 1"),
        ("H*W == 4 and (W >= 2 or H*W == 4)", "H*W == 4"),
        # a product of multiples that is the whole product
        ("H*W == 35*(H//7)*(W//5)", "H % 7 == 0 and W % 5 == 0 or H == 0 or W == 0"),
        ("W*H*N == 49*N*(H//7)*(W//7)", "H % 7 == 0 and W % 7 == 0 or H == 0 or N == 0 or W == 0"),
        ("(H//2)*W == 14*(H//4)*(W//7)", "W % 7 == 0 and (H//2) % 2 == 0 or H <= 1 or W == 0"),
        ("H*W == 36*(H//7)*(W//5)", "H*W == 36*(H//7)*(W//5)"),
        ("H*W == 35*(H//5)*(W//5)", "H*W == 35*(H//5)*(W//5)"),
        ("H*W != 35*(H//7)*(W//5)", "H >= 1 and W >= 1 and (H % 7 >= 1 or W % 5 >= 1)"),
    ],
)
def test_form(text: str, form: str) -> None:
    relation = parse_relation(text)
    assert parse_relation(str(relation)) is relation
    assert str(relation) == form
    for height, width in product(SIZES, SIZES[:20]):
        binding = {"H": height, "W": width, "N": 3}
        assert relation.evaluate(binding) is eval(text, {}, dict(binding)), binding


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("H + W == ite(H + W == 0, 2, H + W)", "H + W >= 1"),
        ("H + W != ite(H + W == 0, 2, H + W)", "H + W == 0"),
        ("H == ite(H == 0, 2, H) or H == 1 or ite(H == 0, 2, H) == 1", "H >= 1"),
        ("4*H*W == ite(H == 0, H*W, 4*W)*ite(H == 0, 4, H)", "true"),
        ("ite(H == 0, W, H) == 5", "ite(H == 0, W, H) == 5"),
        ("ite(H == 0, W, H) >= H + 1", "H == 0 and W > H"),
        ("ite(H >= 4, W, 7) >= 7", "H <= 3 or W >= 7"),
        ("ite(H >= 4, 3, W) >= 7", "H <= 3 and W >= 7"),
        ("ite(H >= 4, ite(W >= 2, 1, W), 1) == 1", "H <= 3 or W >= 2 or W == 1"),
    ],
)
def test_a_comparison_that_settles_a_choice(text: str, form: str) -> None:
    relation = parse_relation(text)
    assert str(relation) == form
    for height, width in product(range(9), repeat=2):
        binding = {"H": height, "W": width}
        plain = eval(text, {"ite": lambda condition, a, b: a if condition else b}, dict(binding))
        assert relation.evaluate(binding) is plain, binding
        assert (~relation).evaluate(binding) is not plain, binding


@pytest.mark.parametrize("extreme", ["max(a, b)", "min(a, b)"])
@pytest.mark.parametrize("whole", ["{e}", "a", "a + b", "a*{e}", "2*{e}", "b*a + {e}"])
@pytest.mark.parametrize("m", [2, 4])
def test_multiples_of_quotients_of_extremes(extreme: str, whole: str, m: int) -> None:
    """Consequences of such an equality mention the extreme again; the rewrites terminate all the same."""
    for over in (extreme, f"a*{extreme}", f"{extreme} + b"):
        text = f"{whole.format(e=extreme)} == {m}*(({over})//{m})"
        relation = parse_relation(text)
        for a, b in product(range(9), repeat=2):
            expected = eval(text, {}, {"a": a, "b": b})
            assert relation.evaluate({"a": a, "b": b}) is expected, (a, b)
            assert (~relation).evaluate({"a": a, "b": b}) is not expected, (a, b)


def test_a_choice_beside_a_quotient_of_itself_is_settled_everywhere() -> None:
    """4*c % 32 == 0 for a choice c: a side that is settled outside of the quotient alone would ask for it again."""
    width, seq = symbol("width"), symbol("seq")
    count = 4 * symbol("batch") * seq * ite(ge(width, 4), width // 4, width)
    relation = divisible(count, 32)
    for batch, size, length in product((1, 3, 8), range(0, 40, 3), (1, 2, 8)):
        binding = {"batch": batch, "width": size, "seq": length}
        assert relation.evaluate(binding) == (count.evaluate(binding) % 32 == 0)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("H*W >= 2", "H >= 2 or W >= 2"),
        ("((H + 7)//8)*((W + 7)//8) + ((H + 15)//16)*((W + 15)//16) >= 3", "H >= 9 or W >= 9"),
        ("3*H*W + W >= 5", "H >= 2 or W >= 2"),
        ("3*H*W + W >= 6", "3*H*W + W >= 6"),
        ("H*W >= 3", "H*W >= 3"),
    ],
)
def test_a_sum_of_products_above_its_least_value(text: str, form: str) -> None:
    facts = Facts([ge(symbol("H"), 1), ge(symbol("W"), 1)])
    relation = parse_relation(text).map(facts.simplify).map(facts.restored)
    assert str(relation) == form
    for height, width in product(SIZES[1:], SIZES[1:20]):
        binding = {"H": height, "W": width}
        assert relation.evaluate(binding) is eval(text, {}, dict(binding)), binding
