"""Which rules and files count: prefixes, patterns, settings."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from absint.diagnostics import Severity
from absint.errors import UsageError
from absint.jobs.linting.lint import models
from absint.jobs.linting.settings import KEYS, Patterns, Selection, find_settings, read_prefixes, read_settings


@pytest.mark.parametrize(
    ("select", "ignore", "code", "expected"),
    [
        ("ALL", "", "ABS202", True),
        ("ALL", "ABS2", "ABS202", False),
        ("ABS202", "ABS2", "ABS202", True),
        ("ABS2", "ABS202", "ABS202", False),
        ("ABS2", "ABS202", "ABS201", True),
        ("ABS3", "", "ABS202", False),
        ("ABS2", "ABS2", "ABS202", False),
        ("ALL", "ALL", "ABS202", False),
        ("ABS", "ALL", "ABS202", True),
        ("abs3,only-one-size", "ABS302", "ABS301", True),
        ("only-one-size", "ABS3", "ABS301", True),
        ("only-one-size", "", "ABS302", False),
    ],
)
def test_the_longest_prefix_decides(select: str, ignore: str, code: str, expected: bool) -> None:
    selection = Selection(read_prefixes([select], "select"), read_prefixes([ignore], "ignore"))
    assert selection.has(code) is expected


def test_unknown_codes_get_a_hint() -> None:
    with pytest.raises(UsageError, match="--select: no rule has the code or name 'ABS9'"):
        read_prefixes(["ABS9"], "--select")
    with pytest.raises(UsageError, match="did you mean 'only-one-size'"):
        read_prefixes(["only-one-siz"], "--select")


def test_severities_of_ones_own() -> None:
    selection = Selection(severities={"ABS3": Severity.ERROR, "ABS304": Severity.INFO})
    assert selection.severity("ABS301", Severity.WARNING) is Severity.ERROR
    assert selection.severity("ABS304", Severity.WARNING) is Severity.INFO
    assert selection.severity("ABS201", Severity.WARNING) is Severity.WARNING


PATHS = [
    "a.onnx", "old/a.onnx", "old/b/a.onnx", "x/old/a.onnx", "x/y/z/a.onnx", "x/z/a.onnx", "x/a1.onnx", "x/a[1].onnx",
    "build/keep/a.onnx", "build/a.onnx", "x/build/a.onnx", "doc/a.onnx", "x/doc/a.onnx", "#a.onnx", "abc.onnx",
]  # fmt: skip
PATTERNS = [
    ["old"], ["old/"], ["/old"], ["x/old"], ["*.onnx"], ["a.onnx"], ["x/**/a.onnx"], ["**/a.onnx"], ["x/**"],
    ["a?.onnx"], ["a[0-9].onnx"], ["a[!b]*.onnx"], ["build/", "!build/keep/"], ["/build/*", "!/build/keep"],
    ["*.onnx", "!abc.onnx"], ["# nothing"], [""], ["x/*.onnx"], ["/*.onnx"], ["doc/"], ["x/doc"], ["**/old/**"],
]  # fmt: skip


@pytest.mark.parametrize("patterns", PATTERNS, ids=" ".join)
def test_patterns_are_those_of_git(patterns: list[str], tmp_path: Path) -> None:
    """git is asked what it would ignore."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True, capture_output=True)
    (tmp_path / ".gitignore").write_text("\n".join(patterns) + "\n")
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=tmp_path, input="\n".join(PATHS), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    kept = [path for path in PATHS if path not in done.stdout.splitlines()]
    if not kept:
        with pytest.raises(UsageError, match="there is no model to check"):
            models([tmp_path], tmp_path, Patterns(tuple(patterns)))
        return
    found = models([tmp_path], tmp_path, Patterns(tuple(patterns)))
    assert sorted(Path(path).relative_to(tmp_path).as_posix() for path in found) == sorted(kept)


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(UsageError, match=r"the pattern '\[z-a\]' is none"):
        Patterns(("[z-a]",)).match("a")


