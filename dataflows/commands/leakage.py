"""Tell what releases leak to an adversary with a Markov model of how values follow each other."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.arguments import EPSILON_OPTIONS, AsJson, Plot, numbers
from fugu.dataflows.commands.output import Terminal, print_json, require_picture
from fugu.dataflows.files.alphabet_file import read_matrix
from fugu.dataflows.offline.leakage.combined_report import combined_report, print_combined
from fugu.dataflows.offline.leakage.report import report
from fugu.dataflows.offline.leakage.tables import print_report
from fugu.operators.leakage.combined import Topology
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.mechanism import Floats


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
    beside: Annotated[
        float | None,
        typer.Option(
            metavar="NATS", help="Also by a second release, whose ticks spend so much each."
        ),
    ] = None,
    topology: Annotated[
        Topology | None,
        typer.Option(help="How the second release is connected with the first (parallel)."),
    ] = None,
    memoryless: Annotated[
        bool,
        typer.Option(
            "--memoryless",
            help="With serial: each release of the first depends on the value of its tick alone, "
            "and none is there again (grr, laplace).",
        ),
    ] = False,
    beside_matrix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The matrix of the second release; else the same."),
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Say what releases over time tell somebody who knows how a user's values follow each other.

    Row i of MATRIX has the probabilities of what follows value i, such as [[0.9, 0.1], [0.4, 0.6]].
    Epsilon is what one tick tells by itself, if its value changes.
    With --json, null stands for a leakage without a limit.

    With --beside, what two releases tell together: a local and a central one, for example.
    """
    epsilons = numbers("--epsilon", epsilon or ["1"])
    require_picture(plot)
    given, given_backward = read_matrix(matrix), None if backward is None else read_matrix(backward)
    if beside is None:
        alone: dict[str, object] = {"--topology": topology, "--beside-matrix": beside_matrix}
        alone["--memoryless"] = memoryless or None
        _refuse(alone, "says nothing without --beside")
    else:
        others: dict[str, object] = {
            "--plot": plot,
            "--alpha": alpha,
            "--window": None if window == 1 else window,
            "--epsilon": None if len(epsilons) == 1 else epsilon,
        }
        _refuse(others, "is not there for two releases (--epsilon takes one number then)")
        if memoryless and topology != "serial":
            _refuse({"--memoryless": True}, "says something with --topology serial alone")
        _print_beside(
            (given, beside_matrix, given_backward),
            (epsilons[0], beside),
            ticks,
            topology or "parallel",
            memoryless,
            as_json,
        )
        return
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
        print_report(Terminal(), found, matrix.name)


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Refuse options that would have no effect."""
    named = [name for name, given in options.items() if given is not None]
    if named:
        raise ConfigurationError(f"{', '.join(named)}: {why}; leave it out")


def _print_beside(
    matrices: tuple[Floats, Path | None, Floats | None],
    epsilons: tuple[float, float],
    ticks: int,
    topology: Topology,
    memoryless: bool,
    as_json: bool,
) -> None:
    """Print what two releases tell together."""
    matrix, other, backward = matrices
    if other is not None and topology in ("parallel", "serial"):
        raise ConfigurationError(
            f"--beside-matrix: with --topology {topology} both releases are about one value, whose "
            "matrix is MATRIX; leave it out"
        )
    try:
        first = TemporalCorrelation.of(matrix, backward)
        second = first if other is None else TemporalCorrelation.of(read_matrix(other))
        correlations = first, second
        found = combined_report(topology, correlations, epsilons, ticks, memoryless=memoryless)
    except ValueError as error:
        raise ConfigurationError(f"--beside: {error}") from None
    if as_json:
        print_json(found.document())
    else:
        print_combined(Terminal(), found)
