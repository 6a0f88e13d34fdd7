"""Judge a pipeline as `run` would start it, with the code of the start, changing nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from fugu.dataflows.base.errors import AddressInUse, FuguError
from fugu.dataflows.commands.checks import Checks
from fugu.dataflows.copies.planning import looked_at_copy
from fugu.dataflows.flows.sections import end_of
from fugu.dataflows.flows.starting import Look, looked_at
from fugu.dataflows.flows.state_directories import directories_of, root_directory
from fugu.dataflows.kafka.client import identity_of, publishing_in_words
from fugu.dataflows.monitoring.server import require_free
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.run.dealing import dealt, require_all_shards, shard_numbers
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.looking_directory import LookingDirectory
from fugu.dataflows.state.state_topic import StateTopic


@dataclass(frozen=True)
class AsRun:
    """Hold the options of `run` that decide what a start looks at."""

    shard: Sequence[str]
    processes: int | None
    finish: bool

    def shards(self, file: PipelineFile) -> list[int] | None:
        """Return the shards that would run, None for all of them; refuse what `run` refuses."""
        if self.processes is not None:
            require_all_shards(named=bool(self.shard), finishing=self.finish)
            dealt(file.pipeline, self.processes)
        return shard_numbers([*self.shard], file.pipeline)


def check_start(file: PipelineFile, as_run: AsRun, checks: Checks) -> None:
    """Look at state, secret, offsets, ledger and claims, at the port of metrics, and for a process
    that runs already."""
    _check_port(file, checks)
    try:
        shards = as_run.shards(file)
        finishing = end_of(file.pipeline) if as_run.finish else None
        if file.pipeline.state.in_kafka:
            look = looked_at_copy(file, finishing)
        else:
            if as_run.processes is not None:
                LookingDirectory(root_directory(file).path).lock()
            look = looked_at(file, shards, finishing=finishing)
    except FuguError as error:
        if not checks.have_said(str(error)):
            checks.failed("start", str(error))
        return
    for warning in look.warnings:
        if not checks.have_said(warning):
            checks.warned("start", warning)
    if file.pipeline.state.in_kafka:
        _say_copy(look, checks)
        return
    owner = _owned_by_another(file, shards, as_run)
    if owner is not None:
        checks.in_use("start", str(owner.in_use()))
        return
    begun = any(not plan.directory.is_empty for plan in look.plans)
    state = "goes on with its state" if begun else "begins without a state"
    client, name = look.plans[0].client, file.pipeline.name
    checks.passed("start", f"{state}, {client.name}, {publishing_in_words(client, name)}")


def _say_copy(look: Look, checks: Checks) -> None:
    """Say how a copy would start; others may run, and it would share partitions with them."""
    plan = look.plans[0]
    assert isinstance(plan.home, StateTopic)
    begun = plan.home.stored() is not None
    state = "goes on with its state" if begun else "begins a state"
    topic, group = plan.home.topic.name, identity_of(plan.name)
    checks.passed("start", f"{state} in topic {topic}, as a copy of group {group}, in transactions")


def _check_port(file: PipelineFile, checks: Checks) -> None:
    metrics = file.pipeline.metrics
    if metrics is None:
        return
    try:
        require_free(metrics)
    except AddressInUse as error:
        checks.in_use("metrics", str(error))
    except FuguError as error:
        checks.failed("metrics", str(error))
    else:
        checks.passed("metrics", f"{metrics.host}:{metrics.port} is free")


def _owned_by_another(
    file: PipelineFile, shards: list[int] | None, as_run: AsRun
) -> StateDirectory | None:
    """Return a directory that would be owned, and that another process owns now."""
    supervised = [] if as_run.processes is None else [root_directory(file)]
    directories = [*supervised, *directories_of(file, shards)]
    return next((one for one in directories if one.is_in_use), None)
