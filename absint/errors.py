"""Errors that a user can cause. Each message is one line: what, where, what to do."""

from __future__ import annotations

from absint.lattices.text.escapes import message


class AbsintError(ValueError):
    """Base of the errors below; the command line prints it as one line and exits with code 2."""

    def __init__(self, text: str = "") -> None:
        super().__init__(message(text))


class ModelError(AbsintError):
    """The model cannot be read, or it is not a model that could be analysed."""


class UsageError(AbsintError):
    """An argument that makes no sense for this model: an unknown value or symbol, a bad size, a bad assumption."""
