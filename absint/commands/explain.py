"""`absint explain`."""

from __future__ import annotations

from shlex import quote
from typing import Final

import click

from absint.commands.analysis import analysed, analysis_options, policy_option
from absint.commands.command import FINE, Command
from absint.commands.models import Ask, models_argument
from absint.commands.sizes import read_place
from absint.errors import UsageError
from absint.lattices.text.escapes import plain
from absint.lattices.text.sheets import Line
from absint.questions.explain.explanation import Explanation
from absint.questions.explain.question import explain as explained
from absint.result import Result
from absint.show.text import assumed, write

_LOOPS: Final = ("Loop", "Scan", "SequenceMap")


@click.command(cls=Command)
@click.option("--element", type=int, metavar="INDEX", help="Explain one element of VALUE, by its row-major index.")
@analysis_options()
@policy_option
@models_argument("VALUE", titled=False)
def explain(ask: Ask, value: tuple[str, ...], element: int | None) -> int:
    """Explain where a dim of VALUE comes from, node by node.

    \b
    absint explain MODEL logits        all dims, and elements that are known
    absint explain MODEL 'logits[1]'   one dim; a negative axis counts from the end

    The derivation goes back to inputs, constants and data-dependent sizes. A value of a subgraph is named with its
    path, as loop1/body/y.

    This is about the origin of a size. How the analysis reached it, visit by visit, as in a loop that is widened, is
    shown by absint analyze MODEL --trace VALUE.
    """
    place, *others = value
    if others:
        hint = f": write {place}[{others[0]}]" if others[0].lstrip("-").isdecimal() else ", one value at a time"
        raise UsageError(f"{others[0]}: unexpected after {place}{hint}")
    result = analysed(ask.model, ask.settings, ask.sizes)
    found = _explained(result, place, element)
    if ask.form == "json":
        click.echo(found.to_json())
    else:
        write(assumed(result))
        write(map(Line, str(found).split("\n")))
        if any(step.operator in _LOOPS for step in found.steps):
            name = f"{found.path}/{found.value}" if found.path else found.value
            command = f"absint analyze {quote(ask.model)} --trace {quote(name)}"
            write([Line(plain(f"(a loop is involved: {command} shows its visits)"))])
    return FINE


def _explained(result: Result, text: str, element: int | None) -> Explanation:
    """The explanation of a value of any graph, or of one of its axes."""
    name, axis = read_place(text, result.values)
    path = ""
    if name not in result.values:
        inner = [at for at in result.paths if name.startswith(f"{at}/")]
        path = next((at for at in inner if name[len(at) + 1 :] in result.at(at)), "")
        name = name[len(path) + 1 :] if path else name
    return explained(result, name, axis, element=element, path=path)
