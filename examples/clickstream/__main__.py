"""`python -m examples.clickstream`: raw clicks in, a table of the most read pages out."""

import argparse
import tempfile
from pathlib import Path

from examples.clickstream.example import clickstream


def main() -> None:
    """Parse the arguments and run the example."""
    parser = argparse.ArgumentParser(prog="python -m examples.clickstream", description=__doc__)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result too")
    plot: Path | None = parser.parse_args().plot
    with tempfile.TemporaryDirectory(prefix="fugu-clickstream-") as folder:
        clickstream(Path(folder), plot)


if __name__ == "__main__":
    main()
