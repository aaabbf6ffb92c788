"""Two or more checkouts side by side: processor time of `absint.analyze` in memory, model by model.

    python benchmarks/checkouts.py CHECKOUT CHECKOUT [...] --models MODEL [...] [--rounds COUNT]

Each checkout has a process of its own. They take turns at each model, in both orders, and the least time of all rounds
counts, so that the load of the machine falls on all of them alike. Printed are ratios to the first checkout, as
geometric means and the largest: where every rule is applied (after `absint.purge()`), and where all is remembered. The
same checkout twice shows how far two measurements differ.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from math import exp, log
from typing import Final, NamedTuple

WORKER: Final = """
import sys, time
import onnx, absint
models = {path: onnx.load(path, load_external_data=False) for path in sys.argv[1:]}
print(absint.__file__, flush=True)
for line in sys.stdin:
    model = models[line.strip()]
    absint.purge()
    times = []
    for _ in range(2):
        start = time.process_time()
        absint.analyze(model)
        times.append(time.process_time() - start)
    print(*times, flush=True)
"""

WAYS: Final = ("every rule applied", "all remembered")


class Times(NamedTuple):
    """Seconds of an analysis."""

    applied: float = float("inf")
    remembered: float = float("inf")

    def least(self, other: Times) -> Times:
        return Times(*map(min, self, other))


class Checkout:
    """A process that analyses models with one checkout."""

    def __init__(self, path: str, models: Sequence[str]) -> None:
        self.path = os.path.abspath(path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER, *models],
            env={**os.environ, "PYTHONPATH": self.path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        found = self._answer()
        if not found.startswith(self.path):
            raise SystemExit(f"{path} has no package absint: {found or 'it cannot be imported'}")

    def times(self, model: str) -> Times:
        """The times of one run of each way."""
        assert self._process.stdin is not None
        print(model, file=self._process.stdin, flush=True)
        return Times(*map(float, self._answer().split()))

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.communicate()


def measured(checkouts: Sequence[Checkout], models: Sequence[str], rounds: int) -> list[dict[str, Times]]:
    """The least times of each checkout, by model. The first round warms up."""
    best: list[dict[str, Times]] = [{} for _ in checkouts]
    for number in range(rounds + 1):
        for model in models:
            order = range(len(checkouts)) if number % 2 else reversed(range(len(checkouts)))
            for at in order:
                found = checkouts[at].times(model)
                if number:
                    best[at][model] = best[at].get(model, Times()).least(found)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="+", metavar="CHECKOUT")
    parser.add_argument("--models", nargs="+", required=True, metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    models = [os.path.abspath(model) for model in arguments.models]
    checkouts = [Checkout(path, models) for path in arguments.checkouts]
    best = measured(checkouts, models, max(arguments.rounds, 1))
    for checkout in checkouts:
        checkout.close()
    for way, name in enumerate(WAYS):
        print(name)
        for checkout, times in zip(checkouts, best, strict=True):
            ratios = {model: times[model][way] / best[0][model][way] for model in models}
            mean = exp(sum(map(log, ratios.values())) / len(ratios))
            slowest = max(ratios, key=lambda model: ratios[model])
            total = 1e3 * sum(found[way] for found in times.values())
            most = f"most {ratios[slowest]:.3f} ({os.path.basename(slowest)})"
            print(f"  {checkout.path:40}  {total:9.1f} ms in all  mean {mean:.3f}  {most}")


if __name__ == "__main__":
    main()
