"""Refuse to begin without a state wherever something shows that the pipeline has released before.

Without its state a pipeline begins with whole budgets and reads the source again. What it releases
then has noise of its own as soon as the key epoch, the version or what came before differ: a second
noisy copy of the same truth. A new topic for the copy makes nothing better, so none is advised.
"""

from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused
from fugu.dataflows.kafka.client import Bounds, Client, Topic
from fugu.dataflows.pipeline.topics import bounds_of
from fugu.dataflows.records.published import release_id_of
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.state_topic import StateTopic

_LOOKED_AT = 1_000
"""Count the newest records of a partition that say whose topic it is."""


def require_keys_without_a_past(key_epoch: int, missing: Path) -> None:
    """Refuse keys that `fugu state rotate` has made for a state that is not there."""
    if key_epoch > 0:
        raise StartRefused(
            f"there is no state in {missing}, but secret names keys of epoch {key_epoch}, which "
            "fugu state rotate made for one: earlier releases have noise of earlier keys, so what "
            "the source still holds of them would be released a second time, with other noise. "
            "Restore the state directory and the topics; names of new topics do not help. A "
            "pipeline of another name begins with a secret of its own, and what it releases adds "
            "to what was spent."
        )


def empty_topic_begin(client: Client, topic: Topic, partitions: list[int]) -> dict[str, int]:
    """Return where the own records will begin in a topic; refuse one that holds records."""
    bounds = bounds_of(client, topic, partitions)
    if any(bound.end > 0 for bound in bounds.values()):
        if _are_of_others(client, topic, bounds):
            raise StartRefused(
                f"topic {topic.name} already holds records, and the newest were not written by "
                "Fugu. Correct the name in the pipeline file: a pipeline needs a topic of its own, "
                "which is empty when it begins."
            )
        raise StartRefused(
            f"topic {topic.name} already holds records, but there is no state for them. If another "
            "pipeline writes them, give this one a topic of its own. If they are of this one, "
            "restore its state (state.directory, or state.topic): without it budgets would be "
            "reset and releases repeated. If a directory is lost, fugu state rebuild makes it "
            "again where source and sink still hold everything. Another topic does not help then: "
            "what the source still holds would be released a second time, and both releases add "
            "up."
        )
    return {str(partition): bound.end for partition, bound in bounds.items()}


def own_begin(client: Client, topic: Topic | None, partitions: list[int]) -> dict[str, int]:
    """Return where the records of these partitions will begin in a topic that others write to."""
    if topic is None:
        return {}
    bounds = bounds_of(client, topic, list(range(topic.partitions)))
    return {str(partition): bounds[partition % topic.partitions].end for partition in partitions}


def refuse_entries(
    client: Client, log: Topic, home: StateDirectory | StateTopic, keys: Iterable[bytes]
) -> None:
    """Refuse entries with these keys in the internal log of an aggregate that has no state.

    They would be of another pipeline, with other limits to what one user contributes, or the budget
    would begin again.
    """
    if home.stored() is not None:
        return
    own = set(keys)
    with closing(client.reader(log.name)) as reader:
        bound = reader.bounds([0])[0]
        for batch in reader.read_range(0, bound.start, bound.end):
            if not own.isdisjoint(batch.keys) and home.stored() is None:
                if isinstance(home, StateTopic):
                    missing, where = "topic", f"topic {home.topic.name}"
                else:
                    missing, where = "state directory", str(home.path)
                raise StartRefused(
                    f"topic {log.name} (sink.partials) already holds partial sums, but there is no "
                    f"state for them in {where}. Restore the {missing}, or "
                    f"{NEW_PIPELINE}; sink.partials must be another topic, too."
                )


def _are_of_others(client: Client, topic: Topic, bounds: Mapping[int, Bounds]) -> bool:
    """Return whether there are records that can be read, and the newest have no release id."""
    found = False
    with closing(client.reader(topic.name)) as reader:
        for partition, bound in bounds.items():
            first = max(bound.start, bound.end - _LOOKED_AT)
            for batch in reader.read_range(partition, first, bound.end):
                for _, _, _, _, headers in batch.records():
                    found = True
                    if release_id_of(headers) is not None:
                        return False
    return found
