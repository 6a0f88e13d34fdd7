"""`python -m examples.household`: meters of households in, what they draw together out."""

import argparse
import tempfile
from pathlib import Path

from examples.household.example import household


def main() -> None:
    """Parse the arguments and run the example."""
    parser = argparse.ArgumentParser(prog="python -m examples.household", description=__doc__)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result too")
    plot: Path | None = parser.parse_args().plot
    with tempfile.TemporaryDirectory(prefix="fugu-household-") as folder:
        household(Path(folder), plot)


if __name__ == "__main__":
    main()
