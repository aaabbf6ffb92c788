"""Certificates that were written, as text and as JSON."""

from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from typing import Final, NamedTuple, get_args

from absint.lattices.text.documents import Document
from absint.lattices.text.forms import COUNT, Key, Object, many, tally
from absint.lattices.text.sheets import Line, Part
from absint.questions.certificates.certificate import Certificate, Standing
from absint.questions.certificates.step import By
from absint.solution.naming import runs_alone


def report(found: Certificate, folder: str) -> Iterator[Part]:
    """The folder written, the number of certified claims, and the nodes on trust."""
    yield Line(f"{folder}: {found.model}", "bold")
    yield from (Line(f"  {line.text}") for line in runs_alone(found.semantics))
    by = Counter(step.by for step in found.steps)
    yield Line(f"  lemmas        {len(found.lemmas):,} for {by['lemma']:,} steps; {by['model']:,} read from the model")
    for title in ("sizes", "requirements", "defined", "queries"):
        if counts := getattr(found, title):
            yield Line(f"  {title:12}  {_standing(counts)}")
    for text in found.unproved:
        yield Line(f"  not certified: {text}")
    if found.on_trust:
        yield Line("")
        yield Line("on trust", "bold")
    for (operator, reason), count in found.on_trust.most_common():
        nodes = "1 node" if count == 1 else f"{count:,} nodes"
        yield Line(f"  {operator or 'control flow'}, {nodes}: {reason}")


def _standing(counts: Counter[Standing]) -> str:
    words: dict[Standing, str] = {
        "certified": "certified",
        "resting": "certified but for what they rest on, which is on trust",
        "trusted": "on trust",
    }
    return ", ".join(f"{counts[kind]:,} {text}" for kind, text in words.items() if counts[kind])


class Written(NamedTuple):
    """A certificate in its folder."""

    certificate: Certificate
    folder: str
    size: int


_STANDING: Final = tally(
    get_args(Standing),
    certified="follow from specifications, the file and the premises",
    resting="follow from these, and from something on trust",
    trusted="are on trust: the word of absint",
).named("standing", "How many are certified, rest on something on trust, or are on trust themselves.")
_TRUSTED: Final = Object[tuple[tuple[str, str], int]](
    Key("operator", str, of=lambda item: item[0][0]),
    Key("reason", str, of=lambda item: item[0][1]),
    Key("nodes", COUNT, of=lambda item: item[1]),
)
_COUNTS: Final = Object[Certificate](
    Key("sizes", _STANDING, "sizes of values"),
    Key("requirements", _STANDING, "what nodes require"),
    Key("defined", _STANDING, "what nodes say of numbers that they introduce: bounds on sizes that hang on data"),
    Key("queries", _STANDING, "relations of `--prove`"),
    Key("unproved", many(str), "relations of `--prove` that do not follow"),
    Key("on_trust", many(_TRUSTED), "nodes that are on trust, wholly or in part", lambda c: c.on_trust.most_common()),
)
CERTIFY: Final = Document[Written](
    "certify",
    1,
    "a certificate that was written (absint certify)",
    Key("output", str, "the folder", lambda written: written.folder),
    Key("bytes", COUNT, "bytes of all files in it", lambda written: written.size),
    Key("hash", str, "the SHA-256 of the model", lambda written: written.certificate.sha256),
    Key("lemmas", COUNT, "files of lemmas in it", lambda written: len(written.certificate.lemmas)),
    Key(
        "steps",
        tally(
            get_args(By),
            lemma="follow from the specification of the node",
            model="are read from the model",
            rule="are the word of absint",
        ),
        "by what backs their claims",
        lambda written: Counter(step.by for step in written.certificate.steps),
    ),
    _COUNTS.spread(attrgetter("certificate")),
    defines=False,
)
