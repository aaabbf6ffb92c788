"""Effects of a fault on what rules say of the nodes in tests/transfer, none of which a proof looks at.

Every statement is evaluated at the sizes of its case: a fault has an effect where a number or a truth is another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tests.mutants.swapping import Place, caches, watched

if TYPE_CHECKING:
    from absint.testing import Case

Kind = Literal["shape", "requirement", "content", "precision"]
"""A size, a truth of all requirements together, or an element is another one at sizes that are legal without the fault;
or one of them is lost."""

KINDS: Final[tuple[Kind, ...]] = ("shape", "requirement", "content", "precision")

BINDINGS: Final = 12
"""Sizes that each case is evaluated at."""

Sizes = tuple[int | None, ...]


class Said(NamedTuple):
    """The answer of a rule about a node at some sizes: None where it does not know."""

    legal: bool
    dims: tuple[Sizes | None, ...]
    elements: tuple[tuple[int | None, ...] | None, ...]


class Told(NamedTuple):
    """The answer of a rule about a case."""

    operator: tuple[str, str, int]
    """Domain, name, and the version of the operator."""
    complete: bool
    said: tuple[Said, ...]
    """By binding; none if the rule raised an error."""


def told(chosen: Sequence[int] | None = None) -> list[Told]:
    """The answers of the rules of this process about every case, or about those of these numbers."""
    from absint.model.schemas import since
    from absint.transfer.families import shipped

    found = []
    for case in cases() if chosen is None else [cases()[number] for number in chosen]:
        rule = shipped().lookup(case.domain, case.op, case.opset)
        version = since(case.domain, case.op, case.opset) or 1
        operator = (case.domain, case.op, version)
        found.append(Told(operator, rule is not None and rule.complete, tuple(_said(case))))
    return found


@cache
def cases() -> Sequence[Case]:
    """Every case of tests/transfer."""
    from tests.pages.operators import all_cases

    return list(all_cases())


def callers(package: str) -> Mapping[Place, Sequence[int]]:
    """The code of a package with the numbers of the cases whose rules run it."""
    found: dict[Place, list[int]] = {}
    every, kept = cases(), caches()
    for number, case in enumerate(every):
        for results in kept:
            results.cache_clear()
        with watched(package) as called:
            list(_said(case))
        for place in called:
            found.setdefault(place, []).append(number)
    return found


def _said(case: Case) -> Iterator[Said]:
    from absint.lattices.shape import TOP_SHAPE
    from absint.lattices.value import Tensor
    from absint.testing import apply_case

    try:
        applied = apply_case(case)
    except Exception:
        return
    step = max(len(case.bindings) // BINDINGS, 1)
    for binding in case.bindings[::step][:BINDINGS]:
        required = [s.relation for s in applied.statements if s.role == "required"]
        shapes = [value.shape if isinstance(value, Tensor) else TOP_SHAPE for value in applied.outputs]
        contents = [value.contents if isinstance(value, Tensor) else None for value in applied.outputs]
        legal = applied.rejected is None and all(_number(relation, binding) != 0 for relation in required)
        yield Said(
            legal,
            tuple([None if shape.is_top else _numbers(shape.dims, binding) for shape in shapes]),
            tuple([None if known is None else _numbers(known.elements, binding) for known in contents]),
        )


def _numbers(items: Sequence[object], binding: Mapping[str, int]) -> Sizes:
    return tuple(_number(item, binding) for item in items)


def _number(item: object, binding: Mapping[str, int]) -> int | None:
    """The value of a dim, a relation, or another element; None if it has none."""
    from absint.lattices.logic.relation import Relation
    from absint.lattices.terms.expr import Dim

    if not isinstance(item, Dim | Relation):
        return None
    try:
        return int(item.evaluate(binding))
    except (KeyError, ValueError, ArithmeticError):
        return None


class Effect(NamedTuple):
    """An operator that a fault changes, and how."""

    kind: Kind
    domain: str
    operator: str
    version: int


def effects(plain: Sequence[Told], changed: Sequence[Told]) -> set[Effect]:
    """The differences. A requirement that an incomplete rule no longer states does not count: it never promised all."""
    found: set[Effect] = set()
    for before, after in zip(plain, changed, strict=True):
        for a, b in zip(before.said, after.said, strict=False):
            found |= {Effect(kind, *before.operator) for kind in _differences(a, b, before.complete)}
    return found


def _differences(a: Said, b: Said, complete: bool) -> Iterator[Kind]:
    if a.legal != b.legal:
        if a.legal or complete:
            yield "requirement"
        return
    if not a.legal:
        return
    for kind, before, after in (("shape", a.dims, b.dims), ("content", a.elements, b.elements)):
        for x, y in zip(before, after, strict=False):
            if x is None and y is None:
                continue
            if x is None or y is None or (len(x) != len(y) and kind == "content"):
                yield "precision"
            elif len(x) != len(y) or any(m != n for m, n in zip(x, y, strict=True) if None not in (m, n)):
                yield kind  # type: ignore[misc]
            elif x != y:
                yield "precision"
