"""Lowering a variant of a model as the model itself was lowered."""

from __future__ import annotations

from functools import partial

from absint.model.load import Loaded
from absint.program.graph import Program
from absint.program.limits import Watch
from absint.program.lowered import Lowered
from absint.program.lowering import Lowerer
from absint.program.rules.lookup import Lookup
from absint.transfer.semantics import EITHER, Semantics


def lower(
    loaded: Loaded,
    lookup: Lookup,
    *,
    defaults: bool = False,
    names_as_declared: bool = False,
    premises: bool = True,
    semantics: Semantics = EITHER,
    watch: Watch | None = None,
) -> Lowered:
    """Lower a model, so that `Lowered.lower` lowers others in the same way, without its limits.

    Raises ModelError as `Lowerer.run` does.
    """
    program = Program(premises=premises, semantics=semantics)
    lowered = Lowerer(
        loaded, lookup, defaults=defaults, names_as_declared=names_as_declared, program=program, watch=watch
    ).run()
    lowered.lower = partial(
        lower,
        lookup=lookup,
        defaults=defaults,
        names_as_declared=names_as_declared,
        premises=premises,
        semantics=semantics,
    )
    return lowered
