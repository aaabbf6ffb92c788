"""Ask one prover about exported queries: one line of JSON for each file, `[file, verdict, seconds]`.

    python benchmarks/asking.py PROVER SECONDS FILE [FILE ...]

The prover is absint, z3, cvc5, torch (`statically_known_true` over a ShapeEnv, the premises as runtime assertions), or
jax (symbolic dimensions, the premises as constraints). Each runs with the interpreter that has it. A verdict is
`proved`, `not proved`, `no time`, or `no form` with the operation that the claim cannot be stated for. Premises that
cannot be stated are left out: a claim that is proved without them is proved.
"""

from __future__ import annotations

import json
import operator
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

Term = str | list["Term"]


class NoFormError(Exception):
    """The prover has no such term."""


def terms(text: str) -> list[Term]:
    """The S-expressions of a script; comments and quoted texts are left out."""
    text = re.sub(r'"[^"]*"|\|[^|]*\||;[^\n]*', "", text)
    stack: list[list[Term]] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return stack[0]


class Query:
    """A script: names, premises, and the claim, whose negation is the last assertion."""

    def __init__(self, text: str) -> None:
        self.names: list[str] = []
        self.defined: dict[str, Term] = {}
        asserted: list[Term] = []
        for item in terms(text):
            match item:
                case ["declare-const", str(name), _]:
                    self.names.append(name)
                case ["define-fun", str(name), [], _, body]:
                    self.defined[name] = body
                case ["assert", formula]:
                    asserted.append(formula)
        self.premises, self.denied = asserted[:-1], asserted[-1]


class Language:
    """The operations of a prover over its own terms; Python's operators unless told otherwise."""

    def __init__(self, names: Mapping[str, Any], defined: Mapping[str, Term], **own: Callable[..., Any]) -> None:
        self.names = names
        self.defined = defined
        self.own = own

    def read(self, term: Term) -> Any:
        """The prover's term. Raises NoFormError."""
        if isinstance(term, str):
            if term in self.defined:
                return self.read(self.defined[term])
            return self.names[term] if term in self.names else int(term)
        head, *rest = term
        assert isinstance(head, str)
        found = [self.read(item) for item in rest]
        if head in ("<=", ">=", "<", ">", "=") and len(found) > 2:
            return reduce(self.operation("and"), [self.operation(head)(a, b) for a, b in pairwise(found)])
        if head == "=>":
            return self.operation("or")(self.operation("not")(found[0]), found[1])
        if head == "-" and len(found) == 1:
            return -found[0]
        return self.operation(head)(*found) if head in ("not", "ite") else reduce(self.operation(head), found)

    def operation(self, head: str) -> Callable[..., Any]:
        """An operation. Raises NoFormError."""
        found = self.own.get(_WORDS.get(head, head)) or _PLAIN.get(head)
        if found is None:
            raise NoFormError(head)
        return found


