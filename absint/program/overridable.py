"""Initialisers that are graph inputs too: a caller may feed other values instead.

The IR specification allows it from version 4 on. onnxruntime checks a fed tensor against the declared type of the
input, not against the initialiser: if it is declared `[N]`, 5 elements may replace the 3 of the file.
"""

from __future__ import annotations

from typing import Final

from absint.diagnostics import Diagnostic, Severity
from absint.lattices.shape import TOP_SHAPE, Shape
from absint.lattices.terms.expr import UNKNOWN_SIZE
from absint.lattices.value import Tensor, Value
from absint.program.lowered import Signature

CODE: Final = "overridable-initialisers"
_LISTED: Final = 3


def replaceable(default: Tensor, declared: Value) -> Tensor:
    """The value of such an initialiser in every run: its type, and its sizes as far as the input declares the same."""
    if not isinstance(declared, Tensor) or declared.shape.is_top or default.shape.rank != declared.shape.rank:
        return Tensor(default.dtype, TOP_SHAPE)
    pairs = zip(default.shape, declared.shape, strict=True)
    return Tensor(default.dtype, Shape([size if size is stated else UNKNOWN_SIZE for size, stated in pairs]))


def overridable_diagnostic(signature: Signature, *, defaults: bool) -> Diagnostic:
    """A note that counts them, and names those whose values sizes might use."""
    total = len(signature.overridable)
    also, value = ("it is an input too", "its value") if total == 1 else ("they are inputs too", "their values")
    where = f"{total} initialiser{'s' * (total != 1)}"
    if defaults:
        text = f"{also}; {value} in the file {'counts' if total == 1 else 'count'}, as if no caller fed another one"
        return Diagnostic(Severity.INFO, CODE, where, text)
    text = f"{also}, so a caller may replace {value} and no size is computed from {'it' if total == 1 else 'them'}"
    small = [name for name, node in signature.overridable.items() if signature.defaults[node].contents is not None]
    if not small:
        return Diagnostic(Severity.INFO, CODE, where, text)
    listed = ", ".join(map(repr, small[:_LISTED]))
    more = f" and {len(small) - _LISTED} more" if len(small) > _LISTED else ""
    text += f" ({listed}{more}); --defaults (defaults=True) uses the file's"
    return Diagnostic(Severity.WARNING, CODE, where, text)
