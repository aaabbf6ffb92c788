"""Copies of random models with branches and loops: `python -m tests.jobs.copy_hunt --seconds 60 --seed 0`.

Half of the models nest branches by size and by data, loops with and without a trip, scans and functions; the others
have a body with an operator that is stricter where it knows shapes, behind values whose shapes inference does not find.
Each copy, annotated, simplified or frozen, must load with and without optimisations and give the outputs of the
original. A simplified one must also fail where the original does, without optimisations.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import parser

import absint
from absint import Result
from absint.errors import UsageError
from absint.jobs.freezing.sizes import IllegalSizesError
from absint.model.protos import bodies, graphs
from tests.jobs.freezing import same
from tests.soundness.nested_models import Maker
from tests.soundness.runs import OnnxRuntime

Feeds = Mapping[str, Any]
Case = tuple[onnx.ModelProto, Sequence[tuple[Mapping[str, int], Feeds]]]

HIDING = {
    "as floats": "{n}s = Shape({x}) {n}f = Cast<to = 1>({n}s) {n}r = Relu({n}f) {n}t = Cast<to = 7>({n}r) "
    "{n} = Reshape({x}, {n}t)",
    "in a sequence": "{n}q = SequenceConstruct({x}) {n} = SequenceAt({n}q, zero)",
    "by axes from data": "{n}a = Max(zeros, zeros) {n}u = Unsqueeze({x}, {n}a) {n} = Squeeze({n}u, {n}a)",
    "not": "{n} = Identity({x})",
}
STRICT = (
    "{y} = Squeeze({v}, one1)",
    "{y} = Concat<axis = 0>({v}, none)",
    "{w}k = Constant<value = float {{1.0}}>() {w}n = NonZero({w}k) {w}c = Cast<to = 1>({w}n) {y} = Identity({w}c)",
    "{w}z = NonZero({v}) {y} = Cast<to = 1>({w}z)",
    "{w}e = Shape({v}) {w}g = Gather({w}e, zero) {w}r = Range(zero, {w}g, step) {y} = Cast<to = 1>({w}r)",
    "{w}e = Shape({v}) {y} = Expand(oneF, {w}e)",
    "{y} = Reshape({v}, shape2)",
    "{y} = Transpose<perm = [1, 0]>({v})",
    "{y} = MatMul({v}, square)",
    "{y} = Add({v}, threes)",
    "{y}, {w}rest = Split<axis = 0, num_outputs = 2>({v})",
    "{y} = Slice({v}, zeros, one1)",
    "{y} = Gemm({v}, square)",
)
TESTS = ("{c}d = Shape<start = 1>({v}) {c}s = Squeeze({c}d) {c} = Equal({c}s, step)", "{c} = Identity(b)",
         "{c}d = Size({v}) {c} = Greater({c}d, zero)", "{c}d = Greater(m, zero) {c} = Not({c}d)")  # fmt: skip


def trapped(seed: int) -> Case:
    """A model with a strict operator in one or two bodies."""
    r = random.Random(seed)
    names = iter(f"t{number}" for number in range(1000))

    def hidden(x: str, lines: list[str]) -> str:
        name = next(names)
        lines.append(HIDING[r.choice(list(HIDING))].format(n=name, x=x))
        return name

    def body(v: str, depth: int) -> tuple[str, str]:
        """Lines that compute a value, and its name."""
        lines: list[str] = []
        if r.random() < 0.4:
            v = hidden(v, lines)
        if depth and r.random() < 0.4:
            line, y = construct(v, depth - 1)
            lines.append(line)
        else:
            y = next(names)
            lines.append(r.choice(STRICT).format(v=v, y=y, w=next(names)))
        out = next(names)
        lines.append(f"{out} = Identity({y})")
        return " ".join(lines), out

    def construct(v: str, depth: int) -> tuple[str, str]:
        y, shape = next(names), r.choice(["float[]", "float[]", f"float[{next(names)}A]" if depth < 0 else "float[]"])
        text, out = body(v, depth)
        kind = r.random()
        if kind < 0.55:
            test = next(names)
            other, last = (f"{(o := next(names))} = Identity({v})", o) if r.random() < 0.5 else body(v, depth)
            first, second = ((text, out), (other, last))[:: r.choice([1, -1])]
            return (
                f"{r.choice(TESTS).format(c=test, v=v)} {y} = If({test}) <then_branch = a () => ({shape} {first[1]}) "
                f"{{ {first[0]} }}, else_branch = e () => ({shape} {second[1]}) {{ {second[0]} }}>"
            ), y
        i, c, d = next(names), next(names), next(names)
        if kind < 0.85:
            return (
                f"{y} = Loop(m, go) <body = l (int64 {i}, bool {c}) => (bool {d}, {shape} {out}) "
                f"{{ {d} = Identity({c}) {text} }}>"
            ), y
        e, p, q = next(names), next(names), next(names)
        return (
            f"{p}, {y} = Scan<num_scan_inputs = 1, body = s (float {q}i, float[C] {e}) => (float {q}, {shape} {out}) "
            f"{{ {q} = Identity({q}i) {text} }}>(oneS, x)"
        ), y

    lines: list[str] = []
    v = hidden(r.choice(["x", "x", "z"]), lines)
    outs = []
    for _ in range(r.choice([1, 1, 2])):
        line, y = construct(v, 2)
        lines.append(line)
        outs.append(y)
    lines.append(f"last = Shape({v})")
    text = f"""<ir_version: 8, opset_import: ["" : 18]>
    g (float[{r.choice(["N, 4", "N, M", "3, M"])}] x, float[{r.choice(["N, 1", "K, 4", "2, 4", "K"])}] z,
       int64 m, bool b) => ({", ".join(f"float[] {y}" for y in outs)}, int64[R] last)
    <int64 zero = {{0}}, int64 step = {{1}}, int64[1] zeros = {{0}}, int64[1] one1 = {{1}}, int64[2] shape2 = {{-1, 2}},
      float[1] oneF = {{1}},
      bool go = {{1}}, float[0] none = {{}}, float[1, 4] threes = {{3, 3, 3, 3}},
      float oneS = {{1}},
      float[4, 4] square = {{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}}> {{ {" ".join(lines)} }}"""
    model = parser.parse_model(text)
    rng = np.random.default_rng(seed)
    feeds = []
    for sizes in (
        {"N": 3, "M": 4, "K": 2},
        {"N": 1, "M": 1, "K": 1},
        {"N": 0, "M": 2, "K": 3},
        {"N": 2, "M": 0, "K": 0},
    ):
        for trips, test in ((0, True), (2, False)):
            found: dict[str, Any] = {"m": np.array(trips), "b": np.array(test)}
            for info in model.graph.input[:2]:
                dims = [sizes.get(d.dim_param, d.dim_value) for d in info.type.tensor_type.shape.dim]
                found[info.name] = rng.integers(-1, 3, dims).astype(np.float32)
            feeds.append((sizes, found))
    return model, feeds


def nested(seed: int) -> Case | None:
    """A model of nested bodies, if one is made from this seed."""
    found = Maker(seed).model()
    if found is None:
        return None
    model, sizes, envs = found
    names = [info.name for info in model.graph.input]
    return model, [(s, {name: env[name] for name in names}) for s, env in zip(sizes, envs, strict=True)]


SECONDS = 10.0
"""Time for the proofs of a simplified copy."""
ENGINES = {"plain": OnnxRuntime(), "optimised": OnnxRuntime(optimised=True)}
"""onnxruntime with and without optimisations, each in a process of its own, which some models end."""


def wrong(case: Case, total: Counter[str]) -> Iterator[str]:
    """Every copy that does not load, and every output that differs."""
    model, runs = case
    original = model.SerializeToString()
    befores = {
        name: [engine.run(original, feeds) for _, feeds in runs]
        for name, engine in ENGINES.items()
        if engine.load(original)[0]
    }
    if "plain" not in befores:
        total["original does not load"] += 1
        return
    total["models"] += 1
    result = absint.analyze(model)
    names = [info.name for info in model.graph.output]
    for label, copy, at, empty in _copies(result, runs, total):
        exempt = _computed_from(model, empty)
        content = copy.SerializeToString()
        for engine, before in befores.items():
            ok, reply = ENGINES[engine].load(content)
            if not ok:
                yield f"{label}, {engine}: does not load: {' '.join(str(reply).split())[:300]}"
                continue
            for (sizes, feeds), (has_run, old) in zip(runs, before, strict=True):
                if (
                    not has_run
                    and (label, engine) == ("simplified", "plain")
                    and ENGINES[engine].run(content, feeds)[0]
                ):
                    yield f"{label}, run at {dict(sizes)}: it runs, and the model fails: {str(old)[:200]}"
                if has_run and all(sizes.get(name) == size for name, size in at.items()):
                    total["runs"] += 1
                    new = ENGINES[engine].run(content, feeds)
                    text = _difference(names, old, new, exempt)
                    if text and _is_steady(ENGINES[engine], original, feeds, old):
                        yield f"{label}, {engine}, run at {dict(sizes)}: {text}"


def _is_steady(engine: OnnxRuntime, model: bytes, feeds: Feeds, old: Sequence[Any]) -> bool:
    """The model gives the same outputs once more."""
    ok, again = engine.run(model, feeds)
    return ok and all(map(same, old, again))


def _copies(
    result: Result, runs: Sequence[tuple[Mapping[str, int], Feeds]], total: Counter[str]
) -> Iterator[tuple[str, onnx.ModelProto, Mapping[str, int], Sequence[str]]]:
    for outputs in (None, True):
        found = result.annotated(outputs=outputs)
        total["annotated"] += 1
        total["left out"] += len(found.left_out)
        total["unchecked"] += bool(found.unchecked)
        yield f"annotated, outputs={outputs}", found.model, {}, ()
    simplified = result.simplify(seconds=SECONDS)
    total["nodes"] += simplified.nodes_before
    total["nodes of simplified"] += simplified.nodes
    total["undone"] += bool(simplified.undone)
    assert simplified.model is not None
    yield "simplified", simplified.model, {}, ()
    sizes_of = [{name: sizes[name] for name in result.symbols if name in sizes} for sizes, _ in runs]
    tried: list[Mapping[str, int]] = []
    for number, whole in enumerate(sizes_of[:4]):
        for at in (whole, dict(list(whole.items())[:1]), {})[: 1 if number else 3]:
            if at in tried:
                continue
            tried.append(at)
            try:
                frozen = result.freeze(at)
            except IllegalSizesError:
                total["illegal"] += 1
                continue
            except UsageError as error:
                total["refused"] += 1
                print(f"note: {error}", flush=True)
                continue
            total["frozen"] += 1
            total["left out of frozen"] += len(frozen.left_out)
            assert frozen.model is not None
            yield f"frozen at {at}", frozen.model, {**at, **frozen.derived}, frozen.without_trip


def _computed_from(model: onnx.ModelProto, empty: Sequence[str]) -> set[str]:
    """The values of the main graph that are computed from outputs of loops without a trip, and these.

    Such an output may have other sizes in a frozen copy, as freeze says.
    """
    heads = {name.partition("/")[0] for name in empty}
    found = set(heads)
    for at, node in enumerate(model.graph.node):
        inside = (graph for body in bodies(node) for graph in graphs(body))
        read = {*node.input, *(name for graph in inside for inner in graph.node for name in inner.input)}
        if heads & {node.name, f"{node.op_type}#{at}"} or read & found:
            found.update(node.output)
    return found


def _difference(names: Sequence[str], old: Sequence[Any], new: tuple[bool, Any], exempt: set[str]) -> str:
    """What a run of the copy gives otherwise."""
    ok, reply = new
    if not ok:
        return f"fails: {' '.join(str(reply).split())[:250]}"
    for name, a, b in zip(names, old, reply, strict=True):
        if not same(a, b) and name not in exempt:
            return f"{name} is {np.shape(b)} {np.ravel(b)[:4]}, not {np.shape(a)} {np.ravel(a)[:4]}"
    return ""


def main() -> int:
    parsed = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parsed.add_argument("--seconds", type=float, default=60)
    parsed.add_argument("--seed", type=int, default=0)
    parsed.add_argument("--models", type=int, default=1 << 30)
    args = parsed.parse_args()
    total: Counter[str] = Counter()
    failures, seed, end = 0, args.seed, time.monotonic() + args.seconds
    while time.monotonic() < end and total["models"] < args.models:
        cases = {f"nested {seed}": nested(seed)} | {f"trapped {at}": trapped(at) for at in (seed, seed + 10**6)}
        for name, case in cases.items():
            for text in wrong(case, total) if case is not None else ():
                failures += 1
                print(f"{name}: {text}", flush=True)
        seed += 1
    print(f"{failures} differences; {dict(total)}; seeds up to {seed}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
