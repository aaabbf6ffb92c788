"""Shared by all generated Python sources: safe names, comments and strings, and the parameter for the sizes."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from absint.lattices.terms.expr import NATURAL, Symbol
from absint.lattices.terms.interval import Interval
from absint.solver.export.python_source import FLOAT_HELPERS, HELPERS, Source
from absint.solver.export.records import ExportError, shown

_TAKEN: Final = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "sizes", "named", "Mapping", "Dim"})

_HEADER: Final = """
# Written by absint from a model. It needs nothing but Python.
from collections.abc import Mapping
from operator import index as _index
"""

_FLOATS: Final = """
import math as _math
import struct as _struct
"""

_SIZES: Final = '''
def _sizes(given, named, ranges, optional=()):
    """The size of every symbol, each an integer in its range."""
    given = {**given, **named}
    unknown = [name for name in given if name not in ranges]
    missing = [name for name in ranges if name not in given and name not in optional]
    if unknown or missing:
        what = f"no symbol is named {unknown[0]!r}" if unknown else f"the size of {missing[0]!r} is missing"
        raise ValueError(f"{what}: expected {', '.join(map(repr, ranges)) or 'no sizes'}")
    sizes = {name: _index(given[name]) for name in ranges if name in given}
    for name in sizes:
        least, most = ranges[name]
        if (least is not None and sizes[name] < least) or (most is not None and sizes[name] > most):
            raise ValueError(f"{name!r} lies in {least}..{most} and cannot be {sizes[name]}")
    return sizes
'''


def module_source(helpers: Iterable[str], source: Source, function: Iterable[str]) -> str:
    """The whole source: the imports, the helpers that are called, and the lines of the function."""
    called = [HELPERS[name] for name in sorted(source.helpers)]
    header = _HEADER + (_FLOATS if not source.helpers.isdisjoint(FLOAT_HELPERS) else "")
    parts = [header, _SIZES, *helpers, *called, "\n".join(function)]
    return "\n\n\n".join(part.strip() for part in parts) + "\n"


def check_name(name: str) -> str:
    """The name of a generated function. Raises ExportError for one that Python or the generated source cannot have."""
    if not _is_free(name):
        raise ExportError(f"a function cannot be named {shown(name)}: expected letters, digits and '_', not a builtin")
    return name


def _is_free(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not name.startswith("_") and name not in _TAKEN


def local_names(symbols: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """A name for each symbol that a Python function can use: its own where possible, else `size_0`, `size_1`, ..."""
    wanted = list(dict.fromkeys(symbols))
    used = set(taken)
    names = {s: s for s in wanted if _is_free(s) and s not in used}
    count = 0
    for symbol in wanted:
        while symbol not in names:
            candidate = f"size_{count}"
            count += 1
            if candidate not in wanted and candidate not in used:
                names[symbol] = candidate
    return {symbol: names[symbol] for symbol in wanted}


def escaped(text: str) -> str:
    """The text in printable ASCII on one line, for a comment."""
    return text.encode("unicode_escape").decode("ascii")


def docstring(lines: Iterable[str]) -> list[str]:
    """The lines of a docstring of a function; whatever they contain, it ends where it should."""
    body = [escaped(line).replace('"', r"\"") for line in lines]
    return [f"    {line}".rstrip() for line in (f'"""{body[0]}', *body[1:], '"""')]


def excerpt(text: str, longest: int = 200) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."


def symbol_ranges(names: Iterable[str], symbols: Iterable[Symbol]) -> dict[str, Interval]:
    """The range of each name: the common range of all symbols of that name, or any size."""
    ranges: dict[str, Interval] = {}
    for symbol in symbols:
        ranges[symbol.name] = symbol.bounds.meet(ranges.get(symbol.name, symbol.bounds))
    return {name: ranges.get(name, NATURAL) for name in names}


def sizes_lines(names: Mapping[str, str], ranges: Mapping[str, Interval], optional: Collection[str] = ()) -> list[str]:
    """The lines that check the sizes given and bind the local names, to None for an optional one that is left out."""
    table = ", ".join(f"{name!a}: ({lo}, {hi})" for name, (lo, hi) in ranges.items())
    left_out = f", [{', '.join(f'{name!a}' for name in optional)}]" if optional else ""
    lines = [f"    sizes = _sizes(sizes, named, {{{table}}}{left_out})"]
    return lines + [
        f"    {local} = sizes.get({name!a})" if name in optional else f"    {local} = sizes[{name!a}]"
        for name, local in names.items()
    ]


def sizes_doc(function: str, names: Mapping[str, str], optional: Collection[str] = ()) -> list[str]:
    """Docstring lines: the form of the parameter, and the symbol that each local name stands for."""
    example = ", ".join(f"{name!a}: ..." for name in names if name not in optional)
    lines = [f"Sizes are given by name, in a mapping or as keywords: {function}({{{example}}})."]
    if optional:
        lines.append(f"So may be elements of inputs: {', '.join(f'{name!a}' for name in optional)}.")
    renamed = [f"    {local} stands for {name!a}" for name, local in names.items() if local != name]
    return [*lines, *(["", "Names in the source:", *renamed] if renamed else [])]
