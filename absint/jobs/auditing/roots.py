"""The first node from which a false claim comes.

A tool goes through a model node by node, so one mistake is seen in the claims about all that is computed from it. The
*root* of a refuted claim is found by going back from its node: through an input that the source makes a refuted claim
about, through the elements of integer tensors, where sizes are computed, and through branches and bodies; of several
ways the one to the earliest node. A node without such an input is a root itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from absint.jobs.auditing.audit import Judged
from absint.jobs.auditing.claims import operands_of
from absint.lattices.dtype import DType
from absint.lattices.value import Tensor
from absint.program.nodes import Node
from absint.program.steps import Operand
from absint.questions.claims.claims import Judgement

if TYPE_CHECKING:
    from absint.result import Result

_SIZES: Final = (DType.INT32, DType.INT64)
"""Element types of tensors that sizes are computed in."""


def roots(result: Result, judged: Iterable[Judged]) -> Mapping[str, Node]:
    """Value with a refuted claim -> the node that the claim comes from."""
    places = operands_of(result)
    refuted = {item.places[0].value for item in judged if item.judgement is Judgement.REFUTED}
    false = {value: places[value][0] for value in refuted if value in places}
    found = _sources(result, frozenset(false.values()))
    return {value: result.nodes[found[node]] for value, (node, _) in false.items()}


def _sources(result: Result, false: frozenset[Operand]) -> dict[int, int]:
    """Node with a false claim, or with an input from which one comes -> the earliest node on the way back."""
    found: dict[int, int] = {}
    wrong = {node for node, _ in false}
    for number, node in enumerate(result.nodes):
        before = [
            found[producer]
            for producer, output in node.operands
            if producer in found and _carries(result, (producer, output), false)
        ]
        if before:
            found[number] = min(before)
        elif number in wrong:
            found[number] = number
    return found


def _carries(result: Result, operand: Operand, false: frozenset[Operand]) -> bool:
    """An error before a value may persist after it."""
    node, output = operand
    if operand in false or result.nodes[node].step is not None:
        return True
    state = result.states[node]
    value = state[output] if output < len(state) else None
    return isinstance(value, Tensor) and value.dtype in _SIZES
