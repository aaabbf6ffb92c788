"""A fault put into a process that has imported its modules: the code of functions is replaced where they stand.

A copy of a process that has everything imported costs little, so thousands of faults can be looked at.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import _lru_cache_wrapper
from importlib.util import find_spec
from types import CodeType, FrameType, FunctionType

from tests.mutants.mutant import Mutant, source_of

Place = tuple[str, str, int, bytes]
"""File, name, first line, and table of positions of code: what has run is not equal to its source compiled."""

Codes = Mapping[Place, CodeType]
"""The places of functions, and the code that is put there."""


def place(code: CodeType) -> Place:
    """The place of code."""
    return code.co_filename, code.co_qualname, code.co_firstlineno, code.co_linetable


@contextmanager
def watched(package: str) -> Iterator[set[Place]]:
    """The code of a package that runs inside the block, that of modules and classes included."""
    folder = f"/{package.replace('.', '/')}/"
    found: set[Place] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and folder in frame.f_code.co_filename:
            found.add(place(frame.f_code))

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def swaps(mutant: Mutant, early: set[Place]) -> Codes | None:
    """The code that the fault changes; None if some of it is `early`: it ran when modules were imported."""
    found: dict[Place, CodeType] = {}
    for change in mutant.changes:
        source = source_of(change.module)
        path = find_spec(change.module).origin
        old, new = (compile(text, path, "exec", dont_inherit=True) for text in (source, change.applied(source)))
        if _differs(old, new) or not _pair(old, new, found, early):
            return None
    return found


def _pair(old: CodeType, new: CodeType, found: dict[Place, CodeType], early: set[Place]) -> bool:
    """Enter what differs inside of two codes; False if that is impossible."""
    inner = [[part for part in code.co_consts if inspect.iscode(part)] for code in (old, new)]
    if len(inner[0]) != len(inner[1]):
        return False
    for a, b in zip(*inner, strict=True):
        before = len(found)
        if not _pair(a, b, found, early):
            return False
        if _differs(a, b) and (place(a) in early or not a.co_flags & inspect.CO_OPTIMIZED):
            return False
        if _differs(a, b) or len(found) > before:
            found[place(a)] = b
    return True


def _differs(old: CodeType, new: CodeType) -> bool:
    """The codes differ but for lines, and for the code of functions inside."""
    return _without_lines(old) != _without_lines(new)


def _without_lines(code: CodeType) -> tuple[object, ...]:
    constants = [repr(part) for part in code.co_consts if not inspect.iscode(part)]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags


def swap(codes: Codes) -> int:
    """Replace code in this process, and forget the results of functions; the number of functions that are changed."""
    functions = [thing for thing in _objects() if isinstance(thing, FunctionType) and place(thing.__code__) in codes]
    for function in functions:
        function.__code__ = codes[place(function.__code__)]
    for cache in caches():
        cache.cache_clear()
    return len(functions)


def caches() -> list[_lru_cache_wrapper[object]]:
    """The bounded caches of functions."""
    found = [thing for thing in _objects() if isinstance(thing, _lru_cache_wrapper)]
    return [cache for cache in found if cache.__module__.startswith("absint.") and cache.cache_info().maxsize]


def _objects() -> list[object]:
    """All objects that the collector of cycles knows, those that are frozen included."""
    frozen = gc.get_freeze_count() > 0
    gc.unfreeze()
    try:
        return gc.get_objects()
    finally:
        if frozen:
            gc.freeze()
