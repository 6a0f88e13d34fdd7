"""`python -m fugu` is `fugu`."""

import sys


def main() -> None:
    """Run the command line; say what it needs where bytewax cannot be installed."""
    try:
        from fugu.dataflows.commands.cli.fugu import main as command
    except ModuleNotFoundError as error:
        if error.name != "bytewax":
            raise
        sys.exit(
            "fugu: the command needs bytewax, which has no wheels for Python "
            f"{sys.version_info.major}.{sys.version_info.minor}. Use Python 3.11 or 3.12 for it. "
            "Programs read sanitized topics here, too: import fugu; fugu.read(...)"
        )
    command()


if __name__ == "__main__":
    main()
