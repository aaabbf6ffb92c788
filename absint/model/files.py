"""The file that a model was read from: opened again, if it is still the same, and copied in parts."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import UnsupportedOperation
from mmap import ACCESS_READ, mmap
from typing import IO, Final

from absint.errors import ModelError
from absint.lattices.records import NamedTuple
from absint.model.opening import opened_file, reason_of
from absint.model.wire.splicing import Piece, Span

_SMALL: Final = 1 << 16
"""Bytes up to which a part is copied through memory."""

_CHUNK: Final = 1 << 20
_NO_COPY: Final = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF, errno.ENOTSUP}
"""The kernel does not copy between these two files."""


class ModelFile(NamedTuple):
    """A file by its path and its state."""

    path: str
    state: tuple[int, int, int, int]

    @classmethod
    def of(cls, path: str | os.PathLike[str], number: int) -> ModelFile:
        """The file that is open under a descriptor."""
        return cls(os.fspath(path) if os.path.isabs(path) else os.path.abspath(path), _state(os.fstat(number)))

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.state[2]

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """The same file, mapped into memory. Raises ModelError if it has changed since it was read, or is not there."""
        with ExitStack() as stack:
            try:
                number = stack.enter_context(opened_file(self.path))
                is_same = _state(os.fstat(number)) == self.state
                data = stack.enter_context(mmap(number, 0, access=ACCESS_READ)) if is_same else None
            except (OSError, ValueError) as error:
                raise ModelError(f"{self.path} {reason_of(error)}") from None
            if data is None:
                raise has_changed(self.path)
            yield Opened(data, number)


def has_changed(path: str) -> ModelError:
    """The error for a file that is not any more what was read."""
    return ModelError(f"{path} has changed since it was read: analyse it again")


class Opened(NamedTuple):
    """The bytes of a model: a file mapped into memory, or bytes."""

    data: bytes | mmap
    number: int | None = None
    """The descriptor of the file."""

    def copy(self, pieces: Sequence[Piece], target: IO[bytes], *, is_new: bool) -> None:
        """Write the pieces to a file or a pipe. Large spans of a file never come into the memory of this process.

        In a file that `is_new`, holes of the original stay holes.
        """
        for piece in pieces:
            if isinstance(piece, bytes):
                target.write(piece)
            elif self.number is None or not self.is_large(piece):
                target.write(memoryview(self.data)[piece.start : piece.end])
            else:
                copy_span(self.number, piece, target, is_new=is_new)
        if is_new:
            target.truncate()  # a hole at the end

    def is_large(self, piece: Piece) -> bool:
        """The piece is copied from file to file."""
        return self.number is not None and isinstance(piece, Span) and piece.end - piece.start > _SMALL


def copy_span(source: int, span: Span, target: IO[bytes], *, is_new: bool) -> None:
    """Copy a span of a file to where another one stands; in one that `is_new`, holes stay holes."""
    at = span.start
    for start, end in written(source, span) if is_new else [span]:
        target.flush()
        if start > at:
            target.seek(start - at, os.SEEK_CUR)
        at = _copied_by_kernel(source, Span(start, end), target) if hasattr(os, "copy_file_range") else start
        if at < end:
            os.lseek(source, at, os.SEEK_SET)
        while at < end:
            chunk = os.read(source, min(_CHUNK, end - at))
            if not chunk:
                raise OSError(errno.EIO, "the model became shorter while it was copied")
            target.write(chunk)
            at += len(chunk)
    if at < span.end:
        target.seek(span.end - at, os.SEEK_CUR)


def written(source: int, span: Span) -> Iterator[Span]:
    """The parts of a span that were ever written; between them the file has holes."""
    end = span.start
    while end < span.end:
        try:
            start = min(os.lseek(source, end, os.SEEK_DATA), span.end)
            end = min(os.lseek(source, start, os.SEEK_HOLE), span.end)
        except (OSError, AttributeError) as error:
            start, end = end, span.end
            if isinstance(error, OSError) and error.errno == errno.ENXIO:  # a hole up to the end of the file
                return
        yield Span(start, end)


def _copied_by_kernel(source: int, span: Span, target: IO[bytes]) -> int:
    """Copy as much as the kernel copies between two files; the place after it."""
    at = span.start
    try:
        while at < span.end and (count := os.copy_file_range(source, target.fileno(), span.end - at, at)):
            at += count
    except OSError as error:
        if error.errno not in _NO_COPY and not isinstance(error, UnsupportedOperation):
            raise
    return at


def _state(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
