"""A model on its way to a runtime, which may be in another process: large files go by their paths."""

from __future__ import annotations

from typing import NamedTuple

from absint.model.opening import ModelFile


class Handed(NamedTuple):
    """The bytes of a model: those of a file, if there is one, and more after them."""

    file: ModelFile | None
    more: bytes

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.more) + (0 if self.file is None else self.file.size)

    def read(self) -> bytes:
        """All bytes. Raises ModelError if the file has changed since the model was read."""
        if self.file is None:
            return self.more
        with self.file.opened() as opened:
            return b"".join((opened.data, self.more))
