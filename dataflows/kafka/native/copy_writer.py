"""Write one cut of a copy in a transaction: its records, and how far the source is read.

Kafka takes the positions only from the member of the group that the partitions were given to, so a
copy that has lost them cannot commit what it wrote.
"""

import ctypes
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.columns import HeaderColumns, OptionalByteColumn
from fugu.dataflows.base.errors import DeliveryFailed, ShutOut
from fugu.dataflows.kafka.client import CopyWriter, Entry, Writer
from fugu.dataflows.kafka.failures import Silence
from fugu.dataflows.kafka.group_metadata import GroupMetadata
from fugu.dataflows.kafka.native.consumer import partition_list
from fugu.dataflows.kafka.native.library import library, name_of
from fugu.dataflows.kafka.native.login_troubles import LoginTroubles
from fugu.dataflows.kafka.native.settings import Settings
from fugu.dataflows.kafka.native.stuck_call import ending_unless_back
from fugu.dataflows.kafka.native.transactions import (
    NativeTransactionalWriter,
    Problem,
    problem_of,
)
from fugu.operators.integer_column import IntegerColumn, column_of

_GRACE_SECONDS = 5.0
_NO_COORDINATOR = "the coordinator of the consumer group has not taken positions"


class NativeCopyWriter(NativeTransactionalWriter, CopyWriter):
    """Begin a transaction with the first record; `commit` ends it, and nothing else does.

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
