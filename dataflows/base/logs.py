"""Log to stderr: lines for a person, or one JSON object per line for a machine.

A line holds a time, a level, a message and coordinates (`extra={"topic": ..., "partition": ...,
"offset": ...}` where it is written). An exception is reduced to its type and place, because its
text may repeat the record that caused it.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import get_ident
from typing import Any, Literal

import orjson

from fugu.dataflows.base.errors import type_and_place
from fugu.dataflows.base.printable import visible, visible_json

LogFormat = Literal["plain", "json"]

COORDINATES = ("topic", "partition", "offset")
ALOUD = {"aloud": True}
"""Mark a line, by its `extra`, that is said at once, also where a start is rehearsed."""
_HANDLER = "fugu"

log = logging.getLogger(__name__)


class PlainFormatter(logging.Formatter):
    """Write time, level and message, and the process if there are several."""

    def __init__(self, process: int | None = None) -> None:
        self.process = process
        super().__init__(f"%(asctime)s %(levelname)s {prefix(process)}%(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Write one line, and one more for an exception, whatever other handlers made of it."""
        record.exc_text = None
        return visible(super().format(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """Return type and place only."""
        return type_and_place(ei[1])


class JsonFormatter(PlainFormatter):
    """Write time, level, message and coordinates as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one line."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "message": record.getMessage().encode(errors="backslashreplace").decode(),
        }
        if self.process is not None:
            line["process"] = self.process
        line |= {name: getattr(record, name) for name in COORDINATES if hasattr(record, name)}
        if record.exc_info and record.exc_info[1]:
            line["exception"] = type_and_place(record.exc_info[1])
        return visible_json(orjson.dumps(line, default=str).decode())


def prefix(process: int | None) -> str:
    """Return the beginning of a line for people, after time and level."""
    return "" if process is None else f"process {process}: "


def configure(log_format: LogFormat, process: int | None = None) -> None:
    """Log to stderr in this format from now on, as one of several processes or as the only one."""
    handler = logging.StreamHandler(sys.stderr)
    handler.set_name(_HANDLER)
    handler.setFormatter((JsonFormatter if log_format == "json" else PlainFormatter)(process))
    root = logging.getLogger()
    for earlier in [h for h in root.handlers if h.get_name() == _HANDLER]:
        root.removeHandler(earlier)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("fugu").setLevel(logging.INFO)
    logging.captureWarnings(True)


def report(failure: str) -> None:
    """Say why the command failed: as a line of the log where that is JSON."""
    formatters = [handler.formatter for handler in logging.getLogger().handlers]
    process = None
    for formatter in formatters:
        if isinstance(formatter, JsonFormatter):
            log.error("%s", failure)
            return
        if isinstance(formatter, PlainFormatter):
            process = formatter.process
    import typer

    typer.secho(f"fugu: {prefix(process)}{visible(failure)}", err=True, fg=typer.colors.RED)


class _Warnings(logging.Handler):
    """Keep what a thread warns of."""

    def __init__(self, thread: int) -> None:
        super().__init__(logging.WARNING)
        self.thread = thread
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self.thread and not _is_aloud(record):
            self.said.append(record.getMessage())


def _is_aloud(record: logging.LogRecord) -> bool:
    return bool(getattr(record, "aloud", False))


@contextmanager
def silent() -> Iterator[list[str]]:
    """Say nothing that this thread logs, unless it is `ALOUD`, but keep its warnings: a start says
    it once more."""
    root, warnings = logging.getLogger(), _Warnings(get_ident())
    handlers = list(root.handlers)

    def is_said(record: logging.LogRecord) -> bool:
        return record.thread != warnings.thread or _is_aloud(record)

    for handler in handlers:
        handler.addFilter(is_said)
    root.addHandler(warnings)
    try:
        yield warnings.said
    finally:
        root.removeHandler(warnings)
        for handler in handlers:
            handler.removeFilter(is_said)
