"""Check what must be true of the topics before anything is read: design section 4.2."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Bounds, Client, Topic
from fugu.dataflows.pipeline.config import Pipeline

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
    "cleanup.policy": "compaction would remove records that are still to be read or recognised",
    "message.timestamp.type": "a replay must publish the same timestamp again",
    "message.timestamp.before.max.ms": "a record with an old timestamp would stop the pipeline",
    "message.timestamp.after.max.ms": "a record with a future timestamp would stop the pipeline",
}


_LARGEST = "max.message.bytes"
LARGEST_FORWARDED = 1_048_588
"""Count the bytes of the largest batch that the internal topic by user has to take."""
_RETENTION = ("retention.ms", "retention.bytes")


@dataclass(frozen=True)
class Topics:
    """Hold the three topics of a pipeline, found and checked."""

    source: Topic
    sink: Topic
    dead_letters: Topic


@dataclass(frozen=True)
class Output:
    """Describe a topic that a pipeline writes; `key` names it in the pipeline file."""

    key: str
    name: str
    like: Topic | None = None
    """The source, where partitions go with those of the source; None where there must be one."""
    may_have_more: bool = False
    """The pipeline has begun; partitions that were added since then are not written."""

    @property
    def partitions(self) -> int:
        """Return how many partitions the topic must have."""
        return 1 if self.like is None else self.like.partitions

    @property
    def partitions_in_words(self) -> str:
        """Return the same to follow `with`."""
        return "1 partition" if self.like is None else f"{self.partitions} partitions"

    @property
    def missing(self) -> str:
        """Return what to do about a topic that is not there."""
        return (
            f"topic {self.name} ({self.key}) does not exist. Create it with "
            f"{self.partitions_in_words} and cleanup.policy=delete, or write sink.create: true."
        )

    def problems(self, topic: Topic) -> list[str]:
        """Return what keeps a topic from being used."""
        has = f"topic {topic.name} ({self.key}) has {topic.partitions} partitions, but"
        problems = []
        if topic.partitions != self.partitions and self.like is None:
            problems.append(
                f"{has} aggregates are written in order, to one. Create it with 1 partition."
            )
        elif self.like is not None and not self._has_room(topic):
            problems.append(
                f"{has} {self.like.name} has {self.partitions}. Both need the same number: "
                "partition i holds the releases of partition i."
            )
        wrong = [_wrong_setting(topic, self.key, setting) for setting in _SINK_SETTINGS]
        return problems + [one for one in wrong if one is not None]

    def _has_room(self, topic: Topic) -> bool:
        more = topic.partitions - self.partitions
        return more >= 0 if self.may_have_more else more == 0


def _wrong_setting(topic: Topic, key: str, setting: str) -> str | None:
    """Return how a topic that is written must be set, if it is set otherwise."""
    wanted = _SINK_SETTINGS[setting]
    found = (topic.settings or {}).get(setting, wanted)
    if found == wanted:
        return None
    return (
        f"topic {topic.name} ({key}): set {setting}={wanted} (it is {found}), because "
        f"{_WHY[setting]}."
    )


def find_topics(client: Client, pipeline: Pipeline, begun: int | None = None) -> Topics:
    """Find (or, with `sink.create`, create) the topics; `KafkaUnavailable` lists every problem.

    A pipeline that has `begun` with so many partitions of the source goes on with them.
    """
    source = _source(client, pipeline, begun)
    wanted, problems = outputs(pipeline, source, begun), source_problems(pipeline, source)
    sink, dead_letters = _found(client, pipeline, wanted, problems)
    return Topics(source, sink, dead_letters)


def find_aggregate_topics(
    client: Client, pipeline: Pipeline, begun: int | None = None
) -> tuple[Topics, Topics]:
    """Find the topics of both dataflows of an aggregate: the second reads what the first writes."""
    source = _source(client, pipeline, begun)
    releases, beside, partials = outputs(pipeline, source, begun)
    [dead_letters] = _found(client, pipeline, [beside], source_problems(pipeline, source))
    log, sink = _found(client, pipeline, [partials, releases])
    return Topics(source, log, dead_letters), Topics(log, sink, dead_letters)


def find_policies(client: Client, pipeline: Pipeline, name: str) -> Topic:
    """Find the topic of policy changes, which are read in order."""
    topic = client.topic(name)
    if topic is not None and pipeline.kafka.broker == "embedded":
        topic = replace(topic, partitions=1)
    problem = policies_problem(topic, name)
    if topic is None or problem is not None:
        raise KafkaUnavailable(problem or name)
    return topic


def policies_problem(topic: Topic | None, name: str) -> str | None:
    """Return what keeps a topic from being used for policy changes."""
    if topic is None or topic.partitions != 1:
        what = "does not exist" if topic is None else f"has {topic.partitions} partitions"
        return (
            f"topic {name} (source.policies) {what}. Create it with 1 partition, in which "
            "changes have their order, and with cleanup.policy=delete and retention.ms=-1."
        )
    return None


def _source(client: Client, pipeline: Pipeline, begun: int | None) -> Topic:
    source = topic_to_read(client, pipeline)
    if source is None:
        raise KafkaUnavailable(
            f"topic {pipeline.source.topic} (source.topic) does not exist. "
            "Create it, or correct the name in the pipeline file."
        )
    return source if begun is None else without_added(source, begun)


def topic_to_read(client: Client, pipeline: Pipeline) -> Topic | None:
    """Return the topic whose records are released; None without a source.

    That is the source, or the internal topic into which its records are written by user: it is
    found here, or created as outputs are. `KafkaUnavailable` says what is wrong with it.
    """
    source, name = client.topic(pipeline.source.topic), pipeline.read_topic
    if source is None or not pipeline.source.is_repartitioned:
        return source
    by_user = client.topic(name)
    if by_user is None and pipeline.sink.create:
        client.create_topic(name, source.partitions, _SINK_SETTINGS | _kept_as(source))
        by_user = client.topic(name)
    if by_user is None:
        raise KafkaUnavailable(
            f"topic {name} (source.key.repartition) does not exist. Create it with "
            f"{source.partitions} partitions, cleanup.policy=delete, the retention of "
            f"{source.name} and its ACLs, for this user alone, or write sink.create: true."
        )
    if problems := by_user_problems(by_user):
        raise KafkaUnavailable("\n".join(problems))
    return by_user


def by_user_problems(topic: Topic) -> list[str]:
    """Return what keeps a topic from being used for records by user."""
    problems = Output("source.key.repartition", topic.name, topic).problems(topic)
    takes = int((topic.settings or {}).get(_LARGEST, LARGEST_FORWARDED))
    if takes < LARGEST_FORWARDED:
        problems.append(
            f"topic {topic.name} (source.key.repartition): set {_LARGEST}={LARGEST_FORWARDED} or "
            f"more (it is {takes}), so that each record of the source can be written"
        )
    return problems


def _kept_as(source: Topic) -> dict[str, str]:
    """Return settings by which private records are kept as long as the source keeps them."""
    settings = source.settings or {}
    kept = {name: settings[name] for name in _RETENTION if name in settings}
    if settings.get("cleanup.policy") == "compact":
        kept = {"retention.ms": "-1", "retention.bytes": "-1"}
    return kept | {_LARGEST: str(LARGEST_FORWARDED)}


def without_added(source: Topic, begun: int) -> Topic:
    """Return the source without partitions that were added after a pipeline had begun."""
    return replace(source, partitions=min(source.partitions, begun))


def outputs(pipeline: Pipeline, source: Topic, begun: int | None = None) -> list[Output]:
    """Return the topics that a pipeline writes: releases, dead letters, and partial sums."""
    old, sink = begun is not None, pipeline.sink
    dead_letters = Output("sink.dead_letters", sink.dead_letter_topic, source, old)
    if not pipeline.operator.stage.merges:
        return [Output("sink.topic", sink.topic, source, old), dead_letters]
    partials = Output("sink.partials", pipeline.partials_topic)
    return [Output("sink.topic", pipeline.sink.topic), dead_letters, partials]


def _found(
    client: Client, pipeline: Pipeline, wanted: Sequence[Output], problems: Sequence[str] = ()
) -> list[Topic]:
    """Find topics, or create them if told so; `KafkaUnavailable` lists every problem.

    All topics of the embedded broker have four partitions: where one is needed, the first is used.
    """
    problems, found = list(problems), list[Topic]()
    for output in wanted:
        topic = client.topic(output.name)
        if topic is None and pipeline.sink.create:
            kept = _KEPT if output.like is None else {}
            client.create_topic(output.name, output.partitions, _SINK_SETTINGS | kept)
            topic = client.topic(output.name)
        if topic is None:
            problems.append(output.missing)
            continue
        if output.like is None and pipeline.kafka.broker == "embedded":
            topic = replace(topic, partitions=1)
        problems += output.problems(topic)
        found.append(topic)
    if problems:
        raise KafkaUnavailable("\n".join(problems))
    return found


def compaction_problem(pipeline: Pipeline, topic: Topic) -> str | None:
    """Return why a topic must not be compacted, if Kafka compacts it now.

    A state on disk is replayed from its source after a crash. Nothing is where it is in Kafka, and
    where records go into an internal topic first.
    """
    policy = (topic.settings or {}).get("cleanup.policy", "")
    if "compact" not in policy:
        return None
    source, sink = pipeline.source, pipeline.sink
    if topic.name == source.topic and not (pipeline.state.in_kafka or source.is_repartitioned):
        return (
            f"topic {topic.name} (source.topic): its cleanup.policy is {policy}. With a state on "
            "disk, records since the last snapshot are read again after a crash. Those that "
            "compaction has removed by then would be missed, and what was released of them would "
            "not count as spent. Write state: {store: kafka}, which reads nothing again (after a "
            "graceful stop, fugu state move OLD NEW takes the state there, with all budgets), or "
            "set cleanup.policy=delete."
        )
    written = {
        sink.topic: "sink.topic",
        sink.dead_letter_topic: "sink.dead_letters",
        pipeline.partials_topic: "sink.partials",
    }
    if source.is_repartitioned:
        written[pipeline.read_topic] = "source.key.repartition"
    key = written.get(topic.name)
    return None if key is None else _wrong_setting(topic, key, "cleanup.policy")


def source_problems(pipeline: Pipeline, source: Topic) -> list[str]:
    """Return what keeps the source topic from being used."""
    problem = compaction_problem(pipeline, source)
    problems = [] if problem is None else [problem]
    stamped = (source.settings or {}).get("message.timestamp.type", "LogAppendTime")
    if pipeline.source.timestamp == "broker" and stamped != "LogAppendTime":
        problems.append(
            f"topic {source.name}: source.timestamp is broker, but the topic has "
            "message.timestamp.type=CreateTime. Set it to LogAppendTime, or write timestamp: kafka."
        )
    return problems


def unlimited_times(pipeline: Pipeline, source: Topic) -> str | None:
    """Say that one producer with a wrong clock may move stream time for everybody, because the
    broker takes any timestamp; None where it does not, or where nobody moves time alone."""
    ticks, settings = pipeline.operator.in_ticks(), source.settings
    if ticks is None or settings is None or not ticks.time.has_one_mover:
        return None
    limit = int(settings.get("message.timestamp.after.max.ms", _UNLIMITED))
    by_broker = settings.get("message.timestamp.type") == "LogAppendTime"
    if by_broker or limit <= ticks.time.most_ahead:
        return None
    return (
        f"topic {source.name} takes records with any timestamp, and one record moves stream time "
        "(operator.ticks.stream_time): a producer that writes all its times by a wrong clock moves "
        "it for everybody. Set message.timestamp.after.max.ms of the topic to 3600000 (Kafka 3.6 "
        "and later), or message.timestamp.type to LogAppendTime"
    )


def bounds_of(client: Client, topic: Topic, partitions: list[int]) -> dict[int, Bounds]:
    """Return where partitions of a topic start and end now."""
    with closing(client.reader(topic.name)) as reader:
        return reader.bounds(partitions)


def ends_of(client: Client, topic: str, partitions: list[int]) -> dict[str, int]:
    """Return where partitions of a topic end now, as a fingerprint holds offsets."""
    with closing(client.reader(topic)) as reader:
        return {str(p): bound.end for p, bound in reader.bounds(partitions).items()}
