"""Random nodes whose inputs lie in random ranges: no number of a run leaves its range.

    python -m tests.soundness.random_ranges --count 500 --seed 0 [--operator NAME] [--seconds S] [--list]

prints each violation with its node and ranges, and exits with 1 if there is one. The nodes are those of
`random_nodes`; `range_boxes` draws ranges and numbers in them.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper

import absint
from absint.analyses.ranges import DOMAIN, Ranges
from absint.analyses.ranges.analysis import FURTHER, RULES
from absint.lattices.domains import Span
from absint.lattices.value import Tensor
from absint.questions.sizes.outcomes import Outcome
from tests.soundness import limits
from tests.soundness.node_drafts import TooLargeError
from tests.soundness.node_runs import bindings, constants, inside
from tests.soundness.node_schemas import operators as node_operators
from tests.soundness.node_shrinks import printed
from tests.soundness.random_nodes import draft, named
from tests.soundness.range_boxes import Boxed, boxed
from tests.soundness.runs import ENGINE, typed

UNFETCHED = (TensorProto.BFLOAT16,)
"""Types that are cast to float before a run hands them out."""


@dataclass
class Verdict:
    """The results of one node."""

    wrong: list[str] = field(default_factory=list)
    ran: int = 0
    failed: int = 0
    held: int = 0
    bounded: int = 0
    """Held values whose range says something."""


def operators() -> list[tuple[str, str]]:
    """The operators with a rule for ranges."""
    return [found for found in node_operators() if is_followed(*found)]


def is_followed(domain: str, name: str) -> bool:
    full = f"{domain}::{name}" if domain else name
    return full in RULES or any(full == one for one, _ in FURTHER)


def seeded(seed: int, only: Sequence[tuple[str, str]]) -> Boxed:
    """The random node of this seed with its ranges."""
    return boxed(random.Random(f"boxes {seed}"), draft(seed, only))


def outside(claim: Span, value: object) -> str:
    """An element that the claim does not allow, as text; empty if there is none."""
    if isinstance(value, list):
        return next(filter(None, (outside(claim, part) for part in value)), "")
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or not array.size:
        return ""
    if array.dtype.kind == "f":
        missing = np.isnan(array)
        if missing.any() and not claim.nan:
            return "nan"
        array = array[~missing]
        if not array.size:
            return ""
    return next((repr(end) for end in (array.min().item(), array.max().item()) if not DOMAIN.allows(claim, end)), "")


def examine(found: Boxed) -> Verdict:
    """Find the ranges of a node, and run it at each binding; again in a fresh process if a number leaves its range.

    Some kernels write outside of the arrays of a node that is not legal, and spoil later runs.
    """
    verdict = examined(found)
    if verdict.wrong:
        ENGINE.close()
        verdict = examined(found)
    return verdict


def examined(found: Boxed) -> Verdict:
    verdict, plain = Verdict(), found.draft.model()
    loaded = absint.analyze(plain).loaded
    ranges = Ranges(loaded.weights, **found.boxes)
    result = absint.analyze(plain, with_=[ranges])
    claims = result.found_by(ranges)
    runnable = fetched(found.draft.model(declared=found.draft.looped), result)
    names = [info.name for info in runnable.graph.output]
    serialised = runnable.SerializeToString()
    is_loaded, reply = ENGINE.load(serialised)
    if not is_loaded:
        verdict.failed += 1
        return verdict
    for number, binding in enumerate(bindings(found.draft)):
        for seed in range(3 if number == 0 else 1):
            try:
                feeds = found.draft.feeds(binding, np.random.default_rng([found.draft.seed, number, seed]))
            except TooLargeError:
                continue
            ok, arrays = ENGINE.run(serialised, feeds)
            if not ok:
                verdict.failed += 1
                continue
            verdict.ran += 1
            outputs = dict(zip(names, map(typed, reply, arrays), strict=True))
            nodes, values = inside(runnable), {**constants(runnable), **feeds, **outputs}
            if not limits.miscomputes(nodes, values) and legal(result, binding):
                hold(verdict, claims, outputs, binding)
    return verdict


def legal(result: absint.Result, binding: Mapping[str, int]) -> bool:
    """The runtime may run the node at these sizes: it runs some that are not legal, and gives any numbers."""
    sizes = {name: binding[name] for name in result.symbols}
    return result.check(sizes).outcome is not Outcome.ILLEGAL


def hold(
    verdict: Verdict, claims: Mapping[str, Span], outputs: Mapping[str, object], binding: Mapping[str, int]
) -> None:
    for full, value in outputs.items():
        name = full.removesuffix("_fetched")
        if name in claims:
            verdict.held += 1
            verdict.bounded += not DOMAIN.leq(DOMAIN.top, claims[name])
            if wrong := outside(claims[name], value):
                verdict.wrong.append(f"at {binding}: {name} in {DOMAIN.text(claims[name])}, found {wrong}")


def fetched(model: onnx.ModelProto, result: absint.Result) -> onnx.ModelProto:
    """The model, with outputs that cannot be handed out as float."""
    if any(node.op_type == "Loop" for node in model.graph.node):
        return model
    for info in model.graph.output:
        value = result.values.get(info.name)
        if isinstance(value, Tensor) and int(value.dtype) in UNFETCHED:
            name = f"{info.name}_fetched"
            model.graph.node.append(helper.make_node("Cast", [info.name], [name], to=TensorProto.FLOAT))
            info.name = name
    return model


def drafts(args: argparse.Namespace) -> Iterator[Boxed]:
    only = [one for one in named(args.operator) if is_followed(*one)] if args.operator else operators()
    for number in range(args.count):
        seed = args.seed + number
        yield seeded(seed, [only[seed % len(only)]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--operator", action="append", default=[])
    parser.add_argument("--list", action="store_true", help="show the operators that never ran, or with no range")
    parser.add_argument("--most", type=int, default=2, help="violations shown of each operator")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    totals, seen, ran = Counter[str](), Counter[str](), Counter[str]()
    told = Counter[str]()
    end = time.monotonic() + args.seconds
    for found in drafts(args):
        if time.monotonic() > end:
            break
        name = found.draft.operator
        try:
            verdict = examine(found)
        except Exception as error:
            print(printed(found.draft), found.boxes, flush=True)
            print(f"the rule failed: {type(error).__name__}: {error}")
            verdict = Verdict(wrong=["the rule failed"])
        totals.update(nodes=1, ran=bool(verdict.ran), runs=verdict.ran, failed=verdict.failed, held=verdict.held)
        totals.update(bounded=verdict.bounded, violations=len(verdict.wrong))
        ran[name] += bool(verdict.ran)
        told[name] += bool(verdict.bounded)
        if verdict.wrong:
            seen[name] += 1
            if seen[name] <= args.most:
                print(f"--- seed {found.draft.seed}: {found.boxes}", *verdict.wrong[:2], sep="\n")
                print(printed(found.draft), flush=True)
    print(dict(totals))
    print("violations", *(f"{times:4} {text}" for text, times in seen.most_common()), sep="\n")
    if args.list:
        print("never ran:", " ".join(sorted(name for name, times in ran.items() if not times)))
        print("no range:", " ".join(sorted(name for name, times in told.items() if not times and ran[name])))
    return int(bool(totals["violations"]) or not totals["runs"])


if __name__ == "__main__":
    sys.exit(main())
