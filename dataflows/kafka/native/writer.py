"""Write from compiled code: an idempotent producer that ends with the first failure."""

import ctypes
import time
import weakref
from collections.abc import Callable
from itertools import groupby

from confluent_kafka import KafkaError

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import DeliveryFailed
from fugu.dataflows.kafka.client import Writer
from fugu.dataflows.kafka.failures import Silence, not_acknowledged, not_written
from fugu.dataflows.kafka.native.handle import producer_of
from fugu.dataflows.kafka.native.library import ERROR_SIZE, library, name_of
from fugu.dataflows.kafka.native.login_troubles import LoginTroubles
from fugu.dataflows.kafka.native.outgoing_table import OutgoingTable, tables_of
from fugu.dataflows.kafka.native.producing import Destination, produce
from fugu.dataflows.kafka.native.reports import Reports
from fugu.dataflows.kafka.native.settings import Settings
from fugu.dataflows.kafka.native.structures import PURGE_IN_FLIGHT, PURGE_QUEUE
from fugu.operators.integer_column import column_of

_STEP_MILLISECONDS = 1_000
_ROOM_SECONDS = 0.005
"""The time between two looks at a full queue."""


class NativeWriter(Writer):
    """Write through one producer.

    A record that fails ends the producer, because the next one would follow a gap, and that is
    raised by every call from then on.

    librdkafka takes timestamp 0 for the time of writing, so records of 1970-01-01T00:00:00.000 are
    written by `aside`, another writer, in their place in the order.
    """

    def __init__(
        self,
        settings: Settings,
        troubles: LoginTroubles,
        aside: Callable[[], Writer],
        own: Callable[[], Writer] | None = None,
    ) -> None:
        self._reports = Reports(producer_of(settings), troubles)
        self._producer = self._reports.producer
        weakref.finalize(self, self._reports.end).atexit = False  # see there
        self._make_aside = aside
        self._aside: Writer | None = None
        self._make_own = own
        self._own: Writer | None = None

    def write(self, topic: str, outgoing: Outgoing) -> None:
        if not outgoing.values:
            return
        at_zero = column_of(outgoing.timestamps) == 0
        if at_zero.any():
            self._write_in_turns(topic, outgoing, at_zero.tolist())
        else:
            self._produce(topic, outgoing)
        self._check()

    def flush(self) -> None:
        silence = Silence()
        while library().rd_kafka_flush(self._producer, _STEP_MILLISECONDS):
            self._check()
            silence.goes_on()
        self._check()

    def owner_of(self, topic: str, partition: int) -> Writer:
        if self._make_own is None:
            return self
        self._own = self._own or self._make_own()
        return self._own

    def acknowledged_end(self, topic: str, partition: int) -> int | None:
        ends = [self._reports.acknowledged_end(topic, partition)]
        if self._aside is not None:
            ends.append(self._aside.acknowledged_end(topic, partition))
        return max((end for end in ends if end is not None), default=None)

    def close(self) -> None:
        """Give up what is not acknowledged; the connections end with the last use of the writer."""
        library().rd_kafka_purge(self._producer, PURGE_QUEUE | PURGE_IN_FLIGHT)
        if self._aside is not None:
            self._aside.close()

    def _produce(self, topic: str, outgoing: Outgoing) -> None:
        partition = outgoing.partition
        end = self._reports.place_of_end(topic, partition)
        to = Destination(self._producer, self._reports.topic(topic), partition, end)
        for table in tables_of(outgoing):
            if error := self._hand_over(to, table):
                self._check()  # may know a reason from before
                raise not_written(topic, partition, name_of(error))

    def _hand_over(self, to: Destination, table: OutgoingTable) -> int:
        """Produce the records of a table, waiting for room; return the error of one, or 0."""
        taken, error = produce(to, table, 0)
        while error == KafkaError._QUEUE_FULL:
            self._make_room()
            taken, error = produce(to, table, taken)
        return error

    def _write_in_turns(self, topic: str, outgoing: Outgoing, at_zero: list[bool]) -> None:
        self._aside = self._aside or self._make_aside()
        for aside, turn in groupby(range(len(at_zero)), at_zero.__getitem__):
            part = outgoing.at(list(turn))
            if aside:
                NativeWriter.flush(self)
                self._aside.write(topic, part)
                self._aside.flush()
            else:
                self._produce(topic, part)

    def _make_room(self) -> None:
        """Wait until half of what was written is acknowledged."""
        silence, waiting = Silence(), library().rd_kafka_outq_len
        full = waiting(self._producer)
        while waiting(self._producer) > full // 2:
            time.sleep(_ROOM_SECONDS)
            self._check()
            silence.goes_on()

    def _check(self) -> None:
        """Raise what ended the producer, or kept a record from being written."""
        fatal = library().rd_kafka_fatal_error(self._producer, None, 0)
        if error := fatal or self._reports.failure:
            raise self._refusal(error)

    def _refusal(self, error: int) -> DeliveryFailed:
        if error != KafkaError._GAPLESS_GUARANTEE:
            return not_acknowledged(name_of(error))
        text = ctypes.create_string_buffer(ERROR_SIZE)
        library().rd_kafka_fatal_error(self._producer, text, ERROR_SIZE)
        return not_acknowledged(text.value.decode())
