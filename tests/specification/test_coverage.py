"""Each attribute of ai.onnx is set by two instances, or it is listed why not."""

from __future__ import annotations

import onnx

from absint.research.specification.attributes import VARIED
from absint.research.specification.specs import specification
from tests.specification.coverage import LEFT_OUT, NOT_SPECIFIED, attributes, instances, uncovered
from tests.specification.operators import versions


def test_every_attribute_is_covered() -> None:
    every, counts = attributes(), instances()
    found = uncovered(every, counts)
    assert not [place for place, reason in found.items() if not reason]
    assert set(LEFT_OUT) <= set(found)
    assert sum(reason == NOT_SPECIFIED for reason in found.values()) <= 21
    assert len(every) > 300


def test_functions_of_onnx_have_specifications_of_their_own() -> None:
    """So no certificate and no proof about a model needs the bodies that ONNX gives."""
    schemas = [schema for schema in onnx.defs.get_all_schemas_with_history() if not schema.deprecated]
    defined = [schema for schema in schemas if schema.has_function or schema.has_context_dependent_function]
    without = {s.name for s in defined if specification(s.domain, s.name, s.since_version) is None}
    assert len({schema.name for schema in defined}) == 49
    assert without == {"SequenceMap", "FlexAttention"}


def test_one_instance_is_too_few() -> None:
    place = ("Elu", "alpha")
    assert uncovered([place], {place: 1}) == {place: ""}
    assert uncovered([place], {place: 2}) == {}


def test_values_are_set_at_nodes_of_several_kinds() -> None:
    spec = specification("", "RoiAlign", 16)
    assert spec is not None
    chosen = [found for found in spec.instances("RoiAlign", 16) if found.attributes.get("sampling_ratio") == 2]
    assert len(chosen) == len(set(map(repr, chosen))) >= 1
    older = specification("", "RoiAlign", 10)
    assert older is not None
    name = "coordinate_transformation_mode"
    assert not any(name in found.attributes for found in older.instances("RoiAlign", 10))


def test_attributes_are_those_of_schemas() -> None:
    known = set(attributes())
    for name, values in VARIED.items():
        operator, _, first = name.partition("-")
        assert {(operator, attribute) for attribute in values} <= known
        assert int(first or 1) in (1, *versions("", operator))
