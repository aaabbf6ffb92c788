"""The gain that compiling would bring: the same source through Cython, beside the interpreted one.

    pip install cython setuptools && python benchmarks/compiled.py MODEL [MODEL ...] [--only lattices transfer]

The rooms that an analysis passes through are copied to a temporary folder and compiled there as they are (needs a C
compiler; a few minutes). Both are timed in turn, five times, each in a process of its own: models that have to be
inferred, and models that are remembered. Nothing of it is shipped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
ROOMS = ("lattices", "transfer", "engine", "model", "rules", "program", "shapes")
LEFT_OUT = ("__init__", "signal")
LABELS = ("inferred", "remembered")
ROUNDS = 5

WORKER = """
import copy, json, sys, time
sys.path.insert(0, {folder!r})
import absint
from engines import load
assert absint.__file__.startswith({folder!r})
found = {{}}
for path in {paths!r}:
    model, found[path] = load(path), {{}}
    absint.analyze(model)
    for label, forget in (("inferred", absint.purge), ("remembered", lambda: None)):
        seconds = []
        for _ in range(9):
            given = copy.deepcopy(model)
            forget()
            start = time.perf_counter()
            absint.analyze(given)
            seconds.append(time.perf_counter() - start)
        found[path][label] = sorted(seconds)[len(seconds) // 2]
print(json.dumps(found))
"""


def build(folder: Path, only: list[str]) -> int:
    """Compile the modules of these packages in place; how many."""
    modules = [
        path
        for package in only
        for path in sorted((folder / "absint" / package).rglob("*.py"))
        if path.stem not in LEFT_OUT
    ]
    script = (
        "from setuptools import setup\nfrom Cython.Build import cythonize\n"
        f"setup(ext_modules=cythonize({[str(path.relative_to(folder)) for path in modules]!r}, "
        "compiler_directives={'language_level': 3, 'annotation_typing': False, 'binding': True}, quiet=True), "
        "script_args=['-q', 'build_ext', '--inplace', '-j2'])\n"
    )
    (folder / "setup.py").write_text(script)
    flags = {**os.environ, "CFLAGS": "-O2 -w"}
    run = subprocess.run([sys.executable, "setup.py"], cwd=folder, env=flags, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"it does not compile: {run.stderr[-2000:]}")
    for path in modules:
        path.unlink()
    return len(modules)


def times(folder: Path, paths: list[str]) -> dict[str, dict[str, float]]:
    """Median seconds of each model with the package of a folder."""
    code = WORKER.format(folder=str(folder), paths=paths)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parent)])}
    run = subprocess.run([sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    found: dict[str, dict[str, float]] = json.loads(run.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Compare over the models named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--only", nargs="*", default=list(ROOMS), choices=ROOMS)
    options = parser.parse_args()
    paths = [str(path.resolve()) for path in options.models]
    console = Console(width=160)
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / kind for kind in ("plain", "compiled")]
        for folder in folders:
            shutil.copytree(ROOT / "absint", folder / "absint", ignore=shutil.ignore_patterns("__pycache__"))
        count = build(folders[1], options.only)
        rounds = [[times(folder, paths) for folder in folders] for _ in range(ROUNDS)]
    plain, fast = (
        {path: {label: min(r[kind][path][label] for r in rounds) for label in LABELS} for path in paths}
        for kind in (0, 1)
    )
    table = Table(title=f"{count} modules compiled ({', '.join(options.only)})", box=None)
    for column in ("model", "inferred ms", "compiled ms", "faster", "remembered ms", "compiled ms", "faster"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for path in paths:
        cells = []
        for label in LABELS:
            before, after = plain[path][label], fast[path][label]
            cells += [f"{1e3 * before:.1f}", f"{1e3 * after:.1f}", f"{before / after:.2f}"]
        table.add_row(Path(path).stem, *cells)
    console.print(table)
    for label in LABELS:
        mean = statistics.geometric_mean(plain[path][label] / fast[path][label] for path in paths)
        console.print(f"{label}: {mean:.2f} times faster in the geometric mean")


if __name__ == "__main__":
    main()
