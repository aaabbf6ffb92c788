"""Networks that read and listen: what they demand of lengths."""

from __future__ import annotations

from typing import Any

from onnx import ModelProto

from tests.absint.questions.contracts.net import BOOL, INT64, Net

HEADS, HEAD = 2, 4
HIDDEN = HEADS * HEAD


def heads(net: Net, name: str, x: str) -> str:
    """(batch, seq, hidden) -> (batch, heads, seq, head)."""
    split = net.add("Reshape", f"{name}.split", net.linear(name, x, HIDDEN, HIDDEN), net.constant([0, 0, HEADS, HEAD]))
    return str(net.add("Transpose", f"{name}.heads", split, perm=[0, 2, 1, 3]))


def attention(net: Net, q: str, k: str, v: str, *masks: str) -> str:
    scores = net.add("MatMul", "scores", q, net.add("Transpose", "k.turned", k, perm=[0, 1, 3, 2]))
    for number, mask in enumerate(masks):
        scores = net.add("Add", f"mask{number}.add", scores, mask)
    mixed = net.add("MatMul", "mixed", net.add("Softmax", "softmax", scores), v)
    joined = net.add("Transpose", "joined", mixed, perm=[0, 2, 1, 3])
    return str(net.add("Reshape", "merged", joined, net.constant([0, 0, HIDDEN])))


def bert(positions: str, table: int = 16) -> ModelProto:
    """Self-attention over embeddings with a table of positions, sliced or gathered by a Range."""
    net = Net()
    ids, mask = net.input("ids", "batch", "seq", dtype=INT64), net.input("mask", "batch", "seq")
    x = net.add("Gather", "words", net.weight(30, HIDDEN), ids)
    length = net.size("length", ids, 1)
    if positions == "slice":
        zero = net.constant([0])
        part = net.add("Slice", "positions", net.weight(table, HIDDEN), zero, length, zero)
    else:
        end = net.add("Squeeze", "end", length)
        steps = net.add("Range", "range", net.constant(0), end, net.constant(1))
        part = net.add("Gather", "positions", net.weight(table, HIDDEN), steps)
    x = net.add("Add", "embeddings", x, part)
    wide = net.add("Unsqueeze", "mask.wide", mask, net.constant([1, 2]))
    y = attention(net, heads(net, "q", x), heads(net, "k", x), heads(net, "v", x), wide)
    return net.model(net.add("Add", "residual", x, y))


def decoder() -> ModelProto:
    """One step with a cache of keys and values, and a mask over all positions."""
    net = Net()
    x = net.input("x", "batch", "seq", HIDDEN)
    cache = [net.input(f"past.{name}", "batch", HEADS, "past", HEAD) for name in ("key", "value")]
    mask = net.input("mask", "batch", "total")
    k = net.add("Concat", "key", cache[0], heads(net, "k", x), axis=2)
    v = net.add("Concat", "value", cache[1], heads(net, "v", x), axis=2)
    wide = net.add("Unsqueeze", "mask.wide", mask, net.constant([1, 2]))
    y = attention(net, heads(net, "q", x), k, v, wide)
    return net.model(net.add("Add", "residual", x, y), k, v)


def causal_decoder(table: int = 12) -> ModelProto:
    """A cache, and a causal mask cut out of a square table: rows past..past+seq, columns 0..past+seq."""
    net = Net()
    x = net.input("x", "batch", "seq", HIDDEN)
    cache = [net.input(f"past.{name}", "batch", HEADS, "past", HEAD) for name in ("key", "value")]
    k = net.add("Concat", "key", cache[0], heads(net, "k", x), axis=2)
    v = net.add("Concat", "value", cache[1], heads(net, "v", x), axis=2)
    past, total = net.size("past.length", cache[0], 2), net.size("total.length", k, 2)
    starts, ends = (net.add("Concat", n, a, b, axis=0) for n, a, b in (
        ("starts", past, net.constant([0])), ("ends", total, total)))  # fmt: skip
    causal = net.add("Slice", "causal", net.weight(1, 1, table, table), starts, ends, net.constant([2, 3]))
    y = attention(net, heads(net, "q", x), k, v, causal)
    return net.model(net.add("Add", "residual", x, y), k, v)


