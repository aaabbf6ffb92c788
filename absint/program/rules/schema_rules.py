"""The last resort for an operator without a rule: the inference function of its onnx schema.

Such a function is unchecked code for sizes that are numbers or names: it takes equal names for equal sizes, and may
read a named size as 0. So it is called many times, and few of its answers are kept.

It is called with a separate name for each different term among the dims, twice under different names; then with
numbers, at several choices of sizes for the symbols (0, 1, small, large, equal, multiples) and of unknown ranks. Kept
are the type, the rank, and the dims that are a number or one of the given names, if every choice of numbers that it
does not refuse says the same and at least two do. They hold at all tried sizes if the function is right about numbers;
for all other sizes they are an extrapolation. Claims about dims are stated as such, one `defined` relation each, whose
reason names the schema, and are in the core of every proof that uses them.

It is not called if an input is not a tensor, or of unknown type, or if an attribute is a graph or a large tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Final, NamedTuple

import onnx
from onnx import AttributeProto, NodeProto, TensorProto, TypeProto, helper
from onnx.shape_inference import infer_node_outputs

from absint.lattices.contents import MAX_ELEMENTS
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import eq
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import Dim, Expr, Symbol, const, expr_of
from absint.lattices.value import TOP, Tensor, Value
from absint.model import schemas
from absint.model.initialisers import dtype_of
from absint.model.wire.graphs import AttributeMessage
from absint.transfer.op import Op
from absint.transfer.rule import Rule

_RANKS: Final = [*((rank,) for rank in range(5)), *(tuple((rank + k) % 5 for k in range(5)) for rank in range(5))]
"""Ranks to try for unknown ones, input by input: equal ones, then different ones."""

_CHOICES: Final = (
    (2, 3, 5, 7, 11, 13, 17, 19),
    (19, 17, 13, 11, 7, 5, 3, 2),
    (1009, 2003, 4001, 8009, 16001, 32003),
    (64, 128, 192, 256),
    (8, 4, 2, 1),
    (0,),
    (1,),
    (6,),
    (768,),
)
"""Sizes of the symbols, in order and around again."""


def schema_rule(domain: str, name: str, version: int, attributes: Sequence[AttributeMessage]) -> Rule | None:
    """The rule that the schema in force gives for an operator with these attributes, if it infers anything."""
    known = schemas.schema(domain, name, version)
    found = None if known is None else onnx.defs.get_schema(name, known.since, domain)
    if found is None or not found.has_type_and_shape_inference_function or not all(map(_is_small, attributes)):
        return None
    asked = _Schema(found, version, tuple(attributes))
    return Rule(
        asked.apply,
        (name,),
        domain,
        version,
        version,
        tuple(_formals(found.inputs)),
        tuple(_formals(found.outputs)),
        complete=False,
        origin=f"the onnx schema of {f'{domain}::{name}' if domain else name}",
        inferred=True,
    )


def _formals(formals: Iterable[onnx.defs.OpSchema.FormalParameter]) -> Iterator[str]:
    for formal in formals:
        is_open = formal.option == onnx.defs.OpSchema.FormalParameterOption.Variadic
        yield f"{formal.name}*" if is_open else formal.name


def _is_small(attribute: AttributeMessage) -> bool:
    """The attribute is small: equal operator instances share one rule, and only small attributes are compared."""
    if attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
        return False
    return attribute.type != int(AttributeProto.TENSOR) or prod(attribute.t.dims) <= MAX_ELEMENTS


class _Output(NamedTuple):
    """The function's answer for an output: a number, a given name or None for each dim."""

    dtype: DType
    dims: tuple[int | str | None, ...] | None


class _Choice:
    """Names or numbers that stand for the sizes of the inputs, and ranks for unknown ones."""

    def __init__(
        self, inputs: Sequence[Tensor | None], sizes: Mapping[Expr, int] | Mapping[Expr, str], ranks: Sequence[int] = ()
    ) -> None:
        self._sizes = sizes
        self.shapes = [None if v is None else self._shape(v.shape, k, ranks) for k, v in enumerate(inputs)]

    def _shape(self, shape: Shape, index: int, ranks: Sequence[int]) -> list[int | str] | None:
        if shape.rank is None:
            return [3] * ranks[index % len(ranks)] if ranks else None
        return [self._size(dim) for dim in shape]

    def _size(self, dim: Dim) -> int | str:
        assert isinstance(dim, Expr)
        return dim.const if dim.const is not None else self._sizes[dim]


