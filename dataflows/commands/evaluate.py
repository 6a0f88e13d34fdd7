"""`fugu evaluate`: how useful releases are, offline, for a grid of epsilons and operators."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import orjson
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from dataflows.errors import FuguError
from dataflows.mechanisms import configure
from dataflows.pipeline_file import PipelineFile

_PICTURES = (".png", ".svg")


@dataclass(frozen=True)
class Options:
    """The sample, the grid (None: what suits the pipeline), and what to show."""

    sample: Path
    key_field: str
    epsilons: str | None
    rivals: str | None
    runs: int
    seed: int
    plot: Path | None
    as_json: bool


def evaluate(file: PipelineFile, options: Options) -> None:
    """Print what was measured. Neither Kafka nor the secret is needed."""
    _check(options.plot)
    from dataflows.evaluation.evaluation import evaluated, planned
    from dataflows.evaluation.sample import Sample
    from dataflows.evaluation.tables import print_report

    sample = Sample.read(options.sample, options.key_field, configure(file).codec)
    grid = planned(file, sample, options.epsilons, options.rivals)
    console = Console()
    shown = console.is_terminal and not options.as_json
    with _progress(console, shown, len(grid) * options.runs * sample.records) as advance:
        report = evaluated(file, grid, sample, options.runs, options.seed, advance)
    if options.plot is not None:
        from dataflows.evaluation.plot import save

        save(report, options.plot)
    if options.as_json:
        print(orjson.dumps(report.document(), option=orjson.OPT_INDENT_2).decode())
    else:
        print_report(console, report)


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
