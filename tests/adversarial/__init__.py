"""Small models chosen for corners where tools that infer shapes are wrong or silent; each runs at its sizes.

case          what one is; each other file holds those of one theme
`python -m tests.adversarial DIR` writes them, and those of tests/absint/shapes/flows, as .onnx files with their sizes.
"""

from collections.abc import Mapping
from typing import Final

from tests.adversarial import (
    branches,
    broadcasting,
    content,
    declarations,
    division,
    edges,
    expressions,
    functions,
    gathering,
    joining,
    loops,
    names,
    narrow,
    reshaping,
    scans,
    sequences,
    slicing,
    windows,
)
from tests.adversarial.case import Adversarial, Theme

THEMES: Final[Mapping[str, Theme]] = {
    "branches": branches.BRANCHES,
    "broadcasting": broadcasting.BROADCASTING,
    "content": content.CONTENT,
    "declarations": declarations.DECLARATIONS,
    "division": division.DIVISION,
    "edges": edges.EDGES,
    "expressions": expressions.EXPRESSIONS,
    "functions": functions.FUNCTIONS,
    "gathering": gathering.GATHERING,
    "joining": joining.JOINING,
    "loops": loops.LOOPS,
    "names": names.NAMES,
    "narrow": narrow.NARROW,
    "reshaping": reshaping.RESHAPING,
    "scans": scans.SCANS,
    "sequences": sequences.SEQUENCES,
    "slicing": slicing.SLICING,
    "windows": windows.WINDOWS,
}

MODELS: Final[Mapping[str, Adversarial]] = {
    f"{theme}-{name}": model for theme, models in THEMES.items() for name, model in models.items()
}

__all__ = ["MODELS", "THEMES", "Adversarial"]
