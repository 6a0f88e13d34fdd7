"""Account for what one partition has published into one topic.

From an offset on, so many releases are committed. What lies there and is not committed was written
by a copy that died: its replay must publish the same bytes, or readers who do not wait for commits
would get two draws of one truth.
"""

from contextlib import closing
from dataclasses import dataclass, field

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import NEW_PIPELINE, ReleaseMismatch, StartRefused
from fugu.dataflows.flows.plan import Output
from fugu.dataflows.kafka.client import Bounds, Client
from fugu.dataflows.records.published import record_digest, release_id_of

Digests = dict[bytes, bytes]


@dataclass(eq=False)
class Account:
    """Hold where the account begins, what is committed since, and what is to come back.

    `tail` has the digests of releases that were aborted; they come back before the source is read
    up to `tail_until`. Where the source `loses_records`, as by compaction, what was made of them
    may come back otherwise, or not at all: it counts for nobody who waits for commits.
    """

    output: Output
    source: int
    begin: int
    published: int = 0
    tail: Digests = field(default_factory=dict)
    tail_until: int = 0
    loses_records: bool = False
    _differs: bool = field(default=False, init=False)

    @property
    def topic(self) -> str:
        """Return the topic."""
        return self.output.topic

    @property
    def partition(self) -> int:
        """Return the partition of the topic that this partition of the source writes to."""
        shared = self.output.shared
        return self.source if shared is None else self.source % shared.partitions

    def note(self, outgoing: Outgoing) -> None:
        """Count releases that are to be committed, and compare those that were aborted before.

        Timestamp 0 is compared as 1, as which copies write it.
        """
        self.published += len(outgoing.values)
        if not self.tail:
            return
        for index, headers in enumerate(outgoing.headers):
            known = self.tail.pop(release_id_of(headers) or b"", None)
            if known is None:
                continue
            key, value = outgoing.keys[index], outgoing.values[index]
            timestamp = outgoing.timestamps[index] or 1
            if record_digest(key, value or b"", headers, timestamp) == known:
                continue
            self._differs = True
            if not self.loses_records:
                raise self._mismatch("was aborted with other content than its replay has now")

    def close(self, end: int | None, position: int) -> bool:
        """Begin anew behind `end`, once nothing is to come back; return whether something did not,
        or came with other content.

        The source is read up to `position`. An `end` before the begin is of an earlier time. Among
        records of others nobody knows: what was committed behind their open transactions was taken
        for aborted.
        """
        missing = (bool(self.tail) or self._differs) and position >= self.tail_until
        if missing:
            self.tail.clear()
            self._differs = False
        if not self.tail and end is not None and end > self.begin:
            self.begin, self.published = end, 0
        return missing and self.output.shared is None

    def look(self, client: Client, committed: Bounds, written: int, *, begun: bool) -> None:
        """Look at what lies between the begin of the account and what is written.

        Raises `StartRefused` where other releases are committed than the state says. Once a state
        has `begun`, it counts releases that retention has removed since. What others have open in a
        shared topic may hide all that is behind the begin.
        """
        shared = self.output.shared is not None
        start = max(self.begin, committed.start) if begun else self.begin
        if start < committed.start or (start > written and not shared):
            raise StartRefused(
                f"topic {self.topic}, partition {self.partition}: the state goes on from offset "
                f"{self.begin}, but the topic now holds offsets {committed.start} to {written}, so "
                f"nobody knows which releases count. Restore the topic. Otherwise {NEW_PIPELINE}."
            )
        known = self._digests(client, start, min(written, committed.end), committed=True)
        missing = self.published - len(known)
        # A shared topic may hold copies of releases of before, each of which counts once for
        # whoever reads it.
        if not shared and (missing < 0 or (missing > 0 and start == self.begin)):
            raise self._other_number(len(known))
        every = self._digests(client, start, written, committed=False)
        self.tail = {name: digest for name, digest in every.items() if name not in known}

    def _digests(self, client: Client, start: int, end: int, *, committed: bool) -> Digests:
        found: Digests = {}
        shared = self.output.shared
        if start >= end:
            return found
        with closing(client.reader(self.topic, committed=committed)) as reader:
            for batch in reader.read_range(self.partition, start, end):
                for _, timestamp, key, value, headers in batch.records():
                    name = release_id_of(headers)
                    own = shared is None or shared.is_own(
                        self.source, key, value, headers, timestamp
                    )
                    if name is None or not own:
                        continue
                    digest = record_digest(key, value or b"", headers, timestamp)
                    if found.setdefault(name, digest) != digest:
                        raise self._mismatch("was written twice, with different content")
        return found

    def _other_number(self, found: int) -> StartRefused:
        where = f"topic {self.topic}, partition {self.partition}"
        if found > self.published:
            return StartRefused(
                f"two_owners: {where} holds {found} committed releases from offset {self.begin} "
                f"on, and the state knows of {self.published}. Something that does not keep the "
                "state writes releases of this pipeline. Find and stop it; what it released adds "
                "to what was spent, and the state does not count that."
            )
        return StartRefused(
            f"{where} holds {found} committed releases from offset {self.begin} on, and the state "
            f"knows of {self.published}: releases were lost, as by an unclean election of a "
            "leader. Restore the topic. They cannot be released again, because the budget is spent."
        )

    def _mismatch(self, what: str) -> ReleaseMismatch:
        return ReleaseMismatch(
            f"release_mismatch: topic {self.topic}, partition {self.partition}: a release {what}. "
            "The secret, the law, the model, the input or Fugu itself changed under a running "
            "pipeline; nothing more was published to this partition. Restore what changed, or "
            f"{NEW_PIPELINE}."
        )
