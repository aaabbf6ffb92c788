"""Nodes that undo what the node before them does, and pairs of which one node does the work.

The first node of a pair cannot fail, so that nothing is missed where it goes.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from onnx import NodeProto, helper

from absint.jobs.rewriting.body import Body
from absint.jobs.rewriting.noops import added_ones, dims_of, numbers_of, permutation, there_and_back
from absint.lattices.logic.facts import NO_FACTS
from absint.lattices.logic.relation import YES, eq, ge
from absint.lattices.terms.expr import Dim, Expr, const, mul
from absint.lattices.value import Tensor
from absint.model.protos import copied, put
from absint.model.weights import Array
from absint.transfer.traits import RESHAPING

_AXES_AS_INPUT: Final = 13
"""The version of Squeeze and Unsqueeze that take their axes as an input."""


class Values(Protocol):
    """Values by name, and the nodes that give them."""

    @property
    def producers(self) -> Mapping[str, NodeProto]: ...

    def sure_producer(self, name: str) -> NodeProto | None: ...

    def value(self, name: str) -> Tensor | None: ...

    def constant(self, array: Array) -> str: ...


def _before(body: Values, name: str) -> NodeProto | None:
    """The node that computes a value and cannot fail, if it has inputs."""
    found = body.sure_producer(name)
    return None if found is None or not found.input else found


def is_undone(body: Body, node: NodeProto, output: Tensor) -> bool:
    """The node undoes what the one before it does, and other values stand for what it gives."""
    found = given_back(body, node, output)
    if not found or (len(found) > 1 and not body.outputs.isdisjoint(node.output)):
        return False
    return all(body.stands_for(node, source, at) for at, source in enumerate(found) if node.output[at])


def given_back(body: Values, node: NodeProto, output: Tensor) -> Sequence[str]:
    """The values that the outputs of a node are, which undoes what the one before it does; none if it does not."""
    before = _before(body, node.input[0]) if node.input else None
    if before is None or node.domain or before.domain:
        return ()
    both = before.op_type, node.op_type
    if both == ("Concat", "Split"):
        return before.input if _is_split_again(body, before, node) else ()
    if node.op_type == "SequenceAt":
        each, at = _elements(body, node.input[0]), _place(body, node)
        return [each[at]] if each is not None and at is not None and -len(each) <= at < len(each) else ()
    first, between = body.value(before.input[0]), body.value(node.input[0])
    dims = dims_of(first)
    if both == ("Split", "Concat"):
        done = _is_joined_again(body, before, node, output)
    elif both == ("SplitToSequence", "ConcatFromSequence"):
        done = _is_joined_sequence(body, before, node, output)
    elif node.op_type in RESHAPING and before.op_type in RESHAPING:
        done = dims is not None and dims == dims_of(output)
    elif node.op_type == before.op_type == "Transpose" and dims is not None:
        turned = [permutation(before, len(dims))[axis] for axis in permutation(node, len(dims))]
        done = turned == list(range(len(dims)))
    else:
        done = node.op_type == before.op_type == "Cast" and there_and_back(first, between, output)
    return before.input[:1] if done else ()


def _integer(node: NodeProto, name: str, default: int | None) -> int | None:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), default)


def _axis(node: NodeProto, rank: int, default: int | None) -> int | None:
    """The axis of a Split or a Concat, counted from the front."""
    given = _integer(node, "axis", default)
    return None if given is None or not -rank <= given < rank else given % rank


def _is_joined_again(body: Values, split: NodeProto, concat: NodeProto, output: Tensor) -> bool:
    """All parts of a Split in their order, along its axis."""
    rank = output.shape.rank
    if rank is None or list(split.output) != list(concat.input):
        return False
    dims = dims_of(body.value(split.input[0]))
    return dims is not None and dims == dims_of(output) and _axis(split, rank, 0) == _axis(concat, rank, None)


def _is_joined_sequence(body: Values, split: NodeProto, concat: NodeProto, output: Tensor) -> bool:
    """All parts of a SplitToSequence, along its axis."""
    dims, rank = dims_of(body.value(split.input[0])), output.shape.rank
    if rank is None or dims is None or dims != dims_of(output):
        return False
    is_kept, is_stacked = _integer(split, "keepdims", 1) != 0, _integer(concat, "new_axis", 0) != 0
    return is_kept is not is_stacked and _axis(split, rank, 0) == _axis(concat, rank, None)


def _elements(body: Values, sequence: str) -> list[str] | None:
    """The elements of a sequence that nodes which cannot fail make of tensors; None for another one."""
    inserted: list[tuple[str, int | None]] = []
    while (made := body.sure_producer(sequence)) is not None and made.op_type == "SequenceInsert" and not made.domain:
        at = _place(body, made, 2) if len(made.input) > 2 and made.input[2] else None
        if at is None and len(made.input) > 2 and made.input[2]:
            return None
        inserted.append((made.input[1], at))
        sequence = made.input[0]
    if made is None or made.domain or made.op_type not in ("SequenceEmpty", "SequenceConstruct"):
        return None
    found = list(made.input)
    for tensor, at in reversed(inserted):
        found.insert(len(found) if at is None else at, tensor)
    return found


def _place(body: Values, node: NodeProto, at: int = 1) -> int | None:
    """The place in a sequence that an operand is, if it is a constant."""
    numbers = numbers_of(body.value(node.input[at]))
    return numbers[0].const if numbers else None


def _is_split_again(body: Values, concat: NodeProto, split: NodeProto) -> bool:
    """The parts of the Split are those of the Concat."""
    wanted = [dims_of(body.value(name)) for name in concat.input]
    if None in wanted or wanted != [dims_of(body.value(name)) for name in split.output]:
        return False
    rank = len(wanted[0] or ())
    return rank > 0 and _axis(concat, rank, None) == _axis(split, rank, 0)


def pair(body: Body, node: NodeProto, output: Tensor) -> None:
    """Let the node do the work of the one before it."""
    if node.domain or not node.input:
        return
    before = _before(body, node.input[0])
    is_single = before is not None and body.uses[node.input[0]] == 1 and not before.domain
    rank = output.shape.rank
    if before is not None and is_single and rank is not None and node.op_type == before.op_type == "Transpose":
        order = permutation(before, rank)
        turned = [order[axis] for axis in permutation(node, len(order))]
        node.input[0] = before.input[0]
        put(node.attribute, [helper.make_attribute("perm", turned)])
    elif does_both(body, node, output, is_single=is_single):
        pass
    elif node.op_type in RESHAPING:
        is_pair = before is not None and is_single and before.op_type in RESHAPING
        source = before.input[0] if before is not None and is_pair else node.input[0]
        _reshape(body, node, source, output, is_pair)


def does_both(body: Values, node: NodeProto, output: Tensor, *, is_single: bool) -> bool:
    """Let the node do the work of nodes before it, by another operator; `is_single` if nobody else reads the one."""
    if node.op_type in RESHAPING:
        return _is_turned(body, node, output) or (is_single and _keeps(body, node, output))
    before = _before(body, node.input[0])
    is_part = before is not None and (before.op_type, node.op_type) == ("SplitToSequence", "SequenceAt")
    return before is not None and is_part and _is_part(body, before, node, output)


def _keeps(body: Values, node: NodeProto, output: Tensor) -> bool:
    """A reduction that drops its axes, which the node brings back: it keeps them as 1."""
    before = _before(body, node.input[0])
    if before is None or before.domain or not before.op_type.startswith("Reduce") or _integer(before, "keepdims", 1):
        return False
    given = next((list(attribute.ints) for attribute in before.attribute if attribute.name == "axes"), None)
    numbers = numbers_of(body.value(before.input[1])) if given is None and len(before.input) > 1 else None
    axes = [number.const for number in numbers] if numbers else given
    dims = dims_of(body.value(before.input[0]))
    if dims is None or not axes or any(axis is None or not -len(dims) <= axis < len(dims) for axis in axes):
        return False
    places = {(axis or 0) % len(dims) for axis in axes}
    if tuple(const(1) if axis in places else dim for axis, dim in enumerate(dims)) != dims_of(output):
        return False
    kept = NodeProto(op_type=before.op_type, name=node.name, input=before.input, output=node.output)
    kept.attribute.extend(attribute for attribute in before.attribute if attribute.name != "keepdims")
    node.CopyFrom(kept)
    return True


def _is_turned(body: Values, node: NodeProto, output: Tensor) -> bool:
    """A Transpose of axes that a node before it merged, parted again: it is the Transpose of all of them."""
    turn = _before(body, node.input[0])
    merge = body.producers.get(turn.input[0]) if turn is not None and turn.op_type == "Transpose" else None
    if turn is None or turn.domain or merge is None or merge.domain or merge.op_type not in RESHAPING:
        return False
    whole, merged, after = (dims_of(v) for v in (body.value(merge.input[0]), body.value(turn.input[0]), output))
    parts = _merged(whole, merged) if whole is not None and merged is not None else None
    if whole is None or merged is None or parts is None:
        return False
    order = [axis for at in permutation(turn, len(merged)) for axis in parts[at]]
    if tuple(whole[axis] for axis in order) != after:
        return False
    turned = NodeProto(op_type="Transpose", name=node.name, input=[merge.input[0]], output=node.output)
    turned.attribute.append(helper.make_attribute("perm", order))
    node.CopyFrom(turned)
    return True


def _merged(whole: Sequence[Expr], merged: Sequence[Expr]) -> list[list[int]] | None:
    """The neighbours whose product each size is, wherever there are elements; None if some size is none."""
    facts = NO_FACTS.assume(*(ge(size, 1) for size in whole))
    found: list[list[int]] = []
    at = 0
    for size in merged:
        total: Dim = const(1)
        start = at
        while not (is_whole := facts.decide(eq(total, size)) is YES) and at < len(whole):
            total, at = mul(total, whole[at]), at + 1
        if not is_whole:
            return None
        found.append(list(range(start, at)))
    return found if at == len(whole) else None


def join(body: Values, node: NodeProto) -> None:
    """Join the elements of a sequence without the sequence: Concat fails where ConcatFromSequence does.

    And choose between two tensors without negating first.
    """
    chosen = _before(body, node.input[0]) if node.op_type == "Where" and not node.domain else None
    if chosen is not None and chosen.op_type == "Not" and not chosen.domain:
        node.input[:] = [chosen.input[0], node.input[2], node.input[1]]
    if node.op_type != "ConcatFromSequence" or node.domain or _integer(node, "new_axis", 0):
        return
    found = _elements(body, node.input[0])
    if found:
        attributes = [copied(attribute) for attribute in node.attribute if attribute.name == "axis"]
        node.CopyFrom(NodeProto(op_type="Concat", name=node.name, input=found, output=node.output))
        node.attribute.extend(attributes)


def _is_part(body: Values, split: NodeProto, node: NodeProto, output: Tensor) -> bool:
    """One part of a tensor that is split into parts of known sizes, without the others."""
    dims, at = dims_of(body.value(split.input[0])), _place(body, node)
    axis = _axis(split, len(dims or ()), 0)
    if dims is None or axis is None or at is None:
        return False
    is_sized = len(split.input) > 1 and bool(split.input[1])
    value = body.value(split.input[1]) if is_sized else None
    numbers = [number.const for number in numbers_of(value) or ()] if is_sized else [1]
    is_dropped = not is_sized and not _integer(split, "keepdims", 1)
    if None in numbers or not numbers or (is_sized and (value is None or value.shape.rank is None)):
        return False
    if output.shape.rank != len(dims) - is_dropped:
        return False
    sizes, length = [number or 0 for number in numbers], dims[axis].const
    if value is None or value.shape.rank == 0:
        count = None if length is None else -(-length // sizes[0])
        if at < 0 and count is None:
            return False
        at += (count or 0) if at < 0 else 0
        start, end = at * sizes[0], (at + 1) * sizes[0]
    else:
        at %= len(sizes)
        start, end = sum(sizes[:at]), sum(sizes[: at + 1])
    data = split.input[0]
    if is_dropped:
        found = NodeProto(op_type="Gather", input=[data, body.constant(np.array(at, np.int64))])
        found.attribute.append(helper.make_attribute("axis", axis))
    else:
        ends = [body.constant(np.array([number], np.int64)) for number in (start, end, axis)]
        found = NodeProto(op_type="Slice", input=[data, *ends])
    found.name = node.name
    found.output.extend(node.output)
    node.CopyFrom(found)
    return True


def _reshape(body: Body, node: NodeProto, source: str, output: Tensor, is_pair: bool) -> None:
    """Make a node of the Reshape family one that takes constants alone, from the source."""
    before, after = dims_of(body.value(source)), dims_of(output)
    if before is None or after is None:
        return
    takes_constants = node.op_type == "Flatten" or len(node.input) < 2 or node.input[1] in body.constants
    if is_pair or not takes_constants:
        added, gone = added_ones(before, after), added_ones(after, before)
        if added is not None:
            _become(body, node, "Unsqueeze", source, added)
        elif gone is not None:
            _become(body, node, "Squeeze", source, gone)
        elif is_pair:
            target = _target(body, before, after)
            if target is not None:
                _become(body, node, "Reshape", source, target)


def _target(body: Body, before: Sequence[object], after: Sequence[object]) -> list[int] | None:
    """A target of constants: sizes, 0 for the size of the same axis, -1 for one of the others."""
    found: list[int] = []
    for axis, dim in enumerate(after):
        number = getattr(dim, "const", None)
        if number is not None and number >= 1:
            found.append(number)
        elif axis < len(before) and dim is before[axis]:
            found.append(0)
        else:
            found.append(-1)
    if found.count(-1) > 1:
        return None
    others = [dim for axis, dim in enumerate(after) if found[axis] != -1]
    is_safe = -1 not in found or body.setting.known.is_positive(others)  # type: ignore[arg-type]
    return found if is_safe else None


def _become(body: Body, node: NodeProto, operator: str, source: str, numbers: Sequence[int]) -> None:
    by_input = operator == "Reshape" or body.setting.opset >= _AXES_AS_INPUT
    given = [body.constant(np.array(numbers, np.int64))] if by_input else []
    copy = NodeProto(op_type=operator, name=node.name, input=[source, *given], output=node.output)
    if not by_input:
        copy.attribute.append(helper.make_attribute("axes", list(numbers)))
    node.CopyFrom(copy)
