"""The Z3 process: what it answers, that its limits hold, and that it never outlives its parent."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from absint.lattices.text import parse_relation
from absint.runs import process as module
from absint.solver.backend import Answer, Backend, shared
from absint.solver.smtlib import query

ROOT = Path(__file__).parents[2]
BUDGET = 1_000_000
SOON = 20.0
"""Seconds that a query which takes milliseconds may take on a busy machine, the start of the process included."""

EASY = query({"even": parse_relation("N % 2 == 0"), "big": parse_relation("N >= 9")}, parse_relation("N <= 10"))
OPEN_ENDED = query({}, parse_relation("N*M + M >= N + 30 and N//M >= 2 or K % 7 == 3 and K >= N"))
CUBES = query({}, parse_relation("X*X*X + Y*Y*Y == Z*Z*Z and X >= 1 and Y >= 1"))
SEMIPRIME = query({}, parse_relation("P*Q == 1000000007*998244353 and P >= 2 and Q >= P"))
HUNGRY = """
(declare-fun f (Int) Int) (declare-fun g (Int) Int) (declare-fun h (Int) Int)
(assert (forall ((x Int)) (! (= (f x) (+ (f (g x)) (f (h x)))) :pattern ((f x)))))
(assert (= (f 0) 1))
"""


@pytest.fixture(scope="module")
def warm() -> Iterator[Backend]:
    with Backend() as backend:
        yield backend


def ask(backend: Backend, script: str, core: bool = True) -> Answer:
    return backend.check(script, rlimit=BUDGET, seconds=SOON, core=core)


# Answers


def test_a_model_has_a_value_of_every_symbol(warm: Backend) -> None:
    script = "(declare-const free Int) (declare-fun |a b| () Int) ; (declare-const no Int)\n(declare-const p Bool)\n"
    answer = ask(warm, script + "(assert (= (* 3 |a b|) (- 21)))")
    assert (answer.verdict, answer.model, answer.core, answer.reason) == ("sat", {"free": 0, "a b": -7}, (), "")
    assert answer.spent > 0
    assert 0 < answer.seconds < SOON


def test_a_model_leaves_out_the_quotients(warm: Backend) -> None:
    assert ask(warm, query({}, parse_relation("N//M == 4 and M == 3 and N % M == 2"))).model == {"N": 14, "M": 3}


def test_a_core_has_the_names_of_the_premises(warm: Backend) -> None:
    texts = {"p|q": "N % 4 == 0", "p": "N >= 1", "": "M >= N"}
    script = query({name: parse_relation(text) for name, text in texts.items()}, parse_relation("M <= 0"))
    answer = ask(warm, script)
    assert (answer.verdict, set(answer.core), answer.model) == ("unsat", {"p", ""}, {})
    assert ask(warm, script, core=False).core == ()


def test_a_minimal_core_has_nothing_to_leave_out(warm: Backend) -> None:
    needed = {"a": "a == b", "s": "s == t", "positive": "s >= 1"}
    others = {text: text for text in ("a >= 1", "b >= 1", "a <= 50", "b <= 20", "a*b >= 1", "s*t >= 1", "t <= 64")}
    premises = {name: parse_relation(text) for name, text in {**others, **needed}.items()}
    script = query(premises, parse_relation("a//s != b//t"))
    answer = warm.check(script, rlimit=BUDGET, seconds=SOON, minimize=True)
    assert answer.verdict == ask(warm, script).verdict == "unsat"
    for left_out in answer.core:
        rest = {name: premises[name] for name in answer.core if name != left_out}
        assert ask(warm, query(rest, parse_relation("a//s != b//t"))).verdict == "sat"


def test_the_budget_ends_a_query_the_same_way_each_time(warm: Backend) -> None:
    first, second = (warm.check(CUBES, rlimit=20_000, seconds=SOON) for _ in range(2))
    assert (first.verdict, first.reason) == (
        "unknown",
        "the resource limit of 20000 was reached; rlimit= (--rlimit) raises it",
    )
    assert first.spent == second.spent >= 20_000


def test_the_answer_does_not_depend_on_what_was_asked_before(warm: Backend) -> None:
    def told(backend: Backend, script: str) -> tuple[object, ...]:
        answer = backend.check(script, rlimit=30_000, seconds=SOON)
        return answer.verdict, answer.model, answer.core, answer.reason, answer.spent

    scripts = [EASY, OPEN_ENDED, CUBES, SEMIPRIME, query({}, parse_relation("N*M == 3599 and N >= 2 and M >= N"))]
    expected = []
    for script in scripts:
        with Backend() as cold:
            expected.append(told(cold, script))
    assert [told(warm, script) for script in scripts] == expected
    assert [told(warm, script) for script in reversed(scripts)] == expected[::-1]


def test_a_script_that_cannot_be_read(warm: Backend) -> None:
    before = warm.pid
    with pytest.raises(ValueError, match=r"Z3 cannot read the script: .*unknown constant N") as found:
        ask(warm, "(assert (= N 3))")
    assert "\n" not in str(found.value)
    with pytest.raises(ValueError, match="an rlimit is a number from 0 to 4294967295, not -1"):
        warm.check(EASY, rlimit=-1, seconds=SOON)
    assert ask(warm, EASY).model == {"N": 10}
    assert warm.pid == before or before is None


def test_a_script_may_be_large_and_deep(warm: Backend) -> None:
    steps = [f"(define-fun $x{i + 1} () Int (ite (>= $x{i} {i % 5}) (+ $x{i} M) (- $x{i} 1)))" for i in range(10_000)]
    script = "\n".join(["(declare-const $x0 Int)", "(declare-const M Int)", *steps, "(assert (>= $x10000 0))"])
    assert ask(warm, script).verdict in ("sat", "unknown")
    assert "ended" not in ask(warm, script).reason


def test_threads_take_turns(warm: Backend) -> None:
    found: dict[int, list[object]] = {}

    def work(number: int) -> None:
        found[number] = [ask(warm, query({}, parse_relation(f"N == {number} + {i}"))).model["N"] for i in range(5)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(0, 80, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [number + i for i in range(5)] for number in range(0, 80, 10)}


# Limits


@pytest.mark.parametrize("script", [CUBES, SEMIPRIME], ids=["cubes", "semiprime"])
def test_the_time_limit_holds(warm: Backend, script: str) -> None:
    ask(warm, EASY)
    before = warm.pid
    answer = warm.check(script, rlimit=0, seconds=0.7)
    assert (answer.verdict, answer.reason) == ("unknown", "the time limit of 0.7 s was reached")
    assert 0.7 <= answer.seconds < 1.2
    assert before is not None
    assert has_ended(before)
    assert ask(warm, EASY).model == {"N": 10}
    assert warm.pid not in (None, before)


def test_a_process_that_does_not_read_meets_the_time_limit(warm: Backend) -> None:
    ask(warm, EASY)
    assert warm.pid is not None
    os.kill(warm.pid, signal.SIGSTOP)
    answer = warm.check(EASY + "; " * 1_000_000, rlimit=BUDGET, seconds=0.3)
    assert answer.reason == "the time limit of 0.3 s was reached"
    assert answer.seconds < 0.8
    assert ask(warm, EASY).model == {"N": 10}


def test_waiting_for_another_thread_counts(warm: Backend) -> None:
    ask(warm, EASY)
    busy = threading.Thread(target=lambda: warm.check(CUBES, rlimit=0, seconds=1.5))
    busy.start()
    time.sleep(0.2)
    warm.start()  # does not wait
    answer = warm.check(EASY, rlimit=BUDGET, seconds=0.2)
    assert answer.reason == "Z3 was busy with another query until the time limit"
    assert answer.seconds < 0.7
    busy.join()
    assert ask(warm, EASY).model == {"N": 10}


def test_a_slow_start_is_not_cut_short() -> None:
    with Backend() as backend:
        first = backend.check(EASY, rlimit=BUDGET, seconds=0.001)
        assert first.reason == "Z3 did not start within 0.001 s"
        starting = backend.pid
        assert ask(backend, EASY).model == {"N": 10}
        assert backend.pid == starting


def test_memory_runs_out() -> None:
    with Backend(memory=512 << 20) as backend:
        answer = backend.check(HUNGRY, rlimit=0, seconds=60)
        assert answer.verdict == "unknown"
        assert "out of memory" in answer.reason or "Z3 ended its process" in answer.reason
        assert ask(backend, EASY).model == {"N": 10}


# Life and death


def test_start_returns_at_once_and_the_process_is_used() -> None:
    with Backend() as backend:
        assert backend.pid is None
        backend.start()
        backend.start()
        started = backend.pid
        assert started is not None
        assert ask(backend, EASY).model == {"N": 10}
        assert backend.pid == started
    assert has_ended(started)
    assert backend.pid is None
    backend.close()


def test_a_process_that_is_killed_in_a_query(warm: Backend) -> None:
    ask(warm, EASY)
    pid = warm.pid
    assert pid is not None
    killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    killer.start()
    answer = warm.check(CUBES, rlimit=0, seconds=SOON)
    assert (answer.verdict, answer.reason) == ("unknown", "Z3 ended its process (SIGKILL)")
    assert ask(warm, EASY).model == {"N": 10}


def test_a_process_that_died_between_queries(warm: Backend) -> None:
    ask(warm, EASY)
    pid = warm.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: warm.pid is None)
    assert ask(warm, EASY).model == {"N": 10}


def test_a_process_that_dies_at_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PROGRAM", "raise SystemExit(7)")
    with Backend() as backend:
        assert ask(backend, EASY).reason == "Z3 ended its process before it was ready (exit code 7)"
        monkeypatch.undo()
        assert ask(backend, EASY).model == {"N": 10}


def test_an_interrupted_query_leaves_no_answer_behind(warm: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(warm, EASY)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module.Child, "receive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ask(warm, query({}, parse_relation("N == 99")))
    assert ask(warm, EASY).model == {"N": 10}


def test_a_backend_that_nobody_uses_ends_its_process() -> None:
    backend = Backend()
    ask(backend, EASY)
    pid = backend.pid
    assert pid is not None
    del backend
    assert has_ended(pid)


def test_one_backend_is_shared() -> None:
    assert shared() is shared()


PRELUDE = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from absint.solver.backend import Backend, shared
EASY, CUBES = {EASY!r}, {CUBES!r}
def ask():
    return shared().check(EASY, rlimit=1_000_000, seconds={SOON}).verdict
"""


