"""Judge what a state in Kafka asks of its topic: time for the largest block, and replicas."""

from collections.abc import Iterator

from fugu.dataflows.copies.settings import CopySettings
from fugu.dataflows.kafka.client import Topic

_BYTES_A_SECOND = 75_000_000
"""A block of 1,000,000 rows of 112 bytes took 1.5 s to make, write and commit, with one replica."""
_BESIDE_COLUMNS = 24
"""Bytes that a row of the measurement had besides its columns: a key of 12, and what finds it."""
_LONGEST_EVERY_SECONDS = 10
_MARGIN = 3
"""Other brokers and replicas are slower, and several partitions may come to it in one cut."""


def first_block_remarks(
    max_keys: int, partitions: int, row_bytes: int, every: float
) -> Iterator[str]:
    """Yield what to do where a whole partition may not fit into one transaction.

    `row_bytes` are those of the columns of one stream, `every` is in seconds.
    """
    keys = -(-max_keys // partitions)
    seconds = keys * (row_bytes + _BESIDE_COLUMNS) / _BYTES_A_SECOND
    allowed = _transaction_seconds(every)
    if seconds * _MARGIN > allowed:
        yield (
            f"with state.max_keys a partition has {keys:,} streams. Now and then a cut writes all "
            f"of them: about {seconds:.0f} s, calculated from one measurement, while a transaction "
            f"ends after {allowed:.0f} s, and would be tried again and again. Keep {_MARGIN} times "
            f"as long: take more partitions, a lower state.max_keys{_or_longer(seconds)}"
        )


def replica_remarks(state: Topic | None, sink: Topic | None) -> Iterator[str]:
    """Yield what to do where the state is on fewer brokers than the releases made from it."""
    own = None if state is None else state.replicas
    of_sink = None if sink is None else sink.replicas
    if state is not None and own is not None and of_sink is not None and own < of_sink:
        yield (
            f"{state.name} has {own} replica{'s' * (own > 1)}, and the sink {of_sink}: if the "
            "state is lost and releases are not, the pipeline cannot go on. Reassign it "
            f"(kafka-reassign-partitions.sh) to {of_sink} brokers"
        )


def _or_longer(seconds: float) -> str:
    """Name the `every` with which a transaction lasts long enough, if there is one."""
    for every in range(1, _LONGEST_EVERY_SECONDS + 1):
        if seconds * _MARGIN <= _transaction_seconds(every):
            return f", or state.every: {every}s"
    return ""


def _transaction_seconds(every: float) -> float:
    return CopySettings(instance="", every=every).milliseconds / 1000
