"""`python -m examples.city`: where people are in, how many are in each zone out."""

import argparse
import tempfile
from pathlib import Path

from examples.city.example import city


def main() -> None:
    """Parse the arguments and run the example."""
    parser = argparse.ArgumentParser(prog="python -m examples.city", description=__doc__)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result too")
    plot: Path | None = parser.parse_args().plot
    with tempfile.TemporaryDirectory(prefix="fugu-city-") as folder:
        city(Path(folder), plot)


if __name__ == "__main__":
    main()
