"""Lowering a variant of a model as the model itself was lowered."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from absint.model.load import Loaded
from absint.program.graph import Program
from absint.program.limits import Watch
from absint.program.lowered import Call, Lowered
from absint.program.lowering import Lowerer
from absint.program.rules.lookup import Lookup
from absint.transfer.semantics import EITHER, Semantics


def lower(
    loaded: Loaded,
    lookup: Lookup,
    reading: Mapping[str, bool],
    *,
    premises: bool = True,
    semantics: Semantics = EITHER,
    watch: Watch | None = None,
) -> Lowered:
    """Lower a model, so that `Lowered.lower` lowers others in the same way, without its limits. `reading` says how
    inputs are read: `defaults` and `names_as_declared` of `absint.analyze`.

    Raises ModelError as `Lowerer.run` does.
    """
    program = Program(premises=premises, semantics=semantics)
    lowered = Lowerer(loaded, lookup, _control, program, reading, watch=watch).run()
    lowered.lower = partial(lower, lookup=lookup, reading=reading, premises=premises, semantics=semantics)
    return lowered


def _control(lowerer: Lowerer, call: Call) -> None:
    from absint.program.lowering_control import lower_control  # few models need it

    lower_control(lowerer, call)
