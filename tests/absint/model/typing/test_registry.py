"""The shipped table of schemas says what the installed onnx says, and is read only where it does."""

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import defs

from absint.model import protos, registry
from absint.model.registry import described
from tests.pages.schemas import table

SCHEMAS = defs.get_all_schemas_with_history()
OPERATORS = sorted({(schema.domain, schema.name) for schema in SCHEMAS})
VERSIONS = (*range(defs.onnx_opset_version() + 3), -5, 1 << 40)


def test_the_table_is_of_the_installed_onnx() -> None:
    assert Path(registry.TABLE).read_text("ascii") == table(), "run python -m tests.pages.schemas"


def test_the_table_gives_the_schema_in_force() -> None:
    shipped = registry.parsed(table())
    assert shipped.newest == defs.onnx_opset_version()
    assert set(shipped.lines) == set(OPERATORS)
    for domain, name in [*OPERATORS, ("", "Nope"), ("ai.onnx", "Add"), ("com.microsoft", "Gelu")]:
        for version in VERSIONS:
            try:
                bounded = max(min(version, (1 << 31) - 1), -1)
                expected = described(defs.get_schema(name, bounded, domain))
            except defs.SchemaError:
                expected = None
            assert shipped.in_force(domain, name, version) == expected, (domain, name, version)


def test_operators_with_large_attributes() -> None:
    """The attributes of all others are compared as bytes."""
    large = (defs.OpSchema.AttrType.TENSOR, defs.OpSchema.AttrType.SPARSE_TENSOR, defs.OpSchema.AttrType.GRAPH)
    found = {
        schema.name for schema in SCHEMAS if not schema.domain for a in schema.attributes.values() if a.type in large
    }
    assert found - {"ConstantOfShape"} == protos.HOLDING  # the tensor of that one has one element


def test_once_onnx_is_imported_it_is_asked() -> None:
    what = defs.OpSchema
    made = what(
        "Doubled",
        "tests.registry",
        1,
        inputs=[what.FormalParameter("X", "T")],
        outputs=[what.FormalParameter("Y", "T")],
        type_constraints=[("T", ["tensor(float)"], "")],
    )
    defs.register_schema(made)
    try:
        found = registry.in_force("tests.registry", "Doubled", 1)
        assert found is not None
        assert found.types == {"T": ("tensor(float)",)}
        assert registry.is_known("tests.registry", "Doubled")
    finally:
        defs.deregister_schema("Doubled", 1, "tests.registry")
    assert registry.in_force("tests.registry", "Doubled", 1) is None


def test_the_installed_version_is_read_without_an_import() -> None:
    assert registry.installed_version() == onnx.__version__


@pytest.mark.parametrize("version", ["1.17.0", "99.0.0", "", None])
def test_the_table_of_another_version_is_not_read(version: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "installed_version", lambda: version)
    registry.shipped.cache_clear()
    try:
        assert registry.shipped() is None
    finally:
        registry.shipped.cache_clear()


ASKED = """
import sys
from absint.model import protos, registry
{given}
from absint.model import schemas
assert schemas.since("", "Conv", 18) == 11
assert schemas.form("", "Conv", 18).required == ()
assert str(schemas.signature("", "Not", 13).inputs[0].allowed) == "BOOL"
assert schemas.departures("", "Nope", 18, {{}}).fatal == ()
assert schemas.departures("", "Upsample", 18, {{}}).harmless == ("Upsample is deprecated in opset 18 of ai.onnx",)
assert schemas.departures("", "Gelu", 18, {{}}).fatal == ("opset 18 of ai.onnx has no Gelu",)
print("onnx" in sys.modules, schemas.NEWEST)
"""


@pytest.mark.parametrize(
    ("given", "imported"), [("", False), ("registry.installed_version = lambda: None", True), ("import onnx", True)]
)
def test_questions_need_no_onnx_where_the_table_fits(given: str, imported: bool) -> None:
    """With another version, or once it is there, onnx itself answers the same."""
    code = ASKED.format(given=given)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(imported), str(defs.onnx_opset_version())]
