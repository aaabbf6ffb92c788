"""Float terms in proofs and exports: unknown functions to a solver, the run's arithmetic to Python."""

from __future__ import annotations

import random

import pytest
import z3

from absint.lattices.logic.relation import TRUE
from absint.lattices.terms.expr import UndefinedError
from absint.lattices.text import parse, parse_relation
from absint.solver.constraints import Constraint, ConstraintSet, Origin
from absint.solver.encode import Encoder
from absint.solver.export import from_smtlib, shapes_function, to_python, to_smtlib
from absint.solver.prove import Prover
from absint.solver.smtlib import Script

SCALE = "min(800/float32(min(H, W)), 1333/float32(max(H, W)))"
SIZES = [
    f"int(float32(H)*{SCALE})",
    "int(float32(H/0.7)*0.3 + 1.5)",
    "int(ceil(sqrt(float64(H)*float64(W))))",
    "int64(1/(float32(H) - float32(W)))",
    "int(ite(H >= W, float32(H)*0.1, round(float32(W)/3)))",
    "int32(abs(float32(H) - 3)*100000)",
    "int(max(float32(H - W), -float32(W))*2)",
    "int(float64(float32(H)*0.1)/7)",
]


def stated(*texts: str) -> ConstraintSet:
    origin = Origin(0, "", "n", "Op", "y")
    return ConstraintSet(
        [Constraint(parse_relation(t), TRUE, origin, "required", "so") for t in texts], symbols=("H", "W")
    )


def asked(text: str, *premises: str) -> tuple[bool | None, str]:
    decision = Prover(stated(*premises)).decide(parse_relation(text))
    return decision.entailed, decision.reason


def test_equal_operands_give_equal_sizes() -> None:
    assert asked(f"{SIZES[0]} == int(float32(W)*{SCALE})", "H == W") == (True, "")
    assert asked("int(float32(H)*0.7) == int(float32(W)*0.7)", "H*H == W*W")[0] is True
    assert asked("int(float32(H)*0.7) == int(float32(W)*0.7)")[0] is False
    assert asked("int(float32(H)*0.7) == int(float64(H)*0.7)")[0] is not True


def test_bounds_are_all_that_is_known() -> None:
    assert asked(f"{SIZES[0]} >= 0")[0] is True
    assert asked("int(float32(H)*0.7) <= 70", "H <= 100")[0] is True
    assert asked("int(float32(H)*0.7) <= 40", "H <= 100")[0] is False
    assert asked("int(float32(H)*0.7) <= H", "H <= 100")[0] is True
    assert asked("int(float32(H)*0.7) <= W", "H <= W")[0] is True
    true, reason = asked("int(float32(H)*0.7) <= int(float32(H)*0.8)", "H <= 100")
    assert true is None
    assert reason == "no counterexample was found: to the solver, what floats compute is any function"


def test_a_counterexample_is_one_of_the_run() -> None:
    for text in ("int(float32(H)*0.7) != 203", "int(float32(H)*1.1) == H + H//10"):
        relation = parse_relation(text)
        decision = Prover(stated("H <= 4096")).decide(relation)
        if decision.entailed is False:
            assert relation.evaluate(decision.model) is False
        else:
            assert decision.entailed is None


@pytest.mark.parametrize("text", SIZES)
def test_the_value_of_a_term_is_one_that_the_encoding_allows(text: str) -> None:
    size, draw = parse(text), random.Random(1)
    for _ in range(20):
        sizes = {"H": draw.randint(0, 300), "W": draw.randint(0, 300)}
        try:
            value = size.evaluate(sizes)
        except UndefinedError:
            continue
        encoder, solver = Encoder(), z3.Solver()
        solver.add(encoder.dim(size) == value, *(z3.Int(name) == number for name, number in sizes.items()))
        solver.add(*encoder.side_conditions())
        assert solver.check() == z3.sat
        script = Script()
        script.add(parse_relation(f"{text} == {value}"))
        script.add(parse_relation(f"H == {sizes['H']} and W == {sizes['W']}"))
        again = z3.Solver()
        again.from_string(script.text)
        assert again.check() == z3.sat
        assert script.logic in ("QF_UFLIA", "QF_UFNIA")


def test_a_script_declares_functions_and_reads_back() -> None:
    found = stated(f"{SIZES[0]} >= 3", "int(float32(H)*0.7) == W")
    script = to_smtlib(found)
    assert "(set-logic QF_UFLIA)" in script
    assert script.count("(declare-fun ") == 2
    assert from_smtlib(script) == found
    solver = z3.Solver()
    solver.from_string(script)
    assert solver.check() == z3.sat


def test_python_computes_what_the_run_does() -> None:
    source = shapes_function(["H", "W"], {text: [parse(text)] for text in SIZES[:1]})
    assert "import struct as _struct" in source
    functions = {}
    for text in SIZES:
        namespace: dict[str, object] = {}
        exec(shapes_function(["H", "W"], {"y": [parse(text)]}), namespace)
        functions[text] = namespace["shapes"]
    draw = random.Random(2)
    for _ in range(400):
        sizes = {"H": draw.randint(0, 2 ** draw.randint(1, 26)), "W": draw.randint(0, 2 ** draw.randint(1, 26))}
        for text, compute in functions.items():
            try:
                expected = parse(text).evaluate(sizes)
            except UndefinedError:
                expected = -1
            try:
                (found,) = compute(sizes)["y"]  # type: ignore[operator]
            except ValueError:
                found = -1
            assert found == expected or (expected < 0 and found == -1), (text, sizes)


def test_a_guard_refuses_what_has_no_value() -> None:
    namespace: dict[str, object] = {}
    exec(to_python(stated(f"{SIZES[0]} >= 1")), namespace)
    check = namespace["check"]
    check(H=480, W=640)  # type: ignore[operator]
    for sizes in ({"H": 0, "W": 0}, {"H": 0, "W": 3}):
        with pytest.raises(ValueError, match="does not hold"):
            check(sizes)  # type: ignore[operator]
