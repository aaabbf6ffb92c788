#!/usr/bin/env python3
"""Check a certificate: the files of this folder, their chain, and with a solver each lemma.

    python check.py                        cvc5 or z3, as a program or as a module of Python
    python check.py --solver "z3 -T:60"    any program that reads SMT-LIB 2 from a file and prints unsat
    python check.py --model MODEL          the model is the one that was certified, and the steps are its nodes

It needs nothing but Python's own library and a solver. What it shows: each claim of manifest.json follows from the
specification that its lemma writes down, from what the file of the model says, from the premises, and from claims of
earlier steps. With --model it reads the bytes of the model: each step is a node of it, with the operator, inputs and
attributes that the second line of its lemma names, or an input or a constant of it. What rests on the word of absint is
counted. That a lemma writes the specification of its operator down rightly is for you to read. Exit code: 0 if all is
well, 1 if something is wrong, 2 if it cannot be checked.

Every text is read by a closed grammar: `MANIFEST` for the document, `parsed` and `sort_of` for terms, `Lemma` for a
file of lemmas, `Model` for that of the model. Terms are compared as trees, and the solver gets a lemma as it was read,
printed anew.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import math
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache, partial, reduce
from pathlib import Path
from typing import Any, TypeAlias

SCHEMA = "absint.certificate/1"


class WrongError(Exception):
    """A part of the certificate is not as it should be."""


class OpenError(Exception):
    """The reason why a step is not compared with the model, or a text not read: it is on trust."""


# Terms: what SMT-LIB calls S-expressions, with one space between two parts

Tree: TypeAlias = "str | tuple[Tree, ...]"

TOKEN = re.compile(r'[()]|\|[^|\\]*\||[^\s()|;"\\]+')
NATURAL = r"(?:0|[1-9][0-9]*)"
RATIO = re.compile(rf"\(/ (?:{NATURAL}\.0|\(- {NATURAL}\.0\)) [1-9][0-9]*\.0\)")
DEEPEST = 1500
NUMBER = rf"\${NATURAL}"
INPUT = rf"in{NATURAL}@(?:rank|e?{NATURAL})"
OUTPUT = rf"out{NATURAL}@(?:rank|e?{NATURAL})"


@lru_cache(1 << 16)
def parsed(text: str) -> Tree:
    """The tree of a term, whose text must be the one that `printed` gives."""
    stack: list[list[Tree]] = [[]]
    for token in TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token != ")":
            stack[-1].append(token)
        elif len(stack) > 1:
            inner = tuple(stack.pop())
            stack[-1].append(inner)
        else:
            raise WrongError(f"{shortened(text)} is not one term")
        if len(stack) > DEEPEST:
            raise WrongError("a term is too deep")
    if len(stack) != 1 or len(stack[0]) != 1 or printed(stack[0][0]) != text:
        raise WrongError(f"{shortened(text)} is not one term")
    return stack[0][0]


def printed(tree: Tree) -> str:
    """The text of a term."""
    return tree if isinstance(tree, str) else f"({' '.join(map(printed, tree))})"


def shortened(text: str) -> str:
    """The text in one line, not too long."""
    return ascii(text)[1:-1] if len(text) < 100 else f"{ascii(text[:97])[1:-1]}..."


def atoms(tree: Tree) -> Iterator[str]:
    """The words of a term, from left to right."""
    if isinstance(tree, str):
        yield tree
    else:
        for part in tree:
            yield from atoms(part)


def replaced(tree: Tree, names: Mapping[str, Tree]) -> Tree:
    """The term with terms for these names."""
    if isinstance(tree, str):
        return names.get(tree, tree)
    return tuple(replaced(part, names) for part in tree)


def is_name(text: object, form: str) -> bool:
    """The text is a name of this form."""
    return isinstance(text, str) and re.fullmatch(form, text) is not None


def of(*sorts: str) -> Callable[[list[str]], bool]:
    """Arguments of these sorts, and no others."""
    return lambda found: found == list(sorts)


def many(sort: str, least: int = 1) -> Callable[[list[str]], bool]:
    """So many arguments of one sort, or more."""
    return lambda found: len(found) >= least and set(found) == {sort}


def alike(found: list[str]) -> bool:
    """Two arguments of one sort."""
    return len(found) == 2 and found[0] == found[1]


def choice(found: list[str]) -> bool:
    """A truth, then two arguments of one sort."""
    return len(found) == 3 and found[0] == "Bool" and found[1] == found[2]


# For each operation what it takes and the sort that it gives; that of `ite` is the sort of its sides.
OPERATIONS: dict[str, tuple[Callable[[list[str]], bool], str]] = {
    **dict.fromkeys(("+", "*"), (many("Int", 2), "Int")),
    "-": (many("Int"), "Int"),
    **dict.fromkeys(("div", "mod"), (of("Int", "Int"), "Int")),
    **dict.fromkeys(("and", "or"), (many("Bool"), "Bool")),
    **dict.fromkeys(("<=", ">="), (many("Int", 2), "Bool")),
    "not": (of("Bool"), "Bool"),
    "=>": (of("Bool", "Bool"), "Bool"),
    "=": (alike, "Bool"),
    "ite": (choice, ""),
}


def sort_of(tree: Tree, sort_of_name: Callable[[str], str]) -> str:
    """The sort of a term: Int, Bool or Real. Fractions are constants, and nothing is computed with them."""
    if isinstance(tree, str):
        if is_name(tree, NATURAL):
            return "Int"
        return "Bool" if tree in ("true", "false") else sort_of_name(tree)
    head = tree[0] if tree else ""
    if head == "/" and RATIO.fullmatch(printed(tree)):
        return "Real"
    if not isinstance(head, str) or head not in OPERATIONS:
        raise WrongError(f"{shortened(printed(head))} is no operation")
    takes, gives = OPERATIONS[head]
    found = [sort_of(part, sort_of_name) for part in tree[1:]]
    if not takes(found):
        raise WrongError(f"{shortened(printed(tree))} has no sort")
    return gives or found[1]


# Symbols of the model: `batch`, or between bars a name that SMT-LIB would misread, with %hh for odd characters

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
SAFE = frozenset(map(chr, range(0x20, 0x7F))) - set("|\\%#")
# Words of SMT-LIB and operations of Z3 and cvc5.
TAKEN = frozenset({
    "BINARY", "DECIMAL", "HEXADECIMAL", "NUMERAL", "STRING", "_", "as", "assert", "define", "exists", "forall",
    "lambda", "let", "match", "par", "and", "distinct", "false", "if", "iff", "implies", "ite", "not", "or", "true",
    "xor", "abs", "div", "div_total", "divisible", "int.log2", "int.pow2", "is_int", "mod", "mod_total", "piand",
    "to_int", "to_real", "select", "store",
})  # fmt: skip


def is_symbol(token: str) -> bool:
    """The token is what a name of the model is written as: each name as one token, each token for one name."""
    inner = token[1:-1] if token[0] == "|" else token
    try:
        name = re.sub(
            "(?:%[0-9a-f]{2})+",
            lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "surrogatepass"),
            "" if inner == "%" else inner,
        )
    except UnicodeDecodeError:
        return False
    return token == quoted(name)


def quoted(name: str) -> str:
    """The symbol for a name."""
    if PLAIN.fullmatch(name):
        return name if name not in TAKEN else f"|%{ord(name[0]):02x}{name[1:]}|"
    is_safe = [c.isascii() and (c.isalnum() or c == "_") if at == 0 else c in SAFE for at, c in enumerate(name)]
    codes = ("".join(f"%{byte:02x}" for byte in c.encode("utf-8", "surrogatepass")) for c in name)
    inner = "".join(c if safe else code for c, safe, code in zip(name, is_safe, codes, strict=True))
    return f"|{inner or '%'}|"


SIZE = ("0", "2147483647")
TRIP = ("0", "2147418111")
TRUTH = ("0", "1")
INTEGER = (("-", "9223372036854775808"), "9223372036854775807")
Interval: TypeAlias = tuple[Tree, Tree]


def within(name: str, bounds: Interval) -> Tree:
    """The formula that bounds a number."""
    return ("<=", bounds[0], name, bounds[1])


# What somebody asks: a text of docs/grammar.md, compiled to a formula

WORD = re.compile(
    r"\s*(`[^`\\]+`|->|==|!=|<=|>=|//|\*\*|[-+*/%<>(){}\[\],]|[0-9]+(?![\w.])|[^\W\d]\w*(?:\.\w+)*(?!\w|\.\w)|$)"
)
ENDS_OF = {"{": "}", "[": "]", "(": ")"}
KEYWORDS = frozenset({"and", "or", "not", "in", "implies", "true", "false", "True", "False"})
COMPARED: dict[str, Callable[[Tree, Tree], Tree]] = {
    "==": lambda a, b: ("=", a, b),
    "!=": lambda a, b: ("not", ("=", a, b)),
    "<=": lambda a, b: ("<=", a, b),
    ">=": lambda a, b: ("<=", b, a),
    "<": lambda a, b: ("not", ("<=", b, a)),
    ">": lambda a, b: ("not", ("<=", a, b)),
}
ODD = re.compile(r"\s[-+*/%^&|<>=!~]|[-+*/%^&|<>=!~]\s|(?:^|\s)(?:and|or|not|in|implies)(?:\s|$)")


def floor(a: Tree, b: Tree) -> Tree:
    """The quotient rounded down; SMT-LIB's has a remainder that is not negative."""
    if is_name(b, NATURAL):
        return ("div", a, b)
    return ("ite", ("<=", "1", b), ("div", a, b), ("div", ("-", a), ("-", b)))


CALCULATED: dict[str, Callable[[Tree, Tree], Tree]] = {
    "+": lambda a, b: ("+", a, b),
    "-": lambda a, b: ("-", a, b),
    "*": lambda a, b: ("*", a, b),
    "//": floor,
    "%": lambda a, b: ("-", a, ("*", b, floor(a, b))),
    "/": lambda a, b: ("ite", ("<=", "0", a), ("div", a, b), ("-", ("div", ("-", a), b))),  # towards zero
}
CALLED: dict[str, Callable[[Tree, Tree], Tree]] = {
    "max": lambda a, b: ("ite", ("<=", a, b), b, a),
    "min": lambda a, b: ("ite", ("<=", a, b), a, b),
    "floordiv": floor,
    "ceildiv": lambda a, b: ("-", floor(("-", a), b)),
    "truncdiv": CALCULATED["/"],
    "mod": CALCULATED["%"],
}


