"""Write with librdkafka: an idempotent producer that ends with the first failure."""

import time
from collections import deque
from collections.abc import Callable
from itertools import chain, groupby, repeat
from operator import length_hint
from threading import Lock, Thread
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import DeliveryFailed
from fugu.dataflows.kafka.client import Writer
from fugu.dataflows.kafka.failures import Silence, not_acknowledged, not_written
from fugu.dataflows.kafka.librdkafka_settings import Settings

_STEP_SECONDS = 1.0
_REPORT_SECONDS = 0.05
"""Not as soon as one comes: each time, the dataflow gives up the interpreter for a while."""


class LibrdkafkaWriter(Writer):
    """Write through one producer.

    Of records that are written at once, only the last one reports where Kafka put it, or why not.
    A report for each would cost a third of producing it and is not needed: a record that fails ends
    the producer, because the next one would follow a gap, and that is raised wherever the producer
    is served. A thread takes the reports, so that acknowledged records are not freed where new ones
    are made.

    librdkafka takes timestamp 0 for the time of writing, so records of 1970-01-01T00:00:00.000 are
    written by `aside`, another writer, in their place in the order.
    """

    def __init__(
        self,
        settings: Settings,
        aside: Callable[[], Writer],
        own: Callable[[str, int], Writer] | None = None,
    ) -> None:
        self._failure: KafkaError | None = None
        self._producer = Producer(settings)
        self._make_aside = aside
        self._aside: Writer | None = None
        self._own = own
        self._ends: dict[tuple[str, int], int] = {}
        self._ends_lock = Lock()
        self._closed = False
        Thread(target=self._take_reports, name="reports", daemon=True).start()

    def write(self, topic: str, outgoing: Outgoing) -> None:
        if not outgoing.values:
            return
        if 0 in outgoing.timestamps:
            self._write_in_turns(topic, outgoing)
        else:
            self._produce(topic, outgoing)
        self._check()

    def flush(self) -> None:
        silence = Silence()
        while self._served(lambda: self._producer.flush(_STEP_SECONDS)):
            silence.goes_on()

    def owner_of(self, topic: str, partition: int) -> Writer:
        return self if self._own is None else self._own(topic, partition)

    def acknowledged_end(self, topic: str, partition: int) -> int | None:
        ends = [self._ends.get((topic, partition))]
        if self._aside is not None:
            ends.append(self._aside.acknowledged_end(topic, partition))
        return max((end for end in ends if end is not None), default=None)

    def close(self) -> None:
        self._closed = True
        self._producer.purge()
        if self._aside is not None:
            self._aside.close()

    def _produce(self, topic: str, outgoing: Outgoing) -> None:
        while (taken := self._produce_some(topic, outgoing)) < len(outgoing.values):
            self._make_room()
            outgoing = outgoing.at(range(taken, len(outgoing.values)))

    def _produce_some(self, topic: str, outgoing: Outgoing) -> int:
        """Produce what librdkafka has room for; return how many records that is."""
        produce: Any = self._producer.produce
        columns = outgoing.keys, outgoing.timestamps, outgoing.headers
        count, values = len(outgoing.values), iter(outgoing.values)
        if any(len(column) != count for column in columns):
            raise ValueError("the columns of what goes out differ in length")
        # By position, since names double the time of a call; and all calls in one expression.
        calls = map(
            produce,
            repeat(topic),
            values,
            outgoing.keys,
            repeat(outgoing.partition),
            chain(repeat(None, count - 1), [self._note]),
            repeat(None),
            outgoing.timestamps,
            outgoing.headers,
        )
        try:
            deque(calls, maxlen=0)
        except BufferError:
            return count - length_hint(values) - 1
        except KafkaException as error:
            self._served(lambda: self._producer.poll(0))  # may know a reason from before
            raise not_written(topic, outgoing.partition, error.args[0].name()) from None
        return count

    def _write_in_turns(self, topic: str, outgoing: Outgoing) -> None:
        self._aside = self._aside or self._make_aside()
        numbers = range(len(outgoing.values))
        for at_zero, turn in groupby(numbers, lambda number: outgoing.timestamps[number] == 0):
            part = outgoing.at(list(turn))
            if at_zero:
                LibrdkafkaWriter.flush(self)
                self._aside.write(topic, part)
                self._aside.flush()
            else:
                self._produce(topic, part)

    def _make_room(self) -> None:
        """Wait until half of what was written is acknowledged."""
        silence, full = Silence(), len(self._producer)
        while len(self._producer) > full // 2:
            self._served(lambda: self._producer.poll(_STEP_SECONDS))
            silence.goes_on()

    def _served(self, serve: Callable[[], int]) -> int:
        """Return what `serve` returns, unless there is news of a failure."""
        count = self._noting(serve)
        self._check()
        return count

    def _noting(self, serve: Callable[[], int]) -> int:
        try:
            return serve()
        except (KafkaException, SystemError) as error:
            # What ends a producer is raised wherever it is served; if `_note` is called with it on
            # its way, Python says that there are two outcomes, and keeps it as the cause.
            self._failure = self._failure or (error.__cause__ or error).args[0]
            return 0

    def _take_reports(self) -> None:
        while not self._closed:
            time.sleep(_REPORT_SECONDS)
            self._noting(lambda: self._producer.poll(0))

    def _check(self) -> None:
        if self._failure is not None:
            raise self._refusal(self._failure)

    def _refusal(self, error: KafkaError) -> DeliveryFailed:
        gap = error.code() == KafkaError._GAPLESS_GUARANTEE
        return not_acknowledged(error.str() if gap else error.name())

    def _note(self, error: KafkaError | None, last: Message) -> None:
        """Take librdkafka's report about the last record of those that were written at once.

        Reports of one partition can arrive in another order than their records were written,
        because two threads serve librdkafka: one report never moves the end back.
        """
        topic, partition, offset = last.topic(), last.partition(), last.offset()
        if error is not None:
            self._failure = self._failure or error
        elif topic is not None and partition is not None and offset is not None:
            with self._ends_lock:
                known = self._ends.get((topic, partition), 0)
                self._ends[topic, partition] = max(known, offset + 1)
