"""Faults in specifications: what the grid, with its proofs and runs, sees of each.

killed       an obligation is refuted, a run disagrees, or the specification says less of an instance
equivalent   at every instance that it changes the solver proves that the same nodes are legal, of the same sizes
argued       it changes nothing that can be seen, for a reason that `argued` has
UNSEEN       no instance of the grid has what it changes
SURVIVED     it changes what is legal or a size, and nothing sees that

Each fault lives in a copy of one process, in which its module is executed anew.
"""

from __future__ import annotations

import os
import pickle
import random
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

from absint.research.obligations.making import obligations
from absint.research.obligations.solving import Obligation, decided
from absint.research.specification import contents, specs
from absint.research.specification.arrays import FUNCTIONS
from absint.research.specification.formulas import FALSE, TRUE, both, either, equal, negated
from absint.research.specification.node import Meaning, Output
from absint.research.specification.specs import Instance, specification, specified
from absint.research.specification.terms import Formula, Term, variable
from absint.solver.backend import Backend
from absint.transfer.families import shipped
from absint.transfer.semantics import DOCUMENTED, EITHER, ONNX
from tests.mutants.argued import ARGUED, BEYOND
from tests.mutants.generated import faults
from tests.mutants.mutant import Mutant
from tests.mutants.planting import ROOT
from tests.specification.comparing import OLDEST, differences
from tests.specification.operators import versions

SECONDS: Final = 120
"""For one fault."""

PATIENCE: Final = 5
"""Seconds for one question to the solver."""

NOT_MUTATED: Final = ("__init__", "terms", "formulas", "node", "specs", "arrays", "attributes", "data_dependent")
"""Modules of the folder that specify no operator by themselves."""

State = Literal["killed", "equivalent", "argued", "UNSEEN", "SURVIVED"]


class Place(NamedTuple):
    """One instance of one version of an operator."""

    domain: str
    operator: str
    version: int
    instance: Instance
    documented: bool = False
    """As the documents have it, where onnxruntime has other sizes."""


class Seen(NamedTuple):
    """A fault, and what sees it."""

    name: str
    breaks: str
    state: State
    by: str


def modules() -> list[str]:
    """The modules of specifications."""
    folder = ROOT / "absint" / "research" / "specification"
    names = [path.stem for path in sorted(folder.glob("*.py")) if path.stem not in NOT_MUTATED]
    return [f"absint.research.specification.{name}" for name in names]


def drawn(count: int, seed: int) -> list[Mutant]:
    """So many faults in functions of specifications, each as likely as any other."""
    every = list(whole())
    return random.Random(seed).sample(every, min(count, len(every)))


def whole(names: Sequence[str] = ()) -> Iterator[Mutant]:
    """All faults in functions of modules whose names end so; of all modules without a name."""
    for module in modules():
        if not names or module.rpartition(".")[2] in names:
            yield from faults(module, inside=True)


@cache
def _places() -> Mapping[str, Sequence[Place]]:
    """The instances by the module of the specification; of versions that mean the same the first, and the outermost."""
    found: dict[str, dict[tuple[str, str, str], list[Place]]] = {}
    for domain, operator in specified():
        for version in sorted(versions(domain, operator), key=lambda v: (not domain and v < OLDEST, v)):
            spec = specification(domain, operator, version)
            beyond = BEYOND.get((domain, operator), ())
            for instance in () if spec is None else (*spec.instances(operator, version), *beyond):
                assert spec is not None
                of = [spec.function, *([] if domain or operator not in FUNCTIONS else [FUNCTIONS[operator]])]
                read = {}
                for documented in (True, False) if domain in DOCUMENTED else (False,):
                    place = Place(domain, operator, version, instance, documented)
                    read[_told(_at(place))] = place
                for told, place in read.items():
                    for module in {function.__module__ for function in of}:
                        groups = found.setdefault(module, {})
                        groups.setdefault((domain, operator, f"{instance!r} {told}"), []).append(place)
    return {module: [place for group in groups.values() for place in _outer(group)] for module, groups in found.items()}


def _outer(group: Sequence[Place]) -> list[Place]:
    ends = (min(group, key=lambda place: place.version), max(group, key=lambda place: place.version))
    return [place for place in group if any(place is end for end in (group[0], *ends))]


@cache
def _before(module: str) -> Sequence[tuple[Place, Meaning | str, str]]:
    """The instances of a module, what it says of each, and that as text."""
    return [(place, found := _at(place), _told(found)) for place in _places().get(module, ())]


def _at(place: Place) -> Meaning | str:
    """The meaning, with all elements that are known, or the kind of error that reading the instance raises."""
    domain, operator, version, instance, documented = place
    spec = specification(domain, operator, version)
    assert spec is not None
    try:
        found = spec.meaning(operator, version, instance, documented=documented)
        known = contents.elements(instance.node(operator, version), domain)
        _told(found)  # sizes are read last
    except Exception as error:
        return type(error).__name__
    outputs = [
        output._replace(elements=output.elements or own) for output, own in zip(found.outputs, known, strict=False)
    ]
    return found._replace(outputs=tuple(outputs))


