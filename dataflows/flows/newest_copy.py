"""Refuse to write a state anew that is an older copy of it, such as a backup.

A start recognises what another copy has published since. A state that is written anew begins behind
it, so that it would never be charged. The sink of single streams has one writer: what stands there
behind a graceful stop is of another copy, whatever file and key made it, unless it is there twice.
"""

from collections.abc import Sequence
from contextlib import closing

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused
from fugu.dataflows.flows.sections import is_merged
from fugu.dataflows.flows.stopped_beside import BesideShards, MergeOnDisk
from fugu.dataflows.flows.stopped_state import StoppedState, resumed_at
from fugu.dataflows.kafka.client import Bounds, Client, Reader
from fugu.dataflows.kafka.looking_client import LookingClient
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.publishing.lease import Leases, find_control, unit_of
from fugu.dataflows.publishing.ledger_topic import find_ledger
from fugu.dataflows.records.published import record_digest, release_id_of
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint

_LATE = 500_000
"""Count the offsets before a stop of which a copy may have come late."""
_OLDER = "it is an older copy, and would not be charged with it"


def require_newest_copy(client: Client, file: PipelineFile, state: StoppedState) -> None:
    """Raise `StartRefused` if another copy was claimed since, or has published anything since."""
    _require_own_claims(client, file, state.directories, state.fingerprints)
    require_nothing_published_since(client, file, state)


def require_newest_merge(client: Client, file: PipelineFile, merge: MergeOnDisk) -> None:
    """Raise `StartRefused` if another copy of a merge was claimed, or has released, since."""
    require_newest_claim(client, file, merge)
    topic, name = merge.fingerprint.sink_topic, file.pipeline.name
    require_nothing_behind(client, name, topic, 0, merge.published_to)


def require_newest_claim(client: Client, file: PipelineFile, beside: BesideShards) -> None:
    """Raise `StartRefused` if another copy of a directory beside the shards was claimed since."""
    _require_own_claims(client, file, [beside.directory], [beside.fingerprint])


def _require_own_claims(
    client: Client,
    file: PipelineFile,
    directories: Sequence[StateDirectory],
    fingerprints: Sequence[Fingerprint],
) -> None:
    looking = LookingClient(client)
    control = find_control(looking, file.pipeline, find_ledger(looking, file.pipeline))
    if control is not None:
        with closing(Leases(looking, control, file.pipeline.name)) as leases:
            pairs = zip(directories, fingerprints, strict=True)
            leases.require_own({unit_of(one, own.sink_identity): one.path for one, own in pairs})


def require_nothing_published_since(
    client: Client, file: PipelineFile, state: StoppedState
) -> None:
    """Raise `StartRefused` if the sink holds, or may have held, a release from after the stop.

    The merge of an aggregate is looked at by itself, where it is written anew; otherwise it
    recognises its figures as at any start. A sink that was made anew holds nothing of before.
    """
    first = state.first
    sink = client.topic(first.sink_topic)
    if is_merged(file.pipeline) or sink is None or sink.identity != first.sink_identity:
        return
    for directory, stored in zip(state.directories, state.fingerprints, strict=True):
        for place, stop in resumed_at(directory, stored, "sink", stored.sink_begin).items():
            require_nothing_behind(client, file.pipeline.name, sink.name, int(place), stop)


def require_nothing_behind(
    client: Client, pipeline: str, topic: str, partition: int, stop: int
) -> None:
    """Raise `StartRefused` unless the releases of a partition ended at this offset."""
    with closing(client.reader(topic, headers=True)) as reader:
        bound = reader.bounds([partition])[partition]
        if not (bound.start <= stop <= bound.end or _is_end_mark(client, pipeline, bound, stop)):
            raise StartRefused(
                f"topic {topic}, partition {partition}: this state has published up to offset "
                f"{stop}, but the topic now holds offsets {bound.start} to {bound.end}. So nobody "
                "can tell whether another copy of this state has published since, which would not "
                "be charged. Restore the topic, or the newest copy of the state. If this is the "
                "newest copy, delete the topic and create it anew, empty, and run fugu migrate "
                "PIPELINE PIPELINE, which keeps all budgets. Nothing was changed."
            )
        found = _new_release(reader, partition, max(stop, bound.start), bound)
    if found is not None:
        raise StartRefused(
            f"topic {topic}, partition {partition}, offset {found} is a release from after offset "
            f"{stop}, where this state stopped: {_OLDER}. Start the pipeline with this state, "
            "which recognises what was published with the same file and key, let it catch up, "
            "stop it, and run this again. Where the start says release_mismatch, it was published "
            "after another fugu migrate, state rotate, state repartition or redrive: restore the "
            f"state, file and key that went on; if they are lost, {NEW_PIPELINE}. Nothing was "
            "changed."
        )


def _is_end_mark(client: Client, pipeline: str, bound: Bounds, stop: int) -> bool:
    """Return whether retention took everything, and one offset more: the end of a transaction.

    A copy that published in transactions since has used three offsets at least.
    """
    all_gone = bound.start == bound.end == stop + 1
    return all_gone and not client.without_transactions(pipeline)


def _new_release(reader: Reader, partition: int, first: int, bound: Bounds) -> int | None:
    """Return the offset of the first release from `first` on that is not there before, too.

    A request of a process that died may arrive late: a copy of what its successor has published.
    """
    behind = dict[bytes, int]()
    for batch in reader.read_range(partition, first, bound.end):
        for digest, offset in _releases(batch).items():
            behind.setdefault(digest, offset)
    if behind:
        for batch in reader.read_range(partition, max(bound.start, first - _LATE), first):
            for digest in _releases(batch):
                behind.pop(digest, None)
    return min(behind.values(), default=None)


def _releases(batch: Batch) -> dict[bytes, int]:
    """Return where the releases of a batch are, by digests of all their bytes."""
    return {
        record_digest(key, value or b"", headers, timestamp): int(offset)
        for offset, timestamp, key, value, headers in batch.records()
        if release_id_of(headers) is not None
    }
