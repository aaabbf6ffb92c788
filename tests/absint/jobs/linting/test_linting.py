"""Many models: processes that die, limits, order, baselines, a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import distributed
import onnx
import pytest

import absint
from absint.diagnostics import Severity
from absint.errors import UsageError
from absint.jobs.linting import FileReport, Finding, LintResult
from absint.jobs.linting.lint import read_baseline, without_known, write_baseline
from absint.jobs.linting.settings import find_settings
from tests.absint.jobs.auditing.models import model
from tests.absint.jobs.linting.fakes import PERFORM

ROOT = Path(__file__).parents[4]
FALSE = "(float[N] x) => (float[8] z) {z = Relu(x)}"
TRUE = "(float[N] x) => (float[N] z) {z = Relu(x)}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(**texts: str) -> None:
    for name, text in texts.items():
        onnx.save(model(text), f"{name}.onnx")


def summary(result: LintResult) -> list[tuple[str, list[str]]]:
    return [(file.path, [item.code for item in file.findings]) for file in result.files]


def test_a_model_that_kills_its_process_ends_nothing(folder: Path) -> None:
    save(a=FALSE, z=TRUE)
    for name in ("die", "hang", "raise", "truncated"):
        (folder / f"{name}.onnx").write_text(name)
    found = absint.lint(folder, jobs=2, seconds=3, perform=PERFORM)
    assert summary(found) == [
        ("a.onnx", ["ABS202"]),
        ("die.onnx", ["ABS002"]),
        ("hang.onnx", ["ABS003"]),
        ("raise.onnx", ["ABS005"]),
        ("truncated.onnx", ["ABS001"]),
        ("z.onnx", []),
    ]
    texts = [item.message for item in found.findings]
    assert texts[1:] == [
        "the process ended (SIGKILL)",
        "no result within 3 s",
        "RuntimeError: first line second line",
        "truncated.onnx: not an ONNX model, or truncated (9 bytes do not parse as protobuf)",
    ]
    assert not found
    assert found.counts == {Severity.ERROR: 2, Severity.WARNING: 3, Severity.INFO: 0}


@pytest.mark.skipif(sys.platform != "linux", reason="other platforms do not enforce the limit")
def test_a_model_that_needs_too_much_memory_is_a_finding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABSINT_RUN_MEMORY", "600MB")
    (folder / "big.onnx").write_text("allocate")
    save(small=TRUE)
    found = absint.lint(folder, jobs=1, seconds=60, perform=PERFORM)
    assert [file.path for file in found.files] == ["big.onnx", "small.onnx"]
    (item,) = found.findings
    assert item.code in ("ABS002", "ABS005")
    assert "it needs more than 600 MB of memory" in item.message


def test_memory_that_the_check_itself_lacks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from absint.jobs.linting.lint import job_of, perform

    def short(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("absint.api.analyze", short)
    (item,) = perform(job_of("a.onnx", "a.onnx", 1.0))
    assert (item.code, item.severity) == ("ABS002", Severity.ERROR)
    assert item.message.startswith("it needs more than ")


def test_the_order_is_that_of_the_files(folder: Path) -> None:
    names = [f"m{n}" for n in range(6)]
    save(**dict.fromkeys(names, FALSE))
    (folder / "m0.onnx").write_text("slow")
    results = [absint.lint(folder, jobs=jobs, perform=PERFORM) for jobs in (1, 3)]
    assert [file.path for file in results[1].files] == [f"{name}.onnx" for name in names]
    assert summary(results[0]) == summary(results[1])
    assert results[0].findings == results[1].findings


RULES = """
import absint

@absint.rule("Nothing", domain="my", inputs="X", outputs="Y", since=1)
def nothing(op):
    "As it is."
    return op.tensor("X")
