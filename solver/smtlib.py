"""Dims and relations as SMT-LIB 2 text, for the backend and for any solver.

>>> from absint.lattices.text import parse_relation
>>> script = Script()
>>> script.add(parse_relation("N % 2 == 0"), "even")
>>> script.add(parse_relation("N//M == 3"))
>>> print(script.text)
(declare-const N Int)
(declare-const M Int)
(assert (<= 0 N 2147483647))
(assert (<= 0 M 2147483647))
(assert (! (= N (* 2 (div N 2))) :named ?even))
(declare-const $1 Int)
(assert (=> (>= M 1) (and (<= (* M $1) N) (< N (+ (* M $1) M)))))
(assert (= $1 3))

Dims may have any name, symbols of SMT-LIB may not. `quote` is reversible: an identifier stays, and characters or words
that SMT-LIB or a solver would misread are written as `%` and two hex digits.

>>> quote("batch"), quote("past seq"), quote("a|b"), quote("div")
('batch', '|past seq|', '|a%7cb|', '|%64iv|')
>>> unquote("|a%7cb|")
'a|b'
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from absint.lattices.logic.formula import ComparisonOp
from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Dim, Symbol
from absint.lattices.terms.interval import Interval
from absint.solver.translate import Translator


class Script:
    """Declarations, definitions and assertions over one set of symbols.

    A large term is defined once, as `$1`, `$2`, ..., and used by name. A quotient whose divisor is no constant is a
    variable of its own; the assertion after its declaration defines it where the divisor is not 0. What floats
    compute is a function `|$1 ...|` of integers, of which the script gives the bounds alone.
    """

    def __init__(self) -> None:
        self._algebra = _Text()
        self._translator = Translator[str, str](self._algebra)
        self._names: set[str] = set()

    def add(self, relation: Relation, name: str | None = None) -> None:
        """Assert a relation; cores show the name.

        Raises ValueError for a relation over an unknown dim, and for a name that is taken.
        """
        formula = self._translator.relation(relation)
        if name is not None:
            if name in self._names:
                raise ValueError(f"two assertions are named {name!r}")
            self._names.add(name)
            formula = f"(! {formula} :named {quote_label(name)})"
        self._algebra.commands.append(f"(assert {formula})")

    def dim(self, dim: Dim) -> str:
        """The term of an expression, of symbols that `text` declares. Raises ValueError for an unknown dim."""
        return self._translator.dim(dim)

    def relation(self, relation: Relation) -> str:
        """The formula of a relation, of symbols that `text` declares. Raises ValueError for one over an unknown dim."""
        return self._translator.relation(relation)

    @property
    def symbols(self) -> Mapping[str, Interval]:
        """The symbols met so far, with their bounds: of symbols of one name the widest."""
        return self._algebra.bounds

    @property
    def logic(self) -> str:
        """SMT-LIB's name of the logic that the script needs."""
        functions = "UF" if self._algebra.has_functions else ""
        return f"QF_{functions}{'LIA' if self._algebra.linear else 'NIA'}"

    @property
    def text(self) -> str:
        """The commands so far. They set no option and check nothing."""
        bounds = self._algebra.bounds
        declared = [f"(declare-const {quote(name)} Int)" for name in bounds]
        bounded = [f"(assert {_within(quote(name), b)})" for name, b in bounds.items() if b != (None, None)]
        return "\n".join([*declared, *bounded, *self._algebra.commands])


def query(premises: Mapping[str, Relation], goal: Relation) -> str:
    """The script of premises, named, and a goal that no core shows.

    Raises ValueError for a relation over an unknown dim.
    """
    script = Script()
    for name, relation in premises.items():
        script.add(relation, name)
    script.add(goal)
    return script.text


class Formulas:
    """Formulas as text, in any algebra of SMT-LIB."""

    def compare(self, op: ComparisonOp, a: str, b: str) -> str:
        return f"(>= {a} {b})" if op == ">=" else f"(= {a} {b})" if op == "==" else f"(not (= {a} {b}))"

    def truth(self, value: bool) -> str:
        return "true" if value else "false"

    def conjunction(self, parts: Sequence[str]) -> str:
        return f"(and {' '.join(parts)})"

    def disjunction(self, parts: Sequence[str]) -> str:
        return f"(or {' '.join(parts)})"