class _Schema:
    """One operator instance, for the inference function of its schema."""

    def __init__(self, schema: onnx.defs.OpSchema, version: int, attributes: Sequence[AttributeMessage]) -> None:
        self._schema = schema
        self._attributes = attributes
        self._imports = [helper.make_opsetid(schema.domain, version)]
        if schema.domain:
            self._imports.append(helper.make_opsetid("", schemas.NEWEST))

    def apply(self, op: Op) -> list[Value]:
        """The answers of the schema's inference function that agree at several sizes."""
        op.may_fail("its onnx schema does not say what the operator needs")
        inputs = [v if isinstance(v, Tensor) else None for v in op.inputs]
        if any(v is not None and not isinstance(v, Tensor) for v in op.inputs) or not all(map(_is_typed, inputs)):
            return [TOP] * op.outputs
        try:
            return self._checked(op, [None if v is None else _named_dims(k, v) for k, v in enumerate(inputs)])
        except Exception as error:  # from the function, which may be anybody's
            text = str(error).strip().split("\n")[0]
            op.note(f"the inference function of its onnx schema failed ({type(error).__name__}: {text})")
            return [TOP] * op.outputs

    def _checked(self, op: Op, inputs: Sequence[Tensor | None]) -> list[Value]:
        dims = (d for v in inputs if v is not None and v.shape.rank for d in v.shape)
        terms = list(dict.fromkeys(d for d in dims if isinstance(d, Expr) and d.const is None))
        names = {f"absint_{k}": term for k, term in enumerate(terms)}
        said = self._named(op, inputs, names)
        if not terms and _ranked(inputs):
            return [self._value(op, index, output, {}) for index, output in enumerate(said)]
        swapped = {f"other_{len(terms) - k}": term for k, term in enumerate(terms)}
        again = self._named(op, inputs, swapped)
        runs = list(self._runs(op, inputs, terms))
        values = []
        for index, (output, second) in enumerate(zip(said, again, strict=True)):
            agreed = _agreed(output, names, second, swapped)
            values.append(self._value(op, index, _confirmed(agreed, index, names, runs), names))
        return values

    def _named(self, op: Op, inputs: Sequence[Tensor | None], names: Mapping[str, Expr]) -> list[_Output | None]:
        return self._ask(op, inputs, _Choice(inputs, {term: name for name, term in names.items()}))

    def _runs(
        self, op: Op, inputs: Sequence[Tensor | None], terms: Sequence[Expr]
    ) -> Iterator[tuple[Mapping[Expr, int], list[_Output | None]]]:
        """The answers to numbers, with the values of the terms in each."""
        for sizes in _sizes(terms):
            for ranks in [()] if _ranked(inputs) else _RANKS:
                try:
                    yield sizes, self._ask(op, inputs, _Choice(inputs, sizes, ranks))
                except Exception:  # these sizes are refused, or the function cannot cope with them
                    continue

    def _ask(self, op: Op, inputs: Sequence[Tensor | None], choice: _Choice) -> list[_Output | None]:
        names = ["" if value is None else f"x{k}" for k, value in enumerate(inputs)]
        outputs = [f"y{k}" for k in range(op.outputs)]
        node = NodeProto(op_type=self._schema.name, domain=self._schema.domain, input=names, output=outputs)
        node.attribute.extend(AttributeProto.FromString(a.SerializeToString()) for a in self._attributes)
        types, data = {}, {}
        for name, value, shape in zip(names, inputs, choice.shapes, strict=True):
            if value is not None:
                types[name] = helper.make_tensor_type_proto(int(value.dtype), shape)
                constant = _constant(name, value)
                if constant is not None:
                    data[name] = constant
        found = infer_node_outputs(self._schema, node, types, data, opset_imports=self._imports)
        return [_read(found.get(name)) for name in outputs]

    def _value(self, op: Op, index: int, output: _Output | None, names: Mapping[str, Expr]) -> Value:
        if output is None:
            return TOP
        if output.dims is None:
            return Tensor(output.dtype)
        reason = f"{op.rule.origin} says so, which absint does not check"
        dims = []
        for axis, said in enumerate(output.dims):
            size = op.fresh(f"{index}.{axis}")
            claim = names.get(said) if isinstance(said, str) else None if said is None else const(said)
            if claim is not None and not any(s.kind is SymbolKind.PLACEHOLDER for s in claim.symbols):
                op.define(eq(size, claim), reason)
            dims.append(size)
        return Tensor(output.dtype, shape_of(tuple(dims)))


