"""The jobs of engineers, each by absint and by the tools that people use, on the same five models.

    python benchmarks/jobs.py MODELS --peers DIR [--seconds 60] [--jobs legal diff ...]

MODELS is a folder with the models, or some of them; DIR is the `bin` of an environment with onnxruntime, onnxsim,
onnxslim, onnx-tool, onnx-shape-inference, and polygraphy with onnx-graphsurgeon. An answer has what a run of
onnxruntime shows of it, the exit code, and of a failure or a warning one line. docs/jobs.md has the tables.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent))

from bench import Bench, Row
from jobs_of_inference import inferring
from jobs_that_answer import checking, comparing, linting, profiling
from jobs_that_write import dynamizing, freezing
from subjects import SUBJECTS, Subject

JOBS: Final[Mapping[str, tuple[str, list[Row]]]] = {
    "legal": ("Freeze, legal sizes", freezing(lambda s: s.legal)),
    "illegal": ("Freeze, illegal sizes", freezing(lambda s: s.illegal)),
    "misspelt": ("Freeze, misspelt", freezing(lambda s: s.legal, wrong_name=True)),
    "check": ("Illegal sizes, and which are legal", checking()),
    "dynamize": ("Dynamize", dynamizing()),
    "profile": ("Profile", profiling()),
    "diff": ("Diff", comparing()),
    "lint": ("Lint", linting()),
    "infer": ("Infer", inferring()),
}

PACKAGES: Final = (
    "onnx",
    "onnxruntime",
    "onnxsim",
    "onnxslim",
    "polygraphy",
    "onnx-graphsurgeon",
    "onnx-tool",
    "onnx-shape-inference",
)
VERSIONS: Final = """
import sys
from importlib.metadata import version
print(*[f"{name} {version(name)}" for name in sys.argv[1:]], sep=", ")
"""


def versions(peers: Path) -> str:
    """The peers that are installed."""
    done = subprocess.run([peers / "python", "-c", VERSIONS, *PACKAGES], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def grouped(subjects: Sequence[Subject], cells: Sequence[str]) -> str:
    """One answer per line, with the models that it is for."""
    models: dict[str, list[str]] = {}
    for subject, cell in zip(subjects, cells, strict=True):
        models.setdefault(cell, []).append(subject.name.partition(".")[0])
    if len(models) == 1:
        return f"all: {cells[0]}"
    return "<br>".join(f"{', '.join(names)}: {cell}" for cell, names in models.items())


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, help="a folder")
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60, help="time limit of a command")
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    options = parser.parse_args(arguments)
    peers = options.peers.absolute()
    subjects = [subject for subject in SUBJECTS if (options.models / subject.file).exists()]
    if not subjects:
        parser.error(f"{options.models} has none of {', '.join(subject.file for subject in SUBJECTS)}")
    print(versions(peers))
    for job in options.jobs:
        title, rows = JOBS[job]
        print(f"\n## {title}\n")
        print("| tool | answer |\n|---|---|")
        for tool, cell in rows:
            cells = []
            for subject in subjects:
                with tempfile.TemporaryDirectory() as folder:
                    bench = Bench(subject, subject.copied(options.models, Path(folder)), peers, options.seconds)
                    cells.append(cell(bench))
            print(f"| {tool} | {grouped(subjects, cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
