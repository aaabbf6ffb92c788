"""Packages and modules that some answers need and others do not."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec


def homes_of(table: str) -> dict[str, str]:
    """The home of each name of a table whose lines say `absint.jobs.diffing.comparison: Diff diff`."""
    lines = (line.partition(":") for line in table.split("\n"))
    return {name: home for home, _, names in lines for name in names.split()}


def lazily(namespace: dict[str, object], homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a module whose names live elsewhere: members of other modules, or modules of a package."""

    def imported(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        was_on = gc.isenabled()
        gc.disable()  # what modules define stays, and the collector of cycles would look at all of it
        try:
            module = import_module(home)
            is_member = home != namespace["__name__"] and hasattr(module, name)
            found = getattr(module, name) if is_member else import_module(f"{home}.{name}")
        finally:
            if was_on:
                gc.enable()
        namespace[name] = found
        return found

    return imported


def is_installed(module: str) -> bool:
    """It can be imported, as far as one sees without doing so."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # somebody forbids it
        return False


def missing(module: str) -> str:
    """The message if a module that is needed is not installed."""
    return f"{distribution(module)} is not installed: pip install {distribution(module)}"


def distribution(module: str) -> str:
    """The distribution that has a module; that of onnx installs protobuf too."""
    package = module.partition(".")[0]
    return {"google": "onnx", "z3": "z3-solver"}.get(package, package)
