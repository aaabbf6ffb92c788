"""Opening untrusted files: regular files only, of a size that can be read, without a gap between check and open.

A path that the user gives is opened first and checked afterwards, through its descriptor. A location that a model gives
is followed from its folder name by name, over no link; a file with a second name (a hard link) is not read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import UnsupportedOperation
from mmap import ACCESS_READ, mmap
from typing import IO, Final

from absint.errors import ModelError
from absint.lattices.records import NamedTuple
from absint.lattices.text.escapes import bounded, nearest
from absint.model.wire.fields import Sliced
from absint.model.wire.splicing import Piece, Span

MAX_FILE: Final = (1 << 31) - 1
"""Bytes of the largest message: protobuf reads no more."""

_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO must not block
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final = getattr(os, "O_DIRECTORY", 0)
_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class RefusedError(OSError):
    """The file must not be read. The message completes "PATH ..."."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


LFS: Final = "is a pointer of Git LFS ('git lfs pull' fetches the file)"
_POINTER: Final = (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/")
_LONGEST_POINTER: Final = 1024


def is_pointer(data: bytes | mmap | Sliced) -> bool:
    """The content of a file is what Git LFS has in place of a large one."""
    return len(data) < _LONGEST_POINTER and data[: len(max(_POINTER, key=len))].startswith(_POINTER)


def absent(path: str) -> str:
    """The reason why a file cannot be read that is not there, with models beside it that have similar names."""
    folder, name = os.path.split(path)
    stem, suffix = os.path.splitext(name)
    beside: dict[str, str] = {}
    with suppress(OSError, ValueError):
        for other in sorted(os.listdir(folder or os.curdir)):
            its, ending = os.path.splitext(other)
            if ending.lower() in (".onnx", suffix.lower()):
                beside[its.lower()] = os.path.join(folder, other)
    names = [bounded(beside[near.name]) for near in nearest(stem.lower(), beside, 2)]
    return "does not exist" + (f"; did you mean {' or '.join(names)}?" if names else "")


def reason_of(error: OSError | ValueError) -> str:
    """The reason why a file could not be read, to complete "PATH ..."."""
    if isinstance(error, RefusedError):
        return error.reason
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, OSError):
        if error.errno == errno.ENXIO:
            return "is a socket, not a regular file"
        return f"cannot be read: {error.strerror or error}"
    return f"is no path: {error}"


def read_file(path: str | os.PathLike[str], limit: int = MAX_FILE) -> bytes:
    """The bytes of another file. Raises RefusedError, OSError, or ValueError for an invalid path."""
    with _opened(os.open(path, _FLAGS)) as number:
        size = _size(number)
        if size > limit:
            raise RefusedError(f"holds {size:,} bytes: at most {limit:,} are read")
        return all_of(number, size, limit)


@contextmanager
def opened_file(path: str | os.PathLike[str]) -> Iterator[int]:
    """A descriptor to read a regular file with. Raises as `read_file` does."""
    with _opened(os.open(path, _FLAGS)) as number:
        _size(number)
        yield number


def read_beside(folder: str | os.PathLike[str], location: str, offset: int, size: int) -> bytes | None:
    """A few bytes of the external data of a model; None if they must not be read.

    They are not for a location outside of the folder, one with `..`, a link on the way, a file with a second name, a
    pointer of Git LFS, and anything but a regular file of that size.
    """
    try:
        with _beside(folder, location) as (number, length):
            if not 0 <= offset <= length - size or _holds_pointer(number, length):
                return None
            os.lseek(number, offset, os.SEEK_SET)
            return all_of(number, size, size)
    except (OSError, ValueError):
        return None


def fault_beside(folder: str | os.PathLike[str], location: str) -> str:
    """Why no external data can be read from there: `does not exist`; empty if they can."""
    try:
        with _beside(folder, location) as (number, length):
            return LFS if _holds_pointer(number, length) else ""
    except RefusedError as error:
        return str(error)
    except FileNotFoundError:
        return "does not exist"
    except (OSError, ValueError):
        return "cannot be read"


@contextmanager
def _beside(folder: str | os.PathLike[str], location: str) -> Iterator[tuple[int, int]]:
    """A descriptor of external data that may be read, and their bytes. Raises RefusedError for others, OSError."""
    names = [name for name in location.replace(os.sep, "/").split("/") if name not in ("", ".")]
    if not names or ".." in names or location.startswith(("/", os.sep)) or os.path.splitdrive(location)[0]:
        raise RefusedError("is not below the folder of the model")
    with _opened(_below(folder, names)) as number:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise RefusedError("is no regular file of one name")
        yield number, found.st_size


def _holds_pointer(number: int, length: int) -> bool:
    return length < _LONGEST_POINTER and is_pointer(all_of(number, length, length))


def _below(folder: str | os.PathLike[str], names: list[str]) -> int:
    """A descriptor of the file, reached over no link."""
    if os.open not in os.supports_dir_fd:  # a platform where links are rare and folders have no descriptors
        path = os.path.join(os.path.realpath(folder), *names)
        if os.path.realpath(path) != path:
            raise RefusedError("is behind a link")
        return os.open(path, _FLAGS)
    at = os.open(folder, os.O_RDONLY | _FOLDER)
    for name in names[:-1]:
        with _opened(at) as parent:
            at = os.open(name, os.O_RDONLY | _FOLDER | _NO_LINK, dir_fd=parent)
    with _opened(at) as parent:
        return os.open(names[-1], _FLAGS | _NO_LINK, dir_fd=parent)


@contextmanager
def _opened(number: int) -> Iterator[int]:
    try:
        yield number
    finally:
        with suppress(OSError):
            os.close(number)


def _size(number: int) -> int:
    """The size of the file. Raises RefusedError unless it is a regular file."""
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode):
        what = next((text for test, text in _KINDS if test(found.st_mode)), "no file")
        raise RefusedError(f"is {what}, not a regular file: give the path of a file")
    return found.st_size


def all_of(number: int, size: int, limit: int = MAX_FILE) -> bytes:
    """The rest of the file, even if it has grown to `limit` since its size was read."""
    parts = []
    left = limit
    step = size + 1
    while left > 0:
        part = os.read(number, min(step, left, 1 << 30))
        if not part:
            break
        parts.append(part)
        left -= len(part)
        step = max(1 << 16, step - len(part))
    return parts[0] if len(parts) == 1 else b"".join(parts)


# The file that a model was read from: opened again, if it is still the same, and copied in parts.

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
    """The error for a file that has changed since it was read."""
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
