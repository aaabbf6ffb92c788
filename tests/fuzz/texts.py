"""Texts that a user or an author writes: dims, relations, sizes."""

from __future__ import annotations

from random import Random
from typing import Final

_WORDS: Final = (
    *(
        "N",
        "M",
        "batch",
        "seq",
        "H",
        "W",
        "x",
        "Y",
        "X",
        "y",
        "_d0",
        "past_seq",
        "`past seq`",
        "`",
        "%8:condition",
        "é",
    ),
    *(
        "0",
        "1",
        "2",
        "7",
        "64",
        "2147483647",
        "2147483648",
        "9223372036854775807",
        "9" * 40,
        "9" * 5000,
        "1e5",
        "0x1F",
        "1.5",
    ),
    *("+", "-", "*", "/", "//", "%", "**", "(", ")", "[", "]", ",", "==", "!=", "<=", ">=", "<", ">", "->", "<->", "="),
    *("and", "or", "not", "if", "true", "false", "max(", "min(", "ceil(", "floor(", "broadcast(", "ceiling(", "Mod("),
    *("shape(", "size(", "rank(", "X[0]", "Y[0]", "Y[-1]", "Y[99]", "x[0]", "abs(", "ite(", "^", "?", "\n", "\t", "\0"),
    *("\x1b[31m", "\u202e", "'", '"', "\\", ";", ":", "..", "a.b", "a/b", "class", "lambda", "import"),
)
_DIMS: Final = ("N", "M", "N", "2*N", "N//2", "(N + 1)//2", "N % 3", "N*M", "N - M", "max(N, 1)", "-1", "?", "", "N:1")


def dim(rng: Random) -> str:
    """A dim_param: mostly one that means something."""
    return rng.choice(_DIMS) if rng.random() < 0.6 else words(rng, 5)


def words(rng: Random, most: int) -> str:
    """Words of the grammars, and some that are not, in any order."""
    count = rng.choice((1, 2, 3, most, most, 200 if rng.random() < 0.02 else most))
    text = rng.choice(("", " ")).join(rng.choice(_WORDS) for _ in range(count))
    if rng.random() < 0.02:
        deep = rng.choice((50, 5000))
        text = "(" * deep + text + ")" * rng.choice((deep, 0))
    return text


def relation(rng: Random, names: list[str]) -> str:
    """A relation over dims of the values with these names, or words."""
    if rng.random() < 0.35 or not names:
        return words(rng, 7)
    left, right = (_term(rng, names) for _ in range(2))
    text = f"{left} {rng.choice(('==', '!=', '<=', '<', '>=', '>', '=='))} {right}"
    if rng.random() < 0.3:
        text = f"{text} {rng.choice(('and', 'or', '->'))} {_term(rng, names)} >= {_term(rng, names)}"
    return text


def _term(rng: Random, names: list[str]) -> str:
    name = rng.choice(names)
    match rng.randrange(6):
        case 0:
            return f"`{name}`[{rng.choice((0, 0, 1, -1, 2**70))}]"
        case 1:
            return f"{rng.choice(('shape', 'size', 'rank'))}(`{name}`)"
        case 2:
            return rng.choice(("N", "M", "batch", "seq"))
        case 3:
            return f"({_term(rng, names)} {rng.choice(('+', '-', '*', '//', '%'))} {_term(rng, names)})"
        case 4:
            return f"{rng.choice(('max', 'min', 'broadcast'))}({_term(rng, names)}, {_term(rng, names)})"
        case _:
            return str(rng.choice((0, 1, 2, 64, 2**31, 2**63, -1)))


def sizes(rng: Random, symbols: list[str]) -> list[str]:
    """Arguments that give symbols sizes or ranges, mostly all of them."""
    found = []
    for name in symbols:
        size = rng.choice((0, 1, 2, 3, 7, 64, 2**31 - 1, 2**31, -1, "", "1e3", "9" * 30))
        text = rng.choice((f"{size}", f"{size}..", f"..{size}", f"1..{size}"))
        found.append(f"{name}={text}")
    if rng.random() < 0.2:
        found.append(words(rng, 3))
    return found