def parent(code: str) -> subprocess.Popen[str]:
    """A Python that runs the code and can be watched."""
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    "ending",
    ["", "sys.exit(3)", "raise RuntimeError", "shared().start(); Backend().start()", "shared().close()"],
    ids=["end", "exit", "exception", "starting", "closed"],
)
def test_the_process_ends_with_its_parent(ending: str) -> None:
    running = parent(f"print(ask(), shared().pid, flush=True)\n{ending}\n")
    out, err = running.communicate(timeout=60)
    verdict, pid = out.split()
    assert verdict == "sat"
    assert has_ended(int(pid))
    assert err == "" or ending == "raise RuntimeError"


def test_the_process_ends_with_a_parent_that_is_killed_in_a_query() -> None:
    code = "ask(); print(shared().pid, flush=True); shared().check(CUBES, rlimit=0, seconds=600)"
    with parent(code) as running:
        assert running.stdout is not None
        pid = int(running.stdout.readline())
        time.sleep(0.3)
        running.kill()
        assert running.wait() == -signal.SIGKILL
        assert eventually(lambda: has_ended(pid))


def test_ctrl_c_in_the_terminal_reaches_only_the_parent() -> None:
    running = parent(
        "import signal\nos.setpgid(0, 0)\nask(); before = shared().pid\n"
        "signal.signal(signal.SIGINT, lambda *_: None)\nos.killpg(0, signal.SIGINT)\n"
        "import time; time.sleep(0.3)\nprint(ask(), before == shared().pid)"
    )
    assert running.communicate(timeout=60) == ("sat True\n", "")


