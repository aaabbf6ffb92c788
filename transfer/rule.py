"""A rule: a transfer function with its operators, versions and formal parameters; the decorator @rule.

The table of rules: (domain, operator, opset version) -> rule, immutable and extensible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, wraps
from inspect import unwrap
from types import ModuleType
from typing import Final, cast

from absint.lattices.records import record
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Value
from absint.transfer.forms import Formed, names_of
from absint.transfer.op import Op
from absint.transfer.semantics import ONNX as DOCUMENTS
from absint.transfer.stated import RuleError

Outputs = Value | Sequence[Value]
Function = Callable[[Op], Outputs]

ONNX = ""
ML = "ai.onnx.ml"
PREVIEW = "ai.onnx.preview"
MICROSOFT = "com.microsoft"


@record()
class Rule:
    """One transfer function with the operators that it serves.

    `inputs` and `outputs` name the formal parameters, space-separated in order; a last name that ends in `*` takes all
    remaining ones. `since` and `until` are opset versions of `domain`, both inclusive. A `complete` rule promises that
    its requirements are sufficient too: whenever they hold, the node runs, for all data.
    """

    function: Function
    """The transfer function: an `Op` in, the values of the outputs out."""
    names: tuple[str, ...]
    """The operators that it serves."""
    domain: str
    since: int
    until: int | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    complete: bool
    elements: bool = False
    """The rule may give the elements of its outputs; those that other rules return are dropped."""
    starred: bool = False
    """The rule may see shapes with a variable, as `[*s, 64]`; others see unknown rank in their place."""
    origin: str = ""
    """The distribution with its version, or the onnx schema, that provides the rule; empty if a caller passed it in."""
    inferred: bool = False
    """The rule calls the inference function of an onnx schema, which absint does not check."""
    is_missing: bool = False
    """Nothing is known of the operator: it has this rule for declarations that are taken on trust."""
    rows: str = ""
    """Where it keeps rows apart: for each input the axis of the rows or a dot, and after `>` those of the outputs."""

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The index of each input by name."""
        return {name: place for place, name in reversed(list(enumerate(self.inputs)))}

    def holds_for(self, version: int) -> bool:
        """The rule covers this version of the domain; `since=1` covers versions below 1 too."""
        return self.since <= max(version, 1) and (self.until is None or version <= self.until)

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]

    @property
    def deviation(self) -> str:
        """What onnxruntime does otherwise: the first line of the docstring of its overlay, if it has one."""
        return (getattr(self.function, "overlay", None) or "").strip().split("\n")[0]

    @property
    def operator(self) -> str:
        """Its first operator, with the domain."""
        return f"{self.domain}::{self.names[0]}" if self.domain else self.names[0]

    @property
    def place(self) -> str:
        """The file and line of the function."""
        code = getattr(unwrap(self.function), "__code__", None)
        return f"{_shown(code.co_filename)}:{code.co_firstlineno}" if code is not None else "no Python function"

    def failure(self, error: Exception) -> str:
        """A message about an exception in the rule: its name and file, the error, and the line that raised it."""
        from traceback import extract_tb

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
    """The file, relative to the working directory if it lies there."""
    from pathlib import Path

    path = Path(file)
    return path.relative_to(here).as_posix() if (here := Path.cwd()) in path.parents else file


def rule(
    names: str,
    form: str = "",
    *,
    inputs: str = "",
    outputs: str = "Y",
    since: int = 1,
    until: int | None = None,
    domain: str = ONNX,
    complete: bool = False,
    elements: bool = False,
    starred: bool = False,
    rows: str = "",
) -> Callable[[Callable[..., Outputs | None]], Rule]:
    """Make the decorated function the rule of the operators `names` (space-separated).

    `form` names inputs and outputs, as `X W B? -> Y`; it may follow the names after a colon, as `Scale: X -> Y`.
    `inputs` and `outputs` do so in two texts. Where the form has dims, as `X[N, M] -> Y[N, 2 * M]`
    (`absint.transfer.forms`), the rule requires that inputs agree; the function may have parameters for dims of inputs,
    as `N: Dim`, and returns None for the outputs of the form. `since` and `until` are versions of `domain`, both
    inclusive; without them the rule is for any version. A rule that gives the elements of its outputs, or passes on
    those of an input, declares `elements`; without it outputs keep only type and shape. One that is right about shapes
    with a variable, `[*s, 64]`, declares `starred`; others see an unknown rank in their place. `rows`, as `0 . > 0`,
    says for `absint rows` along which axes rows stay apart: row i of outputs is made of row i of these inputs and of
    all of those with a dot; `|` separates several ways. Raises RuleError for malformed arguments.
    """
    if _words("names", names) and not form:
        names, _, form = names.partition(": ")
    formals = names_of(form) if form else (_words("inputs", inputs), _words("outputs", outputs))
    has_shapes = "[" in form or ":" in form

    def declare(function: Callable[..., Outputs | None]) -> Rule:
        transfer = cast(Function, Formed(form, function) if has_shapes else function)
        served, told = _words("names", names), _rows(rows, names)
        return Rule(transfer, served, domain, since, until, *formals, complete, elements, starred, rows=told)

    if not _words("names", names):
        raise RuleError("rule: names must list at least one operator, as in @rule('Scale', 'X -> Y')")
    if until is not None and until < since:
        raise RuleError(f"rule {names!r}: since must not exceed until, found {since} and {until}")
    return declare


