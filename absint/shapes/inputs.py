"""The inputs of a model as abstract values: the meaning of their declared dims, and its premises."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping
from functools import cached_property
from typing import Final

from absint.diagnostics import Diagnostic, Severity
from absint.lattices.contents import Contents, Element
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.logic.relation import Relation, ge, ne, truth_of
from absint.lattices.records import NamedTuple
from absint.lattices.shape import TOP_SHAPE, Shape
from absint.lattices.terms.atoms import INTERNAL, Atom, SymbolKind
from absint.lattices.terms.expr import UNKNOWN_SIZE, Dim, Expr, Symbol, Unknown, expr_of, postorder, symbol
from absint.lattices.terms.normal import sole_atom
from absint.lattices.terms.shape_variables import ShapeVariable
from absint.lattices.text.dim_params import read_dim_param
from absint.lattices.text.tokens import reads_as_name
from absint.lattices.value import OptionalOf, SequenceOf, Tensor, Value
from absint.program.lowered import Lowered
from absint.shapes.summaries import RuleSummary, is_named, name_unknowns, own_symbols

# Elements of small inputs: integers and truths that a caller chooses, as symbols under names of the model.
#
# A scalar, or a tensor with one element, gives its name to the element: `k`. Those of a longer vector are called
# `sizes_0`, `sizes_1`. Where a dim has that name, underscores are appended until the name is free.

MAX_INPUT_ELEMENTS: Final = 16
"""Elements of a longer input have no names."""


class InputElement(NamedTuple):
    """One element of an input that is a symbol."""

    symbol: Symbol
    """With the bounds of the element type; 0 to 1 for a truth."""
    input: str
    place: int
    """The row-major place of the element."""
    dtype: DType

    @property
    def name(self) -> str:
        return self.symbol.name

    @property
    def expr(self) -> Expr:
        """The element as a number."""
        return expr_of(self.symbol)

    @property
    def where(self) -> str:
        """The place in words: `element 0 of input 'sizes'`."""
        return f"element {self.place} of input {self.input!r}"


def with_elements(name: str, value: Value, used: set[str]) -> tuple[Value, tuple[InputElement, ...]]:
    """The value of an input, and its elements as symbols if they are few; their names are added to `used`."""
    count = _count(value)
    if not count:
        return value, ()
    assert isinstance(value, Tensor)
    lo, hi = _RANGES[value.dtype]
    names = _names(name, count, used)
    found = tuple(InputElement(Symbol(text, lo, hi), name, at, value.dtype) for at, text in enumerate(names))
    elements: list[Element] = [truth_of(e.symbol) if value.dtype is DType.BOOL else e.expr for e in found]
    return Tensor(value.dtype, value.shape, Contents.of(value.shape.concrete or (), elements)), found


def _count(value: Value) -> int:
    """The number of elements that get names; 0 for none."""
    if not isinstance(value, Tensor) or value.dtype not in _RANGES or value.contents is not None:
        return 0
    sizes = value.shape.concrete
    if sizes is None or (len(sizes) > 1 and any(size != 1 for size in sizes)):
        return 0
    count = sizes[0] if sizes else 1
    return count if count <= MAX_INPUT_ELEMENTS else 0


def _names(name: str, count: int, used: set[str]) -> Iterator[str]:
    base = "\\" + name if name.startswith(INTERNAL) else name
    for at in range(count):
        text = base if count == 1 else f"{base}_{at}"
        while text in used:
            text += "_"
        used.add(text)
        yield text


_RANGES: Final = {DType.BOOL: (0, 1), **INTEGER_RANGES}


class Inputs:
    """The inputs by node, their symbols in order of appearance, the premises of their dims, and hints on odd texts."""

    def __init__(self) -> None:
        self.values: dict[int, Value] = {}
        self.symbols: dict[str, None] = {}
        """Names of sizes."""
        self.unnamed: set[str] = set()
        """Those of sizes that the model does not name."""
        self.elements: dict[str, InputElement] = {}
        """Elements of small inputs by their names."""
        self.named: dict[str, Value] = {}
        """The inputs that a caller feeds, by name."""
        self.others: list[str] = []
        """Inputs whose elements have no names."""
        self.variables: set[Symbol] = set()
        """Shape variables of the inputs."""
        self.premises: list[Relation] = []
        self.diagnostics: list[Diagnostic] = []

    @cached_property
    def parameters(self) -> Mapping[str, Expr]:
        """All that a caller may choose a number for, by name: the sizes, then the elements."""
        return {name: symbol(name) for name in self.symbols} | {e.name: e.expr for e in self.elements.values()}


def read_inputs(lowered: Lowered, shapes: Mapping[str, Shape] | None = None) -> Inputs:
    """Read the declared dims as expressions or names.

    A dim without a name, or with a placeholder, becomes a symbol named after input and axis. A dim that is an
    expression is assumed to be defined and a natural number. Elements of small inputs of integers and truths are
    symbols too. `shapes` are those that a caller states of inputs without one.
    """
    inputs = Inputs()
    nodes = lowered.program.nodes
    declared = {name: (node, nodes[node].value) for name, node in lowered.signature.inputs.items()}
    if shapes:
        declared = {name: (node, _with_shape(value, shapes.get(name))) for name, (node, value) in declared.items()}
        inputs.variables.update(shape.variable for shape in shapes.values() if shape.variable is not None)
    dims = _Dims(dict.fromkeys([dim for _, value in declared.values() for dim in _open(value)]), lowered.definitions)
    used = dims.names
    for name, (node, value) in declared.items():
        assert value is not None
        inputs.values[node] = _read(inputs, name, value, dims)
    for name, (node, _) in declared.items():
        value, elements = with_elements(name, inputs.values[node], used)
        inputs.elements.update((element.name, element) for element in elements)
        if not elements:
            inputs.others.append(name)
        inputs.values[node] = inputs.named[name] = value if is_named(value) else _named(node, value)
    for node in lowered.signature.overridable.values():
        value = nodes[node].value
        if value is not None and not is_named(value):
            inputs.values[node] = _named(node, value)
    return inputs


def _with_shape(value: Value | None, shape: Shape | None) -> Value | None:
    """The declared value of an input with a stated shape."""
    if shape is None or value is None:
        return value
    if isinstance(value, OptionalOf):
        return OptionalOf(Tensor(value.element.dtype, shape) if isinstance(value.element, Tensor) else value.element)
    return Tensor(value.dtype, shape) if isinstance(value, Tensor) else value


def _named(node: int, value: Value) -> Value:
    summary = name_unknowns(RuleSummary((value,)))
    return summary.outputs[0].replace(own_symbols(node, summary, SymbolKind.DATA))


class _Stated(NamedTuple):
    """A declared dim as it is meant."""

    dim: Dim
    hint: str | None
    symbols: tuple[str, ...]
    premises: tuple[Relation, ...]


class _Dims:
    """The declared dims of all inputs; each is read once."""

    def __init__(self, dims: Collection[Expr], definitions: Mapping[Symbol, Dim]) -> None:
        """`dims` are those that are no numbers; the model may have `definitions` of names in them."""
        self._dims = dims
        self._definitions = definitions
        self.names = {name for dim in dims for name in dim.free_symbols}
        """All names that are taken."""
        self._stated: dict[Expr, _Stated] = {}

    @cached_property
    def _alone(self) -> frozenset[str]:
        """The names that are a whole dim of some input."""
        return frozenset(only.name for dim in self._dims if isinstance(only := sole_atom(dim), Symbol))

    def stated(self, dim: Expr) -> _Stated:
        """The dim as it is meant: it may be an expression over names that stand alone on some input."""
        meaning = self._stated.get(dim)
        if meaning is None:
            only = sole_atom(dim)
            if isinstance(only, Symbol) and isinstance(meant := self._definitions.get(only), Expr):
                meaning = self._read(meant, None)
            elif isinstance(only, Symbol) and reads_as_name(only.name):
                meaning = _Stated(symbol(only.name), None, (only.name,), ())
            else:
                meaning = self._read(dim, only)
            self._stated[dim] = meaning
        return meaning

    def _read(self, dim: Expr, only: Atom | None) -> _Stated:
        """A dim that is no plain name."""
        stated: Dim = dim
        hint = None
        if isinstance(only, Symbol):
            stated, hint = read_dim_param(only.name, self._alone - {only.name}, total=True)
        return _Stated(stated, hint, tuple(sorted(stated.free_symbols)), tuple(_definedness(stated)))


def _open(value: Value | None) -> tuple[Expr, ...]:
    """The declared dims of an input that are no numbers."""
    if isinstance(value, OptionalOf):
        return _open(value.element)
    return value.shape.open if isinstance(value, Tensor) else ()


def _read(found: Inputs, name: str, value: Value, declared: _Dims) -> Value:
    if isinstance(value, SequenceOf):
        return SequenceOf(_anonymous(value.element))
    if isinstance(value, OptionalOf):
        return OptionalOf(_read(found, name, value.element, declared), value.present)
    if not isinstance(value, Tensor) or value.shape.is_bottom:
        return value
    if value.shape is TOP_SHAPE:
        shape = any_shape_of(name, found.variables)
        found.variables.update(filter(None, (shape.variable,)))
        return Tensor(value.dtype, shape)
    dims: list[Dim] = []
    declared_dims = value.shape.known
    for axis, dim in enumerate(declared_dims):
        if isinstance(dim, Unknown):
            place = str(axis) if axis < len(value.shape.head) else f"_{len(declared_dims) - axis}"
            base = "\\" + name if name.startswith(INTERNAL) else name  # the others are symbols of nodes
            invented = _unused(f"{base}_dim{place}", declared.names)
            found.symbols[invented] = None
            found.unnamed.add(invented)
            dim = symbol(invented)
        elif isinstance(dim, Expr) and dim.const is None:
            dim, hint, symbols, premises = declared.stated(dim)
            if hint:
                found.diagnostics.append(Diagnostic(Severity.WARNING, "dim-text", f"input {name!r}", hint))
            found.premises += premises
            found.symbols.update(dict.fromkeys(symbols))
        dims.append(dim)
    return Tensor(value.dtype, value.shape.around(tuple(dims)))


def has_any_shape(value: Value) -> bool:
    """An input for which neither the model nor the caller states a shape."""
    held = value.element if isinstance(value, OptionalOf) else value
    return isinstance(held, Tensor) and held.shape.variable is not None and not held.shape.known


def any_shape_of(name: str, taken: Container[Symbol]) -> Shape:
    """The shape of an input that is declared without one: the variable `*name`, unless a caller uses that."""
    variable = ShapeVariable(f"*{name}")
    while variable in taken:
        variable = ShapeVariable(f"{variable.name}_")
    return Shape.starred(variable)


def _anonymous(value: Value) -> Value:
    """The type of every element of a sequence: elements may differ in size, so no symbol can stand for a dim."""
    if isinstance(value, Tensor):
        return Tensor(value.dtype, value.shape.map(lambda d: d if d.is_concrete else UNKNOWN_SIZE))
    return value


def _definedness(dim: Dim) -> Iterator[Relation]:
    """Premises of a declared expression: no divisor is 0, and the size is a natural number."""
    if not isinstance(dim, Expr) or dim.const is not None or isinstance(sole_atom(dim), Symbol):
        return
    for node in postorder(dim.atoms()):
        if node.op in ("floordiv", "truncdiv") and isinstance(divisor := node.args[1], Expr):
            yield ne(divisor, 0)
    yield ge(dim, 0)


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    used.add(name)
    return name
