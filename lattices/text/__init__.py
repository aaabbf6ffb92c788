"""One grammar for dims and relations, published in docs/grammar.md, that reads every dialect. This is the entry.

    reading           `parse`, `parse_relation`: a text to its dim or relation
    printer           `format_dim`, `format_relation`: their output reads back as the identical object;
                      `read_definitions`: such names and their texts, read back
    layout            the pieces of a text, and how tightly each binds
    naming            names for long expressions, each defined once below
    dim_params        the `dim_param` of a model: mostly names, and never an error
    arithmetic        one loop for texts of nothing but arithmetic over dims, which may be long
    parser            operator precedence over the tokens, with explicit stacks
    reference_parser  the same with references to values: `X[1]`, `shape(X)`, `size(X)`, `rank(X)`
    operations        operators and functions applied to operands
    functions         the table of functions; exact quotients
    float_functions   operations that floats take part in
    syntax            operators, operands, brackets, references, as data
    tokens            tokens, names in backquotes, `TextError` with its caret
    value_names       the extent of a value's name in a text
    nearest           suggestions for a misspelt name
    forms             JSON documents, each declared once: what is written, and its JSON Schema
    escapes           untrusted text, made safe to print
    breaks            where a long line is broken
    sheets            an answer in lines and tables, for terminals and notebooks; tables and texts for notebooks

It builds on terms and logic; nothing there imports it but through `absint.lattices.operators`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from absint.lattices.text.dim_params import DimParam as DimParam
    from absint.lattices.text.dim_params import format_dim_param as format_dim_param
    from absint.lattices.text.dim_params import read_dim_param as read_dim_param
    from absint.lattices.text.operations import MAX_CONDITION_DEPTH as MAX_CONDITION_DEPTH
    from absint.lattices.text.printer import format_dim as format_dim
    from absint.lattices.text.printer import format_float as format_float
    from absint.lattices.text.printer import format_relation as format_relation
    from absint.lattices.text.reading import parse as parse
    from absint.lattices.text.reading import parse_relation as parse_relation
    from absint.lattices.text.syntax import References as References
    from absint.lattices.text.syntax import UnresolvedError as UnresolvedError
    from absint.lattices.text.tokens import MAX_DIGITS as MAX_DIGITS
    from absint.lattices.text.tokens import MAX_TEXT as MAX_TEXT
    from absint.lattices.text.tokens import TextError as TextError

_HOMES = {
    **dict.fromkeys(("DimParam", "format_dim_param", "read_dim_param"), "dim_params"),
    "MAX_CONDITION_DEPTH": "operations",
    **dict.fromkeys(("format_dim", "format_float", "format_relation"), "printer"),
    **dict.fromkeys(("parse", "parse_relation"), "reading"),
    **dict.fromkeys(("References", "UnresolvedError"), "syntax"),
    **dict.fromkeys(("MAX_DIGITS", "MAX_TEXT", "TextError"), "tokens"),
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
