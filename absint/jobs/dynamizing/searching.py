"""The search for constants that impose a requirement which only the old sizes meet.

A requirement such as `batch == 4` is stated by one node, and the constant behind it may be the input of another one,
far before it. The way back needs no second description of operators: rules answer. A rule is applied to inputs with
one size or number changed, and

1. at the node of the requirement (`changes_at`), a change that lets fewer requirements narrow the sizes is a
   candidate;
2. a change to a number, or to a size of a constant, is an answer (`_resolved`);
3. a size of a computed input is demanded of the node that computes it (`_demanded`): changes to its inputs that give
   its output this size are candidates in turn (`_giving`), up to a constant. If all of them fail, the next candidate
   of the node before is tried; what failed once is remembered.

Targets of Reshape and Expand are read by `repairing` from the sizes that reach them, all their readings are followed
by `choosing`, and a target that is left open is no candidate here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from absint.jobs.dynamizing import resizing
from absint.jobs.dynamizing.alignment import ManyReadingsError, readings
from absint.jobs.dynamizing.repairing import Repairing, changed, numbers_of
from absint.jobs.dynamizing.resizing import BakedError, Change, Fixed
from absint.lattices.logic.relation import eq
from absint.lattices.terms.expr import Dim, Expr, symbol
from absint.lattices.value import Tensor
from absint.program.nodes import Operation
from absint.program.steps import IfJoin, LoopExit, LoopHead, Operand, ScanHead, Step
from absint.shapes.application import tried
from absint.shapes.interpretation import Budget
from absint.shapes.summaries import Inputs, RuleSummary, State

_DEEPEST: Final = 40
LISTS: Final = {
    "Reshape": (1,), "Expand": (1,), "Tile": (1,), "Resize": (1, 2, 3), "Slice": (1, 2, 3, 4), "Pad": (1, 3),
    "ConstantOfShape": (0,), "Squeeze": (1,), "Unsqueeze": (1,), "Split": (1,), "TopK": (1,),
}  # fmt: skip
"""Operands with a number for each axis: their own size is no size of data."""
_CARRIED: Final = 2
"""The place of the first value that a loop carries, among its operands and the values of its head."""
_MOST_CHANGES: Final = 12
MAX_TRIALS: Final = 1_500
"""Applications of rules in the search for the cause of one requirement."""

MayVary = Callable[[Operand, int], bool]


class Search:
    """A search in one run of the analysis."""

    def __init__(self, run: Repairing, states: Sequence[State], budget: Budget, may_vary: MayVary) -> None:
        """`may_vary` says of a constant if its elements may be a function of the size of an axis."""
        self.run, self._states, self._budget, self._may_vary = run, states, budget, may_vary
        self._resizing = run.resizing
        self._failed: dict[tuple[Operand, int, Expr], Fixed] = {}
        self._left = MAX_TRIALS

    def _tried(self, gate: int, operation: Operation, inputs: Inputs) -> RuleSummary:
        """The summary of an operator for these inputs. Raises BakedError if too many were tried."""
        self._left -= 1
        self._budget.left -= 1
        if self._left < 0 or self._budget.left < 0:
            raise BakedError(-1, resizing.GIVEN_UP)
        return tried(self.run, gate, operation, inputs)

    def changes_at(self, node: int) -> list[Change]:
        """The changes to constants that let the requirements of a node hold for other sizes too.

        Raises BakedError if there are none.
        """
        if self.run.nodes[node].operation is None:
            raise BakedError(node, resizing.CONTROL_FLOW)
        self._left = MAX_TRIALS
        banned: set[tuple[int, int, bool, Expr]] = set()
        first: BakedError | None = None
        while True:
            found = self._local(node, banned)
            if found is None:
                raise first or BakedError(node, "nothing that is constant explains it")
            changes: list[Change] = []
            try:
                for change in found:
                    more = self._resolved(change)
                    if not any(_is_other(one, two) for one in more for two in changes):  # else in the next round
                        changes += more
            except BakedError as error:
                if error.fixed.reason == resizing.SEVERAL:  # what explains it next would be a guess too
                    raise
                first = first or error
                banned |= {(c.operand, c.place, c.is_size, c.value) for c in found}
                continue
            return changes

    def _local(self, node: int, banned: set[tuple[int, int, bool, Expr]]) -> list[Change] | None:
        """Changes to the inputs of the node itself that let fewer requirements narrow the sizes."""
        gate = self.run.nodes[node].gate
        operation, inputs = self.run.seen(node, self._states)
        left = self._narrow(self._tried(gate, operation, inputs))
        made: list[Change] = []
        while left and len(made) < _MOST_CHANGES:
            # Greedily: the one change that leaves the fewest narrow requirements, then the next beside it.
            wanted = self._sizes(inputs)
            best: tuple[int, int, Change, Inputs] | None = None
            alike: list[Change] = []
            for change in self._options(node, inputs, wanted, here=True):
                if change[1:2] + change[2:3] + (change.is_size, change.value) in banned:
                    continue
                after = _with(inputs, [change])
                narrow = self._narrow(self._tried(gate, operation, after))
                rank = (narrow, self._unlikely(node, change))
                if narrow < left and (best is None or rank < best[:2]):
                    best, alike = (*rank, change, after), []
                elif best is not None and rank == best[:2] and not change.is_size:
                    alike.append(change)
            if best is None:
                break
            left, _, change, inputs = best
            if not change.is_size and any(self._competes(gate, operation, inputs, other, left) for other in alike):
                raise BakedError(node, resizing.SEVERAL)
            made.append(change)
        return made or None

    def _competes(self, gate: int, operation: Operation, inputs: Inputs, other: Change, left: int) -> bool:
        """The other number explains what a change has explained, and nothing beyond it."""
        if self._is_of_batches(other.value):
            return False
        return not left or self._narrow(self._tried(gate, operation, _with(inputs, [other]))) >= left

    def _is_of_batches(self, size: Expr) -> bool:
        """Only batches occur in it, of which runs decide."""
        return size.free_symbols & self._resizing.sizes.keys() <= self._resizing.rows

    def _narrow(self, summary: RuleSummary) -> int:
        if summary.rejected is not None:
            return 1 << 20
        return sum(s.role == "required" and self._resizing.narrows(s.relation) for s in summary.statements)

    def _unlikely(self, node: int, change: Change) -> int:
        """Numbers come before sizes of constants, and these before computed ones."""
        if not change.is_size:
            return 0
        return 1 if self.run.is_constant(self.run.nodes[node].operands[change.operand]) else 2

    def _sizes(self, inputs: Inputs) -> list[Expr]:
        """The changed sizes of the inputs, and numbers in them."""
        dims = (dim for value in inputs for dim in (*resizing.dims_in(value), *(numbers_of(value) or ())))
        return list(dict.fromkeys(dim for dim in dims if isinstance(dim, Expr) and self._resizing.varies(dim)))

    def _options(self, node: int, inputs: Inputs, wanted: Sequence[Expr], *, here: bool = False) -> Iterator[Change]:
        """The sizes and numbers of the inputs that may belong to one of the sizes; `here` to those of the inputs."""
        for operand, value in enumerate(inputs):
            if not isinstance(value, Tensor) or value.shape.is_top:
                continue
            for place, number in enumerate(() if self.run.is_open(node, operand) else numbers_of(value) or ()):
                for size in wanted:
                    for variant in self._resizing.variants(size, number, last=here):
                        if variant is not number:
                            yield Change(node, operand, place, variant, is_size=False)
            if operand in LISTS.get(self.run.nodes[node].operator, ()):
                continue
            for axis, dim in enumerate(value.shape):
                for size in wanted:
                    for variant in self._resizing.variants(size, dim, last=here):
                        lowest = variant.bounds.lo
                        if lowest is not None and lowest >= 0 and variant is not dim and (not here or variant is size):
                            yield Change(node, operand, axis, variant, is_size=True)

    def starts(self, head: int, names: Collection[str]) -> Iterator[Change]:
        """The sizes of constants that a loop begins with, and its trips, that were the size of one of the symbols."""
        olds = {symbol(name): self._resizing.old(symbol(name)) for name in names & self._resizing.sizes.keys()}
        for operand, producer in enumerate(self.run.nodes[head].operands):
            value = self.run.value(head, operand, self._states) if self.run.is_constant(producer) else None
            if not isinstance(value, Tensor) or value.shape.is_top or operand == 1:
                continue
            dims = value.shape.dims if operand else (numbers_of(value) or ())
            for place, dim in enumerate(dims):
                for name, old in olds.items():
                    if dim is old and (not operand or self._may_vary(producer, place)):
                        yield Change(head, operand, place, name, is_size=operand > 0)

    def _resolved(self, change: Change, depth: int = 0) -> list[Change]:
        """The change itself if it is one to a constant, else the changes that give a computed input this size."""
        if not change.is_size:
            return [change]
        operand = self.run.nodes[change.node].operands[change.operand]
        if self.run.is_constant(operand):
            if isinstance(self.run.nodes[change.node].step, IfJoin):
                raise BakedError(change.node, resizing.BY_BRANCH)
            if not self._is_of(change, operand):
                raise BakedError(change.node, resizing.ITERATES)
            if not self._may_vary(operand, change.place):
                raise BakedError(operand[0], "it is a table of values of its own")
            return [change]
        return self._demanded(operand, change.place, change.value, depth + 1)

    def _is_of(self, change: Change, operand: Operand) -> bool:
        """The constant has the size at the old sizes, which the first value of a loop need not have."""
        value = self._states[operand[0]][operand[1]]
        if self.run.nodes[change.node].step is None or not isinstance(value, Tensor) or value.shape.is_top:
            return True
        return self._resizing.old(value.shape[change.place]) is self._resizing.old(change.value)

    def _demanded(self, operand: Operand, axis: int, size: Expr, depth: int) -> list[Change]:
        node, index = operand
        item = self.run.nodes[node]
        if node in self.run.fed:
            raise BakedError(node, f"the input {item.name} has this size: make {item.name}[{axis}] a symbol too")
        if item.step is not None:
            return [
                found for change in self._through(node, item.step, index, axis, size)
                for found in self._resolved(change, depth + 1)
            ]  # fmt: skip
        if item.operation is None:
            raise BakedError(node, "it is not known where the size comes from")
        if depth > _DEEPEST:
            raise BakedError(node, resizing.TOO_FAR)
        known = self._failed.get((operand, axis, size))
        if known is not None:
            raise BakedError(*known)
        operation, inputs = self.run.seen(node, self._states)
        # The likeliest changes first; the reason that the first of them fails is the one that is reported.
        first: BakedError | None = None
        for changes in self._giving(node, operation, inputs, index, axis, size):
            found: list[Change] = []
            try:
                for change in changes:
                    found += self._resolved(change, depth)
            except BakedError as error:
                if error.fixed.reason == resizing.SEVERAL:
                    raise
                first = first or error
                continue
            return found
        last = first or BakedError(node, f"no constant of the node gives axis {axis} of its output the size {size}")
        self._failed[operand, axis, size] = last.fixed
        raise last

    def _through(self, node: int, step: Step, index: int, axis: int, size: Expr) -> list[Change]:
        """The changes to the operands of a step of control flow that give a value of it this size."""
        if isinstance(step, IfJoin):
            count = len(self.run.nodes[node].outputs)
            return [Change(node, at, axis, size, is_size=True) for at in (index + 1, index + 1 + count)]
        if isinstance(step, LoopHead) and index >= _CARRIED:
            return [Change(node, index, axis, size, is_size=True)]
        if isinstance(step, ScanHead) and index < step.settings.states and not step.settings.batched:
            return [Change(node, index, axis, size, is_size=True)]
        if isinstance(step, LoopExit):
            if index < step.count:
                return [Change(step.head, index + _CARRIED, axis, size, is_size=True)]
            numbers = numbers_of(self.run.value(step.head, 0, self._states))
            if axis == 0 and numbers and numbers[0] is self._resizing.old(size):
                return [Change(step.head, 0, 0, size, is_size=False)]
        raise BakedError(node, resizing.FROM_CONTROL_FLOW)

    def _giving(
        self, node: int, operation: Operation, inputs: Inputs, index: int, axis: int, size: Expr
    ) -> Iterator[list[Change]]:
        """Changes to the inputs of a node that give an axis of an output this size, the likeliest first."""
        gate = self.run.nodes[node].gate
        before = self._narrow(self._tried(gate, operation, inputs))
        options = sorted(
            self._options(node, inputs, [size]), key=lambda change: (self._unlikely(node, change), change.value.size)
        )
        nearly: list[list[Change]] = []

        def giving(tried: Iterable[list[Change]]) -> Iterator[list[Change]]:
            for joint in tried:
                exact = self._gives(gate, operation, _with(inputs, joint), index, axis, size, before)
                if exact:
                    yield joint
                elif exact is None and len(joint) == 1:
                    nearly.append(joint)

        if operation.op_type == "Reshape" and not operation.domain:
            yield from self._only(node, size, giving(self._reshaped(node, inputs, axis, size)))
        yield from self._only(node, size, giving([change] for change in options if not change.is_size))
        yield from giving([change] for change in options if change.is_size)
        # No single change does: several on the same axis, then all sizes, then one number and one size.
        output = self._states[node][index]
        rank = output.shape.rank if isinstance(output, Tensor) else None
        aligned = [c for c in options if rank is None or _from_end(inputs, c) == axis - rank]
        sizes = [change for change in options if change.is_size]
        pairs = [[number, other] for number in aligned if not number.is_size for other in sizes]
        for joint in ([change for change in aligned if change.is_size], aligned, sizes, *pairs):
            if len(joint) > 1 and self._gives(gate, operation, _with(inputs, joint), index, axis, size, before):
                yield joint
        yield from nearly

    def _only(self, node: int, size: Expr, found: Iterator[list[Change]]) -> Iterator[list[Change]]:
        """The changes found. Raises BakedError if there are two, unless runs on stacked rows decide."""
        if self._is_of_batches(size):
            yield from found
            return
        first, second = next(found, None), next(found, None)
        if second is not None:
            raise BakedError(node, resizing.SEVERAL)
        if first is not None:
            yield first

    def _reshaped(self, node: int, inputs: Inputs, axis: int, size: Expr) -> Iterator[list[Change]]:
        """Sizes of the data of a Reshape, and a number of its target, that give an axis of the output this size."""
        data, target = inputs[0], inputs[1] if len(inputs) > 1 else None
        output = self._states[node][0]
        if not (isinstance(data, Tensor) and isinstance(output, Tensor) and isinstance(target, Tensor)):
            return
        numbers = numbers_of(target)
        if data.shape.is_top or output.shape.is_top or numbers is None or axis >= len(numbers):
            return
        after = [size if at == axis else dim for at, dim in enumerate(output.shape) if isinstance(dim, Expr)]
        was = [dim for dim in map(self._resizing.old, data.shape) if isinstance(dim, Expr)]
        if len(after) < len(output.shape) or len(was) < len(data.shape):
            return
        if self.run.is_open(node, 1):
            return
        own = [Change(node, 1, axis, size, is_size=False)] if numbers[axis].const not in (0, -1) else []
        try:
            found = readings(after, was, self._resizing.old)
        except ManyReadingsError:
            return
        for reading in found:
            sizes = [
                Change(node, 0, at, new, is_size=True)
                for at, (new, now) in enumerate(zip(reading.sizes, data.shape, strict=True))
                if new is not now and isinstance(new, Expr)
            ]
            if sizes:
                yield own + sizes

    def _gives(
        self, gate: int, operation: Operation, inputs: Inputs, index: int, axis: int, size: Expr, before: int
    ) -> bool | None:
        """The output has the size; None if it has it for smaller sizes only."""
        summary = self._tried(gate, operation, inputs)
        output = summary.outputs[index] if index < len(summary.outputs) else None
        if self._narrow(summary) > before or not isinstance(output, Tensor) or output.shape.is_top:
            return False
        dim: Dim = output.shape[axis] if axis < len(output.shape) else size
        if dim is size:
            return True
        if self._resizing.old(dim) is not self._resizing.old(size) or not self._resizing.varies(dim):
            return False
        if not isinstance(dim, Expr) or not self._resizing.narrows(eq(dim, size)):
            return True if isinstance(dim, Expr) else None
        return None if self._resizing.holds_below(eq(dim, size)) else False


def _is_other(one: Change, two: Change) -> bool:
    """Both change the same number or size, and not alike."""
    return one[:3] == two[:3] and one.is_size is two.is_size and one.value is not two.value


def _from_end(inputs: Inputs, change: Change) -> int:
    """The axis of a size, or the place of a number in a vector, counted from the end."""
    value = inputs[change.operand]
    assert isinstance(value, Tensor)
    if change.is_size:
        return change.place - len(value.shape)
    return change.place - len(numbers_of(value) or ())


def _with(inputs: Inputs, changes: Sequence[Change]) -> Inputs:
    """The inputs with these changes."""
    found = list(inputs)
    for operand in {change.operand for change in changes}:
        mine = [change for change in changes if change.operand == operand]
        elements, dims = ({c.place: c.value for c in mine if c.is_size is is_size} for is_size in (False, True))
        found[operand] = changed(found[operand], elements, dims)
    return tuple(found)
