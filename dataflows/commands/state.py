"""Look at a state, check it, carry it to another machine, and rotate its key.

Every command needs the pipeline to be stopped: it takes the locks of all shards.
"""

import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.commands.arguments import AsJson, PipelineArgument
from fugu.dataflows.commands.output import Terminal, print_json
from fugu.dataflows.flows.state_directories import all_directories, root_directory
from fugu.dataflows.flows.stopped_state import (
    newest_tables,
    require_complete_logs,
    require_graceful_stop,
)
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.secrets import keys_after, read_keys, write_keys
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.row_block import read
from fugu.dataflows.state.row_log import blocks, log_files
from fugu.operators.budget_units import in_nats

Archive = Annotated[Path, typer.Argument(metavar="ARCHIVE", help="The archive (.tar.gz).")]


@dataclass(frozen=True)
class Partition:
    """Describe the newest complete log of one partition."""

    shard: int
    partition: int
    streams: int
    compacted: int
    log_bytes: int
    mean_spent: float | None
    largest_spent: float | None


def show(pipeline: PipelineArgument, as_json: AsJson = False) -> None:
    """Show streams, bytes and spent budget of every partition."""
    with stopped(pipeline) as directories:
        found = [partition for directory in directories for partition in _read(pipeline, directory)]
    if as_json:
        print_json(found)
        return
    unit = pipeline.pipeline.operator.spent_in
    table = Table(title=f"state of {pipeline.pipeline.name}, spent in {unit} per stream")
    for field in fields(Partition):
        table.add_column(field.name.replace("_", " "), justify="right")
    for partition in found:
        table.add_row(*map(_cell, astuple(partition)))
    Terminal().print(table)


def verify(pipeline: PipelineArgument) -> None:
    """Check the checksums of the whole state."""
    count = 0
    with stopped(pipeline) as directories:
        for directory in directories:
            for path in sorted(directory.rows.glob("*.rows")):
                for block in blocks(path):
                    read(block)
                    count += 1
            if directory.path.name.startswith("shard-"):
                require_complete_logs(directory)
    Terminal().print(f"{count} blocks in {len(directories)} shards are sound")


def export(pipeline: PipelineArgument, archive: Archive) -> None:
    """Write the state to one archive, to continue on another machine."""
    root = root_directory(pipeline).path
    with stopped(pipeline) as directories:
        for directory in directories:
            require_graceful_stop(directory)
        try:
            descriptor = os.open(archive, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except OSError as error:
            raise ConfigurationError(f"{archive} cannot be written ({error.strerror})") from None
        with (
            os.fdopen(descriptor, "wb") as target,
            tarfile.open(fileobj=target, mode="w:gz") as tar,
        ):
            tar.add(root, arcname=".")
    Terminal().print(f"wrote {archive}; it holds original keys: keep it where the state belongs")


def import_(pipeline: PipelineArgument, archive: Archive) -> None:
    """Unpack an archive into the (empty) state directory of the pipeline file."""
    root = root_directory(pipeline).path
    if root.exists() and any(root.iterdir()):
        raise ConfigurationError(f"{root} is not empty; import needs a directory of its own")
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with tarfile.open(archive, mode="r:gz") as tar:
            tar.extractall(root, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise ConfigurationError(
            f"{archive} is not an archive of fugu state export ({type(error).__name__})"
        ) from None
    verify(pipeline)


def rotate(
    pipeline: PipelineArgument,
    keys: Annotated[Path, typer.Option(help="Where to write the new key file.")],
) -> None:
    """Continue with the next key; budgets, beliefs and pseudonyms stay as they are."""
    before = read_keys(pipeline, to_leave_them=True)
    after = keys_after(before, keys)
    with stopped(pipeline) as directories:
        for directory in directories:
            require_graceful_stop(directory)
        write_keys(after, keys)
        for directory in directories:
            stored = directory.stored()
            if stored is None or stored.secret_check == after.noise.check_value():
                continue
            if stored.secret_check != before.noise.check_value():
                raise StartRefused(
                    "the state was made with another secret than the pipeline file names; "
                    "nothing was rotated there"
                )
            directory.replace(
                stored.model_copy(
                    update={
                        "key_epoch": after.epoch,
                        "secret_check": after.noise.check_value(),
                        "rotated_at": [*stored.rotated_at, directory.stopped_at()],
                    }
                )
            )
    Terminal().print(
        f"key epoch {after.epoch} begins where each partition stopped. In the pipeline file write\n"
        f"  secret: {{file: {keys.resolve()}, encoding: keys}}\n"
        "start the pipeline, and then destroy the old secret: nothing needs it any more. Keep a "
        "backup of the state directory: without it these keys start nothing."
    )


@contextmanager
def stopped(file: PipelineFile) -> Iterator[list[StateDirectory]]:
    """Own the directories of all shards; `StartRefused` while a process runs one of them."""
    directories = all_directories(file)
    for directory in directories:
        directory.refuse_while_exchanged()
    missing = [directory.path for directory in directories if not directory.path.is_dir()]
    if missing:
        raise ConfigurationError(f"there is no state in {missing[0]}; has the pipeline run yet?")
    try:
        for directory in directories:
            directory.lock()
        yield directories
    finally:
        for directory in directories:
            directory.unlock()


def _read(file: PipelineFile, directory: StateDirectory) -> list[Partition]:
    stored = directory.stored()
    if stored is None:
        return []
    mechanism = configure(file).mechanism
    found = []
    for partition, table in newest_tables(file, mechanism, directory, stored):
        logs = log_files(directory.rows, partition)
        spent = table.column("spent") if "spent" in table.columns else None
        found.append(
            Partition(
                stored.shard,
                partition,
                len(table),
                table.compacted,
                sum(log.stat().st_size for log in logs),
                None if spent is None else in_nats(int(spent.sum())) / max(1, len(spent)),
                None if spent is None else in_nats(int(spent.max(initial=0))),
            )
        )
    return found


def _cell(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:,}" if isinstance(number, int) else f"{number:.3f}"
