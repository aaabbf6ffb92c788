"""Plant each fault of the catalogue and see that the suite catches it.

python -m tests.mutants [--only NAME ...] [--jobs N] [--list]
python -m tests.mutants --by-proof [--generated COUNT [--seed N]] [--only NAME ...] [--jobs N]
python -m tests.mutants --specifications [--generated COUNT] [--seed N] [--whole [MODULE ...]] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from absint.lattices.text.escapes import did_you_mean
from tests.mutants import by_proof, specifications
from tests.mutants.catalogue import CATALOGUE
from tests.mutants.generated import drawn
from tests.mutants.hunting import hunt, unsound
from tests.mutants.mutant import Mutant


def main(argv: Sequence[str] | None = None) -> int:
    """Run the catalogue; 1 if a mutant survives or an oracle fails without one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=list(CATALOGUE), help="these mutants alone")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--list", action="store_true", help="show the catalogue and run nothing")
    parser.add_argument("--by-proof", action="store_true", help="faults of rules, and what proof alone says of them")
    parser.add_argument("--specifications", action="store_true", help="faults of specifications, and what sees them")
    parser.add_argument("--whole", nargs="*", metavar="MODULE", help="every fault of these specifications, or of all")
    parser.add_argument("--generated", type=int, default=0, metavar="COUNT", help="so many generated faults")
    parser.add_argument("--seed", type=int, default=0, help="which generated faults are drawn")
    arguments = parser.parse_args(argv)
    if arguments.specifications:
        some = specifications.drawn(arguments.generated or 200, arguments.seed)
        every = some if arguments.whole is None else list(specifications.whole(arguments.whole))
        return specifications.check([m for m in every if arguments.only == list(CATALOGUE) or m.name in arguments.only])
    if arguments.by_proof:
        faults = drawn(arguments.generated, arguments.seed) if arguments.generated else by_proof.rules()
        chosen = [m for m in faults if arguments.only == list(CATALOGUE) or m.name in arguments.only]
        return by_proof.check(chosen, max(arguments.jobs, 1))
    for name in arguments.only:
        if name not in CATALOGUE:
            near = did_you_mean(name, CATALOGUE)
            parser.error(f"no mutant {name!r}" + ("; " + near if near else ": see --list"))
    chosen = [CATALOGUE[name] for name in arguments.only]
    if arguments.list:
        for mutant in chosen:
            print(f"{mutant.name}: {mutant.breaks}")
        return 0
    return check(chosen, max(arguments.jobs, 1))


def check(chosen: Sequence[Mutant], jobs: int) -> int:
    """Run the oracles without a fault, then with each of these."""
    oracles = {oracle for mutant in chosen for oracle in mutant.oracles}
    print(f"{len(oracles)} oracles without a fault", flush=True)
    failing = list(unsound(sorted(oracles), jobs))
    for oracle, outcome in failing:
        print(f"  {outcome.state} without a fault: {oracle}: {outcome.by}", flush=True)
    if failing:
        return 1
    survived = 0
    width = max(len(mutant.name) for mutant in chosen)
    with ThreadPoolExecutor(jobs) as pool:
        for verdict in pool.map(hunt, chosen):
            survived += not verdict.caught
            state = "caught" if verdict.caught else "SURVIVED"
            print(f"{state:8} {verdict.mutant.name:{width}} {verdict.seconds:5.1f} s  {verdict.by[:160]}", flush=True)
    print(f"{len(chosen)} mutants, {len(chosen) - survived} caught, {survived} survived")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
