"""The command line as a process: streams that are closed, a full device, interrupts while modules are loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize("module", ["absint.cli", "click", "absint.api", "absint.model.load", "absint.transfer.table"])
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
