"""Notice that a topic is another one than at the start, that its partitions became more, or that
nobody says so any more.

A thread of its own asks, because an answer may take long where Kafka is away.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Event, Thread

from fugu.dataflows.base.errors import OVER_NEW_RECORDS, StartRefused
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.monitoring.notices import Kind, Notice
from fugu.dataflows.monitoring.source_watch import said

_LOOK_SECONDS = 10.0
_BLIND_SECONDS = 60.0
GO_ON = (
    "make it anew, empty, and run fugu migrate PIPELINE PIPELINE: after a graceful stop that goes "
    "on with all budgets, or says why it cannot"
)

log = logging.getLogger(__name__)


@dataclass
class TopicsWatch:
    """Compare topics with their `identities` of the start, by name.

    `added` returns what is to be said of partitions that were added to the topic `source`, or
    raises `StartRefused` where the pipeline must not go on; `end` stops it then. `anew` says how to
    go on with another topic that is written.
    """

    client: Client
    source: str
    identities: Mapping[str, str]
    added: Callable[[Topic], str | None]
    end: Callable[[], None] = lambda: None
    anew: str = GO_ON
    refusal: StartRefused | None = field(default=None, init=False)
    """Says why the pipeline was stopped."""
    _noticed: tuple[Notice, ...] = field(default=(), init=False)
    _seen_at: float = field(default_factory=time.monotonic, init=False)
    _failure: str = field(default="", init=False)
    """Says why the last look has failed; empty if it has not."""
    _stopped: Event = field(default_factory=Event, init=False)

    def start(self) -> None:
        """Begin to look, some seconds after the start has seen all topics."""
        Thread(target=self._run, name="topics-watch", daemon=True).start()

    def stop(self) -> None:
        """Look no more; does not wait for an answer that is under way."""
        self._stopped.set()

    def look(self) -> None:
        """Ask Kafka for all topics."""
        topics = {name: self.client.topic(name) for name in self.identities}
        noticed = [self._other(name, topic) for name, topic in topics.items()]
        source = topics[self.source]
        if source is not None and source.identity == self.identities[self.source]:
            noticed.append(self._extended(source))
        self._noticed = tuple(notice for notice in noticed if notice is not None)
        self._seen_at, self._failure = time.monotonic(), ""

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said since the last look that succeeded, and that it is long ago."""
        yield from self._noticed
        blind = now - self._seen_at
        if self._failure and blind > _BLIND_SECONDS:
            text = (
                f"topics have not been looked at for {blind:.0f} s, so nobody would notice one "
                f"that is deleted, created again or extended: {self._failure}"
            )
            yield Notice(Kind.TOPICS_UNSEEN, self.source, None, text, still=False)

    def try_to_look(self) -> None:
        """Look; remember why that fails, and say it the first time."""
        try:
            self.look()
        except Exception as error:  # whatever it is: the next look may succeed
            if not self._failure and not self._stopped.is_set():
                log.warning("topics cannot be looked at: %s", said(error))
            self._failure = said(error)

    def _run(self) -> None:
        while not self._stopped.wait(_LOOK_SECONDS):
            self.try_to_look()

    def _other(self, name: str, topic: Topic | None) -> Notice | None:
        if topic is None:
            what = "is not there any more. The next start is refused"
        elif topic.identity != self.identities[name]:
            what = "was deleted and created again. The next start is refused"
        else:
            return None
        other = OVER_NEW_RECORDS if name == self.source else self.anew
        text = f"topic {name} {what}: stop the pipeline and bring the old topic back, or {other}"
        return Notice(Kind.TOPIC_REPLACED, name, None, text, still=True)

    def _extended(self, source: Topic) -> Notice | None:
        try:
            text = self.added(source)
        except StartRefused as refusal:
            self.refusal, text = refusal, str(refusal)
            self.end()
        if text is None:
            return None
        return Notice(Kind.PARTITIONS_ADDED, source.name, None, text, still=False)
