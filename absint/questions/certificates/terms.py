"""Dims and relations as terms of SMT-LIB, each complete in itself: equal dims have equal texts.

>>> from absint.lattices.text import parse, parse_relation
>>> terms = Terms()
>>> terms.term(parse("(N + 1) // 3"))
'(div (+ N 1) 3)'
>>> terms.formula(parse_relation("N % 2 == 0"))
'(= N (* 2 (div N 2)))'
>>> terms.bounds
{'N': Interval(lo=0, hi=2147483647)}
>>> replaced("(* 2 (div N 2))", {"(div N 2)": "$0"}), symbols("(* 2 (div N 2))")
('(* 2 $0)', ['N'])
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from absint.lattices.contents import Element
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim, Symbol
from absint.lattices.terms.interval import Interval
from absint.lattices.terms.normal import Real
from absint.lattices.value import Tensor, Value
from absint.questions.certificates.check import TOKEN, Tree, parsed, printed
from absint.solver.smtlib import quote
from absint.solver.translate import Translator

LONGEST: Final = 4000
"""Characters of the longest term that is written."""


class TooLongError(Exception):
    """A term is longer than `LONGEST`."""


class Terms(Translator):
    """Writes dims and relations, and notes the bounds of the symbols in them; nothing is shared.

    A term that floats compute is a symbol of its own, of which nothing is known but its bounds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bounds: dict[str, Interval] = {}
        """The symbols that were met, each with its bounds: of symbols of one name the widest."""

    def term(self, dim: Dim) -> str | None:
        """The term of a dim; None if it is unknown or too long."""
        try:
            return _checked(self.dim(dim))
        except (ValueError, TooLongError):
            return None

    def formula(self, relation: Relation) -> str | None:
        """The formula of a relation; None if it is about an unknown dim or too long."""
        try:
            return _checked(self.relation(relation))
        except (ValueError, TooLongError):
            return None

    def variable(self, symbol: Symbol) -> str:
        return self._named(quote(symbol.name), symbol.bounds)

    def function(self, name: str, arguments: Sequence[str], bounds: Interval) -> str:
        return self._named(_checked(quote(f"{name} of {', '.join(arguments)}")), bounds)

    def _named(self, name: str, bounds: Interval) -> str:
        self.bounds[name] = self.bounds.get(name, bounds).join(bounds)
        return name

    def quotient(self, a: str, b: str) -> str:
        return f"(div {a} {b})"

    def share(self, text: str, sort: str) -> str:
        return _checked(text)


def _checked(text: str) -> str:
    if len(text) > LONGEST:
        raise TooLongError
    return text


def number_of(text: str) -> int | None:
    """The number that a term is; None for any other term."""
    found = _NUMBER.fullmatch(text)
    return None if found is None else -int(found[1]) if found[1] else int(text)


_NUMBER: Final = re.compile(r"\d+|\(- (\d+)\)")
_WORDS: Final = frozenset("+ - * / div mod ite not and or => = <= >= true false".split())  # noqa: SIM905


def replaced(text: str, names: Mapping[str, str]) -> str:
    """The term with names for the largest of its parts that have one."""
    return printed(_replaced(parsed(text), names)) if names else text


def _replaced(tree: Tree, names: Mapping[str, str]) -> Tree:
    found = names.get(printed(tree))
    if found is not None:
        return found
    return tree if isinstance(tree, str) else tuple(_replaced(part, names) for part in tree)


def symbols(text: str) -> list[str]:
    """The symbols of a term in order of appearance, each once; names of places (`out0@1`) are none."""
    return list(dict.fromkeys(_symbols(text)))


def _symbols(text: str) -> Iterator[str]:
    for token in TOKEN.findall(text):
        is_place = "@" in token and token[0] != "|"
        if not is_place and token not in _WORDS and token not in "()" and not token[0].isdecimal():
            yield token


# Claims about values, as terms of SMT-LIB: the sizes of a tensor, and its elements if they are few.

MOST_ELEMENTS: Final = 64
"""Elements of a tensor that are claimed one by one."""

