"""Numbers that may be an old size though nothing fails if they stay: the copy would run, and might give another answer.

A number that makes a size, as one of Expand or Range or the trips of a loop, or a size of a constant, is taken for an
old size, and the search goes on from there: what then needs the old size elsewhere is led back to further constants,
such as the trips of a second loop that are joined with those of the first. The number may be a size unless this ends at
a requirement that no constant explains.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, combinations, islice
from typing import Final, NamedTuple

from absint.analyses.independence.table import ELEMENTWISE
from absint.jobs.dynamizing import finding, judging, repairing, searching
from absint.jobs.dynamizing.resizing import UNSURE, Change, Resizing
from absint.lattices.terms.division import floordiv
from absint.lattices.terms.expr import ONE_EXPR, Dim, Expr, Symbol, const, mul, sole_atom, symbol
from absint.lattices.value import Tensor, Value
from absint.program.steps import LoopHead, Operand
from absint.questions.proofs.proof import upstream
from absint.shapes.interpretation import Budget
from absint.shapes.summaries import Inputs

_MAKES: Final = {
    "Expand": 1, "ConstantOfShape": 0, "Tile": 1, "Range": 1, "Pad": 1, "TopK": 1, "OneHot": 1, "Split": 1,
}  # fmt: skip
"""Operators that make a size of a number, and the operand that holds it."""
_COPIES: Final = ("ConstantOfShape", "Expand", "Tile")
"""Operators that make several of one."""
_TUPLES: Final = ("GatherND", "ScatterND")
"""Operators whose second operand has places of the data along its last axis."""
_COUNTS: Final = ("Loop", "Range")
"""Operators of which one more trip or number changes more than a size that is broadcast."""
_LEAST: Final = 3
"""The least number that is tried as one less than a size or twice it: 1 and 2 are that too often by chance."""
_MOST_TRIED: Final = 256
"""Numbers that are tried as sizes; more are taken to be undecided."""
_READ_BY: Final = {"Slice": 2, "Resize": 3, "Gather": 1}
"""Operators with a number that may be a size of their data, and the operand that holds it."""


class Silent(NamedTuple):
    """A number that may be a size."""

    node: int
    operand: int
    place: int
    old: int
    new: str
    problem: str
    sizes: frozenset[str]
    """The new symbols that it may hang on."""
    is_size: bool = False
    """It is a size of a constant, and the place is an axis."""
    whole: Expr | None = None
    """The size, of an end that is that of the axis."""


def silent(found: finding.Found) -> Iterator[Silent]:
    """The numbers of Slice, Resize and Gather that may belong to a size which became a symbol."""
    for node, item in enumerate(found.run.nodes):
        operation = item.operation
        operand = _READ_BY.get(operation.op_type) if operation is not None and not operation.domain else None
        if operand is None or operation is None or operand >= len(item.operands):
            continue
        _, inputs = found.run.seen(node, found.states)
        data, value = inputs[0], inputs[operand]
        if not isinstance(data, Tensor) or data.shape.is_top or not isinstance(value, Tensor):
            continue
        axes = _axes(operation.op_type, inputs, operation.attributes.get("axis"), len(data.shape))
        for place, number in enumerate(repairing.numbers_of(value) or ()):
            axis = axes[place] if axes is not None and place < len(axes) else None
            if axis is None or number.const is None or not -len(data.shape) <= axis < len(data.shape):
                continue
            dim = data.shape[axis]
            if isinstance(dim, Expr) and found.run.resizing.varies(dim):
                meant = _meaning(operation.op_type, number.const, dim, found.run.resizing.old(dim))
                if meant is not None:
                    whole = dim if operation.op_type == "Slice" else None
                    yield Silent(node, operand, place, number.const, *meant, dim.free_symbols, whole=whole)


def coincident(found: finding.Found, judge: judging.Judging) -> Iterator[Silent]:
    """The numbers that make a size, and sizes of constants, that equal an old size or follow from it, and may be this
    size. Numbers in equal surroundings are tried once.
    """
    trying = _Trying(found, judge)
    surroundings = _Surroundings(found)
    known: dict[object, bool] = {}
    left = _MOST_TRIED
    for node, operand, place, is_size, meant in _candidates(found):
        old = found.run.resizing.old(meant[0])
        for size in meant:
            key = surroundings.of(node), operand, place, is_size, size
            may_be = known.get(key)
            if may_be is None:
                left -= 1
                refuting = trying.refuting(Change(node, operand, place, size, is_size)) if left >= 0 else None
                may_be = refuting is None
                if may_be or not surroundings.reached(node).isdisjoint(refuting or ()):  # else by what is far away
                    known[key] = may_be
            if may_be:
                why = "it may be a number of its own: nothing tells"
                names = frozenset[str]().union(*(one.free_symbols for one in meant))
                yield Silent(node, operand, place, int(old), " or ".join(map(str, meant)), why, names, is_size)
                break


def as_named(found: finding.Found, judge: judging.Judging) -> finding.Found:
    """The decisions with the numbers that must be sizes if outputs have the axes that the caller has named, as far as
    no other numbers do as well.
    """
    while lacking := len(judge.lacking(found)):
        trying = _Trying(found, judge)
        better: list[finding.Found] = []
        ends = (_Candidate(*item[:3], False, [item.whole]) for item in silent(found) if item.whole is not None)
        for candidate in islice(chain(_candidates(found), ends), _MOST_TRIED):
            for size in candidate.meant:
                tried, failing = trying.taken(Change(*candidate[:3], size, candidate.is_size))
                is_new = all(tried.decided != one.decided for one in better)
                if is_new and tried.states and not failing and len(judge.lacking(tried)) < lacking:
                    better.append(tried)
        if len(better) != 1:
            break
        (found,) = better
    return found


class _Candidate(NamedTuple):
    """A number, or a size of a constant, and what it may stand for."""

    node: int
    operand: int
    place: int
    is_size: bool
    meant: Sequence[Expr]


def _candidates(found: finding.Found) -> Iterator[_Candidate]:
    run = found.run
    for node, item in enumerate(run.nodes):
        makes = 0 if isinstance(item.step, LoopHead) else _MAKES.get(item.operator)
        for operand, producer in enumerate(item.operands):
            value = run.value(node, operand, found.states) if producer[0] >= 0 else None
            if not isinstance(value, Tensor) or value.shape.is_top:
                continue
            if operand == makes:
                for place, number in enumerate(repairing.numbers_of(value) or ()):
                    if number.const is not None and (meant := list(_sizes(run.resizing, number.const))):
                        yield _Candidate(node, operand, place, False, meant)
            elif item.operation is not None and run.is_constant(producer) and operand not in _lists(item.operator):
                last = len(value.shape) - 1 if item.operator in _TUPLES and operand == 1 else None
                for axis, dim in enumerate(value.shape):
                    names = [symbol(name) for name, size in run.resizing.sizes.items() if dim is const(size)]
                    if names and axis != last and found.setting.may_vary(producer, axis):
                        yield _Candidate(node, operand, axis, True, names)


def _lists(operator: str) -> Sequence[int]:
    """Operands whose own size is none of data."""
    made = (_MAKES[operator],) if operator in _MAKES else ()
    return (*searching.LISTS.get(operator, ()), *made, *((1,) if operator.startswith("Reduce") else ()))


def _sizes(resizing: Resizing, number: int) -> Iterator[Expr]:
    """The sizes that a number may stand for: an old size, a multiple, its half, one more, one less than it or twice it,
    or the product of two.
    """
    sizes = {symbol(name): size for name, size in resizing.sizes.items() if size > 0}
    yield from (symbol(name) for name, size in resizing.sizes.items() if size == number)
    made: list[Dim] = [one + 1 for one, size in sizes.items() if number == size + 1]
    made += [
        mul(const(by), one) - 1 for one, size in sizes.items() for by in (1, 2) if _LEAST <= number == by * size - 1
    ]
    made += [mul(const(number // size), one) for one, size in sizes.items() if number > size and number % size == 0]
    made += [floordiv(one, 2) for one, size in sizes.items() if number > 0 and size == 2 * number]
    made += [mul(one, two) for one, two in combinations(sizes, 2) if number == sizes[one] * sizes[two]]
    yield from (size for size in made if isinstance(size, Expr))


class _Surroundings:
    """A node with the sizes that it reads and gives, and the nodes that read it, three deep."""

    _DEPTH: Final = 3

    def __init__(self, found: finding.Found) -> None:
        self._found = found
        self._olds = frozenset(found.run.resizing.sizes.values())
        self._known: dict[tuple[int, int], object] = {}
        self._users: dict[int, list[int]] = {}
        for user, item in enumerate(found.run.nodes):
            for node in {node for node, _ in item.operands if node >= 0}:
                self._users.setdefault(node, []).append(user)

    def of(self, node: int, depth: int = _DEPTH) -> object:
        key = node, depth
        if key not in self._known:
            item = self._found.run.nodes[node]
            seen = tuple(self._seen(operand) for operand in item.operands if operand[0] >= 0)
            users = [self.of(user, depth - 1) for user in self._users.get(node, ())] if depth else []
            self._known[key] = item.operation or node, seen, tuple(users)
        return self._known[key]

    def _seen(self, operand: Operand) -> object:
        value = self._found.states[operand[0]][operand[1]]
        if not isinstance(value, Tensor):
            return value
        axes: list[bool] = []
        if not value.shape.is_top and self._found.run.is_constant(operand):
            dims = enumerate(value.shape)
            olds = [axis for axis, dim in dims if isinstance(dim, Expr) and dim.const in self._olds]
            axes = [self._found.setting.may_vary(operand, axis) for axis in olds]
        return value.shape, value.contents, tuple(axes)

    def reached(self, node: int) -> set[int]:
        """The node and those that belong to its surroundings."""
        found = {node}
        for _ in range(self._DEPTH):
            found.update(*(self._users.get(at, ()) for at in list(found)))
        return found


class _Trying:
    """Numbers taken for sizes, one at a time."""

    def __init__(self, found: finding.Found, judge: judging.Judging) -> None:
        self._judge, self._found = judge, found
        analysed = found.setting.analysed
        self._ends = [analysed.operands[output] for output in analysed.outputs if output in analysed.operands]
        self._read = upstream(analysed, [node for node, _ in self._ends])
        """The nodes that outputs depend on."""

    def refuting(self, change: Change) -> Collection[int] | None:
        """The nodes for whose sake the number is not this size; None if it may be. It may if nothing fails for good,
        and an output changes: its shape, or, if the number equals a size larger than 1 and nothing compares it with
        another one, what it is made of.
        """
        tried, failing = self.taken(change)
        if failing or not tried.states:
            return failing
        if not self._changes(tried, change):
            return ()
        names = frozenset[str]() if self._is_old(change) else change.value.free_symbols
        were_one = {self._found.run.resizing.sizes[name] for name in names} == {1}
        by_rows = were_one or self._keeps_shapes(tried)
        two, three = (change.value.substitute(dict.fromkeys(change.value.free_symbols, rows)) for rows in (2, 3))
        if two is not three and self._judge.are_alike(tried, self._found):
            return ()
        return () if self._judge.tells(tried, self._found, names, by_rows=by_rows) else None

    def _is_old(self, change: Change) -> bool:
        """The number equals an old size above 1."""
        is_plain = isinstance(sole_atom(change.value), Symbol) and not change.is_size
        return is_plain and self._found.run.resizing.old(change.value) is not ONE_EXPR

    def taken(self, change: Change) -> tuple[finding.Found, set[int]]:
        """The decisions if the number is this size, and the nodes where something then fails for good."""
        found, run = self._found, self._found.run
        decided = finding.deciding(found.decided, [change])
        tried = finding.find(found.setting, run.chosen, Budget(finding.MAX_TRIALS), found.requirements, decided)
        failing = set(tried.resized - found.resized if self._keeps_shapes(tried) else ())
        failing |= {
            c.origin.node for c, fixed in tried.left
            if (c.origin.node, c.formula) not in found.requirements and fixed is not None
            and fixed.reason not in UNSURE and not run.resizing.has_room(c.formula)
        }  # fmt: skip
        return tried, failing

    def _changes(self, tried: finding.Found, change: Change) -> bool:
        """An output changes: its shape, or what it is made of."""
        run, node = self._found.run, change.node
        is_plain = isinstance(sole_atom(change.value), Symbol) and not change.is_size
        if self._is_old(change) or (is_plain and run.nodes[node].operator in _COUNTS):
            return node in self._read
        return not self._keeps_shapes(tried) or (not change.is_size and not self._is_broadcast(tried))

    def _keeps_shapes(self, tried: finding.Found) -> bool:
        """Outputs have the shapes that they have without the change."""
        ends = ((tried.states[at][index], self._found.states[at][index]) for at, index in self._ends)
        return all(_shape(after) == _shape(before) for after, before in ends)

    def _is_broadcast(self, tried: finding.Found) -> bool:
        """Values of another size than before hold copies of the one place that they had, and are broadcast."""
        run, before, after = self._found.run, self._found.states, tried.states
        for node in sorted(self._read):
            item, kept = run.nodes[node], {index for index, value in enumerate(before[node])
                                           if _shape(value) == _shape(after[node][index])}  # fmt: skip
            read = [at for at, (of, index) in enumerate(item.operands)
                    if of >= 0 and _shape(before[of][index]) != _shape(after[of][index])]  # fmt: skip
            is_made = not read and len(kept) < len(before[node])
            if is_made and (item.operator not in _COPIES or not _are_from_one(before[node][0], after[node][0])):
                return False
            if read and item.operator not in ELEMENTWISE and (item.operator != "Expand" or read != [0]):
                return False
        return True


def _are_from_one(before: Value, after: Value) -> bool:
    """The axes whose size changes had one place."""
    if not isinstance(before, Tensor) or not isinstance(after, Tensor) or before.shape.rank is None:
        return False
    pairs = zip(before.shape, after.shape, strict=False)
    return before.shape.rank == after.shape.rank and all(a is b or a is ONE_EXPR for a, b in pairs)


def _shape(value: Value) -> object:
    return value.shape if isinstance(value, Tensor) else value


def _axes(operator: str, inputs: Inputs, axis: object, rank: int) -> list[int] | None:
    """The axis that each number is about."""
    if operator == "Gather":
        return [axis if isinstance(axis, int) else 0]
    return repairing.integers_of(inputs if operator == "Slice" else (), 3, list(range(rank)))


def _meaning(operator: str, number: int, dim: Expr, was: Dim) -> tuple[str, str] | None:
    """The size that a number may be, and why nothing decides it."""
    size = was.const if isinstance(was, Expr) else None
    if size is None:
        return None
    if operator == "Slice":
        return (str(dim), "the end of the axis, or a number of its own: nothing tells") if number == size else None
    if operator == "Gather":
        is_last = number == size - 1 and number > 0
        return (str(dim - 1), "the last index, or a number of its own: nothing tells") if is_last else None
    return f"a size that grows with {dim}", "it may be a number of its own: nothing tells"