def _named_dims(index: int, value: Tensor) -> Tensor:
    """The input with a symbol for each unknown dim: two of them need not be equal."""
    if value.shape.rank is None or all(isinstance(dim, Expr) for dim in value.shape):
        return value
    dims = (
        d if isinstance(d, Expr) else expr_of(Symbol.placeholder(f"unknown:{index}.{axis}", *d.bounds))
        for axis, d in enumerate(value.shape)
    )
    return Tensor(value.dtype, shape_of(tuple(dims)), value.contents)


def _ranked(inputs: Sequence[Tensor | None]) -> bool:
    return all(v is None or v.shape.rank is not None for v in inputs)


def _is_typed(value: Tensor | None) -> bool:
    return value is None or value.dtype is not DType.UNDEFINED


def _constant(name: str, value: Tensor) -> TensorProto | None:
    """The elements of a small integer tensor that are all known."""
    if value.contents is None or value.contents.is_fill or value.dtype not in (DType.INT32, DType.INT64):
        return None
    numbers = [e.const for e in value.contents.elements if isinstance(e, Expr) and e.const is not None]
    if len(numbers) < len(value.contents.elements):
        return None
    return helper.make_tensor(name, int(value.dtype), value.contents.shape or (), numbers)


def _read(proto: TypeProto | None) -> _Output | None:
    if proto is None or proto.WhichOneof("value") != "tensor_type":
        return None
    kind = proto.tensor_type
    dims: list[int | str | None] = []
    for dim in kind.shape.dim:
        which = dim.WhichOneof("value")
        is_size = which == "dim_value" and dim.dim_value >= 0
        dims.append(dim.dim_value if is_size else dim.dim_param if which == "dim_param" else None)
    return _Output(dtype_of(kind.elem_type), tuple(dims) if kind.HasField("shape") else None)


def _agreed(
    output: _Output | None, names: Mapping[str, Expr], second: _Output | None, others: Mapping[str, Expr]
) -> _Output | None:
    """The answers that hold under both namings of the terms; names that were not given do not count."""
    if output is None or second is None:
        return None
    dtype = output.dtype if output.dtype is second.dtype else DType.UNDEFINED
    if output.dims is None or second.dims is None or len(output.dims) != len(second.dims):
        return _Output(dtype, None)
    pairs = zip(output.dims, second.dims, strict=True)
    return _Output(dtype, tuple(a if _term(a, names) == _term(b, others) else None for a, b in pairs))


def _term(said: int | str | None, names: Mapping[str, Expr]) -> int | Expr | None:
    return names.get(said) if isinstance(said, str) else said


def _confirmed(
    output: _Output | None,
    index: int,
    names: Mapping[str, Expr],
    runs: Sequence[tuple[Mapping[Expr, int], Sequence[_Output | None]]],
) -> _Output | None:
    """The answer that no choice of numbers contradicts and at least two confirm."""
    seen = [(sizes, found) for sizes, outputs in runs if (found := outputs[index]) is not None]
    if output is None or len(seen) < len(runs) or len(seen) < 2:
        return None
    dtype = output.dtype if all(found.dtype is output.dtype for _, found in seen) else DType.UNDEFINED
    ranks = {None if found.dims is None else len(found.dims) for _, found in seen}
    if output.dims is None or ranks != {len(output.dims)}:
        return _Output(dtype, None)
    dims: list[int | str | None] = []
    for axis, said in enumerate(output.dims):
        told = [(_number(said, names, sizes), found.dims[axis]) for sizes, found in seen if found.dims is not None]
        holds = said is not None and all(expected is not None and expected == actual for expected, actual in told)
        varies = isinstance(said, int) or len({expected for expected, _ in told}) > 1
        dims.append(said if holds and varies else None)
    return _Output(dtype, tuple(dims))


def _number(said: int | str | None, names: Mapping[str, Expr], sizes: Mapping[Expr, int]) -> int | None:
    if isinstance(said, str):
        return sizes.get(names[said]) if said in names else None
    return said


def _sizes(terms: Sequence[Expr]) -> Iterator[dict[Expr, int]]:
    """Sizes of the terms at several choices for their symbols."""
    symbols = sorted({symbol for term in terms for symbol in term.symbols}, key=lambda symbol: symbol.name)
    for choice in _CHOICES:
        binding = {s.name: _within(s, choice[k % len(choice)]) for k, s in enumerate(symbols)}
        sizes = {term: size for term in terms if (size := term.at(binding)) is not None}
        if len(sizes) == len(terms):
            yield sizes


def _within(symbol: Symbol, size: int) -> int:
    lo, hi = symbol.bounds
    return max(size if hi is None else min(size, hi), lo or 0)
