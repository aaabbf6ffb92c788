"""The conformance kit: a right rule passes, and each way to be wrong is found and told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx.reference.op_run import OpRun

from absint import Op, Shape, Tensor, eq, rule
from absint.lattices.terms.expr import symbol
from absint.testing import Arg, Binding, Case, apply_case, check_rule, run_case, sizes
from absint.transfer.rule import Function, Rule

SIZES = sizes(N=[0, 1, 4], M=[1, 3])
CASE = Case("Twice", [Arg(["N", "M"])], bindings=SIZES)


def rule_of(function: Function, *, complete: bool = True) -> Rule:
    return rule("Twice", domain="my", inputs="X", complete=complete)(function)


def doubled(op: Op) -> Tensor:
    """The first dim doubled."""
    x = op.tensor("X")
    if x.shape.is_top:
        op.may_fail("X must have an axis, and its rank is unknown")
        return Tensor(x.dtype)
    if not x.shape.rank:
        op.reject("X must have an axis")
    return Tensor(x.dtype, Shape([2 * x.shape[0], *x.shape[1:]]))


def twice(x: np.ndarray, **attributes: Any) -> np.ndarray:
    if x.ndim == 0:
        raise ValueError("a scalar")
    return np.concatenate([x, x])


class Twice(OpRun):
    op_domain = "my"

    def _run(self, x: np.ndarray) -> tuple[np.ndarray]:
        return (twice(x),)


def through_arrays(case: Case, binding: Binding, seed: int) -> tuple[list[object] | None, str]:
    arg = case.inputs[0]
    assert arg is not None
    return [twice(arg.array(binding, np.random.default_rng(seed)))], ""


@pytest.mark.parametrize(
    "way", [{"reference": twice}, {"kernels": [Twice]}, {"run": through_arrays}], ids=["reference", "kernels", "run"]
)
def test_a_right_rule_passes_however_it_runs(way: dict[str, Any]) -> None:
    cases = [Case("Twice", [Arg(["N", "M"])], bindings=SIZES, expect=["[2*N, M]"])]
    assert check_rule(rule_of(doubled), cases, **way) == 2 * len(SIZES)


def test_a_shipped_rule_runs_in_onnxruntime() -> None:
    from absint import TABLE

    rule = TABLE.lookup("", "MatMul", 20)
    assert rule is not None
    case = Case("MatMul", [Arg(["N", "K"]), Arg(["L", "M"])], bindings=sizes(N=[0, 2], K=[1, 3], L=[1, 3], M=[1, 4]))
    assert check_rule(rule, [case], seeds=1) == 8
    assert run_case(case) == 8


COUNT: list[int] = []


def other_size(op: Op) -> Tensor:
    return op.tensor("X")


def other_rank(op: Op) -> Tensor:
    x = op.tensor("X")
    return Tensor(x.dtype) if x.shape.is_top else Tensor(x.dtype, Shape([2 * x.shape[0]]))


def other_type(op: Op) -> Tensor:
    from absint import DType

    return Tensor(DType.DOUBLE)


def too_strict(op: Op) -> Tensor:
    x = op.tensor("X")
    if not x.shape.is_top:
        op.require(eq(x.shape[0], 4), "there are four")
    return Tensor(x.dtype)


def rejecting(op: Op) -> Tensor:
    op.reject("never")


def needs_a_rank(op: Op) -> Tensor:
    x = op.tensor("X")
    return Tensor(x.dtype, Shape([2 * x.shape[0], *x.shape[1:]]))


def rejects_what_it_does_not_know(op: Op) -> Tensor:
    if op.tensor("X").shape.is_top:
        op.reject("the rank is unknown")
    return doubled(op)


def guesses(op: Op) -> Tensor:
    x = op.tensor("X")
    return Tensor(x.dtype, Shape([8, 3])) if x.shape.is_top else Tensor(x.dtype)


def counts(op: Op) -> Tensor:
    COUNT.append(0)
    return Tensor(op.dtype("X"), Shape([len(COUNT), None]))


def changes_attributes(op: Op) -> Tensor:
    op.attributes["seen"] = 1  # type: ignore[index]
    return Tensor(op.dtype("X"))


def own_symbol(op: Op) -> Tensor:
    return Tensor(op.dtype("X"), Shape([symbol("K"), None]))


def returns_nothing(op: Op) -> Tensor:
    return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (other_size, "at {'N': 1, 'M': 1}, output 0[0]: claimed N = 1, ran 2 (N is 1 in the binding"),
        (other_rank, "rank of output 0: claimed 1, ran 2"),
        (other_type, "dtype of output 0: claimed DOUBLE, ran FLOAT"),
        (too_strict, "at {'N': 0, 'M': 1}: runs, but required N == 4 (there are four) is false"),
        (rejecting, "rejected (never) but it runs"),
        (needs_a_rank, "with the rank of input 0 unknown: rule 'needs_a_rank' ("),
        (rejects_what_it_does_not_know, "with the rank of input 0 unknown: rejected (the rank is unknown), but with"),
        (guesses, "but with more known only Tensor(FLOAT?): must have rank 2, found unknown rank"),
        (counts, "it must not keep state"),
        (changes_attributes, "changes its inputs or attributes: copy what is to be changed"),
        (own_symbol, "invents the symbol 'K', which every node would share: use op.fresh('K')"),
        (returns_nothing, "returned nothing: return a value for each of Y"),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_a_wrong_rule_is_found(function: Function, message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_rule(rule_of(function), [CASE], reference=twice)
    assert message in str(caught.value)
    assert str(caught.value).startswith("Twice-20 [['N', 'M']] {}")


def square(x: np.ndarray) -> np.ndarray:
    if x.shape[0] != x.shape[1]:
        raise ValueError("not square")
    return x


def test_a_promise_to_be_complete_is_held_against_failures() -> None:
    def promised(op: Op) -> Tensor:
        return Tensor(op.dtype("X"), op.tensor("X").shape)

    message = r"at \{'N': 0, 'M': 1\}: fails \(ValueError: not square\) but every requirement holds"
    with pytest.raises(AssertionError, match=message):
        check_rule(rule_of(promised), [CASE], reference=square)
    assert check_rule(rule_of(promised, complete=False), [CASE], reference=square, seeds=1) == 1


def refuses(x: np.ndarray) -> np.ndarray:
    raise NotImplementedError("no kernel")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: check_rule(rule_of(doubled), [], reference=twice), AssertionError, "no case, so nothing is checked"),
        (
            lambda: check_rule(rule_of(doubled, complete=False), [CASE], reference=refuses),
            AssertionError,
            "no binding runs, so nothing is checked (the last failure: NotImplementedError: no kernel)",
        ),
        (
            lambda: check_rule(rule_of(doubled), [replace(CASE, bindings=[])], reference=twice),
            AssertionError,
            "no binding runs, so nothing is checked (it has none)",
        ),
        (
            lambda: check_rule(rule_of(doubled), [CASE], reference=twice, kernels=[Twice]),
            ValueError,
            "give one of reference, kernels and run",
        ),
        (
            lambda: check_rule(rule_of(doubled), [Case("Thrice", [Arg(["N"])])], reference=twice),
            ValueError,
            "a case of my::Thrice, version 20, is not one of rule 'doubled'",
        ),
        (
            lambda: check_rule(rule_of(doubled), [Case("Twice", [Arg(["N"])], expect=["[N]"])], reference=twice),
            AssertionError,
            "shape [2*N], expected [N]",
        ),
        (
            lambda: check_rule(rule_of(doubled), [Case("Twice", [Arg(["N"])])], reference=twice),
            ValueError,
            "no size for N",
        ),
        (lambda: Arg(), ValueError, "give dims, as in Arg(['N', 3]), or elements"),
        (lambda: Arg(elements=[1], ramp=["0"]), ValueError, "a ramp needs dims"),
    ],
)
def test_a_check_that_shows_nothing_is_an_error(
    make: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


def test_less_known_inputs_are_held_against_the_same_runs() -> None:
    """Right with all dims known, and wrong as soon as one is not."""

    def sometimes(op: Op) -> Tensor:
        x = op.tensor("X")
        if x.shape.is_top:
            return Tensor(x.dtype)
        if not x.shape[0].is_unknown:
            return Tensor(x.dtype, Shape([None, None]))
        return Tensor(x.dtype, Shape([op.fresh("0"), op.fresh("0")]))

    with pytest.raises(AssertionError, match=r"with dim 0 of input 0 unknown, output 0\[1\]: .* \(_0 is 2 in"):
        check_rule(rule_of(sometimes), [replace(CASE, bindings=[{"N": 1, "M": 1}])], reference=twice)


@pytest.mark.parametrize("outputs", [[np.ones((2, 1), np.float32)], [[np.ones(2, np.float32)]]], ids=["array", "list"])
def test_an_output_of_another_kind_is_found(outputs: Sequence[object]) -> None:
    def run(case: Case, binding: Binding, seed: int) -> tuple[list[object] | None, str]:
        return list(outputs), ""

    case = Case("Twice", [Arg([1, 1])], bindings=[{}])
    if isinstance(outputs[0], list):
        with pytest.raises(AssertionError, match="output 0: claimed tensor, ran sequence"):
            check_rule(rule_of(doubled), [case], run=run)
    else:
        assert check_rule(rule_of(doubled), [case], run=run, seeds=1) == 1


def test_a_node_that_is_rejected_need_not_run() -> None:
    assert check_rule(rule_of(doubled), [Case("Twice", [Arg([])])], reference=twice) == 0


def test_apply_case_needs_no_run() -> None:
    applied = apply_case(Case("MatMul", [Arg(["N", "K"]), Arg(["K", "M"])]))
    assert str(applied.outputs[0]) == "Tensor(FLOAT[N, M])"
    with pytest.raises(AssertionError, match="no rule for my::Twice-20"):
        apply_case(Case("Twice", [Arg(["N"])], domain="my"))
