"""`absint rules`."""

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path

import click

from absint.commands.analysis import Settings, analysed, check_seconds, format_option
from absint.commands.command import FINE, NO, STANDARD_INPUT, UNDECIDED, Command, counted
from absint.commands.models import run_each
from absint.errors import UsageError
from absint.lattices.text.escapes import plain
from absint.model.writing import check_target, write_file
from absint.research.obligations.making import Record, counts
from absint.research.obligations.nodes import Ruled, groups, prove, ruled
from absint.research.obligations.solving import Decide, Solvers, asked, claiming, once
from absint.show import rules as report
from absint.show.text import answer
from absint.solver.backend import Backend
from absint.transfer.families import shipped
from absint.transfer.semantics import EITHER, ONNX, Semantics

# `absint rules --new`: a Python file with a rule to fill in, and its test, which passes as it stands: new_rule.txt.

_NAME = r"[A-Za-z_]\w*"
_FORM = re.compile(rf"(?:([\w.-]+)::)?({_NAME})(?:\(([\w\s,]*)\)\s*->\s*\(?([\w\s,]*)\)?)?")


def new_rule(text: str) -> str:
    """The source of a file for `acme::Fold` or `acme::Fold(X, W) -> (Y, Z)`. Raises UsageError."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{plain(text)}: write an operator as acme::Fold, or acme::Fold(X, W) -> (Y, Z)")
    domain, name, taken, given = found.groups()
    if not domain:
        raise UsageError(f"{plain(text)}: say whose operator it is, as acme::{name}")
    inputs, outputs = _names(taken, "X"), _names(given, "Y")
    function, variable = _python(name), _python(inputs[0])
    many = len(outputs) > 1
    template = files("absint.commands").joinpath("new_rule.txt").read_text("utf-8")
    return template.format(
        operator=f"{domain}::{name}",
        file=f"{function}.py",
        name=name,
        domain=domain,
        form=" ".join([inputs[0] + "[N, M]", *inputs[1:], "->", *(f"{name}[N, M]" for name in outputs)]),
        outputs=outputs,
        function=function,
        first_input=inputs[0],
        parameters=", ".join(f"{_python(each)}: np.ndarray" for each in inputs),
        arrays=f"tuple[{', '.join(['np.ndarray'] * len(outputs))}]" if many else "np.ndarray",
        results=", ".join([variable] * len(outputs)),
        arguments=", ".join(['Arg(["N", "M"])'] * len(inputs)),
        count=len(outputs),
        expected=", ".join(['"[N, M]"'] * len(outputs)),
    )


def _names(text: str | None, default: str) -> list[str]:
    found = (text or default).replace(",", " ").split()
    if not found or len({_python(name) for name in found}) < len(found) or not all(map(str.isidentifier, found)):
        raise UsageError(f"({plain(text or '')}): names of inputs and outputs are words, each another")
    return found


def _python(name: str) -> str:
    """A name in the style of Python: `GridSample` is `grid_sample`."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return f"{text}_" if keyword.iskeyword(text) or text in ("op", "run", "rule", "case", "np") else text


