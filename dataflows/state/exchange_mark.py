"""Read the mark of an exchange of directories: which command has to complete it."""

from pathlib import Path

import orjson

_EXCHANGE = "exchange.json"
_FIRST = "fugu state repartition"
"""The command that wrote marks before they named one."""


def mark_of(root: Path) -> Path:
    """Return the file that is there until an exchange that was decided is complete."""
    return root / _EXCHANGE


def unfinished_command(root: Path) -> str | None:
    """Return the command that was cut short, if there is one."""
    try:
        names = orjson.loads(mark_of(root).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    return str(names.get("command", _FIRST))


def advice(path: Path, command: str) -> str:
    """Say what completes an exchange."""
    return (
        f"{path}: the state was being written anew when the command ended. Run {command} once "
        "more, as it was; it completes what was begun."
    )