def overlay(deviation: Callable[[Op], Outputs | None]) -> Callable[[Callable[..., Outputs | None]], Function]:
    """Make the decorated function an overlay, itself a decorator: what onnxruntime does otherwise than the documents.

        @overlay
        def broadcast_both_ways(op: Op) -> Tensor:
            "Slope may enlarge X."

        @rule("PRelu", "X slope -> Y")
        @broadcast_both_ways
        def parametric_relu(op: Op) -> Tensor:

    The rule says what ONNX does. Unless an analysis follows its documents alone, the overlay is asked first; where it
    returns None, after what it may have stated, the rule goes on.
    """

    def over(documented: Callable[..., Outputs | None]) -> Function:
        @wraps(documented)
        def transfer(op: Op, **dims: Dim) -> Outputs | None:
            found = None if op.semantics == DOCUMENTS else deviation(op)
            return documented(op, **dims) if found is None else found

        transfer.overlay = deviation.__doc__  # type: ignore[attr-defined]
        return cast(Function, transfer)

    return over


kernel = partial(rule, domain=MICROSOFT, complete=True)
"""The rule of operators of onnxruntime's own whose requirements are sufficient."""

device = partial(rule, domain=MICROSOFT)
"""The rule of operators of onnxruntime's own that mostly no kernel of its CPU runs."""


def shaped(
    text: str, *, since: int = 1, until: int | None = None, domain: str = ONNX, complete: bool = False
) -> tuple[Rule, ...]:
    """Rules of operators that only move dims, from a text: a line that says what after `#`, then names and form.

        # Each row of a table that an index names.
        Embedding: weight[N, D] indices[...] -> Y[..., D]
        ! every index must be in the table

    A line after `!` tells what the form leaves open, so that the node may fail.
    """
    rules = []
    for block in text.split("# ")[1:]:
        says, *lines = (line.strip() for line in block.strip().split("\n"))
        names, _, form = " ".join(line for line in lines if line[:1] != "!").partition(": ")
        doubts = [line[2:] for line in lines if line[:1] == "!"]
        made = rule(names, form, since=since, until=until, domain=domain, complete=complete, starred=True)
        rules.append(made(_stating(says, doubts)))
    return tuple(rules)


def _stating(says: str, doubts: Sequence[str]) -> Callable[[Op], None]:
    def transfer(op: Op) -> None:
        for doubt in doubts:
            op.may_fail(doubt)

    transfer.__doc__ = says
    return transfer


def _rows(text: str, names: str) -> str:
    for way in text.split("|") if text.strip() else ():
        before, arrow, after = (part.split() for part in way.partition(">"))
        is_listed = all(word == "." or word.isdecimal() for word in [*before, *after])
        if not (arrow and before and after and is_listed):
            raise RuleError(f"rule {names!r}: rows is {text!r}; it lists an axis or a dot for each input, as '0 . > 0'")
    return text


def _words(what: str, text: str) -> tuple[str, ...]:
    if not isinstance(text, str):
        raise RuleError(f"rule: {what} must be one string, as 'X W B', found {type(text).__name__}")
    return tuple(text.split())


NEWEST: Final[Mapping[str, int]] = {"": 28, "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}
"""The newest version of each ONNX domain that the shipped rules cover."""


class Table:
    """An immutable set of rules, and the table that it extends.

    If several rules cover a version, an extension wins over the table that it extends; then a rule with `until` wins,
    then the highest `since`, then the last rule.
    """

    def __init__(self, rules: Iterable[Rule], base: Table | None = None) -> None:
        self._rules = tuple(rules)
        self.base = base
        """The table that this one extends."""
        self._by_name: dict[tuple[str, str], list[Rule]] = {}
        self._found: dict[tuple[str, str, int], Rule | None] = {}
        for rule in self._rules:
            for name in rule.names:
                self._by_name.setdefault((rule.domain, name), []).append(rule)

    @staticmethod
    def of(modules: Iterable[ModuleType]) -> Table:
        """The table of all rules defined in these modules."""
        return Table(rule for module in modules for rule in rules_of(module))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules without those of `base`."""
        return self._rules

    def lookup(self, domain: str, name: str, version: int) -> Rule | None:
        """The rule of an operator in a version of its domain, or None."""
        key = (domain, name, version)
        if key not in self._found:
            self._found[key] = self._lookup(domain, name, version)
        return self._found[key]

    def _lookup(self, domain: str, name: str, version: int) -> Rule | None:
        fitting = [rule for rule in self._rules_for(domain, name) if rule.holds_for(version)]
        if not fitting:
            return self.base.lookup(domain, name, version) if self.base is not None else None
        last = max(range(len(fitting)), key=lambda i: (fitting[i].until is not None, fitting[i].since, i))
        return fitting[last]

    def _rules_for(self, domain: str, name: str) -> Sequence[Rule]:
        return self._by_name.get((domain, name), ())

    def extended(self, rules: Iterable[Rule]) -> Table:
        """This table with more rules, which win for the versions that they cover.

        Raises RuleError for an item that is not a rule.
        """
        return Table([_checked(rule) for rule in rules], self)

    def overridden(self, domain: str, name: str, version: int) -> Rule | None:
        """The rule of the base table that a rule of this table replaces, or None."""
        if self.base is None:
            return None
        before = self.base.lookup(domain, name, version)
        return before if before is not None and before is not self.lookup(domain, name, version) else None

    def __iter__(self) -> Iterator[Rule]:
        if self.base is not None:
            yield from self.base
        yield from self.rules

    def __len__(self) -> int:
        return len(self.rules) + (len(self.base) if self.base is not None else 0)


def rules_of(module: ModuleType) -> Iterator[Rule]:
    """The rules that a module defines, alone or in tuples."""
    for item in vars(module).values():
        for found in item if isinstance(item, tuple) else (item,):
            if isinstance(found, Rule):
                yield found


def _checked(item: object) -> Rule:
    if isinstance(item, Rule):
        return item
    name = getattr(item, "__name__", type(item).__name__)
    raise RuleError(f"{name} is not a rule: decorate a function with @absint.rule(names, inputs=...)")
