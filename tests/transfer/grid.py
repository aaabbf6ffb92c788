"""Dense grids of single nodes of concrete sizes, each executed: where a complete rule leaves nothing open, it runs.

python -m tests.transfer.grid [--count N] [--seed N] [OPERATOR ...]

A grid draws nodes at random, legal and illegal ones. The rule sees every size, and the elements of initializers: its
answer is as sharp as it can be.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from absint.runs.run import typed
from absint.testing.cases import arrays_of, build_model
from tests.soundness.runs import ENGINE
from tests.transfer.harness import Case, apply_case, check_outputs

Draw = Callable[[random.Random], Case]

_NO_KERNEL = re.compile("NOT_IMPLEMENTED|Could not find an implementation|is not a registered|under development")


@dataclass
class Counted:
    """Results of the nodes of a grid, and of the rule on them."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    open: Counter[str] = field(default_factory=Counter)
    """Why nodes that run are not said to."""

    @property
    def decided(self) -> float:
        """The part of the nodes that run of which the rule says so, 0 to 1."""
        ran = self.counts["runs, and is said to"] + self.counts["runs, left open"]
        return self.counts["runs, and is said to"] / ran if ran else 1.0


def examine(draw: Draw, count: int, seed: int = 0) -> Counted:
    """Draw nodes, apply the rule to each and execute it."""
    found = Counted()
    for number in range(count):
        case = draw(random.Random(zlib.crc32(f"{seed} {number}".encode())))
        _examine(case, number, found)
    return found


def _examine(case: Case, number: int, found: Counted) -> None:
    applied = apply_case(case)
    doubts = [failure.reason for failure in applied.possible_failures if not failure.at_load]
    promised = applied.rejected is None and not (doubts or applied.notes)
    outputs, failure = run(case, number)
    if outputs is None:
        if failure is None:
            found.counts["no kernel"] += 1
            return
        found.counts["fails, and is said to run" if promised else "fails"] += 1
        if promised:
            found.wrong.append(f"{case}: nothing says that it fails: {failure[:300]}")
        return
    try:
        check_outputs(case, applied, {}, outputs)
    except AssertionError as error:
        found.wrong.append(str(error))
    found.counts["runs, and is said to" if promised else "runs, left open"] += 1
    found.open.update(() if promised else [*doubts, *applied.notes])


def run(case: Case, seed: int) -> tuple[list[object] | None, str | None]:
    """The outputs in onnxruntime; None and the failure; twice None if it has no kernel."""
    arrays = arrays_of(case, {}, seed)
    try:
        model = build_model(case, arrays)
    except Exception as error:  # onnx cannot write such a node at all
        return None, f"{type(error).__name__}: {error}"
    given = {info.name for info in model.graph.input}
    feeds = {name: a for i, a in enumerate(arrays) if a is not None and (name := f"x{i}") in given}
    written = model.SerializeToString()
    loaded, types = ENGINE.load(written)
    ok, reply = ENGINE.run(written, feeds) if loaded else (False, types)
    if not ok:
        return None, None if _NO_KERNEL.search(reply) else reply
    return [typed(kind, value) for kind, value in zip(types, reply, strict=True)], ""


def grids() -> Mapping[str, Draw]:
    """The grids by name."""
    from tests.transfer import grid_contrib, grid_fused, grid_layers, grid_ml, grid_quantised, grid_sequences, grid_sums

    found: dict[str, Draw] = {}
    for module in (grid_layers, grid_sums, grid_quantised, grid_ml, grid_fused, grid_sequences, grid_contrib):
        found |= module.GRIDS
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine the grids; 1 if a node fails that is said to run, or a claim is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    failed = False
    for name, draw in grids().items():
        if asked.names and name not in asked.names:
            continue
        found = examine(draw, asked.count, asked.seed)
        failed |= bool(found.wrong)
        print(f"{name:28} decided {100 * found.decided:5.1f} %  {dict(found.counts)}", flush=True)
        for text in found.wrong[:6]:
            print("  WRONG", text)
        for reason, times in found.open.most_common(4):
            print(f"  open {times:5} {reason}")
    return int(failed)


def subset(rng: random.Random, choices: Mapping[str, Sequence[object]], chance: float = 0.4) -> dict[str, object]:
    """Some of the attributes, each with one of its values."""
    return {name: rng.choice(list(values)) for name, values in choices.items() if rng.random() < chance}


if __name__ == "__main__":
    sys.exit(main())
