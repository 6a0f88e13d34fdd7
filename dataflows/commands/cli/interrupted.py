"""End a command cleanly on Ctrl-C: one line, and the exit code that shells expect."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import typer

from fugu.dataflows.base import logs

INTERRUPTED = 130
"""The exit code of what SIGINT ended."""

Result = TypeVar("Result")


def interruptible(command: Callable[..., Result]) -> Callable[..., Result]:
    """Return a command that says so where Ctrl-C ends it."""

    @wraps(command)
    def watched(*arguments: object, **options: object) -> Result:
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt:
            logs.report("ended by Ctrl-C before it was done")
            raise typer.Exit(INTERRUPTED) from None

    return watched
