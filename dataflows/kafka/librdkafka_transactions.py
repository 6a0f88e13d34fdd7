"""Write to one output partition in transactions: records count all at once, or not at all."""

from collections.abc import Callable
from contextlib import suppress

from confluent_kafka import KafkaError, KafkaException

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import DeliveryFailed
from fugu.dataflows.kafka.client import Writer
from fugu.dataflows.kafka.failures import Silence, not_acknowledged
from fugu.dataflows.kafka.librdkafka_settings import TRANSACTIONS, Settings
from fugu.dataflows.kafka.librdkafka_writer import LibrdkafkaWriter

_STEP_SECONDS = 5.0
_ABORT_SECONDS = 10.0
_SHUT_OUT = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
}
_DROPPED = {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT}


class TransactionalWriter(LibrdkafkaWriter):
    """Begin a transaction with the first record, and commit it where others flush.

    Making one shuts out whoever had the same `identity` before, and aborts what that left open.
    Records at timestamp 0, which `aside` writes, are outside the transaction: they are seen at
    once, and a replay recognises them by release id, as it does without transactions.
    """

    def __init__(self, settings: Settings, identity: str, aside: Callable[[], Writer]) -> None:
        super().__init__({**settings, **TRANSACTIONS, "transactional.id": identity}, aside)
        self._identity = identity
        self._open = False
        self._insist(self._producer.init_transactions)

    def write(self, topic: str, outgoing: Outgoing) -> None:
        """Hand over one batch of records, which count when they are committed."""
        if outgoing.values and not self._open:
            self._insist(lambda _seconds: self._producer.begin_transaction())
            self._open = True
        super().write(topic, outgoing)

    def flush(self) -> None:
        """Wait for every acknowledgement, and commit."""
        if self._open:
            super().flush()
            self._insist(self._producer.commit_transaction)
            self._open = False

    def abandon(self) -> None:
        """Abort what is not committed; if Kafka cannot be asked, the successor does."""
        if self._open:
            self._open = False
            with suppress(KafkaException, SystemError):
                self._producer.abort_transaction(_ABORT_SECONDS)
                self._producer.poll(0)
                self._failure = None  # of records that nobody wants any more

    def close(self) -> None:
        """Abort what is not committed."""
        self.abandon()
        super().close()

    def _insist(self, act: Callable[[float], None]) -> None:
        """Repeat a call until Kafka has done it, or says that it never will."""
        silence = Silence()
        while True:
            try:
                return act(_STEP_SECONDS)
            except KafkaException as error:
                failure = error.args[0]
            if not failure.retriable():
                raise self._refusal(failure)
            silence.goes_on()

    def _refusal(self, error: KafkaError) -> DeliveryFailed:
        if error.code() in _DROPPED:
            error = self._reason() or error
        if error.code() in _SHUT_OUT:
            return DeliveryFailed(
                f"another process has taken over transactional id {self._identity} "
                f"({error.name()}): the same pipeline runs elsewhere. Nothing that was not yet "
                "committed counts; let one of the two run."
            )
        if error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return DeliveryFailed(
                f"the user of the pipeline may not use transactional id {self._identity}. Grant "
                "Describe and Write on it, or write kafka.transactions: false."
            )
        return not_acknowledged(error.name())

    def _reason(self) -> KafkaError | None:
        """Name what keeps a transaction from being committed."""
        try:
            self._producer.commit_transaction(_STEP_SECONDS)
        except KafkaException as error:
            reason: KafkaError = error.args[0]
            return reason
        return None
