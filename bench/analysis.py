"""Measure what it takes to read sanitized records from Parquet and to estimate shares of them.

`python -m bench.analysis` writes ten million releases of `crr`, as `fugu export` does, reads them
in a process of its own, and writes `results/analysis.md`. Nothing is read from Kafka.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

import fugu
from bench.grid import Grid
from bench.page import Page
from fugu.dataflows.analysis.exported import write_days
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing.promise import promise_of
from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import DrawScope, Secret, record_positions

ROOT = Path(__file__).parents[1]
_COMMAND = ".venv/bin/python -m bench.analysis"
_PARTITIONS, _BEGIN, _MINUTE = 8, 1_700_000_000_000, 60_000
_EACH = "Each question in a process of its own"
_SIZES = ((10_000, 100), (100_000, 100))
"""Users, and records of each."""
_CHILD = "-c", "import sys; from bench.analysis import read; read(*sys.argv[1:])"


@dataclass(frozen=True)
class Cost:
    """Hold seconds and peak memory of one question about one export."""

    records: int
    users: int
    question: str
    seconds: float
    cpu_seconds: float
    megabytes: int


def measure(users: int, each: int) -> list[Cost]:
    """Write so many records, and ask each question in a process of its own."""
    with TemporaryDirectory() as folder:
        write(Path(folder), users, each)
        costs = []
        for question in ("shares()", 'shares(by="10m")'):
            command = [sys.executable, *_CHILD, folder, question]
            done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
            costs.append(Cost(users * each, users, question, **json.loads(done.stdout)))
        return costs


def read(folder: str, question: str) -> None:
    """Read an export, ask, and print what it took."""
    began = time.perf_counter()
    topic = fugu.read(folder)
    shares = topic.shares() if question == "shares()" else topic.shares(by="10m")
    assert len(shares.table)
    usage = getrusage(RUSAGE_SELF)
    took = {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "megabytes": usage.ru_maxrss // 1024,
    }
    print(json.dumps(took))


def write(folder: Path, users: int, each: int) -> None:
    """Release walks of the model, a record of each user a minute, and export them."""
    file = PipelineFile.read(ROOT / "deploy" / "examples" / "heart-zones.yaml")
    configured = configure(file)
    mechanism, promise = configured.mechanism, promise_of(file, configured.mechanism)
    law, names = mechanism.law_digest(), np.array(promise.operator["alphabet"])
    own, rng = users // _PARTITIONS, np.random.default_rng(1)
    for partition in range(_PARTITIONS):
        scope = DrawScope(Secret(bytes(32)), "bench", mechanism.kind, 1, law)
        keys = [b"%032x" % (partition * own + user) for user in range(own)]
        state, truth = mechanism.start(own), rng.integers(0, 4, own)
        shown, confidence = [], []
        for step in range(each):
            truth = np.where(rng.random(own) < 0.2, rng.integers(0, 4, own), truth)
            draws = scope.draws(keys, record_positions("source", partition, [step] * own))
            state, releases = mechanism.step(state, Inputs(truth), draws)
            shown.append(releases.values)
            confidence.append(releases.annotations["confidence"])
        count = own * each
        times = _BEGIN + np.repeat(np.arange(each), own) * _MINUTE
        offsets = np.arange(count)
        release = [f"{partition:016x}{one:016x}" for one in offsets.tolist()]
        records = pa.table(
            {
                "user": pa.array(np.tile([key.decode() for key in keys], each)),
                "time": pa.array(times.astype("datetime64[ms]"), pa.timestamp("ms", tz="UTC")),
                "value": pa.array(names[np.concatenate(shown)]),
                "kind": pa.array(["fresh"] * count),
                "confidence": pa.array(np.concatenate(confidence)),
                "release": pa.array(release),
                "partition": pa.array(np.full(count, partition, dtype=np.int32)),
                "offset": pa.array(offsets),
                "law": pa.array(np.zeros(count, dtype=np.int32)),
            }
        )
        write_days(records, [promise], 0, folder, 0, count)


def page(costs: list[Cost], load: float) -> Page:
    """Return what people and machines read."""
    columns = ["records", "users", "question", "seconds", "CPU seconds", "peak MB"]
    rows = [
        [
            f"{one.records:,}",
            f"{one.users:,}",
            f"`{one.question}`",
            f"{one.seconds:.1f}",
            f"{one.cpu_seconds:.1f}",
            f"{one.megabytes:,}",
        ]
        for one in costs
    ]
    document = {"costs": [asdict(one) for one in costs]}
    title = "Reading sanitized records from Parquet, and estimating shares"
    return Page("analysis", title, _COMMAND, load, document, [Grid(_EACH, columns, rows)])


def main() -> None:
    """Measure, and write the results."""
    load = os.getloadavg()[0]
    costs = [cost for users, each in _SIZES for cost in measure(users, each)]
    page(costs, load).publish(Path(__file__).parent / "results")


if __name__ == "__main__":
    main()
