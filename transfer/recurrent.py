"""Layers in time: LSTM, GRU, RNN, and LinearAttention, whose state is a matrix for each head; Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from absint.lattices.dtype import DType
from absint.lattices.logic.formula import FALSE, NO, UNKNOWN_RELATION, YES, conjunction, disjunction
from absint.lattices.logic.relation import divisible, eq, ge, one_of
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.terms.normal import floordiv
from absint.lattices.value import Tensor
from absint.transfer.conditions import documents_exclude, one_value, positive
from absint.transfer.elementwise import require_single
from absint.transfer.heads import Heads, Need, agreement, batches, equal_dims, heads_of, require_all
from absint.transfer.op import Op, as_size
from absint.transfer.rule import overlay, rule

ACTIVATIONS = frozenset({"Relu", "Tanh", "Sigmoid", "HardSigmoid", "Elu", "Softsign", "Softplus", "LeakyRelu"})
"""Activations that need no parameter, or have a default."""

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


LAYERS: Final = {"LSTM": (4, 3), "GRU": (3, 2), "RNN": (1, 1)}
"""The gates of a layer, and the activations of each direction."""


def layer_in_time(op: Op) -> tuple[Tensor, ...]:
    """X (seq, batch, input) to Y (seq, directions, batch, hidden) and the last hidden state; that of cells in LSTM."""
    (gates, activations), states = LAYERS[op.name], [n for n in ("initial_h", "initial_c") if n in op.rule.places]
    op.require_given("X", "W", "R")
    direction = op.string("direction", "forward")
    if direction not in DIRECTIONS:
        op.reject(f"direction must be forward, reverse or bidirectional, found {direction!r}")
    directions = DIRECTIONS[direction]
    batch_first = op.integer("layout", 0) == 1
    op.may_fail("onnxruntime supports layout 0 only", unless=op.integer("layout", 0) == 0, by="onnxruntime")
    if op.common_dtype("X", "W", "R") is not DType.FLOAT:
        op.may_fail("onnxruntime has recurrent layers for float32 only", by="onnxruntime")
    clip = op.number("clip")
    op.may_fail("onnxruntime needs a positive clip", unless=clip is None or clip > 0)
    x = op.sizes("X", 3)
    positive(op, "onnxruntime may fail over an empty sequence", x)
    steps, batch, width = (x[1], x[0], x[2]) if batch_first else x
    check_activations(op, directions * activations)
    _check_lengths(op, steps)
    hidden = _hidden_size(op, gates)
    op.require_dims("W", Dim(directions), gates * hidden, width)
    op.require_dims("R", Dim(directions), gates * hidden, hidden)
    op.require_dims("B", Dim(directions), 2 * gates * hidden)
    op.require_dims("sequence_lens", batch)
    if op.name == "LSTM":
        op.require_dims("P", Dim(directions), 3 * hidden)
    carried = (batch, Dim(directions), hidden) if batch_first else (Dim(directions), batch, hidden)
    for name in states:
        op.require_dims(name, *carried)
    dtype = op.common_dtype("X", "W", "R")
    every = (batch, steps, Dim(directions), hidden) if batch_first else (steps, Dim(directions), batch, hidden)
    return Tensor(dtype, shape_of(every)), *(Tensor(dtype, shape_of(carried)) for _ in states)


lstm = rule("LSTM", "X W R B sequence_lens initial_h initial_c P -> Y Y_h Y_c", complete=True)(layer_in_time)
gru_rnn = rule("GRU RNN", "X W R B sequence_lens initial_h -> Y Y_h", complete=True)(layer_in_time)


def check_activations(op: Op, count: int) -> None:
    """The node may fail unless onnxruntime knows so many activations, and takes no parameters for them."""
    if "activation_alpha" in op.attributes or "activation_beta" in op.attributes:
        op.may_fail("onnxruntime needs exactly the parameters of the activations")
    names = op.attributes.get("activations")
    if names is None:
        return
    if not isinstance(names, (list, tuple)) or len(names) != count or not {*names} <= ACTIVATIONS:
        op.may_fail("onnxruntime must know the activations, one for each gate")


def _check_lengths(op: Op, steps: Dim) -> None:
    value = op.value("sequence_lens")
    if value is None:
        return
    reason = "every sequence length must lie within X"
    contents = value.contents if isinstance(value, Tensor) else None
    if contents is None:
        op.may_fail(reason)
        return
    for length in dict.fromkeys(contents.elements):
        fits = ge(length, 0) & ge(steps, length) if isinstance(length, Expr) else FALSE
        op.may_fail(reason, unless=fits)


def _hidden_size(op: Op, gates: int) -> Dim:
    given = op.integer("hidden_size")
    if given is not None:
        op.may_fail("hidden_size must be positive", unless=given > 0)
        return Dim(given)
    op.may_fail("onnxruntime needs the attribute hidden_size")
    return op.sizes("R", 3)[2]


@overlay
def linear_attention_of_a_function(op: Op) -> tuple[Tensor, Tensor]:
    """The function that defines it runs, which broadcasts, in a Scan that needs shapes."""
    q, k, v, needs = _states(op)
    for size in dict.fromkeys((q.batch, q.steps, k.batch, k.steps, v.batch, v.steps)):
        op.require(ge(size, 1), "onnxruntime needs axes that are not empty", by="onnxruntime")
    fit = conjunction(*(need.relation for need in needs))
    op.may_fail("batches, heads and lengths of all inputs must agree", unless=fit)
    op.may_fail("onnxruntime must find the shapes of all inputs as it loads the model")
    _gates_may_be_refused(op, k)
    y, state = _with_state(op, q, k, v)
    if op.decide(fit) is YES:
        return y, state
    ranked = all(op.tensor(name).shape.rank is not None for name in op.rule.inputs if op.has(name))
    shapes = [shape_of((UNKNOWN_SIZE,) * rank) if ranked else Shape(None) for rank in (3, 4)]
    return Tensor(y.dtype, shapes[0]), Tensor(state.dtype, shapes[1])


@rule("LinearAttention", "query key value past_state decay beta -> output present_state", complete=True)
@linear_attention_of_a_function
def linear_attention(op: Op) -> tuple[Tensor, Tensor]:
    """Packed (batch, seq, heads * size) inputs to (batch, seq, q_heads * value size) and the state of each head."""
    q, k, v, needs = _states(op)
    require_all(op, needs)
    return _with_state(op, q, k, v)


def _with_state(op: Op, q: Heads, k: Heads, v: Heads) -> tuple[Tensor, Tensor]:
    dtype = op.common_dtype("query", "key", "value")
    state = op.dtype("past_state" if op.has("past_state") else "query")
    y = Tensor(dtype, shape_of((q.batch, q.steps, q.heads * v.size)))
    return y, Tensor(state, shape_of((q.batch, k.heads, k.size, v.size)))


def _states(op: Op) -> tuple[Heads, Heads, Heads, list[Need]]:
    """Query, key and value by heads, and what makes all inputs fit."""
    for name in ("query", "key", "value"):
        op.require_rank(op.tensor(name).shape, 3, name)
    packed = (("query", "q_num_heads"), ("key", "kv_num_heads"), ("value", "kv_num_heads"))
    q, k, v = (heads_of(op, *each) for each in packed)
    op.require(divisible(q.heads, k.heads), "heads of Q must be a multiple of those of K")
    _require_gates(op)
    return q, k, v, [*batches(q, k, v), *agreement(q, k, v), *_state_needs(op, q, k, v), *_gate_needs(op, k)]


def _state_needs(op: Op, q: Heads, k: Heads, v: Heads) -> Iterator[Need]:
    """The state of each head fits, and each query has a key."""
    yield equal_dims(q.steps, k.steps, "query and key must have the same sequence length")
    past = op.optional("past_state")
    if past is None:
        return
    if past.shape.rank != 4:
        yield Need(FALSE if past.shape.rank is not None else UNKNOWN_RELATION, "past_state must have rank 4")
    for size, wanted in zip(past.shape.dims if past.shape.rank == 4 else (), (*k[:2], k.size, v.size), strict=False):
        yield equal_dims(size, wanted, "past_state must hold a state for each head of the batch")


_GATES = {"linear": (), "gated": ("decay",), "delta": ("beta",), "gated_delta": ("decay", "beta")}
"""The inputs that each update rule of LinearAttention takes."""


def _require_gates(op: Op) -> None:
    """Require decay and rate where the update rule takes them, and only there."""
    rule = op.string("update_rule", "gated_delta")
    op.reject(f"update_rule must be one of {', '.join(_GATES)}", "ill-formed", unless=rule in _GATES, found=repr(rule))
    for name in ("decay", "beta"):
        if op.has(name) is not (name in _GATES[rule]):
            op.reject(f"update_rule {rule!r} {'must have no' if op.has(name) else 'needs'} input {name}", "ill-formed")


def _gates_may_be_refused(op: Op, k: Heads) -> None:
    """Inference refuses decay and rate of sizes that the function might broadcast."""
    for name in filter(op.has, ("decay", "beta")):
        shape = op.tensor(name).shape
        if shape.rank not in (None, 3):
            op.may_fail(f"{name} must have rank 3, found shape {shape}", at_load=True)
        elif shape.rank == 3 and all(op.is_equal(shape[2], size) is NO for size in (k.heads, _wide(name, k))):
            op.may_fail(f"{_GATE_WIDTH[name]}, found {shape[2]}", at_load=True)


def _wide(name: str, k: Heads) -> Dim:
    return k.heads * k.size if name == "decay" else Dim(1)


_GATE_WIDTH: Final = {
    "decay": "the last dim of decay must be kv_num_heads (times the head size)",
    "beta": "the last dim of beta must be kv_num_heads or 1",
}


def _gate_needs(op: Op, k: Heads) -> Iterator[Need]:
    """Decay and rate are (batch, seq, heads), or the multiples stated."""
    for name in filter(op.has, ("decay", "beta")):
        shape = op.tensor(name).shape
        if shape.rank != 3:
            fits = UNKNOWN_RELATION if shape.rank is None else FALSE
            yield Need(fits, f"{name} must have rank 3", f"shape {shape}")
            continue
        yield equal_dims(shape[0], k.batch, f"{name} must have the batch of key")
        yield equal_dims(shape[1], k.steps, f"{name} must have the sequence length of key")
        width = eq(shape[2], k.heads) | eq(shape[2], _wide(name, k))
        yield Need(width, _GATE_WIDTH[name], str(shape[2]))


# Fourier transforms


@rule("DFT", "input dft_length -> output", since=17, until=19, complete=True)
def dft_17(op: Op) -> Tensor:
    """numpy.fft along the attribute axis, real and imaginary parts in the last axis."""
    return _transform(op, op.integer("axis", 1))


@rule("DFT", "input dft_length axis -> output", since=20, complete=True)
def dft(op: Op) -> Tensor:
    """numpy.fft along the input axis (-2), real and imaginary parts in the last axis."""
    if not op.has("axis"):
        op.not_empty("axis")
        return _transform(op, -2)
    if op.tensor("axis").shape.rank not in (None, 0):
        documents_exclude(op, "axis must be a scalar")
    axis = op.constants("axis")
    return _transform(op, axis[0] if axis else None)


def _transform(op: Op, axis: int | None) -> Tensor:
    x = op.tensor("input")
    if op.has("dft_length"):
        op.require(one_value(op.tensor("dft_length").shape), "dft_length must be one value")
    if x.shape.is_top:
        op.may_fail("the input must have a signal to transform")
        return Tensor(x.dtype)
    op.reject("the input must have rank 2 or more", unless=len(x.shape) >= 2, found=x.shape)
    inverse, onesided = op.integer("inverse", 0) != 0, op.integer("onesided", 0) != 0
    real = inverse and onesided
    op.require(one_of(x.shape[-1], (2,) if real else (1, 2)), "the last axis must hold a real or a complex number")
    if onesided and not inverse and op.is_equal(x.shape[-1], 2) is YES:
        op.may_fail(f"the last axis must have size 1 for a one-sided DFT, found {x.shape[-1]}", at_load=True)
    dims = [*x.shape[:-1], Dim(1 if real else 2)]
    if axis is None:
        op.may_fail("axis must be a signal axis")
        return Tensor(x.dtype, shape_of((*[UNKNOWN_SIZE] * (len(dims) - 1), dims[-1])))
    axis = op.axis(axis, len(dims))
    op.reject("axis must not be the last one", unless=axis != len(dims) - 1)
    length, signal = _length(op, "dft_length"), dims[axis]
    if length is None:
        length = 2 * (dims[axis] - 1) if real else dims[axis]
        if real:
            op.require(ge(length, 0), f"axis {axis} must not be empty")
    else:
        op.require(ge(length, 1), "dft_length must be positive")
    dims[axis] = _unique(length) if onesided and not inverse else length
    result = shape_of(tuple(map(as_size, dims)))
    unless = [eq(size, 0) for size in result] if op.semantics == "onnxruntime" else []
    op.require(disjunction(ge(signal, 1), *unless), "there must be a signal to transform", by="undocumented")
    return Tensor(x.dtype, result)


def _unique(length: Dim) -> Dim:
    """The number of distinct frequencies of a real signal."""
    return floordiv(length, 2) + 1


def _length(op: Op, name: str) -> Dim | None:
    """A size given as a scalar input, or None if it is left out."""
    if not op.has(name):
        return None
    if op.tensor(name).shape.rank not in (None, 0):
        documents_exclude(op, f"{name} must be a scalar")
    found = op.integers(name)
    return found[0] if found and isinstance(found[0], Expr) else UNKNOWN_SIZE


@rule("STFT", "signal frame_step window frame_length -> output", complete=True)
def stft(op: Op) -> Tensor:
    """The spectrum of each frame: (batch, (signal - frame) // step + 1, frequencies, 2)."""
    signal = op.tensor("signal").shape
    batch, samples = _signal(op, signal)
    for name in filter(op.has, ("frame_step", "frame_length")):
        require_single(op, name)
    step, length = _length(op, "frame_step"), _length(op, "frame_length")
    if op.has("window"):
        size = _window(op, op.tensor("window").shape)
        if length is None:
            length = size
        elif length is not size or size.is_unknown:
            op.require(eq(length, size), "frame_length must be the length of the window", by="undocumented")
            length = size if length.is_unknown else length
    if length is None:
        op.reject("onnxruntime needs a window or frame_length", by="onnxruntime")
        length = samples
    op.require(eq(batch, 0) | ge(length, 1), "a frame must not be empty")
    op.require(ge(samples, length), "a frame must fit the signal")
    frames: Dim = UNKNOWN_SIZE
    if step is not None:
        op.require(ge(step, 1), "frame_step must be positive")
        frames = floordiv(samples - length, step) + 1
    bins = _unique(length) if op.integer("onesided", 1) else length
    dims = (batch, frames, bins, Dim(2))
    return Tensor(op.common_dtype("signal", "window"), shape_of(tuple(map(as_size, dims))))


def _signal(op: Op, shape: Shape) -> tuple[Dim, Dim]:
    """The batch and the samples."""
    if shape.is_top:
        op.may_fail("the signal must have rank 3")
        return UNKNOWN_SIZE, UNKNOWN_SIZE
    if len(shape) == 2:
        documents_exclude(op, "the signal must have an axis of real and imaginary parts")
    elif len(shape) != 3:
        op.reject(f"the signal must have rank 3, found {len(shape)}")
    else:
        op.require(one_of(shape[2], (1, 2)), "the last axis must hold a real or a complex number")
    return shape[0], shape[1]


def _window(op: Op, shape: Shape) -> Dim:
    """The length of the window, which onnxruntime takes from the first axis."""
    if shape.is_top:
        op.may_fail("the window must be a vector")
        return UNKNOWN_SIZE
    if len(shape) > 1:
        documents_exclude(op, f"the window must be a vector, found shape {shape}")
    else:
        op.require_rank(shape, 1, "window")
    return shape[0]
