"""Passes of `onnx_ir`: `absint.ir.ShapeInferencePass` and `absint.ir.SimplifyPass`. They need onnx_ir."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import onnx_ir

from absint.api import analyze
from absint.jobs.copies.dialects import MergePolicy
from absint.lattices.limits import LONG
from absint.shapes.sizes import Assumption


class ShapeInferencePass(onnx_ir.passes.InPlacePass):
    """Write the inferred types and shapes onto the values of a model, in place; no tensor is touched.

    The shapes of inputs and initialisers stay. `merge`, `outputs` and `dialect` are those of `Result.annotate`; by
    default dims are texts that onnx_ir parses. `assume` lists relations that every run meets. With `strict` a node that
    must fail, a false declaration and a limit that is reached raise UsageError.
    """

    def __init__(
        self,
        *,
        merge: MergePolicy = "refine",
        outputs: bool | None = None,
        dialect: str = "onnx-shape-inference",
        assume: Sequence[Assumption] = (),
        strict: bool = False,
    ) -> None:
        self.merge, self.outputs, self.dialect = merge, outputs, dialect
        self.assume, self.strict = assume, strict

    def call(self, model: onnx_ir.Model) -> onnx_ir.passes.PassResult:
        """Analyse the model and annotate its values."""
        result = analyze(model, assume=self.assume, strict=self.strict)
        changed = result.annotate_ir(model, self.merge, outputs=self.outputs, dialect=self.dialect)
        return onnx_ir.passes.PassResult(model, modified=changed > 0)


class SimplifyPass(onnx_ir.passes.FunctionalPass):
    """A smaller model whose sizes stay symbolic, as `Result.simplify` gives it; the model that is given stays.

    `passes`, `assume_legal`, `inline` and `seconds` are those of `Result.simplify`; `assume` lists relations that every
    run meets.
    """

    def __init__(
        self,
        passes: Collection[str] | None = None,
        *,
        assume: Sequence[Assumption] = (),
        assume_legal: bool = False,
        inline: bool = False,
        seconds: float = LONG,
    ) -> None:
        self.passes, self.assume, self.inline = passes, assume, inline
        self.assume_legal, self.seconds = assume_legal, seconds

    def call(self, model: onnx_ir.Model) -> onnx_ir.passes.PassResult:
        """Analyse the model and rewrite it."""
        result = analyze(model, assume=self.assume)
        found = result.simplify(
            self.passes, assume_legal=self.assume_legal, inline=self.inline, seconds=self.seconds
        ).model
        assert found is not None
        return onnx_ir.passes.PassResult(onnx_ir.from_proto(found), modified=found != result.model)
