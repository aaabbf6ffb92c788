"""Checking a rule: apply it once to symbolic inputs, then compare every claim with real runs at many sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from absint.lattices import records
from absint.lattices.contents import MAX_ELEMENTS, Contents
from absint.lattices.dtype import DType
from absint.lattices.lattice import placed
from absint.lattices.logic.relation import YES
from absint.lattices.ramp import ramp
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import ONE_EXPR, UNKNOWN_DIM, UNKNOWN_SIZE, ZERO_EXPR, Dim, Expr
from absint.lattices.value import TOP, AnyTensor, Container, Tensor, Value
from absint.lattices.value_lattice import VALUES
from absint.model.initialisers import element_maker
from absint.shapes.readability import all_symbols
from absint.testing.cases import Arg, Array, Binding, Case, Runner, arrays_of, check_outputs, hole_free, runner_of
from absint.transfer.application import apply
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.rule import Rule, Table
from absint.transfer.semantics import EITHER, Semantics
from absint.transfer.stated import Applied, RuleError

if TYPE_CHECKING:
    from onnx.reference.op_run import OpRun

# Laws of every rule, whatever its operator; they need no run.

Inputs = Sequence[Value | None]


def check_behaviour(case: str, rule: Rule, applied: Applied, inputs: Inputs, again: Callable[[], Op]) -> None:
    """The rule gives the same answer twice, changes none of its inputs, and invents symbols by `op.fresh` only."""
    op = again()
    before = (tuple(op.inputs), repr(sorted(op.attributes.items())))
    second = apply(rule, op)
    if (tuple(op.inputs), repr(sorted(op.attributes.items()))) != before:
        raise AssertionError(f"{case}: {rule} changes its inputs or attributes: copy what is to be changed")
    if second != applied:
        raise AssertionError(f"{case}: {rule} says {second.outputs} after {applied.outputs}: it must not keep state")
    known = {s.name for value in inputs if value is not None for s in all_symbols(value)}
    relations = [*(s.relation for s in applied.statements), *(f.unless for f in applied.possible_failures)]
    stated = chain.from_iterable(relation.symbols for relation in relations)
    for symbol in chain(chain.from_iterable(map(all_symbols, applied.outputs)), stated):
        if symbol.name not in known and symbol.kind is not SymbolKind.HOLE:
            raise AssertionError(
                f"{case}: {rule} invents the symbol {symbol.name!r}, which every node would share: "
                f"use op.fresh({symbol.name!r})"
            )


def weaker(inputs: Inputs) -> Iterator[tuple[str, list[Value | None]]]:
    """The same inputs with less known: of each alone, then of all."""
    for index, value in enumerate(inputs):
        if isinstance(value, Tensor):
            for what, less in _weaker(value):
                changed = list(inputs)
                changed[index] = less
                yield f"{what} of input {index} unknown", changed
    if any(isinstance(value, Tensor) for value in inputs):
        yield "all ranks unknown", [Tensor(v.dtype) if isinstance(v, Tensor) else v for v in inputs]
        yield "all inputs unknown", [None if v is None else TOP for v in inputs]


def _weaker(value: Tensor) -> Iterator[tuple[str, Value]]:
    shape = value.shape
    if shape.rank is not None:
        dims = shape.dims
        bare = Tensor(value.dtype, shape)
        if value is not bare:
            yield "the elements", bare
        for axis in range(len(dims)):
            yield f"dim {axis}", Tensor(value.dtype, shape_of((*dims[:axis], UNKNOWN_SIZE, *dims[axis + 1 :])))
        if len(dims) > 1:
            yield "every dim", Tensor(value.dtype, shape_of((UNKNOWN_SIZE,) * len(dims)))
        yield "the rank", Tensor(value.dtype)
    yield "the type", Tensor(DType.UNDEFINED, shape, value.contents, value.ramps)


def check_weaker(case: str, what: str, applied: Applied, less: Applied) -> None:
    """An application that knew less does not reject what runs, and gives weaker answers."""
    if less.rejected is not None:
        raise AssertionError(f"{case} with {what}: rejected ({less.rejected}), but with more known it is not")
    for index, (value, other) in enumerate(zip(applied.outputs, less.outputs, strict=True)):
        lost = _lost(other, value)
        if lost:
            raise AssertionError(
                f"{case} with {what}: output {index} is {other}, but with more known only {value}: {hole_free(lost)}"
            )


def _lost(less: Value, value: Value) -> str:
    """The type, rank or dim of `less` that `value`, of an application that knew more, lacks, in words."""
    if isinstance(less, Container) and type(less) is type(value):
        assert isinstance(value, Container)
        return placed("each element", _lost(less.element, value.element))
    return VALUES.why_not_leq(value, _kept(less, value))


def _kept(less: Value, value: Value) -> Value:
    """Parts of `less` that must hold of `value` too.

    Two terms may differ: either operand of a broadcast is right in every run.
    """
    if not isinstance(less, AnyTensor) or type(less) is not type(value):
        return less
    assert isinstance(value, AnyTensor)
    shape = less.shape
    if shape.rank is None:
        shape = TOP_SHAPE
    elif shape.rank == value.shape.rank:
        pairs = zip(shape, value.shape, strict=True)
        shape = shape_of(tuple([dim if _is_more(dim, known) else UNKNOWN_DIM for dim, known in pairs]))
    return type(less)(less.dtype, shape)


def _is_more(less: Dim, dim: Dim) -> bool:
    if not isinstance(less, Expr) or _is_invented(less):
        return False
    return not isinstance(dim, Expr) or _is_invented(dim) or (less.const is not None and less is not dim)


def _is_invented(dim: Expr) -> bool:
    return any(symbol.kind is SymbolKind.HOLE for symbol in dim.symbols)


class Run(NamedTuple):
    """A run of a case that succeeded."""

    binding: Binding
    outputs: Sequence[object]
    seed: int = 0


def check_rule(
    rule: Rule,
    cases: Iterable[Case],
    *,
    reference: Callable[..., object] | None = None,
    kernels: Sequence[type[OpRun]] = (),
    run: Runner | None = None,
    seeds: int = 2,
) -> int:
    """Check a rule against real runs and the laws of every rule; the number of runs that succeeded.

    Cases run by `reference`, a function on arrays (attributes are keywords; an exception is a run that fails); by
    `kernels` for onnx.reference; by any function `run`; else in onnxruntime. Each binding runs with `seeds` different
    random data. Checked are

    - type, rank, dims, known elements and statements of every run that succeeds; - of a `complete` rule, that a
    requirement is false where a run fails; - the same with inputs whose elements are all known, alike, or growing along
    the axes; only a rule that declares `elements` may pass any on; - the same with less known inputs (a dim, a rank, a
    type or elements unknown), which must not make the rule fail or claim more; - that it gives the same answer twice,
    changes none of its inputs, and invents symbols by `op.fresh` only.

    Raises AssertionError for the first thing that is wrong; also if no binding of a case runs, which proves nothing.
    """
    runner = runner_of(reference, kernels, run)
    ran = [_check_case(rule, _fitting(rule, case), runner, seeds) for case in cases]
    if not ran:
        raise AssertionError(f"{rule}: no case, so nothing is checked")
    return sum(ran)


def _fitting(rule: Rule, case: Case) -> Case:
    """The case in the domain of the rule. Raises ValueError if it is for another operator or version."""
    if not case.domain:
        case = replace(case, domain=rule.domain)
    if case.op not in rule.names or case.domain != rule.domain or not rule.holds_for(case.opset):
        where = f"{case.domain}::{case.op}" if case.domain else case.op
        raise ValueError(f"a case of {where}, version {case.opset}, is not one of {rule}: check op, domain and opset")
    return case


def _check_case(rule: Rule, case: Case, runner: Runner, seeds: int) -> int:
    inputs = [None if arg is None else arg.value() for arg in case.inputs]
    applied = _applied(rule, case, inputs)
    check_behaviour(str(case), rule, applied, inputs, lambda: _op(rule, case, inputs))
    case.check_expected(applied)
    failures: list[str] = []
    runs = list(_runs(rule, case, applied, runner, range(seeds), failures))
    if not runs and applied.rejected is None:
        last = f"the last failure: {failures[-1]}" if failures else "it has none"
        raise AssertionError(f"{case}: no binding runs, so nothing is checked ({last})")
    for what, less in weaker(inputs):
        found = _applied(rule, case, less, what)
        if runs:
            check_weaker(str(case), what, applied, found)
        for run in runs:
            check_outputs(case, found, run.binding, run.outputs, f" with {what}")
    _check_elements(rule, case, runs, runner)
    return len(runs)


def _check_elements(rule: Rule, case: Case, runs: Sequence[Run], runner: Runner) -> None:
    """Apply the rule with known elements of its inputs: all, equal ones, or growing ones."""
    for binding, outputs, seed in runs:
        check_outputs(case, _with(rule, case, known(case, binding, seed), _KNOWN), binding, outputs, f" with {_KNOWN}")
        for what, changed, inputs in special(case, binding, seed):
            ran, _ = runner(changed, binding, seed)
            if ran is not None:
                check_outputs(case, _with(rule, changed, inputs, what), binding, ran, f" with {what}")


_KNOWN: Final = "all elements known"


def _with(rule: Rule, case: Case, inputs: Sequence[Value | None], what: str) -> Applied:
    """The rule applied to inputs with elements. Raises AssertionError if it passes on some without declaring it."""
    applied = _applied(rule, case, inputs, what)
    if (
        not rule.elements
        and _applied(records.changed(rule, elements=True), case, inputs, what).outputs != applied.outputs
    ):
        raise AssertionError(
            f"{case} with {what}: {rule} gives outputs with elements, which are dropped: return "
            f"Tensor(dtype, shape), or declare elements=True if they are those of the output"
        )
    return applied


def apply_case(case: Case, table: Table | None = None, semantics: Semantics = EITHER) -> Applied:
    """Apply the rule of a table, of the shipped one unless it is given, symbolically."""
    rule = _rule_of(case, table)
    inputs = [None if arg is None else arg.value() for arg in case.inputs]
    return apply(rule, _op(rule, case, inputs, semantics))


def run_case(case: Case, table: Table | None = None) -> int:
    """Check a case at every binding; the number of bindings that ran. Raises AssertionError for a wrong claim."""
    rule, applied = _rule_of(case, table), apply_case(case, table)
    case.check_expected(applied)
    runs = list(_runs(rule, case, applied, runner_of()))
    _check_elements(rule, case, runs, runner_of())
    return len(runs)


def _rule_of(case: Case, table: Table | None) -> Rule:
    rule = (table or shipped()).lookup(case.domain, case.op, case.opset)
    if rule is None:
        raise AssertionError(f"no rule for {case.domain or 'ai.onnx'}::{case.op}-{case.opset}")
    return rule


def _op(rule: Rule, case: Case, inputs: Sequence[Value | None], semantics: Semantics = EITHER) -> Op:
    return Op(rule, inputs, case.decoded(), version=case.opset, outputs=case.outputs, name=case.op, semantics=semantics)


def _applied(rule: Rule, case: Case, inputs: Sequence[Value | None], what: object = "") -> Applied:
    """The rule applied. Raises AssertionError, with the place, if it fails or reads an input or attribute that does not
    exist.
    """
    at = f" with {what}" if what else ""
    try:
        applied = apply(rule, _op(rule, case, inputs))
    except RuleError as error:
        raise AssertionError(f"{case}{at}: {error}") from error
    except Exception as error:
        raise AssertionError(f"{case}{at}: {rule.failure(error)}") from error
    return applied


def _runs(
    rule: Rule,
    case: Case,
    applied: Applied,
    runner: Runner,
    seeds: Iterable[int] | None = None,
    failures: list[str] | None = None,
) -> Iterator[Run]:
    """The runs that succeed, checked; failures are collected, and checked if the rule promises to state their
    reasons.
    """
    for number, binding in enumerate(case.bindings):
        for seed in seeds if seeds is not None else (number,):
            outputs, failure = runner(case, binding, seed)
            if outputs is not None:
                check_outputs(case, applied, binding, outputs)
                yield Run(binding, outputs, seed)
                continue
            if failures is not None:
                failures.append(failure)
            if rule.complete and not case.may_differ and not _explained(applied, binding):
                raise AssertionError(f"{case} at {dict(binding)}: fails ({failure}) but every requirement holds")


def _explained(applied: Applied, binding: Binding) -> bool:
    """Some requirement does not hold under the binding, or the rule says that the node may fail."""
    stated = [s.relation for s in applied.statements if s.role == "required"]
    stated += [failure.unless for failure in applied.possible_failures if not failure.at_load]
    return any(relation.at(binding) is not YES for relation in stated)


def known(case: Case, binding: Binding, seed: int) -> list[Value | None]:
    """The inputs of a run with all their elements."""
    return [
        None if arg is None or array is None else _known(DType(arg.dtype), array)
        for arg, array in zip(case.inputs, arrays_of(case, binding, seed), strict=True)
    ]


def _known(dtype: DType, array: Array) -> Tensor:
    shape = Shape(array.shape)
    if not _is_followed(dtype) or array.size > MAX_ELEMENTS:
        return Tensor(dtype, shape)
    return Tensor(dtype, shape, Contents.of(array.shape, map(element_maker(dtype), array.ravel().tolist())))


def _is_followed(dtype: DType) -> bool:
    return dtype.is_float or dtype.is_integer or dtype is DType.BOOL


def special(case: Case, binding: Binding, seed: int) -> Iterator[tuple[str, Case, Inputs]]:
    """Cases with special data, and the symbolic inputs that describe them: fills, and ramps."""
    arrays = arrays_of(case, binding, seed)
    for what, change in (("all elements of an input alike", _alike), ("growing elements", _growing)):
        changed = [None if arg is None else change(arg, array) for arg, array in zip(case.inputs, arrays, strict=True)]
        if any(item is not None for item in changed):
            args = [new[0] if new else arg for arg, new in zip(case.inputs, changed, strict=True)]
            values = [
                new[1] if new else None if arg is None else arg.value()
                for arg, new in zip(case.inputs, changed, strict=True)
            ]
            yield what, replace(case, inputs=args, expect=None, contents=None), values


def _alike(arg: Arg, array: Array | None) -> tuple[Arg, Tensor] | None:
    """Every element is the first one."""
    if array is None or arg.elements is not None or arg.ramp is not None or not _is_followed(DType(arg.dtype)):
        return None
    first = array.ravel()[0] if array.size else array.dtype.type(0)
    plain = arg.value()
    value = Tensor(plain.dtype, plain.shape, Contents.fill(element_maker(plain.dtype)(first.item())))

    def data(shape: tuple[int, ...], rng: np.random.Generator) -> npt.ArrayLike:
        return np.full(shape, first)

    return replace(arg, data=data), value


def _growing(arg: Arg, array: Array | None) -> tuple[Arg, Tensor] | None:
    """Every element is the sum of its coordinates."""
    dtype, plain = DType(arg.dtype), arg.value()
    if array is None or arg.elements is not None or arg.ramp is not None or dtype not in _INDICES:
        return None
    if plain.shape.rank is None or not array.size:
        return None

    def data(shape: tuple[int, ...], rng: np.random.Generator) -> npt.ArrayLike:
        return np.asarray(sum(np.indices(shape))) if shape else np.zeros(())

    value = Tensor(dtype, plain.shape, ramps=ramp(ZERO_EXPR, [ONE_EXPR] * array.ndim))
    return replace(arg, data=data), value


_INDICES = (DType.INT32, DType.INT64)
