"""Write the directory of a shard anew, with rows that were made for it."""

from collections.abc import Callable, Mapping

from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.lease_file import LeaseFile
from fugu.dataflows.state.row_log import RowLog
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import ExhaustibleMechanism, State

Columns = tuple[Callable[[int], State], ExhaustibleMechanism | None]
"""Hold what makes fresh rows, and how rows come to an end."""


def write_directory(
    exchange: Exchange,
    directory: StateDirectory,
    fingerprint: Fingerprint,
    tables: Mapping[int, RowTable],
    columns: Columns,
) -> None:
    """Write what is to take the place of a directory; it keeps the claims of its lease."""
    new = exchange.new(directory.path)
    LeaseFile.read(directory.path).write(new.path)
    new.create(fingerprint)
    for partition in fingerprint.own_partitions:
        RowLog(new.rows, partition, *columns).found(tables[partition])
