"""The theorems in docs/theory, checked by Coq: `python -m tests.jobs.mechanised`.

Compiles the files apart from the checkout, and asks of each theorem what it rests on. Prints the theorems with their
times; exit code 1 if a file does not compile or a theorem rests on an axiom, 2 without Coq (Debian's package `coq`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

FOLDER: Final = Path(__file__).parents[2] / "docs" / "theory"
PREFIX: Final = "Absint"
CLOSED: Final = "Closed under the global context"


def sources() -> Mapping[str, str]:
    """The text of each file by its name, each after those that it requires."""
    texts = {file.stem: file.read_text("utf-8") for file in FOLDER.glob("*.v")}
    imports = rf"From {PREFIX} Require Import ([^.]*)\."
    required = {name: " ".join(re.findall(imports, text)).split() for name, text in texts.items()}
    return {name: texts[name] for name in TopologicalSorter(required).static_order()}


def named(text: str, kind: str) -> list[str]:
    """The names of the theorems or lemmas of a file."""
    return re.findall(rf"(?m)^ *{kind} (\w+)", text)


def compiled(name: str, text: str, folder: Path) -> str:
    """What Coq says of a file; raises CalledProcessError if it does not compile."""
    file = folder / f"{name}.v"
    file.write_text(text, "utf-8")
    command = ["coqc", "-q", "-Q", str(folder), PREFIX, str(file)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=300).stdout


def resting(name: str, theorems: list[str], folder: Path) -> Iterator[tuple[str, str]]:
    """The theorems of a compiled file, each with what it rests on."""
    asked = "".join(f"Print Assumptions {theorem}.\n" for theorem in theorems)
    said = compiled("Assumptions", f"From {PREFIX} Require Import {name}.\n{asked}", folder).split("\n")[:-1]
    if len(said) == len(theorems):
        yield from zip(theorems, said, strict=True)
        return
    for theorem in theorems:  # one says more than a line
        text = f"From {PREFIX} Require Import {name}.\nPrint Assumptions {theorem}.\n"
        yield theorem, compiled("Assumptions", text, folder).strip()


def main() -> int:
    if shutil.which("coqc") is None:
        print("no coqc: install Coq, as with `apt-get install coq`")
        return 2
    wrong = 0
    with TemporaryDirectory() as made:
        folder = Path(made)
        for name, text in sources().items():
            start = perf_counter()
            try:
                compiled(name, text, folder)
            except subprocess.CalledProcessError as error:
                print(error.stderr)
                return 1
            print(f"{name}.v  {len(text.splitlines())} lines, {perf_counter() - start:.1f} s")
            for theorem, rests in resting(name, named(text, "Theorem"), folder):
                print(f"  {theorem}: {rests}")
                wrong += rests != CLOSED
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
