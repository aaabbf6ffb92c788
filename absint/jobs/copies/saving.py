"""Copies of a model in a file: the bytes of the model's file, with what was changed between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.errors import UsageError
from absint.jobs.copies.dialects import Style
from absint.lattices.text.escapes import excerpt
from absint.model import early_copies, opening, writing
from absint.model.protos import copied, graphs
from absint.model.wire.splicing import Piece, size_of, spliced, whole

if TYPE_CHECKING:
    from onnx import ModelProto

    from absint.jobs.copies.gate import LeftOut
    from absint.model.inference import Outline
    from absint.model.load import Loaded
    from absint.solution.analysed import Analysed

STANDARD_OUTPUT: Final = "-"


class AnnotatedFile(NamedTuple):
    """A file that an annotated model was written to."""

    path: str
    values: int
    """Values with a `value_info`, in bodies too."""
    left_out: tuple[LeftOut, ...] = ()
    """Types that would keep the model from loading."""
    weights_elsewhere: tuple[str, ...] = ()
    """Files of weights that runtimes look for beside the model and that are beside the original."""
    unchecked: str = ""
    """One line on why nobody knows whether the copy loads where the model does; empty if it does."""

    def __repr__(self) -> str:
        return f"<AnnotatedFile {excerpt(self.path)}: value_info of {self.values:,} values>"


class Copying(NamedTuple):
    """A copy that has begun."""

    target: str
    opened: opening.Opened
    finish: writing.Finish
    file: opening.ModelFile | None = None
    """The file that is copied, if nobody has read it before."""


@contextmanager
def copying_unread(path: str, target: str) -> Iterator[Copying | None]:
    """As `copying`, for the model of a path that is yet to be read; None if its file is not large, or no file."""
    file = early_copies.large_file(path) if target != STANDARD_OUTPUT else None
    if file is None:
        yield None
        return
    writing.check_target("", target)
    with file.opened() as opened, writing.copy_begun(opened, target) as finish:
        yield Copying(target, opened, finish, file)


@contextmanager
def copying(loaded: Loaded, target: str, begun: Copying | None = None) -> Iterator[Copying]:
    """A copy of a model, begun at once if its file is large: its bytes are copied on a thread while the block finds out
    which of them change. `begun` is one that is under way.

    Raises UsageError for a target that cannot be written, and ModelError if the file has changed since it was read.
    """
    if begun is not None:
        if begun.file != loaded.file:
            raise opening.has_changed(loaded.origin)
        yield begun
        return
    if target != STANDARD_OUTPUT:
        writing.check_target("", target)
    with loaded.opened() as opened, writing.copy_begun(opened, target) as finish:
        yield Copying(target, opened, finish)


def save_annotated(
    analysed: Analysed,
    target: str,
    style: Style = Style(),  # noqa: B008 (it is immutable)
    *,
    copy_weights: bool = False,
    load: bool = True,
) -> AnnotatedFile:
    """Write an annotated copy to a file, or to standard output (`-`); see `Result.save_annotated`."""
    with copying(analysed.loaded, target) as copy:
        return finish_annotated(copy, analysed, style, copy_weights=copy_weights, load=load)


def finish_annotated(
    copy: Copying, analysed: Analysed, style: Style, *, copy_weights: bool, load: bool
) -> AnnotatedFile:
    """Complete a copy of the analysed model with the annotations."""
    from absint.jobs.copies.annotate import annotated

    outline = _outline(analysed.loaded, copy.opened)
    found = annotated(analysed, style, model=outline.model, load=load)
    pieces = pieces_of(found.model, outline, copy.opened)
    weights = copy.finish(pieces, outline.model, analysed.folder, copy_weights)
    values = sum(len(graph.value_info) for graph in graphs(found.model.graph))
    return AnnotatedFile(copy.target, values, found.left_out, tuple(weights), found.unchecked)


def save_simplified(loaded: Loaded, target: str, *, copy_weights: bool = False) -> tuple[int, Sequence[str]]:
    """Write a copy in which only the texts of dims are others: those that are expressions, in their shortest form.

    The answer is the number of texts that changed, and weights that are not beside the copy.
    """
    with copying(loaded, target) as begun:
        from absint.jobs.copies.respelling import simplify

        outline = _outline(loaded, begun.opened)
        copy = copied(outline.model)
        changed = simplify(copy)
        pieces = pieces_of(copy, outline, begun.opened)
        folder = None if loaded.folder is None else Path(loaded.folder)
        return changed, begun.finish(pieces, outline.model, folder, copy_weights)


class Made(NamedTuple):
    """A rewritten model, in memory or in a file."""

    model: ModelProto | None
    """The copy, unless it was written to a file."""
    bytes: int
    weights_elsewhere: tuple[str, ...] = ()
    """Files of weights that runtimes look for beside the copy and that are beside the original."""


class Source(NamedTuple):
    """A model that is rewritten."""

    outline: Outline
    """Its model lacks the data of large tensors."""
    opened: opening.Opened
    folder: Path | None
    target: str

    def made(self, copy: ModelProto, *, copy_weights: bool) -> Made:
        """Write a copy of the outline to the target, or give it with all its data. Raises UsageError if that fails."""
        pieces = pieces_of(copy, self.outline, self.opened)
        size = size_of(pieces)
        if self.target:
            weights = writing.write_copy(self.opened, self.target, pieces, copy, self.folder, copy_weights)
            return Made(None, size, tuple(weights))
        if size > opening.MAX_FILE:
            raise UsageError(f"the copy has {size:,} bytes, too many for memory: give a path")
        model = type(copy)()
        model.ParseFromString(whole(self.opened.data, pieces))
        return Made(model, size)


@contextmanager
def rewriting(analysed: Analysed, target: str) -> Iterator[Source]:
    """Read a model that is rewritten, for a target that is a file, standard output (`-`) or empty.

    Raises UsageError for a target that cannot be written or that holds weights of the model.
    """
    is_file = target not in ("", STANDARD_OUTPUT)
    if is_file:
        writing.check_target("", target)
    with analysed.loaded.opened() as opened:
        outline = _outline(analysed.loaded, opened)
        if is_file:
            writing.check_weights(outline.model, analysed.folder, target)
        yield Source(outline, opened, analysed.folder, target)


def _outline(loaded: Loaded, opened: opening.Opened) -> Outline:
    from absint.model.inference import Outline

    with loaded.reading():
        return Outline(opened.data)


def pieces_of(model: ModelProto, outline: Outline, opened: opening.Opened) -> Sequence[Piece]:
    """The bytes of a copy that was made of the outline of the open model: those of the model where they are equal."""
    from absint.model.differences import differences

    return spliced(opened.data, 0, len(opened.data), differences(outline.model, model, outline.pieces))
