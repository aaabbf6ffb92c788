"""Specifications by operator, with the grid of nodes at which each is compared."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Final, Literal, NamedTuple, TypeVar, cast

from absint.research.specification.choices import demand_choices
from absint.research.specification.node import Attribute, IllegalError, Input, Meaning, Node, Output, illegal
from absint.research.specification.terms import Term, term, variable

F = TypeVar("F", bound="Function")
MICROSOFT: Final = "com.microsoft"
"""The domain of onnxruntime's own operators: its docs/ContribOperators.md."""
ML: Final = "ai.onnx.ml"
"""Classical machine learning."""

Function = Callable[[Node], Output | Sequence[Output]]
Shown = Literal["elements", "signed", "sizes", "fills"]
"""What a rule sees of the inputs of an instance: their elements where it has any, as sizes or with any sign, sizes
alone, or also the number that all elements are in runs.
"""
HolderKind = Literal["sequence", "optional", "map"]
_SHOWN: Final[Mapping[Shown, str]] = {
    "elements": "",
    "signed": ", elements of any sign",
    "sizes": ", elements unknown",
    "fills": ", elements known",
}


class Holder(NamedTuple):
    """The kind of container of an input's tensors."""

    kind: HolderKind
    length: int | str
    """How many: a number or the name of a variable. Those of an optional value are 1 or 0."""
    keys: str = ""
    """The type of the keys of a map: from 0 on, or `k0` and so on."""


class Argument(NamedTuple):
    """An input of an instance: its dims, each a number or the name of a variable, and its integers if they matter."""

    dims: tuple[int | str, ...]
    elements: tuple[int | str | Fraction, ...] | None = None
    """Its numbers, or the names of variables; of truths, those that are true from 1 on."""
    dtype: str = "float"
    fill: int | None = None
    """The number that all elements are in runs; random numbers without it."""
    holder: Holder | None = None
    """The input holds tensors of these dims; None: it is one."""

    def parts(self, elements: bool) -> list[str]:
        """The sizes that have a name; with `elements` these too."""
        held = () if self.holder is None else (self.holder.length,)
        found = (*self.dims, *((self.elements or ()) if elements else ()), *held)
        return [part for part in found if isinstance(part, str)]

    def at(self, binding: Mapping[str, int]) -> Argument:
        """The input with these numbers for its elements."""
        if self.elements is None:
            return self
        numbers = [part if isinstance(part, Fraction) else _term(part).value(binding) for part in self.elements]
        return self._replace(elements=tuple(numbers))

    def input(self) -> Input:
        """The input that a specification reads."""
        terms = None if self.elements is None else _terms(self.elements)
        if self.dtype == "bool" and terms is not None:
            return Input(_terms(self.dims), truths=tuple(term >= 1 for term in terms), dtype=self.dtype)
        if self.holder is not None:
            return Input(_terms(self.dims), None, None, self.dtype, _term(self.holder.length), self.holder.kind)
        return Input(_terms(self.dims), terms, dtype=self.dtype)