class Asked:
    """A text, and the formula that it says about symbols and about sizes `in0@1` of values. Raises OpenError.

    `values` are the names that values have, `place` gives the number of one among the inputs and its axes, `bound` how
    a symbol is bounded. A quotient by 0 may be any number: a text that holds whatever it is holds.
    """

    def __init__(
        self,
        text: str,
        values: Container[str],
        place: Callable[[str], tuple[int, int]],
        bound: Callable[[str], Tree | None],
    ) -> None:
        self.text, self.values, self.place, self.bound = text, values, place, bound
        self.at = self.depth = 0
        self.choices = 0  # each may double the formula
        self.symbols: dict[str, None] = {}
        found = self.truth(self.either())
        if self.peek() or len(text) > 1000 or len(printed(found)) > 100_000:
            raise self.odd()
        self.formula = found

    def odd(self) -> OpenError:
        """The reason why it is not read."""
        return OpenError(f"the text {shortened(self.text)} is not of the grammar of check.py")

    def peek(self) -> str:
        """The next word; empty at the end."""
        if not (found := WORD.match(self.text, self.at)):
            raise self.odd()
        return found[1]

    def takes(self, *words: str) -> str:
        """The next word, if it is one of these: it is read."""
        word = self.peek()
        if word not in words:
            return ""
        self.at = WORD.match(self.text, self.at).end()  # type: ignore[union-attr]
        return word

    def must(self, *words: str) -> str:
        """The next word, which is one of these."""
        if not (found := self.takes(*words)):
            raise self.odd()
        return found

    def either(self) -> Tree:
        """Implications, alternatives, conjunctions."""
        self.nested()
        found = self.joined("or", lambda: self.joined("and", self.denied))
        if self.takes("->", "implies"):
            found = ("=>", self.truth(found), self.truth(self.either()))
        return found

    def nested(self) -> None:
        """Bound the depth of the text."""
        self.depth += 1
        if self.depth > 60:
            raise self.odd()

    def joined(self, word: str, read: Callable[[], Tree]) -> Tree:
        """Parts with a word between them."""
        found = read()
        while self.takes(word):
            found = (word, self.truth(found), self.truth(read()))
        return found

    def denied(self) -> Tree:
        """A comparison, or its negation."""
        if not self.takes("not"):
            return self.compared()
        self.nested()
        return ("not", self.truth(self.denied()))

    def compared(self) -> Tree:
        """A chain of comparisons, or what stands in one."""
        left = self.calculated()
        found: list[Tree] = []
        while word := self.takes(*COMPARED, "in", "not"):
            if word in ("in", "not"):
                if word == "not":
                    self.must("in")
                left, items = self.number(left), self.until(ENDS_OF[self.must(*ENDS_OF)])
                if not items:
                    raise self.odd()
                equal: Tree = ("or", *(("=", left, self.number(item)) for item in items))
                found.append(equal if word == "in" else ("not", equal))
                continue
            right = self.calculated()
            if left[0] == right[0] == "shape" and word in ("==", "!="):
                is_long = len(left) == len(right)
                same: Tree = "true" if is_long else "false"
                if is_long and len(left) > 1:
                    same = ("and", same, *map(COMPARED["=="], left[1:], right[1:]))
                found.append(same if word == "==" else ("not", same))
            else:
                found.append(COMPARED[word](self.number(left), self.number(right)))
            left = right
        return left if not found else found[0] if len(found) == 1 else ("and", *found)

    def calculated(self) -> Tree:
        """A sum."""
        found = self.product()
        while word := self.takes("+", "-"):
            found = CALCULATED[word](self.number(found), self.number(self.product()))
        return found

    def product(self) -> Tree:
        """A product."""
        found = self.signed()
        while word := self.takes("*", "//", "/", "%"):
            self.chosen(word != "*")
            found = CALCULATED[word](self.number(found), self.number(self.signed()))
        return found

    def signed(self) -> Tree:
        """A power with signs before it."""
        if word := self.takes("-", "+"):
            self.nested()
            inner = self.number(self.signed())
            return ("-", inner) if word == "-" else inner
        found = self.operand()
        if self.takes("**"):
            exponent = self.takes(*map(str, range(1, 9)))
            if not exponent or self.peek() == "**":
                raise self.odd()
            self.chosen(int(exponent))
            found = ("*", *[self.number(found)] * int(exponent))
        return found

    def operand(self) -> Tree:
        """A number, a symbol, a size of a value, a call, or something in brackets."""
        name = self.value_here()
        if name:
            return self.size_of(name)
        word = self.takes(self.peek())
        if not word:
            raise self.odd()
        if word == "(":
            found = self.either()
            self.must(")")
            return found
        if word == "[":
            return ("shape", *map(self.number, self.until("]")))
        if word in ("true", "false", "True", "False") or is_name(word, NATURAL):
            return word.lower()
        if word[0] == "`":
            return self.size_of(word[1:-1]) if self.peek() == "[" else self.symbol(word[1:-1])
        if word in KEYWORDS or not (word[0] == "_" or word[0].isalpha()):
            raise self.odd()
        return self.call(word) if self.takes("(") else self.symbol(word)

    def value_here(self) -> str:
        """The longest name of a value that stands here before a bracket."""
        start = len(self.text) - len(self.text[self.at :].lstrip())
        end = re.compile(r"[^()\[\]{},`]*").match(self.text, start).end()  # type: ignore[union-attr]
        name = self.text[start:end].rstrip()
        if self.text[end : end + 1] != "[" or not name or name not in self.values or ODD.search(name):
            return ""
        self.at = end
        return name

    def name_here(self) -> str:
        """The name in the parenthesis that was opened."""
        if not (found := re.compile(r"\s*(?:`([^`\\]+)`|([^()\[\]{},`]+))\s*\)").match(self.text, self.at)):
            raise self.odd()
        self.at = found.end()
        return found[1] or found[2].rstrip()

    def axes(self, name: str) -> list[Tree]:
        """The sizes of a value."""
        if name not in self.values:
            raise self.odd()
        number, rank = self.place(name)
        return [f"in{number}@{axis}" for axis in range(rank)]

    def size_of(self, name: str) -> Tree:
        """The size of a value on the axis in brackets."""
        self.must("[")
        sign, axes = self.takes("-"), self.axes(name)
        axis = self.takes(*map(str, range(len(axes) + 1)))
        self.must("]")
        if not axis or not 0 <= (at := len(axes) - int(axis) if sign else int(axis)) < len(axes):
            raise self.odd()
        return axes[at]

    def call(self, function: str) -> Tree:
        """What a function gives."""
        if function == "symbol":
            return self.symbol(self.name_here())
        if function in ("shape", "rank", "size"):
            axes = self.axes(self.name_here())
            size: Tree = ("*", "1", *axes) if axes else "1"
            return {"shape": ("shape", *axes), "size": size}.get(function, str(len(axes)))
        items = self.until(")")
        self.chosen(len(items))
        if function == "ite" and len(items) == 3:
            return ("ite", self.truth(items[0]), *map(self.number, items[1:]))
        numbers = list(map(self.number, items))
        if function == "abs" and len(numbers) == 1:
            return ("ite", ("<=", "0", numbers[0]), numbers[0], ("-", numbers[0]))
        if function not in CALLED or len(numbers) < 2 or (len(numbers) > 2 and function not in ("max", "min")):
            raise self.odd()
        return reduce(CALLED[function], numbers)

    def until(self, end: str) -> list[Tree]:
        """Parts with commas between them."""
        found: list[Tree] = []
        while not self.takes(end):
            if found:
                self.must(",")
            found.append(self.either())
        return found

    def symbol(self, name: str) -> Tree:
        """A symbol of the model."""
        found = quoted(name)
        if self.bound(found) is None:
            raise self.odd()
        self.symbols[found] = None
        return found

    def chosen(self, count: int) -> None:
        """Bound the size of the formula."""
        self.choices += count
        if self.choices > 24:
            raise self.odd()

    def number(self, tree: Tree) -> Tree:
        """What stands for a number."""
        if is_truth(tree) or tree[0] == "shape":
            raise self.odd()
        return tree

    def truth(self, tree: Tree) -> Tree:
        """What stands for a truth; the symbol of one is 0 or 1."""
        if isinstance(tree, str) and tree in self.symbols and self.bound(tree) == within(tree, TRUTH):
            return ("=", tree, "1")
        if not is_truth(tree):
            raise self.odd()
        return tree


def is_truth(tree: Tree) -> bool:
    """A compiled text stands for a truth."""
    return tree in ("true", "false") or (not isinstance(tree, str) and tree[0] in ("and", "or", "not", "=>", "=", "<="))


# The manifest: a reader for each of its parts, which gives the part as it is used

Read: TypeAlias = Callable[[Any], Any]


def term(value: object) -> Tree:
    """A term."""
    return parsed(text(value))


def text(value: object) -> str:
    """A text of printable characters."""
    if type(value) is not str or not value.isprintable():
        raise WrongError(f"{shortened(str(value))} is no text")
    return value


def words(value: object) -> str:
    """Words for people, about which nothing is checked."""
    return "".join(c if c.isprintable() else "?" for c in value) if type(value) is str else text(value)


def name(value: object) -> str:
    """A name of the model."""
    return value if type(value) is str else text(value)


def named(form: str) -> Read:
    """A name of a form."""

    def read(value: object) -> str:
        if not is_name(value, form):
            raise WrongError(f"{shortened(str(value))} is no word for this place")
        return str(value)

    return read


def one_of(*names: str) -> Read:
    """One of these words."""

    def read(value: object) -> str:
        if type(value) is not str or value not in names:
            raise WrongError(f"nobody is called {value!r}" if "rule" in names else f"{value!r} is none of {names}")
        return value

    return read


def symbol(value: object) -> str:
    """A symbol of the model."""
    if type(value) is not str or not value or not is_symbol(value):
        raise WrongError(f"{shortened(str(value))} is no symbol")
    return value


def number(least: int) -> Read:
    """An integer."""

    def read(value: object) -> int:
        if type(value) is not int or value < least:
            raise WrongError(f"{shortened(str(value))} is no number for this place")
        return value

    return read


def listed(read: Read, count: int | None = None) -> Read:
    """A list."""

    def reads(value: object) -> list[Any]:
        if type(value) is not list or (count is not None and len(value) != count):
            raise WrongError(f"{shortened(str(value))} is no such list")
        return [read(item) for item in value]

    return reads


def optional(read: Read) -> Read:
    """None, or what is read."""
    return lambda value: None if value is None else read(value)


def place(least: int) -> Read:
    """A step and a place in it, neither counted from the end."""

    def read(value: object) -> tuple[int, int]:
        step, at = listed(number(-1), 2)(value)
        if step < least or at < 0:
            raise WrongError("it rests on a later step" if at >= 0 else f"there is no place {at}")
        return step, at

    return read


def table(key: Read, read: Read) -> Read:
    """An object with any names of one form."""

    def reads(value: object) -> dict[str, Any]:
        if type(value) is not dict:
            raise WrongError(f"{shortened(str(value))} is no table")
        return {key(name): read(item) for name, item in value.items()}

    return reads


def record(needed: Mapping[str, Read], more: Mapping[str, tuple[Read, Any]] = {}) -> Read:
    """An object with these names; what may be left out has a value for that."""

    def read(value: object) -> dict[str, Any]:
        if type(value) is not dict:
            raise WrongError(f"{shortened(str(value))} is no record")
        if odd := value.keys() - needed.keys() - more.keys():
            raise WrongError(f"nothing is called {shortened(min(odd))}")
        if missing := needed.keys() - value.keys():
            raise WrongError(f"{min(missing)} is missing")
        found = {name: reads(value[name]) for name, reads in needed.items()}
        return found | {name: reads(value[name]) if name in value else empty for name, (reads, empty) in more.items()}

    return read


FILE = r"[A-Za-z0-9_.-]*[A-Za-z0-9_-]"
DIGEST = "[0-9a-f]{64}"
ASKED = ("query", "derived")
OPERATOR = rf"(?:[\w.:-]+-{NATURAL})?"
RELATION = record(
    {
        "formula": term,
        "role": one_of("required", "defined", "query", "derived", "assumed"),
        "by": one_of("lemma", "rule"),
    },
    {"reason": (words, "")},
)
CLAIM = record({"value": name, "dims": optional(listed(optional(term)))}, {"elements": (listed(optional(term)), None)})
STEP = record(
    {"node": words, "by": one_of("lemma", "model", "rule"), "takes": listed(optional(place(0)))},
    {
        "operator": (named(OPERATOR), ""),
        "at": (listed(name), ()),
        "round": (number(0), 0),
        "reason": (words, ""),
        "lemma": (named(FILE), ""),
        "names": (table(named(NUMBER), term), {}),
        "facts": (listed(place(-1)), ()),
        "closes": (listed(number(0), 1), ()),
        "introduces": (table(symbol, named(rf"(?:out{NATURAL}@e?{NATURAL})?")), {}),
        "gives": (listed(CLAIM), ()),
        "on_trust": (listed(named(OUTPUT)), ()),
        "relations": (listed(RELATION), ()),
    },
)
MANIFEST = record(
    {
        "schema": one_of(SCHEMA),
        "model": record({"name": words, "sha256": named(DIGEST)}),
        "semantics": one_of("either", "onnx", "onnxruntime"),
        "premises": listed(term),
        "inputs": listed(symbol),
        "symbols": table(symbol, lambda value: term(value) if value else ""),
        "lemmas": table(named(FILE), named(DIGEST)),
        "steps": listed(lambda value: value),
    },
    {"absint": (words, ""), "granted": (listed(words), ())},
)


