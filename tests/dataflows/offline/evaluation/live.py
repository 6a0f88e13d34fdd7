"""The live path over a small stream, to hold what is evaluated against it."""

from functools import cache
from pathlib import Path

import orjson

from fugu.dataflows.base.batches import Batch, Reason
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure, deduplication_of
from fugu.dataflows.publishing.envelope import Pseudonyms, Publisher
from fugu.dataflows.stages.per_record import PerRecord, exhaustible
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.randomness import DrawScope, Secret
from tests.dataflows.pipeline.pipeline_files import PIPELINE
from tests.dataflows.stages.batching import stream

RECORDS = 60
OPERATORS = {
    "crr": PIPELINE,
    "batched_crr": PIPELINE.replace(
        "  kind: crr\n", "  kind: batched_crr\n  window: 3\n  kernel: heuristic\n"
    ).replace("epsilon: 1.0", "epsilon_per_batch: 3.0"),
    "adaptive_crr": PIPELINE.replace(
        "  kind: crr\n", "  kind: adaptive_crr\n  decision_epsilon: 0.5\n"
    ),
    "cold_start_crr": PIPELINE.replace(
        "  kind: crr\n", "  kind: cold_start_crr\n  positions: 4\n  when_short: accept\n"
    ).replace("  model: model.json\n", ""),
}
"""A pipeline file for each way to release symbols."""


@cache
def messages() -> list[tuple[bytes, dict[str, object]]]:
    """Key and value of records of many users, one of them hot; some are sent twice, some bad."""
    found = []
    for number, (key, value) in enumerate(stream()[:RECORDS]):
        assert key is not None
        found.append((key, {**orjson.loads(value or b""), "id": number - (number % 5 == 1)}))
    return found


def sample_in(directory: Path) -> Path:
    """These records as a file for `fugu evaluate`."""
    path = directory / "sample.jsonl"
    lines = [orjson.dumps({"key": key.decode(), **value}) for key, value in messages()]
    path.write_bytes(b"\n".join(lines))
    return path


def live(file: PipelineFile, secret: Secret) -> tuple[list[int], list[bytes], list[Reason]]:
    """Offsets and values that the pipeline publishes, and reasons of what it refuses."""
    configured, section = configure(file), file.pipeline
    scope = DrawScope(
        secret,
        section.name,
        section.operator.kind,
        section.version,
        configured.mechanism.law_digest(),
    )
    everybody = Admission("unchecked", 1, max_keys=1_000)
    topic, remembered = section.source.topic, deduplication_of(section)
    lift = PerRecord(configured.mechanism, scope, topic, everybody, remembered)
    records = messages()
    batch = Batch(
        partition=0,
        offsets=list(range(1, RECORDS + 1)),
        timestamps=[0] * RECORDS,
        keys=[key for key, _ in records],
        values=[orjson.dumps(value) for _, value in records],
        headers=[[] for _ in records],
    )
    sanitized = lift(
        configured.codec.decode(batch), RowTable(lift.start, exhaustible(configured.mechanism))
    )
    pseudonyms = Pseudonyms(secret.derive("pseudonyms"), section.sink.topic)
    publisher = Publisher(configured.codec, scope, topic, topic, b"id", "pseudonym", pseudonyms)
    outgoing = publisher.releases(sanitized)
    return list(outgoing.positions), list(outgoing.values), sanitized.dead.reasons
