"""Policies on single dims: what each shows of two, which laws hold for it, and where it is false."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations, product
from pathlib import Path

import pytest

from absint.lattices.logic.relation import TRUE, broadcastable, eq
from absint.lattices.shape_lattice import BOTTOM_DIM, DIMS
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, as_dim, const
from absint.lattices.terms.normal import broadcast
from absint.lattices.text import parse
from absint.lattices.unify import POLICIES, SOUND, UnificationPolicy

NAMES = ("sound", "keep-target", "fresh", "prefer-concrete", "prefer-first", "max", "shortest-name", "rename")
Decide = Callable[[Dim, Dim], Dim]


def dim(text: str | int) -> Dim:
    return UNKNOWN_SIZE if text == "?" else const(text) if isinstance(text, int) else parse(text)


def fresh() -> Dim:
    return UNKNOWN_SIZE


def unify(policy: UnificationPolicy) -> Decide:
    return lambda a, b: policy.unify(a, b, fresh)


def broadcasts(policy: UnificationPolicy) -> Decide:
    return lambda a, b: policy.broadcast(a, b, fresh)


def test_the_names() -> None:
    assert tuple(POLICIES) == NAMES
    assert [name for name, policy in POLICIES.items() if policy.name != name] == []
    assert [name for name, policy in POLICIES.items() if policy.sound] == ["sound"]
    assert POLICIES["sound"] is SOUND
    assert SOUND.label == ""
    assert POLICIES["max"].label == "unsound policy max"


# Tables


BROADCASTS: Sequence[tuple[str | int, str | int, Sequence[str | int]]] = [
    # a, b, then what each policy shows
    ("N", "N", ["N"] * 8),
    ("N", 1, ["N"] * 8),
    (1, "N", ["N"] * 8),
    (1, 64, [64] * 8),
    ("N", 64, [64] * 8),
    (64, "N", [64] * 8),
    (0, "N", [0] * 8),
    ("?", 1, ["?"] * 8),
    ("N", "M", ["broadcast(M, N)", "?", "?", "N", "N", "max(M, N)", "M", "broadcast(M, N)"]),
    ("M", "N", ["broadcast(M, N)", "?", "?", "M", "M", "max(M, N)", "M", "broadcast(M, N)"]),
    ("long", "s", ["broadcast(long, s)", "?", "?", "long", "long", "max(long, s)", "s", "broadcast(long, s)"]),
    ("N + 1", "M", ["broadcast(M, N + 1)", "?", "?", "N + 1", "N + 1", "max(M, N + 1)", "M", "broadcast(M, N + 1)"]),
    ("3*M", "2*N", ["broadcast(3*M, 2*N)", "?", "?", "3*M", "3*M", "max(3*M, 2*N)", "2*N", "broadcast(3*M, 2*N)"]),
    ("?", "N", ["?", "?", "?", "N", "N", "?", "N", "?"]),
]  # fmt: skip

EQUALS: Sequence[tuple[str | int, str | int, Sequence[str | int]]] = [
    # target, source, then what each policy shows
    ("N", "N", ["N"] * 8),
    (64, "N", [64] * 8),
    ("N", 64, [64, 64, 64, 64, "N", "N", 64, 64]),
    ("N", 1, [1, 1, 1, 1, "N", "N", 1, 1]),
    ("N", "M", ["M", "N", "?", "N", "N", "N", "M", "M"]),
    ("M", "N", ["M", "M", "?", "M", "M", "M", "M", "M"]),
    ("N + 2", "M", ["M", "N + 2", "?", "N + 2", "N + 2", "N + 2", "M", "M"]),
    ("?", "N", ["N", "N", "?", "N", "N", "N", "N", "N"]),
    ("?", 5, [5] * 8),
    ("N", "?", ["N", "N", "?", "N", "N", "N", "N", "N"]),
]

ADOPTED: Sequence[tuple[str | int, str | int, str | int]] = [
    # inferred, declared, what keep-target and rename show; the others show what was inferred
    ("N", "M", "M"),
    ("2*N", "M", "M"),
    ("N", 5, 5),
    (5, "N", 5),
    (5, 6, 6),
    ("N", "?", "N"),
    ("?", "N", "N"),
]


def shown(found: Dim) -> str | int:
    return "?" if not isinstance(found, Expr) else found.const if found.const is not None else str(found)


def texts(row: Sequence[str | int]) -> list[str | int]:
    return [shown(dim(item)) for item in row]


@pytest.mark.parametrize(("a", "b", "row"), BROADCASTS)
def test_what_broadcasts(a: str | int, b: str | int, row: Sequence[str | int]) -> None:
    assert [shown(broadcasts(p)(dim(a), dim(b))) for p in POLICIES.values()] == texts(row)


@pytest.mark.parametrize(("target", "source", "row"), EQUALS)
def test_what_must_be_equal(target: str | int, source: str | int, row: Sequence[str | int]) -> None:
    assert [shown(unify(p)(dim(target), dim(source))) for p in POLICIES.values()] == texts(row)


@pytest.mark.parametrize(("inferred", "declared", "expected"), ADOPTED)
def test_what_is_adopted(inferred: str | int, declared: str | int, expected: str | int) -> None:
    found = {name: shown(p.adopt(dim(inferred), dim(declared))) for name, p in POLICIES.items()}
    adopting = {"keep-target", "rename"}
    assert found == {name: expected if name in adopting else inferred for name in POLICIES}


def test_the_table_of_the_documentation() -> None:
    columns: Sequence[Callable[[UnificationPolicy], Dim]] = [
        lambda p: p.broadcast(dim("N"), dim("M"), fresh),
        lambda p: p.broadcast(dim("N"), dim(64), fresh),
        lambda p: p.unify(dim("N"), dim("M"), fresh),
        lambda p: p.unify(dim("N"), dim(64), fresh),
        lambda p: p.adopt(dim("N"), dim("M")),
    ]
    text = (Path(__file__).parents[2] / "docs" / "policies.md").read_text("utf-8")
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:3] == "| `"]
    assert {name: cells for name, _, *cells in rows} == {
        name: [str(shown(column(policy))) for column in columns] for name, policy in POLICIES.items()
    }


def test_what_max_takes_for_granted() -> None:
    n, m = dim("N"), dim("M")
    policy = POLICIES["max"]
    assert policy.claim(n, const(64)) is policy.claim(const(64), n) is eq(n, 64)
    assert {policy.claim(n, const(1)), policy.claim(n, m), policy.claim(const(2), const(2))} == {TRUE}
    assert {p.claim(n, const(64)) for p in POLICIES.values() if p is not policy} == {TRUE}


def test_the_sound_policy_is_the_domain() -> None:
    for a, b in product(map(dim, ["N", "M", "N + 1", 3, "?"]), repeat=2):
        assert unify(SOUND)(a, b) is DIMS.meet(a, b)
        if isinstance(a, Expr) and isinstance(b, Expr):
            assert broadcasts(SOUND)(a, b) is broadcast(a, b)


# Laws


SAMPLES = tuple(map(dim, ["N", "M", "seq", "N + 1", "2*M", 1, 0, 64, "?"]))


def idempotent(decide: Decide) -> bool:
    return all(decide(a, a) is a for a in SAMPLES)


def commutative(decide: Decide) -> bool:
    return all(decide(a, b) is decide(b, a) for a, b in product(SAMPLES, repeat=2) if possible(a, b))


def associative(decide: Decide) -> bool:
    return all(
        decide(decide(a, b), c) is decide(a, decide(b, c))
        for a, b, c in product(SAMPLES, repeat=3)
        if possible(a, b) and possible(b, c) and possible(a, c)
    )


def possible(a: Dim, b: Dim) -> bool:
    """Two dims that no sizes make equal are an error of the model, which no policy decides."""
    return DIMS.meet(a, b) is not BOTTOM_DIM


LAWS = {"idempotent": idempotent, "commutative": commutative, "associative": associative}
FAILING = {
    ("broadcast", "prefer-concrete"): {"commutative"},
    ("broadcast", "prefer-first"): {"commutative"},
    ("unify", "keep-target"): {"commutative"},
    ("unify", "prefer-concrete"): {"commutative"},
    ("unify", "prefer-first"): {"commutative"},
    ("unify", "max"): {"commutative"},
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("kind", ["broadcast", "unify"])
def test_which_laws_fail(kind: str, policy: UnificationPolicy) -> None:
    decide = broadcasts(policy) if kind == "broadcast" else unify(policy)
    failing = {name for name, law in LAWS.items() if not law(decide)}
    assert failing == FAILING.get((kind, policy.name), set())


# Truth


def sizes() -> Iterator[tuple[int, int]]:
    return product([*range(5), 64], repeat=2)


def false_at(decide: Decide, a: Expr, b: Expr, holds: Callable[[Dim, Dim], object]) -> list[tuple[int, int]]:
    """The sizes of N and M at which two dims go together and the policy shows a wrong one."""
    shown_dim = decide(a, b)
    wrong = []
    for n, m in sizes():
        at = {"N": n, "M": m}
        x, y = (as_dim(d.evaluate(at)) for d in (a, b))
        truth = broadcast(x, y)
        if holds(x, y) is TRUE and not DIMS.leq(truth, as_dim(at_sizes(shown_dim, at))):
            wrong.append((n, m))
    return wrong


def at_sizes(found: Dim, at: dict[str, int]) -> Dim:
    return const(found.evaluate(at)) if isinstance(found, Expr) else found


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("sound", None),
        ("keep-target", None),
        ("fresh", None),
        ("prefer-concrete", (1, 0)),
        ("prefer-first", (1, 0)),
        ("max", (0, 1)),
        ("shortest-name", (0, 1)),
        ("rename", None),
    ],
)
def test_where_a_broadcast_is_false(name: str, first: tuple[int, int] | None) -> None:
    n, m = dim("N"), dim("M")
    assert isinstance(n, Expr)
    assert isinstance(m, Expr)
    wrong = false_at(broadcasts(POLICIES[name]), n, m, broadcastable)
    assert (wrong[0] if wrong else None) == first
    sixty_four = const(64)
    for a, b in permutations((n, sixty_four)):
        assert false_at(broadcasts(POLICIES[name]), a, b, broadcastable) == []


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_equal_dims_are_shown_right(policy: UnificationPolicy) -> None:
    exprs = [d for d in map(dim, ["N", "M", "N + 1", 3]) if isinstance(d, Expr)]
    for a, b in product(exprs, repeat=2):
        if eq(a, b) is not eq(1, 0):
            assert false_at(partial(policy.unify, fresh=fresh), a, b, eq) == []