def _told(found: Meaning | str) -> str:
    """All that a meaning says of sizes."""
    if isinstance(found, str):
        return found
    clauses = [(c.formula.smtlib(), c.strict.smtlib(), c.is_certain) for c in (*found.legal, *found.limits)]
    return f"{clauses} {[_conditions(output) for output in found.outputs]}"


def _conditions(output: Output) -> list[str]:
    size = variable("size")
    whole = (*output.dims, *([] if output.length is None else [output.length]))
    texts = [both(defined.condition(size), size >= defined.least).smtlib() for defined in whole]
    texts += [element.smtlib() for element in output.elements or ()]
    return texts + [text for part in output.parts or () for text in _conditions(part)]


def seen(mutant: Mutant, seconds: float = SECONDS) -> Seen:
    """Plant the fault in a copy of this process and ask the grid."""
    (change,) = mutant.changes
    places = _before(change.module)
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            os.write(writer, pickle.dumps(_seen(mutant, places)))
        except BaseException as error:
            os.write(writer, pickle.dumps(("SURVIVED", f"{type(error).__name__}: {error}")))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    state, by = pickle.loads(data) if data else ("killed", f"it takes over {seconds:g} seconds")
    if state in ("UNSEEN", "SURVIVED"):
        state, by = next(
            (("argued", why) for module, text, why in ARGUED if _is_argued(mutant, module, text)), (state, by)
        )
    return Seen(mutant.name, mutant.breaks, state, by)


def _is_argued(mutant: Mutant, module: str, text: str) -> bool:
    """By what the fault breaks, and what is before it in its line."""
    (change,) = mutant.changes
    place = next(n for n, (a, b) in enumerate(zip(change.before, change.after, strict=False)) if a != b)
    before = change.before[:place].rpartition("\n")[2].strip()
    return change.module.endswith(module) and re.search(text, f"{mutant.breaks} after {before}") is not None


def _seen(mutant: Mutant, places: Sequence[tuple[Place, Meaning | str, str]]) -> tuple[State, str]:
    (change,) = mutant.changes
    try:
        _execute(change.module, change.after)
    except Exception as error:
        return "killed", f"it is not even read: {type(error).__name__}"
    changed = []
    for place, old, told in places:
        if _told(new := _at(place)) != told:
            if _says_less(old, new):
                return "killed", f"{_shown(place)}: it says less: {new}"[:200]
            if isinstance(old, str):
                return "killed", f"{_shown(place)}: nothing was specified"
            changed.append((place, old, new))
    if not changed:
        return "UNSEEN", ""
    with Backend() as backend:
        different, cautious = [], 0
        for place, old, new in changed:
            if _are_equivalent(place, old, new, backend):
                continue
            if _is_caution(place, old, new, backend):
                cautious += 1
                continue
            different.append(place)
            possible = (
                isinstance(new, str) or not _is_possible(place, old, backend) or _is_possible(place, new, backend)
            )
            by = f"{_shown(place)}: nothing is legal there" if not possible else _killer(place, backend)
            if by:
                return "killed", by
    if cautious and not different:
        return "argued", f"an uncertain limit is wider at {cautious} instances, and nothing is compared there"
    where = "; ".join(map(_shown, different[:3]))
    return ("SURVIVED", where) if different else ("equivalent", f"at {len(changed)} instances")


def _shown(place: Place) -> str:
    return f"{place.operator}-{place.version} {place.instance}"


def _execute(module: str, source: str) -> None:
    """The module anew in this process: what it registers takes the place of what it had registered."""
    names = sys.modules[module].__dict__
    before = {place: list(found) for place, found in specs._SPECIFICATIONS.items()}
    for found in specs._SPECIFICATIONS.values():
        found[:] = [spec for spec in found if spec.function.__module__ != module]
    exec(compile(source, module, "exec", dont_inherit=True), names)
    for place, known in before.items():
        found = specs._SPECIFICATIONS[place]
        forms = {(spec.operators, spec.first, spec.last) for spec in found}
        for spec in known:  # other modules register functions of this one too
            if (spec.operators, spec.first, spec.last) not in forms:
                found.append(spec._replace(function=names[getattr(spec.function, "__name__", "")]))


def _killer(place: Place, backend: Backend) -> str:
    """What sees the fault at an instance: a refuted obligation or a run; empty if nothing does."""
    spec, rule = specification(*place[:3]), shipped().lookup(*place[:3])
    assert spec is not None
    where = f"{place.operator}-{place.version}"
    try:
        for view in place.instance.views:
            for chosen in (EITHER, ONNX) if place.domain in DOCUMENTED else (EITHER,):
                for item in obligations(rule, spec, *place[1:3], view, chosen) if rule is not None else ():
                    if isinstance(item, Obligation) and decided(item, backend, PATIENCE).verdict == "refuted":
                        return f"{where} {view}: {item.kind}: {item.claim}"
        return next((text for text in differences(spec, *place[1:4])), "")
    except Exception as error:
        return f"{where} {place.instance}: {type(error).__name__}: {error}"


