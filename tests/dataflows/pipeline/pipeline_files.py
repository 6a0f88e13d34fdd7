"""Pipeline files as text, so that tests can name the line an error must name."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import Configured, configure

PIPELINE = """\
name: heart-zones
source:
  topic: vitals.raw
  value: zone
operator:
  kind: crr
  alphabet: [rest, light, vigorous]
  epsilon: 1.0
  model: model.json
sink:
  topic: vitals.sanitized
  key: pseudonym
kafka:
  bootstrap: "localhost:9092"
state:
  directory: ./state
  every: 1s
secret:
  env: FUGU_TEST_SECRET
"""

MODEL: dict[str, Any] = {
    "format": "fugu-markov-model",
    "format_version": 2,
    "alphabet": ["rest", "light", "vigorous"],
    "prior": [0.5, 0.3, 0.2],
    "transition": [[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]],
}


def with_change(old: str, new: str) -> str:
    """The pipeline above with one piece of its text replaced."""
    assert PIPELINE.count(old) == 1, f"{old!r} must occur exactly once"
    return PIPELINE.replace(old, new)


def read(directory: Path, text: str | bytes = PIPELINE) -> PipelineFile:
    """Write a pipeline file and read it as `fugu` does."""
    path = directory / "pipeline.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return PipelineFile.read(path)


def read_error(directory: Path, text: str | bytes) -> str:
    """The error about a pipeline file, with its path shortened to its name."""
    with pytest.raises(ConfigurationError) as caught:
        read(directory, text)
    return str(caught.value).replace(f"{directory}/", "")


def configured(directory: Path, model: Any = MODEL, text: str = PIPELINE) -> Configured:
    """The mechanism of a pipeline file and a model file, given as data or as raw bytes."""
    content = model if isinstance(model, bytes) else orjson.dumps(model)
    (directory / "model.json").write_bytes(content)
    return configure(read(directory, text))
