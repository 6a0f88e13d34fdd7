"""Say what a pipeline promises, for the ledger."""

from fugu.dataflows.kafka.client import Topic
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.guarantee_data import guarantee_id
from fugu.dataflows.pipeline.joint import Told
from fugu.dataflows.publishing.ledger_topic import PipelineEntry
from fugu.operators.mechanism import Mechanism


def pipeline_entry(
    pipeline: Pipeline, source: Topic, sink: Topic | None, mechanism: Mechanism
) -> PipelineEntry:
    """Return the entry; without a sink, of one that is not there any more."""
    guarantees, told = mechanism.guarantees(), Told.of(pipeline, mechanism)
    return PipelineEntry(
        pipeline.name,
        source.name,
        source.identity,
        pipeline.sink.topic,
        "" if sink is None else sink.identity,
        guarantee_id(guarantees).decode(),
        guarantees,
        pipeline.source.declared_budget,
        told if told.beside else None,
    )
