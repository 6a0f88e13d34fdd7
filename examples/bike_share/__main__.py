"""`python -m examples.bike_share`: rentals in, how many there are in each district and hour out."""

import argparse
import tempfile
from pathlib import Path

from examples.bike_share.example import bike_share


def main() -> None:
    """Parse the arguments and run the example."""
    parser = argparse.ArgumentParser(prog="python -m examples.bike_share", description=__doc__)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result too")
    plot: Path | None = parser.parse_args().plot
    with tempfile.TemporaryDirectory(prefix="fugu-bike-share-") as folder:
        bike_share(Path(folder), plot)


if __name__ == "__main__":
    main()
