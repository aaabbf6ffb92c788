"""`absint annotate`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from absint.commands.analysis import Settings, analysed, model_argument, policy_option, settings_options
from absint.commands.codes import FINE

if TYPE_CHECKING:
    from onnx import GraphProto

    from absint.declared.annotate import MergePolicy


@click.command()
@model_argument
@click.option("-o", "--output", required=True, metavar="OUT", help="The file to write; - for standard output.")
@click.option(
    "--merge",
    type=click.Choice(["skip", "override", "refine", "strict"]),
    default="refine",
    show_default=True,
    help="Keep existing annotations, replace them, refine them, or refine them and fail if one is false.",
)
@click.option("--outputs", is_flag=True, help="Write the types of graph outputs too.")
@policy_option
@click.option("--force", is_flag=True, help="Allow OUT to be MODEL itself.")
@settings_options
def annotate(
    model: str, settings: Settings, output: str, merge: MergePolicy, outputs: bool, policy: str, force: bool
) -> int:
    """Write a copy of MODEL with the inferred types in it.

    Types go into value_info, in the bodies of If, Loop and Scan too. OUT is complete or not written at all.
    """
    from absint.model.writing import check_binary_target, write_model
    from absint.report import text

    check_binary_target(model, output, force)
    result = analysed(model, policy=policy, settings=settings, shows_diagnostics=True)
    annotated, left_out = result.annotated(merge, outputs=outputs)
    write_model(annotated, model, output)
    if output != "-":
        count = sum(len(graph.value_info) for graph in _graphs(annotated.graph))
        label = f", {result.policy.label}" if result.policy.label else ""
        click.echo(f"{output}: value_info of {count:,} {'value' if count == 1 else 'values'}{label}")
    found = text.diagnostics(result.diagnostics, text.width_of(sys.stderr), "absint analyze --format json")
    text.write((line for line in found if line.text), sys.stderr)
    for item in left_out:
        print(f"absint: note: {item}", file=sys.stderr)
    return FINE


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and the bodies in it."""
    pending = [graph]
    while pending:
        graph = pending.pop()
        yield graph
        pending += [a.g for node in graph.node for a in node.attribute if a.HasField("g")]


__all__ = ["annotate"]
