"""The packages, built and tried in fresh environments, with the newest dependencies and with the oldest.

    python -m tests.jobs.packages [--python 3.12 ...] [--pages docs/workflows/ci.md ...]

Each Python gets four environments: absint alone and with all of its extras, each with the newest dependencies and with
the oldest that the metadata allow and that have a wheel for it. Nothing is compiled: a dependency without a wheel is
an error. With the extras every command and Python block of README and of the pages for workflows must print what the
page shows; without them every command must answer, or name in one line what is to be installed.

Needs `uv`, which finds interpreters or fetches them. With pip alone there are the newest dependencies only. What is
not tried is said: for a Python that is not here, whether its dependencies have wheels.
"""

from __future__ import annotations

import argparse
import email
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.pages.console import agrees, blocks, remarks, sessions, unprinted

ROOT: Final = Path(__file__).parents[2]
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
EXTRAS: Final = ("run", "plots", "ir", "distributed")
PAGES: Final = ("README.md", *sorted(file.relative_to(ROOT).as_posix() for file in ROOT.glob("docs/workflows/*.md")))
WAYS: Final = {"newest": "highest", "oldest": "lowest-direct"}
BINARIES: Final = "Scripts" if os.name == "nt" else "bin"

Words = Sequence[str | Path]


def run(
    command: Words, cwd: Path, more: Mapping[str, str] = MappingProxyType({}), stderr: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """Run a command where the checkout is not on Python's path."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | more
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )


def build(folder: Path, *kinds: str) -> Path:
    """Build the wheel, or other kinds too, and give the wheel."""
    if all(map(importlib.util.find_spec, ("build", "hatchling", "hatch_fancy_pypi_readme"))):
        how: Words = ["-m", "build", *kinds, "--no-isolation", "--outdir", folder, ROOT]
    else:  # fetches the build backend
        how = ["-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, ROOT]
    built = run([sys.executable, *how], cwd=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = folder.glob("absint-*.whl")
    return wheel


def requirements(wheel: Path, extras: Sequence[str]) -> list[str]:
    """What the wheel needs with these extras, so that "the oldest" is about these and not about the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = email.message_from_bytes(archive.read(name)).get_all("Requires-Dist", [])
    split = [re.match(r"([^;]+?)\s*(?:;\s*extra == '([^']+)')?$", line) for line in lines]
    assert all(split), lines
    return [found[1] for found in split if found is not None and found[2] in (None, *extras)]


@dataclass(frozen=True)
class Environment:
    home: Path
    uv: Path | None

    @property
    def python(self) -> Path:
        return self.home / BINARIES / "python"

    def make(self, interpreter: str) -> str:
        """Why there is none, if so."""
        how: Words = [self.uv, "venv", "--quiet", "--python"] if self.uv else [interpreter, "-m", "venv"]
        done = run([*how, *([interpreter] if self.uv else []), self.home], cwd=self.home.parent)
        return "" if done.returncode == 0 else last_line(done.stderr)

    def install(self, wheel: Path, extras: Sequence[str], way: str) -> str:
        """Why the wheel cannot be installed, if so."""
        wanted = [f"{wheel}[{','.join(extras)}]" if extras else str(wheel), *requirements(wheel, extras)]
        how: Words = [self.uv, "pip", "install", "--python", self.python, "--resolution", WAYS[way]]
        if self.uv is None:
            how = [self.python, "-m", "pip", "install", "--disable-pip-version-check"]
        done = run([*how, "--quiet", "--only-binary", ":all:", *wanted], cwd=self.home)
        return "" if done.returncode == 0 else done.stderr.strip()

    def versions(self, wheel: Path) -> str:
        named = [name_of(line) for line in requirements(wheel, EXTRAS)]
        code = (
            "import importlib.metadata as m, sys, re; n = {re.sub('[-_.]+', '-', d.name).lower(): d.version"
            " for d in m.distributions()}; print(*(f'{x} {n[x]}' for x in sys.argv[1:] if x in n), sep=', ')"
        )
        return run([self.python, "-c", code, *named], cwd=self.home).stdout.strip()

    def printed(self, command: Words, cwd: Path) -> tuple[int, str]:
        """The exit code, and what the command writes on both streams."""
        path = os.pathsep.join([str(self.python.parent), os.environ["PATH"]])
        done = run([self.python.parent / command[0], *command[1:]], cwd, {"PATH": path}, subprocess.STDOUT)
        return done.returncode, done.stdout


def name_of(requirement: str) -> str:
    return re.sub("[-_.]+", "-", re.split(r"[<>=!~ ]", requirement)[0]).lower()


def last_line(text: str) -> str:
    return next(reversed(text.strip().splitlines()), "")


def page_faults(environment: Environment, page: str, *, exactly: bool) -> Iterator[str]:
    """Run the blocks of a page in its order, in a scratch folder with a copy of examples/.

    Not `exactly`: commands alone, and one may also answer otherwise, or say what is to be installed.
    """
    python = blocks(ROOT / page, "python run")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples")
        for line, source in sorted([*(python if exactly else []), *blocks(ROOT / page, "console")]):
            if (line, source) in python:
                (folder / "blocks.py").write_text("\n".join(text for at, text in python if at <= line), "utf-8")
                code, output = environment.printed(["python", "blocks.py"], folder)
                if code or unprinted(remarks(source), output):
                    yield f"{page}:{line}: {last_line(output)}"
                continue
            for command, expected in sessions(source):
                code, output = environment.printed(shlex.split(command), folder)
                if not (agrees(expected, output) or (not exactly and is_answer(command, code, output))):
                    yield f"{page}: {command}: exit code {code}\n" + textwrap.indent(output, "    ")


def is_answer(command: str, code: int, output: str) -> bool:
    """Yes, no, undecided, or what is to be installed; other programs than absint are not judged."""
    broken = "Traceback" in output or "internal error" in output
    return not command.startswith("absint") or (not broken and (code in (0, 1, 3) or "pip install" in output))


def tried(wheel: Path, interpreter: str, uv: Path | None, pages: Sequence[str]) -> Iterator[str]:
    """A line for each environment of a Python, and for each fault."""
    for way, extras in product(WAYS if uv else ["newest"], ((), EXTRAS)):
        environment = Environment(wheel.parents[1] / "environment", uv)
        shutil.rmtree(environment.home, ignore_errors=True)
        started = time.monotonic()
        fault = environment.make(interpreter) or environment.install(wheel, extras, way)
        if fault:
            yield f"FAULT: {way}: {fault}"
            continue
        faults = [fault for page in pages for fault in page_faults(environment, page, exactly=bool(extras))]
        kind = f"absint[{','.join(extras)}]" if extras else "absint"
        yield f"{way}, {kind}: {len(faults)} faults, {time.monotonic() - started:.0f} s"
        yield f"    {environment.versions(wheel)}"
        yield from (f"FAULT: {fault}" for fault in faults)


def interpreter_of(version: str, uv: Path | None) -> str:
    """The path of an interpreter, which uv may fetch; empty if there is none."""
    if f"{sys.version_info[0]}.{sys.version_info[1]}" == version:
        return sys.executable
    for found in [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]:
        if found is not None and run([found, "--version"], cwd=ROOT).returncode == 0:
            return str(found)
    if uv is not None and run([uv, "python", "install", "--quiet", version], cwd=ROOT).returncode == 0:
        return run([uv, "python", "find", version], cwd=ROOT).stdout.strip()
    return ""


def resolved(wheel: Path, version: str, uv: Path) -> Iterator[str]:
    """For a Python that is not here: the versions that have wheels for it."""
    needs = wheel.parent / "requirements.txt"
    needs.write_text("\n".join(requirements(wheel, EXTRAS)))
    for way, resolution in WAYS.items():
        options = ["--only-binary", ":all:", "--no-annotate", "--no-header", "--resolution", resolution]
        done = run([uv, "pip", "compile", "--quiet", "--python-version", version, *options, needs], cwd=ROOT)
        named = {name_of(line) for line in requirements(wheel, EXTRAS)}
        pins = [line.replace("==", " ") for line in done.stdout.splitlines() if name_of(line) in named]
        yield f"{way}: there are wheels for {', '.join(pins)}" if pins else f"FAULT: {way}: {done.stderr.strip()}"


def checked(folder: Path, uv: Path | None) -> str:
    """What `twine check --strict` says of metadata and long descriptions."""
    twine: Words = [found] if (found := shutil.which("twine")) else [uv, "tool", "run", "twine"] if uv else []
    if not twine:
        return "metadata not checked: neither twine nor uv is here"
    done = run([*twine, "check", "--strict", *sorted(folder.glob("absint-*"))], folder)
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    return ("" if done.returncode == 0 else "FAULT: ") + " ".join(said.split())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.jobs.packages", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--python", nargs="+", default=PYTHONS, metavar="VERSION")
    parser.add_argument("--pages", nargs="+", default=PAGES, metavar="PAGE")
    given = parser.parse_args(arguments)
    found = shutil.which("uv")
    uv = Path(found) if found else None
    faults = 0

    def say(text: str) -> None:
        nonlocal faults
        faults += text.lstrip().startswith("FAULT")
        print(text, flush=True)

    with tempfile.TemporaryDirectory() as name:
        dist = Path(name) / "dist"
        dist.mkdir()
        wheel = build(dist)
        say(checked(dist, uv))
        for version in given.python:
            interpreter = interpreter_of(version, uv)
            print(f"Python {version}: {interpreter or 'no interpreter was found, nothing tried'}", flush=True)
            if interpreter:
                lines = tried(wheel, interpreter, uv, given.pages)
            else:
                lines = resolved(wheel, version, uv) if uv else iter(())
            for line in lines:
                say(f"  {line}")
    if uv is None:
        print("the oldest dependencies were not tried: uv finds them, and pip does not")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