"""


def test_rules_of_ones_own(folder: Path) -> None:
    save(a="(float[N] x) => (float[8] z) {z = my.Nothing(x)}")
    assert [item.code for item in absint.lint("a.onnx").findings] == ["ABS401", "ABS310"]
    (folder / "rules.py").write_text(RULES)
    assert [item.code for item in absint.lint("a.onnx", rules=["rules.py"]).findings] == ["ABS202", "ABS308", "ABS310"]
    given = onnx.load("a.onnx")
    assert [item.code for item in absint.lint(given, rules=["rules.py"]).findings] == ["ABS202", "ABS308", "ABS310"]
    (folder / "rules.py").write_text(
        RULES.replace('op.tensor("X")', "absint.Tensor(op.tensor('X').dtype, absint.Shape([absint.Dim(8)]))")
    )
    assert [item.code for item in absint.lint(given, rules=["rules.py"]).findings] == ["ABS308", "ABS310"]
    with pytest.raises(UsageError, match=r"none\.py does not exist"):
        absint.lint("a.onnx", rules=["none.py"])


def test_progress_is_told(folder: Path) -> None:
    save(a=TRUE, b=TRUE)
    told: list[tuple[int, int, str]] = []
    absint.lint(folder, jobs=1, progress=lambda *state: told.append(state))
    assert told == [(0, 2, ""), (1, 2, "a.onnx"), (2, 2, "b.onnx")]


def test_models_in_memory() -> None:
    for given in (model(FALSE), model(FALSE).SerializeToString(), absint.analyze(model(FALSE))):
        (file,) = absint.lint(given).files
        assert [str(item) for item in file.findings] == ["ABS202 output 'z': declared [8], but it is [N]: false at N=1"]
    assert absint.lint(model(FALSE), ignore=["ABS202"])
    assert str(absint.lint(model(TRUE))) == "1 model: no findings"


def test_the_text_of_a_result(folder: Path) -> None:
    save(a=FALSE)
    found = absint.lint("a.onnx")
    assert str(found) == (
        "a.onnx\n  warning  ABS202 output 'z': declared [8], but it is [N]: false at N=1\n1 model: 1 warning"
    )
    assert repr(found) == "<LintResult: 1 model: 1 warning>"
    assert found.failed("warning")
    assert not found.failed("error")
    with pytest.raises(ValueError, match="fatal"):
        found.failed("fatal")


def test_settings_count(folder: Path) -> None:
    (folder / "sub").mkdir()
    save(**{"a": FALSE, "sub/b": FALSE, "sub/c": FALSE})
    (folder / "pyproject.toml").write_text(
        '[tool.absint.lint]\nexclude = ["c.onnx"]\n[tool.absint.lint.per-file-ignores]\n"sub/*" = ["ABS202"]\n'
        '[tool.absint.lint.severity]\nABS202 = "error"\n'
    )
    settings = find_settings(folder)
    assert summary(absint.lint(folder, settings=settings)) == [("a.onnx", ["ABS202"]), ("sub/b.onnx", [])]
    assert absint.lint(folder, settings=settings).failed("error")
    assert summary(absint.lint(folder, settings=settings, select=["ABS3"]))[0] == ("a.onnx", [])
    assert summary(absint.lint(folder, exclude=["sub"])) == [("a.onnx", ["ABS202"])]
    with pytest.raises(UsageError, match="no rule has the code"):
        absint.lint(folder, select=["x"])
    with pytest.raises(UsageError, match="there is no model to check"):
        absint.lint(folder, exclude=["*"])


def test_a_baseline_hides_what_it_has(folder: Path) -> None:
    save(a=FALSE, b=FALSE)
    known = folder / "known.json"
    write_baseline(known, absint.lint(folder).files)
    found = absint.lint(folder, baseline=known)
    assert (found.findings, found.stale, found.summary) == ((), 0, "2 models: no findings (2 in the baseline)")
    save(a=TRUE, c=FALSE)
    found = absint.lint(folder, baseline=known)
    assert (summary(found), found.stale) == ([("a.onnx", []), ("b.onnx", []), ("c.onnx", ["ABS202"])], 1)
    assert found.summary == "3 models: 1 warning (1 in the baseline)"
    (folder / "pyproject.toml").write_text('[tool.absint.lint]\nbaseline = "known.json"\n')
    assert absint.lint(["b.onnx"], settings=find_settings(folder)).findings == ()


def test_a_baseline_is_read_from_any_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sub").mkdir()
    save(**{"sub/a": FALSE})
    write_baseline(folder / "known.json", absint.lint("sub").files)
    monkeypatch.chdir(folder / "sub")
    assert absint.lint("a.onnx", baseline="../known.json").findings == ()


def test_a_second_finding_at_one_place_is_new() -> None:
    item = Finding("ABS501", Severity.WARNING, "Relu a", "one")
    files = [FileReport("a.onnx", (item,))]
    known = Path("known.json")
    write_baseline(known, files)
    kept, stale = without_known([FileReport("a.onnx", (item, item))], read_baseline(known), known)
    assert ([len(file.findings) for file in kept], stale) == ([1], 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file or directory; --write-baseline writes one"),
        ("{", "is no JSON"),
        ("{}", "known.json is no baseline of absint lint"),
        ('{"schema": "absint.lint-baseline/1", "files": {"a": 1}}', "is no baseline"),
    ],
)
def test_a_baseline_that_is_none(text: str | None, message: str) -> None:
    path = Path("known.json")
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError) as error:
        read_baseline(path)
    assert message in str(error.value)


def test_ctrl_c_ends_all_processes(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.onnx").write_text("hang")
    code = f"from absint.jobs.linting.lint import lint; lint('.', jobs=2, perform={PERFORM!r})"
    started = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=-3)
    workers: list[int] = []
    for _ in range(200):
        workers = children(started.pid)
        if len(workers) == 2:
            break
        time.sleep(0.1)
    time.sleep(1.0)
    started.send_signal(signal.SIGINT)
    assert started.wait(20) != 0
    assert len(workers) == 2
    for _ in range(50):
        if not any(map(is_alive, workers)):
            break
        time.sleep(0.1)
    assert not any(map(is_alive, workers))


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return [int(number) for number in done.stdout.split()]


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as running:
        yield running


def test_a_cluster_finds_the_same(folder: Path, cluster: distributed.LocalCluster) -> None:
    save(a=FALSE, b=TRUE)
    (folder / "c.onnx").write_text("die")
    here = absint.lint(folder, jobs=2, perform=PERFORM)
    there = absint.lint(folder, scheduler=cluster.scheduler_address, perform=PERFORM)
    assert summary(here) == summary(there) == [("a.onnx", ["ABS202"]), ("b.onnx", []), ("c.onnx", ["ABS002"])]
    assert here.findings == there.findings
