"""Samples of temporal pipelines whose values are the numbers of their records."""

from pathlib import Path
from random import Random
from typing import Any

import orjson

from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from tests.dataflows.stages.running import Message

SECONDS: dict[str, Any] = {"width": "1s", "grace": "500ms", "max_jump": 30, "idle": 20} | {
    "stream_time": {"distinct_keys": 1}
}


def numbered(users: int, steps: int) -> list[Message]:
    """Nine of ten readings are there, out of order by up to 400 ms; some are later, or far ahead,
    and some are second ones in their second."""
    random, timed = Random(4), []
    for step in range(steps):
        for user in range(users):
            for _ in range(random.choice([0, *[1] * 9, 2])):
                at = step * 1000 + random.randrange(1000)
                shift = random.choice([0] * 40 + [-3_000, 60_000])
                timed.append((at + random.randrange(400), b"u%d" % user, at + shift))
    return [
        (key, orjson.dumps({"bpm": number, "at": at}))
        for number, (_, key, at) in enumerate(sorted(timed))
    ]


def sample_of(directory: Path, file: PipelineFile, messages: list[Message]) -> Sample:
    """The same records as a file for `fugu evaluate`."""
    path = directory / "sample.jsonl"
    lines = [orjson.dumps({"key": key.decode(), **orjson.loads(v)}) for key, v in messages]
    path.write_bytes(b"\n".join(lines))
    return Sample.read(path, "key", configure(file).codec)