def gathered_mask(flat: bool, table: int = 12) -> ModelProto:
    """A decoder that picks its mask by position, as exporters write it, and its positions from a table.

    The mask is indexed by pairs of batch and position, or flattened and indexed by batch*total + position.
    """
    net = Net()
    x, past = net.input("x", "batch", "seq", HIDDEN), net.input("past", "batch", HEADS, "past", HEAD)
    mask = net.input("mask", "batch", "total")
    zero, one = net.constant(0), net.constant(1)
    batch, before, new = (
        net.add("Squeeze", f"{name}.count", net.size(f"{name}.size", value, axis))
        for name, value, axis in (("batch", mask, 0), ("past", past, 2), ("seq", x, 1))
    )
    end = net.add("Add", "end", before, new)
    positions = net.add("Range", "positions", before, end, one)
    x = net.add("Add", "embedded", x, net.add("Gather", "embeddings", net.weight(table, HIDDEN), positions))
    rows = net.add("Unsqueeze", "rows", net.add("Range", "batches", zero, batch, one), net.constant([1]))
    columns = net.add("Unsqueeze", "columns", net.add("Range", "keys", zero, end, one), net.constant([0]))
    if flat:
        width = net.size("total.size", mask, 1)
        places = net.add("Add", "places", net.add("Mul", "starts", rows, width), columns)
        picked = net.add("Gather", "picked", net.add("Reshape", "flat", mask, net.constant([-1])), places)
    else:
        ends = net.add("Unsqueeze", "end.vector", end, net.constant([0]))
        shape = net.add("Concat", "pairs.shape", net.size("batch.vector", mask, 0), ends, axis=0)
        last = net.constant([-1])
        pair = [
            net.add("Unsqueeze", f"{name}.column", net.add("Expand", f"{name}.wide", value, shape), last)
            for name, value in (("row", rows), ("key", columns))
        ]
        picked = net.add("GatherND", "picked", mask, net.add("Concat", "pairs", *pair, axis=2))
    key = net.add("Concat", "key", past, heads(net, "k", x), axis=2)
    value = net.add("Concat", "value", past, heads(net, "v", x), axis=2)
    wide = net.add("Unsqueeze", "mask.wide", picked, net.constant([1, 2]))
    return net.model(attention(net, heads(net, "q", x), key, value, wide))


def cross_attention() -> ModelProto:
    """Queries over one length, keys and values over two declared lengths that must agree."""
    net = Net()
    x = net.input("x", "batch", "seq", HIDDEN)
    keys, values = net.input("keys", "batch", "K", HIDDEN), net.input("values", "batch", "V", HIDDEN)
    return net.model(attention(net, heads(net, "q", x), heads(net, "k", keys), heads(net, "v", values)))


def head_split(count: int = 4) -> ModelProto:
    """Hidden units divided among heads by a target with -1."""
    net = Net()
    x = net.input("x", "batch", "seq", "hidden")
    return net.model(net.add("Reshape", "split", x, net.constant([0, 0, count, -1])))


def head_split_by_size(count: int = 4) -> ModelProto:
    """Hidden units divided among heads by arithmetic on the size."""
    net = Net()
    x = net.input("x", "batch", "seq", "hidden")
    batch, seq, hidden = (net.size(name, x, axis) for axis, name in enumerate(("b", "s", "h")))
    return net.model(net.reshape("split", x, batch, seq, count, net.number("head", "Div", hidden, count)))


def split_qkv() -> ModelProto:
    """One projection cut into three equal parts, of a width that the declaration leaves open."""
    net = Net(opset=13)
    q, k, v = net.add("Split", "split", net.input("qkv", "batch", "seq", "width"), outputs=3, axis=2)
    return net.model(net.add("Add", "sum", net.add("Mul", "product", q, k), v))


def gated() -> ModelProto:
    """A gated unit: two halves multiplied. The last part of a Split by number may be smaller."""
    net = Net()
    a, b = net.add("Split", "split", net.input("x", "batch", "width"), outputs=2, axis=1, num_outputs=2)
    return net.model(net.add("Mul", "gate", a, net.add("Sigmoid", "sigmoid", b)))


def rotary() -> ModelProto:
    """Two halves of each head, turned against tables of at most 10 positions."""
    net = Net()
    x = net.input("x", "batch", "seq", "head")
    zero, axis = net.constant([0]), net.constant([2])
    half = net.number("half", "Div", net.size("size", x, 2), 2)
    left = net.add("Slice", "left", x, zero, half, axis)
    right = net.add("Slice", "right", x, half, net.constant([2**63 - 1]), axis)
    turned = net.add("Concat", "turned", net.add("Neg", "negative", right), left, axis=2)
    table = net.add("Slice", "table", net.weight(10, 8), zero, net.size("length", x, 1), zero)
    return net.model(net.add("Mul", "rotate", turned, table))


def first_token(position: int = 0) -> ModelProto:
    """One position of the sequence."""
    net = Net()
    x = net.input("x", "batch", "seq", 4)
    return net.model(net.linear("pooler", net.add("Gather", "pick", x, net.constant(position), axis=1), 4, 2))


def lstm() -> ModelProto:
    """An LSTM whose initial state is an input of its own."""
    net = Net()
    x = net.input("x", "seq", "batch", 3)
    h, c = net.input("h", 1, "states", 4), net.input("c", 1, "cells", 4)
    outputs = net.add("LSTM", "lstm", x, net.weight(1, 16, 3), net.weight(1, 16, 4), "", "", h, c, outputs=3,
                      hidden_size=4)  # fmt: skip
    return net.model(*outputs)


