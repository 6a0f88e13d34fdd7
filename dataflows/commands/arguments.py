"""Declare the arguments that several commands have in common."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.pipeline.config import PipelineFile


def read_pipeline(path: Path | str) -> PipelineFile:
    """Return the pipeline file that an argument names."""
    return PipelineFile.read(Path(path))


def pipeline_option(what_for: str, *names: str) -> Any:
    """Declare an option that names a pipeline file."""
    return typer.Option(*names, metavar="PIPELINE", parser=read_pipeline, help=what_for)


def read_pipelines(paths: list[Path]) -> list[PipelineFile]:
    """Return the pipeline files that an argument names."""
    return [read_pipeline(path) for path in paths]


if TYPE_CHECKING:
    _Named = PipelineFile
    _SeveralNamed = list[PipelineFile]
else:
    _Named = Path  # which is what help shows
    _SeveralNamed = list[Path]

PipelineArgument = Annotated[
    _Named,
    typer.Argument(metavar="PIPELINE", callback=read_pipeline, help="The pipeline file (YAML)."),
]
OldPipeline = Annotated[
    _Named,
    typer.Argument(metavar="OLD", callback=read_pipeline, help="The file that ran last (YAML)."),
]
NewPipeline = Annotated[
    _Named,
    typer.Argument(metavar="NEW", callback=read_pipeline, help="The file that goes on (YAML)."),
]
PipelineArguments = Annotated[
    _SeveralNamed,
    typer.Argument(metavar="PIPELINE", callback=read_pipelines, help="Pipeline files (YAML)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a machine.")]
Seed = Annotated[int, typer.Option(min=0, max=2**62, help="Another seed, other runs.")]
Plot = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw the result too (.png or .svg).")
]
KeyField = Annotated[str, typer.Option(help="The field of the sample that holds the key.")]
DocumentPath = Annotated[
    Path, typer.Argument(metavar="POLICIES", help="The policy document (YAML or JSON).")
]
EPSILON_OPTIONS = ("--epsilon", "--epsilons")
"""Both spellings, in every command that takes several; with commas between, or given again."""


def refuse_given(context: typer.Context, names: Mapping[str, str], why: str) -> None:
    """Raise `ConfigurationError` for an option that was given and has no effect: parameter names
    and what they are called."""
    for name, option in names.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ConfigurationError(f"{option}: {why}; delete it")


def numbers(option: str, given: list[str]) -> list[float]:
    """Read all numbers of an option, in order; `ConfigurationError` shows how to write them."""
    words = [word for text in given for word in text.split(",")]
    try:
        return [float(word) for word in words]
    except ValueError:
        raise ConfigurationError(
            f"{option} {','.join(given)}: write positive numbers with commas between them, such as "
            "0.5,1,2"
        ) from None
