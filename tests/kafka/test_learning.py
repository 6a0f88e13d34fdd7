"""From a public topic to a model, and from the model to releases."""

from contextlib import closing
from pathlib import Path

import orjson
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from fugu.dataflows.files.model_file import read_model, read_model_file
from fugu.operators.sip.second_order_model import SecondOrderModel
from tests.kafka.pipelines import ALPHABET, fugu, pipeline_document, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

USERS, EACH = 40, 30


def test_a_model_learned_from_a_public_topic_runs_on_the_private_one(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    public, source = topics("public", partitions=2), topics("raw", partitions=2)
    sink = topics("sanitized", partitions=2)
    produce(bootstrap, public, [*readings(), Placed(0, Record(b"x", b"no JSON", timestamp=NOW))])
    produce(bootstrap, source, readings())
    document = pipeline_document(bootstrap, source, sink)
    document["operator"] |= {"model": "learned.json", "epsilon": 2.0}
    pipeline, model = write_pipeline(tmp_path, document), tmp_path / "learned.json"

    options = ("--pipeline", pipeline, "--order", "2", "--topic")
    said = fugu("model", "learn", model, *options, public)
    assert f"{USERS * EACH:,} records of {USERS} streams" in " ".join(said.split())
    assert "1 records were passed over" in said
    learned = read_model(model, ALPHABET)
    assert isinstance(learned, SecondOrderModel)
    check_lost_beginnings_leave_first_symbols_open(bootstrap, public, pipeline, tmp_path)

    with (
        running(pipeline) as process,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):
        process.wait_until(lambda: sum(end_offsets(consumer, sink)) == USERS * EACH)
        assert process.stop() == 0, process.stderr
    released = [
        orjson.loads(record.value or b"")
        for records in read_topic(bootstrap, sink).values()
        for record in records
    ]
    sure = [release for release in released if release["confidence"] > 0.9]
    assert {release["zone"] for release in released} <= set(ALPHABET)
    assert len(sure) > len(released) / 2, "what follows two symbols is nearly certain"


def check_lost_beginnings_leave_first_symbols_open(
    bootstrap: str, public: str, pipeline: Path, directory: Path
) -> None:
    """After retention the first record of a stream that is there is not its first one."""
    model, options = directory / "around.json", ("--pipeline", pipeline, "--intervals", "0.5")
    fugu("model", "learn", model, *options, "--topic", public)
    whole = read_model_file(model).intervals
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.delete_records({TopicPartition(public, 0): 25})
    later = directory / "later.json"
    said = fugu("model", "learn", later, *options, "--topic", public)
    assert "The topic has lost its oldest records" in said
    cut = read_model_file(later).intervals
    assert whole is not None
    assert cut is not None
    assert min(whole.prior.high) < 1.0
    assert (cut.prior.low, cut.prior.high) == ([0.0] * len(ALPHABET), [1.0] * len(ALPHABET))
    assert max(map(max, cut.transition.low)) > 0.0


def readings() -> list[Placed]:
    """Everybody goes rest, rest, light, light, and again: only two symbols tell what comes."""
    return [
        Placed(user % 2, Record(b"user-%d" % user, b'{"zone": "%b"}' % zone, timestamp=NOW + step))
        for step in range(EACH)
        for user in range(USERS)
        for zone in [b"light" if (step + user) % 4 > 1 else b"rest"]
    ]
