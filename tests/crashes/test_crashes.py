"""No input that ever broke something breaks anything now: an answer or one line, within limits of time and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import absint
from tests.crashes.made import nested
from tests.fuzz.executing import judged

ROOT = Path(__file__).parents[2]


def test_every_crash_is_answered() -> None:
    """In a process that may hold 2 GB; a case that takes over 20 s is wrong as well."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.crashes"], cwd=ROOT, capture_output=True, text=True, timeout=280, check=False
    )
    assert (done.returncode, done.stdout) == (0, "0 wrong\n"), done.stderr[-2000:]


def test_deep_nesting_takes_time_in_proportion() -> None:
    absint.analyze(nested(10))
    start = time.monotonic()
    assert str(absint.analyze(nested(1200))["Y"]) == "Tensor(FLOAT[N, 4])"
    assert time.monotonic() - start < 8


def test_the_judge_says_no() -> None:
    """Texts that the command line once printed, judged as failures or not."""
    frame = 'File "/x/absint/shapes/branches.py", line 68, in condition_of'
    trace = f"{frame}\nabsint: error: internal error, please report it: IndexError: tuple"
    assert judged(2, "", trace) == "traceback: IndexError in absint/shapes/branches.py:condition_of"
    said = "QuantizeLinear #0: rule 'q' (transfer/quantised.py:13) raised ValueError in line 19: no [rule-failed]"
    assert judged(0, said, "") == "rule failed: q transfer/quantised.py:13 ValueError 19"
    assert judged(2, "", "absint: error: out of memory") == "out of memory"
    assert judged(130, "", "") == "exit code 130"
    assert judged(0, "a\x1b[31m", "") == "unprintable U+001B on standard output"
    assert judged(0, "fine\n", "") == ""
