"""Write one cut of a copy in a transaction, and end the process where a call does not return."""

import ctypes
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Timer
from typing import cast

import numpy as np

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.dataflows.base.errors import DeliveryFailed, ShutOut
from fugu.dataflows.kafka.client import CopyWriter, Entry, GroupMetadata, Writer
from fugu.dataflows.kafka.failures import Silence
from fugu.dataflows.kafka.native.consumer import partition_list
from fugu.dataflows.kafka.native.library import LoginTroubles, library, name_of
from fugu.dataflows.kafka.native.settings import Settings
from fugu.dataflows.kafka.native.writer import NativeTransactionalWriter, Problem, problem_of
from fugu.operators.columns import IntegerColumn, column_of

_MAY_START_AGAIN = 1

log = logging.getLogger(__name__)


@contextmanager
def ending_unless_back(
    seconds: float, text: str, end: Callable[[int], object] = os._exit
) -> Iterator[None]:
    """End the process with exit code 1 if the block takes longer; a log line says `text`.

    `rd_kafka_send_offsets_to_transaction` ignores its timeout while the coordinator of the group is
    away (librdkafka issue 5456), and may wait for ever once that broker is gone from the cluster
    (issue 5511). Nothing can call it back. What it was to commit is not committed, and the next
    start of the copy ends the transaction that it has left open.
    """

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


_GRACE_SECONDS = 5.0
_NO_COORDINATOR = "the coordinator of the consumer group has not taken positions"


class NativeCopyWriter(NativeTransactionalWriter, CopyWriter):
    """Begin a transaction with the first record; `commit` ends it, and nothing else does.

    Kafka takes the positions only from the member of the group that the partitions were given to,
    so a copy that has lost them cannot commit what it wrote.

    A timestamp of 0, which librdkafka takes for the time of writing, is written as 1: a second
    writer for it would be outside the transaction.
    """

    def __init__(
        self, settings: Settings, troubles: LoginTroubles, identity: str, milliseconds: int
    ) -> None:
        lasting = {"transaction.timeout.ms": milliseconds, "message.timeout.ms": milliseconds}
        super().__init__(settings, troubles, identity, _nobody, lasting)
        self._milliseconds = milliseconds

    def write(self, topic: str, outgoing: Outgoing) -> None:
        times = column_of(outgoing.timestamps)
        if (times == 0).any():
            outgoing = replace(outgoing, timestamps=IntegerColumn(np.where(times == 0, 1, times)))
        super().write(topic, outgoing)

    def put(self, topic: str, partition: int, records: Sequence[Entry]) -> None:
        values = OptionalByteColumn.of([value for _, value in records])
        now = time.time_ns() // 1_000_000
        self.write(
            topic,
            Outgoing(
                partition,
                [key for key, _ in records],
                cast("Sequence[bytes]", values),
                HeaderColumns(len(records), {}),
                [now] * len(records),
            ),
        )

    def acknowledge(self) -> None:
        super(NativeTransactionalWriter, self).flush()

    def flush(self) -> None:
        raise TypeError("what a copy writes is committed with its positions")

    def send_offsets(
        self,
        offsets: Mapping[str, Mapping[int, int]],
        group: GroupMetadata,
        epochs: Mapping[int, int] | None = None,
    ) -> None:
        self._begin()
        calls, metadata = library(), ctypes.c_void_p()
        written = ctypes.create_string_buffer(group.written, len(group.written))
        self._require(
            calls.rd_kafka_consumer_group_metadata_read(
                ctypes.byref(metadata), ctypes.addressof(written), len(group.written)
            )
        )
        partitions = partition_list(offsets, epochs)
        try:
            silence = Silence(self._milliseconds / 1000)
            while problem := self._offsets_problem(partitions, metadata):
                if not problem.retriable:
                    raise self._refusal(problem.error)
                silence.goes_on()
        finally:
            calls.rd_kafka_topic_partition_list_destroy(partitions)
            calls.rd_kafka_consumer_group_metadata_destroy(metadata)

    def _offsets_problem(self, partitions: int, metadata: ctypes.c_void_p) -> Problem | None:
        send = library().rd_kafka_send_offsets_to_transaction
        with ending_unless_back(self._milliseconds / 1000 + _GRACE_SECONDS, _NO_COORDINATOR):
            error = send(self._producer, partitions, metadata, self._milliseconds)
        return problem_of(error)

    def commit(self) -> None:
        """Commit; where no answer comes, repeat, and leave the outcome to Kafka."""
        silence = Silence(self._milliseconds / 1000)
        while problem := self._problem("commit_transaction", self._milliseconds):
            if not problem.retriable:
                raise self._refusal(problem.error)
            try:
                silence.goes_on()
            except DeliveryFailed:
                self._open = False  # never aborted: Kafka may have committed it
                raise
        self._open = False

    def _refusal(self, error: int) -> DeliveryFailed:
        refusal = super()._refusal(error)
        if not isinstance(refusal, ShutOut):
            return refusal
        return ShutOut(
            f"Kafka takes nothing more under transactional id {self._identity}. Another copy has "
            "the same name, or has taken this one for dead; or a transaction lasted longer than "
            f"{self._milliseconds / 1000:.0f} s, which helps a longer state.every. Nothing that "
            "was not yet committed counts; the next start goes on from there."
        )

    def _require(self, error: int | None) -> None:
        if problem := problem_of(error):
            raise ValueError(f"librdkafka does not read its own bytes ({name_of(problem.error)})")


def _nobody() -> Writer:
    raise TypeError("no second writer is outside the transaction")
