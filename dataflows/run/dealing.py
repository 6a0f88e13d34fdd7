"""Deal shards out to processes: shard i belongs to process i mod N."""

from fugu.dataflows.base.errors import ConfigurationError


def deal(shards: int, processes: int) -> list[list[int]]:
    """Return the shards of every process; they may be dealt out to another number at any start."""
    if not 1 <= processes <= shards:
        limits = "1" if shards == 1 else f"a number from 1 to {shards}"
        raise ConfigurationError(
            f"--processes {processes}: write {limits}, because a shard runs in one process and the "
            f"pipeline file says state.shards: {shards}. That is fixed when a pipeline is created; "
            "only a new pipeline may have more shards"
        )
    return [list(range(process, shards, processes)) for process in range(processes)]


def numbered(noun: str, numbers: list[int]) -> str:
    """Return `shard 2`, or `shards 0, 2`."""
    return f"{noun}{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"
