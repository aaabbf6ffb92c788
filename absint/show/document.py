"""A result as JSON, with what was asked of it beside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, NamedTuple

from absint.diagnostics import Diagnostic, Severity
from absint.lattices.contents import Contents
from absint.lattices.text import forms
from absint.lattices.text.documents import Document
from absint.lattices.text.forms import DIM, SIZES, Key, Kind, Object, by_name, keys_of, many, maybe, one_of
from absint.lattices.text.naming import Names
from absint.lattices.value import BOTTOM, AnyTensor, MapOf, OptionalOf, SequenceOf, SparseTensor, Tensor, Value
from absint.program.lowered import Trusted
from absint.questions.explain.fresh import FreshSymbol
from absint.result import Result
from absint.shapes.inputs import InputElement
from absint.shapes.timings import Tally, Timings
from absint.show.summary import Change, Row, Totals, Traced, computed, totals
from absint.solution.naming import Claimed, about, names_of
from absint.solver.constraints import CONSTRAINT


@dataclass(frozen=True)
class _Report:
    """A result, and what was asked of it beside."""

    result: Result
    missing: Mapping[str, Sequence[str]]
    trace: Sequence[Traced]
    timings: Timings | None


# Values


def _is_whole(contents: Contents) -> bool:
    return contents.shape is not None


CONTENTS: Final = Object[Any](
    Key("shape", many(int), when=_is_whole),
    Key("elements", many(forms.ELEMENT), "row-major", when=_is_whole),
    Key("fill", forms.ELEMENT, "all elements are this one", lambda c: c.elements[0], lambda c: c.shape is None),
    name="contents",
)
_TRUTH: Final = Kind[object]({"type": ["boolean", "string"]}, lambda item, names: names.json(item))
_CASE: Final = Object[Any](
    Key("when", _TRUTH, of=lambda case: case[0]), Key("shape", many(DIM), of=lambda case: case[1].dims)
)
_OPEN: Final = Kind[AnyTensor](many(DIM).schema, lambda value, names: [*value.shape.listed(names.json, str)], (DIM,))


def _kind(name: str, *keys: Key[Any]) -> Object[Any]:
    return Object(Key("kind", one_of(*_KINDS), of=lambda value: name), *keys)


_KINDS: Final = ("tensor", "sparse_tensor", "sequence", "optional", "map", "unknown", "never computed")
_INNER: Final = Kind[Value]({"$ref": "#/$defs/value"}, lambda value, names: VALUE.write(value, names))
_ELEMENT_VALUE: Final = Key[Any]("element", _INNER)
_SHAPED: Final = (
    Key[AnyTensor]("dtype", str),
    Key[AnyTensor](
        "shape", maybe(many(DIM)), "null: the rank is unknown", lambda v: None if v.shape.rank is None else v.shape.dims
    ),
    Key[AnyTensor](
        "open_shape",
        _OPEN,
        "of unknown rank: the known sizes, and between them the name of the others, as `*X`",
        lambda value: value,
        lambda value: value.shape.variable is not None,
    ),
    Key[AnyTensor](
        "cases",
        many(_CASE),
        "of unknown rank: the shapes of which sizes choose one, each with the condition under which it is the one",
        lambda value: value.shape.cases,
        lambda value: value.shape.cases,
    ),
)
_VALUES: Final[Mapping[type, Object[Any]]] = {
    Tensor: _kind("tensor", *_SHAPED, Key("contents", CONTENTS, when=lambda value: value.contents is not None)),
    SparseTensor: _kind("sparse_tensor", *_SHAPED),
    SequenceOf: _kind("sequence", Key("length", DIM), _ELEMENT_VALUE),
    OptionalOf: _kind("optional", Key("present", maybe(bool)), _ELEMENT_VALUE),
    MapOf: _kind("map", Key("key", str), _ELEMENT_VALUE),
}
_UNKNOWN: Final = _kind("unknown")
_NEVER: Final = _kind("never computed")
VALUE: Final[Object[Any]] = forms.OneOf(
    (*_VALUES.values(), _UNKNOWN, _NEVER),
    lambda value: _VALUES.get(type(value)) or (_NEVER if value is BOTTOM else _UNKNOWN),
    name="value",
)
_INNER.parts = (VALUE,)


class _Port(NamedTuple):
    """An input or output."""

    name: str
    value: Value


def _value(row: _Port | Row | Change) -> Value:
    return row.value


_PORT: Final = Object[_Port](Key("name", str), VALUE.spread(_value))

# The document

_CAUSES: Final = (
    "`data`: the operator decides it by elements; `no rule`, `schema`: the operator has none, or only its schema; "
    "`call`: a folded call; `branch`, `loop`: an If or a loop; `declaration`: an input leaves it open; `open`: "
    "the rule knows no more"
)
_FRESH: Final = Object[FreshSymbol](
    *keys_of(
        FreshSymbol,
        name="as dims and elements have it",
        cause=_CAUSES,
        why="the cause in words",
        node="the node that introduces it",
        least="it is never less in a run; null: nothing is known",
        most="it is never more in a run; null: nothing is known",
    )
)
_ELEMENT: Final = Object[InputElement](
    Key("name", str),
    Key("input", str),
    Key("index", int, "row-major", lambda element: element.place),
    Key("dtype", str),
    Key("bounds", many(maybe(int)), "of the type; 0 and 1 for a truth", lambda element: element.symbol.bounds),
)
_TOTALS: Final = Object[Totals](
    Key("values", int),
    Key("values_of_unknown_rank", int, of=lambda found: found.unranked),
    Key("dims", int),
    Key("concrete", int),
    Key("expression", int),
    Key("unknown", int),
)
_DIAGNOSTIC: Final = Object[Diagnostic](
    Key("severity", one_of(Severity)),
    Key("code", str, "it does not change between versions"),
    Key("where", str, "the node, value or operator"),
    Key("message", str),
    Key("sizes", SIZES, "sizes that show it", lambda found: found.sizes or {}, lambda found: found.sizes is not None),
    Key("by", str, "the analysis of a user that reports it", when=lambda found: bool(found.by)),
    Key("data", by_name(forms.ANYTHING), "what that analysis gives with it", when=lambda found: found.data is not None),
)
_DECLARED: Final = Kind[Any](maybe(DIM).schema, lambda dim, names: None if dim.is_unknown else names.json(dim), (DIM,))
_TRUSTED: Final = Object[Trusted](
    Key("where", str, "the declaration in words of the model"),
    Key("shape", many(_DECLARED), "null: a dim in words of the author's own"),
)
_TRACED: Final = Object[Traced](
    Key("value", str, of=lambda history: history.place),
    Key("node", str),
    Key("changes", many(Object[Change](Key("visit", int), VALUE.spread(_value)))),
)
_TALLY: Final = Object[Tally](Key("runs", int, of=lambda tally: tally.count), Key("seconds", float))
_ROW: Final = Object[Row](
    Key("path", str), Key("name", str), Key("operator", str), Key("node", str), VALUE.spread(_value)
)
_TIMINGS: Final = Object[Timings](
    Key("seconds", by_name(float), of=lambda found: {name: tally.seconds for name, tally in found.phases.items()}),
    Key("visits", int),
    Key("rules_run", int, of=lambda found: found.applications),
    Key("remembered", float, "the share of visits that needed no rule"),
    Key("rules", by_name(_TALLY)),
)


_RESULT: Final = Object[Result](
    Key("can_run", bool, "false if some node must fail in every run"),
    Key("policy", Object(Key("name", str), Key("sound", bool), Key("summary", str)), "the unification policy"),
    Key("symbols", many(str), "the sizes of the inputs"),
    Key(
        "elements",
        many(_ELEMENT),
        "elements of small inputs that sizes depend on",
        lambda result: result.elements.values(),
    ),
    Key(
        "fresh_symbols",
        many(_FRESH),
        "symbols for numbers that have no expression over the symbols of the inputs, in order of appearance",
    ),
    Key("inputs", many(_PORT), of=lambda result: [_Port(name, result[name]) for name in result.inputs]),
    Key(
        "outputs",
        many(_PORT),
        of=lambda result: [_Port(n, result.values[n]) for n in result.outputs if n in result.values],
    ),
    Key("values", many(_ROW), "computed values, those of subgraphs too", computed),
    Key("totals", _TOTALS, of=totals),
    Key("operators_without_rule", by_name(int), "how many nodes have one", lambda result: result.unruled),
    Key("operators_inferred_by_schema", by_name(int), "how many nodes have one", lambda result: result.inferred),
    Key("diagnostics", many(_DIAGNOSTIC)),
    Key(
        "trusted",
        many(_TRUSTED),
        "with `--trust`: declarations that are taken on trust, since they say more than the analysis knows",
    ),
    Key(
        "assuming",
        many(CONSTRAINT),
        "numeric premises that claims rest on, and trusted dims",
        lambda result: result.premises,
    ),
    Object[Result](
        Key("label", str, "the unsound policy; left out for a sound one", lambda result: result.policy.label),
        Key("claims", many(Object[Claimed](*keys_of(Claimed))), "what an unsound policy takes for granted"),
    ).spread(lambda result: result, lambda result: not result.policy.sound),
)
ANALYZE: Final = Document[_Report](
    "analyze",
    2,
    "what an analysis found (absint analyze)",
    _RESULT.spread(attrgetter("result")),
    forms.Filled("missing", by_name(many(str)), "with `--require`: what is missing"),
    forms.Filled("trace", many(_TRACED), "with `--trace`: each visit that changes a value"),
    Key("timings", _TIMINGS, "with `--timings`", when=lambda report: report.timings is not None),
    lines=True,
)


def document(
    result: Result,
    missing: Mapping[str, Sequence[str]],
    traced: Sequence[Traced],
    timings: Timings | None = None,
    texts: Names | None = None,
) -> str:
    """The whole result. A dim is a number, a text, or a name in `definitions`. `texts` wrote what is `missing`."""
    return ANALYZE.text(_Report(result, missing, traced, timings), texts or names_of(result), about(result))
