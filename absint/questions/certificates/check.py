#!/usr/bin/env python3
"""Check a certificate: the files of this folder, their chain, and with a solver each lemma.

    python check.py                        cvc5 or z3, as a program or as a module of Python
    python check.py --solver "z3 -T:60"    any program that reads SMT-LIB 2 from a file and prints unsat
    python check.py --model MODEL          the hash of the model is that of the one that was certified

It needs nothing but Python's own library and a solver. What it shows: each claim of manifest.json follows from the
specification that its lemma writes down, from what the file of the model says, from the premises, and from claims of
earlier steps. What rests on the word of absint is counted, and so is what is read from the model, which it does not
open: that the inputs, constants and nodes of the model are those of the steps, and that a lemma writes the
specification of its operator down rightly, is for you to read. Exit code: 0 if all is well, 1 if something is wrong,
2 if it cannot be checked.

Every text is read by a closed grammar: `MANIFEST` for the document, `parsed` and `sort_of` for terms, `Lemma` for a
file of lemmas. Terms are compared as trees, and the solver gets a lemma as it was read, printed anew.
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
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

SCHEMA = "absint.certificate/1"


class WrongError(Exception):
    """A part of the certificate is not as it should be."""


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
    **dict.fromkeys(("+", "*", "-"), (many("Int"), "Int")),
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
SAFE = frozenset(map(chr, range(0x20, 0x7F))) - set("|\\%")
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
OPERATOR = rf"(?:[\w.:-]+-{NATURAL})?"
RELATION = record(
    {
        "formula": term,
        "role": one_of("required", "defined", "query", "derived", "assumed"),
        "by": one_of("lemma", "rule"),
    },
    {"reason": (words, "")},
)
CLAIM = record({"value": words, "dims": optional(listed(optional(term)))}, {"elements": (listed(optional(term)), None)})
STEP = record(
    {"node": words, "by": one_of("lemma", "model", "rule"), "takes": listed(optional(place(0)))},
    {
        "operator": (named(OPERATOR), ""),
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

TITLE = re.compile(rf"; (query|If|Loop|\w+-{NATURAL}), for any numbers \$0, \$1, \.\.\.", re.ASCII)
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
        rf"\(define-fun goes@0 \(\) Bool (?:true|in{NATURAL}@e0)\)",
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

    @property
    def declared(self) -> set[str]:
        """The names without a definition."""
        return self.sorts.keys() - self.defined.keys()

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


# The chain

SIZE = ("0", "2147483647")
TRIP = ("0", "2147418111")
TRUTH = ("0", "1")
INTEGERS = (
    (("-", "2147483648"), "2147483647"),
    (("-", "9223372036854775808"), "9223372036854775807"),
)
Interval: TypeAlias = tuple[Tree, Tree]


def within(name: str, bounds: Interval) -> Tree:
    """The formula that bounds a number."""
    return ("<=", bounds[0], name, bounds[1])


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


class Chain:
    """The steps of a certificate, checked one after the other."""

    def __init__(self, manifest: Mapping[str, Any], lemmas: Mapping[str, Lemma]) -> None:
        self.manifest, self.lemmas = MANIFEST(manifest), lemmas
        self.bounds: dict[str, Tree] = self.manifest["symbols"]
        self.steps: list[dict[str, Any]] = []
        self.known: set[str] = set()  # symbols that were introduced
        self.on_word: dict[str, int] = {}  # those introduced on the word of a rule, with the step
        self.words: list[set[int]] = []  # for each step the steps on whose word it rests
        # For each step those whose claims it takes; for the head of a loop that of its next trip too.
        self.needs: list[set[int]] = []
        self.heads: set[int] = set()
        self.opened: set[int] = set()  # heads of loops whose next trip is not shown yet
        self.counts: Counter[tuple[str, str]] = Counter()

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
        for symbol, named in new.items():
            self.bound(symbol)
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
        elif by == "model":
            from_model(step)
        if by != "lemma" and any(given["by"] != "rule" for given in step["relations"]):
            raise WrongError("no lemma shows its relations")
        if by != "lemma" and any(step[key] for key in ("lemma", "names", "facts", "closes", "on_trust")):
            raise WrongError("it has no lemma")
        if any(given["by"] == "rule" and given["role"] in ("query", "derived") for given in step["relations"]):
            raise WrongError("a query needs a lemma without a node")
        self.known |= new.keys()
        for claim in step["gives"]:
            self.sorted(claim)
        for given in step["relations"]:
            self.sort(given["formula"], "Bool", places)
        if by == "rule" or step["on_trust"] or odd:
            self.words[at].add(at)

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
        return (None, SIZE, TRIP, *INTEGERS)

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
        for step, words in zip(self.steps, self.words, strict=True):
            self.count(step, words)

    def count(self, step: dict[str, Any], rests: set[int]) -> None:
        """Count the claims by what they rest on."""
        best = "resting" if rests else "certified"
        for at, claim in enumerate(step["gives"] if step["by"] != "model" else ()):
            for axis, dim in enumerate(claim["dims"] or ()):
                on_trust = step["by"] == "rule" or f"out{at}@{axis}" in step["on_trust"]
                self.counts["sizes", "on trust" if on_trust else best] += dim is not None
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
        asked = [given["role"] in ("query", "derived") for given in step["relations"]]
        operator, _, version = lemma.title.rpartition("-")
        if lemma.title == "query":
            if asked != [True] or step["operator"] or step["gives"] or step["introduces"] or step["on_trust"]:
                raise WrongError("its lemma is about no node")
            if step["relations"][0]["role"] == "derived" and step["takes"]:
                raise WrongError("what is derived is about no value")
        elif any(asked):
            raise WrongError("a query needs a lemma without a node")
        elif operator_of(step).rpartition("::")[2] != (operator or lemma.title):
            raise WrongError(f"its lemma is about {lemma.title}")
        elif bool(operator) != bool(step["operator"]) or int(version if operator else 0) > version_of(step):
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
        elif lemma.title == "If":
            first = {"taken@0": 1, "(not taken@0)": 1 + (before - 1) // 2}
        else:
            return
        for command in lemma.of_node:
            found = re.fullmatch(rf"\(assert \(=> (.+) \(= out({NATURAL})@(\w+) in({NATURAL})@(\w+)\)\)\)", command)
            if found and step["gives"]:
                when, out, part, taken, its_part = found.groups()
                is_row = "trips@0" in lemma.sorts and f"(define-fun out{out}@0 () Int trips@0)" in lemma.of_node
                expected = part if not is_row else str(int(part) - 1) if part.isdecimal() else ""
                if int(taken) != first[when] + int(out) or its_part != expected:
                    raise WrongError(f"output {out} is not {printed(('=>', when, taken))}")

    def may_name(self, symbol: str, name: str, lemma: Lemma) -> bool:
        """A symbol for a size, an element or the number of a trip may be bounded as these are, and no closer."""
        place = str(lemma.defined[name])
        is_trip = place == "out0@e0" and lemma.is_head
        forms = (TRIP,) if is_trip else INTEGERS if "@e" in place else (SIZE,)
        return lemma.sorts[place] == "Int" and self.bounds.get(symbol) in [within(symbol, form) for form in forms]

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
            self.needs[at].add(step)
            self.words[at] |= {step} if self.steps[step]["relations"][index]["by"] == "rule" else set()
        formula: Tree = found[index]
        return formula

    def asked(self) -> Iterator[str]:
        """The relations that somebody asked for, with the names of the values in them."""
        for step in self.steps:
            names = {
                f"in{at}@{axis}": f"{self.claim(place)['value']}[{axis}]"
                for at, place in enumerate(step["takes"])
                for axis in range(len(self.claim(place)["dims"] or ()) if place else 0)
            }
            for given in step["relations"]:
                if given["role"] == "query":
                    yield printed(replaced(given["formula"], names))


ENDS_ALONE = "(or (not begins@0) (and (<= 1 trips@0) (not goes@0)))"


def operator_of(step: dict[str, Any]) -> str:
    """The operator in the name of the node, which is that of the step if it has one."""
    operator = re.split("[ ,]", step["node"])[0]
    if step["operator"] and step["operator"].rpartition("-")[0] != operator:
        raise WrongError(f"it is no node of {step['operator']}")
    return operator


def version_of(step: dict[str, Any]) -> int:
    """The opset of the step's operator; 0 if it has none."""
    return int(step["operator"].rpartition("-")[2] or 0)


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
            if (answer := self.answer(path, self.seconds)) != "unsat":
                return f"{answer}, must be unsat"
            path.write_text(lemma.hypotheses, "utf-8")
            empty = self.answer(path, min(self.seconds, 5)) == "unsat"
        return "it shows nothing: its hypotheses have no model" if empty else ""

    def answer(self, path: Path, seconds: float) -> str:
        """sat, unsat, unknown, or what went wrong."""
        if self.module == "z3":
            z3: Any = importlib.import_module(self.module)
            solver = z3.Solver()
            solver.set("timeout", round(seconds * 1000))
            solver.add(z3.parse_smt2_string(path.read_text("utf-8").replace("(check-sat)", "")))
            return str(solver.check())
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
    except (WrongError, LookupError, AttributeError, TypeError, ValueError, RecursionError) as problem:
        return [f"{where}{problem or type(problem).__name__}"]
    return []


