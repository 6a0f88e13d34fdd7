"""Numbers through the whole path: noise of the declared size, and a budget that ends."""

from contextlib import closing
from pathlib import Path
from statistics import fmean, pstdev

import orjson
from kafka import KafkaConsumer

from tests.kafka.pipelines import fugu, pipeline_document, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

USERS, EACH, PAID = 500, 3, 2


def test_readings_come_out_with_the_declared_noise_until_the_budget_is_spent(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source, sink = topics("readings", partitions=1), topics("sanitized", partitions=1)
    produce(bootstrap, source, readings())
    document = pipeline_document(bootstrap, source, sink)
    document["source"]["value"] = "watts"
    document["operator"] = {"kind": "laplace", "lower": 0, "upper": 10, "epsilon": 1.0}
    document["budget"] = {"total": 1.0 * PAID}
    pipeline = write_pipeline(tmp_path, document)
    with (
        running(pipeline) as process,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):
        process.wait_until(lambda: end_offsets(consumer, sink) == [USERS * EACH])
        assert process.stop() == 0, process.stderr

    released = [orjson.loads(record.value or b"") for record in read_topic(bootstrap, sink)[0]]
    fresh, repeated = released[: USERS * PAID], released[USERS * PAID :]
    noise = [release["watts"] - 7 for release in fresh]
    assert abs(fmean(noise)) < 5 * 14.2 / (USERS * PAID) ** 0.5
    assert 12 < pstdev(noise) < 17, "b = 10, so a standard deviation of 14.1"
    assert repeated == [release | {"repeated": True} for release in fresh[USERS:]]
    assert "standard deviation of the noise: 14.14" in fugu("explain", pipeline)


def readings() -> list[Placed]:
    """Everybody reads 7, three times."""
    return [
        Placed(0, Record(b"user-%d" % user, b'{"watts": 7}', timestamp=NOW + user))
        for _ in range(EACH)
        for user in range(USERS)
    ]
