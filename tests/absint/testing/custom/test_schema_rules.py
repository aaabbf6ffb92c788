"""The inference functions of onnx schemas: what is taken of right ones, and of those that are wrong about names.

Each function here is right about numbers, in the sense that it is the reference that claims are held against; what it
makes of names and of missing ranks is what such functions get wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import onnx
import pytest
from onnx import TensorProto, TypeProto, defs, helper
from onnx.shape_inference import infer_node_outputs

import absint
from absint.cli import run
from absint.lattices.terms.expr import Expr
from absint.lattices.value import Tensor
from absint.program.rules.schema_rules import schema_rule
from absint.testing import Arg, Case, run_case, sizes
from absint.transfer.families import shipped
from absint.transfer.rule import Table
from tests.absint.testing.custom.graphs import Dims, around

Infer = Callable[[Any], None]
DOMAIN = "schema.test"


def dims_of(context: Any, index: int = 0) -> list[Any]:
    return list(context.get_input_type(index).tensor_type.shape.dim)


def give(context: Any, *dims: Any, index: int = 0) -> None:
    """Set an output: messages are copied, ints are sizes, texts names, and None unknown."""
    made = TypeProto()
    made.tensor_type.elem_type = context.get_input_type(0).tensor_type.elem_type
    made.tensor_type.shape.SetInParent()
    for dim in dims:
        new = made.tensor_type.shape.dim.add()
        if isinstance(dim, int):
            new.dim_value = dim
        elif isinstance(dim, str):
            new.dim_param = dim
        elif dim is not None:
            new.CopyFrom(dim)
    context.set_output_type(index, made)


def same(context: Any) -> None:
    give(context, *dims_of(context))


def swapped(context: Any) -> None:
    give(context, *reversed(dims_of(context)))


def ten_classes(context: Any) -> None:
    give(context, dims_of(context)[0], 10)


def doubled(context: Any) -> None:
    give(context, *(2 * d.dim_value for d in dims_of(context)))


def one_more(context: Any) -> None:
    give(context, *(d.dim_value + 1 for d in dims_of(context)))


def at_most_512(context: Any) -> None:
    give(context, *(512 if d.dim_value > 512 else d for d in dims_of(context)))


def padded_to_64(context: Any) -> None:
    give(context, *(-(-d.dim_value // 64) * 64 if d.HasField("dim_value") else d for d in dims_of(context)))


def squeezed(context: Any) -> None:
    give(context, *(d for d in dims_of(context) if d.dim_value != 1))


def guessed_names(context: Any) -> None:
    give(context, *(d if d.HasField("dim_value") else "batch" for d in dims_of(context)))


def by_name(context: Any) -> None:
    """Thinks that a dim is what its name says."""
    give(context, *(d if d.HasField("dim_value") or d.dim_param.endswith("0") else 3 for d in dims_of(context)))


def at_least_one(context: Any) -> None:
    give(context, *(d if d.HasField("dim_param") else max(d.dim_value, 1) for d in dims_of(context)))


def matrices_only(context: Any) -> None:
    rows, columns = dims_of(context)
    give(context, rows, columns)


def only_numbers(context: Any) -> None:
    if not all(d.HasField("dim_value") for d in dims_of(context)):
        raise TypeError("sizes must be numbers\nmore")
    give(context, *dims_of(context))


def says_nothing(context: Any) -> None:
    pass


INFER: dict[str, Infer] = {
    name.title().replace("_", ""): function
    for name, function in list(globals().items())
    if callable(function) and getattr(function, "__module__", "") == __name__ and name not in ("dims_of", "give")
}


def schema(name: str, infer: Infer | None, inputs: int = 1) -> defs.OpSchema:
    kind = defs.OpSchema.FormalParameter
    made = defs.OpSchema(
        name,
        DOMAIN,
        1,
        inputs=[kind(f"X{k}", "T") for k in range(inputs)],
        outputs=[kind("Y", "T")],
        type_constraints=[("T", ["tensor(float)", "tensor(int64)"], "")],
        attributes=[defs.OpSchema.Attribute("size", defs.OpSchema.AttrType.INT, "", required=False)],
    )
    if infer is not None:
        made.set_type_and_shape_inference_function(infer)
    return made


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for name, infer in INFER.items():
        defs.register_schema(schema(name, infer))
    yield
    for name in INFER:
        defs.deregister_schema(name, 1, DOMAIN)


def analysed(name: str, *dims: Dims, **settings: Any) -> absint.Result:
    return absint.analyze(around(name, *dims, domain=DOMAIN), **settings)


@pytest.mark.parametrize(
    ("name", "dims", "shape"),
    [
        ("Same", ["N", "M", 3], "[N, M, 3]"),
        ("Same", ["N", None], "[N, X0_dim1]"),
        ("Same", ["2*N + 1", "N"], "[2*N + 1, N]"),
        ("Same", [4, 0], "[4, 0]"),
        ("Same", [], "[]"),
        ("Same", None, "[*_s0]"),
        ("Swapped", ["N", "M", 3], "[3, M, N]"),
        ("TenClasses", ["N", "M"], "[N, 10]"),
        ("Doubled", ["N", 3], "[_d0, 6]"),
        ("Doubled", [2, 3], "[4, 6]"),
        ("OneMore", ["N", 3], "[_d0, 4]"),
        ("AtMost512", ["N", 3], "[_d0, 3]"),
        ("AtMost512", [1000, 3], "[512, 3]"),
        ("PaddedTo64", ["N", 3], "[_d0, 64]"),
        ("Squeezed", ["N", 3], "[*_s0]"),
        ("Squeezed", [1, 3], "[3]"),
        ("GuessedNames", ["N", 3], "[_d0, 3]"),
        ("ByName", ["N", 5], "[_d0, 5]"),
        ("AtLeastOne", ["N", 3], "[_d0, 3]"),
        ("MatricesOnly", ["N", "M"], "[N, M]"),
        ("MatricesOnly", None, "[*_s0]"),
        ("OnlyNumbers", ["N", 3], "[*_s0]"),
        ("OnlyNumbers", [2, 3], "[2, 3]"),
        ("SaysNothing", ["N", 3], "[*_s0]"),
    ],
)
def test_what_is_taken(name: str, dims: Dims, shape: str) -> None:
    result = analysed(name, dims)
    assert str(result.shapes["Y0"]) == shape
    assert dict(result.inferred) == {f"{DOMAIN}::{name}": 1}
    assert not result.unruled
    assert not result.is_complete
    result.verify()


@pytest.mark.parametrize("name", sorted(INFER))
@pytest.mark.parametrize("dims", [["N", "M"], ["N", "N"], ["N", 3], ["N + 1", "2*N"], [None, "N"], None], ids=str)
def test_what_is_taken_is_what_numbers_give(name: str, dims: Dims) -> None:
    """At sizes, ranks too, that are not those the analysis tries."""
    made = around(name, dims, domain=DOMAIN)
    claimed = absint.analyze(made).values["Y0"]
    assert isinstance(claimed, Tensor)
    for n in (0, 1, 2, 4, 5, 9, 63, 65, 500, 513, 700, 5000):
        binding = {"N": n, "M": 31, "X0_dim0": 17}
        for rank in range(6) if dims is None else (0,):
            chosen = [n + 3] * rank
            if dims is not None:
                shape = absint.analyze(made).shapes["X0"]
                chosen = shape.evaluate(binding)
            actual = told(name, chosen)
            if actual is None or claimed.shape.rank is None:
                continue
            assert claimed.shape.rank == len(actual)
            for dim, size in zip(claimed.shape, actual, strict=True):
                assert isinstance(dim, Expr)
                if dim.free_symbols <= binding.keys():
                    assert dim.evaluate(binding) == size, f"{dim} at {binding}, {chosen}"


def told(name: str, numbers: Sequence[int]) -> list[int] | None:
    """The function's answer for numbers; None if it refuses them."""
    node = helper.make_node(name, ["x"], ["y"], domain=DOMAIN)
    given = {"x": helper.make_tensor_type_proto(TensorProto.FLOAT, numbers)}
    try:
        found = infer_node_outputs(defs.get_schema(name, 1, DOMAIN), node, given)
    except Exception:
        return None
    return [d.dim_value for d in found["y"].tensor_type.shape.dim] if found["y"].HasField("tensor_type") else None


