"""Small models whose authors claim something that takes a proof, or is false."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from tests.absint.commands.cli_models import FLOAT, INT64, node, save, value


def halved(path: Path, height: str, width: str) -> None:
    """Down and up again by 2, and joined: both sizes must be even. The author's `down` is wrong in one axis."""
    save(
        str(path),
        [
            node("MaxPool", ["x"], ["down"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
            node("Resize", ["down", "", "scales"], ["up"], name="up", mode="nearest"),
            node("Concat", ["x", "up"], ["joined"], name="cat", axis=1),
            node("Relu", ["up"], ["y"], name="relu"),
        ],
        [value("x", FLOAT, [1, 3, height, width])],
        [
            value("y", FLOAT, [1, 3, height, width]),
            value("down", FLOAT, [1, 3, f"{height}//2", width]),
            value("joined", FLOAT, [1, 6, height, width]),
        ],
        [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")],
    )


def folded(path: Path) -> None:
    """Rows of four elements, which must be as many as the rows of K elements: K is 4, or there are no rows."""
    save(
        str(path),
        [
            node("Reshape", ["x", "fours"], ["rows"], name="fold"),
            node("Transpose", ["rows"], ["t"], name="turn", perm=[1, 0]),
            node("MatMul", ["t", "x"], ["y"], name="fc"),
        ],
        [value("x", FLOAT, ["N", "K"])],
        [value("rows", FLOAT, ["N", 4]), value("y", FLOAT, [4, 4])],
        [numpy_helper.from_array(np.array([-1, 4], np.int64), "fours")],
    )


def true(path: Path) -> None:
    """Nothing to prove."""
    save(str(path), [node("Relu", ["x"], ["y"])], [value("x", FLOAT, ["N", 4])], [value("y", FLOAT, ["N", 4])])


def picked(path: Path) -> None:
    """A size that data decide, which the author gives the name of an input's."""
    save(
        str(path),
        [node("NonZero", ["x"], ["found"], name="nz")],
        [value("x", FLOAT, ["N"])],
        [value("found", INT64, [1, "N"])],
    )


def write(folder: Path) -> Path:
    """All of them; `halved` twice, under other names."""
    folder.mkdir()
    halved(folder / "halved.onnx", "H", "W")
    halved(folder / "halved2.onnx", "rows", "columns")
    folded(folder / "folded.onnx")
    true(folder / "true.onnx")
    picked(folder / "picked.onnx")
    (folder / "broken.onnx").write_bytes(b"\x08")
    for path in folder.glob("[!b]*.onnx"):
        onnx.checker.check_model(str(path))
    return folder
