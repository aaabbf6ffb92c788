"""Manifests changed in one place: `python -m tests.jobs.forged_certificates [--mutants 10000] [--seed 1]`.

Lemmas stay as they are, so that each was proved once. A mutant that check.py accepts must claim what the certificate
claims; one that changes what is given (inputs, premises, nodes) is counted apart. Exit code 1 if one does not.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from absint.questions.certificates import check
from tests.absint.questions.certificates.checking import certificate_of
from tests.absint.questions.certificates.test_certificates import MODELS

STRINGS = [
    "5", "(- 3)", "(+ N M)", "true", "N", "M", "K", "Q", "|N|", "|%4e|", "$0", "in0@0", "out0@0", "out0@1", "out0@e0",
    "(/ N 2)", "(/ 1.0 2.0)", "N ; M", "(= N N)", "(= N 7)", "nobody", "rule", "model", "lemma", "query", "assumed",
    "derived", "required", "defined", "", "N)", "|a b", "1e3", "\u039d", "N\n", "input x", "Constant", "Constant-13",
]  # fmt: skip
OTHERS: list[Any] = [None, True, False, 0, 1, -1, 2, 1.0, 10**30, [], {}, [[0, 0]], [-1, 0], ["N"], {"N": "out0@0"}]
WORDS = ("reason", "granted", "absint", "name", "round")


def places(part: Any) -> Iterator[tuple[Any, Any]]:
    """Each place of a document, as what holds it and its key."""
    for key in list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ():
        yield part, key
        yield from places(part[key])


def mutated(manifest: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """The manifest with one change."""
    found = deepcopy(manifest)
    spots = [spot for spot in places(found) if spot[1] not in WORDS]
    (part, key), (other, its_key) = dice.choice(spots), dice.choice(spots)
    kind = dice.randrange(6)
    if kind == 0:
        part[key] = dice.choice(STRINGS)
    elif kind == 1:
        part[key] = dice.choice(OTHERS)
    elif kind == 2:
        part[key] = deepcopy(other[its_key])
    elif kind == 3:
        del part[key]
    elif kind == 4 and isinstance(part, dict):
        part[dice.choice(STRINGS)] = part.pop(key)
    elif isinstance(part, list):
        part.insert(dice.randrange(len(part) + 1), deepcopy(part[key]))
    return found


def given(chain: check.Chain) -> Any:
    """The parts that a certificate takes as given: premises, bounds, facts of the model, and the graph."""
    graph = [(step["node"], step["operator"], step["by"], step["takes"], step["lemma"]) for step in chain.steps]
    said = [(step["gives"], step["introduces"]) for step in chain.steps if step["by"] == "model"]
    names = [[claim["value"] for claim in step["gives"]] for step in chain.steps]
    return chain.manifest["premises"], chain.bounds, chain.manifest["semantics"], graph, said, names


def claims(chain: check.Chain) -> Counter[str]:
    """The claims that are shown; those on trust are left out."""
    found: Counter[str] = Counter()
    for at, step in enumerate(chain.steps):
        stated = check.claimed(step) if step["by"] == "lemma" else []
        stated += [(given["role"], given["formula"]) for given in step["relations"] if given["by"] == "lemma"]
        found.update(f"{step['node']}: {part}, {not chain.words[at]}" for part in stated)
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Change manifests, and look for changes that check.py accepts.")
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    options = parser.parse_args(arguments)
    dice, counts = random.Random(options.seed), Counter[str]()
    for at, model in enumerate(options.models):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            certificate_of(MODELS[model]).write(folder)
            manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
            original, problems = check.found_wrong(folder, manifest)
            assert not problems
            for _ in range(options.mutants * (at + 1) // len(options.models) - sum(counts.values())):
                counts[judged(folder, original, mutated(manifest, dice), model)] += 1
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return int(counts["false"] > 0)


def judged(folder: Path, original: check.Chain, mutant: dict[str, Any], model: str) -> str:
    """The outcome for one mutant."""
    try:
        chain, problems = check.found_wrong(folder, check.document(json.dumps(mutant)))
    except check.WrongError:
        return "refused"
    if problems:
        return "refused"
    if given(chain) != given(original):
        return "with other givens"
    if claims(chain) <= claims(original):
        return "with the same claims or fewer"
    print(f"{model}: {claims(chain) - claims(original)}")
    return "false"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
