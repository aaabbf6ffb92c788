"""Findings about declarations: false ones by the node where they begin, and what outputs and inputs leave unsaid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from absint.jobs.linting.codes import RULES
from absint.jobs.linting.finding import Finding
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text.naming import Where
from absint.lattices.value import AnyTensor
from absint.model.protos import declared_types
from absint.program.declarations import Declaration, declarations
from absint.questions.claims.diagnostics import loadable_false_declarations
from absint.questions.claims.findings import FalseDeclaration
from absint.questions.claims.reading import Dims, Inferred, dims, read_text, stated_dim
from absint.solution.described import brief
from absint.solution.naming import defining, where

if TYPE_CHECKING:
    from absint.model.messages import TypeMessage
    from absint.solution.analysed import Analysed


def declared(analysed: Analysed) -> Iterator[Finding]:
    """All findings about declarations."""
    false = loadable_false_declarations(analysed)
    yield from _false([item for item in false if not item.at_0], analysed)
    at_0 = [item for item in false if item.at_0]
    if at_0:
        yield _finding("ABS204", at_0[0], at_0[1:])
    wrong = {(item.declaration.path, item.declaration.name) for item in false}
    yield from _outputs(analysed, wrong)
    yield from _inputs(analysed)


# False declarations


def _false(false: Sequence[FalseDeclaration], analysed: Analysed) -> Iterator[Finding]:
    """One finding for each name that stands for two sizes, and for each value from which false shapes spread."""
    origins = _origins({item.declaration.operand[0] for item in false if not item.name}, analysed)
    groups: dict[tuple[str, str] | int, list[FalseDeclaration]] = {}
    for item in sorted(false, key=lambda item: item.declaration.operand):
        node = item.declaration.operand[0]
        key = (item.declaration.path, item.name) if item.name else origins[node]
        groups.setdefault(key, []).append(item)
    for first, *rest in groups.values():
        yield _finding("ABS203" if first.name else "ABS201" if first.sizes is None else "ABS202", first, rest)


def _finding(code: str, first: FalseDeclaration, rest: Iterable[FalseDeclaration]) -> Finding:
    others = sorted(rest, key=lambda item: item.declaration.kind != "output")  # outputs matter to callers
    return Finding(
        code,
        RULES[code].severity,
        first.where,
        first.message,
        1 + len(others),
        tuple(item.where for item in others),
        first.sizes,
    )


def _origins(false: set[int], analysed: Analysed) -> Mapping[int, int]:
    """For each node with a false declaration the first one that its operands come from, in execution order."""
    if not false:
        return {}
    first: list[int | None] = []
    for number, node in enumerate(analysed.nodes):
        above = [
            found for operand, _ in node.operands if 0 <= operand < number and (found := first[operand]) is not None
        ]
        first.append(min(above, default=number if number in false else None))
    return {node: found for node in false if (found := first[node]) is not None}


# Outputs


def _outputs(analysed: Analysed, wrong: set[tuple[str, str]]) -> Iterator[Finding]:
    """Outputs whose declaration says less than is known, and names of outputs for one and the same size."""
    imprecise: list[tuple[str, str]] = []
    named: dict[Dim, dict[str, str]] = {}
    inferred = Inferred(analysed)
    texts = where(analysed)
    for item in declarations(analysed.lowered):
        if item.path or item.kind != "output" or (item.path, item.name) in wrong:
            continue
        value = inferred[item.operand]
        known = dims(item.type, value)
        if known is None:
            found = _shapeless(item, analysed, texts)
            imprecise += [found] if found else []
            continue
        own = dict(_own_names(known, analysed))
        if any(_is_known(known.value.shape.dims[axis], analysed) for axis in own):
            stated = ["?" if dim is None else str(dim) for dim in known.stated]
            always = [
                text if not _is_known(dim, analysed) else texts.dim(dim)
                for text, dim in zip(stated, known.value.shape.dims, strict=True)
            ]
            imprecise.append((item.where, f"declared [{', '.join(stated)}], always [{', '.join(always)}]"))
        for axis, name in own.items():
            dim = known.value.shape.dims[axis]
            if name and isinstance(dim, Expr) and not _is_known(dim, analysed):
                named.setdefault(dim, {}).setdefault(name, f"{item.where}, axis {axis}")
    if imprecise:
        (place, message), *rest = imprecise
        code = "ABS205"
        message = defining(message, texts)
        yield Finding(code, RULES[code].severity, place, message, len(imprecise), tuple(other for other, _ in rest))
    for names in named.values():
        if len(names) > 1:
            (one, at), (other, there), *more = names.items()
            text = f"{other!r} is always equal to {one!r} of {at}"
            further = tuple(f"{name!r} of {place}" for name, place in more)
            yield Finding("ABS206", RULES["ABS206"].severity, there, text, 1 + len(further), further)


def _shapeless(item: Declaration, analysed: Analysed, texts: Where) -> tuple[str, str] | None:
    """An output without a declared shape of which some size is known."""
    value = analysed.value_of(item.operand)
    if item.type.WhichOneof("value") != "tensor_type" or item.type.tensor_type.HasField("shape"):
        return None
    if not isinstance(value, AnyTensor) or value.shape.rank is None:
        return None
    return item.where, f"declared without a shape, always {brief(value.shape, texts)}"


def _own_names(known: Dims, analysed: Analysed) -> Iterator[tuple[int, str]]:
    """The axes without a declared size, with names that no input has; a name is empty if there is none."""
    if len(known.stated) != known.value.shape.rank:
        return
    for axis, stated in enumerate(known.stated):
        if stated is None:
            yield axis, ""
        elif isinstance(stated, str):
            dim = read_text(stated, analysed.parameters)
            if dim is None:
                yield axis, ""
            elif not dim.free_symbols <= analysed.parameters.keys():
                yield axis, stated


def _is_known(dim: Dim, analysed: Analysed) -> bool:
    """A number, or an expression over sizes and elements of the inputs that have names."""
    return isinstance(dim, Expr) and dim.free_symbols <= analysed.parameters.keys() - analysed.declared_inputs.unnamed


# Inputs


def _inputs(analysed: Analysed) -> Iterator[Finding]:
    """Inputs without a declared shape, and those with dims that have neither size nor name."""
    places: list[str] = []
    for name, proto in _declared_inputs(analysed).items():
        if proto.WhichOneof("value") != "tensor_type":
            continue
        if not proto.tensor_type.HasField("shape"):
            text = "no shape is declared, so its rank is unknown"
            yield Finding("ABS207", RULES["ABS207"].severity, f"input {name!r}", text)
        axes = [str(axis) for axis in _unnamed(proto)]
        if axes:
            places.append(f"input {name!r}, {'axis' if len(axes) == 1 else 'axes'} {', '.join(axes)}")
    if places:
        first, *rest = places
        text = "neither a size nor a name is declared"
        yield Finding("ABS208", RULES["ABS208"].severity, first, text, len(places), tuple(rest))


def _declared_inputs(analysed: Analysed) -> Mapping[str, TypeMessage]:
    """The types of the inputs that a caller must feed."""
    infos = declared_types(analysed.loaded.model.graph, "input")
    return {info.name: info.type for info in infos if info.name in analysed.input_nodes}


def _unnamed(proto: TypeMessage) -> list[int]:
    return [axis for axis, dim in enumerate(proto.tensor_type.shape.dim) if stated_dim(dim) is None]
