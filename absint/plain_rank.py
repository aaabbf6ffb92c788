"""Whether a runtime knows the rank of a body value before it runs: what it prints after zero trips depends on that.

After zero trips onnxruntime gives a scan output of shape [0] unless the rank of the body's output is declared, or its
own type inference, which looks at constants only, has found it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from absint.graph import ABSENT, Operand
from lattices.contents import element_symbols
from lattices.tensor import Tensor

if TYPE_CHECKING:
    from absint.graph import Node

_RANK_BY_DATA: Final = frozenset(
    {
        "AffineGrid", "CenterCropPad", "Col2Im", "ConcatFromSequence", "ConstantOfShape", "Expand", "MaxUnpool",
        "OneHot", "OptionalGetElement", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
        "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Reshape", "Resize", "SequenceAt",
        "SplitToSequence", "Squeeze", "TopK", "Unsqueeze", "Upsample",
    }
)  # fmt: skip
"""Operators whose output has a rank that inference finds only where the operands after the first are constants."""


def is_plain(nodes: list[Node], operand: Operand) -> bool:
    """The rank follows from declared ranks of inputs, by operators that need no data for it.

    What a loop carries has none of its own: type inference passes no shape from one trip to the next.
    """
    from absint.loops import LoopExit, LoopHead

    stack, seen = [operand], {ABSENT}
    while stack:
        found = stack.pop()
        if found in seen:
            continue
        seen.add(found)
        node = nodes[found[0]]
        if node.value is not None:
            if not isinstance(node.value, Tensor) or node.value.shape.rank is None:
                return False
        elif isinstance(node.control, LoopHead):
            if not node.control.ranked[found[1]]:
                return False
        elif isinstance(node.control, LoopExit) or (node.kernel is not None and not _keeps(nodes, node)):
            return False
        else:
            stack.extend(node.operands)
    return True


def _keeps(nodes: list[Node], node: Node) -> bool:
    kernel = node.kernel
    assert kernel is not None
    if kernel.domain or kernel.rule is None:
        return False
    if kernel.op_type not in _RANK_BY_DATA:
        return True
    data = node.operands if kernel.op_type == "ConstantOfShape" else node.operands[1:]
    return (bool(data) or "axes" in kernel.attributes) and all(_is_constant(nodes, o) for o in data)


def _is_constant(nodes: list[Node], operand: Operand) -> bool:
    if operand[0] < 0:
        return True
    node = nodes[operand[0]]
    if node.value is not None:
        contents = node.value.contents if isinstance(node.value, Tensor) else None
        return contents is not None and not any(map(element_symbols, contents.elements))
    return node.kernel is not None and node.kernel.op_type == "Constant"