MOST_RATIOS: Final = 8
"""Constant floats of a vector, such as the scales of a Resize, that are claimed one by one."""

Sort = Literal["Int", "Bool", "Real"]


class Claim(NamedTuple):
    """The claim about one value; None stands for what is unknown."""

    dims: tuple[str | None, ...] | None = None
    """The sizes; None if the rank is unknown, or it is no tensor."""
    elements: tuple[str | None, ...] | None = None
    """Integers or truths in row-major order, or constant floats as ratios."""
    sort: Sort = "Int"
    """The sort of the elements in SMT-LIB."""

    @property
    def truths(self) -> bool:
        """The elements are truths."""
        return self.sort == "Bool"

    @property
    def computed(self) -> Claim:
        """The claim about a value that a node computes: no lemma is about floats."""
        return Claim(self.dims) if self.sort == "Real" and self.elements else self

    @property
    def parts(self) -> Iterator[tuple[str, str, str | None]]:
        """The names of its parts, `rank`, `1`, `e2`, each with its sort and its term; nothing without a rank."""
        if self.dims is not None:
            yield "rank", "Int", str(len(self.dims))
            yield from ((str(axis), "Int", dim) for axis, dim in enumerate(self.dims))
            yield from ((f"e{at}", self.sort, element) for at, element in enumerate(self.elements or ()))

    def formulas(self, output: int) -> Iterator[tuple[str, str]]:
        """The claim in parts, each with its name: `out0@rank`, `out0@1`, `out0@e2`."""
        for part, _, term in self.parts:
            if term is not None:
                yield f"out{output}@{part}", f"(= out{output}@{part} {term})"

    @property
    def terms(self) -> Iterator[str]:
        """All sizes and elements that are known."""
        yield from (dim for dim in self.dims or () if dim is not None)
        yield from (element for element in self.elements or () if element is not None)


NOTHING: Final = Claim()


class LemmaClaims:
    """Makes the claims of values, each once."""

    def __init__(self, terms: Terms, names: Mapping[Symbol, Dim]) -> None:
        self._terms = terms
        self._names = names
        self._known: dict[Value, Claim] = {}

    def of(self, value: Value) -> Claim:
        """The claim about a value, under printed names."""
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._made(value.replace(self._names) if self._names else value)
        return found

    def relation(self, relation: Relation) -> str | None:
        """The formula of a relation under printed names; None where there is none."""
        return self._terms.formula(relation.substitute(self._names) if self._names else relation)

    def _made(self, value: Value) -> Claim:
        if not isinstance(value, Tensor) or value.shape.rank is None:
            return NOTHING
        dims = tuple(self._terms.term(dim) for dim in value.shape.dims)
        sizes = value.shape.concrete
        if sizes is not None and 0 in sizes:
            return Claim(dims, ())
        block = None if value.contents is None or sizes is None else value.contents.block(sizes)
        if block is None or len(block.elements) > MOST_ELEMENTS:
            return Claim(dims)
        if all(isinstance(item, Real) for item in block.elements):
            ratios = [_ratio(item.fraction) for item in block.elements if isinstance(item, Real)]
            few = len(ratios) <= MOST_RATIOS and len(dims) == 1 and None not in ratios
            return Claim(dims, tuple(ratios), "Real") if few else Claim(dims)
        found = tuple(map(self._element, block.elements))
        if all(element is None for element in found):
            return Claim(dims)
        return Claim(dims, found, "Bool" if any(isinstance(item, Relation) for item in block.elements) else "Int")

    def _element(self, element: Element) -> str | None:
        if isinstance(element, Dim):
            return self._terms.term(element)
        return self._terms.formula(element) if isinstance(element, Relation) else None


def _ratio(value: Fraction | None) -> str | None:
    if value is None:
        return None
    sign = f"(- {-value.numerator}.0)" if value < 0 else f"{value.numerator}.0"
    return f"(/ {sign} {value.denominator}.0)"


def ratio_of(text: str) -> Fraction:
    """The constant float that a term is."""
    numerator, denominator = re.findall(r"\d+(?=\.0)", text)
    return Fraction(int(numerator), int(denominator)) * (-1 if "(- " in text else 1)
