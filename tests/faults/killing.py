"""Commands of `fugu` that are killed at an exact point of their own code."""

import signal
from pathlib import Path

from tests.kafka.pipelines import ended


def ended_or_killed(point: str, occurrence: int, *arguments: str | Path) -> int:
    """Run a command that dies at an occurrence of a point of `killed_inside`; return its code.

    It is 0 where the command has ended before, else that of `kill -9`.
    """
    process = ended(arguments, killed=(point, occurrence))
    assert process.returncode in (0, -signal.SIGKILL), process.stderr
    return process.returncode


def killed_inside(point: str, occurrence: int, *arguments: str | Path) -> None:
    """Run a command that dies at an occurrence of a point of `killed_inside`."""
    assert ended_or_killed(point, occurrence, *arguments) == -signal.SIGKILL
