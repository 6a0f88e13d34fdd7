"""`python -m fugu` is `fugu`."""

import sys

_READS = "Programs read sanitized topics here: import fugu; fugu.read(...)"


def main() -> None:
    """Run the command line; say what it needs where its requirements are not installed."""
    try:
        from fugu.dataflows.commands.cli.fugu import main as command
    except ModuleNotFoundError as error:
        if error.name == "bytewax" and sys.version_info >= (3, 13):
            sys.exit(
                "fugu: the command needs bytewax, which has no wheels for Python "
                f"{sys.version_info.major}.{sys.version_info.minor}. Use Python 3.11 or 3.12 for "
                f"it. {_READS}"
            )
        if error.name in ("bytewax", "typer"):
            sys.exit(
                f"fugu: the command needs {error.name}, which fugu-analysis does not bring. "
                f"Install all of Fugu for it. {_READS}"
            )
        raise
    command()


if __name__ == "__main__":
    main()