def test_models_below_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.onnx", "a/z.onnx", "a/b/c.ONNX", "a/readme.md", "skip/s.onnx"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    skip = Patterns(("skip",))
    assert models(["."], tmp_path, skip) == ["b.onnx", "a/z.onnx", "a/b/c.ONNX"]
    assert models([tmp_path], tmp_path, skip) == models(["."], tmp_path, skip)
    with pytest.raises(UsageError, match="there is no model to check: none is given"):
        models([], tmp_path, skip)
    assert models(["a", "b.onnx", "a/z.onnx"], tmp_path, skip) == ["a/z.onnx", "a/b/c.ONNX", "b.onnx"]
    assert models(["skip/s.onnx"], tmp_path, skip) == ["skip/s.onnx"]
    assert models(["skip/s.onnx"], tmp_path, skip, force=True) == []
    assert models(["a/readme.md"], tmp_path, skip) == ["a/readme.md"]
    with pytest.raises(UsageError, match=r"^nowhere\.onnx does not exist$"):
        models(["nowhere.onnx"], tmp_path, skip)
    with pytest.raises(UsageError, match=r"no file below skip ends with \.onnx"):
        models(["skip"], tmp_path, skip)


def test_paths_elsewhere_stay_as_they_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "a.onnx").touch()
    monkeypatch.chdir(tmp_path / "here")
    assert models(["../a.onnx"], tmp_path, Patterns()) == ["../a.onnx"]
    assert models([".."], tmp_path, Patterns()) == ["../a.onnx"]
    assert models([tmp_path / "a.onnx"], tmp_path, Patterns()) == [(tmp_path / "a.onnx").as_posix()]


SETTINGS = """
[tool.absint.lint]
select = ["ABS1", "ABS3"]
ignore = ["few-sizes"]
exclude = ["old/"]
fail-on = "error"
seconds = 30
baseline = "known.json"
analyses = ["own.py"]

[tool.absint.lint.per-file-ignores]
"vision/*.onnx" = ["ABS303"]

[tool.absint.lint.severity]
ABS303 = "error"
"""


def test_settings_are_found_upwards(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (below / "pyproject.toml").write_text("[tool.other]\n")
    settings = find_settings(below)
    assert settings.root == tmp_path
    assert settings.source == str(tmp_path / "pyproject.toml")
    assert (settings.fail_on, settings.seconds, settings.baseline) == (Severity.ERROR, 30.0, "known.json")
    assert settings.analyses == (str(tmp_path / "own.py"),)
    assert settings.exclude.match("old/a.onnx")
    assert settings.selection.has("ABS301")
    assert not settings.selection.has("ABS302")
    assert not settings.selection.has("ABS201")
    assert settings.selection.has("ABS303", "audio/a.onnx")
    assert not settings.selection.has("ABS303", "vision/a.onnx")
    assert settings.selection.severity("ABS303", Severity.INFO) is Severity.ERROR
    assert set(KEYS) == {line.split(" ")[0] for line in SETTINGS.splitlines() if " = " in line} - {
        '"vision/*.onnx"', "ABS303"
    } | {"per-file-ignores", "severity"}  # fmt: skip


def test_a_file_of_settings_may_stand_alone(tmp_path: Path) -> None:
    path = tmp_path / "lint.toml"
    path.write_text('select = ["ABS1"]\n')
    assert read_settings(path).selection.select == ("ABS1",)
    path.write_text("[tool.absint]\n")
    assert read_settings(path).selection.select == ("ALL",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('selct = ["ABS1"]', "unknown key 'selct'; did you mean 'select'"),
        ('select = "ABS1"', "lint.select: expected a list of texts"),
        ('select = ["ABS9"]', "lint.select: no rule has the code or name 'ABS9'"),
        ('fail-on = "fatal"', "lint.fail-on: 'fatal' is no severity: expected error, warning, info"),
        ("seconds = 0", "lint.seconds: expected a number of seconds above 0"),
        ("seconds = true", "lint.seconds: expected a number of seconds above 0"),
        ("baseline = 1", "lint.baseline: expected a text"),
        ("severity = 1", "lint.severity: expected a table of codes, each with a severity"),
        ("per-file-ignores = []", "lint.per-file-ignores: expected a table of patterns, each with a list of codes"),
        ("select = [", "is no TOML"),
    ],
)
def test_settings_that_make_no_sense(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.absint.lint]\n{text}\n")
    with pytest.raises(UsageError) as error:
        find_settings(tmp_path)
    assert message in str(error.value)
    assert str(tmp_path / "pyproject.toml") in str(error.value)


def test_settings_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_settings(tmp_path / "none.toml")
