"""List who is measured: Fugu in several forms, and its peers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from bench.comparison.data import ALPHABET, EPSILON, TICK_MILLISECONDS
from bench.comparison.environments import PEERS

_SECRET = "ab" * 32
_CRR: Mapping[str, object] = {
    "kind": "crr",
    "alphabet": ALPHABET,
    "epsilon": EPSILON,
    "model": "model.json",
}


@dataclass(frozen=True)
class Place:
    """Tell a contestant where it finds its topics, the model, and room for its files."""

    bootstrap: str
    source: str
    sink: str
    model: Path
    folder: Path


@dataclass(frozen=True)
class Contestant:
    """A row of the table."""

    name: str
    title: str
    environment: str
    warm_up: float = 1.5
    caveat: str = ""
    same_partition: bool = True
    """The release of record i of partition p is record i of the sink's partition p."""
    checked: bool = True
    """Its outputs must follow the law of conditional randomized response."""
    records_per_output: float = 1.0
    in_ticks: bool = False
    """It reads the source in which every user sends once in each tick."""
    with_latency: bool = True

    def command(self, python: Path, place: Place) -> list[str]:
        """Return how to start it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Peer(Contestant):
    """A program of bench/peers."""

    mode: str | None = None

    def command(self, python: Path, place: Place) -> list[str]:
        """As bench/peers/README.md says."""
        mode = [] if self.mode is None else ["--mode", self.mode]
        return [
            str(python),
            str(PEERS / self.environment / "peer.py"),
            *("--bootstrap", place.bootstrap, "--source", place.source, "--sink", place.sink),
            *("--model", str(place.model), "--epsilon", str(EPSILON), *mode),
        ]


@dataclass(frozen=True)
class Fugu(Contestant):
    """`fugu run`: recovery, release ids and keyed noise are on, as they always are."""

    operator: Mapping[str, object] = field(default_factory=lambda: _CRR)
    value: str = "zone"
    kafka: Mapping[str, object] = field(default_factory=dict)
    state: Mapping[str, object] = field(default_factory=dict)
    pipeline: str = "bench"
    source: Mapping[str, object] = field(default_factory=dict)
    """More of the source section."""

    def with_sections(
        self, *, operator: Mapping[str, object], state: Mapping[str, object]
    ) -> "Fugu":
        """The same with another operator section, and more in that of the state."""
        return replace(self, operator=operator, state=state)

    def command(self, python: Path, place: Place) -> list[str]:
        """With a pipeline file in the folder; unless the state is in Kafka, it is there, too."""
        home = {} if self.state.get("store") == "kafka" else {"directory": "state"}
        source = {"topic": place.source, "value": self.value, "partitioner": "unchecked"}
        document: dict[str, Any] = {
            "name": self.pipeline,
            "source": {**source, **self.source},
            "operator": dict(self.operator),
            "sink": {"topic": place.sink, "key": "pseudonym"},
            "kafka": {"bootstrap": place.bootstrap, **self.kafka},
            "state": {**home, "every": "1s", **self.state},
            "secret": {"file": "secret.hex"},
        }
        (place.folder / "model.json").write_bytes(place.model.read_bytes())
        (place.folder / "secret.hex").write_text(_SECRET)
        path = place.folder / "pipeline.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return [str(python), "-m", "fugu", "run", str(path)]


_FAST = {"client": "librdkafka"}
_JVM_WARM_UP = 8.0
"""Seconds after the first output in which the JVM compiles what runs often."""
_LOOP = "no recovery, no release ids, unkeyed noise, no ledger, no dead letters"


def _operator(title: str, operator: Mapping[str, object], **changes: Any) -> Fugu:
    return Fugu(
        f"fugu {operator['kind']}",
        title,
        "fugu_fast",
        operator=operator,
        kafka=_FAST,
        checked=False,
        with_latency=False,
        **changes,
    )


FUGU = Fugu("fugu", "Fugu, fast", "fugu_fast", kafka=_FAST)

JOB: tuple[Contestant, ...] = (
    FUGU,
    Fugu(
        "fugu transactions",
        "Fugu, fast, transactions",
        "fugu_fast",
        kafka={**_FAST, "transactions": True},
        caveat="records become visible once per epoch (1 s)",
    ),
    Fugu(
        "fugu kafka-python",
        "Fugu, kafka-python, no extras",
        "fugu_base",
        kafka={"client": "kafka-python"},
    ),
    Peer(
        "confluent bare",
        "pass-through, confluent-kafka",
        "confluent_bare",
        caveat="does not do the job: the same bytes out, with two headers",
        checked=False,
    ),
    Peer(
        "kafka-python bare",
        "pass-through, kafka-python",
        "kafka_python_bare",
        caveat="does not do the job: the same bytes out, with two headers",
        checked=False,
    ),
    Peer(
        "vectorised",
        "hand-vectorised loop, confluent-kafka + numba",
        "vectorised_loop",
        caveat=f"{_LOOP}; this one law only. Fewer lines, less memory",
    ),
    Peer(
        "confluent loop",
        "loop per record, confluent-kafka + numba",
        "confluent_loop",
        caveat=f"{_LOOP}; this one law only. Fewer lines, less memory",
    ),
    Peer(
        "kafka-python loop",
        "loop per record, kafka-python",
        "kafka_python_loop",
        mode="python",
        caveat=f"{_LOOP}; the step in Python alone",
    ),
    Peer(
        "kafka-python loop numba",
        "loop per record, kafka-python + numba",
        "kafka_python_loop",
        mode="numba",
        caveat=_LOOP,
    ),
    Peer(
        "quix",
        "Quix Streams, state in its store",
        "quix_streams",
        mode="store",
        caveat="at least once: after a crash records are released again with fresh noise; no "
        "release ids. Better: joins, windows, many sources and sinks, rebalancing",
        warm_up=3,
        same_partition=False,
    ),
    Peer(
        "quix dict",
        "Quix Streams, state in a dict",
        "quix_streams",
        mode="dict",
        caveat="state survives nothing; no release ids, unkeyed noise. Better: as above",
        warm_up=3,
        same_partition=False,
    ),
    Peer(
        "bytewax",
        "bytewax connectors, its keyed state and recovery",
        "bytewax_connectors",
        mode="state",
        caveat="after a crash records are released again with fresh noise; no release ids. "
        "Better: any dataflow, windows, joins",
        same_partition=False,
    ),
    Peer(
        "bytewax dict",
        "bytewax connectors, state in a dict",
        "bytewax_connectors",
        mode="dict",
        caveat="state survives nothing; no release ids, unkeyed noise. Better: as above",
        same_partition=False,
    ),
    Peer(
        "faust",
        "Faust, state in a table",
        "faust",
        mode="table",
        caveat="no release ids, unkeyed noise; after a crash records are released again with "
        "fresh noise. Better: agents, tables, web views",
        warm_up=3,
    ),
    Peer(
        "faust dict",
        "Faust, state in a dict",
        "faust",
        mode="dict",
        caveat="state survives nothing; no release ids, unkeyed noise. Better: as above",
        warm_up=3,
    ),
    Peer(
        "kafka streams",
        "Kafka Streams (Java), at least once",
        "kafka_streams",
        mode="at-least-once",
        caveat="store in RocksDB and changelog; after a crash records are released again with "
        "fresh noise; no release ids. Better: joins, windows, interactive queries, standbys, "
        "rebalancing",
        warm_up=_JVM_WARM_UP,
        same_partition=False,
    ),
    Peer(
        "kafka streams exactly once",
        "Kafka Streams (Java), exactly once",
        "kafka_streams",
        mode="exactly-once",
        caveat="records become visible once per commit (1 s), but are appended before: their "
        "latency is not that of a reader, and not shown. What a crash aborts is drawn again, and "
        "uncommitted readers see both; no release ids. Better: as above",
        warm_up=_JVM_WARM_UP,
        same_partition=False,
        with_latency=False,
    ),
    Peer(
        "flink",
        "Flink (Java), RocksDB",
        "flink",
        caveat="a checkpoint each second; after a crash records are released again with fresh "
        "noise; no release ids. Better: exactly-once sinks, event time, windows, joins, SQL, "
        "clusters",
        warm_up=_JVM_WARM_UP,
        same_partition=False,
    ),
    Peer(
        "pyflink process",
        "PyFlink, process mode",
        "pyflink",
        mode="process",
        caveat="no release ids, unkeyed noise. Better: exactly-once sinks, windows, SQL, clusters",
        warm_up=5,
        same_partition=False,
    ),
    Peer(
        "pyflink thread",
        "PyFlink, thread mode",
        "pyflink",
        mode="thread",
        caveat="as in process mode",
        warm_up=5,
        same_partition=False,
    ),
    Peer(
        "pathway",
        "Pathway",
        "pathway",
        caveat="no release ids, unkeyed noise, no recovery here. Better: joins, incremental "
        "tables, many connectors",
        warm_up=3,
        same_partition=False,
    ),
)

OPERATORS: tuple[Contestant, ...] = (
    _operator("Fugu grr", {"kind": "grr", "alphabet": ALPHABET, "epsilon": EPSILON}),
    _operator(
        "Fugu oue", {"kind": "oue", "alphabet": ALPHABET, "epsilon": EPSILON, "output": "bits"}
    ),
    _operator(
        "Fugu laplace",
        {"kind": "laplace", "lower": 40, "upper": 200, "unit": 1, "epsilon": EPSILON},
        value="bpm",
    ),
    _operator(
        "Fugu batched_crr",
        {
            "kind": "batched_crr",
            "alphabet": ALPHABET,
            "window": 2,
            "epsilon_per_batch": 2 * EPSILON,
            "model": "model.json",
            "kernel": "heuristic",
        },
        records_per_output=2,
        caveat="two records make one output",
    ),
    _operator("Fugu adaptive_crr", {**_CRR, "kind": "adaptive_crr", "decision_epsilon": 0.5}),
    _operator(
        "Fugu cold_start_crr",
        {
            "kind": "cold_start_crr",
            "alphabet": ALPHABET,
            "epsilon": EPSILON,
            "positions": 20,
            "when_short": "accept",
        },
        caveat="streams learn their model after 20 records",
    ),
    _operator(
        "Fugu threshold_perturbation",
        {"kind": "threshold_perturbation", "window": 10, "epsilon": 5, "ticks": "sequence"},
        caveat="nothing comes out of a stream's first window",
    ),
    _operator(
        "Fugu real_time_local",
        {
            "kind": "real_time_local",
            "lower": 40,
            "upper": 200,
            "unit": 1,
            "epsilon": 20,
            "delta": 1e-6,
            "horizon": 1_000,
            "ticks": {
                "width": f"{TICK_MILLISECONDS}ms",
                "grace": "1s",
                "max_jump": 10_000,
                "several": "last",
                "idle": 100,
            },
        },
        value="bpm",
        in_ticks=True,
        caveat="one output for each user and tick of event time",
    ),
)
