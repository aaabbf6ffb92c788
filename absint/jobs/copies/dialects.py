"""The choices of an annotated copy, among them dialects of `dim_param`: which texts another tool reads as an
expression, and which as a name. No import of onnx: a copy of a large file begins before it.
"""

import keyword
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, Literal, NamedTuple

from absint.errors import UsageError
from absint.lattices.text.escapes import did_you_mean
from absint.lattices.text.tokens import is_word, pieces


class Dialect(NamedTuple):
    """The texts that a tool reads. What it cannot read is written as a name, with its definition in the metadata."""

    name: str
    summary: str
    is_name: Callable[[str], bool]
    """The tool reads this text as one name."""
    functions: Mapping[str, str] = {}
    """The functions of absint's texts that the tool has, under its names."""
    operators: frozenset[str] = frozenset()
    """The operators that mean the same to the tool; without any it parses no expressions."""


@cache
def _sympy_names() -> frozenset[str]:
    """The names that `sympy.sympify` takes for something of SymPy or Python; `N`, `S` and `beta` are among them."""
    from importlib.resources import files

    content = files("absint.jobs.copies").joinpath("sympy_names.txt").read_text(encoding="ascii")
    return frozenset(line for text in content.splitlines() if not text.startswith("#") for line in text.split())


def _is_onnx_ir_name(text: str) -> bool:
    head, rest = text[:1], text[1:].replace(".", "_")
    return (head.isalpha() or head == "_") and all(c.isalnum() or c == "_" for c in rest)


_ARITHMETIC: Final = frozenset(["+", "-", "*", "//", "%", "(", ")", ","])

DIALECTS: Final = {
    dialect.name: dialect
    for dialect in (
        Dialect("absint", "expressions in the grammar of absint", lambda _: True, operators=frozenset({"any"})),
        Dialect(
            "sympy",
            "expressions that sympy.sympify parses",
            lambda text: (
                text.isascii() and text.isidentifier() and not keyword.iskeyword(text) and text not in _sympy_names()
            ),
            {"max": "Max", "min": "Min"},
            _ARITHMETIC,
        ),
        Dialect(
            "onnx-shape-inference",
            "expressions that onnx-shape-inference and onnx_ir parse",
            _is_onnx_ir_name,
            {"max": "max", "min": "min"},
            _ARITHMETIC,
        ),
        Dialect("opaque", "a name for each distinct size, for tools that compare texts", lambda _: True),
    )
}
"""By name."""

ABSINT: Final = DIALECTS["absint"]


def dialect_of(name: str) -> Dialect:
    """Raises UsageError for a name that no dialect has."""
    found = DIALECTS.get(name)
    if found is None:
        hint = did_you_mean(name, DIALECTS) or f"it is one of {', '.join(DIALECTS)}"
        raise UsageError(f"unknown dialect {name!r}: {hint}")
    return found


def spelled(text: str, dialect: Dialect, names: Mapping[str, str]) -> str:
    """An expression in the dialect; empty if it has no text there. `names` are those that its symbols have there."""
    if not dialect.operators:
        return ""
    found = pieces(text)
    out = []
    for piece, after in zip(found, [*found[1:], ""], strict=True):
        if is_word(piece) or piece.startswith("`"):
            piece = dialect.functions.get(piece, "") if after == "(" else names.get(piece, "")
            if not piece:
                return ""
        elif not (piece.isspace() or piece.isdecimal() or piece in dialect.operators):
            return ""
        out.append(piece)
    return "".join(out)


MergePolicy = Literal["skip", "override", "refine", "strict"]
POLICIES: Final[tuple[MergePolicy, ...]] = ("skip", "override", "refine", "strict")


class Style(NamedTuple):
    """Choices of what is written, and how; see `Result.annotate`."""

    merge: MergePolicy = "refine"
    outputs: bool | None = None
    dialect: str = ABSINT.name
