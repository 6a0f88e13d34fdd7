"""End the process where a call of librdkafka does not come back.

`rd_kafka_send_offsets_to_transaction` ignores its timeout while the coordinator of the group is
away (librdkafka issue 5456), and may wait for ever once that broker is gone from the cluster (issue
5511). Nothing can call it back. What it was to commit is not committed, and the next start of the
copy ends the transaction that it has left open.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

_MAY_START_AGAIN = 1

log = logging.getLogger(__name__)


@contextmanager
def ending_unless_back(
    seconds: float, text: str, end: Callable[[int], object] = os._exit
) -> Iterator[None]:
    """End the process with exit code 1 if the block takes longer; a log line says `text`."""

    def ending() -> None:
        log.error("%s for %.0f s; ending. The next start goes on from the last cut.", text, seconds)
        end(_MAY_START_AGAIN)

    timer = Timer(seconds, ending)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
