"""Random pairs of small models that differ in a number or an attribute, and what runs at all small sizes say of them.

python -m tests.absint.jobs.diffing.random_pairs [PAIRS] [SEED]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Final, NamedTuple

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, TensorShapeProto

import absint
from absint.jobs.diffing.comparison import Diff
from tests.absint.jobs.diffing.models import model

SIZES: Final = range(7)


class Drawn(NamedTuple):
    """The text of a model with two symbols, N and M, and one input `x` or two, `x` and `z`."""

    first: str
    second: str


def drawn(draw: Random) -> Drawn:
    """Two draws from one family of models."""
    family = draw.choice(FAMILIES)
    return Drawn(family(draw), family(draw))


def _pool(draw: Random) -> str:
    kernel, stride, ceil = draw.randint(1, 3), draw.randint(1, 3), draw.randint(0, 1)
    pads = draw.randint(0, min(1, kernel - 1))
    return f"""(float[N, 1, M] x) => (float[] y) {{
        y = MaxPool<kernel_shape=[{kernel}], strides=[{stride}], ceil_mode={ceil}, pads=[{pads}, {pads}]>(x) }}"""


def _conv(draw: Random) -> str:
    kernel, stride, pads = draw.randint(1, 3), draw.randint(1, 2), draw.randint(0, 2)
    weights = ", ".join("1" * kernel)
    return f"""(float[N, 1, M] x) => (float[] y) <float[1, 1, {kernel}] w = {{{weights}}}> {{
        y = Conv<strides=[{stride}], pads=[{pads}, {pads}]>(x, w) }}"""


def _reshape(draw: Random) -> str:
    target = draw.choice(["0, 0", "-1, 0", "0, -1", "2, -1", "-1, 2", "-1, 1", "3, 2", "1, -1"])
    return f"(float[N, M] x) => (float[] y) <int64[2] to = {{{target}}}> {{ y = Reshape(x, to) }}"


def _slice(draw: Random) -> str:
    start, end, step = draw.randint(-3, 3), draw.choice([-2, -1, 2, 3, 4, 99]), draw.choice([1, 2, -1])
    return f"""(float[N, M] x) => (float[] y) <int64[1] a = {{{start}}}, int64[1] b = {{{end}}}, int64[1] one = {{1}},
        int64[1] s = {{{step}}}> {{ y = Slice(x, a, b, one, s) }}"""


def _joined(draw: Random) -> str:
    body = draw.choice(
        ["Add(x, z)", "Concat<axis=0>(x, z)", "Sub(z, x)", "Concat<axis=0>(z, x)", "Max(x, z, x)", "MatMul(x, z)"]
    )
    second = draw.choice(["N", "M", "M", "3"])
    return f"(float[N] x, float[{second}] z) => (float[] y) {{ y = {body} }}"


def _expand(draw: Random) -> str:
    target = draw.choice(["1", "2", "3", "2, 1", "1, 1", "3, 1"])
    count = target.count(",") + 1
    return f"(float[N, M] x) => (float[] y) <int64[{count}] to = {{{target}}}> {{ y = Expand(x, to) }}"


def _input(draw: Random) -> str:
    rows, columns = draw.choice(["N", "N", "2", "M"]), draw.choice(["M", "M", "3"])
    body = draw.choice(["Relu(x)", "Transpose(x)", "ReduceSum<keepdims=0>(x)", "Softmax(x)", "MatMul(x, x)"])
    return f"(float[{rows}, {columns}] x) => (float[] y) {{ y = {body} }}"


def _found(draw: Random) -> str:
    body = draw.choice(["NonZero(x)", "Transpose(f)", "Concat<axis=1>(f, f)", "Abs(f)", "Shape(f)", "Identity(f)"])
    return f"(float[N, M] x) => (int64[] y) <int64[1] one = {{0}}> {{ f = NonZero(x)  y = {body} }}"


def _split(draw: Random) -> str:
    parts = draw.choice(["2, 2", "1, 2", "3, 1", "2, 1"])
    return f"(float[N, M] x) => (float[] y, float[] r) <int64[2] p = {{{parts}}}> {{ y, r = Split<axis=1>(x, p) }}"


def _resize(draw: Random) -> str:
    scale = draw.choice(["1", "2", "0.5", "1.5", "3"])
    return f'(float[N, M] x) => (float[] y) <float[2] s = {{1, {scale}}}> {{ y = Resize<mode="nearest">(x, , s) }}'


FAMILIES: Final = (_pool, _conv, _reshape, _slice, _joined, _expand, _input, _found, _split, _resize)


def behaviour(
    built: ModelProto, sizes: dict[tuple[int, ...], None]
) -> dict[tuple[int, ...], tuple[object, ...] | None]:
    """For the sizes of all axes of inputs the shapes of outputs in a run; None where it fails."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    quiet = ort.RunOptions()
    quiet.log_severity_level = 4
    try:
        session = ort.InferenceSession(built.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:
        return dict.fromkeys(sizes)
    ranks = {value.name: len(value.type.tensor_type.shape.dim) for value in built.graph.input}
    found: dict[tuple[int, ...], tuple[object, ...] | None] = {}
    for shape in sizes:
        feeds, rest = {}, list(shape)
        for name, rank in ranks.items():
            feeds[name] = np.random.default_rng(0).integers(0, 2, rest[:rank]).astype(np.float32)
            del rest[:rank]
        try:
            found[shape] = tuple(np.shape(value) for value in session.run(None, feeds, quiet))
        except Exception:
            found[shape] = None
    return found


def every_shape(built: ModelProto) -> dict[tuple[int, ...], None]:
    """Small sizes of all axes, each input axis by itself."""
    return dict.fromkeys(product(*([1] if dim.dim_value == 1 else SIZES for dim in _dims(built))))


def _dims(built: ModelProto) -> list[TensorShapeProto.Dimension]:
    return [dim for value in built.graph.input for dim in value.type.tensor_type.shape.dim]


def is_declared(built: ModelProto, shape: tuple[int, ...]) -> bool:
    """The sizes are those that the inputs declare: equal where symbols are."""
    known: dict[str, int] = {}
    return all(
        size == (known.setdefault(dim.dim_param, size) if dim.dim_param else dim.dim_value)
        for dim, size in zip(_dims(built), shape, strict=True)
    )


def complaints(pair: Drawn, found: Diff) -> Iterator[str]:
    """The parts of the answer about a pair that runs at all small sizes refute."""
    first, second = model(pair.first), model(pair.second)
    shapes = every_shape(first)
    a, b = behaviour(first, shapes), behaviour(second, shapes)
    legal = [shape for shape in shapes if is_declared(first, shape) and a[shape] is not None]
    lost = next((shape for shape in legal if b[shape] is None), None)
    other = next((shape for shape in legal if b[shape] is not None and a[shape] != b[shape]), None)
    won = next((s for s in shapes if is_declared(second, s) and b[s] is not None and a[s] is None), None)
    if found and lost is not None:
        yield f"{found.verdict}, but only A runs at {lost}"
    if found and other is not None:
        yield f"{found.verdict}, but outputs differ at {other}: {a[other]}, {b[other]}"
    if found.contract.agreement in ("same", "narrowed") and won is not None:
        yield f"the contract is {found.contract.agreement}, but only B runs at {won}"
    if found.verdict == "changed" and lost is None and other is None and not _is_shown(found):
        yield "changed, but no run shows it"


def _is_shown(found: Diff) -> bool:
    """A run of both shows a difference, or one is declared: in type or rank, or by a symbol."""
    apart = [unmet.apart for unmet in found.contract.narrowed] + [p.apart for p in found.outputs.of("changed")]
    return any(item is None or item.evidence in ("run", "declarations") for item in apart)


def main() -> int:
    pairs, seed = (int(text) for text in (*sys.argv[1:], "200", "0")[:2])
    draw = Random(seed)
    verdicts: dict[str, int] = {}
    bad = 0
    for _ in range(pairs):
        pair = drawn(draw)
        found = absint.diff(model(pair.first), model(pair.second))
        verdicts[found.verdict] = verdicts.get(found.verdict, 0) + 1
        for complaint in complaints(pair, found):
            bad += 1
            print(f"{complaint}\n{pair.first}\n{pair.second}\n{found}\n")
    print(f"{pairs} pairs: {verdicts}; {bad} complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
