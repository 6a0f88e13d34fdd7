"""Find the topic that holds a state in Kafka, or create it, and check its settings."""

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Client, CopyClient, Topic
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.state.state_topic import StateTopic
from fugu.operators.randomness import Secret

SETTINGS = {
    "cleanup.policy": "compact",
    "segment.bytes": "16777216",
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
    "delete.retention.ms": "3600000",
    "min.compaction.lag.ms": "0",
}
"""Name the settings that a state topic is created with."""
_REQUIRED = {"cleanup.policy": "compact", "min.compaction.lag.ms": "0"}
_LARGEST_RECORD = 1_000_000
_IN_SYNC = "min.insync.replicas"


def find_state(
    client: Client,
    pipeline: Pipeline,
    source: Topic | None,
    creator: CopyClient | None,
    secret: Secret,
    hiding: Secret | None,
) -> StateTopic | None:
    """Return the state topic; `KafkaUnavailable` says what is wrong with it, None without a source.

    It is created where the pipeline file lets outputs be created. Its records are sealed by a
    secret, and encrypted with `hiding`, if there is one.
    """
    if source is None:
        return None
    name = pipeline.state_topic
    beside = int(pipeline.operator.stage.merges) + int(pipeline.source.policies is not None)
    wanted = source.partitions + beside
    topic, sink = client.topic(name), client.topic(pipeline.sink.topic)
    if topic is None and pipeline.sink.create:
        client.create_topic(name, wanted, SETTINGS | _as_safe_as(sink))
        topic = client.topic(name)
    problem = _problem(topic, name, wanted, sink)
    if topic is None or problem is not None:
        raise KafkaUnavailable(problem or name)
    own = topic.partitions - beside
    return StateTopic(client, topic, pipeline.name, creator, secret, hiding, partitions=own)


def _problem(topic: Topic | None, name: str, partitions: int, sink: Topic | None) -> str | None:
    """Return what keeps a topic from holding the state, in words that say what to do."""
    if topic is None:
        wanted = ", ".join(f"{setting}={value}" for setting, value in SETTINGS.items())
        return (
            f"topic {name} (state.topic) does not exist. Create it with {partitions} "
            f"partitions and {wanted}, for this user alone, or write sink.create: true."
        )
    if topic.partitions > partitions:
        return (
            f"topic {name} (state.topic) has {topic.partitions} partitions, and this pipeline "
            f"needs {partitions}: it belongs to something else."
        )
    settings = topic.settings or {}
    for setting, wanted in _REQUIRED.items():
        if (found := settings.get(setting, wanted)) != wanted:
            return (
                f"topic {name} (state.topic): set {setting}={wanted} (it is {found}), or Kafka "
                "deletes what budgets are counted in, or keeps it for ever."
            )
    if int(settings.get("max.message.bytes", _LARGEST_RECORD)) < _LARGEST_RECORD:
        return f"topic {name} (state.topic): set max.message.bytes to {_LARGEST_RECORD} or more."
    return _less_safe(name, settings, sink)


def _as_safe_as(sink: Topic | None) -> dict[str, str]:
    """Return settings with which as many brokers must have the state as have the releases."""
    found = ((sink and sink.settings) or {}).get(_IN_SYNC)
    return {} if found is None else {_IN_SYNC: found}


def _less_safe(name: str, settings: dict[str, str] | object, sink: Topic | None) -> str | None:
    """Return that fewer brokers must have the state than have the releases made from it."""
    own, of_sink = (
        int(found.get(_IN_SYNC, "1")) if isinstance(found, dict) else 1
        for found in (settings, None if sink is None else sink.settings)
    )
    if own >= of_sink:
        return None
    return (
        f"topic {name} (state.topic): set {_IN_SYNC}={of_sink} or more (it is {own}), as "
        "the sink has: what is released must never be safer than what was spent for it."
    )
