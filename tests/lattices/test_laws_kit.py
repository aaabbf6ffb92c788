"""`check_laws`: it passes what is a lattice, and finds each way in which a domain can be wrong."""

from __future__ import annotations

from typing import Any

import pytest

from absint.lattices.laws import LAWS, Domain, LawError, check_laws
from absint.lattices.shape import Shape
from absint.lattices.shape_lattice import SHAPES
from absint.lattices.terms.interval import EMPTY, FULL, Interval

Set = frozenset[int]
THINGS = range(3)
ELEMENTS = [frozenset(s) for s in ({1}, {1, 2}, {0}, {0, 1})]


class Subsets:
    """Sets by inclusion: right."""

    bottom: Set = frozenset()
    top: Set = frozenset(THINGS)

    def leq(self, a: Set, b: Set) -> bool:
        return a <= b

    def join(self, a: Set, b: Set) -> Set:
        return a | b

    def meet(self, a: Set, b: Set) -> Set:
        return a & b

    def widen(self, old: Set, new: Set) -> Set:
        return old | new


class Intervals:
    bottom, top = EMPTY, FULL
    leq = staticmethod(Interval.leq)
    join = staticmethod(Interval.join)
    meet = staticmethod(Interval.meet)
    widen = staticmethod(Interval.widen)


RISING = {"universe": range(-9, 10), "allows": lambda a, n: n in a, "rising": lambda n: Interval(-n, n)}
SETS = {"universe": THINGS, "allows": lambda a, n: n in a}


def altered(base: type, **changes: Any) -> Any:
    return type("Altered", (base,), {k: staticmethod(v) if callable(v) else v for k, v in changes.items()})()


WRONG = [
    ("leq is reflexive", {"leq": lambda a, b: a < b}),
    ("leq is antisymmetric", {"leq": lambda a, b: True}),
    ("leq is transitive", {"leq": lambda a, b: a <= b and len(b) - len(a) < 2}),
    ("bottom is least", {"bottom": frozenset({0})}),
    ("top is greatest", {"top": frozenset({0, 1})}),
    ("a join of joins is above all of them", {"join": lambda a, b: a & b}),
    ("join is commutative", {"join": lambda a, b: a | b if a <= b or sorted(a) >= sorted(b) else Subsets.top}),
    ("join is the least upper bound", {"join": lambda a, b: a | b if a <= b or b <= a else Subsets.top}),
    ("meet with bottom is bottom", {"meet": lambda a, b: a | b if Subsets.top not in (a, b) else a & b}),
    (
        "meet is the smaller of two comparable elements",
        {"meet": lambda a, b: a & b if a == b or Subsets.top in (a, b) else Subsets.bottom},
    ),
    ("why_not_leq gives a reason where leq does not hold", {"why_not_leq": lambda a, b: "" if len(a) < 2 else "no"}),
    ("why_not_leq gives one line", {"why_not_leq": lambda a, b: "" if a <= b else "one\nanother"}),
    ("widening is an upper bound", {"widen": lambda a, b: a or b}),
    ("widening by what is below changes nothing", {"widen": lambda a, b: a | b if not a or not b else Subsets.top}),
]


def test_a_lattice_passes() -> None:
    check_laws(Subsets(), ELEMENTS, **SETS)
    check_laws(Subsets(), ELEMENTS)
    check_laws(Intervals(), [Interval(0, 3), Interval(2, None), Interval(-4, -4)], **RISING)


@pytest.mark.parametrize(("law", "changes"), WRONG, ids=[law for law, _ in WRONG])
def test_a_broken_operation_is_found(law: str, changes: dict[str, Any]) -> None:
    with pytest.raises(LawError) as raised:
        check_laws(altered(Subsets, **changes), ELEMENTS)
    assert str(raised.value).startswith(f"broken law: {law}, for frozenset(")


ONE, PAIR, OTHER_PAIR = frozenset({1}), frozenset({0, 1}), frozenset({1, 2})


@pytest.mark.parametrize(
    ("law", "elements", "changes"),
    [
        ("meet absorbs join", [ONE, frozenset({0})], {"meet": lambda a, b: a & b if {a, b} != {ONE, PAIR} else a | b}),
        ("join absorbs meet", [PAIR, OTHER_PAIR], {"join": lambda a, b: a | b if ONE not in (a, b) else Subsets.top}),
    ],
)
def test_absorption_reaches_elements_that_are_not_given(law: str, elements: list[Set], changes: dict[str, Any]) -> None:
    domain = Domain(altered(Subsets, **changes))
    with pytest.raises(LawError, match=f"broken law: {law}, for "):
        LAWS["absorption"](domain, *elements, elements[0])


def test_a_failed_law_says_why_the_order_does_not_hold() -> None:
    shapes = type("Shapes", (type(SHAPES),), {"join": lambda self, a, b: a})()
    with pytest.raises(LawError) as raised:
        LAWS["join_is_the_least_upper_bound"](Domain(shapes), Shape([2, 3]), Shape([2, "N"]), SHAPES.top)
    assert str(raised.value) == (
        "broken law: join is an upper bound, for Shape([2, 3]) and Shape([2, N]): dim 1 must be 3, found N"
    )


@pytest.mark.parametrize(
    ("law", "allows"),
    [
        ("bottom allows no value", lambda a, n: n not in a),
        ("top allows every value", lambda a, n: n in a and n < 2),
        ("what is below allows no more", lambda a, n: n in a or (a == {1} and n == 0)),
        ("join allows what either allows", lambda a, n: n in a and a != {0, 1}),
        ("meet allows what both allow", lambda a, n: n in a and a != {1}),
    ],
)
def test_a_wrong_meaning_is_found(law: str, allows: Any) -> None:
    with pytest.raises(LawError, match=f"broken law: {law}"):
        check_laws(Subsets(), ELEMENTS, universe=THINGS, allows=allows)


def test_a_widening_that_never_rests_is_found() -> None:
    with pytest.raises(LawError, match="broken law: widening becomes stable"):
        check_laws(altered(Intervals, widen=Interval.join), [Interval(0, 3)], **RISING)
