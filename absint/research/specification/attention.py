"""Attention by heads, and positions. A packed tensor is (batch, steps, heads * size), an unpacked one
(batch, heads, steps, size).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from absint.research.specification.formulas import Int, Term, both, either, equal, largest, term
from absint.research.specification.node import Attribute, Input, Node, Output, tensor
from absint.research.specification.specs import MICROSOFT, at, specifies


class Heads(NamedTuple):
    """The sizes of queries, keys or values."""

    batch: Term
    heads: Int
    steps: Term
    size: Int


@specifies(
    "Attention",
    first=23,
    grid=[
        at("B 2 S 3", "C 2 L 3", "D 2 M 4"),
        at("B H S E", "B H L E", "B H L E"),
        at("B 4 S E", "B 2 L F", "B 2 L G"),
        at("B S 6", "C L 6", "D M 8", q_num_heads=2, kv_num_heads=2),
        at("B S W", "B L V", "B L V", q_num_heads=4, kv_num_heads=2),
        at("B 2 S 3", "B 2 L 3", "B 2 L 4", None, "B 2 P 3", "B 2 R 4", outputs=3),
        at("B 2 S 3", "B 2 L 3", "B 2 L 4", "S L"),
        at("B 2 S 3", "B 2 L 3", "B 2 L 4", "C H T M"),
        at("B 2 S 3", "B 2 L 3", "B 2 L 4", "T M", "B 2 P 3", "B 2 P 4", outputs=3),
        at("B 2 S 3", "B 2 L 3", "B 2 L 4", outputs=4),
    ],
)
def attention(node: Node) -> list[Output]:
    """Y in the form of Q; keys and values of all steps, past ones first; scores (batch, heads, steps, all steps)."""
    node.demand(len({node.input(place).rank for place in range(3)}) == 1, "Q, K and V must have one form")
    q = _heads(node, node.input(0), "q_num_heads")
    k, v = (_heads(node, node.input(place), "kv_num_heads") for place in (1, 2))
    node.agree((q.batch, q.batch, k.steps), (k.batch, v.batch, v.steps), "batches and steps must agree")
    node.requires(equal(q.size, k.size), "heads of Q and K must have one size")
    node.requires(equal(k.heads, v.heads), "K and V must have as many heads")
    if isinstance(q.heads, int):
        node.demand(q.heads % node.integer("kv_num_heads") == 0, "heads of Q must be a multiple of those of K")
    else:
        kinds = Term("%", (term(q.heads), term(k.heads)))
        node.requires(both(term(k.heads) >= 1, equal(kinds, 0)), "heads of Q must be a multiple of those of K")
    node.needs_elements(
        (q.batch, q.steps, k.steps, term(q.size), term(v.size), term(q.heads), term(k.heads)),
        "onnxruntime needs axes that are not empty",
    )
    steps = k.steps
    past_key, past_value = node.optional(4), node.optional(5)
    if past_key is not None and past_value is not None:
        for past, new in ((past_key, k), (past_value, v)):
            sizes = (past.dims[0], past.dims[1], past.dims[3])
            node.agree(sizes, (new.batch, new.heads, new.size), "past and new steps must fit")
        node.requires(equal(past_key.dims[2], past_value.dims[2]), "past keys and values must have one length")
        steps = past_key.dims[2] + k.steps
    mask = node.optional(3)
    if mask is not None:
        _mask(node, mask, q, steps)
    if node.version >= 25:
        for clause in list(node.legal):
            node.limits(clause.formula, "onnxruntime runs the function body, which may regroup what does not agree")
    packed = node.input(0).rank == 3
    y: list[Int] = [q.batch, q.steps, term(q.heads) * v.size] if packed else [q.batch, q.heads, q.steps, v.size]
    present = [tensor([x.batch, x.heads, steps, x.size]) for x in (k, v)]
    return [tensor(y), *present, tensor([q.batch, q.heads, q.steps, steps])][: node.outputs]


def _mask(node: Node, mask: Input, q: Heads, steps: Term) -> None:
    *rows, length = mask.dims
    for size, wanted in zip(reversed(rows), (q.steps, term(q.heads), q.batch), strict=False):
        node.requires(either(equal(size, 1), equal(size, wanted)), "a mask must broadcast to the scores")
    node.requires(either(equal(length, 1), length <= steps), "a mask must not be longer than the keys")
    if node.version < 25:
        for size, wanted in zip(reversed(mask.dims), (steps, q.steps), strict=False):
            node.limits(equal(size, wanted), "onnxruntime broadcasts a mask along batches and heads alone")


def _heads(node: Node, x: Input, attribute: str) -> Heads:
    count = node.integer(attribute)
    if x.rank == 4:
        if count:
            node.limits(equal(x.dims[1], count), "onnxruntime needs heads to be as many as said")
        return Heads(*x.dims)
    batch, steps, width = x.dims
    node.requires(equal(width % count, 0), "the heads must share the last axis")
    return Heads(batch, count, steps, width // count)


GROUPS: Final[dict[str, Attribute]] = {"num_heads": 4, "kv_num_heads": 2}


@specifies(
    "GroupQueryAttention",
    domain=MICROSOFT,
    grid=[
        at(*inputs, outputs=3)._replace(attributes=GROUPS)
        for inputs in (
            ("B S 32", "C L 16", "B L 16", None, None, "int32=0: B", "int32: . t"),
            ("B S 32", "B L 16", "B M 16", None, None, "int32=0: B", "int32: . t"),
            ("B S 32", "B L V", "B L W", None, None, "int32=0: B", "int32: . t"),
            ("B S 64", None, None, None, None, "int32=0: B", "int32: . t"),
            ("B 1 32", "B 1 16", "B 1 16", "B 2 P 8", "B 2 P 8", "int32=0: B", "int32: . t"),
            ("B 1 32", "B 1 16", "B 1 16", "B H P 8", "B 2 Q D", "int32=0: B", "int32: . t"),
            ("B 1 32", "B 1 16", "B 1 16", "B 2 P 8", "B 2 P 8", "int32=0: B", "int32: . 3"),
            ("1 3 32", "1 L 16", "1 L 16", None, None, "int32: = 2", "int32: . t"),
            ("1 1 32", "1 1 16", "1 1 16", "1 2 P 8", "1 2 P 8", "int32: = 3", "int32: . 4"),
        )
    ],
)
def groups(node: Node) -> list[Output]:
    """The shape of the queries; keys and values of all steps, or of the buffer if they have room there."""
    if node.integer("sliding_window_cache") or any(node.text(f"{x}_quant_type", "NONE") != "NONE" for x in "kv"):
        raise LookupError("a cache of whole floats is specified")
    query, key, value, past = node.input(0), node.optional(1), node.optional(2), node.optional(3)
    heads, shared, (total,) = node.integer("num_heads"), node.integer("kv_num_heads"), node.elements(6) or ()
    node.demand(heads % shared == 0, "heads must share keys evenly")
    (batch, steps, width), every = query.dims, heads if key is not None else heads + 2 * shared
    node.requires(equal(width % every, 0), "the heads must share the last axis")
    size, new = width // every, steps if key is None else key.dims[1]
    for found in (key, value):
        if found is not None:
            node.agree(found.dims, [batch, new, size * shared], "the inputs must fit together")
    for place in (3, 4):
        kept = node.optional(place)
        if kept is not None and past is not None:
            node.agree(kept.dims, [batch, shared, past.dims[2], size], "the inputs must fit together")
    node.needs_elements((batch, steps, size), "onnxruntime needs axes that are not empty")
    if past is None:
        node.requires(equal(new, steps), "each query must have a key")
        node.requires(equal(total, new), "all steps must be counted")
        present = total
    else:
        room = past.dims[2]
        node.requires(either(equal(new, steps), equal(new, 0)), "each query must have a new key, or none")
        node.requires(either(equal(total, room + new), total <= room), "the buffer must grow or have room")
        node.requires(total >= new, "all steps must be counted")
        present = largest(room, total)
    cache = tensor([batch, shared, present, size])
    return [tensor([batch, steps, size * heads]), cache, cache, tensor([batch, heads, steps, total])][: node.outputs]


@specifies(
    "RotaryEmbedding",
    first=23,
    grid=[
        at("B H S 4", "P 2", "Q 2", "int64=0: B S"),
        at("B H S 4", "P A", "P A", "int64=0: C T"),
        at("B H S 4", "B S 2", "B S 2"),
        at("B H S 8", "C T A", "C T A", rotary_embedding_dim=4),
        at("B H S 4", "C T A", "D U E"),
        at("B S 8", "P 2", "P 2", "int64=0: B S", num_heads=2),
        at("B S", "P 2", "P 2"),
    ],
)
@specifies(
    "RotaryEmbedding",
    domain=MICROSOFT,
    grid=[
        at("B S 8", "int64=0: C T", "P 4", "Q 4"),
        at("B H S 4", "int64=0: B S", "P 2", "P 2"),
        at("B S 8", "int64=0: K", "P 4", "P 4"),
    ],
)
def rotary_embedding(node: Node) -> Output:
    """The shape of X, whose pairs of features turn."""
    x = node.input(0)
    node.demand(x.rank in (3, 4), "X must have rank 3 or 4")
    angles = [node.input(place) for place in ((1, 2) if not _is_microsoft(node) else (2, 3))]
    node.agree(angles[0].dims, angles[1].dims, "cosines and sines must have one shape")
    places = node.optional(1) if _is_microsoft(node) else node.optional(3)
    if _is_microsoft(node):
        node.requires(x.dims[-2] <= angles[0].dims[0], "there must be an angle for each position")
        assert places is not None
        if places.rank == 1:
            node.requires(equal(places.dims[0], 1), "a vector of positions must hold the first one")
    elif places is not None:
        node.limits(x.dims[-2] <= angles[0].dims[0], "onnxruntime needs as many angles as steps")
    if places is not None and places.rank == 2:
        node.agree(places.dims, (x.dims[0], x.dims[-2]), "there must be a position for each step")
    if _is_microsoft(node):
        node.needs_elements(x.dims, "onnxruntime needs an X that is not empty")
    else:
        head = x.dims[-1] if x.rank == 4 else x.dims[-1] // node.integer("num_heads")
        turned = node.integer("rotary_embedding_dim", 0) or head
        node.limits(term(turned) <= term(head), "onnxruntime turns no more than a head")
        sizes = [term(turned) // 2, *([] if places is not None else [x.dims[-2], x.dims[0]])]
        node.agree(reversed(angles[0].dims), sizes, "there must be an angle for each pair", strict=False)
    return tensor(x.dims)


@specifies(
    "MRotaryEmbedding",
    domain=MICROSOFT,
    grid=[
        at("B S 16", "int64=0: 3 C T", "P 4", "Q 4", mrope_section=[2, 1, 1], num_heads=2),
        at("B H S 8", "int64=0: 3 B S", "P 4", "P 4", mrope_section=[2, 1, 1], num_heads=3),
        at("B S 16", "int64=0: K B S", "P 4", "P 4", mrope_section=[2, 1, 1], num_heads=2),
    ],
)
def of_sections(node: Node) -> Output:
    """As RotaryEmbedding, with three positions for each step."""
    x, places, cosines, sines = (node.input(place) for place in range(4))
    node.demand(x.rank in (3, 4) and places.rank == 3, "X must have rank 3 or 4, and positions rank 3")
    steps = (x.dims[0], x.dims[-2])
    node.agree(places.dims, (term(3), *steps), "there must be three positions for each step")
    return node.through(rotary_embedding, "RotaryEmbedding", 1, [x, Input(steps), cosines, sines])[0]


def _is_microsoft(node: Node) -> bool:
    return node.version < 23
