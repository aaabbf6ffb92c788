"""A certificate: the steps, their lemmas, and the documents that they are written to."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, get_args

from absint.lattices.limits import Limits
from absint.lattices.terms.expr import Dim, Symbol, expr_of
from absint.lattices.text import forms
from absint.lattices.text.documents import Document
from absint.lattices.text.forms import COUNT, SEMANTICS, Filled, Key, Kind, Object, by_name, many, maybe, one_of
from absint.model import writing
from absint.program.limits import checked
from absint.questions.certificates.chain import Chain
from absint.questions.certificates.check import Asked, OpenError, Tree, parsed, printed
from absint.questions.certificates.lemma import Lemma, Proving, about, entailment
from absint.questions.certificates.step import By, ClaimPlace, Given, Step
from absint.questions.certificates.terms import Claim, symbols
from absint.questions.proofs.text import Query, read_relation
from absint.solution.analysed import Analysed
from absint.solver.backend import Backend
from absint.solver.smtlib import within
from absint.transfer.semantics import EITHER, Semantics

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
        """The sizes that are claimed, by standing; those that the file says are not counted. One that several rounds
        claim is counted once.
        """
        found: dict[tuple[object, int, int], Standing] = {}
        for number, (step, rests) in enumerate(zip(self.steps, self.rests_on, strict=True)):
            for at, claim in enumerate(step.claims if step.by != "model" else ()):
                for axis, dim in enumerate(claim.dims or ()):
                    if dim is not None:
                        trusted = step.by == "rule" or f"out{at}@{axis}" in step.on_trust
                        standing: Standing = "trusted" if trusted else "resting" if rests else "certified"
                        place = (step.at or number, at, axis)
                        found[place] = min(found.get(place, standing), standing, key=get_args(Standing).index)
        return Counter(found.values())

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
        """Write manifest.json, check.py and the lemmas to a folder, and remove older lemmas; the number of bytes.

        The manifest comes last, so that a folder which is not complete does not check, and an older certificate stays
        whole if there is no room for the new one. Raises UsageError for a file, for a folder with something in it that
        is no certificate, and for what cannot be written.
        """
        check_folder(folder)
        files = {f"{_LEMMAS}/{name}.smt2": lemma.script for name, lemma in self.lemmas.items()}
        files |= {"check.py": Path(__file__).with_name("check.py").read_text("utf-8"), _MANIFEST: self.manifest()}
        size = writing.write_files(folder, files)
        for old in (Path(folder) / _LEMMAS).glob("*.smt2"):
            if f"{_LEMMAS}/{old.name}" not in files:
                old.unlink()
        return size

    def manifest(self) -> str:
        """The document that names all steps and lemmas, as JSON with one line for each step."""
        return CERTIFICATE.text(self) + "\n"


_MANIFEST: Final = "manifest.json"
_LEMMAS: Final = "lemmas"


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raises UsageError for a file, and for a folder with something in it that is no certificate."""
    writing.check_folder(folder, _is_certificate, "certificate")


def _is_certificate(root: Path) -> bool:
    with suppress(OSError, ValueError, AttributeError):
        found = json.loads((root / _MANIFEST).read_text("utf-8"))
        return str(found.get("schema")).startswith("absint.certificate/")
    return False


def file_of(lemma: Lemma) -> str:
    """The name of the lemma's file, without the ending."""
    name = "".join(c if c.isalnum() or c in "-_." else "_" for c in lemma.title)
    return f"{name}-{sha256(lemma.script.encode()).hexdigest()[:12]}"


_TERMS: Final = many(maybe(str))
_PLACE: Final = Kind[ClaimPlace](
    {
        "type": "array",
        "prefixItems": [{"type": "integer", "minimum": -1}, {"type": "integer", "minimum": 0}],
        "minItems": 2,
        "maxItems": 2,
    },
    lambda place, names: [place.step, place.at],
).named("step_and_place", "A step and the place of a claim in it; -1 for the premises.")
_ONE_STEP: Final = Kind[int]({**many(COUNT).schema, "minItems": 1, "maxItems": 1}, lambda step, names: [step])
_CLAIM: Final = Object[tuple[str, Claim]](
    Key("value", str, of=lambda pair: pair[0]),
    Key("dims", maybe(_TERMS), "terms of SMT-LIB over symbols of the model; null for unknown", lambda p: p[1].dims),
    Key(
        "elements",
        _TERMS,
        "in row-major order, as terms; left out if nothing is known of any",
        lambda pair: pair[1].elements or (),
        lambda pair: pair[1].elements is not None,
    ),
)
_FORMULA, _, *_WORD = forms.keys_of(Given, formula="of SMT-LIB", by="on whose word")
_GIVEN: Final = Object[Given](_FORMULA, Key("role", one_of("required", "defined", "assumed", "query")), *_WORD)
_STEP: Final = Object[Step](
    Key("node", str),
    Filled("operator", str, "with the opset of the model"),
    Filled("at", many(str), "its place in the file: the way to its body, and its first output"),
    Filled("round", int, "the round of the analysis; 0 if it is left out"),
    Key("by", one_of(*get_args(By)), "on whose word: a lemma, the file of the model, absint's rule"),
    Filled("reason", str, "why claims are on trust"),
    Filled("lemma", str, "its name in `lemmas`", lambda step: "" if step.lemma is None else file_of(step.lemma)),
    Filled(
        "names",
        by_name(str),
        "the term that each symbol of the lemma stands for",
        lambda step: {} if step.lemma is None else step.lemma.names,
    ),
    Key("takes", many(maybe(_PLACE)), "the claims of the inputs; null for one that is left out"),
    Filled("facts", many(_PLACE), "relations of earlier steps that the lemma takes for granted"),
    Key(
        "closes",
        _ONE_STEP,
        "the step of a loop's head, whose claims this step shows of the next trip",
        when=lambda step: step.closes >= 0,
    ),
    Filled(
        "introduces",
        by_name(str),
        "symbols that occur here first, with the size or element that each names, if it names one",
    ),
    Filled(
        "gives",
        many(_CLAIM),
        "the claim about each output",
        lambda step: [(step.name_of(at), claim) for at, claim in enumerate(step.claims)],
    ),
    Filled("on_trust", many(str), "parts of the claims that the lemma does not prove", lambda s: sorted(s.on_trust)),
    Filled("relations", many(_GIVEN), "what the node states"),
)
CERTIFICATE: Final = Document[Certificate](
    "certificate",
    1,
    "manifest.json of a certificate (absint certify -o DIR)",
    Key(
        "model",
        Object[Certificate](Key("name", str, of=lambda found: os.path.basename(found.model)), Key("sha256", str)),
        "its name, and the hash of its bytes",
        lambda found: found,
    ),
    Key("semantics", SEMANTICS, "the runs that the claims are about"),
    Key("granted", many(str), "what is taken for granted of every model, in words", lambda found: PREMISES),
    Key("premises", many(str), "what is declared or assumed of the inputs, as formulas of SMT-LIB"),
    Key("inputs", many(str), "the symbols of the premises"),
    Key(
        "symbols",
        by_name(str),
        "the formula that bounds each symbol; empty for one without bounds",
        lambda found: found.bounds,
    ),
    Key(
        "lemmas",
        by_name(str),
        "the SHA-256 of each file in `lemmas/`, by its name without `.smt2`",
        lambda found: {name: sha256(lemma.script.encode()).hexdigest() for name, lemma in found.lemmas.items()},
    ),
    Key("steps", many(_STEP), "in an order in which each rests on earlier ones alone"),
    head=(),
    defines=False,
    lines=True,
)


