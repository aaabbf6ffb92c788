"""Layers with a state: linear attention, gated delta networks, causal convolutions, attention around an LSTM.

Source: onnxruntime's operator documentation, its CPU kernels, and its shape inference.
B batch, S length, N tokens of rows without padding, H heads, d the size of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import divisible, eq, ge
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, const, product
from absint.lattices.value import Tensor
from absint.transfer import conditions
from absint.transfer.op import Op, as_size, of_dims
from absint.transfer.recurrent import DIRECTIONS, check_activations
from absint.transfer.rule import kernel, rule

UPDATE_RULES: Final = ("linear", "gated", "delta", "gated_delta")


def _windowed(op: Op) -> tuple[Dim, ...]:
    """The leading axis of a state that covers the last tokens."""
    window = op.integer("state_window", 0)
    op.reject("state_window must not be negative", unless=window >= 0, found=window)
    op.reject("onnxruntime's CPU kernel has no window of states", unless=not window, by="undocumented")
    return (const(window),) if window else ()


@kernel("LinearAttention", "query key value past_state decay beta -> output present_state")
def linear_attention(op: Op) -> Sequence[Tensor]:
    """Linear attention of packed heads: (B, S, most heads * value size), and a state for each head, (B, H, d, v)."""
    heads, groups = op.positive("q_num_heads"), op.positive("kv_num_heads")
    if max(heads, groups) % min(heads, groups):
        op.reject(f"q_num_heads and kv_num_heads must be multiples of each other, found {heads} and {groups}")
    batch, length, width = op.sizes("query", 3)
    keys, values = op.sizes("key", 3)[2], op.sizes("value", 3)[2]
    conditions.require_heads(op, "query", width, heads)
    conditions.require_heads(op, "value", values, groups)
    head, value_head = width // heads, values // groups
    op.require_dims("key", batch, length, keys)
    op.require_dims("value", batch, length, values)
    op.require(ge(head, 1) & divisible(keys, head), "keys must divide into heads of the query's size")
    shared = ge(keys, 1) & divisible(groups * head, keys)
    op.require(shared, "kv_num_heads must be a multiple of the heads of the keys")
    state = (*_windowed(op), batch, const(groups), head, value_head)
    op.require_dims("past_state", *state)
    rule = conditions.of_attribute(op, "update_rule", UPDATE_RULES, "gated_delta")
    for name, part, most in (("decay", "gated", groups * head), ("beta", "delta", const(1))):
        op.reject(f"update rule {rule} needs {name}", unless=part not in rule or op.has(name))
        forms = [(batch, length, const(groups)), (batch, length, most)]
        conditions.require_form(op, name, f"{name} must fit the heads of the keys", *forms)
    dtype = op.common_dtype("query", "key", "value")
    present = of_dims(op.dtype("past_state") if op.has("past_state") else dtype, *state)
    return of_dims(dtype, batch, length, value_head * max(heads, groups)), present


@kernel("LinearAttentionGate", "a[..., H] dt_bias decay_scale b -> decay[..., H] beta:b[..., H]")
def linear_attention_gate(op: Op, H: Dim) -> None:
    """Decay and update rate of each head: both in the shape of `a`, whose last axis is the heads."""
    op.require(ge(H, 1), "the last axis of a must not be empty")
    for name in ("dt_bias", "decay_scale"):
        op.require_equal(op.tensor(name).shape.size, H, f"{name} must have a number for each head")
    if op.wants(1):
        op.reject("beta needs input b, which is missing", unless=op.has("b"))
        conditions.require_like(op, "b", "a")


@kernel("""GatedDeltaNet: query key value cu_seqlens decay beta initial_state a_log dt_bias capture_count
    state_update_active -> output final_state state_update""")
def gated_delta_net(op: Op) -> Sequence[Tensor]:
    """Gated delta rule on tokens (..., H, d): (..., H, v), states (B, H, v, d), and their updates."""
    query, packed = op.tensor("query").shape, not op.has("key")
    op.reject("key and value must be given together", unless=op.has("key") == op.has("value"))
    op.reject("a packed query needs initial_state, which is missing", unless=op.has("initial_state") or not packed)
    batch, heads, value, key = op.sizes("initial_state", 4)
    if query.rank is not None and query.rank not in ((2, 3) if packed else (3, 4)):
        op.reject(f"query must have the axes (tokens, ...) or (batch, length, ...), found shape {query}")
    if query.is_top:
        op.may_fail("the inputs must fit together")
        return Tensor(op.dtype("query")), of_dims(DType.FLOAT, batch, heads, value, key), Tensor(DType.FLOAT)
    lead = query[: -1 if packed else -2]
    if packed:
        projected = query[-1] - heads * value
    else:
        key, (*_, heads, value) = query[-1], op.sizes("value", len(query))
        projected = 2 * query[-2] * key
        op.require_dims("key", *query)
        op.require_dims("value", *lead, heads, value)
    fits = divisible(projected, 2 * key) & divisible(2 * key * heads, projected)
    some = conditions.filled((*lead, heads, value, key, projected))
    op.require(some, "tokens and heads must not be empty")
    op.require(some & fits, "value must have a multiple of the heads of query")
    batch = _rows_of_tokens(op, lead, batch)
    op.require_dims("initial_state", batch, heads, value, key)
    _require_updates(op, lead, heads, key)
    capacity = conditions.require_captures(op, batch)
    op.reject("state_update_capacity must be at most 8", unless=capacity <= 8, found=capacity)
    op.require_dims("state_update_active", 1)
    changes = UNKNOWN_SIZE if packed else as_size(capacity * (heads + query[-2] * key + heads * value))
    if op.has("decay") and op.tensor("decay").shape.rank != len(lead) + 1:
        changes = UNKNOWN_SIZE
    states = of_dims(DType.FLOAT, batch, heads, value, key), of_dims(DType.FLOAT, batch, changes)
    return of_dims(op.dtype("query"), *lead, heads, value), *states


def _rows_of_tokens(op: Op, lead: Sequence[Dim], rows: Dim) -> Dim:
    """The number of rows: the first of two axes, or as many as the offsets or the states say."""
    if len(lead) == 2:
        op.reject("cu_seqlens needs one axis of tokens", unless=not op.has("cu_seqlens"))
        return conditions.first_known(lead[0], rows)
    if op.has("cu_seqlens"):
        return conditions.first_known(conditions.require_offsets(op, "cu_seqlens", lead[0]), rows)
    op.reject("one of cu_seqlens and initial_state must be given", unless=op.has("initial_state"))
    op.require(ge(rows, 1) & divisible(lead[0], rows), "the tokens must divide into rows")
    return rows


def _require_updates(op: Op, lead: Sequence[Dim], heads: Dim, key: Dim) -> None:
    """Require decay and rate as the rule takes them, and the parameters of their activations."""
    taken = conditions.of_attribute(op, "update_rule", UPDATE_RULES, "gated_delta")
    for name, part in (("decay", "gated"), ("beta", "delta")):
        if op.has(name) is not (part in taken):
            op.reject(f"update rule {taken} {'must have no' if op.has(name) else 'needs'} {name}")
        if op.has(name) and op.dtype(name) not in (DType.FLOAT, op.dtype("query")):
            op.may_fail(f"{name} must be of floats, or of the type of query")
    op.require_dims("beta", *lead, heads)
    conditions.require_form(op, "decay", "decay must fit the heads", (*lead, heads), (*lead, heads, key))
    conditions.of_attribute(op, "beta_activation", ("none", "sigmoid"), "none")
    op.reject("chunk_size must be positive", unless=op.integer("chunk_size", 1) >= 1, found=op.integer("chunk_size"))
    op.may_fail("gate_lower_bound must be negative", unless=op.number("gate_lower_bound", -5.0) < 0)
    activations = ("none", "softplus", "qwen", "sigmoid", "kda")
    active = conditions.of_attribute(op, "gate_activation", activations, "none") != "none"
    given = [name for name in ("a_log", "dt_bias") if op.has(name)]
    if not op.has("decay"):
        if active or given:
            op.may_fail("a_log and dt_bias may be refused where there is no decay")
    elif len(given) != 2 * active:
        op.reject("a_log and dt_bias must be given exactly if gate_activation is not none")
    else:
        decay = op.tensor("decay").shape
        if decay.is_top and active:
            op.may_fail("dt_bias must fit the heads")
        each = [(heads, key), (heads * key,)] if decay.is_top or len(decay) > len(lead) + 1 else []
        op.require_dims("a_log", heads)
        conditions.require_form(op, "dt_bias", "dt_bias must fit the heads", (heads,), *each)


def _carried(op: Op, kernel: Dim) -> Dim:
    """The number of positions before the first one that a causal convolution sees."""
    dilation = op.integer("dilation", 1)
    op.reject("dilation must be positive", unless=dilation >= 1, found=dilation)
    conditions.of_attribute(op, "activation", ("none", "silu", "swish"), "none")
    op.require(ge(kernel, 1), "the kernel must not be empty")
    return as_size((kernel - 1) * dilation)


@kernel("CausalConvWithState", "input weight bias past_state -> output present_state state_update")
def causal_conv_with_state(op: Op) -> Sequence[Tensor]:
    """Causal convolution of each channel: the shape of the input; the state has (kernel - 1) * dilation positions."""
    if op.wants(2) or any(op.integer(name, default) != default for name, default in _EXTENDED.items()):
        if (op.integer("channels_last", 0), op.integer("ndim", 1), op.integer("state_window", 0)) != (1, 1, 0):
            op.reject("attributes of other states and channels need channels_last=1, ndim=1 and no state_window")
        op.reject("onnxruntime's CPU kernel has no other states and channels", by="undocumented")
    return _causal_conv(op)


_EXTENDED: Final = {
    "state_update_capacity": 0, "state_length": 0, "state_channels_last": -1, "input_channels": 0,
    "input_channel_offset": 0,
}  # fmt: skip
"""Attributes that a device alone takes, with their defaults."""


def _causal_conv(op: Op) -> Sequence[Tensor]:
    op.require_given("input", "weight")
    axes, channels_last = op.integer("ndim", 1), op.flag("channels_last")
    if axes not in (1, 2, 3) or (channels_last and axes != 1):
        op.reject(f"ndim must be 1, 2 or 3, and 1 where the channels are last, found {axes}")
    op.reject("onnxruntime's CPU kernel has one spatial axis", unless=axes == 1, by="undocumented")
    window, x, dtype = _windowed(op), op.tensor("input").shape, op.common_dtype("input", "weight", "bias", "past_state")
    kernel = op.sizes("weight", axes + 2)[2:]
    carried = _carried(op, kernel[-1])
    if x.is_top:
        op.may_fail("weight, bias and past_state must fit the input")
        return Tensor(dtype), Tensor(dtype), Tensor(dtype)
    if len(x) < 3 or (not channels_last and len(x) != axes + 2):
        op.reject(f"input must have a batch, channels and {axes} spatial axes, found shape {x}")
    taken, length = op.integer("input_channels", 0), op.integer("state_length", 0)
    if taken > 0:
        x = shape_of((*x[:2], const(taken)))
    channels = product(x[2:]) if channels_last else x[1]
    op.require_dims("weight", channels, 1, *kernel)
    op.require_dims("bias", channels)
    carried = const(length) if length > 0 else carried
    state = (*window, x[0], carried, *x[2:]) if channels_last else (*window, *x[:-1], carried)
    if op.integer("state_channels_last", -1) == 0:
        state = (UNKNOWN_SIZE,) * len(state)
    op.require_dims("past_state", *state)
    changes = of_dims(dtype, x[0], op.integer("state_update_capacity", 0), channels)
    return Tensor(dtype, x), of_dims(dtype, *state), changes


@rule("CausalConvWithState", "input weight bias past_state -> output present_state")
def causal_conv_with_state_onnx(op: Op) -> Sequence[Tensor]:
    """The operator that ONNX took over, without updates of the state.

    onnxruntime runs it as the function that defines it: a convolution of as many groups as the input has channels,
    which takes a multiple of them as rows of the weight, after a Concat with a past of any length. So sizes are known
    where the inputs agree.
    """
    op.require_given("input", "weight")
    names = [name for name in ("input", "weight", "past_state") if op.has(name)]
    shapes = {name: op.tensor(name).shape for name in names}
    if not any(shape.is_top or len(shape) < 3 for shape in shapes.values()):
        x, weight = shapes["input"], shapes["weight"]
        past = shapes.get("past_state", shape_of((*x[:2], weight[-1] - 1)))
        if weight[0] is x[1] and (past[0], past[1], past[-1]) == (x[0], x[1], weight[-1] - 1):
            return _causal_conv(op)[:2]
    op.may_fail("weight, bias and past_state must fit the input")
    dtype = op.common_dtype("input", "weight", "bias", "past_state")
    return Tensor(dtype), Tensor(dtype)


@kernel("""VarlenCausalConvWithState: input weight cumulative_sequence_length bias initial_state capture_count
    kernel_delta previous_mask -> output final_state state_update""")
def varlen_causal_conv_with_state(op: Op) -> Sequence[Tensor]:
    """CausalConvWithState on (N, channels) tokens of B rows; states (B, channels, positions) and the last inputs."""
    tokens, channels = op.sizes("input", 2)
    kernel = op.sizes("weight", 3)[2]
    op.require(ge(channels, 1), "input must have channels")
    op.require_dims("weight", channels, 1, kernel)
    op.require_dims("bias", channels)
    rows, _, length = op.sizes("initial_state", 3)
    batch = conditions.first_known(conditions.require_offsets(op, "cumulative_sequence_length", tokens), rows)
    carried = conditions.first_known(_carried(op, kernel), length)
    op.require_dims("initial_state", batch, channels, carried)
    op.require(ge(tokens, batch), "there must be a token for each row")
    capacity = conditions.require_captures(op, batch)
    if conditions.require_together(op, "kernel_delta", "previous_mask"):
        op.may_fail("onnxruntime's CPU kernel takes no kernel_delta")
    elif (op.integer("group_size", 1), op.integer("delta_offset", 0)) != (1, 0):
        op.reject("group_size and delta_offset need kernel_delta, which is missing")
    dtype = op.common_dtype("input", "weight", "initial_state")
    state = of_dims(dtype, batch, channels, carried)
    return of_dims(dtype, tokens, channels), state, of_dims(dtype, batch, capacity, channels)


@kernel("AttnLSTM", "X W R B sequence_lens initial_h initial_c P QW MW V M memory_seq_lens AW -> Y Y_h Y_c")
def attn_lstm(op: Op) -> Sequence[Tensor]:
    """LSTM on its input joined with attention over a memory: (S, directions, B, hidden), and the last states."""
    directions = DIRECTIONS[conditions.of_attribute(op, "direction", tuple(DIRECTIONS), "forward")]
    size = const(op.positive("hidden_size"))
    op.reject("clip must be positive", unless=op.number("clip", 1.0) > 0, found=op.number("clip"))
    check_activations(op, 3 * directions)
    steps, batch, width = op.sizes("X", 3)
    (_, depth, attention), memory = op.sizes("MW", 3), op.sizes("M", 3)[1]
    context = op.sizes("AW", 3)[2] if op.has("AW") else depth
    wanted: dict[str, tuple[Dim | int, ...]] = {
        "W": (directions, 4 * size, width + context), "R": (directions, 4 * size, size), "B": (directions, 8 * size),
        "P": (directions, 3 * size), "sequence_lens": (batch,), "initial_h": (directions, batch, size),
        "initial_c": (directions, batch, size), "QW": (directions, size, attention),
        "MW": (directions, depth, attention), "V": (directions, attention), "M": (batch, memory, depth),
        "memory_seq_lens": (batch,), "AW": (directions, depth + size, context),
    }  # fmt: skip
    for name, dims in wanted.items():
        op.require_dims(name, *dims)
    for name in filter(op.has, ("sequence_lens", "memory_seq_lens")):
        op.may_fail(f"{name} must be positive and within the sequences")
    op.require(eq(batch, 0) | ge(memory, 1), "the memory must not be empty")
    some = conditions.filled((steps, batch, width, context))
    op.may_fail("onnxruntime may end the process over empty sequences", unless=some)
    dtype, last = op.common_dtype("X", "W", "R"), (directions, batch, size)
    return (of_dims(dtype, steps, directions, batch, size), of_dims(dtype, *last), of_dims(dtype, *last))
