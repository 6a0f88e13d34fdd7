"""Where partitions end, asked of the broker in one call for all of them."""

import time
from collections.abc import Iterable

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from dataflows.kafka.failures import Silence
from dataflows.kafka.librdkafka_settings import Settings

_ANSWER_SECONDS = 5.0
_PAUSE_SECONDS = 0.2

Place = tuple[str, int]
"""Topic and partition."""


class Ends:
    """Asks over a connection of its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._admin: AdminClient | None = None

    def of(self, places: Iterable[Place]) -> dict[Place, int]:
        """The offset that the next record gets; `DeliveryFailed` if nobody says for long."""
        asked = {TopicPartition(*place): OffsetSpec.latest() for place in places}
        silence = Silence()
        while True:
            self._admin = self._admin or AdminClient(self._settings)
            answers = self._admin.list_offsets(asked, request_timeout=_ANSWER_SECONDS)
            try:
                return {
                    (place.topic, place.partition): answer.result().offset
                    for place, answer in answers.items()
                }
            except KafkaException:
                # It does not learn who leads a partition now; one that is made anew asks.
                self._admin = None
                silence.goes_on()
                time.sleep(_PAUSE_SECONDS)
