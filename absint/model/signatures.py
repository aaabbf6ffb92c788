"""The types that an operator takes and gives, as plain data, and the nodes that violate them.

A signature has the allowed types of each formal input and output, and the type variable that formals share. An unknown
type violates nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from absint.lattices.dtype import UNDEFINED, DType
from absint.lattices.records import NamedTuple
from absint.lattices.value import BOTTOM, TOP, Container, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value

ELEMENTS: Final = {
    "float": DType.FLOAT,
    "double": DType.DOUBLE,
    "float16": DType.FLOAT16,
    **{d.name.lower(): d for d in DType if d.name not in ("FLOAT", "DOUBLE", "FLOAT16", "CONFLICT", "UNDEFINED")},
}
"""Element types by the names that schemas give them."""


def parse_type(text: str) -> Value:
    """`tensor(float)`, `seq(tensor(int64))`, ... as the largest value of the type; TOP for anything else."""
    kind, _, rest = text.partition("(")
    inner = rest.removesuffix(")")
    if kind == "tensor":
        return Tensor(ELEMENTS.get(inner, DType.UNDEFINED))
    if kind == "sparse_tensor":
        return SparseTensor(ELEMENTS.get(inner, DType.UNDEFINED))
    if kind == "seq":
        return SequenceOf(parse_type(inner))
    if kind == "optional":
        return OptionalOf(parse_type(inner))
    if kind == "map":
        key, _, element = inner.partition(",")
        return MapOf(ELEMENTS.get(key.strip(), DType.UNDEFINED), parse_map_element(element.strip()))
    return TOP


def parse_map_element(text: str) -> Value:
    """The type of the values of a map: a tensor if the text names an element type alone."""
    return Tensor(ELEMENTS[text]) if text in ELEMENTS else parse_type(text)


class Allowed(NamedTuple):
    """A set of types."""

    elements: frozenset[DType]
    """Of tensors."""
    others: tuple[Value, ...] = ()
    """Types of another kind."""

    @staticmethod
    @cache
    def of(texts: tuple[str, ...]) -> Allowed:
        """The types named by these texts."""
        elements, others = [], []
        for text in texts:
            known = _TENSORS.get(text)
            if known is not None:
                elements.append(known)
            else:
                others.append(parse_type(text))
        return Allowed(frozenset(elements), tuple(others))

    def with_(self, other: Allowed) -> Allowed:
        """The union of both."""
        if other.elements <= self.elements and set(other.others) <= set(self.others):
            return self
        return Allowed(self.elements | other.elements, tuple(dict.fromkeys(self.others + other.others)))

    def has(self, value: Value) -> bool:
        """A value of unknown type may be of any."""
        if isinstance(value, Tensor):
            if value.dtype is DType.UNDEFINED:
                return bool(self.elements) or TOP in self.others
            if value.dtype in self.elements:
                return True
        return value is TOP or value is BOTTOM or any(agree(value, other) for other in self.others)

    def __str__(self) -> str:
        tensors = [str(dtype) for dtype in sorted(self.elements)]
        return ", ".join([*tensors, *sorted({type_text(other) for other in self.others})])


_TENSORS: Final = {f"tensor({name})": dtype for name, dtype in ELEMENTS.items()}


class Formal(NamedTuple):
    """A formal input or output."""

    name: str
    variable: str
    """The type variable that it shares with others; empty if there is none."""
    allowed: Allowed


class Signature(NamedTuple):
    """The types that an operator takes and gives."""

    operator: str
    """The operator with the opset that introduced its types, as `Conv-11`."""
    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    repeats_input: bool = False
    """The last input takes all remaining ones."""
    repeats_output: bool = False
    required: tuple[int, ...] = ()
    """Required inputs of an operator without a schema."""
    least_outputs: int = 0
    """The fewest outputs of a node of such an operator."""

    def wrong_input(self, values: Sequence[Value | None]) -> str | None:
        """The violation of the types by inputs (None: left out), in words; empty if there is none."""
        formals, last = self.inputs, len(self.inputs) - 1
        bound: dict[str, int] = {}
        for at, value in enumerate(values):
            if at > last and not self.repeats_input:
                break
            if value is None or value is TOP:
                continue
            _, variable, allowed = formals[at if at < last else last]
            dtype = value.dtype if isinstance(value, Tensor) else UNDEFINED
            if dtype not in allowed.elements and not allowed.has(value):
                return f"input {self._name(at)} is {type_text(value)}; {self.operator} takes {allowed}"
            if variable:
                first = bound.setdefault(variable, at)
                other = values[first]
                if first != at and other is not value and other is not None and not agree(other, value):
                    return self._disagreement(first, at, other, value)
                if dtype is not UNDEFINED:
                    bound[variable] = at
        return None

    def wrong_output(self, values: Sequence[Value]) -> str | None:
        """The violation of the types by outputs, as by an attribute that asks for a type, in words; empty if there is
        none.
        """
        formals, last = self.outputs, len(self.outputs) - 1
        only = values[0] if formals and len(values) == 1 else None
        if type(only) is Tensor and only.dtype in formals[0].allowed.elements:
            return None
        for at, value in enumerate(values):
            if at > last and not self.repeats_output:
                break
            name, _, allowed = formals[at if at < last else last]
            if (type(value) is not Tensor or value.dtype not in allowed.elements) and not allowed.has(value):
                return f"output {name} would be {type_text(value)}; {self.operator} gives {allowed}"
        return None

    def _name(self, at: int) -> str:
        last = len(self.inputs) - 1
        return f"{self.inputs[last].name}[{at - last}]" if self.repeats_input and at >= last else self.inputs[at].name

    def _disagreement(self, first: int, second: int, a: Value, b: Value) -> str:
        what = "element type" if isinstance(a, Tensor) and isinstance(b, Tensor) else "type"
        names = f"{self._name(first)} and {self._name(second)}"
        return f"inputs {names} must share one {what}, found {type_text(a)} and {type_text(b)}"


def agree(a: Value, b: Value) -> bool:
    """Two values may be of one type."""
    if a is b or a is TOP or b is TOP or a is BOTTOM or b is BOTTOM:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return _may_equal(a.dtype, b.dtype)
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        return _may_equal(a.dtype, b.dtype)
    if isinstance(a, MapOf) and isinstance(b, MapOf) and not _may_equal(a.key, b.key):
        return False
    return isinstance(a, Container) and isinstance(b, Container) and agree(a.element, b.element)


def _may_equal(a: DType, b: DType) -> bool:
    return a is b or a is UNDEFINED or b is UNDEFINED


def type_text(value: Value) -> str:
    """The type of a value in words."""
    if isinstance(value, Tensor):
        return "a tensor" if value.dtype is DType.UNDEFINED else str(value.dtype)
    if isinstance(value, SparseTensor):
        return "sparse" if value.dtype is DType.UNDEFINED else f"sparse {value.dtype}"
    if isinstance(value, SequenceOf):
        return f"a sequence of {type_text(value.element)}"
    if isinstance(value, OptionalOf):
        return f"an optional {type_text(value.element)}"
    if isinstance(value, MapOf):
        return f"a map of {value.key} to {type_text(value.element)}"
    return "anything"


@cache
def contrib(domain: str, name: str, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ()) -> Signature | None:
    """The types of an operator of onnxruntime's own, with the names of its formals; None for one without entry."""
    from absint.transfer.contrib.type_table import TABLE

    line = TABLE.get(domain, {}).get(name)
    return None if line is None else _parsed(name, line, inputs, outputs)


