"""The form, types and function bodies that the schemas of operators give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from typing import TYPE_CHECKING, Final, TypeVar

from absint.lattices.dtype import DType
from absint.lattices.records import NamedTuple
from absint.lattices.text.escapes import counted
from absint.lattices.value import TOP, Container, SparseTensor, Tensor, Value
from absint.model import registry
from absint.model.registry import Parameter, Schema
from absint.model.signatures import Allowed, Formal, Signature, contrib, parse_type
from absint.packages import is_installed
from absint.transfer.rule import Rule

if TYPE_CHECKING:
    from onnx import FunctionProto

T = TypeVar("T")

NEWEST: Final = registry.newest_opset()
"""The newest opset of ai.onnx that the installed onnx package knows."""

CHANNELS_LAST: Final = "com.ms.internal.nhwc"
"""The domain of onnxruntime's operators of ai.onnx in another layout."""


def is_of_onnx(domain: str) -> bool:
    """It is one of ONNX's own domains, whose schemas do not change in a process."""
    return not domain or domain.startswith("ai.onnx")


def _kept(read: Callable[[str, str, int], T]) -> Callable[[str, str, int], T]:
    """What is read of an operator at a version, read once; anew for other domains than ONNX's, which may change."""
    once = cache(read)

    @wraps(read)
    def kept(domain: str, name: str, version: int) -> T:
        return once(domain, name, version) if is_of_onnx(domain) else read(domain, name, version)

    return kept


@_kept
def schema(domain: str, name: str, version: int) -> Schema | None:
    """The schema in force at an opset version, or None. Those of other domains than ONNX's may change at any time."""
    found = registry.in_force(domain, name, version)
    return None if found is None or found.is_deprecated else found


def since(domain: str, name: str, version: int) -> int:
    """The opset that introduced the schema in force at a version; 0 if there is none."""
    found = schema(domain, name, version)
    return 0 if found is None else found.since


def is_deprecated(domain: str, name: str, version: int) -> bool:
    """The operator exists at this version but is no longer legal."""
    found = registry.in_force(domain, name, version)
    return found is not None and found.is_deprecated


class Departures(NamedTuple):
    """A node's departures from the form that its schema demands, each in words."""

    fatal: tuple[str, ...] = ()
    """No runtime accepts such a node."""
    harmless: tuple[str, ...] = ()
    """Faults that change no size; onnxruntime refuses such a node."""


_NONE: Final = Departures()


class Form(NamedTuple):
    """The form that a schema demands of a node."""

    name: str
    """The operator with the opset that introduced the schema, as `Conv-11`."""
    attributes: Mapping[str, int]
    """Their types, as numbers of AttributeProto."""
    required: tuple[str, ...]
    """Required attributes."""
    min_inputs: int
    max_inputs: int
    min_outputs: int
    max_outputs: int
    least_inputs: int
    single: tuple[tuple[int, str], ...]
    """Required inputs."""

    def departures(self, attributes: Mapping[str, int]) -> Departures:
        """Faults in the attributes of a node.

        `attributes` are their types, as numbers of AttributeProto; 0 where a file leaves one out.
        """
        if attributes.items() <= self.attributes.items() and attributes.keys() >= {*self.required}:
            return _NONE
        later = self.name in ("Constant-1", "Constant-9")  # onnxruntime takes the forms of later versions
        required = () if later else self.required
        missing = [f"required attribute {a} of {self.name} is missing" for a in required if a not in attributes]
        unknown = [f"{self.name} has no attribute {a}" for a in attributes if a not in self.attributes]
        wrong = [
            f"attribute {a} of {self.name} must be {_kind(expected)}, found {_kind(kind)}"
            for a, kind in attributes.items()
            if (expected := self.attributes.get(a, kind)) != kind and kind
        ]
        return Departures((*missing, *wrong), tuple(unknown)) if missing or wrong or unknown else _NONE

    def fits(self, given: Sequence[object], outputs: int) -> bool:
        """Neither `refused_arity` nor `excess` finds a fault in a node with these inputs and this number of outputs."""
        if None in given or not self.least_inputs <= len(given) <= self.max_inputs:
            return False
        return self.min_inputs <= len(given) and self.min_outputs <= outputs <= self.max_outputs

    def refused_arity(self, given: Sequence[object], outputs: int) -> str | None:
        """The reason why no runtime loads a node with these inputs (None: left out) and this number of outputs."""
        count = len(given)
        if not self.min_outputs <= outputs <= self.max_outputs:
            return f"{self.name} must have {_range(self.min_outputs, self.max_outputs, 'output')}, found {outputs}"
        while count > self.max_inputs and given[count - 1] is None:
            count -= 1
        if not self.min_inputs <= count <= self.max_inputs:
            return f"{self.name} must have {_range(self.min_inputs, self.max_inputs, 'input')}, found {count}"
        missing = (formal for at, formal in self.single if at >= count or given[at] is None)
        return next((f"required input {formal} of {self.name} is missing" for formal in missing), None)

    def needs_name(self, outputs: Sequence[str]) -> bool:
        """A required output has no name."""
        return self.max_outputs != _UNBOUNDED and "" in outputs[: self.min_outputs]

    def excess(self, given: Sequence[object]) -> str | None:
        """A fault of a node that is not refused: runtimes count the inputs that are left out at its end."""
        if len(given) <= self.max_inputs:
            return None
        return f"{self.name} takes at most {counted(self.max_inputs, 'input')}, found {len(given)}"


