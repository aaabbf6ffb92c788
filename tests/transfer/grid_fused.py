"""Grids of the fused operators that onnxruntime's optimiser writes."""

from __future__ import annotations

import random
from functools import partial

from onnx import TensorProto

from tests.transfer.grid import subset
from tests.transfer.grid_layers import near
from tests.transfer.harness import Arg, Case

I32 = TensorProto.INT32


def attention(rng: random.Random) -> Case:
    heads, head = rng.choice((1, 2, 3)), rng.choice((1, 2, 4))
    batch, length, features = (rng.choice((0, 1, 2, 3)) if rng.random() < 0.2 else rng.choice((1, 2, 3)) for _ in "bsf")
    hidden = near(rng, heads * head, 0.1)
    inputs: list[Arg | None] = [
        Arg([batch, length, features]), Arg([near(rng, features, 0.03), 3 * hidden]), Arg([near(rng, 3 * hidden, 0.03)])
    ]  # fmt: skip
    masks = (
        [batch],
        [batch, length],
        [near(rng, batch, 0.5)],
        [batch, near(rng, length, 0.5)],
        [2 * batch],
        [batch, 1],
    )
    if rng.random() < 0.6:
        inputs.append(Arg(rng.choice(masks), I32, low=0, high=max(length, 1) + 1))
    attributes = subset(rng, {"unidirectional": [0, 1], "scale": [0.5], "mask_filter_value": [-1000.0]}, 0.2)
    return Case("Attention", inputs, attributes | {"num_heads": heads}, domain="com.microsoft", opset=1)


def few(rng: random.Random, chance: float = 0.1) -> int:
    """A small size, seldom 0."""
    return 0 if rng.random() < chance else rng.choice((1, 2, 3))


def about(rng: random.Random, *dims: int, dtype: int = TensorProto.FLOAT, chance: float = 0.02, **more: int) -> Arg:
    """An input of nearly these dims."""
    return Arg([near(rng, dim, chance) for dim in dims], dtype, **more)


