"""The long fuzz over the node models, and the table of operators.

python -m tests.soundness [--thorough] [--seed N] [--bindings N] [--shard I/N] [PATTERN ...]
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections import Counter, defaultdict

from absint.transfer.families import shipped
from tests.soundness import limits
from tests.soundness.harness import Report, examine, missing_rules
from tests.soundness.models import node_tests

CONTROLS = ("constant", "computed", "hidden")


def main() -> int:
    """Examine the node tests, print what is wrong and the table; 1 if a claim is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", help="regular expressions; all node tests without one")
    parser.add_argument("--thorough", action="store_true", help="more variants and bindings")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bindings", type=int, default=0, help="sampled bindings of a variant")
    parser.add_argument("--shard", default="0/1", help="I/N: every Nth node test from I on")
    parser.add_argument("--list-open", action="store_true", help="show the shapes that are not exact")
    parser.add_argument("--list-differences", action="store_true", help="show failures of onnxruntime alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    first, step = map(int, arguments.shard.split("/"))
    count = arguments.bindings or (16 if arguments.thorough else 5)
    reports: list[Report] = []
    left_out: Counter[str] = Counter()
    start = time.perf_counter()
    for name, test in list(node_tests().items())[first::step]:
        if arguments.patterns and not any(re.search(pattern, name) for pattern in arguments.patterns):
            continue
        without = missing_rules(test, shipped())
        if without or limits.is_untrusted(name):
            left_out.update(without or ["(runtime not trusted)"])
            continue
        report = examine(test, count=count, thorough=arguments.thorough, seed=arguments.seed)
        reports.append(report)
        for kind, texts in (("WRONG", report.wrong), ("INCOMPLETE", report.incomplete)):
            for text in texts[:3]:
                print(kind, text)
        if arguments.list_open:
            for place, text in report.left_open.items():
                print("open", name, place, text)
        if arguments.list_differences:
            for text, times in report.differences.items():
                print("difference", name, times, text)
    table(reports)
    seconds = time.perf_counter() - start
    runtimes = sum((report.runtimes for report in reports), Counter())
    print(
        f"{len(reports)} node tests, {sum(r.ran for r in reports)} runs ({dict(runtimes)}), "
        f"{sum(r.failed for r in reports)} bindings that fail, {seconds:.0f} s; "
        f"wrong {sum(len(r.wrong) for r in reports)}, incomplete {sum(len(r.incomplete) for r in reports)}"
    )
    print("left out:", ", ".join(f"{name} ({times})" for name, times in left_out.most_common()) or "none")
    return int(any(r.wrong or r.incomplete for r in reports))


def table(reports: list[Report]) -> None:
    """Exact dims by operator and by how inputs that decide shapes are given."""
    dims: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for report in reports:
        dims[report.test.operator].update(report.dims)
        dims["all"].update(report.dims)
    print(f"{'exact dims of outputs':30}" + "".join(f"{control:>22}" for control in CONTROLS))
    for operator in sorted(dims, key=lambda name: (name == "all", name)):
        cells = []
        for control in CONTROLS:
            exact, left = dims[operator][control, "exact"], dims[operator][control, "open"]
            norank = dims[operator][control, "norank"]
            share = f"{100 * exact / (exact + left):.1f} % of {exact + left}" if exact + left else ""
            cells.append(f"{share}{f', {norank} no rank' if norank else ''}".rjust(22))
        if operator == "all" or any(dims[operator][c, k] for c in CONTROLS for k in ("open", "norank")):
            print(f"{operator:30}" + "".join(cells))


if __name__ == "__main__":
    sys.exit(main())