def document(content: str) -> dict[str, Any]:
    """The manifest as JSON, without a name that stands twice in one object."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
            raise WrongError(f"{shortened(twice)} stands there twice")
        return found

    def constant(value: str) -> None:
        raise WrongError(f"{value} is no number")

    found = json.loads(content, object_pairs_hook=once, parse_constant=constant)
    if type(found) is not dict:
        raise WrongError("it is no object")
    return dict(found)


# Lemmas

TITLE = re.compile(rf"; (query|If|Loop|(?:[\w.-]+::)?\w+-{NATURAL}), for any numbers \$0, \$1, \.\.\.", re.ASCII)
HYPOTHESIS = rf"(?:bound|fact){NATURAL}"
# Names of a specification, with their sorts; the rest of those of a node are sizes and elements.
HELPERS = {
    "If": {"taken@0": "Bool"},
    "Loop": {
        "start@0": "Int",
        "next@0": "Int",
        "trips@0": "Int",
        "most@0": "Int",
        "begins@0": "Bool",
        "goes@0": "Bool",
    },
}
DOMAIN = {"domain@0": "Bool"}
# What an If and a Loop mean: each command of their lemmas about the node is of one of these forms.
ENDS = r"\(not begins@0\) \(and \(<= 1 trips@0\) \(not goes@0\)\)"
SORT = "(?:Int|Bool|Real)"
PART = rf"(rank|e?{NATURAL})"
HEAD = [
    r"\(define-fun (?:start@0 \(\) Int 0|next@0 \(\) Int \(\+ in0@e0 1\))\)",
    r"\(define-fun out[01]@rank \(\) Int 0\)",
    r"\(define-fun out0@e0 \(\) Int (?:start|next)@0\)",
    r"\(define-fun out1@e0 \(\) Bool true\)",
    rf"\(define-fun out(?![01]@)({NATURAL})@{PART} \(\) {SORT} in\1@\2\)",
]
CONTROL = {
    "If": [
        r"\(declare-const taken@0 Bool\)|\(define-fun taken@0 \(\) Bool in0@e0\)",
        rf"\(declare-const out{NATURAL}@{PART} {SORT}\)",
        rf"\(assert \(<= 0 out{NATURAL}@{NATURAL}\)\)",
        rf"\(assert \(=> (taken@0|\(not taken@0\)) \(= out({NATURAL})@{PART} in({NATURAL})@\3\)\)\)",
    ],
    "Loop": [
        r"\(declare-const trips@0 Int\)",
        r"\(define-fun begins@0 \(\) Bool (?:true|in1@e0)\)|\(declare-const (?:begins|goes)@0 Bool\)",
        rf"\(define-fun goes@0 \(\) Bool in{NATURAL}@e0\)",
        r"\(define-fun most@0 \(\) Int \(ite \(<= 0 in0@e0\) in0@e0 0\)\)",
        r"\(assert \((?:<= 0 trips@0|<= trips@0 most@0|=> \(not begins@0\) \(= trips@0 0\))\)\)",
        rf"\(assert \(or (?:\(= trips@0 most@0\) )?{ENDS}\)\)",
        rf"\(assert \(=> \(<= 1 trips@0\) \(= in{NATURAL}@e0 \(- trips@0 1\)\)\)\)",
        rf"\(declare-const out{NATURAL}@{PART} {SORT}\)",
        rf"\(define-fun out{NATURAL}@(?:rank \(\) Int {NATURAL}|0 \(\) Int trips@0)\)",
        rf"\(assert \(<= 0 out{NATURAL}@{NATURAL}\)\)",
        rf"\(assert \(=> \((?:= trips@0 0|<= 1 trips@0)\) \(= out{NATURAL}@{PART} in{NATURAL}@{PART}\)\)\)",
    ],
}


SAID = record({"inputs": named("[01]*"), "outputs": number(0), "attributes": table(words, lambda value: value)})


def node_said(line: str) -> dict[str, Any]:
    """What the second line of a lemma says of its node; nothing if it is about none."""
    return dict(SAID(document(line.removeprefix("; node ")))) if line.startswith("; node ") else {}


class Lemma:
    """A lemma, read: its title, its definitions by name, the sorts of its names, and its facts, bounds and claims."""

    def __init__(self, content: str) -> None:
        self.defined: dict[str, Tree] = {}
        self.sorts: dict[str, str] = {}
        self.of_node: list[str] = []  # the commands that say what its node means
        self.sizes: list[str] = []  # those that say that inputs have sizes
        if not content.isascii() or not content.replace("\n", "").isprintable():
            raise WrongError("it has odd characters")
        first, _, rest = content.partition("\n")
        lines = [line for line in (line.partition(";")[0].rstrip() for line in rest.split("\n")) if line]
        if len(lines) < 3 or lines[0] != "(set-logic ALL)" or lines[-1] != "(check-sat)":
            raise WrongError("it must begin with set-logic and end with check-sat")
        if not (title := TITLE.fullmatch(first)):
            raise WrongError("its first line must name its operator")
        self.title = title[1]
        self.node = node_said(rest.partition("\n")[0])
        commands = [parsed(line) for line in lines]
        for command in commands[1:-2]:
            try:
                self._command(command)
            except WrongError as problem:
                raise WrongError(f"{problem}: {shortened(printed(command))}") from None
        self.facts, self.bounds, self.claims = map(self._numbered, ("fact", "bound", "claim"))
        claims = tuple(f"claim{at}" for at in range(len(self.claims)))
        if not claims or commands[-2] != ("assert", ("not", ("and", *claims))):
            raise WrongError("its last assertion must be that some claim is false")
        self._control()
        self.script = "\n".join([*map(printed, commands), ""])
        self.hypotheses = "\n".join([*map(printed, (*commands[:-2], commands[-1])), ""])

    def specification(self, semantics: str) -> str:
        """The hash of what it says that its node means: for inputs of this form, by these semantics."""
        inputs = {name: self.defined.get(name, "") for name in self.sorts if is_name(name, INPUT)}
        given = [
            f"{name} {self.sorts[name]} {printed(a) if number_of(a) is not None else ''}" for name, a in inputs.items()
        ]
        said = [semantics, self.title, json.dumps(self.node, sort_keys=True), *given, *self.sizes, *self.of_node]
        return hashlib.sha256("\n".join(said).encode()).hexdigest()

    @property
    def is_head(self) -> bool:
        """It is about the start of a trip."""
        return bool({"start@0", "next@0"} & self.sorts.keys())

    def _command(self, command: Tree) -> None:
        match command:
            case ("assert", formula):
                self._assertion(formula)
                return
            case ("declare-const", str(name), str(sort)):
                body: Tree = ""
                if not is_name(name, f"{NUMBER}|{INPUT}") and not self._is_of_node(name):
                    raise WrongError(f"a lemma declares no {name}")
            case ("define-fun", str(name), (), str(sort), body):
                if self._sort(body, self._speaks_of(name, body)) != sort:
                    raise WrongError(f"its definition is not of sort {sort}")
            case _:
                raise WrongError("odd command")
        if name in self.sorts:
            raise WrongError(f"{name} has two meanings")
        if sort not in self._sorts_of(name):
            raise WrongError(f"{name} is not of sort {sort}")
        self.sorts[name] = sort
        if body:
            self.defined[name] = body
        if self._is_of_node(name):
            self.of_node.append(printed(command))

    def _speaks_of(self, name: str, body: Tree) -> str:
        """The names of which the definition of a name may speak."""
        if is_name(name, NUMBER):
            if not is_name(body, OUTPUT):
                raise WrongError("it names no size and no element")
            return OUTPUT
        if is_name(name, f"{HYPOTHESIS}|{INPUT}"):
            if any(word in self.defined for word in atoms(body)):
                raise WrongError("it must speak of declared numbers $0, $1, ...")
            return NUMBER
        if self._is_of_node(name):
            return self._about
        if is_name(name, rf"claim{NATURAL}"):
            return f"{NUMBER}|{self._about}"
        raise WrongError(f"a lemma defines no {name}")

    @property
    def _about(self) -> str:
        """The names of inputs, and of what a specification speaks of."""
        helpers = HELPERS.get(self.title, DOMAIN)
        return INPUT if self.title == "query" else "|".join([INPUT, OUTPUT, *map(re.escape, helpers)])

    def _is_of_node(self, name: str) -> bool:
        found = is_name(name, OUTPUT) or name in HELPERS.get(self.title, DOMAIN)
        if found and self.title == "query":
            raise WrongError("a query has no node")
        return found

    def _sorts_of(self, name: str) -> Sequence[str]:
        if is_name(name, rf"(?:in|out){NATURAL}@e{NATURAL}"):
            return ("Int", "Bool", "Real")
        if is_name(name, rf"(?:bound|fact|claim){NATURAL}"):
            return ("Bool",)
        return (HELPERS.get(self.title, DOMAIN).get(name, "Int"),)

    def _assertion(self, formula: Tree) -> None:
        """A lemma asserts bounds and facts, that inputs have sizes, and the specification of its node."""
        if is_name(formula, HYPOTHESIS) and formula in self.defined:
            return
        is_size = is_name(printed(formula), rf"\(<= 0 in{NATURAL}@{NATURAL}\)")
        if self.title == "query" and not is_size:
            raise WrongError("a query has no specification")
        if self._sort(formula, self._about) != "Bool":
            raise WrongError("it is no formula")
        (self.sizes if is_size else self.of_node).append(f"(assert {printed(formula)})")

    def _sort(self, tree: Tree, names: str) -> str:
        """The sort of a term over names of this form that have a meaning."""

        def of_name(name: str) -> str:
            if not is_name(name, names) or name not in self.sorts:
                told = "it must speak of declared numbers $0, $1, ..."
                raise WrongError(told if names == NUMBER else "its specification must speak of the node alone")
            return self.sorts[name]

        return sort_of(tree, of_name)

    def _numbered(self, kind: str) -> list[Tree]:
        found = {name: body for name, body in self.defined.items() if is_name(name, rf"{kind}{NATURAL}")}
        names = [f"{kind}{at}" for at in range(len(found))]
        if found.keys() != set(names):
            raise WrongError(f"its {kind}s must be numbered from 0")
        return [found[name] for name in names]

    def _control(self) -> None:
        """An If and a Loop have one meaning each."""
        if self.title not in CONTROL:
            return
        forms = HEAD if self.is_head else CONTROL[self.title]
        given = [] if self.is_head else self.sizes  # no run computes both branches, or the body without a trip
        for command in (*self.of_node, *given):
            if not any(re.fullmatch(form, command) for form in forms):
                raise WrongError(f"this is not what {self.title} means: {shortened(command)}")
        if self.title == "Loop" and len({"start@0", "next@0", "trips@0"} & self.sorts.keys()) != 1:
            raise WrongError("it is about the start of a trip, or about the end of a loop")


# The model: a file of ONNX, read by the numbers of the fields in onnx.proto

Value: TypeAlias = Any  # of a field: an integer, or bytes
Fields: TypeAlias = "dict[int, list[tuple[int, Value]]]"
Site: TypeAlias = "tuple[str, ...]"
Origin: TypeAlias = "tuple[Site, int]"  # the node, input or constant that gives a value, and which of its outputs
CODES = {1: "f", 2: "B", 3: "b", 4: "H", 5: "h", 6: "i", 7: "q", 9: "?", 10: "e", 11: "d", 12: "I", 13: "Q"}
DATA = {
    1: (4, "f"),
    7: (7, ""),
    11: (10, "d"),
    12: (11, ""),
    13: (11, ""),
}  # where a type has its elements, if not in 5
DATA_FIELDS = frozenset({4, 5, 6, 7, 9, 10, 11})
FLOATS = (1, 10, 11)
WHOLE = (2, 3, 4, 5, 6, 7, 12, 13)  # types of integers
SORTS = {**dict.fromkeys(WHOLE, "Int"), 9: "Bool", **dict.fromkeys((*FLOATS, 16), "Real")}
# Domains in which runtimes have operators of their own, which they take before functions of the model.
OWNED = ("ai.onnx", "com.microsoft", "com.ms.", "com.intel.", "com.xilinx", "org.pytorch.aten")
BODY = {"If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",), "SequenceMap": ("body",)}


# Of operators that compute elements: their sort, or the input that they have the type of
KINDS = {
    operator: kind
    for kind, operators in {
        "Int": "ArgMax ArgMin BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor NonZero Shape Size",
        "Bool": "And Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Xor",
        "0": "Abs Add Ceil Clip Concat CumProd CumSum Div Dropout Expand Flatten Floor Gather GatherElements GatherND "
        "Identity Max Min Mod Mul Neg Pad Pow Range Reciprocal ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
        "Relu Reshape Round Scatter ScatterElements ScatterND Sign Slice Split Sqrt Squeeze Sub Sum Tile Transpose "
        "Trilu Unsqueeze",
        "1": "CastLike Where",
    }.items()
    for operator in operators.split()
}


class UnreadableError(Exception):
    """The reason why a model cannot be read."""


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """An integer of seven bits a byte, and the place after it."""
    found = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        found |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128 and found < 1 << 64:
            return found, at
    raise WrongError("the model is damaged")


def fields(data: memoryview) -> Fields:
    """A message: for each number its values, each with the way it is written: 0 a varint, 2 bytes, 1 and 5 fixed."""
    found: Fields = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise WrongError("the model is damaged")
        if wire == 0:
            value, at = varint(data, at)
            found.setdefault(number, []).append((wire, value))
            continue
        size, at = varint(data, at) if wire == 2 else ({1: 8, 5: 4}.get(wire, len(data) + 1), at)
        if at + size > len(data):
            raise WrongError("the model is damaged")
        found.setdefault(number, []).append((wire, data[at : at + size]))
        at += size
    return found


def values(message: Fields, number: int, *wires: int) -> list[Value]:
    """The values of a field. Readers leave out one that is written in another way, so none may be there."""
    found = message.get(number, [])
    if any(wire not in wires for wire, _ in found):
        raise WrongError(f"field {number} of the model is of another kind")
    return [value for _, value in found]


def one(message: Fields, number: int, wire: int = 2) -> Value:
    """The value of a field that stands once; None if it does not stand there."""
    found = values(message, number, wire)
    if len(found) > 1:
        raise WrongError("the model has a field twice")
    return found[0] if found else None


def whole(message: Fields, number: int) -> int | None:
    """A signed integer that stands once."""
    found: int | None = one(message, number, 0)
    return None if found is None else found - (found >> 63 << 64)


def messages(message: Fields, number: int) -> list[Fields]:
    """The messages in a field."""
    return list(map(fields, values(message, number, 2)))


def inside(message: Fields, number: int) -> Fields:
    """The message in a field."""
    return fields(one(message, number) or memoryview(b""))


def string(value: Value) -> str:
    """A text; a name that is left out is empty."""
    return "" if value is None else bytes(value).decode("utf-8", "surrogateescape")


def strings(message: Fields, number: int) -> list[str]:
    """Texts."""
    return [string(value) for value in values(message, number, 2)]


def by_key(items: list[Fields], number: int, what: str) -> dict[str, Fields]:
    """Messages by the name in a field, which each has for itself."""
    found = {string(one(item, number)): item for item in items}
    if len(found) != len(items):
        raise WrongError(f"two {what} of the model have one name")
    return found


def domain(value: Value) -> str:
    """The name of a domain; that of ONNX is empty."""
    return "" if string(value) == "ai.onnx" else string(value)


def integers(message: Fields, number: int) -> list[int]:
    """Signed integers, packed or not."""
    found = []
    for value in values(message, number, 0, 2):
        at = 0
        while at < (1 if isinstance(value, int) else len(value)):
            item, at = (value, 1) if isinstance(value, int) else varint(value, at)
            found.append(item - (item >> 63 << 64))
    return found


def one_real(message: Fields) -> float:
    """The float of an attribute."""
    found: float = struct.unpack("<f", one(message, 2, 5) or bytes(4))[0]
    return found


def reals(message: Fields, number: int, form: str = "f") -> list[float]:
    """Floats or doubles, packed or not."""
    data = b"".join(map(bytes, values(message, number, 2, 5 if form == "f" else 1)))
    return [item for (item,) in struct.iter_unpack(f"<{form}", data)]


class Node:
    """A node of a graph or a function."""

    def __init__(self, message: Fields) -> None:
        self.takes, self.outputs = strings(message, 1), strings(message, 2)
        self.name = next(filter(None, self.outputs), "")
        self.domain, self.operator = domain(one(message, 7)), string(one(message, 4))
        self.function = (self.domain, self.operator, string(one(message, 8)))
        self.attributes = by_key(messages(message, 5), 1, "attributes of a node")


class Body:
    """The main graph, the body of an If or a loop, or that of a called function."""

    def __init__(self, site: Site, nodes: list[Fields], outputs: list[str], imports: Mapping[str, int]) -> None:
        self.site, self.outputs, self.imports = site, outputs, imports
        self.outer: Body | None = None
        self.call: tuple[Body, Node, Fields] | None = None  # that it is in, with the function
        self.nodes: dict[str, Node] = {}
        self.givers: dict[str, Node] = {}  # of each value
        for node in map(Node, nodes):
            self.nodes[node.name] = node
            for name in filter(None, node.outputs):
                if self.givers.setdefault(name, node) is not node:
                    raise WrongError(f"two values of the model are called {shortened(name)}")
        self.formals: dict[str, str] = {}  # of a function, with the names that its caller has for them
        self.origins: dict[str, Origin | Callable[[], Origin | None]] = {}
        self.inputs: dict[str, Fields] = {}
        self.results: list[Fields] = []  # of a graph, what it declares of its outputs
        self.constants: dict[str, Fields] = {}
        self.sparse: set[str] = set()  # constants of another form, which are not read

    def give(self, name: str, origin: Origin | Callable[[], Origin | None]) -> None:
        """A value has one origin."""
        if name and self.origins.setdefault(name, origin) is not origin:
            raise WrongError(f"two values of the model are called {shortened(name)}")

    def find(self, name: str) -> Origin | None:
        """The origin of a value; None for one that is left out."""
        if not name:
            return None
        body: Body | None = self
        while body is not None and name not in body.origins:
            body = body.outer
        if body is None:
            raise WrongError(f"nothing in the model computes {shortened(name)}")
        found = body.origins[name]
        return found() if callable(found) else found


class Model:
    """A model, and the bodies in it that steps are about. Raises UnreadableError."""

    def __init__(self, path: Path) -> None:
        try:
            self.read(path)
        except (OSError, ValueError, TypeError, RecursionError, WrongError) as problem:
            raise UnreadableError(str(problem)) from None

    def read(self, path: Path) -> None:
        """Read its functions and its main graph."""
        self.folder, data = path.parent, path.read_bytes()
        self.digest = hashlib.sha256(data).hexdigest()
        if data[4:8] == b"ORTM":
            raise WrongError("onnxruntime may read it as a file of its own format")
        top = fields(memoryview(data))
        self.are_fixed = (whole(top, 1) or 0) < 4  # there every initialiser has to be an input
        self.functions: dict[tuple[str, str, str], Fields] = {}
        for item in messages(top, 25):
            key = (domain(one(item, 10)), string(one(item, 1)), string(one(item, 13)))
            if key in self.functions or not key[0]:
                raise WrongError(f"a function of the model is called {shortened(key[1])}, and something else too")
            self.functions[key] = item
        self.bodies: dict[Site, Body] = {(): self.graph((), inside(top, 7), versions(top, 8) or {"": 1})}

    def graph(self, site: Site, message: Fields, imports: Mapping[str, int], outer: Body | None = None) -> Body:
        """A graph; the inputs of one in a loop are those of the loop's head, which has the site of the body."""
        tensors = by_key(messages(message, 5), 8, "initialisers")
        infos = by_key(messages(message, 11), 1, "inputs")
        if site:  # a node gives a body no input that is an initialiser too
            infos = {name: info for name, info in infos.items() if name not in tensors}
        results = messages(message, 12)
        body = Body(site, messages(message, 1), [string(one(info, 1)) for info in results], imports)
        body.results = results
        body.outer, body.call = outer, None if outer is None else outer.call
        for index, (name, info) in enumerate(infos.items()):
            body.inputs[name] = info
            body.give(name, (site, index) if site else ((name,), 0))
        for name, tensor in tensors.items():
            body.constants[name] = tensor
            if name not in infos:
                body.give(name, ((*site, name), 0))
        for sparse in messages(message, 15):
            name = string(one(inside(sparse, 1), 8))
            body.sparse.add(name)
            body.give(name, ((*site, name), 0))
        self.entered(body)
        return body

    def entered(self, body: Body) -> None:
        """Give the outputs of the nodes their origins; those of a call are in the function."""
        for node in body.nodes.values():
            called = self.functions.get(node.function)
            results = [] if called is None else strings(called, 5)
            for index, name in enumerate(node.outputs):
                if index < len(results):
                    body.give(name, partial(self.result, (*body.site, node.name, "()"), results[index]))
                else:
                    body.give(name, ((*body.site, node.name), index))

    @cached_property
    def symbols(self) -> set[str]:
        """The names that inputs declare for sizes: each stands for these, and for nothing else."""
        infos = self.bodies[()].inputs.values()
        return {
            quoted(param) for info in infos for size in declared_sizes(info) or () if (param := string(one(size, 2)))
        }

    @cached_property
    def needed(self) -> set[Site]:
        """The nodes that some output depends on; a runtime may remove all others."""
        found: set[Site] = set()
        seen: set[tuple[Site, str]] = set()
        pending = [(self.bodies[()], name) for name in self.bodies[()].outputs]
        while pending:
            body, name = pending.pop()
            while name not in body.origins and body.outer is not None:
                body = body.outer
            if not name or (body.site, name) in seen:
                continue
            seen.add((body.site, name))
            node = body.givers.get(name)
            if node is None:
                if body.call is not None and name in body.formals:
                    pending.append((body.call[0], body.formals[name]))
                continue
            site = (*body.site, node.name)
            if node.function in self.functions:
                if node.domain.startswith(OWNED):
                    continue
                inner = self.body((*site, "()"))
                pending.append((inner, inner.outputs[node.outputs.index(name)]))
                continue
            found.add(site)
            pending += [(body, taken) for taken in node.takes]
            bodies = [self.body((*site, part)) for part in BODY.get(node.operator, ()) if part in node.attributes]
            pending += [(inner, result) for inner in bodies for result in inner.outputs]
        return found

    def body(self, site: Site) -> Body:
        """The body at a place. Raises OpenError for that of a function which the model does not have."""
        found = self.bodies.get(site)
        if found is None:
            outer = self.body(site[:-2])
            node = self.node(outer, site[-2])
            found = self.called(site, outer, node) if site[-1] == "()" else self.nested(site, outer, node)
            self.bodies[site] = found
        return found

    def result(self, site: Site, name: str) -> Origin | None:
        """The origin of a value in a body."""
        return self.body(site).find(name)

    def node(self, body: Body, name: str) -> Node:
        """The node whose first output has the name."""
        if name not in body.nodes:
            raise WrongError(f"no node of the model begins its outputs with {shortened(name)}")
        return body.nodes[name]

    def called(self, site: Site, outer: Body, node: Node) -> Body:
        """The body of a function, called by the node."""
        if node.function not in self.functions:
            raise OpenError(f"{node.operator} is a function that the model does not write down")
        if node.domain.startswith(OWNED):
            raise OpenError(f"a runtime may have another {node.operator} than the function of the model")
        if len(site) > DEEPEST:
            raise WrongError("functions of the model call themselves")
        message = self.functions[node.function]
        body = Body(site, messages(message, 7), strings(message, 5), versions(message, 9))
        body.call = outer, node, message
        for index, formal in enumerate(strings(message, 4)):
            body.formals[formal] = node.takes[index] if index < len(node.takes) else ""
            body.give(formal, partial(outer.find, body.formals[formal]))
        self.entered(body)
        return body

    def nested(self, site: Site, outer: Body, node: Node) -> Body:
        """The body in an attribute of an If or a loop."""
        if node.domain or site[-1] not in BODY.get(node.operator, ()) or site[-1] not in node.attributes:
            raise WrongError(f"{node.operator} has no body {shortened(site[-1])}")
        if whole(node.attributes[site[-1]], 20) != 5 or one(node.attributes[site[-1]], 21) is not None:
            raise WrongError(f"{shortened(site[-1])} is no graph")
        return self.graph(site, inside(node.attributes[site[-1]], 6), outer.imports, outer)

    def attribute(self, node: Node, name: str, body: Body) -> Value:
        """The value of an attribute: None if it is left out, `{}` if it is of no numbers and no text."""
        message = node.attributes.get(name)
        formal = "" if message is None else string(one(message, 21))
        if formal:
            if body.call is None:
                raise WrongError(f"{shortened(name)} refers to an attribute of no function")
            outer, caller, function = body.call
            if formal in caller.attributes:
                return self.attribute(caller, formal, outer)
            message = by_key(messages(function, 11), 1, "attributes of a function").get(formal)
        if message is None:
            return None
        match whole(message, 20):
            case 1:
                return one_real(message)
            case 2:
                return whole(message, 3) or 0
            case 3:
                return string(one(message, 4))
            case 4:
                try:
                    items = self.elements(inside(message, 5))
                except OpenError:
                    return {}
                return {} if any(isinstance(item, Fraction) for item in items) else items
            case 6:
                return reals(message, 7)
            case 7:
                return integers(message, 8)
            case 8:
                return strings(message, 9)
        return {}

    def kind(self, body: Body, name: str) -> str:
        """The sort of the elements of a value: Int, Bool or Real; empty if it is not known here."""
        while name not in body.origins and body.outer is not None:
            body = body.outer
        if name in body.formals and body.call is not None:
            return self.kind(body.call[0], body.formals[name])
        if name in body.constants:
            return SORTS.get(whole(body.constants[name], 2) or 0, "")
        if name in body.inputs:
            at = list(body.inputs).index(name)
            if not body.site or body.outer is None:
                return SORTS.get(declared_type(body.inputs[name]), "")
            loop = self.node(body.outer, body.site[-2])
            if (loop.domain, loop.operator) != ("", "Loop"):
                return ""
            return ("Int", "Bool")[at] if at < 2 else self.kind(body.outer, loop.takes[at])
        node = body.givers.get(name)
        if node is None:
            return ""
        index, site = node.outputs.index(name), (*body.site, node.name)
        if node.function in self.functions or (node.operator in ("If", "Loop") and not node.domain):
            inner = self.body((*site, "()" if node.function in self.functions else BODY[node.operator][0]))
            return self.kind(inner, inner.outputs[index + (node.operator == "Loop")])
        if node.operator == "Cast" and not node.domain:
            return SORTS.get(self.attribute(node, "to", body), "")
        if node.operator in ("Constant", "ConstantOfShape") and "value" in node.attributes:
            return SORTS.get(whole(inside(node.attributes["value"], 5), 2) or 0, "")
        how = "" if node.domain or (index and node.operator != "Split") else KINDS.get(node.operator, "")
        return self.kind(body, node.takes[int(how)]) if how.isdigit() else how

    def elements(self, tensor: Fields) -> list[int | bool | Fraction]:
        """The elements of a tensor of numbers, from the file or one beside it."""
        code, data = whole(tensor, 2) or 0, one(tensor, 9)
        if 3 in tensor or whole(tensor, 14) not in (None, 0, 1) or len(tensor.keys() & DATA_FIELDS) > 1:
            raise WrongError("the elements of a tensor lie in parts")
        if whole(tensor, 14) == 1:
            entries = by_key(messages(tensor, 13), 1, "words on external data")
            found = {name: string(one(item, 2)) for name, item in entries.items()}
            path = (self.folder / found.get("location", "")).resolve()
            if self.folder.resolve() not in path.parents:
                raise WrongError("its elements lie outside of the folder of the model")
            offset, length = found.get("offset", "0"), found.get("length", "")
            if not is_name(offset, NATURAL) or not is_name(length, f"|{NATURAL}") or tensor.keys() & DATA_FIELDS:
                raise WrongError("its elements lie at an odd place")
            with path.open("rb") as file:
                file.seek(int(offset))
                data = file.read(int(length) if length else -1)
        if code not in CODES:
            raise OpenError("elements of this type are not read")
        if data is not None:
            return exactly(code, [item for (item,) in struct.iter_unpack(f"<{CODES[code]}", data)])
        number, form = DATA.get(code, (5, ""))
        if tensor.keys() & DATA_FIELDS - {number}:
            raise WrongError("the elements of a tensor are of another type")
        if form:
            return exactly(code, reals(tensor, number, form))
        items = integers(tensor, number)
        if code == 13:
            items = [item % (1 << 64) for item in items]
        return exactly(code, [item for (item,) in struct.iter_unpack(f"<{CODES[code]}", stored(code, items))])


