"""Say where the releases of a state are that will begin anew behind them, and under which law."""

from collections.abc import Sequence

from fugu.dataflows.kafka.client import Client
from fugu.dataflows.pipeline.topics import ends_of
from fugu.dataflows.state.fingerprint import Fingerprint, FormerLaw


def former_with(client: Client, stored: Sequence[Fingerprint]) -> list[FormerLaw]:
    """Return the former laws of all shards, and the one of now, which ends where its sink does."""
    return [*stored[0].former, _ended(client, present_law(stored))]


def former_until(client: Client, former: Sequence[FormerLaw]) -> list[FormerLaw]:
    """Return former laws of which the last one ends where its sink does now."""
    return [*former[:-1], _ended(client, former[-1])]


def present_law(stored: Sequence[Fingerprint]) -> FormerLaw:
    """Return the law of now, and where its releases begin; they have no end yet."""
    first = stored[0]
    return FormerLaw(
        operator=first.operator,
        law=first.law,
        version=first.version,
        source_begin={p: at for shard in stored for p, at in shard.source_begin.items()},
        sink_topic=first.sink_topic,
        sink_identity=first.sink_identity,
        sink_begin={p: at for shard in stored for p, at in shard.sink_begin.items()},
        sink_end={},
        reading=first.reading,
        sink_key=first.sink_key,
    )


def _ended(client: Client, law: FormerLaw) -> FormerLaw:
    """Return a law with the ends of its sink, unless that was deleted or created anew."""
    topic = client.topic(law.sink_topic)
    if topic is None or topic.identity != law.sink_identity:
        return law
    ends = ends_of(client, topic.name, sorted(map(int, law.sink_begin)))
    return law.model_copy(update={"sink_end": ends})
