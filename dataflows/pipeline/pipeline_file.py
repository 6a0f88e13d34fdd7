"""Read the pipeline file: YAML, checked strictly; errors name the line and what to write instead.

Paths in the file (alphabet, model, state directory, secret file) are relative to the file itself.
"""

from dataclasses import replace
from pathlib import Path

from fugu.dataflows.base.errors import ConfigurationError, UnusableField
from fugu.dataflows.files.yaml_file import YamlFile
from fugu.dataflows.kafka.client import identity_of
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.pipeline.config import Pipeline


class PipelineFile:
    """Hold a pipeline together with where it was read from."""

    def __init__(self, pipeline: Pipeline, file: YamlFile) -> None:
        self.path = file.path
        self.pipeline = pipeline
        self._file = file

    def resolve(self, relative: str) -> Path:
        """Return a path that the file mentions."""
        return (self.path.parent / Path(relative).expanduser()).resolve()

    def connection(self) -> Connection:
        """Return how to reach Kafka as this pipeline, its files and environment variables read."""
        try:
            kafka, every = self.pipeline.kafka, self.pipeline.state.every
            connection = kafka.connection(self.resolve, every)
            return replace(connection, client_id=identity_of(self.pipeline.name))
        except UnusableField as error:
            problem = self._file.problem(["kafka", "security", error.field], error.advice)
            raise ConfigurationError(problem) from None

    def replacing(self, pipeline: Pipeline) -> "PipelineFile":
        """Return the same file with another content, to try something out."""
        return PipelineFile(pipeline, self._file)

    @classmethod
    def read(cls, path: Path, copy: Path | None = None) -> "PipelineFile":
        """Read and check a pipeline file; `ConfigurationError` lists all problems by line.

        A `copy` holds what was in it when a supervisor read it.
        """
        file = YamlFile.read(path, "pipeline file", "name: heart-zones", copy)
        return cls(file.content(Pipeline), file)
