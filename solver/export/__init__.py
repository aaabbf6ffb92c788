"""Constraint sets in the forms of other tools; JSON, SMT-LIB and metadata read back to the same set.

document    JSON of the schema `absint.constraints/1`, every relation as text and as a tree (trees)
script      SMT-LIB 2 with named assertions
guard       source of a Python function that rejects sizes at which the model cannot run; source of a Python function
            from input sizes to all output shapes
torch_dims  source of the `dynamic_shapes` of torch.export
records, errors                the constraints as plain data and properties of a model file; shared by the first two
python_source, python_text     shared by the last two
"""

from absint.solver.export.document import from_json, json_schema, to_json
from absint.solver.export.errors import ExportError
from absint.solver.export.guard import shapes_function, to_python
from absint.solver.export.records import from_metadata, to_metadata
from absint.solver.export.script import from_smtlib, to_smtlib
from absint.solver.export.torch_dims import to_torch
from absint.solver.export.trees import dim_data, relation_data

__all__ = [
    "ExportError", "dim_data", "from_json", "from_metadata", "from_smtlib", "json_schema", "relation_data",
    "shapes_function", "to_json", "to_metadata", "to_python", "to_smtlib", "to_torch",
]  # fmt: skip
