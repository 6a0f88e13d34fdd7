"""Refuse to write a state anew that is an older copy of it, such as a backup.

A start recognises what another copy has published since. A state that is written anew begins behind
it, so that it would never be charged.
"""

from collections.abc import Callable, Sequence
from contextlib import closing

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.flows.stopped_state import StoppedState, resumed_at
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.looking_client import LookingClient
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.pipeline.secrets import read_keys
from fugu.dataflows.publishing.control_topic import find_control
from fugu.dataflows.publishing.lease import Leases, unit_of
from fugu.dataflows.publishing.ledger_topic import find_ledger
from fugu.dataflows.records.published import release_id_of
from fugu.operators.randomness import DrawScope

_LOOKED_FOR = 500_000
"""Count the records behind a stop whose releases are looked for."""


def require_newest_copy(client: Client, file: PipelineFile, state: StoppedState) -> None:
    """Raise `StartRefused` if another copy was claimed since, or has published anything since."""
    looking = LookingClient(client)
    control = find_control(looking, file.pipeline, find_ledger(looking, file.pipeline))
    if control is not None:
        with closing(Leases(looking, control, file.pipeline.name)) as leases:
            pairs = zip(state.directories, state.fingerprints, strict=True)
            leases.require_own({unit_of(one, own.sink_identity): one.path for one, own in pairs})
    require_nothing_published_since(client, file, state)


def require_nothing_published_since(
    client: Client, file: PipelineFile, state: StoppedState
) -> None:
    """Raise `StartRefused` if the sink holds a release of a record behind the stop."""
    first = state.first
    source, sink = client.topic(first.source_topic), client.topic(first.sink_topic)
    if source is None or sink is None or sink.identity != first.sink_identity:
        return
    law = bytes.fromhex(first.law)
    secret = read_keys(file).noise
    scope = DrawScope(secret, first.pipeline, first.operator, first.version, law, first.key_epoch)

    def names(partition: int, offsets: Sequence[int]) -> set[bytes]:
        return set(scope.release_ids("release", first.source_identity, partition, offsets))

    for directory, stored in zip(state.directories, state.fingerprints, strict=True):
        for place, start in resumed_at(directory, stored, "sink", stored.sink_begin).items():
            found = _release_of(client, sink.name, int(place), start, state.stopped_at, names)
            if found is not None:
                raise StartRefused(
                    f"topic {sink.name}, partition {place}, offset {found} is a release of a "
                    f"record behind offset {state.stopped_at[place]}, where this state stopped: it "
                    "is an older copy, and would not be charged with it. Start the pipeline with "
                    "this state, which recognises what was published, let it catch up, stop it, "
                    "and run this again. Nothing was changed."
                )


def _release_of(
    client: Client,
    topic: str,
    partition: int,
    start: int,
    stopped_at: dict[str, int],
    names: Callable[[int, Sequence[int]], set[bytes]],
) -> int | None:
    """Return the offset of the first release of a record that comes behind the stop."""
    stop = stopped_at[str(partition)]
    with closing(client.reader(topic, headers=True)) as reader:
        bound = reader.bounds([partition])[partition]
        first = max(start, bound.start)
        if first >= bound.end:
            return None
        later = names(partition, range(stop, stop + _LOOKED_FOR))
        for batch in reader.read_range(partition, first, bound.end):
            for offset, _, _, _, headers in batch.records():
                if release_id_of(headers) in later:
                    return int(offset)
    return None
