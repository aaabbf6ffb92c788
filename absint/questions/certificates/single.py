"""A certificate of one answer as one file: the steps on its way as comments, then each lemma once.

A solver answers `unsat` to every lemma.
"""

from __future__ import annotations

from collections.abc import Iterator

from absint.lattices.terms.expr import reached
from absint.lattices.text.escapes import plain
from absint.questions.certificates.certificate import PREMISES, Certificate, file_of
from absint.questions.certificates.step import Step


def single(certificate: Certificate) -> str:
    """The file of the last query of a certificate, with all that it rests on."""
    steps = certificate.steps
    kept = sorted(_on_the_way(steps, len(steps) - 1))
    numbers: dict[str, int] = {}
    scripts: list[str] = []
    lines = [
        f"; {plain(steps[-1].node)}",
        f"; of {plain(certificate.model)}, sha256 {certificate.sha256}",
        f"; semantics: {certificate.semantics}",
        "; Each lemma below must be unsat. A step takes claims of earlier steps; $0, $1, ... of its lemma stand for",
        "; the terms beside them. Granted:",
        *[f";   {text}" for text in PREMISES],
        *[f";   premise {at}: {formula}" for at, formula in enumerate(certificate.premises)],
        ";",
    ]
    for number in kept:
        step = steps[number]
        if step.lemma is not None:
            name = file_of(step.lemma)
            if name not in numbers:
                numbers[name] = len(numbers)
                scripts.append(f"; lemma {numbers[name]}\n{step.lemma.script}")
        lines += [f"; {line}" for line in _said(number, step, numbers)]
    return "\n".join(lines) + "\n\n" + "(reset)\n".join(scripts)


def _on_the_way(steps: tuple[Step, ...], last: int) -> set[int]:
    def before(number: int) -> list[int]:
        places = (*(place for place in steps[number].takes if place is not None), *steps[number].facts)
        return [place.step for place in places if place.step >= 0]

    return reached([last], before)


def _said(number: int, step: Step, numbers: dict[str, int]) -> Iterator[str]:
    yield f"step {number}: {plain(step.node)}, by {step.by}{_by(step, numbers)}"
    takes = ["-" if place is None else f"{place.step}.{place.at}" for place in step.takes]
    takes += [f"relation {place.at} of {'premises' if place.step < 0 else place.step}" for place in step.facts]
    if takes:
        yield f"  takes {', '.join(takes)}"
    for at, claim in enumerate(step.claims):
        dims = "?" if claim.dims is None else f"[{', '.join(dim or '?' for dim in claim.dims)}]"
        elements = "" if claim.elements is None else f" = {', '.join(item or '?' for item in claim.elements)}"
        yield f"  gives {plain(step.name_of(at))}: {dims}{elements}"
    for given in step.relations:
        yield f"  gives {given.formula}, {given.role}, by {given.by}"


def _by(step: Step, numbers: dict[str, int]) -> str:
    if step.lemma is None:
        return f": {step.reason}" if step.reason else ""
    names = ", ".join(f"{name} = {term}" for name, term in step.lemma.names.items())
    trusted = f"; on trust: {', '.join(sorted(step.on_trust))}" if step.on_trust else ""
    return f" {numbers[file_of(step.lemma)]}{' with ' if names else ''}{names}{trusted}"
