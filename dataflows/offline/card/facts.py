"""Hold what a privacy card says, gathered before it is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.joint import Joint
from fugu.dataflows.pipeline.source_budget import Promises
from fugu.dataflows.publishing.ledger_topic import LedgerContent
from fugu.operators.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class DeadLetterCounts:
    """Say how many records were refused, by reason; `topic` is None where there is none yet."""

    topic: str
    by_reason: Mapping[str, int]
    first_there: bool
    """True if the topic still has its beginning, so that these are all."""


@dataclass(frozen=True, eq=False)
class PipelineFacts:
    """Hold what is known of one pipeline; None: nobody looked."""

    file: PipelineFile
    mechanism: Mechanism
    parameters: Mapping[str, object]
    digest: str
    """The SHA-256 of the pipeline file, in hexadecimal."""
    audit: Mapping[str, Any] | None = None
    """The output of `fugu audit --json`."""
    accuracy: Report[Any] | None = None
    dead_letters: DeadLetterCounts | None = None

    @property
    def name(self) -> str:
        """Return the name of the pipeline."""
        return self.file.pipeline.name


@dataclass(frozen=True, eq=False)
class Facts:
    """Hold everything that a page says."""

    pipelines: Sequence[PipelineFacts]
    sources: Mapping[str, Sequence[Promises]]
    joints: Sequence[Joint]
    ledgers: Mapping[str, LedgerContent]
    """The content of ledgers, by their topics; empty where nobody looked."""
    exceeded: str | None
    """Words about the sums by which pipelines exceed `source.budget`."""
    looked_at_kafka: bool
    made: datetime
    version: str
