"""The jobs of engineers, each by absint and by the tools that people use, on the same five models.

    python benchmarks/jobs.py --peers DIR [--seconds 60] [--jobs legal diff ...]

DIR is the `bin` of an environment with onnxruntime, onnxsim, onnxslim, onnx-tool, onnx-shape-inference, and polygraphy
with onnx-graphsurgeon. A cell has what a run of onnxruntime shows of the answer, the exit code, and of a failure or a
warning one line. docs/jobs.md has the tables.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent))

from subjects import SUBJECTS
from tasks import JOBS, Bench

PACKAGES: Final = (
    "onnx onnxruntime onnxsim onnxslim polygraphy onnx-graphsurgeon onnx-tool onnx-shape-inference"
).split()


def versions(peers: Path) -> str:
    """What is installed among the peers."""
    code = "import sys; from importlib.metadata import version; print(*[f'{n} {version(n)}' for n in sys.argv[1:]], sep=', ')"
    done = subprocess.run([peers / "python", "-c", code, *PACKAGES], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60, help="time limit of a command")
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    options = parser.parse_args(arguments)
    peers = options.peers.absolute()
    print(versions(peers))
    for job in options.jobs:
        title, rows = JOBS[job]
        print(f"\n## {title}\n")
        print("| | " + " | ".join(subject.name for subject in SUBJECTS) + " |")
        print("|---" * (len(SUBJECTS) + 1) + "|")
        for tool, cell in rows:
            cells = []
            for subject in SUBJECTS:
                with tempfile.TemporaryDirectory() as folder:
                    bench = Bench(subject, subject.copied(Path(folder)), peers, options.seconds)
                    cells.append(cell(bench))
            print(f"| {tool} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
