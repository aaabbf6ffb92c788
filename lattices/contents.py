"""Known elements of small tensors: the domain that follows shape arithmetic in a model.

Elements are interned: an integer is a dim, a boolean a relation, a float an exact real or a term that rounds as the run
does; OPAQUE stands for one of which nothing is known. Contents are either a row-major tuple of elements with a concrete
shape, at most `MAX_ELEMENTS`, or a fill: every element is the same, whatever the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Final

from absint.lattices.block import Block
from absint.lattices.lattice import first_reason
from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, Relation
from absint.lattices.shape_lattice import BOTTOM_DIM, DIMS
from absint.lattices.terms.expr import Constant, Dim, Expr, Symbol, Unknown
from absint.lattices.terms.floats import Float
from absint.lattices.terms.intern import InternTable
from absint.lattices.terms.normal import Real, substitute, substitute_float

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    ObjectArray = npt.NDArray[np.object_]

MAX_ELEMENTS: Final = 1024

MAX_RANK: Final = 32
"""Elements of a tensor of more axes are not followed; numpy's arrays have at most 64."""

_LARGEST: Final = 1 << 40


def is_small(sizes: Sequence[int]) -> bool:
    """The elements of a tensor of this shape are followed; of an empty one, the other sizes must fit an array too."""
    count = prod(sizes)
    if count > MAX_ELEMENTS or len(sizes) > MAX_RANK:
        return False
    return count > 0 or prod(filter(None, sizes)) <= _LARGEST