@_kept
def form(domain: str, name: str, version: int) -> Form | None:
    """The form of a node by the schema in force at an opset version; None if there is none."""
    found = schema(domain, name, version)
    if found is None:
        return None
    single = tuple((index, formal.name) for index, formal in enumerate(found.inputs) if formal.is_required)
    least = max((index + 1 for index, _ in single), default=0)
    return Form(f"{name}-{found.since}", found.attributes, found.required, *found.arity, least, single)


_COUNTED: Final = frozenset(
    [
        "LayerNormalization",
        "MeanVarianceNormalization",
        "MemcpyFromHost",
        "MemcpyToHost",
        "SimplifiedLayerNormalization",
        "ThresholdedRelu",
    ]
)
"""Operators that onnxruntime keeps in ONNX's domain, some at opsets before ONNX's own, and whose inputs it counts."""


def contrib_form(domain: str, name: str, rule: Rule) -> Form | None:
    """The inputs and outputs of an operator of onnxruntime's own; None for one that is not in our table."""
    found = contrib(domain, name, rule.inputs, rule.outputs)
    if found is None or not (domain or name in _COUNTED):
        return None
    least = max((at + 1 for at in found.required), default=0)
    return Form(
        f"{domain}::{name}" if domain else name,
        {},
        (),
        least,
        _UNBOUNDED if found.repeats_input else len(found.inputs),
        found.least_outputs,
        _UNBOUNDED if found.repeats_output else len(found.outputs),
        least,
        tuple((at, found.inputs[at].name) for at in found.required),
    )


def signature(domain: str, name: str, version: int, rule: Rule | None = None) -> Signature | None:
    """The types of an operator at an opset version, by its schema or, if it is onnxruntime's own, by our table.

    The formals of the latter are those of its rule.
    """
    found = schema("" if domain == CHANNELS_LAST else domain, name, version)
    if found is None:
        return contrib(domain, name, rule.inputs, rule.outputs) if rule is not None else contrib(domain, name)
    return _signature(found.domain, name, found.since)


@_kept
def _signature(domain: str, name: str, version: int) -> Signature | None:
    found = schema(domain, name, version)
    if found is None:
        return None
    allowed = {variable: Allowed.of(types) for variable, types in found.types.items()}
    return Signature(
        f"{found.name}-{found.since}",
        tuple(_formals(found.inputs, allowed)),
        tuple(_given(found, list(_formals(found.outputs, allowed)))),
        _repeats(found.inputs),
        _repeats(found.outputs),
    )


def _given(found: Schema, outputs: Sequence[Formal]) -> Iterator[Formal]:
    """Outputs with the types of later versions too: onnxruntime gives them at any opset."""
    newest = registry.in_force(found.domain, found.name, _UNBOUNDED)
    later = () if newest is None else newest.outputs
    for at, formal in enumerate(outputs):
        more = formal.allowed
        if newest is not None and at < len(later):
            more = Allowed.of(newest.types.get(later[at].type) or (later[at].type,))
        if found.name in _CASTING:
            more = signature("", "Cast", NEWEST).outputs[0].allowed  # type: ignore[union-attr]
        elif found.name == "SequenceEmpty":
            more = Allowed.of(("seq(tensor(bfloat16))",))
        yield formal._replace(allowed=formal.allowed.with_(more))


_CASTING: Final = frozenset({"Bernoulli", "BlackmanWindow", "HammingWindow", "HannWindow"})
"""Operators that onnxruntime runs as functions that end in a Cast, to any type that the node asks for."""


