"""The onnx package whose own code runs only when somebody asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from absint.model import inference
from tests.absint.jobs.test_loadable import ACCEPTED_BY_KERNELS

ROOT = Path(__file__).parents[3]
MODEL = ROOT / "examples" / "tiny_detector.onnx"
DEFERRED = "import sys; from absint.model.onnx_package import defer_onnx; defer_onnx()\n"


def fresh(code: str, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """The code in a process of its own; `path` comes before the installed packages."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, str(ROOT)]))}
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)


def test_messages_and_inference_need_nothing_else_of_the_package() -> None:
    done = fresh(f"""{DEFERRED}
import onnx
from onnx.onnx_pb import ModelProto
from onnx.onnx_cpp2py_export.shape_inference import infer_shapes
infer_shapes(ModelProto(ir_version=8).SerializeToString(), False, False, False)
assert not {{"numpy", "ml_dtypes", "onnx.helper", "onnx.shape_inference"}} & set(sys.modules)
""")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "first",
    [
        "import onnx.onnx_pb, onnx.onnx_cpp2py_export",
        "import onnx.numpy_helper",
        "from onnx import helper",
        "import onnx; onnx.ModelProto",
    ],
)
def test_whoever_asks_for_more_has_the_package_as_ever(first: str) -> None:
    plain = fresh("import onnx, onnx.reference; print(type(onnx).__name__, sorted(vars(onnx)))")
    done = fresh(f"""{DEFERRED}{first}
import onnx, onnx.reference
model = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] y) {{y = Relu(x)}}'
)
onnx.checker.check_model(onnx.shape_inference.infer_shapes(model, strict_mode=True))
assert type(model) is onnx.ModelProto is onnx.onnx_ml_pb2.ModelProto
assert sys.modules["onnx.onnx_cpp2py_export"] is onnx.onnx_cpp2py_export
print(type(onnx).__name__, sorted(vars(onnx)))
""")
    assert done.returncode == 0, done.stderr
    kind, _, names = done.stdout.partition(" ")
    kind_of_plain, _, names_of_plain = plain.stdout.partition(" ")
    assert kind == kind_of_plain == "module"
    assert set(eval(names)) >= set(eval(names_of_plain))


def test_an_error_of_the_package_is_raised_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "__init__.py").write_text("raise ImportError('no numpy')")
    done = fresh(
        f"""{DEFERRED}
for _ in range(2):
    try:
        import onnx
        onnx.ModelProto
    except ImportError as error:
        print(error)
""",
        path=str(tmp_path),
    )
    assert done.stdout == "no numpy\nno numpy\n", done.stderr


def annotated(target: Path, before: str = "", path: str = "") -> subprocess.CompletedProcess[str]:
    return fresh(
        f"import sys\n{before}\nfrom absint.cli import run\nsys.exit(run(['annotate', *sys.argv[1:]]))",
        str(MODEL),
        "-o",
        str(target),
        path=path,
    )


def test_the_command_writes_what_it_writes_with_the_whole_package(tmp_path: Path) -> None:
    few = annotated(tmp_path / "few.onnx")
    whole = annotated(tmp_path / "whole.onnx", "import onnx")
    assert (few.returncode, whole.returncode) == (0, 0), few.stderr + whole.stderr
    assert (tmp_path / "few.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()


@pytest.mark.parametrize("name", ACCEPTED_BY_KERNELS)
def test_a_package_of_another_layout_refuses_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = inference.skeleton(ACCEPTED_BY_KERNELS[name])
    found = inference.refusals(model)
    monkeypatch.setitem(sys.modules, "onnx.onnx_cpp2py_export.shape_inference", None)
    assert inference.refusals(model) == found


def test_without_inference_nothing_is_written(tmp_path: Path) -> None:
    missing = "sys.modules['onnx.onnx_cpp2py_export.shape_inference'] = sys.modules['onnx.shape_inference'] = None"
    (tmp_path / "sitecustomize.py").write_text(f"import sys\n{missing}\n")  # inference runs in another process
    (tmp_path / "to").mkdir()
    done = annotated(tmp_path / "to" / "out.onnx", path=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("absint: error: the installed onnx does not tell if an annotated model loads: ")
    assert done.stderr.count("\n") == 1
    assert not os.listdir(tmp_path / "to")
