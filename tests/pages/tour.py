"""The notebook of the tour, run anew: `python -m tests.pages.tour` stores its outputs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import nbformat
from nbclient import NotebookClient

ROOT: Final = Path(__file__).parents[2]
NOTEBOOK: Final = ROOT / "examples" / "tour.ipynb"


def stored() -> nbformat.NotebookNode:
    """The notebook with the outputs in it."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed() -> nbformat.NotebookNode:
    """The notebook, every cell run in a new kernel beside the models. Raises CellExecutionError if one fails."""
    found = stored()
    for cell in found.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT)
    try:
        client = NotebookClient(
            found, timeout=120, coalesce_streams=True, resources={"metadata": {"path": str(NOTEBOOK.parent)}}
        )
        client.execute()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    found.metadata.language_info = {"name": "python"}
    for cell in found.cells:
        cell.metadata.pop("execution", None)  # when it was run
        for output in cell.get("outputs", ()):
            if output.get("data", {}).get("text/html", "").startswith("<iframe"):
                del output.data["text/html"]  # the whole page, which says no more than the report of the model
    return found


if __name__ == "__main__":
    nbformat.write(executed(), NOTEBOOK)
