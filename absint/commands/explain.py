"""`absint explain`."""

from __future__ import annotations

import re

import click

from absint.commands.analysis import (
    Settings,
    analysed,
    assume_option,
    format_option,
    model_argument,
    policy_option,
    set_option,
    settings_options,
)
from absint.commands.codes import FINE


class AxisCommand(click.Command):
    """Reads a negative number as an axis, not as an option."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        before = args[: args.index("--")] if "--" in args else args
        axes = [text for text in before if re.fullmatch(r"-[0-9]+", text)]
        if axes:
            rest = [text for text in before if text not in axes]
            args = [*rest, "--", *args[len(before) + 1 :], *axes]
        return super().parse_args(context, args)


@click.command(cls=AxisCommand)
@model_argument
@click.argument("value")
@click.argument("axis", type=int, required=False)
@click.option("--element", type=int, metavar="INDEX", help="Explain one element of VALUE, by its row-major index.")
@assume_option
@set_option
@policy_option
@settings_options
@format_option()
def explain(
    model: str,
    settings: Settings,
    value: str,
    axis: int | None,
    element: int | None,
    assume: tuple[str, ...],
    sizes: tuple[str, ...],
    policy: str,
    form: str,
) -> int:
    """Explain where a dim of VALUE comes from, node by node.

    The derivation goes back to inputs, constants and data-dependent sizes. AXIS is counted from 0, or from the
    back if it is negative; without it all dims are explained, and elements that are known. A value of a subgraph is
    named with its path, as loop1/body/y.
    """
    from absint.explain.question import explain as explained

    result = analysed(model, assume, sizes, policy=policy, settings=settings)
    path, name = "", value
    if value not in result.values:
        inner = [place for place in result.paths if value.startswith(f"{place}/")]
        path = next((place for place in inner if value[len(place) + 1 :] in result.at(place)), "")
        name = value[len(path) + 1 :] if path else value
    found = explained(result, name, axis, element=element, path=path)
    click.echo(found.to_json() if form == "json" else str(found))
    return FINE


__all__ = ["AxisCommand", "explain"]
