"""`absint check`, `contract` and `profile`: which sizes are legal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

import click

from absint import homes, show
from absint.commands.analysis import Settings, analysed, analysis_options, warm_up
from absint.commands.command import FINE, NO, UNDECIDED, Command, status, tell
from absint.commands.models import Ask, models_argument
from absint.commands.sizes import read_profiles
from absint.errors import UsageError
from absint.lattices.limits import LONG, SECONDS
from absint.lattices.text.escapes import one_line
from absint.lattices.text.sheets import Part, rendered
from absint.questions.sizes.outcomes import Check, RangeCheck
from absint.result import Result
from absint.shapes.inputs import has_any_shape
from absint.shapes.sizes import Sizes, given, is_range, is_shape, spelled
from absint.show import contracts
from absint.show.text import answer, check_sheet, write
from absint.solution.naming import names_of
from absint.solver.constraints import ConstraintSet, Role


@click.command(cls=Command)
@click.option(
    "--feeds", metavar="FILE", help="An .npz file with arrays for inputs, and for other values if you have them."
)
@click.option("--run", "run_it", is_flag=True, help="Run the model with the arrays of --feeds and compare its outputs.")
@click.option("--values", is_flag=True, help="Show, and with --run compare, all values of the main graph.")
@click.option("--strict", is_flag=True, help="Exit code 3 where nodes may fail, too.")
@analysis_options(seconds=LONG, runs=True)
@models_argument(titled=False)
def check(ask: Ask, feeds: str | None, run_it: bool, values: bool, strict: bool) -> int:
    """Check whether MODEL runs at given sizes or arrays.

    \b
    absint check MODEL batch=4 seq=7             the shapes of outputs, or the node that fails and why
    absint check MODEL input_ids=4x7             the same, by the shape of an input
    absint check MODEL batch=1..64 seq=1..2048   whether every size in these ranges is legal
    absint check MODEL batch=4 seq=1..           seq is at least 1; ..64 is at most 64
    absint check MODEL --feeds x.npz --run       the claims against a real run

    With a range, a symbol that is left out has any size; without, every symbol needs a size. An array of --feeds has
    the name of an input, or of a value whose shape and type are then compared with what is claimed. If sizes are not
    legal, the answer ends with the nearest that are.

    Exit code: 0 if the sizes are legal (nodes that may fail are listed, and with --strict the code is 3); 1 if one of
    them is not, a claim is wrong or the run fails; 3 if undecided, or if arrays do not show all sizes.
    """
    if feeds is not None and ask.sizes:
        raise UsageError(
            f"--feeds gives the sizes: leave out {', '.join(spelled(*item) for item in ask.sizes.items())}"
        )
    if run_it and feeds is None:
        raise UsageError("--run needs --feeds with arrays for the inputs")
    if feeds is not None:
        checked = _check_feeds(ask.model, ask.settings, feeds, run_it, values, ask.form)
        return NO if not checked.ok else UNDECIDED if checked.check is None else _code(checked.check, strict)

    has_range = any(map(is_range, ask.sizes.values()))
    if has_range:
        warm_up(ask.limits)
    result = _with_shapes(ask.model, ask.settings, ask.sizes)
    if has_range:
        with status("checking the ranges"):
            found = result.check_range(ask.sizes, **ask.limits._asdict())
        named = _named(result, found)
        answer(
            ask.form,
            lambda: named.to_json(names_of(result), model=result.origin),
            lambda: [named.sheet(names_of(result))],
        )
        return _code(found, strict)
    _need_all(result, ask.sizes)
    at = result.check(ask.sizes)
    if not at.ok:
        near = ask.limits._replace(seconds=min(ask.limits.seconds, SECONDS))  # it only adds to an answer that is there
        with status("looking for legal sizes"):
            at = replace(at, nearest=result.nearest(at.sizes, **near._asdict()))
    answer(
        ask.form,
        lambda: at.to_json(names_of(result), model=result.origin),
        lambda: [check_sheet(result, at, values=values)],
    )
    return _code(at, strict)


def _with_shapes(model: str, settings: Settings, sizes: Sizes) -> Result:
    """The analysis of the model, whose inputs without a shape have the shapes that the sizes state."""
    result = analysed(model, settings)
    inputs = result.declared_inputs.named
    shapes = {
        name: size for name, size in sizes.items() if is_shape(size) and name in inputs and has_any_shape(inputs[name])
    }
    return analysed(model, settings, shapes, shows_diagnostics=True) if shapes else result


def _code(found: Check | RangeCheck, strict: bool = False) -> int:
    codes = {"illegal": NO, "undecided": UNDECIDED, "legal": UNDECIDED if strict else FINE}
    return codes.get(found.outcome.value, FINE)


def _need_all(result: Result, sizes: Sizes) -> None:
    """Raises UsageError for a symbol without a size."""
    named = given(sizes, result.declared_inputs).ends
    missing = [name for name in result.symbols if name not in named]
    if missing:
        example = " ".join(f"{name}=0.." for name in missing)
        raise UsageError(
            f"no size for {', '.join(map(repr, missing))}: every symbol needs one ({example} for any size)"
        )


def _named(result: Result, found: RangeCheck) -> RangeCheck:
    """The same with the printed names of invented symbols."""
    names = homes.constraints.all_names(result)
    open_, premises = (tuple(ConstraintSet(part).renamed(names)) for part in (found.open, found.premises))
    return replace(found, open=open_, premises=premises)


def _check_feeds(model: str, settings: Settings, path: str, run_it: bool, values: bool, form: str) -> show.feeds.Fed:
    """Print what the arrays of a file tell, with `run_it` after a run."""
    arrays = homes.run.load_feeds(path)
    fed = _fed(analysed(model, settings), path, arrays, run_it, values)
    answer(form, lambda: show.feeds.FED.text(fed), lambda: show.feeds.report(fed))
    return fed


def _fed(result: Result, path: str, arrays: Mapping[str, object], run_it: bool, values: bool) -> show.feeds.Fed:
    """Compare the arrays with the claims, before a run and after it."""
    named = {info.name for info in result.loaded.model.graph.input}
    inputs = {name: array for name, array in arrays.items() if name in named}
    others = {name: array for name, array in arrays.items() if name not in named}
    comparison = result.compare(inputs, others)
    failed = ""
    differing: tuple[str, ...] = ()
    if run_it:
        wanted = [name for name in result.shapes if name not in named] if values else list(others)
        try:
            with status("running the model"):
                computed = homes.run.run(result, inputs, wanted, isolated=True)
            comparison = result.compare(inputs, {**others, **computed})
            differing = tuple(homes.run.differences(others, computed))
        except homes.run.RunError as error:
            failed = str(error)
    sizes = {name: comparison.binding[name] for name in result.symbols if name in comparison.binding}
    is_told = len(sizes) == len(result.symbols) and not any(row.premise for row in comparison.wrong)
    check = result.check(sizes) if is_told else None
    return show.feeds.Fed(path, result.symbols, comparison, check, run_it and not failed, failed, differing)


@click.command(cls=Command)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List each clause with all its nodes, and what clauses cannot say; with --role, every relation.",
)
@click.option(
    "--samples",
    type=click.IntRange(0),
    metavar="COUNT",
    default=0,
    show_default=False,
    help="Add so many legal sizes, small and large.",
)
@click.option(
    "--role",
    "roles",
    type=click.Choice(["required", "defined", "assumed", "declared", "all"]),
    multiple=True,
    help="The constraints of the nodes instead of the clauses: those of this role, or all.",
)
@click.option("--shapes", is_flag=True, help="A Python function from input sizes to the shapes of outputs instead.")
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead, all of it or nothing.")
@analysis_options("smtlib", "python", "metadata", "torch", seconds=LONG)
@models_argument()
def contract(ask: Ask, everything: bool, roles: tuple[str, ...], shapes: bool, output: str | None, samples: int) -> int:
    """List which input sizes of MODEL are legal, or export this.

    A clause is a relation over input symbols that every run needs, with the node that imposes it; clauses that the
    others imply are left out. Sizes that meet all of them may still fail on data, as the lines below the clauses say.

    With --role, the constraints of nodes are listed instead. Other forms always have these, by default of every role:

    \b
    smtlib    an SMT-LIB 2 script with named assertions
    python    a function that rejects sizes at which the model cannot run
    metadata  a JSON object for the metadata_props of a model file
    torch     the dynamic_shapes of torch.export

    Exit code: 0 if some size meets all clauses, 1 if none does (the model can never run), 3 if undecided. Constraints
    are written without asking that: 0.
    """
    if shapes and ask.form not in ("text", "python"):
        raise UsageError(f"--shapes writes a Python function: leave out --format {ask.form}")
    if samples and (shapes or roles or ask.form not in ("text", "json")):
        raise UsageError("--samples adds sizes to the clauses: leave out --shapes, --role and other formats")
    if shapes and roles:
        raise UsageError(f"--shapes writes no constraints: leave out --role {roles[0]}")
    if output == "-":
        output = None
    if output is not None:
        homes.writing.check_target(ask.model, output)
    has_clauses = ask.form in ("text", "json") and not roles and not shapes
    if has_clauses:
        warm_up(ask.limits)
    result = analysed(ask.model, ask.settings, ask.sizes)
    code = FINE
    content: str | Iterable[Part]
    if has_clauses:
        with status("simplifying the contract"):
            found = result.contract(samples=samples, **ask.limits._asdict())
        code = UNDECIDED if found.possible is None else FINE if found.possible else NO
        if ask.form == "json":
            content = found.to_json(names_of(result), model=result.origin) + "\n"
        else:
            content = contracts.report(result, found, everything=everything)
    elif shapes:
        content = contracts.shapes_function(result)
    else:
        constraints = contracts.chosen(result, () if "all" in roles else cast(tuple[Role, ...], roles))
        if ask.form == "text":
            content = contracts.listing(result, constraints, everything=everything)
        else:
            content = contracts.exported(result, constraints, cast(contracts.Form, ask.form))
    _write(result, content, ask.model, output)
    return code


def _write(result: Result, content: str | Iterable[Part], model: str, output: str | None) -> None:
    if output is not None:
        if not isinstance(content, str):
            content = "".join(f"{one_line(line.text)}\n" for line in rendered(content))
        homes.writing.write_text(content, result.loaded.outline(), model, output)
    elif isinstance(content, str):
        click.echo(content, nl=False)
    else:
        write(content)


@click.command(cls=Command)
@click.option(
    "--corners",
    is_flag=True,
    help="Take a profile whose least, best and greatest sizes are legal, though some between are not.",
)
@analysis_options("trtexec", "polygraphy", "onnxruntime-trt", "torch-tensorrt", "openvino", seconds=LONG)
@models_argument(titled=False, read=read_profiles)
def profile(ask: Ask, corners: bool) -> int:
    """Write proved ranges of sizes for engine builders.

    Of every input the least shape, the one to optimise for, and the greatest.

    \b
    absint profile MODEL batch=1..4..32 seq=1..512          512 is the best and the greatest
    absint profile MODEL image=1..8x3x224x224               by the shape of an input
    absint profile MODEL batch=1..4..32 --format trtexec    arguments for another tool

    An engine takes every size between the least and the greatest, so all of them are proved legal first. If some are
    not, the profile is refused, with the nearest box of sizes that is legal. A size that must be a multiple of 8 is no
    range: --corners moves the least, best and greatest to legal sizes, and warns.

    Inputs whose elements decide sizes are profiled by their values, which are given under their names.

    Exit code: 0 if the profile is written, 1 if it is refused, 3 if it is not decided whether all sizes are legal.
    """
    warm_up(ask.limits)
    result = analysed(ask.model, ask.settings)
    with status("proving that all sizes are legal"):
        found = result.profile(cast("homes.making.WantedSizes", ask.sizes), corners=corners, **ask.limits._asdict())
    if ask.form == "json":
        click.echo(found.to_json(model=result.origin))
    elif ask.form == "text":
        write([found.sheet])
    elif found:
        click.echo(found.text(ask.form), nl=False)
        for warning in found.warnings:
            tell(f"warning: {warning}")
    else:
        for line in found.sheet.lines():
            tell(line.text.strip())
    return _code_of_profile(found, corners)


def _code_of_profile(found: homes.profile.Profile, corners: bool) -> int:
    if found.without_shape:
        return NO
    if found.checked.outcome.value == "undecided" and not (corners and found):
        return UNDECIDED
    return FINE if found else NO
