"""A certificate: the steps, their lemmas, and the documents that they are written to."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from absint.lattices.text.escapes import Json
from absint.questions.certificates.claims import Claim
from absint.questions.certificates.folder import MANIFEST, write_folder
from absint.questions.certificates.lemma import Lemma
from absint.questions.certificates.step import Place, Step
from absint.questions.certificates.terms import symbols
from absint.transfer.semantics import EITHER, Semantics
from absint.version import VERSION

SCHEMA: Final = "absint.certificate/1"
PREMISES: Final = (
    "A run succeeds: the claims are about no other.",
    "Sizes are from 0 to 2147483647, trips of a loop at most 2147418112, and integers are numbers: nothing overflows.",
    "Each lemma writes the specification of its operator down rightly.",
    "What the steps by 'model' say is read from the file: types of inputs, shapes and small contents of constants.",
)
"""Assumptions of every certificate, whatever the model."""

Standing = Literal["certified", "resting", "trusted"]
"""certified: follows from specifications and the file. resting: follows from those and from claims on trust. trusted:
the word of absint."""


@dataclass(frozen=True)
class Certificate:
    """Claims about a model, each with the lemma that it follows from."""

    model: str
    """The path of the model, or a word for it."""
    sha256: str
    """The hash of its bytes; files of weights beside it are not in it."""
    inputs: tuple[str, ...]
    """The symbols that the premises mention, as SMT-LIB writes them."""
    bounds: Mapping[str, str]
    """For each symbol a formula that bounds it; empty for one without bounds."""
    premises: tuple[str, ...]
    """The declarations and assumptions about the inputs, as formulas."""
    steps: tuple[Step, ...]
    """In an order in which each rests on earlier ones alone."""
    unproved: tuple[str, ...] = ()
    """The relations that were asked for and do not follow."""
    semantics: Semantics = EITHER
    """The runs that the claims are about."""

    @cached_property
    def lemmas(self) -> Mapping[str, Lemma]:
        """The lemmas by the name of their file; nodes with equal ones share it."""
        found: dict[str, Lemma] = {}
        for step in self.steps:
            if step.lemma is not None:
                found.setdefault(file_of(step.lemma), step.lemma)
        return found

    @cached_property
    def rests_on(self) -> tuple[frozenset[int], ...]:
        """For each step the steps whose word its claims rest on."""
        words: list[set[int]] = []
        needs: list[set[int]] = []
        on_word: dict[str, int] = {}
        for number, step in enumerate(self.steps):
            word = {number} if step.is_on_trust else set[int]()
            need = {place.step for place in step.takes if place is not None}
            for term in () if step.lemma is None else step.lemma.names.values():
                need |= {on_word[symbol] for symbol in symbols(term) if symbol in on_word}
            if step.by != "model":
                on_word |= {symbol: number for symbol, at in step.introduces.items() if step.by == "rule" or not at}
            for place in step.facts:
                if place.step >= 0:
                    need.add(place.step)
                    if self.steps[place.step].relations[place.at].by == "rule":
                        word.add(place.step)
            words.append(word)
            needs.append(need)
            if step.closes >= 0:
                needs[step.closes].add(number)  # every trip rests on the induction
        while True:
            before = sum(map(len, words))
            for word, need in zip(words, needs, strict=True):
                word.update(*(words[step] for step in need))
            if sum(map(len, words)) == before:
                return tuple(map(frozenset, words))

    @cached_property
    def sizes(self) -> Counter[Standing]:
        """The sizes that are claimed, by standing; those that the file says are not counted."""
        found: Counter[Standing] = Counter()
        for step, rests in zip(self.steps, self.rests_on, strict=True):
            for at, claim in enumerate(step.claims if step.by != "model" else ()):
                for axis, dim in enumerate(claim.dims or ()):
                    if dim is not None:
                        trusted = step.by == "rule" or f"out{at}@{axis}" in step.on_trust
                        found["trusted" if trusted else "resting" if rests else "certified"] += 1
        return found

    @property
    def requirements(self) -> Counter[Standing]:
        """The requirements of nodes, by standing."""
        return self._relations("required")

    @property
    def defined(self) -> Counter[Standing]:
        """Relations that define new numbers of nodes, such as a bound on a data-dependent size, by standing."""
        return self._relations("defined")

    @property
    def queries(self) -> Counter[Standing]:
        """The relations that were asked for, by standing."""
        return self._relations("query")

    def _relations(self, role: str) -> Counter[Standing]:
        found: Counter[Standing] = Counter()
        for step, rests in zip(self.steps, self.rests_on, strict=True):
            for given in step.relations:
                if given.role == role:
                    found["trusted" if given.by == "rule" else "resting" if rests else "certified"] += 1
        return found

    @property
    def on_trust(self) -> Counter[tuple[str, str]]:
        """The steps that are the word of absint, wholly or in part, by operator and reason."""
        found = ((step.operator, step.reason) for step in self.steps if step.has_word_of_rule)
        return Counter(found)

    def write(self, folder: str | os.PathLike[str]) -> int:
        """Write manifest.json, check.py and the lemmas to a folder; the number of bytes.

        Raises UsageError for a file, and for a folder with something in it that is no certificate.
        """
        texts = {MANIFEST: self.manifest(), "check.py": Path(__file__).with_name("check.py").read_text("utf-8")}
        return write_folder(folder, texts, {f"{name}.smt2": lemma.script for name, lemma in self.lemmas.items()})

    def manifest(self) -> str:
        """The document that names all steps and lemmas, as JSON with one line for each."""
        head: dict[str, Json] = {
            "schema": SCHEMA,
            "absint": VERSION,
            "model": {"name": os.path.basename(self.model), "sha256": self.sha256},
            "semantics": self.semantics,
            "granted": list(PREMISES),
            "premises": list(self.premises),
            "inputs": list(self.inputs),
        }
        lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
        lines.append(_listed("symbols", dict(self.bounds)))
        hashes = {name: sha256(lemma.script.encode()).hexdigest() for name, lemma in self.lemmas.items()}
        lines.append(_listed("lemmas", dict(hashes)))
        steps = ",\n".join(f"  {json.dumps(document(step))}" for step in self.steps)
        lines.append(f' "steps": [\n{steps}\n ]')
        return "{\n" + ",\n".join(lines) + "\n}\n"


def file_of(lemma: Lemma) -> str:
    """The name of the lemma's file, without the ending."""
    name = "".join(c if c.isalnum() or c in "-_." else "_" for c in lemma.title)
    return f"{name}-{sha256(lemma.script.encode()).hexdigest()[:12]}"


