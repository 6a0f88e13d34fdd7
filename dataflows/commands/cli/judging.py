"""Commands that judge a pipeline offline: `fugu audit`, `evaluate` and `leakage`."""

from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.commands.cli.arguments import (
    EPSILON_OPTIONS,
    AsJson,
    PipelinePath,
    Plot,
    Seed,
    numbers,
)
from fugu.dataflows.pipeline.pipeline_file import PipelineFile

app = typer.Typer()


@app.command()
def audit(
    pipeline: PipelinePath,
    runs: Annotated[int, typer.Option(min=1_000, help="Runs of each attacked stream.")] = 50_000,
    steps: Annotated[int, typer.Option(min=1, max=64, help="Releases of each run.")] = 4,
    confidence: Annotated[
        float, typer.Option(min=50.0, max=99.999999, help="Of all bounds together, in per cent.")
    ] = 99.9,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Attack the configured operator; exit with 1 if it leaks more than it claims.

    Prints exact worst cases, where the alphabet is small enough to follow all releases.
    Then runs the real operator many times on streams that should be hard to tell apart.
    What can be told apart is a lower bound of what leaks. The pipeline's secret is not used.
    """
    from fugu.dataflows.commands.audit import Options
    from fugu.dataflows.commands.audit import audit as audit_pipeline

    options = Options(runs, steps, confidence, seed, plot, as_json)
    if not audit_pipeline(PipelineFile.read(pipeline), options):
        raise typer.Exit(1)


@app.command()
def evaluate(
    pipeline: PipelinePath,
    sample: Annotated[
        Path,
        typer.Option(metavar="FILE", help="One JSON object per line: a record and its key."),
    ],
    key_field: Annotated[str, typer.Option(help="The field that holds the key.")] = "key",
    epsilons: Annotated[
        list[str] | None,
        typer.Option(
            *EPSILON_OPTIONS,
            metavar="0.5,1,2",
            help="Nats per record to try; otherwise half, once and twice the configured.",
        ),
    ] = None,
    rivals: Annotated[
        str | None,
        typer.Option(metavar="KIND,...", help="Operators to compare with; otherwise all that fit."),
    ] = None,
    average: Annotated[
        int | None,
        typer.Option(
            metavar="TICKS", min=1, help="Displaced numbers: average over so many; otherwise 10."
        ),
    ] = None,
    count_above: Annotated[
        float | None,
        typer.Option(help="Displaced numbers: count those above it; otherwise half of all."),
    ] = None,
    value_range: Annotated[
        str | None,
        typer.Option(
            "--range", metavar="40,180", help="Displaced numbers: their range, to try laplace too."
        ),
    ] = None,
    windows: Annotated[
        str | None,
        typer.Option(
            metavar="10,20,40", help="Aggregates: windows to try; otherwise the configured one."
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, max=1_000, help="How often, each under another secret.")
    ] = 5,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Measure, offline, how useful releases of a sample are, for several epsilons and operators.

    Each line of the sample is a record with its key, such as {"key": "user-1", "zone": "rest"}.
    Records go through the very operator of fugu run, under secrets of their own; neither Kafka nor
    the secret of the pipeline is needed.
    """
    from fugu.dataflows.commands.evaluate import Options
    from fugu.dataflows.commands.evaluate import evaluate as evaluate_pipeline

    options = Options(
        sample,
        key_field,
        ",".join(epsilons) if epsilons else None,
        rivals,
        runs,
        seed,
        plot,
        as_json,
        average,
        count_above,
        value_range,
        windows,
    )
    evaluate_pipeline(PipelineFile.read(pipeline), options)


@app.command()
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
    from fugu.dataflows.commands.leakage import Options
    from fugu.dataflows.commands.leakage import leakage as show_leakage

    epsilons = numbers("--epsilon", epsilon or ["1"])
    options = Options(epsilons, window, ticks, alpha, backward, plot, as_json)
    show_leakage(matrix, options)
