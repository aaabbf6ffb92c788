"""Faults in rules that the proof of a rule alone must see: its obligations, without any run or expectation."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tests.mutants.catalogue import ALL
from tests.mutants.effects import KINDS, Effect, Kind, Told, effects, told
from tests.mutants.mutant import Mutant
from tests.mutants.planting import plant
from tests.mutants.swapping import Codes, swap

SECONDS: Final = 300
"""For one mutant."""

PATIENCE: Final = 60
"""Seconds for one obligation; Z3's own budget ends most of them sooner."""

Place = tuple[str, str]
"""Domain and operator."""


class Plain(NamedTuple):
    """The claims that hold without a fault."""

    told: Sequence[Told]
    specified: frozenset[tuple[str, str, int]]
    scripts: Mapping[Place, frozenset[str]]
    gaps: Mapping[Place, frozenset[tuple[int, str, str]]]


class Seen(NamedTuple):
    """A mutant, what it changes of operators that have a specification, and what the proof says."""

    name: str
    breaks: str
    effects: frozenset[Effect]
    by: str
    """The first obligation that is refuted; empty if none is."""
    opened: str
    """The first size or failure that the rule leaves open and did not before."""
    error: str = ""

    @property
    def kind(self) -> Kind | None:
        """The gravest of its effects."""
        return next((kind for kind in KINDS if any(effect.kind == kind for effect in self.effects)), None)


def plain() -> Plain:
    """The answers of the rules without a fault, and all of their obligations."""
    from absint.research.obligations.making import obligations_of
    from absint.research.obligations.solving import Gap
    from absint.research.specification.specs import specified
    from absint.transfer.families import shipped
    from tests.specification.operators import versions

    known, scripts, gaps = set(), {}, {}
    for domain, operator in specified():
        items = [
            (version, item)
            for version in versions(domain, operator)
            for item in obligations_of(shipped(), domain, operator, version)
        ]
        known |= {(domain, operator, version) for version, _ in items}
        scripts[domain, operator] = frozenset(item.script for _, item in items if not isinstance(item, Gap))
        gaps[domain, operator] = frozenset((v, i.instance, i.reason) for v, i in items if isinstance(i, Gap))
    return Plain(told(), frozenset(known), scripts, gaps)


def seen(mutant: Mutant, without: Plain) -> Seen:
    """Plant the fault in this process, find what it changes, and prove the operators that it changes."""
    return _seen(mutant, without, lambda: effects(without.told, _after(lambda: plant(mutant), None)))


def seen_swapped(mutant: Mutant, without: Plain, codes: Codes, cases: Sequence[int]) -> Seen:
    """The same in a process that has imported the rules, where these cases alone run what is changed."""
    plain = [without.told[case] for case in cases]
    return _seen(mutant, without, lambda: effects(plain, _after(lambda: swap(codes), cases)))


def _after(change: Callable[[], object], cases: Sequence[int] | None) -> list[Told]:
    change()
    return told(cases)


def _seen(mutant: Mutant, without: Plain, change: Callable[[], set[Effect]]) -> Seen:
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    found: frozenset[Effect] = frozenset()
    try:
        found = frozenset(e for e in change() if e[1:] in without.specified)
        by, opened = _proof({e[1:3] for e in found}, without) if found else ("", "")
    except Exception as error:
        return Seen(mutant.name, mutant.breaks, found, "", "", f"{type(error).__name__}: {error}")
    finally:
        signal.alarm(0)
    return Seen(mutant.name, mutant.breaks, found, by, opened)


def _late(*_: object) -> None:
    raise TimeoutError(f"over {SECONDS} seconds")


def _proof(places: set[Place], without: Plain) -> tuple[str, str]:
    """The first obligation that is refuted, and the first gap that is new."""
    from absint.research.obligations.making import obligations_of
    from absint.research.obligations.solving import Gap, decided
    from absint.solver.backend import Backend
    from absint.transfer.families import shipped
    from tests.specification.operators import versions

    opened = ""
    with Backend() as backend:
        for place in sorted(places):
            known = set(without.scripts[place])
            for version in reversed(versions(*place)):
                for item in obligations_of(shipped(), *place, version):
                    where = f"{item.operator}-{version} {item.instance}"
                    if isinstance(item, Gap):
                        if (version, item.instance, item.reason) not in without.gaps[place]:
                            opened = opened or f"{where}: {item.reason}"
                    elif item.script not in known:
                        known.add(item.script)
                        decision = decided(item, backend, PATIENCE)
                        if decision.verdict == "refuted":
                            return f"{where}: {item.kind}: {item.claim}; not at {decision.sizes}", opened
    return "", opened


def rules() -> list[Mutant]:
    """The faults of the catalogue that are in rules."""
    return [m for m in ALL if all(change.module.startswith("absint.transfer.") for change in m.changes)]


def check(chosen: Sequence[Mutant], jobs: int) -> int:
    """Print what the proof says of each; 1 if it refutes fewer than 9 of 10 that change a shape."""
    results = []
    from tests.mutants.copies import run

    for result in run(chosen, jobs):
        results.append(result)
        if line := shown(result):
            print(line, flush=True)
    print("\n".join(["", *summary(results)]))
    return 0 if share(results, "shape") >= 0.9 else 1


def shown(found: Seen) -> str:
    """One line; none for a fault without effect on what is specified."""
    if found.error:
        return f"BROKEN   {found.name}: {found.error[:100]}; {found.breaks}"
    if found.kind is None:
        return ""
    state = "refuted" if found.by else "open" if found.opened else "MISSED"
    operators = ", ".join(sorted({f"{e.operator}-{e.version}" for e in found.effects}))
    return f"{state:8} {found.kind:11} {found.name} ({operators[:60]}): {found.breaks}; {found.by or found.opened}"


def share(results: Sequence[Seen], kind: Kind) -> float:
    """The share of the faults with this effect that a refuted obligation shows; 1 if there are none."""
    fitting = [found for found in results if found.kind == kind]
    return sum(bool(found.by) for found in fitting) / len(fitting) if fitting else 1.0


def summary(results: Sequence[Seen]) -> Iterator[str]:
    """The number of faults of each kind that are seen."""
    yield f"{len(results)} faults, {sum(bool(found.error) for found in results)} broken"
    for kind in KINDS:
        fitting = [found for found in results if found.kind == kind and not found.error]
        states: Counter[str] = Counter("refuted" if f.by else "open" if f.opened else "missed" for f in fitting)
        numbers = ", ".join(f"{states[state]} {state}" for state in ("refuted", "open", "missed"))
        yield f"{kind}: {len(fitting)} faults, {numbers}"
