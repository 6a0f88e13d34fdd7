"""`python -m examples.commute`: reports and counts of the same riders, and what both tell."""

import argparse
import tempfile
from pathlib import Path

from examples.commute.example import commute


def main() -> None:
    """Parse the arguments and run the example."""
    parser = argparse.ArgumentParser(prog="python -m examples.commute", description=__doc__)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result too")
    plot: Path | None = parser.parse_args().plot
    with tempfile.TemporaryDirectory(prefix="fugu-commute-") as folder:
        commute(Path(folder), plot)


if __name__ == "__main__":
    main()