def test_a_fork_has_a_process_of_its_own() -> None:
    code = """
ask(); mine = shared().pid
forked = os.fork()
if not forked:
    answer = ask()
    os._exit(0 if answer == "sat" and shared().pid not in (None, mine) else 1)
print(os.waitpid(forked, 0)[1], ask(), shared().pid == mine)
"""
    assert parent(code).communicate(timeout=60) == ("0 sat True\n", "")


# What can be wrong with the installation


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "raise ModuleNotFoundError(\"No module named 'z3lib'\", name='z3lib')",
            r"^Z3 does not load: ModuleNotFoundError: No module named 'z3lib'$",
        ),
        ("raise OSError('libz3.so: no such file')", r"^Z3 does not load: OSError: libz3.so: no such file$"),
    ],
    ids=["incomplete", "broken"],
)
def test_no_z3(source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "z3.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with Backend() as backend:
        backend.start()
        for _ in range(2):
            told_that_it_is_lost(backend, message)


def told_that_it_is_lost(backend: Backend, message: str) -> None:
    answer = ask(backend, EASY)
    assert answer.verdict == "unknown"
    assert answer.reason == backend.lost
    assert re.search(message, answer.reason)


@pytest.mark.parametrize("executable", [None, ""])
def test_no_python(executable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    backend = Backend()
    backend.start()
    for each in (backend, Backend()):
        told_that_it_is_lost(each, r"^no Python to run Z3 with: set sys\.executable")


def test_an_executable_that_is_no_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho hello\n")
    monkeypatch.setattr(sys, "executable", str(program))
    told_that_it_is_lost(Backend(), r"^Z3 cannot be started: .*[Pp]ermission")
    program.chmod(0o755)
    told_that_it_is_lost(Backend(), r"^no Python to run Z3 with: .*program does not answer as one")


def test_the_process_finds_its_modules_anywhere(tmp_path: Path) -> None:
    code = f"sys.path[0] = ''; os.chdir({str(tmp_path)!r}); print(ask())"
    assert parent(code).communicate(timeout=60) == ("sat\n", "")


def has_ended(pid: int) -> bool:
    """No such process runs; one whose parent has not asked for its end may still be listed."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def eventually(condition: Callable[[], bool]) -> bool:
    limit = time.monotonic() + SOON
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True
