"""Random models of one node, driven by the schemas, analysed symbolically and held against runs at several sizes.

    python -m tests.soundness.random_nodes --count 500 --seed 0 [--operator NAME] [--seconds S]

prints every fault with the smallest node that still shows it, and exits with 1 if there is one:

    wrong     a claim (rank, dim, type, element), a requirement or an error that a run contradicts
    broken    sizes at which `check` says that the node runs for all data, where the run fails
    ill-typed the same, where the run fails for an element type
    premise   a numeric premise that excludes a small size

    python -m tests.soundness.random_nodes --every 10 [--shard I/N]

examines each operator of the shipped table in turn, for 10 seconds, and says which were reached, and why others not.

`--seed` is the seed of the first node, the next ones follow. `--operator` takes names, `com.microsoft::Name` and
`com.*::*` too. `--semantics onnxruntime` asks for claims about its runs alone.
`--optimised` runs sessions as they are by default.

    node_schemas   the operators, and their schemas
    node_sources   where a node begins: a case of the rules' tests, a node test of `onnx`, or its schema
    node_changes   what is changed in it
    node_drafts    its model and its data
    node_runs      analysis and runs
    node_inference what onnxruntime infers of nodes that it has no kernel for
    node_sweeps    one thing changed at a time, systematically (`--sweep`)
    node_rounds    each operator in turn (`--every`)
    node_shrinks   smaller nodes that show the same fault
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import count, islice

from absint.transfer.semantics import EITHER, SEMANTICS
from tests.soundness.node_changes import changed
from tests.soundness.node_drafts import NodeDraft
from tests.soundness.node_rounds import rounds, summary
from tests.soundness.node_runs import Verdict, examine
from tests.soundness.node_schemas import Operator, operators
from tests.soundness.node_shrinks import printed, shrunk
from tests.soundness.node_sources import begin, has_rule
from tests.soundness.node_sweeps import sweep
from tests.soundness.runs import ENGINE

LOOPED = 0.1
"""The share of nodes in a loop, which may run no iteration."""

MOST_TRIES = 100
"""The most drafts that are thrown away before a node is given up."""

KINDS = ("wrong", "broken", "ill_typed", "premises")


def draft(seed: int, only: Sequence[Operator] = ()) -> NodeDraft:
    """The random node of this seed. Raises LookupError if none could be made."""
    rng = random.Random(seed)
    for _ in range(MOST_TRIES):
        found = begin(rng, seed, rng.choice(only or operators()))
        if found is not None:
            found = changed(rng, found)
            if rng.random() < LOOPED and found.opset >= 13:
                found = replace(found, looped=True)
            if has_rule(found):
                return found
    raise LookupError("no node could be made")


def named(names: Sequence[str]) -> list[Operator]:
    """The operators of these names, or of a pattern. Raises ValueError for one that is not there."""

    def fits(operator: Operator, name: str) -> bool:
        return operator[1] == name or fnmatchcase("::".join(filter(None, operator)), name)

    found = [o for o in operators() if any(fits(o, name) for name in names)]
    missing = [name for name in names if not any(fits(o, name) for o in found)]
    if missing:
        raise ValueError(f"no operator {', '.join(missing)}")
    return found


def signature(found: NodeDraft, kind: str, problem: str) -> str:
    """The part that two reports of one fault share."""
    text = re.sub(r"^at \{[^}]*\}: ", "", problem)
    return f"{kind} {found.domain}::{found.operator} " + re.sub(r"[a-z_%]*-?\d+", "#", text)[:60]


def show(found: NodeDraft, kind: str) -> None:
    """Print the smallest node that shows this kind of fault."""

    def is_wrong(smaller: NodeDraft) -> bool:
        return has_rule(smaller) and bool(getattr(examine(smaller, every=False), kind))

    small = shrunk(found, is_wrong)
    try:
        problems = getattr(examine(small), kind)[:2]
    except Exception:
        problems = traceback.format_exc().splitlines()[-3:]
    print(printed(small), *problems, "", sep="\n", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--operator", action="append", default=[])
    parser.add_argument("--sweep", type=int, default=0, help="vary so many nodes of each operator one thing at a time")
    parser.add_argument("--shard", default="0/1", help="I/N: with --sweep and --every, every Nth operator from I on")
    parser.add_argument("--every", type=float, default=0, help="examine each operator in turn for so many seconds")
    parser.add_argument("--list", action="store_true", help="show how many nodes of each operator ran")
    parser.add_argument("--semantics", choices=SEMANTICS, default=EITHER)
    parser.add_argument("--optimised", action="store_true", help="let sessions optimise")
    args = parser.parse_args()
    ENGINE.optimised = args.optimised
    warnings.simplefilter("ignore")
    only = named(args.operator)
    draft(args.seed, only)  # what the nodes are made from is read before the time runs
    end = time.monotonic() + args.seconds
    seen: Counter[str] = Counter()
    if args.every:
        return every(args, only, seen)
    totals: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for found in drafts(args, only):
        if time.monotonic() > end:
            break
        try:
            verdict = examine(found)
        except Exception:
            print(printed(found), flush=True)
            raise
        totals.update(nodes=1, runs=verdict.ran, failed=verdict.failed, missing=verdict.missing)
        totals.update(ran=bool(verdict.ran), **{kind: bool(getattr(verdict, kind)) for kind in KINDS})
        ran[f"{found.domain}::{found.operator}"] += bool(verdict.ran)
        report(found, verdict, seen)
    print(dict(totals))
    print("faults", *(f"{times:4} {text}" for text, times in seen.most_common()), sep="\n")
    if args.list:
        print("never ran:", " ".join(sorted(name for name, times in ran.items() if not times)))
    return int(any(totals[kind] for kind in KINDS))


def every(args: argparse.Namespace, only: Sequence[Operator], seen: Counter[str]) -> int:
    """Each operator in turn, and which of them were reached; 1 if a claim is wrong."""
    first, step = map(int, args.shard.split("/"))

    def made(operator: Operator) -> Iterator[NodeDraft]:
        for seed in count(args.seed):
            try:
                yield replace(draft(seed, [operator]), semantics=args.semantics)
            except LookupError:
                return

    turns = []
    for turn in rounds((only or operators())[first::step], args.every, made, lambda d, v: report(d, v, seen)):
        turns.append(turn)
        print(f"{turn.name}: {turn.ran} of {turn.nodes} nodes compared", flush=True)
    print(summary(turns, all_of_them=not only and step == 1))
    return int(any(turn.wrong or turn.broken for turn in turns))


def drafts(args: argparse.Namespace, only: Sequence[Operator]) -> Iterator[NodeDraft]:
    """The nodes to try."""
    return (replace(found, semantics=args.semantics) for found in _drafts(args, only))


def _drafts(args: argparse.Namespace, only: Sequence[Operator]) -> Iterator[NodeDraft]:
    if not args.sweep:
        yield from (draft(seed, only) for seed in range(args.seed, args.seed + args.count))
        return
    chosen = only or operators()
    first, step = map(int, args.shard.split("/"))
    for operator in chosen[first::step]:
        yield from filter(has_rule, islice(sweep(operator, args.sweep, args.seed), args.count))


def report(found: NodeDraft, verdict: Verdict, seen: Counter[str]) -> None:
    """Print what is new of a verdict."""
    for kind in KINDS:
        problems = getattr(verdict, kind)
        if problems:
            key = signature(found, kind, problems[0])
            seen[key] += 1
            if seen[key] == 1:
                print(f"--- {kind}, seed {found.seed}: {problems[0]}")
                show(found, kind)


if __name__ == "__main__":
    sys.exit(main())
