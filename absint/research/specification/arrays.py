"""Arrays of terms, and the registry of the functions that compute them: `contents`, `placing`."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from absint.research.specification.layout import number as known_number
from absint.research.specification.node import Input, Node
from absint.research.specification.terms import Formula, Term, term

Element: TypeAlias = Term | Formula
Array = npt.NDArray[np.object_]
Elements = tuple[Element, ...]
Function = Callable[[Node, list[Array]], "Array | Sequence[Array]"]

MOST: Final = 1024
"""Elements of a tensor that is followed."""


class UnknownElementsError(Exception):
    """The elements hang on what is not known."""


FUNCTIONS: Final[dict[str, Function]] = {}
"""By operator of ai.onnx."""


def computes(operators: str) -> Callable[[Function], Function]:
    """Enter a function that computes the elements of operators in `FUNCTIONS`."""

    def register(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(operators.split(), function))
        return function

    return register


NOTHING: Final = np.empty(0, dtype=object)
"""An optional input that is left out before one that is not."""


def kind(node: Node, place: int) -> str:
    """The type of an input. Raises UnknownElementsError if it is not known."""
    found = node.input(place).dtype
    if not found:
        raise UnknownElementsError
    return found


def trimmed(inputs: Sequence[Input | None]) -> Sequence[Input | None]:
    """Without those at the end that are left out."""
    last = max((place for place, found in enumerate(inputs) if found is not None), default=-1)
    return inputs[: last + 1]


def array(found: Input) -> Array:
    """The elements of an input. Raises UnknownElementsError if they, or its sizes, are not known."""
    sizes = [known_number(size) for size in found.dims]
    known = [size for size in sizes if size is not None]
    items: Elements | None = found.elements if found.truths is None else found.truths
    if items is None or len(known) < len(sizes):
        raise UnknownElementsError
    return filled(known, items)


def filled(sizes: Sequence[int], items: Iterable[Element]) -> Array:
    """The array of these elements, in row-major order."""
    listed = list(items)
    flat = np.empty(len(listed), dtype=object)
    for place, item in enumerate(listed):
        flat[place] = item
    return flat.reshape(sizes)


def each(function: Callable[..., Element], *arrays: Array) -> Array:
    """The function at each place, after broadcasting."""
    wide = np.broadcast_arrays(*arrays)
    found = np.empty(wide[0].shape, dtype=object)
    for place in np.ndindex(found.shape):
        found[place] = function(*[array[place] for array in wide])
    return found


def integer(item: object) -> Term:
    """The element, if it is an integer. Raises UnknownElementsError."""
    if not isinstance(item, Term) or item.op == "fraction":
        raise UnknownElementsError
    return item


def truth(item: object) -> Formula:
    """The element, if it is a truth. Raises UnknownElementsError."""
    if not isinstance(item, Formula):
        raise UnknownElementsError
    return item


def ratio(item: object) -> Fraction:
    """The number that a float is known to be, exactly. Raises UnknownElementsError."""
    if not isinstance(item, Term) or item.op not in ("number", "fraction"):
        raise UnknownElementsError
    return Fraction(*map(int, map(str, item.args)))


def whole(found: Fraction) -> Term:
    """A float that is an integer. Raises UnknownElementsError."""
    if found.denominator != 1:
        raise UnknownElementsError
    return term(int(found))


def number(item: object) -> int:
    """The number that an element is known to be. Raises UnknownElementsError."""
    found = known_number(integer(item))
    if found is None:
        raise UnknownElementsError
    return found


def numbers(array: Array) -> list[int]:
    """The numbers that all elements are known to be. Raises UnknownElementsError."""
    return [number(item) for item in array.ravel()]


def bounded(sizes: Sequence[int]) -> Sequence[int]:
    """The sizes, if they are sizes of a small tensor. Raises UnknownElementsError."""
    if any(size < 0 for size in sizes) or np.prod([float(size) for size in sizes]) > MOST:
        raise UnknownElementsError
    return sizes


def filled_as(found: object) -> Array:
    """An array, where numpy gives the element of an array without axes."""
    return found if isinstance(found, np.ndarray) else filled([], [found])  # type: ignore[list-item]
