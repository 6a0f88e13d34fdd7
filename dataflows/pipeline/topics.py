"""What must be true of the topics before anything is read: design section 4.2, conditions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Bounds, Client, Topic
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.stages.stage_kind import StageKind

_UNLIMITED = str(2**63 - 1)
_SINK_SETTINGS = {
    "cleanup.policy": "delete",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": _UNLIMITED,
    "message.timestamp.after.max.ms": _UNLIMITED,
}
_KEPT = {"retention.ms": "-1"}
"""Retention goes by timestamps, which are those of events: nothing is gone before it is read."""
_WHY = {
    "cleanup.policy": "compaction would remove releases that a replay must recognise",
    "message.timestamp.type": "a replay must publish the same timestamp again",
    "message.timestamp.before.max.ms": "a record with an old timestamp would stop the pipeline",
    "message.timestamp.after.max.ms": "a record with a future timestamp would stop the pipeline",
}


@dataclass(frozen=True)
class Topics:
    """The three topics of a pipeline, found and checked."""

    source: Topic
    sink: Topic
    dead_letters: Topic


def find_topics(client: Client, pipeline: Pipeline) -> Topics:
    """Find (or, with `sink.create`, create) the topics; `KafkaUnavailable` lists every problem."""
    source = _source(client, pipeline)
    names = {"sink.topic": pipeline.sink.topic, **_dead_letters(pipeline)}
    sink, dead_letters = _beside(client, pipeline, source, names)
    return Topics(source, sink, dead_letters)


def find_aggregate_topics(client: Client, pipeline: Pipeline) -> tuple[Topics, Topics]:
    """The topics of the two dataflows of an aggregate: what the first writes, the second reads."""
    source = _source(client, pipeline)
    [dead_letters] = _beside(client, pipeline, source, _dead_letters(pipeline))
    log, sink = _single_partition(client, pipeline)
    return Topics(source, log, dead_letters), Topics(log, sink, dead_letters)


def find_policies(client: Client, pipeline: Pipeline, name: str) -> Topic:
    """The topic of policy changes, which are read in order."""
    topic = client.topic(name)
    if topic is not None and pipeline.kafka.broker == "embedded":
        topic = replace(topic, partitions=1)
    problem = policies_problem(topic, name)
    if topic is None or problem is not None:
        raise KafkaUnavailable(problem or name)
    return topic


def policies_problem(topic: Topic | None, name: str) -> str | None:
    """What keeps a topic from being used for policy changes."""
    if topic is None or topic.partitions != 1:
        what = "does not exist" if topic is None else f"has {topic.partitions} partitions"
        return (
            f"topic {name} (source.policies) {what}. Create it with 1 partition, because changes "
            "are read in order, cleanup.policy=delete and retention.ms=-1."
        )
    return None


def single_partition_topics(pipeline: Pipeline) -> dict[str, str]:
    """Return topics of one partition, by their keys in the pipeline file; aggregates have some."""
    if pipeline.operator.stage is not StageKind.AGGREGATE:
        return {}
    return {"sink.partials": pipeline.partials_topic, "sink.topic": pipeline.sink.topic}


def _source(client: Client, pipeline: Pipeline) -> Topic:
    source = client.topic(pipeline.source.topic)
    if source is None:
        raise KafkaUnavailable(
            f"topic {pipeline.source.topic} (source.topic) does not exist. "
            "Create it, or correct the name in the pipeline file."
        )
    return source


def _dead_letters(pipeline: Pipeline) -> dict[str, str]:
    return {"sink.dead_letters": pipeline.sink.dead_letter_topic}


def _beside(
    client: Client, pipeline: Pipeline, source: Topic, names: Mapping[str, str]
) -> list[Topic]:
    """Topics with as many partitions as the source, by their keys in the pipeline file."""
    problems = source_problems(pipeline, source)
    found: list[Topic] = []
    for key, name in names.items():
        topic = client.topic(name)
        if topic is None and pipeline.sink.create:
            client.create_topic(name, source.partitions, _SINK_SETTINGS)
            topic = client.topic(name)
        if topic is None:
            problems.append(
                f"topic {name} ({key}) does not exist. Create it with {source.partitions} "
                "partitions and cleanup.policy=delete, or write sink.create: true."
            )
        else:
            problems += sink_problems(topic, key, source)
            found.append(topic)
    if problems:
        raise KafkaUnavailable("\n".join(problems))
    return found


def _single_partition(client: Client, pipeline: Pipeline) -> list[Topic]:
    """Topics of one partition, which keeps the order of everything in it; created if told so.

    All topics of the embedded broker have four: of these the first one is used.
    """
    problems: list[str] = []
    found: list[Topic] = []
    for key, name in single_partition_topics(pipeline).items():
        topic = client.topic(name)
        if topic is None and pipeline.sink.create:
            client.create_topic(name, 1, {**_SINK_SETTINGS, **_KEPT})
            topic = client.topic(name)
        if topic is None:
            problems.append(
                f"topic {name} ({key}) does not exist. Create it with 1 partition and "
                "cleanup.policy=delete, or write sink.create: true."
            )
            continue
        if pipeline.kafka.broker == "embedded":
            topic = replace(topic, partitions=1)
        problems += single_partition_problems(topic, key)
        found.append(topic)
    if problems:
        raise KafkaUnavailable("\n".join(problems))
    return found


def single_partition_problems(topic: Topic, key: str) -> list[str]:
    """What keeps a topic from holding everything in one order."""
    problems = []
    if topic.partitions != 1:
        problems.append(
            f"topic {topic.name} ({key}) has {topic.partitions} partitions, but aggregates are "
            "written in order, to one. Create it with 1 partition."
        )
    return problems + _settings_problems(topic, key)


def source_problems(pipeline: Pipeline, source: Topic) -> list[str]:
    """What keeps the source topic from being used."""
    stamped = (source.settings or {}).get("message.timestamp.type", "LogAppendTime")
    if pipeline.source.timestamp == "broker" and stamped != "LogAppendTime":
        return [
            f"topic {source.name}: source.timestamp is broker, but the topic has "
            "message.timestamp.type=CreateTime. Set it to LogAppendTime, or write timestamp: kafka."
        ]
    return []


def sink_problems(topic: Topic, key: str, source: Topic) -> list[str]:
    """What keeps an output topic, named by `key` in the pipeline file, from being used."""
    problems = []
    if topic.partitions != source.partitions:
        problems.append(
            f"topic {topic.name} ({key}) has {topic.partitions} partitions, but {source.name} has "
            f"{source.partitions}. Both need the same number: partition i holds the releases of "
            "partition i. If partitions were added to the source of a pipeline that has run, its "
            "keys have moved: let producers write to a new topic, and start a new pipeline over it."
        )
    return problems + _settings_problems(topic, key)


def _settings_problems(topic: Topic, key: str) -> list[str]:
    if topic.settings is None:
        return []
    found = {
        setting: topic.settings.get(setting, wanted) for setting, wanted in _SINK_SETTINGS.items()
    }
    return [
        f"topic {topic.name} ({key}): set {setting}={wanted} (it is {found[setting]}), because "
        f"{_WHY[setting]}."
        for setting, wanted in _SINK_SETTINGS.items()
        if found[setting] != wanted
    ]


def bounds_of(client: Client, topic: Topic, partitions: list[int]) -> dict[int, Bounds]:
    """Where partitions of a topic start and end now."""
    reader = client.reader(topic.name)
    try:
        return reader.bounds(partitions)
    finally:
        reader.close()
