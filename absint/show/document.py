"""The report as JSON. The form is versioned: a key is added without notice, but none changes its meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from absint.lattices.contents import Contents
from absint.lattices.text.escapes import Json, json_text
from absint.lattices.text.naming import Where
from absint.lattices.value import BOTTOM, AnyTensor, MapOf, OptionalOf, SequenceOf, SparseTensor, Value
from absint.show.documents import head_of
from absint.show.relations import located
from absint.show.summary import computed, totals
from absint.solution.naming import where

if TYPE_CHECKING:
    from absint.questions.explain.fresh import FreshSymbol
    from absint.result import Result
    from absint.shapes.timings import Timings
    from absint.show.tracing import Traced

SCHEMA = "absint.analyze/2"


def document(
    result: Result,
    missing: Mapping[str, Sequence[str]],
    traced: Sequence[Traced],
    timings: Timings | None = None,
    texts: Where | None = None,
) -> str:
    """The whole result. A dim is a number, a text, or a name in `definitions`. `texts` wrote what is `missing`."""
    texts = texts or where(result)
    counts = totals(result)
    inputs: list[Json] = [{"name": name, **as_json(result[name], texts)} for name in result.inputs]
    outputs: list[Json] = [
        {"name": name, **as_json(result.values[name], texts)} for name in result.outputs if name in result.values
    ]
    values: list[Json] = [
        {"path": row.path, "name": row.name, "operator": row.operator, "node": row.node, **as_json(row.value, texts)}
        for row in computed(result)
    ]
    whole: dict[str, Json] = {
        **head_of(SCHEMA, result),
        "can_run": result.can_run,
        "policy": {"name": result.policy.name, "sound": result.policy.sound, "summary": result.policy.summary},
        "symbols": list(result.symbols),
        "elements": [
            {"name": e.name, "input": e.input, "index": e.place, "dtype": str(e.dtype), "bounds": list(e.symbol.bounds)}
            for e in result.elements.values()
        ],
        "fresh_symbols": [_fresh(found, texts) for found in result.fresh_symbols],
        "inputs": inputs,
        "outputs": outputs,
        "values": values,
        "totals": {
            "values": counts.values,
            "values_of_unknown_rank": counts.unranked,
            "dims": counts.dims,
            "concrete": counts.concrete,
            "expression": counts.expression,
            "unknown": counts.unknown,
        },
        "operators_without_rule": dict(result.unruled),
        "operators_inferred_by_schema": dict(result.inferred),
        "diagnostics": [
            {"severity": d.severity.value, "code": d.code, "where": d.where, "message": d.message}
            | ({} if d.sizes is None else {"sizes": dict(d.sizes)})
            for d in result.diagnostics
        ],
        "trusted": [
            {"where": item.where, "shape": [None if d.is_unknown else texts.json(d) for d in item.shape]}
            for item in result.trusted
        ],
        "assuming": [located(premise, texts) for premise in result.premises],
    }
    if not result.policy.sound:
        whole["label"] = result.policy.label
        whole["claims"] = [
            {"relation": texts.relation(claim.relation), "node": claim.node, "reason": claim.reason}
            for claim in result.claims
        ]
    if missing:
        whole["missing"] = {requirement: list(lines) for requirement, lines in missing.items()}
    if traced:
        whole["trace"] = [
            {
                "value": history.place,
                "node": history.node,
                "changes": [{"visit": change.visit, **as_json(change.value, texts)} for change in history.changes],
            }
            for history in traced
        ]
    if timings is not None:
        whole["timings"] = {
            "seconds": {name: tally.seconds for name, tally in timings.phases.items()},
            "visits": timings.visits,
            "rules_run": timings.applications,
            "remembered": timings.remembered,
            "rules": {name: {"runs": tally.count, "seconds": tally.seconds} for name, tally in timings.rules.items()},
        }
    whole["definitions"] = dict(texts.definitions)
    return "{\n" + ",\n".join(f"{_text(key)}: {_lines(item)}" for key, item in whole.items()) + "\n}"


def _fresh(found: FreshSymbol, texts: Where) -> Json:
    return {
        "name": found.name,
        "cause": found.cause,
        "why": found.why,
        "node": found.node,
        "operator": found.operator,
        "path": found.path,
        "least": None if found.least is None else texts.json(found.least),
        "most": None if found.most is None else texts.json(found.most),
    }


def _lines(item: Json) -> str:
    """One line, or one for each item of a list of objects."""
    if isinstance(item, list) and item and isinstance(item[0], dict):
        return "[\n  " + ",\n  ".join(map(_text, item)) + "\n]"
    return _text(item)


def _text(item: Json) -> str:
    return json_text(item)


def as_json(value: Value, texts: Where) -> dict[str, Json]:
    """A value as JSON: `kind`, and what the kind has."""
    if isinstance(value, AnyTensor):
        shape: list[Json] | None = None if value.shape.rank is None else [texts.json(dim) for dim in value.shape.dims]
        result: dict[str, Json] = {"kind": "tensor", "dtype": str(value.dtype), "shape": shape}
        if value.shape.variable is not None:
            result["open_shape"] = list(value.shape.listed(texts.json, str))
        if value.shape.cases:
            cases = value.shape.cases
            result["cases"] = [{"when": texts.json(c), "shape": [texts.json(d) for d in s.dims]} for c, s in cases]
        if isinstance(value, SparseTensor):
            result["kind"] = "sparse_tensor"
        elif value.contents is not None:
            result["contents"] = _contents(value.contents, texts)
        return result
    if isinstance(value, SequenceOf):
        return {"kind": "sequence", "length": texts.json(value.length), "element": as_json(value.element, texts)}
    if isinstance(value, OptionalOf):
        return {"kind": "optional", "present": value.present, "element": as_json(value.element, texts)}
    if isinstance(value, MapOf):
        return {"kind": "map", "key": str(value.key), "element": as_json(value.element, texts)}
    return {"kind": "never computed" if value is BOTTOM else "unknown"}


def _contents(contents: Contents, texts: Where) -> Json:
    """Row-major elements with their shape, or the one element of a fill."""
    if contents.shape is None:
        return {"fill": texts.json(contents.elements[0])}
    return {"shape": list(contents.shape), "elements": [texts.json(element) for element in contents.elements]}
