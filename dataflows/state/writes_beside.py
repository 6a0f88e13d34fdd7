"""Write beside the dataflow: what an epoch has to keep is made durable by threads of their own.

The dataflow meanwhile publishes the last records of the epoch, and Kafka acknowledges them. A
snapshot must never count before what it points at is durable. bytewax counts the snapshots of an
epoch when the last of them has returned, so whoever returns last waits here: a sink's part, which
bytewax asks after all steps before it. A step with nothing for a sink in an epoch waits itself.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

Write = Callable[[], None]
"""Writes something and makes it durable."""

_THREADS = 4
"""More partitions than that are written in turns: they share a disk."""


class WritesBeside:
    """Run the writes of one shard beside its dataflow."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="writes")
        self._begun: list[Future[None]] = []

    def begin(self, write: Write) -> None:
        """Begin to write; of what is written to one file, the next begins after `wait`."""
        self._begun.append(self._threads.submit(write))

    def wait(self) -> None:
        """Return once everything that was begun is durable; raise what a write raised."""
        while self._begun:
            self._begun[0].result()
            del self._begun[0]


def at_once(write: Write) -> None:
    """Write before anything else is done."""
    write()
