"""The command line. A command is imported when it runs, so that `absint --help` loads none of them.

An error is one line on stderr; one in a text that was given (a relation, say) is followed by the text and a caret.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Final, TextIO

import click
from click.shell_completion import CompletionItem

from absint.commands.command import BAD_INPUT, BROKEN_PIPE, FINE, INTERRUPTED, tell
from absint.errors import AbsintError, UsageError
from absint.lattices.text.escapes import bounded, did_you_mean
from absint.packages import distribution
from absint.version import VERSION

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}
_FULL = (errno.ENOSPC, errno.EIO, errno.EFBIG)
"""Errors of writing; those of a stream name no file."""


class ClosedPipeError(Exception):
    """The reader of the output has closed it."""


GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "Commands": {
        "analyze": "Infer the shape of every value of MODEL.",
        "check": "Check whether MODEL runs at given sizes or arrays.",
        "contract": "List which input sizes of MODEL are legal, or export this.",
        "cost": "Count memory, arithmetic, parameters and traffic of MODEL.",
        "devices": "Show nodes that stay on the host, and copies.",
        "ranges": "Show ranges of values, and what can go wrong.",
        "rows": "Prove that row i of an output depends on row i of the inputs.",
        "explain": "Explain where a dim of VALUE comes from, node by node.",
        "freeze": "Write a copy of MODEL with fixed sizes, folded.",
        "simplify": "Write a smaller copy of MODEL whose sizes stay symbolic.",
        "dynamize": "Make sizes of inputs symbolic, constants with them.",
        "profile": "Write proved ranges of sizes for engine builders.",
        "annotate": "Write a copy of MODEL with the inferred types in it.",
        "report": "Write an HTML page to look at MODEL.",
        "site": "Write a page that analyses models in the browser.",
        "diff": "Compare model A with model B, which is to take its place.",
        "lint": "Check models and folders of models, for CI and pre-commit.",
        "prove": "Prove or refute relations between sizes of MODEL.",
        "certify": "Write lemmas that prove the shapes of MODEL.",
        "equal": "Group dims, shapes or buffers that are always equal.",
        "audit": "Judge claims about the shapes of MODEL.",
        "schema": "Print the JSON Schema of a document that commands print.",
    },
    "Research": {
        "study": "Count claims about the models of DIR, and false ones.",
        "rules": "List the rules of operators, and prove them.",
        "policies": "List the unification policies.",
        "export-queries": "Write the queries behind a study of DIR as SMT-LIB files.",
    },
}
"""The commands and what they do, in the order of the help, under its headings. Each is a function of a module with its
name or that of `HOMES`, which is imported when it runs; its docstring begins with the same sentence."""
HOMES: Final = {
    "contract": "check", "profile": "check", "freeze": "resizing", "dynamize": "resizing", "certify": "prove",
    "equal": "prove", "cost": "questions", "devices": "questions", "explain": "questions", "ranges": "questions",
    "rows": "questions", "site": "report", "policies": "study", "export-queries": "study",
}  # fmt: skip
"""The modules of the commands that stand in that of another."""
COMMANDS: Final[Mapping[str, str]] = {name: text for group in GROUPS.values() for name, text in group.items()}


class Commands(click.Group):
    """Commands, imported when they are asked for; a closed pipe is no answer."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except BrokenPipeError:  # click exits with 1, which would say that the answer is no
            raise ClosedPipeError from None
        except ModuleNotFoundError as error:
            module = (error.name or "").partition(".")[0]
            if module in ("", "absint"):
                raise
            package = distribution(module)
            text = f"absint {context.invoked_subcommand} needs {package}: pip install {package}"
            raise UsageError(text) from error

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, rows in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl(list(rows.items()), col_max=30)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            is_file = os.path.isfile(name)
            hint = f"it is a file: absint analyze {name}" if is_file else did_you_mean(name, COMMANDS, 1)
            if hint:
                ctx.fail(f"No such command {bounded(name)}; {hint}")
        return super().resolve_command(ctx, args)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        context.invoked_subcommand = name  # click says so later
        found = getattr(import_module(f"absint.commands.{HOMES.get(name, name)}"), name.replace("-", "_"))
        assert isinstance(found, click.Command)
        return found


@click.group(cls=Commands, context_settings=_CONTEXT, no_args_is_help=False, invoke_without_command=True)
@click.version_option(VERSION, prog_name="absint", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Sound symbolic shape analysis of ONNX models.

    \b
    Exit codes:
      0  fine, proved, legal
      1  the answer is no: refuted, illegal, it must fail
      2  bad usage or input
      3  undecided: not entailed, or unknown
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code; errors go to stderr."""
    _open_closed_streams()
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
        tell("interrupted")
        return INTERRUPTED
    except click.ClickException as error:
        return _failed(f"{error.format_message()}{_see_help(error)}")
    except AbsintError as error:
        return _failed(str(error))
    except OSError as error:
        where = error.filename or ("standard output" if error.errno in _FULL else "")
        return _failed(f"{where}{': ' if where else ''}{error.strerror or error}")
    except MemoryError:
        return _failed("out of memory")
    except Exception as error:
        return _failed(
            f"internal error, please report it: {type(error).__name__}: {error} (ABSINT_DEBUG=1 shows the traceback)"
        )


def _see_help(error: click.ClickException) -> str:
    command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else ""
    return f" (see {command} --help)" if command else ""


def _failed(message: str) -> int:
    """Report the error that is being handled."""
    if os.environ.get("ABSINT_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    tell(f"error: {message}")
    return BAD_INPUT


def _open_closed_streams() -> None:
    """Open closed standard streams on nothing, so that no file opened later takes their numbers."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.fstat(number)
                continue
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number, which is this one
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 (as long as the process)


def _never_fail_to_encode(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
