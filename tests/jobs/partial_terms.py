"""Rewrites of choices held against evaluation, with "no value" as a value.

`python -m tests.jobs.partial_terms --comparisons 1000000 --seed 1` draws nested choices, broadcasts, quotients and
extremes, simplifies each in every way that the package knows, and compares the results with the plain meaning of the
tree at sizes from -3 to 8. A result may have a value where the tree has none, but never loses or changes one; and what
says where a term has a value must say so exactly. Exits with 1 if some result is wrong.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from itertools import chain
from random import Random
from typing import Final, NamedTuple

from absint.lattices.logic.comparisons import chosen
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.logic.piecewise import (
    entails,
    excludes,
    given,
    is_defined,
    product_settled,
    restrict,
    settled as settled_dim,
    shortest,
)
from absint.lattices.logic.relation import UNKNOWN_RELATION, Relation, defined, eq, falsity, truth
from absint.lattices.terms.evaluation import UndefinedError
from absint.lattices.terms.expr import Dim, Expr
from absint.transfer.elements.logic import choose
from tests import reference
from tests.reference import NoValueError, Tree

Binding = dict[str, int]
Value = int | bool | None

BINDINGS: Final = 24
"""Sizes at which each tree is evaluated."""


class Draw:
    """Random trees over two sizes and two integers, choices and broadcasts most of all."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def leaf(self) -> Tree:
        if self.random.random() < 0.65:
            return ("symbol", self.random.choice("NNMMIJ"))
        return ("const", self.random.choice((-2, -1, 0, 0, 1, 1, 2, 3, 4, 8)))

    def term(self, depth: int) -> Tree:
        if depth <= 0 or self.random.random() < 0.12:
            return self.leaf()
        op = self.random.choice(
            ("ite",) * 4 + ("broadcast",) * 4 + ("//", "%", "max", "min", "max", "min", "+", "-", "*")
        )
        if op == "ite":
            return (op, self.relation(depth - 1), self.term(depth - 1), self.term(depth - 1))
        count = 3 if op == "broadcast" and self.random.random() < 0.2 else 2
        return (op, *(self.term(depth - 1) for _ in range(count)))

    def relation(self, depth: int) -> Tree:
        if depth > 0 and self.random.random() < 0.15:
            return (self.random.choice(("and", "or")), self.relation(depth - 1), self.relation(depth - 1))
        left = self.term(min(depth, 1)) if self.random.random() < 0.6 else self.leaf()
        return (self.random.choice(("==", "!=", "<", ">=")), left, self.leaf())

    def binding(self) -> Binding:
        most = self.random.choice((3, 8))
        return {name: self.random.randint(0 if name in "NM" else -3, most) for name in "NMIJ"}


class Wrong(NamedTuple):
    """A result that differs from what it stands for."""

    way: str
    original: object
    result: object
    binding: Binding
    wanted: Value
    found: Value

    def __str__(self) -> str:
        return f"{self.way}: {self.original} gives {self.result}, at {self.binding} {self.found} for {self.wanted}"


def plain(meaning: Callable[[Tree, Binding], int | bool], tree: Tree, binding: Binding) -> Value:
    """What the tree means at a binding; None if it has no value."""
    try:
        return meaning(tree, binding)
    except NoValueError:
        return None


def value(of: Dim | Relation, binding: Binding) -> Value:
    """The value or the truth of a result; None if it has none."""
    assert isinstance(of, Expr | Relation)
    try:
        return of.evaluate(binding)
    except UndefinedError:
        return None


