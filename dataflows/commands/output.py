"""Print what commands find: tables, JSON, a progress bar, and pictures where they can be drawn."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.base.install import install
from fugu.dataflows.base.printable import visible, visible_json

_PICTURES = (".png", ".svg")


class Terminal(Console):
    """Print tables and text, in which nothing that others wrote steers the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Return what is printed: colours are of styles, and all text is visible."""
        for segment in super().render(renderable, options):
            text = segment.text
            steers = segment.control is None and not text.isprintable()
            yield Segment(visible(text), segment.style) if steers else segment


def print_json(document: object) -> None:
    """Print a document for a machine."""
    print(visible_json(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()))


def print_json_line(document: object) -> None:
    """Print one of many documents for a machine."""
    print(visible_json(orjson.dumps(document).decode()))


def say(text: str) -> None:
    """Print a sentence."""
    print(visible(text))


def folding_table(*columns: str, **look: Any) -> Table:
    """Return an empty table whose cells fold where the terminal is too narrow for them."""
    table = Table(**look)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


@contextmanager
def progress(
    console: Console, what: str, total: int, *, shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on terminals; give a function that is told how much more is done."""
    columns = (TextColumn(what), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    hidden = not shown or not console.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=hidden) as bar:
        task = bar.add_task(what, total=total)
        yield lambda amount: bar.advance(task, amount)


def require_picture(plot: Path | None) -> None:
    """Raise `FuguError` unless `--plot` names a file that can be written, or nothing."""
    if plot is None:
        return
    if find_spec("matplotlib") is None:
        raise FuguError(f"--plot needs matplotlib: {install('audit')}")
    if plot.suffix not in _PICTURES:
        raise FuguError(f"--plot {plot}: the name must end in {' or '.join(_PICTURES)}")
    if not plot.parent.is_dir():
        raise FuguError(f"--plot {plot}: there is no directory {plot.parent}; create it first")
