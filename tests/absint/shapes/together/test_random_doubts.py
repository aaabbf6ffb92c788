"""Random programs with nodes that may fail on data: what `check` says to run with the help of an analysis runs."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import NodeProto, TensorProto, helper

import absint
from absint import Outcome
from absint.analyses.ranges import Ranges
from absint.lattices.domains import INTERVALS, Interval
from tests.absint.shapes.together.programs import Programs

LEAST, MOST = -3, 5


class Doubtful(Programs):
    """Numbers come from data, and are indices and sizes."""

    def model(self) -> onnx.ModelProto:
        """A model with the inputs `table` and `many`."""
        nodes = [helper.make_node(f"Reduce{kind}", ["many"], [kind], keepdims=0) for kind in ("Max", "Min")]
        known = ["Max", "Min"]
        for _ in range(self.random.randint(3, 6)):
            self.statement(nodes, known, 2)
        nodes += [helper.make_node("Identity", [name], [f"out{k}"]) for k, name in enumerate(known[-3:])]
        info = helper.make_tensor_value_info
        inputs = [info("many", TensorProto.INT64, ["N"]), info("table", TensorProto.INT64, [6])]
        outputs = [info(f"out{k}", TensorProto.INT64, []) for k in range(len(known[-3:]))]
        made = helper.make_model(
            helper.make_graph(nodes, "g", inputs, outputs), opset_imports=[helper.make_opsetid("", 18)], ir_version=9
        )
        onnx.checker.check_model(made)
        return made

    def number(self, nodes: list[NodeProto], known: list[str]) -> str:
        kind = self.random.choice(["Gather", "ConstantOfShape", "Expand", "Range", "Div", "Clip", *[""] * 5])
        if not kind:
            return super().number(nodes, known)
        name, number = self.name("u"), self.operand(nodes, known)
        if kind in ("Gather", "Div", "Clip"):
            inputs = {"Gather": ["table", number], "Div": [number, self.random.choice(known)]}
            bounds = [self.constant(nodes, least) for least in (0, self.random.randint(1, 6))]
            nodes.append(helper.make_node(kind, inputs.get(kind, [number, *bounds]), [name]))
            return name
        made, axes, size = self.name("t"), self.name("c"), self.name("z")
        nodes.append(helper.make_node("Constant", [], [axes], value_ints=[0]))
        nodes.append(helper.make_node("Unsqueeze", [number, axes], [size]))
        ends = [self.constant(nodes, 0), number, self.constant(nodes, 1)]
        inputs = {"ConstantOfShape": [size], "Expand": [number, size], "Range": ends}
        nodes.append(helper.make_node(kind, inputs[kind], [made]))
        nodes.append(helper.make_node("Size", [made], [name]))
        return name


class Integers(absint.ElementAnalysis[Interval]):
    domain = INTERVALS


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", range(16))
def test_what_is_said_to_run_runs(seed: int) -> None:
    model = Doubtful(seed).model()
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options)
    box = Interval(LEAST, MOST)
    for analysis in (Ranges(many=(LEAST, MOST), table=(0, 5)), Integers(many=box, table=Interval(0, 5))):
        checked = absint.analyze(model, with_=[analysis]).check({"N": 3})
        rng = np.random.default_rng(seed)
        outcomes = {has_run(session, rng) for _ in range(8)}
        assert False not in outcomes or checked.outcome is not Outcome.RUNS, str(checked)
        assert True not in outcomes or checked.outcome is not Outcome.ILLEGAL, str(checked)


def has_run(session: ort.InferenceSession, rng: np.random.Generator) -> bool:
    try:
        session.run(None, {"many": rng.integers(LEAST, MOST + 1, 3), "table": rng.integers(0, 6, 6)})
    except Exception:  # of onnxruntime, by the kind of failure
        return False
    return True
