"""The command line as a process: streams that are closed, a full device, interrupts while modules are loaded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest
from onnx import parser

ROOT = Path(__file__).parents[3]
DECODER = "examples/tiny_decoder.onnx"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("command", ["analyze", "contract", "cost"])
@pytest.mark.parametrize("closed", [">&-", ">&- <&-"])
def test_a_closed_standard_output_is_no_error(command: str, closed: str) -> None:
    done = shell(f"'{sys.executable}' -m absint {command} {DECODER} {closed}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_closed_standard_error_keeps_the_exit_code() -> None:
    done = shell(f"'{sys.executable}' -m absint analyze missing.onnx 2>&-")
    assert (done.returncode, done.stdout) == (2, "")


def test_no_file_takes_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    done = shell(f"'{sys.executable}' -m absint annotate {DECODER} -o '{tmp_path}/out.onnx' >&- 2>&-")
    assert done.returncode == 0
    assert b"absint" not in (tmp_path / "out.onnx").read_bytes()[:100]
    assert shell(f"'{sys.executable}' -m absint analyze '{tmp_path}/out.onnx'").returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the platform has no /dev/full")
def test_a_full_device_is_one_line() -> None:
    done = shell(f"'{sys.executable}' -m absint analyze {DECODER} >/dev/full")
    assert (done.returncode, done.stderr) == (2, "absint: error: standard output: No space left on device\n")
    for command in ("contract", "annotate"):
        done = shell(f"'{sys.executable}' -m absint {command} {DECODER} -o /dev/full")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "absint: error: /dev/full cannot be written: No space left on device\n"


def test_a_stream_is_a_target() -> None:
    done = shell(f"'{sys.executable}' -m absint contract {DECODER} --role all --format json -o /dev/stdout | cat")
    assert json.loads(done.stdout)["format"] == "absint.constraints/1"


INTERRUPTING = """
import sys
module, sys.argv[1:] = sys.argv[1], ["analyze", "examples/tiny_decoder.onnx"]
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from absint.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["absint.cli", "click", "absint.api", "absint.model.load", "absint.transfer.rule"])
def test_an_interrupt_while_modules_are_loaded_is_one_line(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTING, module], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (130, "absint: interrupted")


def test_no_object_is_walked_over_at_the_end() -> None:
    code = (
        "import atexit, gc, sys; atexit.register(lambda: print(gc.get_freeze_count() > len(sys.modules))); "
        "from absint.__main__ import main; main()"
    )
    done = shell(f"'{sys.executable}' -c '{code}' --version")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "True"), done.stderr


SLOW = """
import time
from absint import Op, Tensor, rule

@rule("Slow", domain="mine", inputs="x", outputs="y")
def slow(op: Op) -> Tensor:
    open("reached", "w").close()
    time.sleep(60)
    return op.tensor("x")
"""
SLEEPING = '<ir_version: 10, opset_import: ["": 18, "mine": 1]> g (float[N] x) => (float[N] y) {y = mine.Slow(x)}'
HANGING = """<ir_version: 10, opset_import: ["": 18]>
g (float[1, 3, 8, 8] x, float[4, 3, h, w] k) => (float[1, 4, 8, 8] y) {y = Conv<auto_pad = "SAME_LOWER">(x, k)}"""
"""A kernel of size 0 hangs onnxruntime or ends its process."""


LARGE = 1 << 24
"""Bytes of weights of a model whose copy begins before it is known what changes."""


def running(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A command of absint in a folder, with temporary files below it."""
    (folder / "tmp").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp"), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "absint", *arguments]
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


def until(condition: object) -> None:
    assert callable(condition)
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it takes too long")


def children(pid: int) -> set[int]:
    """The processes that this one started."""
    return {int(word) for file in Path(f"/proc/{pid}/task").glob("*/children") for word in file.read_text().split()}


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_file_behind(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    model = parser.parse_model(SLEEPING)
    model.graph.initializer.add(name="w", data_type=onnx.TensorProto.INT8, dims=[LARGE], raw_data=bytes(LARGE))
    onnx.save(model, tmp_path / "m.onnx")
    with running(tmp_path, "annotate", "m.onnx", "--rules", "slow.py", "-o", "out.onnx") as process:
        until((tmp_path / "reached").exists)
        assert list(tmp_path.glob(".absint-*.tmp"))  # the copy has begun
        started = children(process.pid)
        assert started
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said.strip() == f"absint: {'interrupted' if number is signal.SIGINT else 'terminated'}"
    assert {file.name for file in tmp_path.iterdir()} == {"m.onnx", "slow.py", "reached", "tmp"}
    assert not list((tmp_path / "tmp").iterdir())
    until(lambda: all(map(has_ended, started)))


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_a_signal_ends_runs_and_their_folders(tmp_path: Path) -> None:
    onnx.save(parser.parse_model(HANGING), tmp_path / "m.onnx")
    with running(tmp_path, "audit", "m.onnx") as process:
        until(lambda: list((tmp_path / "tmp").iterdir()) and len(children(process.pid)) == 2)  # Z3 and onnxruntime
        started = children(process.pid)
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said.splitlines()[-1]) == (143, "absint: terminated")
    assert not list((tmp_path / "tmp").iterdir())
    until(lambda: all(map(has_ended, started)))
