"""Constraint sets in the forms of other tools; JSON, SMT-LIB and metadata read back to the same set.

script         SMT-LIB 2 with named assertions; JSON of the schema `absint.constraints/1`, relations as text and trees
records        the constraints as plain data and properties of a model file, which both share
guard          source of a Python function that rejects sizes at which the model cannot run, and of one from input sizes
               to all output shapes
torch_dims     source of the `dynamic_shapes` of torch.export
python_source  dims and relations as Python expressions; python_text: names, comments and sizes of generated sources
"""

from absint.solver.export.guard import shapes_function, to_python
from absint.solver.export.records import ExportError, from_metadata, to_metadata
from absint.solver.export.script import dim_data, from_json, from_smtlib, json_schema, relation_data, to_json, to_smtlib
from absint.solver.export.torch_dims import to_torch

__all__ = [
    "ExportError", "dim_data", "from_json", "from_metadata", "from_smtlib", "json_schema", "relation_data",
    "shapes_function", "to_json", "to_metadata", "to_python", "to_smtlib", "to_torch",
]  # fmt: skip
