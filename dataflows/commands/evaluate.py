"""`fugu evaluate`: how useful releases are, offline, for a grid of epsilons and operators."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from dataflows.errors import FuguError
from dataflows.mechanisms import configure
from dataflows.operator_sections import TemporalOperator
from dataflows.pipeline_file import PipelineFile

if TYPE_CHECKING:
    from dataflows.evaluation.report import Report
    from dataflows.evaluation.sample import Sample

_PICTURES = (".png", ".svg")

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Options:
    """The sample, the grid (None: what suits the pipeline), what to show, and how numbers are read
    whose ticks are displaced."""

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


def evaluate(file: PipelineFile, options: Options) -> None:
    """Print what was measured. Neither Kafka nor the secret is needed."""
    _check(options.plot)
    from dataflows.evaluation.sample import Sample
    from dataflows.evaluation.tables import print_report

    sample = Sample.read(options.sample, options.key_field, configure(file).codec)
    console = Console()
    shown = console.is_terminal and not options.as_json
    candidates, measured = _planned(file, sample, options)
    with _progress(console, shown, candidates * options.runs * sample.records) as advance:
        report = measured(advance)
    if options.plot is not None:
        from dataflows.evaluation.plot import save

        save(report, options.plot)
    if options.as_json:
        print(orjson.dumps(report.document(), option=orjson.OPT_INDENT_2).decode())
    else:
        print_report(console, report)


def _planned(
    file: PipelineFile, sample: "Sample", options: Options
) -> tuple[int, Callable[[Advance], "Report"]]:
    """How many candidates there are, and what measures them."""
    if isinstance(file.pipeline.operator, TemporalOperator):
        from dataflows.evaluation.temporal.evaluation import TemporalEvaluation
        from dataflows.evaluation.temporal.numbers import Reading

        reading = Reading.of(options.average, options.count_above, options.value_range)
        temporal = TemporalEvaluation.planned(
            file, sample, options.epsilons, options.rivals, reading
        )
        return len(temporal.candidates), partial(temporal.report, options.runs, options.seed)
    from dataflows.evaluation.evaluation import evaluated, planned

    for option, given in (
        ("--average", options.average),
        ("--count-above", options.count_above),
        ("--range", options.value_range),
    ):
        if given is not None:
            raise FuguError(
                f"{option}: {file.pipeline.operator.kind} does not displace values; delete it"
            )
    grid = planned(file, sample, options.epsilons, options.rivals)
    return len(grid), partial(evaluated, file, grid, sample, options.runs, options.seed)


def _check(plot: Path | None) -> None:
    if plot is None:
        return
    if find_spec("matplotlib") is None:
        raise FuguError("--plot needs matplotlib: pip install 'fugu-streams[audit]'")
    if plot.suffix not in _PICTURES:
        raise FuguError(f"--plot {plot}: the name must end in {' or '.join(_PICTURES)}")
    if not plot.parent.is_dir():
        raise FuguError(f"--plot {plot}: there is no directory {plot.parent}; create it first")


@contextmanager
def _progress(console: Console, shown: bool, total: int) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("evaluating"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not shown) as progress:
        task = progress.add_task("evaluating", total=total)
        yield lambda records: progress.advance(task, records)
