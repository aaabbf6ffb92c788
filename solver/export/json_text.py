"""JSON text: ASCII only, so that no character of a name can mislead a reader; parse errors are one line."""

from __future__ import annotations

import json
from typing import cast

from absint.lattices.text.escapes import inert_json
from absint.solver.export.errors import ExportError, shown
from absint.solver.export.records import MAX_DOCUMENT, Json


def dump(value: Json) -> str:
    return inert_json(json.dumps(value, ensure_ascii=True, allow_nan=False))


def check_text(text: object, where: str) -> None:
    """Raises ExportError for a value that is no text, or too long."""
    if not isinstance(text, str):
        raise ExportError(f"{where}: expected a text, found {shown(text)}")
    if len(text) > MAX_DOCUMENT:
        raise ExportError(f"{where}: at most {MAX_DOCUMENT} characters are read, this has {len(text)}")


def load(text: str, where: str) -> Json:
    """The value that the text denotes. Raises ExportError if it is not JSON, nests too deeply or is too long."""
    check_text(text, where)
    try:
        return cast(Json, json.loads(text))
    except json.JSONDecodeError as problem:
        place = f"line {problem.lineno}, column {problem.colno}"
        raise ExportError(f"{where}: not JSON: {problem.msg} at {place}") from None
    except RecursionError:
        raise ExportError(f"{where}: nests too deeply") from None
    except ValueError:  # an integer that Python refuses to read
        raise ExportError(f"{where}: a number has too many digits") from None
