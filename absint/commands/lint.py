"""`absint lint`."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from absint.commands.analysis import check_seconds, format_option, jobs_option, memory_option, scheduler_option
from absint.commands.command import FINE, NO, Command, counted, say
from absint.errors import UsageError
from absint.jobs.linting import Settings, find_settings, lint as run
from absint.jobs.linting.finding import RULES, LintRule
from absint.jobs.linting.lint import write_baseline as save
from absint.jobs.linting.settings import read_prefixes, read_settings
from absint.runs.pool import check_scheduler
from absint.show import lint as shown
from absint.show.text import answer, write

_CODES = "CODES"


@click.command(cls=Command)
@click.argument("models", metavar="[MODEL|DIR]...", nargs=-1)
@click.option("--select", metavar=_CODES, multiple=True, help="Only these rules: codes, prefixes as ABS1, names, ALL.")
@click.option("--ignore", metavar=_CODES, multiple=True, help="Not these rules, beside those that the project ignores.")
@click.option("--exclude", metavar="PATTERN", multiple=True, help="Skip files and folders, as a line of a .gitignore.")
@click.option("--force-exclude", is_flag=True, help="Skip them even if they are given by name.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info"]),
    help="Exit with 1 for findings from this severity on.  [default: warning]",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option("--baseline", metavar="FILE", help="Leave out the findings of this file.")
@click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline.")
@click.option("--rules", metavar="FILE", multiple=True, help="A Python file with rules of operators; it is run.")
@click.option("--analysis", "analyses", metavar="FILE", multiple=True, help="One with analyses of your own; it is run.")
@click.option("--config", metavar="FILE", help="Settings from this TOML file instead of the nearest pyproject.toml.")
@click.option("--isolated", is_flag=True, help="No settings from files.")
@jobs_option
@click.option("--seconds", type=float, metavar="SECONDS", help="Time limit of one model.  [default: 120]")
@click.option("--run", is_flag=True, help="Run models whose rows are not proved to stay apart.")
@scheduler_option
@memory_option
@click.option("--verbose", "-v", is_flag=True, help="Show findings of severity info too, and all places of each.")
@click.option("--explain", "code", metavar="CODE", help="Explain a rule, and do nothing else.")
@click.option("--list-rules", is_flag=True, help="List all rules, and do nothing else.")
@format_option("sarif", "github")
def lint(
    models: tuple[str, ...],
    fail_on: str | None,
    exit_zero: bool,
    baseline: str | None,
    write_baseline: bool,
    config: str | None,
    isolated: bool,
    verbose: bool,
    code: str | None,
    list_rules: bool,
    form: str,
    **options: Any,  # noqa: ANN401 (those that `absint.lint` takes, under its names)
) -> int:
    """Check models and folders of models, for CI and pre-commit.

    Findings are nodes that cannot run, false declarations, sizes of inputs that a symbol hides, and more; --list-rules
    shows all kinds. Each stands at the place where it begins. Without an argument, the models below the working
    directory are checked; - is a model from standard input.

    Settings come from [tool.absint.lint] in the nearest pyproject.toml. docs/lint.md explains rules and settings.

    Exit code: 1 for a warning or an error (see --fail-on), else 0.
    """
    if list_rules or code is not None:
        write(shown.rules() if code is None else shown.explanation(_rule(code)))
        return FINE
    if options["seconds"] is not None:
        check_seconds(options["seconds"])
    settings = _settings(config, isolated)
    known = baseline or (str(settings.root / settings.baseline) if settings.baseline else None)
    if write_baseline and known is None:
        raise UsageError("--write-baseline needs --baseline, the file to write")

    check_scheduler(options["scheduler"])
    with counted("models") as advance:
        found = run(
            _given(models),
            baseline=None if write_baseline else known,
            progress=advance,
            settings=replace(settings, baseline=""),
            **options,
        )
    if write_baseline and known is not None:
        save(Path(known), found.files)
        say(f"{known}: {found.summary}")
        return FINE
    if form == "github":
        write(shown.workflow_commands(found, verbose=verbose), commands=True)
    else:
        others = {"sarif": lambda: shown.sarif(found)}
        answer(form, lambda: shown.LINT.text(found), lambda: shown.report(found, verbose=verbose), others)
    least = fail_on or settings.fail_on
    return NO if found.failed(least) and not exit_zero else FINE


def _settings(config: str | None, isolated: bool) -> Settings:
    if config is not None and isolated:
        raise UsageError("--config and --isolated exclude each other")
    if config is not None:
        return read_settings(Path(config))
    return Settings(Path.cwd()) if isolated else find_settings(Path.cwd())


def _given(models: tuple[str, ...]) -> bytes | tuple[str, ...]:
    if "-" not in models:
        return models or (".",)
    if len(models) > 1:
        raise UsageError("- is a model from standard input: give no other")
    return sys.stdin.buffer.read()


def _rule(code: str) -> LintRule:
    (prefix,) = read_prefixes([code.replace(",", " ")], "--explain")
    if prefix not in RULES:
        raise UsageError(f"--explain {code}: give the whole code of a rule, as {next(iter(RULES))}")
    return RULES[prefix]
