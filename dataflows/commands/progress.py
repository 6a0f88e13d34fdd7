"""A progress bar on terminals, and nothing elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def progress(
    console: Console, what: str, total: int, *, shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Gives a function that is told how much more is done."""
    columns = (TextColumn(what), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    hidden = not shown or not console.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=hidden) as bar:
        task = bar.add_task(what, total=total)
        yield lambda amount: bar.advance(task, amount)
