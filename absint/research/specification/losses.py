"""Losses; spectra."""

from __future__ import annotations

from absint.research.specification.formulas import either, equal, greatest
from absint.research.specification.node import Node, Output, tensor
from absint.research.specification.specs import at, specifies

LOSSES = [
    at("N C", "int64=0: M"),
    at("N C", "int64=0: M", "W", reduction="none"),
    at("N C H", "int64=0: M I", reduction="none"),
    at("N C H", "int64=0: M I", reduction="sum"),
    at("N C H", "int64=0: M I J", reduction="none"),
]


@specifies("NegativeLogLikelihoodLoss", grid=LOSSES)
def negative_log_likelihood(node: Node) -> Output:
    """A number, or without reduction the shape of the labels."""
    _labels(node)
    return tensor(node.input(1).dims if node.text("reduction", "mean") == "none" else [])


@specifies("SoftmaxCrossEntropyLoss", grid=[*LOSSES, at("N C H", "int64=0: M I", "W", reduction="none", outputs=2)])
def cross_entropy(node: Node) -> list[Output]:
    """As the negative log-likelihood of the logarithms of softmax, which are the second output."""
    scores, labels = node.input(0), node.input(1)
    _labels(node)
    node.needs_elements(scores.dims, "onnxruntime fails over scores without elements")
    result = tensor(labels.dims if node.text("reduction", "mean") == "none" else [])
    return [result, tensor(scores.dims)][: node.outputs]


def _labels(node: Node) -> None:
    """Labels have the axes of the scores but classes; each names a class, which has a weight."""
    scores, labels, weights = node.input(0), node.input(1), node.optional(2)
    expected = [scores.dims[0], *scores.dims[2:]]
    node.demand(labels.rank == len(expected), "labels must have the axes of the scores but classes")
    for size, wanted in zip(labels.dims, expected, strict=True):
        node.requires(equal(size, wanted), "labels must fit the scores", unless=size <= wanted)
    none = [equal(size, 0) for size in labels.dims]
    node.requires(either(scores.dims[1] >= 1, *none), "every label must name a class")
    if weights is not None:
        if weights.rank != 1:
            raise LookupError("runtimes differ on weights that are no vector")
        found = either(weights.dims[0] >= 1, *none)
        node.requires(equal(weights.dims[0], scores.dims[1]), "there must be a weight for each class", unless=found)


SIGNALS = [
    at("B N 1"),
    at("B N 2"),
    at("B N 1", onesided=1),
    at("B N M 1", None, ". 1"),
    at("B N M 1", None, ". -3"),
    at("B N 2", ". n"),
    at("B N 1", ". n", onesided=1),
]


@specifies(
    "DFT",
    first=17,
    last=19,
    grid=[
        at("B N 1"),
        at("B N 2", axis=1),
        at("B N 1", onesided=1),
        at("B N M 1", axis=2),
        at("B N 2", ". n"),
        at("B N 1", ". n", onesided=1),
    ],
)
@specifies(
    "DFT",
    first=20,
    grid=[*SIGNALS, at("B N 2", None, ". 1", onesided=1, inverse=1), at("B N 2", ". n", ". 1", onesided=1, inverse=1)],
)
def fourier(node: Node) -> Output:
    """The axis becomes `dft_length`, or half of it and one with `onesided`; two numbers for each element."""
    x, given, chosen = node.input(0), node.elements(1), node.elements(2)
    default = node.integer("axis", 1 if node.version < 20 else -2)
    axis = node.axis(int(str(chosen[0])) if chosen else default, x.rank)
    length = given[0] if given else x.dims[axis]
    one_sided = node.integer("onesided") == 1
    empty = [equal(size, 0) for place, size in enumerate(x.dims[:-1]) if place != axis]
    if given:
        node.requires(length >= 1, "the transform must have a length")
    else:
        empty += [] if one_sided else [equal(length, 0)]
    if one_sided and node.integer("inverse") and not given:
        empty = []
    node.requires(x.dims[axis] >= 1, "there must be a signal to transform", unless=either(*empty))
    if one_sided and node.integer("inverse"):
        real = length if given else 2 * (length - 1)
        return tensor([*x.dims[:axis], real, *x.dims[axis + 1 : -1], 1])
    size = greatest(lambda q: (q - 1) * 2 <= length) if one_sided else length
    return tensor([*x.dims[:axis], size, *x.dims[axis + 1 : -1], 2])


@specifies(
    "MelWeightMatrix",
    grid=[
        at(". 8", ". n", ". 8000", "", ""),
        at(". b", ". 16", ". 8000", "", ""),
        at(". b-1", ". n", ". 8000", "", ""),
    ],
)
def mel_weights(node: Node) -> Output:
    """(dft_length // 2 + 1, mel bins)."""
    bins, length = node.elements(0), node.elements(1)
    assert bins
    assert length
    node.requires(bins[0] >= 0, "the number of bins must not be negative")
    node.requires(length[0] >= 0, "the length must not be negative")
    return tensor([greatest(lambda q: (q - 1) * 2 <= length[0]), bins[0]])


@specifies(
    "STFT",
    grid=[
        at("B N 1", ". 2", None, ". 4"),
        at("B N 1", ". 3", "4", onesided=0),
        at("B N 2", ". 1", "3", ". 3", onesided=0),
        at("B N 1", ". s", None, ". 3"),
    ],
)
def short_time_fourier(node: Node) -> Output:
    """(batch, frames that fit the signal one step apart, frequencies, 2)."""
    signal, window, (step,), given = node.input(0), node.optional(2), node.elements(1) or (), node.elements(3)
    length = given[0] if given else window.dims[0] if window is not None else signal.dims[1]
    if window is not None and window.rank != 1:
        raise LookupError("runtimes differ on a window that is no vector")
    node.requires(step >= 1, "the step must be positive")
    node.requires(length <= signal.dims[1], "a frame must fit the signal")
    node.limits(signal.dims[0] >= 1, "onnxruntime may fail without a signal")
    frames = greatest(lambda q: (q - 1) * step + length <= signal.dims[1])
    bins = greatest(lambda q: (q - 1) * 2 <= length) if node.integer("onesided", 1) else length
    return tensor([signal.dims[0], frames, bins, 2])
