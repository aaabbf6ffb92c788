"""The jobs that write the model of a result anew, into a file or in memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from absint import homes
from absint.lattices.limits import LONG, Limits
from absint.shapes.sizes import Sizes
from absint.solution.analysed import Analysed

if TYPE_CHECKING:
    import onnx
    import onnx_ir

    from absint.jobs.copies.annotate import Annotated
    from absint.jobs.copies.dialects import MergePolicy
    from absint.jobs.copies.saving import AnnotatedFile
    from absint.jobs.dynamizing.dynamize import Dynamized
    from absint.jobs.freezing.dynamic import Fewest
    from absint.jobs.freezing.freeze import Frozen
    from absint.show.page.page import View


class Copies(Analysed):
    """An analysis whose model can be written with what was found."""

    def annotate(
        self, merge: MergePolicy = "refine", *, outputs: bool | None = None, dialect: str = "absint", load: bool = True
    ) -> onnx.ModelProto:
        """A copy of the model with what was inferred written into `value_info`, bodies of subgraphs included.

        `merge` says what happens to existing annotations: `skip` keeps them, `override` replaces them, `refine` takes
        per dim the more exact of the two, `strict` does so unless one is false, which raises UsageError. Types of graph
        outputs are written with `outputs`; if it is None, only in place of names that no input has. Where the analysis
        was given sizes or assumptions, inputs get these sizes too, and the metadata has `absint.assuming`.

        `dialect` is the form of the dims: `absint` (docs/grammar.md), `sympy`, `onnx-shape-inference` (which onnx_ir
        parses too), or `opaque`, a name for each distinct size. What a dialect has no text for is a name; the metadata
        define it, and annotated models read back as they were. Raises UsageError for another dialect.

        A type is left out if a runtime would hold it against the copy: a check that only declared types wake, a loop
        without a trip that gets other sizes. `annotated` lists these. Where onnxruntime may see more than onnx's own
        inference, it loads the copy, without weights, if it is installed; `load=False` does without.
        """
        return self.annotated(merge, outputs=outputs, dialect=dialect, load=load).model

    def annotated(
        self, merge: MergePolicy = "refine", *, outputs: bool | None = None, dialect: str = "absint", load: bool = True
    ) -> Annotated:
        """As `annotate`: the copy, with the types that are left out of it and why."""
        return homes.annotate.annotated(self, homes.dialects.Style(merge, outputs, dialect), load=load)

    def annotate_ir(
        self,
        model: onnx_ir.Model,
        merge: MergePolicy = "refine",
        *,
        outputs: bool | None = None,
        dialect: str = "onnx-shape-inference",
        load: bool = True,
    ) -> int:
        """Write what `annotate` writes onto the values of the onnx_ir model that was analysed, in place.

        The answer is the number of values and metadata entries that changed. Raises UsageError as `annotate` does, and
        if the model is not the analysed one.
        """
        return homes.annotate.annotate_values(self, model, homes.dialects.Style(merge, outputs, dialect), load=load)

    def save_annotated(
        self,
        path: str | os.PathLike[str],
        merge: MergePolicy = "refine",
        *,
        outputs: bool | None = None,
        dialect: str = "absint",
        copy_weights: bool = False,
        load: bool = True,
        force: bool = False,
    ) -> AnnotatedFile:
        """Write the copy that `annotate` makes to a file, which is complete or not written at all.

        Bytes are copied from the model's file to the new one, and only declarations and metadata change: weights never
        come into memory, files of over 2 GB work, and references to external data stay; with `copy_weights` these files
        are copied beside the new one. Raises UsageError as `annotate` does, for a path that cannot be written or holds
        weights, for that of the model unless `force`, and if the model's file has changed since.
        """
        style = homes.dialects.Style(merge, outputs, dialect)
        return homes.saving.save_annotated(self, self._target(path, force), style, copy_weights=copy_weights, load=load)

    def report(self, path: str | os.PathLike[str], sizes: Sizes | None = None) -> None:
        """Write a page to look at the model: one HTML file, see docs/report.md. It begins with these sizes.

        Raises UsageError for a path that cannot be written, sizes that make no sense, and the result of an unsound
        policy.
        """
        homes.page.write_page(self, os.fspath(path), sizes or {})

    def view(self, height: int = 700) -> View:
        """The page of `report` in a notebook: Jupyter, VS Code and Colab show it, without an extension.

        `height` is in pixels. Raises UsageError for one below 100, and for the result of an unsound policy.
        """
        return homes.page.view(self, height)

    def dynamize(
        self,
        axes: Mapping[str, Mapping[int, str]],
        path: str | os.PathLike[str] | None = None,
        *,
        fix: bool = False,
        run: bool = True,
        load: bool = True,
        rows: Sequence[str] = (),
        seconds: float = LONG,
        force: bool = False,
    ) -> Dynamized:
        """A copy of the model in which sizes of inputs are symbols: `{"input": {0: "batch"}}`.

        The answer lists the constants that bake an old size in, each with its node and the expression that it should
        be, and the `contract` of the copy. With `fix` they are rewritten; at the old sizes a run of the copy gives the
        outputs of the original. Where a constant may mean more than one size, or where stacked rows of a batch are not
        what single ones are, nothing is rewritten or written, and `refusal` says why. Axes of outputs may be named too:
        they decide between readings, as proofs about rows do, and runs of the copy in onnxruntime, unless `run` is
        false. `rows` are the axes whose rows do not depend on each other (`["x[0]"]`); by default those that are called
        a batch, else the first one if it was larger than 1. With a `path` the copy is written to this file, complete or
        not at all, as `save_annotated` does, with `load` and `force` as there. A contract takes `seconds` at most.

        Raises UsageError for an input or an axis that there is not, for an axis that is no fixed size, for one symbol
        of two sizes, for a path that cannot be written, and for an initialiser that holds an old size and is an input
        too, unless its value is a shape or `defaults` count.
        """
        target = None if path is None else self._target(path, force)
        return homes.dynamize.dynamize(
            self, axes, fix=fix, run=run, load=load, rows=rows, path=target, limits=Limits(seconds)
        )

    def freeze(
        self,
        sizes: Sizes,
        path: str | os.PathLike[str] | None = None,
        *,
        keep_inputs: bool = False,
        copy_weights: bool = False,
        load: bool = True,
        force: bool = False,
    ) -> Frozen:
        """A copy of the model at these sizes of its input symbols, or shapes of its inputs; some may be left out.

        Elements of small inputs may be given too (`sr=16000`): the copy has a constant in place of the input. With
        `keep_inputs` the input stays, and the copy does what the model does where it is fed with these elements alone.

        The sizes are written into the inputs, and all types follow. What they decide is folded: nodes whose outputs are
        the same in every run become constants, an If becomes the branch that it takes, and what nothing needs any more
        is left out. At these sizes every run of the copy gives the outputs of the original, bit by bit.

        With a `path` the copy is written to this file, complete or not at all, as `save_annotated` does, with
        `copy_weights`, `load` and `force` as there; without, it is the `model` of the answer. `dynamic` lists what is
        not fixed in it, and the symbols and nodes behind that.

        Raises IllegalSizesError, and writes nothing, if the model cannot run at these sizes; UsageError for a name that
        is no symbol, a number that is no size, a copy that would not load, and a path that cannot be written.
        """
        target = "" if path is None else self._target(path, force)
        return homes.freeze.freeze(self, sizes, target, keep_inputs=keep_inputs, copy_weights=copy_weights, load=load)

    def simplify(
        self,
        passes: Collection[str] | None = None,
        path: str | os.PathLike[str] | None = None,
        *,
        copy_weights: bool = False,
        load: bool = True,
        assume_legal: bool = False,
        inline: bool = False,
        seconds: float = LONG,
        force: bool = False,
    ) -> homes.simplify.Simplified:
        """A smaller copy of the model whose sizes stay symbolic: it runs where the model runs, and gives the same.

        `passes` are some of `absint.jobs.rewriting.rounds.PASSES`; all of them if it is None. They are repeated
        until nothing changes. A comparison as of `absint.diff` proves that shapes and legal sizes are the same, within
        `seconds`; nodes whose change is not proved are in `undone` of the answer. A node that may
        fail stays, unless `assume_legal` says that inputs are legal: then nodes that only fail go, and the answer has
        them as `dropped`. Functions stay, unless `inline` puts their nodes in the place of each call. Where the
        analysis was given assumptions, equality holds where they do, and the metadata have them.

        With a `path` the copy is written to this file, complete or not at all, as `save_annotated` does, with
        `copy_weights`, `load` and `force` as there; without, it is the `model` of the answer.

        Raises UsageError for an unknown pass, the result of an unsound policy or of an analysis that a limit cut short,
        functions that cannot be inlined, and a path that cannot be written.
        """
        target = "" if path is None else self._target(path, force)
        return homes.simplify.simplify(
            self,
            passes,
            target,
            copy_weights=copy_weights,
            load=load,
            assume_legal=assume_legal,
            inline=inline,
            seconds=seconds,
        )

    def fewest_symbols(self) -> Fewest:
        """The fewest symbols that must be fixed so that every size of a computed value is a number.

        Values with a size that hangs on data, where all symbols have the sizes of the answer, are listed apart.
        """
        return homes.dynamic.fewest(self)

    def _target(self, path: str | os.PathLike[str], force: bool) -> str:
        """The path, which is not that of the model unless `force`."""
        if (target := os.fspath(path)) != "-":
            homes.writing.check_target(self.origin, target, force)
        return target
