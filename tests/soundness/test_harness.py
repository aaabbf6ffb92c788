"""The harness finds what it is for: each kind of false claim is reported, and so is a process that a kernel ends."""

import numpy as np
import pytest
from onnx import helper

from absint.lattices.contents import Contents
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import eq
from absint.lattices.ramp import ramp
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import const
from absint.lattices.terms.normal import Real
from absint.lattices.value import SequenceOf, Tensor, Value
from absint.transfer.families import shipped
from absint.transfer.op import Op
from absint.transfer.rule import rule
from tests.soundness.harness import examine
from tests.soundness.models import node_tests
from tests.soundness.runs import ENGINE, Runner


@rule("Add", until=99, inputs="A B", complete=True)
def first_operand(op: Op) -> Tensor:
    """False: takes the shape of the first operand, and requires nothing."""
    return op.tensor("A")


@rule("Add", until=99, inputs="A B")
def too_strict(op: Op) -> Tensor:
    """False: requires what broadcasting does not."""
    a, b = op.tensor("A").shape, op.tensor("B").shape
    if not a.is_top and not b.is_top:
        op.require_equal(a[-1], b[-1], "last dims are equal")
    return Tensor(op.dtype("A"))


@rule("Add", until=99, inputs="A B")
def other_type(op: Op) -> Tensor:
    """False: the wrong element type."""
    return Tensor(DType.DOUBLE)


@rule("Add", until=99, inputs="A B")
def never(op: Op) -> Tensor:
    """False: claims that no run succeeds."""
    op.reject("never runs")


@rule("NonZero", until=99, inputs="X")
def one_number(op: Op) -> Tensor:
    """False: one invented symbol for two sizes, and a bound that does not hold."""
    found = op.fresh("found", 0, 2)
    op.define(eq(found, 2), "two are found")
    return Tensor(DType.INT64, shape_of((found, found)))


@rule("Relu", until=99, inputs="X")
def crash(op: Op) -> Tensor:
    """Fails."""
    return Tensor(op.dtype("X"), Shape([op.tensor("X").shape.dims[99]]))


@rule("Shape", until=99, inputs="data", elements=True)
def other_element(op: Op) -> Tensor:
    """False: each size is one more."""
    dims = op.tensor("data").shape
    known = [] if dims.is_top else [dim + 1 for dim in dims]
    return Tensor(DType.INT64, contents=Contents.vector(known))


@rule("Relu", until=99, inputs="X", elements=True)
def other_fill(op: Op) -> Tensor:
    """False: all elements are 7."""
    return Tensor(op.dtype("X"), op.tensor("X").shape, Contents.fill(Real.constant(7)))


@rule("Relu", until=99, inputs="X", elements=True)
def other_quotient(op: Op) -> Tensor:
    """False: all elements are a third, up to a rounding."""
    return Tensor(op.dtype("X"), op.tensor("X").shape, Contents.fill(Real(const(1), 3)))


@rule("Range", until=99, inputs="start limit delta", elements=True)
def other_ramp(op: Op) -> Tensor:
    """False: positions."""
    dtype = op.dtype("start")
    return Tensor(dtype, shape_of((op.fresh("count"),)), ramps=ramp(const(0), [const(1)]))


@rule("SplitToSequence", until=99, inputs="input split", outputs="output_sequence", elements=True)
def other_items(op: Op) -> Value:
    """False: the items have elements that nobody knows."""
    item = Tensor(op.dtype("input"), contents=Contents.fill(Real.constant(7)))
    return SequenceOf(item)


@pytest.mark.parametrize(
    ("name", "rule", "message"),
    [
        ("test_shape_example", other_element, "element 0"),
        ("test_relu", other_fill, "element 0: 7 is 7, ran"),
        ("test_relu", other_quotient, "element 0: (1)/3 is 1/3, ran"),
        ("test_range_int32_type_negative_delta", other_ramp, "output[0]: 0 is claimed in"),
        ("test_split_to_sequence_1", other_items, "element 0: 7 is 7, ran"),
        ("test_add_bcast", too_strict, "required"),
        ("test_add", other_type, "claimed DOUBLE, ran FLOAT"),
        ("test_add", never, "claimed never to"),
        ("test_nonzero_example", one_number, "is claimed in"),
        ("test_nonzero_example", one_number, "_d0 is 2, and"),
        ("test_relu", crash, "raised IndexError"),
        ("test_add", first_operand, "ran"),
    ],
)
def test_a_false_claim_is_reported(name: str, rule: object, message: str) -> None:
    report = examine(node_tests()[name], table=shipped().extended([rule]))  # type: ignore[list-item]
    assert any(message in text for text in report.wrong), report.wrong[:5]


def test_a_missing_requirement_of_a_complete_rule_is_reported() -> None:
    report = examine(node_tests()["test_add"], count=12, table=shipped().extended([first_operand]))
    assert any("every requirement holds, but it fails" in text for text in report.incomplete)


def test_sizes_0_and_1_are_among_the_runs() -> None:
    report = examine(node_tests()["test_relu"])
    assert report.ran > 20
    assert report.failed == 0
    assert not report.wrong


def test_a_kernel_that_ends_the_process_is_a_failure() -> None:
    runner = Runner(node_tests()["test_unique_sorted_with_axis"], constant=True)
    assert runner.run({"X": np.zeros((2, 3), np.float32)}).values is not None
    outcome = runner.run({"X": np.zeros((3, 0), np.float32)})
    assert outcome == (None, "onnxruntime ended the process", "onnxruntime")
    assert runner.run({"X": np.zeros((2, 3), np.float32)}).values is not None


def test_a_model_that_does_not_load_is_a_failure() -> None:
    model = helper.make_model(helper.make_graph([helper.make_node("NoSuchOperator", [], ["Y"])], "g", [], []))
    ok, message = ENGINE.load(model.SerializeToString())
    assert not ok
    assert isinstance(message, str)
