"""Certificates of real models: `python -m tests.jobs.certificates MODEL... [--python PYTHON] [--solver cvc5]`.

Each model is certified and rechecked by check.py, beside its bytes, in another interpreter (`--python`: one without
absint). `share` is that of the sizes that are proved; `lines to read` are those of the specifications that differ.
Then one number in the claim of a step is changed: in the manifest alone, in its lemma alone, and in both with the
hash; each must be found. Prints a table; exit code 1 if something is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import absint
from absint.questions.certificates import check
from absint.questions.certificates.certificate import Certificate

HEAD = (
    "| model | steps | sizes | certified | resting | on trust | open | share | compared | lemmas | lines to read | "
    "kB | write s | recheck s | changes found |"
)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Certify models and recheck their certificates.")
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that rechecks")
    parser.add_argument("--solver", default="cvc5")
    options = parser.parse_args(arguments)
    print(HEAD)
    print(re.sub(r"[^|]+", "---", HEAD))
    wrong = 0
    for model in options.models:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            result = absint.analyze(model)
            start = time.monotonic()
            found = result.certify()
            size = found.write(folder)
            written = time.monotonic() - start
            code, said = recheck(folder, options, "--model", str(model.resolve()))
            seconds = time.monotonic() - start - written
            changes = [name for name, change in CHANGES.items() if is_found(folder, found, change, options)]
            wrong += code != 0 or len(changes) < len(CHANGES)
            sizes = found.sizes
            cells = [
                model.name,
                f"{len(found.steps):,}",
                *(f"{number:,}" for number in (sizes.total(), sizes["certified"], sizes["resting"], sizes["trusted"])),
                f"{(missing := unclaimed(said)):,}",
                f"{100 * sizes['certified'] / (sizes.total() + missing):.1f} %",
                compared(said),
                *(f"{len(found.lemmas):,}", f"{to_read(found):,}", f"{size / 1000:,.0f}"),
                *(f"{written:.1f}", f"{seconds:.1f}"),
                f"{len(changes)} of {len(CHANGES)}" + (", does not recheck" if code else ""),
            ]
            print(f"| {' | '.join(cells)} |", flush=True)
            for (operator, reason), count in found.on_trust.most_common():
                print(f"    on trust: {operator or 'control flow'}, {count}: {reason}", file=sys.stderr)
    return int(wrong > 0)


def recheck(folder: Path, options: argparse.Namespace, *more: str) -> tuple[int, str]:
    """The exit code and the output of check.py, away from this repository."""
    command = [options.python, "-I", str(folder / "check.py"), "--solver", options.solver, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return done.returncode, done.stdout + done.stderr


def to_read(found: Certificate) -> int:
    """The lines of all specifications that differ, which whoever checks has to read."""
    lemmas = [check.Lemma(lemma.script) for lemma in found.lemmas.values()]
    lines = {lemma.specification(found.semantics): len(lemma.of_node) for lemma in lemmas if lemma.title != "query"}
    return sum(lines.values())


def unclaimed(said: str) -> int:
    """How many sizes of values, whose number of axes is claimed, nobody claims."""
    found = re.search(r"^  (\d+) sizes are open", said, re.MULTILINE)
    return 0 if found is None else int(found[1])


def compared(said: str) -> str:
    """How many steps check.py compared with the model, and how many not."""
    found = re.search(r"^as in the model: nodes (\d+), .* (\d+), constants (\d+); not compared: (\d+)$", said, re.M)
    numbers = [0, 0, 0, 0] if found is None else [int(number) for number in found.groups()]
    return f"{sum(numbers[:3]):,}, {numbers[3]:,} not"


class Change:
    """One number of a claim of a step by a lemma, changed in some places."""

    def __init__(self, manifest: bool, lemma: bool, digest: bool, told: str) -> None:
        self.manifest, self.lemma, self.digest, self.told = manifest, lemma, digest, told


CHANGES = {
    "manifest": Change(True, False, False, "its lemma proves"),
    "lemma": Change(False, True, False, "its hash differs"),
    "all": Change(True, True, True, "sat, must be unsat"),
}


def is_found(folder: Path, found: Certificate, change: Change, options: argparse.Namespace) -> bool:
    """check.py says what was changed; the folder is as before afterwards."""
    number, axis, size = last_number(found)
    manifest: dict[str, Any] = json.loads(found.manifest())
    step = manifest["steps"][number]
    path = folder / "lemmas" / f"{step['lemma']}.smt2"
    if change.manifest:
        step["gives"][0]["dims"][axis] = str(size + 1)
    if change.lemma:
        text = path.read_text("utf-8")
        path.write_text(re.sub(rf"\(= out0@{axis} \S+\)\n", f"(= out0@{axis} {size + 1}))\n", text), "utf-8")
        assert path.read_text("utf-8") != text
    if change.digest:
        manifest["lemmas"][step["lemma"]] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    code, said = recheck(folder, options)
    found.write(folder)
    return code == 1 and change.told in said


def last_number(found: Certificate) -> tuple[int, int, int]:
    """The last claim by a lemma that a size is a number: step, axis, size."""
    for number in range(len(found.steps) - 1, -1, -1):
        step = found.steps[number]
        for axis, dim in enumerate(step.claims[0].dims or ()) if step.lemma is not None and step.claims else ():
            if (
                dim is not None
                and dim.isdecimal()
                and f"out0@{axis}" not in step.on_trust
                and step.claims[0].elements is None
            ):
                return number, axis, int(dim)
    raise SystemExit(f"{found.model}: no size is a number")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