class _Text(Formulas):
    """SMT-LIB's terms as an algebra."""

    def __init__(self) -> None:
        self.bounds: dict[str, Interval] = {}
        self.commands: list[str] = []
        self.linear = True
        self._defined: dict[str, str] = {}
        self._functions: dict[str, str] = {}
        self._bounded: set[tuple[str, Interval]] = set()
        self._count = 0

    @property
    def has_functions(self) -> bool:
        return bool(self._functions)

    def integer(self, value: int) -> str:
        return _literal(value)

    def variable(self, symbol: Symbol) -> str:
        self.bounds[symbol.name] = self.bounds.get(symbol.name, symbol.bounds).join(symbol.bounds)
        return quote(symbol.name)

    def sum(self, terms: Sequence[str]) -> str:
        return f"(+ {' '.join(terms)})"

    def product(self, factors: Sequence[str]) -> str:
        if sum(not _LITERAL.fullmatch(factor) for factor in factors) > 1:
            self.linear = False
        return f"(* {' '.join(factors)})"

    def quotient(self, a: str, b: str | int) -> str:
        """`div` by a literal; else a variable, which solvers decide sooner, and which is free where b is 0."""
        if isinstance(b, int):
            return f"(div {a} {b})"
        self.linear = False
        a, b, q = self.share_term(a), self.share_term(b), self._fresh()
        self.commands.append(f"(declare-const {q} Int)")
        self.commands.append(f"(assert (=> (>= {b} 1) (and (<= (* {b} {q}) {a}) (< {a} (+ (* {b} {q}) {b})))))")
        return q

    def function(self, name: str, arguments: Sequence[str], bounds: Interval) -> str:
        """An application of a declared function, its bounds asserted; a constant where there is no argument."""
        symbol = self._functions.get(name)
        if symbol is None:
            self._count += 1
            symbol = self._functions[name] = f"|${self._count} {_escape(name)}|"
            self.commands.append(f"(declare-fun {symbol} ({' '.join(['Int'] * len(arguments))}) Int)")
        term = self.share_term(f"({symbol} {' '.join(arguments)})")
        if bounds != (None, None) and (term, bounds) not in self._bounded:
            self._bounded.add((term, bounds))
            self.commands.append(f"(assert {_within(term, bounds)})")
        return term

    def choice(self, condition: str, a: str, b: str) -> str:
        return f"(ite {condition} {a} {b})"

    def share_term(self, term: str) -> str:
        return self._define(term, "Int")

    def share_formula(self, formula: str) -> str:
        return self._define(formula, "Bool")

    def _define(self, body: str, sort: str) -> str:
        if len(body) <= _SHORT:
            return body
        name = self._defined.get(body)
        if name is None:
            name = self._defined[body] = self._fresh()
            self.commands.append(f"(define-fun {name} () {sort} {body})")
        return name

    def _fresh(self) -> str:
        self._count += 1
        return f"${self._count}"


_SHORT: Final = 60
"""Text up to this length is repeated instead of defined."""

_LITERAL: Final = re.compile(r"\d+|\(- \d+\)")


def _literal(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


def _within(term: str, bounds: Interval) -> str:
    lo, hi = bounds
    parts = [] if lo is None else [_literal(lo)]
    parts.append(term)
    parts += [] if hi is None else [_literal(hi)]
    return f"(<= {' '.join(parts)})"


# Names

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_SAFE: Final = frozenset(map(chr, range(0x20, 0x7F))) - set("|\\%#")

_TAKEN: Final = frozenset({
    "BINARY", "DECIMAL", "HEXADECIMAL", "NUMERAL", "STRING", "_", "as", "assert", "define", "exists", "forall",
    "lambda", "let", "match", "par", "and", "distinct", "false", "if", "iff", "implies", "ite", "not", "or", "true",
    "xor", "abs", "div", "div_total", "divisible", "int.log2", "int.pow2", "is_int", "mod", "mod_total", "piand",
    "to_int", "to_real", "select", "store",
})  # fmt: skip
"""Words of SMT-LIB and operations of Z3 and cvc5, which even bars do not turn into plain names."""


def quote(name: str) -> str:
    """The SMT-LIB symbol of a dim symbol: printable ASCII, different for each name, nothing that a solver knows."""
    return _barred(_escape(name))


def quote_label(name: str) -> str:
    """The SMT-LIB symbol of a named assertion, which is never that of a dim."""
    return _barred(f"?{_escape(name)}")


def unquote(text: str) -> str:
    """The name that `quote` or `quote_label` wrote as this symbol; bars may be missing."""
    plain = text.removeprefix("|").removesuffix("|").removeprefix("?")
    return "" if plain == "%" else _ESCAPES.sub(_unescape, plain)


def _escape(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name if name not in _TAKEN else f"%{ord(name[0]):02x}{name[1:]}"
    first, rest = name[:1], name[1:]
    written = first if first.isascii() and (first.isalnum() or first == "_") else _hex(first)
    return written + "".join(c if c in _SAFE else _hex(c) for c in rest) or "%"


def _hex(c: str) -> str:
    return "".join(f"%{byte:02x}" for byte in c.encode("utf-8", "surrogatepass"))


_ESCAPES: Final = re.compile(r"(?:%[0-9a-f]{2})+")


def _unescape(found: re.Match[str]) -> str:
    try:
        return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # no text of `quote`
        return found[0]


def _barred(text: str) -> str:
    return text if _PLAIN.fullmatch(text.removeprefix("?")) else f"|{text}|"