class Instance(NamedTuple):
    """A node of an operator at fixed rank and attributes, all named sizes free."""

    inputs: tuple[Argument | None, ...]
    attributes: Mapping[str, Attribute]
    outputs: int = 1
    first: int = 1
    """The first version of the operator that has this form."""
    last: int = 1 << 16
    shown: Shown = "elements"
    natural: tuple[str, ...] = ()
    """Names of elements that are not compared with any sign: they are from 0 on, or no solver decides it otherwise."""

    @property
    def views(self) -> tuple[Instance, ...]:
        """The instance, and what a rule sees of it where it knows less of its inputs, or more."""
        hidden = [self._replace(shown="sizes")] if any(a.elements is not None for a in self._given) else []
        filled = [self._replace(shown="fills")] if any(a.fill is not None for a in self._given) else []
        signed = self._replace(shown="signed")
        return (self, *([signed] if signed.signed else []), *hidden, *filled)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of sizes and elements, each once."""
        return tuple({_sum(part)[1]: None for argument in self._given for part in argument.parts(True)})

    @property
    def signed(self) -> frozenset[str]:
        """The names that may stand for any integer: those of no size."""
        if self.shown != "signed":
            return frozenset()
        sizes = {_sum(part)[1] for argument in self._given for part in argument.parts(argument.dtype[0] in "bu")}
        return frozenset(self.variables).difference(sizes, self.natural)

    @property
    def _given(self) -> list[Argument]:
        return [argument for argument in self.inputs if argument is not None]

    def node(self, operator: str, version: int) -> Node:
        """The instance as a node of an operator."""
        signed = self.signed
        inputs = [None if given is None else given.input()._replace(signed=signed) for given in self.inputs]
        return Node(operator, version, inputs, self.attributes, self.outputs)

    def at(self, binding: Mapping[str, int]) -> Instance:
        """The instance with these numbers for its elements."""
        return self._replace(inputs=tuple([given and given.at(binding) for given in self.inputs]))

    def __str__(self) -> str:
        inputs = ", ".join("-" if a is None else _shown(a) for a in self.inputs)
        attributes = "".join(f" {name}={value}" for name, value in self.attributes.items())
        return inputs + attributes + _SHOWN[self.shown]


Vary = Callable[[str, int, Sequence[Instance]], Iterable[Instance]]


class Specification(NamedTuple):
    """The specification of some operators, and the instances at which it is compared."""

    operators: tuple[str, ...]
    domain: str
    first: int
    last: int
    function: Function
    grid: tuple[Instance, ...]

    def instances(self, operator: str, version: int) -> list[Instance]:
        """The nodes at which a version of an operator is compared."""
        known = _FOLLOWED.get((self.domain, operator), ())
        grid = [instance for instance in self.grid if instance.first <= version <= instance.last]
        varied = [] if self.domain else [found for vary in _VARIED for found in vary(operator, version, grid)]
        return [*grid, *[each for each in known if each.first <= version <= each.last], *varied]

    def outputs(self, node: Node) -> Output | Sequence[Output]:
        """The outputs of a node, which gets its clauses. Raises IllegalError for one that is illegal at any sizes."""
        if self.domain != MICROSOFT:
            demand_choices(node)
        return self.function(node)

    def meaning(self, operator: str, version: int, instance: Instance, *, documented: bool = False) -> Meaning:
        """The meaning of a node of the instance; where sizes differ as onnxruntime has them, or the documents."""
        node = instance.node(operator, version)
        node.documented = documented
        try:
            found = self.outputs(node)
        except IllegalError as error:
            return illegal(str(error))
        outputs = (found,) if isinstance(found, Output) else tuple(found)
        return Meaning(tuple(node.legal), outputs, tuple(node.limited))


_SPECIFICATIONS: dict[tuple[str, str], list[Specification]] = {}
_FOLLOWED: dict[tuple[str, str], list[Instance]] = {}
_VARIED: list[Vary] = []


Grid = str | Iterable[str | Instance]
"""Instances, or texts that `instances` reads."""


def specifies(operators: str, grid: Grid, *, domain: str = "", first: int = 1, last: int = 1 << 16) -> Callable[[F], F]:
    """Register a function as the specification of operators, from version `first` to `last`."""

    def register(function: F) -> F:
        names = tuple(operators.split())
        found = Specification(names, domain, first, last, function, tuple(_read(grid)))
        for name in names:
            _SPECIFICATIONS.setdefault((domain, name), []).append(found)
        return function

    return register


def contributed(operators: str, grid: Grid) -> Callable[[F], F]:
    """Register a function as the specification of operators of onnxruntime's own."""
    return specifies(operators, grid, domain=MICROSOFT)


def learned(operators: str, grid: Grid, *, first: int = 1, last: int = 1 << 16) -> Callable[[F], F]:
    """Register a function as the specification of operators of classical machine learning."""
    return specifies(operators, grid, domain=ML, first=first, last=last)


def follows(grids: Mapping[str, Grid], domain: str = "") -> None:
    """Compare operators of a domain at these nodes too. A name may be several."""
    for operators, grid in grids.items():
        for operator in operators.split():
            _FOLLOWED.setdefault((domain, operator), []).extend(_read(grid))


def varies(vary: Vary) -> None:
    """Compare operators of ai.onnx at the nodes too that the function makes of those of a grid."""
    _VARIED.append(vary)


def specification(domain: str, operator: str, version: int) -> Specification | None:
    """The specification of a version of an operator: of several that fit, the one that begins last, compared at the
    instances of all that have its function.
    """
    _load()
    fitting = [s for s in _SPECIFICATIONS.get((domain, operator), ()) if s.first <= version <= s.last]
    if not fitting:
        return None
    newest = max(fitting, key=lambda found: found.first)
    grids = [found.grid for found in fitting if found.function is newest.function]
    return newest._replace(grid=tuple({repr(instance): instance for grid in grids for instance in grid}.values()))


def specified() -> list[tuple[str, str]]:
    """The operators that have a specification: domain and name."""
    _load()
    return sorted(_SPECIFICATIONS)


_FAMILIES: Final = (
    "elementwise windows reductions layout reshaping indexing generators images recurrent attention fused "
    "gates tokens extended learning sequences old_forms edges attributes"
)
"""The files of specifications. They import this one, so they are imported when a specification is asked for."""


@cache
def _load() -> None:
    for name in _FAMILIES.split():
        import_module(f"absint.research.specification.{name}")


def instances(grid: str, **common: Attribute) -> list[Instance]:
    """Instances as text, with attributes for all of them.

    A bar is between two of them, a comma between two inputs, which are written as in `at`; `[]` is a scalar, and `-` is
    left out. A semicolon stands before what has a name in `at`. Values that are no numbers and no lists are words.

    >>> [str(found) for found in instances("N C, [], = 1 n; axis=1 pads=[0, 1] | N, -; mode=edge", keepdims=0)]
    ['[N, C], [], =[1, n] keepdims=0 axis=1 pads=[0, 1]', '[N], - keepdims=0 mode=edge']
    """
    return [_instance(text, common) for text in grid.split("|")]


