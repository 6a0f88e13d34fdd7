"""`python -m examples.patients`: ways of patients in, ways that tell nobody's diagnosis out."""

import argparse
import tempfile
from pathlib import Path

from examples.patients.example import patients


def main() -> None:
    """Parse the arguments and run the example."""
    parser = argparse.ArgumentParser(prog="python -m examples.patients", description=__doc__)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the result too")
    plot: Path | None = parser.parse_args().plot
    with tempfile.TemporaryDirectory(prefix="fugu-patients-") as folder:
        patients(Path(folder), plot)


if __name__ == "__main__":
    main()