_WORDS = {"and": "conj", "or": "disj", "not": "neg", "=": "eq", ">=": "ge", "<=": "le", ">": "gt", "<": "lt"}
_PLAIN: Mapping[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "div": operator.floordiv, "mod": operator.mod,
    "=": operator.eq, ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip


def negation(term: Term) -> Term:
    return term[1] if isinstance(term, list) and term[0] == "not" else ["not", term]


# The provers: whether a query is proved


def by_absint(text: str, seconds: float) -> bool:
    from absint.lattices.limits import Limits
    from absint.lattices.logic.relation import conjunction, disjunction, eq, ge, gt, ite, le, lt, negation
    from absint.lattices.terms.division import floordiv, mod
    from absint.lattices.terms.expr import symbol
    from absint.solver.constraints import ConstraintSet
    from absint.solver.prove import Prover

    query = Query(text)
    own = {"conj": conjunction, "disj": disjunction, "neg": negation, "eq": eq, "ge": ge, "gt": gt, "le": le, "lt": lt}
    names = {name: symbol(name) for name in query.names}
    language = Language(names, query.defined, **own, ite=ite, div=floordiv, mod=mod)
    premises = [language.read(term) for term in query.premises]
    prover = Prover(ConstraintSet([]), limits=Limits(seconds=seconds))
    return bool(prover.entails(premises, language.read(negation_of(query))).entailed)


def by_solver(ask: str) -> Callable[[str, float], bool]:
    def by(text: str, seconds: float) -> bool:
        from absint.research.study import solvers

        verdict, reason = getattr(solvers, ask)(text, seconds)
        if verdict == "unknown":
            raise TimeoutError(reason)
        return bool(verdict == "unsat")

    return by


def by_torch(text: str, seconds: float) -> bool:
    import torch
    from torch.fx.experimental.symbolic_shapes import ShapeEnv, statically_known_true

    query = Query(text)
    env = ShapeEnv()
    names = {name: env.create_unbacked_symint() for name in query.names}
    zero = next(iter(names.values())) * 0

    def ite(condition: Any, a: Any, b: Any) -> Any:
        if isinstance(condition, bool):
            return a if condition else b
        return torch.sym_ite(condition, *(n if isinstance(n, torch.SymInt) else zero + n for n in (a, b)))

    own: dict[str, Callable[..., Any]] = {"conj": operator.and_, "disj": operator.or_, "neg": torch.sym_not, "ite": ite}
    language = Language(names, query.defined, **own)
    for term in query.premises:
        try:
            found = language.read(term)
            if not isinstance(found, bool):
                torch._check(found)
        except (NoFormError, TypeError, RuntimeError, KeyError):  # KeyError: ITE, a choice between truths
            continue
    try:
        return bool(statically_known_true(language.read(negation_of(query))))
    except KeyError as error:
        raise NoFormError(*error.args) from None


def by_jax(text: str, seconds: float) -> bool:
    """JAX takes comparisons that hold together; its sizes are at least 1."""
    from jax import export

    query = Query(text)
    plainly = ", ".join(f"v{number}" for number in range(len(query.names)))
    plain = dict(zip(query.names, export.symbolic_shape(plainly), strict=True))
    constraints = [
        text for term in query.premises for part in conjuncts(term) if (text := constraint(part, plain, query.defined))
    ]
    scope = export.SymbolicScope(constraints)
    names = dict(zip(query.names, export.symbolic_shape(plainly, scope=scope), strict=True))
    claim = [comparison(part) for part in conjuncts(negation_of(query))]
    language = Language(names, query.defined)
    return all(language.operation(head)(language.read(left), language.read(right)) for head, left, right in claim)


def conjuncts(term: Term) -> list[Term]:
    """The parts that must hold together."""
    if isinstance(term, list) and term[0] == "and":
        return [part for item in term[1:] for part in conjuncts(item)]
    if isinstance(term, list) and term[0] == "not" and isinstance(term[1], list) and term[1][0] == "or":
        return [part for item in term[1][1:] for part in conjuncts(["not", item])]
    return [term]


_OPPOSITE = {">=": "<", "<=": ">", ">": "<=", "<": ">="}


def comparison(term: Term) -> tuple[str, Term, Term]:
    """One comparison of two numbers. Raises NoFormError."""
    if isinstance(term, list) and term[0] == "not" and isinstance(term[1], list) and term[1][0] in _OPPOSITE:
        term = [_OPPOSITE[str(term[1][0])], *term[1][1:]]
    if isinstance(term, list) and len(term) == 3 and isinstance(term[0], str) and term[0] in (*_OPPOSITE, "="):
        return term[0], term[1], term[2]
    raise NoFormError(term[0])


def constraint(term: Term, names: Mapping[str, Any], defined: Mapping[str, Term]) -> str:
    """A premise as JAX reads it; empty if it has no form there."""
    language = Language(names, defined)
    try:
        head, left, right = comparison(term)
        a, b = language.read(left), language.read(right)
    except (NoFormError, TypeError):
        return ""
    if head in (">", "<"):
        a, b, head = (a, b + 1, ">=") if head == ">" else (a + 1, b, "<=")
    trivial = not re.search(r"\bv\d", f"{a} {b}")
    return "" if trivial else f"{a} {'==' if head == '=' else head} {b}"


def negation_of(query: Query) -> Term:
    """The claim."""
    return negation(query.denied)


PROVERS: Mapping[str, Callable[[str, float], bool]] = {
    "absint": by_absint,
    "z3": by_solver("by_z3"),
    "cvc5": by_solver("by_cvc5"),
    "torch": by_torch,
    "jax": by_jax,
}


_FIRST = """
(declare-const x0 Int) (assert (<= 0 x0 2147483647)) (assert (or (= x0 1) (<= 4 (div x0 2))))
(assert (not (= (* 2 (div x0 2)) x0))) (check-sat)
"""


class _Late(BaseException):
    """Of no class that a prover might catch."""


def verdict_of(ask: Callable[[str, float], bool], text: str, seconds: float) -> str:
    """The verdict, within about this much processor time, so that it does not hang on what else the machine does."""
    signal.setitimer(signal.ITIMER_PROF, 2 * seconds)
    try:
        return "proved" if ask(text, seconds) else "not proved"
    except (TimeoutError, _Late):
        return "no time"
    except NoFormError as error:
        return f"no form: {error}"
    except Exception as error:
        known = "Inconclusive" in type(error).__name__
        return "not proved" if known else f"failed: {type(error).__name__}: {' '.join(str(error).split())[:100]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def verdicts(prover: str, files: list[str], seconds: float) -> Iterator[tuple[str, str, float]]:
    ask = PROVERS[prover]

    def late(*_: object) -> None:
        raise _Late

    signal.signal(signal.SIGPROF, late)
    verdict_of(ask, _FIRST, _LOADING)
    for file in files:
        text = Path(file).read_text("ascii")
        start = perf_counter()
        verdict = verdict_of(ask, text, seconds)
        yield file, verdict, perf_counter() - start


_LOADING = 60.0
"""Seconds for the first question, which no time includes: PyTorch loads a good deal on the way."""


if __name__ == "__main__":
    for found in verdicts(sys.argv[1], sys.argv[3:], float(sys.argv[2])):
        print(json.dumps(found), flush=True)