def _formals(formals: Sequence[Parameter], allowed: Mapping[str, Allowed]) -> Iterator[Formal]:
    written = [formal.type for formal in formals]
    for formal, text in zip(formals, written, strict=True):
        shares = text in allowed and formal.is_homogeneous and (written.count(text) > 1 or formal.is_variadic)
        yield Formal(formal.name, text if shares else "", allowed.get(text) or Allowed.of((text,)))


def _repeats(formals: Sequence[Parameter]) -> bool:
    return bool(formals) and formals[-1].is_variadic


def _range(lowest: int, highest: int, noun: str) -> str:
    """`2 inputs`, `from 1 to 3 inputs`, `at least 1 output`."""
    if lowest == highest:
        return counted(lowest, noun)
    if highest == _UNBOUNDED:
        return f"at least {counted(lowest, noun)}"
    return f"from {lowest} to {counted(highest, noun)}"


_UNBOUNDED: Final = (1 << 31) - 1


def departures(domain: str, name: str, version: int, attributes: Mapping[str, int]) -> Departures:
    """Faults in the attributes of a node, by the schema in force at an opset version; `attributes` as for a Form."""
    found = form(domain, name, version)
    return without_schema(domain, name, version) if found is None else found.departures(attributes)


_KINDS: Final = (
    *("UNDEFINED", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS", "STRINGS", "TENSORS", "GRAPHS"),
    *("SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"),
)
"""Kinds of attributes by their numbers in AttributeProto."""


def _kind(number: int) -> str:
    return _KINDS[number] if 0 <= number < len(_KINDS) else str(number)


def without_schema(domain: str, name: str, version: int) -> Departures:
    """The faults of a node whose operator has no schema in force at an opset version."""
    opset = f"opset {version} of {domain or 'ai.onnx'}"
    if is_deprecated(domain, name, version):
        return Departures(harmless=(f"{name} is deprecated in {opset}",))
    is_unknown = registry.is_known(domain, name) and contrib(domain, name) is None
    return Departures(fatal=(f"{opset} has no {name}",) if is_unknown else ())


def top_outputs(domain: str, name: str, version: int, inputs: Sequence[Value | None], count: int) -> tuple[Value, ...]:
    """Outputs of which nothing is known but the types that the schema gives."""
    found = schema(domain, name, version)
    if found is None:
        return (TOP,) * count
    bound = _type_variables(found, inputs)
    formals = found.outputs
    if not formals:
        return (TOP,) * count
    return tuple(_value_of(formals[min(i, len(formals) - 1)].type, found, bound) for i in range(count))


def _type_variables(found: Schema, inputs: Sequence[Value | None]) -> dict[str, Value]:
    """Type variable -> the kind and element type of the input that binds it."""
    bound: dict[str, Value] = {}
    formals = found.inputs
    for index, value in enumerate(inputs):
        if value is None or not formals:
            continue
        formal = formals[min(index, len(formals) - 1)]
        if index >= len(formals) and not formal.is_variadic:
            continue
        if index >= len(formals) - 1 and not formal.is_homogeneous:
            continue
        if isinstance(value, Tensor) and value.dtype is not DType.UNDEFINED:
            bound.setdefault(formal.type, Tensor(value.dtype))
        elif isinstance(value, Container | SparseTensor):
            bound.setdefault(formal.type, TOP)
    return bound


def _value_of(type_text: str, found: Schema, bound: dict[str, Value]) -> Value:
    if type_text in bound:
        return bound[type_text]
    allowed = found.types.get(type_text)
    if allowed is None:
        return parse_type(type_text)
    if len(allowed) == 1:
        return parse_type(allowed[0])
    return Tensor(DType.UNDEFINED) if all(a.startswith("tensor(") for a in allowed) else TOP


@_kept
def function_body(domain: str, name: str, version: int) -> FunctionProto | None:
    """The body that the schema gives for the operator, if it gives one that needs no context. Without onnx, None."""
    found = schema(domain, name, version)
    if found is None or not found.has_body or not is_installed("onnx"):
        return None
    from onnx import AttributeProto, FunctionProto, defs

    described = defs.get_schema(name, found.since, domain)
    body = FunctionProto()
    body.CopyFrom(described.function_body)
    defaults = [a.default_value for a in described.attributes.values()]
    body.attribute_proto.extend(d for d in defaults if d.type != AttributeProto.UNDEFINED)
    return body