# Relations that somebody asks to be certified: each a step that takes the claims of the values in it.

_SIZE: Final = re.compile(r"\|%25(in\d+@\d+)\|")


class _Reader(Query):
    """Reads a relation with a name for each size of the values in it: `in0@1`."""

    def shape(self, name: str) -> tuple[Dim, ...]:
        dims = super().shape(name)
        place = list(self.asked).index(name)
        return tuple(expr_of(Symbol.placeholder(f"in{place}@{axis}")) for axis in range(len(dims)))


def certify_query(chain: Chain, text: str) -> bool:
    """Add the step of a relation to the chain; False if it does not follow from the claims.

    The formula is the one that check.py makes of the text, if it reads it. Raises UsageError for a text that cannot be
    read.
    """
    reader = _Reader(chain.analysed)
    normal = chain.terms.formula(reader.relation(text).substitute(dict(chain.names)))
    operands = [chain.analysed.operands[name] for name in reader.asked]
    if normal is None or any(operand not in chain.places for operand in operands):
        return False
    formula = _SIZE.sub(r"\1", normal)
    takes = [chain.places[operand] for operand in operands]
    inputs = tuple(map(chain.claim, takes))
    place, bound = partial(_place, chain, takes), partial(_bound, chain)
    with suppress(OpenError):
        formula = printed(Asked(text, chain.analysed.operands, place, bound).formula)
    given = chain.analysed.input_nodes.values()
    are_computed = all(chain.is_of_every_run(number) or number in given for number, _ in operands)
    for pool in ((), chain.facts):
        facts = about(pool, [formula], inputs, closed=True)
        lemma = partial(entailment, inputs, formula, chain.terms.bounds, are_computed=are_computed)
        found = chain.proving.least(lemma, facts)
        if found is not None:
            asked = Given(formula, "query", text, "lemma")
            used = tuple(chain.facts[fact] for fact in found[1])
            chain.steps.append(Step(text, takes=tuple(takes), relations=(asked,), lemma=found[0], facts=used))
            return True
    return False


def _place(chain: Chain, takes: Sequence[ClaimPlace], name: str) -> tuple[int, int]:
    """The number of a value among the inputs of a query, and its axes."""
    place = chain.places.get(chain.analysed.operands[name])
    dims = None if place is None else chain.claim(place).dims
    if place not in takes or dims is None:
        raise OpenError
    return takes.index(place), len(dims)


def _bound(chain: Chain, symbol: str) -> Tree | None:
    """The formula that bounds a symbol; None for one that does not occur."""
    if symbol not in chain.introduced:
        return None
    text = within(symbol, chain.terms.bounds[symbol])
    return parsed(text) if text else ""


# Certificates of an analysis.


def certify(
    analysed: Analysed,
    prove: Sequence[str] = (),
    *,
    seconds: float = 10,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Certificate:
    """See `absint.Result.certify`. `progress` gets the nodes that are done, and all."""
    analysed.require_sound("a certificate")
    with Backend() as backend:
        chain = Chain(analysed, Proving(backend, checked(Limits(seconds)).seconds), progress)
        for text in prove:
            read_relation(analysed, text)  # report a mistake in the last one before the work begins
        chain.run()
        unproved = tuple(text for text in prove if not certify_query(chain, text))
    with analysed.loaded.opened() as opened:
        digest = sha256(opened.data).hexdigest()
    bounds = {symbol: within(symbol, found) for symbol, found in chain.terms.bounds.items()}
    return Certificate(
        analysed.origin,
        digest,
        tuple(chain.inputs),
        bounds,
        tuple(chain.premises),
        tuple(chain.steps),
        unproved,
        analysed.semantics,
    )
