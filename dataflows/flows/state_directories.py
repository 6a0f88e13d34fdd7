"""Name the state directories of a pipeline: one for each shard, and those of an aggregate."""

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.flows.sections import is_merged
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint


def root_directory(file: PipelineFile) -> StateDirectory:
    """Return the directory of all others, owned by a supervisor where there is one."""
    if file.pipeline.state.in_kafka:
        raise ConfigurationError(
            f"{file.path}: state.store is kafka, so there is no state directory. This command "
            "works on directories alone: nothing was done. Stop all copies, take the state to disk "
            "with fugu state move OLD NEW, run the command with NEW, and move the state into Kafka "
            "again, into another state.topic"
        )
    return StateDirectory(file.resolve(file.pipeline.state.directory))


def shard_directories(
    file: PipelineFile, of: type[StateDirectory] = StateDirectory
) -> list[StateDirectory]:
    """Return the directories of all shards of a pipeline."""
    shards = range(file.pipeline.state.shards)
    return [_inside(file, f"shard-{shard:04d}", of) for shard in shards]


def stored_fingerprint(file: PipelineFile) -> Fingerprint | None:
    """Return what the state of the first shard that has one belongs to; None before any begins, and
    where the state is in Kafka, whose topic tells it."""
    if file.pipeline.state.in_kafka:
        return None
    stored = (directory.stored() for directory in shard_directories(file))
    return next((one for one in stored if one is not None), None)


def merge_directory(
    file: PipelineFile, of: type[StateDirectory] = StateDirectory
) -> StateDirectory:
    """Return the directory of the merge of an aggregate, which belongs to no shard."""
    return _inside(file, "merge", of)


def policies_directory(
    file: PipelineFile, of: type[StateDirectory] = StateDirectory
) -> StateDirectory:
    """Return the directory of what has been read of policy changes."""
    return _inside(file, "policies", of)


def all_directories(file: PipelineFile) -> list[StateDirectory]:
    """Return those of the shards and, where there are any, of the merge and of policy changes."""
    directories = shard_directories(file)
    if is_merged(file.pipeline):
        directories.append(merge_directory(file))
    if file.pipeline.source.policies is not None:
        directories.append(policies_directory(file))
    return directories


def directories_of(file: PipelineFile, shards: list[int] | None) -> list[StateDirectory]:
    """Return what a process owns that runs these shards (all, if none are given)."""
    directories = all_directories(file)
    count = file.pipeline.state.shards
    chosen = range(count) if shards is None else shards
    return [directories[shard] for shard in chosen] + (directories[count:] if 0 in chosen else [])


def _inside(file: PipelineFile, name: str, of: type[StateDirectory]) -> StateDirectory:
    return of(root_directory(file).path / name)
