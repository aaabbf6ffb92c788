"""Settings of a project: the table `[tool.absint.lint]` of the nearest pyproject.toml, upwards from a folder."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from absint.diagnostics import Severity
from absint.errors import UnknownNameError, UsageError
from absint.jobs.linting.patterns import Patterns
from absint.jobs.linting.selection import Selection, read_prefixes, read_severity

FILE: Final = "pyproject.toml"
SECONDS: Final = 120.0
"""Time limit of one model."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Settings:
    """The settings of a project. Patterns and paths are relative to `root`."""

    root: Path
    source: str = ""
    """The file that they were read from; empty for the defaults."""
    selection: Selection = field(default_factory=Selection)
    exclude: Patterns = field(default_factory=Patterns)
    fail_on: Severity = Severity.WARNING
    seconds: float = SECONDS
    baseline: str = ""


def find_settings(start: Path) -> Settings:
    """The settings of the nearest pyproject.toml that has a table `tool.absint.lint`, else the defaults.

    Raises UsageError for a file that is no TOML, and for a key or value that makes no sense.
    """
    for folder in (start, *start.parents):
        file = folder / FILE
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _settings(table, file)
    return Settings(start)


def read_settings(path: Path) -> Settings:
    """The settings of a TOML file: its table `tool.absint.lint`, or the file as a whole if it has no table `tool`."""
    data = _toml(path)
    table = data if "tool" not in data else _lint_table(data)
    return _settings(table or {}, path)


def _table(path: Path) -> Mapping[str, object] | None:
    return _lint_table(_toml(path))


def _toml(path: Path) -> Mapping[str, object]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no TOML: {error}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _lint_table(data: Mapping[str, object]) -> Mapping[str, object] | None:
    found: object = data
    for name in ("tool", "absint", "lint"):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def _settings(table: Mapping[str, object], file: Path) -> Settings:
    reader = _Reader(table, f"{file}: lint")
    selection = Selection(
        reader.read("select", _prefixes, ("ALL",)),
        reader.read("ignore", _prefixes, ()),
        reader.read("per-file-ignores", _per_file, ()),
        reader.read("severity", _severities, {}),
    )
    return Settings(
        file.resolve().parent,
        str(file),
        selection,
        Patterns(reader.read("exclude", _strings, ())),
        reader.read("fail-on", read_severity, Severity.WARNING),
        reader.read("seconds", _seconds, SECONDS),
        reader.read("baseline", _string, ""),
    )


KEYS: Final = ("select", "ignore", "per-file-ignores", "severity", "exclude", "fail-on", "seconds", "baseline")


class _Reader:
    """Reads the keys of a table. Raises UsageError for keys that nobody knows."""

    def __init__(self, table: Mapping[str, object], what: str) -> None:
        self._table, self._what = table, what
        for key in table:
            if key not in KEYS:
                raise UnknownNameError(f"{what}: unknown key", key, KEYS)

    def read(self, key: str, convert: Callable[[object, str], Value], default: Value) -> Value:
        return convert(self._table[key], f"{self._what}.{key}") if key in self._table else default


def _strings(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{what}: expected a list of texts")
    return tuple(value)


def _string(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{what}: expected a text")
    return value


def _prefixes(value: object, what: str) -> tuple[str, ...]:
    return read_prefixes(_strings(value, what), what)


def _per_file(value: object, what: str) -> tuple[tuple[Patterns, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise UsageError(f"{what}: expected a table of patterns, each with a list of codes")
    return tuple((Patterns((pattern,)), _prefixes(codes, f"{what}.{pattern}")) for pattern, codes in value.items())


def _severities(value: object, what: str) -> Mapping[str, Severity]:
    if not isinstance(value, dict):
        raise UsageError(f"{what}: expected a table of codes, each with a severity")
    return {
        prefix: read_severity(text, f"{what}.{code}")
        for code, text in value.items()
        for prefix in read_prefixes([code], what)
    }


def _seconds(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise UsageError(f"{what}: expected a number of seconds above 0")
    return float(value)
