"""The findings about one model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from absint.jobs.linting.finding import Finding, in_order
from absint.jobs.linting.weights import diagnosed, missing_weights
from absint.lattices.limits import LONG, MEMORY, RLIMIT, Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import FALSE, NO, Relation, disjunction, ge, is_plain
from absint.lattices.terms.expr import Dim, Expr, Symbol, sole_atom
from absint.lattices.text.escapes import excerpt
from absint.lattices.text.naming import Names
from absint.lattices.value import AnyTensor
from absint.model.protos import declared_types
from absint.program.limits import RULELESS
from absint.program.lowered import Declaration, declarations
from absint.questions.claims import judging, reading
from absint.questions.rows import is_called_batch, rows_along
from absint.questions.sizes import checking, contracts
from absint.solution import described, loading, naming
from absint.solution.analysed import Analysed
from absint.solver.constraints import PossibleFailure
from absint.solver.contracts.contract import Clause, ordinary

# Findings about the contract: what the symbols of the inputs hide.

LARGEST: Final = 100_000_000
"""A largest legal size above this concerns nobody."""

_CLEAR: Final = ("ABS301", "ABS302", "ABS303")
"""The text says all that a clause about one symbol says."""

_SHOWN: Final = 2
_LONGEST: Final = 500


def contracted(analysed: Analysed, limits: Limits) -> Iterator[Finding]:
    """Symbols with one legal size, with few, with multiples only, with bounds, and those that follow from others; then
    the clauses that relate several symbols, and the nodes at which the contract is open.
    """
    if not analysed.symbols or not loading.can_run(analysed):
        return
    found = contracts.contract(analysed, limits)
    if found.possible is False or any(clause.relation is FALSE for clause in found.clauses):
        clauses = [clause for clause in found.clauses if clause.relation is FALSE] or found.clauses
        text = f"no sizes of the inputs are legal: {_stated(clauses, analysed)}"
        yield Finding.of("ABS101", _first_node(clauses), text)
        return
    original = {_without_0(clause, analysed): clause for clause in found.clauses}
    found = replace(found, clauses=tuple(original))
    told: set[Clause] = set()
    places = contracts.places_of(analysed)
    for name in analysed.symbols:
        facts = contracts.facts_from(analysed, name, found)
        about = _about(facts) if facts.because else None
        if about is not None:
            told |= about.clauses
            yield _finding(about, facts, places.get(name, [""])[0], original, analysed)
    rest = [original[clause] for clause in found.clauses if clause not in told and _excludes_ordinary(clause)]
    if rest:
        first, *others = rest
        text = f"not all sizes fit together: {_stated([first], analysed)}"
        further = tuple(_stated([clause], analysed) for clause in others)
        yield Finding.of("ABS307", _first_node([first]), text, len(rest), further)
    known = (f for f in checking.unstated(analysed) if isinstance(f, PossibleFailure) and f.reason not in RULELESS)
    open_ = list({failure.origin: failure for failure in known}.values())
    if open_:
        text = f"the contract does not say all: {open_[0].reason}"
        more = tuple(f"{item.origin}: {item.reason}" for item in open_[1:])
        yield Finding.of("ABS308", str(open_[0].origin), text, len(open_), more)


class _About(NamedTuple):
    """The narrowest thing that a contract says of a symbol, and the clauses that say it."""

    code: str
    text: str
    clauses: frozenset[Clause]


def _about(facts: contracts.SymbolFacts) -> _About | None:
    clauses = facts.because
    alone = frozenset(clause for clause in clauses if clause.relation.free_symbols == {facts.name})
    values = facts.values if facts.solved is None else (facts.solved,) if facts.solved.is_concrete else None
    if values is not None and len(values) == 1:
        return _About("ABS301", f"only size {values[0]} is legal", alone or frozenset(clauses))
    if values is not None:
        return _About("ABS302", f"only the sizes {', '.join(map(str, values))} are legal", alone or frozenset(clauses))
    if facts.solved is not None:
        is_symbol = isinstance(facts.solved, Expr) and isinstance(sole_atom(facts.solved), Symbol)
        code = "ABS305" if is_symbol else "ABS306"
        equal = frozenset(clause for clause in clauses if clause.relation.op == "==")
        return _About(code, f"only a size equal to {facts.solved} is legal", equal or frozenset(clauses))
    narrow = frozenset(filter(_excludes_ordinary, alone))
    if facts.modulus > 1:
        which = f"multiples of {facts.modulus}"
        if facts.remainder:
            which = f"sizes with remainder {facts.remainder} modulo {facts.modulus}"
        return _About("ABS303", f"only {which} are legal", narrow or alone or frozenset(clauses))
    return _bounded(facts, alone)


def _bounded(facts: contracts.SymbolFacts, alone: frozenset[Clause]) -> _About | None:
    has_least, has_largest = facts.lo > 1, facts.hi < LARGEST
    if not (has_least or has_largest):
        return None
    sizes = f"up to {facts.hi}" if not has_least else f"from {facts.lo} {f'to {facts.hi}' if has_largest else 'on'}"
    beyond = [facts.lo - 1] * has_least + [facts.hi + 1] * has_largest
    bounds = frozenset(
        clause
        for clause in alone
        if is_plain(clause.relation) and any(clause.relation.at({facts.name: n}) is NO for n in beyond)
    )
    return _About("ABS304", f"only sizes {sizes} are legal", bounds or alone or frozenset(facts.because))


def _finding(
    about: _About, facts: contracts.SymbolFacts, place: str, original: Mapping[Clause, Clause], analysed: Analysed
) -> Finding:
    reduced = [clause for clause in facts.because if clause in about.clauses]
    clauses = [original[clause] for clause in reduced]
    cases = "" if clauses == reduced else " where no size is 0"
    is_clear = len(clauses) == 1 and (is_plain(clauses[0].relation) or about.code in _CLEAR)
    text = f"{about.text}{cases}" + (f" ({_nodes(clauses[0])})" if is_clear else f": {_stated(clauses, analysed)}")
    return Finding.of(about.code, f"symbol {facts.name!r} ({place})", text)


def _without_0(clause: Clause, analysed: Analysed) -> Clause:
    """The clause without the cases in which some size is 0."""
    if clause.relation.op != "or":
        return clause
    positive = Facts(ge(analysed.parameters[name], 1) for name in sorted(clause.relation.free_symbols))
    rest = [part for part in clause.relation.args if isinstance(part, Relation) and positive.decide(part) is not NO]
    return clause._replace(relation=disjunction(*rest)) if rest else clause


def _excludes_ordinary(clause: Clause) -> bool:
    """Some sizes that nobody would think special break it."""
    return any(clause.relation.at(sizes) is NO for sizes in ordinary(clause.relation.free_symbols))


def _stated(clauses: Sequence[Clause], analysed: Analysed) -> str:
    """The clauses, each with its nodes: `past + seq == total (MatMul scores: inner dimensions must agree)`."""
    texts = naming.names_of(analysed)
    shown = [f"{texts.relation(clause.relation)} ({_nodes(clause)})" for clause in clauses[:_SHOWN]]
    more = f" and {len(clauses) - _SHOWN} more clauses" if len(clauses) > _SHOWN else ""
    return excerpt(naming.defining(" and ".join(shown) + more, texts), _LONGEST)


def _nodes(clause: Clause) -> str:
    """The node behind a clause with its reason, and the number of the others."""
    first = clause.because[0]
    others = len({constraint.origin for constraint in clause.because}) - 1
    more = f"; and {others} more node{'s' * (others > 1)}" if others else ""
    return f"{first.origin}: {first.reason}{more}"


def _first_node(clauses: Sequence[Clause]) -> str:
    return str(clauses[0].because[0].origin)


# Symbols whose names promise a batch.

_MOST_RUN: Final = 1 << 28
"""Bytes of the largest model that is run."""


def batched(analysed: Analysed, seconds: float, *, run: bool) -> Iterator[Finding]:
    """Symbols on first axes of inputs that are called a batch, and whose rows are not apart; runs take `seconds`."""
    places = contracts.places_of(analysed) if loading.can_run(analysed) else {}
    for name, (place, *_) in places.items():
        if not place.endswith("[0]") or not is_called_batch(name, [0]):
            continue
        found = rows_along(analysed, Symbol(name), run=run and analysed.loaded.size <= _MOST_RUN, seconds=seconds)
        if not found.axes:
            continue
        told = f"symbol {name!r} ({place})"
        mixed = [output for output in found.outputs if output.verdict == "mixes"]
        open_ = [output for output in found.outputs if output.verdict not in ("independent", "shared")]
        if mixed:
            first, *rest = mixed
            text = f"its rows meet in output {first.name!r}, as a run shows: {first.witness} ({first.meeting})"
            yield Finding.of("ABS309", told, text, len(mixed), [output.name for output in rest])
        elif open_:
            first, *rest = open_
            how = "has rows that depend on their number" if first.verdict == "by position" else "may mix its rows"
            text = f"output {first.name!r} {how} ({first.meeting})"
            yield Finding.of("ABS310", told, text, len(open_), [output.name for output in rest])


# Findings about declarations: false ones by the node where they begin, and what outputs and inputs leave unsaid.


def declared(analysed: Analysed) -> Iterator[Finding]:
    """All findings about declarations."""
    false = judging.loadable_false_declarations(analysed)
    yield from _false([item for item in false if not item.at_0], analysed)
    at_0 = [item for item in false if item.at_0]
    if at_0:
        yield _declaration("ABS204", at_0[0], at_0[1:])
    wrong = {(item.declaration.path, item.declaration.name) for item in false}
    yield from _outputs(analysed, wrong)
    yield from _inputs(analysed)


def _false(false: Sequence[judging.FalseDeclaration], analysed: Analysed) -> Iterator[Finding]:
    """One finding for each name that stands for two sizes, and for each value from which false shapes spread."""
    first_of = judging.origins(analysed, {item.declaration.operand[0] for item in false if not item.name})
    groups: dict[tuple[str, str] | int, list[judging.FalseDeclaration]] = {}
    for item in sorted(false, key=lambda item: item.declaration.operand):
        node = item.declaration.operand[0]
        key = (item.declaration.path, item.name) if item.name else first_of[node]
        groups.setdefault(key, []).append(item)
    for first, *rest in groups.values():
        yield _declaration("ABS203" if first.name else "ABS201" if first.sizes is None else "ABS202", first, rest)


def _declaration(code: str, first: judging.FalseDeclaration, rest: Iterable[judging.FalseDeclaration]) -> Finding:
    others = sorted(rest, key=lambda item: item.declaration.kind != "output")  # outputs matter to callers
    places = tuple(item.where for item in others)
    return Finding.of(code, first.where, first.message, 1 + len(others), places, first.sizes)


def _outputs(analysed: Analysed, wrong: set[tuple[str, str]]) -> Iterator[Finding]:
    """Outputs whose declaration says less than is known, and names of outputs for one and the same size."""
    imprecise: list[tuple[str, str]] = []
    named: dict[Dim, dict[str, str]] = {}
    inferred = reading.Inferred(analysed)
    texts = naming.names_of(analysed)
    for item in declarations(analysed.lowered):
        if item.path or item.kind != "output" or (item.path, item.name) in wrong:
            continue
        value = inferred[item.operand]
        known = reading.dims(item.type, value)
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
        message = naming.defining(message, texts)
        yield Finding.of(code, place, message, len(imprecise), [other for other, _ in rest])
    for names in named.values():
        if len(names) > 1:
            (one, at), (other, there), *more = names.items()
            text = f"{other!r} is always equal to {one!r} of {at}"
            further = tuple(f"{name!r} of {place}" for name, place in more)
            yield Finding.of("ABS206", there, text, 1 + len(further), further)


def _shapeless(item: Declaration, analysed: Analysed, texts: Names) -> tuple[str, str] | None:
    """An output without a declared shape of which some size is known."""
    value = analysed.value_of(item.operand)
    if item.type.WhichOneof("value") != "tensor_type" or item.type.tensor_type.HasField("shape"):
        return None
    if not isinstance(value, AnyTensor) or value.shape.rank is None:
        return None
    return item.where, f"declared without a shape, always {described.brief(value.shape, texts)}"


def _own_names(known: reading.Dims, analysed: Analysed) -> Iterator[tuple[int, str]]:
    """The axes without a declared size, with names that no input has; a name is empty if there is none."""
    if len(known.stated) != known.value.shape.rank:
        return
    for axis, stated in enumerate(known.stated):
        if stated is None:
            yield axis, ""
        elif isinstance(stated, str):
            dim = reading.read_text(stated, analysed.parameters)
            if dim is None:
                yield axis, ""
            elif not dim.free_symbols <= analysed.parameters.keys():
                yield axis, stated


def _is_known(dim: Dim, analysed: Analysed) -> bool:
    """A number, or an expression over sizes and elements of the inputs that have names."""
    return isinstance(dim, Expr) and dim.free_symbols <= analysed.parameters.keys() - analysed.declared_inputs.unnamed


def _inputs(analysed: Analysed) -> Iterator[Finding]:
    """Inputs without a declared shape, and those with dims that have neither size nor name."""
    places: list[str] = []
    for info in declared_types(analysed.loaded.model.graph, "input"):
        name, proto = info.name, info.type
        if name not in analysed.input_nodes or proto.WhichOneof("value") != "tensor_type":
            continue
        if not proto.tensor_type.HasField("shape"):
            text = "no shape is declared, so its rank is unknown"
            yield Finding.of("ABS207", f"input {name!r}", text)
        axes = [str(axis) for axis, dim in enumerate(proto.tensor_type.shape.dim) if reading.stated_dim(dim) is None]
        if axes:
            places.append(f"input {name!r}, {'axis' if len(axes) == 1 else 'axes'} {', '.join(axes)}")
    if places:
        first, *rest = places
        text = "neither a size nor a name is declared"
        yield Finding.of("ABS208", first, text, len(places), rest)


SECONDS: Final = LONG
"""Time limit of the contract."""


def findings(analysed: Analysed, seconds: float = SECONDS, *, run: bool = False) -> Sequence[Finding]:
    """All findings about an analysed model, the most severe first; the contract takes at most these seconds, and with
    `run` so do runs of a model whose rows are not proved to stay apart.

    Raises UsageError for the result of an unsound policy, whose claims may be false.
    """
    analysed.require_sound("lint")
    found = [*missing_weights(analysed), *diagnosed(analysed), *declared(analysed)]
    found += contracted(analysed, Limits(seconds, RLIMIT, MEMORY))
    found += batched(analysed, seconds, run=run)
    return in_order(found)