def test_equal_names_are_given_for_equal_terms_only() -> None:
    def joined(context: Any) -> None:
        first, second = dims_of(context, 0), dims_of(context, 1)
        give(context, first[0] if first[0] == second[0] else None)

    defs.register_schema(schema("Joined", joined, 2))
    try:
        shapes = [str(analysed("Joined", a, b).shapes["Y0"]) for a, b in [("NN"), ("NM"), ([None], [None])]]
    finally:
        defs.deregister_schema("Joined", 1, DOMAIN)
    assert shapes == ["[N]", "[_d0]", "[_d0]"]


def test_a_claim_is_named_wherever_it_is_used() -> None:
    result = analysed("Same", ["N", 3])
    assert [str(d) for d in result.diagnostics] == [
        f"warning: {DOMAIN}::Same: no transfer rule (1 node); inferred by its onnx schema, not checked by absint "
        "[schema-inference]"
    ]
    proof = result.prove("Y0[0] == X0[0]")
    assert proof.verdict is absint.Verdict.PROVED
    (premise,) = proof.because
    assert premise.reason == f"the onnx schema of {DOMAIN}::Same says so, which absint does not check"
    assert "the operator has no rule; what is known is from the onnx schema of" in str(result.explain("Y0", 0))
    assert result.check({"N": 2}).outcome.value != "runs"


