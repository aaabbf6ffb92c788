"""The wheel, installed where the checkout cannot be seen, holds one package with a working command."""

import email
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.jobs.packages import Environment, build, is_answer, page_faults, requirements, run

ROOT = Path(__file__).parents[1]
FOLDERS = {"absint": "absint", "lattices": "absint/lattices", "solver": "absint/solver", "transfer": "absint/transfer"}
"""Folders of the repository, and where they stand in the wheel."""

THEIRS = ("lattices", "solver", "transfer")

WHERE_FROM = """
import absint, absint.lattices, absint.solver, absint.transfer
for package in (absint, absint.lattices, absint.solver, absint.transfer):
    print(package.__name__, package.__file__, sep="\\t")
"""

THEIR_OWN = """
import solver, transfer, lattices.boxes
import absint
result = absint.analyze("tiny_decoder.onnx")
assert result.prove("1 == 1").verdict is absint.Verdict.PROVED, result
assert not result.prove("logits[1] == 0").verdict is absint.Verdict.PROVED
print(solver.MINE, transfer.MINE, lattices.boxes.MINE)
"""


@dataclass(frozen=True)
class Installed:
    wheel: Path
    site: Path
    scripts: Path
    outside: Path  # a folder to run in, away from the checkout

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run([self.scripts / program, *arguments], cwd=self.outside)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    base = tmp_path_factory.mktemp("packaging")
    for name in ("dist", "outside"):
        (base / name).mkdir()
    wheel = build(base / "dist", "--wheel")

    venv.create(base / "venv", symlinks=os.name == "posix", with_pip=False)
    names = {"base": str(base / "venv"), "platbase": str(base / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", names))
    scripts = Path(sysconfig.get_path("scripts", "venv", names))
    pip: list[Path | str] = [sys.executable, "-m", "pip", "--python", scripts / "python"]
    done = run([*pip, "install", "--no-deps", "--no-index", "--quiet", wheel], cwd=base / "outside")
    assert done.returncode == 0, done.stdout + done.stderr

    # The dependencies come from the running interpreter. A folder named in a .pth file is searched after the venv's
    # own, and its own .pth files, such as the one of a development install, are not read.
    (site / "dependencies.pth").write_text("\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}))
    return Installed(wheel, site, scripts, base / "outside")


def test_the_wheel_holds_one_package_and_nothing_else(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"absint"}
    assert "absint/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)

    sources = {
        f"{home}/{file.relative_to(ROOT / folder).as_posix()}"
        for folder, home in FOLDERS.items()
        for file in (ROOT / folder).rglob("*.py")
    }
    assert len(sources) > 300
    assert sources <= set(names)


def test_the_description_has_no_link_into_the_repository(installed: Installed) -> None:
    """A package index shows it without the files beside it."""
    with zipfile.ZipFile(installed.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(wheel.read(name))
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload()
    assert isinstance(text, str)
    readme = (ROOT / "README.md").read_text("utf-8")
    assert re.search(r"\]\((?!https?://)", readme)
    assert re.findall(r"\]\((?!https?://)[^)]*\)|<(?:img|a|picture|source)\b[^>]*>", text) == []
    for file in re.findall(r"\]\((docs/[\w/-]+\.md)", readme):
        assert file in text
    assert [block for block in re.findall(r"^```.*?^```$", readme, re.MULTILINE | re.DOTALL) if block not in text] == []


def test_the_package_comes_from_the_wheel(installed: Installed) -> None:
    done = installed.run("python", "-c", WHERE_FROM)
    assert done.returncode == 0, done.stderr
    found = dict(line.split("\t") for line in done.stdout.splitlines())
    assert found.keys() == {home.replace("/", ".") for home in FOLDERS.values()}
    for name, file in found.items():
        assert Path(file).resolve().is_relative_to(installed.site.resolve()), f"{name} was found at {file}"


def beside_modules_of_ones_own(folder: Path) -> None:
    (folder / "lattices").mkdir()
    for name in ("solver.py", "transfer.py", "lattices/__init__.py", "lattices/boxes.py"):
        (folder / name).write_text("MINE = 'mine'\n")
    (folder / "tiny_decoder.onnx").write_bytes((ROOT / "examples" / "tiny_decoder.onnx").read_bytes())
    (folder / "script.py").write_text(THEIR_OWN)


def test_a_script_keeps_its_own_modules_beside_the_wheel(installed: Installed, tmp_path: Path) -> None:
    beside_modules_of_ones_own(tmp_path)
    done = run([installed.scripts / "python", "script.py"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["mine"] * 3


def test_a_script_keeps_its_own_modules_beside_a_checkout(tmp_path: Path) -> None:
    """An editable install puts the root of the repository at the end of the path."""
    beside_modules_of_ones_own(tmp_path)
    code = f"import sys; sys.path.insert(1, {str(ROOT)!r}); import runpy; runpy.run_path('script.py')"
    done = run([sys.executable, "-c", code], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["mine"] * 3


def test_a_checkout_without_links_gets_one_line(tmp_path: Path) -> None:
    """git writes the target of a link into a file where the system has no links."""
    home = tmp_path / "absint"
    home.mkdir()
    for name in ("__init__.py", "packages.py", "version.py"):
        (home / name).write_text((ROOT / "absint" / name).read_text("utf-8"), "utf-8")
    for name in THEIRS:
        (home / name).write_text(f"../{name}")
    done = run([sys.executable, "-c", "import sys; sys.path.insert(0, '.'); import absint"], cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: absint/lattices must be a link to the folder ../lattices"
    )


def test_the_command_analyzes_an_example(installed: Installed) -> None:
    model = installed.outside / "tiny_decoder.onnx"
    model.write_bytes((ROOT / "examples" / "tiny_decoder.onnx").read_bytes())
    done = installed.run("absint", "analyze", model.name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "logits" in done.stdout
    assert "Traceback" not in done.stderr


def test_the_hook_and_the_plugin_work_from_the_wheel(installed: Installed) -> None:
    """As pre-commit and pytest run them, where the checkout cannot be seen."""
    (installed.outside / "bad.onnx").write_bytes((ROOT / "examples" / "tiny_decoder.onnx").read_bytes()[:-100])
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *arguments = shlex.split(hook["entry"])
    done = installed.run(program, *arguments, "bad.onnx")
    assert done.returncode != 0
    assert (done.stdout + done.stderr).startswith("bad.onnx")
    plugin = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "absint.pytest_plugin", "--absint-lint", "bad.onnx"]
    done = installed.run("python", *plugin)
    assert "1 failed" in done.stdout, done.stdout + done.stderr


def test_the_job_finds_what_a_page_says_otherwise(installed: Installed, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ absint analyze examples/gone.onnx\nfine\n$ absint schema nothing\n...\n```\n\n"
        "```python run\nimport absint\n\nprint(absint.__name__)  # absint\n```\n\n```python run\nprint(1)  # 2\n```\n"
    )
    environment = Environment(installed.scripts.parent, None)
    refused, printed = page_faults(environment, str(page), exactly=True)
    assert "absint analyze examples/gone.onnx: exit code 2" in refused
    assert printed == f"{page}:15: 1"


@pytest.mark.parametrize(
    ("code", "output", "fine"),
    [
        (0, "fine\n", True),
        (3, "undecided\n", True),
        (2, "absint: error: absint rules needs numpy: pip install numpy\n", True),
        (2, "absint: error: gone.onnx does not exist\n", False),
        (0, "Traceback (most recent call last):\n", False),
        (2, "absint: error: internal error, please report it: pip install\n", False),
    ],
)
def test_an_answer_is_one_without_a_traceback(code: int, output: str, fine: bool) -> None:
    assert is_answer("absint analyze a.onnx", code, output) is fine


def test_what_the_wheel_needs_is_read_from_it(installed: Installed) -> None:
    alone, more = requirements(installed.wheel, []), requirements(installed.wheel, ["run"])
    assert {line.partition(">")[0] for line in alone} >= {"click", "numpy", "onnx", "z3-solver"}
    assert {line.partition(">")[0] for line in more} - {line.partition(">")[0] for line in alone} == {"onnxruntime"}