def _parsed(name: str, line: str, inputs: Sequence[str], outputs: Sequence[str]) -> Signature:
    """`T T? I* -> T; T: float float16; I: int32`."""
    head, *sets = line.split("; ")
    named = {variable: _group(texts.split()) for variable, _, texts in (part.partition(": ") for part in sets)}
    given, _, made = head.partition("-> ")

    def formals(words: Sequence[str], names: Sequence[str]) -> Iterator[Formal]:
        for at, word in enumerate(words):
            variable = word.rstrip("?*!")
            shared = variable in named and not word.endswith("!")
            allowed = named[variable] if variable in named else Allowed.of((f"tensor({variable})",))
            is_named = at < len(names) and not names[at].endswith("*")
            yield Formal(names[at] if is_named else f"#{at}", variable if shared else "", allowed)

    takes, gives = given.split(), made.split()
    taken, made_of = tuple(formals(takes, inputs)), tuple(formals(gives, outputs))
    required, least = _required(takes), max(_required(gives), default=-1) + 1
    return Signature(name, taken, made_of, _repeats(takes), _repeats(gives), required, least)


def _required(words: Sequence[str]) -> tuple[int, ...]:
    return tuple(at for at, word in enumerate(words) if not word.rstrip("!").endswith(("?", "*")))


def _repeats(words: Sequence[str]) -> bool:
    return bool(words) and words[-1].rstrip("!").endswith("*")


def _group(words: Sequence[str]) -> Allowed:
    from absint.transfer.contrib.type_table import GROUPS

    texts = [text for word in words for text in GROUPS.get(word, word).split()]
    return Allowed.of(tuple([f"tensor({text})" if text in ELEMENTS else text for text in texts]))
