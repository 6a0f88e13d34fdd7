"""Tell what releases leak to an adversary with a Markov model of how values follow each other."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.arguments import EPSILON_OPTIONS, AsJson, Plot, numbers
from fugu.dataflows.commands.output import print_json, require_picture
from fugu.dataflows.files.matrix_file import read_matrix
from fugu.dataflows.offline.leakage.report import report
from fugu.dataflows.offline.leakage.tables import print_report


def leakage(
    matrix: Annotated[
        Path,
        typer.Argument(metavar="MATRIX", help="Rows in JSON, a .npy file, or a model (smoothed)."),
    ],
    epsilon: Annotated[
        list[str] | None,
        typer.Option(*EPSILON_OPTIONS, metavar="0.1,1", help="Nats that every tick spends (1)."),
    ] = None,
    window: Annotated[
        int, typer.Option(min=1, help="Also about so many consecutive ticks together.")
    ] = 1,
    ticks: Annotated[
        int, typer.Option(min=1, max=10_000, help="Follow a stream of this length.")
    ] = 10,
    alpha: Annotated[
        float | None, typer.Option(help="What may be spent for at most so many nats to leak?")
    ] = None,
    backward: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What came before each value, if you know better."),
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Say what releases over time tell somebody who knows how a user's values follow each other.

    Row i of MATRIX has the probabilities of what follows value i, such as [[0.9, 0.1], [0.4, 0.6]].
    Epsilon is what one tick tells by itself, if its value changes.
    With --json, null stands for a leakage without a limit.
    """
    epsilons = numbers("--epsilon", epsilon or ["1"])
    require_picture(plot)
    given, given_backward = read_matrix(matrix), None if backward is None else read_matrix(backward)
    try:
        found = report(given, given_backward, epsilons, ticks, window, alpha)
    except ValueError as error:
        raise ConfigurationError(f"--{error}") from None
    if plot is not None:
        from fugu.dataflows.offline.leakage.plot import save

        save(found, matrix.name, plot)
    if as_json:
        print_json({"matrix": str(matrix), **found.document()})
    else:
        print_report(Console(), found, matrix.name)
