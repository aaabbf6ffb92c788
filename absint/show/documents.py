"""The document about a model that has no answer."""

from __future__ import annotations

from typing import Final

from absint.lattices.text.documents import Document
from absint.lattices.text.forms import Key

ERROR: Final = Document[Exception](
    "error",
    1,
    "a model of several that could not be read or answered",
    Key("error", str, "one line: what, where, what to do", lambda error: error),
    head=("model",),
    defines=False,
)
