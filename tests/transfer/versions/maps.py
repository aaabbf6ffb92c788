"""Models whose input is a map: what is claimed of their output, held against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import onnx
from onnx import TensorProto, helper

from absint import analyze
from tests.soundness.claims import Claims
from tests.transfer.old_versions import in_onnxruntime

ML = "ai.onnx.ml"


@dataclass(frozen=True)
class MapModel:
    """One node whose input is a map with keys of a type, and the maps to run it on."""

    op: str
    attributes: Mapping[str, Any]
    keys: int
    maps: Sequence[Mapping[object, float]]
    expect: str

    def model(self) -> onnx.ModelProto:
        element = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
        given = helper.make_value_info("x", helper.make_map_type_proto(self.keys, element))
        node = helper.make_node(self.op, ["x"], ["y"], domain=ML, **self.attributes)
        graph = helper.make_graph([node], "map", [given], [onnx.ValueInfoProto(name="y")])
        imports = [helper.make_opsetid("", 20), helper.make_opsetid(ML, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)


def run_model(item: MapModel) -> int:
    """Hold the claims against a run on every map; the number of runs."""
    result = analyze(item.model())
    assert str(result.shapes["y"]) == item.expect
    claims = Claims.of(result)
    for given in item.maps:
        outputs, failure = in_onnxruntime(item.model(), {"x": dict(given)})
        assert outputs is not None, failure
        assert not list(claims.wrong({}, {"y": outputs[0]}))
    return len(item.maps)


NUMBERS = [{k: float(k) for k in range(size)} for size in (1, 2, 3, 5, 8)]
WORDS = [{"b": 0.5, "c": 1.5}, {"a": 1.0}, {"b": 2.0}, {"a": 1.0, "b": 2.0}, {"c": 3.0}]

MAPS: Final[Mapping[tuple[str, str], Sequence[MapModel]]] = {
    (ML, "CastMap"): (
        MapModel("CastMap", {"cast_to": "TO_FLOAT"}, TensorProto.INT64, NUMBERS, "[1, _d0]"),
        MapModel("CastMap", {"map_form": "SPARSE", "max_map": 9}, TensorProto.INT64, NUMBERS, "[1, 9]"),
    ),
    (ML, "DictVectorizer"): (
        MapModel("DictVectorizer", {"string_vocabulary": ["a", "b"]}, TensorProto.STRING, WORDS, "[1, 2]"),
        MapModel("DictVectorizer", {"int64_vocabulary": [0, 2, 4]}, TensorProto.INT64, NUMBERS, "[1, 3]"),
    ),
}
