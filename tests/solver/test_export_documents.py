"""JSON and metadata: what is written reads back as the same set, and a bad document is one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation, boolean, eq, ge
from absint.lattices.terms.expr import UNKNOWN_DIM, Dim, Expr, Symbol, expr_of, integer_symbol, symbol
from absint.lattices.terms.normal import maximum
from absint.lattices.text import parse, parse_relation
from absint.solver.constraints import Constraint, ConstraintSet, PossibleFailure
from absint.solver.export import (
    ExportError,
    dim_data,
    from_json,
    from_metadata,
    from_smtlib,
    json_schema,
    relation_data,
    to_json,
    to_metadata,
    to_smtlib,
)
from absint.solver.export.script import MAX_DEPTH
from tests.effort import examples
from tests.lattices.test_expr_fuzz import FIXED
from tests.solver.constraint_sets import ATTENTION, NODE, constraint, formulas, hostile_set, sets

SCHEMA = jsonschema.Draft202012Validator(json_schema())


def one(relation: Relation, guard: Relation = TRUE, symbols: tuple[str, ...] = ()) -> ConstraintSet:
    return ConstraintSet([Constraint(relation, guard, NODE, "required", "because")], symbols=symbols)


# Reading back


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@settings(max_examples=examples(15), deadline=None)
@given(sets)
def test_what_is_written_reads_back(found: ConstraintSet) -> None:
    text = to_json(found)
    SCHEMA.validate(json.loads(text))
    assert from_json(text) == found
    assert to_json(from_json(text)) == text
    properties = to_metadata(found)
    assert from_metadata(properties) == found
    assert all(key.startswith("absint.") and value.isascii() for key, value in properties.items())


@pytest.mark.parametrize(
    "found",
    [
        ConstraintSet(),
        ATTENTION,
        hostile_set(),
        one(ge(integer_symbol("offset"), -3)),
        one(ge(integer_symbol("I", -5, 9) + integer_symbol("K", None, 0), -7)),
        one(eq(expr_of(Symbol("flag", 0, 1)) + symbol("N"), 3), boolean("flag")),
        one(parse_relation("N // M == 2**500 and N**3 >= 9007199254740993")),
        one(UNKNOWN_RELATION, UNKNOWN_RELATION),
        ConstraintSet(symbols=("only", "inputs")),
        ConstraintSet(possible_failures=[PossibleFailure(NODE, boolean("flag"), "by data")]),
    ],
    ids=repr,
)
def test_sets_that_are_special(found: ConstraintSet) -> None:
    text = to_json(found)
    assert text.isascii()
    SCHEMA.validate(json.loads(text))
    assert from_json(text) == found
    assert from_metadata(to_metadata(found)) == found


def test_other_properties_are_left_alone() -> None:
    properties = {"author": "someone", **to_metadata(ATTENTION), "absint.version": "9"}
    assert from_metadata(properties) == ATTENTION


# Trees


def broadcast(sizes: list[int]) -> int:
    """The size that is not 1, else 1."""
    others = {size for size in sizes if size != 1}
    if len(others) > 1:
        raise ArithmeticError("sizes that do not broadcast")
    return others.pop() if others else 1


def interpret(tree: Any, binding: dict[str, int]) -> Any:
    """A document as a consumer without a parser writes it."""
    if isinstance(tree, int):
        return tree
    op = tree["op"]
    if op == "symbol":
        return binding[tree["name"]]
    if op == "integer":
        return int(tree["digits"])
    if op in ("true", "false"):
        return op == "true"
    if op == "ite":
        return interpret(tree["args"][1 if interpret(tree["args"][0], binding) else 2], binding)
    args = [interpret(arg, binding) for arg in tree["args"]]
    if op == "*":
        result = 1
        for arg in args:
            result *= arg
        return result
    return {
        "+": sum,
        "//": lambda x: x[0] // x[1],
        "truncdiv": lambda x: abs(x[0]) // abs(x[1]) * (1 if (x[0] >= 0) == (x[1] >= 0) else -1),
        "divided": lambda x: x[0] // x[1] ** min(max(x[2], 0), 400),
        "max": max,
        "min": min,
        "broadcast": broadcast,
        "==": lambda x: x[0] == x[1],
        "!=": lambda x: x[0] != x[1],
        ">=": lambda x: x[0] >= x[1],
        "and": all,
        "or": any,
    }[op](args)


@settings(max_examples=examples(150), deadline=None)
@given(formulas)
def test_a_tree_means_what_the_relation_means(relation: Relation) -> None:
    data = relation_data(relation)
    if relation is UNKNOWN_RELATION:
        assert data == {"text": "?", "tree": {"op": "unknown"}}
        return
    for binding in FIXED:
        try:
            value = interpret(data["tree"], binding)
        except ArithmeticError:
            continue
        assert value is relation.evaluate(binding)


def test_a_dim_as_data() -> None:
    data = dim_data(parse("2*floor(seq/2) + 1"))
    assert data == {
        "text": "2*(seq//2) + 1",
        "tree": {
            "op": "+",
            "args": [{"op": "*", "args": [2, {"op": "//", "args": [{"op": "symbol", "name": "seq"}, 2]}]}, 1],
        },
    }
    assert dim_data(UNKNOWN_DIM) == {"text": "?", "tree": None}
    assert dim_data(parse("2**60")) == {"text": str(2**60), "tree": {"op": "integer", "digits": str(2**60)}}
    dim_schema = SCHEMA.evolve(schema={"$ref": "#/$defs/dim", "$defs": json_schema()["$defs"]})
    for dim in (
        parse("2*floor(seq/2) + 1"),
        parse("-2**60"),
        parse("ite(N >= 1, broadcast(N, M), divided(N, 2, M))"),
        UNKNOWN_DIM,
    ):
        dim_schema.validate(dim_data(dim))
    assert not dim_schema.is_valid({"text": "N", "tree": {"op": "and", "args": []}})


def nested(levels: int) -> Dim:
    dim: Dim = symbol("N")
    for level in range(levels):
        dim = maximum(dim * symbol("M"), symbol("K") * (level + 2))
    return dim


def test_a_tree_that_is_too_deep_is_left_out() -> None:
    depths = {}
    for levels in range(2, 40):
        relation = ge(nested(levels), 2)
        tree = relation_data(relation)["tree"]
        depths[levels] = tree is not None
        found = one(relation)
        text = to_json(found)
        SCHEMA.validate(json.loads(text))
        assert from_json(text) == found
    assert depths[2]
    assert not depths[39]
    assert list(depths.values()) == sorted(depths.values(), reverse=True)
    assert MAX_DEPTH // 3 <= sum(depths.values()) <= MAX_DEPTH


# What cannot be written


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        (one(ge(symbol("%7:out"), 2)), "internal symbol '%7:out' has no text"),
        (ConstraintSet(symbols=("%7:out",)), "internal symbol '%7:out' has no text"),
    ],
)
def test_sets_without_a_text(found: ConstraintSet, complaint: str) -> None:
    for write in (to_json, to_metadata):
        with pytest.raises(ExportError, match=complaint) as error:
            write(found)
        assert len(str(error.value).splitlines()) == 1


def test_symbols_of_one_name_are_one() -> None:
    found = ConstraintSet(one(eq(symbol("N"), integer_symbol("N", 1, 9) * 2)), symbols=("N", "N"))
    for read, write in ((from_json, to_json), (from_metadata, to_metadata), (from_smtlib, to_smtlib)):
        assert read(write(found)) == one(eq(symbol("N"), 0), symbols=("N",))


# Bad documents

Document = dict[str, Any]


def edited(change: Callable[[Document], object]) -> str:
    document = json.loads(to_json(ATTENTION))
    change(document)
    return json.dumps(document)


def relation(text: str) -> Callable[[Document], object]:
    return lambda d: d["constraints"][0]["relation"].update(text=text)


BAD = [
    ("", "document: not JSON: Expecting value at line 1, column 1"),
    ("{", "document: not JSON"),
    (to_json(ATTENTION)[:-40], "document: not JSON"),
    ("[]", "document: expected an object, found a list"),
    ("null", "document: expected an object, found null"),
    ("NaN", "document: expected an object, found a number"),
    ("[" * 100_000, "document: nests too deeply"),
    ('{"format":' * 100_000, "document: nests too deeply"),
    ("9" * 5000, "document: a number has too many digits"),
    ("{}", "format: expected 'absint.constraints/1', found null"),
    (edited(lambda d: d.update(format="absint.constraints/2")), "found 'absint.constraints/2'"),
    (edited(lambda d: d.update(format=["x"])), "format: expected 'absint.constraints/1', found a list"),
    (edited(lambda d: d.pop("doubts")), "document: 'doubts' is missing"),
    (edited(lambda d: d.update(extra=1)), "document: unknown key 'extra', expected format, symbols"),
    (edited(lambda d: d.update(symbols={})), "symbols: expected a list, found an object"),
    (edited(lambda d: d["symbols"].append(d["symbols"][0])), r"symbols\[8\]\.name: 'batch' is there twice"),
    (edited(lambda d: d["symbols"][0].update(name=3)), r"symbols\[0\]\.name: expected a string, found a number"),
    (edited(lambda d: d["symbols"][0].update(name="%1")), "internal symbol '%1'"),
    (edited(lambda d: d["symbols"][0].update(input=1)), r"symbols\[0\]\.input: expected true or false, found a number"),
    (
        edited(lambda d: d["symbols"][0].update(bounds=[0])),
        r"symbols\[0\]\.bounds: expected a list of 2, found one of 1",
    ),
    (edited(lambda d: d["symbols"][0].update(bounds=[3, 2])), "the lower bound is greater than the upper one"),
    (edited(lambda d: d["symbols"][0].update(bounds=[0.5, 2])), r"bounds\[0\]: expected an integer, found a number"),
    (edited(lambda d: d["symbols"][0].update(bounds=[False, 2])), r"bounds\[0\]: expected an integer, found a boolean"),
    (edited(lambda d: d["symbols"][0].update(bounds=[0, 2**2049])), r"bounds\[1\]: an integer has at most 2048 bits"),
    (edited(lambda d: d["symbols"].pop(0)), r"constraints\[4\]\.relation\.text: no symbol 'batch' here"),
    (edited(lambda d: d["constraints"].append(None)), r"constraints\[6\]: expected an object, found null"),
    (
        edited(lambda d: d["constraints"][0].update(role="wish")),
        r"constraints\[0\]\.role: expected one of required, .*'wish'",
    ),
    (edited(lambda d: d["constraints"][0].update(role=[])), r"constraints\[0\]\.role: expected a string, found a list"),
    (
        edited(lambda d: d["constraints"][0].update(reason=None)),
        r"constraints\[0\]\.reason: expected a string, found null",
    ),
    (edited(lambda d: d["constraints"][0].pop("guard")), r"constraints\[0\]: 'guard' is missing"),
    (edited(lambda d: d["constraints"][0]["origin"].update(node="3")), r"origin\.node: expected an integer, found '3'"),
    (
        edited(lambda d: d["constraints"][0]["origin"].update(node=True)),
        r"origin\.node: expected an integer, found a bool",
    ),
    (edited(lambda d: d["constraints"][0]["origin"].pop("path")), r"constraints\[0\]\.origin: 'path' is missing"),
    (
        edited(lambda d: d["constraints"][0].update(relation="seq >= 1")),
        r"relation: expected an object, found 'seq >= 1'",
    ),
    (edited(relation("seq >= ")), r"relation\.text: expected a number.*at column 8, in 'seq >= '"),
    (edited(relation("seq >= 1")), r"constraints\[0\]\.relation: the tree does not say what the text says"),
    (edited(relation("seq\n\x00>=")), r"constraints\[0\]\.relation\.text: unexpected character"),
    (edited(relation("(" * 2_000_000)), r"constraints\[0\]\.relation\.text: "),
    (edited(relation("max(" * 300_000 + "seq")), r"constraints\[0\]\.relation\.text: "),
    (edited(relation("seq" + " + seq*past" * 200_000 + " >= 1")), r"the tree does not say what the text says"),
    (edited(relation("(seq + past)**32*(heads + width)**32 >= 1")), r"constraints\[0\]\.relation\.text: "),
    (edited(relation("past -> seq >= 1")), "'past' stands for a condition, and its range is not 0..1"),
    (
        edited(lambda d: d["constraints"][0]["relation"]["tree"]["args"].append(0)),
        r"constraints\[0\]\.relation: the tree does not say what the text says",
    ),
    (
        edited(lambda d: d["constraints"][0]["relation"].update(tree=None)),
        r"constraints\[0\]\.relation: the tree does not say what the text says",
    ),
    (
        edited(lambda d: d["constraints"][0]["relation"]["tree"]["args"].__setitem__(1, False)),
        r"constraints\[0\]\.relation: the tree does not say what the text says",
    ),
    (edited(lambda d: d["doubts"][0].update(guard={})), r"doubts\[0\]\.guard: 'text' is missing"),
    (edited(lambda d: d["doubts"].append("x" * 999)), r"doubts\[2\]: expected an object, found 'xxx"),
]


@pytest.mark.share(2)
@pytest.mark.parametrize(("text", "complaint"), BAD, ids=[complaint[:50] for _, complaint in BAD])
def test_a_bad_document_is_one_line(text: str, complaint: str) -> None:
    with pytest.raises(ExportError, match=complaint) as error:
        from_json(text)
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 300
    assert str(error.value).isprintable()
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_what_the_schema_refuses_is_refused() -> None:
    """Documents that differ from the schema in shape; those that differ in meaning alone only the reader can tell."""
    for text, _ in BAD:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if list(SCHEMA.iter_errors(document)):
            with pytest.raises(ExportError):
                from_json(text)


def test_a_text_that_is_none() -> None:
    with pytest.raises(ExportError, match="document: expected a text, found a bytes"):
        from_json(to_json(ATTENTION).encode())  # type: ignore[arg-type]


def complaint_about(text: str) -> str:
    """The error of from_json on a text; empty if it is a document."""
    try:
        from_json(text)
    except ExportError as problem:
        return str(problem)
    return ""


def test_every_prefix_and_every_changed_byte_ends_in_one_line() -> None:
    text = to_json(ATTENTION)
    for cut in range(0, len(text) - 2, 37):
        with pytest.raises(ExportError) as error:
            from_json(text[:cut])
        assert len(str(error.value).splitlines()) == 1
    for place in range(0, len(text), 11):
        for character in '"{0x':
            complaint = complaint_about(text[:place] + character + text[place + 1 :])
            assert complaint.isprintable()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"absint.constraints.format": None}, "absint.constraints.format: there is no such entry"),
        ({"absint.constraints.format": "2"}, "absint.constraints.format: expected 'absint.constraints/1', found '2'"),
        ({"absint.constraints.items": None}, "absint.constraints.items: there is no such entry"),
        ({"absint.constraints.items": "[{]"}, "absint.constraints.items: not JSON"),
        ({"absint.constraints.items": "{}"}, "absint.constraints.items: expected a list, found an object"),
        ({"absint.constraints.doubts": "[3]"}, r"absint.constraints.doubts\[0\]: expected an object, found a number"),
        ({"absint.constraints.symbols": "[" * 99_999}, "absint.constraints.symbols: nests too deeply"),
        ({"absint.constraints.symbols": "[]"}, r"absint.constraints.items\[0\].relation: no symbol 'heads' here"),
    ],
)
def test_bad_metadata_is_one_line(change: dict[str, str | None], complaint: str) -> None:
    properties = {**to_metadata(ATTENTION), **change}
    with pytest.raises(ExportError, match=complaint) as error:
        from_metadata({key: value for key, value in properties.items() if value is not None})
    assert len(str(error.value).splitlines()) == 1


def test_constraint_of_every_role_and_origin() -> None:
    read = from_json(to_json(ATTENTION))
    assert [c.role for c in read] == ["required", "required", "assumed", "defined", "required", "declared"]
    assert [str(c.origin) for c in read][:3] == ["MatMul qk", "Reshape loop1/body/flat", "assumption"]
    assert read.possible_failures == ATTENTION.possible_failures
    assert isinstance(next(iter(read[0].relation.symbols)), Symbol)
    assert isinstance(read[0].relation.expr, Expr)
    assert constraint("seq % 8 == 0").relation is read[1].relation


FLOATS = [
    "int(float32(H)*min(800/float32(min(H, W)), 1333/float32(max(H, W)))) >= 3",
    "int64(ceil(float64(float32(H/3))*0.1)) == W",
    "int32(ite(H >= W, sqrt(float32(H)), -float32(W/0.1)) + 2.5) != 4",
]


@pytest.mark.parametrize("text", FLOATS)
def test_floats_have_trees_and_read_back(text: str) -> None:
    relation = parse_relation(text)
    found = one(relation)
    document = json.loads(to_json(found))
    SCHEMA.validate(document)
    assert '"format": "float' in to_json(found)
    assert from_json(to_json(found)) == found
