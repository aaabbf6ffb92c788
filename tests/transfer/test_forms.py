"""Forms: texts of the dims of an operator, read, held against inputs, and refused with a reason."""

from __future__ import annotations

import pytest

from absint.lattices.dtype import DType
from absint.lattices.logic.relation import eq
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim
from absint.lattices.value import Tensor
from absint.transfer.application import apply
from absint.transfer.contrib.type_table import TABLE
from absint.transfer.families import shipped
from absint.transfer.forms import form_of
from absint.transfer.op import Op
from absint.transfer.rule import MICROSOFT, Rule, rule, shaped
from absint.transfer.stated import Applied, RuleError


def applied(made: Rule, *shapes: object, outputs: int = 1, **attributes: int) -> Applied:
    inputs = [None if s is None else Tensor(DType.FLOAT, Shape(s if s != "?" else None)) for s in shapes]  # type: ignore[arg-type]
    return apply(made, Op(made, inputs, attributes, outputs=outputs))


def of(form: str) -> Rule:
    return shaped(f"# Says.\nMoved: {form}", domain="acme")[0]


def stated(found: Applied) -> list[str]:
    return [f"{s.relation}: {s.reason}" for s in found.statements]


@pytest.mark.parametrize(
    ("form", "shapes", "outputs"),
    [
        ("X[N, M] -> Y[M, N]", [["a", 3]], ["[3, a]"]),
        ("X[N, M] -> Y[N // 2, 2 * M] Z[N * M - 1]", [[8, "b"]], ["[4, 2*b]", "[8*b - 1]"]),
        ("X[N, heads * D] w[D] -> Y[N, heads, D]", [["a", 24], [6]], ["[a, 4, 6]"]),
        ("X[...] -> Y[...]", [["*s", 4]], ["[*s, 4]"]),
        ("X[..., D] -> Y[..., 2, D]", [["a", "b", 4]], ["[a, b, 2, 4]"]),
        ("X[B, ...] -> Y[..., B]", [["a", "b", 4]], ["[b, 4, a]"]),
        ("X[..., D] y[..., D] -> Y[..., D]", [[None, "b"], ["a", None]], ["[a, b]"]),
        ("X[..., D] -> Y[D]", [["*s", 4]], ["[4]"]),
        ("X[N] M[N]? -> Y[N] Z[?]", [["a"], None], ["[a]", "[?]"]),
        ("X[N] M[N] -> Y[N]", [[None], ["a"]], ["[a]"]),
        ("X[] -> Y[]", [[]], ["[]"]),
    ],
)
def test_dims_move(form: str, shapes: list[object], outputs: list[str]) -> None:
    made = of(form)
    found = applied(made, *shapes, outputs=len(made.outputs), heads=4)
    assert found.rejected is None
    assert [str(value.shape) for value in found.outputs if isinstance(value, Tensor)] == outputs


@pytest.mark.parametrize(
    ("form", "shapes", "texts"),
    [
        ("X[N] y[N] -> Y[N]", [["a"], ["b"]], ["a == b: dim 0 of y must fit the other inputs"]),
        ("X[N] y[2 * N] -> Y[N]", [["a"], ["b"]], ["2*a == b: dim 0 of y must fit the other inputs"]),
        ("X[N, 4] -> Y[N]", [["a", "b"]], ["b == 4: dim 1 of X must be 4"]),
        ("X[...] y[...] -> Y[...]", [["a"], ["b"]], ["a == b: dim 0 of y must equal that of X"]),
    ],
)
def test_inputs_agree(form: str, shapes: list[object], texts: list[str]) -> None:
    assert stated(applied(of(form), *shapes)) == texts


@pytest.mark.parametrize(
    ("form", "shapes", "reason"),
    [
        ("X[N, M] -> Y[N]", [["a"]], "X must have rank 2, found shape [a]"),
        ("X[N, ..., M] -> Y[N]", [["a"]], "X must have rank 2 or more, found shape [a]"),
        ("X[...] y[...] -> Y", [["a"], ["a", 1]], "y must have the rank of X, found shapes [a, 1] and [a]"),
        ("X[heads] -> Y", [[3]], "dim 0 of X must fit the other inputs, found 3 and 4"),
        ("X[N] -> Y[N, missing]", [["a"]], "attribute missing must be positive, found none"),
    ],
)
def test_a_node_that_cannot_run_says_why(form: str, shapes: list[object], reason: str) -> None:
    assert applied(of(form), *shapes, heads=4).rejected == reason


