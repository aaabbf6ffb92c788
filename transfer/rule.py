"""A rule: a transfer function with the operators, versions and formal parameters it is for; the decorator @rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import unwrap
from pathlib import Path
from traceback import extract_tb

from absint.lattices.value import Value
from absint.transfer.op import Op
from absint.transfer.signature import RuleError

Outputs = Value | Sequence[Value]
Function = Callable[[Op], Outputs]

ONNX = ""
ML = "ai.onnx.ml"
PREVIEW = "ai.onnx.preview"
MICROSOFT = "com.microsoft"


@dataclass(frozen=True)
class Rule:
    """One transfer function and what it is for.

    `inputs` and `outputs` name the formal parameters, space-separated in order; a last name that ends in `*` takes all
    remaining ones. `since` and `until` are opset versions of `domain`, both inclusive. A `complete` rule promises that
    its requirements are sufficient too: whenever they hold, the node runs, for all data.
    """

    function: Function
    names: tuple[str, ...]
    domain: str
    since: int
    until: int | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    complete: bool
    elements: bool = False
    """It may give the elements of its outputs; the elements that other rules return are dropped."""
    origin: str = ""
    """The distribution, with its version, or the onnx schema that it is from; empty if a caller passed it in."""
    inferred: bool = False
    """It calls the inference function of an onnx schema, which absint does not check."""

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each input by its name."""
        return {name: place for place, name in reversed(list(enumerate(self.inputs)))}

    def holds_for(self, version: int) -> bool:
        """The rule covers this version of the domain; `since=1` covers every version, 0 and below too."""
        return self.since <= max(version, 1) and (self.until is None or version <= self.until)

    @property
    def summary(self) -> str:
        """First line of the function's docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]

    @property
    def operator(self) -> str:
        """The first operator that it is for, with its domain."""
        return f"{self.domain}::{self.names[0]}" if self.domain else self.names[0]

    @property
    def place(self) -> str:
        """File and line of the function."""
        code = getattr(unwrap(self.function), "__code__", None)
        return f"{_shown(code.co_filename)}:{code.co_firstlineno}" if code is not None else "no Python function"

    def failure(self, error: Exception) -> str:
        """The message about a failure of the rule: its name and file, the error, and the line that raised it."""
        text = str(error).strip().split("\n")[0]
        if isinstance(error, RuleError):
            return f"{self} {text}"
        file = getattr(getattr(unwrap(self.function), "__code__", None), "co_filename", None)
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
        at = f" in line {lines[-1]}" if lines else ""
        return f"{self} raised {type(error).__name__}{at}{f': {text}' if text else ''}"

    def __str__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        source = f" of {self.origin}" if self.origin else ""
        return f"rule {name!r}{source} ({self.place})"


def _shown(file: str) -> str:
    """The file from here, if it is below the working directory."""
    path = Path(file)
    return path.relative_to(here).as_posix() if (here := Path.cwd()) in path.parents else file


def rule(
    names: str,
    *,
    inputs: str,
    outputs: str = "Y",
    since: int = 1,
    until: int | None = None,
    domain: str = ONNX,
    complete: bool = False,
    elements: bool = False,
) -> Callable[[Function], Rule]:
    """Make the decorated function the rule of the operators `names` (space-separated).

    `inputs` and `outputs` are the names of its formals, space-separated too. `since` and `until` are versions of
    `domain`, both inclusive; without them the rule is for any version. A rule that gives the elements of its outputs,
    or passes on those of an input, declares `elements`; otherwise its outputs keep type and shape only. Raises
    RuleError for malformed arguments.
    """

    def declare(function: Function) -> Rule:
        return Rule(
            function,
            _words("names", names),
            domain,
            since,
            until,
            _words("inputs", inputs),
            _words("outputs", outputs),
            complete,
            elements,
        )

    if not _words("names", names):
        raise RuleError("rule: names are those of one operator or more, as in @rule('Scale', inputs='X')")
    if until is not None and until < since:
        raise RuleError(f"rule {names!r}: no version is from {since} on and up to {until}")
    return declare


def _words(what: str, text: str) -> tuple[str, ...]:
    if not isinstance(text, str):
        raise RuleError(f"rule: {what} are one text with spaces, as 'X W B', not {type(text).__name__}")
    return tuple(text.split())


__all__ = ["MICROSOFT", "ML", "ONNX", "PREVIEW", "Function", "Outputs", "Rule", "RuleError", "rule"]