def typed(dtype: str, grid: str, **common: Attribute) -> list[Instance]:
    """The instances, floats of another type."""
    return [
        found._replace(inputs=tuple([a._replace(dtype=dtype) if a and a.dtype == "float" else a for a in found.inputs]))
        for found in instances(grid, **common)
    ]


def _read(grid: Grid) -> Iterator[Instance]:
    for part in [grid] if isinstance(grid, str) else grid:
        yield from instances(part) if isinstance(part, str) else [part]


def _instance(text: str, common: Mapping[str, Attribute]) -> Instance:
    listed, _, options = text.partition(";")
    inputs = [_ABBREVIATED.get(part.strip(), part.strip()) for part in listed.split(",")] if listed.strip() else []
    assert not _OPTION.sub("", options).strip(), text
    named = {name: _value(value) for name, value in _OPTION.findall(options)}
    return at(*inputs, **{**common, **named})  # type: ignore[arg-type]


_ABBREVIATED: Final = {"[]": "", "-": None}
_OPTION: Final = re.compile(r"(\w+)=(\[.*?\]|\S+)")


def _value(text: str) -> Attribute:
    try:
        return cast(Attribute, literal_eval(text))
    except (ValueError, SyntaxError):
        return text


def at(
    *inputs: str | None,
    outputs: int = 1,
    first: int = 1,
    last: int = 1 << 16,
    natural: str = "",
    **attributes: Attribute,
) -> Instance:
    """An instance, its inputs as text; None is left out.

    `N C+1 3` are the dims of a float tensor, `int64: N` of another type, `int64=0: N` of one that is all 0 in runs;
    `= 1 n -1` is a vector of integers, `=` alone an empty one, `2x3= a b c d e f` a matrix, `. n` a scalar;
    `float: = 2 1/2` is a vector of floats, `bool: = a 1 0` one of truths: whether `a` is 1 or more, true, false.
    `sequence K: N C` holds K tensors, `optional 1: N C` one and `optional 0: N C` none, `map K int64:` K scalars.
    """
    return Instance(tuple(map(_argument, inputs)), attributes, outputs, first, last, natural=tuple(natural))


def _argument(text: str | None) -> Argument | None:
    if text is None:
        return None
    if (held := re.fullmatch(r"(sequence|optional|map) (\w+) ?(\w*):(.*)", text)) is not None:
        what, length, dtype, dims = held.groups()
        holder = Holder(cast(HolderKind, what), _size(length), dtype if what == "map" else "")
        entry = "float" if what == "map" else dtype or "float"
        return Argument(tuple(map(_size, dims.split())), None, entry, None, holder)
    kind, colon, rest = text.partition(":")
    dtype, _, fill = kind.strip().partition("=")
    parts = (rest if colon else text).split()
    form = re.fullmatch(r"([\dx]*)=|\.", parts[0]) if parts else None
    dtype = dtype if colon else "float" if form is None else "int64"
    if form is not None:
        values = tuple(Fraction(part) if "/" in part else _size(part) for part in parts[1:])
        sizes = tuple(map(int, form[1].split("x"))) if form[1] else (len(values),) if parts[0] == "=" else ()
        return Argument(sizes, values, dtype)
    return Argument(tuple(map(_size, parts)), None, dtype, int(fill) if colon and fill else None)


def _size(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text


def _terms(parts: Sequence[int | str | Fraction]) -> tuple[Term, ...]:
    return tuple(map(_term, parts))


def _term(part: int | str | Fraction) -> Term:
    if isinstance(part, Fraction):
        return Term("fraction", (part.numerator, part.denominator))
    if not isinstance(part, str):
        return term(part)
    factor, name, added = _sum(part)
    multiple = variable(name) if factor == 1 else variable(name) * factor
    return multiple if added == 0 else multiple + added


def _sum(text: str) -> tuple[int, str, int]:
    """The numbers and the variable of `2*n-1`."""
    found = re.fullmatch(r"(?:(\d+)\*)?([A-Za-z]\w*)([+-]\d+)?", text)
    assert found is not None, text
    return int(found[1] or 1), found[2], int(found[3] or 0)


def _shown(argument: Argument) -> str:
    if argument.holder is not None:
        kind, length, keys = argument.holder
        return f"{kind}{' by ' * bool(keys)}{keys} of {length} [{', '.join(map(str, argument.dims))}]"
    if argument.elements is None:
        return f"[{', '.join(map(str, argument.dims))}]"
    sizes = "x".join(map(str, argument.dims)) if len(argument.dims) > 1 else ""
    return f"{sizes}=[{', '.join(map(str, argument.elements))}]"
