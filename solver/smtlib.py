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
from typing import Final, Literal

from absint.lattices.logic.relation import Relation
from absint.lattices.terms.expr import Symbol
from absint.lattices.terms.interval import Interval
from absint.solver.translate import Translator, literal


class Script(Translator):
    """Declarations, definitions and assertions over one set of symbols.

    A large term is defined once, as `$1`, `$2`, ..., and used by name. A quotient whose divisor is not
    constant is a variable, which the assertion after its declaration defines where the divisor is not 0. What floats
    compute is a function `|$1 ...|` of integers, of which the script gives only the bounds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.symbols: dict[str, Interval] = {}
        """The symbols met so far, with their bounds: of symbols of one name the widest."""
        self._commands: list[str] = []
        self._defined: dict[str, str] = {}
        self._functions: dict[str, str] = {}
        self._bounded: set[str] = set()
        self._labels: set[str] = set()
        self._count = 0

    def add(self, relation: Relation, name: str | None = None) -> None:
        """Assert a relation; cores show the name.

        Raises ValueError for a relation over an unknown dim, and for a name that is taken.
        """
        formula = self.relation(relation)
        if name is not None:
            if name in self._labels:
                raise ValueError(f"two assertions are named {name!r}")
            self._labels.add(name)
            formula = f"(! {formula} :named {quote_label(name)})"
        self._commands.append(f"(assert {formula})")

    def command(self, *commands: str) -> None:
        """Add commands as they are."""
        self._commands += commands

    @property
    def logic(self) -> str:
        """SMT-LIB's name of the logic that the script needs."""
        return f"QF_{'UF' if self._functions else ''}{'LIA' if self.is_linear else 'NIA'}"

    @property
    def text(self) -> str:
        """The commands so far, symbols declared first. They set no option and check nothing."""
        declared = [f"(declare-const {quote(name)} Int)" for name in self.symbols]
        within_bounds = (within(quote(name), bounds) for name, bounds in self.symbols.items())
        bounded = [f"(assert {formula})" for formula in within_bounds if formula]
        return "\n".join([*declared, *bounded, *self._commands])

    def variable(self, symbol: Symbol) -> str:
        self.symbols[symbol.name] = self.symbols.get(symbol.name, symbol.bounds).join(symbol.bounds)
        return quote(symbol.name)

    def quotient(self, a: str, b: str) -> str:
        """A variable, which solvers decide sooner than `div`, and which is free where b is 0."""
        a, b, q = self.share(a, "Int"), self.share(b, "Int"), self._fresh()
        self._commands.append(f"(declare-const {q} Int)")
        self._commands.append(f"(assert (=> (>= {b} 1) (and (<= (* {b} {q}) {a}) (< {a} (+ (* {b} {q}) {b})))))")
        return q

    def function(self, name: str, arguments: Sequence[str], bounds: Interval) -> str:
        """An application of a declared function, its bounds asserted."""
        symbol = self._functions.get(name)
        if symbol is None:
            symbol = self._functions[name] = f"|{self._fresh()} {_escape(name)}|"
            self._commands.append(f"(declare-fun {symbol} ({' '.join(['Int'] * len(arguments))}) Int)")
        term = self.share(f"({symbol} {' '.join(arguments)})", "Int")
        formula = within(term, bounds)
        if formula and formula not in self._bounded:
            self._bounded.add(formula)
            self._commands.append(f"(assert {formula})")
        return term

    def share(self, text: str, sort: Literal["Int", "Bool"]) -> str:
        if len(text) <= _SHORT:
            return text
        name = self._defined.get(text)
        if name is None:
            name = self._defined[text] = self._fresh()
            self._commands.append(f"(define-fun {name} () {sort} {text})")
        return name

    def _fresh(self) -> str:
        self._count += 1
        return f"${self._count}"


def query(premises: Mapping[str, Relation], goal: Relation) -> str:
    """The script of premises, named, and a goal that no core shows.

    Raises ValueError for a relation over an unknown dim.
    """
    script = Script()
    for name, relation in premises.items():
        script.add(relation, name)
    script.add(goal)
    return script.text


_SHORT: Final = 60
"""Text up to this length is repeated instead of defined."""


def within(term: str, bounds: Interval) -> str:
    """The formula that bounds a term; empty if there are no bounds."""
    lo, hi = (None if end is None else literal(end) for end in bounds)
    parts = [part for part in (lo, term, hi) if part is not None]
    return f"(<= {' '.join(parts)})" if len(parts) > 1 else ""


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