def stored(code: int, items: Sequence[int]) -> bytes:
    """The bytes of elements of a type, which an integer of 32 or 64 bits held each."""
    try:
        return b"".join(struct.pack(f"<{'H' if code == 10 else 'B' if code == 9 else CODES[code]}", i) for i in items)
    except struct.error:
        raise WrongError("an element does not fit its type") from None


def exactly(code: int, items: Sequence[Any]) -> list[int | bool | Fraction]:
    """Elements of a type, without rounding."""
    if code in FLOATS and not all(map(math.isfinite, items)):
        raise OpenError("some element is no number")
    exact: Callable[[Any], Any] = bool if code == 9 else Fraction if code in FLOATS else int
    return list(map(exact, items))


def declared_sizes(info: Fields) -> list[Fields] | None:
    """The sizes that an input declares; None if it declares no shape."""
    kind = inside(info, 2)
    tensor = inside(kind, 1)
    sizes = messages(inside(tensor, 2), 1)
    if len(kind.keys() & {1, 4, 5, 7, 8, 9}) > 1 or any(size.keys() >= {1, 2} for size in sizes):
        raise WrongError("the model declares two types, or two sizes, of one thing")
    return None if one(tensor, 2) is None else sizes


def declared_type(info: Fields) -> int:
    """The type of the elements that an input declares; 0 if it declares none."""
    return whole(inside(inside(info, 2), 1), 1) or 0


def interval(code: int) -> Interval:
    """The integers of a type."""
    bits = 8 * struct.calcsize(CODES[code])
    least = 0 if CODES[code].isupper() else 1 << bits - 1
    return ("-", str(least)) if least else "0", str((1 << bits) - 1 - least)


def is_element(item: Tree, symbol: str, bound: Tree, code: int) -> bool:
    """The term is any element of a type: a symbol that is bounded as the type is."""
    if code == 9:
        return item == ("=", symbol, "1") and bound == within(symbol, TRUTH)
    return item == symbol and bound in ("", within(symbol, interval(code)))


def versions(message: Fields, number: int) -> dict[str, int]:
    """The opsets that a model or a function imports."""
    found: dict[str, int] = {}
    for item in messages(message, number):
        name, version = domain(one(item, 1)), whole(item, 2) or 0
        known = (max(since) for operator, since in VERSIONS.items() if operator.rpartition("::")[0] == name)
        if not 0 < version <= max(known, default=(1 << 31) - 1):
            raise WrongError(f"version {version} of {shortened(name or 'ai.onnx')} is not known")
        if found.setdefault(name, version) != version:
            raise WrongError("the model imports two versions of a domain")
    return found


def number_of(tree: Tree) -> int | bool | Fraction | None:
    """The number or truth that a term is."""
    if tree in ("true", "false"):
        return tree == "true"
    if isinstance(tree, tuple) and tree[0] == "/":
        above, below = tree[1:]
        sign, above = (-1, above[1]) if isinstance(above, tuple) else (1, above)
        return sign * Fraction(str(above)) / Fraction(str(below))
    return literal(tree)


