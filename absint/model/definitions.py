"""Names of long dims in the metadata of an annotated model: `absint.definitions`, a JSON object of names and texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from absint.lattices.terms.expr import Dim
from absint.lattices.text.escapes import json_text
from absint.lattices.text.notation import read_definitions
from absint.lattices.text.tokens import MAX_TEXT, TextError
from absint.model.messages import ModelMessage

if TYPE_CHECKING:
    from onnx import ModelProto


KEY: Final = "absint.definitions"

NAMES_KEY: Final = "absint.names"
"""The metadata key of a JSON object: names that replace texts of the author, and these texts."""


def definition_texts(model: ModelMessage) -> dict[str, str]:
    """The texts by name; nothing for an entry of another form, and where an input has a dim of such a name, unless it
    replaces a text of the author.
    """
    found = _entry(model, KEY)
    strange = found.keys() & _names_of_inputs(model) if found else ()
    return {} if strange and not strange <= _entry(model, NAMES_KEY).keys() else found


def _entry(model: ModelMessage, key: str) -> dict[str, str]:
    """An object of texts in the metadata; empty for anything else."""
    content: object = next((item.value for item in model.metadata_props if item.key == key), "")
    if not isinstance(content, str) or not 2 < len(content) <= MAX_TEXT:
        return {}
    import json

    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and all(isinstance(text, str) for text in found.values()) else {}


def read_texts(texts: Mapping[str, str], symbols: Mapping[str, Dim] | None = None) -> dict[str, Dim]:
    """The dims of the names, over `symbols`; nothing if a text does not parse."""
    try:
        return read_definitions(texts, symbols)
    except TextError:
        return {}


def write_definitions(model: ModelProto, texts: Mapping[str, str]) -> None:
    """Write the texts into the metadata, in place of others."""
    if texts:
        write_entry(model, KEY, json_text(dict(texts)))
        return
    for at in reversed(range(len(model.metadata_props))):
        if model.metadata_props[at].key == KEY:
            del model.metadata_props[at]


def write_entry(model: ModelProto, key: str, value: str) -> None:
    """Write an entry of the metadata, in place of one with the same key."""
    entry = next((item for item in model.metadata_props if item.key == key), None)
    entry = model.metadata_props.add(key=key) if entry is None else entry
    entry.value = value


def _names_of_inputs(model: ModelMessage) -> set[str]:
    """Every word in the dims of the inputs."""
    texts: Iterator[object] = (dim.dim_param for info in model.graph.input for dim in info.type.tensor_type.shape.dim)
    return {word for text in texts if isinstance(text, str) for word in (text, *re.findall(r"\w+", text))}