def found_wrong(folder: Path, manifest: dict[str, Any]) -> tuple[Chain, list[str]]:
    """The chain of a certificate, and what is wrong without a solver. Raises WrongError for an odd manifest."""
    problems: list[str] = []
    chain = Chain(manifest, {})
    chain.lemmas = read(folder, chain.manifest["lemmas"], problems)
    return chain, problems or chain_problems(chain)


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description="Check a certificate of absint.")
    parser.add_argument("--solver", default="", help="a program, or cvc5 or z3 as a module (default: what is there)")
    parser.add_argument("--seconds", type=float, default=60, help="time limit of a lemma (default: 60)")
    parser.add_argument("--model", type=Path, help="the model, to compare its hash alone")
    options = parser.parse_args()
    sys.setrecursionlimit(20 * DEEPEST)
    folder = Path(__file__).resolve().parent
    try:
        manifest = document((folder / "manifest.json").read_text("utf-8"))
        if manifest.get("schema") != SCHEMA:
            print(f"manifest.json: not of {SCHEMA}")
            return 2
        chain, problems = found_wrong(folder, manifest)
    except (OSError, ValueError, RecursionError, WrongError) as problem:
        print(f"manifest.json: {problem or type(problem).__name__}")
        print("wrong")
        return 1
    if options.model and hashlib.sha256(options.model.read_bytes()).hexdigest() != chain.manifest["model"]["sha256"]:
        problems.insert(0, f"{options.model}: not the model that was certified: its hash differs")
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


def summary(chain: Chain, *, exact: bool) -> None:
    """Print what is shown, by what it rests on, and what is taken as given."""
    steps = Counter(step["by"] for step in chain.steps)
    constants = sum(step["by"] == "model" and bool(step["operator"]) for step in chain.steps)
    print(
        f"{len(chain.lemmas)} lemmas for {steps['lemma']} steps; read from the model, not checked: "
        f"inputs and initialisers {steps['model'] - constants}, constants {constants}"
    )
    for kind in ("sizes", "requirements", "defined", "assumed", "queries"):
        certified, resting, on_trust = (chain.counts[kind, how] for how in ("certified", "resting", "on trust"))
        if certified + resting + on_trust:
            print(f"{kind}: {certified} certified, {resting} rest on what is on trust, {on_trust} on trust")
    for formula in chain.asked() if exact else ():
        print(f"query: {formula}")
    for premise in chain.manifest["premises"]:
        print(f"premise: {printed(premise)}")
    print(f"semantics: {chain.manifest['semantics']}")


if __name__ == "__main__":
    sys.exit(main())
