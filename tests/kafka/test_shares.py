"""Shares through the whole path: true ones are recovered from what GRR and OUE let out."""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from kafka import KafkaConsumer

from fugu.operators.mechanism import Floats
from fugu.operators.responses.frequency_estimates import FrequencyEstimate, estimated_shares
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from tests.kafka.pipelines import ALPHABET, pipeline_document, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

USERS, EACH, PAID = 1000, 3, 2
SHARES = np.array([0.5, 0.3, 0.15, 0.05])
STANDARD_ERRORS = 5.0
"""The draws differ from run to run, because topics do; 8 estimates fail with probability 5e-6."""
LAWS: dict[str, GeneralizedRandomizedResponse | OptimizedUnaryEncoding] = {
    "grr": GeneralizedRandomizedResponse(len(ALPHABET), epsilon=1.0),
    "oue": OptimizedUnaryEncoding(len(ALPHABET), epsilon=1.0),
}


@pytest.mark.parametrize("kind", LAWS)
def test_true_shares_lie_within_the_error_bars_of_what_is_released(
    kind: str, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source, sink = topics("zones", partitions=1), topics("sanitized", partitions=1)
    produce(bootstrap, source, zones())
    document = pipeline_document(bootstrap, source, sink)
    document["operator"] = {"kind": kind, "alphabet": ALPHABET, "epsilon": 1.0}
    document["budget"] = {"total": 1.0 * PAID}
    with (
        running(write_pipeline(tmp_path, document)) as process,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):
        process.wait_until(lambda: end_offsets(consumer, sink) == [USERS * EACH])
        assert process.stop() == 0, process.stderr

    released = [orjson.loads(record.value or b"") for record in read_topic(bootstrap, sink)[0]]
    fresh, repeated = released[: USERS * PAID], released[USERS * PAID :]
    assert repeated == [release | {"repeated": True} for release in fresh[USERS:]]
    estimate = shares_of(fresh, kind)
    assert (np.abs(estimate.shares - SHARES) < STANDARD_ERRORS * estimate.standard_errors).all()
    assert estimate.standard_errors.max() < 0.05
    assert np.abs(reported(fresh) - SHARES).max() > 0.1, "uncorrected shares are far off"


def shares_of(fresh: list[dict[str, Any]], kind: str) -> FrequencyEstimate:
    """Compute what an analyst does from the topic and the pipeline file."""
    counts = np.rint(reported(fresh) * len(fresh)).astype(np.int64)
    return estimated_shares(counts, len(fresh), LAWS[kind])


def reported(fresh: list[dict[str, Any]]) -> Floats:
    """The share of releases that report each symbol: a bare one, or those in a list."""
    zones = [release["zone"] for release in fresh]
    sets = [zone if isinstance(zone, list) else [zone] for zone in zones]
    return np.array([np.mean([symbol in some for some in sets]) for symbol in ALPHABET])


def zones() -> list[Placed]:
    """Each user sends the same zone three times; zones have the shares above."""
    truth = np.repeat(ALPHABET, (SHARES * USERS).astype(np.int64))
    return [
        Placed(0, Record(b"user-%d" % user, orjson.dumps({"zone": str(zone)}), timestamp=NOW))
        for _ in range(EACH)
        for user, zone in enumerate(truth)
    ]
