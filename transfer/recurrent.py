"""Recurrent layers."""

from __future__ import annotations

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, conjunction, ge
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr
from absint.lattices.value import Tensor
from absint.transfer.caveats import positive
from absint.transfer.op import Op
from absint.transfer.rule import rule

ACTIVATIONS = frozenset({"Relu", "Tanh", "Sigmoid", "HardSigmoid", "Elu", "Softsign", "Softplus", "LeakyRelu"})
"""Activations that need no parameter, or have a default."""

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


@rule("LSTM", "X W R B sequence_lens initial_h initial_c P -> Y Y_h Y_c", complete=True)
def lstm(op: Op) -> tuple[Tensor, ...]:
    """X (seq, batch, input) to Y (seq, directions, batch, hidden) and the last hidden and cell states."""
    return _recurrent(op, gates=4, states=("initial_h", "initial_c"))


@rule("GRU", "X W R B sequence_lens initial_h -> Y Y_h", complete=True)
def gru(op: Op) -> tuple[Tensor, ...]:
    """X (seq, batch, input) to Y (seq, directions, batch, hidden) and the last hidden state."""
    return _recurrent(op, gates=3, states=("initial_h",))


@rule("RNN", "X W R B sequence_lens initial_h -> Y Y_h", complete=True)
def rnn(op: Op) -> tuple[Tensor, ...]:
    """X (seq, batch, input) to Y (seq, directions, batch, hidden) and the last hidden state."""
    return _recurrent(op, gates=1, states=("initial_h",))


def _recurrent(op: Op, gates: int, states: tuple[str, ...]) -> tuple[Tensor, ...]:
    direction = op.string("direction", "forward")
    if direction not in DIRECTIONS:
        op.reject(f"direction must be forward, reverse or bidirectional, found {direction!r}")
    directions = DIRECTIONS[direction]
    batch_first = op.integer("layout", 0) == 1
    if op.integer("layout", 0) != 0:
        op.runtime_may_fail("onnxruntime supports layout 0 only")
    if op.common_dtype("X", "W", "R") is not DType.FLOAT:
        op.runtime_may_fail("onnxruntime has recurrent layers for float32 only")
    clip = op.number("clip")
    if clip is not None and clip <= 0:
        op.may_fail("onnxruntime needs a positive clip")
    x = _dims(op, "X", 3)
    positive(op, "onnxruntime may fail over an empty sequence", x)
    steps, batch, width = (x[1], x[0], x[2]) if batch_first else x
    check_activations(op, directions * {4: 3, 3: 2, 1: 1}[gates])
    _check_lengths(op, steps)
    hidden = _hidden_size(op, gates)
    _require(op, "W", (Dim(directions), gates * hidden, width))
    _require(op, "R", (Dim(directions), gates * hidden, hidden))
    _require(op, "B", (Dim(directions), 2 * gates * hidden))
    _require(op, "sequence_lens", (batch,))
    if op.rule.names[0] == "LSTM":
        _require(op, "P", (Dim(directions), 3 * hidden))
    carried = (batch, Dim(directions), hidden) if batch_first else (Dim(directions), batch, hidden)
    for name in states:
        _require(op, name, carried)
    dtype = op.common_dtype("X", "W", "R")
    every = (batch, steps, Dim(directions), hidden) if batch_first else (steps, Dim(directions), batch, hidden)
    return Tensor(dtype, shape_of(every)), *(Tensor(dtype, shape_of(carried)) for _ in states)


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
        fits = conjunction(ge(length, 0), ge(steps, length)) if isinstance(length, Expr) else FALSE
        op.may_fail(reason, unless=fits)


def _hidden_size(op: Op, gates: int) -> Dim:
    given = op.integer("hidden_size")
    if given is not None:
        if given <= 0:
            op.may_fail("hidden_size must be positive")
        return Dim(given)
    op.may_fail("onnxruntime needs the attribute hidden_size")
    return _dims(op, "R", 3)[2]


def _dims(op: Op, name: str, rank: int) -> tuple[Dim, ...]:
    shape = op.tensor(name).shape
    op.require_rank(shape, rank, name)
    return (UNKNOWN_SIZE,) * rank if shape.is_top else shape.dims


def _require(op: Op, name: str, dims: tuple[Dim, ...]) -> None:
    """Require that the input, if given, has these dims."""
    if not op.has(name):
        return
    found: Shape = op.tensor(name).shape
    op.require_rank(found, len(dims), name)
    for axis, (size, dim) in enumerate(zip(_dims(op, name, len(dims)), dims, strict=True)):
        op.require_equal(size, dim, f"dim {axis} of {name} must fit the layer")