def test_it_can_be_switched_off(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = analysed("Same", ["N", 3], schema_inference=False)
    assert (str(result["Y0"]), dict(result.unruled), dict(result.inferred)) == (
        "Tensor(FLOAT[*_s0])",
        {f"{DOMAIN}::Same": 1},
        {},
    )
    path = str(tmp_path / "m.onnx")
    onnx.save(around("Same", ["N", 3], domain=DOMAIN), path)
    assert run(["analyze", path, "--require", "rules"]) == 1
    shown = capsys.readouterr().out
    assert f"by schema  {DOMAIN}::Same (1)" in shown
    assert f"{DOMAIN}::Same: no rule, only its onnx schema (1 node)" in shown
    run(["analyze", path, "--no-schema-inference"])
    assert f"{DOMAIN}::Same: no transfer rule (1 node); outputs are unknown" in capsys.readouterr().out


def test_a_function_that_fails_is_a_note_in_one_line() -> None:
    texts = [str(d) for d in analysed("OnlyNumbers", ["N", 3]).diagnostics]
    assert texts[0] == (
        f"warning: {DOMAIN}::OnlyNumbers own: the inference function of its onnx schema failed "
        "(TypeError: sizes must be numbers) [node]"
    )


def test_a_rule_comes_first_and_a_schema_may_come_later() -> None:
    made = around("Late", ["N", 3], domain=DOMAIN)
    assert absint.analyze(made).unruled
    defs.register_schema(schema("Late", same))
    try:
        assert str(absint.analyze(made).shapes["Y0"]) == "[N, 3]"

        @absint.rule("Late", domain=DOMAIN, inputs="X")
        def late(op: absint.Op) -> Tensor:
            """A vector."""
            return Tensor(op.dtype("X"), absint.Shape([7]))

        assert str(absint.analyze(made, table=absint.TABLE.extended([late])).shapes["Y0"]) == "[7]"
    finally:
        defs.deregister_schema("Late", 1, DOMAIN)
    assert absint.analyze(made).unruled


def test_attributes_and_constants_are_passed_on() -> None:
    def sized(context: Any) -> None:
        give(context, context.get_attribute("size").i, *(dims_of(context)[1:]))

    defs.register_schema(schema("Sized", sized))
    try:
        results = [absint.analyze(around("Sized", ["N", "M"], domain=DOMAIN, size=size)) for size in (5, 6)]
    finally:
        defs.deregister_schema("Sized", 1, DOMAIN)
    assert [str(result.shapes["Y0"]) for result in results] == ["[5, M]", "[6, M]"]


@pytest.mark.parametrize("name", ["MatMul", "Concat", "Gemm", "Transpose"])
def test_a_schema_written_in_c_plus_plus(name: str) -> None:
    """Operators whose rules have been removed."""
    table = Table(rule for rule in shipped() if name not in rule.names)
    shapes: dict[str, list[Dims]] = {
        "MatMul": [["B", "N", 4], [4, "M"]],
        "Gemm": [["N", 4], [4, "M"]],
        "Concat": [["N", 4], ["N", "M"]],
        "Transpose": [["N", "M", 3]],
    }
    attributes = {"Concat": {"axis": 1}, "Transpose": {"perm": [2, 0, 1]}}.get(name, {})
    made = around(name, *shapes[name], domain="", version=18, **attributes)
    result = absint.analyze(made, table=table)
    expected = absint.analyze(made).shapes["Y0"]
    found = result.shapes["Y0"]
    assert name in result.inferred
    assert found is not None
    assert expected is not None
    same_dims = [str(a) == str(b) for a, b in zip(found, expected, strict=True)]
    assert same_dims.count(False) == (name == "Concat")


SIZES = sizes(N=[0, 1, 2, 5], M=[0, 1, 3])
EXECUTED = [
    Case("MatMul", [Arg(["N", 4]), Arg([4, "M"])], bindings=SIZES),
    Case("MatMul", [Arg(["N", "M"]), Arg(["M", "N"])], bindings=SIZES),
    Case("Conv", [Arg([1, 3, "N", "M"]), Arg([2, 3, 3, 3])], {"pads": [1] * 4}, bindings=SIZES),
    Case("Concat", [Arg(["N", "M"]), Arg(["N", 2])], {"axis": 1}, bindings=SIZES),
    Case("Add", [Arg(["N", "M"]), Arg(["M"])], bindings=SIZES),
    Case("Add", [Arg(["N", 1]), Arg(["M"])], bindings=SIZES),
    Case("Add", [Arg(["N"]), Arg(["M"])], bindings=SIZES),
    Case("Add", [Arg(["N", "M"], unknown_rank=True), Arg(["M"])], bindings=SIZES),
    Case("Gather", [Arg(["N", 3]), Arg(["M"], TensorProto.INT64, high=1)], bindings=SIZES),
    Case("Reshape", [Arg(["N", "M", 2]), Arg(elements=[0, -1], dtype=TensorProto.INT64)], bindings=SIZES),
    Case("Reshape", [Arg(["N", "M"]), Arg(elements=["N*M"], dtype=TensorProto.INT64, hidden=True)], bindings=SIZES),
    Case("Squeeze", [Arg(["N", "M", 1])], bindings=SIZES),
    Case("Split", [Arg(["N", "M"])], {"num_outputs": 2}, outputs=2, bindings=SIZES),
    Case("Tile", [Arg(["N", 2]), Arg(elements=[2, "M"], dtype=TensorProto.INT64, fed=True)], bindings=SIZES),
    Case("Expand", [Arg(["N", 1]), Arg(elements=[1, "M"], dtype=TensorProto.INT64, fed=True)], bindings=SIZES),
    Case("ReduceSum", [Arg(["N", "M"]), Arg(elements=[0], dtype=TensorProto.INT64)], bindings=SIZES),
    Case("MaxPool", [Arg([1, 1, "N", "M"])], {"kernel_shape": [2, 2]}, bindings=SIZES),
    Case("OneHot", [Arg(["N"], TensorProto.INT64), Arg(elements=5), Arg(["M"])], bindings=sizes(N=[0, 1, 3], M=[2])),
    Case("Flatten", [Arg(["N", "M", 3])], bindings=SIZES),
]


@pytest.mark.parametrize("case", EXECUTED, ids=str)
def test_schemas_of_onnx_against_runs(case: Case) -> None:
    attributes = [helper.make_attribute(name, value) for name, value in case.attributes.items()]
    rule = schema_rule(case.domain, case.op, case.opset, attributes)
    assert rule is not None
    assert run_case(case, Table([rule])) > 0