class Comparison:
    """What steps say of the model, beside the model."""

    def __init__(self, model: Model, bounds: Mapping[str, Tree]) -> None:
        self.model, self.bounds = model, bounds
        self.equal: Counter[str] = Counter()
        self.open: Counter[str] = Counter()
        self.stated: list[str] = []  # about inputs, where the model says nothing or something that is not compared

    def step(self, step: dict[str, Any], steps: Sequence[dict[str, Any]], lemma: Lemma | None) -> str:
        """The reason why the step is not compared; empty if it is about this model. Raises WrongError if it is not."""
        site: Site = tuple(step["at"])
        try:
            if not site:
                raise OpenError("it has no place in the file")
            if step["by"] == "model":
                self.value(site, step)
            else:
                self.node(site, step, steps, lemma)
        except OpenError as reason:
            self.open[str(reason)] += 1
            return str(reason)
        self.equal[step["by"] if step["by"] == "lemma" else "Constant" if step["operator"] else "input"] += 1
        return ""

    def node(self, site: Site, step: dict[str, Any], steps: Sequence[dict[str, Any]], lemma: Lemma | None) -> None:
        """The node of the step has its operator, its inputs and its outputs, and is what the lemma says."""
        is_head = len(site) % 2 == 0
        body = self.model.body(site[:-2] if is_head else site[:-1])
        node = self.model.node(body, site[-2] if is_head else site[-1])
        operator = f"{node.domain}::{node.operator}" if node.domain else node.operator
        if lemma is not None and lemma.is_head != is_head:
            raise WrongError("its lemma is about another part of the node")
        if node.function[2] and node.function not in self.model.functions:
            raise OpenError("an operator that is overloaded")
        given = operator_of(step)
        if given != operator:
            raise WrongError(f"it is {step['operator'] or given}, the model has {operator} there")
        if step["operator"]:
            self.version(step, body, node)
        if not step["operator"] and (is_head or (not node.domain and node.operator in BODY)):
            expected = self.of_control(site, step, body, node)
            if len(step["takes"]) != len(expected):
                raise WrongError(f"it takes {len(step['takes'])} values, the model gives it {len(expected)}")
            if not is_head and lemma is not None:
                self.end_of_control(site, step, node, lemma, expected)
        else:
            expected = [body.find(name) for name in node.takes]
            self.form(node, body, expected, {} if lemma is None else lemma.node)
        names = ["" for _ in step["gives"]] if is_head else node.outputs
        if [claim["value"] for claim in step["gives"]] != names[: len(step["gives"])]:
            raise WrongError("its outputs have other names in the model")
        for name, claim in zip(self.model.body(site).inputs if is_head else node.outputs, step["gives"], strict=False):
            kinds = {sort_of(item, lambda name: "Int") for item in claim["elements"] or () if item is not None}
            kind = self.model.kind(self.model.body(site) if is_head else body, name) if kinds else ""
            if kinds and not kind:
                raise OpenError("the type of its elements is not known here")
            if kinds - {kind}:
                raise WrongError(f"its elements are {kind} in the model")
        for index, place in enumerate(step["takes"]):
            if place is None or (taken := steps[place[0]])["by"] == "rule":
                continue
            if index >= len(expected) or expected[index] != (tuple(taken["at"]), place[1]):
                raise WrongError(f"its input {index} is another value in the model")

    def version(self, step: dict[str, Any], body: Body, node: Node) -> None:
        """The operator is that of the imports; those of a function and of its model, for runtimes take either."""
        expected = newest(step)
        found = [
            newest(step, imports[node.domain]) if node.domain in imports else 0
            for imports in (body.imports, self.model.bodies[()].imports)
        ]
        if 0 in found:
            raise OpenError(f"the version of {node.domain or 'ai.onnx'} is not imported")
        if found[0] != found[1]:
            raise OpenError(f"the model and its function import two versions of {node.operator}")
        if found[0] != expected:
            raise WrongError(f"it is {step['operator']}, the model has {node.operator}-{found[0]} there")

    def form(self, node: Node, body: Body, takes: Sequence[Origin | None], said: Mapping[str, Any]) -> None:
        """The node has the inputs, outputs and attributes of which the lemma writes the specification down."""
        if not said:
            raise WrongError("its lemma does not say about which nodes it is")
        present = "".join("0" if origin is None else "1" for origin in takes)
        if said["inputs"].rstrip("0") != present.rstrip("0") or said["outputs"] != len(node.outputs):
            raise WrongError("its lemma is about a node with other inputs or outputs")
        if "*" in said["attributes"] and (more := node.attributes.keys() - said["attributes"].keys()):
            raise WrongError(f"its lemma is about a node without {shortened(min(more))}")
        for name, value in said["attributes"].items():
            if name == "*":
                continue
            found = self.model.attribute(node, name, body)
            if found != value or type(found) is not type(value):
                raise WrongError(f"{name} is {found} in the model, its lemma is about {value}")

    def of_control(self, site: Site, step: dict[str, Any], body: Body, node: Node) -> list[Origin | None]:
        """The values that an If, or the start, the next trip or the end of a loop takes."""
        takes = [body.find(name) for name in node.takes]
        if node.operator == "If":
            branches = [self.model.body((*site, name)) for name in BODY["If"]]
            if any(len(branch.outputs) != len(node.outputs) for branch in branches):
                raise WrongError("its branches have other numbers of outputs in the model")
            return [*takes, *(branch.find(name) for branch in branches for name in branch.outputs)]
        if node.operator != "Loop":
            raise OpenError(f"{node.operator} is not compared")
        takes += [None] * (2 - len(takes))
        inner_site = site if len(site) % 2 == 0 else (*site, "body")
        inner = self.model.body(inner_site)
        if len(inner.inputs) != len(takes) or len(inner.outputs) != len(node.outputs) + 1:
            raise WrongError("its body has other numbers of inputs or outputs in the model")
        results = [inner.find(name) for name in inner.outputs]
        if len(site) % 2:
            carried = [(inner_site, index) for index in range(2, len(takes))]
            return [*takes, *carried, *results, (inner_site, 0)]
        return [(inner_site, 0), *results[: len(takes) - 1]] if step["closes"] else takes

    def end_of_control(
        self, site: Site, step: dict[str, Any], node: Node, lemma: Lemma, expected: list[Origin | None]
    ) -> None:
        """The step speaks of all outputs; inputs that are left out in its lemma are so in the model."""
        if len(step["gives"]) != len(node.outputs):
            raise WrongError(f"it has {len(node.outputs)} outputs in the model")
        limited, begun = f"(assert {ENDS_ALONE})", "(define-fun begins@0 () Bool true)"
        for at, command in enumerate((limited, begun)):
            if command in lemma.of_node and expected[at] is not None:
                raise WrongError(f"its input {at} is not left out in the model")
        for out in range(len(node.outputs) if node.operator == "Loop" else 0):
            if f"(define-fun out{out}@0 () Int trips@0)" in lemma.of_node:
                sizes = declared_sizes(self.model.body((*site, "body")).results[out + 1])
                if sizes is None or lemma.defined[f"out{out}@rank"] != str(len(sizes) + 1):
                    raise WrongError(f"output {out} has another rank if there is no trip")

    def value(self, site: Site, step: dict[str, Any]) -> None:
        """The input or constant is as the step says."""
        body, claim = self.model.body(site[:-1]), step["gives"][0]
        if claim["value"] != site[-1]:
            raise WrongError("its value has another name in the model")
        if step["operator"]:
            self.constant(self.model.node(body, site[-1]), body, step)
        elif site[-1] in body.inputs and len(site) == 1 and not (self.model.are_fixed and site[-1] in body.constants):
            self.input(site[-1], body.inputs[site[-1]], step)
        elif site[-1] in body.constants:
            tensor = body.constants[site[-1]]
            self.tensor(integers(tensor, 1), lambda: self.model.elements(tensor), claim)
        elif site[-1] in body.sparse:
            raise OpenError("sparse tensors are not read")
        else:
            raise WrongError(f"the model has no input or constant {shortened(site[-1])}")

    def constant(self, node: Node, body: Body, step: dict[str, Any]) -> None:
        """The value of a Constant."""
        if (node.domain, node.operator) != ("", "Constant"):
            raise WrongError(f"it is {step['operator']}, the model has {node.operator} there")
        self.version(step, body, node)
        if node.takes or len(node.outputs) != 1 or len(node.attributes) != 1:
            raise WrongError("a Constant takes nothing and has one attribute")
        ((name, attribute),) = node.attributes.items()
        claim, kind = step["gives"][0], whole(attribute, 20)
        if one(attribute, 21) is not None:
            raise OpenError("the call of a function decides the constant")
        if (name, kind) == ("value", 4):
            tensor = inside(attribute, 5)
            self.tensor(integers(tensor, 1), lambda: self.model.elements(tensor), claim)
        elif (name, kind) in (("value_int", 2), ("value_ints", 7), ("value_float", 1), ("value_floats", 6)):
            found = self.model.attribute(node, name, body)
            items = found if isinstance(found, list) else [found]
            exact = Fraction if kind in (1, 6) else int
            self.tensor([len(items)] if kind in (6, 7) else [], lambda: list(map(exact, items)), claim)
        else:
            raise OpenError(f"a Constant by {shortened(name)} is not read")

    def tensor(self, sizes: list[int], elements: Callable[[], Sequence[Any]], claim: dict[str, Any]) -> None:
        """The claim about a constant."""
        dims = sizes if claim["dims"] is None else claim["dims"]
        if len(dims) != len(sizes) or any(d not in (None, s, str(s)) for d, s in zip(dims, sizes, strict=True)):
            raise WrongError(f"its shape in the model is {sizes}")
        if any(item is not None for item in claim["elements"] or ()):
            found = elements()
            if len(found) != len(claim["elements"]):
                raise WrongError(f"it has {len(found)} elements in the model")
            for said, item in zip(claim["elements"], found, strict=True):
                number = None if said is None else number_of(said)
                if said is not None and (number != item or type(number) is not type(item)):
                    raise WrongError(f"an element is {item} in the model, claimed is {printed(said)}")

    def input(self, name: str, info: Fields, step: dict[str, Any]) -> None:
        """What the model declares of an input, and what it leaves to its symbols."""
        claim, new = step["gives"][0], step["introduces"]
        said = Counter(
            atom for part in (*(claim["dims"] or ()), *(claim["elements"] or ())) for atom in atoms(part or "")
        )
        dims, declared = claim["dims"], declared_sizes(info)
        if dims is not None and declared is not None and len(dims) != len(declared):
            raise WrongError(f"it has {len(declared)} axes in the model")
        if dims is not None and declared is None:
            self.stated.append(f"{name} has {len(dims)} axes")
        for axis, term in enumerate(dims or ()):
            size = declared[axis] if declared is not None else {}
            value, param = whole(size, 1), string(one(size, 2))
            is_new = isinstance(term, str) and new.get(term) == f"out0@{axis}" and term not in self.model.symbols
            if term is None or (value is None and (is_new or (param and term == quoted(param)))):
                continue
            if value is not None and value >= 0:
                if term != str(value):
                    raise WrongError(f"axis {axis} has {value} in the model, claimed is {printed(term)}")
            else:
                self.stated.append(f"{name}[{axis}] is {printed(term)}" + (f", declared {param}" if param else ""))
        code = declared_type(info)
        sorts = {sort_of(term, lambda name: "Int") for term in claim["elements"] or () if term is not None}
        if sorts - {"Bool" if code == 9 else "Int" if code in WHOLE else ""}:
            raise WrongError("its elements are of another type in the model")
        for at, term in enumerate(claim["elements"] or ()):
            own = [word for word in atoms(term or "") if word in new.keys() - self.model.symbols and said[word] == 1]
            if term is not None and not any(is_element(term, word, self.bounds[word], code) for word in own):
                self.stated.append(f"element {at} of {name} is {printed(term)}")


# The chain

