"""A rule: the transfer function of an operator, for which names, versions and signature it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lattices.tensor import Value

if TYPE_CHECKING:
    from transfer.op import Op

Outputs = Value | Sequence[Value]
Function = Callable[["Op"], Outputs]

ONNX = ""
ML = "ai.onnx.ml"
MICROSOFT = "com.microsoft"


@dataclass(frozen=True)
class Rule:
    """One transfer function and what it is for.

    `inputs` and `outputs` name the formal parameters, space-separated in order; a last name that ends in `*` takes all
    remaining ones. `since` and `until` are opset versions of `domain`, both inclusive. A `complete` rule promises that
    its requirements are sufficient too: whenever they hold, the node runs, for all data.
    """

    function: Function
    names: tuple[str, ...]
    domain: str
    since: int
    until: int | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    complete: bool

    def holds_for(self, version: int) -> bool:
        return self.since <= version and (self.until is None or version <= self.until)

    @property
    def summary(self) -> str:
        """First line of the function's docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]


def transfer(
    names: str,
    *,
    inputs: str,
    outputs: str = "Y",
    since: int = 1,
    until: int | None = None,
    domain: str = ONNX,
    complete: bool = False,
) -> Callable[[Function], Rule]:
    """Make the decorated function the rule of the operators `names` (space-separated)."""

    def declare(function: Function) -> Rule:
        return Rule(
            function,
            tuple(names.split()),
            domain,
            since,
            until,
            tuple(inputs.split()),
            tuple(outputs.split()),
            complete,
        )

    return declare
