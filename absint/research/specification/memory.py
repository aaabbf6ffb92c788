"""Operators of com.microsoft that read a memory: attention over one, a matrix that is updated, a packed table:
onnxruntime's docs/ContribOperators.md.
"""

from __future__ import annotations

from absint.research.specification.formulas import equal, term
from absint.research.specification.node import Attribute, Node, Output, tensor
from absint.research.specification.specs import MICROSOFT, Instance, at, specifies


def _attended(count: int, context: int | None, *last: str | None, **attributes: Attribute) -> Instance:
    """The memory has 6 features, the input 4, a state 5."""
    joined = context or 6
    found = at(
        *("T B 4", f"{count} 20 {4 + joined}", f"{count} 20 5", f"{count} 40", "int32=1: B", None, None, None),
        *(f"{count} 5 A", f"{count} 6 A", f"{count} A", "B M 6", "int32=1: B", *last),
        outputs=3,
    )
    return found._replace(attributes={"hidden_size": 5, **attributes})


@specifies(
    "AttnLSTM",
    domain=MICROSOFT,
    grid=[
        _attended(1, None),
        _attended(1, 8, "1 11 8", direction="reverse"),
        _attended(2, 8, "2 D 8", direction="bidirectional"),
        at(
            *("T B I", "1 20 W", "1 20 5", "1 C", "int32=1: S", None, None, None),
            *("1 5 A", "1 6 E", "1 F", "G M 6", "int32=1: L"),
            outputs=3,
            hidden_size=5,
        ),
    ],
)
def attentive(node: Node) -> list[Output]:
    """As LSTM, whose input is joined with what the state attends to in a memory (batch, places, features)."""
    steps, batch, width = node.input(0).dims
    hidden, count = node.integer("hidden_size"), 2 if node.text("direction") == "bidirectional" else 1
    node.demand(node.input(9).rank == 3 and node.input(11).rank == 3, "the memory and its weights must have three axes")
    features, depth = node.input(9).dims[1:]
    memory, joint = node.input(11), node.optional(13)
    node.demand(joint is None or joint.rank == 3, "the weights of attention must have three axes")
    context = features if joint is None else joint.dims[2]
    node.fit(
        {
            1: (count, 4 * hidden, width + context),
            2: (count, 4 * hidden, hidden),
            3: (count, 8 * hidden),
            4: (batch,),
            5: (count, batch, hidden),
            6: (count, batch, hidden),
            7: (count, 3 * hidden),
            8: (count, hidden, depth),
            9: (count, features, depth),
            10: (count, depth),
            11: (batch, memory.dims[1], features),
            12: (batch,),
            13: (count, features + hidden, context),
        },
    )
    node.needs_elements(
        (steps, batch, width, memory.dims[1], features, depth), "onnxruntime may fail over what is empty"
    )
    state = tensor([count, batch, hidden])
    return [tensor([steps, count, batch, hidden]), state, state][: node.outputs]


@specifies(
    "DecoderMaskedMultiHeadAttention",
    domain=MICROSOFT,
    grid=[
        at("B 1 8", "B 1 8", "B 1 8", num_heads=2),
        at("B 1 8", "C 1 8", "D 1 8", num_heads=2),
        at("B 1 8", "B 2 L 4", "C 2 M 4", num_heads=2),
        at("B 2 8", "B 2 8", "B 2 8", num_heads=2),
    ],
)
def decoded(node: Node) -> list[Output]:
    """The shape of the queries, which are one step of each row."""
    q, k, v = (node.input(place) for place in range(3))
    if any(x is not None for x in node.inputs[3:]) or node.outputs > 1:
        raise LookupError("a call without a buffer is specified")
    node.demand(q.rank == 3 and k.rank == v.rank and k.rank in (3, 4), "queries must be (batch, 1, hidden)")
    node.requires(equal(q.dims[1], 1), "there must be one step")
    heads = node.integer("num_heads")
    node.requires(equal(q.dims[2] % heads, 0), "the heads must share the last axis")
    if k.rank == 3:
        node.fit({1: q.dims, 2: (q.dims[0], 1, v.dims[2])})
    else:
        keys = (q.dims[0], heads, k.dims[2], q.dims[2] // heads)
        node.fit({1: keys, 2: keys})
    node.needs_elements((*q.dims, *k.dims, *v.dims), "onnxruntime needs axes that are not empty")
    return [tensor(q.dims)]


@specifies(
    "GatedDeltaNet",
    domain=MICROSOFT,
    grid=[
        at("B S 2 8", "B S 2 8", "B S 4 6", None, "B S 4", "B S 4", "B 4 6 8", outputs=2),
        at("B S 2 8", "B S 2 8", "B S 4 6", None, "B S 4", "B S 4", "C H V K", outputs=2),
    ],
)
def updated(node: Node) -> list[Output]:
    """(batch, steps, heads, size of a value); a matrix (size of a value, of a key) for each head."""
    packed = node.optional(1) is None or node.optional(3) is not None
    if packed or any(x is not None for x in node.inputs[7:]) or node.outputs > 2:
        raise LookupError("rows of one length, in tensors of their own, are specified")
    q, k, v = (node.input(place) for place in range(3))
    if not q.rank == k.rank == v.rank == 4:
        raise LookupError("tokens are specified as (batch, steps, heads, features)")
    batch, steps, _, key = q.dims
    heads, value = v.dims[2:]
    node.fit({1: q.dims, 2: (batch, steps, heads, value), 4: (batch, steps, heads), 5: (batch, steps, heads)})
    node.fit({6: (batch, heads, value, key)})
    node.needs_elements((*q.dims, *v.dims), "onnxruntime needs axes that are not empty")
    return [tensor([batch, steps, heads, value]), tensor([batch, heads, value, key])][: node.outputs]


@specifies("GatherPacked", domain=MICROSOFT, grid=[at("uint8: 9 36", "int64=0: B L", K=64, packed_type=2)])
def unpacked(node: Node) -> Output:
    """The axes of the indices, and the K features of a row."""
    return tensor([*node.input(1).dims, term(node.integer("K"))])
