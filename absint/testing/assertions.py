"""Assertions about models for tests. A failure says what was found instead, where it comes from, and what would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from absint.api import analyze
from absint.errors import UsageError
from absint.lattices.logic.relation import NO
from absint.lattices.text.escapes import format_sizes
from absint.lattices.text.tokens import reads_as_name
from absint.lattices.value import AnyTensor
from absint.model.load import ModelLike
from absint.questions.proofs.proof import Proof, Verdict
from absint.questions.proofs.text import Symbols
from absint.questions.sizes.outcomes import Check, Outcome, RangeCheck
from absint.result import Result
from absint.shapes.sizes import Size, Sizes as GivenSizes
from absint.solution.described import brief

if TYPE_CHECKING:
    from absint.jobs.diffing.comparison import Diff

Expected = str | Sequence[int | str | None]
"""A shape: `"[batch, seq, 30522]"`, or a sequence of sizes, texts and None for any size."""

_ANY: Final = "?"
_LINES: Final = 24
"""Most lines of an explanation."""

_CLAUSES: Final = 3


def assert_shapes(model: ModelLike | Result, shapes: Mapping[str, Expected]) -> None:
    """Values of the model have these shapes in every run.

    A dim is a size, an expression over the symbols of the inputs, `?` for any size, or a name of its own: that stands
    for one size, wherever it occurs. Each dim is proved. Raises AssertionError with the derivation of each dim that is
    another one, UsageError for an unknown value.
    """
    __tracebackhide__ = True
    result = _analysed(model)
    problems = list(_Shapes(result).problems(shapes))
    if problems:
        raise AssertionError("\n".join([f"{result.origin}: not the expected shapes", *problems]))


def assert_legal(model: ModelLike | Result, sizes: GivenSizes | None = None, /, **symbols: Size) -> None:
    """All of these sizes are legal: no requirement of a node is broken.

    A size is a number, or a range with both ends, `seq=(1, 512)`. Names that are no identifiers stand in `sizes`.
    Symbols that are left out may have any size. Nodes may still fail on some data. Raises AssertionError with illegal
    sizes, the node that fails there, the clause of the contract, and the nearest legal sizes, or if it is not decided;
    UsageError for an unknown symbol.
    """
    __tracebackhide__ = True
    result = _analysed(model)
    found = _checked(result, {**(sizes or {}), **symbols})
    if found.outcome is Outcome.UNDECIDED:
        raise AssertionError(f"{result.origin}: not decided: {found}")
    if found.outcome is Outcome.ILLEGAL:
        at = found.sizes or {}
        nearest = f"  {result.nearest(at).line}"
        raise AssertionError("\n".join([f"{result.origin}: {found}", *_clauses(result, at), nearest]))


def assert_same_contract(first: ModelLike | Result, second: ModelLike | Result, *, wider: bool = False) -> None:
    """The same inputs and sizes of inputs are legal for both models, and all outputs have the same shapes.

    With `wider`, more may be legal for the second: then it may take the place of the first. Names of symbols and of
    inner values may differ; sizes of outputs that only data decide are not compared. Raises AssertionError with what
    differs, and sizes that tell the models apart.
    """
    __tracebackhide__ = True
    from absint.jobs.diffing.comparison import diff

    found = diff(first, second)
    if not (_takes_its_place(found) and (wider or _is_same(found))):
        raise AssertionError(f"not the same contract\n{found}")


def _takes_its_place(found: Diff) -> bool:
    """All that works with the first model is shown to work with the second one."""
    return not (found.broken or found.contract.undecided or found.outputs.of("undecided") or found.reason)


def _is_same(found: Diff) -> bool:
    ports = (*found.inputs.items, *found.outputs.items)
    alike = all(port.status in ("same", "resized", "not comparable") for port in ports)
    return alike and not found.inputs.reordered and found.contract.agreement == "same"


def _analysed(model: ModelLike | Result) -> Result:
    return model if isinstance(model, Result) else analyze(model)


# Shapes


class _Shapes:
    """The comparison of shapes, with the first place of each name that no input has."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._places: dict[str, str] = {}

    def problems(self, shapes: Mapping[str, Expected]) -> Iterator[str]:
        for name, expected in shapes.items():
            dims = _dims(expected, name)
            value = self._result[name]
            text = f"[{', '.join(dims)}]"
            if not isinstance(value, AnyTensor):
                yield f"{name}: expected {text}, but it is no tensor whose type is known"
            elif value.shape.rank is None:
                yield f"{name}: expected {text}, but its rank is unknown"
            elif value.shape.rank != len(dims):
                yield f"{name}: expected {text}, found {brief(value.shape)}: another rank"
            else:
                wrong = [line for axis, dim in enumerate(dims) for line in self._dim(name, axis, dim)]
                if wrong:
                    yield "\n".join([f"{name}: expected {text}, found {brief(value.shape)}", *wrong])

    def _dim(self, name: str, axis: int, dim: str) -> Iterator[str]:
        """The lines about a dim that is not proved to be the expected one."""
        if dim == _ANY:
            return
        place = f"`{name}`[{axis}]"
        if self._is_own(dim):
            dim = self._places.setdefault(dim, place)
        if dim == place:
            return
        proof = self._result.prove(f"{place} == {dim}")
        if proof.verdict is not Verdict.PROVED:
            yield f"  {name}[{axis}] == {dim.replace('`', '')} is {_verdict(proof)}"
            yield from _derivation(self._result, name, axis)

    def _is_own(self, text: str) -> bool:
        """A name that neither an input has nor a document about the result."""
        return not text.isdecimal() and reads_as_name(text) and text not in Symbols(self._result, self._result.states)


