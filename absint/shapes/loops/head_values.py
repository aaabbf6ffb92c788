"""The values that the head of a Loop passes to its body besides carried ones: iteration number and condition."""

from __future__ import annotations

from absint.lattices.contents import Contents, Element
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import TRUE
from absint.lattices.shape import TOP_SHAPE, Shape
from absint.lattices.value import BOTTOM, Tensor, Value
from absint.program.constructs import LoopHead


def counter(head: LoopHead, number: Element) -> Tensor:
    """The iteration number. onnxruntime gives it the rank that the body declares, [1] too."""
    return _single(DType.INT64, number, head.ranks[0] or 0)


def going(head: LoopHead, condition: Value | None, back: Value | None) -> Tensor:
    """The condition inside, which is true: its rank is the declared one, or that of the initial condition; later the
    one that the body gives back.
    """
    rank = head.ranks[1] if head.ranks[1] is not None else rank_of(condition)
    if back is not None and back is not BOTTOM and rank_of(back) != rank:
        rank = None
    if head.condition is not DType.BOOL:
        return Tensor(head.condition, TOP_SHAPE if rank is None or rank > 1 else Shape((1,) * rank))
    return _single(DType.BOOL, TRUE, rank)


def condition_at_runtime(condition: Value) -> Value:
    """The condition that a runtime passes to the body, whatever type inference assumes."""
    return Tensor(DType.BOOL, condition.shape) if isinstance(condition, Tensor) else condition


def rank_of(value: Value | None) -> int | None:
    """The rank of a condition; 0 of one that is left out."""
    if value is None:
        return 0
    return value.shape.rank if isinstance(value, Tensor) else None


def _single(dtype: DType, element: Element, rank: int | None) -> Tensor:
    """One element in a tensor of rank 0 or 1; runtimes differ on other declared ranks."""
    if rank is None or rank > 1:
        return Tensor(dtype, contents=Contents.fill(element))
    return Tensor(dtype, Shape((1,) * rank), Contents.of((1,) * rank, (element,)))
