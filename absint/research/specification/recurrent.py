"""Layers in time (RNN, GRU, LSTM), layers with a state from one call to the next, attention with a projection.

X is (time, batch, input), or (batch, time, input) with layout 1.
"""

from collections.abc import Sequence
from typing import Final

from absint.research.specification.formulas import both, either, equal, implies
from absint.research.specification.node import Defined, Node, Output, tensor
from absint.research.specification.specs import Instance, contributed, instances, specifies
from absint.research.specification.terms import Int, Term, product, term

GATES: Final = {"RNN": 1, "GRU": 3, "LSTM": 4}
ACTIVATIONS: Final = {"RNN": 1, "GRU": 2, "LSTM": 3}


def _grid(operator: str) -> list[Instance]:
    rows, outputs = 4 * GATES[operator], 3 if operator == "LSTM" else 2
    w = f"1 {rows} I, 1 {rows} 4"
    more = f" | T B I, {w}, -, -, 1 C 4, 1 K H | T B I, {w}, -, -, -, -, D P" if operator == "LSTM" else ""
    return instances(
        f"T B I, {w}; direction=other | T B I, D {rows} J, E {rows} 4 | T B I, 1 G I, 1 K H; hidden_size=2 | "
        f"T B I, {w}, D {2 * rows}; direction=reverse | T B I, {w}, 1 F | "
        f"T B I, D {rows} I, E {rows} 4; direction=bidirectional | "
        f"T B I, 2 {rows} I, 2 {rows} 4, -, -, D C H; direction=bidirectional | "
        f"T B I, {w}, -, int32=1: S, 1 C 4 | B T I, {w}, -, int32=1: S, C 1 4; layout=1 first=14{more}",
        outputs=outputs,
        hidden_size=4,
    )


@specifies("RNN", _grid("RNN"))
@specifies("GRU", _grid("GRU"))
@specifies("LSTM", _grid("LSTM"))
def recurrent(node: Node) -> list[Output]:
    """Y (time, directions, batch, hidden), and the last states (directions, batch, hidden)."""
    x = node.input(0)
    gates, hidden = GATES[node.operator], node.integer("hidden_size")
    way = node.text("direction", "forward")
    node.demand(way in ("forward", "reverse", "bidirectional"), "the direction must be one of three")
    directions = 2 if way == "bidirectional" else 1
    names = node.attributes.get("activations")
    if isinstance(names, Sequence):
        node.demand(len(names) == directions * ACTIVATIONS[node.operator], "there must be an activation for each gate")
    batch_first = node.integer("layout") == 1
    steps, batch, width = (x.dims[1], x.dims[0], x.dims[2]) if batch_first else x.dims
    node.needs_elements(x.dims, "onnxruntime may fail over an empty sequence")
    carried = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    states = (5, 6) if node.operator == "LSTM" else (5,)
    wanted: dict[int, tuple[Int, ...]] = {
        1: (directions, gates * hidden, width),
        2: (directions, gates * hidden, hidden),
        3: (directions, 2 * gates * hidden),
        4: (batch,),
        **dict.fromkeys(states, carried),
        7: (directions, 3 * hidden),
    }
    node.fit(wanted, "each input must fit directions, gates, batch and hidden values")
    for place in (4, *states):
        if (given := node.optional(place)) is not None:
            for size, fitting in zip(given.dims, wanted[place], strict=True):
                node.limits(equal(size, fitting), "onnxruntime may read beyond lengths and states that do not fit")
    every: list[Int] = [batch, steps, directions, hidden] if batch_first else [steps, directions, batch, hidden]
    return [tensor(every), *(tensor(carried) for _ in states)]


# Layers with a state from one call to the next; attention with a projection


@specifies(
    "CausalConvWithState",
    "B C L, D 1 K; outputs=2 | B C L, D 1 3, E, A F P; outputs=2 | B C L, C U 2, -, B C P; outputs=2",
    first=27,
)
def causal_convolution(node: Node) -> list[Output]:
    """The shape of the input; the last k - 1 positions of each channel."""
    x, weight, bias, past = node.input(0), node.input(1), node.optional(2), node.optional(3)
    batch, channels, _ = x.dims
    kernel = weight.dims[2]
    node.limits(channels >= 1, "onnx.reference needs a channel")
    node.requires(equal(weight.dims[0], channels), "each channel must have a kernel")
    node.requires(equal(weight.dims[1], 1), "a kernel must be of one channel")
    node.requires(kernel >= 1, "a kernel must have an element")
    if bias is not None:
        node.agree(bias.dims, [channels], "the bias must fit")
    if past is not None:
        node.agree(past.dims, [batch, channels, kernel - 1], "the state must fit")
    return [tensor(x.dims), tensor([batch, channels, kernel - 1])]


