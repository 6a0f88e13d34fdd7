"""Write to one output partition in transactions: records count all at once, or not at all."""

from collections.abc import Callable
from typing import NamedTuple

from confluent_kafka import KafkaError

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import DeliveryFailed, ShutOut
from fugu.dataflows.kafka.client import Writer
from fugu.dataflows.kafka.failures import Silence, not_acknowledged
from fugu.dataflows.kafka.native.library import library, name_of
from fugu.dataflows.kafka.native.login_troubles import LoginTroubles
from fugu.dataflows.kafka.native.settings import TRANSACTIONS, Settings
from fugu.dataflows.kafka.native.writer import NativeWriter

_STEP_MILLISECONDS = 5_000
_ABORT_MILLISECONDS = 10_000
_SHUT_OUT = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
}
_DROPPED = {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT}


class _Problem(NamedTuple):
    """Hold why librdkafka has not done what it was asked for."""

    error: int
    retriable: bool


class NativeTransactionalWriter(NativeWriter):
    """Begin a transaction with the first record, and commit it where others flush.

    Making one shuts out whoever had the same `identity` before, and aborts what that left open.
    Records at timestamp 0, which `aside` writes, are outside the transaction: they are seen at
    once, and a replay recognises them by release id, as it does without transactions.
    """

    def __init__(
        self,
        settings: Settings,
        troubles: LoginTroubles,
        identity: str,
        aside: Callable[[], Writer],
    ) -> None:
        settings = {**settings, **TRANSACTIONS, "transactional.id": identity}
        super().__init__(settings, troubles, aside)
        self._identity = identity
        self._open = False
        self._insist("init_transactions", _STEP_MILLISECONDS)

    def write(self, topic: str, outgoing: Outgoing) -> None:
        """Hand over one batch of records, which count when they are committed."""
        if outgoing.values and not self._open:
            self._insist("begin_transaction")
            self._open = True
        super().write(topic, outgoing)

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

    def _problem(self, act: str, *milliseconds: int) -> _Problem | None:
        """Call a function of librdkafka; return what it has against it, if anything."""
        calls = library()
        error = getattr(calls, f"rd_kafka_{act}")(self._producer, *milliseconds)
        if not error:
            return None
        problem = _Problem(
            calls.rd_kafka_error_code(error), bool(calls.rd_kafka_error_is_retriable(error))
        )
        calls.rd_kafka_error_destroy(error)
        return problem

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
        if error == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return DeliveryFailed(
                f"the user of the pipeline may not use transactional id {self._identity}. Grant "
                "Describe and Write on it, or write kafka.transactions: false."
            )
        return not_acknowledged(name_of(error))