def _is_possible(place: Place, found: Meaning | str, backend: Backend) -> bool:
    """Some sizes are legal, and by the documents too; tests/specification/undecided.py lists instances without any."""
    assert not isinstance(found, str)
    for strict in (False, True) if place.domain in DOCUMENTED else (False,):
        script = _declared(place, _legal(found, strict=strict))
        if backend.check(script, rlimit=2_000_000, seconds=PATIENCE, core=False).verdict == "unsat":
            return False
    return True


def _declared(place: Place, formula: Formula, *names: str) -> str:
    lines = [f"(declare-const {name} Int)" for name in (*place.instance.variables, *names)]
    signed = place.instance._replace(shown="signed").signed
    lines += [f"(assert (<= 0 {name}))" for name in place.instance.variables if name not in signed]
    return "\n".join([*lines, f"(assert {formula.smtlib()})"])


def _says_less(old: Meaning | str, new: Meaning | str) -> bool:
    """Nothing is said of the node, or of some elements: docs/rules.md counts what is said."""
    if isinstance(old, str) or isinstance(new, str):
        return isinstance(new, str)
    pairs = zip(old.outputs, new.outputs, strict=False)
    return any(a.elements is not None and b.elements is None for a, b in pairs)


def _are_equivalent(place: Place, old: Meaning | str, new: Meaning | str, backend: Backend) -> bool:
    """The same nodes are legal, and have the same sizes."""
    if isinstance(old, str) or isinstance(new, str) or len(old.outputs) != len(new.outputs):
        return False
    wrong = [_differ(_legal(old), _legal(new))]
    if place.domain in DOCUMENTED:
        wrong.append(_differ(_legal(old, strict=True), _legal(new, strict=True)))
    size = variable("size")
    for one, other in zip(old.outputs, new.outputs, strict=True):
        known = one.elements or (), other.elements or ()
        if len(one.dims) != len(other.dims) or len(known[0]) != len(known[1]) or _others(one) != _others(other):
            return False
        for a, b in zip(one.dims, other.dims, strict=True):
            wrong.append(
                both(
                    _legal(old),
                    _differ(both(a.condition(size), size >= a.least), both(b.condition(size), size >= b.least)),
                )
            )
        wrong += [both(_legal(old), _unlike(*pair)) for pair in zip(*known, strict=True)]
    script = _declared(place, either(*wrong), "size")
    return backend.check(script, rlimit=2_000_000, seconds=PATIENCE, core=False).verdict == "unsat"


def _others(output: Output) -> list[str]:
    """All of an output but its dims and elements."""
    return _conditions(output._replace(elements=None))[len(output.dims) :]


def _is_caution(place: Place, old: Meaning | str, new: Meaning | str, backend: Backend) -> bool:
    """The same is said, and a limit that is not certain excludes more."""
    if isinstance(old, str) or isinstance(new, str) or len(old.limits) != len(new.limits):
        return False
    pairs = [(a, b) for a, b in zip(old.limits, new.limits, strict=True) if a.formula.smtlib() != b.formula.smtlib()]
    if _told(old._replace(limits=())) != _told(new._replace(limits=())) or any(a.is_certain for a, _ in pairs):
        return False
    wider = either(*[both(b.formula, negated(a.formula)) for a, b in pairs])
    return backend.check(_declared(place, wider), rlimit=2_000_000, seconds=PATIENCE, core=False).verdict == "unsat"


def _unlike(a: Term | Formula, b: Term | Formula) -> Formula:
    if isinstance(a, Term) and isinstance(b, Term) and "fraction" not in f"{a.smtlib()} {b.smtlib()}":
        return negated(equal(a, b))
    if isinstance(a, Formula) and isinstance(b, Formula):
        return _differ(a, b)
    return FALSE if f"{a}" == f"{b}" else TRUE


def _legal(found: Meaning, *, strict: bool = False) -> Formula:
    clauses = (*found.legal, *found.limits)
    return both(*[clause.strict if strict else clause.formula for clause in clauses])


def _differ(a: Formula, b: Formula) -> Formula:
    return either(both(a, negated(b)), both(b, negated(a)))


def check(chosen: Sequence[Mutant]) -> int:
    """Print what sees each fault; 1 if one survives or is unseen."""
    found = []
    for mutant in chosen:
        found.append(seen(mutant))
        if found[-1].state != "killed":
            print(f"{found[-1].state:10} {mutant.name}: {mutant.breaks}; {found[-1].by}", flush=True)
    print(*summary(found), sep="\n")
    return int(any(one.state in ("UNSEEN", "SURVIVED") for one in found))


def summary(found: Sequence[Seen]) -> Iterator[str]:
    """The number of faults of each state."""
    states = Counter(one.state for one in found)
    yield f"{len(found)} faults, " + ", ".join(f"{count} {state}" for state, count in states.most_common())