def test_what_is_unknown_may_fail() -> None:
    found = applied(of("X[N, M] y[..., M]? -> Y[N]"), "?", "?")
    assert found.doubts == ("X must have rank 2", "y must have rank 1 or more", "dim 0 of y must fit the other inputs")
    assert applied(of("X[N] y[N] -> Y[N]"), ["a"]).doubts == ("required input y is missing",)


def test_types_are_named_or_those_of_inputs() -> None:
    made = of("X[N] y[N] -> Y[N] Z:int64[N] W:X&y[N] V:?[N]")
    found = applied(made, ["a"], ["a"], outputs=4)
    assert [value.dtype for value in found.outputs if isinstance(value, Tensor)] == [
        DType.FLOAT,
        DType.INT64,
        DType.FLOAT,
        DType.UNDEFINED,
    ]


def test_a_dim_of_outputs_alone_is_one_number() -> None:
    found = applied(of("X[N] -> Y[Kept] Z[Kept + 1]"), ["a"], outputs=2)
    first, second = (value.shape[0] for value in found.outputs if isinstance(value, Tensor))
    assert second == first + 1


def test_a_function_states_more_and_may_give_the_outputs() -> None:
    @rule("Fold", "X[N, M] -> Y[N // 2, 2 * M]", domain="acme")
    def fold(op: Op, N: Dim) -> None:
        op.require(eq(N % 2, 0), "the number of rows must be even")

    found = applied(fold, ["a", 4])
    assert str(found.outputs[0]) == "Tensor(FLOAT[a//2, 8])"
    assert stated(found) == ["a % 2 == 0: the number of rows must be even"]

    @rule("Rows", "X[N, M] -> Y", domain="acme")
    def rows(op: Op, M: Dim, N: Dim) -> Tensor:
        return Tensor(DType.INT64, Shape([N, M, 1]))

    assert str(applied(rows, ["a", 4]).outputs[0]) == "Tensor(INT64[a, 4, 1])"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("X[N]", "write inputs and outputs"),
        ("X[N] ->", "write inputs and outputs"),
        ("X[N -> Y", "must begin with an input or output"),
        ("X[N / 2] -> Y", "'N / 2' must be a dim"),
        ("X[N M] -> Y", "'N M' must be a dim"),
        ("X[f(N)] -> Y", "must be a dim"),
        ("X[..., N, ...] -> Y", "must be a dim"),
        ("X[N] -> Y:floaty[N]", "'floaty' must be a type, or inputs joined by &"),
    ],
)
def test_a_text_that_is_no_form_is_refused(form: str, message: str) -> None:
    with pytest.raises(RuleError, match=message.replace(".", r"\.").replace("(", r"\(")):
        form_of(form)


def test_the_form_may_follow_the_names_in_one_text() -> None:
    def moved(op: Op) -> None:
        """Says."""

    apart, together = (
        rule("Fold Bend", "X[N, M] w? -> Y:float[N]")(moved),
        rule("Fold Bend: X[N, M] w? -> Y:float[N]")(moved),
    )
    for made in (apart, together):
        assert (made.names, made.inputs, made.outputs) == (("Fold", "Bend"), ("X", "w"), ("Y",))
        assert str(applied(made, ["a", 4], None).outputs[0]) == "Tensor(FLOAT[a])"


def test_a_parameter_must_be_a_dim() -> None:
    with pytest.raises(RuleError, match="must be dims of inputs, found K"):
        rule("Odd", "X[N] -> Y[N]")(lambda op, K: None)


def test_inputs_of_the_shipped_forms_are_optional_as_in_the_table_of_types() -> None:
    for made in shipped():
        form = getattr(made.function, "form", None)
        for name in made.names if form is not None and made.domain == MICROSOFT else ():
            marks = TABLE[MICROSOFT][name].partition("->")[0].split()
            for formal, mark in zip(form.inputs if form is not None else (), marks, strict=False):
                assert not formal.has_dims or formal.optional == mark.endswith("?"), (name, formal.name)
