"""Options that commands share, and the analysis of the model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import reduce, wraps
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

import click

from absint.api import Refine, analyze
from absint.commands.command import STANDARD_INPUT, counted, shared, tell
from absint.diagnostics import Diagnostic, Severity
from absint.errors import AbsintError, ModelError, UsageError
from absint.lattices.limits import MEMORY, RLIMIT, Limits
from absint.lattices.policy_names import POLICY_NAMES, SOUND_NAME
from absint.lattices.value import AnyTensor
from absint.model.load import Loaded, load
from absint.model.opening import MAX_FILE
from absint.program.limits import Progress
from absint.program.rules.plugins import read_table
from absint.program.sources import EXTERNAL_DATA, OVERRIDABLE, PLACEHOLDERS
from absint.result import Result
from absint.runs.allowance import allowing, amount
from absint.shapes.sizes import Sizes
from absint.transfer.rule import Table
from absint.transfer.semantics import EITHER, SEMANTICS, Semantics

if TYPE_CHECKING:
    from absint.analyses.exchange import Given
    from absint.shapes.timings import Timings
    from absint.show.summary import Recorder

_DOING: Final = {"lower": "reading", "analyse": "analysing", "refine": "refining", "settle": "proving"}
_READING: Final = (OVERRIDABLE, PLACEHOLDERS, EXTERNAL_DATA)
"""Diagnostics of how inputs are read, which an option changes."""
LARGE_MODEL = 20_000
"""From this many nodes on, progress is shown."""

Command = TypeVar("Command", bound=Callable[..., object])

assume_option = click.option(
    "--assume", metavar="RELATION", multiple=True, help="A relation over input symbols, as 'seq % 8 == 0'."
)
load_option = click.option(
    "--no-load", is_flag=True, help="Do not let onnxruntime load the copy of a model with branches or loops."
)
policy_option = click.option(
    "--policy",
    type=click.Choice(POLICY_NAMES),
    default=SOUND_NAME,
    help="Which of two dims a rule keeps where it must choose: the one that holds in every run, or that of a tool.",
)


class Settings(NamedTuple):
    """Settings of the analysis that every command takes; the fields are keywords of `absint.analyze`."""

    table: Table | None = None
    defaults: bool = False
    names_as_declared: bool = False
    premises: bool = True
    semantics: Semantics = EITHER
    max_seconds: float | None = None
    max_nodes: int | None = None
    trust: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()
    policy: str = SOUND_NAME
    with_: tuple[Given, ...] = ()


jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of parallel processes.  [default: one per core]"
)
scheduler_option = shared(
    "--scheduler", metavar="ADDRESS", help="Use the Dask cluster of this scheduler, as tcp://host:8786."
)


def settings_options(command: Command) -> Command:
    """The options of `Settings`, handed to the command as one argument `settings`, with --assume and --policy."""

    @shared(
        "--defaults",
        is_flag=True,
        help="Use the file's values of initialisers that are inputs too, as if no caller replaced them.",
    )
    @shared(
        "--names-as-declared",
        is_flag=True,
        help="Take placeholders as ?, None and unk, where inputs declare them, for names: each is one size.",
    )
    @shared(
        "--seconds",
        "--max-seconds",
        "max_seconds",
        type=float,
        metavar="SECONDS",
        help="Stop the analysis after this time; nodes that it has not reached are unknown.",
    )
    @shared("--max-nodes", type=int, metavar="COUNT", help="Analyse only the first nodes; the others are unknown.")
    @shared(
        "--no-premises",
        "premises",
        flag_value=False,
        type=bool,
        default=True,
        show_default=False,
        help="Do not assume that integers never overflow and that floats hold sizes exactly.",
    )
    @shared(
        "--semantics",
        type=click.Choice(list(SEMANTICS)),
        default=EITHER,
        help="The runs that answers are about, where ONNX's documents and onnxruntime differ: those of the one, of the "
        "other, or of either.",
    )
    @shared(
        "--trust",
        metavar="WHAT",
        multiple=True,
        help="Take declared shapes as premises where the analysis knows less: all, custom (outputs of operators "
        "without a rule), or those of a value or node.",
    )
    @shared("--rules", metavar="FILE", multiple=True, help="A Python file with rules of your own; it is run.")
    @shared(
        "--analysis",
        "with_",
        metavar="FILE",
        multiple=True,
        help="A Python file with analyses of your own; it is run, and what they report is shown.",
    )
    @wraps(command)
    def packed(*args: object, rules: tuple[str, ...], **options: object) -> object:
        given = {name: options.pop(name) for name in Settings._fields if name in options}
        return command(*args, settings=Settings(read_table(rules), **cast("dict[str, Any]", given)), **options)

    return cast(Command, packed)


def _checked_rlimit(_: click.Context, __: click.Parameter, rlimit: int) -> int:
    if not 0 <= rlimit < 1 << 32:
        raise UsageError(f"--rlimit {rlimit}: expected a number from 0 (no limit) to {(1 << 32) - 1}")
    return rlimit


rlimit_option = shared(
    "--rlimit",
    type=int,
    metavar="STEPS",
    default=RLIMIT,
    callback=_checked_rlimit,
    help="Z3's resource limit for one question; 0 is no limit.",
)


def limit_options(seconds: float) -> Callable[[Command], Command]:
    """The options of `Limits`, handed to the command as one argument `limits`."""

    def decorated(command: Command) -> Command:
        @click.option(
            "--seconds",
            type=float,
            metavar="SECONDS",
            default=seconds,
            help="Time limit of one answer, all work included; if it is given, of the analysis too.",
        )
        @rlimit_option
        @shared(
            "--memory",
            metavar="AMOUNT",
            default=f"{MEMORY >> 30}GB",
            help="Memory limit of Z3 and of a run of the model, each, as 8GB; a number alone is megabytes.",
        )
        @wraps(command)
        def packed(*args: object, seconds: float, rlimit: int, memory: str, **options: object) -> object:
            check_seconds(seconds)
            size = amount(memory, "--memory", alone="M")
            if options.get("max_seconds", 0) is None and _is_given("seconds"):
                options["max_seconds"] = seconds
            if options.get("run_memory", "") is None and _is_given("memory"):
                options["run_memory"] = str(size)
            return command(*args, limits=Limits(seconds, rlimit, size), **options)

        return cast(Command, packed)

    return decorated


def _is_given(name: str) -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def memory_option(command: Command) -> Command:
    """`--memory`, for commands that run models."""

    @shared(
        "--memory",
        "--run-memory",
        "run_memory",
        metavar="AMOUNT",
        help="Memory limit of a run of the model, as 8GB.  [default: 4GB]",
    )
    @wraps(command)
    def limited(*args: object, run_memory: str | None = None, **options: object) -> object:
        with allowing(run_memory):
            return command(*args, **options)

    return cast(Command, limited)


def analysis_options(
    *forms: str, seconds: float | None = None, runs: bool = False, assume: bool = True
) -> Callable[[Command], Command]:
    """What most commands take: `--assume`, the options of `Settings`, and `--format`, of which there are more `forms`.

    With `seconds` those of `Limits` are among them, with `runs` that of the memory of a run.
    """
    options: list[Callable[[Command], Command]] = [
        *([assume_option] if assume else []),
        *([limit_options(seconds)] if seconds is not None else []),
        *([memory_option] if runs else []),
        settings_options,
        format_option(*forms),
    ]
    return lambda command: reduce(lambda inner, option: option(inner), reversed(options), command)


def output_options(*, required: bool = False) -> Callable[[Command], Command]:
    """`-o` and `--force`, for commands that write a copy of MODEL: see `check_output` of `models`."""
    force = click.option("--force", is_flag=True, help="Allow OUT to be MODEL itself.")
    text = "The file to write; - for standard output."
    output = click.option("-o", "--output", metavar="OUT", required=required, help=text)
    return lambda command: output(force(command))


def format_option(*others: str) -> Callable[[Command], Command]:
    """`--format text|json`, and other forms that a command has."""
    forms = ["text", "json", *others]
    return click.option("--format", "form", type=click.Choice(forms), default="text")


def read_model(model: str) -> Loaded:
    """The model of a file, or for - of standard input. Raises ModelError for anything that is not one."""
    if model != STANDARD_INPUT:
        return load(model)
    content = bytearray()
    while piece := sys.stdin.buffer.read(_PIECE):  # a larger read would ask for all of its memory at once
        content += piece
        if len(content) > MAX_FILE:
            raise ModelError(f"standard input holds more than {MAX_FILE:,} bytes: give the path of a file")
    return load(bytes(content), origin="standard input")


_PIECE = 1 << 20


def analysed(
    model: str | Loaded,
    settings: Settings,
    sizes: Sizes | None = None,
    *,
    recorder: Recorder | None = None,
    refine: Refine = True,
    plugins: bool = True,
    schema_inference: bool = True,
    timings: Timings | None = None,
    shows_diagnostics: bool = False,
    with_: Sequence[Given] = (),
) -> Result:
    """The analysis of the model with these settings, and at the sizes that are given.

    A limit that was reached is reported on stderr, and so are options with which more might be known, unless the
    command shows all diagnostics itself.
    """
    with timings.phase("load") if timings is not None else nullcontext():
        loaded = read_model(model) if isinstance(model, str) else model
    with _progress(len(loaded.model.graph.node)) as advance:
        result = analyze(
            loaded,
            bind=sizes,
            trace=recorder,
            on_progress=advance,
            refine=refine,
            plugins=plugins,
            schema_inference=schema_inference,
            timings=timings,
            **settings._replace(with_=(*settings.with_, *with_))._asdict(),
        )
    if any(item.code == OVERRIDABLE and item.severity is Severity.WARNING for item in result.lowered.diagnostics):
        again = settings._replace(defaults=True)._asdict()
        _note_defaults(result, lambda: analyze(loaded, bind=sizes, refine=refine, plugins=plugins, **again))
    if not shows_diagnostics:
        for message in result.limits_reached:
            tell(f"warning: {message}")
        for item in result.lowered.diagnostics:
            if item.code in _READING and item.severity is Severity.WARNING:
                tell(f"note: {item.where}: {item.message}")
    return result


def _note_defaults(result: Result, with_defaults: Callable[[], Result]) -> None:
    """Make a note of the warning that names --defaults where the same sizes and requirements are known without it."""
    try:
        if _beside_contents(result) != _beside_contents(with_defaults()):
            return
    except AbsintError:
        return
    found = result.lowered.diagnostics
    for at, item in enumerate(found):
        if item.code == OVERRIDABLE:
            found[at] = Diagnostic(Severity.INFO, item.code, item.where, item.message.partition(" (")[0])


def _beside_contents(result: Result) -> object:
    """What does not hang on contents: the shapes of computed values, and what nodes state about sizes."""
    from absint.solution.constraints import recorded

    shapes = [
        str(value.shape) if isinstance(value := result.value_of((number, at)), AnyTensor) else str(value)
        for number, node in enumerate(result.nodes)
        if node.value is None
        for at in range(len(node.outputs))
    ]
    stated = {(item.origin.node, item.formula) for item in recorded(result).base}
    return shapes, stated, bool(result.rounds.conflict)


@contextmanager
def _progress(nodes: int) -> Iterator[Progress | None]:
    """A bar on stderr for a large model, in a log a line now and then."""
    if nodes < LARGE_MODEL:
        yield None
        return
    with counted("nodes") as advance:
        yield lambda done, total, phase: advance(done, max(total, nodes), _DOING[phase])


def warm_up(limits: Limits | None = None) -> None:
    """Start Z3 in its process, so that it loads while the model is analysed."""
    from absint.solver.backend import shared

    shared(MEMORY if limits is None else limits.memory).start()


def check_seconds(seconds: float, option: str = "--seconds") -> None:
    """Raises UsageError for a time limit that is none."""
    if not 0 < seconds < inf:
        raise UsageError(f"{option} {seconds:g}: expected a number above 0")
