"""One grammar for dims and relations, published in docs/grammar.md, that reads every dialect. This is the entry.

    notation          `parse`, `parse_relation`: a text to its dim or relation; `format_dim`, `format_relation`: their
                      output reads back as the identical object; `read_definitions`: names and their texts, read back
    layout            the pieces of a text, and how tightly each binds
    naming            names for long expressions, each defined once below
    dim_params        the `dim_param` of a model: mostly names, and never an error
    arithmetic        one loop for texts of nothing but arithmetic over dims, which may be long
    parser            operator precedence over the tokens, with explicit stacks
    reference_parser  the same with references to values: `X[1]`, `shape(X)`, `size(X)`, `rank(X)`
    operations        operators and functions applied to operands
    functions         the table of functions; exact quotients; operations that floats take part in
    syntax            operators, operands, brackets, references, as data
    tokens            tokens, names in backquotes, `TextError` with its caret
    value_names       the extent of a value's name in a text
    forms documents   JSON, declared once: what is written, and its JSON Schema
    escapes           untrusted text, made safe to print; suggestions for a misspelt name
    sheets            an answer in lines and tables, for terminals and notebooks, and where a long line is broken

It builds on terms and logic; nothing there imports it but through `absint.lattices.operators`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from absint.lattices.text.dim_params import DimParam, format_dim_param, read_dim_param
    from absint.lattices.text.notation import format_dim, format_float, format_relation, parse, parse_relation
    from absint.lattices.text.operations import MAX_CONDITION_DEPTH
    from absint.lattices.text.syntax import References, UnresolvedError
    from absint.lattices.text.tokens import MAX_DIGITS, MAX_TEXT, TextError

__all__ = [
    "MAX_CONDITION_DEPTH", "MAX_DIGITS", "MAX_TEXT", "DimParam", "References", "TextError", "UnresolvedError",
    "format_dim", "format_dim_param", "format_float", "format_relation", "parse", "parse_relation", "read_dim_param",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(("DimParam", "format_dim_param", "read_dim_param"), "dim_params"),
    "MAX_CONDITION_DEPTH": "operations",
    **dict.fromkeys(("format_dim", "format_float", "format_relation", "parse", "parse_relation"), "notation"),
    **dict.fromkeys(("References", "UnresolvedError"), "syntax"),
    **dict.fromkeys(("MAX_DIGITS", "MAX_TEXT", "TextError"), "tokens"),
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
