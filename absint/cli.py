"""The command line. Commands import what they need when they run, so that `absint --help` loads no heavy package.

An error is one line on stderr; one in a text that was given (a relation, say) is followed by the text and a caret.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain
from typing import Final, NoReturn, TextIO

import click

from absint.commands.codes import BAD_INPUT, BROKEN_PIPE, FINE, INTERRUPTED, NO, UNDECIDED
from absint.commands.messages import tell
from absint.errors import AbsintError
from absint.version import VERSION

_CONTEXT = {"help_option_names": ["-h", "--help"]}
_FULL = (errno.ENOSPC, errno.EIO, errno.EFBIG)
"""Errors of writing; those of a stream name no file."""


class ClosedPipeError(Exception):
    """The reader of the output has closed it."""


GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Commands": (
        "analyze",
        "check",
        "contract",
        "cost",
        "devices",
        "ranges",
        "explain",
        "freeze",
        "dynamize",
        "profile",
        "annotate",
        "report",
        "diff",
        "lint",
        "prove",
        "certify",
        "equal",
        "audit",
        "schema",
    ),
    "Research": (
        "study",
        "rules",
        "policies",
        "export-queries",
    ),
}  # fmt: skip
"""The commands in the order of the help, under its headings; each is a function of a module with its name."""
COMMANDS: Final = tuple(chain.from_iterable(GROUPS.values()))


class Commands(click.Group):
    """Commands, imported when they are asked for; a closed pipe is no answer."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except BrokenPipeError:  # click exits with 1, which would say that the answer is no
            raise ClosedPipeError from None

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in GROUPS.items():
            found = {name: self.get_command(context, name) for name in names}
            longest = formatter.width - 6 - max(map(len, COMMANDS))
            with formatter.section(heading):
                rows = [
                    (name, "" if command is None else command.get_short_help_str(longest))
                    for name, command in found.items()
                ]
                formatter.write_dl(rows, col_max=30)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        name = name.replace("-", "_")
        found = getattr(import_module(f"absint.commands.{name}"), name)
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


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the `absint` command."""
    code = run(arguments)
    sys.exit(code)


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
        where = error.filename or ("standard output" if error.errno in _FULL else "")
        return _tell(f"error: {where}{': ' if where else ''}{error.strerror or error}")
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
    tell(message)
    return BAD_INPUT


def _debug() -> None:
    if os.environ.get("ABSINT_DEBUG") == "1":
        import traceback

        traceback.print_exc()


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


__all__ = ["BAD_INPUT", "COMMANDS", "FINE", "GROUPS", "NO", "UNDECIDED", "cli", "main", "run"]
