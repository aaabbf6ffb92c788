"""Z3 and cvc5 on an obligation, each with the time that it took."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from absint.errors import UsageError
from absint.lattices.terms.expr import MAX_DIM
from absint.packages import is_installed
from absint.solver.backend import Backend

# An obligation: an SMT-LIB script that must have no model.

Kind = Literal["exact", "unique", "content", "necessary", "sufficient", "rejected"]
"""exact: the rule's size is the specified one. unique: only one size is as specified. content: an element that the rule
gives is the specified one. necessary: a legal node meets the rule's requirement. sufficient: a node that meets all
requirements of a complete rule is legal. rejected: the rule rejects the node just where the specification does."""


@dataclass(frozen=True)
class Obligation:
    """One obligation of a rule at one instance."""

    operator: str
    version: int
    instance: str
    kind: Kind
    claim: str
    """The claim in words: `output 0, axis 2 is H - 2`."""
    script: str
    """SMT-LIB 2 without `check-sat`. It has no model if the claim holds."""
    premises: str = ""
    """The part of the script that the claim assumes; empty if it assumes nothing."""


@dataclass(frozen=True)
class Gap:
    """Something that a rule leaves open at an instance: an unknown size, a failure for which it has no condition."""

    operator: str
    version: int
    instance: str
    reason: str


Verdict = Literal["proved", "refuted", "undecided"]
Solvers = Literal["auto", "z3", "cvc5", "both"]
"""auto: Z3, and cvc5 for what Z3 leaves undecided, where it is installed."""
_VERDICTS: dict[str, Verdict] = {"unsat": "proved", "sat": "refuted"}

RLIMIT = 3_000_000
"""Z3's budget for an obligation."""


@dataclass(frozen=True)
class Decision:
    """A solver's verdict on an obligation."""

    obligation: Obligation
    solver: str
    verdict: Verdict
    seconds: float
    """0 if an obligation with the same script was decided before."""
    sizes: str = ""
    """If refuted, sizes at which the claim is false."""


Decide: TypeAlias = Callable[[Obligation], tuple[Decision, ...]]
"""The verdict of each solver that is asked."""


def once(decide: Decide) -> Decide:
    """A script that several obligations share is decided once, and takes no time later."""
    known: dict[str, tuple[Decision, ...]] = {}

    def asked(obligation: Obligation) -> tuple[Decision, ...]:
        before = known.get(obligation.script)
        if before is None:
            known[obligation.script] = decide(obligation)
            return known[obligation.script]
        return tuple(replace(decision, obligation=obligation, seconds=0.0) for decision in before)

    return asked


def by_z3(obligation: Obligation, backend: Backend, seconds: float = 10) -> Decision:
    """Z3's verdict, in its own process."""
    answer = backend.check(obligation.script, rlimit=RLIMIT, seconds=seconds, core=False)
    sizes = ", ".join(f"{name} = {value}" for name, value in answer.model.items() if " " not in name)
    return Decision(obligation, "z3", _VERDICTS.get(answer.verdict, "undecided"), answer.seconds, sizes)


def is_vacuous(obligation: Obligation, backend: Backend, seconds: float = 10) -> bool:
    """The premises of the claim cannot hold, so it claims nothing."""
    if not obligation.premises:
        return False
    return backend.check(obligation.premises, rlimit=RLIMIT, seconds=seconds, core=False).verdict == "unsat"


def claiming(decide: Decide, backend: Backend) -> Decide:
    """As `decide`, without a decision on what is proved since its premises cannot hold."""
    known: dict[str, bool] = {}

    def asked(obligation: Obligation) -> tuple[Decision, ...]:
        found, premises = decide(obligation), obligation.premises
        if any(decision.verdict != "proved" for decision in found):
            return found
        if premises not in known:
            known[premises] = is_vacuous(obligation, backend)
        return () if known[premises] else found

    return asked


def by_cvc5(obligation: Obligation, seconds: float = 10) -> Decision:
    """cvc5's verdict: on all integers, which proves the same of sizes, else on sizes.

    Raises UsageError if it is not installed.
    """
    wider = _by_cvc5(obligation, unbounded(obligation.script), seconds / 3)
    if wider.verdict == "proved":
        return wider
    found = _by_cvc5(obligation, obligation.script, seconds)
    return replace(found, seconds=found.seconds + wider.seconds)


def unbounded(script: str) -> str:
    """The script about all integers. If it has no model, neither has the script about sizes."""
    return _BOUNDS.sub("", script)


_BOUNDS: Final = re.compile(rf"^\(assert \(<= 0 \S+ {MAX_DIM}\)\)\n", re.M)
"""The lines of a script that bound its sizes."""


def _by_cvc5(obligation: Obligation, text: str, seconds: float) -> Decision:
    start = time.monotonic()
    answer, model = in_cvc5(f"(set-logic ALL)\n{text}\n(check-sat)\n", seconds)
    sizes = ", ".join(f"{name.strip('|')} = {value}" for name, value in model.items() if " " not in name)
    return Decision(obligation, "cvc5", _VERDICTS.get(answer, "undecided"), time.monotonic() - start, sizes)


def in_cvc5(script: str, seconds: float) -> tuple[str, Mapping[str, str]]:
    """All that cvc5 answers to a script with one `check-sat`; if that is `sat`, the values of its constants.

    Raises UsageError if it is not installed.
    """
    try:
        import cvc5
    except ImportError:
        raise UsageError("cvc5 is not installed: pip install cvc5") from None
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", str(max(round(seconds * 1000), 1)))  # 0 is no limit
    solver.setOption("produce-models", "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "script")
    symbols, answer = parser.getSymbolManager(), ""
    while not (command := parser.nextCommand()).isNull():
        answer += str(command.invoke(solver, symbols)).strip()
    declared = symbols.getDeclaredTerms() if answer == "sat" else ()
    return answer, {str(term): str(solver.getValue(term)) for term in declared}


def decided(obligation: Obligation, backend: Backend, seconds: float = 10) -> Decision:
    """Z3's verdict, or cvc5's where Z3 has none. Raises UsageError if cvc5 is needed and not installed."""
    first = by_z3(obligation, backend, seconds)
    return first if first.verdict != "undecided" else by_cvc5(obligation, seconds)


def asked(obligation: Obligation, solvers: Solvers, backend: Backend, seconds: float = 10) -> tuple[Decision, ...]:
    """The verdict of each solver that is asked. Raises UsageError if cvc5 is named and not installed."""
    if solvers == "cvc5":
        return (by_cvc5(obligation, seconds),)
    first = by_z3(obligation, backend, seconds)
    left = first.verdict == "undecided" and is_installed("cvc5")
    return (first, by_cvc5(obligation, seconds)) if solvers == "both" or (solvers == "auto" and left) else (first,)
