"""The rows of a model: the axes of inputs that are followed, and what is found of each output."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from absint.analyses.independence import CLAIMS, COUNTED, SHARED, Along, Claims, Independence, strongest, text_of
from absint.analyses.independence.table import is_random, rule_of
from absint.engine import fixpoint
from absint.errors import UsageError
from absint.lattices.limits import Limits
from absint.lattices.terms.expr import ONE_EXPR, Dim, Expr, Symbol, sole_atom
from absint.lattices.text.escapes import did_you_mean
from absint.lattices.value import Tensor, tensors
from absint.packages import is_installed
from absint.program.nodes import Node
from absint.program.steps import Operand
from absint.questions.proofs.proof import drawn
from absint.questions.rows.evidence import InputAxis, Meeting, Witness
from absint.questions.sizes.contracts import symbol_facts
from absint.solution.analysed import Analysed

States = Sequence[tuple[Claims, ...]]


def is_called_batch(name: str, axes: Iterable[int]) -> bool:
    """The name of a size of these axes of inputs promises that it counts rows, a letter on first axes alone."""
    return _BATCH.fullmatch(name) is not None and (len(name) > 1 or (name in "NB" and not any(axes)))


def first_meeting(analysed: Analysed, analysis: Independence, states: States, output: str) -> Meeting | None:
    """The first node on the way to an output that loses what is claimed of its inputs; None if none does."""
    operand = analysed.operands[output]
    for keeps in (bool, _is_regular, _is_free):
        if not keeps(_of(operand, states)):
            number = _first(analysed.nodes, states, operand, keeps)
            reason = _reason(analysed, analysis, states, number, keeps)
            return Meeting(str(analysed.nodes[number]), reason, number)
    return None


def claims_of(analysed: Analysed, states: States) -> dict[str, Claims]:
    """What is claimed of each output."""
    return {name: _of(analysed.operands[name], states) for name in analysed.outputs if name in analysed.operands}


def _is_regular(claims: Claims) -> bool:
    """Some claim stands whatever places data give the rows."""
    return any(not isinstance(claim, Along) or not claim.is_owned for claim in claims)


def _is_free(claims: Claims) -> bool:
    return SHARED in claims or claims == CLAIMS.bottom or any(claim.is_free for claim in strongest(claims))


def _of(operand: Operand, states: States) -> Claims:
    state = states[operand[0]]
    return state[operand[1]] if operand[1] < len(state) else CLAIMS.bottom


def _first(nodes: Sequence[Node], states: States, output: Operand, keeps: Callable[[Claims], bool]) -> int:
    pending, seen, first = [output[0]], {output[0]}, []
    while pending:
        number = pending.pop()
        lost = {o[0] for o in nodes[number].operands if o[0] >= 0 and not keeps(_of(o, states))} - {number}
        if not lost:
            first.append(number)
        pending += lost - seen
        seen |= lost
    return min(first, default=min(seen))


def _reason(
    analysed: Analysed, analysis: Independence, states: States, number: int, keeps: Callable[[Claims], bool]
) -> str:
    node = analysed.nodes[number]
    if node.operation is None:
        if node.step is None:
            return "its rows are on no single axis"
        return "rows decide its condition or the number of its trips, or it joins values whose rows differ in place"
    known = [(at, o) for at, o in enumerate(node.operands) if o[0] >= 0]
    inputs: list[Claims | None] = [None if o[0] < 0 else _of(o, states) for o in node.operands]
    if is_random(analysis.seen(number, inputs)):
        return "its numbers are random"
    if keeps is _is_free:
        return "from here on rows depend on their number, or on how many there are"
    if keeps is _is_regular or rule_of(node.operation) is None:
        return _MIXERS.get(node.operation.op_type, "no rule says what it does with rows")
    texts = []
    for _, operand in known:
        claims = _of(operand, states)
        if SHARED not in claims:
            where = ", ".join(map(text_of, strongest(claims)[:1])) or "counts rows"
            texts.append(f"{_name(analysed, operand)} ({where})")
    return f"rows of {' and '.join(texts) or 'its inputs'} meet"


def _name(analysed: Analysed, operand: Operand) -> str:
    node = analysed.nodes[operand[0]]
    return node.outputs[operand[1]] if operand[1] < len(node.outputs) else str(node)


# The axes that are followed, and what is found of each output.


Verdict = Literal["independent", "by position", "shared", "mixes", "unknown"]

_SECONDS: Final = 10.0
"""For the greatest number of rows that is legal."""

QUANTISERS: Final = ("DynamicQuantizeLinear", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM")
"""Operators that round each row by the range of all."""
_FINDERS: Final = ("NonMaxSuppression", "NonZero", "Unique")
_MIXERS: Final[Mapping[str, str]] = {
    **dict.fromkeys(QUANTISERS, "it rounds each row by the range of all"),
    **dict.fromkeys(_FINDERS, "it lists what it finds in all rows one after the other"),
    "TopK": "data decide which row comes where",
    "Tokenizer": "it pads each row to the longest of all",
}
"""Why rows meet at these operators."""

_BATCH: Final = re.compile(r".*batch.*|bs|bsz|[NB]|BS", re.DOTALL | re.IGNORECASE)

_AXIS: Final = re.compile(r"(.*)\[\s*(-?[0-9]+)\s*\]\s*", re.DOTALL)


@dataclass(frozen=True)
class OutputRows:
    """What is found of the rows of an output.

    independent    row i is that of a run on row i alone
    by position    it also depends on its number, or on how many rows there are, but on no other row
    shared         it depends on no row
    mixes          a run shows two rows in one place
    unknown        none of these is shown
    """

    name: str
    verdict: Verdict
    axis: int | None = None
    """The axis of its rows; None if it has none."""
    outer: Dim = ONE_EXPR
    inner: Dim = ONE_EXPR
    """The axis is made of outer x rows x inner."""
    meeting: Meeting | None = None
    """The first node where rows meet; or where their numbers come in, of an output by position."""
    witness: Witness | None = None
    """The run that shows it, if rows mix."""

    @property
    def is_plain(self) -> bool:
        """Its rows are independent, and those of one axis as it is."""
        return self.verdict == "independent" and self.outer is self.inner is ONE_EXPR

    @property
    def where(self) -> str:
        """`axis 0 of rows x 3`; empty if the rows are on no axis."""
        if self.axis is None:
            return ""
        factors = [str(self.outer)] if self.outer is not ONE_EXPR else []
        factors += ["rows", *([str(self.inner)] if self.inner is not ONE_EXPR else [])]
        return f"axis {self.axis}" + (f" of {' x '.join(factors)}" if len(factors) > 1 else "")


@dataclass(frozen=True)
class Rows:
    """The answer: true if all outputs are independent or shared."""

    symbol: str
    """The size that counts the rows."""
    axes: tuple[InputAxis, ...]
    outputs: tuple[OutputRows, ...]
    shared: tuple[str, ...]
    """The inputs without rows, which must be equal among requests."""
    sizes: tuple[str, ...]
    """The other sizes of inputs with rows, which must be equal too."""
    others: tuple[Rows, ...] = ()
    """The same for rows that further symbols count."""

    def __bool__(self) -> bool:
        return all(output.verdict in ("independent", "shared") for output in self.outputs) and all(self.others)

    @property
    def mixes(self) -> bool:
        """A run shows two rows in one place."""
        return any(output.verdict == "mixes" for output in self.outputs) or any(one.mixes for one in self.others)


def rows(analysed: Analysed, axes: Sequence[str] = (), *others: Sequence[str], run: bool = True) -> Rows:
    """See `absint.Result.rows`."""
    analysed.require_sound("rows")
    symbols = [_given(analysed, each) for each in (axes, *others) if each] or [_default(analysed)]
    first, *rest = [rows_along(analysed, symbol, run=run) for symbol in dict.fromkeys(symbols)]
    return replace(first, others=tuple(rest))


def rows_along(analysed: Analysed, symbol: Symbol, *, run: bool = True, seconds: float | None = None) -> Rows:
    """The rows that a symbol counts; runs take at most these seconds."""
    followed = tuple(_followed(analysed, symbol))
    outputs = proved(analysed, symbol)
    open_ = [output.name for output in outputs if output.verdict == "unknown"]
    if open_ and run and is_installed("onnxruntime"):
        from absint.questions.rows.witness import witnesses

        random = drawn(analysed)  # what changes there is no witness
        shown = witnesses(analysed, symbol.name, followed, [name for name in open_ if name not in random], seconds)
        outputs = [
            replace(output, verdict="mixes", witness=shown[output.name]) if output.name in shown else output
            for output in outputs
        ]
    inputs = {place.input for place in followed}
    others = dict.fromkeys(
        str(dim) for name in analysed.inputs if name in inputs for dim in _dims(analysed, name) if symbol != _only(dim)
    )
    shared = tuple(name for name in analysed.inputs if name not in inputs)
    return Rows(symbol.name, followed, tuple(outputs), shared, tuple(others))


def proved(analysed: Analysed, symbol: Symbol) -> list[OutputRows]:
    """What is proved of the rows of each output, whose number is the symbol."""
    return _solved(analysed, symbol)[0]


def _solved(analysed: Analysed, symbol: Symbol) -> tuple[list[OutputRows], States]:
    """What is proved of outputs, and all claims."""
    analysis = Independence(analysed, symbol)
    states = fixpoint(analysed.program, analysis).states
    if not all(claims_of(analysed, states).values()) and _is_cut(analysed, symbol):
        # A size that is cut at a number is that of the rows, if no legal number of rows is greater.
        analysis = Independence(analysed, symbol, symbol_facts(analysed, symbol.name, Limits(_SECONDS)).hi)
        states = fixpoint(analysed.program, analysis).states
    found = [
        _output(name, claims, first_meeting(analysed, analysis, states, name))
        for name, claims in claims_of(analysed, states).items()
    ]
    return found, states


class RowPath(NamedTuple):
    """The way of the rows through a model."""

    symbol: str
    outputs: Sequence[OutputRows]
    nodes: Mapping[int, Literal["apart", "by position", "meet"]]
    """What the outputs of a node hold: rows, or rows that depend on their number; `meet` is where rows of an output
    meet first.
    """


def row_path(analysed: Analysed) -> RowPath | None:
    """The way of the rows that the default symbol counts; None if no size has a name."""
    try:
        symbol = _default(analysed)
    except UsageError:
        return None
    outputs, states = _solved(analysed, symbol)
    nodes: dict[int, Literal["apart", "by position", "meet"]] = {}
    for number, state in enumerate(states):
        claims = [one for each in state if each != CLAIMS.bottom and SHARED not in each for one in strongest(each)]
        if claims:
            nodes[number] = "apart" if all(one.is_free for one in claims) else "by position"
    for output in outputs:
        if output.meeting is not None and output.verdict == "unknown":
            nodes[output.meeting.number] = "meet"
    return RowPath(symbol.name, outputs, nodes)


def _is_cut(analysed: Analysed, symbol: Symbol) -> bool:
    """Some size is the number of rows or a number, whichever is less."""
    return any(
        atom.op == "min" and symbol in atom.inner
        for state in analysed.states
        for value in state
        for tensor in tensors(value)
        for dim in tensor.shape.open
        for atom in dim.atoms()
    )


def _output(name: str, claims: Claims, meeting: Meeting | None) -> OutputRows:
    if SHARED in claims or claims == CLAIMS.bottom:
        return OutputRows(name, "shared")
    best = next((claim for claim in strongest(claims) if not claim.is_owned), None)
    if best is not None:
        verdict: Verdict = "independent" if best.is_free else "by position"
        return OutputRows(name, verdict, best.axis, best.outer, best.inner, None if best.is_free else meeting)
    if COUNTED in claims:
        return OutputRows(name, "by position", meeting=meeting)
    return OutputRows(name, "unknown", meeting=meeting)


# The axes


def _dims(analysed: Analysed, name: str) -> Iterator[Expr]:
    """The dims of an input that are no numbers."""
    for tensor in tensors(analysed.states[analysed.input_nodes[name]][0]):
        yield from tensor.shape.open


def _only(dim: Dim) -> Symbol | None:
    found = sole_atom(dim) if isinstance(dim, Expr) else None
    return found if isinstance(found, Symbol) else None


def _followed(analysed: Analysed, symbol: Symbol) -> Iterator[InputAxis]:
    for name in analysed.inputs:
        value = analysed.states[analysed.input_nodes[name]][0]
        if isinstance(value, Tensor) and value.shape.rank is not None:
            yield from (InputAxis(name, at) for at, dim in enumerate(value.shape) if _only(dim) is symbol)


def _default(analysed: Analysed) -> Symbol:
    """The symbol that most inputs have; at a tie that of the first axis. Raises UsageError if there is none."""
    found: Counter[Symbol] = Counter()
    for name in analysed.inputs:
        found.update({symbol for dim in _dims(analysed, name) if (symbol := _only(dim)) is not None})
    if not found:
        raise UsageError(
            f"{analysed.origin}: no input has a size with a name, so the rows are on no axis that can grow; "
            "absint dynamize MODEL gives it one"
        )
    best = [symbol for symbol, count in found.items() if count == max(found.values())]
    dims = (_only(dim) for name in analysed.inputs for dim in _dims(analysed, name))
    return next(symbol for symbol in dims if symbol in best)


def _given(analysed: Analysed, axes: Sequence[str]) -> Symbol:
    """The symbol of the given axes. Raises UsageError for an axis that is none, or has no name of its own."""
    symbols = {text: _symbol_of(analysed, text) for text in axes}
    first, symbol = next(iter(symbols.items()))
    for text, other in symbols.items():
        if other is not symbol:
            raise UsageError(
                f"{first} is {symbol.name} and {text} is {other.name}: rows have one name in all inputs; "
                "--axis may be given for each name"
            )
    return symbol


def place_of(analysed: Analysed, text: str, option: str = "--axis") -> InputAxis:
    """An axis of an input, as `x[0]`. Raises UsageError if there is none."""
    match = _AXIS.fullmatch(text)
    if match is None:
        raise UsageError(f"{option} {text}: expected an input and its axis, as x[0]")
    name, axis = match[1].strip(), int(match[2])
    if name not in analysed.inputs:
        hint = did_you_mean(name, analysed.inputs) or f"the inputs are {', '.join(analysed.inputs)}"
        raise UsageError(f"{option} {text}: no input has this name; {hint}")
    value = analysed.states[analysed.input_nodes[name]][0]
    rank = value.shape.rank if isinstance(value, Tensor) else None
    if rank is None or not -rank <= axis < rank:
        shape = f", its shape is {value.shape}" if isinstance(value, Tensor) else ""
        raise UsageError(f"{option} {text}: {name} has no such axis{shape}")
    return InputAxis(name, axis % rank)


def _symbol_of(analysed: Analysed, text: str) -> Symbol:
    name, axis = place_of(analysed, text)
    value = analysed.states[analysed.input_nodes[name]][0]
    assert isinstance(value, Tensor)
    symbol = _only(value.shape[axis])
    if symbol is None:
        raise UsageError(
            f"--axis {text}: its size is {value.shape[axis]}, and rows are counted by a name; "
            "absint dynamize MODEL gives it one"
        )
    return symbol
