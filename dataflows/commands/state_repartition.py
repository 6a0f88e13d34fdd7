"""Move streams to where producers send their keys now, and say how many moved."""

from fugu.dataflows.commands.arguments import PipelineArgument
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.flows.repartitioning import repartition as repartitioned
from fugu.dataflows.flows.state_directories import root_directory


def repartition(pipeline: PipelineArgument) -> None:
    """Move streams, with their budgets, to where producers send their keys now.

    People of an aggregate move with what they contributed to ticks that are open; its merge goes on
    with its budgets.

    Run it when partitions were added to the source topic, or when source.partitioner or
    state.shards is to change: write the new value into the pipeline file before. The pipeline
    must have stopped gracefully. Killed anywhere, it is run once more. With source.partitions:
    follow, fugu run does it by itself where partitions were added.
    """
    root, console = root_directory(pipeline).path, Terminal()
    done = repartitioned(pipeline)
    if done.after is None:
        console.print(f"{root}: what was begun is complete. Start {pipeline.path}.")
        return
    if not done.changed:
        console.print(f"nothing to do: the state has {done.after} already")
        return
    if done.unread_in_words is not None:
        console.print(f"{done.unread_in_words}.", soft_wrap=True)
    redrive = "; fugu redrive before it releases what was refused as wrong_partition"
    console.print(
        f"{done.moves_in_words}. Start {pipeline.path}{'' if done.summed else redrive}. The old "
        f"directories {root}/shard-*.before-* hold original keys: delete them when you are "
        "satisfied."
    )
