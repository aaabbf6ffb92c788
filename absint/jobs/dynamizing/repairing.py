"""The shape analysis with repaired constants: each node sees the numbers and sizes that its constants should have.

There are two kinds of repair. A *decision* says that a number or a size of one operand of one node is an expression;
the search makes them, one after the other, and each round of the analysis applies them all. A *target* of Reshape,
Expand or Resize needs no decision: the sizes that reach the node say what its numbers mean, so it is read while the
analysis runs, and a decision before it changes how it is read. `alignment` lists the readings of a target of Reshape;
`choosing` takes one of several by the key of the target, as equal targets of equal inputs are read alike; else it is
the likeliest one. A reading becomes numbers that a model can hold: 0, one -1, or sizes that are computed (`_spelt`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from absint.jobs.dynamizing.alignment import ManyReadingsError, Reading, readings
from absint.jobs.dynamizing.resizing import Resizing
from absint.lattices.contents import Contents
from absint.lattices.logic.facts import Facts
from absint.lattices.records import changed as with_fields
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import MINUS_ONE, ONE_EXPR, ZERO_EXPR, Dim, Expr, product
from absint.lattices.terms.polynomials import exact_quotient
from absint.lattices.value import Tensor, Value, elements_of
from absint.program.graph import Program
from absint.program.nodes import Operation
from absint.program.steps import LoopExit, Operand
from absint.shapes import analysis, application, interpretation, summaries

LEFT_OPEN: Final = "left open"
"""In place of a reading: the target stays as it is."""

Choice: TypeAlias = Mapping[int, Expr] | str
"""The reading of a target: the numbers that change; or LEFT_OPEN."""

MAX_TARGET: Final = 64
"""Numbers of the largest constant that is repaired as a list of sizes."""


@dataclass
class Decided:
    """Decisions about one operand of one node."""

    elements: dict[int, Expr] = field(default_factory=dict)
    """Numbers of the operand by their place in row-major order."""
    dims: dict[int, Expr] = field(default_factory=dict)
    """Sizes of the operand by axis."""


@dataclass(frozen=True)
class Target:
    """The repaired numbers of a target, with the other readings of it."""

    operand: int
    meant: Mapping[int, Expr]
    """The sizes of numbers that are to change."""
    numbers: tuple[Expr, ...]
    """The target as it is written: 0 copies a size unless `keeps_zero`, and -1 is what is left."""
    keeps_zero: bool = False
    readings: tuple[Mapping[int, Expr], ...] = ()
    """All that it may mean, this meaning first."""
    key: object = None
    """Equal targets of equal inputs are read alike."""


class _Meaning(NamedTuple):
    """The sizes that a target means."""

    changed: Mapping[int, Expr]
    """Those of its numbers that are to change, by place."""
    sizes: tuple[Expr, ...]


class Repairing(analysis.ShapeAnalysis):
    """The analysis under decisions. Targets of Reshape and Expand are read from the sizes that reach them."""

    def __init__(
        self,
        program: Program,
        inputs: Mapping[int, Value],
        resizing: Resizing,
        decided: Mapping[tuple[int, int], Decided],
        chosen: Mapping[object, Choice],
        facts: Facts,
        fed: frozenset[int],
    ) -> None:
        """`decided` are decisions by node and operand, `chosen` the reading of an ambiguous target.
        `fed` are the nodes of all that a caller may feed.
        """
        super().__init__(program, facts, inputs=inputs)
        self._program, self._facts = program, facts
        self.fed, self.resizing = fed, resizing
        self.targets: dict[int, Target] = {}
        """The targets that were read from the sizes that reach them, by node."""
        self.left_open: dict[object, dict[int, None]] = {}
        """The nodes of targets that are left as they are, by the key of the target."""
        self._decided: dict[int, dict[int, Decided]] = {}
        for (node, operand), decision in decided.items():
            self._decided.setdefault(node, {})[operand] = decision
        for node, item in enumerate(program.nodes):
            if isinstance(item.step, LoopExit) and item.step.head in self._decided:  # it reads what its head reads
                self._decided[node] = self._decided[item.step.head]
        self.chosen = chosen
        self._read: dict[object, list[_Meaning]] = {}
        self._shapes: set[Shape] = set()
        self._sizes: set[Expr] = set()
        self._made: dict[tuple[int, object], Target] = {}
        self._keeping_zeros = cache(_keeping_zeros)

        def repaired(
            run: interpretation.Interpretation, node: int, states: Sequence[summaries.State]
        ) -> summaries.State:
            # Steps of control flow see decisions in the states, operators in their inputs; other nodes are as ever.
            item = run.nodes[node]
            if item.operation is None and node in self._decided:
                return analysis.interpret(run, node, self._given(node, states))
            if item.operation is None or (node not in self._decided and item.operation.op_type not in _READ):
                return analysis.interpret(run, node, states)
            inputs = tuple([run.operand(operand, states) for operand in item.operands])
            operation, changed = self.changed(node, item.operation, inputs)
            if changed is inputs:
                return analysis.interpret(run, node, states)
            return application.computed(run, node, item, operation, states, changed)

        self._interpret = repaired

    def deciding(self, decided: Mapping[tuple[int, int], Decided]) -> Repairing:
        """The same analysis under other decisions."""
        return Repairing(self._program, self.inputs, self.resizing, decided, self.chosen, self._facts, self.fed)

    def transfer(self, node: int, states: Sequence[summaries.State]) -> summaries.State:
        found = self._interpret(self, node, states)
        for value in found:
            if isinstance(value, Tensor) and value.shape.open:
                self._shapes.add(value.shape)
                self._sizes.update(value.shape.open)
        return found

    def _given(self, node: int, states: Sequence[summaries.State]) -> Sequence[summaries.State]:
        """The states with the decisions about the operands of a step of control flow."""
        found = list(states)
        for operand, decision in self._decided.get(node, {}).items():
            producer, index = self.nodes[node].operands[operand]
            state = list(found[producer])
            state[index] = changed(state[index], decision.elements, decision.dims) or state[index]
            found[producer] = tuple(state)
        return found

    def is_constant(self, operand: Operand) -> bool:
        """No caller feeds it, and nothing computes it."""
        item = self.nodes[operand[0]]
        return operand[0] >= 0 and operand[0] not in self.fed and not item.operands and item.step is None

    def is_open(self, node: int, operand: int) -> bool:
        """The operand is a target that is left as it is, whatever a search would like it to be."""
        return operand == _TARGET and any(node in nodes for nodes in self.left_open.values())

    def value(self, node: int, operand: int, states: Sequence[summaries.State]) -> Value | None:
        """An input as the node saw it."""
        if self.nodes[node].operation is not None:
            return self.seen(node, states)[1][operand]
        producer, index = self.nodes[node].operands[operand]
        return self._given(node, states)[producer][index]

    def seen(self, node: int, states: Sequence[summaries.State]) -> tuple[Operation, summaries.Inputs]:
        """The operation and the inputs of an operator as it saw them."""
        item = self.nodes[node]
        assert item.operation is not None
        inputs = tuple([self.operand(operand, states) for operand in item.operands])
        return self.changed(node, item.operation, inputs)

    def changed(self, node: int, operation: Operation, inputs: summaries.Inputs) -> tuple[Operation, summaries.Inputs]:
        """The inputs of a node with its decisions; an operation that keeps zeros where its target demands it."""
        found = list(inputs)
        for operand, decision in self._decided.get(node, {}).items():
            found[operand] = changed(found[operand], decision.elements, decision.dims)
        at = _READ.get(operation.op_type) if not operation.domain else None
        if at is not None and at < len(inputs):
            target = self._target(node, operation, found[0], found[at])
            self.targets.pop(node, None)
            if target is not None:
                self.targets[node] = target
                found[at] = changed(found[at], dict(enumerate(target.numbers)), {})
                operation = self._keeping_zeros(operation) if target.keeps_zero else operation
        return operation, inputs if all(a is b for a, b in zip(found, inputs, strict=True)) else tuple(found)

    def _target(self, node: int, operation: Operation, data: Value | None, target: Value | None) -> Target | None:
        if not isinstance(data, Tensor) or not isinstance(target, Tensor) or data.shape.is_top:
            return None
        numbers = numbers_of(target)
        dims = [dim for dim in data.shape if isinstance(dim, Expr)]
        if numbers is None or len(dims) != data.shape.rank or not any(map(self.resizing.varies, dims)):
            return None
        # Equal targets of equal data have the same meanings, which are read once.
        key = (operation, data.shape, target.contents)
        if key not in self._read:
            read = {"Reshape": self._reshape, "Expand": self._expand, "Resize": self._resize}[operation.op_type]
            try:
                self._read[key] = read(operation, dims, numbers)
            except ManyReadingsError:
                self.left_open.setdefault(key, {})[node] = None
                return None
        found = self._with_decided(node, operation, dims, numbers, self._read[key])
        if not found:
            return None
        if self.chosen.get(key) == LEFT_OPEN:
            self.left_open.setdefault(key, {})[node] = None
            return None
        if (node, key) not in self._made:  # later its own output is among the shapes
            self._made[node, key] = self._chosen_of(operation, dims, numbers, found, key)
        return self._made[node, key]

    def _chosen_of(
        self, operation: Operation, dims: Sequence[Expr], numbers: Sequence[Expr], found: list[_Meaning], key: object
    ) -> Target:
        """The target as the chosen one of its meanings says."""
        chosen = self.chosen.get(key)
        found = sorted(found, key=self._unlike)
        operand = _READ[operation.op_type]
        meant, sizes = meaning = next((each for each in found if each.changed == chosen), found[0])
        all_readings = (meant, *(other for other, _ in found if other is not meant))
        if operation.op_type != "Reshape":
            return Target(operand, meant, sizes, False, all_readings, key)
        written, keeps_zero = self._spelt(operation, dims, numbers, meaning) if meant else (tuple(numbers), False)
        return Target(operand, meant, written, keeps_zero, all_readings, key)

    def _unlike(self, meaning: _Meaning) -> tuple[bool, int]:
        """The order of meanings: first the shape of an earlier value, then one of sizes that earlier values have."""
        new = sum(size not in self._sizes for size in meaning.sizes if size.const is None)
        return Shape(meaning.sizes) not in self._shapes, new

    def _with_decided(
        self, node: int, operation: Operation, dims: Sequence[Expr], numbers: Sequence[Expr], found: list[_Meaning]
    ) -> list[_Meaning]:
        """The meanings of a target, with the numbers that were decided for this node."""
        decision = self._decided.get(node, {}).get(_READ[operation.op_type])
        if decision is None or not decision.elements or operation.op_type != "Reshape":
            return found
        if not found:
            sizes = self._resolved(dims, numbers, keep_zero=bool(operation.attributes.get("allowzero"))) or []
            whole = tuple(size for size in sizes if isinstance(size, Expr))
            return [_Meaning(decision.elements, whole)] if len(whole) == len(numbers) else []
        return [_Meaning({**decision.elements, **meaning.changed}, meaning.sizes) for meaning in found]

    def _spelt(
        self, operation: Operation, dims: Sequence[Expr], numbers: Sequence[Expr], meaning: _Meaning
    ) -> tuple[tuple[Expr, ...], bool]:
        """A target that means these sizes: constants if they can say it, with 0 to copy a size, or one -1."""
        keeps = bool(operation.attributes.get("allowzero"))
        meant, sizes = meaning
        written = [meant.get(at, number) for at, number in enumerate(numbers)]
        # A -1 whose size no symbol changes is free for one that changes.
        if MINUS_ONE in written and sizes[written.index(MINUS_ONE)].const is not None:
            written = [sizes[at] if number is MINUS_ONE else number for at, number in enumerate(written)]
        if not keeps:
            written = [
                ZERO_EXPR if at in meant and at < len(dims) and dims[at] is size else size
                for at, size in enumerate(written)
            ]
        open_ = [at for at, size in enumerate(written) if size.const is None]
        others = [size.const for at, size in enumerate(written) if at not in open_]
        if not open_:
            return tuple(written), keeps
        # -1 beside a copied size fails at size 0: where zeros can be kept, all sizes are computed instead.
        may_keep = keeps or operation.version >= _ALLOWZERO
        if len(open_) == 1 and MINUS_ONE not in written and (not may_keep or all(n and n > 0 for n in others)):
            written[open_[0]] = MINUS_ONE
            return tuple(written), keeps
        if not may_keep:
            return tuple(written), False
        return sizes, True

    def _expand(self, _: Operation, dims: Sequence[Expr], numbers: Sequence[Expr]) -> list[_Meaning]:
        elements: dict[int, Expr] = {}
        for at, dim in enumerate(dims):
            place = at + len(numbers) - len(dims)
            if place >= 0 and self.resizing.varies(dim) and self.resizing.old(dim) is numbers[place]:
                elements[place] = dim
        sizes = tuple(elements.get(at, number) for at, number in enumerate(numbers))
        return [_Meaning(elements, sizes)] if elements else []

    def _resize(self, operation: Operation, dims: Sequence[Expr], numbers: Sequence[Expr]) -> list[_Meaning]:
        """The batch and the channels keep their size: runtimes resize neither. Other sizes may be equal by chance."""
        outer = [dim if axis < _NOT_RESIZED else ONE_EXPR for axis, dim in enumerate(dims)]
        return self._expand(operation, outer, numbers) if len(numbers) == len(dims) else []

    def _reshape(self, operation: Operation, dims: Sequence[Expr], numbers: Sequence[Expr]) -> list[_Meaning]:
        old = self.resizing.old
        sizes = self._resolved(dims, numbers, keep_zero=bool(operation.attributes.get("allowzero")))
        if sizes is None:
            return []
        was = [size for size in map(old, sizes) if isinstance(size, Expr)]
        if len(was) < len(sizes):
            return []
        fits: list[_Meaning] = []
        # Readings that change the same numbers are one meaning.
        for reading in readings(dims, was, old):
            meaning = self._meaning(reading, numbers, sizes)
            if meaning is not None and all(meaning.changed != other.changed for other in fits):
                fits.append(meaning)
        return fits if any(meaning.changed for meaning in fits) else []

    def _meaning(self, reading: Reading, numbers: Sequence[Expr], sizes: Sequence[Dim]) -> _Meaning | None:
        """The numbers of a target that a reading changes; None if it contradicts numbers that hold a size already."""
        elements: dict[int, Expr] = {}
        whole: list[Expr] = []
        for at, (size, number) in enumerate(zip(reading.sizes, numbers, strict=True)):
            if not isinstance(size, Expr):
                return None
            whole.append(size)
            if number is MINUS_ONE or size is sizes[at]:
                continue
            if self.resizing.varies(sizes[at]):
                return None
            elements[at] = size
        return _Meaning(elements, tuple(whole))

    def _resolved(self, dims: Sequence[Expr], numbers: Sequence[Expr], *, keep_zero: bool) -> list[Dim] | None:
        """The sizes that a target states: 0 copies, and -1 is what the others leave."""
        sizes: list[Dim | None] = []
        for at, number in enumerate(numbers):
            if number.const == 0 and not keep_zero:
                if at >= len(dims):
                    return None
                sizes.append(dims[at])
            else:
                sizes.append(None if number is MINUS_ONE else number)
        if sizes.count(None) > 1:
            return None
        if None in sizes:
            old = self.resizing.old
            whole = product(old(dim) for dim in dims)
            rest = product(old(size) for size in sizes if size is not None)
            if not isinstance(whole, Expr) or not isinstance(rest, Expr) or rest.const == 0:
                return None
            sizes[sizes.index(None)] = exact_quotient(whole, rest)
        return None if None in sizes else [size for size in sizes if size is not None]


def _keeping_zeros(operation: Operation) -> Operation:
    is_plain = not operation.attributes.get("allowzero")
    return with_fields(operation, attributes={**operation.attributes, "allowzero": 1}) if is_plain else operation


_READ: Final = {"Reshape": 1, "Expand": 1, "Resize": 3}
"""The operand that holds the target."""

_NOT_RESIZED: Final = 2
"""The first axes of images, which Resize leaves alone."""

_TARGET: Final = 1
"""The operand of Reshape that holds its target: the only one with several readings."""

_ALLOWZERO: Final = 14
"""The version of Reshape that can keep a 0 in its target."""


def numbers_of(value: Value | None) -> list[Expr] | None:
    """The numbers of a small integer tensor, if all are known."""
    elements = elements_of(value) if isinstance(value, Tensor) and value.dtype.is_integer else None
    found = [element for element in elements or () if isinstance(element, Expr)]
    return found if elements is not None and len(found) == len(elements) <= MAX_TARGET else None


def integers_of(inputs: summaries.Inputs, operand: int, default: list[int]) -> list[int] | None:
    """The numbers of an operand, if all are numbers indeed; the default if it is absent."""
    value = inputs[operand] if operand < len(inputs) else None
    numbers = numbers_of(value)
    if value is None or numbers is None:
        return default if value is None else None
    found = [number.const for number in numbers if number.const is not None]
    return found if len(found) == len(numbers) else None


def changed(value: Value | None, elements: Mapping[int, Expr], dims: Mapping[int, Expr]) -> Value | None:
    """The tensor with some of its numbers and sizes changed."""
    if not isinstance(value, Tensor) or value.shape.is_top:
        return value
    contents = value.contents
    if elements:
        numbers: list[Expr] = numbers_of(value) or []
        for at, number in elements.items():
            numbers[at] = number
        contents = Contents.of(value.shape.concrete or (), numbers)
    if not dims:
        return Tensor(value.dtype, value.shape, contents)
    if contents is not None and not contents.is_fill:
        first = contents.elements[0] if contents.elements else None
        same = first is not None and all(e is first for e in contents.elements)
        contents = Contents.fill(first) if same and first is not None else None
    shape = Shape(dims.get(at, dim) for at, dim in enumerate(value.shape))
    return Tensor(value.dtype, shape, contents)
