"""Local functions that bear the name of an operator, or lie in a domain that ONNX fills.

The documents leave it to runtimes which of two operators of one name they run (onnx.proto, `ModelProto.functions`).
onnxruntime takes its own where it has a schema for it, with a kernel or without; it takes no function of a domain that
its checker knows, whatever its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from absint.lattices.value import TOP, Value
from absint.model import schemas
from absint.program.inlined_size import Name
from absint.program.operations import Operation
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.rule import Rule
from absint.transfer.semantics import ONNX, RUNTIME, Semantics

FILLED: Final = frozenset({"", "ai.onnx.ml", "ai.onnx.training"})
"""Domains in which onnxruntime takes no local function."""


def is_operator(domain: str, name: str, version: int) -> bool:
    """It is an operator at this version of its domain, a deprecated one too."""
    if schemas.is_of_onnx(domain):
        return schemas.schema(domain, name, version) is not None or schemas.is_deprecated(domain, name, version)
    return shipped().lookup(domain, name, version) is not None


def takes_operator(domain: str, name: str, version: int) -> bool:
    """onnxruntime takes no local function of this name."""
    if schemas.is_of_onnx(domain):  # of the previews it knows no operator
        return domain in FILLED
    return is_operator(domain, name, version)


def doubtful(name: Name, imports: Sequence[Mapping[str, int]], semantics: Semantics) -> str:
    """The reason why it is not sure that a call of this local function runs it; empty if it is.

    `imports` are the versions of the two readings of the body that calls it.
    """
    domain, op_type, _ = name
    if semantics == RUNTIME:
        return ""
    if any(is_operator(domain, op_type, versions.get(domain, 1)) for versions in imports if versions):
        return "a local function bears the name of this operator, and each runtime chooses between the two"
    if semantics == ONNX or domain not in FILLED:
        return ""
    return f"onnxruntime takes no local function in the domain {domain or 'ai.onnx'}"


def undecided(name: Name, reason: str, outputs: int) -> Operation:
    """The operation of a call that may run one thing or another, of which not even the types are known."""

    def unknown(op: Op) -> Sequence[Value]:
        """Nothing is known: a run takes the function or the operator."""
        op.may_fail(reason)
        return [TOP] * op.outputs

    domain, op_type, _ = name
    shown = f"{op_type} (local function)"  # no name of an operator, whose types would be taken
    return Operation(domain, shown, 1, Rule(unknown, (shown,), domain, 1, None, (), ("Y*",), False), {}, outputs)


def recursive(calls: Mapping[Name, tuple[int, list[Name]]]) -> Iterator[Name]:
    """The functions that call themselves, through others too. `calls` are those of `inlined_size.called_by`."""
    rest = {name: set(inner) for name, (_, inner) in calls.items() if inner}
    while ends := [name for name, inner in rest.items() if not inner & rest.keys()]:
        for name in ends:
            del rest[name]
    for name in rest:
        seen, queue = set[Name](), list(rest[name])
        while queue:
            found = queue.pop()
            if found not in seen and found in rest:
                seen.add(found)
                queue.extend(rest[found])
        if name in seen:
            yield name
