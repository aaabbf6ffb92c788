"""Generated Python: it agrees with evaluation, stands alone, and no text breaks out of it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from absint.lattices.logic import relation as rel
from absint.lattices.logic.relation import FALSE, UNKNOWN_RELATION, Relation
from absint.lattices.shape import shape_of
from absint.lattices.shape_choice import ShapeChoice
from absint.lattices.terms.expr import Dim, Expr, UndefinedError, symbol
from absint.lattices.terms.normal import floordiv, maximum
from absint.lattices.text import parse, parse_relation
from absint.solver.constraints import ConstraintSet
from absint.solver.export import ExportError, shapes_function, to_python
from absint.solver.export.python_text import local_names
from tests import reference
from tests.effort import examples
from tests.lattices.test_expr_fuzz import FIXED, bindings, trees
from tests.solver.constraint_sets import ATTENTION, HOSTILE, NESTED, constraint, hostile_set, sets

SIZES = {"batch": 4, "seq": 16, "past": 3, "heads": 4, "width": 16, "copies": 4}


def function(source: str, name: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source, "generated", "exec"), namespace)
    return namespace[name]


def holds(formula: Relation, binding: Mapping[str, int]) -> bool:
    try:
        return formula.evaluate(binding)
    except UndefinedError:
        return False


def refuses(check: Callable[..., None], sizes: Mapping[str, int]) -> bool:
    try:
        check(sizes)
    except ValueError:
        return True
    return False


def fitting(binding: Mapping[str, int], names: Iterable[str], users: Iterable[Relation | Dim]) -> dict[str, int]:
    """The sizes of the names; what no relation or dim uses is taken for the size of an input, so it is natural."""
    used = {name for user in users for name in user.free_symbols}
    return {name: binding[name] if name in used else abs(binding[name]) for name in names}


@settings(max_examples=examples(120), deadline=None)
@given(sets, bindings)
def test_the_guard_agrees_with_evaluation(found: ConstraintSet, some: list[dict[str, int]]) -> None:
    check = function(to_python(found), "check")
    found = found.without_premises()
    enforced = [f for f in found.over_inputs().distinct if f is not UNKNOWN_RELATION]
    for binding in FIXED + some:
        sizes = fitting(binding, found.symbols, found.distinct)
        assert refuses(check, sizes) is not all(holds(formula, sizes) for formula in enforced)


@pytest.mark.parametrize(
    "text",
    [
        "N // M >= 2",
        "N // M >= 2 or N == 0",
        "not (N // M >= 2 and N == 0)",
        "M // N == 1 and K // M == 1",
        "(N // M >= 2 or K == 1) and (M // N <= 3 or K == 2)",
        "truncdiv(N - 9, M - 3) <= -1",
        "(N - 5)//(M - 4) == -2",
        "(N - 7) % 3 == 2",
        "fmod(N - 7, 3) == -1",
        "broadcast(N, M, K) == 3",
        "broadcast(N, 6 // M) == 3",
        "broadcast(N, 6 // M, K // 2) + 1 == 3",
        "ite(N >= M, N - M, 6 // N) == 2",
        "ite(N // M >= 1, N, M) == 2",
        "max(N, M - 2, 3) - min(N, M) == 1",
        "divided(N - 3, 2, M - 1) == -1",
        "max(N, 6 // M) == 3",
        "N**2*M - 3*N + K >= 5 - M",
        "5 - N - M >= -K",
        "N*(M // 2)//3 + 2*(K//(N*M + 1)) != 1",
        "not flag or N == 3",
        "flag -> (N // M == 1 and N != 1)",
    ],
)
def test_every_operation_at_every_small_size(text: str) -> None:
    found = ConstraintSet([constraint(text)], symbols=("N", "M", "K", "flag"))
    check, (formula,) = function(to_python(found), "check"), found.distinct
    answers = set()
    for n in range(7):
        for m in range(7):
            for k in range(5):
                for flag in range(2):
                    sizes = {"N": n, "M": m, "K": k, "flag": flag}
                    answers.add(refuses(check, sizes))
                    assert refuses(check, sizes) is not holds(formula, sizes), sizes
    assert answers == {True, False}


def test_the_error_names_the_clause_and_the_nodes() -> None:
    check = function(to_python(ATTENTION, "check_sizes"), "check_sizes")
    check(SIZES)
    check(**SIZES)
    with pytest.raises(
        ValueError, match=r"seq % 8 == 0 does not hold for .*'seq': 12.*: Reshape loop1/body/flat: the count"
    ):
        check({**SIZES, "seq": 12})
    with pytest.raises(ValueError, match=r"heads\*width == 64 does not hold .* MatMul qk: heads divide d_model"):
        check(SIZES, width=8)
    with pytest.raises(ValueError, match=r"batch .*: inputs: "):
        check(SIZES, batch=0, copies=0)


def test_many_nodes_that_impose_one_clause() -> None:
    same = [constraint("N >= 2", origin=NESTED._replace(name=f"r{i}")) for i in range(5)]
    check = function(to_python(ConstraintSet(same, symbols=("N",))), "check")
    with pytest.raises(ValueError) as error:
        check(N=1)
    assert str(error.value) == (
        "N >= 2 does not hold for {'N': 1}: Reshape loop1/body/r0: inner dims agree; "
        "Reshape loop1/body/r1: inner dims agree; Reshape loop1/body/r2: inner dims agree; and 2 more"
    )


def test_sizes_are_checked() -> None:
    check = function(to_python(ATTENTION), "check")
    for sizes, complaint in [
        ({**SIZES, "sqe": 3}, "no symbol is named 'sqe': expected 'batch', 'seq'"),
        ({"batch": 4}, "the size of 'seq' is missing"),
        ({**SIZES, "past": -1}, "'past' lies in 0..2147483647 and cannot be -1"),
        ({**SIZES, "past": 2**31}, "'past' lies in 0..2147483647 and cannot be 2147483648"),
    ]:
        with pytest.raises(ValueError, match=complaint):
            check(sizes)
    with pytest.raises(TypeError):
        check({**SIZES, "past": 3.5})


def test_what_is_not_enforced_stands_in_the_docstring() -> None:
    check = function(to_python(ATTENTION), "check")
    documented = check.__doc__ or ""
    assert "not flag or _d0 <= seq" in documented or "_d0" in documented.partition("Not checked")[2]
    assert "Reshape loop1/body/flat: it divides by data" in documented.partition("may still fail")[2]
    invented = ConstraintSet([constraint("N == _d0"), constraint("N == _d0 or N >= 1")], symbols=("N",))
    function(to_python(invented), "check")(N=0)


def test_constraints_that_never_and_always_hold() -> None:
    never = ConstraintSet([constraint("false", reason="ranks differ"), constraint("true")])
    with pytest.raises(ValueError, match=r"false does not hold for \{\}: MatMul qk: ranks differ"):
        function(to_python(never), "check")()
    function(to_python(ConstraintSet()), "check")()
    assert FALSE in never.distinct


def test_names_that_python_cannot_use() -> None:
    assert local_names(["batch", "class", "max", "size_0", "_d0", "a b", "ſ", "batch"]) == {
        "batch": "batch",
        "class": "size_1",
        "max": "size_2",
        "size_0": "size_0",
        "_d0": "size_3",
        "a b": "size_4",
        "ſ": "size_5",
    }
    found = ConstraintSet(
        [constraint("max(`max`, `class`) <= `a b` + sizes")], symbols=("max", "class", "a b", "sizes")
    )
    check = function(to_python(found), "check")
    check({"max": 3, "class": 2, "a b": 1, "sizes": 2})
    check(**{"max": 3, "class": 2, "a b": 1, "sizes": 2})
    with pytest.raises(ValueError, match=r"max.*does not hold"):
        check({"max": 4, "class": 2, "a b": 1, "sizes": 2})
    assert "size_2 stands for 'a b'" in (check.__doc__ or "")


@pytest.mark.parametrize("name", ["", "1a", "class", "max", "_sizes", "a b", "naïve", "sizes", "f():\n    pass\ndef g"])
def test_a_function_name_that_is_none(name: str) -> None:
    for write in (lambda: to_python(ATTENTION, name), lambda: shapes_function(["N"], {}, name)):
        with pytest.raises(ExportError) as error:
            write()
        assert len(str(error.value).splitlines()) == 1


def test_hostile_texts_stay_inside_strings() -> None:
    source = to_python(hostile_set())
    assert source.isascii()
    assert source.isprintable() or set(filter(lambda c: not c.isprintable(), source)) == {"\n"}
    plain = to_python(ConstraintSet([constraint("`a b` % 2 == 0")], symbols=("a b",)))
    kinds = {type(node).__name__ for node in ast.walk(ast.parse(plain))}
    assert {type(node).__name__ for node in ast.walk(ast.parse(source))} <= kinds | {"BoolOp", "Or", "LtE"}
    check = function(source, "check")
    sizes = dict.fromkeys(HOSTILE, 4)
    check(sizes)
    for name in HOSTILE:
        with pytest.raises(ValueError) as error:
            check({**sizes, name: 5})
        assert len(str(error.value).splitlines()) == 1
    renamed = {name for name, local in local_names(HOSTILE).items() if name != local}
    assert renamed == {*HOSTILE} - {"c0", "size_0"}
    assert (check.__doc__ or "").count("stands for") == len(renamed)


def test_it_stands_alone_and_runs_without_asserts(tmp_path: Path) -> None:
    source = to_python(ATTENTION) + shapes_function(["batch", "seq"], {"y": [parse("batch"), parse("seq - 7")]})
    (tmp_path / "guard.py").write_text(
        source + "\ncheck({'batch': 4, 'seq': 16, 'past': 3, 'heads': 4, 'width': 16, 'copies': 4})\n"
        "print(shapes(batch=2, seq=9))\n"
        "try:\n    check({'batch': 4, 'seq': 12, 'past': 3, 'heads': 4, 'width': 16, 'copies': 4})\n"
        "except ValueError as error:\n    print(error)\n",
        encoding="utf-8",
    )
    for flags in ([], ["-O"], ["-OO"]):
        done = subprocess.run(
            [sys.executable, "-I", "-S", *flags, "guard.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("{'y': (2, 2)}\nseq % 8 == 0 does not hold")
    assert "assert" not in source
    assert "absint" not in source.replace("# Written by absint", "")


def deep(step: Callable[[Dim, int], Dim], levels: int) -> Expr:
    dim: Dim = symbol("N")
    for level in range(levels):
        dim = step(dim, level)
    assert isinstance(dim, Expr)
    return dim


@pytest.mark.parametrize(
    "step",
    [
        lambda dim, level: floordiv(dim * symbol("M") + 3, symbol("M") + level % 3 + 1),
        lambda dim, level: maximum(dim - symbol("M"), symbol("N") * level) * 2,
        lambda dim, level: rel.ite(rel.ge(symbol("M"), level % 7), dim - level, symbol("N") * symbol("M")),
    ],
)
def test_deep_expressions_compile_and_agree(step: Callable[[Dim, int], Dim]) -> None:
    dim = deep(step, 150)
    source = shapes_function(["N", "M"], {"y": [maximum(dim, 0)]})
    compute = function(source, "shapes")
    for sizes in ({"N": 5, "M": 3}, {"N": 0, "M": 1}, {"N": 9, "M": 0}):
        assert compute(sizes) == {"y": (maximum(dim, 0).evaluate(sizes),)}


def test_long_expressions_compile_and_agree() -> None:
    names = [f"n{i}" for i in range(200)]
    total = parse(" + ".join(f"{i + 2}*{name}" for i, name in enumerate(names)))
    wide = parse("max(" + ", ".join(f"{name}*n0" for name in names[:60]) + ")")
    compute = function(shapes_function(names, {"y": [total, wide]}), "shapes")
    sizes = {name: i % 7 for i, name in enumerate(names)}
    assert compute(sizes) == {"y": (total.evaluate(sizes), wide.evaluate(sizes))}


@settings(max_examples=examples(120), deadline=None)
@given(st.lists(trees, max_size=4), bindings)
def test_shapes_agree_with_evaluation(drawn: list[reference.Tree], some: list[dict[str, int]]) -> None:
    dims = [reference.build(tree) for tree in drawn]
    compute = function(shapes_function("NMKIJFG", {"y": dims}), "shapes")
    for binding in (fitting(some_binding, "NMKIJFG", dims) for some_binding in FIXED + some):
        try:
            expected = tuple(dim.evaluate(binding) if isinstance(dim, Expr) else None for dim in dims)
        except UndefinedError:
            expected = (-1,)
        if any(size is not None and size < 0 for size in expected):
            with pytest.raises(ValueError, match="'y' "):
                compute(binding)
        else:
            assert compute(binding) == {"y": expected}


def test_shapes_that_sizes_do_not_decide() -> None:
    outputs = {
        "logits": [parse("batch"), parse("past + seq"), parse("512")],
        "picked": [parse("_d0"), parse("?"), parse("4*batch")],
        "any": None,
        "scalar": [],
        'od"d\n': [parse("seq//past")],
    }
    compute = function(shapes_function(["batch", "seq", "past"], outputs, "output_shapes"), "output_shapes")
    assert compute(batch=2, seq=7, past=3) == {
        "logits": (2, 10, 512),
        "picked": (None, None, 8),
        "any": None,
        "scalar": (),
        'od"d\n': (2,),
    }
    documented = compute.__doc__ or ""
    assert "'picked', axis 0: _d0" in documented
    assert "rank is unknown" in documented
    with pytest.raises(ValueError, match=r"'od\"d\\n' has no size along axis 0: it divides by zero"):
        compute(batch=2, seq=7, past=0)
    with pytest.raises(ValueError, match="cannot be -2"):
        compute(batch=-2, seq=7, past=1)


def test_sizes_choose_between_shapes() -> None:
    chosen = ShapeChoice.of(parse_relation("C == 1"), shape_of((parse("N"),)), shape_of((parse("N"), parse("C - 1"))))
    by_data = ShapeChoice.of(parse_relation("_d0 == 1"), shape_of((parse("N"),)), shape_of(()))
    source = shapes_function(["N", "C"], {"y": chosen, "z": by_data, "w": [parse("N")]})
    compute = function(source, "shapes")
    assert compute(N=4, C=1) == {"y": (4,), "z": None, "w": (4,)}
    assert compute(N=4, C=3) == {"y": (4, 2), "z": None, "w": (4,)}
    with pytest.raises(ValueError, match="'y' would have the size -1 along axis 1"):
        compute(N=4, C=0)
    by_element = shapes_function(["N"], {"y": chosen}, elements=("C",))
    assert function(by_element, "shapes")(N=4) == {"y": None}
    assert function(by_element, "shapes")(N=4, C=1) == {"y": (4,)}
