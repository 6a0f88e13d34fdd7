"""Pipelines, samples, and runs whose metrics can be worked out by hand."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson

from fugu.dataflows.base.batches import DeadLetters, Decoded
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.mechanism import Kind, Releases
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE, read

POWER = """\
name: power
source: {topic: power.raw, value: watts}
operator: {kind: laplace, lower: 0, upper: 100, unit: 0.5, epsilon: 1.0}
sink: {topic: power.sanitized}
kafka: {bootstrap: "localhost:9092"}
state: {directory: ./state}
secret: {env: FUGU_TEST_SECRET}
"""


def pipeline(directory: Path, text: str = PIPELINE) -> PipelineFile:
    """A pipeline file with its model beside it."""
    (directory / "model.json").write_bytes(orjson.dumps(MODEL))
    return read(directory, text)


def sample_of(values: Sequence[int], streams: Sequence[int]) -> Sample:
    """Records with these true values, in these streams."""
    lines = list(range(1, len(values) + 1))
    keys = [b"user-%d" % stream for stream in streams]
    decoded = Decoded(0, lines, [0] * len(lines), keys, np.array(values), None, DeadLetters())
    return Sample(Path("sample.jsonl"), decoded, np.array(streams))


def run_of(
    values: Sequence[float] | Sequence[Sequence[bool]] | Sequence[Sequence[int]],
    *,
    kinds: Sequence[Kind] | None = None,
    confidence: Sequence[float] | None = None,
    spent: Sequence[int] | None = None,
    held_back: int = 0,
) -> Run:
    """One release for every record of a sample."""
    notes = {} if confidence is None else {"confidence": np.array(confidence)}
    found = [Kind.FRESH] * len(values) if kinds is None else kinds
    return Run(
        np.arange(len(values)),
        Releases(np.array(values), notes, np.array(found)),
        None if spent is None else np.array(spent),
        DeadLetters(),
        held_back,
    )
