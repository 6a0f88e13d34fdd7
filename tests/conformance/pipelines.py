"""A pipeline of every kind, and records that it releases, refuses and has seen before."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import orjson
import yaml

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.commands.init import write_example
from fugu.dataflows.kafka.partitioner import partition_of
from fugu.dataflows.kinds import KINDS
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import Configured, configure

PARTITIONS = 2
MAX_KEYS = 6
"""Fewer keys than a partition has users."""
USERS, RECORDS, TICKS = 16, 360, 20
BEGIN = 1_767_762_000_000
"""A morning on which policies of the examples hold: 2026-01-07, 06:00 in Berlin."""
CONTENTS: tuple[Any, ...] = (True, 1, 7, 60, 100, "station", None)
"""Try these values in a field, beside the words of an example."""
BAD = (None, b"", b"{", b"{}", b'{"value": {}, "id": 1}', b'{"value": "unheard of", "id": 2}')
CAPPED = {"per": "10h", "at_most": 3}


@dataclass(frozen=True)
class Sent:
    """A record of the source; its offset is its place in its partition."""

    partition: int
    key: bytes | None
    value: bytes | None
    time: int


@dataclass(frozen=True)
class Built:
    """A pipeline as it is configured."""

    file: PipelineFile
    configured: Configured

    @property
    def step(self) -> int:
        """Return the milliseconds from one record to the next."""
        ticks = self.file.pipeline.operator.in_ticks()
        return 1_000 if ticks is None else max(1, TICKS * ticks.width // RECORDS)

    def contents(self) -> list[dict[str, Any]]:
        """Return fields of records that the pipeline accepts."""
        fields = self.configured.codec.domain.fields
        words = _words(yaml.safe_load(KINDS[self.file.pipeline.operator.kind].example))
        held = [*CONTENTS, *words, words[:2]]
        tried = [dict(zip(fields, one, strict=True)) for one in product(held, repeat=len(fields))]
        values = [orjson.dumps({**one, "id": 1}) for one in tried]
        count = len(values)
        batch = Batch(0, range(count), [BEGIN] * count, [b"key"] * count, values, [[]] * count)
        return [tried[place] for place in self.configured.codec.decode(batch).offsets]

    def records(self, seed: int) -> list[Sent]:
        """Return records of users who come and go, with wrong clocks and all that is refused."""
        random, contents, sent = Random(seed), self.contents(), list[Sent]()
        said: dict[bytes, dict[str, Any]] = {}
        for number in range(RECORDS):
            there = min(USERS, 6 + number // 12)
            key = b"user-%d" % random.choice([0] * 4 + [*range(there)])
            fresh = key not in said or random.random() < 0.75
            own = {**random.choice(contents), "id": number} if fresh else said[key]
            said[key] = own
            value = orjson.dumps(own) if random.random() < 0.94 else random.choice(BAD)
            home = partition_of(key, PARTITIONS)
            if random.random() < 0.03:
                home = (home + 1) % PARTITIONS
            behind = random.choice([0] * 40 + [30, 100, -200, -3_000])
            time = BEGIN + self.step * (number - behind)
            named = random.random() < 0.98 or value is None
            sent.append(Sent(home, key if named else None, value, time))
        return sent


def _words(section: object) -> list[str]:
    """Return all texts in a section, in whatever they are."""
    match section:
        case str():
            return [section]
        case dict():
            return [word for one in section.items() for part in one for word in _words(part)]
        case list() | tuple():
            return [word for one in section for word in _words(one)]
    return []


def variants() -> Iterator[tuple[str, str]]:
    """Yield each kind with each way in which a stage runs it."""
    for kind, section in KINDS.items():
        yield kind, "as in its example"
        if section.no_budget is None:
            yield kind, "suppressing"
        has_ticks = "ticks" in section.model_fields and not section.stage.merges
        if has_ticks and "ticks" not in yaml.safe_load(section.example):
            yield kind, "in ticks"
        if "contributions" in section.model_fields:
            yield kind, "under a cap"


def built(folder: Path, kind: str, variant: str) -> Built:
    """Write the example of a kind with budgets that end, and with events that are recognised."""
    folder.mkdir(exist_ok=True)
    path = write_example(folder, kind)
    document = yaml.safe_load(path.read_text())
    operator = document["operator"]
    if variant == "in ticks":
        operator["ticks"] = {"width": "1m"}
        document["source"]["timestamp"] = "kafka"
    if variant == "under a cap":
        operator["contributions"] = CAPPED
        for name in ("horizon", "window"):
            operator.pop(name, None)
    if "ticks" in operator:
        operator["ticks"]["max_jump"] = 3
    if "budget" in document:
        exhausted = "suppress" if variant == "suppressing" else "repeat"
        document["budget"] = {"total": 5, "when_exhausted": exhausted}
    path.write_text(yaml.safe_dump(document))
    section = PipelineFile.read(path).pipeline.operator
    if section.in_ticks() is None or section.no_dedupe is None:
        document["source"]["dedupe"] = {"field": "id", "remember": 3}
        path.write_text(yaml.safe_dump(document))
    file = PipelineFile.read(path)
    return Built(file, configure(file))
