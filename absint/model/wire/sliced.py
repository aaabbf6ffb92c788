"""A file that is read in slices, where the system does not map it into memory."""

from __future__ import annotations

import errno
import os
from typing import Final, overload

_STEP: Final = 1 << 14
"""Bytes that are read at once, unless a longer slice is asked for."""


class Sliced:
    """The bytes of a file that is open under a descriptor. As from `mmap`, a place gives a number, and a slice bytes;
    only these and some around them are read. Raises OSError if the file has become shorter.
    """

    __slots__ = ("_at", "_number", "_size", "_window")

    def __init__(self, number: int, size: int) -> None:
        self._number = number
        self._size = size
        self._at = 0
        self._window = b""

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> bytes: ...
    def __getitem__(self, place: int | slice) -> int | bytes:
        if isinstance(place, int):
            if not 0 <= place < self._size:
                raise IndexError(place)
            if not 0 <= place - self._at < len(self._window):
                self._fill(place)
            return self._window[place - self._at]
        start, end, _ = place.indices(self._size)
        if end - start > _STEP:
            return self._read(start, end)
        if not self._at <= start <= end <= self._at + len(self._window):
            self._fill(start)
        return self._window[start - self._at : max(start, end) - self._at]

    def _fill(self, start: int) -> None:
        self._window = self._read(start, min(start + _STEP, self._size))
        self._at = start

    def _read(self, start: int, end: int) -> bytes:
        os.lseek(self._number, start, os.SEEK_SET)
        parts = []
        while start < end:
            part = os.read(self._number, end - start)
            if not part:
                raise OSError(errno.EIO, "it became shorter while it was read")
            parts.append(part)
            start += len(part)
        return b"".join(parts)
