"""Value numbering: values of one round with one number are equal wherever both are computed, in the same trips.

A number stands for an operator and the numbers of its operands, or for known elements. An operator that draws random
numbers, or of which nothing is known, gives a new one at each node, and so do inputs, joins, heads and exits: what
comes out of a branch or a loop is a value of its own. Nodes of one body with one number are equal within each trip.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import UNKNOWN_RELATION, Relation
from absint.lattices.terms.expr import Expr
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor, Value
from absint.program.graph import Program
from absint.program.nodes import Operation
from absint.program.steps import ABSENT, Operand
from absint.shapes.summaries import State, value_in
from absint.transfer.traits import KNOWN_DOMAINS, RANDOM

_ABSENT: Final = -1


class Numbering:
    """The numbers of all values of a program."""

    def __init__(self, program: Program, states: Sequence[State]) -> None:
        self._nodes, self._states = program.nodes, states
        self._table: dict[Hashable, int] = {}
        self._of: dict[Operand, int] = {ABSENT: _ABSENT}
        self.first: list[Operand] = []
        """The first value of each number."""
        self._is_same: dict[Operation, bool] = {}
        for node, operation in enumerate(program.nodes.operations):
            self._add(node, operation)

    def of(self, operand: Operand) -> int:
        """The number of a value; one of its own for an output that its node does not have."""
        found = self._of.get(operand)
        if found is None:
            found = self._of[operand] = len(self.first)
            self.first.append(operand)
        return found

    def tensor(self, number: int) -> Tensor | None:
        """What is known of the first tensor of a number."""
        value = value_in(self._states, self.first[number]) if number >= 0 else None
        return value if isinstance(value, Tensor) else None

    def operation(self, number: int) -> Operation | None:
        """The operator that computes the values of a number."""
        return self._nodes.operations[self.first[number][0]] if number >= 0 else None

    def operands(self, number: int) -> list[int]:
        """The numbers of what a value is computed from."""
        return [self.of(operand) for operand in self._nodes.operands[self.first[number][0]]]

    def _add(self, node: int, operation: Operation | None) -> None:
        key: Hashable = ("node", node)
        if operation is not None:
            is_same = self._is_same.get(operation)
            if is_same is None:
                is_same = self._is_same[operation] = gives_the_same(operation)
            operands = [self._of.get(operand) for operand in self._nodes.operands[node]]
            if is_same and None not in operands:
                if operation.operator == "Identity" and len(operands) == 1 and operands[0] is not None:
                    self._of[node, 0] = operands[0]
                    return
                key = (operation, *operands)
        for at, value in enumerate(self._states[node]):
            known = _elements(value)
            found = None if known is None else self._table.get(known)
            if found is None:
                found = self._table.setdefault((key, at), len(self.first))
            if found == len(self.first):
                self.first.append((node, at))
            if known is not None:
                self._table.setdefault(known, found)
            self._of[node, at] = found


def gives_the_same(operation: Operation) -> bool:
    """Two nodes of the operation give the same on the same inputs. Its key leaves out the elements of large tensors."""
    return (
        operation.is_standard
        and operation.has_rule
        and operation.body is None
        and operation.other is None
        and operation.domain in KNOWN_DOMAINS
        and operation.op_type not in RANDOM
        and not any(_is_left_out(attribute) for attribute in operation.attributes.values())
    )


def _is_left_out(attribute: object) -> bool:
    """Not all of it is in the key of operations: a graph, or a tensor whose elements are not known."""
    return attribute is None or (isinstance(attribute, Tensor) and attribute.contents is None)


def _elements(value: Value) -> Hashable:
    """The elements of a tensor, if all of them are known; of floats, constants that are not 0, which has two signs."""
    contents = _known(value)
    if contents is None or not isinstance(value, Tensor):
        return None
    return ("elements", value.dtype, value.shape.dims, contents)


def _known(value: Value) -> Contents | None:
    if not isinstance(value, Tensor) or value.contents is None or value.shape.rank is None:
        return None
    floats = not (value.dtype.is_integer or value.dtype is DType.BOOL)
    is_known = all(_is_constant(e) if floats else _is_told(e) for e in value.contents.elements)
    return value.contents if is_known and all(isinstance(dim, Expr) for dim in value.shape) else None


def _is_told(element: object) -> bool:
    return isinstance(element, Expr) or (isinstance(element, Relation) and element is not UNKNOWN_RELATION)


def _is_constant(element: object) -> bool:
    return isinstance(element, Real) and element.is_dyadic and bool(element.num.const)
