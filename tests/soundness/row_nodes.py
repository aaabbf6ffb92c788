"""The node tests of onnx with an axis of rows: each axis of each input, alone and with those of others.

    python -m tests.soundness.row_nodes [--only NAME] [--start K] [--every K] [--seconds S]

holds every claim about rows against runs on each of them, prints those that are false, and counts tests and axes by
what came of them. Exit code 1 if a claim is false.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any, Final, NamedTuple, cast

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from absint.runs.pool import kept
from absint.runs.process import ProcessError
from tests.soundness.models import Input, NodeTest, node_tests, resized, stripped
from tests.soundness.row_runs import RUNTIME, SECONDS, Run, Tally, hunted

Axes = Mapping[str, int]
Place = tuple[str, int]
"""An axis of an input."""


def ways(test: NodeTest) -> Iterator[Axes]:
    """Axes of rows: each axis of each input alone, and those of one size in all inputs, the first or the last."""
    fed = [item for item in test.inputs if item.is_tensor and not item.controls]
    found: list[Axes] = [{name: axis} for name, axis in places(test)]
    for size in dict.fromkeys(size for item in fed for size in item.data.shape):
        for last in (False, True):
            axes = {}
            for item in fed:
                own = [axis for axis, length in enumerate(item.data.shape) if length == size]
                if own:
                    axes[item.name] = own[-1 if last else 0]
            found.append(axes)
    found += [{item.name: axis for item in fed if item.data.ndim > axis} for axis in range(4)]
    yield from (dict(axes) for axes in dict.fromkeys(tuple(axes.items()) for axes in found if axes))


def places(test: NodeTest) -> list[Place]:
    """Each axis of each input that is a tensor."""
    return [(item.name, axis) for item in test.inputs if item.is_tensor for axis in range(item.data.ndim)]


def with_rows(test: NodeTest, axes: Axes) -> ModelProto:
    """The model with inputs of the sizes of the test, but for the axes of rows; inputs that decide shapes are fixed,
    unless the rows are theirs."""
    model = stripped(test)
    for item in test.inputs:
        if item.controls and item.name not in axes:
            model.graph.initializer.append(numpy_helper.from_array(item.data, item.name))
        elif item.is_tensor:
            dims: list[int | str] = list(item.data.shape)
            if item.name in axes:
                dims[axes[item.name]] = "rows"
            model.graph.input.append(helper.make_tensor_value_info(item.name, item.type.tensor_type.elem_type, dims))
        else:
            model.graph.input.append(onnx.ValueInfoProto(name=item.name, type=item.type))
    return model


def feeds(test: NodeTest, axes: Axes, count: int, rng: np.random.Generator) -> dict[str, Any]:
    """Data like those of the test, on so many rows; what has none stays."""
    return {item.name: _data(item, axes, count, rng) for item in test.inputs if item.name in axes or not item.controls}


def _data(item: Input, axes: Axes, count: int, rng: np.random.Generator) -> Any:
    if item.name not in axes:
        return item.data
    shape = list(item.data.shape)
    shape[axes[item.name]] = count
    return resized(item.data, tuple(shape), rng, keep=False)


def wrong(test: NodeTest, tally: Tally) -> Iterator[str]:
    """The false claims about a node test."""
    for axes in ways(test):
        model = with_rows(test, axes)
        for text in hunted(model, axes, partial(feeds, test, axes), {}, tally):
            yield f"{test.name} {dict(axes)} {text}"


KINDS: Final = ("nothing runs it", "no other size and 1 run", "it runs, and nothing is claimed", "claims are compared")


class Outcome(NamedTuple):
    """What came of an axis of a node test; the better one is the greater."""

    kind: int
    failure: str = ""


def tried(test: NodeTest, false: list[str]) -> Mapping[Place, Outcome]:
    """What came of each axis; adds what is wrong to a list."""
    found: dict[Place, Outcome] = {}
    for axes in ways(test):
        tally = Tally()
        claims = hunted(with_rows(test, axes), axes, partial(feeds, test, axes), {}, tally, counts=(2, 3))
        false += [f"{test.name} {dict(axes)} {text}" for text in claims]
        if tally.ran:
            outcome = Outcome(3 if tally.compared else 2)
        else:
            outcome = Outcome(is_run(test.name), tally.failure)
        found |= {place: max(found.get(place, outcome), outcome) for place in axes.items()}
    return found


@cache
def is_run(name: str) -> bool:
    """Something runs the test on its own data."""
    test = node_tests()[name]
    model = with_rows(test, {})
    given = {item.name: item.data for item in test.inputs if not item.controls}
    request = (model.SerializeToString(), [info.name for info in model.graph.output], [given])
    try:
        (run,) = cast("list[Run]", kept(RUNTIME).ask(request, SECONDS))
    except ProcessError:
        return False
    return not isinstance(run, str)


def of_test(test: NodeTest, outcomes: Mapping[Place, Outcome]) -> str:
    """What came of a node test, in words."""
    if outcomes:
        return f"best of its axes: {KINDS[max(outcomes.values()).kind]}"
    if not test.inputs:
        return "no input"
    return "scalars" if all(item.is_tensor for item in test.inputs) else "sequences, optionals"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    names = [name for name in sorted(node_tests()) if args.only in name][args.start :: args.every]
    false: list[str] = []
    tests, axes, failures = Counter[str](), Counter[str](), Counter[str]()
    for name in names:
        if time.monotonic() > end:
            break
        before = len(false)
        outcomes = tried(node_tests()[name], false)
        tests[of_test(node_tests()[name], outcomes)] += 1
        axes.update(KINDS[one.kind] for one in outcomes.values())
        failures.update(f"{name}: {one.failure[:100]}" for one in outcomes.values() if not one.kind)
        for text in false[before : before + 3]:
            print(text, flush=True)
    print(f"{tests.total()} of {len(names)} node tests, {len(false)} false claims")
    for title, counts in (("tests", tests), ("axes", axes), ("axes that nothing runs", failures)):
        print(title, *(f"{count:6} {text}" for text, count in counts.most_common()), sep="\n")
    return bool(false)


if __name__ == "__main__":
    sys.exit(main())
