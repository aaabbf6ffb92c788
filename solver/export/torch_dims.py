"""Constraints over inputs as the `dynamic_shapes` of torch.export. Nothing here imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from absint.lattices.logic.facts import Facts
from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, YES, Relation, divisible, eq, ge, le
from absint.lattices.logic.solving import Linear
from absint.lattices.terms.expr import MAX_DIM, Dim, Expr, Symbol, expr_of
from absint.lattices.terms.normal import substitute
from absint.solver.constraints import Constraint, ConstraintSet
from absint.solver.export.python_text import escaped, excerpt, local_names
from absint.solver.export.records import ExportError

_HEADER = """
# Written by absint from a model: what its constraints say of the inputs, in the terms of torch.export.
# The keys are the names of the model's inputs; torch expects those of the parameters of forward().
from torch.export import Dim
"""

_NO_SIZES: Final = "no sizes of the inputs meet the constraints, so there is nothing to export"


class _Root(NamedTuple):
    """A symbol as modulus * k + rest. Its Dim is k, which is the symbol itself if the modulus is 1."""

    name: str
    modulus: int
    rest: int
    least: int
    most: int | None

    def text(self, line: Linear) -> str:
        """The source of a line over this symbol."""
        scale, shift = self.over_k(line)
        if self.least == self.most:
            return str(scale * self.least + shift)
        sign = "" if not shift else f" - {-shift}" if shift < 0 else f" + {shift}"
        return f"{f'{scale}*' if scale > 1 else ''}{self.name}{sign}"

    def over_k(self, line: Linear) -> tuple[int, int]:
        return line.scale * self.modulus, line.scale * self.rest + line.shift


_Roots = Mapping[Symbol, _Root]
_Shapes = Mapping[str, Sequence[Dim] | None]


def to_torch(constraints: ConstraintSet, inputs: Mapping[str, Sequence[Dim] | None]) -> str:
    """Python source of a `dynamic_shapes` dict for torch.export, with its `Dim` objects.

    Ranges, fixed sizes, multiples, and dims derived from one symbol (`2*Dim + 1`) are written as torch writes them; a
    dim that torch cannot derive is `Dim.AUTO`. Constraints over the inputs that torch cannot express are comments.
    Raises ExportError if no sizes meet the constraints.
    """
    constraints = constraints.without_premises()
    over_inputs = constraints.over_inputs().distinct
    formulas = [formula for formula in over_inputs if formula is not TRUE and formula is not UNKNOWN_RELATION]
    facts = Facts(formulas, constraints.symbols)
    if facts.contradiction:
        raise ExportError(_NO_SIZES)
    shapes = {name: None if dims is None else [_solved(dim, facts) for dim in dims] for name, dims in inputs.items()}
    if any(dim.is_concrete and int(dim) < 0 for dims in shapes.values() for dim in dims or ()):
        raise ExportError(_NO_SIZES)
    lines = [line for dims in shapes.values() for dim in dims or () if (line := _line(dim)) is not None]
    roots = _roots(facts, lines, constraints.symbols)
    said = Facts(_said(inputs, shapes, roots, formulas))
    unsaid = {formula: over_inputs[formula] for formula in formulas if said.decide(formula) is not YES}
    source = [
        _HEADER.strip(),
        "",
        *(_definition(root) for root in roots.values() if root.least != root.most),
        "dynamic_shapes = {",
        *(_entry(name, dims, roots) for name, dims in shapes.items()),
        "}",
        *_remarks(unsaid, len(constraints.distinct) - len(over_inputs)),
    ]
    return "\n".join(source) + "\n"


def _solved(dim: Dim, facts: Facts) -> Dim:
    """The dim under the facts, unless torch can derive it only without them."""
    solved = facts.simplify(dim)
    return solved if solved.is_concrete or _line(solved) is not None or _line(dim) is None else dim


def _line(dim: Dim) -> Linear | None:
    """The only form that torch can derive from a Dim, with a scale of at least 1."""
    line = Linear.of(dim) if isinstance(dim, Expr) else None
    return line if line is not None and line.scale >= 1 else None


def _roots(facts: Facts, lines: Sequence[Linear], order: Sequence[str]) -> dict[Symbol, _Root]:
    names = local_names([*order, *(line.symbol.name for line in lines)], taken=("dynamic_shapes",))
    roots: dict[Symbol, _Root] = {}
    for symbol in dict.fromkeys(line.symbol for line in lines):
        congruence = facts.congruence(expr_of(symbol))
        modulus = max(congruence.modulus, 1)
        root = _Root(names[symbol.name], modulus, congruence.remainder % modulus, 0, None)
        uses = [root.over_k(line) for line in lines if line.symbol is symbol]
        lo, hi = symbol.bounds
        least = max(0, *(-(shift // scale) for scale, shift in uses), -((root.rest - (lo or 0)) // modulus))
        # A Dim in a difference needs a greatest value: torch 2.13 fails without one.
        bounded = (hi is not None and hi < MAX_DIM) or any(shift < 0 for _, shift in uses)
        most = (min(MAX_DIM, MAX_DIM if hi is None else hi) - root.rest) // modulus if bounded else None
        if most is not None and most < least:
            raise ExportError(_NO_SIZES)
        # torch gives the name of a Dim that others are derived from to SymPy, where many names have a meaning.
        name = root.name if set(uses) == {(1, 0)} else f"_{root.name}"
        roots[symbol] = root._replace(name=name, least=least, most=most)
    return roots


def _said(inputs: _Shapes, shapes: _Shapes, roots: _Roots, formulas: Sequence[Relation]) -> Iterator[Relation]:
    """The relations that the source expresses."""
    dims = [dim for shape in inputs.values() for dim in shape or () if isinstance(dim, Expr)]
    symbols = [s for dim in dims for s in dim.symbols] + [s for formula in formulas for s in formula.symbols]
    given = {s.name: s for s in symbols}
    original = {symbol: expr_of(given.get(symbol.name, symbol)) for symbol in roots}
    for symbol, root in roots.items():
        value = original[symbol]
        yield ge(value, root.modulus * root.least + root.rest)
        if root.most is not None:
            yield le(value, root.modulus * root.most + root.rest)
        if root.modulus > 1:
            yield divisible(value - root.rest, root.modulus)
    for name, shape in inputs.items():
        for dim, solved in zip(shape or (), shapes[name] or (), strict=True):
            if isinstance(solved, Expr) and (solved.is_concrete or _line(solved) is not None):
                yield eq(dim, substitute(solved, original))


def _definition(root: _Root) -> str:
    least = f", min={root.least}" if root.least else ""
    most = "" if root.most is None else f", max={root.most}"
    return f'{root.name} = Dim("{root.name}"{least}{most})'


def _entry(name: str, dims: Sequence[Dim] | None, roots: _Roots) -> str:
    if dims is None:
        return f"    {name!a}: None,  # its rank is not known"
    axes, remarks = [], []
    for axis, dim in enumerate(dims):
        line = _line(dim)
        if line is None and not dim.is_concrete:
            remarks.append(f"axis {axis} is {excerpt(str(dim))}")
        derived = "Dim.AUTO" if line is None else roots[line.symbol].text(line)
        axes.append(f"{axis}: {dim if dim.is_concrete else derived}")
    remark = f"  # {escaped('; '.join(remarks))}" if remarks else ""
    return f"    {name!a}: {{{', '.join(axes)}}},{remark}"


def _remarks(unsaid: Mapping[Relation, Sequence[Constraint]], invented: int) -> list[str]:
    lines = []
    if unsaid:
        lines.append("What torch cannot say of the inputs:")
        for formula, (first, *_) in unsaid.items():
            lines.append(f"  {excerpt(str(formula))}  ({excerpt(f'{first.origin}: {first.reason}')})")
    if invented:
        lines.append(f"Left out: {invented} constraint{'s' * (invented > 1)} over sizes that the model computes.")
    return [f"# {escaped(line)}" for line in lines]
