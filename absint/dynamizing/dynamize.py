"""A model with symbols in place of sizes of its inputs: what the old sizes are baked into, mended, and proved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.copies.annotate import annotated
from absint.copies.style import Style
from absint.dynamizing.constants import Constants
from absint.dynamizing.finding import Settled, settle
from absint.dynamizing.request import Axes, Request
from absint.dynamizing.resizing import Resizing
from absint.dynamizing.rewriting import Place, Rewriter
from absint.dynamizing.silent import silent
from absint.errors import UsageError
from absint.lattices.limits import LONG, Limits
from absint.lattices.text.escapes import excerpt, plain
from absint.lattices.value import Tensor
from absint.model.load import MAX_IN_MEMORY, Loaded
from absint.model.outlines import Outline
from absint.model.wire.read_graphs import read_model
from absint.model.wire.splicing import size_of
from absint.model.writing import check_target, write_copy
from absint.queries.contracts import contract
from absint.solver.contracts.contract import Contract

if TYPE_CHECKING:
    from onnx import ModelProto

    from absint.dynamizing.finding import Found
    from absint.lattices.terms.expr import Expr
    from absint.model.wire.fields import Data
    from absint.model.wire.splicing import Piece
    from absint.solution.analysed import Analysed

STANDARD_OUTPUT: Final = "-"
LIMITS: Final = Limits(LONG)


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

    @property
    def is_free(self) -> bool:
        """Every size is legal."""
        return not self.contract.clauses and self.contract.possible is True

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
    analysed: Analysed, axes: Axes, *, fix: bool = False, path: str | None = None, limits: Limits = LIMITS
) -> Dynamized:
    """See `Result.dynamize`."""
    analysed.require_sound("dynamize")
    if path is not None and path != STANDARD_OUTPUT:
        check_target("", path)
    request = Request(analysed, axes)
    resizing = Resizing(request.sizes)
    with analysed.loaded.opened() as opened:
        with analysed.loaded.reading():
            outline = Outline(opened.data)
        constants = Constants(analysed, outline, opened)
        settled = settle(analysed, request.inputs, resizing, constants.may_vary)
        found = settled.found

        def again(rewriter: Rewriter, sizes: Mapping[str, int]) -> Analysed:
            """The analysis of a copy, with symbols bound to sizes."""
            return analysed.again(_loaded(analysed, opened.data, outline.pieces(rewriter.model), rewriter.model), sizes)

        kept = Rewriter(analysed, found, resizing, constants).run(fix=False)
        mended = Rewriter(analysed, found, resizing, constants).run(fix=True)
        before, after = again(kept, {}), again(mended, {})
        at_old_sizes = again(mended, request.sizes)
        differing = (*_differing(analysed, at_old_sizes), *_other_elements(analysed, at_old_sizes, mended))
        weights: Sequence[str] = ()
        if path is not None:
            if fix and differing:
                names = ", ".join(map(repr, differing[:3]))
                raise UsageError(f"nothing is written: {names} would have another shape at the old sizes")
            copy, result = (mended, after) if fix else (kept, before)
            model = annotated(result, Style(outputs=True), model=copy.model).model
            weights = write_copy(opened, list(outline.pieces(model)), model, analysed.folder, path)
    unmended = contract(before, limits)
    return Dynamized(
        request.sizes,
        request.axes,
        tuple(_baked(analysed, settled, resizing, mended, fix=fix)),
        tuple(_causes(analysed, found)),
        contract(after, limits) if fix else unmended,
        unmended,
        differing,
        fix,
        path or "",
        tuple(weights),
    )


def _loaded(analysed: Analysed, data: Data, pieces: Sequence[Piece], model: ModelProto) -> Loaded:
    """A copy of the model, of which `model` is the outline. That of a large file stays without its weights."""
    origin, folder = analysed.origin, analysed.loaded.folder
    if size_of(pieces) > MAX_IN_MEMORY:
        return Loaded(model, origin, folder, is_outlined=True)
    content = b"".join(piece if isinstance(piece, bytes) else data[piece.start : piece.end] for piece in pieces)
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


def _causes(analysed: Analysed, found: Found) -> Iterator[Cause]:
    """The requirements that are left, one for each reason."""
    seen: set[tuple[int, str]] = set()
    for constraint, fixed in found.left:
        if fixed is not None and tuple(fixed) not in seen:
            seen.add((fixed.node, fixed.reason))
            node = plain(str(constraint.origin))
            at = plain(str(analysed.nodes[fixed.node])) if fixed.node >= 0 else node
            yield Cause(str(constraint.formula), node, at, fixed.reason)


def _baked(
    analysed: Analysed, settled: Settled, resizing: Resizing, rewriter: Rewriter, *, fix: bool
) -> Iterator[Baked]:
    found = settled.found
    places: dict[Place, None] = {(node, target.operand): None for node, target in found.targets.items()}
    places.update(dict.fromkeys(found.decided))
    for place in sorted(places):
        problem = rewriter.problems.get(place, "")
        how = rewriter.how.get(place, "") if fix else ""
        for where, old, new in _entries(analysed, found, resizing, place):
            yield _item(analysed, place, where, old, new, how, problem)
    yield from _undecided(analysed, settled)
    for item in silent(found):
        yield _item(analysed, (item.node, item.operand), (item.place, False), str(item.old), item.new, "", item.problem)


def _entries(
    analysed: Analysed, found: Found, resizing: Resizing, place: Place
) -> Iterator[tuple[tuple[int, bool], str, str]]:
    """The places in a constant, each with its old and its new value."""
    node, operand = place
    numbers: dict[int, Expr] = {}
    target = found.targets.get(node)
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
    analysed: Analysed, place: Place, where: tuple[int, bool], old: str, new: str, how: str, problem: str
) -> Baked:
    node, operand = place
    item = analysed.nodes[node]
    rule = item.operation.rule if item.operation is not None else None
    formals = rule.inputs if rule is not None else ()
    formal = formals[min(operand, len(formals) - 1)] if formals else f"input {operand}"
    formal = "target" if item.operator == "Reshape" and operand == 1 else formal
    at, is_size = where
    constant = analysed.program.names.get(item.operands[operand], "")
    text = f"shape({formal})[{at}]" if is_size else f"{formal}[{at}]"
    return Baked(plain(str(item)), item.operator, plain(constant), formal, text, old, new, how, problem)


def _undecided(analysed: Analysed, settled: Settled) -> Iterator[Baked]:
    for key, readings in settled.open.items():
        for node in settled.found.run.left_open.get(key, ()):
            changed = sorted({at for reading in readings for at in reading})
            texts = []
            for reading in readings:
                parts = [f"target[{at}] = {reading[at]}" for at in changed if at in reading]
                texts.append(" and ".join(parts))
            item = analysed.nodes[node]
            constant = analysed.program.names.get(item.operands[1], "")
            yield Baked(
                plain(str(item)), item.operator, plain(constant), "target", "target", "",
                " or ".join(texts), problem="not determined: nothing in the model tells which",
            )  # fmt: skip


__all__ = ["Baked", "Dynamized", "dynamize"]
