"""`absint explain`, `cost`, `ranges`, `devices` and `rows`: where sizes come from, and what runs do and take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from shlex import quote
from typing import Final

import click

from absint import homes, show
from absint.commands.analysis import analysed, analysis_options, policy_option, read_model
from absint.commands.command import FINE, NO, UNDECIDED, Command, say, status
from absint.commands.models import Ask, models_argument
from absint.commands.sizes import read_place, read_places, read_sizes
from absint.diagnostics import Severity
from absint.errors import UsageError
from absint.lattices.text.escapes import did_you_mean, plain
from absint.lattices.text.sheets import Line
from absint.model.load import Loaded
from absint.result import Result
from absint.shapes.sizes import spelled
from absint.show.text import answer, assumed, write

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


def _explained(result: Result, text: str, element: int | None) -> homes.explanation.Explanation:
    """The explanation of a value of any graph, or of one of its axes."""
    name, axis = read_place(text, result.values)
    path = ""
    if name not in result.values:
        inner = [at for at in result.paths if name.startswith(f"{at}/")]
        path = next((at for at in inner if name[len(at) + 1 :] in result.at(at)), "")
        name = name[len(path) + 1 :] if path else name
    return homes.question.explain(result, name, axis, element=element, path=path)


@click.command(cls=Command)
@analysis_options()
@click.option("--top", type=click.IntRange(min=0), default=10, help="Heaviest nodes to list.")
@click.option(
    "--by", type=click.Choice(["flops", "macs", "bytes"]), default="flops", help="The quantity to rank nodes by."
)
@click.option(
    "--inputs",
    type=click.Choice(["freed", "kept", "apart"]),
    default="freed",
    help="Graph inputs are live to their last use, to the end, or do not count as memory.",
)
@click.option(
    "--views",
    type=click.Choice(["copied", "shared"]),
    default="copied",
    help="The output of Reshape and the like has memory of its own, or shares its input's.",
)
@click.option(
    "--plot", metavar="FILE", help="Write FLOPs and peak memory over a size as a picture: .svg, .png or .pdf."
)
@click.option("--over", metavar="SYMBOL=LOW..HIGH", help="The size, and its range, of --plot.")
@models_argument()
def cost(
    ask: Ask,
    top: int,
    by: homes.cost.Quantity,
    inputs: homes.liveness.InputPolicy,
    views: homes.liveness.ViewPolicy,
    plot: str | None,
    over: str | None,
) -> int:
    """Count memory, arithmetic, parameters and traffic of MODEL.

    All are expressions over the input symbols, or numbers where --set fixes them. Peak memory is the most bytes of
    activations that are live at once, with nodes in the order of the file and nothing computed in place; parameters are
    counted apart. A multiply-accumulate (MAC) is two FLOPs. Bytes moved are those that nodes read and write. Whatever
    cannot be counted is listed.

    Where a symbol has no size, numbers assume 64, or the nearest size that the model allows. docs/cost.md has the rules
    of counting.
    """
    wanted = _wanted(ask.model, plot, over)
    result = analysed(ask.model, ask.settings, ask.sizes)
    if ask.sizes and not result.can_run:
        error = next(d for d in result.diagnostics if d.severity is Severity.ERROR)
        raise UsageError(
            f"no run has {', '.join(spelled(*item) for item in ask.sizes.items())}: {error.where}: {error.message}"
        )
    found, memory = result.cost(), result.memory(inputs=inputs, views=views)
    if wanted is not None:
        _draw(result, found, memory, wanted)
    about_all = result, found, memory, top, by
    answer(ask.form, lambda: show.costs.document(*about_all), lambda: [show.costs.report(*about_all)])
    return FINE


_Wanted = tuple[str, str, str, tuple[int, int]]
"""A picture: where to write it, in which form, over which size, and between which ends."""


def _wanted(model: str, plot: str | None, over: str | None) -> _Wanted | None:
    """Raises UsageError for options that make no picture, before any work."""
    if plot is None and over is None:
        return None
    if plot is None or over is None:
        raise UsageError("--plot FILE and --over SYMBOL=LOW..HIGH go together")

    form = show.costs.check_form(plot)
    homes.writing.check_target(model, plot)
    ((symbol, ends),) = read_sizes([over]).items()
    if not isinstance(ends, tuple) or not all(isinstance(end, int) for end in ends):
        raise UsageError(f"--over {over}: expected a range with two ends, as seq=1..4096")
    low, high = ends[0] or 0, ends[1] or 0
    if not 0 <= low < high:
        raise UsageError(f"--over {over}: expected two sizes, the smaller one first")
    return plot, form, symbol, (low, high)


def _draw(result: Result, cost: homes.cost.Cost, memory: homes.memory.Memory, wanted: _Wanted) -> None:
    target, form, symbol, ends = wanted
    show.costs.check_symbol(result, symbol)
    with status("computing the curves"):
        found = show.costs.curves(result, cost, memory, symbol, ends)
    show.costs.write_plot(found, result.origin, target, form)
    sizes = found.sizes
    say(f"{target}: {len(sizes):,} sizes of {symbol}, {sizes[0]:,} to {sizes[-1]:,}", to_stderr=True)


_NUMBER: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?"
_BOX: Final = re.compile(rf"(.*)=\s*({_NUMBER})\s*(?:\.\.\s*({_NUMBER})\s*)?", re.IGNORECASE | re.DOTALL)


@click.command(cls=Command)
@click.option("--input", "boxes", metavar="RANGE", multiple=True, help="The range of an input's elements, as x=-1..1.")
@click.option("--all", "everything", is_flag=True, help="List every value, what is unknown, and what is ruled out.")
@analysis_options()
@models_argument()
def ranges(ask: Ask, boxes: tuple[str, ...], everything: bool) -> int:
    """Show ranges of values, and what can go wrong.

    Each value of MODEL has a least and a greatest element, for inputs in the ranges of --input. Nodes that may
    overflow, divide by 0, leave the domain of a function or an axis, or saturate are listed. docs/ranges.md says how
    runtimes may differ.

    \b
    certain    every element that the node computes does
    possible   some number of the known ranges does; a run need not show it
    unknown    no range is known that would decide it
    ruled out  no number of the ranges does

    Exit code: 1 if one is certain, else 0.
    """
    loaded = read_model(ask.model)
    analysis = homes.analysis.Ranges(loaded.weights, **_read(boxes, loaded))
    found = homes.analysis.ValueRanges(analysed(loaded, ask.settings, ask.sizes, with_=[analysis]), analysis)
    answer(
        ask.form,
        lambda: show.analyses.RANGES.text(found),
        lambda: show.analyses.of_ranges(found, everything=everything),
    )
    return FINE if found else NO


def _read(texts: Sequence[str], loaded: Loaded) -> dict[str, tuple[float, float]]:
    """The ranges of inputs by name. Raises UsageError for a text that is none, and a name that no input has."""
    names = [info.name for info in loaded.model.graph.input]
    found: dict[str, tuple[float, float]] = {}
    for text in texts:
        match = _BOX.fullmatch(text)
        if match is None:
            raise UsageError(f"--input {text}: expected an input and its range, as x=-1..1")
        name, low, high = match[1], match[2], match[3] or match[2]
        if name not in names:
            name = name.strip()
        if name not in names:
            hint = did_you_mean(name, names) or f"the inputs are {', '.join(names)}"
            raise UsageError(f"--input {text}: no input has this name; {hint}")
        if name in found:
            raise UsageError(f"--input {text}: {name} is already given")
        found[name] = (_number(low), _number(high))
    return found


def _number(text: str) -> float:
    return int(text) if text.lstrip("+-").isdigit() else float(text)


@click.command(cls=Command)
@click.option("--all", "everything", is_flag=True, help="List every copy, and the side of every node.")
@analysis_options()
@models_argument()
def devices(ask: Ask, everything: bool) -> int:
    """Show nodes that stay on the host, and copies.

    MODEL is placed as by onnxruntime with its CUDA provider, derived from its sources and not from a run. A node
    without a kernel runs on the host, and so does one that reads host values alone, as computations of sizes do. A
    value that the other side reads is copied; a copy to the host waits for the device. docs/devices.md has the rules.
    """
    result = analysed(ask.model, ask.settings, ask.sizes)
    found = result.devices()
    document = partial(show.analyses.DEVICES.text, found, head=homes.naming.about(result))
    answer(ask.form, document, lambda: show.analyses.of_devices(result, found, everything=everything))
    return FINE


@click.command(cls=Command)
@click.option(
    "--axis",
    "axes",
    metavar="AXES",
    multiple=True,
    help="The axes of the rows, as x[0],mask[0]; all have one name. Once more for rows of another name.",
)
@click.option("--no-run", is_flag=True, help="Do not look for rows that mix by running the model.")
@click.option("--max-batch", "most", type=click.IntRange(1), metavar="N", help="Greatest number of rows, for triton.")
@analysis_options("triton", "bentoml")
@models_argument()
def rows(ask: Ask, axes: tuple[str, ...], no_run: bool, most: int | None) -> int:
    """Prove that row i of an output depends on row i of the inputs.

    Then requests may be stacked, and a batch be split. The rows of MODEL lie along the axes of --axis, or along those
    of the name that most inputs have. docs/rows.md has the definitions.

    \b
    independent  row i is that of a run on row i alone
    by position  it also depends on its number, or on how many rows there are
    shared       the output depends on no row
    mixes        a run shows two rows in one place
    unknown      none of these is shown; the first node where rows may meet is named

    --format triton and bentoml print what servers need to know to stack requests. Triton's max_batch_size is the
    greatest number of rows that is legal, if there is one; any number is proved, so else it is yours: --max-batch.

    Exit code: 0 if every output is independent or shared, 1 if a run shows that rows mix, else 3.
    """
    if most is not None and ask.form != "triton":
        raise UsageError("--max-batch is for --format triton")
    result = analysed(ask.model, ask.settings, ask.sizes)
    if ask.form not in ("text", "json") and len(axes) > 1:
        raise UsageError(f"--format {ask.form} is about the rows of one name: give --axis once")
    found = result.rows(*map(read_places, axes), run=not no_run)
    served = {ask.form: lambda: show.rows.server_settings(ask.form, result, found, most)}
    document = partial(show.rows.ROWS.text, found, head=homes.naming.about(result))
    answer(ask.form, document, lambda: show.rows.report(result, found), served)
    return FINE if found else NO if found.mixes else UNDECIDED
