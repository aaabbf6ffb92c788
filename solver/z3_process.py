"""The program of the Z3 process: `absint.solver.backend` asks it, and kills it past a time limit.

Every query has a Z3 context of its own, so that the answer does not depend on earlier queries.

>>> script = "(declare-const N Int)(assert (! (> N 3) :named big))(assert (! (< N 3) :named small))"
>>> answer(fresh_solver(), {"script": script, "rlimit": 1000, "core": True, "minimize": False})["core"]
['big', 'small']
"""

from __future__ import annotations

import re
from typing import Final, TypedDict

import z3


class Query(TypedDict):
    """A question to Z3."""

    script: str
    """SMT-LIB 2: declarations, definitions and assertions."""
    rlimit: int
    """Z3's budget, which does not depend on the machine; 0 is none."""
    core: bool
    minimize: bool
    """Minimise the core, at some cost."""


class Reply(TypedDict):
    """An answer of Z3."""

    verdict: str
    reason: str
    model: dict[str, int]
    core: list[str]
    spent: int


class ScriptError(ValueError):
    """Z3 cannot read the script."""


def fresh_solver() -> z3.Solver:
    """A solver in its own context.

    Without Groebner bases Z3 decides as many products of dims, in two thirds of the time.
    """
    solver = z3.SimpleSolver(ctx=z3.Context())
    solver.set("random_seed", 0)
    solver.set("arith.nl.grobner", False)
    return solver


def answer(solver: z3.Solver, query: Query) -> Reply:
    """The answer of a fresh solver. Raises ScriptError, and Z3Exception if Z3 gives up."""
    solver.set("rlimit", query["rlimit"])
    if query["core"] and query["minimize"]:
        solver.set("core.minimize", True)
    option = "(set-option :produce-unsat-cores true)" if query["core"] else ""
    try:
        solver.from_string(option + query["script"])
    except z3.Z3Exception as error:
        raise ScriptError(_text(error)) from error
    result = solver.check()
    reply: Reply = {"verdict": str(result), "reason": "", "model": {}, "core": [], "spent": _spent(solver)}
    if result == z3.sat:
        reply["model"] = _values(solver.model(), query["script"])
    elif result == z3.unsat:
        reply["core"] = sorted(label.decl().name() for label in solver.unsat_core())
    else:
        reply["reason"] = solver.reason_unknown()
    return reply


def _spent(solver: z3.Solver) -> int:
    statistics = solver.statistics()
    entries = (statistics[place] for place in reversed(range(len(statistics))))
    return next((int(value) for key, value in entries if key == "rlimit count"), 0)


_DECLARATION: Final = re.compile(
    r"""\|[^|]*\| | "[^"]*" | ;[^\n]*
    | \( \s* declare-(?:const|fun) \s+ (\|[^|]*\| | [^\s()|;]+) \s+ (?:\(\s*\)\s+)? Int \s* \)""",
    re.VERBOSE,
)
"""A declared integer; first the lookalikes: names, texts and comments."""


def _values(model: z3.ModelRef, script: str) -> dict[str, int]:
    """The value of every declared integer; 0 of one that does not matter."""
    values = {name.strip("|"): 0 for name in _DECLARATION.findall(script) if name}
    for declaration in model.decls():
        if declaration.name() in values and declaration.arity() == 0:
            values[declaration.name()] = model[declaration].as_long()
    return values


def _text(error: z3.Z3Exception) -> str:
    """The text of an error of Z3, on one line."""
    message = error.args[0] if error.args else ""
    return " ".join((message.decode(errors="replace") if isinstance(message, bytes) else str(message)).split())


_prepared: Final[list[z3.Solver]] = []
"""The solver of the next query."""


def prepare() -> None:
    """Create a solver between queries, when no caller is waiting."""
    _prepared[:] = [fresh_solver()]


def answered(request: tuple[Query, int]) -> Reply:
    """The answer to a query, with at most that many bytes of memory.

    Z3 gives up a little below the limit; more memory ends the process.
    """
    query, memory = request
    z3.set_param("memory_max_size", memory * 3 // 4 >> 20)
    return answer(_prepared.pop() if _prepared else fresh_solver(), query)
