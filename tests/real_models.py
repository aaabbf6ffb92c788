"""Real models with executed ground truth, where they lie beside the checkout: shared/corpus and shared/corpus_more.

The models of `examples` are always there.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
CORPUS: Final = ROOT.parent / "shared" / "corpus"
FOLDERS: Final = (CORPUS, CORPUS.with_name("corpus_more"))
EXAMPLES: Final = tuple(sorted((ROOT / "examples").glob("*.onnx")))


@dataclass(frozen=True)
class RealModel:
    """A model of the corpus: its file, what corpus.json says of it, and its recorded runs."""

    name: str
    path: Path
    entry: Mapping[str, Any]

    @property
    def truth(self) -> Mapping[str, Any]:
        """The bindings of the runs (`runs`), and the shapes that each showed (`shapes`)."""
        found: Mapping[str, Any] = json.loads(
            gzip.decompress((self.path.parent / "truth" / f"{self.name}.json.gz").read_bytes())
        )
        return found


def _found() -> dict[str, RealModel]:
    return {
        name: RealModel(name, folder / f"{name}.onnx", entry)
        for folder in FOLDERS
        if folder.is_dir()
        for name, entry in json.loads((folder / "corpus.json").read_text()).items()
    }


REAL: Final[Mapping[str, RealModel]] = _found()
PATHS: Final = (*EXAMPLES, *(model.path for model in REAL.values()))


@cache
def scorer(folder: Path) -> Any:
    """The scoring script of the corpus, for the models of a folder."""
    spec = importlib.util.spec_from_file_location("corpus_score", CORPUS / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module)["HERE"] = folder
    return module
