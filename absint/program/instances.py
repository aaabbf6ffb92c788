"""Operator instances and their operations, new or interned."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import Final

from absint.lattices.records import NamedTuple, changed
from absint.lattices.value import Tensor
from absint.model import schemas
from absint.model.declared_types import tensor_fault
from absint.model.protos import AttributeMessage, TensorMessage, decode_attribute, is_elsewhere
from absint.model.schemas import Form
from absint.model.signatures import Signature
from absint.model.wire.kinds import TENSOR
from absint.program.folded import Functions
from absint.program.lowered import Report
from absint.program.nodes import INTERNED, MAX_OPERATIONS, Operation
from absint.program.rules.lookup import Lookup, newer_opset
from absint.transfer.families import shipped
from absint.transfer.rule import Rule
from absint.transfer.stating import AttributeValue


class _Operator(NamedTuple):
    """All that the operations of an operator have in common."""

    rule: Rule | None
    types: Signature | None = None
    form: Form | None = None
    is_standard: bool = False
    """The rule is a shipped one."""
    is_function: bool = False
    """It has no rule, and a function as its body."""


class Instances:
    """Gives operator instances their operations."""

    def __init__(
        self, lookup: Lookup, report: Report, constant: Callable[[TensorMessage], Tensor], *, outlined: bool
    ) -> None:
        """`constant` reads a tensor of the file. The model is `outlined` if its large tensors were left empty."""
        self._lookup = lookup
        self._is_shipped = lookup.table is shipped()
        self._report = report
        self._constant = constant
        self._outlined = outlined
        self._operators: dict[tuple[str, str, int], _Operator] = {}

    def operation(
        self,
        operator: tuple[str, str, int],
        attributes: Sequence[AttributeMessage],
        outputs: Sequence[str],
        key: Hashable,
        place: Callable[[], str],
    ) -> Operation | None:
        """The operation of an instance; None if the operator has no rule, and a function as its body.

        `operator` is its domain, name and version. `outputs` are names, empty where one is left out. `key` is all that
        its operation depends on, except the version.
        """
        identity = (operator[2], key)
        said, kinds = len(self._report.diagnostics), {a.name: a.type for a in attributes}
        shares = self._is_shipped and not (self._outlined and TENSOR in kinds.values())
        interned = INTERNED.find(identity) if shares else None
        if interned is not None:
            return interned
        operation = self._made(operator, attributes, kinds, outputs, place)
        if (
            shares
            and operation is not None
            and operation.is_standard
            and len(self._report.diagnostics) == said
            and not (TENSOR in kinds.values() and any(map(is_elsewhere, attributes)))
        ):
            INTERNED.intern(identity, operation)
        return operation

    def _made(
        self,
        operator: tuple[str, str, int],
        attributes: Sequence[AttributeMessage],
        kinds: Mapping[str, int],
        outputs: Sequence[str],
        place: Callable[[], str],
    ) -> Operation | None:
        "".join((operator[0], operator[1], *kinds))  # TypeError for a name that is not valid UTF-8, which is bytes
        known = self._operators.get(operator)
        if known is None:
            known = self._operators[operator] = self._operator(*operator)
        rule, types = known.rule, known.types
        if rule is None:
            if known.is_function:
                return None
            rule = self._lookup.last_resort(*operator, attributes)
            types = types if rule is None or rule.inferred else None
        decoded, absent = self.decoded(attributes), frozenset(at for at, name in enumerate(outputs) if not name)
        if not known.is_standard:
            return Operation(*operator, rule, decoded, len(outputs), types=types, absent=absent)
        fatal, harmless = schemas.departures(*operator, kinds)
        for text in harmless:
            self._report.note("node-form", place(), text)
        fatal += tuple(self._tensor_faults(attributes, decoded))
        return Operation(
            *operator,
            rule,
            decoded,
            len(outputs),
            (*fatal, *harmless),
            malformed=fatal,
            is_standard=True,
            form=known.form,
            types=types,
            absent=absent,
        )

    def _operator(self, domain: str, op_type: str, version: int) -> _Operator:
        if self._is_shipped and schemas.is_of_onnx(domain):
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

    def _tensor_faults(
        self, attributes: Sequence[AttributeMessage], decoded: Mapping[str, AttributeValue]
    ) -> Iterator[str]:
        """The reasons why no runtime loads the tensors among the attributes."""
        for attribute in attributes:
            value = decoded[attribute.name]
            if attribute.type == TENSOR and isinstance(value, Tensor):
                fault = tensor_fault(attribute.t, value, outlined=self._outlined)
                if fault:
                    yield f"the tensor of {attribute.name} {fault}"


def _of_rule(rule: Rule, domain: str, op_type: str, version: int) -> _Operator:
    """An operator with a shipped rule."""
    form = schemas.form(domain, op_type, version) or schemas.contrib_form(domain, op_type, rule)
    return _Operator(rule, schemas.signature(domain, op_type, version, rule), form, is_standard=True)


@lru_cache(maxsize=MAX_OPERATIONS)
def _standard(domain: str, op_type: str, version: int) -> _Operator | None:
    """An operator of ONNX that is no newer than its shipped rule: its rule and its schema never change."""
    rule = shipped().lookup(domain, op_type, version)
    return None if rule is None or newer_opset(domain, op_type, version) else _of_rule(rule, domain, op_type, version)


# Operations of nodes in functions, whose operators may have another version there than in the model.
#
# onnxruntime infers the types of a function by the versions that it imports, then takes it apart and reads its nodes
# by those of the model.

_NEED_AXES: Final = {"MeanVarianceNormalization": 13}
"""Operators that ONNX defines by a function that gets their axes: inference in another function gives it no default."""


def in_function(
    operation: Operation,
    attributes: Sequence[AttributeMessage],
    others: Mapping[str, int],
    functions: Functions,
    made: Callable[[tuple[str, str, int]], Operation | None],
) -> Operation:
    """The operation of a node in a function, with that of the other reading if there the operator differs.

    `others` are the versions of that reading, and `made` gives the operation of the node as one of an operator.
    """
    if not operation.is_standard:
        return operation
    domain, name, failures = operation.domain, operation.op_type, operation.possible_failures
    version = others.get(domain, operation.version)
    if max(version, operation.version) >= _NEED_AXES.get(name, inf) and all(a.name != "axes" for a in attributes):
        failures += (f"onnxruntime needs the attribute axes of {name} in a function",)
    if schemas.since(domain, name, version) == schemas.since(domain, name, operation.version):
        return operation if failures == operation.possible_failures else changed(operation, possible_failures=failures)
    other = made((domain, name, version))
    if other is None or not other.is_standard:
        reasons = sum(schemas.without_schema(domain, name, version), ())
        other = None if reasons else Operation(domain, name, version, None, {}, operation.outputs)
        failures += tuple(f"{reason}; onnxruntime refuses it" for reason in reasons)
    elif name == "Constant" and not domain:  # onnxruntime makes an initialiser of one, whatever its version
        return other if functions.replaces else operation
    return changed(operation, possible_failures=failures, other=other)
