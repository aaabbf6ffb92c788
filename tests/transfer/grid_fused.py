"""Grids of the fused operators that onnxruntime's optimiser writes."""

from __future__ import annotations

import random
from functools import partial

from onnx import TensorProto

from tests.transfer.grid import subset
from tests.transfer.grid_layers import near
from tests.transfer.harness import Arg, Case

I32, I64, U8 = TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8


def few(rng: random.Random, chance: float = 0.1) -> int:
    """A small size, seldom 0."""
    return 0 if rng.random() < chance else rng.choice((1, 2, 3))


def about(rng: random.Random, *dims: int, dtype: int = TensorProto.FLOAT, chance: float = 0.02, high: int = 10) -> Arg:
    """An input of nearly these dims."""
    return Arg([near(rng, dim, chance) for dim in dims], dtype, high=high)


def attention(rng: random.Random, *, quantised: bool = False) -> Case:
    heads, head = rng.choice((1, 2, 3)), rng.choice((1, 2, 4))
    batch, length, features = few(rng, 0.04), few(rng), few(rng)
    hidden = near(rng, heads * head, 0.05)
    columns, values, attributes = 3 * hidden, hidden, subset(rng, {"unidirectional": [0, 1], "scale": [0.5]}, 0.2)
    if rng.random() < 0.2 and not quantised:
        values = near(rng, heads * rng.choice((head, 1, 3)), 0.1)
        columns = 2 * hidden + values
        attributes["qkv_hidden_sizes"] = [hidden, hidden, values]
    has_past = rng.random() < 0.4
    past = few(rng, 0.2) if has_past else 0
    total = past + length
    masks = (
        *([batch], [batch, total], [2 * batch], [3 * batch + 2], [batch, 1], [1, 1], [batch, length, total]),
        *([near(rng, batch, 0.5)], [batch, near(rng, total, 0.5)], [batch, length], [batch, 1, total, total]),
    )
    shape, lengths = rng.choice(masks), [near(rng, length, 0.2) - rng.choice((0, 0, 0, 1))] * batch
    mask: Arg | None = Arg(shape, I32, high=max(total, 1))
    if len(shape) == 1:
        mask = Arg(elements=rng.choice((lengths, lengths, lengths * 2)), dtype=I32, fed=True)
    mask = mask if rng.random() < 0.5 else None
    cache = about(rng, 2, batch, heads, past, hidden // heads) if has_past else None
    outputs = near(rng, 1 + has_past, 0.04) or 1
    kind = U8 if quantised else TensorProto.FLOAT
    query, weights = about(rng, batch, length, features, dtype=kind), about(rng, features, columns, dtype=kind)
    bias = about(rng, columns)
    if rng.random() < 0.2 and features and columns:
        weights = Arg(elements=[[1] * columns] * features, dtype=kind)
    attributes["num_heads"] = heads
    if not quantised:
        scores = about(rng, rng.choice((batch, 1)), rng.choice((heads, 1)), length, total)
        optional = [bias if rng.random() < 0.8 else None, mask, cache]
        optional.append(scores if rng.random() < (0.05 if has_past else 0.3) else None)
        return Case(
            "Attention", [query, weights, *optional], attributes, min(outputs, 2), domain="com.microsoft", opset=1
        )
    one = [Arg(rng.choice(([], [1], [near(rng, 1, 0.1)])), dtype) for dtype in (TensorProto.FLOAT, U8)]
    each = [Arg(rng.choice(([], [1], [columns], [near(rng, columns)])), dtype) for dtype in (TensorProto.FLOAT, U8)]
    inputs = [query, weights, bias, one[0], each[0], mask, one[1], each[1], cache]
    return Case("QAttention", inputs, attributes, min(outputs, 2), domain="com.microsoft", opset=1)


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
        more = subset(rng, {"unidirectional": [0, 1], "scale": [0.5]}, 0.2)
        attributes: dict[str, object] = {"num_heads": heads, **more}
        return Case("MultiHeadAttention", inputs, attributes, outputs, domain="com.microsoft", opset=1)
    width = Arg(elements=[beams if rng.random() < 0.9 else 2], dtype=I32, fed=True) if rng.random() < 0.3 else None
    inputs = [*query, *optional[1:3], *caches, width, optional[3], optional[0]]
    attributes = {"num_heads": heads, **({"past_present_share_buffer": 1} if shared else {})}
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
    query: list[Arg | None] = [about(rng, batch, length, head * heads)]
    query += [about(rng, batch, new, wide), about(rng, batch, new, wide)]
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


def linear_attention(rng: random.Random) -> Case:
    groups, head, value = rng.choice((1, 2, 4)), rng.choice((1, 2, 3)), rng.choice((1, 2))
    heads = rng.choice((1, 2, 4, 4)) if rng.random() < 0.9 else 3
    batch, length, keys = few(rng), few(rng), rng.choice((1, groups, groups, 2)) * head
    tokens = [about(rng, batch, length, size) for size in (heads * head, keys, groups * value)]
    state = about(rng, batch, groups, head, value) if rng.random() < 0.3 else None
    gates = [
        about(rng, batch, length, rng.choice((groups, most))) if rng.random() < 0.8 else None
        for most in (groups * head, 1)
    ]
    attributes = {"q_num_heads": heads, "kv_num_heads": groups} | subset(
        rng, {"update_rule": ["linear", "gated", "delta", "gated_delta"], "chunk_size": [0, 2]}, 0.7
    )
    return Case("LinearAttention", [*tokens, state, *gates], attributes, 2, domain="com.microsoft", opset=1)


def n_gram_repeat_block(rng: random.Random) -> Case:
    batch, length, size = few(rng), few(rng), rng.choice((1, 2, 3))
    words = about(rng, near(rng, batch), few(rng, 0.3))
    inputs = [Arg([batch, length], I64, high=4), words]
    return Case("NGramRepeatBlock", inputs, {"ngram_size": size}, domain="com.microsoft", opset=1)


def bifurcation_detector(rng: random.Random) -> Case:
    source, start = few(rng), rng.randint(-1, 4)
    known = Arg(elements=rng.choice((start, [start])), dtype=I64, fed=True)
    index = known if rng.random() < 0.8 else Arg(rng.choice(([], [1], [1, 1], [2])), I64, high=3)
    predicted = Arg([max(near(rng, source + 1 - start, 0.3), 0)], I64) if rng.random() < 0.8 else None
    inputs = [Arg([source], I64), Arg([few(rng)], I64), index, predicted]
    return Case("BifurcationDetector", inputs, {}, 2, domain="com.microsoft", opset=1)


def dynamic_time_warping(rng: random.Random) -> Case:
    shape = [few(rng, 0.3) for _ in range(rng.choice((2, 2, 3, 3, 1, 4)))]
    costs = Arg([1, *shape[1:]] if len(shape) == 3 and rng.random() < 0.8 else shape)
    return Case("DynamicTimeWarping", [costs], domain="com.microsoft", opset=1)


def mixture_of_experts(rng: random.Random) -> Case:
    experts, hidden, inner = few(rng, 0.05), few(rng, 0.05), few(rng, 0.05)
    lead = [few(rng) for _ in range(rng.choice((1, 1, 2)))]
    activation = rng.choice(("relu", "gelu", "silu", "identity", "swiglu", "swiglu", "odd"))
    wide = 2 * inner if activation == "swiglu" else inner
    turn = rng.choice((1, 1, -1))
    layers = [about(rng, experts, *(wide, hidden)[::turn]), about(rng, experts, wide)]
    layers += [about(rng, experts, *(hidden, inner)[::turn]), about(rng, experts, hidden)]
    tokens = lead[0] if len(lead) == 1 else lead[0] * lead[1]
    inputs: list[Arg | None] = [about(rng, *lead, hidden), about(rng, tokens, experts), *layers]
    inputs[3], inputs[5] = (item if rng.random() < 0.5 else None for item in (inputs[3], inputs[5]))
    attributes = {"activation_type": activation, "k": rng.choice((1, 1, 1, 2, 2, 3, 0))} | subset(
        rng, {"use_sparse_mixer": [0, 1], "swiglu_fusion": [1, 1, 1, 1, 0, 2], "normalize_routing_weights": [1]}, 0.5
    )
    return Case("MoE", inputs, attributes, domain="com.microsoft", opset=1)


def offsets(rng: random.Random, tokens: int, rows: int) -> Arg:
    """Offsets of rows, at times wrong ones."""
    cuts = sorted(rng.randint(0, tokens) for _ in range(rows - 1))
    found = [0, *cuts, near(rng, tokens, 0.05)] if rows else [0]
    return Arg(elements=found, dtype=I32, fed=rng.random() < 0.5)


def n_gram_hash_mapping(rng: random.Random, *, varying: bool = False) -> Case:
    longest, heads, rows, tokens = rng.choice((2, 2, 3, 1)), rng.choice((1, 2)), few(rng, 0.03), few(rng) + 1
    count = max((longest - 1) * heads, 1)
    lead = [tokens] if varying else [rows, tokens]
    vocabulary = Arg(elements=[near(rng, 5) if rng.random() < 0.95 else 0] * near(rng, count, 0.03), dtype=I64)
    inputs: list[Arg | None] = [Arg(lead, I64), about(rng, longest + rng.choice((0, 1)), dtype=I64), vocabulary]
    optional = [
        *(about(rng, rows, longest - 1, dtype=I64), about(rng, count, dtype=I64)),
        *(Arg([], I64), about(rng, *lead, dtype=I32)),
    ]
    inputs += [offsets(rng, tokens, rows)] if varying else []
    inputs += [item if rng.random() < 0.4 else None for item in optional]
    attributes = {"max_ngram_size": longest, "n_head_per_ngram": heads, "pad_id": 0}
    outputs = rng.choice((1, 2))
    if varying:
        room = rng.choice((0, 0, 2))
        counts = about(rng, rows, dtype=I32) if room or rng.random() < 0.05 else None
        inputs += [about(rng, rows, longest - 1, dtype=I32) if rng.random() < 0.3 else None, counts]
        attributes["state_update_capacity"], outputs = room, rng.choice((1, 2, 2, 3, 4))
    name = "VarlenNGramHashMapping" if varying else "NGramHashMapping"
    return Case(name, inputs, attributes, outputs, domain="com.microsoft", opset=1)


def varlen_causal_conv(rng: random.Random) -> Case:
    rows, tokens, channels, kernel = few(rng, 0.03), few(rng) + 1, few(rng, 0.05), few(rng, 0.05)
    room, dilation = rng.choice((0, 0, 2)), rng.choice((1, 1, 2))
    state = about(rng, rows, channels, max(kernel - 1, 0) * dilation)
    counts = about(rng, rows, dtype=I32) if room or rng.random() < 0.05 else None
    bias = about(rng, channels) if rng.random() < 0.5 else None
    inputs: list[Arg | None] = [about(rng, tokens, channels), about(rng, channels, 1, kernel)]
    attributes = {"dilation": dilation, "state_update_capacity": room} | subset(
        rng, {"activation": ["silu", "swish", "none", "odd"]}, 0.5
    )
    outputs = rng.choice((2, 3))
    inputs += [offsets(rng, tokens, rows), bias, state, counts]
    return Case("VarlenCausalConvWithState", inputs, attributes, outputs, domain="com.microsoft", opset=1)


def moe_group_router(rng: random.Random) -> Case:
    groups, lead = rng.choice((1, 2, 3)), [few(rng) for _ in range(rng.choice((1, 1, 2, 0)))]
    experts = near(rng, groups * rng.choice((1, 2)), 0.1)
    bias = Arg(rng.choice(([experts], [experts, 1], [1, experts], [near(rng, experts, 0.5)])))
    attributes = {"n_group": groups, "topk_group": rng.choice((1, 1, 2)), "top_k": rng.choice((1, 1, 2, 3))}
    attributes |= {"group_topk": rng.choice((1, 2, 0))} if rng.random() < 0.3 else {}
    outputs = rng.choice((1, 1, 1, 2, 3))
    return Case("MoEGroupRouter", [Arg([*lead, experts]), bias], attributes, outputs, domain="com.microsoft", opset=1)


GRIDS = {
    "NGramHashMapping": n_gram_hash_mapping,
    "VarlenNGramHashMapping": partial(n_gram_hash_mapping, varying=True),
    "VarlenCausalConvWithState": varlen_causal_conv,
    "MoEGroupRouter": moe_group_router,
    "MoE": mixture_of_experts,
    "LinearAttention": linear_attention,
    "NGramRepeatBlock": n_gram_repeat_block,
    "BifurcationDetector": bifurcation_detector,
    "DynamicTimeWarping": dynamic_time_warping,
    "GroupQueryAttention": group_query_attention,
    "Attention": attention,
    "QAttention": partial(attention, quantised=True),
    "MultiHeadAttention": multi_head_attention,
    "DecoderMaskedMultiHeadAttention": partial(multi_head_attention, decoder=True),
}
