"""The pipeline that is measured: `deploy/examples`, pointed at the bench's broker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import yaml

from bench.child import ROOT
from bench.stream import Stream
from fugu.dataflows.files.model_file import read_model
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.kafka_python import KafkaPythonClient
from fugu.dataflows.kinds.crr import CrrOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.sip.markov_model import MarkovModel

EXAMPLE = ROOT / "deploy" / "examples" / "heart-zones.yaml"
_SECRET = "ab" * 32


@dataclass(frozen=True)
class Workplace:
    """Hold where a run of the bench keeps its files and finds its broker and its source topic.

    `sections` stand in for those of the example.
    """

    folder: Path
    bootstrap: str
    source: str
    sections: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @cached_property
    def client(self) -> KafkaPythonClient:
        """Fugu's own client, for topics and for looking at what is published."""
        return KafkaPythonClient(Connection(self.bootstrap))

    def pipeline(self, name: str, **changes: Mapping[str, object]) -> PipelineFile:
        """A pipeline with a state directory and a sink topic of its own, and changed sections."""
        document = yaml.safe_load(EXAMPLE.read_text())
        model = document["operator"]["model"]
        document |= {section: dict(content) for section, content in self.sections.items()}
        document["source"] |= {"topic": self.source, "partitioner": "unchecked"}
        document["sink"] |= {"topic": name, "create": True}
        document["kafka"] = {"bootstrap": self.bootstrap}
        document["secret"] = {"file": "secret.hex"}
        for section, change in changes.items():
            document[section] |= change
        folder = self.folder / name
        folder.mkdir()
        (folder / model).write_bytes((EXAMPLE.parent / model).read_bytes())
        (folder / "secret.hex").write_text(_SECRET)
        path = folder / "pipeline.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return PipelineFile.read(path)


def example_stream(users: int, partitions: int = 1) -> Stream:
    """A stream that behaves as the example's model says."""
    file = PipelineFile.read(EXAMPLE)
    operator = file.pipeline.operator
    assert isinstance(operator, CrrOperator)
    model = read_model(file.resolve(operator.model), operator.alphabet)
    assert isinstance(model, MarkovModel)
    return Stream(model, [str(symbol) for symbol in operator.alphabet], users, partitions)
