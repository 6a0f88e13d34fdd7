"""Run pipelines by `fugu run` on the embedded broker, each with a secret of its own."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import orjson
import yaml
from rich.console import Console
from rich.progress import Progress

from bench.figures.figure import Panel
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.raw_records import RawRecord
from fugu.dataflows.offline.demo.whole_path import pipeline_on, produce, sanitize, shown_progress
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.mechanism import Floats


@dataclass(frozen=True)
class Pipelines:
    """Run pipelines on one broker, each with topics and a state of its own."""

    bootstrap: str
    folder: Path
    progress: Progress

    def released(self, document: dict[str, Any], name: str, seed: int, figures: int) -> Floats:
        """Return released figures, tick by tick, `(ticks, groups)` in the order of `groups`."""
        own = f"{document['name']}-{name}-{seed}"
        document = {
            **document,
            "name": own,
            "sink": {"topic": own},
            "state": {**document["state"], "directory": f"./{own}"},
        }
        file = self.file(document, own)
        secret = blake2b(b"%d" % seed, digest_size=32).hexdigest()
        batches = sanitize(self.client(file), file, figures, self.progress, secret)
        values = [value for batch in batches for value in batch.values if value is not None]
        found = [orjson.loads(value) for value in values]
        found.sort(key=lambda one: one["start"])
        groups = document["operator"]["groups"]
        return np.array(
            [[one["value"] for one in found if one["group"] == group] for group in groups]
        ).T

    def file(self, document: dict[str, Any], name: str) -> PipelineFile:
        text = yaml.safe_dump(document)
        return pipeline_on(self.bootstrap, self.folder, f"{name}.yaml", text)

    def client(self, file: PipelineFile) -> Client:
        return client_of(file.connection())

    def produce(self, document: dict[str, Any], records: Iterable[RawRecord], count: int) -> None:
        file = self.file(document, "produce")
        topic = document["source"]["topic"]
        produce(self.client(file), topic, records, count, self.progress)


@contextmanager
def running() -> Iterator[Pipelines]:
    """Keep a broker and a folder for as long as the context is open."""
    with (
        tempfile.TemporaryDirectory(prefix="fugu-figures-") as folder,
        EmbeddedBroker() as bootstrap,
        shown_progress(Console(quiet=True)) as progress,
    ):
        yield Pipelines(bootstrap, Path(folder), progress)


def runs_panel(title: str, up: str, errors: dict[str, list[float]]) -> Panel:
    """Draw the errors of runs by law, the smallest first."""
    curves = {
        name: [(float(seed), error) for seed, error in enumerate(sorted(found), 1)]
        for name, found in errors.items()
    }
    return Panel(title, "runs, sorted by error", up, curves, (False, True))


def told(errors: list[float]) -> str:
    """Return the mean and its standard error."""
    return f"{mean(errors):.3g} +-{stdev(errors) / len(errors) ** 0.5:.1g}"
