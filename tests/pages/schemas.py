"""absint/model/schemas.txt, written from the registry of the installed onnx package.

python -m tests.pages.schemas [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

import onnx

from absint.model import registry
from absint.model.registry import TABLE, Parameter, Schema, described


def table() -> str:
    """The text of the table."""
    every = [described(schema) for schema in onnx.defs.get_all_schemas_with_history()]
    sets = sorted({" ".join(types) for schema in every for types in schema.types.values()})
    every.sort(key=lambda schema: (schema.domain, schema.name, schema.since))
    parts = [f"{onnx.__version__} {onnx.defs.onnx_opset_version()}", "\n".join(sets)]
    for domain, schemas in groupby(every, key=lambda schema: schema.domain):
        parts.append("\n".join([domain or "ai.onnx", *(written(schema, sets) for schema in schemas)]))
    return "\n\n".join(parts) + "\n"


def written(schema: Schema, sets: Sequence[str]) -> str:
    """The line of a schema; `sets` are the sets of types that have a number, in order."""
    marks = {properties: mark for mark, properties in registry._MARKS.items()}

    def parameters(formals: Iterable[Parameter]) -> str:
        return " ".join(f"{p.name}{marks[p[2:]]}:{p.type}" for p in formals)

    types = (f"{variable}={sets.index(' '.join(allowed))}" for variable, allowed in schema.types.items())
    attributes = (f"{a}{registry._REQUIRED * (a in schema.required)}={kind}" for a, kind in schema.attributes.items())
    return "|".join(
        (
            f"{schema.name} {schema.since} ",
            parameters(schema.inputs),
            parameters(schema.outputs),
            " ".join(map(str, schema.arity)),
            " ".join(types),
            " ".join(attributes),
            registry._DEPRECATED * schema.is_deprecated + registry._FUNCTION * schema.has_body,
        )
    )


def main() -> int:
    """Write the table, or say whether it is as it would be written."""
    text = table()
    if "--check" in sys.argv[1:]:
        return 0 if Path(TABLE).read_text("ascii") == text else 1
    Path(TABLE).write_text(text, "ascii", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
