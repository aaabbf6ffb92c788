"""Preview operators of training, executed in onnx.reference."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from absint.lattices.value import Tensor
from absint.transfer.reduction import DOMAIN
from tests.transfer.harness import Arg, Case, apply_case, run_case, sizes

NM = sizes(N=[0, 1, 2, 5], M=[0, 1, 4])
MOMENTUM = {"alpha": 0.9, "beta": 0.1, "norm_coefficient": 0.01, "mode": "standard"}
HEAD = [Arg([]), Arg([], TensorProto.INT64, high=1)]
"""Rate and number of updates, 0: onnx.reference gives doubles for Adam after the first update."""


def step(name: str, attributes: dict[str, object], *tensors: list[int | str], states: int, expect: list[str]) -> Case:
    """One step of an optimiser that trains `tensors`, each with a gradient and states of its shape."""
    inputs = [*HEAD, *(Arg(dims, data=lambda s, r: r.random(s)) for _ in range(2 + states) for dims in tensors)]
    outputs = (1 + states) * len(tensors)
    return Case(name, inputs, attributes, outputs, NM, opset=1, domain=DOMAIN, expect=expect * (1 + states))


ONE, TWO = (["N", "M"],), (["N", 3], ["M"])

CASES = [
    *(
        step(name, attributes, *tensors, states=states, expect=expect)
        for name, attributes, states in (
            ("Adagrad", {"decay_factor": 0.1}, 1),
            ("Adam", {"alpha": 0.9, "beta": 0.8}, 2),
            ("Momentum", MOMENTUM, 1),
            ("Momentum", {**MOMENTUM, "mode": "nesterov"}, 1),
        )
        for tensors, expect in ((ONE, ["[N, M]"]), (TWO, ["[N, 3]", "[M]"]))
    ),
    Case(
        "Adagrad",
        [*HEAD, Arg(["N", 1]), Arg(["M"]), Arg(["N", "M"], data=lambda s, r: r.random(s))],
        outputs=2,
        bindings=NM,
        opset=1,
        domain=DOMAIN,
        expect=["[N, M]", "[N, M]"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_runs_agree(case: Case) -> None:
    assert run_case(case) >= 5


def test_tensors_come_in_groups() -> None:
    assert apply_case(Case("Adam", [*HEAD, Arg([2]), Arg([2])], domain=DOMAIN, opset=1)).rejected


def test_a_gradient_has_the_shape_of_what_it_is_taken_by() -> None:
    case = Case("Gradient", [Arg(["N", 2]), Arg(["M"])], {"xs": ["a", "b"], "y": "c"}, 2, opset=1, domain=DOMAIN)
    assert [str(v.shape) for v in apply_case(case).outputs if isinstance(v, Tensor)] == ["[N, 2]", "[M]"]
