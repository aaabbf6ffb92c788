"""A copy of a large file that is under way before it is known which of its bytes change.

Most changes to a model lie behind its weights, so that these keep their places. The kernel copies them on a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event, Thread
from types import TracebackType
from typing import IO, Final

from absint.model.opening import ModelFile, Opened, copy_span, opened_file, written
from absint.model.wire.splicing import Piece, Span, size_of

_STEP: Final = 1 << 28
"""Bytes between two looks at whether the copy is still wanted. For each the thread may wait up to 5 ms for the
interpreter.
"""

LARGE: Final = 1 << 24
"""Bytes of the smallest file that is copied early."""


def large_file(path: str) -> ModelFile | None:
    """The file of this path if its copy may begin before anybody knows what is in it."""
    try:
        with opened_file(path) as number:
            file = ModelFile.of(path, number)
    except (OSError, ValueError):  # whoever reads it says why
        return None
    return file if file.size >= LARGE else None


class EarlyCopy:
    """A copy of an open file to a new one. Nobody else moves in either of them until it is finished."""

    def __init__(self, original: Opened, target: IO[bytes]) -> None:
        self._original = original
        self._target = target
        self._unwanted = Event()
        self._error: OSError | None = None
        self._parts: Sequence[Span] = ()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> EarlyCopy:
        size = len(self._original.data)
        if self._original.number is not None and size >= LARGE:
            self._parts = list(written(self._original.number, Span(0, size)))
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unwanted.set()
        self._join()

    def _join(self) -> bool:
        """Wait for the thread; False if there has never been one."""
        begun = self._thread.ident is not None
        if begun:
            self._thread.join()
        return begun

    def _run(self) -> None:
        source = self._original.number
        assert source is not None
        try:
            for part in self._parts:
                self._target.seek(part.start)
                for start in range(part.start, part.end, _STEP):
                    if self._unwanted.is_set():
                        return
                    copy_span(source, Span(start, min(start + _STEP, part.end)), self._target, is_new=False)
        except OSError as error:
            self._error = error

    def finish(self, pieces: Sequence[Piece]) -> None:
        """Make the target consist of these pieces. Raises OSError if that fails."""
        begun = self._join()
        if self._error is not None:
            raise self._error
        target = self._target
        target.seek(0)
        if not begun or not self._in_place(pieces):
            target.truncate()
            self._original.copy(pieces, target, is_new=True)
            return
        for piece in pieces:
            if self._original.is_large(piece):
                target.seek(size_of((piece,)), 1)
            else:
                self._original.copy((piece,), target, is_new=False)
        target.truncate()

    def _in_place(self, pieces: Sequence[Piece]) -> bool:
        """Every large piece is where it is in the original."""
        at = 0
        for piece in pieces:
            if isinstance(piece, Span) and self._original.is_large(piece) and piece.start != at:
                return False
            at += size_of((piece,))
        return True
