"""A node as a specification sees it, sizes as variables; and its meaning: defined sizes, and clauses of legality."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from absint.research.specification.formulas import FALSE, TRUE, both, either, equal, negated
from absint.research.specification.terms import Formula, Int, Term, choice, term, variable


@dataclass(frozen=True)
class Held:
    """A tensor in an attribute."""

    dtype: str
    dims: tuple[int, ...]
    numbers: tuple[float, ...] | None
    """None: they are not known."""


Attribute: TypeAlias = int | float | str | Sequence[int] | Sequence[float] | Sequence[str] | Held


class Input(NamedTuple):
    """A tensor that a node gets, or the tensors of equal sizes that a sequence, an optional value or a map holds."""

    dims: tuple[Term, ...]
    elements: tuple[Term, ...] | None = None
    """The integers in it, in row-major order, where the meaning hangs on them and they are known."""
    truths: tuple[Formula, ...] | None = None
    """The same of an input of truths."""
    dtype: str = ""
    """Its type, if it is known: `int64`."""
    length: Term | None = None
    """How many tensors are held; None for a tensor."""
    holder: str = ""
    """Their container: `sequence`, `optional` or `map`."""
    signed: frozenset[str] = frozenset()
    """Names of elements that may be negative."""

    @property
    def rank(self) -> int:
        return len(self.dims)


class Defined:
    """A size given by what is true of it, and of no other integer from `least` on."""

    def __init__(self, condition: Callable[[Term], Formula], least: int = 0) -> None:
        self.condition = condition
        self.least = least

    def value(self, binding: Mapping[str, int], limit: int = 100_000) -> int:
        """The number where each variable has its value, found by trying. Raises ValueError if there is none."""
        for number in range(self.least, limit):
            if self.condition(term(number)).holds(binding):
                return number
        raise ValueError(f"no size up to {limit} meets {self.condition(variable('q'))} at {dict(binding)}")


def greatest(fits: Callable[[Term], Formula], least: int = 0) -> Defined:
    """The greatest q that fits, where whatever is smaller fits too."""
    return Defined(lambda q: both(fits(q), negated(fits(q + 1))), least)


def exactly(size: Int | Defined) -> Defined:
    """A term as a size that is defined."""
    return size if isinstance(size, Defined) else Defined(lambda q: equal(q, size))


class Output(NamedTuple):
    """A tensor that a node gives, or the tensors that a sequence or an optional value holds."""

    dims: tuple[Defined, ...]
    elements: tuple[Term | Formula, ...] | None = None
    length: Defined | None = None
    """How many tensors are held; None for a tensor."""
    parts: tuple[Output, ...] | None = None
    """The tensors one by one, where their sizes differ."""


class Clause(NamedTuple):
    """A condition that a legal node meets."""

    formula: Formula
    reason: str
    strict: Formula
    """The condition without what onnxruntime runs besides."""
    is_certain: bool = True
    """No run of onnxruntime breaks it; what it may run all the same is not certain."""


class Meaning(NamedTuple):
    """The outputs of a node, and the conditions under which it is legal."""

    legal: tuple[Clause, ...]
    outputs: tuple[Output, ...]
    """None if the node is illegal at any sizes."""
    limits: tuple[Clause, ...] = ()
    """Conditions that a node must meet besides to run in onnxruntime."""


def is_one_value(given: Input) -> Formula:
    """It is a scalar, or a vector of one element."""
    return both(*[equal(size, 1) for size in given.dims]) if given.rank <= 1 else FALSE


class IllegalError(Exception):
    """The node is illegal at any sizes."""


class Node:
    """One node: the specification of its operator reads it and states what makes it legal."""

    def __init__(
        self,
        operator: str,
        version: int,
        inputs: Sequence[Input | None],
        attributes: Mapping[str, Attribute] | None = None,
        outputs: int = 1,
    ) -> None:
        self.operator = operator
        self.version = version
        """The version of the operator: the opset that introduced or last changed it."""
        self.inputs = tuple(inputs)
        self.attributes = {} if attributes is None else attributes
        self.outputs = outputs
        self.documented: bool | None = None
        """The sizes wanted are those of the documents, or of onnxruntime; None: those that both give."""
        self.legal: list[Clause] = []
        self.limited: list[Clause] = []

    def input(self, index: int) -> Input:
        """A required input."""
        found = self.optional(index)
        if found is None:
            raise IllegalError(f"input {index} is missing")
        return found

    def optional(self, index: int) -> Input | None:
        """An input, or None if it is left out; none has a number below 0."""
        return self.inputs[index] if 0 <= index < len(self.inputs) else None

    def given(self) -> list[Input]:
        """All inputs, of an operator that takes any number."""
        return [found for found in self.inputs if found is not None]

    def elements(self, index: int, *ranks: int) -> tuple[Term, ...] | None:
        """The integers in an input, or None if it is left out. It has one of the ranks, where some are given."""
        found = self.optional(index)
        if found is None:
            return None
        self.demand(not ranks or found.rank in ranks, f"input {index} must have rank {' or '.join(map(str, ranks))}")
        if found.elements is None or any(element.op == "fraction" for element in found.elements):
            raise LookupError(f"the meaning of {self.operator} hangs on the elements of input {index}")
        return found.elements

    def integer(self, name: str, default: int = 0) -> int:
        value = self.attributes.get(name, default)
        assert isinstance(value, int)
        return value

    def ratio(self, name: str) -> Fraction:
        """A number, exactly; 1 if it is left out."""
        value = self.attributes.get(name, 1)
        assert isinstance(value, int | float)
        return Fraction(value)

    def ratios(self, name: str) -> list[Fraction]:
        """A list of numbers, exactly; empty if it is left out."""
        values = self.attributes.get(name, ())
        assert not isinstance(values, int | float | Held)
        return [Fraction(value) for value in values]

    def fractions(self, index: int) -> list[Fraction]:
        """The known numbers in an input; none if it is left out."""
        given = self.optional(index)
        if given is None:
            return []
        if given.elements is None or any(found.op not in ("number", "fraction") for found in given.elements):
            raise LookupError(f"the meaning of {self.operator} hangs on the numbers of input {index}")
        return [Fraction(*map(int, map(str, found.args))) for found in given.elements]

    def text(self, name: str, default: str = "") -> str:
        value = self.attributes.get(name, default)
        assert isinstance(value, str)
        return value

    def integers(self, name: str) -> list[int] | None:
        """A list of integers, or None if the attribute is left out."""
        value = self.attributes.get(name)
        if value is None:
            return None
        assert isinstance(value, Sequence)
        return [int(number) for number in value]

    def axis(self, axis: int, rank: int, *, unless: Formula = FALSE) -> int:
        """An axis that may count from the end: legal in [-rank, rank - 1]."""
        if not -rank <= axis < rank:
            self.refuse(f"axis {axis} must be one of {rank}", unless=unless)
        return axis % rank if rank else 0

    def place(self, axis: Term, rank: int) -> Term:
        """An axis that is not known, counted from the start: legal in [-rank, rank - 1]."""
        self.requires(both(axis >= -rank, axis < rank), f"the axis must be one of {rank}")
        return choice(axis < 0, axis + rank, axis)

    def limits(
        self,
        formula: Formula,
        reason: str,
        *,
        is_required: bool = False,
        is_certain: bool = False,
        unless: Formula = FALSE,
    ) -> None:
        """Nodes that meet this run in onnxruntime; the specification does not ask for it. With `is_certain` it refuses
        all others but those that meet `unless`, with `is_required` rules require it besides, as
        docs/runtime-differences.md says.
        """
        strict = formula if is_required else TRUE
        runs = formula if unless is FALSE else either(formula, unless)
        self.limited.append(Clause(runs, reason, strict, is_required or is_certain))

    def refuse(self, reason: str, *, unless: Formula = FALSE) -> None:
        """No sizes are legal; onnxruntime runs those that meet `unless`."""
        if unless is FALSE:
            raise IllegalError(reason)
        self.legal.append(Clause(unless, reason, FALSE))

    def requires(self, formula: Formula, reason: str, *, unless: Formula = FALSE) -> None:
        """A legal node meets this. onnxruntime also runs nodes that meet `unless`: their sizes are specified too."""
        self.legal.append(Clause(formula if unless is FALSE else either(formula, unless), reason, formula))

    def demand(self, holds: bool, reason: str) -> None:
        """A legal node meets this, whatever the sizes."""
        if not holds:
            raise IllegalError(reason)

    def agree(self, sizes: Iterable[Int], wanted: Iterable[Int], reason: str, *, strict: bool = True) -> None:
        """A legal node has equal sizes here, pair by pair; without `strict` as many as both have."""
        for size, other in zip(sizes, wanted, strict=strict):
            self.requires(equal(size, other), reason)

    def fit(self, wanted: Mapping[int, Sequence[Int]], reason: str = "") -> None:
        """The inputs at these places, where they are given, have these sizes."""
        for place, sizes in wanted.items():
            if (given := self.optional(place)) is not None:
                self.demand(given.rank == len(sizes), reason or f"input {place} must have rank {len(sizes)}")
                self.agree(given.dims, sizes, reason or f"the sizes of input {place} must fit")

    def has_one_value(self, place: int, reason: str) -> None:
        """onnxruntime needs a scalar, or a vector of one element, where the input is given."""
        if (given := self.optional(place)) is not None:
            self.limits(is_one_value(given), reason, is_required=True)

    def needs_elements(self, sizes: Iterable[Term], reason: str) -> None:
        """onnxruntime is only known to run where none of these sizes is 0."""
        for size in sizes:
            self.limits(size >= 1, reason)

    def through(
        self,
        function: Callable[[Node], Output | Sequence[Output]],
        inputs: Sequence[Input | None],
        attributes: Mapping[str, Attribute] | None = None,
        operator: str = "",
    ) -> list[Output]:
        """The outputs of another operator's node, which the function specifies: this node is legal if that one is."""
        attributes = self.attributes if attributes is None else attributes
        inner = Node(operator or self.operator, self.version, inputs, attributes, self.outputs)
        found = function(inner)
        self.legal += inner.legal
        self.limited += inner.limited
        return [found] if isinstance(found, Output) else list(found)


def tensor(dims: Sequence[Int | Defined], elements: Sequence[Int] | None = None) -> Output:
    """An output of these sizes."""
    return Output(tuple(map(exactly, dims)), None if elements is None else tuple(map(term, elements)))


def held(length: Int | Defined, dims: Sequence[Int | Defined]) -> Output:
    """An output that holds so many tensors of these sizes."""
    return Output(tuple(map(exactly, dims)), length=exactly(length))


def listed(parts: Sequence[Sequence[Int | Defined]]) -> Output:
    """An output that holds a tensor of each of these sizes."""
    return Output((), length=exactly(len(parts)), parts=tuple(map(tensor, parts)))


def illegal(reason: str) -> Meaning:
    """The meaning of a node that is illegal at any sizes."""
    return Meaning((Clause(FALSE, reason, FALSE),), ())