VERSIONS = {
    name: [int(version) for version in versions.split(",")]
    for name, versions in re.findall(
        r"(\S+):([\d,]+)",
        """
        Abs:1,6,13 Acos:7,22 Acosh:9,22 Add:1,6,7,13,14 AffineGrid:20 And:1,7 ArgMax:1,11,12,13 ArgMin:1,11,12,13
        Asin:7,22 Asinh:9,22 Atan:7,22 Atanh:9,22 Attention:23,24,25 AveragePool:1,7,10,11,19,22
        BatchNormalization:1,6,7,9,14,15 Bernoulli:15,22 BitCast:26 BitShift:11,28 BitwiseAnd:18 BitwiseNot:18
        BitwiseOr:18 BitwiseXor:18 BlackmanWindow:17 Cast:1,6,9,13,19,21,23,24,25,28 CastLike:15,19,21,23,24,25
        CausalConvWithState:27 Ceil:1,6,13 Celu:12,28 CenterCropPad:18 Clip:1,6,11,12,13 Col2Im:18 Compress:9,11,28
        Concat:1,4,11,13 ConcatFromSequence:11 Constant:1,9,11,12,13,19,21,23,24,25 ConstantOfShape:9,20,21,23,24,25
        Conv:1,11,22 ConvInteger:10 ConvTranspose:1,11,22 Cos:7,22 Cosh:9,22 CumProd:26 CumSum:11,14 DFT:17,20
        DeformConv:19,22 DepthToSpace:1,11,13,28 DequantizeLinear:10,13,19,21,23,24,25,28 Det:11,22 Div:1,6,7,13,14
        Dropout:1,6,7,10,12,13,22 DynamicQuantizeLinear:11 Einsum:12,28 Elu:1,6,22 Equal:1,7,11,13,19 Erf:9,13
        Exp:1,6,13 Expand:8,13 EyeLike:9,22 Flatten:1,9,11,13,21,23,24,25 Floor:1,6,13 GRU:1,3,7,14,22 Gather:1,11,13
        GatherElements:11,13 GatherND:11,12,13 Gelu:20 Gemm:1,6,7,9,11,13 GlobalAveragePool:1,22 GlobalLpPool:1,2,22
        GlobalMaxPool:1,22 Greater:1,7,9,13 GreaterOrEqual:12,16 GridSample:16,20,22 GroupNormalization:18,21
        HammingWindow:17 HannWindow:17 HardSigmoid:1,6,22 HardSwish:14,22 Hardmax:1,11,13
        Identity:1,13,14,16,19,21,23,24,25 If:1,11,13,16,19,21,23,24,25 ImageDecoder:20 InstanceNormalization:1,6,22
        IsInf:10,20 IsNaN:9,13,20 LRN:1,13 LSTM:1,7,14,22 LayerNormalization:17 LeakyRelu:1,6,16 Less:1,7,9,13
        LessOrEqual:12,16 LinearAttention:27 Log:1,6,13 LogSoftmax:1,11,13 Loop:1,11,13,16,19,21,23,24,25
        LpNormalization:1,22 LpPool:1,2,11,18,22 MatMul:1,9,13 MatMulInteger:10 Max:1,6,8,12,13 MaxPool:1,8,10,11,12,22
        MaxRoiPool:1,22 MaxUnpool:9,11,22 Mean:1,6,8,13 MeanVarianceNormalization:9,13 MelWeightMatrix:17
        Min:1,6,8,12,13 Mish:18,22 Mod:10,13,28 Mul:1,6,7,13,14 Multinomial:7,22 Neg:1,6,13
        NegativeLogLikelihoodLoss:12,13,22 NonMaxSuppression:10,11 NonZero:9,13 Not:1 OneHot:9,11,28 Optional:15,28
        OptionalGetElement:15,18,28 OptionalHasElement:15,18,28 Or:1,7 PRelu:1,6,7,9,16 Pad:1,2,11,13,18,19,21,23,24,25
        Pow:1,7,12,13,15 QLinearConv:10 QLinearMatMul:10,21 QuantizeLinear:10,13,19,21,23,24,25,28 RMSNormalization:23
        RNN:1,7,14,22 RandomNormal:1,22 RandomNormalLike:1,22 RandomUniform:1,22 RandomUniformLike:1,22 Range:11,27
        Reciprocal:1,6,13 ReduceL1:1,11,13,18 ReduceL2:1,11,13,18 ReduceLogSum:1,11,13,18,28
        ReduceLogSumExp:1,11,13,18,28 ReduceMax:1,11,12,13,18,20 ReduceMean:1,11,13,18 ReduceMin:1,11,12,13,18,20
        ReduceProd:1,11,13,18 ReduceSum:1,11,13 ReduceSumSquare:1,11,13,18 RegexFullMatch:20 Relu:1,6,13,14
        Reshape:1,5,13,14,19,21,23,24,25 Resize:10,11,13,18,19 ReverseSequence:10,28 RoiAlign:10,16,22
        RotaryEmbedding:23 Round:11,22 STFT:17 Scan:8,9,11,16,19,21,23,24,25 Scatter:9,11 ScatterElements:11,13,16,18
        ScatterND:11,13,16,18 Selu:1,6,22 SequenceAt:11 SequenceConstruct:11 SequenceEmpty:11 SequenceErase:11
        SequenceInsert:11 SequenceLength:11 SequenceMap:17 Shape:1,13,15,19,21,23,24,25 Shrink:9 Sigmoid:1,6,13
        Sign:9,13 Sin:7,22 Sinh:9,22 Size:1,13,19,21,23,24,25 Slice:1,10,11,13 Softmax:1,11,13
        SoftmaxCrossEntropyLoss:12,13 Softplus:1,22 Softsign:1,22 SpaceToDepth:1,13,28 Split:1,2,11,13,18
        SplitToSequence:11,24 Sqrt:1,6,13 Squeeze:1,11,13,21,23,24,25 StringConcat:20 StringNormalizer:10 StringSplit:20
        Sub:1,6,7,13,14 Sum:1,6,8,13 SwiGLU:28 Swish:24 Tan:7,22 Tanh:1,6,13 TensorScatter:24 TfIdfVectorizer:9
        ThresholdedRelu:10,22 Tile:1,6,13 TopK:1,10,11,24 Transpose:1,13,21,23,24,25 Trilu:14 Unique:11,28
        Unsqueeze:1,11,13,21,23,24,25 Upsample:1,7,9,10 Where:9,16 Xor:1,7 ai.onnx.ml::ArrayFeatureExtractor:1
        ai.onnx.ml::Binarizer:1 ai.onnx.ml::CastMap:1 ai.onnx.ml::CategoryMapper:1 ai.onnx.ml::DictVectorizer:1
        ai.onnx.ml::FeatureVectorizer:1 ai.onnx.ml::Imputer:1 ai.onnx.ml::LabelEncoder:1,2,4
        ai.onnx.ml::LinearClassifier:1 ai.onnx.ml::LinearRegressor:1 ai.onnx.ml::Normalizer:1
        ai.onnx.ml::OneHotEncoder:1 ai.onnx.ml::SVMClassifier:1 ai.onnx.ml::SVMRegressor:1 ai.onnx.ml::Scaler:1
        ai.onnx.ml::TreeEnsemble:5 ai.onnx.ml::TreeEnsembleClassifier:1,3,5 ai.onnx.ml::TreeEnsembleRegressor:1,3,5
        ai.onnx.ml::ZipMap:1
    """,
    )
}  # of each operator of ONNX: the opsets that introduced or changed it


def literal(tree: Tree) -> int | None:
    """The number that a term is."""
    if isinstance(tree, str):
        return int(tree) if is_name(tree, NATURAL) else None
    return -int(str(tree[1])) if len(tree) == 2 and tree[0] == "-" and is_name(tree[1], NATURAL) else None


def bounds_alone(bound: Tree, name: str) -> bool:
    """The formula says between which numbers the symbol is, and leaves one."""
    if not bound:
        return True
    if isinstance(bound, str) or bound[0] != "<=" or bound.count(name) != 1 or len(bound) not in (3, 4):
        return False
    at = bound.index(name)
    numbers = [literal(part) for part in (*bound[1:at], *bound[at + 1 :])]
    return at <= 2 and None not in numbers and numbers == sorted(numbers, key=lambda item: item or 0)


HOW = ("certified", "resting", "on trust", "open")  # how a size is known, the best first
TRUSTED = HOW[1:3]


