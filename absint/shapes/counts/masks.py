"""Masks: at which places of a tensor something holds, as functions of comparisons.

A mask is read over a *space*, the sizes of a tensor. At each place of it, a variable has one of a few outcomes: a truth
value is true or false, a number lies at or between the constants that it is compared with, two numbers are less, equal,
greater or, where one may be NaN, not comparable. So `Not(a < b)` is not `a >= b`, and the outcomes of all variables
together are *cells*, of which each mask holds some.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor, prod
from typing import Final, Literal, NamedTuple

from absint.lattices.contents import Element
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.terms.expr import ONE_EXPR, Dim, Expr, product
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor
from absint.shapes.counts.numbering import Numbering
from absint.transfer.traits import RESHAPING

Space = tuple[Expr, ...]

MOST_CELLS: Final = 1 << 10


class At(NamedTuple):
    """The value of a number, spread over a space as by a broadcast."""

    number: int
    space: Space


class Variable(NamedTuple):
    """What has an outcome at each place: a truth value, a number beside constants, or two numbers beside each other."""

    kind: Literal["truth", "number", "order"]
    numbers: tuple[int, ...]
    space: Space


class Mask(NamedTuple):
    """A constant, a test of a variable, or an operator and the masks that it joins."""

    op: str
    parts: tuple[At, ...] = ()
    variable: Variable | None = None
    test: str = ""
    """Of two numbers: the outcomes that it holds for, among `<=>?`. Of a number: likewise, beside the constant."""
    constant: Fraction = Fraction(0)


_TESTS: Final = {"Less": "<", "Greater": ">", "Equal": "=", "LessOrEqual": "<=", "GreaterOrEqual": "=>"}
_TURNED: Final = str.maketrans("<>", "><")
_JOINS: Final = {"And": "and", "Or": "or", "Xor": "xor"}
_OF_BITS: Final = {"Mul": "and", "Min": "and", "Max": "or"}
"""What operators make of numbers that are 0 or 1."""


_OF_A_BIT: Final = {(False, False): "none", (False, True): "same", (True, False): "not", (True, True): "all"}


class Masks:
    """The masks among the values of a program."""

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._read: dict[At, Mask] = {}

    def counted(self, number: int) -> int:
        """The number of the value that is as often not 0 as this one: the first of those that hold its elements."""
        while True:
            operation = self._numbering.operation(number)
            if operation is None or operation.domain:
                return number
            is_kept = operation.op_type in RESHAPING or operation.op_type == "Transpose"
            if not is_kept and not self._is_cast(number):
                return number
            number = self._numbering.operands(number)[0]

    def space(self, number: int) -> Space | None:
        """The sizes of a tensor, if all of them are known."""
        tensor = self._numbering.tensor(number)
        if tensor is None or tensor.shape.rank is None:
            return None
        dims = tuple(dim for dim in tensor.shape if isinstance(dim, Expr))
        return dims if len(dims) == tensor.shape.rank else None

    def repeated(self, at: At) -> Dim | None:
        """How often the value stands in the space; None if that is not known."""
        own = self.space(at.number)
        if own is None or len(own) > len(at.space):
            return None
        # Axes are aligned from the last one, as by a broadcast; an axis of 1 repeats, and so does a missing one.
        beside = at.space[len(at.space) - len(own) :]
        if any(a is not b and a is not ONE_EXPR for a, b in zip(own, beside, strict=True)):
            return None
        ahead = at.space[: len(at.space) - len(own)]
        return product([*ahead, *(b for a, b in zip(own, beside, strict=True) if a is not b)])

    def _is_cast(self, number: int) -> bool:
        """A cast that keeps what is 0, and what is not: to a truth value, or of one."""
        operation, operands = self._numbering.operation(number), self._numbering.operands(number)
        if operation is None or operation.operator != "Cast":
            return False
        before, after = (self._numbering.tensor(n) for n in (operands[0], number))
        if before is None or after is None:
            return False
        return (after.dtype is DType.BOOL and _is_number(before)) or (before.dtype is DType.BOOL and _is_number(after))

    def mask(self, at: At) -> Mask:
        """Where the value is not 0."""
        found = self._read.get(at)
        if found is None:
            found = self._read[at] = self._mask(at)
        return found

    def _mask(self, at: At) -> Mask:
        tensor = self._numbering.tensor(at.number)
        alike = None if tensor is None else _alike(tensor)
        if alike is TRUE or alike is FALSE:
            return Mask("all" if alike is TRUE else "none")
        if tensor is None or not (tensor.dtype is DType.BOOL or _is_number(tensor)):
            return self._truth(at)
        # What the mask is made of, by the operator; what has no meaning here is a variable, true or false.
        operation = self._numbering.operation(at.number)
        name = operation.op_type if operation is not None and not operation.domain else ""
        operands = self._numbering.operands(at.number) if name else []
        parts = tuple(At(number, at.space) for number in operands)
        if name == "Expand" or (name == "Cast" and self._is_cast(at.number)):
            return Mask("same", parts[:1])
        if name == "Where":
            return Mask("where", parts)
        if tensor.dtype is not DType.BOOL:
            if name in _OF_BITS and len(parts) == 2 and all(map(self._is_bit, operands)):
                return Mask(_OF_BITS[name], parts)
            return Mask("test", (), Variable("number", (at.number,), at.space), "<>?")
        if name == "Not":
            return Mask("not", parts)
        if name in _JOINS:
            return Mask(_JOINS[name], parts)
        if name == "IsNaN":
            return Mask("test", (), Variable("number", (operands[0],), at.space), "?")
        return self._compared(at, operands, _TESTS[name]) if name in _TESTS else self._truth(at)

    def _compared(self, at: At, operands: Sequence[int], test: str) -> Mask:
        first, second = operands
        tensor = self._numbering.tensor(first)
        if tensor is not None and tensor.dtype is DType.BOOL:
            return Mask("same truth", tuple(At(number, at.space) for number in operands))
        # Beside a constant, on either side. A number that was a truth value has two outcomes: one of four masks.
        for number, other, turned in ((first, second, test), (second, first, test.translate(_TURNED))):
            beside = self._numbering.tensor(other)
            constant = None if beside is None else as_fraction(_alike(beside))
            if constant is None:
                continue
            if not self._is_bit(number):
                return Mask("test", (), Variable("number", (number,), at.space), turned, constant)
            zero, one = (_beside(Fraction(bit), constant) in turned for bit in (0, 1))
            return Mask(_OF_A_BIT[zero, one], (At(number, at.space),))
        # Equal comparisons are one variable, whichever operand comes first.
        if first > second:
            first, second, test = second, first, test.translate(_TURNED)
        return Mask("test", (), Variable("order", (first, second), at.space), test)

    def _truth(self, at: At) -> Mask:
        return Mask("test", (), Variable("truth", (at.number,), at.space), "=")

    def _is_bit(self, number: int) -> bool:
        """The value of a number was cast from truth values."""
        tensor = self._numbering.tensor(number)
        return tensor is not None and tensor.dtype is not DType.BOOL and self._is_cast(number)


def _alike(tensor: Tensor) -> Element | None:
    """The element of a tensor all of whose elements are one."""
    elements = tensor.contents.elements if tensor.contents is not None else ()
    return elements[0] if elements and all(element is elements[0] for element in elements) else None


def _is_number(tensor: Tensor) -> bool:
    return tensor.dtype.is_integer or tensor.dtype.is_float


def as_fraction(element: Element | None) -> Fraction | None:
    """A number that is known exactly."""
    if isinstance(element, Expr):
        return None if element.const is None else Fraction(element.const)
    return element.fraction if isinstance(element, Real) and element.is_dyadic else None


def _beside(value: Fraction | None, constant: Fraction) -> str:
    if value is None:
        return "?"
    return "=" if value == constant else "<" if value < constant else ">"


class Cells:
    """The outcomes of some variables together, and the masks over them as sets of bits."""

    def __init__(self, masks: Masks, numbering: Numbering, roots: Sequence[At]) -> None:
        """Of all variables that the masks at `roots` test."""
        self._masks, self._numbering = masks, numbering
        self._known: dict[At, int] = {}
        self.inside: list[At] = []
        """The masks that those at the roots are made of, and they themselves."""
        constants: dict[Variable, set[Fraction]] = {}
        pending = list(roots)
        seen = set(pending)
        while pending:
            at = pending.pop()
            self.inside.append(at)
            mask = masks.mask(at)
            if mask.variable is not None:
                constants.setdefault(mask.variable, set()).add(mask.constant)
            fresh = [part for part in mask.parts if part not in seen]
            seen.update(fresh)
            pending += fresh
        self._outcomes = {v: self._outcomes_of(v, sorted(found)) for v, found in constants.items()}
        self.count = prod(map(len, self._outcomes.values()))
        self.all = (1 << self.count) - 1 if self.count <= MOST_CELLS else 0

    def bits(self, at: At) -> int:
        """The cells in which a mask holds."""
        found = self._known.get(at)
        if found is None:
            pending = [at]
            while pending:
                parts = self._masks.mask(pending[-1]).parts
                fresh = [part for part in parts if part not in self._known]
                if fresh:
                    pending += fresh
                else:
                    last = pending.pop()
                    self._known[last] = self._joined(self._masks.mask(last))
            found = self._known[at]
        return found

    def _joined(self, mask: Mask) -> int:
        a, b, c = (*(self._known[part] for part in mask.parts[:3]), 0, 0, 0)[:3]
        if mask.variable is not None:
            return self._tested(mask, mask.variable)
        joined = {"all": self.all, "none": 0, "same": a, "not": ~a, "and": a & b, "or": a | b, "xor": a ^ b}
        joined |= {"same truth": ~(a ^ b), "where": (a & b) | (~a & c)}
        return joined[mask.op] & self.all

    def _tested(self, mask: Mask, variable: Variable) -> int:
        """The cells whose outcome of the variable passes; one variable after the other counts, the last one fastest."""
        # Cells are numbered as in a positional system: `block` is how many follow each other with the same outcome.
        block = 1
        for other, outcomes in reversed(self._outcomes.items()):
            if other == variable:
                break
            block *= len(outcomes)
        outcomes = self._outcomes[variable]
        passing = [_passes(mask, outcome) for outcome in outcomes]
        period = sum((((1 << block) - 1) << (block * at)) for at, passes in enumerate(passing) if passes)
        width = block * len(outcomes)
        return sum(period << start for start in range(0, self.count, width))

    def _outcomes_of(self, variable: Variable, constants: Sequence[Fraction]) -> Sequence[str | Fraction | None]:
        """The outcomes of a variable; those of a number are numbers at and between the constants, and None for NaN."""
        if variable.kind == "truth":
            return ["=", "!"]
        tensor = self._numbering.tensor(variable.numbers[0])
        dtype = DType.UNDEFINED if tensor is None else tensor.dtype
        is_exact = dtype.is_integer or dtype is DType.STRING
        if variable.kind == "order":
            first, second = variable.numbers
            return [*("=" if first == second else "<=>"), *([] if is_exact else ["?"])]
        # Floats: any number between two constants does for all of them, and one beyond each end.
        if not is_exact:
            between = [(a + b) / 2 for a, b in pairwise(constants)]
            return [*sorted([constants[0] - 1, *constants, *between, constants[-1] + 1]), None]
        # Integers: between neighbours there is none, and none lies beyond the range of the type.
        least, most = self._range(variable.numbers[0], dtype)
        inner = [c for c in constants if least <= c <= most]
        ends = [Fraction(least - 1), *inner, Fraction(most + 1)]
        between = [Fraction(floor(a) + 1) for a, b in pairwise(ends) if floor(a) + 1 < b]
        return sorted([*between, *(c for c in inner if c.denominator == 1)])

    def _range(self, number: int, dtype: DType) -> tuple[int, int]:
        """The least and the greatest integer that a value has: by its type, or as a place on an axis."""
        least, most = INTEGER_RANGES[dtype]
        operation = self._numbering.operation(number)
        operator = "" if operation is None else operation.operator
        if operator in ("ArgMax", "ArgMin") or (operator == "TopK" and self._numbering.first[number][1] == 1):
            tensor = self._numbering.tensor(self._numbering.operands(number)[0])
            axis = operation.attributes.get("axis", -1 if operator == "TopK" else 0) if operation is not None else None
            rank = None if tensor is None else tensor.shape.rank
            if tensor is not None and rank and isinstance(axis, int) and -rank <= axis < rank:
                size = tensor.shape[axis]
                if isinstance(size, Expr) and size.const:
                    return 0, size.const - 1
        return least, most


def _passes(mask: Mask, outcome: str | Fraction | None) -> bool:
    return outcome in mask.test if isinstance(outcome, str) else _beside(outcome, mask.constant) in mask.test
