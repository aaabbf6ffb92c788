"""The dims of a model that are not fixed, and the symbols and nodes that they depend on."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Final, NamedTuple

from absint.jobs.freezing.sizes import FixedSizes, IllegalSizesError, at, fix
from absint.lattices.limits import Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import Relation, eq
from absint.lattices.shape import TOP_SHAPE
from absint.lattices.terms.expr import Dim, Expr, Symbol
from absint.lattices.value import AnyTensor, Value, parts
from absint.program.steps import Operand
from absint.questions.sizes.nearest import nearest
from absint.shapes.readability import dims_of
from absint.solution import constraints, naming
from absint.solution.analysed import Analysed
from absint.solver.constraints import Origin


class Cause(NamedTuple):
    """The reason why a size is no number."""

    name: str
    """The symbol, or the element of an input; for data-dependent sizes the name under which they are shown."""
    origin: Origin | None = None
    """The node whose output has a data-dependent size; None for a symbol or an element of the inputs."""
    is_element: bool = False

    def __str__(self) -> str:
        if self.origin is not None:
            return f"the data of {self.origin}"
        return f"the element {self.name!r} of an input" if self.is_element else f"symbol {self.name!r}"


class DynamicValue(NamedTuple):
    """A value with a size that is no number."""

    name: str
    """Its name, after the path of its graph."""
    dims: tuple[int | str, ...] | None
    """Its sizes, those that are no numbers as text; None for an unknown rank or kind."""
    shape: str
    """Its shape as text, `[*s, 64]` for an unknown rank; `?` if nothing is known."""
    causes: tuple[Cause, ...]
    open_dims: tuple[int | str, ...] | None = None
    """Of an unknown rank: the known sizes, and the name of the others, as `*s`, between them; None if none is known."""


@dataclass(frozen=True)
class Dynamic:
    """The dims that are not fixed."""

    outputs: tuple[DynamicValue, ...]
    """Outputs of the model."""
    inner: tuple[DynamicValue, ...]
    """Inner values, those of subgraphs included."""
    definitions: Mapping[str, str]
    """The long dims that have a name in shapes."""

    def __bool__(self) -> bool:
        return bool(self.outputs or self.inner)

    @property
    def causes(self) -> Mapping[Cause, int]:
        """All causes, each with the number of values that hang on it, in order of appearance."""
        return counted((*self.outputs, *self.inner))


def counted(values: Iterable[DynamicValue]) -> Mapping[Cause, int]:
    """The causes of some values, each with the number of values that hang on it, in order of appearance."""
    return Counter(cause for value in values for cause in value.causes)


def open_dims(analysed: Analysed) -> dict[tuple[Operand, int, int], Expr | None]:
    """The dims of computed values that are no numbers, by value, part of it and axis; None for one, or a rank, of which
    nothing is known.
    """
    found: dict[tuple[Operand, int, int], Expr | None] = {}
    for operand, value in _computed(analysed):
        for number, part in enumerate(parts(value)):
            if isinstance(part, AnyTensor) and part.shape.rank is None:
                found[operand, number, -1] = None
            elif isinstance(part, AnyTensor):
                for axis, dim in enumerate(part.shape.dims):
                    if not dim.is_concrete:
                        found[operand, number, axis] = dim if isinstance(dim, Expr) else None
    return found


def _computed(analysed: Analysed) -> Iterator[tuple[Operand, Value]]:
    """Every named value that a node computes."""
    inputs = {*analysed.input_nodes.values()}
    for operand in analysed.program.names:
        if operand[0] >= 0 and operand[0] not in inputs:
            state = analysed.states[operand[0]]
            if operand[1] < len(state):
                yield operand, state[operand[1]]


def dynamic(analysed: Analysed) -> Dynamic:
    """Everything in the analysed model that is not fixed."""
    texts = naming.names_of(analysed)
    causes = _Causes(analysed)
    outputs: list[DynamicValue] = []
    inner: list[DynamicValue] = []
    named = {analysed.operands[name] for name in analysed.outputs if name in analysed.operands}
    for operand, value in _computed(analysed):
        found = causes.of(value)
        if found is not None:
            shown = analysed.value_of(operand)
            row = _row(analysed.program.names[operand], shown, texts.dim, found)
            (outputs if operand in named else inner).append(row)
    return Dynamic(tuple(outputs), tuple(inner), dict(texts.definitions))


def _row(name: str, value: Value, text: Callable[[Dim], str], causes: tuple[Cause, ...]) -> DynamicValue:
    """A value by the sizes of the first tensor in it."""
    shape = next((part.shape for part in parts(value) if isinstance(part, AnyTensor)), TOP_SHAPE)
    if shape.rank is None and shape.variable is None:
        return DynamicValue(name, None, str(shape), causes)
    sizes = tuple(shape.listed(lambda dim: int(dim) if dim.is_concrete else text(dim), str))
    known, others = (sizes, None) if shape.variable is None else (None, sizes)
    return DynamicValue(name, known, f"[{', '.join(map(str, sizes))}]", causes, others)


class _Causes:
    def __init__(self, analysed: Analysed) -> None:
        self._analysed = analysed
        self._recorder = constraints.Recorder(analysed.lowered, analysed.last)
        self._elements = {element.symbol: element.name for element in analysed.declared_inputs.elements.values()}
        self.of = cache(self._read)
        """The causes of all sizes in a value that are no numbers; None if there are no such sizes."""

    def _read(self, value: Value) -> tuple[Cause, ...] | None:
        symbols = (symbol for dim in dims_of(value) for symbol in sorted(dim.symbols, key=lambda s: s.key))
        shapes = [part.shape for part in parts(value) if isinstance(part, AnyTensor)]
        is_open = any(shape.rank is None or not all(dim.is_concrete for dim in shape) for shape in shapes)
        return tuple(dict.fromkeys(map(self._cause, symbols))) if is_open else None

    def _cause(self, symbol: Symbol) -> Cause:
        if symbol in self._elements:
            return Cause(self._elements[symbol], None, True)
        if symbol.origin_node is None:
            return Cause(symbol.name)
        shown = self._analysed.names.get(symbol)
        return Cause(str(shown) if shown is not None else "", self._recorder.origin(symbol.origin_node))


# The fewest symbols that must be fixed so that every size of a computed value is a number.
#
# Nothing is guessed: a set of symbols counts if the analysis, with these symbols bound, finds as many sizes as it does
# with all of them bound. A symbol that follows from others by the requirements of the model need not be fixed.

MAX_ANALYSES: Final = 64
"""Most sets of symbols that are tried."""

_WANTED: Final = ((5, 7, 11, 13, 17, 19, 23, 29), (64, 96, 80, 112, 48, 160, 224, 32))
"""Sizes near which legal ones are looked for, in the order of the symbols."""

_LIMITS: Final = Limits(10.0)


@dataclass(frozen=True)
class Fewest:
    """The answer to the question which symbols must be fixed at least."""

    choices: tuple[tuple[str, ...], ...]
    """The smallest sets of symbols, in the order of the inputs; more than one where symbols determine each other. None
    if no legal sizes were found.
    """
    follow: Mapping[str, str]
    """Symbols that need not be fixed, since the requirements of the model leave one size, and how the first choice
    determines it.
    """
    unused: tuple[str, ...]
    """Symbols on which the size of no computed value hangs: only inputs have them."""
    by_data: tuple[DynamicValue, ...]
    """Values of which some size is no number at `sizes`: it hangs on data, or nothing is known of it. At other sizes it
    may be one: a tensor without elements has no nonzero ones.
    """
    sizes: Mapping[str, int]
    """The legal sizes at which this was found."""
    reason: str = ""
    """The reason why the sets may not be the smallest, if they may not."""

    def __str__(self) -> str:
        if not self.choices:
            return self.reason
        sets = " or ".join(", ".join(names) or "nothing" for names in self.choices)
        rest = f"; {len(self.by_data):,} values hang on data" if self.by_data else ""
        return f"fix {sets}{rest}"

    def __repr__(self) -> str:
        return f"<Fewest: {self}>"


def fewest(analysed: Analysed) -> Fewest:
    """See `Result.fewest_symbols`."""
    analysed.require_sound("freeze")
    whole = _sample(analysed)
    if whole is None:
        return Fewest((), {}, (), (), {}, "no legal sizes were found at which it could be tried")
    return _Search(analysed, whole).answer()


def _sample(analysed: Analysed) -> FixedSizes | None:
    """The model at legal sizes, if any are found."""
    for wanted in _WANTED:
        sizes = {name: wanted[place % len(wanted)] for place, name in enumerate(analysed.symbols)}
        found = nearest(analysed, sizes, _LIMITS).sizes
        if found is not None:
            try:
                return fix(analysed, found)
            except IllegalSizesError:
                continue
    return None


class _Search:
    def __init__(self, analysed: Analysed, whole: FixedSizes) -> None:
        self._analysed, self._sizes, self._whole = analysed, whole.sizes, whole.bound
        self._open = set(open_dims(whole.bound))
        """Dims that are no numbers even if all symbols are bound."""
        self._left = MAX_ANALYSES
        self._reason = ""

    def answer(self) -> Fewest:
        hangs = self._hangs()
        choices: list[tuple[str, ...]] = []
        for count in range(len(self._analysed.symbols) + 1):
            choices = [chosen for chosen in self._candidates(count, hangs) if self._suffices(chosen)]
            if choices or self._left <= 0:
                break
        if not choices:
            self._reason = f"more than {MAX_ANALYSES} sets of symbols would have to be tried"
            choices = [tuple(self._analysed.symbols)]
        determined = self._determined(choices[0])
        symbols = self._analysed.symbols
        follow = {name: self._text(name) for name in symbols if name in determined and name not in choices[0]}
        found = dynamic(self._whole)
        by_data = (*found.outputs, *found.inner)
        unused = tuple(name for name in symbols if name not in determined)
        return Fewest(tuple(choices), follow, unused, by_data, dict(self._sizes), self._reason)

    def _hangs(self) -> set[str]:
        """Symbols on which some size is sure to hang: another number for one of them gives it another value."""
        found: set[str] = set()
        for place, dim in open_dims(self._analysed).items():
            if place not in self._open and dim is not None and dim.free_symbols <= self._sizes.keys():
                found |= {name for name in dim.free_symbols - found if self._changes(dim, name)}
        return found

    def _changes(self, dim: Expr, name: str) -> bool:
        after = [dim.at({**self._sizes, name: self._sizes[name] + step}) for step in (0, 1, 2, 7, 64, 997)]
        return None not in after and len({*after}) > 1

    def _candidates(self, count: int, hangs: set[str]) -> Iterator[tuple[str, ...]]:
        """Sets of so many symbols that determine all on which a size is sure to hang."""
        for chosen in combinations(self._analysed.symbols, count):
            if hangs <= self._determined(chosen):
                yield chosen

    def _determined(self, chosen: Sequence[str]) -> set[str]:
        """The symbols that have one size only once these are fixed."""
        parameters = self._analysed.parameters
        given = [eq(parameters[name], self._sizes[name]) for name in chosen]
        facts = Facts([*self._relations, *given], tuple(parameters))
        return {name for name in self._analysed.symbols if facts.simplify(parameters[name]).is_concrete}

    @property
    def _relations(self) -> list[Relation]:
        return self._analysed.once(_relations)

    def _suffices(self, chosen: tuple[str, ...]) -> bool:
        """With these symbols bound, no more sizes are open than with all of them bound."""
        if self._left <= 0:
            return False
        self._left -= 1
        determined = self._determined(chosen)
        bound = at(self._analysed, {name: size for name, size in self._sizes.items() if name in determined})
        return set(open_dims(bound)) <= self._open

    def _text(self, name: str) -> str:
        """The size of a symbol over others, if the requirements say what it is."""
        value = Facts(self._relations, tuple(self._analysed.parameters)).simplify(self._analysed.parameters[name])
        return str(value) if isinstance(value, Expr) and name not in value.free_symbols else ""


def _relations(analysed: Analysed) -> list[Relation]:
    """Requirements and premises over sizes of the inputs alone."""
    known = {*analysed.symbols}
    return [formula for formula in constraints.recorded(analysed).base.distinct if formula.free_symbols <= known]
