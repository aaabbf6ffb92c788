"""Operator instances and their operations, new or interned."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from absint.lattices.records import NamedTuple
from absint.lattices.value import Tensor
from absint.model import schemas
from absint.model.protos import decode_attribute, domain_of, is_elsewhere
from absint.program.operations import INTERNED, MAX_OPERATIONS, Operation
from absint.program.report import Report
from absint.rules.lookup import Lookup, newer_opset
from absint.transfer.families import shipped
from absint.transfer.op import AttributeValue

if TYPE_CHECKING:
    from absint.model.messages import AttributeMessage, NodeMessage, TensorMessage
    from absint.model.schemas import Form
    from absint.model.signatures import Signature
    from absint.transfer.rule import Rule


class _Operator(NamedTuple):
    """All that the operations of an operator have in common."""

    rule: Rule | None
    types: Signature | None = None
    form: Form | None = None
    is_standard: bool = False
    """The rule is a shipped one."""
    has_schema: bool = False
    is_function: bool = False
    """It has no rule, and a function as its body."""


class Instances:
    """Gives operator instances their operations."""

    def __init__(self, lookup: Lookup, report: Report, constant: Callable[[TensorMessage], Tensor]) -> None:
        """`constant` reads a tensor of the file."""
        self._lookup = lookup
        self._report = report
        self._constant = constant
        self._operators: dict[tuple[str, str, int], _Operator] = {}

    def operation(
        self,
        node: NodeMessage,
        attributes: Sequence[AttributeMessage],
        version: int,
        key: Hashable,
        place: Callable[[], str],
    ) -> Operation | None:
        """The operation of an instance; None if the operator has no rule, and a function as its body.

        `key` is all that its operation depends on, except the version.
        """
        is_shipped = self._lookup.table is shipped()
        identity = (version, key)
        interned = INTERNED.find(identity) if is_shipped else None
        if interned is not None:
            return interned
        said = len(self._report.diagnostics)
        operation = self._made(node, attributes, version, place)
        if (
            is_shipped
            and operation is not None
            and operation.is_standard
            and len(self._report.diagnostics) == said
            and not any(map(is_elsewhere, attributes))
        ):
            INTERNED.intern(identity, operation)
        return operation

    def _made(
        self, node: NodeMessage, attributes: Sequence[AttributeMessage], version: int, place: Callable[[], str]
    ) -> Operation | None:
        domain, op_type = domain_of(node.domain), node.op_type
        known = self._operators.get((domain, op_type, version))
        if known is None:
            known = self._operators[domain, op_type, version] = self._operator(domain, op_type, version)
        rule, types, outputs = known.rule, known.types, len(node.output)
        if rule is None:
            if known.is_function:
                return None
            rule = self._lookup.last_resort(domain, op_type, version, attributes)
            types = types if rule is None or rule.inferred else None
        decoded = self.decoded(attributes) if attributes else {}
        if not known.is_standard:
            return Operation(domain, op_type, version, rule, decoded, outputs, types=types)
        fatal, harmless = schemas.departures(domain, op_type, version, {a.name: a.type for a in attributes})
        for text in () if known.has_schema else fatal:
            self._report.warn("malformed-node", place(), f"{text}; runtimes refuse it")
        for text in harmless:
            self._report.note("node-form", place(), text)
        return Operation(
            domain,
            op_type,
            version,
            rule,
            decoded,
            outputs,
            (*fatal, *harmless),
            malformed=fatal,
            is_standard=True,
            form=known.form,
            types=types,
        )

    def _operator(self, domain: str, op_type: str, version: int) -> _Operator:
        if self._lookup.table is shipped() and schemas.is_of_onnx(domain):
            known = _standard(domain, op_type, version)
            if known is not None:
                return known
        rule = self._lookup.rule(domain, op_type, version)
        if rule is None:
            is_function = schemas.function_body(domain, op_type, version) is not None
            types = None if is_function else schemas.signature(domain, op_type, version)
            return _Operator(None, types, is_function=is_function)
        if rule is not shipped().lookup(domain, op_type, version):
            return _Operator(rule, schemas.signature(domain, op_type, version) if rule.inferred else None)
        return _of_rule(rule, domain, op_type, version)

    def decoded(self, attributes: Sequence[AttributeMessage]) -> dict[str, AttributeValue]:
        """Attributes as rules see them."""
        return {a.name: decode_attribute(a, self._constant) for a in attributes}


def _of_rule(rule: Rule, domain: str, op_type: str, version: int) -> _Operator:
    """An operator with a shipped rule."""
    form = schemas.form(domain, op_type, version)
    return _Operator(
        rule,
        schemas.signature(domain, op_type, version, rule),
        form or schemas.contrib_form(domain, op_type, rule),
        is_standard=True,
        has_schema=form is not None,
    )


@lru_cache(maxsize=MAX_OPERATIONS)
def _standard(domain: str, op_type: str, version: int) -> _Operator | None:
    """An operator of ONNX that is no newer than its shipped rule: its rule and its schema never change."""
    rule = shipped().lookup(domain, op_type, version)
    return None if rule is None or newer_opset(domain, op_type, version) else _of_rule(rule, domain, op_type, version)


__all__ = ["Instances"]
