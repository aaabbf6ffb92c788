"""Integer terms and formulas, in which operators are specified: built, evaluated, written as SMT-LIB. Nothing is
simplified, so that nothing here can be wrong in the way of the terms that the analysis uses.

>>> n = variable("N")
>>> (n - 3) // 2 + 1
(((N - 3) // 2) + 1)
>>> (n >= 3).holds({"N": 5})
True
>>> (n * n).smtlib()
'(* N N)'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias


class Term:
    """An integer. `//` and `%` mean something where the divisor is at least 1: a specification demands that first."""

    __slots__ = ("args", "op")

    def __init__(self, op: str, args: tuple[object, ...]) -> None:
        self.op = op
        self.args = args

    def __add__(self, other: Int) -> Term:
        return Term("+", (self, term(other)))

    def __radd__(self, other: int) -> Term:
        return term(other) + self

    def __sub__(self, other: Int) -> Term:
        return Term("-", (self, term(other)))

    def __rsub__(self, other: int) -> Term:
        return term(other) - self

    def __mul__(self, other: Int) -> Term:
        return Term("*", (self, term(other)))

    def __rmul__(self, other: int) -> Term:
        return term(other) * self

    def __floordiv__(self, other: Int) -> Term:
        return Term("//", (self, term(other)))

    def __mod__(self, other: Int) -> Term:
        return Term("%", (self, term(other)))

    def __neg__(self) -> Term:
        return 0 - self

    def __le__(self, other: Int) -> Formula:
        return Formula("<=", (self, term(other)))

    def __ge__(self, other: Int) -> Formula:
        return Formula("<=", (term(other), self))

    def __lt__(self, other: Int) -> Formula:
        return self + 1 <= other

    def __gt__(self, other: Int) -> Formula:
        return self >= other + term(1)

    def __repr__(self) -> str:
        return _written(self, _plain)

    def smtlib(self) -> str:
        """The term in SMT-LIB 2, over integer constants with the names of the variables."""
        return _written(self, _lisp)

    def value(self, binding: Mapping[str, int]) -> int:
        """The number where each variable has its value. Raises ZeroDivisionError where a divisor is 0."""
        found = _computed(self, binding)
        assert isinstance(found, int)
        return found


Int: TypeAlias = Term | int


class Formula:
    """A statement about integers."""

    __slots__ = ("args", "op")

    def __init__(self, op: str, args: tuple[object, ...]) -> None:
        self.op = op
        self.args = args

    def __repr__(self) -> str:
        return _written(self, _plain)

    def smtlib(self) -> str:
        """The formula in SMT-LIB 2."""
        return _written(self, _lisp)

    def holds(self, binding: Mapping[str, int]) -> bool:
        """The truth where each variable has its value; what stands behind a false premise is not looked at."""
        return bool(_computed(self, binding))


def term(value: Int) -> Term:
    """A number as a term."""
    return value if isinstance(value, Term) else Term("number", (value,))


def variable(name: str) -> Term:
    """The integer of this name."""
    return Term("variable", (name,))


def choice(condition: Formula, a: Int, b: Int) -> Term:
    """a where the condition holds, else b."""
    return Term("ite", (condition, term(a), term(b)))


def largest(*terms: Int) -> Term:
    """The greatest of the terms."""
    first, *rest = map(term, terms)
    for other in rest:
        first = choice(first >= other, first, other)
    return first


def smallest(*terms: Int) -> Term:
    """The least of the terms."""
    first, *rest = map(term, terms)
    for other in rest:
        first = choice(first <= other, first, other)
    return first


def product(terms: Iterable[Int]) -> Term:
    """The product; 1 of no terms."""
    found = term(1)
    for factor in terms:
        found = found * factor if repr(found) != "1" else term(factor)
    return found


def total(terms: Iterable[Int]) -> Term:
    """The sum; 0 of no terms."""
    found = term(0)
    for summand in terms:
        found = found + summand if repr(found) != "0" else term(summand)
    return found


# Writing and computing

_LISP: Final = {"//": "div", "%": "mod"}


def _lisp(node: Term | Formula, parts: Sequence[str]) -> str:
    if node.op == "number":
        number = int(str(node.args[0]))
        return str(number) if number >= 0 else f"(- {-number})"
    if node.op == "variable":
        return str(node.args[0])
    if not parts:
        return "true" if node.op == "and" else "false"
    return f"({_LISP.get(node.op, node.op)} {' '.join(parts)})"


def _plain(node: Term | Formula, parts: Sequence[str]) -> str:
    if node.op in ("number", "variable"):
        return str(node.args[0])
    if node.op == "ite":
        return f"({parts[1]} if {parts[0]} else {parts[2]})"
    if node.op == "not":
        return f"not {parts[0]}"
    if not parts:
        return "true" if node.op == "and" else "false"
    return f"({f' {node.op} '.join(parts)})"


def _written(node: Term | Formula, style: Callable[[Term | Formula, Sequence[str]], str]) -> str:
    parts = [_written(part, style) for part in node.args if isinstance(part, Term | Formula)]
    return style(node, parts)


def _computed(node: object, binding: Mapping[str, int]) -> int | bool:
    assert isinstance(node, _NODES)
    operation = _OPERATIONS.get(node.op)
    if operation is not None:
        a, b = node.args
        return operation(_computed(a, binding), _computed(b, binding))
    match node.op:
        case "number":
            return int(str(node.args[0]))
        case "variable":
            return binding[str(node.args[0])]
        case "ite":
            condition, then, other = node.args
            return _computed(then if _computed(condition, binding) else other, binding)
        case "and":
            return all(_computed(part, binding) for part in node.args)
        case "or":
            return any(_computed(part, binding) for part in node.args)
        case "not":
            return not _computed(node.args[0], binding)
    raise ValueError(node.op)


_NODES: Final = (Term, Formula)
_OPERATIONS: Final[Mapping[str, Callable[[int, int], int | bool]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
}
