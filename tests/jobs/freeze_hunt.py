"""Small models and their frozen copies: `python -m tests.jobs.freeze_hunt --seconds 60 --seed 0`.

The adversarial set, the models with control flow, and random ones, each at every binding that runs: with all symbols
fixed, and with each symbol alone. The copy must give the outputs of the original, bit by bit.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import onnx

import absint
from absint import Result
from absint.errors import UsageError
from absint.jobs.freezing.freeze import Frozen
from absint.jobs.freezing.sizes import IllegalSizesError
from absint.lattices.value import Tensor
from absint.runs.session import Session
from tests.absint.shapes.flows import FLOWS
from tests.adversarial import MODELS
from tests.jobs.freezing import differing, runs
from tests.runs import Runs
from tests.soundness.random_graphs import draft

Case = tuple[str, onnx.ModelProto, Sequence[tuple[Mapping[str, int], Mapping[str, Any]]]]


def session_of(model: onnx.ModelProto) -> Session:
    """The model as onnxruntime runs it without optimisations."""
    return Session(model.SerializeToString(), [info.name for info in model.graph.output], None)


def written(names: Iterable[str] = (*MODELS, *FLOWS)) -> Iterator[Case]:
    """The models of these names, of those that are written down, each with its runs."""
    for name in names:
        found = MODELS[name] if name in MODELS else FLOWS[name]()
        result = absint.analyze(found.model)
        pairs = [(b, Runs(found.model, result, d).feeds(b, 0)) for d in found.data for b in found.bindings]
        yield name, found.model, pairs


def drafted(seed: int) -> Iterator[Case]:
    """A random model for each binding: the nodes that run there. Its last values are the outputs."""
    found = draft(seed)
    for binding, run in zip(found.bindings, found.values, strict=True):
        nodes = [node for node in found.nodes if all(name in run for name in node.output if name)]
        model = found.model(nodes)
        result = absint.analyze(model)
        read = {name for node in model.graph.node for name in node.input}
        last = {info.name for info in model.graph.output if info.name not in read}
        kept = [info.name for n, info in enumerate(model.graph.output) if info.name in last or n % 7 == seed % 7]
        del model.graph.output[:]
        for name in kept:
            value = result[name]
            if isinstance(value, Tensor) and value.dtype > 0:
                model.graph.output.append(onnx.helper.make_tensor_value_info(name, int(value.dtype), None))
        if model.graph.output:
            feeds = {item.name: run[item.name] for item in found.inputs}
            yield f"seed {seed} at {binding}", model, [(binding, feeds)]


def wrong(
    case: Case, total: Counter[str], *, partly: bool = True, again: bool = True, most: int = sys.maxsize
) -> Iterator[str]:
    """Every difference between the model and its frozen copies.

    Some copies are frozen `partly`, one symbol alone and none; each is frozen `again`, which must change nothing. At
    `most` so many copies are made.
    """
    name, model, pairs = case
    result = absint.analyze(model)
    try:
        before = session_of(model)
    except Exception:
        total["not loaded"] += 1
        return
    copies: dict[tuple[tuple[str, int], ...], tuple[Frozen, Session | str]] = {}
    for binding, feeds in pairs:
        if not runs(before, feeds):
            total["original fails"] += 1
            continue
        whole = {symbol: binding[symbol] for symbol in result.symbols if symbol in binding}
        parts = [*({symbol: size} for symbol, size in whole.items() if len(whole) > 1), {}] if partly else []
        for sizes in (whole, *parts):
            key = tuple(sizes.items())
            if key not in copies:
                if len(copies) == most:
                    continue
                try:
                    copies[key] = _copy(result, sizes, again)
                except IllegalSizesError as error:
                    yield f"{name}: {error}, and it runs"
                    continue
                except UsageError as error:
                    total["refused"] += 1
                    print(f"note: {name}: {error}")
                    continue
                total["copies"] += 1
                total["folded"] += copies[key][0].folded
                total["inlined"] += copies[key][0].inlined
            frozen, after = copies[key]
            total["runs"] += 1
            if isinstance(after, str):
                yield f"{name} at {sizes}: {after}"
            elif text := differing(before, after, feeds, but_empty=bool(frozen.without_trip)):
                if differing(before, session_of(model), feeds):
                    total["reads memory that nobody wrote"] += 1
                else:
                    yield f"{name} at {sizes}, run at {dict(binding)}: {text}"


def _copy(result: Result, sizes: Mapping[str, int], again: bool) -> tuple[Frozen, Session | str]:
    frozen = result.freeze(sizes)
    assert frozen.model is not None
    try:
        if _is_checked(result.model):
            onnx.checker.check_model(frozen.model)
        if again and absint.analyze(frozen.model).freeze({}).model != frozen.model:
            return frozen, "not the same when it is frozen again"
        return frozen, session_of(frozen.model)
    except Exception as error:
        return frozen, " ".join(str(error).split())[:300]


def _is_checked(model: onnx.ModelProto) -> bool:
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError:
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--written", action="store_true", help="The models that are written down, too.")
    args = parser.parse_args()
    total: Counter[str] = Counter()
    failures = 0
    for case in written() if args.written else ():
        for text in wrong(case, total):
            failures += 1
            print(text, flush=True)
    end, seed = time.monotonic() + args.seconds, args.seed
    while time.monotonic() < end:
        for case in drafted(seed):
            for text in wrong(case, total, again=False):
                failures += 1
                print(text, flush=True)
        seed += 1
    print(f"{failures} differences; {dict(total)}; seeds up to {seed}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
