"""The closed list: what may be shown, under which names and labels."""

import re
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.metrics import (
    BUCKETS,
    DEAD_LETTERS,
    METRICS,
    RECORDS_IN,
    RELEASE_SECONDS,
    SNAPSHOT_AGE,
    STATE_BYTES,
    STREAMS,
    STREAMS_BY_BUDGET,
    Metric,
    Metrics,
)

PARTITION = ("topic", "partition")
CLOSED_LIST = {
    "fugu_records_in_total": ("counter", PARTITION),
    "fugu_records_out_total": ("counter", PARTITION),
    "fugu_dead_letters_total": ("counter", (*PARTITION, "reason")),
    "fugu_replayed_releases_total": ("counter", PARTITION),
    "fugu_restores_total": ("counter", PARTITION),
    "fugu_foreign_writes_total": ("counter", PARTITION),
    "fugu_policy_wait_seconds": ("gauge", ("topic",)),
    "fugu_policy_noise": ("gauge", ("topic",)),
    "fugu_collection_noise": ("gauge", ("topic", "collection")),
    "fugu_collection_sensitivity": ("gauge", ("topic", "collection")),
    "fugu_collection_affected_ticks": ("gauge", ("topic", "collection")),
    "fugu_lag_records": ("gauge", PARTITION),
    "fugu_last_snapshot_age_seconds": ("age", PARTITION),
    "fugu_streams": ("gauge", PARTITION),
    "fugu_streams_limit": ("gauge", PARTITION),
    "fugu_streams_by_budget": ("gauge", (*PARTITION, "spent")),
    "fugu_state_written_bytes_total": ("counter", PARTITION),
    "fugu_event_time_seconds": ("gauge", PARTITION),
    "fugu_releases_left": ("gauge", ("topic",)),
    "fugu_release_seconds": ("histogram", ("topic", "le")),
    "fugu_build_info": ("gauge", ("version", "python", "client", "kind", "implementation")),
    "fugu_notice_seconds": ("gauge", ("kind", *PARTITION)),
    "process_start_time_seconds": ("gauge", ()),
    "fugu_refused_starts_total": ("counter", ()),
    "fugu_process_restarts_total": ("counter", ()),
}
REPOSITORY = Path(__file__).parents[3]
PARTS = {"fugu_release_seconds_bucket", "fugu_release_seconds_count", "fugu_release_seconds_sum"}
NAMES = CLOSED_LIST.keys() - {"fugu_release_seconds"} | PARTS
"""The names of samples; a histogram has three."""
NAME = re.compile(r"\b(?:fugu|process)_[a-z_]+\b")
LABELS: dict[str, str | int] = {
    "topic": "vitals.raw",
    "partition": 3,
    "reason": Reason.NOT_JSON,
    "collection": "household",
    "kind": "records_wait",
    "version": "1.0",
    "python": "3.11",
    "client": "kafka-python",
    "implementation": 1,
    "spent": "exhausted",
    "le": "0.1",
}


def full() -> Metrics:
    """Every number there is, each of them 5."""
    metrics = Metrics()
    for metric in METRICS:
        metrics.put(metric, 5, *(LABELS[label] for label in metric.labels))
    return metrics