def _dims(expected: Expected, name: str) -> list[str]:
    """The texts of the dims. Raises UsageError for a text without brackets."""
    if not isinstance(expected, str):
        return [_ANY if dim is None else str(dim) for dim in expected]
    text = expected.strip()
    if not (text.startswith("[") and text.endswith("]")):
        raise UsageError(f"the shape of {name!r}: expected a text as [batch, seq, 768], found {expected!r}")
    found, depth = [""], 0
    for character in text[1:-1]:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [dim.strip() or _ANY for dim in found] if text[1:-1].strip() else []


def _verdict(proof: Proof) -> str:
    at = format_sizes(proof.counterexample or {})
    if proof.verdict is Verdict.REFUTED:
        return f"false, as at {at}" if at else "false"
    why = f" ({proof.reason})" if proof.reason else ""
    return f"not proved: {proof.verdict.value}{f' at {at}' if at else ''}{why}"


def _derivation(result: Result, name: str, axis: int) -> Iterator[str]:
    """The first lines of the explanation of a dim."""
    lines = [line for line in str(result.explain(name, axis)).splitlines() if line.strip()]
    yield from (f"    {line}" for line in islice(lines, _LINES))
    if len(lines) > _LINES:
        yield f"    ... and {len(lines) - _LINES} more lines: absint explain {result.origin} '{name}[{axis}]'"


# Sizes


def _checked(result: Result, sizes: GivenSizes) -> Check | RangeCheck:
    """The answer for one point if every symbol has a number, else for a box."""
    numbers = {name: size for name, size in sizes.items() if isinstance(size, int)}
    is_point = len(numbers) == len(sizes) and numbers.keys() >= set(result.symbols)
    return result.check(numbers) if is_point else result.check_range(sizes)


def _clauses(result: Result, at: Mapping[str, int]) -> Iterator[str]:
    """The clauses of the contract that the sizes break."""
    given = dict(at)
    broken = [clause for clause in result.contract().clauses if clause.relation.at(given) is NO]
    yield from (f"  the contract needs {clause}" for clause in broken[:_CLAUSES])
    if len(broken) > _CLAUSES:
        yield f"  and {len(broken) - _CLAUSES} more clauses"
