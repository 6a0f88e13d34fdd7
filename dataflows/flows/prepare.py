"""Everything that is checked before a pipeline over single streams reads its first record."""

from fugu.dataflows.flows.flow import Plan
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.mechanisms import deduplication_of, ticks_of
from fugu.dataflows.pipeline.topics import find_topics
from fugu.operators.temporal.temporal_perturbation import End


def prepare(
    preparation: Preparation, shards: list[int] | None, *, finishing: End | None = None
) -> list[Plan]:
    """Plans of the given shards (of all, if none are given), whose state directories are now owned
    by this process; nothing is read yet. If they are `finishing`, they let out or discard what
    streams hold back."""
    pipeline, topics = preparation.pipeline, find_topics(preparation.client, preparation.pipeline)
    ledger = preparation.ledger if reports_spending(pipeline) else None
    directories = preparation.owned(shards)
    preparation.check_beginning(directories.values(), topics)
    plans = [
        Plan(
            name=pipeline.name,
            mechanism=preparation.mechanism,
            codec=preparation.configured.codec,
            scope=preparation.scope,
            admission=preparation.admission(topics.source),
            deduplication=deduplication_of(pipeline),
            publisher=preparation.publisher(topics.source),
            client=preparation.client,
            directory=directory,
            fingerprint=preparation.continued(
                directory, preparation.fingerprint(topics, shard), topics
            ),
            max_batch=pipeline.source.max_batch,
            stop=preparation.stop,
            ticks=ticks_of(pipeline),
            finishing=finishing,
            ledger=ledger,
            former=preparation.former_rows,
        )
        for shard, directory in directories.items()
    ]
    preparation.enter(topics)
    return plans


def reports_spending(pipeline: Pipeline) -> bool:
    """Whether streams appear in the ledger: they need a total to spend, and a public key."""
    budget = pipeline.budget
    return budget is not None and budget.window is None and pipeline.sink.key != "none"
