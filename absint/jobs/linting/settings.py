"""Settings of a project: the table `[tool.absint.lint]` of the nearest pyproject.toml, upwards from a folder."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from absint.diagnostics import Severity
from absint.errors import UnknownNameError, UsageError
from absint.jobs.linting.finding import RULES

# Patterns of paths, as in a .gitignore.
#
# A pattern without a slash fits a name at any depth, another one a path from the root. `*` and `?` fit no slash, `**`
# any folders; a slash at the end fits folders only; after `!` a path is let in again. The last pattern that fits
# decides.


@dataclass(frozen=True)
class Patterns:
    """Patterns, in their order."""

    texts: tuple[str, ...] = ()

    def match(self, path: str) -> bool:
        """The patterns fit the path of a file, with slashes, or one of the folders above it."""
        return any(self._fits(part, is_folder=part != path) for part in _parts(path))

    def match_folder(self, path: str) -> bool:
        """The patterns fit the path of a folder."""
        return self._fits(path, is_folder=True)

    def _fits(self, path: str, *, is_folder: bool) -> bool:
        found = False
        for pattern, only_folders, negated in self._compiled:
            if (is_folder or not only_folders) and pattern.fullmatch(path):
                found = not negated
        return found

    @cached_property
    def _compiled(self) -> Sequence[tuple[re.Pattern[str], bool, bool]]:
        return [_compiled(text) for text in self.texts if text.strip() and not text.startswith("#")]


def _parts(path: str) -> Iterator[str]:
    """The folders of a path from the top, and the path."""
    names = path.split("/")
    for end in range(1, len(names) + 1):
        yield "/".join(names[:end])


def _compiled(text: str) -> tuple[re.Pattern[str], bool, bool]:
    """The expression for paths, and if it is for folders only, and if it lets in again."""
    negated = text.startswith("!")
    body = text[negated:].strip()
    only_folders = body.endswith("/")
    body = body.rstrip("/")
    anchored = "/" in body
    expression = "".join(_pieces(body.lstrip("/")))
    try:
        return re.compile(expression if anchored else f"(?:.*/)?{expression}"), only_folders, negated
    except re.error as error:
        raise UsageError(f"the pattern {text!r} is none: {error}") from None


_TOKEN = re.compile(r"\*\*/|/\*\*$|\*+|\?|\[[!^]?\]?[^\]]*\]|.", re.DOTALL)


def _pieces(body: str) -> Iterator[str]:
    for token in _TOKEN.findall(body):
        if token == "**/":
            yield "(?:.*/)?"
        elif token == "/**":
            yield "/.*"
        elif token[0] == "*":
            yield "[^/]*"
        elif token == "?":
            yield "[^/]"
        elif token[0] == "[" and len(token) > 2:
            inner = token[1:-1].replace("\\", r"\\")
            yield f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]"
        else:
            yield re.escape(token)


# Which rules count: prefixes of codes, the longest one decides, as in ruff.

ALL: Final = "ALL"


@dataclass(frozen=True)
class Selection:
    """The rules that count, for all files and for some, and severities of one's own."""

    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    per_file: tuple[tuple[Patterns, tuple[str, ...]], ...] = ()
    """Rules that do not count for files that a pattern matches."""
    severities: Mapping[str, Severity] = field(default_factory=dict)
    """By prefixes of codes."""

    def has(self, code: str, path: str = "") -> bool:
        """The rule counts for this file. Of the prefixes that fit the longest decides; `ignore` wins a tie."""
        if any(_fit(code, prefixes) for patterns, prefixes in self.per_file if patterns.match(path)):
            return False
        return _fit(code, self.select) > _fit(code, self.ignore)

    def severity(self, code: str, given: Severity) -> Severity:
        """The severity of a finding that has the given one by itself."""
        fitting = [prefix for prefix in self.severities if _fit(code, (prefix,))]
        return self.severities[max(fitting, key=len)] if fitting else given


def _fit(code: str, prefixes: Iterable[str]) -> int:
    """1 more than the length of the longest prefix of the code, where ALL has none; 0 if none fits."""
    return max((1 if p == ALL else len(p) + 1 for p in prefixes if p == ALL or code.startswith(p)), default=0)


