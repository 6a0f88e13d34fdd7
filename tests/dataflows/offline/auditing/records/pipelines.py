"""Pipelines of any mechanism over symbols or numbers, and what an audit finds of them."""

from pathlib import Path
from typing import Any

from fugu.dataflows.offline.auditing.attacks import Effort, Finding, carried_out
from fugu.dataflows.offline.auditing.line import Line
from fugu.dataflows.offline.auditing.records.phases import Phase
from fugu.dataflows.offline.auditing.records.streams import GuessedStreams
from fugu.dataflows.offline.auditing.records.subject import Subject
from fugu.dataflows.offline.auditing.records.worlds import Start
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.mechanisms import Configured
from fugu.dataflows.records.codec import Codec
from fugu.operators.mechanism import Array, Mechanism

PIPELINE: dict[str, Any] = {
    "name": "audited",
    "source": {"topic": "raw", "value": "value"},
    "sink": {"topic": "sanitized"},
    "kafka": {"bootstrap": "localhost:9092"},
    "state": {"directory": "./state"},
    "secret": {"env": "FUGU_TEST_SECRET"},
}


def pipeline(**entries: Any) -> Pipeline:
    """A pipeline whose operator section has these entries."""
    return Pipeline.model_validate(PIPELINE | {"operator": entries}, context=Path())


def symbols_of(section: Pipeline, mechanism: Mechanism) -> Configured:
    """A mechanism that takes and releases what the section reads and writes."""
    values = section.operator.values(section.source.fields)
    return Configured(mechanism, Codec(values, section.source.max_value_bytes))


def phase(
    section: Pipeline,
    mechanism: Mechanism,
    *,
    steps: int,
    known: bool = True,
    inputs: Array | None = None,
) -> Phase:
    """The first phase, with epsilon 1 as the configured one; `known`: with the law."""
    subject = Subject.of(mechanism, 1.0, inputs)
    start = Start(Line(section, symbols_of(section, mechanism)), subject)
    if known:
        return Phase.of(start, steps)
    return Phase(start, GuessedStreams(subject, steps), None, ())


def attacked(
    section: Pipeline,
    mechanism: Mechanism,
    *,
    steps: int,
    runs: int,
    seed: int = 0,
    known: bool = True,
    inputs: Array | None = None,
) -> list[Finding]:
    """Return what attacks on the first phase find."""
    planned = phase(section, mechanism, steps=steps, known=known, inputs=inputs)
    return carried_out(planned.attacks(), Effort(runs, 99.9, seed), lambda runs: None)
