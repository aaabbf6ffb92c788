"""Runs oracles in processes of their own, without a fault and with one."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from tests.mutants.mutant import Mutant
from tests.mutants.planting import ROOT, environment

SECONDS: Final = 180.0
"""For one run of an oracle."""

_PYTEST: Final = ("--all-cases", "-n0", "-x", "-q", "-rf", "--tb=no", "--no-header", "-p", "no:cacheprovider")
_BLIND: Final = ("-p", "tests.mutants.sound_only")


class Outcome(NamedTuple):
    """The outcome of one oracle: `passed`, `failed` (a test said no), `late`, or `broken` (it did not get to test)."""

    state: str
    by: str
    """The test that failed, or what went wrong."""


class Verdict(NamedTuple):
    """The outcome of one mutant, and the time it took."""

    mutant: Mutant
    caught: bool
    by: str
    seconds: float


def command(oracle: str) -> list[str]:
    """The command line of an oracle."""
    name, *arguments = shlex.split(oracle)
    options = [*_PYTEST, *_BLIND] if name == "pytest" else []
    return [sys.executable, "-m", name, *options, *arguments]


def run(oracle: str, mutant: Mutant | None = None, seconds: float = SECONDS) -> Outcome:
    """Run an oracle, with the fault planted if one is given."""
    done = subprocess.Popen(
        command(oracle),
        cwd=ROOT,
        env=environment(mutant),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = done.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, signal.SIGKILL)
        done.communicate()
        return Outcome("late", f"{oracle} took over {seconds:.0f} seconds")
    return read(oracle, done.returncode, output)


def read(oracle: str, code: int, output: str) -> Outcome:
    """The outcome that the exit code and the output of an oracle show."""
    if code == 0:
        return Outcome("passed", "")
    pattern = r"^FAILED (.*)$" if oracle.startswith("pytest ") else r"^((?:WRONG|INCOMPLETE|seed) .*)$"
    wrong = re.search(pattern, output, re.M)
    if code == 1 and wrong is not None:
        return Outcome("failed", wrong[1])
    last = next((line for line in reversed(output.splitlines()) if line.strip()), "no output")
    return Outcome("broken", f"{oracle}: exit code {code}: {last}")


def hunt(mutant: Mutant) -> Verdict:
    """Run the oracles of a mutant until one fails."""
    start = time.perf_counter()
    ends = []
    for oracle in mutant.oracles:
        state, by = run(oracle, mutant)
        if state == "failed":
            return Verdict(mutant, True, by, time.perf_counter() - start)
        ends.append(by or f"{oracle} passes")
    return Verdict(mutant, False, "; ".join(ends), time.perf_counter() - start)


def unsound(oracles: Iterable[str], jobs: int = 1) -> Iterator[tuple[str, Outcome]]:
    """The oracles that do not pass without a fault: they would catch anything."""
    distinct = list(dict.fromkeys(oracles))
    with ThreadPoolExecutor(jobs) as pool:
        for oracle, outcome in zip(distinct, pool.map(run, distinct), strict=True):
            if outcome.state != "passed":
                yield oracle, outcome
