"""`absint rules --new`: a Python file with a rule to fill in, and its test, which passes as it stands."""

from __future__ import annotations

import keyword
import re

from absint.errors import UsageError
from absint.lattices.text.escapes import plain

_NAME = r"[A-Za-z_]\w*"
_FORM = re.compile(rf"(?:([\w.-]+)::)?({_NAME})(?:\(([\w\s,]*)\)\s*->\s*\(?([\w\s,]*)\)?)?")

_FILE = '''"""The rule of {operator} for absint, and its test.

    python -m pytest {file}
    absint analyze MODEL --rules {file}
"""

import numpy as np

from absint import Op, Tensor, rule
from absint.testing import Arg, Case, check_rule, sizes


@rule("{name}", domain="{domain}", inputs="{inputs}", outputs="{outputs}")
def {function}(op: Op) -> {returned}:
    """The shape of {first_input}."""
    {variable} = op.tensor("{first_input}")
    # What a run needs: op.require(eq({variable}.shape[0] % 2, 0), "the number of rows must be even")
    # A number among the attributes: op.integer("axis", 0). More: docs/custom-operators.md
    return {values}


def run({parameters}, **attributes: object) -> {arrays}:
    """What the operator computes; raises an error where a run fails. The test compares the rule with it."""
    return {results}


def test_{function}() -> None:
    case = Case(
        "{name}",
        [{arguments}],
        outputs={count},
        bindings=sizes(N=[0, 1, 2, 6], M=[0, 1, 5]),
        expect=[{expected}],
    )
    check_rule({function}, [case], reference=run)
'''


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
    tensor, arrays = f"Tensor({variable}.dtype, {variable}.shape)", [_python(each) for each in inputs]
    many = len(outputs) > 1
    return _FILE.format(
        operator=f"{domain}::{name}",
        file=f"{function}.py",
        name=name,
        domain=domain,
        inputs=" ".join(inputs),
        outputs=" ".join(outputs),
        function=function,
        returned=f"tuple[{', '.join(['Tensor'] * len(outputs))}]" if many else "Tensor",
        first_input=inputs[0],
        variable=variable,
        values=", ".join([tensor] * len(outputs)),
        parameters=", ".join(f"{each}: np.ndarray" for each in arrays),
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