def agreeing() -> ModelProto:
    """Two inputs whose inner sizes must agree."""
    net = Net()
    return net.model(net.add("MatMul", "product", net.input("a", "M", "K1"), net.input("b", "K2", "N")))


def bilinear() -> ModelProto:
    """Two inputs and a matrix between them."""
    net = Net()
    a, b = net.input("a", "N", "I"), net.input("b", "M", "J")
    return net.model(net.add("Einsum", "score", a, net.weight(3, 5), b, equation="ni,ij,mj->nm"))


def added() -> ModelProto:
    """Two inputs that broadcast."""
    net = Net()
    return net.model(net.add("Add", "sum", net.input("a", "N", "M"), net.input("b", "P", "Q")))


def bias() -> ModelProto:
    """A width that a bias and a product fix."""
    net = Net()
    x = net.add("Add", "bias", net.input("x", "batch", "seq", "d_model"), net.weight(8))
    return net.model(net.add("MatMul", "product", x, net.weight(8, 4)))


def bias_alone() -> ModelProto:
    """A width that a bias allows to be 1."""
    net = Net()
    return net.model(net.add("Add", "bias", net.input("x", "batch", "width"), net.weight(8)))


def audio(stride: int = 8) -> ModelProto:
    """Samples padded to a multiple of the frame, then framed by Reshape."""
    net = Net()
    x = net.input("samples", "batch", "T")
    rest = net.number("rest", "Mod", net.number("negative", "Neg", net.size("length", x, 1)), stride)
    zero = net.constant([0])
    padded = net.add("Pad", "pad", x, net.add("Concat", "pads", zero, zero, zero, rest, axis=0))
    frames = net.add("Reshape", "frames", padded, net.constant([0, -1, stride]))
    return net.model(net.linear("features", frames, stride, 4))


def audio_convs() -> ModelProto:
    """Strided convolutions over raw samples."""
    net = Net()
    x = net.input("samples", "batch", 1, "T")
    for number, (kernel, stride) in enumerate([(10, 5), (3, 2), (3, 2), (2, 2)]):
        x = net.conv(f"conv{number}", x, 1 if number == 0 else 2, 2, kernel, stride=stride, pad=0, axes=1)
    return net.model(x)


def frames(size: int = 8, hop: int = 4) -> ModelProto:
    """Overlapping halves of frames, stacked: samples in whole hops."""
    net = Net()
    x = net.input("samples", "batch", "T")
    hops = net.add("Reshape", "hops", x, net.constant([0, -1, hop]))
    axis, step = net.constant([1]), net.constant([1])
    left = net.add("Slice", "left", hops, net.constant([0]), net.constant([-1]), axis, step)
    right = net.add("Slice", "right", hops, net.constant([1]), net.constant([2**63 - 1]), axis, step)
    both = net.add("Concat", "frames", left, right, axis=2)
    return net.model(net.linear("spectrum", both, size, 3))


def masked() -> ModelProto:
    """A choice by a mask of its own length."""
    net = Net()
    x, mask = net.input("x", "batch", "seq"), net.input("mask", "batch", "L", dtype=BOOL)
    return net.model(net.add("Where", "where", mask, x, net.constant(0, "float32")))


def expanded() -> ModelProto:
    """A state for each row of another input."""
    net = Net()
    x, state = net.input("x", "N", 4), net.input("state", "M", 4)
    return net.model(net.add("Expand", "expand", state, net.add("Shape", "shape", x)))


def stacked() -> ModelProto:
    """Two sequences joined along time: all other sizes agree."""
    net = Net()
    a, b = net.input("a", "B1", "T1", 4), net.input("b", "B2", "T2", 4)
    return net.model(net.add("Concat", "join", a, b, axis=1))


def by_length(limit: int = 8) -> ModelProto:
    """A branch for long inputs that needs an even length."""
    from onnx import helper

    net = Net()
    x = net.input("x", "seq", 2)
    length = net.add("Squeeze", "length", net.size("size", x, 0))
    is_long = net.add("Greater", "is_long", length, net.constant(limit))
    pairs = helper.make_node("Reshape", ["x", net.constant([-1, 4])], ["pairs"], "pairs")
    flat = helper.make_node("Reshape", ["x", net.constant([-1, 2])], ["flat"], "flat")
    branches: dict[str, Any] = {
        "then_branch": helper.make_graph([pairs], "long", [], [helper.make_empty_tensor_value_info("pairs")]),
        "else_branch": helper.make_graph([flat], "short", [], [helper.make_empty_tensor_value_info("flat")]),
    }
    return net.model(net.add("If", "if", is_long, **branches))
