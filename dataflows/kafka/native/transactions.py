"""Write an epoch of a shard in a transaction: its records count all at once, or not at all."""

from collections.abc import Callable
from typing import NamedTuple

from confluent_kafka import KafkaError

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import DeliveryFailed, GivenAway, ShutOut
from fugu.dataflows.kafka.client import Writer, identity_of
from fugu.dataflows.kafka.failures import Silence, not_acknowledged
from fugu.dataflows.kafka.native.handle import producer_of
from fugu.dataflows.kafka.native.library import library, name_of
from fugu.dataflows.kafka.native.login_troubles import LoginTroubles
from fugu.dataflows.kafka.native.settings import TRANSACTIONS, Settings
from fugu.dataflows.kafka.native.writer import NativeWriter

_STEP_MILLISECONDS = 5_000
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
        self._insist("init_transactions", _STEP_MILLISECONDS)

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
            self._insist("commit_transaction", _STEP_MILLISECONDS)
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
            reason = self._problem("commit_transaction", _STEP_MILLISECONDS)
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
