"""`python -m examples.heart_rate`: raw readings in, averages and time in zones out."""

import argparse
import tempfile
from pathlib import Path

from examples.heart_rate.example import heart_rate


def main() -> None:
    """Parse the arguments and run the example."""
    parser = argparse.ArgumentParser(prog="python -m examples.heart_rate", description=__doc__)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result too")
    plot: Path | None = parser.parse_args().plot
    with tempfile.TemporaryDirectory(prefix="fugu-heart-rate-") as folder:
        heart_rate(Path(folder), plot)


if __name__ == "__main__":
    main()