def read_prefixes(texts: Sequence[str], what: str, *, is_open: bool = False) -> tuple[str, ...]:
    """Codes, prefixes of codes, names of rules, or ALL; several in one text with commas between them.

    Raises UsageError for one that no rule has, unless codes of analyses of the user's own are possible.
    """
    found = [_read(text.strip(), what, is_open) for given in texts for text in given.split(",") if text.strip()]
    return tuple(dict.fromkeys(found))


def _read(text: str, what: str, is_open: bool) -> str:
    upper = text.upper()
    if upper == ALL or any(code.startswith(upper) for code in RULES):
        return upper
    named = next((rule.code for rule in RULES.values() if rule.name == text), None)
    if named is None and is_open:
        return text
    if named is None:
        raise UnknownNameError(
            f"{what}: no rule has the code or name", text, [*RULES, *(rule.name for rule in RULES.values())]
        )
    return named


def read_severity(text: object, what: str) -> Severity:
    """A severity by its name. Raises UsageError for another text."""
    known = [severity.value for severity in Severity]
    if text not in known:
        raise UsageError(f"{what}: {text!r} is no severity: expected {', '.join(known)}")
    return Severity(text)


FILE: Final = "pyproject.toml"
SECONDS: Final = 120.0
"""Time limit of one model."""


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
    analyses: tuple[str, ...] = ()
    """Python files with analyses of the project's own."""


def find_settings(start: Path) -> Settings:
    """The settings of the nearest pyproject.toml that has a table `tool.absint.lint`, else the defaults.

    Raises UsageError for a file that is no TOML, and for a key or value that makes no sense.
    """
    for folder in (start, *start.parents):
        file = folder / FILE
        if file.is_file():
            table = _lint_table(_toml(file))
            if table is not None:
                return _settings(table, file)
    return Settings(start)


def read_settings(path: Path) -> Settings:
    """The settings of a TOML file: its table `tool.absint.lint`, or the file as a whole if it has no table `tool`."""
    data = _toml(path)
    table = data if "tool" not in data else _lint_table(data)
    return _settings(table or {}, path)


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
    is_open = bool(table.get("analyses"))  # whose codes only a run tells

    def prefixes(value: object, what: str) -> tuple[str, ...]:
        return read_prefixes(_strings(value, what), what, is_open=is_open)

    folder, what = file.resolve().parent, f"{file}: lint"
    of_selection: dict[str, tuple[str, _Reader]] = {
        "select": ("select", prefixes),
        "ignore": ("ignore", prefixes),
        "per-file-ignores": ("per_file", partial(_per_file, prefixes)),
        "severity": ("severities", partial(_severities, prefixes)),
    }
    of_settings: dict[str, tuple[str, _Reader]] = {
        "exclude": ("exclude", lambda value, what: Patterns(_strings(value, what))),
        "fail-on": ("fail_on", read_severity),
        "seconds": ("seconds", _seconds),
        "baseline": ("baseline", _string),
        "analyses": ("analyses", lambda value, what: tuple(str(folder / path) for path in _strings(value, what))),
    }
    for key in table:
        if key not in KEYS:
            raise UnknownNameError(f"{what}: unknown key", key, KEYS)
    selection, settings = (
        {name: read(table[key], f"{what}.{key}") for key, (name, read) in keys.items() if key in table}
        for keys in (of_selection, of_settings)
    )
    return Settings(folder, str(file), Selection(**selection), **settings)


KEYS: Final = (
    "select", "ignore", "per-file-ignores", "severity", "exclude", "fail-on", "seconds", "baseline", "analyses",
)  # fmt: skip
_Reader = Callable[[object, str], Any]


def _strings(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{what}: expected a list of texts")
    return tuple(value)


def _string(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{what}: expected a text")
    return value


_Prefixes = Callable[[object, str], tuple[str, ...]]


def _per_file(prefixes: _Prefixes, value: object, what: str) -> tuple[tuple[Patterns, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise UsageError(f"{what}: expected a table of patterns, each with a list of codes")
    return tuple((Patterns((pattern,)), prefixes(codes, f"{what}.{pattern}")) for pattern, codes in value.items())


def _severities(prefixes: _Prefixes, value: object, what: str) -> Mapping[str, Severity]:
    if not isinstance(value, dict):
        raise UsageError(f"{what}: expected a table of codes, each with a severity")
    return {
        prefix: read_severity(text, f"{what}.{code}")
        for code, text in value.items()
        for prefix in prefixes([code], what)
    }


def _seconds(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise UsageError(f"{what}: expected a number of seconds above 0")
    return float(value)
