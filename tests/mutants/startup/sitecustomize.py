"""Python imports this as it starts: plants the fault that the environment names, or ends the process."""

import os
import sys

from tests.mutants.catalogue import CATALOGUE
from tests.mutants.planting import VARIABLE, plant

try:
    plant(CATALOGUE[os.environ[VARIABLE]])
except (KeyError, RuntimeError) as problem:
    sys.exit(f"no fault planted: {problem!r}")
