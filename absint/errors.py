"""Errors that a user can cause. Each message is one line: what, where, what to do."""

from __future__ import annotations

from collections.abc import Iterable

from absint.lattices.text.escapes import did_you_mean, message


class AbsintError(ValueError):
    """Base of the errors below; the command line prints it as one line and exits with code 2."""

    def __init__(self, text: str = "") -> None:
        super().__init__(message(text))


class ModelError(AbsintError):
    """The model cannot be read, or it is not a model that could be analysed."""


class UsageError(AbsintError):
    """An argument that makes no sense for this model: an unknown value or symbol, a bad size, a bad assumption."""


class UnknownNameError(UsageError, KeyError):
    """An unknown name: `<what> 'name'; did you mean 'names'?`. Suggestions are computed when it is shown."""

    def __init__(self, what: str, name: str, names: Iterable[str] = ()) -> None:
        super().__init__(f"{what} {name!r}")
        self._name = name
        self._names = names

    def __str__(self) -> str:
        hint = did_you_mean(self._name, self._names)
        return f"{self.args[0]}; {hint}" if hint else str(self.args[0])

    def __reduce__(self) -> tuple[type[UsageError], tuple[str]]:
        return UsageError, (str(self),)
