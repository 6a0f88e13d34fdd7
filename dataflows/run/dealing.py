"""Choose the shards of a process, and deal them out to N processes: shard i to process i mod N."""

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.pipeline.config import Pipeline


def dealt(pipeline: Pipeline, processes: int) -> list[list[int]]:
    """Return the shards of every process; copies of a pipeline whose state is in Kafka have
    none."""
    if not pipeline.state.in_kafka:
        return deal(pipeline.state.shards, processes)
    if processes < 1:
        raise ConfigurationError(f"--processes {processes}: write 1 or more")
    return [[] for _ in range(processes)]


def deal(shards: int, processes: int) -> list[list[int]]:
    """Return the shards of every process; they may be dealt out to another number at any start."""
    if not 1 <= processes <= shards:
        limits = "1" if shards == 1 else f"a number from 1 to {shards}"
        raise ConfigurationError(
            f"--processes {processes}: write {limits}, because a shard runs in one process and the "
            f"pipeline file says state.shards: {shards}. A pipeline that has run gets more shards "
            "by a larger state.shards and fugu state repartition"
        )
    return [list(range(process, shards, processes)) for process in range(processes)]


def require_all_shards(*, named: bool, finishing: bool) -> None:
    """Refuse what does not go with several processes."""
    if named or finishing:
        raise ConfigurationError(
            "--processes runs all shards, and goes on until it is stopped: leave --shard and "
            "--finish out. To finish streams, stop the pipeline and run it with --finish, in one "
            "process"
        )


def refuse_for_a_folder(*, shard: bool, finish: bool, processes: bool) -> None:
    """Refuse options that are about one pipeline."""
    given = {"--shard": shard, "--finish": finish, "--processes": processes}
    if named := [name for name, is_given in given.items() if is_given]:
        raise ConfigurationError(
            f"{', '.join(named)}: a folder is run whole, each pipeline in one process; leave it "
            "out, or run that pipeline by itself"
        )


def shard_numbers(names: list[str], pipeline: Pipeline) -> list[int] | None:
    """Return `0/4` and `2/4` as [0, 2]; None where no shard is named."""
    shards = pipeline.state.shards
    if names and pipeline.state.in_kafka:
        raise ConfigurationError(
            "--shard: with state.store: kafka the consumer group deals partitions out; leave it "
            "out, and start as many copies as you like"
        )
    numbers = set()
    for name in names:
        number, _, count = name.partition("/")
        if not number.isdecimal() or count != str(shards) or int(number) >= shards:
            raise ConfigurationError(
                f"--shard {name}: write NUMBER/{shards} with a number from 0 to {shards - 1}; "
                f"the pipeline file says state.shards: {shards}"
            )
        numbers.add(int(number))
    return sorted(numbers) or None


def numbered(noun: str, numbers: list[int]) -> str:
    """Return `shard 2`, or `shards 0, 2`."""
    return f"{noun}{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"
