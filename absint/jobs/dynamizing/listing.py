"""The constants that hold an old size, and the requirements that no constant explains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from absint.jobs.dynamizing.finding import Found, Settled, narrowing
from absint.jobs.dynamizing.repairing import Decided, numbers_of
from absint.jobs.dynamizing.resizing import Resizing
from absint.jobs.dynamizing.rewriting import Place, Rewriter
from absint.lattices.logic.relation import eq
from absint.lattices.terms.expr import Dim, Expr, symbol
from absint.lattices.text.escapes import plain
from absint.lattices.value import Tensor, Value
from absint.program.limits import CHECK
from absint.program.steps import LoopHead
from absint.shapes.refinement import solved
from absint.shapes.summaries import Inputs
from absint.solution.analysed import Analysed
from absint.solver.contracts.contract import Contract

# Constants that equal an old size and that no requirement is about: the model runs at other sizes all the same.

_MAKES: Final = {"Expand": 1, "ConstantOfShape": 0, "Tile": 1, "Range": 1}
"""Operators that make a size of a number, and the operand that holds it."""
_MOST_TRIED: Final = 64
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


def silent(found: Found) -> Iterator[Silent]:
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
        for place, number in enumerate(numbers_of(value) or ()):
            axis = axes[place] if axes is not None and place < len(axes) else None
            if axis is None or number.const is None or not -len(data.shape) <= axis < len(data.shape):
                continue
            dim = data.shape[axis]
            if isinstance(dim, Expr) and found.run.resizing.varies(dim):
                meant = _meaning(operation.op_type, number.const, dim, found.run.resizing.old(dim))
                if meant is not None:
                    yield Silent(node, operand, place, number.const, *meant, dim.free_symbols)


def coincident(analysed: Analysed, found: Found) -> Iterator[Silent]:
    """The numbers of Expand, ConstantOfShape, Tile and Range, and trips, that equal an old size, and may be this size:
    nothing fails if they are, and an output gets another shape. Numbers in equal surroundings are tried once.
    """
    sizes = found.run.resizing.sizes
    surroundings = _Surroundings(found)
    known: dict[object, bool] = {}
    for node, item in enumerate(found.run.nodes):
        operand = 0 if isinstance(item.step, LoopHead) else _MAKES.get(item.operator)
        if operand is None or operand >= len(item.operands) or item.operands[operand][0] < 0:
            continue
        value = found.run.value(node, operand, found.states)
        for place, number in enumerate(numbers_of(value) or () if isinstance(value, Tensor) else ()):
            meant = [name for name, size in sizes.items() if number.const == size]
            for name in meant:
                key = surroundings.of(node), place, name
                if key not in known:
                    known[key] = len(known) >= _MOST_TRIED or _may_be(analysed, found, node, operand, place, name)
                if known[key]:
                    why = "it may be a number of its own: nothing tells"
                    yield Silent(node, operand, place, sizes[name], " or ".join(meant), why, frozenset(meant))
                    break


class _Surroundings:
    """A node with the sizes that it reads and gives, and the nodes that read it, three deep."""

    _DEPTH: Final = 3

    def __init__(self, found: Found) -> None:
        self._found = found
        self._known: dict[tuple[int, int], object] = {}
        self._users: dict[int, list[int]] = {}
        for user, item in enumerate(found.run.nodes):
            for node in {node for node, _ in item.operands if node >= 0}:
                self._users.setdefault(node, []).append(user)

    def of(self, node: int, depth: int = _DEPTH) -> object:
        key = node, depth
        if key not in self._known:
            item = self._found.run.nodes[node]
            values = (self._found.states[at][index] for at, index in item.operands if at >= 0)
            seen = tuple((value.shape, value.contents) if isinstance(value, Tensor) else value for value in values)
            users = [self.of(user, depth - 1) for user in self._users.get(node, ())] if depth else []
            self._known[key] = item.operation or node, seen, tuple(users)
        return self._known[key]


def _may_be(analysed: Analysed, found: Found, node: int, operand: int, place: int, name: str) -> bool:
    """Nothing fails if the number is this size, and an output changes."""
    before = found.decided.get((node, operand), Decided())
    here = Decided({**before.elements, place: symbol(name)}, before.dims)
    run = found.run.deciding({**found.decided, (node, operand): here})
    states = solved(analysed.lowered, run, CHECK)
    if not states or len(narrowing(analysed, run, states)) > len(found.left):
        return False
    ends = [analysed.operands[output] for output in analysed.outputs if output in analysed.operands]
    return any(_shape(states[at][index]) != _shape(found.states[at][index]) for at, index in ends)


def _shape(value: Value) -> object:
    return value.shape if isinstance(value, Tensor) else value


def _axes(operator: str, inputs: Inputs, axis: object, rank: int) -> list[int] | None:
    """The axis that each number is about."""
    if operator == "Gather":
        return [axis if isinstance(axis, int) else 0]
    given = inputs[3] if operator == "Slice" and len(inputs) > 3 else None
    if given is None:
        return list(range(rank))
    numbers = numbers_of(given) if isinstance(given, Tensor) else None
    if numbers is None or any(number.const is None for number in numbers):
        return None
    return [int(number) for number in numbers]


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


@dataclass(frozen=True)
class Baked:
    """A number or a size of a constant that is an old size of an input."""

    node: str
    """The node that uses the constant."""
    operator: str
    constant: str
    """The value that the node reads."""
    operand: str
    """The input of the node, by its formal name."""
    place: str
    """`target[0]`, or an axis of a constant's shape, as `shape(table)[1]`."""
    old: str
    new: str
    """The expression that it should be; several with `or` if nothing decides."""
    written: str = ""
    """The way in which it was rewritten; empty if it was not."""
    problem: str = ""
    """The reason why it cannot be rewritten."""
    is_open: bool = False
    """It may mean several sizes, and nothing decides which."""

    def __str__(self) -> str:
        end = f"; {self.problem}" if self.problem else ""
        return f"{self.place} of {self.node}: {self.old}, should be {self.new}{end}"


