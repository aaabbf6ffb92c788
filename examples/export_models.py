"""Rebuild a corpus of small models of public architectures: PyTorch's exporters, random weights, nothing downloaded.

    pip install -r examples/architectures/requirements.txt
    python examples/export_models.py FOLDER             # write FOLDER/NAME.EXPORTER.onnx, and sizes.json
    python examples/export_models.py --check            # and compare structures with those that are recorded
    python examples/export_models.py FOLDER bert vit    # only these

The examples' own models, tiny_decoder and tiny_detector, are among them. Each model is run in onnxruntime before it is
kept. architectures/digests.json has digests of the structures (architectures/structure.py says how they are computed);
exporters differ between versions, so `--check` compares these first. Exporters walk sets of names, so all runs have the
same seed of hashes. Exit code: 0; 1 if a model cannot be made or is another.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import onnx
from architectures import language, mixed, pictures, sounds, tiny
from architectures.record import Architecture, Exporter, export, sizes_of
from architectures.structure import digest

RECORDED: Final = Path(__file__).parent / "architectures" / "digests.json"
SIZES: Final = "sizes.json"
PACKAGES: Final = ("torch", "transformers", "onnx", "onnxscript")
"""The parts that a structure depends on."""

ALL: Final[tuple[Architecture, ...]] = (
    tiny.DECODER, tiny.DETECTOR, *language.LANGUAGE, *pictures.PICTURES, *sounds.SOUNDS, *mixed.MIXED,
)  # fmt: skip


def versions() -> dict[str, str]:
    return {package: importlib.metadata.version(package) for package in PACKAGES}


def wanted(names: Sequence[str]) -> Iterator[tuple[str, Architecture, Exporter]]:
    """The models of these names or architectures; all without names."""
    for architecture in ALL:
        for exporter in architecture.exporters:
            name = f"{architecture.name}.{exporter}"
            if not names or name in names or architecture.name in names:
                yield name, architecture, exporter


def made(name: str, architecture: Architecture, exporter: Exporter) -> onnx.ModelProto | None:
    """The model; None, with a line on why, if it cannot be made."""
    start = perf_counter()
    try:
        proto = export(architecture, exporter)
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
        return None
    print(
        f"{name}: {len(proto.graph.node)} nodes, {proto.ByteSize():,} bytes, {perf_counter() - start:.1f} s", flush=True
    )
    return proto


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="where to write the models")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a model or an architecture; all without names")
    parser.add_argument("--check", action="store_true", help="compare with the recorded structures")
    parser.add_argument("--record", action="store_true", help="record the structures of the models that are made")
    options = parser.parse_args()
    if options.folder is None and not options.check:
        parser.error("give a folder, or --check")
    known = read(RECORDED, {"versions": versions(), "models": {}})
    if options.check and known["versions"] != versions():
        print(f"the structures are recorded with other versions: {known['versions']}; here are {versions()}")
        return 1

    found, lost = set(), []
    for name, architecture, exporter in wanted(options.names):
        proto = made(name, architecture, exporter)
        if proto is None:
            lost.append(f"{name} cannot be made")
            continue
        found.add(name)
        structure = {"sha256": digest(proto), "nodes": len(proto.graph.node)}
        if options.check and known["models"].get(name) != structure:
            lost.append(f"{name} has another structure")
        if options.folder is not None:
            keep(proto, name, architecture, options.folder)
        if options.record:
            known = {"versions": versions(), "models": known["models"] | {name: structure}}
            write(RECORDED, known)
    if options.check and not options.names:
        lost += [f"{name} is not made" for name in sorted(known["models"].keys() - found)]
    print(f"{len(found)} models", *lost, sep="\n")
    return 1 if lost else 0


def keep(proto: onnx.ModelProto, name: str, architecture: Architecture, folder: Path) -> None:
    """Write a model, and the sizes of its run to sizes.json, where a study looks for them."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(proto, folder / f"{name}.onnx")
    write(folder / SIZES, read(folder / SIZES, {}) | {name: {"sizes": [sizes_of(architecture.inputs())]}})


def read(path: Path, otherwise: dict[str, Any]) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8")) if path.exists() else otherwise


def write(path: Path, found: dict[str, Any]) -> None:
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")


def with_fixed_hashes() -> None:
    """Start this program anew where hashes are random: ModernBERT has its nodes in the order of a set."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})


if __name__ == "__main__":
    with_fixed_hashes()
    sys.exit(main())
