"""Rebuild a state that was lost, where topics still hold everything."""

from dataclasses import asdict

from fugu.dataflows.commands.arguments import AsJson, PipelineArgument
from fugu.dataflows.commands.output import Terminal, print_json
from fugu.dataflows.flows.rebuilding import rebuild as rebuilt
from fugu.dataflows.flows.state_directories import root_directory


def rebuild(pipeline: PipelineArgument, as_json: AsJson = False) -> None:
    """Rebuild a state that was lost, from the source and what is published.

    Every record is released once more, with the same secret, and compared with the sink; nothing
    is published. Beliefs and budgets are then what they were. Refused where retention removed
    anything, and at the first release that does not come back to the byte. Use the pipeline file
    that ran last. Killed anywhere, it is run once more.
    """
    done = rebuilt(pipeline)
    if as_json:
        print_json(None if done is None else asdict(done))
        return
    what = "what was begun is complete"
    if done is not None:
        what = (
            f"rebuilt {done.streams:,} streams from {done.releases:,} releases, each of which is "
            "what is published"
        )
    said = f"{root_directory(pipeline).path}: {what}. Start {pipeline.path}."
    Terminal(soft_wrap=True).print(said)
