"""Certificates that were written, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from absint.lattices.text.escapes import Json, json_text, plain
from absint.show.documents import head_of
from absint.show.text import Line, semantics, wrapped

if TYPE_CHECKING:
    from absint.questions.certificates.certificate import Certificate, Standing
    from absint.result import Result

SCHEMA = "absint.certify/1"


def report(found: Certificate, folder: str, width: int) -> Iterator[Line]:
    """The folder written, the number of certified claims, and the nodes on trust."""
    yield Line(f"{plain(folder)}: {plain(found.model)}", "bold")
    yield from (line._replace(text=f"  {line.text}") for line in semantics(found.semantics))
    by = Counter(step.by for step in found.steps)
    yield Line(f"  lemmas        {len(found.lemmas):,} for {by['lemma']:,} steps; {by['model']:,} read from the model")
    for title, counts in _counts(found).items():
        if counts:
            yield from map(Line, wrapped(f"  {title:12}  {_standing(counts)}", width, 16))
    for text in found.unproved:
        yield from map(Line, wrapped(f"  not certified: {plain(text)}", width, 4))
    if found.on_trust:
        yield Line("")
        yield Line("on trust", "bold")
    for (operator, reason), count in found.on_trust.most_common():
        nodes = "1 node" if count == 1 else f"{count:,} nodes"
        yield from map(Line, wrapped(f"  {plain(operator) or 'control flow'}, {nodes}: {plain(reason)}", width, 4))


def _counts(found: Certificate) -> dict[str, Counter[Standing]]:
    return {
        "sizes": found.sizes,
        "requirements": found.requirements,
        "defined": found.defined,
        "queries": found.queries,
    }


def _standing(counts: Counter[Standing]) -> str:
    words: dict[Standing, str] = {
        "certified": "certified",
        "resting": "certified but for what they rest on, which is on trust",
        "trusted": "on trust",
    }
    return ", ".join(f"{counts[kind]:,} {text}" for kind, text in words.items() if counts[kind])


def document(result: Result, found: Certificate, folder: str, size: int) -> str:
    """The same as JSON."""
    by = Counter(step.by for step in found.steps)
    counts: dict[str, Json] = {
        title: {"certified": each["certified"], "resting": each["resting"], "trusted": each["trusted"]}
        for title, each in _counts(found).items()
    }
    on_trust: list[Json] = [
        {"operator": operator, "reason": reason, "nodes": count}
        for (operator, reason), count in found.on_trust.most_common()
    ]
    whole: dict[str, Json] = {
        **head_of(SCHEMA, result),
        "output": folder,
        "bytes": size,
        "hash": found.sha256,
        "lemmas": len(found.lemmas),
        "steps": {"lemma": by["lemma"], "model": by["model"], "rule": by["rule"]},
        **counts,
        "unproved": list[Json](found.unproved),
        "on_trust": on_trust,
    }
    return json_text(whole, indent=1)


__all__ = ["document", "report"]
