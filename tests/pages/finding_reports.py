"""Reports of errors in other tools, ready to be filed: `python -m tests.pages.finding_reports DIR`.

Writes a Markdown file for each row of docs/findings.md: versions, the claim, what a run gives, and a script that shows
both with nothing but the tool, onnx and onnxruntime.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

import numpy as np

from tests.pages.findings import PAGE, Ending, Finding, endings, feeds, findings, parsed

INFER: Final = {
    "onnx": "inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)",
    "onnxruntime": (
        "from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference\n\n"
        "inferred = SymbolicShapeInference.infer_shapes(model)"
    ),
    "onnx-shape-inference": (
        "import onnx_ir\nfrom onnx_shape_inference import infer_symbolic_shapes\n\n"
        "inferred = onnx_ir.to_proto(infer_symbolic_shapes(onnx_ir.from_proto(model)))"
    ),
}

SCRIPT: Final = '''\
import numpy as np
import onnx
import onnxruntime

model = onnx.parser.parse_model("""{model}""")
onnx.checker.check_model(model)


def undeclare(graph, inner=False):
    for info in (*graph.output, *(graph.input if inner else ())):
        info.type.tensor_type.ClearField("shape")
    for body in [a.g for node in graph.node for a in node.attribute if a.HasField("g")]:
        undeclare(body, True)


feeds = {{
{feeds}}}
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
(found,) = session.run(["{value}"], feeds)
print("a run gives", list(found.shape))

undeclare(model.graph)  # the shapes of computed values are what is asked for
{infer}
info = next(v for v in (*inferred.graph.value_info, *inferred.graph.output) if v.name == "{value}")
dims = [d.dim_param or (d.dim_value if d.HasField("dim_value") else None) for d in info.type.tensor_type.shape.dim]
print("inferred [" + ", ".join(map(str, dims)) + "]")
'''

REPORT: Final = """\
# {title}

`{tool}` {tool_version} (onnx {onnx}, onnxruntime {onnxruntime}) infers the shape `{says}` for `{value}`. At {at}
the model runs, and the shape is `{run}`.

{why}

```python
{script}```

Output:

```text
a run gives {run}
inferred {says}
```
"""


ENDING_SCRIPT: Final = '''\
import numpy as np
import onnx
import onnxruntime

model = onnx.parser.parse_model("""{model}""")
onnx.checker.check_model(model)
feeds = {{
{feeds}}}
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
print([found.shape for found in session.run(None, feeds)])
'''

ENDING: Final = """\
# {title}

onnxruntime {onnxruntime} (onnx {onnx}) ends the process instead of giving {instead}. Sessions: {sessions}.

{why}

```python
{script}```
"""


def ending_script(found: Ending) -> str:
    """A program that a run of the model ends."""
    return ENDING_SCRIPT.format(model=found.model, feeds=written(found.feeds))


def ending_report(found: Ending) -> str:
    """The report of a row about a run that ends the process."""
    return ENDING.format(
        title=found.title, onnxruntime=version("onnxruntime"), onnx=version("onnx"), instead=found.instead,
        sessions=found.sessions, why=reason(found.title), script=ending_script(found),
    )  # fmt: skip


def script(found: Finding) -> str:
    """A program that shows what a run gives and what the tool infers."""
    model = parsed(found.model)
    given = written(feeds(model, found.at))
    return SCRIPT.format(model=found.model, feeds=given, value=found.value, infer=INFER[found.tool])


def written(arrays: Mapping[str, np.ndarray]) -> str:
    """Arrays of equal elements as lines of a dict."""
    kinds = {name: "bool_" if array.dtype.kind == "b" else array.dtype for name, array in arrays.items()}
    return "".join(
        f'    "{name}": np.full({list(array.shape)}, {array.flat[0] if array.size else 0}, np.{kinds[name]}),\n'
        for name, array in arrays.items()
    )


def report(found: Finding) -> str:
    """The report of a row."""
    at = ", ".join(f"{name} = {size}" for name, size in found.at.items())
    return REPORT.format(
        title=found.title, tool=found.tool, tool_version=version(found.tool), onnx=version("onnx"),
        onnxruntime=version("onnxruntime"), says=found.says, value=found.value, at=at, run=found.run,
        why=reason(found.title), script=script(found),
    )  # fmt: skip


def reason(title: str) -> str:
    """What the page says below a title."""
    section = PAGE.read_text("utf-8").split(f"\n## {title}\n", 1)[1]
    return section.split("```onnx", 1)[0].strip()


def main(arguments: list[str]) -> int:
    """Write the reports to a folder."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.pages.finding_reports", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    for found in findings():
        name = re.sub(r"[^a-z0-9]+", "-", f"{found.tool} {found.title} {found.value}".lower()).strip("-")
        (folder / f"{name}.md").write_text(report(found), "utf-8")
    for ending in endings():
        name = re.sub(r"[^a-z0-9]+", "-", f"onnxruntime ends {ending.title}".lower()).strip("-")
        (folder / f"{name}.md").write_text(ending_report(ending), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
