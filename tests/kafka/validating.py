"""`fugu validate --kafka` as its users run it."""

from pathlib import Path

import orjson

from tests.kafka.pipelines import (
    ended,
    pipeline_document,
    write_pipeline,
)
from tests.kafka.secured import CANARY, Section


def validated(directory: Path, kafka: Section, source: str) -> dict[str, str]:
    """Return what validate finds out, check by check, without showing a password."""
    document = pipeline_document("replaced:1", source, f"{source}.sanitized") | {"kafka": kafka}
    process = ended(["validate", "--kafka", "--json", write_pipeline(directory, document)])
    assert CANARY not in process.stdout + process.stderr
    assert not process.stderr
    return {row["check"]: row["detail"] for row in orjson.loads(process.stdout)}
