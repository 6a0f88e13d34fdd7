"""Refuse to commit across a change of topics: one that is deleted and created again is another one.

Positions, releases and rows belong to topics, and not to names. Records of the new topic have
offsets of others, and what is written there does not count for anybody who reads the old one.
"""

import logging
import time

from fugu.dataflows.base.errors import KafkaUnavailable, StartRefused
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.state.fingerprint import Fingerprint, changes

PAUSE_SECONDS = 5.0
"""Half a session in a consumer group: whoever stood still for longer may not know what happened."""
_FEW, _EACH_SECONDS = 100, 0.001
"""An answer lists all partitions, which takes time where a source has more than these."""
_ON_DISK_SECONDS = 0.1
"""On disk, each partition of each sink asks."""
_PATIENCE_SECONDS = 5.0
_ANSWER_SECONDS = 120.0
"""Wait for an answer as long as a write waits for Kafka."""
_AGAIN_SECONDS = 0.1

_STATE_IS_GONE = (
    "The budgets that were counted there are gone with it. Where releases follow records one by "
    "one, and the source and the sink still hold everything, write a file with state.store: disk, "
    "make the state again with fugu state rebuild, and move it into another state.topic with fugu "
    "state move: that keeps all budgets. Aggregates and streams in ticks cannot be made again: "
    "restore the topic itself, with its topic id. Starting without it would reset all budgets."
)


log = logging.getLogger(__name__)


class SameTopics:
    """Compare the topics of a dataflow with those that its state belongs to.

    That is what `stored` names, and the topic of the `state` where it is in Kafka. Once they have
    changed, every question is answered by the same refusal, and `other` is one of those that did.
    One thread asks, and waits so many `seconds` for an answer.
    """

    def __init__(
        self,
        client: Client,
        stored: Fingerprint,
        state: Topic | None = None,
        seconds: float = _ANSWER_SECONDS,
    ) -> None:
        self._client, self._stored, self._state = client, stored, state
        self._seconds = seconds
        many = stored.partitions if stored.partitions > _FEW else 0
        least = _ON_DISK_SECONDS if state is None else 0.0
        self._serves = min(max(least, many * _EACH_SECONDS), PAUSE_SECONDS)
        self._known = dict(stored.identities)
        if state is not None:
            self._known[state.name] = state.identity
        self.other = self._refusal = ""
        self._asked = self._looked_at = float("-inf")

    @property
    def names(self) -> list[str]:
        """Return the names of all topics."""
        return [*self._known]

    def require(self) -> None:
        """Raise `StartRefused` unless all topics are still the same; ask before each commit.

        Kafka is asked each time, unless the source has many partitions, or the state is on disk:
        one answer then serves for a while, of `PAUSE_SECONDS` at most.
        """
        self._asked = time.monotonic()
        if not self._refusal and self._asked - self._looked_at < self._serves:
            return
        self._refusal = self._refusal or self._changed()
        if self._refusal:
            raise StartRefused(self._refusal)

    def require_now(self) -> None:
        """Do the same, and ask in any case; ask before another failure is believed: in a topic that
        is another one, offsets are gone, and nothing is wrong with them."""
        self._looked_at = float("-inf")
        self.require()

    def require_after_a_pause(self) -> None:
        """Do the same if nobody has asked anything for `PAUSE_SECONDS`; ask before each poll."""
        if time.monotonic() - self._asked > PAUSE_SECONDS:
            self.require()
        self._asked = time.monotonic()

    def _changed(self) -> str:
        """Say which topics are other ones, and how to go on; empty if none is."""
        found = self._found()
        others = [name for name, identity in self._known.items() if found[name] != identity]
        if not others:
            return ""
        self.other = others[0]
        if self._state is not None and found[self._state.name] != self._state.identity:
            return (
                f"topic {self._state.name} (state.topic) {_what(found[self._state.name])}, so "
                f"nothing more is committed. {_STATE_IS_GONE}"
            )
        gone = sorted(name for name, identity in found.items() if identity is None)
        if gone:
            return (
                f"topic {gone[0]} {_what(None)}, so nothing more is committed. Fugu stops with all "
                "budgets kept. If it was deleted by mistake, create it anew: the next start says "
                "how to go on."
            )
        problems = changes(self._stored, self._now(found), in_kafka=self._state is not None)
        return "\n".join(["nothing more is committed:", *problems])

    def _now(self, found: dict[str, str | None]) -> Fingerprint:
        """Return what the state would belong to now."""
        stored = self._stored
        roles = ("source", "sink", "dead_letters", "ledger", "origin")
        names = {role: getattr(stored, f"{role}_topic") for role in roles}
        return stored.model_copy(
            update={f"{role}_identity": found[name] for role, name in names.items() if name}
        )

    def _found(self) -> dict[str, str | None]:
        """Ask Kafka until it answers; once more where it does not know a topic, which may be for a
        moment after a broker has begun, however long nothing answered before."""
        first, warned = time.monotonic(), False
        missing_since: float | None = None
        while True:
            began = time.monotonic()
            try:
                found = self._client.identities(self.names)
            except KafkaUnavailable as error:
                if began - first >= self._seconds:
                    raise
                if not warned:
                    log.warning("nothing is committed until topics can be looked at: %s", error)
                warned, missing_since = True, None
            else:
                self._looked_at = began
                missing_since = began if missing_since is None else missing_since
                if None not in found.values() or began - missing_since >= _PATIENCE_SECONDS:
                    return found
            time.sleep(_AGAIN_SECONDS)


def _what(identity: str | None) -> str:
    return "is not there any more" if identity is None else "was deleted and created again"
