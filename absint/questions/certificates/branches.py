"""The specification of an If: each output is that of the branch which is taken.

Values of the other branch are not computed: nothing is said of them, not even that their sizes are natural numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from absint.questions.certificates.claims import Claim
from absint.questions.certificates.meanings import Meaning, NotSpecifiedError

TAKEN: Final = "taken@0"
"""The name of the condition."""


def joined(inputs: Sequence[Claim | None]) -> Meaning:
    """The meaning of the node that joins branches. Its inputs are the condition and the results of both.

    Raises NotSpecifiedError.
    """
    condition, *results = inputs
    half = len(results) // 2
    declared = [_condition(condition)]
    specified: list[tuple[str, str]] = []
    for place, pair in enumerate(zip(results[:half], results[half:], strict=True)):
        found = [(at, claim) for at, claim in zip((place + 1, place + 1 + half), pair, strict=True) if _is_known(claim)]
        if not found:
            continue
        rank = max(len(claim.dims or ()) for _, claim in found if claim is not None)
        declared += [f"(declare-const out{place}@{part} Int)" for part in ("rank", *range(rank))]
        specified += [(f"(<= 0 out{place}@{axis})", "a size") for axis in range(rank)]
        declared += _elements(place, [claim for _, claim in found if claim is not None])
        for at, claim in found:
            assert claim is not None
            taken = TAKEN if at <= half else f"(not {TAKEN})"
            for part in _parts(claim):
                specified.append((f"(=> {taken} (= out{place}@{part} in{at}@{part}))", "what the branch gives"))
    if not specified:
        raise NotSpecifiedError("no shape of a branch is known")
    return Meaning("If", (), tuple(declared), tuple(specified), are_computed=False)


def _condition(claim: Claim | None) -> str:
    if claim is None or not claim.truths or claim.elements is None:
        return f"(declare-const {TAKEN} Bool)"
    return f"(define-fun {TAKEN} () Bool in0@e0)"


def _is_known(claim: Claim | None) -> bool:
    return claim is not None and claim.dims is not None


def _parts(claim: Claim) -> Iterator[str]:
    yield "rank"
    yield from map(str, range(len(claim.dims or ())))
    yield from (f"e{at}" for at in range(len(claim.elements or ())))


def _elements(place: int, claims: Sequence[Claim]) -> Iterator[str]:
    """Elements of outputs, where all branches have as many of one type."""
    count, sort = max((len(claim.elements or ()), claim.sort) for claim in claims)
    for at in range(count):
        yield f"(declare-const out{place}@e{at} {sort})"
