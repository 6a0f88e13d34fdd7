"""`fugu evaluate`: how useful releases are, offline, for a grid of epsilons and operators."""

from dataclasses import dataclass
from pathlib import Path

import orjson
from rich.console import Console

from fugu.dataflows.commands.pictures import require_picture
from fugu.dataflows.commands.progress import progress
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile


@dataclass(frozen=True)
class Options:
    """The sample, the grid (None: what suits the pipeline), what to show, how numbers are read
    whose ticks are displaced, and the windows of aggregates."""

    sample: Path
    key_field: str
    epsilons: str | None
    rivals: str | None
    runs: int
    seed: int
    plot: Path | None
    as_json: bool
    average: int | None = None
    count_above: float | None = None
    value_range: str | None = None
    windows: str | None = None


def evaluate(file: PipelineFile, options: Options) -> None:
    """Print what was measured. Neither Kafka nor the secret is needed."""
    require_picture(options.plot)
    from fugu.dataflows.offline.evaluation.families.by_section import family_of
    from fugu.dataflows.offline.evaluation.family import Wanted
    from fugu.dataflows.offline.evaluation.sample import Sample
    from fugu.dataflows.offline.evaluation.tables import print_report

    wanted = Wanted(
        options.epsilons,
        options.rivals,
        options.windows,
        options.average,
        options.count_above,
        options.value_range,
    )
    family = family_of(file.pipeline.operator, wanted)
    sample = Sample.read(options.sample, options.key_field, configure(file).codec)
    plan = family.planned(file, sample, wanted)
    console = Console()
    shown = console.is_terminal and not options.as_json
    with progress(console, "evaluating", plan.steps * options.runs, shown=shown) as advance:
        report = plan.report(options.runs, options.seed, advance)
    if options.plot is not None:
        report.draw(options.plot)
    if options.as_json:
        print(orjson.dumps(report.document(), option=orjson.OPT_INDENT_2).decode())
    else:
        print_report(console, report)
