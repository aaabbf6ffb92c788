"""Operands that hold sizes: numbers that do the same as their elements, and names, chosen so that few nodes are left.

Each function of the first part gives, for one operand of a node, the numbers of which any will do for each element: the
element itself first, or the size that a -1 stands for. It never widens or narrows what the node takes.

In the second part all nodes stand in one list, those that compute sizes anew among them; a node is needed if it may
fail, or if a needed node or the graph reads what it gives. A choice changes which name an operand has, and with it what
is needed.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Final

from onnx import AttributeProto, NodeProto

from absint.jobs.rewriting.exact import Exact
from absint.jobs.rewriting.folding import reads
from absint.jobs.rewriting.noops import Operands, dims_of
from absint.lattices.dtype import DType
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Dim, Expr, const
from absint.lattices.terms.polynomials import exact_quotient
from absint.model.protos import put
from absint.transfer.traits import SHAPE_ALONE

Options = list[list[Expr]]


@dataclass(frozen=True)
class Sized(Operands):
    """A node whose operands hold sizes."""

    node: NodeProto
    never_fails: bool
    """It cannot fail, whatever nodes before it require."""
    requires_nothing: bool
    """It runs in onnxruntime at all legal sizes, whatever other runtimes do."""
    known: Exact


def options(operands: Sized, at: int) -> Options | None:
    """The numbers that do as elements of an operand, of Resize those of the last axes; None if they are not known."""
    numbers = operands.numbers(at)
    if numbers is None:
        return None
    plain = [[number] for number in numbers]
    more = _OPTIONS.get((operands.node.op_type, at))
    return plain if more is None or operands.node.domain not in ("", "ai.onnx") else more(operands, plain)


def is_broadcast(operands: Operands, at: int) -> bool:
    """The operand is one number, of which the node makes the same whether it is a scalar or a vector."""
    value = operands.values[at]
    if operands.node.op_type not in _BROADCASTING or operands.node.domain not in ("", "ai.onnx") or value is None:
        return False
    ranks = [other.shape.rank if other is not None else None for other in operands.values]
    return value.shape.concrete in ((), (1,)) and operands.opset >= _BROADCASTS and any(ranks[:at] + ranks[at + 1 :])


def _reshape(operands: Sized, plain: Options) -> Options:
    """A 0 copies the size of the same axis, and one -1 stands for the size that is left.

    A 0 does what the element does if the two are one expression. A -1 needs a node that cannot fail: it takes inputs
    that the number refuses. Beside an axis of size 0 it fails, so that the other sizes have to be positive; with a 0
    in the target, so do elements that `allowzero` would have taken for a size.
    """
    before, after = dims_of(operands.values[0]), dims_of(operands.output)
    allowzero = operands.attribute("allowzero", 0)
    if before is None or after is None or len(after) != len(plain) or allowzero not in (0, 1):
        return plain
    is_kept = bool(allowzero) and not all(
        operands.known.is_positive([number]) or (axis < len(before) and number is before[axis])
        for axis, (number,) in enumerate(plain)
        if number.const != -1
    )
    has_inferred = any(number.const == -1 for (number,) in plain)
    if allowzero and has_inferred:
        others = [dim for dim, (number,) in zip(after, plain, strict=True) if number.const != -1]
        left = [dim for dim, (number,) in zip(after, plain, strict=True) if number.const == -1]
        is_number = operands.requires_nothing and all((dim.const or 0) >= 1 for dim in left)
        is_kept = is_kept or not (is_number or operands.known.is_positive(others))
    found: Options = []
    for axis, (number,) in enumerate(plain):
        each = [number]
        is_inferred = number.const == -1 and (operands.never_fails or operands.requires_nothing)
        if axis < len(before) and not is_kept and after[axis] is before[axis] and number.const is None:
            if number is before[axis]:
                each.append(ZERO_EXPR)
        elif is_inferred and (after[axis].const or 0) >= 1:
            each = [after[axis]]
        elif is_inferred and not allowzero and _is_size(operands, before, after, axis):
            each = [after[axis], number]
        found.append(each)
    open_ = [axis for axis, each in enumerate(found) if all(number.const is None for number in each)]
    if operands.never_fails and not has_inferred:
        for axis in open_:
            others = [*after[:axis], *after[axis + 1 :]]
            if operands.known.is_positive(others) and _left(before, others) is after[axis]:
                found[axis].append(const(-1))
                break
    return found


def _is_size(operands: Sized, before: Sequence[Expr], after: Sequence[Expr], axis: int) -> bool:
    """The size of the axis may be written: where it is 0, so is the size that a 0 would copy."""
    if operands.known.is_positive([after[axis]]):
        return True
    return axis < len(before) and (after[axis] is before[axis] or _divides(before[axis], after[axis]))


def _divides(a: Expr, b: Expr) -> bool:
    """One of the two is the other, times a positive number."""
    quotients = [exact_quotient(one, other) for one, other in ((a, b), (b, a)) if other.const != 0]
    return any(isinstance(each, Expr) and (each.const or 0) >= 1 for each in quotients)


def _left(before: Sequence[Expr], others: Sequence[Expr]) -> Dim:
    """What is left for a -1, as an analysis finds it: another expression would hide what is known of the size."""
    found = list(before)
    rest = []
    for dim in others:
        at = next((place for place, each in enumerate(found) if each is dim), None)
        if at is None:
            rest.append(dim)
        else:
            del found[at]
    return prod(found, start=const(1)) // prod(rest, start=const(1))


def _expand(operands: Sized, plain: Options) -> Options:
    """A 1 leaves an axis of the input as it is: it does what the size of that axis does."""
    before = dims_of(operands.values[0])
    if before is None:
        return plain
    shift = len(plain) - len(before)
    return [
        [number, ONE_EXPR] if axis >= shift and number is before[axis - shift] else [number]
        for axis, (number,) in enumerate(plain)
    ]


def _resize(operands: Sized, plain: Options) -> Options:
    """Sizes of the last axes are enough, as an attribute can say, if those of the others stay. (A region has all.)"""
    before = dims_of(operands.values[0])
    has_axes = any(attribute.name == "axes" for attribute in operands.node.attribute)
    if before is None or has_axes or not takes_sizes_of_axes(operands):
        return plain
    stays = [number is before[axis] for axis, (number,) in enumerate(plain)]
    return plain[stays.index(False) :] if False in stays else plain


def takes_sizes_of_axes(operands: Operands) -> bool:
    """A Resize to sizes, for which it makes no difference whether axes that stay have one too."""
    node = operands.node
    is_stretched = all(attribute.name != "keep_aspect_ratio_policy" for attribute in node.attribute)
    return operands.opset >= _TAKES_AXES and len(node.input) > 3 and not node.input[1] and is_stretched


def _ends(operands: Sized, plain: Options) -> Options:
    """The largest number is clamped to the size of the axis, which it stands for where the step is positive."""
    before, value = dims_of(operands.values[0]), operands.values[2]
    axes = operands.numbers(3) if operands.has(3) else None
    steps = operands.numbers(4) if operands.has(4) else ()
    if before is None or value is None or (axes is None and operands.has(3)):
        return plain
    if steps is None or any((step.const or 0) < 1 for step in steps):
        return plain
    places = [number.const for number in axes] if axes is not None else list(range(len(plain)))
    if any(place is None or not -len(before) <= place < len(before) for place in places) or len(places) != len(plain):
        return plain
    largest = const((1 << 31) - 1 if value.dtype is DType.INT32 else (1 << 63) - 1)
    return [
        [number, largest] if place is not None and number.const is None and number is before[place] else [number]
        for (number,), place in zip(plain, places, strict=True)
    ]


_WORDS: Final = "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mod Mul Or Sub Where Xor"
_BROADCASTING: Final = frozenset(_WORDS.split())
_BROADCASTS: Final = 8
"""The version since which all of them do, without attributes."""
_TAKES_AXES: Final = 18
"""The version of Resize that has axes."""
_OPTIONS: Final[Mapping[tuple[str, int], Callable[[Sized, Options], Options]]] = {
    ("Reshape", 1): _reshape,
    ("Expand", 1): _expand,
    ("Slice", 2): _ends,
    ("Resize", 3): _resize,
}


_MOST_TURNS: Final = 4
_MOST_ORIGINS: Final = 64
"""Most nodes that are counted as those that compute a size."""
_MOST_READERS: Final = 24
"""Most operands of one origin that are changed at once."""


# Ways to compute the same sizes, chosen.


@dataclass
class Choice:
    """An operand with names that do the same."""

    node: NodeProto
    at: int
    names: list[str]
    """The first is that of the model."""
    attributes: list[AttributeProto]
    """Attributes of the node with any name but the last."""
    spelled: list[AttributeProto]
    """Attributes of the node with the last name."""

    def take(self, name: str) -> None:
        """Let the operand be this one."""
        self.node.input[self.at] = name
        put(self.node.attribute, self.spelled if name == self.names[-1] else self.attributes)


class Needed:
    """How many operands of needed nodes each node gives."""

    def __init__(self, nodes: Sequence[NodeProto], sure: Collection[int], outputs: Collection[str]) -> None:
        self._sure = sure
        self._producers = {name: node for node in nodes for name in node.output if name}
        self._reads = {id(node): [*node.input, *(set(reads(node)) - set(node.input))] for node in nodes}
        self._weights = {id(node): 1 if node.op_type == "Constant" else 1 << 20 for node in nodes}
        self._uses = {id(node): int(id(node) not in sure) for node in nodes}
        """One more for a node that may fail, which is always needed."""
        self._makers = {name: id(node) for name, node in self._producers.items()}
        self.count = 0
        """Needed nodes, those with constants far less."""
        for node in nodes:
            if id(node) not in sure:
                self.count += self._weights[id(node)]
                for name in self._reads[id(node)]:
                    self.use(name, 1)
        for name in outputs:
            self.use(name, 1)

    def is_needed(self, node: NodeProto) -> bool:
        """The node may fail, or what it gives is read."""
        return self._uses[id(node)] > 0

    def origins(self, name: str) -> Collection[int]:
        """The nodes that compute a size, from those that read a shape on."""
        found: dict[int, None] = {}
        pending = [name]
        while pending and len(found) < _MOST_ORIGINS:
            node = self._producers.get(pending.pop())
            if node is not None and id(node) in self._sure and id(node) not in found and node.op_type != "Constant":
                found[id(node)] = None
                pending += self._reads[id(node)] if node.op_type not in SHAPE_ALONE else ()
        return found

    def use(self, name: str, by: int) -> None:
        """One reader more, or one less."""
        makers, uses = self._makers, self._uses
        pending = [name]
        while pending:
            node = makers.get(pending.pop())
            if node is not None:
                before = uses[node]
                uses[node] = before + by
                if not before or not before + by:
                    self.count += by * self._weights[node]
                    pending += self._reads[node]

    def switch(self, choice: Choice, name: str) -> None:
        """Let an operand be another one."""
        before = choice.node.input[choice.at]
        choice.take(name)
        known = self._reads[id(choice.node)]
        known[known.index(before)] = name
        if self.is_needed(choice.node):
            self.use(name, 1)
            self.use(before, -1)


def choose(choices: Sequence[Choice], needed: Needed, renamed: Mapping[str, str]) -> None:
    """Take names with which fewer nodes are needed: improve upon the new names, and upon those of the model."""
    for choice in choices:
        choice.names = [renamed.get(name, name) for name in choice.names]
    _settle(choices, needed)
    found, count = [choice.node.input[choice.at] for choice in choices], needed.count
    _switch(choices, [choice.names[0] for choice in choices], needed)
    _settle(choices, needed)
    if needed.count > count:
        _switch(choices, found, needed)


def _settle(choices: Sequence[Choice], needed: Needed) -> None:
    """Change the operands that read one name at once, and those of one origin, as long as that leaves fewer nodes."""
    origins = [{name: needed.origins(name) for name in choice.names} for choice in choices]
    readers: dict[int, list[int]] = {}
    for at, each in enumerate(origins):
        for node in dict.fromkeys(chain(*each.values())):
            readers.setdefault(node, []).append(at)
    groups_of_origin = {  # a node of a chain says what the first one of the same readers does
        tuple((at, *(node in found for found in origins[at].values())) for at in places): (node, places)
        for node, places in readers.items()
        if 1 < len(places) <= _MOST_READERS
    }
    for _ in range(_MOST_TURNS):
        before = needed.count
        for node, places in groups_of_origin.values():
            _turn(node, [(choices[at], origins[at]) for at in places], needed)
        groups: dict[str, list[Choice]] = {}
        for choice in choices:
            if needed.is_needed(choice.node):
                groups.setdefault(choice.node.input[choice.at], []).append(choice)
        for group in groups.values():
            _improve(group, needed)
        if needed.count == before:
            return


def _turn(node: int, group: Sequence[tuple[Choice, Mapping[str, Collection[int]]]], needed: Needed) -> None:
    """Let all operands that can come from a node do so, or all that need not come from it, if that is better."""
    for comes in (True, False):
        now, count = [choice.node.input[choice.at] for choice, _ in group], needed.count
        wanted = [
            name
            if (node in origins[name]) is comes
            else next((n for n in origins if (node in origins[n]) is comes), name)
            for name, (_, origins) in zip(now, group, strict=True)
        ]
        _switch([choice for choice, _ in group], wanted, needed)
        if needed.count >= count:
            _switch([choice for choice, _ in group], now, needed)


def _improve(group: Sequence[Choice], needed: Needed) -> None:
    """Change one group if that leaves fewer nodes."""
    now = [choice.node.input[choice.at] for choice in group]
    places = sorted({0, *(at - len(choice.names) for choice in group for at in range(1, len(choice.names)))})
    best, count = now, needed.count
    for place in places:
        names = [choice.names[place if -len(choice.names) <= place else 0] for choice in group]
        if names != now:
            _switch(group, names, needed)
            if needed.count < count:
                best, count = names, needed.count
    _switch(group, best, needed)


def _switch(group: Sequence[Choice], names: Sequence[str], needed: Needed) -> None:
    for choice, name in zip(group, names, strict=True):
        if choice.node.input[choice.at] != name:
            needed.switch(choice, name)
