"""Move a state from disk into Kafka, or back."""

from fugu.dataflows.commands.arguments import NewPipeline, OldPipeline
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.copies.moving import move as moved
from fugu.dataflows.copies.moving_back import move_back
from fugu.dataflows.flows.state_directories import root_directory


def move(old: OldPipeline, new: NewPipeline) -> None:
    """Move the state of OLD to where NEW says, with all budgets: from disk into Kafka, or back.

    The two files differ in state (and perhaps kafka, metrics, alert, logs) alone. The pipeline must
    have stopped gracefully, with all its copies. From then on OLD is refused; start NEW. Killed
    anywhere, it is run once more.
    """
    if old.pipeline.state.in_kafka:
        streams = move_back(old, new)
        where = f"{streams} streams are in {root_directory(new).path} now. Start {new.path}."
        topic = old.pipeline.state_topic
        rest = (
            f"Topic {topic} holds original keys until Kafka has compacted it: delete it when you "
            "are satisfied."
        )
    else:
        streams = moved(old, new)
        where = f"{streams} streams are in Kafka now. Start {new.path}."
        rest = f"{root_directory(old).path} holds original keys: delete it when you are satisfied."
    Terminal().print(f"{where} {rest}", soft_wrap=True)
