"""Hypothesis strategies for elements of every domain, and the domains as the laws kit wants them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, NamedTuple

from hypothesis import strategies as st

from absint.lattices.contents import CONTENTS, NO_CONTENTS, OPAQUE, Contents, Element
from absint.lattices.dtype import DTYPES, DType
from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import FALSE, TRUE, YES, Relation
from absint.lattices.ramp import NO_RAMPS, Ramps, element, ramp
from absint.lattices.shape import BOTTOM_SHAPE, TOP_SHAPE, Shape, StarredShape, shape_of
from absint.lattices.shape_choice import ShapeChoice
from absint.lattices.shape_lattice import BOTTOM_DIM, DIMS, SHAPES
from absint.lattices.terms import floats
from absint.lattices.terms.evaluation import values_of
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Expr, Unknown, const, symbol
from absint.lattices.terms.floats import Float
from absint.lattices.terms.interval import ANY, EMPTY, FULL, Congruence, Interval
from absint.lattices.terms.normal import Real, broadcast, maximum
from absint.lattices.terms.shape_variables import ShapeVariable
from absint.lattices.value import BOTTOM, TOP, Cut, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value
from absint.lattices.value_lattice import VALUES
from absint.shapes.interpretation import STATES
from tests.laws import Domain, Env

N, M = symbol("N"), symbol("M")
ENVIRONMENTS: Sequence[Env] = ({"N": 0, "M": 1}, {"N": 2, "M": 1}, {"N": 3, "M": 3})

# Numbers

small = st.none() | st.integers(-3, 7)
intervals = st.builds(lambda a, b: Interval(a, b) if None in (a, b) or a <= b else EMPTY, small, small)
congruences = st.builds(Congruence.of, st.integers(0, 6), st.integers(-6, 6))


class IntervalDomain:
    """Intervals behind the lattice protocol."""

    bottom, top = EMPTY, FULL
    leq = staticmethod(Interval.leq)
    join = staticmethod(Interval.join)
    meet = staticmethod(Interval.meet)
    widen = staticmethod(Interval.widen)


class CongruenceDomain:
    """Congruences behind the lattice protocol; None, which their meet gives, is bottom.

    Moduli divide one another along a chain, so join is a widening.
    """

    bottom, top = None, ANY

    def leq(self, a: Congruence | None, b: Congruence | None) -> bool:
        return a is None or (b is not None and a.leq(b))

    def join(self, a: Congruence | None, b: Congruence | None) -> Congruence | None:
        return b if a is None else a if b is None else a.join(b)

    def meet(self, a: Congruence | None, b: Congruence | None) -> Congruence | None:
        return None if a is None or b is None else a.meet(b)

    widen = join


# Dims and shapes

unknowns = st.builds(Unknown, intervals, congruences)
expressions = st.sampled_from(
    [const(0), const(1), const(3), N, M, N + 1, 2 * N, 4 * M, N - M, N * M, N // 2, maximum(N, 1), broadcast(N, M)]
)
dims: st.SearchStrategy[Dim] = expressions | unknowns | st.sampled_from([UNKNOWN_DIM, BOTTOM_DIM])
sizes: st.SearchStrategy[Dim] = expressions | st.builds(Unknown, st.builds(Interval, st.integers(0, 3), small.filter(
    lambda hi: hi is None or hi >= 3)), congruences)  # fmt: skip
VARIABLES = (ShapeVariable("*s"), ShapeVariable("*t"))
starred = st.sampled_from(VARIABLES).flatmap(
    lambda v: st.lists(sizes, max_size=1).flatmap(
        lambda d: st.sampled_from([StarredShape(tuple(d), v, ()), StarredShape((), v, tuple(d))])
    )
)
"""Shapes with a variable, of one known size: the meet of more is below an operand size by size, as of a known rank."""

choices = st.sampled_from(
    [
        ShapeChoice.of(condition, shape_of(first), shape_of(second))
        for condition in (rel.eq(N, 1), rel.ge(M, N))
        for first, second in (((N,), (N, M)), ((), (const(3),)))
    ]
)

shapes = (
    st.builds(lambda d: shape_of(tuple(d)), st.lists(sizes, max_size=2))
    | st.sampled_from([TOP_SHAPE, BOTTOM_SHAPE])
    | starred
    | choices
)


def allows_dim(dim: Dim, value: int, env: Env) -> bool:
    if isinstance(dim, Expr):
        return dim.evaluate(env) == value
    return value in dim.bounds and value in dim.congruence


def list_of(variable: ShapeVariable, env: Env) -> tuple[int, ...]:
    """The sizes that a variable stands for in an environment: two variables agree in some."""
    first, second = env["N"] % 3, env["M"] % 5
    return (first,) * (second % 3) if variable is VARIABLES[0] else (first,) * (first % 3)


def allows_shape(shape: Shape, value: Sequence[int], env: Env) -> bool:
    if isinstance(shape, StarredShape):
        middle, count = list_of(shape.variable, env), len(shape.head)
        fits = len(value) == len(shape.known) + len(middle) and tuple(value[count : count + len(middle)]) == middle
        around = (*value[:count], *value[count + len(middle) :])
        return fits and all(allows_dim(d, v, env) for d, v in zip(shape.known, around, strict=True))
    if shape.cases:
        return any(condition.at(env) is YES and allows_shape(case, value, env) for condition, case in shape.cases)
    if shape.is_top or shape.is_bottom:
        return shape.is_top
    return len(shape) == len(value) and all(allows_dim(d, v, env) for d, v in zip(shape, value, strict=True))


def shape_factors(shape: Shape) -> list[tuple[Any, Any]] | None:
    return None if shape.rank is None else [(DIMS, d) for d in shape]


# Contents

integers: st.SearchStrategy[Element] = expressions | unknowns.filter(lambda u: not u.bounds.is_empty)
booleans: st.SearchStrategy[Element] = st.sampled_from([TRUE, FALSE, rel.ge(N, 1), rel.eq(N, M), rel.ne(N, M)])
reals: st.SearchStrategy[Element] = st.sampled_from(
    [
        *(Real.constant(0.5), Real.constant(2), Real.constant(Fraction(1, 3))),
        *(Real(N, 1), Real(N, 4)),  # type: ignore[arg-type]
        *(floats.of("float32", N, 4), floats.unary("sqrt", floats.of("float32", M)), floats.of("float64", N)),
    ]  # type: ignore[list-item]
)
opaque = st.just(OPAQUE)
SHAPES_OF_DATA = [(), (0,), (1,), (2,), (2, 1), (0, 3)]


def contents_of(elements: st.SearchStrategy[Element]) -> st.SearchStrategy[Contents | None]:
    def rows(shape: tuple[int, ...]) -> st.SearchStrategy[Contents | None]:
        items = st.lists(elements | opaque, min_size=prod(shape), max_size=prod(shape))
        return items.map(lambda e: Contents.of(shape, e))

    return st.sampled_from(SHAPES_OF_DATA).flatmap(rows) | elements.map(Contents.fill) | st.none()


contents = contents_of(integers) | contents_of(booleans) | contents_of(reals) | st.just(NO_CONTENTS)


class Data(NamedTuple):
    """A concrete tensor."""

    dtype: DType
    shape: tuple[int, ...]
    elements: tuple[int | bool | Fraction, ...]


def data(dtype: DType, numbers: Sequence[int | bool | Fraction]) -> list[Data]:
    return [Data(dtype, shape, items) for shape in SHAPES_OF_DATA for items in product(numbers, repeat=prod(shape))]


ARRAYS = [
    *data(DType.INT64, [0, 1, 3]),
    *data(DType.BOOL, [False, True]),
    *data(DType.FLOAT, [Fraction(1, 2), Fraction(2), Fraction(3, 4)]),
]


def allows_element(element: Element, value: int | bool | Fraction, env: Env) -> bool:
    if element is OPAQUE or element is UNKNOWN_DIM:
        return True
    if isinstance(element, Dim):
        return type(value) is int and allows_dim(element, value, env)
    if isinstance(element, Relation):
        return type(value) is bool and element.evaluate(env) is value
    if isinstance(element, Float):
        return isinstance(value, Fraction) and Fraction(element.compute(values_of(element, env))) == value
    assert isinstance(element, Real)
    return isinstance(value, Fraction) and Fraction(element.num.evaluate(env), element.den) == value


def allows_contents(found: Contents | None, value: Data, env: Env) -> bool:
    if found is None or found is NO_CONTENTS:
        return found is None
    if found.is_fill:
        return all(allows_element(found.elements[0], e, env) for e in value.elements)
    pairs = zip(found.elements, value.elements, strict=False)
    return found.shape == value.shape and all(allows_element(e, v, env) for e, v in pairs)


def allows_ramps(ramps: Ramps, value: Data, env: Env) -> bool:
    pairs = zip(product(*map(range, value.shape)), value.elements, strict=True)
    return all(type(e) is int and element(ramps, at).evaluate(env) == e for at, e in pairs) if ramps else True


# Values

dtypes = st.sampled_from([DType.UNDEFINED, DType.INT64, DType.BOOL, DType.FLOAT])


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    dtype = draw(dtypes)
    shape = draw(shapes.filter(lambda s: not s.is_bottom))
    elements = {DType.INT64: integers, DType.BOOL: booleans, DType.FLOAT: reals}.get(dtype)
    found = draw(contents_of(elements)) if elements is not None else None
    if found is not None and not found.is_fill:
        shape = TOP_SHAPE
    grows = dtype is DType.INT64 and shape.rank is not None and draw(st.booleans())
    ramps = draw(st.sampled_from([(const(0), const(1)), (N, M), (const(1), N - 1)])) if grows else None
    rank = shape.rank or 0
    return Tensor(dtype, shape, found, ramp(ramps[0], (ramps[1],) * rank) if ramps is not None else NO_RAMPS)


lengths = sizes

cuts = st.none() | st.builds(Cut, st.integers(0, 1), st.sampled_from([N, const(3)]), st.just(const(2)))


def _containers(inner: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    return (
        st.builds(SequenceOf, inner, lengths, st.none(), cuts)
        | st.lists(inner.filter(lambda v: v is not BOTTOM), max_size=3).map(lambda items: SequenceOf.of(items, BOTTOM))
        | st.builds(OptionalOf, inner, st.sampled_from([None, True, False]))
        | st.builds(MapOf, st.sampled_from([DType.INT64, DType.STRING]), inner)
    )


sparse = st.builds(SparseTensor, dtypes, shapes.filter(lambda s: not s.is_bottom))
plain: st.SearchStrategy[Value] = tensors() | tensors() | sparse | st.sampled_from([TOP, BOTTOM])
values: st.SearchStrategy[Value] = plain | _containers(plain | _containers(plain))
states = st.lists(tensors() | values, max_size=2).map(tuple)


class Several(NamedTuple):
    """A concrete container: `kind` is sequence, optional (of none or one), sparse, or a map of the given key type."""

    kind: str
    items: tuple[Any, ...]
    key: DType = DType.UNDEFINED


SOME_ARRAYS = [ARRAYS[i] for i in (0, 3, 4, 9, 17, 30, 40, 55)]
CONCRETE = [
    *ARRAYS[::3],
    *(Several("sequence", items) for n in range(3) for items in product(SOME_ARRAYS[:3], repeat=n)),
    *(Several("sequence", (Several("sequence", (a,)),)) for a in SOME_ARRAYS[:2]),
    *(Several("optional", (a,)) for a in SOME_ARRAYS),
    Several("optional", ()),
    *(Several("map", (a,), key) for a in SOME_ARRAYS[:3] for key in (DType.INT64, DType.STRING)),
    *(Several("sparse", (a,)) for a in SOME_ARRAYS),
]


def allows_value(value: Value, actual: Any, env: Env) -> bool:
    if value is TOP or value is BOTTOM:
        return value is TOP
    if isinstance(value, Tensor):
        return (
            isinstance(actual, Data)
            and value.dtype in (DType.UNDEFINED, actual.dtype)
            and allows_shape(value.shape, actual.shape, env)
            and allows_contents(value.contents, actual, env)
            and allows_ramps(value.ramps, actual, env)
        )
    if not isinstance(actual, Several):
        return False
    if isinstance(value, SparseTensor):
        return actual.kind == "sparse" and allows_value(Tensor(value.dtype, value.shape), actual.items[0], env)
    inside = all(allows_value(value.element, item, env) for item in actual.items)  # type: ignore[attr-defined]
    if isinstance(value, SequenceOf):
        each = value.items is None or all(
            allows_value(v, item, env) for v, item in zip(value.items, actual.items, strict=False)
        )
        cut = value.cut
        parts = cut is None or all(
            isinstance(item, Data) and allows_dim(cut.at(const(at)), item.shape[cut.axis], env)
            for at, item in enumerate(actual.items)
            if isinstance(item, Data) and len(item.shape) > cut.axis
        )
        length = allows_dim(value.length, len(actual.items), env)
        return actual.kind == "sequence" and inside and each and parts and length
    if isinstance(value, OptionalOf):
        return actual.kind == "optional" and inside and value.present in (None, bool(actual.items))
    assert isinstance(value, MapOf)
    return actual.kind == "map" and inside and value.key is actual.key


def allows_state(state: tuple[Value, ...], actual: Sequence[Any], env: Env) -> bool:
    if state == STATES.top:
        return True
    pairs = zip(state, actual, strict=False)
    return len(state) == len(actual) and all(allows_value(v, a, env) for v, a in pairs)


def value_factors(value: Value) -> list[tuple[Any, Any]] | None:
    """A tensor by type, dims and elements; other kinds as a whole."""
    if not isinstance(value, Tensor) or value.shape.rank is None:
        return None
    return [(DTYPES, value.dtype), *((DIMS, d) for d in value.shape)]


ROWS = [(v,) for v in CONCRETE[::2]] + list(product(SOME_ARRAYS[:3], repeat=2))

DOMAINS = [
    Domain(
        "Interval", IntervalDomain(), intervals, range(-9, 10),
        lambda i, v, _: v in i, lambda n: Interval(-n, n * n),
    ),
    Domain(
        "Congruence", CongruenceDomain(), congruences | st.none(), range(-12, 13),
        lambda c, v, _: c is not None and v in c, lambda n: Congruence.of(2**200, 2 ** max(0, 40 - n)),
    ),
    Domain("DIMS", DIMS, dims, range(-6, 13), allows_dim, lambda n: const((-3) ** (n % 40)), ENVIRONMENTS),
    Domain(
        "SHAPES", SHAPES, shapes, [s for r in range(3) for s in product(range(5), repeat=r)], allows_shape,
        lambda n: Shape([n, 7 - n % 5]), ENVIRONMENTS, shape_factors,
    ),
    Domain(
        "DTYPES", DTYPES, st.sampled_from(DType), [d for d in DType if d > 0],
        lambda d, v, _: d in (v, DType.UNDEFINED), lambda n: DType(n % 20),
    ),
    Domain(
        "CONTENTS", CONTENTS, contents, ARRAYS, allows_contents,
        lambda n: Contents.vector([const(n), const(-n)][: 1 + n % 2]), ENVIRONMENTS,
    ),
    Domain(
        "VALUES", VALUES, values, CONCRETE, allows_value,
        lambda n: SequenceOf(Tensor(DType.INT64, Shape([n]))), ENVIRONMENTS,
    ),
    Domain(
        "STATES", STATES, states, ROWS, allows_state,
        lambda n: (Tensor(DType.INT64, Shape([n])), Tensor(DType.INT64, TOP_SHAPE, Contents.scalar(const(-n)))),
        ENVIRONMENTS,
    ),
]  # fmt: skip
