"""`fugu evaluate`: how useful releases are, offline, for a grid of epsilons and operators."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from rich.console import Console

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.commands.pictures import require_picture
from fugu.dataflows.commands.progress import progress
from fugu.dataflows.kinds import WEventOperator
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile

if TYPE_CHECKING:
    from fugu.dataflows.offline.evaluation.report import Report
    from fugu.dataflows.offline.evaluation.sample import Sample


Advance = Callable[[int], None]


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
    _check_fitting(file, options)
    from fugu.dataflows.offline.evaluation.sample import Sample
    from fugu.dataflows.offline.evaluation.tables import print_report

    sample = Sample.read(options.sample, options.key_field, configure(file).codec)
    console = Console()
    shown = console.is_terminal and not options.as_json
    steps, measured = _planned(file, sample, options)
    with progress(console, "evaluating", steps * options.runs, shown=shown) as advance:
        report = measured(advance)
    if options.plot is not None:
        report.draw(options.plot)
    if options.as_json:
        print(orjson.dumps(report.document(), option=orjson.OPT_INDENT_2).decode())
    else:
        print_report(console, report)


def _planned(
    file: PipelineFile, sample: "Sample", options: Options
) -> tuple[int, Callable[[Advance], "Report"]]:
    """Return how long a run of everything is, in records or ticks, and what measures it."""
    if file.pipeline.operator.evaluation == "real_time":
        from fugu.dataflows.offline.evaluation.aggregates.real_time import RealTimeEvaluation

        real_time = RealTimeEvaluation.planned(file, sample, options.epsilons, options.rivals)
        return real_time.steps, partial(real_time.report, options.runs, options.seed)
    if file.pipeline.operator.evaluation == "aggregate":
        from fugu.dataflows.offline.evaluation.aggregates.evaluation import AggregateEvaluation

        aggregate = AggregateEvaluation.planned(
            file, sample, options.epsilons, options.windows, options.rivals
        )
        return aggregate.steps, partial(aggregate.report, options.runs, options.seed)
    if file.pipeline.operator.evaluation == "displaced":
        from fugu.dataflows.offline.evaluation.temporal.evaluation import TemporalEvaluation
        from fugu.dataflows.offline.evaluation.temporal.numbers import Reading

        reading = Reading.of(options.average, options.count_above, options.value_range)
        temporal = TemporalEvaluation.planned(
            file, sample, options.epsilons, options.rivals, reading
        )
        records = len(temporal.candidates) * sample.records
        return records, partial(temporal.report, options.runs, options.seed)
    from fugu.dataflows.offline.evaluation.evaluation import evaluated, planned

    grid = planned(file, sample, options.epsilons, options.rivals)
    measured = partial(evaluated, file, grid, sample, options.runs, options.seed)
    return len(grid) * sample.records, measured


def _check_fitting(file: PipelineFile, options: Options) -> None:
    """Options that this kind of operator knows nothing of are refused."""
    operator = file.pipeline.operator
    if operator.evaluation is None:
        raise FuguError(
            f"fugu evaluate does not measure {operator.kind}; fugu explain says how much noise a "
            "value has, and every release states its own standard_error"
        )
    displacing = operator.evaluation == "displaced"
    windowed = isinstance(operator, WEventOperator)
    for option, given, fits, why in (
        ("--average", options.average, displacing, "does not displace values"),
        ("--count-above", options.count_above, displacing, "does not displace values"),
        ("--range", options.value_range, displacing, "does not displace values"),
        ("--windows", options.windows, windowed, "has no window to vary"),
    ):
        if given is not None and not fits:
            raise FuguError(f"{option}: {operator.kind} {why}; delete it")
