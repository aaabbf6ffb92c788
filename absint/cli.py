"""The command line. Commands import what they need when they run, so that `absint --help` loads no heavy package.

Exit codes: 0 fine; 1 the answer is no (a node must fail, `--require` misses something); 2 bad usage or input, told in
one line on stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from absint import __version__
from absint.errors import AbsintError, UsageError

if TYPE_CHECKING:
    from onnx import GraphProto

    from absint.api import MergePolicy, Result
    from absint.report.summary import Requirement
    from absint.report.tracing import Recorder
    from absint.shapes import State, Trace

FINE, NO, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141

LARGE_MODEL = 20_000
"""From this many nodes on, progress is shown on a terminal."""

_CONTEXT = {"help_option_names": ["-h", "--help"]}


class ClosedPipeError(Exception):
    """Whoever read the output has seen enough."""


class Commands(click.Group):
    """Click makes exit code 1 of a closed pipe, which would say that the answer is no."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise ClosedPipeError from None


@click.group(cls=Commands, context_settings=_CONTEXT, no_args_is_help=False, invoke_without_command=True)
@click.version_option(__version__, prog_name="absint", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Sound symbolic shape analysis of ONNX models.

    Exit codes: 0 fine; 1 the answer is no (a node must fail, something required is missing); 2 bad usage or input.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command()
@click.argument("model")
@click.option("--values", is_flag=True, help="List every value, with its contents where they are known.")
@click.option("--assume", metavar="RELATION", multiple=True, help="A relation over input symbols, as 'seq % 8 == 0'.")
@click.option("--set", "sizes", metavar="SYMBOL=SIZE", multiple=True, help="Fix an input symbol, as batch=4.")
@click.option(
    "--require",
    type=click.Choice(["shapes", "ranks", "rules"]),
    multiple=True,
    help="Exit with 1 and a list if something is missing: dims that are not in terms of the inputs, ranks, rules.",
)
@click.option("--trace", metavar="VALUE", multiple=True, help="Show each visit that changes what is known of a value.")
@click.option("--strict", is_flag=True, help="Exit with 1 on warnings too.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def analyze(
    model: str,
    values: bool,
    assume: tuple[str, ...],
    sizes: tuple[str, ...],
    require: tuple[Requirement, ...],
    trace: tuple[str, ...],
    strict: bool,
    form: str,
) -> int:
    """Infer the shape of every value of MODEL.

    The table shows inputs, outputs, totals and diagnostics. A dim is a number, an expression over the symbols of the
    inputs, or a name like _d0 for a size that only a run can tell.
    """
    from absint.diagnostics import Severity
    from absint.report import summary
    from absint.report.tracing import Recorder

    recorder = Recorder() if trace else None
    result = _analysed(model, assume, sizes, recorder)
    traced = recorder.traced(result, trace) if recorder is not None else []
    missing: dict[str, list[str]] = {what: summary.missing(result, what) for what in require}
    if form == "json":
        from absint.report.document import document

        click.echo(document(result, missing, traced))
    else:
        from absint.report import text

        width = text.width_of()
        text.write(text.report(result, width, values=values, missing=missing, traced=traced))
    warned = strict and any(d.severity is not Severity.INFO for d in result.diagnostics)
    return NO if warned or not result.can_run or any(missing.values()) else FINE


@cli.command()
@click.argument("model")
@click.option("-o", "--output", required=True, metavar="OUT", help="The file to write; - for standard output.")
@click.option(
    "--merge",
    type=click.Choice(["skip", "override", "refine", "strict"]),
    default="refine",
    show_default=True,
    help="Existing annotations are kept, replaced, made more exact, or an error where they contradict the result.",
)
@click.option("--outputs", is_flag=True, help="Write the types of graph outputs too.")
@click.option("--force", is_flag=True, help="Allow OUT to be MODEL itself.")
def annotate(model: str, output: str, merge: MergePolicy, outputs: bool, force: bool) -> int:
    """Write a copy of MODEL with the inferred types in it.

    Types go into value_info, in the bodies of If, Loop and Scan too. OUT is complete or not written at all.
    """
    from absint.report import text
    from absint.report.files import check_target, write_model

    check_target(model, output, force)
    result = _analysed(model, (), (), None)
    annotated = result.annotate(merge, outputs=outputs)
    write_model(annotated, model, output)
    if output != "-":
        count = sum(len(graph.value_info) for graph in _graphs(annotated.graph))
        click.echo(f"{output}: value_info of {count:,} {'value' if count == 1 else 'values'}")
    found = text.diagnostics(result.diagnostics, text.width_of(sys.stderr))
    text.write((line for line in found if line.text), sys.stderr)
    return FINE


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and the bodies in it."""
    pending = [graph]
    while pending:
        graph = pending.pop()
        yield graph
        pending += [a.g for node in graph.node for a in node.attribute if a.HasField("g")]


def _analysed(model: str, assume: Sequence[str], sizes: Sequence[str], recorder: Recorder | None) -> Result:
    from absint.api import analyze
    from absint.load import load

    bind = dict(map(_size, sizes))
    loaded = load(model)
    with _progress(len(loaded.proto.graph.node)) as advance:
        return analyze(loaded, assume=assume, bind=bind, trace=recorder or advance)


def _size(text: str) -> tuple[str, int]:
    name, found, size = text.rpartition("=")
    try:
        return name.strip(), int(size) if found else int("")
    except ValueError:
        raise UsageError(f"--set {text}: expected a symbol and a size, as batch=4") from None


@contextmanager
def _progress(nodes: int) -> Iterator[Trace | None]:
    """A bar on stderr for a large model on a terminal."""
    if nodes < LARGE_MODEL or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("analysing", total=nodes)
        count = 0

        def advance(node: int, state: State) -> None:
            nonlocal count
            count += 1
            if count % 1000 == 0:
                progress.update(task, completed=min(count, nodes))

        yield advance


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the `absint` command."""
    code = run(arguments)
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code; every error is one line on stderr."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail_to_encode(stream)
    try:
        code = cli.main(args=arguments, prog_name="absint", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else FINE
    except (BrokenPipeError, ClosedPipeError):
        # The interpreter must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        _tell("interrupted")
        return INTERRUPTED
    except click.ClickException as error:
        _debug()
        return _tell(f"error: {error.format_message()}{_see_help(error)}")
    except AbsintError as error:
        _debug()
        return _tell(f"error: {error}")
    except OSError as error:
        _debug()
        name = f"{error.filename}: " if error.filename else ""
        return _tell(f"error: {name}{error.strerror or error}")
    except MemoryError:
        _debug()
        return _tell("error: out of memory")
    except Exception as error:
        _debug()
        return _tell(
            f"error: internal error, please report it: {type(error).__name__}: {error} "
            f"(ABSINT_DEBUG=1 shows the traceback)"
        )


def _see_help(error: click.ClickException) -> str:
    command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else ""
    return f" (see {command} --help)" if command else ""


def _tell(message: str) -> int:
    """One line on stderr."""
    line = " ".join(message.split())
    print("absint:", line if len(line) <= 1000 else f"{line[:997]}...", file=sys.stderr)
    return BAD_INPUT


def _debug() -> None:
    if os.environ.get("ABSINT_DEBUG") == "1":
        import traceback

        traceback.print_exc()


def _never_fail_to_encode(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


__all__ = ["BAD_INPUT", "FINE", "NO", "cli", "main", "run"]
