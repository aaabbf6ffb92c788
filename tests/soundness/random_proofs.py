"""Random models, random questions about their sizes, and every answer held against runs.

    python -m tests.soundness.random_proofs --seconds 60 --seed 0

prints every answer that a run contradicts, with the model, and exits with 1 if there is one. `--seed` is the seed of
the first model, the next ones follow; `--count 1` tries a single one. Every fourth model is one of `random_graphs`.

    proof_graphs      models whose nodes demand something of sizes
    proof_runs        runs of a whole model
    proof_queries     questions that can be answered for a run without absint
    proof_checks      the judge: proofs, refutations, checks, contracts, classes
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.soundness.graph_shrinks import printed
from tests.soundness.proof_checks import Judge
from tests.soundness.proof_graphs import draft
from tests.soundness.random_graphs import draft as general, signature


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 60)
    parser.add_argument("--cap", type=float, default=10.0, help="seconds of one query")
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    totals: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for seed in range(args.seed, args.seed + args.count):
        if time.monotonic() > end:
            break
        found = general(seed) if seed % 4 == 3 else draft(seed)
        judge = Judge(found, seconds=args.cap)
        problems = list(judge.wrong())
        totals.update(judge.counts, graphs=1, nodes=len(found.nodes), wrong=bool(problems))
        for problem in problems:
            key = signature(problem)
            seen[key] += 1
            how = f"refine={judge.refine!r}" + (f", assuming {judge.assumed}" if judge.assumed else "")
            print(f"seed {seed} ({how}): {problem}", flush=True)
            if seen[key] == 1:
                print(printed(found), "", sep="\n", flush=True)
    for name, count in sorted(totals.items()):
        print(f"{name:45} {count}")
    return 1 if totals["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