def document(step: Step) -> dict[str, Json]:
    """A step as JSON; what is empty is left out."""
    whole: dict[str, Json] = {
        "node": step.node,
        "operator": step.operator,
        "round": step.round,
        "by": step.by,
        "reason": step.reason,
        "lemma": "" if step.lemma is None else file_of(step.lemma),
        "names": {} if step.lemma is None else dict(step.lemma.names),
        "takes": [None if place is None else _place(place) for place in step.takes],
        "facts": list(map(_place, step.facts)),
        "closes": [] if step.closes < 0 else [step.closes],
        "introduces": dict(step.introduces),
        "gives": [_claim(step.name_of(at), claim) for at, claim in enumerate(step.claims)],
        "on_trust": list[Json](sorted(step.on_trust)),
        "relations": [dict(given._asdict()) for given in step.relations],
    }
    return {
        key: value
        for key, value in whole.items()
        if key in ("node", "by", "takes") or value or (key == "closes" and value == 0)
    }


def _place(place: Place) -> Json:
    return [place.step, place.at]


def _claim(name: str, claim: Claim) -> dict[str, Json]:
    found: dict[str, Json] = {"value": name, "dims": None if claim.dims is None else list(claim.dims)}
    return found if claim.elements is None else {**found, "elements": list(claim.elements)}


def _listed(key: str, items: Mapping[str, str]) -> str:
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in items.items())
    return f" {json.dumps(key)}: {{\n{lines}\n }}" if lines else f" {json.dumps(key)}: {{}}"


__all__ = ["PREMISES", "SCHEMA", "Certificate", "Standing", "file_of"]
