"""A model with symbols in place of sizes of its inputs: what the old sizes are baked into, mended, and proved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from onnx import ModelProto

from absint.errors import UsageError
from absint.jobs.copies import annotate, dialects, gate, saving
from absint.jobs.dynamizing import choosing, coinciding, finding, preparing, rewriting
from absint.jobs.dynamizing.judging import Compared, Judging
from absint.jobs.dynamizing.resizing import SEVERAL, Fixed, Resizing
from absint.lattices.limits import LONG, Limits
from absint.lattices.logic.relation import eq
from absint.lattices.terms.expr import Expr, symbol
from absint.lattices.text.escapes import excerpt, plain
from absint.lattices.value import Tensor, elements_of
from absint.model.load import MAX_IN_MEMORY, Loaded, outlined_copy
from absint.model.protos import copied
from absint.model.wire import fields, read_graphs, splicing
from absint.questions.rows import OutputRows
from absint.questions.sizes.contracts import contract
from absint.solution.analysed import Analysed
from absint.solver.contracts.contract import Contract


@dataclass(frozen=True)
class Baked:
    """A number or a size of a constant that is an old size of an input."""

    node: str
    """The node that uses the constant."""
    operator: str
    constant: str
    """The value that the node reads."""
    operand: str
    """The input of the node, by its formal name."""
    place: str
    """`target[0]`, or an axis of a constant's shape, as `shape(table)[1]`."""
    old: str
    new: str
    """The expression that it should be; several with `or` if nothing decides."""
    written: str = ""
    """The way in which it was rewritten; empty if it was not."""
    problem: str = ""
    """The reason why it cannot be rewritten."""
    is_open: bool = False
    """It may mean several sizes, and nothing decides which."""

    def __str__(self) -> str:
        end = f"; {self.problem}" if self.problem else ""
        return f"{self.place} of {self.node}: {self.old}, should be {self.new}{end}"


class Cause(NamedTuple):
    """A requirement that the search could not lead back to a constant."""

    relation: str
    node: str
    """The node that imposes it."""
    at: str
    """The node at which the search ended."""
    reason: str

    def __str__(self) -> str:
        where = "" if self.at == self.node else f" (at {self.at})"
        return f"{self.relation} of {self.node}: {self.reason}{where}"


def causes(found: finding.Found) -> Iterator[Cause]:
    """The requirements that are left, one for each reason."""
    seen: set[tuple[int, str]] = set()
    for constraint, fixed in found.left:
        if fixed is not None and tuple(fixed) not in seen:
            seen.add((fixed.node, fixed.reason))
            node = plain(str(constraint.origin))
            at = plain(str(found.setting.analysed.nodes[fixed.node])) if fixed.node >= 0 else node
            yield Cause(str(constraint.formula), node, at, fixed.reason)


def baked(settled: choosing.Settled, rewriter: rewriting.Rewriter, legal: Contract, judge: Judging) -> Iterator[Baked]:
    """The constants that hold an old size, with what the rewriter makes of them. `legal` is the contract of its copy: a
    number that may be a size, of which the old one alone is legal, is this size and a number of its own.
    """
    found = settled.found
    analysed, resizing = found.setting.analysed, found.setting.resizing
    required = {clause.relation for clause in legal.clauses}
    held = {name for name, size in resizing.sizes.items() if eq(symbol(name), size) in required}
    for place in sorted({*((node, target.operand) for node, target in found.run.targets.items()), *found.decided}):
        problem, how = rewriter.problems.get(place, ""), rewriter.how.get(place, "")
        for where, old, new in _entries(found, place):
            yield _item(analysed, place, where, old, new, how, problem)
    yield from _undecided(settled)
    for item in (*coinciding.silent(found), *coinciding.coincident(found, judge)):
        if item.sizes & resizing.sizes.keys() <= held:
            continue
        place = item.node, item.operand
        told = _item(analysed, place, (item.place, item.is_size), str(item.old), item.new, "", item.problem)
        yield replace(told, is_open=True)


def _entries(found: finding.Found, place: rewriting.Place) -> Iterator[tuple[tuple[int, bool], str, str]]:
    """The places in a constant, each with its old and its new value."""
    node, operand = place
    resizing = found.setting.resizing
    numbers: dict[int, Expr] = {}
    target = found.run.targets.get(node)
    if target is not None and operand == target.operand:
        numbers.update(target.meant)
    decision = found.decided.get(place)
    if decision is not None:
        numbers.update(decision.elements)
    for at, number in sorted(numbers.items()):
        yield (at, False), _old(number, resizing), str(number)
    for at, size in sorted(decision.dims.items()) if decision is not None else ():
        yield (at, True), _old(size, resizing), str(size)


def _old(new: Expr, resizing: Resizing) -> str:
    """The old value, as the product that it stands for: `12 = 4*3`."""
    was = str(resizing.old(new))
    coefficient = new.terms[0][1] if len(new.terms) == 1 else 1
    if coefficient > 1 and len(new.terms[0][0]) == 1:
        size = int(was) // coefficient if was.isdigit() else None
        if size is not None and size * coefficient == int(was):
            return f"{was} = {size}*{coefficient}"
    return was


