"""Packages that some answers need and others do not."""

from __future__ import annotations

from importlib.util import find_spec


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
