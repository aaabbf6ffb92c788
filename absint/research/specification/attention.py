"""Attention by heads, and positions. A packed tensor is (batch, steps, heads * size), an unpacked one
(batch, heads, steps, size).
"""

from typing import Final, NamedTuple

from absint.research.specification.formulas import FALSE, TRUE, both, either, equal, implies
from absint.research.specification.node import Attribute, Input, Node, Output, tensor
from absint.research.specification.specs import contributed, instances, specifies
from absint.research.specification.terms import Int, Term, largest, product, term


class Heads(NamedTuple):
    """The sizes of queries, keys or values."""

    batch: Term
    heads: Int
    steps: Term
    size: Int


@specifies(
    "Attention",
    "B 2 S 3, C 2 L 3, D 2 M 4 | B H S E, B H L E, B H L E | B 4 S E, B 2 L F, B 2 L G | "
    "B S 6, C L 6, D M 8; q_num_heads=2 kv_num_heads=2 | B S W, B L V, B L V; q_num_heads=4 kv_num_heads=2 | "
    "B 2 S 3, B 2 L 3, B 2 L 4, -, B 2 P 3, B 2 R 4; outputs=3 | B 2 S 3, B 2 L 3, B 2 L 4, S L | "
    "B 2 S 3, B 2 L 3, B 2 L 4, -, B 2 P 3 | B 2 S 3, B 2 L 3, B 2 L 4, C H T M | "
    "B 2 S 3, B 2 L 3, B 2 L 4, T M, B 2 P 3, B 2 P 4; outputs=3 | B 2 S 3, B 2 L 3, B 2 L 4; outputs=4",
    first=23,
)
def attention(node: Node) -> list[Output]:
    """Y in the form of Q; keys and values of all steps, past ones first; scores (batch, heads, steps, all steps)."""
    node.demand(len({node.input(place).rank for place in range(3)}) == 1, "Q, K and V must have one form")
    if node.version >= 25 and node.input(0).rank == 4 and {"q_num_heads", "kv_num_heads"} & node.attributes.keys():
        raise LookupError("the function body of onnxruntime packs what it is told to be packed")
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
    if node.ratio("scale") <= 0:
        node.limits(FALSE, "onnxruntime needs a positive scale")
    node.fit({6: [q.batch]}, "there must be a number of keys for each batch")
    steps = k.steps
    past = [given for given in (node.optional(4), node.optional(5)) if given is not None]
    node.demand(len(past) != 1, "past keys and values must be given together")
    if past:
        if node.version < 25 and node.outputs < 3:
            node.limits(FALSE, "onnxruntime needs present keys and values to be asked for beside past ones")
        for old, new in zip(past, (k, v), strict=True):
            sizes = (old.dims[0], old.dims[1], old.dims[3])
            node.agree(sizes, (new.batch, new.heads, new.size), "past and new steps must fit")
        node.requires(equal(past[0].dims[2], past[1].dims[2]), "past keys and values must have one length")
        steps = past[0].dims[2] + k.steps
    mask = node.optional(3)
    if mask is not None:
        _mask(node, mask, q, steps)
    if node.version >= 25:
        if node.outputs == 2:
            node.limits(FALSE, "onnxruntime needs present keys and values to be asked for together")
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
        if not rows:
            node.limits(FALSE, "onnxruntime needs a mask of rank 2 or more")
        for size, wanted in zip(reversed(mask.dims), (steps, q.steps), strict=False):
            node.limits(equal(size, wanted), "onnxruntime broadcasts a mask along batches and heads alone")