def _item(
    analysed: Analysed, place: rewriting.Place, where: tuple[int, bool], old: str, new: str, how: str, problem: str
) -> Baked:
    node, operand = place
    item = analysed.nodes[node]
    rule = item.operation.rule if item.operation is not None else None
    formals = rule.inputs if rule is not None else ()
    formal = formals[min(operand, len(formals) - 1)] if formals else f"input {operand}"
    formal = {("Reshape", 1): "target", ("Loop", 0): "trips"}.get((item.operator, operand), formal)
    at, is_size = where
    constant = analysed.program.names.get(item.operands[operand], "")
    text = f"shape({formal})[{at}]" if is_size else f"{formal}[{at}]"
    return Baked(plain(str(item)), item.operator, plain(constant), formal, text, old, new, how, problem)


def _undecided(settled: choosing.Settled) -> Iterator[Baked]:
    analysed = settled.found.setting.analysed
    for key, readings in settled.open.items():
        for node in settled.found.run.left_open.get(key, ()):
            changed = sorted({at for reading in readings for at in reading})
            texts = []
            for reading in readings:
                parts = [f"target[{at}] = {reading[at]}" for at in changed if at in reading]
                texts.append(" and ".join(parts) or "none of it")
            item = analysed.nodes[node]
            constant = analysed.program.names.get(item.operands[1], "")
            yield Baked(
                plain(str(item)), item.operator, plain(constant), "target", "target", "",
                " or ".join(texts) or "one of many sizes",
                problem="not determined: nothing in the model tells which", is_open=True,
            )  # fmt: skip


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
    left_out: tuple[gate.LeftOut, ...] = ()
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
    axes: preparing.Axes,
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
    with saving.rewriting(analysed, path or "") as source:
        outline, opened = source.outline, source.opened

        def variant(model: ModelProto, sizes: Mapping[str, int]) -> Analysed:
            """The analysis of a copy, with symbols bound to sizes."""
            return analysed.again(_loaded(analysed, opened.data, outline.pieces(model), model), sizes)

        base = copied(source.outline.model)
        static, axes, taken = preparing.prepared(analysed, axes, base, lambda: variant(base, {}), limits)
        request = preparing.Request(static, axes, rows)
        constants = rewriting.Constants(static, base, outline, opened)
        resizing = Resizing(request.sizes, request.promised | request.assumed)
        setting = finding.Setting(static, request.inputs, resizing, constants.may_vary)

        def rewritten(found: finding.Found, *, fix: bool) -> rewriting.Rewriter:
            return rewriting.Rewriter(found, constants).run(fix=fix)

        def to_run(found: finding.Found) -> bytes | None:
            pieces = list(outline.pieces(rewritten(found, fix=True).model))
            return None if splicing.size_of(pieces) > _MOST_RUN else splicing.whole(opened.data, pieces)

        graph = analysed.loaded.model.graph
        judging = Judging(
            static,
            request,
            graph,
            to_run,
            lambda found: variant(rewritten(found, fix=True).model, {}),
            runs=fix and run,
        )
        settled = choosing.settle(setting, judging)
        if request.assumed and not judging.standing(settled.found):  # they count no rows
            settled = choosing.settle(setting._replace(resizing=Resizing(request.sizes)), judging)
        found = settled.found = coinciding.as_named(settled.found, judging)
        preparing.refuse_overridable(
            static, [*(item.node for _, item in found.left if item is not None), *preparing.sized(static)]
        )
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
        weights, unchecked, left_out = tuple[str, ...](), "", tuple[gate.LeftOut, ...]()
        if path is not None and not refusal:
            if fix and differing:
                names = ", ".join(map(repr, differing[:3]))
                raise UsageError(f"nothing is written: {names} would have another shape at the old sizes")
            copy, result = (mended, after) if fix else (kept, before)
            written = annotate.annotated(result, dialects.Style(outputs=True), model=copy.model, load=load)
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


def _hint(request: preparing.Request, static: Analysed) -> str:
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


def _loaded(analysed: Analysed, data: fields.Data, pieces: Sequence[splicing.Piece], model: ModelProto) -> Loaded:
    """A copy of the model, of which `model` is the outline. That of a large file stays without its weights."""
    origin, folder = analysed.origin, analysed.loaded.folder
    if splicing.size_of(pieces) > MAX_IN_MEMORY:
        return outlined_copy(model, analysed.loaded)
    content = splicing.whole(data, pieces)
    return Loaded(read_graphs.read_model(content), origin, folder, None, content)


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


def _other_elements(before: Analysed, after: Analysed, rewriter: rewriting.Rewriter) -> Iterator[str]:
    """Operands that are not proved to have the elements that they had. What a -1, a 0 or an end says, shapes tell."""
    for (node, operand), name in rewriter.written.items():
        old = before.value_of(before.nodes[node].operands[operand])
        new = after.values.get(name)
        if not isinstance(old, Tensor) or not isinstance(new, Tensor):
            yield name
        elif (node, operand) not in rewriter.spelt:
            was, now = elements_of(old), elements_of(new)
            if new.shape is not old.shape or (was is not None and now is not None and was != now):
                yield name
