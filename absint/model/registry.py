"""Schemas of operators: those of the installed onnx package, which is not imported for them if it need not be.

`schemas.txt` holds the schemas of one version of onnx, as `python -m tests.pages.schemas` writes them. It is read if
that version is installed and nobody has imported onnx yet: once it is imported, schemas may be registered with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Final

from absint.lattices.records import NamedTuple
from absint.packages import is_installed

if TYPE_CHECKING:
    from onnx.defs import OpSchema


# The schema of an operator as plain data: of the registry of the onnx package, or from a line of the shipped table.
#
# A line is `Clip 13 |input:T min?:T max?:T|output:T|1 3 1 1|T=7||`: name and first opset, inputs, outputs, the least
# and most of both, the types of each variable as the number of a set, attributes with the number of their kind, flags.


class Parameter(NamedTuple):
    """A formal input or output."""

    name: str
    type: str
    """A type, or the variable of one."""
    is_required: bool
    is_variadic: bool
    is_homogeneous: bool
    """All that a variadic parameter takes share one type."""


class Schema(NamedTuple):
    """An operator from an opset on."""

    name: str
    domain: str
    since: int
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    arity: tuple[int, int, int, int]
    """The least and most inputs, then outputs."""
    types: Mapping[str, tuple[str, ...]]
    """Variable -> the types that it stands for."""
    attributes: Mapping[str, int]
    """Their kinds, as numbers of AttributeProto."""
    required: tuple[str, ...]
    """Required attributes."""
    is_deprecated: bool
    has_body: bool
    """It is a function, whose body needs no context."""


def described(found: OpSchema) -> Schema:
    """A schema of the registry as data."""
    attributes = sorted(found.attributes.items())
    return Schema(
        found.name,
        found.domain,
        found.since_version,
        tuple(map(_parameter, found.inputs)),
        tuple(map(_parameter, found.outputs)),
        (found.min_input, found.max_input, found.min_output, found.max_output),
        {c.type_param_str: tuple(t.replace(" ", "") for t in c.allowed_type_strs) for c in found.type_constraints},
        {name: _number(attribute.type) for name, attribute in attributes},
        tuple(name for name, attribute in attributes if attribute.required),
        found.deprecated,
        found.has_function,  # type: ignore[attr-defined]  # onnx does not declare it
    )


def _parameter(formal: OpSchema.FormalParameter) -> Parameter:
    option = _number(formal.option)
    return Parameter(formal.name, formal.type_str, option == _SINGLE, option == _VARIADIC, formal.is_homogeneous)


_SINGLE, _VARIADIC = 0, 2
"""Numbers of onnx's FormalParameterOption; 1 is an optional one."""


def _number(member: object) -> int:
    """The number of a member of an enumeration; attributes of schemas have those of AttributeProto."""
    number = getattr(member, "value", 0)
    assert isinstance(number, int)
    return number


_MARKS: Final = {
    "": (True, False, True),
    "?": (False, False, True),
    "*": (False, True, True),
    "+": (False, True, False),
}
"""After the name of a parameter: required, variadic, homogeneous."""

_DEPRECATED, _FUNCTION, _REQUIRED = "d", "f", "!"


def read(line: str, domain: str, sets: Sequence[str]) -> Schema:
    """The schema that a line describes."""
    head, inputs, outputs, arity, types, attributes, flags = line.split("|")
    name, since = head.split()
    kinds = [attribute.split("=") for attribute in attributes.split()]
    least_in, most_in, least_out, most_out = map(int, arity.split())
    return Schema(
        name,
        domain,
        int(since),
        tuple(map(_read_parameter, inputs.split())),
        tuple(map(_read_parameter, outputs.split())),
        (least_in, most_in, least_out, most_out),
        {variable: tuple(sets[int(at)].split()) for variable, at in (part.split("=") for part in types.split())},
        {attribute.rstrip(_REQUIRED): int(kind) for attribute, kind in kinds},
        tuple(attribute[:-1] for attribute, _ in kinds if attribute.endswith(_REQUIRED)),
        _DEPRECATED in flags,
        _FUNCTION in flags,
    )


def _read_parameter(text: str) -> Parameter:
    name, _, type_text = text.partition(":")
    mark = name[-1] if name[-1] in _MARKS else ""
    return Parameter(name.removesuffix(mark), type_text, *_MARKS[mark])


TABLE: Final = os.path.join(os.path.dirname(__file__), "schemas.txt")


class Table(NamedTuple):
    """The schemas of one version of onnx, a line each."""

    newest: int
    """The newest opset of ai.onnx."""
    sets: Sequence[str]
    lines: Mapping[tuple[str, str], Sequence[str]]
    """(domain, operator) -> its lines, oldest first."""

    def in_force(self, domain: str, name: str, version: int) -> Schema | None:
        """The schema of an operator at an opset version."""
        until = [line for line in self.lines.get((domain, name), ()) if int(line.split(" ", 2)[1]) <= version]
        return read(until[-1], domain, self.sets) if until else None


def parsed(text: str) -> Table:
    """The table in a text: version and newest opset, the sets of types, and for each domain its name and schemas."""
    head, sets, *domains = text.rstrip("\n").split("\n\n")
    lines: dict[tuple[str, str], list[str]] = {}
    for domain, *schemas in (part.split("\n") for part in domains):
        for line in schemas:
            lines.setdefault(("" if domain == "ai.onnx" else domain, line[: line.index(" ")]), []).append(line)
    return Table(int(head.split()[1]), sets.split("\n"), lines)


@cache
def shipped() -> Table | None:
    """The table, if it is of the installed version of onnx or none is installed."""
    with open(TABLE, encoding="ascii") as file:
        text = file.read()
    return parsed(text) if not is_installed("onnx") or text.split(None, 1)[0] == installed_version() else None


def installed_version() -> str | None:
    """The version of the onnx package by the metadata beside it; None if that leaves a doubt."""
    spec = PathFinder.find_spec("onnx")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if len(places) != 1:
        return None
    beside = os.listdir(os.path.dirname(places[0]))
    found = [name for name in beside if name.startswith("onnx-") and name.endswith((".dist-info", ".egg-info"))]
    return found[0].split("-")[1].removesuffix(".dist") if len(found) == 1 else None


def in_force(domain: str, name: str, version: int) -> Schema | None:
    """The schema of an operator at an opset version, deprecated or not."""
    table = _table()
    if table is not None:
        return table.in_force(domain, name, version)
    from onnx import defs

    try:
        return described(defs.get_schema(name, max(min(version, (1 << 31) - 1), -1), domain))  # a file may hold 64 bits
    except defs.SchemaError:
        return None


def is_known(domain: str, name: str) -> bool:
    """Some opset has the operator."""
    table = _table()
    if table is not None:
        return (domain, name) in table.lines
    from onnx import defs

    return defs.has(name, domain)


def newest_opset() -> int:
    """The newest opset of ai.onnx."""
    table = _table()
    if table is not None:
        return table.newest
    from onnx import defs

    return defs.onnx_opset_version()


def _table() -> Table | None:
    return None if "onnx.defs" in sys.modules else shipped()
