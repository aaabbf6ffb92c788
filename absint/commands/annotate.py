"""`absint annotate`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from absint.commands.analysis import (
    Settings,
    analysed,
    assume_option,
    policy_option,
    settings_options,
)
from absint.commands.codes import FINE
from absint.commands.models import models_argument

if TYPE_CHECKING:
    from absint.declared.annotate import MergePolicy
    from absint.shapes.sizes import Sizes


@click.command()
@click.option("-o", "--output", required=True, metavar="OUT", help="The file to write; - for standard output.")
@click.option(
    "--merge",
    type=click.Choice(["skip", "override", "refine", "strict"]),
    default="refine",
    show_default=True,
    help="Keep existing annotations, replace them, refine them, or refine them and fail if one is false.",
)
@click.option(
    "--outputs/--no-outputs",
    default=None,
    help="Write the types of graph outputs too, or leave them.  [default: only dims that no input names]",
)
@click.option(
    "--dialect",
    type=click.Choice(["absint", "sympy", "onnx-shape-inference", "opaque"]),
    default="absint",
    show_default=True,
    help="The form of dims: that of absint, one that another tool parses, or a name for each distinct size.",
)
@assume_option
@policy_option
@click.option("--force", is_flag=True, help="Allow OUT to be MODEL itself.")
@settings_options
@models_argument(several=False)
def annotate(
    model: str,
    settings: Settings,
    output: str,
    merge: MergePolicy,
    outputs: bool | None,
    dialect: str,
    assume: Sequence[str],
    sizes: Sizes,
    policy: str,
    force: bool,
) -> int:
    """Write a copy of MODEL with the inferred types in it.

    Types go into value_info, in the bodies of If, Loop and Scan too. OUT is complete or not written at all.
    """
    from absint.declared.annotate import Style
    from absint.declared.saving import STANDARD_OUTPUT, save_annotated
    from absint.model.writing import check_binary_target
    from absint.report import text

    check_binary_target(model, output, force)
    result = analysed(model, assume, sizes, policy=policy, settings=settings, shows_diagnostics=True)
    saved = save_annotated(result, output, Style(merge, outputs, dialect))
    if saved.weights_elsewhere:
        print(f"absint: note: {_weights(saved.weights_elsewhere, output)}", file=sys.stderr)
    if output != STANDARD_OUTPUT:
        label = f", {result.policy.label}" if result.policy.label else ""
        click.echo(f"{output}: value_info of {saved.values:,} {'value' if saved.values == 1 else 'values'}{label}")
    found = text.diagnostics(result.diagnostics, text.width_of(sys.stderr), "absint analyze --format json")
    text.write((line for line in found if line.text), sys.stderr)
    for item in saved.left_out:
        print(f"absint: note: {item}", file=sys.stderr)
    return FINE


def _weights(names: Sequence[str], output: str) -> str:
    more = f" and {len(names) - 1} more files" if len(names) > 1 else ""
    folder = Path(os.path.realpath(output)).parent
    where = f"the weights stay in {names[0]}{more}"
    return f"{where}, which runtimes look for beside the model: copy or link them into {folder}"


__all__ = ["annotate"]