class Cause(NamedTuple):
    """A requirement that the search could not lead back to a constant."""

    relation: str
    node: str
    """The node that imposes it."""
    at: str
    """The node at which the search ended."""
    reason: str

    def __str__(self) -> str:
        where = "" if self.at == self.node else f" (at {self.at})"
        return f"{self.relation} of {self.node}: {self.reason}{where}"


def causes(analysed: Analysed, found: Found) -> Iterator[Cause]:
    """The requirements that are left, one for each reason."""
    seen: set[tuple[int, str]] = set()
    for constraint, fixed in found.left:
        if fixed is not None and tuple(fixed) not in seen:
            seen.add((fixed.node, fixed.reason))
            node = plain(str(constraint.origin))
            at = plain(str(analysed.nodes[fixed.node])) if fixed.node >= 0 else node
            yield Cause(str(constraint.formula), node, at, fixed.reason)


def baked(
    analysed: Analysed, settled: Settled, resizing: Resizing, rewriter: Rewriter, legal: Contract
) -> Iterator[Baked]:
    """The constants that hold an old size, with what the rewriter makes of them. `legal` is the contract of its copy: a
    number that may be a size, of which the old one alone is legal, is this size and a number of its own.
    """
    required = {clause.relation for clause in legal.clauses}
    held = {name for name, size in resizing.sizes.items() if eq(symbol(name), size) in required}
    found = settled.found
    places: dict[Place, None] = {(node, target.operand): None for node, target in found.targets.items()}
    places.update(dict.fromkeys(found.decided))
    for place in sorted(places):
        problem = rewriter.problems.get(place, "")
        how = rewriter.how.get(place, "")
        for where, old, new in _entries(analysed, found, resizing, place):
            yield _item(analysed, place, where, old, new, how, problem)
    yield from _undecided(analysed, settled)
    for item in (*silent(found), *coincident(analysed, found)):
        if item.sizes & resizing.sizes.keys() <= held:
            continue
        place = item.node, item.operand
        told = _item(analysed, place, (item.place, False), str(item.old), item.new, "", item.problem)
        yield replace(told, is_open=True)


def _entries(
    analysed: Analysed, found: Found, resizing: Resizing, place: Place
) -> Iterator[tuple[tuple[int, bool], str, str]]:
    """The places in a constant, each with its old and its new value."""
    node, operand = place
    numbers: dict[int, Expr] = {}
    target = found.targets.get(node)
    if target is not None and operand == target.operand:
        numbers.update(target.meant)
    decision = found.decided.get(place)
    if decision is not None:
        numbers.update(decision.elements)
    for at, number in sorted(numbers.items()):
        yield (at, False), _old(number, resizing), str(number)
    for at, size in sorted(decision.dims.items()) if decision is not None else ():
        yield (at, True), _old(size, resizing), str(size)


def _old(new: Expr, resizing: Resizing) -> str:
    """The old value, as the product that it stands for: `12 = 4*3`."""
    was = str(resizing.old(new))
    coefficient = new.terms[0][1] if len(new.terms) == 1 else 1
    if coefficient > 1 and len(new.terms[0][0]) == 1:
        size = int(was) // coefficient if was.isdigit() else None
        if size is not None and size * coefficient == int(was):
            return f"{was} = {size}*{coefficient}"
    return was


def _item(
    analysed: Analysed, place: Place, where: tuple[int, bool], old: str, new: str, how: str, problem: str
) -> Baked:
    node, operand = place
    item = analysed.nodes[node]
    rule = item.operation.rule if item.operation is not None else None
    formals = rule.inputs if rule is not None else ()
    formal = formals[min(operand, len(formals) - 1)] if formals else f"input {operand}"
    formal = {("Reshape", 1): "target", ("Loop", 0): "trips"}.get((item.operator, operand), formal)
    at, is_size = where
    constant = analysed.program.names.get(item.operands[operand], "")
    text = f"shape({formal})[{at}]" if is_size else f"{formal}[{at}]"
    return Baked(plain(str(item)), item.operator, plain(constant), formal, text, old, new, how, problem)


def _undecided(analysed: Analysed, settled: Settled) -> Iterator[Baked]:
    for key, readings in settled.open.items():
        for node in settled.found.run.left_open.get(key, ()):
            changed = sorted({at for reading in readings for at in reading})
            texts = []
            for reading in readings:
                parts = [f"target[{at}] = {reading[at]}" for at in changed if at in reading]
                texts.append(" and ".join(parts) or "none of it")
            item = analysed.nodes[node]
            constant = analysed.program.names.get(item.operands[1], "")
            yield Baked(
                plain(str(item)), item.operator, plain(constant), "target", "target", "",
                " or ".join(texts) or "one of many sizes",
                problem="not determined: nothing in the model tells which", is_open=True,
            )  # fmt: skip
