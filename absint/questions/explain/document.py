"""An explanation as JSON, in which nothing is folded. A key may be added to the form, but none changes its meaning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from absint.lattices.text.escapes import Json, json_text
from absint.lattices.text.naming import Where
from absint.solution.described import described
from absint.version import VERSION

if TYPE_CHECKING:
    from absint.questions.explain.derived import Derived, Number, Source, Stated, Step

SCHEMA: Final = "absint.explain/2"


def document(explanation: Derived) -> str:
    """The whole explanation, one step a line."""
    texts = Where(explanation.naming)
    head: dict[str, Json] = {
        "schema": SCHEMA,
        "absint": VERSION,
        "model": explanation.model,
        "assume": [str(relation) for relation in explanation.assume],
        "value": explanation.value,
        "path": explanation.path,
        "description": described(explanation.shown, texts),
        "claims": list(explanation.claims),
        "left_out": explanation.left_out,
    }
    if explanation.note:
        head["note"] = explanation.note
    if explanation.label:
        head["policy"] = explanation.label
    steps = ",\n  ".join(json_text(_step(step, texts)) for step in explanation.steps)
    lines = [f"{json_text(key)}: {json_text(item)}" for key, item in head.items()]
    defined = f'"definitions": {json_text(texts.definitions)}'
    return "{\n" + ",\n".join([*lines, f'"steps": [\n  {steps}\n]', defined]) + "\n}"


def _step(step: Step, texts: Where) -> dict[str, Json]:
    return {
        "id": step.id,
        "kind": step.kind,
        **_at(step.at, texts),
        "node": {"id": step.node, "name": step.name, "operator": step.operator, "path": step.path},
        "does": step.does,
        "formula": None if step.formula is None else str(step.formula),
        "attributes": {name: _attribute(value) for name, value in step.attributes},
        "from": [_source(source, texts) for source in step.sources],
        "followed": step.followed,
        "requires": _all_stated(step.requires, texts),
        "defined": _all_stated(step.defined, texts),
        "facts": _all_stated(step.facts, texts),
    }


def _source(source: Source, texts: Where) -> dict[str, Json]:
    named: dict[str, Json] = {"step": source.step, "role": source.role, "variable": source.variable}
    return {**named, **_at(source.at, texts), "by": source.by}


def _attribute(value: object) -> Json:
    """A number, a text or a list of them as it is, anything else as text."""
    if isinstance(value, list):
        return [_attribute(item) for item in value]
    return value if isinstance(value, (int, str)) else str(value)


def _at(at: Number, texts: Where) -> dict[str, Json]:
    """`axis`, `element` (row-major) or `length`: the one that applies has its index, the others null."""
    place = at.place
    return {
        "value": at.value,
        "path": at.path,
        "axis": place.at if place.kind == "axis" else None,
        "element": place.at if place.kind == "element" else None,
        "length": place.kind == "length",
        "depth": place.depth,
        "dim": texts.json(at.number),
    }


def _all_stated(found: Iterable[Stated], texts: Where) -> list[Json]:
    return [{"relation": texts.relation(s.relation), "role": s.role, "reason": s.reason, "node": s.node} for s in found]


__all__ = ["SCHEMA", "document"]
