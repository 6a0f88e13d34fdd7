"""Write by an idempotent producer, or an epoch of a shard in a transaction."""

import ctypes
import time
import weakref
from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

from confluent_kafka import KafkaError

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import DeliveryFailed, GivenAway, ShutOut
from fugu.dataflows.kafka.client import Writer, identity_of
from fugu.dataflows.kafka.failures import Silence, not_acknowledged, not_written
from fugu.dataflows.kafka.native.consumer import producer_of
from fugu.dataflows.kafka.native.library import (
    ERROR_SIZE,
    PURGE_IN_FLIGHT,
    PURGE_QUEUE,
    LoginTroubles,
    library,
    name_of,
)
from fugu.dataflows.kafka.native.producing import (
    Destination,
    OutgoingTable,
    Reports,
    produce,
    tables_of,
)
from fugu.dataflows.kafka.native.settings import TRANSACTIONS, Settings
from fugu.operators.columns import column_of

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


_TRANSACTION_STEP_MILLISECONDS = 5_000
_TRIAL_MILLISECONDS = 10_000
_ABORT_MILLISECONDS = 10_000
_SHUT_OUT = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
}
_GIVEN_AWAY = {
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.FENCED_INSTANCE_ID,
    KafkaError.STALE_MEMBER_EPOCH,
}
_DROPPED = {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT}


def refused_transactions(settings: Settings, pipeline: str) -> str:
    """Say why Kafka takes no transactions of a pipeline; empty if it does.

    What is tried out is an id beside those of the pipeline, so that nobody is shut out.
    """
    identity = f"{identity_of(pipeline)}.trial"
    calls = library()
    producer = producer_of({**settings, **TRANSACTIONS, "transactional.id": identity})
    try:
        problem = problem_of(calls.rd_kafka_init_transactions(producer, _TRIAL_MILLISECONDS))
    finally:
        calls.rd_kafka_destroy(producer)
    if problem is None:
        return ""
    if problem.error == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return (
            f"this user may not use transactional ids: grant Describe and Write on those that "
            f"begin with {identity_of(pipeline)}."
        )
    return f"Kafka does not take them ({name_of(problem.error)})"


class Problem(NamedTuple):
    """Hold why librdkafka has not done what it was asked for."""

    error: int
    retriable: bool


def problem_of(error: int | None) -> Problem | None:
    """Return what librdkafka has against a call, if anything."""
    if not error:
        return None
    calls = library()
    problem = Problem(
        calls.rd_kafka_error_code(error),
        bool(calls.rd_kafka_error_is_retriable(error)),
    )
    calls.rd_kafka_error_destroy(error)
    return problem


class NativeTransactionalWriter(NativeWriter):
    """Begin a transaction with the first record, and commit it where others flush.

    One is for all partitions that a shard owns: the first one that flushes commits for all. Making
    one shuts out whoever had the same `identity` before, and aborts what that left open.
    Records at timestamp 0, which `aside` writes, are outside the transaction: they are seen at
    once, and a replay recognises them by release id, as it does without transactions.
    """

    def __init__(
        self,
        settings: Settings,
        troubles: LoginTroubles,
        identity: str,
        aside: Callable[[], Writer],
        lasting: Settings = TRANSACTIONS,
    ) -> None:
        settings = {**settings, **lasting, "transactional.id": identity}
        super().__init__(settings, troubles, aside)
        self._identity = identity
        self._open = False
        self._insist("init_transactions", _TRANSACTION_STEP_MILLISECONDS)

    def write(self, topic: str, outgoing: Outgoing) -> None:
        """Hand over one batch of records, which count when they are committed."""
        if outgoing.values:
            self._begin()
        super().write(topic, outgoing)

    def _begin(self) -> None:
        """Begin a transaction, unless one is open."""
        if not self._open:
            self._insist("begin_transaction")
            self._open = True

    def flush(self) -> None:
        """Wait for every acknowledgement, and commit."""
        if self._open:
            super().flush()
            self._insist("commit_transaction", _TRANSACTION_STEP_MILLISECONDS)
            self._open = False

    def abandon(self) -> None:
        """Abort what is not committed; if Kafka cannot be asked, the successor does."""
        if self._open:
            self._open = False
            if self._problem("abort_transaction", _ABORT_MILLISECONDS) is None:
                self._reports.forget_failure()

    def close(self) -> None:
        """Abort what is not committed."""
        self.abandon()
        super().close()

    def _insist(self, act: str, *milliseconds: int) -> None:
        """Repeat a call until Kafka has done it, or says that it never will."""
        silence = Silence()
        while problem := self._problem(act, *milliseconds):
            if not problem.retriable:
                raise self._refusal(problem.error)
            silence.goes_on()

    def _problem(self, act: str, *milliseconds: int) -> Problem | None:
        """Call a function of librdkafka; return what it has against it, if anything."""
        return problem_of(getattr(library(), f"rd_kafka_{act}")(self._producer, *milliseconds))

    def _refusal(self, error: int) -> DeliveryFailed:
        if error in _DROPPED:
            # What keeps a transaction from being committed is the reason.
            reason = self._problem("commit_transaction", _TRANSACTION_STEP_MILLISECONDS)
            error = error if reason is None else reason.error
        if error in _SHUT_OUT:
            return ShutOut(
                f"another process has taken over transactional id {self._identity} "
                f"({name_of(error)}): the same pipeline runs elsewhere. Nothing that was not yet "
                "committed counts; let one of the two run."
            )
        if error in _GIVEN_AWAY:
            return GivenAway(
                f"the consumer group has given partitions to another copy ({name_of(error)}). "
                "Nothing that was not yet committed counts."
            )
        if error == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return DeliveryFailed(
                f"the user of the pipeline may not use transactional id {self._identity}. Grant "
                "Describe and Write on it, or write kafka.transactions: false."
            )
        return not_acknowledged(name_of(error))
