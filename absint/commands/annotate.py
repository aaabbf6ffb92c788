"""`absint annotate`."""

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext

import click

from absint.commands.analysis import analysed, assume_option, load_option, policy_option, read_model, settings_options
from absint.commands.command import FINE, STANDARD_INPUT, Command, say, tell
from absint.commands.models import Ask, models_argument
from absint.errors import UsageError
from absint.jobs.copies.dialects import DIALECTS, POLICIES, MergePolicy, Style
from absint.jobs.copies.saving import STANDARD_OUTPUT, copying, copying_unread, finish_annotated, save_simplified
from absint.model.load import load
from absint.model.onnx_package import defer_onnx
from absint.model.writing import backed_up, check_binary_target
from absint.show import text


@click.command(cls=Command)
@click.option("-o", "--output", metavar="OUT", help="The file to write; - for standard output.")
@click.option("--in-place", is_flag=True, help="Replace MODEL; the old one stays as MODEL.bak.")
@click.option(
    "--merge",
    type=click.Choice(POLICIES),
    default="refine",
    help="Keep existing annotations, replace them, refine them, or refine them and fail if one is false.",
)
@click.option(
    "--outputs/--no-outputs",
    default=None,
    help="Write the types of graph outputs too, or leave them.  [default: only dims that no input names]",
)
@click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    default="absint",
    help="The form of dims: that of absint, one that another tool parses, or a name for each distinct size.",
)
@assume_option
@policy_option
@click.option(
    "--simplify-only",
    is_flag=True,
    help="Infer nothing: write the expressions that are in the file in their shortest form.",
)
@click.option("--copy-weights", is_flag=True, help="Copy the files of external weights beside OUT.")
@load_option
@click.option("--force", is_flag=True, help="Allow OUT to be MODEL itself, and MODEL.bak to be replaced.")
@settings_options
@models_argument(several=False)
def annotate(
    ask: Ask,
    output: str | None,
    in_place: bool,
    merge: MergePolicy,
    outputs: bool | None,
    dialect: str,
    simplify_only: bool,
    copy_weights: bool,
    no_load: bool,
    force: bool,
) -> int:
    """Write a copy of MODEL with the inferred types in it.

    Types go into value_info, in the bodies of If, Loop and Scan too. OUT is complete or not written at all.
    """
    target = _target(ask.model, output, in_place=in_place, force=force)
    defer_onnx()
    replacing = backed_up(ask.model, force=force) if in_place else nullcontext()
    if simplify_only:
        with replacing:
            return _simplified(ask.model, target, copy_weights=copy_weights)

    with replacing, copying_unread(ask.model, target) if ask.model != STANDARD_INPUT else nullcontext() as begun:
        from absint.jobs.copies.loading import is_load_needed
        from absint.model.inference import begin
        from absint.runs.loading import begin as begin_loading

        begin()
        loaded = read_model(ask.model)
        with loaded.reading():
            is_loaded = not no_load and is_load_needed(loaded.model)
        if is_loaded:
            begin_loading()
        with copying(loaded, target, begun) as copy:
            result = analysed(loaded, ask.settings, ask.sizes, shows_diagnostics=True)

            saved = finish_annotated(
                copy, result, Style(merge, outputs, dialect), copy_weights=copy_weights, load=not no_load
            )
    _note_weights(saved.weights_elsewhere, target)
    if target != STANDARD_OUTPUT:
        label = f", {result.policy.label}" if result.policy.label else ""
        say(f"{target}: value_info of {saved.values:,} {'value' if saved.values == 1 else 'values'}{label}")
    found = text.diagnostics(result.diagnostics, "absint analyze --format json")
    text.write((part for part in found if part.text), sys.stderr)
    for item in saved.left_out:
        tell(f"note: {item}")
    if saved.unchecked:
        tell(f"note: it is not known whether the copy loads: {saved.unchecked}")
    return FINE


def _target(model: str, output: str | None, *, in_place: bool, force: bool) -> str:
    """The file to write. Raises UsageError if it must not be written, and if none or two are given."""
    if in_place == (output is not None):
        raise UsageError("give one of -o OUT and --in-place")
    if output is not None:
        check_binary_target(model, output, force)
        return output
    if not os.path.isfile(model):
        raise UsageError(f"--in-place: {model} is no file: give -o OUT")
    return model


def _simplified(model: str, target: str, *, copy_weights: bool) -> int:
    changed, weights = save_simplified(load(model), target, copy_weights=copy_weights)
    _note_weights(weights, target)
    if target != STANDARD_OUTPUT:
        say(f"{target}: {changed:,} {'dim' if changed == 1 else 'dims'} simplified")
    return FINE


def _note_weights(names: Sequence[str], output: str) -> None:
    for line in text.weights_note(names, output, ", or use --copy-weights"):
        tell(line.text)