@contributed(
    "CausalConvWithState",
    "B C L, D 1 K; outputs=2 | B C L, D 1 3, E, A F P; outputs=2 | B C L, C U 2, -, B C P; outputs=2 activation=silu",
)
def short_convolution(node: Node) -> list[Output]:
    """As ONNX's operator of this name, which came from here."""
    for name in ("channels_last", "state_window", "state_update_capacity"):
        if node.integer(name):
            raise LookupError("channels before positions and one state are specified")
    if node.integer("ndim", 1) != 1 or node.integer("dilation", 1) != 1 or "dilations" in node.attributes:
        raise LookupError("one axis without gaps is specified")
    return causal_convolution(node)[: node.outputs]


@contributed(
    "VarlenCausalConvWithState",
    "N C, D 1 3, int32: = 0 n, -, B E P; outputs=2 | N 4, 4 1 2, int32: = 0 n, F, 1 4 1; outputs=2",
)
def convolution_of_rows(node: Node) -> list[Output]:
    """As CausalConvWithState, of rows one after the other; input 2 has the beginning of each, and the end."""
    x, weight, bias = node.input(0), node.input(1), node.optional(3)
    past, places = node.input(4), node.elements(2)
    if node.integer("state_update_capacity") or node.outputs > 2 or any(a is not None for a in node.inputs[5:]):
        raise LookupError("a form without updates is specified")
    if node.integer("dilation", 1) != 1 or "dilations" in node.attributes:
        raise LookupError("kernels without gaps are specified")
    tokens, channels = x.dims
    batch, kernel = past.dims[0], weight.dims[2]
    node.agree(weight.dims[:2], [channels, term(1)], "the weight must fit")
    node.requires(kernel >= 1, "a kernel must have an element")
    if bias is not None:
        node.agree(bias.dims, [channels], "the bias must fit")
    node.agree(past.dims, [batch, channels, kernel - 1], "the state must fit")
    node.fit({2: [batch + 1]}, "each row must have a state")
    node.requires(tokens >= batch, "every row must have a token")
    if places is not None:
        node.requires(equal(places[0], 0), "the first row begins at the first token")
        node.requires(equal(places[-1], tokens), "the rows must cover the tokens")
    node.limits(channels >= 1, "onnxruntime needs a channel")
    return [tensor(x.dims), tensor(past.dims)][: node.outputs]


GATED: Final = {"q_num_heads": 4, "kv_num_heads": 2}


