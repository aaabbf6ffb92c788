"""Initialisers that are graph inputs too: a caller may feed other values in their place.

The IR specification allows it from version 4 on. onnxruntime holds a fed tensor against the declared type of the input,
not against the initialiser: declared `[N]`, 3 elements of the file may be replaced by 5.
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
    """The value of such an initialiser in every run: its type, and the sizes that the input declares too."""
    if not isinstance(declared, Tensor) or declared.shape.is_top or default.shape.rank != declared.shape.rank:
        return Tensor(default.dtype, TOP_SHAPE)
    pairs = zip(default.shape, declared.shape, strict=True)
    return Tensor(default.dtype, Shape([size if size is stated else UNKNOWN_SIZE for size, stated in pairs]))


def overridable_diagnostic(signature: Signature, *, defaults: bool) -> Diagnostic:
    """How many there are, and which of their values sizes might have used."""
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


__all__ = ["CODE", "overridable_diagnostic", "replaceable"]
