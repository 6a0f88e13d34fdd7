"""Topics that could not be continued after a crash are refused before anything is read."""

from dataclasses import dataclass, field, replace

import pytest
from kafka import KafkaAdminClient

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.kafka_python import KafkaPythonClient
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.topics import find_topics
from tests.kafka.pipelines import pipeline_document
from tests.kafka.topics import TopicFactory

DAY_MS = "86400000"


@dataclass
class Case:
    """Three topics, changes to the pipeline file, and what `find_topics` says about them."""

    client: KafkaPythonClient
    source: str
    sink: str
    dead_letters: str
    changes: dict[str, dict[str, object]] = field(default_factory=dict)

    def with_sink(self, **changes: object) -> "Case":
        return replace(self, changes={"sink": changes})

    def pipeline(self) -> Pipeline:
        document = pipeline_document("unused:9092", self.source, self.sink)
        document["sink"] |= {"create": False, "dead_letters": self.dead_letters}
        for section, changes in self.changes.items():
            document[section] |= changes
        return Pipeline.model_validate(document)

    def refused(self) -> str:
        with pytest.raises(KafkaUnavailable) as caught:
            find_topics(self.client, self.pipeline())
        return str(caught.value)


@pytest.fixture(scope="module")
def good_topics(topics: TopicFactory) -> tuple[str, str, str]:
    return (
        topics("source", partitions=2),
        topics("sink", partitions=2),
        topics("dead", partitions=2),
    )


@pytest.fixture
def case(bootstrap: str, good_topics: tuple[str, str, str]) -> Case:
    return Case(KafkaPythonClient(Connection(bootstrap)), *good_topics)


def test_good_topics_are_found_with_their_identity(case: Case) -> None:
    topics = find_topics(case.client, case.pipeline())
    assert (topics.source.name, topics.source.partitions) == (case.source, 2)
    identities = {topics.source.identity, topics.sink.identity, topics.dead_letters.identity}
    assert len(identities) == 3
    assert not any(identity.startswith("generation") for identity in identities)


def test_a_topic_created_anew_has_another_identity(
    case: Case, bootstrap: str, topics: TopicFactory
) -> None:
    topic = topics("again")
    before = case.client.topic(topic)
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_topics([topic])
    case.client.create_topic(topic, 1, {})
    after = case.client.topic(topic)
    assert before is not None
    assert after is not None
    assert before.identity != after.identity


def test_a_missing_source_is_named(case: Case) -> None:
    case.source = "no-such-topic"
    assert case.refused() == (
        "topic no-such-topic (source.topic) does not exist. "
        "Create it, or correct the name in the pipeline file."
    )


def test_missing_sinks_are_named_with_how_to_create_them(case: Case) -> None:
    said = case.with_sink(topic="no-sink", dead_letters="no-dead").refused()
    assert [line.split(" does not exist. ")[0] for line in said.splitlines()] == [
        "topic no-sink (sink.topic)",
        "topic no-dead (sink.dead_letters)",
    ]
    assert (
        said.count("with 2 partitions and cleanup.policy=delete, or write sink.create: true") == 2
    )


def test_another_number_of_partitions_is_refused(case: Case, topics: TopicFactory) -> None:
    said = case.with_sink(topic=topics("three", partitions=3)).refused()
    assert "(sink.topic) has 3 partitions" in said
    assert "has 2. Both need the same number" in said


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("cleanup.policy", "compact"),
        ("cleanup.policy", "compact,delete"),
        ("message.timestamp.type", "LogAppendTime"),
        ("message.timestamp.before.max.ms", DAY_MS),
        ("message.timestamp.after.max.ms", DAY_MS),
    ],
)
@pytest.mark.parametrize("role", ["topic", "dead_letters"])
def test_a_setting_that_breaks_the_replay_is_refused(
    role: str, setting: str, value: str, case: Case, topics: TopicFactory
) -> None:
    topic = topics("setting", partitions=2, configs={setting: value})
    said = case.with_sink(**{role: topic}).refused()
    assert f"topic {topic} (sink.{role}): set {setting}=" in said
    assert f"(it is {value}), because " in said
    assert "\n" not in said


def test_broker_time_needs_a_topic_that_the_broker_stamps(case: Case, topics: TopicFactory) -> None:
    case.changes = {"source": {"timestamp": "broker"}}
    assert "Set it to LogAppendTime, or write timestamp: kafka" in case.refused()
    stamped = {"message.timestamp.type": "LogAppendTime"}
    case.source = topics("stamped", partitions=2, configs=stamped)
    assert find_topics(case.client, case.pipeline()).source.name == case.source


def test_sinks_are_created_as_they_must_be_where_the_file_says_so(case: Case) -> None:
    names = {"topic": f"{case.source}.out", "dead_letters": f"{case.source}.out.dead"}
    created = find_topics(case.client, case.with_sink(create=True, **names).pipeline())
    again = find_topics(case.client, case.with_sink(create=False, **names).pipeline())
    assert created == again
    assert {topic.partitions for topic in (created.sink, created.dead_letters)} == {2}


def test_create_leaves_an_existing_topic_as_it_is(case: Case) -> None:
    before = find_topics(case.client, case.pipeline()).sink
    case.client.create_topic(case.sink, 7, {})
    assert find_topics(case.client, case.with_sink(create=True).pipeline()).sink == before


def test_all_problems_are_listed_at_once(case: Case, topics: TopicFactory) -> None:
    wrong = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
    topic = topics("wrong", partitions=3, configs=wrong)
    assert len(case.with_sink(topic=topic, dead_letters="no-dead").refused().splitlines()) == 4


def test_a_stand_in_identity_changes_with_the_generation(case: Case, bootstrap: str) -> None:
    embedded = Connection(bootstrap, embedded=True)
    first, second = (
        KafkaPythonClient(embedded, generation).topic(case.source) for generation in (1, 2)
    )
    assert first is not None
    assert second is not None
    assert replace(first, identity=second.identity) == second
    assert first.identity != second.identity
