"""Reading definitions of long expressions back: each name stands for the expression that it was given to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from absint.lattices.terms.expr import Dim, symbol
from absint.lattices.text.reading import parse
from absint.lattices.text.tokens import TextError, tokens


def read_definitions(texts: Mapping[str, str], symbols: Mapping[str, Dim] | None = None) -> dict[str, Dim]:
    """The dim of each name, in the order of the texts; a text may use other names, in any order.

    `symbols` has the dim that a symbol stands for; another name is a symbol of the inputs. Raises TextError for a text
    that does not parse, and for a name that is defined by itself.
    """
    found: dict[str, Dim] = {}
    open_: dict[str, None] = {}
    pending = list(texts)[::-1]
    while pending:
        name = pending[-1]
        if name in found:
            pending.pop()
            continue
        wanted = [used for used in _names(texts[name]) if used in texts and used not in found]
        if not wanted:
            found[pending.pop()] = parse(texts[name], Known(found, symbols or {}))
            open_.pop(name, None)
            continue
        open_[name] = None
        if any(used in open_ for used in wanted):
            raise TextError(texts[name], 0, f"{name} is defined by itself")
        pending += wanted
    return {name: found[name] for name in texts}


def _names(text: str) -> dict[str, None]:
    return dict.fromkeys(token.text for token in tokens(text) if token.kind == "name")


class Known(Mapping[str, Dim]):
    """The dims that names in a definition stand for. Every name is known."""

    def __init__(self, found: Mapping[str, Dim], symbols: Mapping[str, Dim]) -> None:
        self._found, self._symbols = found, symbols

    def __getitem__(self, name: str) -> Dim:
        dim = self._found.get(name)
        return self._symbols.get(name, symbol(name)) if dim is None else dim

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter({**self._symbols, **self._found})

    def __len__(self) -> int:
        return len({**self._symbols, **self._found})
