"""Writing with librdkafka: an idempotent producer that reports failures only."""

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from dataflows.batches import Outgoing
from dataflows.errors import DeliveryFailed
from dataflows.kafka.client import Writer
from dataflows.kafka.failures import Silence, not_acknowledged, not_written
from dataflows.kafka.librdkafka_ends import Ends, Place
from dataflows.kafka.librdkafka_settings import Settings

_STEP_SECONDS = 1.0


class LibrdkafkaWriter:
    """`Writer` over one producer.

    librdkafka takes timestamp 0 for the time of writing, so records of 1970-01-01T00:00:00.000 are
    written by `aside`, another writer, in their place in the order.
    """

    def __init__(
        self,
        settings: Settings,
        ends: Ends,
        aside: Callable[[], Writer],
        own: Callable[[str, int], Writer] | None = None,
    ) -> None:
        self._failure: KafkaError | None = None
        self._producer = Producer({**settings, "on_delivery": self._note})
        self._asked = ends
        self._make_aside = aside
        self._aside: Writer | None = None
        self._own = own
        self._written: set[Place] = set()
        self._ends: dict[Place, int] = {}

    def write(self, topic: str, outgoing: Outgoing) -> None:
        """Hand over one batch of records."""
        if not outgoing.values:
            return
        if 0 in outgoing.timestamps:
            self._write_in_turns(topic, outgoing)
        else:
            self._produce(topic, outgoing)
        self._written.add((topic, outgoing.partition))
        self._served(lambda: self._producer.poll(0))

    def flush(self) -> None:
        """Wait for every acknowledgement; then ask where what was written ends."""
        if self._written:
            self._settle()
            self._ends |= self._asked.of(self._written)
            self._written.clear()

    def owner_of(self, topic: str, partition: int) -> Writer:
        """This writer, or with transactions one of its own."""
        return self if self._own is None else self._own(topic, partition)

    def abandon(self) -> None:
        """Nothing can be taken back."""

    def acknowledged_end(self, topic: str, partition: int) -> int | None:
        """Where the partition ended when all that was written to it had been acknowledged."""
        return self._ends.get((topic, partition))

    def close(self) -> None:
        """Drop what is not sent."""
        self._producer.purge()
        if self._aside is not None:
            self._aside.close()

    def _produce(self, topic: str, outgoing: Outgoing) -> None:
        produce: Any = self._producer.produce
        partition = outgoing.partition
        try:
            for value, key, timestamp, headers in zip(
                outgoing.values, outgoing.keys, outgoing.timestamps, outgoing.headers, strict=True
            ):
                # By position: names double the time of the call. None are callbacks.
                try:
                    produce(topic, value, key, partition, None, None, timestamp, headers)
                except BufferError:
                    self._make_room()
                    produce(topic, value, key, partition, None, None, timestamp, headers)
        except KafkaException as error:
            self._served(lambda: self._producer.poll(0))  # may know a reason from before
            raise not_written(topic, partition, error.args[0].name()) from None

    def _write_in_turns(self, topic: str, outgoing: Outgoing) -> None:
        self._aside = self._aside or self._make_aside()
        numbers = range(len(outgoing.values))
        for at_zero, turn in groupby(numbers, lambda number: outgoing.timestamps[number] == 0):
            part = _part(outgoing, list(turn))
            if at_zero:
                self._wait_for_acknowledgements()
                self._aside.write(topic, part)
                self._aside.flush()
            else:
                self._produce(topic, part)

    def _settle(self) -> None:
        """All that was written counts from now on."""
        self._wait_for_acknowledgements()

    def _wait_for_acknowledgements(self) -> None:
        silence = Silence()
        while self._served(lambda: self._producer.flush(_STEP_SECONDS)):
            silence.goes_on()

    def _make_room(self) -> None:
        """Until half of what was written is acknowledged."""
        silence, full = Silence(), len(self._producer)
        while len(self._producer) > full // 2:
            self._served(lambda: self._producer.poll(_STEP_SECONDS))
            silence.goes_on()

    def _served(self, serve: Callable[[], int]) -> int:
        """What `serve` returns, unless it brought the news of a failure."""
        fatal = None
        try:
            count = serve()
        except (KafkaException, SystemError) as error:
            # What ends a producer is raised wherever it is served; if `_note` is called with it on
            # its way, Python says that there are two outcomes, and keeps it as the cause.
            fatal = (error.__cause__ or error).args[0]
        failure = self._failure or fatal
        if failure is not None:
            raise self._refusal(failure)
        return count

    def _refusal(self, error: KafkaError) -> DeliveryFailed:
        return not_acknowledged(error.name())

    def _note(self, error: KafkaError | None, _message: Message) -> None:
        """Remember the first one; called by librdkafka."""
        self._failure = self._failure or error


def _part(outgoing: Outgoing, numbers: list[int]) -> Outgoing:
    return replace(
        outgoing,
        keys=[outgoing.keys[i] for i in numbers],
        values=[outgoing.values[i] for i in numbers],
        headers=[outgoing.headers[i] for i in numbers],
        timestamps=[outgoing.timestamps[i] for i in numbers],
        positions=[],
    )
