"""Recognise releases that were published before a restart when their replay comes.

A release whose id is known is not written again if its digest is equal; another digest stops the
pipeline.

A published release that does not come back in the replay must have an explanation, too. Its id is
that of a later record (the predecessor's producer gave up one request and delivered the next), or
of one before the last snapshot (a late request of the predecessor, an identical copy of what was
published since), or the pipeline stops. Releases of ticks are ordered by time instead.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import NEW_PIPELINE, ReleaseMismatch, StartRefused
from fugu.dataflows.base.metrics import REPLAYED, Metrics
from fugu.dataflows.records.published import record_digest, release_id_of

log = logging.getLogger(__name__)

_UNMATCHED_WINDOW = 500_000
"""The most source offsets between a replayed one and that of an unmatched release."""


@dataclass(frozen=True)
class Published:
    """Describe a release that is there already."""

    offset: int
    digest: bytes
    timestamp: int


ReleaseIds = Callable[[int, Sequence[int]], Sequence[bytes]]


@dataclass(eq=False)
class ReplayedReleases:
    """Compare a replay of source partition `source` with what a partition of `topic` holds.

    `published` are the releases that are still awaited, by release id; those that come back are
    taken out. `release_ids` names the releases of source records; it is None where releases belong
    to ticks. The source is read again from the offset `resumed` on.
    """

    topic: str
    partition: int
    source: int
    published: dict[bytes, Published]
    release_ids: ReleaseIds | None
    metrics: Metrics
    resumed: int = 0
    _explained: bool = field(default=False, init=False)
    _since: int | None = field(default=None, init=False)
    _count: int = field(default=0, init=False)

    def without_published(self, outgoing: Outgoing) -> Outgoing:
        """Return the records that are not in the topic yet; raise `ReleaseMismatch` where the
        replay makes something else than what is there."""
        fresh = []
        for index, headers in enumerate(outgoing.headers):
            release_id = release_id_of(headers)
            known = None if release_id is None else self.published.pop(release_id, None)
            if known is None:
                if self.release_ids is not None:
                    self._explain_unmatched(self.release_ids, outgoing.positions[index])
                fresh.append(index)
                continue
            key, value = outgoing.keys[index], outgoing.values[index]
            if record_digest(key, value, headers, outgoing.timestamps[index]) != known.digest:
                raise self._mismatch(known.offset, "with other content than its replay has now")
            self._count += 1
        if self.release_ids is None:
            self._explain_by_time(outgoing.timestamps)
        if not self.published:
            log.info(
                "topic %s, partition %d: recognised %d releases published before the restart",
                self.topic,
                self.partition,
                self._count,
                extra={"topic": self.topic, "partition": self.partition},
            )
        skipped = len(outgoing.values) - len(fresh)
        self.metrics.add(REPLAYED, skipped, self.topic, self.partition)
        return outgoing.at(fresh)

    def _explain_unmatched(self, release_ids: ReleaseIds, position: int) -> None:
        """Explain once that the replay met a release that is not published, while others are."""
        if self._explained or not self.published:
            return
        self._explained = True
        first = max(0, self.resumed - _UNMATCHED_WINDOW)
        earlier = set(release_ids(self.source, range(first, self.resumed)))
        passed = set(release_ids(self.source, range(self.resumed, position)))
        later = range(position, position + _UNMATCHED_WINDOW)
        later_ids = set(release_ids(self.source, later))
        for release_id, one in list(self.published.items()):
            if release_id in earlier:
                del self.published[release_id]
            elif release_id in passed:
                raise self._lost(one.offset)
            elif release_id not in later_ids:
                raise self._mismatch(one.offset, "and is no release of this pipeline as it is now")

    def _explain_by_time(self, timestamps: Sequence[int]) -> None:
        """Explain published releases by their ticks, which are replayed whole and in order.

        A release that did not come back with its tick will not come back any more.
        """
        if not timestamps:
            return
        self._since = timestamps[0] if self._since is None else self._since
        for release_id, one in list(self.published.items()):
            if one.timestamp < self._since:
                del self.published[release_id]
            elif one.timestamp <= timestamps[-1]:
                raise self._mismatch(one.offset, "and its tick has passed without it now")

    def _lost(self, offset: int) -> StartRefused:
        return StartRefused(
            f"topic {self.topic}, partition {self.partition}, offset {offset} was published of a "
            "record that is not in the source any more, as where compaction has removed it since "
            "the last snapshot. What it cost is not known to the state, so nothing more is "
            f"published to this partition. Restore the source topic, or {NEW_PIPELINE}."
        )

    def _mismatch(self, offset: int, what: str) -> ReleaseMismatch:
        return ReleaseMismatch(
            f"release_mismatch: topic {self.topic}, partition {self.partition}, "
            f"offset {offset} was published {what}. The secret, the law, the model, the input or "
            "Fugu itself changed under a running pipeline, or something else writes to the topic; "
            "nothing more was published to this partition. Restore what changed, or "
            f"{NEW_PIPELINE}."
        )