def _heads(node: Node, x: Input, attribute: str) -> Heads:
    count = node.integer(attribute)
    if x.rank == 4:
        if count:
            node.limits(equal(x.dims[1], count), "onnxruntime needs heads to be as many as said")
        return Heads(*x.dims)
    batch, steps, width = x.dims
    node.demand(count >= 1, "the heads must be positive")
    node.requires(equal(width % count, 0), "the heads must share the last axis")
    return Heads(batch, count, steps, width // count)


GROUPS: Final[dict[str, Attribute]] = {"num_heads": 4, "kv_num_heads": 2}


@contributed(
    "GroupQueryAttention",
    instances(
        "B S 32, C L 16, B L 16, -, -, int32=0: B, int32: . t | B S 32, B L 16, B M 16, -, -, int32=0: B, int32: . t | "
        "B S 32, B L V, B L W, -, -, int32=0: B, int32: . t | B S 64, -, -, -, -, int32=0: B, int32: . t | "
        "B 1 32, B 1 16, B 1 16, B 2 P 8, B 2 P 8, int32=0: B, int32: . t | "
        "B 1 32, B 1 16, B 1 16, B H P 8, B 2 Q D, int32=0: B, int32: . t | "
        "B 1 32, B 1 16, B 1 16, B 2 P 8, B 2 P 8, int32=0: B, int32: . 3 | "
        "1 3 32, 1 L 16, 1 L 16, -, -, int32: = 2, int32: . t | "
        "1 1 32, 1 1 16, 1 1 16, 1 2 P 8, 1 2 P 8, int32: = 3, int32: . 4",
        outputs=3,
        **GROUPS,
    ),
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
    node.demand((past is None) == (node.optional(4) is None), "past keys and values must be given together")
    if past is not None:
        kept = (batch, shared, past.dims[2], size)
        node.fit({3: kept, 4: kept}, "the inputs must fit together")
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
    "B H S 3, P 1, P 1, int64=0: B S | B H S 4, P 2, Q 2, int64=0: B S | "
    "B H S E, P 2, P 2, int64=0: B S; rotary_embedding_dim=4 | B H S 4, P A, P A, int64=0: C T | "
    "B H S 4, B S 2, B S 2 | B H S 8, C T A, C T A; rotary_embedding_dim=4 | B H S 4, C T A, D U E | "
    "B S 8, P 2, P 2, int64=0: B S; num_heads=2 | B S, P 2, P 2 | B S 8, P 2, P 2, int64=0: B S | "
    "B S E, P A, P A, int64=0: B S; num_heads=2 | B H S 4, P 2, P 2",
    first=23,
)
def rotary_embedding(node: Node) -> Output:
    """The shape of X, whose pairs of features turn."""
    x, places, heads, part = node.input(0), node.optional(3), *_heads_and_part(node)
    rows, size = node.input(1).dims[:1] if places is not None else (x.dims[0], x.dims[-2]), x.dims[-1]
    if x.rank == 3:
        node.demand(heads >= 1, "an X of rank 3 needs the number of heads")
        node.requires(equal(size % heads, 0), "the heads must share the last axis")
        size = size // heads
    turned = term(part) if part else size
    node.requires(turned <= size, "no more than a head may turn")
    node.requires(equal(turned % 2, 0), "features must turn in pairs", unless=TRUE)
    angles = [*rows, turned // 2]
    node.fit({1: angles, 2: angles, 3: (x.dims[0], x.dims[-2])}, "angles and positions must fit X")
    if places is not None:
        node.limits(x.dims[-2] <= node.input(1).dims[0], "onnxruntime needs as many angles as steps")
    return tensor(x.dims)


def _heads_and_part(node: Node) -> tuple[int, int]:
    """The number of heads, and of the features of a head that turn; 0 where it is not said."""
    heads, part = node.integer("num_heads"), node.integer("rotary_embedding_dim")
    node.demand(node.input(0).rank in (3, 4), "X must have rank 3 or 4")
    node.demand(part >= 0, "the number of features that turn must not be negative")
    if heads < 0:
        node.limits(FALSE, "onnxruntime needs a number of heads that is not negative", is_certain=True)
    return heads, part


@contributed(
    "RotaryEmbedding",
    "B S 8, int64=0: C T, P 4, Q 4 | B H S 4, int64=0: B S, P 2, P 2 | B S 8, int64=0: K, P 4, P 4 | "
    "B S 8, int64=0: B S, P A, P A | B S E, int64=0: B S, P 2, P 2; num_heads=2 | "
    "B H S 6, int64=0: B S, P A, P A; num_heads=2 rotary_embedding_dim=4 | "
    "B H S 6, int64=0: B S, P 2, P 2; rotary_embedding_dim=4",
)
def turned_by_positions(node: Node) -> Output:
    """As ONNX's operator of this name; a vector of positions holds the first one alone."""
    x, places, angles, (heads, part) = node.input(0), node.input(1), node.input(2), _heads_and_part(node)
    node.demand(heads >= 1 or not part, "some of the features turn of a number of heads")
    node.demand(angles.rank == 2, "there must be an angle for each position and pair")
    node.fit({3: angles.dims}, "cosines and sines must have one shape")
    (rows, pairs), features = angles.dims, x.dims[-1]
    node.requires(x.dims[-2] <= rows, "there must be an angle for each position")
    if places.rank <= 1:
        node.requires(equal(product(places.dims), 1), "a vector of positions must hold the first one")
    else:
        node.fit({1: (x.dims[0], x.dims[-2])}, "there must be a position for each step")
    node.needs_elements(x.dims, "onnxruntime needs an X that is not empty")
    if x.rank == 3 and not heads:
        whole = implies(pairs >= 1, equal(Term("%", (features, pairs * 2)), 0))
        node.requires(whole, "X must divide into heads of the angles")
        node.requires(either(pairs >= 1, equal(product(x.dims), 0)), "heads must not be empty")
        return tensor(x.dims)
    if x.rank == 3:
        node.requires(equal(features % heads, 0), "the heads must share the last axis")
    size = features // heads if x.rank == 3 else features
    node.requires(size >= part, "no more than a head may turn")
    fits = [equal(features, 0), equal(pairs, size // 2), *([equal(pairs, part // 2)] if part else [])]
    node.requires(either(*fits), "each pair of features must have an angle")
    return tensor(x.dims)


@contributed(
    "MRotaryEmbedding",
    "B S 16, int64=0: 3 C T, P 4, Q 4; mrope_section=[2, 1, 1] num_heads=2 | "
    "B H S 8, int64=0: 3 B S, P 4, P 4; mrope_section=[2, 1, 1] num_heads=3 | "
    "B S 16, int64=0: K B S, P 4, P 4; mrope_section=[2, 1, 1] num_heads=2 | "
    "B H S E, int64=0: 3 B S, P A, P A; mrope_section=[2, 1, 1] rotary_embedding_dim=8 num_heads=2 | "
    "B H S E, int64=0: 3 B S, P A, P A; mrope_section=[2, 0, 1] | "
    "B S 16, int64=0: 3 T, P 4, P 4; mrope_section=[2, 1, 1] num_heads=2",
)
def of_sections(node: Node) -> Output:
    """As RotaryEmbedding, with three positions for each step."""
    x, places, cosines, sines = (node.input(place) for place in range(4))
    node.demand(x.rank in (3, 4) and places.rank == 3, "X must have rank 3 or 4, and positions rank 3")
    steps = (x.dims[0], x.dims[-2])
    node.agree(places.dims, (term(3), *steps), "there must be three positions for each step")
    heads, part = node.integer("num_heads"), node.integer("rotary_embedding_dim")
    size = x.dims[-1] // heads if x.rank == 3 and heads else x.dims[-1]
    if x.rank == 4 or heads:
        turned = term(part) if part else size
        node.requires(equal(cosines.dims[-1], turned // 2), "each pair of features must have an angle")
        whole = both(turned >= 1, equal(turned % 2, 0))
        node.requires(either(whole, equal(product(x.dims), 0)), "features must turn in pairs")
    sections = node.integers("mrope_section") or []
    node.demand(len(sections) == 3 and min(sections) >= 0, "there must be three sections")
    node.demand(node.integer("mrope_layout") in (0, 1), "the layout must be one of two")
    node.requires(equal(cosines.dims[-1], sum(sections)), "the sections must count the angles of a position")
    return node.through(turned_by_positions, [x, Input(steps), cosines, sines])[0]
