"""Products of matrices: rows stay apart along all axes that are not summed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from absint.analyses.independence.claims import Along
from absint.analyses.independence.seen import Found, Rule, Seen


def matmul(a: int = 0, b: int = 1) -> Rule:
    """Inputs a and b are multiplied; others are the same for all rows."""

    def rule(seen: Seen) -> Iterable[Along]:
        by_batch = any(seen.attribute(name, 0) for name in ("transBatchA", "transBatchB"))
        return () if by_batch else _product(seen, a, b)

    return rule


def _product(seen: Seen, a: int, b: int) -> Iterator[Along]:
    left, right = seen.rank(a), seen.rank(b)
    if left is None or right is None or not left or not right:
        return
    stacked = max(left, right, 2) - 2
    flips = [bool(seen.attribute(name, 0)) for name in ("transA", "transB")]
    for axis in range(stacked):
        places = _nowhere(seen)
        places[a] = axis - stacked + left - 2 if left - 2 >= stacked - axis else None
        places[b] = axis - stacked + right - 2 if right - 2 >= stacked - axis else None
        yield from seen.pointwise(axis, places)
    if left > 1:
        places = _nowhere(seen)
        places[a] = left - 1 if flips[0] else left - 2
        yield from seen.pointwise(stacked, places)
    if right > 1:
        places = _nowhere(seen)
        places[b] = right - 2 if flips[1] else right - 1
        yield from seen.pointwise(stacked + (left > 1), places)


def _nowhere(seen: Seen) -> list[int | None]:
    return [None] * len(seen.inputs)


def gemm(seen: Seen) -> Iterator[Along]:
    added = seen.rank(2) if seen.has(2) else 0
    if added is None or seen.rank(0) != 2 or seen.rank(1) != 2 or (seen.version < 7 and seen.operator == "Gemm"):
        return
    for axis in range(2):
        of_sum = axis - 2 + added
        places: list[int | None] = [None, None, of_sum if of_sum >= 0 else None]
        flipped = bool(seen.attribute("transB" if axis else "transA", 0))
        places[axis] = (not flipped if axis else flipped) + 0
        yield from seen.pointwise(axis, places[: len(seen.inputs)])


def einsum(seen: Seen) -> Iterator[Along]:
    text = seen.operation.attributes.get("equation")
    text = text.decode() if isinstance(text, bytes) else text
    if not isinstance(text, str) or "." in text:
        return
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow:
        right = "".join(sorted({letter for letter in left if letter.isalpha() and left.count(letter) == 1}))
    for axis, letter in enumerate(right) if len(terms) == len(seen.inputs) else ():
        if all(term.count(letter) < 2 for term in terms):
            yield from seen.pointwise(axis, [term.index(letter) if letter in term else None for term in terms])


def all_but_last(seen: Seen) -> Found:
    """Rows of the first input are multiplied with packed weights, say, or features are picked."""
    return seen.each([(seen.rank(0) or 0) - 1])


PRODUCTS: Final[Mapping[str, Rule]] = {
    "MatMul": matmul(), "MatMulInteger": matmul(), "QLinearMatMul": matmul(0, 3),
    **dict.fromkeys((f"com.microsoft::{name}MatMul" for name in ("Fused", "Transpose")), matmul()),
    **dict.fromkeys((f"com.microsoft::MatMulInteger{name}" for name in ("16", "ToFloat")), matmul()),
    "com.microsoft::FusedMatMulActivation": matmul(), "com.microsoft::QGemm": matmul(0, 3), "Gemm": gemm,
    "com.microsoft::FusedGemm": gemm, "Einsum": einsum,
    **dict.fromkeys((f"com.microsoft::MatMul{name}" for name in ("Bnb4", "FpQ4", "NBits")), all_but_last),
}  # fmt: skip