class Chain:
    """The steps of a certificate, checked one after the other."""

    def __init__(
        self, manifest: Mapping[str, Any], lemmas: Mapping[str, Lemma], model: Model | None = None, known: str = ""
    ) -> None:
        self.manifest, self.lemmas = MANIFEST(manifest), lemmas
        self.bounds: dict[str, Tree] = self.manifest["symbols"]
        self.comparison = None if model is None else Comparison(model, self.bounds)
        self.read = known  # the hashes of the specifications that somebody has read; empty if nobody says
        self.steps: list[dict[str, Any]] = []
        self.known: set[str] = set()  # symbols that were introduced
        self.on_word: dict[str, int] = {}  # those introduced on the word of a rule, with the step
        self.words: list[set[int]] = []  # for each step the steps on whose word it rests
        self.reasons: dict[int, str] = {}  # for each step that is on trust, in whole or in part
        self.born: dict[str, str] = {}  # what each symbol is, in words
        self.values: dict[str, Origin] = {}  # without a model, the values of the main graph by name
        self.asked: list[tuple[int, str, list[str] | None]] = []  # texts, with the steps, and symbols if they are read
        # For each step those whose claims it takes; for the head of a loop that of its next trip too.
        self.needs: list[set[int]] = []
        self.heads: set[int] = set()
        self.opened: set[int] = set()  # heads of loops whose next trip is not shown yet
        self.counts: Counter[tuple[str, str]] = Counter()
        self.ranks: dict[tuple[Site | int, int], tuple[int, str]] = {}  # of each value, and how that is known
        # For each size how it is known, why not better, by whom, and as which term
        self.sizes: dict[tuple[Site | int, int, int], tuple[str, str, str, Tree | None]] = {}

    def begin(self) -> None:
        """Check the symbols, and what is declared or assumed of them."""
        for symbol, bound in self.bounds.items():
            if not bounds_alone(bound, symbol):
                raise WrongError(f"{printed(bound)} does not bound {symbol} alone")
        premises = self.manifest["premises"]
        spoken = dict.fromkeys(word for premise in premises for word in atoms(premise) if is_symbol(word))
        self.known.update(self.manifest["inputs"])
        for premise in premises:
            self.sort(premise, "Bool")
        for symbol in self.manifest["inputs"]:
            if symbol not in spoken:
                raise WrongError(f"no premise is about {symbol}")
            self.bounded(symbol)

    def step(self, at: int) -> None:
        """Check one step, which may rest on earlier ones alone."""
        step = STEP(self.manifest["steps"][at])
        self.steps.append(step)
        by, new = step["by"], step["introduces"]
        self.words.append(set())
        self.needs.append({taken[0] for taken in step["takes"] if taken is not None})
        if any(need >= at for need in self.needs[at]):
            raise WrongError("it rests on a later step")
        if self.known & new.keys():
            raise WrongError(f"it introduces {min(self.known & new.keys())} again")
        for claim in step["gives"]:
            self.form(claim)
        stated = parts(step)
        for index, claim in enumerate(step["gives"] if len(step["at"]) == 1 else ()):
            self.values.setdefault(claim["value"], (tuple(step["at"]), index))
        for symbol, named in new.items():
            self.bound(symbol)
            self.born[symbol] = f"{in_words(named)} of {step['node']}"
            if named and stated.get(named) != symbol:
                raise WrongError(f"{symbol} does not stand at {named}")
            if by == "model":
                self.bounded(symbol, *self.of_model(symbol, step))
        if odd := {part for part in step["on_trust"] if stated.get(part) is None}:
            raise WrongError(f"it does not claim {min(odd)}")
        odd = {symbol for symbol, named in new.items() if by == "rule" or (by == "lemma" and not named)}
        self.on_word |= dict.fromkeys(odd, at)
        self.known |= odd
        places: dict[str, str] = {}  # of the values in a query, with their sorts, of which its relation may speak
        if by == "lemma":
            if step["lemma"] not in self.lemmas:
                raise WrongError(f"there is no lemma {step['lemma']!r}")
            lemma = self.lemmas[step["lemma"]]
            self.by_lemma(at, step, lemma)
            if lemma.title == "query":
                places = lemma.sorts
                self.text(at, step)
        elif by == "model":
            from_model(step)
        if by != "lemma" and any(given["by"] != "rule" for given in step["relations"]):
            raise WrongError("no lemma shows its relations")
        if by != "lemma" and any(step[key] for key in ("lemma", "names", "facts", "closes", "on_trust")):
            raise WrongError("it has no lemma")
        if any(given["by"] == "rule" and given["role"] in ASKED for given in step["relations"]):
            raise WrongError("a query needs a lemma without a node")
        self.known |= new.keys()
        for claim in step["gives"]:
            self.sorted(claim)
        for given in step["relations"]:
            self.sort(given["formula"], "Bool", places)
        declared = set() if self.comparison is None else self.comparison.model.symbols & new.keys()
        if declared and (by != "model" or step["operator"]):
            raise WrongError(f"{min(declared)} is declared for sizes of inputs")
        if reason := self.trusted(step, odd):
            self.words[at].add(at)
            self.reasons[at] = reason

    def trusted(self, step: dict[str, Any], odd: set[str]) -> str:
        """The reason why the step rests on somebody's word; empty if it does not."""
        lemma = self.lemmas.get(step["lemma"])
        if any(given["role"] in ASKED for given in step["relations"]):
            return ""
        operator = step["operator"] or operator_of(step)
        open_ = "" if step["by"] == "rule" or self.comparison is None else self.comparison.step(step, self.steps, lemma)
        if step["by"] == "rule" or step["on_trust"] or odd:
            return f"{operator}: {step['reason'] or 'the word of absint'}"
        if open_ or lemma is None or not self.read or lemma.title in CONTROL:
            return open_ and f"{operator}: not compared, {open_}"
        is_known = lemma.specification(self.manifest["semantics"]) in self.read
        return "" if is_known else f"{operator}: a specification that is not among those read"

    def text(self, at: int, step: dict[str, Any]) -> None:
        """The text of a query says what its lemma shows; if it is not read here, the query is its formula."""
        given = step["relations"][0]
        if given["role"] != "query":
            return
        main = None if self.comparison is None else self.comparison.model.bodies[()]

        def place(name: str) -> tuple[int, int]:
            origin = self.values[name] if main is None else main.find(name)
            for number, taken in enumerate(step["takes"]):
                if taken is not None and (tuple(self.steps[taken[0]]["at"]), taken[1]) == origin:
                    if (dims := self.claim(taken)["dims"]) is None:
                        raise OpenError(f"the number of axes of {shortened(name)} is not claimed")
                    return number, len(dims)
            raise WrongError(f"it takes no size of {shortened(name)}, its text does")

        def bound(symbol: str) -> Tree | None:
            return self.bounds.get(symbol) if symbol in self.known else None

        try:
            asked = Asked(given["reason"], self.values if main is None else main.origins, place, bound)
        except OpenError as reason:
            self.asked.append((at, f"{self.written(step)} ({reason})", None))
            return
        if asked.formula != given["formula"]:
            told = f"the text {shortened(given['reason'])} says {printed(asked.formula)}"
            raise WrongError(f"{told}, its lemma shows {printed(given['formula'])}")
        self.asked.append((at, given["reason"], list(asked.symbols)))

    def form(self, claim: dict[str, Any]) -> None:
        """Elements are those of a value whose sizes are numbers."""
        if claim["elements"] is None:
            return
        sizes = [None if dim is None else literal(dim) for dim in claim["dims"] or (None,) * (claim["dims"] is None)]
        if None in sizes or math.prod(size or 0 for size in sizes) != len(claim["elements"]):
            raise WrongError(f"{claim['value']} has not {len(claim['elements'])} elements")

    def sorted(self, claim: dict[str, Any]) -> str:
        """Sizes are integers, elements are of one sort, which is the answer."""
        for dim in claim["dims"] or ():
            if dim is not None:
                self.sort(dim, "Int")
        sorts = {self.sort(item) for item in claim["elements"] or () if item is not None}
        if len(sorts) > 1:
            raise WrongError(f"{claim['value']} has elements of {len(sorts)} sorts")
        return min(sorts, default="")

    def sort(self, tree: Tree, expected: str = "", places: Mapping[str, str] = {}) -> str:
        """The sort of a term over symbols that have a meaning, and these places of a lemma."""

        def of_name(name: str) -> str:
            if name in places and not is_name(name, NUMBER):
                return places[name]
            if name not in self.known:
                raise WrongError(f"nobody has introduced {shortened(name)}")
            return "Int"

        found = sort_of(tree, of_name)
        if expected and found != expected:
            raise WrongError(f"{shortened(printed(tree))} is not of sort {expected}")
        return found

    def bound(self, symbol: str) -> Tree:
        """The formula that bounds a symbol."""
        if symbol not in self.bounds:
            raise WrongError(f"nothing says how {symbol} is bounded")
        return self.bounds[symbol]

    def bounded(self, symbol: str, *intervals: Interval | None) -> None:
        """The manifest bounds a size as all sizes are, and an element by its type."""
        allowed = ["" if found is None else within(symbol, found) for found in intervals or (SIZE,)]
        if self.bound(symbol) not in allowed:
            raise WrongError(f"nothing bounds {symbol} by {printed(self.bound(symbol))}")

    def of_model(self, symbol: str, step: dict[str, Any]) -> Sequence[Interval | None]:
        """The bounds that a symbol in what the model says may have."""
        (claim,) = step["gives"] or [{"dims": (), "elements": ()}]
        if any(symbol in atoms(dim) for dim in claim["dims"] or () if dim is not None):
            return (SIZE,)
        items = [item for item in claim["elements"] or () if item is not None]
        if ("=", symbol, "1") in items:
            return (TRUTH,)
        if not any(symbol in atoms(item) for item in items):
            raise WrongError(f"it says nothing of {symbol}")
        return (None, *map(interval, WHOLE))

    def end(self) -> None:
        """Check that the loops are closed; count the claims by what they rest on."""
        if self.opened:
            raise WrongError(f"the loop of step {min(self.opened)} is not shown to go on")
        if unused := self.lemmas.keys() - {step["lemma"] for step in self.steps}:
            raise WrongError(f"no step needs lemmas/{min(unused)}.smt2")
        before = -1
        while sum(map(len, self.words)) != before:
            before = sum(map(len, self.words))
            for words, needs in zip(self.words, self.needs, strict=True):
                words.update(*(self.words[step] for step in needs))
        for at, (step, words) in enumerate(zip(self.steps, self.words, strict=True)):
            self.count(at, step, words)
        for how, _, by, _ in self.sizes.values():
            self.counts["sizes", how] += by != "model"

    def reason(self, steps: set[int]) -> str:
        """The reason why the first of these steps is on trust."""
        return self.reasons.get(min(steps), "a relation that is the word of absint")

    def count(self, at: int, step: dict[str, Any], rests: set[int]) -> None:
        """Count the claims by what they rest on; a size that several rounds claim is counted once."""
        best = "resting" if rests else "certified"
        site = tuple(step["at"]) or at
        for out, claim in enumerate(step["gives"]):
            if claim["dims"] is not None:
                how = "on trust" if step["by"] == "rule" or f"out{out}@rank" in step["on_trust"] else best
                rank = (len(claim["dims"]), how)
                self.ranks[site, out] = min(self.ranks.get((site, out), rank), rank, key=lambda r: HOW.index(r[1]))
            for axis, dim in enumerate(claim["dims"] or ()):
                on_trust = step["by"] == "rule" or f"out{out}@{axis}" in step["on_trust"]
                how = "open" if dim is None else "on trust" if on_trust else best
                reason = self.reason(rests) if how in TRUSTED else ""
                found = self.sizes.get((site, out, axis))
                if found is None or HOW.index(how) <= HOW.index(found[0]):
                    self.sizes[site, out, axis] = (how, reason, step["by"], dim)
        for given in step["relations"]:
            kind = {"required": "requirements", "query": "queries"}.get(given["role"], given["role"])
            if given["by"] == "rule" or kind != "derived":
                self.counts[kind, "on trust" if given["by"] == "rule" else best] += 1

    def by_lemma(self, at: int, step: dict[str, Any], lemma: Lemma) -> None:
        """The lemma, with terms for its symbols, says what the step claims of what it takes."""
        names: dict[str, Tree] = step["names"]
        head = self.head(at, step, lemma)
        self.title(step, lemma)
        self.control(at, step, lemma)
        new: dict[str, str] = head["introduces"]
        numbers = {name for name in lemma.sorts if is_name(name, NUMBER)}
        if strange := numbers ^ names.keys():
            raise WrongError(f"{min(strange)} stands for nothing")
        for name, term in names.items():
            self.needs[at] |= {self.on_word[word] for word in atoms(term) if word in self.on_word} - {at}
            if name not in lemma.defined:
                of_trip = set(atoms(term)) & new.keys() if head is not step else set()
                if of_trip and any(name in atoms(claim) for claim in lemma.claims):
                    raise WrongError(f"its claims must be about {min(of_trip)} of the next trip")
                if not set(filter(is_symbol, atoms(term))) <= self.known:
                    raise WrongError(f"{name} stands for what nobody has introduced")
                self.sort(term, "Int")
            elif lemma.defined[name] != new.get(str(term)) or not self.may_name(str(term), name, lemma):
                raise WrongError(f"{printed(term)} is not the name of a size or an element")
        if unnamed := {symbol for symbol, place in new.items() if place and symbol not in names.values()}:
            raise WrongError(f"its lemma does not name {min(unnamed)}")
        for bound in lemma.bounds:
            found = replaced(bound, names)
            if found not in [self.bounds.get(word) for word in atoms(found)]:
                raise WrongError(f"the manifest does not bound {printed(found)}")
        self.inputs(step, lemma)
        facts = [self.relation(at, taken) for taken in step["facts"]]
        if [replaced(fact, names) for fact in lemma.facts] != facts:
            raise WrongError("its facts are not those of the steps it names")
        expected = [*claimed(head), *(given["formula"] for given in head["relations"] if given["by"] == "lemma")]
        shown = [replaced(claim, names) for claim in lemma.claims]
        if shown[len(shown) - len(expected) :] != expected:
            pairs = zip(expected, shown[-len(expected) :], strict=False)
            odd = next((f"{printed(a)}, its lemma proves {printed(b)}" for a, b in pairs if a != b), "")
            raise WrongError(f"it claims {odd or 'more than its lemma proves'}")

    def title(self, step: dict[str, Any], lemma: Lemma) -> None:
        """The lemma is about the operator of the step, or about no node if it shows what somebody asks."""
        asked = [given["role"] in ASKED for given in step["relations"]]
        operator, _, version = lemma.title.rpartition("-")
        if lemma.title == "query":
            if asked != [True] or step["operator"] or step["gives"] or step["introduces"] or step["on_trust"]:
                raise WrongError("its lemma is about no node")
            if step["relations"][0]["role"] == "derived" and step["takes"]:
                raise WrongError("what is derived is about no value")
            for place in filter(None, step["takes"] if lemma.sizes else ()):
                self.of_every_run(place[0])
        elif any(asked):
            raise WrongError("a query needs a lemma without a node")
        elif operator_of(step) != (operator or lemma.title):
            raise WrongError(f"its lemma is about {lemma.title}")
        elif bool(operator) != bool(step["operator"]) or (operator and int(version) != newest(step)):
            raise WrongError(f"its lemma is about {lemma.title}, not about {step['operator'] or 'control flow'}")

    def head(self, at: int, step: dict[str, Any], lemma: Lemma) -> dict[str, Any]:
        """The step whose claims the lemma is about: itself, or the head of a loop, of which it shows the next trip."""
        if bool(step["closes"]) != ("next@0" in lemma.sorts):
            raise WrongError("it closes no loop")
        if "start@0" in lemma.sorts:
            self.opened.add(at)
            self.heads.add(at)
        if not step["closes"]:
            return step
        head: int = step["closes"][0]
        if head not in self.opened:
            raise WrongError("it closes no loop")
        if step["gives"] or step["relations"] or step["introduces"] or step["on_trust"]:
            raise WrongError("it shows the claims of the head of a loop, and states none")
        if step["takes"][:1] != [(head, 0)]:
            raise WrongError("it must take the number of the trip from the head")
        self.opened.remove(head)
        self.needs[head].add(at)
        return self.steps[head]

    def control(self, at: int, step: dict[str, Any], lemma: Lemma) -> None:
        """The lemma of an If or of the end of a loop takes each output from where it comes."""
        takes, before = step["takes"], len(step["takes"])
        if "trips@0" in lemma.sorts:
            number = takes[-1] if takes else None
            if number is None or number[1] or self.steps[number[0]]["node"] != step["node"] or number[0] in self.opened:
                raise WrongError("it must take the number of the last trip from the head of its loop")
            if takes[0] is not None and f"(assert {ENDS_ALONE})" in lemma.of_node:
                raise WrongError("the loop may end by the number of its trips")
            last = before - 2 - len(step["gives"])  # of the last trip: its condition, then its results
            first = {"(= trips@0 0)": 2, "(<= 1 trips@0)": last + 1}
            self.loop(step, lemma, last)
        elif lemma.title == "If":
            first = {"taken@0": 1, "(not taken@0)": 1 + (before - 1) // 2}
        else:
            return
        if not step["gives"]:
            raise WrongError("it must state what it gives")
        for command in lemma.of_node:
            found = re.fullmatch(rf"\(assert \(=> (.+) \(= out({NATURAL})@(\w+) in({NATURAL})@(\w+)\)\)\)", command)
            if found:
                when, out, part, taken, its_part = found.groups()
                is_row = "trips@0" in lemma.sorts and f"(define-fun out{out}@0 () Int trips@0)" in lemma.of_node
                expected = part if not is_row else str(int(part) - 1) if part.isdecimal() else ""
                if int(taken) != first[when] + int(out) or its_part != expected:
                    raise WrongError(f"output {out} is not {printed(('=>', when, taken))}")

    def loop(self, step: dict[str, Any], lemma: Lemma, last: int) -> None:
        """What the lemma of the end of a loop says of conditions, the last trip and rows is about the right inputs."""
        for command in lemma.of_node:
            if found := re.fullmatch(r"\(define-fun goes@0 \(\) Bool in(\w+)@e0\)", command):
                expected = str(last)
            elif found := re.fullmatch(r"\(assert \(=> \(<= 1 trips@0\) \(= in(\w+)@e0 \(- trips@0 1\)\)\)\)", command):
                expected = str(len(step["takes"]) - 1)
            elif found := re.fullmatch(r"\(define-fun (out(\w+)@(?:rank \(\) Int \w+|0 \(\) Int trips@0))\)", command):
                row = f"in{last + 1 + int(found[2])}@rank"
                rank = literal(lemma.defined.get(row, ""))
                is_row = int(found[2]) >= (last - 2) // 2 and rank is not None
                right = (f"out{found[2]}@rank () Int {(rank or 0) + 1}", f"out{found[2]}@0 () Int trips@0")
                if not is_row or found[1] not in right:
                    raise WrongError(f"output {found[2]} has no row for each trip")
                continue
            else:
                continue
            if found[1] != expected:
                raise WrongError(f"this is about another input: {command}")

    def may_name(self, symbol: str, name: str, lemma: Lemma) -> bool:
        """A symbol for a size, an element or the number of a trip may be bounded as these are, and no closer."""
        place = str(lemma.defined[name])
        is_trip = place == "out0@e0" and lemma.is_head
        forms = TRIP if is_trip else INTEGER if "@e" in place else SIZE
        return lemma.sorts[place] == "Int" and self.bounds.get(symbol) == within(symbol, forms)

    def inputs(self, step: dict[str, Any], lemma: Lemma) -> None:
        """The lemma assumes of its inputs exactly the claims of their steps."""
        said = {name for name in lemma.sorts if name.startswith("in")}
        for at, place in enumerate(step["takes"]):
            own = {name for name in said if name.startswith(f"in{at}@")}
            said -= own
            if place is None or not own:
                if own:
                    raise WrongError(f"input {at} is left out")
                continue
            claim = self.claim(place)
            known, sort = parts_of(f"in{at}", claim), self.sorted(claim)
            if own != known.keys():
                raise WrongError(f"input {at} has another form in its lemma")
            for name in own:
                if "@e" in name and lemma.sorts[name] != sort:
                    raise WrongError(f"{name} is not of sort {sort}")
                found = known[name]
                if name in lemma.defined and replaced(lemma.defined[name], step["names"]) != found:
                    said_of = printed(replaced(lemma.defined[name], step["names"]))
                    raise WrongError(f"{name} is {said_of} in its lemma, claimed is {printed(found or 'nothing')}")
        if said:
            raise WrongError(f"it has no input {min(said)}")

    def claim(self, place: tuple[int, int]) -> dict[str, Any]:
        step, output = place
        if output >= len(self.steps[step]["gives"]):
            raise WrongError(f"step {step} has no output {output}")
        return dict(self.steps[step]["gives"][output])

    def relation(self, at: int, place: tuple[int, int]) -> Tree:
        """The formula of a premise, or of an earlier step, which is about no values of a query."""
        step, index = place
        if step >= at:
            raise WrongError("it rests on a later step")
        found = self.manifest["premises"] if step == -1 else [r["formula"] for r in self.steps[step]["relations"]]
        if index >= len(found):
            raise WrongError(f"step {step} has no relation {index}")
        self.sort(found[index], "Bool")
        if step >= 0:
            self.of_every_run(step)
            self.needs[at].add(step)
            self.words[at] |= {step} if self.steps[step]["relations"][index]["by"] == "rule" else set()
        formula: Tree = found[index]
        return formula

    def of_every_run(self, step: int) -> None:
        """Every run computes what the step is about, and some output depends on it."""
        site: Site = tuple(self.steps[step]["at"])
        if set(site[1:-1:2]) - {"()"}:
            raise WrongError(f"not every run computes step {step}")
        model = None if self.comparison is None else self.comparison.model
        is_node = bool(site) and (self.steps[step]["by"] != "model")
        if is_node and model is not None and site[: len(site) - (len(site) + 1) % 2] not in model.needed:
            raise WrongError(f"no output depends on step {step}")

    def place_of(self, place: tuple[int, int] | None) -> str:
        """The name of a value, with the way to its body."""
        if place is None:
            return ""
        site = self.steps[place[0]]["at"]
        return words("/".join([*site[: len(site) - len(site) % 2], str(self.claim(place)["value"])]))

    def written(self, step: dict[str, Any]) -> str:
        """The formula of a query, with the names of the values in it."""
        names = {
            f"in{at}@{axis}": f"{self.place_of(place)}[{axis}]"
            for at, place in enumerate(step["takes"])
            for axis in range(len(self.claim(place)["dims"] or ()) if place else 0)
        }
        return printed(replaced(step["relations"][0]["formula"], names))


ENDS_ALONE = "(or (not begins@0) (and (<= 1 trips@0) (not goes@0)))"


def operator_of(step: dict[str, Any]) -> str:
    """The operator in the name of the node, which is that of the step if it has one."""
    operator = re.split("[ ,]", step["node"])[0]
    if step["operator"] and step["operator"].rpartition("-")[0] != operator:
        raise WrongError(f"it is no node of {step['operator']}")
    return operator


def newest(step: dict[str, Any], opset: int = 0) -> int:
    """The version of the step's operator in its opset or another; the opset if ONNX does not define it."""
    name, opset = operator_of(step), opset or int(step["operator"].rpartition("-")[2] or 0)
    return max((version for version in VERSIONS.get(name, ()) if version <= opset), default=opset)


def from_model(step: dict[str, Any]) -> None:
    """Inputs, initialisers and constants are read from the model: they take nothing and state nothing."""
    kind = operator_of(step)
    if kind != ("Constant" if step["operator"] else "input"):
        raise WrongError(f"only inputs and constants are read from the model, not {kind}")
    if step["takes"] or len(step["gives"]) != 1 or step["relations"]:
        raise WrongError("what is read from the model is one value: it takes nothing and states nothing")


def parts_of(name: str, claim: dict[str, Any]) -> dict[str, Tree | None]:
    """The number of axes, the sizes and the elements that a claim is about."""
    dims = claim["dims"]
    found: dict[str, Tree | None] = {} if dims is None else {f"{name}@rank": str(len(dims))}
    found |= {f"{name}@{axis}": dim for axis, dim in enumerate(dims or ())}
    return found | {f"{name}@e{place}": item for place, item in enumerate(claim["elements"] or ())}


def parts(step: dict[str, Any]) -> dict[str, Tree | None]:
    """All that a step claims about its outputs."""
    found: dict[str, Tree | None] = {}
    for at, claim in enumerate(step["gives"]):
        found |= parts_of(f"out{at}", claim)
    return found


def in_words(part: str) -> str:
    """What a symbol names: `out0@1` is size 1 of output 0."""
    output, _, place = part.removeprefix("out").partition("@")
    kind = "element" if place.startswith("e") else "size"
    return f"{kind} {place.removeprefix('e')} of output {output}" if part else "a number"


def claimed(step: dict[str, Any]) -> list[Tree]:
    """The claims about outputs that a lemma must prove, as formulas."""
    return [
        ("=", name, term) for name, term in parts(step).items() if term is not None and name not in step["on_trust"]
    ]


class Solver:
    """A program, or a module of Python."""

    def __init__(self, name: str, seconds: float) -> None:
        words = shlex.split(name)
        self.seconds, self.module = seconds, ""
        self.command = [*words, "--incremental"] if words == ["cvc5"] else words
        if shutil.which(words[0]) is None:
            self.module = words[0]
            if importlib.util.find_spec(self.module) is None or self.module not in ("cvc5", "z3"):
                raise LookupError(f"{name} is neither a program nor one of the modules cvc5 and z3")

    def problem(self, name: str, lemma: Lemma) -> str:
        """The fault of a lemma, if there is one."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.smt2"
            path.write_text(lemma.script, "utf-8")
            try:
                if (answer := self.answer(path, self.seconds)) != "unsat":
                    read = not answer.startswith("(error")
                    return f"{answer}, must be unsat" if read else words(f"the solver does not read it: {answer}")
                path.write_text(lemma.hypotheses, "utf-8")
                empty = self.answer(path, min(self.seconds, 5)) == "unsat"
            except Exception as problem:  # of any kind that a module raises
                return words(f"the solver does not read it: {problem}")
        return "it shows nothing: its hypotheses have no model" if empty else ""

    def answer(self, path: Path, seconds: float) -> str:
        """sat, unsat, unknown, or what went wrong."""
        if self.module == "z3":
            z3: Any = importlib.import_module(self.module)
            text, said, context = path.read_text("utf-8").replace("(check-sat)", ""), "", z3.Context()
            for solver in (z3.SimpleSolver(ctx=context), z3.Solver(ctx=context)):
                solver.set("timeout", round(seconds * 500))
                if not said:  # without them products are settled at once, or never
                    solver.set("arith.nl.grobner", False)
                solver.add(z3.parse_smt2_string(text, ctx=context))
                if (said := str(solver.check())) != "unknown":
                    break
            return said
        if self.module == "cvc5":
            cvc5: Any = importlib.import_module(self.module)
            cvc = cvc5.Solver()
            cvc.setOption("tlimit-per", str(round(seconds * 1000)))
            parser = cvc5.InputParser(cvc)
            parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, path.read_text("utf-8"), path.name)
            answer, names = "", parser.getSymbolManager()
            while not (command := parser.nextCommand()).isNull():
                answer = command.invoke(cvc, names).strip() or answer
            return answer
        try:
            command = [*self.command, path]
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return f"no answer in {seconds:g} s"
        lines = (done.stdout.strip() or done.stderr.strip() or "no answer").splitlines()
        return next((line for line in lines if line.startswith("(error")), lines[-1])


def chosen(name: str, seconds: float) -> Solver:
    """The solver of this name, or the first that is there."""
    for candidate in [name] if name else ["cvc5", "z3"]:
        try:
            return Solver(candidate, seconds)
        except LookupError as error:
            problem = str(error)
    raise LookupError(problem if name else "there is no solver: install cvc5 or z3, or name one with --solver")


def read(folder: Path, digests: Mapping[str, str], problems: list[str]) -> dict[str, Lemma]:
    """The lemmas whose files are those that the manifest names."""
    lemmas = {}
    for name, digest in digests.items():
        try:
            content = (folder / "lemmas" / f"{name}.smt2").read_bytes()
            if hashlib.sha256(content).hexdigest() != digest:
                raise WrongError("the file is not the one that was certified: its hash differs")
            lemmas[name] = Lemma(content.decode())
        except (OSError, ValueError, WrongError) as problem:
            problems.append(f"lemmas/{name}.smt2: {problem}")
    return lemmas


def chain_problems(chain: Chain) -> list[str]:
    """The fault of the first step that does not follow, if there is one."""
    where = ""
    try:
        chain.begin()
        for number, step in enumerate(chain.manifest["steps"]):
            where = f"step {number}, {words(step.get('node', '?'))}: "
            chain.step(number)
        where = ""
        chain.end()
    except (
        WrongError,
        LookupError,
        AttributeError,
        TypeError,
        ValueError,
        RecursionError,
        OSError,
        struct.error,
    ) as problem:
        return [f"{where}{problem or type(problem).__name__}"]
    return []


def found_wrong(
    folder: Path, manifest: dict[str, Any], model: Model | None = None, known: str = ""
) -> tuple[Chain, list[str]]:
    """The chain of a certificate, and what is wrong without a solver. Raises WrongError for an odd manifest."""
    problems: list[str] = []
    chain = Chain(manifest, {}, model, known)
    if model is not None and model.digest != chain.manifest["model"]["sha256"]:
        return chain, ["not the model that was certified: its hash differs"]
    chain.lemmas = read(folder, chain.manifest["lemmas"], problems)
    return chain, problems or chain_problems(chain)


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description="Check a certificate of absint.")
    parser.add_argument("--solver", default="", help="a program, or cvc5 or z3 as a module (default: what is there)")
    parser.add_argument("--seconds", type=float, default=60, help="time limit of a lemma (default: 60)")
    parser.add_argument("--model", type=Path, help="the model: its nodes, inputs and constants are those of the steps")
    parser.add_argument("--read", type=Path, help="hashes of specifications that you have read; others are on trust")
    parser.add_argument("--specifications", action="store_true", help="print the hashes of those of the certificate")
    options = parser.parse_args()
    sys.setrecursionlimit(20 * DEEPEST)
    folder = Path(__file__).resolve().parent
    try:
        manifest = document((folder / "manifest.json").read_text("utf-8"))
        if manifest.get("schema") != SCHEMA:
            print(f"manifest.json: not of {SCHEMA}")
            return 2
        known = "" if options.read is None else options.read.read_text("utf-8") or "none"
        chain, problems = found_wrong(folder, manifest, None if options.model is None else Model(options.model), known)
    except UnreadableError as problem:
        print(f"{options.model}: {problem}")
        return 2
    except (OSError, ValueError, RecursionError, WrongError) as problem:
        print(f"manifest.json: {problem or type(problem).__name__}")
        print("wrong")
        return 1
    if options.specifications and not problems:
        for name, lemma in chain.lemmas.items():
            if lemma.title != "query" and lemma.title not in CONTROL:
                print(f"{lemma.specification(chain.manifest['semantics'])} lemmas/{name}.smt2")
        return 0
    try:
        solver = chosen(options.solver, options.seconds)
    except LookupError as error:
        print(error)
        return 2
    for name, lemma in chain.lemmas.items():
        if fault := solver.problem(name, lemma):
            problems.append(f"lemmas/{name}.smt2: {fault}")
    for line in problems:
        print(line)
    summary(chain, exact=not problems)
    print("wrong" if problems else "fine")
    return 1 if problems else 0


def outputs(chain: Chain, model: Model) -> list[str]:
    """Print the sizes of the outputs, and how many values of the main graph nothing is claimed of; the symbols."""

    def origin(name: str) -> Origin | None:
        try:
            return model.bodies[()].find(name)
        except (WrongError, OpenError):
            return None

    symbols: list[str] = []
    for name in model.bodies[()].outputs:
        found = origin(name)
        rank, how = chain.ranks.get(found, (-1, "open")) if found is not None else (-1, "open")
        sizes = [chain.sizes[*found, axis] for axis in range(rank)] if found is not None else []
        said = [f"{printed(dim or '?')}{' (on trust)' if how in TRUSTED else ''}" for how, _, _, dim in sizes]
        trust = ", the number of axes on trust" if how in TRUSTED else ""
        symbols += [word for _, _, _, dim in sizes for word in atoms(dim or "?") if is_symbol(word)]
        print(f"output {words(name)}: " + ("nothing is claimed" if rank < 0 else f"[{', '.join(said)}]{trust}"))
    nothing = sum(origin(name) not in chain.ranks for name in model.bodies[()].origins)
    if nothing:
        print(f"open: {nothing} values of the main graph, of which nothing is claimed")
    return symbols


def summary(chain: Chain, *, exact: bool) -> None:
    """Print what is shown, by what it rests on, and what is taken as given."""
    steps = Counter(step["by"] for step in chain.steps)
    constants = sum(step["by"] == "model" and bool(step["operator"]) for step in chain.steps)
    print(
        f"{len(chain.lemmas)} lemmas for {steps['lemma']} steps; read from the model: "
        f"inputs and initialisers {steps['model'] - constants}, constants {constants}"
    )
    for kind in ("sizes", "requirements", "defined", "assumed", "queries"):
        certified, resting, on_trust = (chain.counts[kind, how] for how in HOW[:3])
        if certified + resting + on_trust:
            print(f"{kind}: {certified} certified, {resting} rest on what is on trust, {on_trust} on trust")
    reasons = Counter(reason for how, reason, by, _ in chain.sizes.values() if by != "model" and how != "certified")
    for reason, count in reasons.most_common():
        print(f"  {count} sizes {f'hang on {words(reason)}' if reason else 'are open: nothing is claimed of them'}")
    symbols: dict[str, None] = {}
    if chain.comparison is None:
        print("not compared with the model: name it with --model")
    elif exact:
        compared = chain.comparison
        print(
            f"as in the model: nodes {compared.equal['lemma']}, inputs and initialisers {compared.equal['input']}, "
            f"constants {compared.equal['Constant']}; not compared: {sum(compared.open.values())}"
        )
        for reason, count in compared.open.items():
            print(f"  {count} steps: {reason}")
        for line in compared.stated:
            print(f"given: {words(line)}")
        symbols |= dict.fromkeys(outputs(chain, compared.model))
    for step, said, spoken in chain.asked if exact else ():
        rests = f" (hangs on {words(chain.reason(chain.words[step]))})" if chain.words[step] else ""
        print(f"query: {words(said)}{rests}")
        symbols |= dict.fromkeys(spoken or ())
    for symbol in symbols:
        if chain.comparison is None or symbol not in chain.comparison.model.symbols:
            print(f"where {symbol} is {words(chain.born.get(symbol, 'a symbol of the premises'))}")
    for premise in chain.manifest["premises"]:
        print(f"premise: {printed(premise)}")
    print(f"semantics: {chain.manifest['semantics']}")


if __name__ == "__main__":
    sys.exit(main())