@click.command(cls=Command)
@click.argument("names", metavar="[OPERATOR|MODEL]...", nargs=-1)
@click.option("--new", metavar="SIGNATURE", help="Write a Python file with a rule to fill in, and its test.")
@click.option("-o", "--output", metavar="FILE", help="With --new, the file to write.")
@click.option(
    "--prove",
    is_flag=True,
    help="Prove the rules against specifications of their operators, at the nodes of MODEL or of a grid.",
)
@click.option(
    "--solver",
    type=click.Choice(["auto", "z3", "cvc5", "both"]),
    default="auto",
    help="Who decides an obligation. auto: Z3, then cvc5 for what Z3 leaves undecided, if cvc5 is installed. both: of "
    "two verdicts, a refutation outweighs a proof.",
)
@click.option(
    "--semantics",
    type=click.Choice([EITHER, ONNX]),
    default=EITHER,
    help="The runs that rules are about: those of ONNX's documents alone, or also of onnxruntime.",
)
@click.option("--seconds", type=float, default=10.0, help="Time limit of one obligation.")
@format_option()
def rules(
    names: tuple[str, ...],
    new: str | None,
    output: str | None,
    prove: bool,
    solver: Solvers,
    semantics: Semantics,
    seconds: float,
    form: str,
) -> object:
    """List the rules of operators, and prove them.

    OPERATOR is a name as Conv, of ai.onnx if it has one, or com.microsoft::Gelu; without any, all that have a rule.
    --prove compares a rule with the specification of its operator, which shares no code with it, for all sizes at once:
    at nodes of fixed rank and attributes or, with MODEL, a file, at the nodes of the model. docs/rules.md has more.

    \b
    exact       a size or an element that the rule gives is the specified one
    necessary   a node that is legal meets each requirement of the rule
    sufficient  a node that meets them all is legal, if the rule says that it is complete

    --new begins a rule for an operator of your own: acme::Fold, or acme::Fold(X, W) -> (Y, Z).

    Exit code with --prove: 1 if a rule is refuted; else 3 if an obligation is undecided, or an OPERATOR or a node has
    no specification; else 0.
    """
    if (new is None and output is not None) or (new is not None and (names or prove)):
        raise UsageError("-o belongs to --new, which stands alone: absint rules --new acme::Fold -o fold.py")
    if new is not None:
        return _begun(new, output)
    check_seconds(seconds)
    if models := [name for name in names if _is_model(name)]:
        if len(models) < len(names) or not prove:
            raise UsageError(f"{plain(models[0])}: a model stands with --prove, and without names of operators")
        return run_each(models, lambda model: _of_model(model, solver, semantics, seconds, form), form, titled=True)
    found = ruled(shipped(), names)
    records = _proved(found, solver, semantics, seconds) if prove else None
    answer(
        form,
        lambda: report.RULES.text(report.Ruling(found, records, solver, semantics)),
        lambda: report.report(found, records, named=bool(names)),
    )
    return FINE if records is None else _code(found, records, bool(names))


def _begun(signature: str, output: str | None) -> int:
    text = new_rule(signature)
    if output is None or output == "-":
        click.echo(text, nl=False)
        return FINE
    check_target("", output)
    if Path(output).exists():
        raise UsageError(f"{plain(output)} is there already: give another name")
    write_file(text, output)
    return FINE


def _is_model(name: str) -> bool:
    return "::" not in name and ("." in name or "/" in name or name == STANDARD_INPUT)


@contextmanager
def _deciding(solver: Solvers, seconds: float) -> Iterator[Decide]:
    with Backend() as backend:
        if backend.lost and solver != "cvc5":
            raise UsageError(f"--prove needs Z3: {backend.lost}")
        yield claiming(once(partial(asked, solvers=solver, backend=backend, seconds=seconds)), backend)


def _of_model(model: str, solver: Solvers, semantics: Semantics, seconds: float, form: str) -> int:
    result = analysed(model, Settings(semantics=semantics))
    with counted("nodes") as advance, _deciding(solver, seconds) as decide:
        found = report.Proved(result, groups(result, decide, advance), solver)
    answer(form, lambda: report.PROVED_NODES.text(found), lambda: report.nodes_report(found))
    if found.states["refuted"]:
        return NO
    return UNDECIDED if found.states["undecided"] or found.states["not compared"] else FINE


def _proved(
    found: Sequence[Ruled], solver: Solvers, semantics: Semantics, seconds: float
) -> Mapping[Ruled, tuple[Record, ...]]:
    records = {}
    with counted("operators") as advance, _deciding(solver, seconds) as decide:
        for done, operator in enumerate(found):
            advance(done, len(found), str(operator))
            records[operator] = prove(shipped(), operator, decide, semantics)
    return records


def _code(found: Sequence[Ruled], records: Mapping[Ruled, tuple[Record, ...]], named: bool) -> int:
    verdicts = counts(record for each in records.values() for record in each)
    if verdicts["refuted"]:
        return NO
    return UNDECIDED if verdicts["undecided"] or (named and any(not item.specified for item in found)) else FINE
