"""Time and memory on files that hold their weights, each command in a process of its own.

    python benchmarks/big_files.py [--mb 500] [--sparse-mb 3000] [--runs 3] [--folder DIR]

A decoder of four layers with the weights inside the file, the same with the weights beside it, and one whose weights
are a hole in the file (over 2 GB, no space on disk). Reported are the least seconds and the peak memory of `absint
analyze`, `absint annotate`, a plain copy, and a script that loads with onnx and infers. (A peak counts from the fork of
this script on, so none is below its 40 MB.)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import onnx
from onnx import TensorProto, helper
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))

from transformer import decoder

INFER = "import onnx, sys; onnx.shape_inference.infer_shapes(onnx.load(sys.argv[1]), data_prop=True)"
SIDE = 1 << 12
"""Rows of a weight."""


def varint(number: int) -> bytes:
    """A number as the wire format has it."""
    found = b""
    while number >= 128:
        found += bytes([number % 128 + 128])
        number //= 128
    return found + bytes([number])


def described(size: int) -> tuple[onnx.ModelProto, TensorProto]:
    """The decoder, which multiplies two weights more, and one weight of so many bytes without its data."""
    model = decoder(4)
    weight = TensorProto(name="heavy", data_type=TensorProto.FLOAT, dims=[SIDE, size // (4 * SIDE)])
    model.graph.node.append(helper.make_node("Transpose", ["heavy"], ["turned"]))
    return model, weight


def inside(path: Path, size: int, *, sparse: bool) -> Path:
    """Write the model with the weight in it; if `sparse`, its data are a hole."""
    model, weight = described(size)
    size = weight.dims[0] * weight.dims[1] * 4
    graph, rest = model.graph.SerializeToString(), onnx.ModelProto()
    rest.CopyFrom(model)
    rest.ClearField("graph")
    head = weight.SerializeToString()
    tensor = len(head) + 1 + len(varint(size)) + size
    body = len(graph) + 1 + len(varint(tensor)) + tensor
    with path.open("wb") as file:
        file.write(rest.SerializeToString() + b"\x3a" + varint(body) + graph)
        file.write(b"\x2a" + varint(tensor) + head + b"\x4a" + varint(size))
        if sparse:
            file.truncate(file.tell() + size)
        else:
            block = os.urandom(1 << 20)
            for at in range(0, size, len(block)):
                file.write(block[: size - at])
    return path


def outside(path: Path, size: int) -> Path:
    """Write the model with the weight in a file beside it."""
    model, weight = described(size)
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=f"{path.stem}.weights")
    model.graph.initializer.append(weight)
    with (path.parent / f"{path.stem}.weights").open("wb") as file:
        file.truncate(weight.dims[0] * weight.dims[1] * 4)
    path.write_bytes(model.SerializeToString())
    return path


class Figures(NamedTuple):
    """What one run took."""

    seconds: float
    peak: float
    """MB."""


def run(command: list[str]) -> Figures | str:
    """What a process took, or the last line it said."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = process.stderr.read().strip().splitlines()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return f"exit {process.returncode}: {''.join(said[-1:])}"[:70]
    return Figures(seconds, usage.ru_maxrss / 1024)


def measured(commands: dict[str, list[str]], runs: int, out: Path) -> dict[str, Figures | str]:
    """The least seconds and the largest peak of each command; they run in turns. What they write to `out` goes."""
    found: dict[str, Figures | str] = {}
    for _ in range(runs):
        for what, command in commands.items():
            before = found.get(what)
            if isinstance(before, str):
                continue
            now = run(command)
            out.unlink(missing_ok=True)
            if isinstance(now, str) or before is None:
                found[what] = now
            else:
                found[what] = Figures(min(before.seconds, now.seconds), max(before.peak, now.peak))
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=500, help="weights of the file that is written in full")
    parser.add_argument("--sparse-mb", type=int, default=3000, help="weights of the file with a hole")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to put the files for a while")
    options = parser.parse_args()
    table = Table(box=None)
    for column in ("file", "command", "s", "peak MB"):
        table.add_column(column, justify="right" if column in ("s", "peak MB") else "left")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        out = folder / "out.onnx"
        files = {
            f"{options.mb} MB inside": inside(folder / "inside.onnx", options.mb << 20, sparse=False),
            f"{options.mb} MB beside": outside(folder / "beside.onnx", options.mb << 20),
            f"{options.sparse_mb} MB inside, sparse": inside(folder / "s.onnx", options.sparse_mb << 20, sparse=True),
        }
        for title, path in files.items():
            commands = {
                "absint analyze": [sys.executable, "-m", "absint", "analyze", str(path)],
                "onnx, load and infer": [sys.executable, "-c", INFER, str(path)],
            }
            if "sparse" not in title:
                commands["absint annotate"] = [sys.executable, "-m", "absint", "annotate", str(path), "-o", str(out)]
                commands["cp"] = ["cp", str(path), str(out)]
            for what, found in measured(commands, options.runs, out).items():
                cells = (found, "") if isinstance(found, str) else (f"{found.seconds:.2f}", f"{found.peak:.0f}")
                table.add_row(title, what, *cells)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
