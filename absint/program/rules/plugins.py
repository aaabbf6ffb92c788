"""Rules of others: those that installed packages ship, and those in Python files that a caller names.

A package names its rules by the entry points of the group `absint.rules`: a rule, a list or table of them, or a module
with rules. They are loaded only when a model has an operator without any other rule, and never replace a shipped rule.
One that cannot be loaded is a diagnostic.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Final

from absint.diagnostics import Diagnostic, Severity
from absint.errors import UsageError
from absint.lattices.records import NamedTuple, changed
from absint.model.opening import read_file, reason_of
from absint.transfer.families import shipped
from absint.transfer.rule import Rule, Table

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "absint.rules"


class Plugins(NamedTuple):
    """The rules that were found, and the problems of the others."""

    table: Table
    diagnostics: tuple[Diagnostic, ...] = ()


NO_PLUGINS: Final = Plugins(Table(()))


def installed() -> Plugins:
    """The rules of installed packages; each has its distribution and version as `origin`."""
    return _installed(tuple(sys.path))


@lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> Plugins:
    from importlib.metadata import entry_points

    rules: list[Rule] = []
    diagnostics: list[Diagnostic] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (_distribution(e), e.name)):
        try:
            found = list(_provided(entry.load()))
        except (Exception, SystemExit) as error:
            text = str(error).strip().split("\n")[0]
            diagnostics.append(_problem(entry, f"{entry.value} cannot be loaded ({type(error).__name__}: {text})"))
            continue
        mine = [changed(rule, origin=_distribution(entry)) for rule in found]
        diagnostics += _conflicts(entry, rules, mine)
        rules += mine
    return Plugins(Table(rules), tuple(diagnostics))


def _distribution(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unnamed distribution"


def _provided(loaded: object) -> Iterable[Rule]:
    """The rules of an entry point. Raises TypeError if it has none."""
    if isinstance(loaded, Rule):
        return [loaded]
    items = vars(loaded).values() if isinstance(loaded, ModuleType) else loaded
    rules = [item for item in items if isinstance(item, Rule)] if isinstance(items, Iterable) else []
    if not rules:
        raise TypeError("it is no rule, no list of rules and no module with rules")
    return rules


def _conflicts(entry: EntryPoint, before: Iterable[Rule], mine: Iterable[Rule]) -> Iterable[Diagnostic]:
    """Operators for which another distribution has a rule too."""
    others = {(rule.domain, name): rule for rule in before for name in rule.names}
    for rule in mine:
        for name in rule.names:
            other = others.get((rule.domain, name))
            if other is not None and other.origin != rule.origin:
                text = f"it has a rule for {name}, and so has {other.origin}"
                yield _problem(entry, f"{text}: uninstall one, or extend the table yourself")


def _problem(entry: EntryPoint, text: str) -> Diagnostic:
    where = f"plugin {entry.name!r} of {_distribution(entry)}"
    return Diagnostic(Severity.WARNING, "plugin", where, text)


# Python files that a caller names, and the rules in them: `absint analyze MODEL --rules FILE.py`.

_MOST = 1 << 24
"""Bytes of a file of rules."""


def read_rules(paths: Sequence[str]) -> list[Rule]:
    """Run the files and take the rules that they define: functions with `@absint.rule`, lists of these, and the rules
    of a table that extends another.

    Raises UsageError, with the line, for a file that cannot be read or run, and for one that defines no rule.
    """
    rules_of_files: list[Rule] = []
    for path in paths:
        defined = vars(run_file(path, "--rules")).values()
        rules = list({id(rule): rule for item in defined for rule in _rules(item)}.values())
        if not rules:
            hint = "decorate a function with @absint.rule(names, inputs=...)"
            raise UsageError(f"--rules {path}: defines no rule: {hint}")
        rules_of_files += rules
    return rules_of_files


def read_table(paths: Sequence[str]) -> Table | None:
    """The shipped rules and those of the files; None without a file. Raises UsageError as `read_rules` does."""
    return shipped().extended(read_rules(paths)) if paths else None


def _rules(item: object) -> Iterable[Rule]:
    if isinstance(item, Rule):
        return [item]
    if isinstance(item, Table):
        return item.rules if item.base is not None else ()
    return [rule for rule in item if isinstance(rule, Rule)] if isinstance(item, list | tuple) else ()


def run_file(path: str, option: str) -> ModuleType:
    """Run a file that an option names, and give what it defines. Raises UsageError, with the line."""
    try:
        source = read_file(path, _MOST)
    except (OSError, ValueError) as error:
        raise UsageError(f"{option} {path} {reason_of(error)}") from None
    module = ModuleType(os.path.splitext(os.path.basename(path))[0])
    module.__file__ = path
    try:
        code = compile(source, path, "exec")
        with _beside(path):
            exec(code, vars(module))
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno is not None else ""
        if error.filename not in (None, path):
            where = f"{error.filename}, {where}"
        raise UsageError(f"{option} {path}: {where}{error.msg}") from None
    except (Exception, SystemExit) as error:
        raise _blamed(option, path, error) from None
    return module


@contextmanager
def blaming(option: str, paths: Iterable[str]) -> Iterator[None]:
    """An error on the way through code of one of the files, which an option names, is a UsageError with the line."""
    try:
        yield
    except Exception as error:
        for path in paths:
            if not isinstance(error, UsageError) and _last_line(error.__traceback__, path) is not None:
                raise _blamed(option, path, error) from error
        raise


def _blamed(option: str, path: str, error: BaseException) -> UsageError:
    line = _last_line(error.__traceback__, path)
    where = "" if line is None else f"line {line}: "
    text = str(error).strip().split("\n")[0]
    return UsageError(f"{option} {path}: {where}{type(error).__name__}{f': {text}' if text else ''}")


def _last_line(trace: TracebackType | None, path: str) -> int | None:
    """The last line of the file on the way to an error."""
    found = None
    while trace is not None:
        found = trace.tb_lineno if trace.tb_frame.f_code.co_filename == path else found
        trace = trace.tb_next
    return found


@contextmanager
def _beside(path: str) -> Iterator[None]:
    """The modules beside the file can be imported, as if it were run as a script."""
    folder = os.path.dirname(os.path.realpath(path))
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
