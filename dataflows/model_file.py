"""The model file: a frozen, versioned description of how a stream of symbols is assumed to behave.

    {"format": "fugu-markov-model", "format_version": 1, "alphabet": ["rest", "active"],
     "prior": "uniform", "transition": [[0.9, 0.1], [0.2, 0.8]], "smoothing": 0.001}

`prior` is a list or "uniform". `smoothing` mixes every distribution with the uniform one and is
part of the model that the guarantee is relative to.
"""

from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dataflows.errors import ConfigurationError
from operators.sip.markov_model import MarkovModel

Probabilities = list[float]


class ModelFile(BaseModel):
    """The content of a model file, not yet checked as probabilities."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    format: Literal["fugu-markov-model"]
    format_version: Literal[1]
    description: str = ""
    alphabet: list[str] | list[int]
    prior: Literal["uniform"] | Probabilities
    transition: list[Probabilities]
    smoothing: float = Field(default=0.001, ge=0.0, le=0.5)


def read_model(path: Path, alphabet: list[str] | list[int]) -> MarkovModel:
    """The model in `path`, which must be about exactly the pipeline's alphabet, in its order."""
    try:
        content = ModelFile.model_validate(orjson.loads(path.read_bytes()))
    except OSError as error:
        raise ConfigurationError(
            f"operator.model: {path} cannot be read ({error.strerror})"
        ) from None
    except orjson.JSONDecodeError as error:
        raise ConfigurationError(
            f"operator.model: {path}:{error.lineno}: is not valid JSON"
        ) from None
    except ValidationError as error:
        problem = _problem(dict(error.errors()[0]))
        raise ConfigurationError(f"operator.model: {path}: {problem}") from None
    if content.alphabet != alphabet:
        raise ConfigurationError(
            f"operator.model: {path} is about another alphabet than operator.alphabet; "
            "both must list the same symbols in the same order"
        )
    size = len(alphabet)
    prior = [1.0 / size] * size if content.prior == "uniform" else content.prior
    try:
        return MarkovModel.smoothed(prior, content.transition, content.smoothing)
    except ValueError as error:
        raise ConfigurationError(f"operator.model: {path}: {error}") from None


def _problem(item: dict[str, Any]) -> str:
    match item["loc"]:
        case ():
            return "write a JSON object: its first key is format"
        case ("prior", *_):
            return 'prior: write "uniform" or a list of numbers'
        case ("transition", int(row), *_):
            return f"transition row {row}: write a list of numbers"
    name = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"{name}: unknown key; delete it"
    return f"{name}: {item['msg'].lower()}"
