"""One grammar for dims and relations, published in docs/grammar.md, that reads every dialect. This is the entry.

    reading           `parse`, `parse_relation`: a text to its dim or relation
    printer           `format_dim`, `format_relation`: their output reads back as the identical object
    layout            the pieces of a text, and how tightly each binds
    naming            names for long expressions, each defined once below
    definitions       `read_definitions`: such names and their texts, read back
    dim_params        the `dim_param` of a model: mostly names, and never an error
    parser            operator precedence over the tokens, with explicit stacks
    reference_parser  the same with references to values: `X[1]`, `shape(X)`, `size(X)`, `rank(X)`
    operations        operators and functions applied to operands
    functions         the table of functions; exact quotients
    float_functions   operations that floats take part in
    syntax            operators, operands, brackets, references, as data
    tokens            tokens, names in backquotes, `TextError` with its caret
    value_names       the extent of a value's name in a text
    nearest           suggestions for a misspelt name
    escapes           untrusted text, made safe to print

It builds on terms and logic; nothing there imports it but through `absint.lattices.operators`.
"""

from absint.lattices.text.dim_params import DimParam, format_dim_param, read_dim_param
from absint.lattices.text.operations import MAX_CONDITION_DEPTH
from absint.lattices.text.printer import format_dim, format_float, format_relation
from absint.lattices.text.reading import parse, parse_relation
from absint.lattices.text.syntax import References, UnresolvedError
from absint.lattices.text.tokens import MAX_DIGITS, MAX_TEXT, TextError

__all__ = [
    "MAX_CONDITION_DEPTH", "MAX_DIGITS", "MAX_TEXT", "DimParam", "References", "TextError", "UnresolvedError",
    "format_dim", "format_dim_param", "format_float", "format_relation", "parse", "parse_relation", "read_dim_param",
]  # fmt: skip