class Case:
    """One tree, one condition, another tree, and their plain values at some sizes."""

    def __init__(self, draw: Draw) -> None:
        self.tree, self.condition, self.other = (
            draw.term(draw.random.choice((2, 3, 3, 4))),
            draw.relation(1),
            draw.term(2),
        )
        self.bindings = [draw.binding() for _ in range(BINDINGS)]
        self.dim, self.beside = reference.build(self.tree), reference.build(self.other)
        self.given = reference.build_relation(self.condition)
        self.values = [plain(reference.value, self.tree, at) for at in self.bindings]
        self.others = [plain(reference.value, self.other, at) for at in self.bindings]
        self.truths = [plain(reference.truth, self.condition, at) for at in self.bindings]

    def extended(
        self, way: str, original: object, wanted: list[Value], result: Dim | Relation
    ) -> Iterator[Wrong | None]:
        """The result has the wanted value wherever there is one; an item for each comparison."""
        if not isinstance(result, Expr | Relation) or result is UNKNOWN_RELATION:
            return
        for at, want in zip(self.bindings, wanted, strict=True):
            if want is not None:
                found = value(result, at)
                yield Wrong(way, original, result, at, want, found) if found != want else None

    def exact(self, way: str, original: object, wanted: list[bool], result: Relation) -> Iterator[Wrong | None]:
        """The relation is true exactly at these bindings."""
        if result is UNKNOWN_RELATION:
            return
        for at, want in zip(self.bindings, wanted, strict=True):
            found = value(result, at) is True
            yield Wrong(way, original, result, at, want, found) if found is not want else None

    def where_given(self, values: list[Value]) -> list[Value]:
        """The values where the condition holds."""
        return [v if truth is True else None for v, truth in zip(values, self.truths, strict=True)]

    def alone(self) -> Iterator[Wrong | None]:
        """The tree, simplified without a condition."""
        dim = self.dim
        ways = {"build": dim, "settled": settled_dim(dim), "product": product_settled(dim), "shortest": shortest(dim)}
        for way, result in ways.items():
            yield from self.extended(way, dim, self.values, result)
        if isinstance(dim, Expr):
            yield from self.exact("defined", dim, [value(dim, at) is not None for at in self.bindings], defined(dim))

    def under_the_condition(self) -> Iterator[Wrong | None]:
        """The condition itself, and the tree simplified where it holds."""
        condition, dim = self.given, self.dim
        if condition is UNKNOWN_RELATION or not isinstance(dim, Expr):
            return
        yield from self.extended("relation", condition, self.truths, condition)
        own = [value(condition, at) for at in self.bindings]
        yield from self.exact("truth", condition, [v is True for v in own], truth(condition))
        yield from self.exact("falsity", condition, [v is False for v in own], falsity(condition))
        facts = Facts([condition])
        inside = facts.simplify(dim)
        ways = {
            "restrict": restrict(dim, condition),
            "restrict extremes": restrict(dim, condition, True),
            "given": given(condition, dim),
            "chosen": chosen(dim, frozenset([condition])),
            "facts": facts.restored(inside) if isinstance(inside, Expr) and not facts.contradiction else dim,
        }
        for way, result in ways.items():
            yield from self.extended(f"{way} {condition}", dim, self.where_given(self.values), result)
        if is_defined(dim, condition):
            for at, holds in zip(self.bindings, self.truths, strict=True):
                lacks = holds is True and value(dim, at) is None
                yield Wrong(f"is_defined {condition}", dim, True, at, True, False) if lacks else None

    def beside_the_other(self) -> Iterator[Wrong | None]:
        """Choices between the two trees, and what the condition shows of them."""
        condition, dim, other = self.given, self.dim, self.beside
        if condition is UNKNOWN_RELATION or not isinstance(dim, Expr) or not isinstance(other, Expr):
            return
        taken = [v if t else w for v, w, t in zip(self.values, self.others, self.truths, strict=True)]
        wanted = [v if t is not None else None for v, t in zip(taken, self.truths, strict=True)]
        yield from self.extended(f"choose {condition}", (dim, other), wanted, choose(NO_FACTS, condition, dim, other))
        relation = eq(dim, other)
        if relation is UNKNOWN_RELATION:
            return
        pairs = zip(self.where_given(self.values), self.others, strict=True)
        equal = [None if a is None or b is None else a == b for a, b in pairs]
        for way, claimed, claim in (("entails", entails, True), ("excludes", excludes, False)):
            if claimed(condition, relation):
                for at, same in zip(self.bindings, equal, strict=True):
                    yield Wrong(f"{way} {condition}", relation, claim, at, same, claim) if same is (not claim) else None


def hunt(seed: int, comparisons: int) -> tuple[int, list[Wrong]]:
    """Draw cases until that many comparisons are made; their number and what was wrong."""
    draw = Draw(seed)
    count = 0
    found: list[Wrong] = []
    while count < comparisons:
        case = Case(draw)
        for wrong in chain(case.alone(), case.under_the_condition(), case.beside_the_other()):
            count += 1
            found += [wrong] if wrong is not None else []
    return count, found


def main() -> int:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--comparisons", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    count, found = hunt(args.seed, args.comparisons)
    for wrong in found[:20]:
        print(wrong)
    print(f"{count:,} comparisons, {len(found)} wrong")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
