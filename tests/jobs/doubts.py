"""Doubts that hide a requirement: `python -m tests.jobs.doubts [--seconds S] [--operator NAME] [--shard I/N]`.

Random nodes of each operator, analysed for onnxruntime. At sizes that a check calls legal because a node may fail, the
model runs on 20 data sets, drawn within the range that the operator has. Where all of them fail, sizes probably decide,
and the doubt should be a requirement: the node is listed, with the doubts and what onnxruntime says. Where a check says
that the model runs and it does not, or says nothing while all runs fail, the answer is wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np

import absint
from absint.questions.sizes.outcomes import Check, Outcome
from tests.soundness.node_drafts import NodeDraft, TooLargeError
from tests.soundness.node_rounds import general
from tests.soundness.node_runs import NOT_THERE, bindings, shortened
from tests.soundness.node_schemas import Operator, operators
from tests.soundness.random_nodes import draft, named
from tests.soundness.runs import ENGINE

DATA = 20
"""Data sets at one size."""


def doubts(found: NodeDraft, total: Counter[str]) -> Iterator[tuple[str, str]]:
    """Checks that runs contradict, with the sizes: `wrong`, or the reasons of the doubt."""
    runnable = found.model(declared=found.looped).SerializeToString()
    loaded, _ = ENGINE.load(runnable)
    if not loaded:
        total["does not load"] += 1
        return
    result = absint.analyze(found.model(), semantics="onnxruntime")
    for number, sizes in enumerate(bindings(found)):
        check = result.check({name: sizes[name] for name in result.symbols})
        if check.outcome not in (Outcome.RUNS, Outcome.LEGAL) or check.premises:
            continue
        total[f"check: {check.outcome.value}"] += 1
        failure = _always(found, runnable, sizes, number, 1 if check.outcome is Outcome.RUNS else DATA)
        if failure and not NOT_THERE.search(failure):
            yield _kind(check), f"{sizes}: {shortened(failure)}"


def _kind(check: Check) -> str:
    reasons = "; ".join(dict.fromkeys(f"{f.reason} ({f.kind})" for f in check.possible_failures))
    return reasons or "wrong: nothing says that it fails"


def _always(found: NodeDraft, runnable: bytes, sizes: dict[str, int], number: int, most: int) -> str:
    """Why every one of so many runs fails; empty if one succeeds, or there is none."""
    text = ""
    for seed in range(most):
        try:
            feeds = found.feeds(sizes, np.random.default_rng([found.seed, number, seed]))
        except TooLargeError:
            return ""
        ok, values = ENGINE.run(runnable, feeds)
        if ok:
            return ""
        text = str(values)
    return text


def _shown(operator: Operator, args: argparse.Namespace, total: Counter[str]) -> bool:
    """Print what was found of one operator; True if something was."""
    end = time.monotonic() + args.seconds
    times: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for seed in count(args.seed):
        if time.monotonic() > end:
            break
        try:
            found = draft(seed, [operator])
        except LookupError:
            break
        total["nodes"] += 1
        for kind, text in doubts(found, total):
            key = kind, general(text.partition("}: ")[2])
            times[key] += 1
            first.setdefault(key, f"seed {seed} {found} {text}")
    for (kind, _), number in times.most_common(args.most):
        total["wrong" if kind.startswith("wrong") else "told, and all runs fail"] += number
        print(f"{'::'.join(filter(None, operator))} {number} times: {kind}\n    {first[kind, _]}", flush=True)
    return bool(times)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="for each operator")
    parser.add_argument("--operator", action="append", default=[])
    parser.add_argument("--shard", default="0/1", help="I/N: every Nth operator from I on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=8, help="kinds that are shown of each operator")
    args = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    chosen = named(args.operator) if args.operator else sorted(operators())
    draft(0, chosen)  # what the nodes are made from is read before the time runs
    random.seed(0)
    first, step = map(int, args.shard.split("/"))
    total: Counter[str] = Counter()
    listed = sum(_shown(operator, args, total) for operator in chosen[first::step])
    print(f"{listed} operators; {dict(total)}")
    return min(listed, 1)


if __name__ == "__main__":
    sys.exit(main())
