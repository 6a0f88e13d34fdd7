"""Write the pages of a measurement: NAME.json for machines, NAME.md for people."""

import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import orjson
from rich.console import Console

from bench.grid import Grid

_LIBRARIES = ("kafka-python", "bytewax", "numpy", "orjson")
_FILE_COLUMNS = 180
"""Enough for the widest table, where nothing says how wide the output is."""
_JSON = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS


@dataclass(frozen=True)
class Page:
    """`document` is what machines read; `grids` and `notes` are what people read.

    `load_before` says how busy the machine was already (load average of a minute).
    """

    name: str
    title: str
    command: str
    load_before: float
    document: Mapping[str, object]
    grids: Sequence[Grid]
    notes: Sequence[str] = ()

    def write(self, folder: Path) -> None:
        """Both files."""
        folder.mkdir(parents=True, exist_ok=True)
        document = {"measured": _today(), "machine": _machine(), **self.document}
        (folder / f"{self.name}.json").write_bytes(orjson.dumps(document, option=_JSON))
        (folder / f"{self.name}.md").write_text(self._markdown())

    def show(self, folder: Path) -> None:
        """Print the page for a person, and where to find it again."""
        console = Console() if sys.stdout.isatty() else Console(width=_FILE_COLUMNS)
        for grid in self.grids:
            console.print(grid.for_terminal(), "")
        for note in self.notes:
            console.print(note)
        console.print(
            f"Load average before: {self.load_before:.1f}; above about 0.3, measure again."
        )
        console.print(
            f"Written to {folder} as {self.name}.json and {self.name}.md. "
            f"To measure again:  {self.command}"
        )

    def publish(self, folder: Path) -> None:
        """Write the two files, and show the page."""
        self.write(folder)
        self.show(folder)

    def _markdown(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in _machine().items())
        measured = (
            f"Measured {_today()} by `{self.command}`; {facts}; load before {self.load_before:.1f}."
        )
        tables = [grid.for_markdown() for grid in self.grids]
        return "\n\n".join([f"# {self.title}", measured, *tables, *self.notes]) + "\n"


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def _machine() -> dict[str, str]:
    """Return what the figures depend on."""
    versions = {name: version(name) for name in _LIBRARIES}
    return {
        "processor": f"{os.cpu_count()} x {_processor()}",
        "system": platform.platform(),
        "Python": platform.python_version(),
        **versions,
    }


def _processor() -> str:
    found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()
