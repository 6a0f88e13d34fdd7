"""`fugu leakage`: what releases over time tell somebody who knows how values follow each other."""

from dataclasses import dataclass
from pathlib import Path

import orjson
from rich.console import Console

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.pictures import require_picture
from fugu.dataflows.files.matrix_file import read_matrix
from fugu.dataflows.offline.leakage.report import report
from fugu.dataflows.offline.leakage.tables import print_report


@dataclass(frozen=True)
class Options:
    """Hold what every tick spends, over how many ticks, and what to show."""

    epsilons: list[float]
    window: int
    ticks: int
    alpha: float | None
    backward: Path | None
    plot: Path | None
    as_json: bool


def leakage(path: Path, options: Options) -> None:
    """Print what leaks; neither Kafka nor a pipeline is needed."""
    require_picture(options.plot)
    matrix = read_matrix(path)
    backward = None if options.backward is None else read_matrix(options.backward)
    spent = (options.epsilons, options.ticks, options.window, options.alpha)
    try:
        found = report(matrix, backward, *spent)
    except ValueError as error:
        raise ConfigurationError(f"--{error}") from None
    if options.plot is not None:
        from fugu.dataflows.offline.leakage.plot import save

        save(found, path.name, options.plot)
    if options.as_json:
        document = {"matrix": str(path), **found.document()}
        print(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
    else:
        print_report(Console(), found, path.name)
