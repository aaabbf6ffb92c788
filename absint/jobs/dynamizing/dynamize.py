"""A model with symbols in place of sizes of its inputs: what the old sizes are baked into, mended, and proved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onnx import ModelProto

from absint.errors import UsageError
from absint.jobs.copies.annotate import annotated
from absint.jobs.copies.dialects import Style
from absint.jobs.copies.gate import LeftOut
from absint.jobs.copies.saving import rewriting
from absint.jobs.dynamizing.choosing import settle
from absint.jobs.dynamizing.coinciding import as_named
from absint.jobs.dynamizing.finding import Found, Setting
from absint.jobs.dynamizing.judging import Judging
from absint.jobs.dynamizing.listing import Baked, Cause, baked, causes
from absint.jobs.dynamizing.preparing import Axes, Request, prepared, refuse_overridable, sized
from absint.jobs.dynamizing.resizing import SEVERAL, Fixed, Resizing
from absint.jobs.dynamizing.rewriting import Constants, Rewriter
from absint.jobs.dynamizing.stacked import Compared
from absint.lattices.limits import LONG, Limits
from absint.lattices.text.escapes import excerpt
from absint.lattices.value import Tensor
from absint.model.load import MAX_IN_MEMORY, Loaded, outlined_copy
from absint.model.wire.fields import Data
from absint.model.wire.read_graphs import read_model
from absint.model.wire.splicing import Piece, size_of, whole
from absint.questions.rows import OutputRows
from absint.questions.sizes.contracts import contract
from absint.solution.analysed import Analysed
from absint.solver.contracts.contract import Contract

LIMITS: Final = Limits(LONG)
_MOST_RUN: Final = 1 << 28
"""Bytes of the largest copy that is run."""


@dataclass(frozen=True)
class Dynamized:
    """A model with symbols for sizes, and what is known of it."""

    sizes: Mapping[str, int]
    """The old size of each symbol."""
    axes: Mapping[str, Mapping[int, str]]
    """The axes that became symbols, by input."""
    baked: tuple[Baked, ...]
    """The constants that bake an old size in."""
    causes: tuple[Cause, ...]
    """Requirements that only the old sizes meet, and that no constant explains."""
    contract: Contract
    """The sizes that are legal now: of the mended model if it was mended, else of the model with its constants."""
    before: Contract
    """The sizes that are legal while the constants stay."""
    differing: tuple[str, ...] = ()
    """Values that are not proved to have the same shape at the old sizes as before; the model is not written then."""
    fixed: bool = False
    """Constants were rewritten."""
    path: str = ""
    """The file that the model was written to."""
    weights_elsewhere: tuple[str, ...] = ()
    """Files of weights that runtimes look for beside the model and that are beside the original."""
    rows: Mapping[str, Compared] = field(default_factory=dict)
    """For each batch: a run of the mended model on stacked rows, beside runs on single ones."""
    taken: tuple[str, ...] = ()
    """Initialisers that were inputs too, whose values are shapes: the copy has them as constants."""
    unchecked: str = ""
    """Why nobody knows whether the written file loads where the model does; empty if it does."""
    left_out: tuple[LeftOut, ...] = ()
    """Types that would keep the written file from loading, or change what it computes."""
    refusal: str = ""
    """Why constants were to be rewritten and were not; empty if they were."""
    proved: Mapping[str, tuple[OutputRows, ...]] = field(default_factory=dict)
    """For each symbol that counts rows: what is proved of the rows of each output of the mended model."""
    habitual: bool = False
    """Other readings keep rows apart too, in blocks of an axis; taken is the one that gives them an axis."""

    @property
    def is_free(self) -> bool:
        """Every size is legal, and nothing was refused."""
        return not self.contract.clauses and self.contract.possible is True and not self.refusal

    @property
    def unmended(self) -> tuple[Baked, ...]:
        """The constants that cannot be rewritten."""
        return tuple(item for item in self.baked if item.problem)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.baked), str(self.contract)])

    def __repr__(self) -> str:
        text = ", ".join(f"{name} was {size}" for name, size in self.sizes.items())
        return f"<Dynamized: {excerpt(text)}; {len(self.baked)} constants, {len(self.unmended)} left>"


def dynamize(
    analysed: Analysed,
    axes: Axes,
    *,
    fix: bool = False,
    run: bool = True,
    load: bool = True,
    rows: Sequence[str] = (),
    path: str | None = None,
    limits: Limits = LIMITS,
) -> Dynamized:
    """See `Result.dynamize`."""
    analysed.require_sound("dynamize")
    with rewriting(analysed, path or "") as source:
        outline, opened = source.outline, source.opened

        def variant(model: ModelProto, sizes: Mapping[str, int]) -> Analysed:
            """The analysis of a copy, with symbols bound to sizes."""
            return analysed.again(_loaded(analysed, opened.data, outline.pieces(model), model), sizes)

        base = ModelProto()
        base.CopyFrom(source.model)
        static, axes, taken = prepared(analysed, axes, base, lambda: variant(base, {}), limits)
        request = Request(static, axes, rows)
        constants = Constants(static, base, outline, opened)
        resizing = Resizing(request.sizes, request.promised | request.assumed)
        setting = Setting(static, request.inputs, resizing, constants.may_vary)

        def rewritten(found: Found, *, fix: bool) -> Rewriter:
            return Rewriter(found, constants).run(fix=fix)

        def to_run(found: Found) -> bytes | None:
            pieces = list(outline.pieces(rewritten(found, fix=True).model))
            return None if size_of(pieces) > _MOST_RUN else whole(opened.data, pieces)

        def mended_by(found: Found) -> Analysed:
            return variant(rewritten(found, fix=True).model, {})

        judging = Judging(static, request, analysed.loaded.model.graph, to_run, mended_by, runs=fix and run)
        settled = settle(setting, judging)
        if request.assumed and not judging.standing(settled.found):  # they count no rows
            settled = settle(setting._replace(resizing=Resizing(request.sizes)), judging)
        found = settled.found = as_named(settled.found, judging)
        refuse_overridable(static, [*(item.node for _, item in found.left if item is not None), *sized(static)])
        kept, mended = rewritten(found, fix=False), rewritten(found, fix=True)
        before, after = variant(kept.model, {}), judging.copy(found)
        at_old_sizes = variant(mended.model, request.sizes)
        differing = (*_differing(static, at_old_sizes), *_other_elements(static, at_old_sizes, mended))
        legal = contract(after, limits)
        listed = tuple(baked(settled, mended, legal, judging))
        compared = judging.compared(found) if fix else {}
        open_ = [item for _, item in found.left if item is not None]
        refusal = _refusal(listed, open_, compared, judging.lacking(found), _hint(request, static)) if fix else ""
        fixed = fix and not refusal
        weights, unchecked, left_out = tuple[str, ...](), "", tuple[LeftOut, ...]()
        if path is not None and not refusal:
            if fix and differing:
                names = ", ".join(map(repr, differing[:3]))
                raise UsageError(f"nothing is written: {names} would have another shape at the old sizes")
            copy, result = (mended, after) if fix else (kept, before)
            written = annotated(result, Style(outputs=True), model=copy.model, load=load)
            unchecked, left_out = written.unchecked, written.left_out
            weights = source.made(written.model, copy_weights=False).weights_elsewhere
    unmended = contract(before, limits)
    return Dynamized(
        request.sizes,
        request.axes,
        listed if fixed else tuple(replace(item, written="") for item in listed),
        tuple(causes(found)),
        legal if fixed else unmended,
        unmended,
        differing,
        fixed,
        "" if refusal else path or "",
        weights,
        compared,
        taken,
        unchecked,
        left_out,
        refusal,
        judging.proved(found) if fixed else {},
        fixed and settled.is_by_habit,
    )


def _hint(request: Request, static: Analysed) -> str:
    """How a caller may say more."""
    found = []
    if static.outputs and not request.outputs:
        name, text = next(iter(static.outputs)), next(iter(request.sizes))
        value = static.values.get(name)
        sizes = value.shape.concrete if isinstance(value, Tensor) else None
        if sizes and sizes[0] not in request.sizes.values():
            text = f"{sizes[0]} if it stays"
        found = [f"the axis of an output may decide, as {name}[0]={text}"]
    place = next((f"{name}[0]" for name, of in request.axes.items() if 0 in of), "")
    if place and not request.promised | request.assumed:
        found.append(f"if rows do not depend on each other, --rows {place} may")
    return "".join(f"; {text}" for text in found)


def _refusal(
    listed: Sequence[Baked], fixed: Iterable[Fixed], rows: Mapping[str, Compared], lacking: Sequence[str], hint: str
) -> str:
    """Why no constant is rewritten; empty if all that are can be trusted."""
    several = sum(item.is_open for item in listed) + sum(item.reason == SEVERAL for item in fixed)
    if several:
        return f"{several} {'constant has' if several == 1 else 'constants have'} more than one reading{hint}"
    if lacking:
        return f"{' '.join(lacking)} under any reading of the constants"
    for name, each in rows.items():
        if each.differing:
            outputs = ", ".join(map(repr, each.differing[:3]))
            why = "a row depends on the others" + ("; if it may, call the axis seq, say" if len(name) == 1 else "")
            return f"{outputs} of stacked rows of {name} hold other rows than single runs: {why}"
    return ""


def _loaded(analysed: Analysed, data: Data, pieces: Sequence[Piece], model: ModelProto) -> Loaded:
    """A copy of the model, of which `model` is the outline. That of a large file stays without its weights."""
    origin, folder = analysed.origin, analysed.loaded.folder
    if size_of(pieces) > MAX_IN_MEMORY:
        return outlined_copy(model, analysed.loaded)
    content = whole(data, pieces)
    return Loaded(read_model(content), origin, folder, None, content)


def _differing(before: Analysed, after: Analysed) -> Iterator[str]:
    """Values of the main graph that are not proved to have the shape that they had."""
    for name, operand in before.operands.items():
        if operand[0] < 0 or name not in after.operands:
            continue
        old, new = before.value_of(operand), after.value_of(after.operands[name])
        if not isinstance(old, Tensor) or old.shape.concrete is None:
            continue
        if not isinstance(new, Tensor) or new.shape is not old.shape:
            yield name


def _other_elements(before: Analysed, after: Analysed, rewriter: Rewriter) -> Iterator[str]:
    """Operands that are not proved to have the elements that they had. What a -1, a 0 or an end says, shapes tell."""
    for (node, operand), name in rewriter.written.items():
        old = before.value_of(before.nodes[node].operands[operand])
        new = after.values.get(name)
        if not isinstance(old, Tensor) or not isinstance(new, Tensor):
            yield name
        elif (node, operand) in rewriter.spelt:
            continue
        else:
            was, now = _elements(old), _elements(new)
            if new.shape is not old.shape or (was is not None and now is not None and was != now):
                yield name


def _elements(value: Tensor) -> Sequence[object] | None:
    block = None if value.contents is None else value.contents.block(value.shape.concrete)
    return None if block is None else block.elements