@specifies(
    "LinearAttention",
    instances(
        "B S Q, C T K, D U V; update_rule=linear | B S 4, B S 2, B S 6, C H D V; update_rule=linear | "
        "B S 8, B S 4, B S V, -, C T D; update_rule=gated | B S 8, B S 4, B S 2, -, -, C T D; update_rule=delta | "
        "B S 8, B S 4, B S 2, -, B S 2, B S 1 | B S 8, B S 4, B S 2, -, B S 2; update_rule=delta | "
        "B S 8, B S 4, B S 2, -, B S 2; update_rule=gated_delta",
        outputs=2,
        **GATED,
    ),
    first=27,
)
def linear_attention(node: Node) -> list[Output]:
    """(batch, steps, query heads * size of a value); a matrix (size of a key, of a value) for each key head."""
    q, k, v = (node.input(place) for place in range(3))
    heads, shared = node.integer("q_num_heads"), node.integer("kv_num_heads")
    node.demand(min(heads, shared) >= 1, "the heads must be positive")
    node.demand(heads % shared == 0, "query heads must be a multiple of key heads")
    ways = node.text("update_rule", "gated_delta").split("_")
    for place, way in ((4, "gated"), (5, "delta")):
        node.demand((way in ways) is (node.optional(place) is not None), f"input {place} is there for {way} alone")
    for other in (k, v):
        node.agree(other.dims[:2], q.dims[:2], "batches and steps must agree")
    for x, count in ((q, heads), (k, shared), (v, shared)):
        node.requires(equal(x.dims[2] % count, 0), "the heads must share the last axis")
    key, value = k.dims[2] // shared, v.dims[2] // shared
    node.requires(equal(q.dims[2] // heads, key), "heads of queries and keys must have one size")
    node.needs_elements((*q.dims, *k.dims, *v.dims), "onnxruntime needs axes that are not empty")
    past, decay, rate = (node.optional(place) for place in (3, 4, 5))
    if past is not None:
        node.agree(past.dims, [q.dims[0], shared, key, value], "the state must fit")
    for gate, wide in ((decay, k.dims[2]), (rate, term(1))):
        if gate is not None:
            node.agree(gate.dims[:2], q.dims[:2], "a gate must fit")
            fits = either(equal(gate.dims[2], shared), equal(gate.dims[2], wide))
            node.requires(fits, "a gate must have a number for each head")
    width = Defined(lambda q: equal(q * shared, v.dims[2] * heads))
    return [tensor([*q.dims[:2], width]), tensor([q.dims[0], shared, key, value])]


@contributed(
    "LinearAttention",
    instances(
        "B S 16, C T 8, D U 12 | B S 16, B S K, B S V | B S 8, B S 16, B S 24; q_num_heads=2 kv_num_heads=4 | "
        "B S 16, B S 8, B S 12, C H D V",
        outputs=2,
        update_rule="linear",
        **GATED,
    ),
)
def plain_linear_attention(node: Node) -> list[Output]:
    """(batch, steps, most heads * size of a value); a matrix (size of a query, of a value) for each head of values."""
    q, k, v = (node.input(place) for place in range(3))
    heads, groups = node.integer("q_num_heads"), node.integer("kv_num_heads")
    if node.text("update_rule", "gated_delta") != "linear" or node.integer("state_window"):
        raise LookupError("attention without gates is specified")
    node.demand(min(heads, groups) >= 1, "the heads must be positive")
    node.demand(max(heads, groups) % min(heads, groups) == 0, "one number of heads must be a multiple of the other")
    for other in (k, v):
        node.agree(other.dims[:2], q.dims[:2], "batches and steps must agree")
    key, value = q.dims[2] // heads, v.dims[2] // groups
    node.requires(equal(q.dims[2] % heads, 0), "the heads must share the queries")
    node.requires(equal(v.dims[2] % groups, 0), "the heads must share the values")
    node.requires(key >= 1, "heads of queries must not be empty")
    node.requires(implies(key >= 1, equal(k.dims[2] % key, 0)), "heads of queries and keys must have one size")
    shared = both(k.dims[2] >= 1, equal(Term("%", (key * groups, k.dims[2])), 0))
    node.requires(shared, "heads of values must be a multiple of those of keys")
    node.needs_elements((*q.dims, *k.dims, *v.dims), "onnxruntime needs axes that are not empty")
    past, state = node.optional(3), [q.dims[0], term(groups), key, value]
    if past is not None:
        node.agree(past.dims, state, "the state must fit")
    return [tensor([*q.dims[:2], value * max(heads, groups)]), tensor(state)][: node.outputs]


@contributed(
    "Attention",
    "B S D, E W, V; num_heads=2 | B S D, E 12, 12; num_heads=2 | B S 4, 4 12, 12, int32=1: C; num_heads=2 | "
    "B S 4, 4 12, 12, -, 2 C 2 P H; num_heads=2 outputs=2",
)
def projected_attention(node: Node) -> list[Output]:
    """(batch, steps, hidden); keys and values of all steps by head, past ones first."""
    x, weights, past = node.input(0), node.input(1), node.optional(4)
    heads = node.integer("num_heads")
    if "qkv_hidden_sizes" in node.attributes:
        raise LookupError("queries, keys and values of one size are specified")
    batch, steps, features = x.dims
    node.requires(equal(weights.dims[0], features), "each feature must have a row")
    node.fit({2: weights.dims[1:]}, "each column must have a bias")
    node.requires(equal(weights.dims[1] % 3, 0), "the columns must hold queries, keys and values")
    hidden = weights.dims[1] // 3
    node.requires(equal(hidden % heads, 0), "the heads must share the hidden size")
    node.limits(product([*x.dims, *weights.dims]) >= 1, "onnxruntime may fail without elements")
    mask = node.optional(3)
    if mask is not None:
        if mask.rank != 1:
            raise LookupError("a mask of lengths is specified")
        (count,) = mask.dims
        forms = [equal(count, size) for size in (batch, batch * 2, batch * 3 + 2)]
        node.requires(either(*forms), "each row must have a length, two bounds, or offsets")
        node.limits(equal(count, batch), "onnxruntime may read beyond the lengths")
    every = steps
    if past is not None:
        node.agree(past.dims, [2, batch, heads, past.dims[3], hidden // heads], "past keys and values must fit")
        every = past.dims[3] + steps
    present = tensor([2, batch, heads, every, hidden // heads])
    return [tensor([batch, steps, hidden]), present][: node.outputs]