def shown(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return what a scraper sees."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }


def test_list_is_closed() -> None:
    assert {metric.name: (metric.kind, metric.labels) for metric in METRICS} == CLOSED_LIST


def test_text_holds_the_listed_names_and_labels_and_no_others() -> None:
    seen = {name: {label for label, _ in labels} for name, labels in shown(full())}
    listed = {name: set(labels) for name, (_, labels) in CLOSED_LIST.items() if name in NAMES}
    of_parts = {name: {"topic", "le"} if name.endswith("_bucket") else {"topic"} for name in PARTS}
    assert seen == listed | of_parts


def test_every_number_names_the_pipeline() -> None:
    metrics = Metrics(pipeline="heart-zones")
    for metric in METRICS:
        metrics.put(metric, 5, *(LABELS[label] for label in metric.labels))
    assert {dict(labels)["pipeline"] for _, labels in shown(metrics)} == {"heart-zones"}
    assert {name for name, _ in shown(metrics)} == NAMES


def test_number_that_is_not_listed_is_never_shown() -> None:
    metrics = full()
    metrics.put(Metric("fugu_true_mean", "gauge", "The mean of the private values.", ()), 1)
    assert b"mean" not in metrics.text()


def test_counts_add_up_by_labels() -> None:
    metrics = Metrics()
    for amount, partition in ((2, 0), (3, 1), (4, 0)):
        metrics.add(RECORDS_IN, amount, "raw", partition)
    metrics.add(DEAD_LETTERS, 1, "raw", 0, Reason.NO_KEY)
    numbers = shown(metrics)
    assert numbers["fugu_records_in_total", (("partition", "0"), ("topic", "raw"))] == 6
    assert numbers["fugu_records_in_total", (("partition", "1"), ("topic", "raw"))] == 3
    labels = (("partition", "0"), ("reason", "no_key"), ("topic", "raw"))
    assert numbers["fugu_dead_letters_total", labels] == 1


def test_age_counts_from_the_moment_that_was_put() -> None:
    metrics = Metrics()
    metrics.put(SNAPSHOT_AGE, time.monotonic() - 100, "raw", 0)
    assert metrics.values(SNAPSHOT_AGE)["raw", "0"] == pytest.approx(100, abs=1)


def test_numbers_of_several_processes_add_up() -> None:
    together = Metrics()
    for partition, streams in ((0, 3), (1, 4)):
        one = Metrics()
        one.put(STREAMS, streams, "raw", partition)
        one.add(RECORDS_IN, 2, "partials", 0)
        one.put(SNAPSHOT_AGE, time.monotonic() - 100, "raw", partition)
        together.include(one.numbers())
    assert together.values(STREAMS) == {("raw", "0"): 3, ("raw", "1"): 4}
    assert together.values(RECORDS_IN) == {("partials", "0"): 4}
    assert together.values(SNAPSHOT_AGE)["raw", "1"] == pytest.approx(100, abs=1)


def test_a_histogram_counts_what_took_at_most_so_long_over_partitions_and_processes() -> None:
    together = Metrics()
    for _ in range(2):
        one = Metrics()
        one.observe(RELEASE_SECONDS, 0.1, 3, "raw", 0)
        one.observe(RELEASE_SECONDS, 0.11, 2, "raw", 1)
        one.observe(RELEASE_SECONDS, 500.0, 1, "raw", 1)
        together.include(one.numbers())
    seen = {
        (name, dict(labels).get("le")): value
        for (name, labels), value in shown(together).items()
        if name.startswith(RELEASE_SECONDS.name)
    }
    assert len(seen) == len(BUCKETS) + 2
    bucket = f"{RELEASE_SECONDS.name}_bucket"
    counts = [seen[bucket, bound] for bound in ("0.05", "0.1", "0.25", "120", "+Inf")]
    assert counts == [0, 6, 10, 10, 12]
    assert seen[f"{RELEASE_SECONDS.name}_count", None] == 12
    assert seen[f"{RELEASE_SECONDS.name}_sum", None] == pytest.approx(2 * 500.52)


def test_streams_are_shown_only_where_the_sink_tells_them_apart() -> None:
    metrics = Metrics(show_streams=False)
    for metric in (STREAMS, STREAMS_BY_BUDGET, STATE_BYTES):
        labels = [LABELS[label] for label in metric.labels]
        metrics.put(metric, 5, *labels)
        metrics.add(metric, 5, *labels)
        assert metrics.values(metric) == {}
        assert metric.name not in {name for name, _ in shown(metrics)}


def test_next_offsets_are_never_shown() -> None:
    metrics = full()
    metrics.standing.positions["raw", 3] = 987_654_321
    assert b"987654321" not in metrics.text().replace(b".", b"")


@pytest.mark.parametrize("page", ["docs/operations.md", "deploy/grafana/fugu.json"])
def test_operators_pages_name_every_metric_and_no_other(page: str) -> None:
    named = set(NAME.findall((REPOSITORY / page).read_text()))
    assert {name.removesuffix("_bucket") for name in named} == set(CLOSED_LIST)
