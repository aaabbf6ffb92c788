"""The tables of docs/study.md: false claims of authors and tools, apart for each set of models, and for least sizes.

    python examples/export_models.py corpus
    python benchmarks/studies.py results --set exported=corpus [--set NAME=FOLDER ...]

The adversarial models of the tests are a set of their own, written to results/adversarial. Each set is studied for any
sizes, sizes of at least 1 and of at least 2; results/refuted.json has every false claim. What is there already is not
done again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from markdown import table
from windows import by_a_large_window

from absint.research.study import Study, study
from absint.research.study.study import Row, causes
from absint.research.study.tasks import installed
from tests.adversarial.__main__ import main as write_adversarial

LEAST = (0, 1, 2)
SIZES = {0: "any sizes", 1: "sizes >= 1", 2: "sizes >= 2"}
OPERATORS = 5

Studies = Mapping[int, Study]
"""By the least size."""


def studied(name: str, folder: Path, out: Path, sources: Sequence[str], jobs: int | None) -> Studies:
    """The three studies of a set."""
    found = {}
    for least in LEAST:
        start = perf_counter()
        found[least] = study(folder, out=out / f"{name}-{least}", sources=sources, jobs=jobs, at_least=least)
        pairs = f"{len(found[least].records):,} pairs, {found[least].reused:,} of them kept"
        print(f"{name}, {SIZES[least]}: {pairs}, {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return found


def claims(found: Studies) -> str:
    """The claims of each source, and the number of false ones."""
    heads = ["source", "models", "failed", "dims", "resolved", "claims", *(f"false, {SIZES[least]}" for least in LEAST)]
    first = found[0].table
    rows = {least: {row.source: row for row in item.table} for least, item in found.items()}
    return table(
        heads,
        [
            [
                row.source,
                f"{row.models:,}",
                f"{row.failed:,}",
                f"{row.dims:,}",
                f"{_percent(row)}",
                f"{row.claimed:,}",
                *(_false(rows[least][row.source]) for least in LEAST),
            ]
            for row in first
        ],
    )


def _percent(row: Row) -> str:
    return f"{100 * row.resolved / row.dims:.1f} %" if row.dims else "-"


def _false(row: Row) -> str:
    """False claims, and the nodes that they come from."""
    return f"{row.refuted:,} from {row.causes:,}" if row.refuted else "0"


def operators(found: Studies) -> str:
    """The operators that false claims come from, with the number of nodes, for each source."""
    rows = []
    for source in dict.fromkeys(row.source for item in found.values() for row in item.table if row.refuted):
        cells = []
        for item in found.values():
            own = [cause for cause in causes(item.records) if cause.source == source]
            shown = ", ".join(f"{cause.operator} {cause.nodes:,}" for cause in own[:OPERATORS])
            cells.append(shown + f", {len(own) - OPERATORS} more operators" * (len(own) > OPERATORS))
        rows.append([source, *cells])
    return table(["source", *(SIZES[least] for least in LEAST)], rows) if rows else "No source has a false claim.\n"


def windows(name: str, false: Sequence[Mapping[str, Any]]) -> str:
    """The false claims that are true of the specification, since a window is larger than the axis; a line a source."""
    counts = Counter((item["source"], item["at_least"]) for item in false if item["set"] == name and item["window"])
    return "\n".join(
        f"{source}: {', '.join(f'{counts[source, least]:,}' for least in LEAST)}"
        for source in dict.fromkeys(source for source, _ in counts)
    )


def refuted(sets: Mapping[str, Studies], folders: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Every false claim."""
    return [
        {"set": name, "at_least": least, "model": r.model, "source": r.source, **refutation}
        | {"window": by_a_large_window(folders[name] / r.model, refutation)}
        for name, found in sets.items()
        for least, item in found.items()
        for r in item.records
        for refutation in r.refutations
    ]


def main() -> int:
    """Read the command line. Exit code 1 if a claim of the policy `sound` is false."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the folder of the results")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=FOLDER", help="a set of models")
    parser.add_argument("--adversarial", action=argparse.BooleanOptionalAction, default=True, help="study these too")
    parser.add_argument("--jobs", type=int, help="parallel processes; one per core by default")
    parser.add_argument(
        "--source", action="append", default=[], help="declared, sound and all installed tools by default"
    )
    options = parser.parse_args()
    os.environ["PYTHONHASHSEED"] = "0"  # onnxruntime's tool goes through sets, so its claims depend on their order
    folders = {name: Path(folder) for name, _, folder in (text.partition("=") for text in options.set)}
    if options.adversarial:
        folders["adversarial"] = options.out / "adversarial"
        write_adversarial([str(folders["adversarial"])])
    sources = options.source or ["declared", "sound", *installed()]
    sets = {name: studied(name, folder, options.out, sources, options.jobs) for name, folder in folders.items()}
    false = refuted(sets, folders)
    for name, found in sets.items():
        print(f"\n### {name}: {len({r.model for r in found[0].records})} models\n")
        print(claims(found))
        print(operators(found))
        print(f"By windows larger than the axis, for the three columns:\n{windows(name, false) or 'none'}")
    (options.out / "refuted.json").write_text(json.dumps(false, indent=1) + "\n", "utf-8")
    print(f"{len(false):,} false claims in {options.out / 'refuted.json'}", file=sys.stderr)
    lost = [r for found in sets.values() for item in found.values() for r in item.lost]
    for r in lost:
        print(f"no result for {r.source} on {r.model}: {r.failure}", file=sys.stderr)
    return 1 if any(item["source"] == "policy sound" for item in false) else 0


if __name__ == "__main__":
    sys.exit(main())
