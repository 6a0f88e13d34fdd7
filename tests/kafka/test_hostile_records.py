"""Whatever strangers write, a pipeline goes on, loses nothing, and lets nothing else out."""

from pathlib import Path

import pytest

from fugu.dataflows.kafka.connection import Library
from tests.dataflows.kafka.played_registry import played_registry
from tests.kafka.clients import BOTH
from tests.kafka.hostile import SHAPES, look
from tests.kafka.hostile_schemas import json_with_schemas, with_schemas
from tests.kafka.topics import TopicFactory

FEW, MANY, SEED = 2_000, 250_000, 4
CASES = [
    *((name, "librdkafka") for name in SHAPES),
    ("json", "kafka-python"),
    *(
        pytest.param(name, "kafka-python", marks=pytest.mark.acceptance)
        for name in SHAPES
        if name != "json"
    ),
]
FORMATS = {"avro": "Avro", "protobuf": "Protocol Buffers"}
EACH = 100
"""Messages that come with each mutated schema: all in all there are 10,000 of these."""
RESULTS = Path(__file__).parents[1] / "acceptance" / "results"


@pytest.mark.parametrize(("name", "library"), CASES)
def test_every_record_is_released_or_a_dead_letter_and_nothing_else_comes_out(
    name: str, library: Library, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    outcome = look(SHAPES[name], library, FEW, SEED, bootstrap, topics, tmp_path)
    assert outcome.became["released"] > FEW / 25
    assert len(outcome.became) > 4


@pytest.mark.parametrize("kind", FORMATS)
def test_so_are_records_of_schemas_with_faults(
    kind: str, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    with played_registry() as registry:
        shape = with_schemas(kind, registry, each=FEW // 100)
        outcome = look(shape, "librdkafka", FEW, SEED, bootstrap, topics, tmp_path)
    assert outcome.became["released"] > FEW / 10
    assert outcome.became["unusable_schema"] > FEW / 10
    assert outcome.became["not_as_schema"] > FEW / 25


def test_so_are_records_of_json_with_a_schema(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    with played_registry() as registry:
        shape = json_with_schemas(registry)
        outcome = look(shape, "librdkafka", FEW, SEED, bootstrap, topics, tmp_path)
    assert outcome.became["released"] > FEW / 25
    assert len(outcome.became) > 8


@pytest.mark.acceptance
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("library", BOTH)
def test_so_are_a_million_records_of_strangers(
    library: Library, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Writes `hostile_records_LIBRARY.txt` among the results, which is committed."""
    lines = [f"A million records of strangers, read by {library}.", ""]
    for name, shape in SHAPES.items():
        outcome = look(shape, library, MANY, SEED + 1, bootstrap, topics, tmp_path / name)
        lines.append(outcome.line(name))
    (RESULTS / f"hostile_records_{library}.txt").write_text("\n".join(lines) + "\n")


@pytest.mark.acceptance
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("library", BOTH)
def test_so_are_a_million_records_of_ten_thousand_schemas_with_faults(
    library: Library, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    """Writes `hostile_schemas_LIBRARY.txt` among the results, which is committed."""
    total = MANY * len(SHAPES)
    lines = [f"{total:,} records of {total // EACH:,} mutated schemas, read by {library}.", ""]
    for kind, name in FORMATS.items():
        with played_registry() as registry:
            shape, count = with_schemas(kind, registry, EACH), total // len(FORMATS)
            outcome = look(shape, library, count, SEED + 1, bootstrap, topics, tmp_path / kind)
        lines.append(outcome.line(name))
        (RESULTS / f"hostile_schemas_{library}.txt").write_text("\n".join(lines) + "\n")
