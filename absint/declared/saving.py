"""An annotated copy of a model in a file: the bytes of the model's file, with other declarations in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.declared.style import Style
from absint.lattices.text.escapes import excerpt
from absint.model.wire.splicing import spliced
from absint.model.writing import check_target, copy_begun

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto

    from absint.model.inference import LeftOut
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

    def __repr__(self) -> str:
        return f"<AnnotatedFile {excerpt(self.path)}: value_info of {self.values:,} values>"


def save_annotated(
    analysed: Analysed,
    target: str,
    style: Style = Style(),  # noqa: B008 (it is immutable)
    *,
    copy_weights: bool = False,
) -> AnnotatedFile:
    """Write an annotated copy to a file, or to standard output (`-`); see `Result.save_annotated`."""
    if target != STANDARD_OUTPUT:
        check_target("", target)
    with analysed.loaded.opened() as opened, copy_begun(opened, target) as finish:
        from absint.declared.annotate import annotated
        from absint.model.differences import differences
        from absint.model.outlines import outline

        original = outline(opened.data)
        found = annotated(analysed, style, model=original)
        pieces = spliced(opened.data, 0, len(opened.data), differences(original, found.model))
        weights = finish(pieces, original, analysed.folder, copy_weights)
    values = sum(len(graph.value_info) for graph in _graphs(found.model))
    return AnnotatedFile(target, values, found.left_out, tuple(weights))


def save_simplified(loaded: Loaded, target: str, *, copy_weights: bool = False) -> tuple[int, Sequence[str]]:
    """Write a copy in which only the texts of dims are others: those that are expressions, in their shortest form.

    The answer is the number of texts that changed, and weights that are not beside the copy.
    """
    if target != STANDARD_OUTPUT:
        check_target("", target)
    with loaded.opened() as opened, copy_begun(opened, target) as finish:
        from onnx import ModelProto

        from absint.declared.respelling import simplify
        from absint.model.differences import differences
        from absint.model.outlines import outline

        original = outline(opened.data)
        copy = ModelProto()
        copy.CopyFrom(original)
        changed = simplify(copy)
        pieces = spliced(opened.data, 0, len(opened.data), differences(original, copy))
        folder = None if loaded.folder is None else Path(loaded.folder)
        return changed, finish(pieces, original, folder, copy_weights)


def _graphs(model: ModelProto) -> Iterator[GraphProto]:
    """The main graph and the bodies in it."""
    pending = [model.graph]
    while pending:
        graph = pending.pop()
        yield graph
        pending += [a.g for node in graph.node for a in node.attribute if a.HasField("g")]


__all__ = ["STANDARD_OUTPUT", "AnnotatedFile", "save_annotated", "save_simplified"]