def multi_head_attention(rng: random.Random, *, decoder: bool = False) -> Case:
    heads, batch, new = rng.choice((1, 2, 3)), few(rng), few(rng)
    length = 1 if decoder and rng.random() < 0.95 else few(rng)
    head = rng.choice((1, 2, 4)) if rng.random() < 0.95 else 0
    size, wide = near(rng, heads * head, 0.05), near(rng, heads * rng.choice((head, head, 3)), 0.05)
    has_past, shared, crossed = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.3
    if has_past and decoder and rng.random() < 0.8:
        new = 1
    past, room = few(rng, 0.2), rng.choice((1, 3, 5))
    rows: list[Arg | None] = [about(rng, batch, new, size), about(rng, batch, new, wide)]
    if crossed:
        wide, rows = size // heads * heads, [about(rng, batch, heads, new, size // heads) for _ in range(2)]
    query = [about(rng, batch, length, size), *rows]
    caches: list[Arg | None] = [None, None, None]
    seen = new
    if decoder:
        shared = has_past == (rng.random() < 0.98)
    if has_past:
        stored = room if shared else past
        caches[:2] = [about(rng, batch, heads, stored, size // heads) for _ in range(2)]
        used = rng.randint(0, max(room - new, 0)) if rng.random() < 0.9 else rng.randint(-1, room + 1)
        caches[2] = Arg(elements=rng.choice((used, [used])), dtype=I32, fed=True) if shared else None
        seen += used if shared else past
    masks = ([batch], [3 * batch + 2], [batch, seen], [batch, seen], [batch, length, seen], [batch, new], [1, seen])
    mask = Arg(rng.choice(masks[3:4] if decoder and rng.random() < 0.9 else masks), I32, high=max(seen, 1))
    scores = about(rng, rng.choice((batch, 1)), rng.choice((heads, 1)), length, seen)
    beams = next((n for n in (3, 2) if batch % n == 0 and rng.random() < 0.5), 1)
    moved = about(rng, batch // beams, beams, room, dtype=I32, high=1)
    bias = about(rng, 2 * size + wide)
    optional = [item if rng.random() < 0.3 else None for item in (bias, mask, scores, moved)]
    outputs = 3 if has_past == (rng.random() < 0.95) else rng.choice((1, 2, 3))
    if not decoder:
        inputs = [*query, *optional[:3], *caches, optional[3]]
        attributes = {"num_heads": heads} | subset(rng, {"unidirectional": [0, 1], "scale": [0.5]}, 0.2)
        return Case("MultiHeadAttention", inputs, attributes, outputs, domain="com.microsoft", opset=1)
    width = Arg(elements=[beams if rng.random() < 0.9 else 2], dtype=I32, fed=True) if rng.random() < 0.3 else None
    inputs = [*query, *optional[1:3], *caches, width, optional[3], optional[0]]
    attributes = {"num_heads": heads} | ({"past_present_share_buffer": 1} if shared else {})
    if not has_past and rng.random() < 0.97:
        inputs[4], outputs = None, 1
    return Case("DecoderMaskedMultiHeadAttention", inputs, attributes, outputs, domain="com.microsoft", opset=1)


def group_query_attention(rng: random.Random) -> Case:
    groups, head = rng.choice((1, 2)), rng.choice((8, 8, 16, 16, 16, 32, 4, 0) if rng.random() < 0.2 else (8, 16))
    heads, batch, length = groups * rng.choice((1, 2)), few(rng, 0.03), few(rng, 0.03)
    if rng.random() < 0.5:
        batch, length = rng.choice(((1, length), (batch, 1)))
    new = length if rng.random() < 0.85 else rng.choice((0, 1))
    wide = head * groups
    query = [about(rng, batch, length, head * heads), about(rng, batch, new, wide), about(rng, batch, new, wide)]
    if rng.random() < 0.2:
        query, new = [about(rng, batch, length, head * heads + 2 * wide), None, None], length
    has_past, windowed = rng.random() < 0.6, rng.random() < 0.15
    past = few(rng, 0.1) + rng.choice((0, 4))
    caches = [about(rng, batch, groups, past, head) for _ in range(2)] if has_past else [None, None]
    total = rng.choice((past + new, past + new, past, length)) if has_past else new
    total = near(rng, total, 0.05)
    lengths = rng.choice(([batch], [batch], [batch], [batch, 1], [1, batch], [near(rng, batch, 0.5)]))
    if rng.random() < 0.8 and len(lengths) == 1:
        values = [max(near(rng, total - 1, 0.1), -1)] * lengths[0]
        counts = Arg(elements=values, dtype=I32, fed=True)
    else:
        counts = about(rng, *lengths, dtype=I32, high=max(total, 1), chance=0)
    inputs = [*query, *caches, counts, Arg(elements=rng.choice((total, [total])), dtype=I32, fed=True)]
    rows, columns = max(total, 0) + rng.choice((0, 1)), head // 2 // 8 * 8
    tables: list[Arg | None] = [about(rng, rows, columns)] * 2 if rng.random() < 0.3 else [None, None]
    where = about(rng, batch, length, dtype=TensorProto.INT64, high=max(total - length, 1), chance=0.1)
    scores = about(rng, rng.choice((batch, 1)), rng.choice((heads, 1)), length, max(total, 0))
    optional = [item if rng.random() < 0.2 else None for item in (where, scores, about(rng, heads))]
    attributes = {"num_heads": heads, "kv_num_heads": groups} | subset(
        rng,
        {"do_rotary": [0, 1, 2], "causal": [0, 1, 2], "smooth_softmax": [1], "softcap": [1.0], "qk_output": [1]},
        0.1,
    )
    if windowed:
        attributes |= {"sliding_window_cache": rng.choice((1, 1, 1, 0, 2)), "local_window_size": rng.choice((2, 3, 0))}
    outputs = rng.choice((1, 2, 3)) if rng.random() < 0.1 else rng.choice((3, 4))
    return Case(
        "GroupQueryAttention", [*inputs, *tables, *optional], attributes, outputs, domain="com.microsoft", opset=1
    )


GRIDS = {
    "GroupQueryAttention": group_query_attention,
    "Attention": attention,
    "MultiHeadAttention": multi_head_attention,
    "DecoderMaskedMultiHeadAttention": partial(multi_head_attention, decoder=True),
}