class Opaque:
    """An unknown element of any type."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "?"


OPAQUE: Final = Opaque()

Element = Dim | Relation | Real | Float | Opaque


class Contents:
    """The elements of a tensor. `shape` is None for a fill."""

    __slots__ = ("__weakref__", "elements", "has_unknown", "open", "shape")

    shape: tuple[int, ...] | None
    elements: tuple[Element, ...]
    open: tuple[Element, ...]
    """The elements that are no constants."""
    has_unknown: bool
    """An element is an unknown integer."""

    @staticmethod
    def of(shape: Sequence[int], elements: Iterable[Element]) -> Contents | None:
        """Row-major elements of a concrete shape, or None if all are unknown or there are too many."""
        items = tuple(elements)
        sizes = tuple(shape)
        if prod(sizes) != len(items):
            raise ValueError(f"{len(items)} elements do not fill shape {sizes}")
        if not is_small(sizes) or (items and _is_nothing(items[0]) and all(map(_is_nothing, items))):
            return None
        return _intern(sizes, items)

    @staticmethod
    def vector(elements: Iterable[Element]) -> Contents | None:
        """A tensor of rank 1."""
        items = tuple(elements)
        return Contents.of((len(items),), items)

    @staticmethod
    def scalar(element: Element) -> Contents | None:
        """A tensor of rank 0."""
        return Contents.of((), (element,))

    @staticmethod
    def from_block(block: Block[Element]) -> Contents | None:
        """The elements of a block."""
        return Contents.of(block.shape, block.elements)

    @staticmethod
    def from_array(array: ObjectArray) -> Contents | None:
        """The elements of an object array."""
        return Contents.of(array.shape, array.ravel().tolist()) if array.size <= MAX_ELEMENTS else None

    @staticmethod
    def fill(element: Element) -> Contents | None:
        """Every element is this one, for any shape."""
        return None if _is_nothing(element) else _intern(None, (element,))

    @property
    def is_fill(self) -> bool:
        return self.shape is None

    def block(self, shape: Sequence[int] | None = None) -> Block[Element] | None:
        """The elements as a block; a fill needs the shape, and gives None where it has too many elements. So does an
        empty tensor with an axis of as many: whoever goes along it takes time and memory for each place.
        """
        sizes = self.shape if self.shape is not None else shape
        if sizes is None or not is_small(sizes) or max(sizes, default=0) > MAX_ELEMENTS:
            return None
        return Block(sizes, self.elements * prod(sizes) if self.is_fill else self.elements)

    def array(self, shape: Sequence[int] | None = None) -> ObjectArray | None:
        """As `block`, as a numpy array of objects."""
        import numpy as np

        block = self.block(shape)
        if block is None:
            return None
        result = np.empty(block.shape, dtype=object)
        result.ravel()[:] = block.elements
        return result

    def map(self, change: Callable[[Element], Element]) -> Contents | None:
        """The contents with each element changed."""
        items = tuple(change(e) for e in self.elements)
        return Contents.fill(items[0]) if self.shape is None else Contents.of(self.shape, items)

    def replace(self, mapping: Mapping[Symbol, Dim]) -> Contents | None:
        """Replace symbols in every element."""
        return self if not self.open else self.map(lambda e: replace_in(e, mapping))

    def __str__(self) -> str:
        return self.text(str)

    def text(self, of: Callable[[Element], str]) -> str:
        """The elements in brackets, each with the text that `of` gives it."""
        if self.shape is None:
            return f"all {of(self.elements[0])}"

        def nested(shape: tuple[int, ...], at: int) -> str:
            if not shape:
                return of(self.elements[at])
            step = prod(shape[1:])
            return f"[{', '.join(nested(shape[1:], at + i * step) for i in range(shape[0]))}]"

        return nested(self.shape, 0)

    def __repr__(self) -> str:
        return f"Contents({self})"


_CONTENTS: InternTable[Contents] = InternTable()


def _intern(shape: tuple[int, ...] | None, elements: tuple[Element, ...]) -> Contents:
    # Elements except reals are interned, and the contents keep them, so identities of elements are a key.
    key = (shape, tuple([e if type(e) is Real else id(e) for e in elements]))

    def build() -> Contents:
        self = object.__new__(Contents)
        self.shape, self.elements = shape, elements
        self.open = tuple([e for e in elements if not isinstance(e, Constant) and not _is_constant(e)])
        self.has_unknown = bool(self.open) and any(isinstance(e, Unknown) for e in self.open)
        return self

    found = _CONTENTS.get(key)
    return found if found is not None else _CONTENTS.add(key, build)


NO_CONTENTS: Final = _intern(None, ())
"""Bottom: no tensor at all. Only a meet gives it, and a value that has it is bottom itself."""


def _is_nothing(element: Element) -> bool:
    """Nothing is known of it."""
    return element is OPAQUE or element is DIMS.top


def _is_constant(element: Element) -> bool:
    if isinstance(element, Expr):
        return element.const is not None
    if isinstance(element, Real):
        return element.num.const is not None
    return element is TRUE or element is FALSE


def replace_in(element: Element, mapping: Mapping[Symbol, Dim]) -> Element:
    """The element with symbols replaced."""
    if isinstance(element, Expr):
        return substitute(element, mapping)
    if isinstance(element, Relation):
        changed = element.substitute(mapping)
        return OPAQUE if changed is UNKNOWN_RELATION else changed
    if isinstance(element, Real):
        return element.over(substitute(element.num, mapping)) or OPAQUE
    if isinstance(element, Float):
        return substitute_float(element, mapping) or OPAQUE
    return element


def element_symbols(element: Element) -> frozenset[Symbol]:
    """The integer symbols that occur in an element."""
    if isinstance(element, Expr | Relation | Float):
        return element.symbols
    return element.num.symbols if isinstance(element, Real) else frozenset()


def join_elements(a: Element, b: Element) -> Element:
    """An element that describes both."""
    if a is b:
        return a
    if isinstance(a, Dim) and isinstance(b, Dim):
        return DIMS.join(a, b)
    return b if leq_elements(a, b) else a if leq_elements(b, a) else OPAQUE


def leq_elements(a: Element, b: Element) -> bool:
    """Every value that a allows, b allows."""
    if b is OPAQUE or a is b or a is BOTTOM_DIM:
        return True
    return DIMS.leq(a, b) if isinstance(a, Dim) and isinstance(b, Dim) else type(a) is type(b) and a == b


def why_not_leq_elements(a: Element, b: Element) -> str:
    """The reason why some value of `a` is none of `b`; empty if there is no such value."""
    if leq_elements(a, b):
        return ""
    if isinstance(a, Dim) and isinstance(b, Dim):
        return DIMS.why_not_leq(a, b)
    return f"must be {b}, found {'unknown' if a is OPAQUE else a}"


def meet_elements(a: Element, b: Element) -> Element:
    """A description of the values that both allow: the more exact one; BOTTOM_DIM if they contradict each other."""
    if leq_elements(a, b):
        return a
    if leq_elements(b, a):
        return b
    if isinstance(a, Dim) and isinstance(b, Dim):
        return DIMS.meet(a, b)
    if isinstance(a, Relation) and isinstance(b, Relation):
        constant = [r for r in (a, b) if r in (TRUE, FALSE)]
        return BOTTOM_DIM if len(constant) == 2 else constant[0] if constant else min(a, b, key=lambda r: r.key)
    if isinstance(a, Float) and isinstance(b, Float):
        return min(a, b, key=lambda term: (term.size, term.key))
    if isinstance(a, Real) and isinstance(b, Real):
        exact = [r for r in (a, b) if r.fraction is not None and r.is_dyadic]
        return BOTTOM_DIM if len(exact) == 2 else exact[0] if exact else min(a, b, key=lambda r: (r.den, r.num.key))
    if isinstance(a, (Real, Float)) and isinstance(b, (Real, Float)):
        return a if isinstance(a, Real) else b
    return BOTTOM_DIM


def widen_elements(old: Element, new: Element) -> Element:
    """An element that describes both, on a chain that ends."""
    if isinstance(old, Dim) and isinstance(new, Dim):
        return DIMS.widen(old, new)
    return join_elements(old, new)


class ContentsLattice:
    """Pointwise on elements; of two shapes a fill. None is top (nothing known), `NO_CONTENTS` bottom."""

    bottom: Contents | None = NO_CONTENTS
    top: Contents | None = None

    def leq(self, a: Contents | None, b: Contents | None) -> bool:
        if a is b or b is None or a is NO_CONTENTS:
            return True
        if a is None or b is NO_CONTENTS:
            return False
        if b.is_fill:
            return all(leq_elements(e, b.elements[0]) for e in a.elements)
        return a.shape == b.shape and all(map(leq_elements, a.elements, b.elements))

    def why_not_leq(self, a: Contents | None, b: Contents | None) -> str:
        """The reason why some elements of `a` are none of `b`: `element 2 must be 3, found N`, in row-major order."""
        if b is None or self.leq(a, b):
            return ""
        if a is None or b is NO_CONTENTS:
            return f"must have {'no elements' if a is not None else 'known elements, found unknown ones'}"
        if not b.is_fill and a.shape != b.shape:
            found = "unknown" if a.shape is None else list(a.shape)
            return f"must have elements of shape {list(b.shape or ())}, found {found}"
        wanted = b.elements * len(a.elements) if b.is_fill else b.elements
        return first_reason("element", map(why_not_leq_elements, a.elements, wanted))

    def join(self, a: Contents | None, b: Contents | None) -> Contents | None:
        return self._upper(a, b, join_elements)

    def widen(self, old: Contents | None, new: Contents | None) -> Contents | None:
        return self._upper(old, new, widen_elements)

    @staticmethod
    def _upper(
        a: Contents | None, b: Contents | None, combine: Callable[[Element, Element], Element]
    ) -> Contents | None:
        if a is None or b is None:
            return None
        if a is b or b is NO_CONTENTS:
            return a
        if a is NO_CONTENTS:
            return b
        if a.shape == b.shape:
            return _built(a.shape, map(combine, a.elements, b.elements))
        # The shapes may differ, so only claims about every element are left.
        none: Element = BOTTOM_DIM
        return Contents.fill(reduce(combine, (*a.elements, *b.elements), none))

    def meet(self, a: Contents | None, b: Contents | None) -> Contents | None:
        if a is None or a is b:
            return b
        if b is None:
            return a
        if NO_CONTENTS in (a, b):
            return NO_CONTENTS
        if a.is_fill and not b.is_fill:
            a, b = b, a
        if b.is_fill and not a.is_fill:
            return _built(a.shape, (meet_elements(e, b.elements[0]) for e in a.elements))
        return _built(a.shape, map(meet_elements, a.elements, b.elements)) if a.shape == b.shape else NO_CONTENTS


def _built(shape: tuple[int, ...] | None, elements: Iterable[Element]) -> Contents | None:
    """The contents of these elements: a fill if there is no shape; bottom if there is an element without a value."""
    items = tuple(elements)
    if shape is None:
        return Contents.fill(items[0])
    return NO_CONTENTS if BOTTOM_DIM in items else Contents.of(shape, items)


CONTENTS: Final = ContentsLattice()
