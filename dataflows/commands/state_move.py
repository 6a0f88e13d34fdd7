"""Move a state from disk into Kafka."""

from rich.console import Console

from fugu.dataflows.commands.arguments import NewPipeline, OldPipeline
from fugu.dataflows.copies.moving import move as moved
from fugu.dataflows.flows.state_directories import root_directory


def move(old: OldPipeline, new: NewPipeline) -> None:
    """Move the state of OLD, which is on disk, into Kafka, where NEW says, with all budgets.

    The two files differ in state (and perhaps kafka, metrics, alert, logs) alone. The pipeline must
    have stopped gracefully. From then on OLD is refused; start NEW. Killed anywhere, it is run once
    more. There is no way back yet.
    """
    streams = moved(old, new)
    Console().print(
        f"{streams} streams are in Kafka now. Start {new.path}. {root_directory(old).path} holds "
        "original keys: delete it when you are satisfied.",
        soft_wrap=True,
    )
